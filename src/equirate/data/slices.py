"""Slices: which examples a rate is measured on, written without data, and looked up in the attributes that are given.

In: the name of an attribute and a comparison. Out: a frozen, hashable `Slice`; `Slice.mask` turns a table
of attribute columns into a boolean array. `rates` holds slices, `data` and `table` evaluate them.

Examples
--------
>>> women = attr("sex") == "Female"
>>> women & (attr("age") < 30)
(sex == 'Female') & (age < 30)
>>> (~women).mask({"sex": np.array(["Female", "Male"])})
array([False,  True])
"""

from __future__ import annotations

import difflib
import keyword
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.listing import listed

AttributeColumns = Mapping[str, NDArray[Any]]
Mask = NDArray[np.bool_]

_TIGHT = (
    "& and | bind more tightly than comparisons: put each comparison in parentheses, as in "
    "(attr('a') == 1) & (attr('b') == 2)"
)
_TEXT, _NUMBERS = "UT", "biuf"  # kinds of numpy dtypes
_SHOWN = 8  # values of an attribute that a message lists
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Slice:
    """A condition on an example's attributes. Combine with ``&``, ``|`` and ``~``."""

    def mask(self, columns: AttributeColumns) -> Mask:
        """Return which examples of a table of attribute columns belong to the slice.

        Parameters
        ----------
        columns
            The attributes by name: one array each, with one value per example.

        Returns
        -------
        numpy.ndarray of bool
            One value per example.
        """
        raise NotImplementedError

    @property
    def attributes(self) -> frozenset[str]:
        """Names of the attributes that the slice depends on."""
        raise NotImplementedError

    def __and__(self, other: Slice) -> Slice:
        """Both conditions."""
        return _joined("&", self, other)

    def __or__(self, other: Slice) -> Slice:
        """Either condition."""
        return _joined("|", self, other)

    def __invert__(self) -> Slice:
        """Everybody else."""
        return self.part if isinstance(self, Complement) else Complement(self)

    def __bool__(self) -> NoReturn:
        """Refuse: ``and``, ``or``, ``not`` and chained comparisons cannot be overloaded."""
        raise TypeError(
            f"the slice {self!r} has no truth value: combine slices with & | ~ and parentheses, not with and, or, not"
        )


@dataclass(frozen=True, repr=False)
class Everybody(Slice):
    """The slice with all examples in it."""

    def mask(self, columns: AttributeColumns) -> Mask:
        """Return all True; needs at least one column to know the length."""
        length = len(next(iter(columns.values()))) if columns else 0
        return np.ones(length, dtype=bool)

    @property
    def attributes(self) -> frozenset[str]:
        """No attributes."""
        return frozenset()

    def __repr__(self) -> str:
        return "everybody"


@dataclass(frozen=True, repr=False)
class Comparison(Slice):
    """One attribute compared with one value."""

    attribute: str
    symbol: str
    value: Any

    def mask(self, columns: AttributeColumns) -> Mask:
        """Compare element by element."""
        column, value = column_of(columns, self.attribute), self.value
        kind = column.dtype.kind
        if (kind in _TEXT) is not isinstance(value, str) and kind in _TEXT + _NUMBERS:
            raise DataError(_incomparable(self, column))
        try:
            if kind == "M":
                value = np.datetime64(value)
            result = _COMPARISONS[self.symbol](column, value)
        except (TypeError, ValueError) as error:
            raise DataError(_incomparable(self, column)) from error
        return np.asarray(result, dtype=bool)

    @property
    def attributes(self) -> frozenset[str]:
        """The one attribute."""
        return frozenset({self.attribute})

    def __repr__(self) -> str:
        return f"{_written(self.attribute)} {self.symbol} {self.value!r}"


@dataclass(frozen=True, repr=False)
class Membership(Slice):
    """One attribute among several values."""

    attribute: str
    values: tuple[Any, ...]

    def mask(self, columns: AttributeColumns) -> Mask:
        """Look each element up."""
        column = column_of(columns, self.attribute)
        parts = [Comparison(self.attribute, "==", value).mask({self.attribute: column}) for value in self.values]
        return np.logical_or.reduce(parts) if parts else np.zeros(len(column), dtype=bool)

    @property
    def attributes(self) -> frozenset[str]:
        """The one attribute."""
        return frozenset({self.attribute})

    def __repr__(self) -> str:
        return f"{_written(self.attribute)}.isin({list(self.values)!r})"


