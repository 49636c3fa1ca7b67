"""Decisions of linear classifiers in numpy that do not depend on the number of rows in a batch.

In: features and weights. Out: whether each score is above 0. A matrix product adds up in an order that depends on its
shape, so a score at the edge may come out on either side, alone or in a batch. Scores as near to 0 as rounding reaches
are added up again in the order of the features, each step rounded once: as the compiled passes do it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.features import dense, is_sparse

_SPLIT = 2.0**27 + 1
"""Cuts a double into two halves whose products are exact (Dekker 1971)."""
_BLOCK_ROWS = 1024
"""Rows per block that are summed again."""


def above(X: Any, W: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether ``X @ W[:-1] + W[-1]`` is above 0, given the scores as some product has rounded them.

    Examples
    --------
    >>> X, W = np.array([[0.1, 0.2, -0.3]]), np.ones((4, 1))
    >>> above(X, W, np.array([[-1e-17]]) + 1)
    array([[ True]])
    """
    decided: NDArray[np.bool_] = scores > 0
    rows = _doubtful(X, W, scores)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        decided[block] = in_order(X[block], W) > 0
    return decided


def _doubtful(X: Any, W: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.intp]:
    """Rows with a score so close to 0 that its sign may depend on the order in which products are added up.

    The lengths of features and weights bound the rounding error (Cauchy-Schwarz); twice the bound is used, to be safe.
    A first check takes the longest weights for all classifiers, and one score per row; the rows that it finds are
    checked with the weights of each classifier.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
        unit = 4 * (X.shape[1] + 2) * float(np.finfo(W.dtype).eps)
        length = unit * np.sqrt(np.asarray(squares)).reshape(-1)
        steep = np.sqrt(np.einsum("ij,ij->j", W[:-1], W[:-1], dtype=float))
        shift = unit * np.abs(W[-1].astype(float))
        sizes = np.abs(scores)
        nearest = sizes.min(axis=1, initial=np.inf) if len(sizes) < _BLOCK_ROWS else np.full(len(sizes), np.inf)
        for column in sizes.T if len(sizes) >= _BLOCK_ROWS else ():  # twice as fast as along the rows
            np.minimum(nearest, column, out=nearest)
        rows = np.flatnonzero(nearest <= length * steep.max(initial=0.0) + shift.max(initial=0.0))
        if not len(rows):  # nearly always, and a single row is decided in microseconds
            return rows
        reach = length[rows, None] * steep + shift
        near = (np.abs(scores[rows]) <= reach) & (reach > 0)  # a sum of zeros is 0 in any order
    return np.asarray(rows[near.any(axis=1)])


def in_order(X: Any, W: NDArray[Any]) -> NDArray[Any]:
    """``W[-1]``, and then one feature after the other, each product and sum rounded together."""
    rows = dense(X)
    scores = np.repeat(W[-1:], len(rows), axis=0)
    for k in range(rows.shape[1]):
        scores = _fused(rows[:, k, None], W[k], scores)
    return scores


def _fused(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
    """``a * b + c`` rounded once, as a fused multiply-add (up to a second rounding of ties)."""
    if c.dtype == np.float32:  # a product of two singles is a double
        return np.asarray(a.astype(float) * b + c, dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        product = a * b
        (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
        lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
        total = product + c
        part = total - product
        fused = total + (((product - (total - part)) + (c - part)) + lost)
    return np.asarray(np.where(np.isfinite(fused), fused, total))


def _halves(x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    high = _SPLIT * x
    high = high - (high - x)
    return high, x - high
