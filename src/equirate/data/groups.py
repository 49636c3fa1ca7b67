"""Groups: the combinations of values of some attributes that occur in the data, and how many examples each has.

In: names of attributes, and examples. Out: `Groups`, counted in one pass whatever their number, and `refuse_many` for
attributes that are no groups: a quantity, or an identifier.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, EquirateWarning
from .._core.peers import Peers
from .._core.warning import warn
from .examples import Examples
from .labels import distinct
from .slices import Attribute, Slice

Array = NDArray[np.float64]

MANY_VALUES = 100
"""With more values than this, making each value of a numeric attribute a group is likely a mistake."""
MOST_NUMBERS = 200
"""Groups of a numeric attribute at most: with more it is a quantity, and a constraint for each value means nothing."""
MAX_GROUPS = 1000
"""Groups at most: each has two constraints or more, and a table of rates by cells has the square of their number."""
_BLOCK = 1 << 20  # examples that are processed together


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that occur in the data.

    Attributes
    ----------
    names, values
        The attributes, and the values of each in order.
    codes
        The combinations that occur, in order: places of their values, as the digits of one number.
    counts, weights
        Number of examples in each, and their weight.
    numeric
        Attributes that hold numbers or times.
    """

    names: tuple[str, ...]
    values: tuple[list[Any], ...]
    codes: NDArray[np.int64]
    counts: Array
    weights: Array
    numeric: tuple[str, ...]

    @classmethod
    def of(cls, names: tuple[str, ...], examples: Examples) -> Groups:
        """Count the groups of all processes."""
        columns = [examples.column(name) for name in names]
        values = tuple(_unique(column, examples.shared) for column in columns)
        numeric = tuple(name for name, column in zip(names, columns, strict=True) if column.dtype.kind in "iufM")
        own_counts = _summed(list(_counted(columns, values, examples.weights)))
        return cls(names, values, *_summed(examples.shared.gather(own_counts)), numeric)

    def __len__(self) -> int:
        """Count the groups."""
        return len(self.codes)

    def support(self, share: bool) -> Array:
        """Number of examples of each group, or its share of the weight."""
        return self.weights / self.weights.sum() if share else self.counts

    def slice(self, k: int) -> Slice:
        """One group as a slice."""
        places = np.unravel_index(int(self.codes[k]), [len(distinct) for distinct in self.values])
        parts = [
            Attribute(name) == distinct[int(place)]
            for name, distinct, place in zip(self.names, self.values, places, strict=True)
        ]
        group: Slice = functools.reduce(operator.and_, parts)
        return group


def refuse_many(groups: Groups, kept: int, what: str) -> None:
    """Refuse more groups than make sense, and warn of many numbers.

    ``kept`` have enough examples, ``what`` is the constraint that needs them.
    """
    unusual = []
    for name in groups.numeric:
        distinct = groups.values[groups.names.index(name)]
        count, middle = len(distinct), distinct[len(distinct) // 2].item()
        fix = f"into a few bins first, for example with pandas.cut, or give slices, such as attr({name!r}) < {middle!r}"
        if min(count, kept) > MOST_NUMBERS:
            raise DataError(
                f"{what} makes {kept:,} groups of the numeric attribute {name!r}, which has {count:,} values. "
                f"Put it {fix}; leave small groups out with min_support; give codes that are no quantity as text"
            )
        if min(count, kept) > MANY_VALUES:
            unusual.append(
                f"the attribute {name!r} has {count:,} different values, and each becomes a group: put it {fix}"
            )
    if kept > MAX_GROUPS:
        raise DataError(
            f"{what} makes {kept:,} groups, more than {MAX_GROUPS:,}: join values into fewer groups, or leave small "
            "groups out with min_support, such as min_support=30"
        )
    for text in unusual:
        warn(text, EquirateWarning)


def _unique(column: NDArray[Any], shared: Peers) -> list[Any]:
    """The values of a column on all processes, in order."""
    if column.dtype.kind in "OU":
        values = set().union(*shared.gather(set(column.tolist())))
        return sorted(values, key=lambda value: (str(type(value)), value))
    blocks = [distinct(column[k : k + _BLOCK]) for k in range(0, max(len(column), 1), _BLOCK)]
    return list(np.unique(np.concatenate(shared.gather(np.unique(np.concatenate(blocks))))))


Counted = tuple[NDArray[np.int64], Array, Array]


def _counted(columns: list[NDArray[Any]], values: tuple[list[Any], ...], weights: Array) -> Iterator[Counted]:
    """Codes, counts and weights of the groups, block by block."""
    places = [_places(distinct) for distinct in values]
    for first in range(0, max(len(weights), 1), _BLOCK):
        rows = slice(first, first + _BLOCK)
        code = np.zeros(len(weights[rows]), dtype=np.int64)
        for column, place, own_values in zip(columns, places, values, strict=True):
            code = code * len(own_values) + place(column[rows])
        yield _summed([(code, np.ones(len(code)), np.asarray(weights[rows], dtype=float))])


def _places(values: list[Any]) -> Any:
    """A function from values to their places in order."""
    if values and isinstance(values[0], np.generic):
        order = np.array(values)
        return lambda column: np.searchsorted(order, column)
    place = {value: k for k, value in enumerate(values)}
    return lambda column: np.fromiter(map(place.__getitem__, column.tolist()), np.int64, len(column))


def _summed(parts: list[Counted]) -> Counted:
    """Counts and weights summed over equal codes."""
    codes = np.concatenate([part[0] for part in parts])
    counts, weights = (np.concatenate([part[k] for part in parts]) for k in (1, 2))
    largest = int(codes.max(initial=0))
    if largest < len(codes):  # a place for each code is faster than sorting them
        present = np.flatnonzero(np.bincount(codes, minlength=1))
        summed = [np.bincount(codes, each, largest + 1)[present].astype(float) for each in (counts, weights)]
        return present.astype(np.int64), summed[0], summed[1]
    codes, of = np.unique(codes, return_inverse=True)
    sums = np.bincount(of, counts, len(codes)).astype(float), np.bincount(of, weights, len(codes)).astype(float)
    return codes, *sums
