"""Members of several kinds as one: those of folds, or the fits of an oracle and plug-in rules.

In: members of several kinds, and the order of their classifiers. Out: `SideBySide`, which decides and is
written as they are, each part by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import FileError
from .._core.rules import SCALAR, TEXT, ArrayOf, Either, ListOf, MapOf, Rule, maybe
from .contributions import Contributions
from .members import Array, Members, Written, named_inside
from .registry import read_members

Item = TypeVar("Item")

KIND = "side_by_side"
MAX_PARTS = 64
"""Largest number of parts in a file."""


@dataclass(frozen=True, eq=False)
class SideBySide(Members):
    """The classifiers of several members.

    Attributes
    ----------
    parts
        The members.
    order
        For each classifier its place among those of all parts, one part after the other.
    """

    parts: tuple[Members, ...]
    order: NDArray[np.int64]
    settings_rule: ClassVar[Rule] = MapOf(Either((SCALAR, ListOf(maybe(TEXT)))))
    array_rules: ClassVar[Mapping[str, Rule]] = {"order": ArrayOf("i", 1)}
    nested: ClassVar[str] = "part."

    @classmethod
    def of(cls, parts: Sequence[Members]) -> SideBySide:
        """All classifiers of some members, in order; those of several members count as parts of their own."""
        flat: list[Members] = []
        order = [np.zeros(0, dtype=np.int64)]
        for part in parts:
            first = sum(map(len, flat))
            flat += part.parts if isinstance(part, SideBySide) else [part]
            order.append(first + (part.order if isinstance(part, SideBySide) else np.arange(len(part))))
        return cls(tuple(flat), np.concatenate(order))

    def __len__(self) -> int:
        """Count the classifiers."""
        return len(self.order)

    @property
    def needs_attributes(self) -> bool:  # type: ignore[override]  # depends on the parts
        """Whether predicting needs attributes."""
        return any(part.needs_attributes for part in self.parts)

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # depends on the parts
        """Classes of the parts."""
        return self.parts[0].n_classes

    @property
    def width(self) -> int | None:
        """Features of the parts."""
        return next((part.width for part in self.parts if part.width is not None), None)

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """As the parts decide."""
        return np.hstack([part.decide(X, attributes=attributes) for part in self.parts])[:, self.order]

    def scores(self, X: Any, *, attributes: Any = None) -> Array:
        """As the parts score."""
        return np.hstack([part.scores(X, attributes=attributes) for part in self.parts])[:, self.order]

    @property
    def _places(self) -> list[tuple[int, int]]:
        """Where the classifiers of each part begin and end."""
        return list(pairwise(accumulate(map(len, self.parts), initial=0)))

    @property
    def has_scores(self) -> bool:
        """Whether all parts have scores."""
        return all(part.has_scores for part in self.parts)

    def split_counts(self) -> Array | None:
        """Sum of those of the parts, where all are trees."""
        by_part = [part.split_counts() for part in self.parts]
        counts = [each for each in by_part if each is not None]
        return None if len(counts) < len(by_part) else np.asarray(np.sum(counts, axis=0), dtype=float)

    def forests(self) -> Any:
        """Those of the only part; refuses classifiers of several parts."""
        return super().forests() if len(self.parts) > 1 else self.parts[0].take(self.order.tolist()).forests()

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """Sum of the parts' mean scores, each with the weights of its own classifiers."""
        shares = np.bincount(self.order, weights=weights, minlength=self._places[-1][1]).astype(float)
        scores = [
            part.mean_score(X, weights=shares[a:b], attributes=attributes)
            for part, (a, b) in zip(self.parts, self._places, strict=True)
        ]
        return np.asarray(np.sum(scores, axis=0), dtype=float)

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions | None:
        """Those of the parts; None where a part has none."""
        by_part = [part.contributions(X, attributes=attributes) for part in self.parts]
        known = [each for each in by_part if each is not None]
        return Contributions.beside(known).in_order(self.order) if len(known) == len(by_part) else None

    def map(self, function: Callable[[Members], Members]) -> Members:
        """Apply a function to the parts."""
        return replace(self, parts=tuple(part.map(function) for part in self.parts))

    def take(self, indices: Sequence[int]) -> Members:
        """Select classifiers, and the parts that they need."""
        needed, order = np.unique(self.order[list(indices)], return_inverse=True)
        parts = []
        for part, (a, b) in zip(self.parts, self._places, strict=True):
            selected = needed[(needed >= a) & (needed < b)] - a
            if len(selected):
                parts.append(part.take(selected.tolist()))
        return SideBySide(tuple(parts), order)

    def plain(self, width: int) -> Written:
        """Write the parts, one after the other: the names of a part's settings and arrays begin with its number."""
        parts = [part.plain(width) for part in self.parts]
        settings: dict[str, Any] = {"parts": [part.kind for part in parts]}
        _check_kinds(settings["parts"])
        arrays: dict[str, NDArray[Any]] = {"order": np.asarray(self.order, dtype=np.int64)}
        for k, part in enumerate(parts):
            settings |= {f"{k}.{name}": value for name, value in part.settings.items()}
            arrays |= {f"{self.nested}{k}.{name}": array for name, array in part.arrays.items()}
        return Written(KIND, settings, arrays)

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read the parts back."""
        kinds, order = settings.get("parts"), arrays["order"]
        if not isinstance(kinds, list) or not 0 < len(kinds) <= MAX_PARTS or not all(isinstance(k, str) for k in kinds):
            raise FileError(f"classifiers side by side have 1 to {MAX_PARTS} parts, of kinds that are named")
        _check_kinds(kinds)
        settings_of = tuple(f"{k}." for k in range(len(kinds)))
        arrays_of = tuple(f"{cls.nested}{k}." for k in range(len(kinds)))
        of_no_part = [name for name in settings if name != "parts" and not name.startswith(settings_of)]
        of_no_part += [name for name in arrays if name != "order" and not name.startswith(arrays_of)]
        if of_no_part:
            raise FileError(f"classifiers side by side have {of_no_part[0][:60]!r}, of no part")
        parts = [
            read_members(Written(kind, named_inside(settings, begin), named_inside(arrays, array_begin)))
            for kind, begin, array_begin in zip(kinds, settings_of, arrays_of, strict=True)
        ]
        if len({part.width for part in parts if part.width is not None}) > 1:
            raise FileError("classifiers side by side have other numbers of features")
        if not len(order) or order.min() < 0 or order.max() >= sum(len(part) for part in parts):
            raise FileError("the order of classifiers side by side does not fit them")
        return cls(tuple(parts), order.astype(np.int64))


def concatenate_members(parts: Sequence[Members]) -> Members:
    """Members that decide as all of ``parts``, in order; of the same kind where one kind can hold them.

    Examples
    --------
    >>> from equirate.models import LinearMembers
    >>> parts = [LinearMembers(np.array([[1.0], [0.0]])), LinearMembers(np.array([[0.0], [1.0]]))]
    >>> concatenate_members(parts).decide(np.array([[-1.0], [1.0]]))
    array([[False,  True],
           [ True,  True]])
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    same = first.concatenate(parts) if all(type(part) is type(first) for part in parts) else None
    return SideBySide.of(parts) if same is None else same


def of_two_kinds(
    chosen: Sequence[Item],
    is_first: Callable[[Item], bool],
    first: Callable[[list[Item]], Members],
    second: Callable[[list[Item]], Members],
) -> Members:
    """Members that are made of items of two kinds, in the order of the items; each kind has a function of its own."""
    own = np.array([is_first(item) for item in chosen], dtype=bool)
    places = [np.flatnonzero(own).tolist(), np.flatnonzero(~own).tolist()]
    parts = [make([chosen[k] for k in at]) for make, at in zip((first, second), places, strict=True) if at]
    return parts[0] if len(parts) == 1 else SideBySide(tuple(parts), np.argsort(np.concatenate(places)))


def _check_kinds(kinds: Sequence[str]) -> None:
    """Refuse kinds that consist of other kinds: a file nests only once."""
    if set(kinds) & {KIND, "derandomised"}:
        raise FileError("classifiers side by side are of other kinds themselves")
