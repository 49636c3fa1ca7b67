"""Rows on which an export might differ: at the thresholds of trees, beside them, and missing ones.

In: forests. Out: features with values on both sides of every split. `model` checks each export on them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..models.forests import Forest

Array = NDArray[np.float64]


def beside(rng: np.random.Generator, cuts: Array, count: int) -> Array:
    """Thresholds, the numbers just above and below them, and others."""
    chosen = rng.choice(cuts, size=count)
    moved = np.stack([chosen, np.nextafter(chosen, np.inf), np.nextafter(chosen, -np.inf), rng.normal(size=count)])
    return np.asarray(moved[rng.integers(4, size=count), np.arange(count)])


def split_rows(rng: np.random.Generator, forests: Sequence[Forest], count: int) -> Array:
    """Values of every feature around the splits of the trees; a tenth of them is missing."""
    X = rng.normal(size=(count, forests[0].width))
    for k in range(X.shape[1]):
        cuts, codes = list[Array](), 0
        for forest in forests:
            own = (forest.feature == k) & (forest.left != np.arange(len(forest.left)))
            cuts.append(forest.threshold[own & (forest.category < 0)])
            for category in forest.category[own & (forest.category >= 0)]:
                codes = max(codes, 32 * int(forest.starts[category + 1] - forest.starts[category]))
        thresholds = np.unique(np.concatenate(cuts))
        if codes:
            X[:, k] = rng.integers(-1, codes + 2, size=count)
        elif len(thresholds):
            X[:, k] = beside(rng, np.clip(thresholds, -1e300, 1e300), count)
        X[rng.random(count) < 0.1, k] = np.nan
    return X
