"""Counts of rows above thresholds, by cell: exact numbers of the rows that classifiers with one score predict positive.

In: scores of rows in the order of their cells. Out: thresholds, and for each the weighted number of rows of every cell
above it: an array or, where there are more cells times thresholds than rows, `RowCounts`, which multiplies like it.
`cell_rows` calls this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.peers import Peers

Array = NDArray[np.float64]
Single = NDArray[np.float32]

BINS = 16384
"""Bins of equal width that scores are counted in first; eight for each row, where rows are few."""
EDGES = 2048
"""Thresholds kept for each direction, about equally many rows between them; fewer where cells are many."""
MOST_COUNTS = 1 << 20
"""Thresholds times cells that are kept of one direction."""
LEAST_COUNTS = 1 << 17
"""Entries of a table of counts (cells x thresholds) that is kept though rows are fewer; larger ones are `RowCounts`."""
_ROWS_PER_BIN = 4
"""Rows for each cell and bin from which on cells are counted in all bins at once."""


class RowCounts:
    """Rows above each of many thresholds, by cell, as the place of every row: for cells that have few rows each.

    Used as a matrix (cells, thresholds) in products and single columns; as an array it would be mostly empty.
    """

    __array_ufunc__ = None  # `array @ counts` calls `__rmatmul__`
    ndim = 2

    def __init__(
        self, place: NDArray[np.int32], starts: NDArray[np.intp], weights: NDArray[np.float32] | None, count: int
    ) -> None:
        self.place, self.starts, self.weights = place, starts, weights
        self.shape = (len(starts) - 1, count)

    def __rmatmul__(self, costs: Array) -> Array:
        """Costs by cell (..., cells) added up over the rows above each threshold: (..., thresholds)."""
        if costs.ndim == 2:
            return np.stack([row_costs @ self for row_costs in costs])
        row_costs = np.repeat(costs, np.diff(self.starts))
        row_costs = row_costs if self.weights is None else row_costs * self.weights
        sums = np.bincount(self.place, weights=row_costs, minlength=self.shape[1])
        return np.ascontiguousarray(sums[::-1].cumsum()[::-1])

    def __getitem__(self, key: tuple[slice, Any]) -> Array:
        """Columns: ``counts[:, k]`` or ``counts[:, [k, ...]]``."""
        rows, columns = key
        assert rows == slice(None)
        if isinstance(columns, (list, np.ndarray)):
            return np.stack([self[:, int(k)] for k in columns], axis=1)
        above = self.place >= columns
        row_weights = above if self.weights is None else above * self.weights
        ends = np.concatenate([[0.0], np.cumsum(row_weights, dtype=float)])
        return np.asarray(np.diff(ends[self.starts]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All columns, as an array (cells, thresholds)."""
        return self[:, list(range(self.shape[1]))]


@dataclass(frozen=True, eq=False)
class ThresholdCounter:
    """Counts rows above thresholds by cell.

    Attributes
    ----------
    shared
        The processes that share the rows.
    starts
        Where each cell begins, and the last one ends.
    weights
        Weights of the rows; None where all are 1.
    bins
        Bins of equal width that scores are counted in first.
    """

    shared: Peers
    starts: NDArray[np.intp]
    weights: Single | None
    bins: int

    @property
    def number(self) -> int:
        """Number of cells."""
        return len(self.starts) - 1

    def binned(self, z: Single, bins: int) -> tuple[float, float, NDArray[np.int32]]:
        """Where the bins of scores begin, how wide they are, and the bin of every row; the scores are overwritten.

        Rows without weight make no bins.
        """
        own = z if self.weights is None else z[self.weights > 0]
        low, high = (float(own.min()), float(own.max())) if len(own) else (np.inf, -np.inf)
        low, high = self.shared.range(low, high)
        if self.weights is not None:
            np.clip(z, np.float32(low), np.float32(high), out=z)
        step = (high - low) / bins or 1.0
        z -= np.float32(low)
        z *= np.float32(1 / step)
        place = z.astype(np.int32)
        return low, step, np.clip(place, 0, bins - 1, out=place)

    def thresholds(self, z: Single) -> tuple[Array, Array | RowCounts]:
        """Thresholds of about equal ranks, and the weighted number of rows of each cell above each of them.

        The scores are overwritten. All rows are above the first threshold. Rows are counted in fine bins; a threshold
        lies in the middle of the empty bins below the one that it begins with, so that equal scores stay on one side of
        it.
        """
        low, step, place = self.binned(z, self.bins)
        fine = None
        if self.weights is None and self.shared.size == 1 and _ROWS_PER_BIN * self.number * self.bins <= len(z):
            fine = self._by_cell(place, self.bins)  # one look at the rows instead of two
            each = fine.sum(axis=0)
        else:
            counting = slice(None) if self.weights is None else self.weights > 0
            (each,) = self.shared.add(np.bincount(place[counting], minlength=self.bins))
        filled = np.flatnonzero(each > 0)
        own = each[filled]
        above = own.sum() - own.cumsum() + own  # rows in this filled bin or above
        kept = int(np.clip(MOST_COUNTS // self.number, 64, EDGES))
        wanted = np.searchsorted(-above, -above[0] * np.linspace(1, 0, kept + 1))  # ascending
        wanted = wanted[(wanted > 0) & (wanted < len(filled)) & np.append(wanted[:-1] < wanted[1:], True)]
        chosen, before = filled[wanted], filled[wanted - 1]
        edges = low + step * np.concatenate([[-1.0], (before + 1 + chosen) / 2])
        if fine is not None:
            counts = np.add.reduceat(fine, np.concatenate([[0], chosen]), axis=1)
        else:
            number = np.zeros(self.bins, np.int32)
            number[chosen] = 1
            place = number.cumsum(dtype=np.int32).take(place)
            if self.shared.size == 1 and self.number * len(edges) > max(LEAST_COUNTS, len(z)):
                return edges, RowCounts(place, self.starts, self.weights, len(edges))
            (counts,) = self.shared.add(self._by_cell(place, len(edges)))
        if self.weights is not None:
            return edges, np.ascontiguousarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1])
        below = np.cumsum(counts, axis=1, out=counts)  # whole numbers: what is not below is above
        sums = np.empty(counts.shape)
        sums[:, 0] = below[:, -1]
        np.subtract(below[:, -1:], below[:, :-1], out=sums[:, 1:])
        return edges, sums

    def positive(self, z: Single) -> tuple[Array, Array]:
        """The threshold 0, and the weighted number of rows of each cell above it."""
        (sums,) = self.shared.add(self._by_cell((z > 0).astype(np.int32), 2)[:, 1:].astype(float))
        return np.zeros(1), sums

    def _by_cell(self, place: NDArray[np.int32], count: int) -> NDArray[Any]:
        """Weighted number of rows by cell and place: whole numbers where rows have no weights."""
        C, kind = self.number, np.intp if self.weights is None else np.float64
        if C <= 256:
            counts = np.empty((C, count), kind)
            for c in range(C):
                rows = slice(self.starts[c], self.starts[c + 1])
                own = None if self.weights is None else self.weights[rows]
                counts[c] = np.bincount(place[rows], weights=own, minlength=count)
        else:
            cell = np.repeat(np.arange(C), np.diff(self.starts))
            counts = np.bincount(cell * count + place, weights=self.weights, minlength=C * count).reshape(C, count)
        return counts
