"""Decisions of linear classifiers in numpy that do not depend on how many rows are decided together.

In: features and weights. Out: whether each score is above 0. A matrix product adds up in an order that depends on its
shape, so a score at the edge may come out on either side, alone or in a batch. Scores as near to 0 as rounding reaches
are added up again in the order of the features, each step rounded once: as the compiled passes do it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_SPLIT = 2.0**27 + 1
"""Cuts a double into two halves whose products are exact (Dekker 1971)."""
_ROWS = 1024
"""Rows that are added up again at once."""


def above(X: Any, W: NDArray[Any], scores: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether ``X @ W[:-1] + W[-1]`` is above 0, given the scores as some product has rounded them.

    Examples
    --------
    >>> X, W = np.array([[0.1, 0.2, -0.3]]), np.ones((4, 1))
    >>> above(X, W, np.array([[-1e-17]]) + 1)
    array([[ True]])
    """
    decided: NDArray[np.bool_] = scores > 0
    reach = _rounding(X, W)
    rows = np.flatnonzero(((np.abs(scores) <= reach) & (reach > 0)).any(axis=1))
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        decided[some] = in_order(X[some], W) > 0
    return decided


def _rounding(X: Any, W: NDArray[Any]) -> NDArray[Any]:
    """How far two ways of adding up a score may lie apart; by Cauchy-Schwarz, and twice that to be safe."""
    with np.errstate(over="ignore", invalid="ignore"):
        sparse = bool(sp.issparse(X))  # the stubs would take the check itself for a class
        squares = X.multiply(X).sum(axis=1) if sparse else np.einsum("ij,ij->i", X, X, dtype=float)
        lengths = np.sqrt(np.asarray(squares, dtype=float)).reshape(-1, 1)
        reach = lengths * np.linalg.norm(W[:-1].astype(float), axis=0) + np.abs(W[-1].astype(float))
    return np.asarray(4 * (X.shape[1] + 2) * np.finfo(W.dtype).eps * reach)


def in_order(X: Any, W: NDArray[Any]) -> NDArray[Any]:
    """``W[-1]``, and then one feature after the other, each product and sum rounded together."""
    sparse = bool(sp.issparse(X))
    rows = X.toarray() if sparse else X
    scores = np.repeat(W[-1:], len(rows), axis=0)
    for k in range(rows.shape[1]):
        scores = _fused(rows[:, k, None], W[k], scores)
    return scores


def _fused(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
    """``a * b + c`` rounded once, as machines have it (up to what a second rounding makes of a tie)."""
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
