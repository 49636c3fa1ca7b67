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
from .._core.errors import DataError
from .._core.peers import Peers
from ..data.cells import Cells
from ..data.mapped import is_mapped, scratch
from .row_counts import RowCounts

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
MOST_MOMENTS = 8_000_000
"""Numbers in the second moments of all cells; beyond that their diagonals are kept."""
_BLOCK, _COPIED = 8192, 1024
"""Rows that stay in cache, in single precision and in double."""
_FEW_CELLS = 64
"""Cells in a block up to which a product for each is faster than sums over all rows."""
_MANY = 4
"""Rows for each cell and bin from which on cells are counted in all bins at once."""
_TASK = 1 << 15
"""Rows that a thread takes at a time: several for each from 100,000 rows on. The number of threads changes no sum."""
_LEAST = 1e-150
"""Spread of a feature below which squares are lost."""


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
        found = copy.copy(self)
        found.__dict__.pop("_blocks", None)
        found.__dict__.pop("_tasks", None)
        cell = np.searchsorted(self.starts, picked, side="right") - 1
        found.size, found.X = len(picked), self.X[picked]
        found.starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=len(self.cells)))])
        found.weights = None if self.weights is None else self.weights[picked]
        weights = np.ones(len(picked)) if found.weights is None else found.weights.astype(float)
        totals = np.bincount(cell, weights=weights, minlength=len(self.cells)).astype(float)
        found.cells = replace(self.cells, index=cell.astype(np.int32), weights=weights, totals=totals)
        found.total = float(totals.sum())
        if regress:
            found.moments, found.first = found.cell_moments()
        return found

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
        return (mean if centre else np.zeros(d)), np.where(spread > _LEAST, spread, 1.0)

    def _dense_moments(self, X: Any, weights: Array | None) -> tuple[Array, Array]:
        """Mean and variance in one pass: each block's own, put together (Chan, Golub and LeVeque 1979)."""
        count = -(-X.shape[0] // _BLOCK)
        sizes, means, squares = np.zeros((count, 1)), np.zeros((count, X.shape[1])), np.zeros((count, X.shape[1]))

        def work(first: int, last: int) -> None:
            for k in range(first, last):
                part = np.asarray(X[k * _BLOCK : (k + 1) * _BLOCK], dtype=float)
                w = np.ones(len(part)) if weights is None else weights[k * _BLOCK : (k + 1) * _BLOCK]
                sizes[k] = w.sum()
                means[k] = w @ part / max(float(sizes[k, 0]), 1e-300)
                away = part - means[k]
                squares[k] = w @ np.multiply(away, away, out=away)

        threads.each(work, _tasks(count, _TASK // _BLOCK))
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

        threads.each(work, _tasks(-(-self.size // _COPIED), _TASK // _COPIED))
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
            for a, b in _pieces(self.starts[c], self.starts[c + 1], _BLOCK if not self.sparse else 1 << 62)
        ]
        found: dict[int, dict[int, tuple[Array, Array]]] = {}

        def work(begin: int, end: int) -> None:
            own: dict[int, tuple[Array, Array]] = {}
            for c, a, b in pieces[begin:end]:
                two, one = self._piece(a, b, squared)
                if c in own:
                    two, one = own[c][0] + two, own[c][1] + one
                own[c] = two, one
            found[begin] = own

        # Sparse rows of a cell are one piece, whose sums are dense: as few of them at a time as can be.
        # Every task has moments of its own, so these are larger ones.
        threads.each(work, _tasks(len(pieces), 4 * _TASK // _BLOCK) if not self.sparse else [])
        for c, a, b in pieces if self.sparse else ():
            two, one = self._piece(a, b, squared)
            second[c] += two
            first[c] += one
        for begin in sorted(found):
            for c, (two, one) in found[begin].items():
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
        elif self.diagonal or b - a < _BLOCK // 4:
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
        found = []
        for k in range(K):
            edges, above = self._counted(Z[k]) if thresholds else self._positive(Z[k])
            own = [None if part is None else part[k] for part in lost]
            found.append(Direction(low[:, k].astype(float), edges, above, *own))
        return found

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
        (found,) = self.shared.add(D)
        return found

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
            found = []
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
                found.append((block.cells, block.totals(loss), block.slopes(h)))
            parts[first] = found

        threads.each(work, self._tasks)
        losses, slopes = np.zeros((K, C)), np.zeros((K, C, self.width))
        for first in sorted(parts):  # in the order of the rows, whatever thread was there first
            for cells, loss, slope in parts[first]:
                losses[:, cells] += loss
                slopes[:, cells] += slope
        return losses, slopes

    @cached_property
    def _blocks(self) -> list[_Block]:
        """Blocks of rows that stay in cache: parts of one large cell, or several small cells together.

        Sparse rows of several cells are not put together: their sums would be dense.
        """
        found: list[_Block] = []
        size = _BLOCK if not self.sparse else max(_BLOCK, self.size // 16)
        c = 0
        while c < len(self.cells):
            a, b, last = int(self.starts[c]), int(self.starts[c + 1]), c + 1
            if self.sparse or b - a >= size // 4:
                found += [_Block(self, slice(x, y), slice(c, c + 1)) for x, y in _pieces(a, b, size)]
            else:
                while last < len(self.cells) and self.starts[last + 1] - a <= size:
                    last += 1
                b = int(self.starts[last])
                if b > a:
                    found.append(_Block(self, slice(a, b), slice(c, last)))
            c = last
        return found

    @cached_property
    def _tasks(self) -> list[tuple[int, int]]:
        """Blocks that a thread takes together."""
        return _tasks(len(self._blocks), max(_TASK // _BLOCK, 1))

    def least(self, W: Array, costs: Array) -> Array:
        """The least that any threshold of each of several weights costs, (costs, directions), for costs by cell.

        Costs are (costs, cells). It is what the counts of `score` would tell, without a count for each cell.
        """
        Z = self._score_array(W.shape[1])
        self._scored(W.astype(np.float32), Z)
        each = np.repeat(costs, np.diff(self.starts), axis=1)
        each = each if self.weights is None else each * self.weights
        found, bins = np.zeros((len(costs), W.shape[1])), min(self.bins, EDGES)
        for k, z in enumerate(Z):
            place = self._binned(z, bins)[2]
            for j, own in enumerate(each):
                (sums,) = self.shared.add(np.bincount(place, weights=own, minlength=bins))
                found[j, k] = sums[::-1].cumsum().min()
        return found

    def _binned(self, z: Single, bins: int) -> tuple[float, float, NDArray[np.int32]]:
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

    def _counted(self, z: Single) -> tuple[Array, Array | RowCounts]:
        """Thresholds of about equal ranks, and the weighted number of rows of each cell above each of them.

        The scores are overwritten. All rows are above the first threshold. Rows are counted in fine bins; a threshold
        lies in the middle of the empty bins below the one that it begins with, so that equal scores stay on one side of
        it.
        """
        low, step, place = self._binned(z, self.bins)
        fine = None
        if self.weights is None and self.shared.size == 1 and _MANY * len(self.cells) * self.bins <= len(z):
            fine = self._by_cell(place, self.bins)  # one look at the rows instead of two
            each = fine.sum(axis=0)
        else:
            counting = slice(None) if self.weights is None else self.weights > 0
            (each,) = self.shared.add(np.bincount(place[counting], minlength=self.bins))
        filled = np.flatnonzero(each > 0)
        own = each[filled]
        above = own.sum() - own.cumsum() + own  # rows in this filled bin or above
        kept = int(np.clip(MOST_COUNTS // len(self.cells), 64, EDGES))
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
            if self.shared.size == 1 and len(self.cells) * len(edges) > max(LEAST_COUNTS, len(z)):
                return edges, RowCounts(place, self.starts, self.weights, len(edges))
            (counts,) = self.shared.add(self._by_cell(place, len(edges)))
        if self.weights is not None:
            return edges, np.ascontiguousarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1])
        below = np.cumsum(counts, axis=1, out=counts)  # whole numbers: what is not below is above
        sums = np.empty(counts.shape)
        sums[:, 0] = below[:, -1]
        np.subtract(below[:, -1:], below[:, :-1], out=sums[:, 1:])
        return edges, sums

    def _positive(self, z: Single) -> tuple[Array, Array]:
        """The threshold 0, and the weighted number of rows of each cell above it."""
        (sums,) = self.shared.add(self._by_cell((z > 0).astype(np.int32), 2)[:, 1:].astype(float))
        return np.zeros(1), sums

    def _by_cell(self, place: NDArray[np.int32], count: int) -> NDArray[Any]:
        """Weighted number of rows by cell and place: whole numbers where rows have no weights."""
        C, kind = len(self.cells), np.intp if self.weights is None else np.float64
        if C <= 256:
            found = np.empty((C, count), kind)
            for c in range(C):
                rows = slice(self.starts[c], self.starts[c + 1])
                own = None if self.weights is None else self.weights[rows]
                found[c] = np.bincount(place[rows], weights=own, minlength=count)
        else:
            cell = np.repeat(np.arange(C), np.diff(self.starts))
            found = np.bincount(cell * count + place, weights=self.weights, minlength=C * count).reshape(C, count)
        return found

    def raw(self, weights: Array, edge: float) -> Array:
        """Weights for the features as given, for the classifier that is 1 where the score is above the edge."""
        own = weights[:-1] / self.scale
        return np.append(own, weights[-1] - edge - self.mean @ own)

    def standard(self, raw: Array) -> Array:
        """Weights for standardised features (width, directions) from those for the features as given."""
        return np.vstack([raw[:-1] * self.scale[:, None], raw[-1] + self.mean @ raw[:-1]])


class _Block:
    """Some rows, which belong to one cell or to several that are small."""

    def __init__(self, owner: CellRows, rows: slice, cells: slice) -> None:
        self.rows, self.cells = rows, cells
        self.X = owner.X[rows]
        self.sparse, self.wide = owner.sparse, owner.shared.wide
        self.weights = None if owner.weights is None else owner.weights[rows]
        starts = owner.starts[cells.start : cells.stop] - rows.start
        several = cells.stop - cells.start > 1
        self.starts = starts if several else None
        if several:
            self.filled = np.flatnonzero(np.diff(owner.starts[cells.start : cells.stop + 1]))

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
            found = values.sum(axis=1, dtype=float) if self.weights is None else values @ self.weights.astype(float)
            return np.asarray(found, dtype=float)[:, None]
        weighted = values if self.weights is None else values * self.weights
        return self._reduced(weighted.astype(float), axis=1)

    def slopes(self, values: Single) -> Array:
        """Weighted sums of values times features, (directions, cells, width)."""
        weighted = values if self.weights is None else values * self.weights
        if self.starts is None:
            if self.sparse:
                found = np.empty((len(values), self.X.shape[1] + 1))
                found[:, :-1] = (self.X.T @ np.ascontiguousarray(weighted.T)).T
                found[:, -1] = weighted.sum(axis=1, dtype=float)
            elif self.wide:
                found = weighted.astype(float) @ self.X.astype(float)
            else:
                found = weighted @ self.X
            return np.asarray(found, dtype=float)[:, None]
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
        found = np.zeros(shape)
        reduced = np.add.reduceat(values, self.starts[self.filled], axis=axis)
        if axis == 1:
            found[:, self.filled] = reduced
        else:
            found[self.filled] = reduced
        return found


def _pieces(start: int, stop: int, size: int) -> list[tuple[int, int]]:
    return [(a, min(a + size, stop)) for a in range(start, stop, min(size, max(stop - start, 1)))]


def _tasks(count: int, size: int) -> list[tuple[int, int]]:
    return [(a, min(a + size, count)) for a in range(0, count, size)]


def refuse_tiny(X: Any, spread: Array, shared: Peers) -> None:
    """Refuse a feature whose values are not all equal, but too small to be squared."""
    sparse = bool(sp.issparse(X))
    for k in np.flatnonzero(spread <= _LEAST):
        column = np.asarray(X[:, [k]].toarray() if sparse else X[:, k])
        largest = float(np.abs(column).max()) if column.size else 0.0
        if shared.some(column.size and 0 < largest <= _LEAST and (column != column.flat[0]).any()):
            raise DataError(
                f"column {k} of X has values of at most {largest:g}, whose squares are too small for a number: scale "
                "it, for example with sklearn.preprocessing.MaxAbsScaler"
            )
