"""The passes themselves: scores, cell sums and the slope of the hinge bounds, without an array of scores.

One call handles the rows from ``start`` to ``stop``, for all configurations, 16 at a time. Arrays with a last axis of
configurations are padded to a multiple of 16; ``W`` and ``slope`` have the intercept's row last. ``of`` says each row's
cell. ``weights`` may be None (then ``sums`` holds whole numbers); ``upper`` and ``lower``, the cell sums of the hinge
bounds on the predictions, may be None too; ``trained`` and ``training_weights`` are the cells
and weights that the model is trained with, ``up`` and ``down`` its coefficients per cell. ``slope`` may have a higher
precision than the features: then it is added up in that one.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache
from numba.extending import overload

from . import LANES as WIDTH
from .lanes import add, decide, fma, hinge, load, store, tally, tally_bounds, tally_weight, times, widened, zeros

ENABLED = not numba.config.DISABLE_JIT
"""Vectors of 16 exist in compiled code only."""


class _Cache(FunctionCache):
    """The cache of compiled functions on disk; a full or read-only disk, or a damaged file, means no cache."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the code compiled for a signature; None if there is none."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever unpickling half a file raises: compile it again
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the code compiled for a signature."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)


def _compiled(function: Any) -> Any:
    """Compile without the interpreter's lock; the compiled code is cached on disk if possible."""
    dispatcher = numba.njit(nogil=True)(function)
    if ENABLED:
        with contextlib.suppress(RuntimeError):  # neither the package's folder nor the user's cache can be written to
            dispatcher._cache = _Cache(function)  # what njit(cache=True) does, with a cache that may fail
    return dispatcher


