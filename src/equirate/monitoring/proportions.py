"""Proportions: what a monitor counts. Every linear rate is one, and so is a ratio such as precision.

In: a slice, and which sorts of rows count and succeed. Out: `Proportion`, which marks trials and successes among new
rows, and `disjoint`, which says whether no row can count in two of them.

A *sort* of row is its label, its baseline prediction and its own prediction, as codes of the classes (`Sorts`). Of two
classes there are eight, with number ``4 * label + 2 * baseline + prediction``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from ..data.examples import Examples
from ..data.kinds import class_terms
from ..data.slices import Slice, comparisons
from ..language.nodes import Rate

MOST_CLASSES = 30
"""Classes up to which rates against a baseline are followed: a sort is then one of 27,000."""
Flags = tuple[bool, ...]
Mask = NDArray[np.bool_]
_MOST = 4096
"""Most combinations of attribute values that are tried to see whether two slices overlap."""


@dataclass(frozen=True)
class Sorts:
    """The sorts of rows: how many classes there are, and how many answers of a baseline are distinguished."""

    classes: int = 2
    baselines: int = 2

    @classmethod
    def of(cls, classes: int, rates: Iterable[Rate]) -> Sorts:
        """Those that some rates distinguish; of more than two classes, baselines only where a rate names one."""
        if classes == 2:
            return cls()
        if all(rate.baseline is None for rate in rates):
            return cls(classes, 1)
        if classes > MOST_CLASSES:
            raise EquirateError(
                f"a monitor follows rates against a baseline for up to {MOST_CLASSES} classes, and there are {classes}"
            )
        return cls(classes, classes)

    @property
    def count(self) -> int:
        """How many sorts there are."""
        return self.classes * self.baselines * self.classes

    def number(self, labels: NDArray[Any], baselines: Any, predictions: NDArray[Any]) -> NDArray[np.intp]:
        """The sort of rows."""
        return np.asarray((labels.astype(np.intp) * self.baselines + baselines) * self.classes + predictions)

    def every(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Label, baseline and prediction of every sort."""
        grid = np.indices((self.classes, self.baselines, self.classes)).reshape(3, -1)
        return grid[0], grid[1], grid[2]


BINARY = Sorts()


@dataclass(frozen=True)
class Proportion:
    """Successes among the rows of a slice that count; ``counted`` and ``success`` have one flag for each sort.

    Where there is a ``part``, only rows of that slice are successes.
    """

    slice: Slice
    baseline: str | None
    counted: Flags
    success: Flags
    part: Slice | None = None
    sorts: Sorts = BINARY

    @property
    def needs_label(self) -> bool:
        """Whether trials or successes depend on the label."""
        counted = np.array(self.counted).reshape(self.sorts.classes, -1)
        rows = counted & np.array(self.success).reshape(counted.shape)
        return bool((counted != counted[0]).any() or (rows != rows[0]).any())

    def mark(self, examples: Examples, predicted: NDArray[Any]) -> tuple[Mask, Mask]:
        """Which rows are trials, and which are successes."""
        other: Any = 0 if self.baseline is None else examples.baseline(self.baseline).astype(np.intp)
        sorts = self.sorts.number(examples.labels, other, predicted)
        trials = np.array(self.counted)[sorts] & examples.mask(self.slice)
        successes = trials & np.array(self.success)[sorts]
        return trials, successes if self.part is None else successes & examples.mask(self.part)


def oriented(
    slice_: Slice, baseline: str | None, counted: Any, success: Any, sorts: Sorts = BINARY
) -> tuple[Proportion, bool]:
    """The proportion or its complement, whichever succeeds for the last counted sort, and whether it is the complement.

    Both sides of an ``abs`` then count the same.
    """
    counted = tuple(bool(flag) for flag in counted)
    success = tuple(bool(s) and c for s, c in zip(success, counted, strict=True))
    last = max(k for k, flag in enumerate(counted) if flag)
    turned = not success[last]
    if turned:
        success = tuple(c and not s for c, s in zip(counted, success, strict=True))
    return Proportion(slice_, baseline, counted, success, sorts=sorts), turned


def contributions(rate: Rate, sorts: Sorts = BINARY) -> tuple[NDArray[np.float64], Mask]:
    """What a row of each sort contributes to a linear rate, and whether it is in the denominator."""
    labels, others, predictions = sorts.every()
    if sorts.classes == 2:
        slopes, offsets = np.array(rate.kind.contributions)[labels, others].T
        return slopes * predictions + offsets, np.isin(labels, rate.kind.labels)
    terms = class_terms(rate.kind, rate.codes, labels, None if rate.baseline is None else others)
    values = terms.offset.astype(float)
    for coefficient, target in terms.targets:
        values = values + coefficient * (predictions == target)
    return values, np.asarray(rate.among(labels), dtype=bool)


# -- which proportions share rows -----------------------------------------------------------------


def disjoint(left: Proportion, right: Proportion) -> bool:
    """Whether no row can count in both; False where that cannot be shown.

    Examples
    --------
    >>> from equirate import attr
    >>> everything = (True,) * 8
    >>> women, men, old = attr("sex") == "F", attr("sex") == "M", attr("age") >= 60
    >>> disjoint(*(Proportion(s, None, everything, everything) for s in (women, men)))
    True
    >>> disjoint(*(Proportion(s, None, everything, everything) for s in (women, old)))
    False
    """
    same_model = left.baseline == right.baseline or left.baseline is None or right.baseline is None
    if same_model and not any(a and b for a, b in zip(left.counted, right.counted, strict=True)):
        return True
    return _disjoint_slices(left.slice, right.slice)


def classes(proportions: Iterable[Proportion]) -> list[list[int]]:
    """Put proportions into as few classes as a first fit finds, so that those of one class are disjoint."""
    groups: list[list[int]] = []
    known = list(proportions)
    for k, one in enumerate(known):
        place = next((part for part in groups if all(disjoint(one, known[other]) for other in part)), None)
        if place is None:
            groups.append([k])
        else:
            place.append(k)
    return groups


def _disjoint_slices(left: Slice, right: Slice) -> bool:
    """Try every combination of values that the comparisons in two slices distinguish."""
    values: dict[str, list[Any]] = {}
    for part in (*comparisons(left), *comparisons(right)):
        values.setdefault(part.attribute, []).append(part.value)
    candidates = {name: _candidates(given) for name, given in values.items()}
    size = 1
    for options in candidates.values():
        size *= len(options)
    if not candidates or not 0 < size <= _MOST:
        return False
    grid = itertools.product(*candidates.values())
    columns = {name: np.array(column) for name, column in zip(candidates, zip(*grid, strict=True), strict=True)}
    try:
        return not (left.mask(columns) & right.mask(columns)).any()
    except EquirateError:
        return False


def _candidates(values: list[Any]) -> list[Any]:
    """Values that represent all others: those compared with, and one below, between and above; empty if unknown."""
    if all(isinstance(value, str) for value in values):
        return sorted({"", *values, *(value + "\x01" for value in values)})
    if not all(isinstance(value, (bool, int, float)) for value in values):
        return []
    known = sorted({float(value) for value in values})
    between = [(a + b) / 2 for a, b in itertools.pairwise(known)]
    return sorted({known[0] - 1, *known, *between, known[-1] + 1})