@dataclass(frozen=True, repr=False)
class CombinedSlice(Slice):
    """Two slices and what joins them."""

    symbol: str
    parts: tuple[Slice, ...]

    def mask(self, columns: AttributeColumns) -> Mask:
        """Join the masks of the parts."""
        join = np.logical_and if self.symbol == "&" else np.logical_or
        return np.asarray(join.reduce([part.mask(columns) for part in self.parts]), dtype=bool)

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes of all parts."""
        return frozenset().union(*(part.attributes for part in self.parts))

    def __repr__(self) -> str:
        return f" {self.symbol} ".join(f"({part!r})" for part in self.parts)


@dataclass(frozen=True, repr=False)
class Complement(Slice):
    """Everybody who is not in a slice."""

    part: Slice

    def mask(self, columns: AttributeColumns) -> Mask:
        """Negate."""
        return ~self.part.mask(columns)

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes of the part."""
        return self.part.attributes

    def __repr__(self) -> str:
        return f"~({self.part!r})"


@dataclass(frozen=True, eq=False, repr=False)
class Attribute:
    """A named column of the data: compare it with a value to make a slice."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"attr takes the name of a column as a non-empty string, not {self.name!r}")

    def __hash__(self) -> int:
        return hash(("attr", self.name))

    def __repr__(self) -> str:
        return _written(self.name)

    def __eq__(self, value: object) -> Slice:  # type: ignore[override]  # makes a slice, as pandas does
        return self._compare("==", value)

    def __ne__(self, value: object) -> Slice:  # type: ignore[override]  # makes a slice, as pandas does
        return self._compare("!=", value)

    def __lt__(self, value: Any) -> Slice:
        return self._compare("<", value)

    def __le__(self, value: Any) -> Slice:
        return self._compare("<=", value)

    def __gt__(self, value: Any) -> Slice:
        return self._compare(">", value)

    def __ge__(self, value: Any) -> Slice:
        return self._compare(">=", value)

    def __and__(self, other: object) -> NoReturn:
        raise TypeError(_TIGHT)

    __or__ = __rand__ = __ror__ = __and__

    def __invert__(self) -> NoReturn:
        raise TypeError(f"~ binds more tightly than comparisons: write ~({self!r} == ...)")

    def isin(self, values: Iterable[Any]) -> Slice:
        """Return the slice of examples whose attribute is one of ``values``."""
        if isinstance(values, str):
            raise TypeError(f"isin takes a list of values, not the string {values!r}: write isin([{values!r}])")
        return Membership(self.name, tuple(_scalar(self.name, value) for value in values))

    def _compare(self, symbol: str, value: object) -> Slice:
        return Comparison(self.name, symbol, _scalar(self.name, value))


def attr(name: str) -> Attribute:
    """Name a column given as ``sensitive_features`` or ``attributes`` (failing that, a column of a frame X).

    Parameters
    ----------
    name
        The name of the column.

    Returns
    -------
    Attribute
        Compare it with values to make a `Slice`.

    Examples
    --------
    >>> attr("age") >= 65
    age >= 65
    >>> attr("race").isin(["Black", "Hispanic"])
    race.isin(['Black', 'Hispanic'])
    """
    return Attribute(name)


EVERYBODY = Everybody()


def comparisons(slice_: Slice) -> Iterator[Comparison]:
    """Iterate over the comparisons in a slice; ``isin`` is one for each of its values."""
    if isinstance(slice_, Comparison):
        yield slice_
    elif isinstance(slice_, Membership):
        yield from (Comparison(slice_.attribute, "==", value) for value in slice_.values)
    elif isinstance(slice_, Complement):
        yield from comparisons(slice_.part)
    elif isinstance(slice_, CombinedSlice):
        for part in slice_.parts:
            yield from comparisons(part)


def column_of(columns: AttributeColumns, name: str, given: bool = True) -> NDArray[Any]:
    """Return a column by name, or raise an error that lists them; ``given``: whether attributes were passed."""
    if name in columns:
        return columns[name]
    known = _listed(list(columns)) or "none"
    like = difflib.get_close_matches(name.casefold(), map(str.casefold, columns), 1)
    nearest = next((f"; the nearest is {other!r}" for other in columns if like == [other.casefold()]), "")
    if not given:
        where = f", and X has no column of that name{nearest} (its columns are {known})" if columns else ""
        raise DataError(
            f"unknown attribute {name!r}: no sensitive_features were given (attributes in solve and evaluate){where}"
        )
    hint = nearest
    if list(columns) == ["group"]:
        hint = "; an array without a name is called 'group': pass a dict or a frame to name it"
    raise DataError(f"unknown attribute {name!r}: the attributes given are {known}{hint}")


def unknown_values(slice_: Slice, columns: AttributeColumns) -> str:
    """Say which values in a slice do not occur, and which do, the most similar first; empty if all occur.

    Examples
    --------
    >>> unknown_values(attr("race") == "Afican", {"race": np.array(["Asian", "African"])})
    "the attribute 'race' has no value 'Afican', but 'African', 'Asian'"
    """
    messages = []
    for part in comparisons(slice_):
        if part.symbol == "==" and not part.mask(columns).any():
            shown = _listed(_nearest(part.value, columns[part.attribute]))
            messages.append(f"the attribute {part.attribute!r} has no value {part.value!r}, but {shown}")
    return "; ".join(messages)


def _listed(values: list[Any]) -> str:
    return listed([*map(repr, values)], _SHOWN)


def _unlike(value: str) -> Callable[[Any], float]:
    """A sort key: the most similar to ``value`` first."""
    matcher = difflib.SequenceMatcher()
    matcher.set_seq2(value.casefold())

    def unlike(other: Any) -> float:
        matcher.set_seq1(str(other).casefold())
        return -matcher.ratio()

    return unlike


def _nearest(value: Any, column: NDArray[Any]) -> list[Any]:
    """The values of a column, those most like ``value`` first."""
    values = list(dict.fromkeys((column if column.dtype == object else np.unique(column)).tolist()))
    if isinstance(value, str):
        return sorted(values, key=_unlike(value))
    if column.dtype.kind in _NUMBERS:
        return sorted(values, key=lambda other: abs(other - value))
    return values


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA answers neither True nor False
        return True


def _scalar(name: str, value: Any) -> Any:
    if isinstance(value, (Attribute, Slice)) or (isinstance(value, Iterable) and not isinstance(value, (str, bytes))):
        raise TypeError(f"attr({name!r}) is compared with one value at a time, not with {value!r}; see isin")
    if is_missing(value):
        raise TypeError(f"attr({name!r}) cannot be compared with {value!r}: missing values form no slice")
    return value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value


def _joined(symbol: str, left: Slice, right: Slice) -> Slice:
    if not isinstance(right, Slice):
        raise TypeError(f"cannot combine the slice {left!r} with {right!r}: {_TIGHT}")
    if isinstance(left, Everybody):
        return right if symbol == "&" else left
    if isinstance(right, Everybody):
        return left if symbol == "&" else right
    parts = [
        part.parts if isinstance(part, CombinedSlice) and part.symbol == symbol else (part,) for part in (left, right)
    ]
    return CombinedSlice(symbol, parts[0] + parts[1])


def _incomparable(slice_: Comparison, column: NDArray[Any]) -> str:
    kinds = {**dict.fromkeys(_TEXT, "text"), **dict.fromkeys(_NUMBERS, "numbers"), "b": "True and False", "M": "dates"}
    held = kinds.get(column.dtype.kind, f"{column.dtype} values")
    advice = ""
    if held == "text":
        advice = f": write {Comparison(slice_.attribute, slice_.symbol, str(slice_.value))!r}"
    elif isinstance(slice_.value, str) and held == "numbers":
        advice = ": give a number without quotes"
    return (
        f"cannot evaluate the slice {slice_!r}: the attribute {slice_.attribute!r} holds {held}, "
        f"which cannot be compared with {slice_.value!r}{advice}"
    )


def _written(name: str) -> str:
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"attr({name!r})"