def _count(sums: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> None:
    """Add a row's weight to its cell where its scores are above 0."""
    raise NotImplementedError  # compiled below


def _bound(upper: Any, lower: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> None:
    """Add a row's weight times the hinge bounds on its predictions to its cell, unless they are None."""
    raise NotImplementedError  # compiled below


def _slope(scores: Any, cell: Any, column: Any, up: Any, down: Any, weights: Any, row: Any, slope: Any) -> Any:
    """A row's weight times the slope of the hinge bounds at its scores, in the precision of ``slope``."""
    raise NotImplementedError  # compiled below


@overload(_count)
def _typed_count(sums: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> Any:
    def plain(sums: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> Any:
        tally(sums, cell, column, scores)

    def weighted(sums: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> Any:
        tally_weight(sums, cell, column, scores, weights[row])

    return plain if weights is numba.types.none else weighted


@overload(_bound)
def _typed_bound(upper: Any, lower: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> Any:
    def nothing(upper: Any, lower: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> Any:
        pass

    def plain(upper: Any, lower: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> Any:
        tally_bounds(upper, lower, cell, column, scores, 1.0)

    def weighted(upper: Any, lower: Any, cell: Any, column: Any, scores: Any, weights: Any, row: Any) -> Any:
        tally_bounds(upper, lower, cell, column, scores, weights[row])

    if upper is numba.types.none:
        return nothing
    return plain if weights is numba.types.none else weighted


@overload(_slope)
def _typed_slope(scores: Any, cell: Any, column: Any, up: Any, down: Any, weights: Any, row: Any, slope: Any) -> Any:
    def plain(scores: Any, cell: Any, column: Any, up: Any, down: Any, weights: Any, row: Any, slope: Any) -> Any:
        return widened(hinge(scores, load(up, cell, column), load(down, cell, column)), slope)

    def weighted(scores: Any, cell: Any, column: Any, up: Any, down: Any, weights: Any, row: Any, slope: Any) -> Any:
        return times(widened(hinge(scores, load(up, cell, column), load(down, cell, column)), slope), weights[row])

    return plain if weights is numba.types.none else weighted


@_compiled
def _stored(indptr: Any, indices: Any, data: Any, W: Any, i: int, column: int) -> Any:
    """Scores of a CSR row."""
    s = load(W, W.shape[0] - 1, column)
    for p in range(indptr[i], indptr[i + 1]):
        s = fma(s, data[p], load(W, indices[p], column))
    return s


@_compiled
def _one(X: Any, W: Any, i: int, column: int) -> Any:
    """Scores of a dense row."""
    s = load(W, W.shape[0] - 1, column)
    for k in range(W.shape[0] - 1):
        s = fma(s, X[i, k], load(W, k, column))
    return s


@_compiled
def _four(X: Any, W: Any, i: int, column: int) -> Any:
    """Scores of four dense rows, which share every load of weights."""
    s0 = load(W, W.shape[0] - 1, column)
    s1, s2, s3 = s0, s0, s0
    for k in range(W.shape[0] - 1):
        w = load(W, k, column)
        s0 = fma(s0, X[i, k], w)
        s1 = fma(s1, X[i + 1, k], w)
        s2 = fma(s2, X[i + 2, k], w)
        s3 = fma(s3, X[i + 3, k], w)
    return s0, s1, s2, s3


@_compiled
def sweep_sparse(
    indptr: Any,
    indices: Any,
    data: Any,
    W: Any,
    of: Any,
    weights: Any,
    trained: Any,
    training_weights: Any,
    up: Any,
    down: Any,
    sums: Any,
    upper: Any,
    lower: Any,
    slope: Any,
    start: int,
    stop: int,
) -> None:
    """Scores, cell sums and slope of CSR rows."""
    d = W.shape[0] - 1
    for column in range(0, W.shape[1], WIDTH):
        total = zeros(slope)
        for i in range(start, stop):
            s = _stored(indptr, indices, data, W, i, column)
            _count(sums, of[i], column, s, weights, i)
            _bound(upper, lower, of[i], column, s, weights, i)
            g = _slope(s, trained[i], column, up, down, training_weights, i, slope)
            total = add(total, g)
            for p in range(indptr[i], indptr[i + 1]):
                k = indices[p]
                store(slope, k, column, fma(load(slope, k, column), data[p], g))
        store(slope, d, column, add(load(slope, d, column), total))


@_compiled
def sweep_dense(
    X: Any,
    W: Any,
    of: Any,
    weights: Any,
    trained: Any,
    training_weights: Any,
    up: Any,
    down: Any,
    sums: Any,
    upper: Any,
    lower: Any,
    slope: Any,
    start: int,
    stop: int,
) -> None:
    """Scores, cell sums and slope of dense rows, four at a time so that weights are loaded once for four."""
    d = W.shape[0] - 1
    for column in range(0, W.shape[1], WIDTH):
        total = zeros(slope)
        i = start
        while i + 4 <= stop:
            s0, s1, s2, s3 = _four(X, W, i, column)
            _count(sums, of[i], column, s0, weights, i)
            _count(sums, of[i + 1], column, s1, weights, i + 1)
            _count(sums, of[i + 2], column, s2, weights, i + 2)
            _count(sums, of[i + 3], column, s3, weights, i + 3)
            _bound(upper, lower, of[i], column, s0, weights, i)
            _bound(upper, lower, of[i + 1], column, s1, weights, i + 1)
            _bound(upper, lower, of[i + 2], column, s2, weights, i + 2)
            _bound(upper, lower, of[i + 3], column, s3, weights, i + 3)
            g0 = _slope(s0, trained[i], column, up, down, training_weights, i, slope)
            g1 = _slope(s1, trained[i + 1], column, up, down, training_weights, i + 1, slope)
            g2 = _slope(s2, trained[i + 2], column, up, down, training_weights, i + 2, slope)
            g3 = _slope(s3, trained[i + 3], column, up, down, training_weights, i + 3, slope)
            total = add(total, add(add(g0, g1), add(g2, g3)))
            for k in range(d):
                h = fma(load(slope, k, column), X[i, k], g0)
                h = fma(h, X[i + 1, k], g1)
                h = fma(h, X[i + 2, k], g2)
                store(slope, k, column, fma(h, X[i + 3, k], g3))
            i += 4
        while i < stop:
            s = _one(X, W, i, column)
            _count(sums, of[i], column, s, weights, i)
            _bound(upper, lower, of[i], column, s, weights, i)
            g = _slope(s, trained[i], column, up, down, training_weights, i, slope)
            total = add(total, g)
            for k in range(d):
                store(slope, k, column, fma(load(slope, k, column), X[i, k], g))
            i += 1
        store(slope, d, column, add(load(slope, d, column), total))


@_compiled
def count_sparse(
    indptr: Any, indices: Any, data: Any, W: Any, of: Any, weights: Any, sums: Any, start: int, stop: int
) -> None:
    """Scores and cell sums of CSR rows."""
    for i in range(start, stop):
        for column in range(0, W.shape[1], WIDTH):
            s = _stored(indptr, indices, data, W, i, column)
            _count(sums, of[i], column, s, weights, i)


@_compiled
def count_dense(X: Any, W: Any, of: Any, weights: Any, sums: Any, start: int, stop: int) -> None:
    """Scores and cell sums of dense rows, four at a time."""
    for column in range(0, W.shape[1], WIDTH):
        i = start
        while i + 4 <= stop:
            s0, s1, s2, s3 = _four(X, W, i, column)
            _count(sums, of[i], column, s0, weights, i)
            _count(sums, of[i + 1], column, s1, weights, i + 1)
            _count(sums, of[i + 2], column, s2, weights, i + 2)
            _count(sums, of[i + 3], column, s3, weights, i + 3)
            i += 4
        while i < stop:
            s = _one(X, W, i, column)
            _count(sums, of[i], column, s, weights, i)
            i += 1


@_compiled
def decide_sparse(indptr: Any, indices: Any, data: Any, W: Any, decided: Any, start: int, stop: int) -> None:
    """Decisions of CSR rows; see `lanes.decide`."""
    for i in range(start, stop):
        for column in range(0, W.shape[1], WIDTH):
            s = _stored(indptr, indices, data, W, i, column)
            decide(decided, i, column, s)


@_compiled
def decide_dense(X: Any, W: Any, decided: Any, start: int, stop: int) -> None:
    """Decisions of dense rows, four at a time; see `lanes.decide`."""
    for column in range(0, W.shape[1], WIDTH):
        i = start
        while i + 4 <= stop:
            s0, s1, s2, s3 = _four(X, W, i, column)
            decide(decided, i, column, s0)
            decide(decided, i + 1, column, s1)
            decide(decided, i + 2, column, s2)
            decide(decided, i + 3, column, s3)
            i += 4
        while i < stop:
            s = _one(X, W, i, column)
            decide(decided, i, column, s)
            i += 1


@_compiled
def adam(
    m: Any, v: Any, gradient: Any, rate: Any, step: Any, beta1: Any, beta2: Any, correction: Any, epsilon: Any
) -> None:
    """Adam's moments and step; arrays are (parameters, configurations), numbers are of their kind."""
    for i in range(m.shape[0]):
        for c in range(m.shape[1]):
            g = gradient[i, c]
            m[i, c] += (1 - beta1) * (g - m[i, c])
            v[i, c] += (1 - beta2) * (g * g - v[i, c])
            step[i, c] = m[i, c] * (rate[c] * correction) / (np.sqrt(v[i, c]) + epsilon)
