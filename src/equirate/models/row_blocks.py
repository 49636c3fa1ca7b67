"""Blocks of rows in the order of their cells: scores, and sums by cell, while the rows are in cache.

In: rows in the order of their cells, and where each cell begins. Out: `RowBlock`s. `cell_rows` passes over them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
Single = NDArray[np.float32]

BLOCK = 8192
"""Rows that stay in cache, in single precision."""
TASK = 1 << 15
"""Rows that a thread takes at a time: several for each from 100,000 rows on. The number of threads changes no sum."""
_FEW_CELLS = 64
"""Cells in a block up to which a product for each is faster than sums over all rows."""


def row_blocks(X: Any, weights: Single | None, starts: NDArray[np.intp], wide: bool) -> list[RowBlock]:
    """Blocks of rows that stay in cache: parts of one large cell, or several small cells together.

    Sparse rows of several cells are not put together: their sums would be dense.
    """
    blocks: list[RowBlock] = []
    sparse, number = bool(sp.issparse(X)), len(starts) - 1
    size = BLOCK if not sparse else max(BLOCK, X.shape[0] // 16)
    c = 0
    while c < number:
        a, b, last = int(starts[c]), int(starts[c + 1]), c + 1
        if sparse or b - a >= size // 4:
            cuts = [(slice(x, y), slice(c, c + 1)) for x, y in ranges(a, b, size)]
        else:
            while last < number and starts[last + 1] - a <= size:
                last += 1
            b = int(starts[last])
            cuts = [(slice(a, b), slice(c, last))] if b > a else []
        blocks += [RowBlock(X, weights, starts, rows, cells, wide) for rows, cells in cuts]
        c = last
    return blocks


class RowBlock:
    """Some rows, which belong to one cell or to several that are small.

    Parameters
    ----------
    X, weights
        Features and weights of all rows, in the order of their cells.
    starts
        Where each cell begins, and the last one ends.
    rows, cells
        The rows of this block, and the cells that they belong to.
    wide
        Whether sums are taken in double precision.
    """

    def __init__(
        self, X: Any, weights: Single | None, starts: NDArray[np.intp], rows: slice, cells: slice, wide: bool
    ) -> None:
        self.rows, self.cells = rows, cells
        self.X = X[rows]
        self.sparse, self.wide = bool(sp.issparse(X)), wide
        self.weights = None if weights is None else weights[rows]
        several = cells.stop - cells.start > 1
        self.starts = starts[cells] - rows.start if several else None
        if several:
            self.filled = np.flatnonzero(np.diff(starts[cells.start : cells.stop + 1]))

    def scores(self, W: Single) -> Single:
        """Scores of the rows, (directions, rows)."""
        if self.sparse:
            return np.ascontiguousarray((self.X @ W[:-1] + W[-1]).T)
        if self.wide:
            return np.ascontiguousarray((self.X.astype(float) @ W.astype(float)).T.astype(np.float32))
        return np.ascontiguousarray((self.X @ W).T)

    def totals(self, values: Single) -> Array:
        """Weighted sums of values (directions, rows) by cell."""
        if self.starts is None:
            totals = values.sum(axis=1, dtype=float) if self.weights is None else values @ self.weights.astype(float)
            return np.asarray(totals, dtype=float)[:, None]
        weighted = values if self.weights is None else values * self.weights
        return self._reduced(weighted.astype(float), axis=1)

    def slopes(self, values: Single) -> Array:
        """Weighted sums of values times features, (directions, cells, width)."""
        weighted = values if self.weights is None else values * self.weights
        if self.starts is None:
            if self.sparse:
                slopes = np.empty((len(values), self.X.shape[1] + 1))
                slopes[:, :-1] = (self.X.T @ np.ascontiguousarray(weighted.T)).T
                slopes[:, -1] = weighted.sum(axis=1, dtype=float)
            elif self.wide:
                slopes = weighted.astype(float) @ self.X.astype(float)
            else:
                slopes = weighted @ self.X
            return np.asarray(slopes, dtype=float)[:, None]
        X, own = self.X.astype(float), weighted.astype(float)
        if len(self.filled) > _FEW_CELLS:
            return np.stack([self._reduced(X * each[:, None], axis=0) for each in own])
        sums = np.zeros((len(own), self.cells.stop - self.cells.start, X.shape[1]))
        ends = [*self.starts[self.filled[1:]], len(X)]
        for c, end in zip(self.filled, ends, strict=True):
            rows = slice(self.starts[c], end)
            sums[:, c] = own[:, rows] @ X[rows]
        return sums

    def _reduced(self, values: Array, axis: int) -> Array:
        """Sums over the rows of each cell; empty cells have none."""
        assert self.starts is not None  # several cells
        count = self.cells.stop - self.cells.start
        shape = (values.shape[0], count) if axis == 1 else (count, values.shape[1])
        sums = np.zeros(shape)
        reduced = np.add.reduceat(values, self.starts[self.filled], axis=axis)
        if axis == 1:
            sums[:, self.filled] = reduced
        else:
            sums[self.filled] = reduced
        return sums


def ranges(start: int, stop: int, size: int) -> list[tuple[int, int]]:
    """Cut a range into ranges of a size; the last one may be smaller."""
    return [(a, min(a + size, stop)) for a in range(start, stop, min(size, max(stop - start, 1)))]
