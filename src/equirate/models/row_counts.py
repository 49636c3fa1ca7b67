"""Counts of rows above thresholds for many cells: the position of every row instead of a number for every cell.

In: rows in the order of their cells, and the place of each among the thresholds. Out: `RowCounts`, which multiplies
like the matrix of counts. `cell_rows` makes them where there are more cells times thresholds than rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
