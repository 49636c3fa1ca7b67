"""Rows that an export might decide otherwise.

In: a fitted estimator and rows that it takes. Out: the same number of rows, many of them moved: onto thresholds of its
trees and to the numbers beside them, onto the edges of its linear members, to values missing or never seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
UNSEEN = "a value that was never seen"


def hard_rows(estimator: Any, X: Any, seed: int) -> Any:
    """Move about half of the values."""
    rng = np.random.default_rng(seed)
    if isinstance(X, pd.DataFrame):
        names = [name for name in X.columns if X[name].dtype == float]
        moved = _at_thresholds(rng, estimator, X[names].to_numpy(), missing=True)
        text = X["colour"].to_numpy(dtype=object).copy()
        text[rng.random(len(text)) < 0.1] = UNSEEN
        text[rng.random(len(text)) < 0.1] = None
        return pd.DataFrame(moved, columns=names).assign(colour=text)
    if forests(estimator):
        return _at_thresholds(rng, estimator, X, missing=bool(np.isnan(X).any()))
    members = _inner(estimator.classifier_.members)
    if hasattr(members, "W"):
        return _at_edges(rng, members, X)
    if X.shape[1] == 1 and hasattr(members, "cuts"):
        return _beside(rng, members.cuts[np.isfinite(members.cuts)], X[:, 0])[:, None]
    return X


def forests(estimator: Any) -> list[Any]:
    """Every ensemble of trees that an estimator decides by."""
    members = _inner(estimator.classifier_.members)
    posterior = getattr(members, "posterior", None)
    learners = [members, getattr(posterior, "label", None), getattr(posterior, "groups", None)]
    return [each.forest for each in learners if hasattr(each, "forest")]


def _inner(members: Any) -> Any:
    return getattr(members, "base", members)


def _beside(rng: np.random.Generator, cuts: Array, values: Array) -> Array:
    """Half of the values on thresholds, or on the next numbers above and below them."""
    if not len(cuts):
        return values
    chosen = rng.choice(cuts, size=len(values))
    chosen = np.stack([chosen, np.nextafter(chosen, np.inf), np.nextafter(chosen, -np.inf)])
    chosen = chosen[rng.integers(3, size=len(values)), np.arange(len(values))]
    return np.asarray(np.where(rng.random(len(values)) < 0.5, chosen, values))


def _at_thresholds(rng: np.random.Generator, estimator: Any, X: Array, missing: bool) -> Array:
    found = X.copy()
    for k in range(X.shape[1]):
        cuts = np.concatenate(
            [each.threshold[(each.feature == k) & (each.category < 0)] for each in forests(estimator)]
        )
        found[:, k] = _beside(rng, np.unique(cuts[np.abs(cuts) < 1e300]), found[:, k])
    if missing:
        found[rng.random(found.shape) < 0.1] = np.nan
    return found


def _at_edges(rng: np.random.Generator, members: Any, X: Array) -> Array:
    """Half of the rows moved onto the edge of a member, as near as rounding lets them be."""
    W = members.with_intercept.astype(float)[:, rng.integers(len(members), size=len(X))]
    score = (X * W[:-1].T).sum(axis=1) + W[-1]
    moved = X - (score / (W[:-1] ** 2).sum(axis=0))[:, None] * W[:-1].T
    return np.asarray(np.where((rng.random(len(X)) < 0.5)[:, None], moved, X))
