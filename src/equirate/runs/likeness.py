"""Columns that duplicate another one, or that determine the label.

In: columns of a table. Out: pairs that are one-to-one, and the share of rows whose label follows from a column. Large
tables are compared on evenly spaced rows first; pairs are then compared in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..tables.kinds import Kind, codes, kind_of, numbers

_MOST_ROWS = 20_000
_FEWEST = 20  # with fewer rows of the rarer label, a column may determine it by chance
_REPEATED = 20  # fewest rows per value: a column of many values determines any label
_ALMOST = 0.99
"""A column determines the label if its errors are at most ``1 - _ALMOST`` times the rows of the rarer label."""


def duplicates(table: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    """Columns that duplicate an earlier one, with that one: equal, or one-to-one."""
    rows = _rows(table.num_rows)
    first: dict[bytes, str] = {}
    pairs = []
    for name in names:
        key = _codes(table[name].take(rows)).tobytes()
        if key not in first:
            first[key] = name
        elif _equal(table[first[key]], table[name]):
            pairs.append((name, first[key]))
    return pairs


def share_determined(column: Any, positive: NDArray[np.bool_]) -> float | None:
    """The share of rows whose label follows from a column, if it almost determines the label; otherwise None."""
    rows = _rows(len(positive))
    y, sample = positive[rows.to_numpy()], column.take(rows)
    rarer = int(min(y.sum(), (~y).sum()))
    if rarer < _FEWEST:
        return None
    kind = kind_of("a column", sample)
    if kind in (None, Kind.CATEGORY):
        indices, values = codes(sample) if kind else (np.full(len(y), -1), [])
        if (len(values) + 1) * _REPEATED > len(y):
            return None
        wrong = _undecided(indices + 1, y)
    else:
        assert kind is not None
        wrong = _beyond_threshold(numbers("a column", sample, kind), y)
    return 1 - wrong / len(y) if wrong <= (1 - _ALMOST) * rarer else None


def _rows(count: int) -> Any:
    kept = np.arange(count) if count <= _MOST_ROWS else np.linspace(0, count - 1, _MOST_ROWS).astype(np.int64)
    return pa.array(kept)


def _codes(column: Any) -> NDArray[np.int64]:
    """Each row's value as the number of its first occurrence; values themselves where nearly all of them differ."""
    kind = kind_of("a column", column)
    if kind in (None, Kind.CATEGORY):
        indices, values = codes(column) if kind else (np.full(len(column), -1), [])
        if len(values) > len(column) / 2:
            return np.array([hash(value) for value in values] + [0], dtype=np.int64)[indices]
    else:
        assert kind is not None
        floats = numbers("a column", column, kind)
        distinct, indices = np.unique(floats, return_inverse=True, equal_nan=True)
        if len(distinct) > len(column) / 2:
            return np.ascontiguousarray(floats).view(np.int64)
    _, first, indices = np.unique(indices, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[indices]


def _equal(one: Any, other: Any) -> bool:
    return bool(np.array_equal(_codes(one), _codes(other)))


def _undecided(values: NDArray[np.int64], y: NDArray[np.bool_]) -> int:
    """Rows that are wrong where each value gets its most frequent label."""
    every = np.bincount(values)
    yes = np.bincount(values, weights=y, minlength=len(every))
    return int(np.minimum(yes, every - yes).sum())


def _beyond_threshold(values: NDArray[np.float64], y: NDArray[np.bool_]) -> int:
    """Rows that are wrong under the best threshold, in either direction; missing values get one label together."""
    absent = np.isnan(values)
    wrong = int(min(y[absent].sum(), (~y[absent]).sum()))
    values, y = values[~absent], y[~absent]
    if not len(y):
        return wrong
    order = np.argsort(values, kind="stable")
    values, y = values[order], y[order]
    ends = np.append(np.flatnonzero(np.diff(values)) + 1, len(y))  # a threshold lies between different values
    below = np.concatenate([[0], np.cumsum(y)])[np.append(0, ends)]
    at = np.append(0, ends)
    errors = below + (len(y) - at) - (y.sum() - below)  # negative below, positive above
    return wrong + int(min(errors.min(), (len(y) - errors).min()))
