r"""Rows laid out by cell for weighted logistic regressions of any costs per cell: one pass, sums alone.

In: features and cells. Out: `CellRows`, whose `score` passes over the rows once for any number of weight vectors and
returns a `Direction` for each. `logistic_oracle` calls this.

At weights w the scores are z = x . w. For every cell c a pass adds up, with p = 1 / (1 + exp(-z)),

.. math:: L_c = \sum \log(1 + e^z), \qquad Z_c = \sum z, \qquad S_c = \sum p\,x,

and counts the rows above each of many thresholds. With :math:`a_c = |k_c|` the logistic loss for costs :math:`k` per
cell is :math:`\sum_c a_c (L_c - [k_c < 0] Z_c)` and its slope :math:`\sum_c a_c (S_c - [k_c < 0] T_c)`, where
:math:`T_c = \sum x`: both are known for *any* costs, so prices may change after the pass. Moments
:math:`M_c = \sum x x^\top` are gathered once; a quarter of them bounds the second derivatives of any costs (Böhning and
Lindsay 1988).

Features are centred and scaled to unit variance as they are copied, in single precision, with a column of ones last;
sparse ones are scaled only, by what they are where they are not zero. Everything adds up over processes that share the
rows.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core import threads
from .._core.cached import cached_property
from ..data.cells import Cells
from ..data.features import LEAST_SPREAD, refuse_tiny
from ..data.mapped import is_mapped, scratch
from .row_blocks import BLOCK, TASK, RowBlock, ranges, row_blocks
from .row_counts import BINS, EDGES, RowCounts, ThresholdCounter

Array = NDArray[np.float64]
Single = NDArray[np.float32]

MOST_MOMENTS = 8_000_000
"""Numbers in the second moments of all cells; beyond that their diagonals are kept."""
_COPIED = 1024
"""Rows that stay in cache in double precision."""


@dataclass(frozen=True, eq=False)
class Direction:
    """One weight vector, and what a pass found out about it.

    Attributes
    ----------
    weights
        For standardised features, the intercept last.
    edges
        Thresholds, ascending; a row is above one where its score is larger.
    sums
        (cells, thresholds): weighted number of rows above each threshold; `RowCounts` where cells are many.
    loss, linear, slope
        L, Z and S of the module's docstring, by cell; None where the loss of the regression is not needed.
    """

    weights: Array
    edges: Array
    sums: Array | RowCounts
    loss: Array | None = None
    linear: Array | None = None
    slope: Array | None = None


class CellRows:
    """Rows in the order of their cells; see the module's docstring.

    Parameters
    ----------
    X
        Features: an array or a CSR matrix.
    cells
        The cells that sums are taken by, with the weights of the rows.
    centre
        Whether features are centred (never where they are sparse).
    """

    def __init__(self, X: Any, cells: Cells, *, centre: bool = True) -> None:
        self.shared, self.cells, self.sparse = cells.shared, cells, bool(sp.issparse(X))
        small: Any = np.int32 if len(cells.index) < 2**31 else np.intp
        self.size, order = len(cells.index), cells.order.astype(small)
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(cells.index, minlength=len(cells)))])
        self.weights: Single | None = None if cells.unweighted else cells.weights[order].astype(np.float32)
        self.total = float(cells.totals.sum())
        counting = len(cells.index) if cells.unweighted else int(np.count_nonzero(cells.weights))
        self.bins = int(np.clip(8 * self.shared.total(counting), 256, BINS))
        self.mean, self.scale = self._standard(X, centre and not self.sparse)
        self.X: Any = self._sparse(X, order) if self.sparse else self._dense(X, order)
        del order
        self.moments, self.first = self.cell_moments()
        self.cells = replace(cells, index=cells.index[:0].copy(), weights=cells.weights[:0].copy(), clusters=None)

    @property
    def width(self) -> int:
        """Number of weights: the features and the intercept."""
        return len(self.mean) + 1

    @property
    def diagonal(self) -> bool:
        """Whether only the diagonals of the second moments are kept."""
        return self.sparse or len(self.cells) * self.width**2 > MOST_MOMENTS

    def thinned(self, most: int, *, regress: bool = False) -> CellRows:
        """About ``most`` of the rows, evenly spaced in every cell; these rows themselves where there are no more.

        With ``regress`` their moments are their own, as regressions need them.
        """
        if self.size <= most or self.shared.size > 1:
            return self
        picked = np.arange(0, self.size, -(-self.size // most))
        thinned = copy.copy(self)
        thinned.__dict__.pop("_blocks", None)
        thinned.__dict__.pop("_tasks", None)
        cell = np.searchsorted(self.starts, picked, side="right") - 1
        thinned.size, thinned.X = len(picked), self.X[picked]
        thinned.starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=len(self.cells)))])
        thinned.weights = None if self.weights is None else self.weights[picked]
        weights = np.ones(len(picked)) if thinned.weights is None else thinned.weights.astype(float)
        totals = np.bincount(cell, weights=weights, minlength=len(self.cells)).astype(float)
        thinned.cells = replace(self.cells, index=cell.astype(np.int32), weights=weights, totals=totals)
        thinned.total = float(totals.sum())
        if regress:
            thinned.moments, thinned.first = thinned.cell_moments()
        return thinned

    def release(self) -> None:
        """Let go of the rows; sums, moments and scales stay."""
        self.X = None
        self.__dict__.pop("_blocks", None)

    # -- layout ----------------------------------------------------------------------------------

    def _standard(self, X: Any, centre: bool) -> tuple[Array, Array]:
        """Mean and standard deviation of the features over all rows that have weight.

        A feature that is constant up to rounding gets a spread of 1: standardised, it is 0 everywhere. Sparse features
        are measured by their root mean square where they are not zero, so that a rare word weighs no more than others.
        """
        d = X.shape[1]
        weights = None if self.cells.unweighted else self.cells.weights
        if self.sparse:
            w = np.ones(X.shape[0]) if weights is None else weights
            squared = sp.csr_array((X.data.astype(float) ** 2, X.indices, X.indptr), shape=X.shape)
            there = sp.csr_array(((X.data != 0).astype(float), X.indices, X.indptr), shape=X.shape)
            second, count = self.shared.add(np.asarray(w @ squared), np.asarray(w @ there))
            mean, spread = np.zeros(d), np.sqrt(second / np.maximum(count, 1e-300))
        else:
            mean, variance = self._dense_moments(X, weights)
            spread = np.sqrt(np.maximum(variance, 0.0))
            spread = np.where(spread > 1e-12 * np.abs(mean), spread, 0.0)
        refuse_tiny(X, spread, self.shared)
        return (mean if centre else np.zeros(d)), np.where(spread > LEAST_SPREAD, spread, 1.0)

    def _dense_moments(self, X: Any, weights: Array | None) -> tuple[Array, Array]:
        """Mean and variance in one pass: each block's own, put together (Chan, Golub and LeVeque 1979)."""
        count = -(-X.shape[0] // BLOCK)
        sizes, means, squares = np.zeros((count, 1)), np.zeros((count, X.shape[1])), np.zeros((count, X.shape[1]))

        def work(first: int, last: int) -> None:
            for k in range(first, last):
                part = np.asarray(X[k * BLOCK : (k + 1) * BLOCK], dtype=float)
                w = np.ones(len(part)) if weights is None else weights[k * BLOCK : (k + 1) * BLOCK]
                sizes[k] = w.sum()
                means[k] = w @ part / max(float(sizes[k, 0]), 1e-300)
                away = part - means[k]
                squares[k] = w @ np.multiply(away, away, out=away)

        threads.each(work, ranges(0, count, TASK // BLOCK))
        (total,) = self.shared.add((sizes * means).sum(axis=0))
        mean = total / self.total
        (square,) = self.shared.add((squares + sizes * (means - mean) ** 2).sum(axis=0))
        return mean, square / self.total

    def _dense(self, X: Any, order: NDArray[np.intp]) -> Single:
        shape = (X.shape[0], X.shape[1] + 1)
        result: Single = scratch(shape, np.float32) if is_mapped(X) else np.empty(shape, np.float32)

        # Rows of copies: numpy works on two tables alike with far fewer loops than on a table and a row.
        mean, inverse = (np.tile(each, (_COPIED, 1)) for each in (self.mean, 1 / self.scale))

        def work(first: int, last: int) -> None:
            given, block = np.empty((_COPIED, X.shape[1]), X.dtype), np.empty((_COPIED, X.shape[1]))
            for a in range(first * _COPIED, min(last * _COPIED, self.size), _COPIED):
                some = order[a : a + _COPIED]
                size = len(some)
                np.take(X, some, axis=0, out=given[:size], mode="clip")
                np.subtract(given[:size], mean[:size], out=block[:size])
                np.multiply(block[:size], inverse[:size], out=block[:size])
                result[a : a + size, :-1] = block[:size]

        threads.each(work, ranges(0, -(-self.size // _COPIED), TASK // _COPIED))
        result[:, -1] = 1.0
        return result

    def _sparse(self, X: Any, order: NDArray[np.intp]) -> Any:
        scaled = sp.csr_array(X)[order].astype(np.float32)
        return sp.csr_array(scaled @ sp.diags_array((1 / self.scale).astype(np.float32)))

    def cell_moments(self) -> tuple[Array, Array]:
        """Second and first moments of every cell."""
        C, width = len(self.cells), self.width
        second = np.zeros((C, width) if self.diagonal else (C, width, width))
        first = np.zeros((C, width))
        squared = None
        if self.sparse:
            squared = sp.csr_array((self.X.data**2, self.X.indices, self.X.indptr), shape=self.X.shape)
        pieces = [
            (c, a, b)
            for c in range(C)
            for a, b in ranges(self.starts[c], self.starts[c + 1], BLOCK if not self.sparse else 1 << 62)
        ]
        by_task: dict[int, dict[int, tuple[Array, Array]]] = {}

        def work(begin: int, end: int) -> None:
            own: dict[int, tuple[Array, Array]] = {}
            for c, a, b in pieces[begin:end]:
                two, one = self._piece(a, b, squared)
                if c in own:
                    two, one = own[c][0] + two, own[c][1] + one
                own[c] = two, one
            by_task[begin] = own

        # Sparse rows of a cell are one piece, whose sums are dense: as few of them at a time as can be.
        # Every task has moments of its own, so these are larger ones.
        threads.each(work, ranges(0, len(pieces), 4 * TASK // BLOCK) if not self.sparse else [])
        for c, a, b in pieces if self.sparse else ():
            two, one = self._piece(a, b, squared)
            second[c] += two
            first[c] += one
        for begin in sorted(by_task):
            for c, (two, one) in by_task[begin].items():
                second[c] += two
                first[c] += one
        if self.sparse:
            second[:, -1] = first[:, -1]
        second, first = self.shared.add(second, first)
        return second, first

    def _piece(self, a: int, b: int, squared: Any) -> tuple[Array, Array]:
        """Second and first moments of some rows."""
        w = None if self.weights is None else self.weights[a:b]
        block = self.X[a:b]
        if squared is not None:
            ones = np.ones(b - a, np.float32) if w is None else w
            one = np.append(np.asarray(block.T @ ones, dtype=float), ones.sum(dtype=float))
            return np.append(np.asarray(squared[a:b].T @ ones, dtype=float), 0.0), one
        weighted = block if w is None else block * np.sqrt(w)[:, None]
        two = np.einsum("ij,ij->j", weighted, weighted) if self.diagonal else weighted.T @ weighted
        if w is not None:
            one = w @ block
        elif self.diagonal or b - a < BLOCK // 4:
            one = block.sum(axis=0, dtype=float)
        else:  # the products with the column of ones, as exact as the slopes of such a block
            one = two[-1]
        return two.astype(float), np.asarray(one, dtype=float)

    # -- a pass ----------------------------------------------------------------------------------

    def score(self, W: Array, *, losses: bool = True, thresholds: bool = True) -> list[Direction]:
        """Pass over the rows once, for weights (width, directions).

        Without ``losses``, only rows are counted; without ``thresholds``, only those with a positive score.
        """
        low = W.astype(np.float32)
        K, Z = W.shape[1], self._score_array(W.shape[1])
        lost: tuple[Array | None, ...] = (None, None, None)
        if losses:
            loss, slope = self.shared.add(*self._passed(low, Z))
            linear = low.T.astype(float) @ self.first.T
            lost = loss + linear / 2, linear, (slope + self.first) / 2
        else:
            self._scored(low, Z)
        directions, counter = [], self._counter
        for k in range(K):
            edges, above = counter.thresholds(Z[k]) if thresholds else counter.positive(Z[k])
            own = [None if part is None else part[k] for part in lost]
            directions.append(Direction(low[:, k].astype(float), edges, above, *own))
        return directions

    def _score_array(self, directions: int) -> Single:
        """Memory for the scores of all rows: a file where the features lie in one."""
        shape = directions, self.size
        return scratch(shape, np.float32) if is_mapped(self.X) else np.empty(shape, np.float32)

    def count_slopes(self, W: Array) -> Array:
        """Sums by cell of p (1 - p) x, the slope of the smoothed counts: (directions, cells, width)."""
        low = W.astype(np.float32)

        def function(z: Single) -> Single:
            tail = np.exp(-np.abs(z))
            return np.asarray(tail / (1 + tail) ** 2)

        D = np.zeros((W.shape[1], len(self.cells), self.width))

        def work(first: int, last: int) -> None:
            for block in self._blocks[first:last]:
                D[:, block.cells] += block.slopes(function(block.scores(low)))

        # A cell may lie in two tasks: one after the other, so that sums have one order.
        work(0, len(self._blocks))
        (slopes,) = self.shared.add(D)
        return slopes

    def _scored(self, W: Single, Z: Single) -> None:
        def work(first: int, last: int) -> None:
            for block in self._blocks[first:last]:
                Z[:, block.rows] = block.scores(W)

        threads.each(work, self._tasks)

    def _passed(self, W: Single, Z: Single) -> tuple[Array, Array]:
        """Scores into Z; and by cell L - Z / 2, (directions, cells), and 2 S - T, (directions, cells, width).

        With h = tanh(z / 2), p = (1 + h) / 2 and log(1 + exp(z)) = z / 2 + |z| / 2 - log((1 + |h|) / 2): what is linear
        in the features is known from the moments.
        """
        K, C = W.shape[1], len(self.cells)
        parts: dict[int, list[tuple[slice, Array, Array]]] = {}

        def work(first: int, last: int) -> None:
            sums = []
            for block in self._blocks[first:last]:
                z = block.scores(W)
                Z[:, block.rows] = z
                z *= 0.5
                h = np.tanh(z)
                larger = np.abs(h)
                larger += 1
                larger *= 0.5
                np.log(larger, out=larger)
                loss = np.abs(z, out=z)
                loss -= larger
                sums.append((block.cells, block.totals(loss), block.slopes(h)))
            parts[first] = sums

        threads.each(work, self._tasks)
        losses, slopes = np.zeros((K, C)), np.zeros((K, C, self.width))
        for first in sorted(parts):  # in the order of the rows, whatever thread was there first
            for cells, loss, slope in parts[first]:
                losses[:, cells] += loss
                slopes[:, cells] += slope
        return losses, slopes

    @property
    def _counter(self) -> ThresholdCounter:
        return ThresholdCounter(self.shared, self.starts, self.weights, self.bins)

    @cached_property
    def _blocks(self) -> list[RowBlock]:
        return row_blocks(self.X, self.weights, self.starts, self.shared.wide)

    @cached_property
    def _tasks(self) -> list[tuple[int, int]]:
        """Blocks that a thread takes together."""
        return ranges(0, len(self._blocks), max(TASK // BLOCK, 1))

    def least(self, W: Array, costs: Array) -> Array:
        """The least that any threshold of each of several weights costs, (costs, directions), for costs by cell.

        Costs are (costs, cells). It is what the counts of `score` would tell, without a count for each cell.
        """
        Z = self._score_array(W.shape[1])
        self._scored(W.astype(np.float32), Z)
        each = np.repeat(costs, np.diff(self.starts), axis=1)
        each = each if self.weights is None else each * self.weights
        least, bins = np.zeros((len(costs), W.shape[1])), min(self.bins, EDGES)
        for k, z in enumerate(Z):
            place = self._counter.binned(z, bins)[2]
            for j, own in enumerate(each):
                (sums,) = self.shared.add(np.bincount(place, weights=own, minlength=bins))
                least[j, k] = sums[::-1].cumsum().min()
        return least

    def raw(self, weights: Array, edge: float) -> Array:
        """Weights for the features as given, for the classifier that is 1 where the score is above the edge."""
        own = weights[:-1] / self.scale
        return np.append(own, weights[-1] - edge - self.mean @ own)

    def standard(self, raw: Array) -> Array:
        """Weights for standardised features (width, directions) from those for the features as given."""
        return np.vstack([raw[:-1] * self.scale[:, None], raw[-1] + self.mean @ raw[:-1]])
