"""Features and cells arranged for the passes of a game: zeros left out and equal rows merged where that is faster.

`Design.sweep` is the work of a round: one pass over the rows that gives the scores' cell sums and the slope of the
surrogate bounds with respect to linear weights, for all configurations at once. It is compiled for the hinge bounds
where `kernels` are ready for the work ahead, and a few matrix products over blocks of rows otherwise; both give the
same up to rounding.

`Standard` lets a linear model move as if its features were standardised, without a copy of them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core import kernels, threads
from .._core.cached import cached_property
from .._core.hashing import mixed, row_hashes
from .._core.kernels import LANES
from .._core.peers import Peers
from ..data.cells import Cells
from ..data.features import LEAST_SPREAD, is_sparse, refuse_tiny
from ..players.surrogates import HINGE
from .deciding import above
from .messages import Asked, Seen
from .rows import BLOCK, Batch, batches_in_order, blocks

Array = NDArray[np.float64]
Floats = NDArray[Any]

SPARSE = 0.25
"""Share of non-zeros below which dense features are stored as CSR for the passes."""
MERGED = 0.8
"""Share of rows that may be left for merging equal ones to pay."""
MERGE_LIMIT = 50_000_000
"""Values of a dense table up to which its rows are merged: the merged table is a copy."""
_BLOCK_VALUES = 1 << 18
"""Scores in a block of rows of the passes in numpy, which then stay in cache."""
_BLOCK_WORK = 2_000_000
"""Multiplications worth a block of their own in a compiled pass."""
_MOST_BLOCKS = 8
_PARTIAL_VALUES = 1 << 22
"""Largest number of values in the slopes of all blocks."""


class Swept(NamedTuple):
    """What a pass over the rows gives, for all configurations."""

    seen: Seen
    slope: Floats
    """Slope of the requested costs with respect to the weights, intercept last."""


class Design:
    """Rows of features with the cells that are measured and those that the model is trained on.

    A ``wide`` one adds slopes up in double precision, whatever that of the features: rounded once, at the end, they do
    not depend on how the rows are cut and shared out (but for what rounds the other way once in 10^8 times).
    """

    def __init__(self, X: Any, cells: Cells, trained: Cells, wide: bool = False) -> None:
        self.compiled, self.wide = kernels.ready(), wide
        X = _leaner(X, self.compiled)
        self.cells, self.trained = cells, trained
        merged = _merge(X, cells, trained)
        if merged is not None:
            X, self.cells, self.trained = merged
        self.X = X
        self.sparse = is_sparse(X)
        self.features = (X.indptr, X.indices, X.data) if self.sparse else (X,)
        self._known_cuts: dict[int, list[tuple[int, int]]] = {}
        self._known_blocks: dict[int, list[Batch]] = {}

    def sweep(self, W: Floats, asked: Asked) -> Swept:
        """Cell sums and slope, in one pass."""
        if self.compiled and self.X.dtype == W.dtype and asked.surrogate is HINGE and not asked.losses:
            return self._compiled(W, asked.up, asked.down, asked.bounded)
        return self._in_blocks(W, asked)

    def sums(self, W: Floats) -> Array:
        """Cell sums alone."""
        if self.compiled and self.X.dtype == W.dtype:
            return self._counted(W)
        total = np.zeros((len(self.cells), W.shape[1]))
        for batch in self._blocks(W.shape[1]):
            total += batch.cells.partial_sums(above(batch.X, W, linear_scores(batch.X, W)))
        return total

    # -- numpy -----------------------------------------------------------------------------------

    def _in_blocks(self, W: Floats, asked: Asked) -> Swept:
        W = W.astype(float) if self.wide else W
        seen, slope = None, np.zeros_like(W)
        for batch in self._blocks(W.shape[1]):
            batch = replace(batch, X=batch.X.astype(float)) if self.wide else batch
            scores = linear_scores(batch.X, W)
            part = asked.seen(batch, scores)
            seen = part if seen is None else seen.plus(part)
            slope += linear_slope(batch.X, asked.slope(batch, scores))
        return Swept(Seen(np.zeros((len(self.cells), W.shape[1]))) if seen is None else seen, slope)

    def _blocks(self, count: int) -> list[Batch]:
        """Rows in blocks whose scores stay in cache."""
        size = max(_BLOCK_VALUES // max(count, 1), 256)
        if size not in self._known_blocks:
            self._known_blocks.clear()  # the number of configurations only falls: older blocks are not needed again
            self._known_blocks[size] = batches_in_order(self.X, self.cells, self.trained, size)
        return self._known_blocks[size]

    # -- compiled --------------------------------------------------------------------------------

    def _compiled(self, W: Floats, up: Array, down: Array, bounds: bool) -> Swept:
        """Blocks of rows in threads, each with sums and slopes of its own, which are added up in order."""
        tiles, cuts = _tiles(W, W.dtype), self._cuts(W.shape[1])
        shape, (weights, training) = (len(cuts), len(tiles)), self._weights
        sums = self._empty_sums(shape)
        slope = np.zeros((*shape, len(W), LANES), float if self.wide else W.dtype)
        upper, lower = (np.zeros(sums.shape) if bounds else None for _ in range(2))
        passes = kernels.compiled()
        run = passes.sweep_sparse if self.sparse else passes.sweep_dense
        costs = list(zip(_tiles(up, W.dtype), _tiles(down, W.dtype), strict=True))
        cells = self.cells.index, weights, self.trained.index, training

        def work(k: int, start: int, stop: int) -> None:
            for t, tile in enumerate(tiles):  # the block's rows stay in cache
                bounded = (None, None) if upper is None or lower is None else (upper[k, t], lower[k, t])
                run(*self.features, tile, *cells, *costs[t], sums[k, t], *bounded, slope[k, t], start, stop)

        threads.each(work, [(k, *cut) for k, cut in enumerate(cuts)])
        count = W.shape[1]
        bounded = None if upper is None or lower is None else (_untiled(upper, count), _untiled(lower, count))
        return Swept(Seen(_untiled(sums, count).astype(float), bounded), _untiled(slope, count))

    def _counted(self, W: Floats) -> Array:
        tiles, cuts = _tiles(W, W.dtype), self._cuts(W.shape[1])
        sums = self._empty_sums((len(cuts), len(tiles)))
        passes = kernels.compiled()
        run = passes.count_sparse if self.sparse else passes.count_dense

        def work(k: int, start: int, stop: int) -> None:
            for t, tile in enumerate(tiles):
                run(*self.features, tile, self.cells.index, self._weights[0], sums[k, t], start, stop)

        threads.each(work, [(k, *cut) for k, cut in enumerate(cuts)])
        return _untiled(sums, W.shape[1]).astype(float)

    def _empty_sums(self, shape: tuple[int, int]) -> NDArray[Any]:
        weights = self._weights[0]
        return np.zeros((*shape, len(self.cells), LANES), np.int32 if weights is None else weights.dtype)

    def _cuts(self, count: int) -> list[tuple[int, int]]:
        """Cut the rows into blocks, by the amount of work alone."""
        wide = _wide(count)
        if wide not in self._known_cuts:
            self._known_cuts[wide] = self._cut_for(wide)
        return self._known_cuts[wide]

    def _cut_for(self, wide: int) -> list[tuple[int, int]]:
        n = self.X.shape[0]
        values = stored_values(self.X)
        most = max(min(_MOST_BLOCKS, _PARTIAL_VALUES // (wide * (self.X.shape[1] + 1))), 2)
        count = int(min(max(values * wide // _BLOCK_WORK, 1), most, max(n, 1)))
        if not self.sparse:
            edges = np.linspace(0, n, count + 1).astype(int)
        else:  # rows with as many values
            edges = np.searchsorted(self.X.indptr, np.linspace(0, values, count + 1))
            edges[0], edges[-1] = 0, n
        return [(int(a), int(b)) for a, b in itertools.pairwise(edges)]

    @cached_property
    def _weights(self) -> tuple[Any, Any]:
        """Weights to measure with, and to train with in the features' precision; None where all are 1.

        Whole numbers (of merged rows, say) are counted as such, which is exact and faster.
        """
        measured: Any = None if self.cells.unweighted else self.cells.weights
        if measured is not None and (measured == np.rint(measured)).all() and measured.sum() < 2**31:
            measured = measured.astype(np.int32)
        dtype = float if self.wide else self.X.dtype
        trained = None if self.trained.unweighted else self.trained.weights.astype(dtype, copy=False)
        return measured, trained


def stored_values(X: Any) -> int:
    """Numbers that a pass over the features reads."""
    return int(X.nnz if is_sparse(X) else X.size)


def stored_bytes(X: Any) -> int:
    """Memory that features take."""
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if is_sparse(X) else X.nbytes)


def _wide(count: int) -> int:
    """Number of columns, rounded up to full lanes."""
    return -(-count // LANES) * LANES


def linear_scores(X: Any, W: Floats) -> Floats:
    """``X @ W[:-1] + W[-1]``."""
    result = np.asarray(X @ W[:-1])
    result += W[-1]
    return result


def linear_slope(X: Any, gradient: Floats) -> Floats:
    """Slope with respect to linear weights, intercept last, from a gradient with respect to the scores."""
    down = np.ones(len(gradient), gradient.dtype) @ gradient  # several times faster than a sum down the columns
    return np.vstack([X.T @ gradient, down[None]])


def decisions(X: Any, W: Floats) -> NDArray[np.bool_] | None:
    """Whether ``X @ W[:-1] + W[-1]`` is above 0, row by row; None if a score is not finite."""
    n, count = X.shape[0], W.shape[1]
    if X.dtype != W.dtype or not kernels.ready(stored_values(X) * count):
        return _decided(X, W) if n <= BLOCK and X.dtype == W.dtype else _decided_in_blocks(X, W)
    passes, wide = kernels.compiled(), _wide(count)
    sparse = is_sparse(X)
    arrays = (X.indptr, X.indices, X.data) if sparse else (X,)
    decided = np.empty((n, wide), np.uint8)
    cuts = max(min(n * X.shape[1] * wide // _BLOCK_WORK, 8 * _MOST_BLOCKS), 1)
    edges = np.linspace(0, n, cuts + 1).astype(int)
    run, padded = passes.decide_sparse if sparse else passes.decide_dense, _padded(W, wide, W.dtype)
    threads.each(run, [(*arrays, padded, decided, int(a), int(b)) for a, b in itertools.pairwise(edges)])
    if decided.max(initial=0) > 1:
        return None
    return decided[:, :count].view(np.bool_)


def _decided(X: Any, W: Floats) -> NDArray[np.bool_] | None:
    """The same in numpy."""
    scores = linear_scores(X, W)
    return above(X, W, scores) if np.isfinite(scores).all() else None


def _decided_in_blocks(X: Any, W: Floats) -> NDArray[np.bool_] | None:
    """The same for blocks of rows in parallel, in the precision that the weights were trained in."""
    parts, decided = blocks(X.shape[0]), np.empty((X.shape[0], W.shape[1]), dtype=bool)
    finite = np.zeros(len(parts), dtype=bool)

    def work(k: int) -> None:
        part = X[parts[k]]
        result = _decided(part, W) if part.dtype == W.dtype else decisions(part.astype(W.dtype), W)
        if result is not None:
            decided[parts[k]], finite[k] = result, True

    threads.each(work, [(k,) for k in range(len(parts))])
    return decided if finite.all() and len(parts) else None


def _padded(array: Floats, wide: int, dtype: Any) -> Floats:
    """The array in another precision, with columns of zeros up to a full width."""
    if array.shape[1] == wide:
        return np.ascontiguousarray(array, dtype=dtype)
    result = np.zeros((len(array), wide), dtype)
    result[:, : array.shape[1]] = array
    return result


def _tiles(array: Floats, dtype: Any) -> list[Floats]:
    """Columns in groups of 16, each of them together in memory, the last one filled up with zeros."""
    padded = _padded(array, _wide(array.shape[1]), dtype)
    return [np.ascontiguousarray(padded[:, k : k + LANES]) for k in range(0, padded.shape[1], LANES)]


def _untiled(parts: NDArray[Any], count: int) -> NDArray[Any]:
    """(blocks, tiles, rows, 16) as (rows, columns): blocks are added up in order, tiles put side by side."""
    total = parts[0] if len(parts) == 1 else parts.sum(axis=0)
    if len(total) == 1:
        return np.asarray(total[0, :, :count])
    side_by_side: NDArray[Any] = np.moveaxis(total, 0, 1).reshape(total.shape[1], -1)
    return side_by_side[:, :count]


def _leaner(X: Any, compiled: bool) -> Any:
    """Features in the format of the passes: CSR if most values are zero and a compiled pass uses that."""
    if not is_sparse(X) and compiled and X.size and np.count_nonzero(X) <= SPARSE * X.size:
        return sp.csr_array(X)
    return X


def _merge(X: Any, cells: Cells, trained: Cells) -> tuple[Any, Cells, Cells] | None:
    """Merge rows with the same features and cells into one with the sum of their weights; None where it does not pay.

    A hash finds candidates; only rows that are then seen to be equal are merged.
    """
    n = X.shape[0]
    dense = not is_sparse(X)
    if n < 2 or (dense and X.size > MERGE_LIMIT):
        return None
    sample = np.random.default_rng(0).permutation(n)[:2000]
    if len(np.unique(_keys(X[sample], cells.index[sample], trained.index[sample]))) == len(sample):
        return None
    _, first, of = np.unique(_keys(X, cells.index, trained.index), return_index=True, return_inverse=True)
    if len(first) > MERGED * n:
        return None
    like = first[of]
    equal = (cells.index == cells.index[like]).all() and (trained.index == trained.index[like]).all()
    if not equal or not ((X[like] == X).all() if dense else (X[like] != X).nnz == 0):
        return None

    def merged_cells(part: Cells) -> Cells:
        weights = np.bincount(of, weights=part.weights, minlength=len(first)).astype(float)
        return replace(part, index=part.index[first], weights=weights, clusters=None)

    merged = merged_cells(cells)
    return X[first], merged, merged if trained is cells else merged_cells(trained)


def _keys(X: Any, *cells: NDArray[np.int32]) -> NDArray[np.uint64]:
    keys = row_hashes(X)
    for of in cells:
        keys = mixed(keys ^ of.astype(np.uint64))
    return keys


@dataclass(frozen=True, eq=False)
class Standard:
    """Mean and spread of the features: weights for standardised ones, and the way to weights for those as given.

    ``W`` has the intercept's row last. Scores are the same on both sides: ``Z @ W[:-1] + W[-1]`` with standardised
    features Z is ``X @ V[:-1] + V[-1]`` with ``V = raw(W)``. A feature that is constant up to rounding is 0 when
    standardised, and has weight 0.
    """

    mean: Array
    spread: Array
    """Standard deviations; infinite for a constant."""

    @classmethod
    def of(cls, X: Any, weights: Array, shared: Peers) -> Standard:
        """Measure, with one weight per row: an example of weight k counts like k copies.

        Mean and spread are those of the rows of all processes that share them.
        """
        total, number = shared.total(np.array([weights.sum(), len(weights)], dtype=float))
        shares = weights / total if total > 0 else np.full(len(weights), 1 / number)
        sparse = is_sparse(X)
        mean, square = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        for rows in blocks(X.shape[0]):
            mean += shares[rows] @ X[rows].astype(float)
        mean = shared.total(mean)
        if sparse:
            present, stored = np.zeros(X.shape[1]), np.zeros(X.shape[1])
            for rows in blocks(X.shape[0]):
                part = X[rows].astype(float)
                part.sum_duplicates()
                part.eliminate_zeros()
                stored += np.bincount(part.indices, minlength=X.shape[1])
                present += shares[rows] @ (part != 0).astype(float)
                part.data = (part.data - mean[part.indices]) ** 2
                square += shares[rows] @ part
            square, present, stored = shared.add(square, present, stored)
            square = square + np.where(stored == number, 0.0, np.maximum(1 - present, 0.0)) * mean**2
        else:
            residual = np.zeros_like(mean)  # correction of the rounding error
            for rows in blocks(X.shape[0]):
                residual += shares[rows] @ (X[rows].astype(float) - mean)
            mean = mean + shared.total(residual)
            for rows in blocks(X.shape[0]):
                square += shares[rows] @ (X[rows].astype(float) - mean) ** 2
            square = shared.total(square)
        spread = np.sqrt(square)
        refuse_tiny(X, spread, shared)
        return cls(mean, np.where(spread > np.maximum(1e-12 * np.abs(mean), LEAST_SPREAD), spread, np.inf))

    @property
    def single(self) -> bool:
        """Whether single precision is enough: means are not large relative to spreads, which are not extreme."""
        mean, spread = self.mean[np.isfinite(self.spread)], self.spread[np.isfinite(self.spread)]
        usual = (spread > 1e-15).all() and (spread < 1e15).all() and (np.abs(self.mean) < 1e30).all()
        return bool(usual and (np.abs(mean) <= 100 * spread).all())

    def features(self, X: Any) -> Any:
        """Standardised features; sparse ones are scaled but not shifted, to stay sparse."""
        if is_sparse(X):
            return sp.csr_array(X @ sp.diags_array(1 / self.spread)).astype(X.dtype)
        return ((X - self.mean) / self.spread).astype(X.dtype)

    def raw(self, W: Floats) -> Floats:
        """Weights for the features as given."""
        V = np.empty_like(W)
        V[:-1] = W[:-1] / self._spread(W)
        V[-1] = W[-1] - self.mean.astype(W.dtype) @ V[:-1]
        return V

    def standard(self, V: Floats) -> Floats:
        """Weights for standardised features."""
        W = np.empty_like(V)
        W[:-1] = V[:-1] * np.where(np.isfinite(self.spread), self.spread, 0.0)[:, None].astype(V.dtype)
        W[-1] = V[-1] + self.mean.astype(V.dtype) @ V[:-1]
        return W

    def slope(self, slope: Floats) -> Floats:
        """Slope with respect to weights for standardised features, from the one for the features as given."""
        result = np.empty_like(slope)
        result[:-1] = (slope[:-1] - self.mean[:, None].astype(slope.dtype) * slope[-1]) / self._spread(slope)
        result[-1] = slope[-1]
        return result

    def _spread(self, like: Floats) -> Floats:
        return self.spread[:, None].astype(like.dtype)
