"""Attributes as users have them: data frames, dicts, series and arrays as named columns, with no missing values."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.late import Late
from .arrays import missing_values, refuse_lazy, to_numpy
from .slices import AttributeColumns

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = Late("narwhals")

P = ParamSpec("P")
R = TypeVar("R")
UNNAMED = "group"
"""Name of an attribute given as a bare array or an unnamed series."""
_LONGEST_TEXT = 100  # fixed-width arrays of longer text would take too much memory


def suggest_argument(right: str, wrong: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse an argument by the name that other functions have for it, and say the right one."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> R:
            if wrong in options:
                raise TypeError(f"{function.__name__}() has no {wrong}=: write {right}=")
            return function(*args, **options)

        return checked

    return decorate


@dataclass(frozen=True, eq=False)
class TakenColumns(Mapping[str, NDArray[Any]]):
    """Some rows of columns, selected on first use: most columns of a frame are no attributes."""

    columns: AttributeColumns
    rows: NDArray[np.intp] | slice

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name][self.rows]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def fill_missing(columns: AttributeColumns, value: str = "missing") -> dict[str, NDArray[Any]]:
    """Replace missing values of text and category columns by ``value``; columns of numbers stay as they are."""
    filled = {}
    for name, column in columns.items():
        if column.dtype == object:
            absent = missing_values(column)
            if absent.any() and all(isinstance(v, str) for v in column[~absent]):
                column = np.where(absent, value, column)
        filled[name] = column
    return filled


def columns_of(attributes: Any, fallback: Any = None) -> dict[str, NDArray[Any]]:
    """Attributes as named numpy columns, with the columns of a frame of features for those not given."""
    given = attribute_columns(attributes)
    return {**given, **_features(fallback), **given}  # messages list those given first


def attribute_columns(attributes: Any) -> dict[str, NDArray[Any]]:
    """Turn whatever holds attributes into named numpy columns."""
    if attributes is None:
        return {}
    if isinstance(attributes, Mapping):
        return {str(name): _column(values, str(name)) for name, values in attributes.items()}
    refuse_lazy(attributes, "sensitive_features (attributes)")
    try:
        columns = _frame_columns(attributes)
    except nw.exceptions.DuplicateError:
        raise DataError("the frame of attributes has two columns with the same name") from None
    if columns:
        return columns
    native = nw.from_native(attributes, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return {str(native.name) if native.name not in (None, "") else UNNAMED: to_numpy(attributes)}
    array = to_numpy(attributes)
    if array.ndim == 1:
        return {UNNAMED: array}
    if array.ndim == 2:
        names = [UNNAMED] if array.shape[1] == 1 else [f"{UNNAMED}_{k}" for k in range(array.shape[1])]
        return {name: array[:, k] for k, name in enumerate(names)}
    raise DataError(
        "attributes must be a data frame, a dict of arrays, a series or a one- or two-dimensional array; "
        f"got {type(attributes).__name__} of shape {array.shape}"
    )


def categorical_names(source: Any) -> frozenset[str]:
    """Names of the columns that hold categories, which numpy would compare by the alphabet."""
    if source is None:
        return frozenset()
    if isinstance(source, Mapping):
        return frozenset(str(name) for name, values in source.items() if _is_categorical(values))
    try:
        native = nw.from_native(source, eager_only=True, allow_series=True, pass_through=True)
        kinds = dict(native.schema) if isinstance(native, nw.DataFrame) else {}
    except nw.exceptions.DuplicateError:  # other checks handle columns that share a name
        return frozenset()
    if isinstance(native, nw.DataFrame):
        return frozenset(str(name) for name, kind in kinds.items() if isinstance(kind, (nw.Categorical, nw.Enum)))
    if isinstance(native, nw.Series) and _is_categorical(source):
        return frozenset({str(native.name) if native.name not in (None, "") else UNNAMED})
    return frozenset()


def _is_categorical(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return False
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return isinstance(native.dtype, (nw.Categorical, nw.Enum))
    return hasattr(values, "categories") and hasattr(values, "codes")  # pandas.Categorical


def _frame_columns(frame: Any) -> dict[str, NDArray[Any]]:
    native = nw.from_native(frame, eager_only=True, pass_through=True) if frame is not None else None
    if not isinstance(native, nw.DataFrame):
        return {}
    return {str(name): native.get_column(name).to_numpy() for name in native.columns}


def _features(fallback: Any) -> dict[str, NDArray[Any]]:
    try:
        return _frame_columns(fallback)
    except nw.exceptions.DuplicateError:  # features may share a name; those that do cannot serve as attributes
        shared = shared_names(fallback)
        places = [(str(name), k) for k, name in enumerate(fallback.columns) if str(name) not in shared]
        return {name: np.asarray(fallback.iloc[:, k]) for name, k in places}


def shared_names(frame: Any) -> frozenset[str]:
    """Names that several columns of a frame have."""
    names = Counter(map(str, getattr(frame, "columns", ())))
    return frozenset(name for name, count in names.items() if count > 1)


def _column(values: Any, name: str) -> NDArray[Any]:
    array = to_numpy(values)
    if array.ndim != 1:
        raise DataError(f"attribute {name!r} must be one-dimensional; got shape {array.shape}")
    return array


def complete(column: NDArray[Any], name: str) -> NDArray[Any]:
    """Refuse missing values; give an object column of all text or all numbers the dtype of its values."""
    if column.dtype != object:
        missing = int(missing_values(column).sum())
    else:
        codes, values = _encoded(column, name)
        missing = int(missing_values(values)[codes].sum())
        column = _typed(values)[codes] if not missing else column
    if missing:
        raise DataError(
            f"attribute {name!r} has {missing} missing values: fill them, drop those examples, or give the missing "
            "ones a value of their own (RateClassifier(missing='group') does that for text)"
        )
    return column


def _encoded(column: NDArray[Any], name: str) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Number the distinct values of an object column, so that each is checked once however many examples there are."""
    index: dict[Any, int] = {}
    try:
        codes = np.array([index.setdefault(value, len(index)) for value in column.tolist()], dtype=np.intp)
    except TypeError:
        raise DataError(f"attribute {name!r} holds values that are no numbers, text or dates") from None
    values = np.empty(len(index), dtype=object)
    values[:] = list(index)
    return codes, values


def _typed(values: NDArray[Any]) -> NDArray[Any]:
    """Give text (unless very long) and numbers their own dtype; leave anything else as it is."""
    plain = values.tolist()
    if all(isinstance(value, str) for value in plain):
        return values.astype(str) if max(map(len, plain), default=0) <= _LONGEST_TEXT else values
    if all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in plain):
        return np.array(plain)
    return values
