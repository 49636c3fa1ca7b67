"""Made-up data of any size, written block by block into single precision, so that making them takes no second copy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUP = "group"
_BLOCK = 100_000


def made_up(rows: int, columns: int, groups: int = 2, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Features, labels and groups: the label depends on a few features and the group, the group on one feature.

    Examples
    --------
    >>> X, y, group = made_up(1000, 5, groups=4)
    >>> X.shape, X.dtype.name, sorted(set(y.tolist())), sorted(set(group.tolist()))
    ((1000, 5), 'float32', [0, 1], [0, 1, 2, 3])
    """
    rng = np.random.default_rng(seed)
    X = np.empty((rows, columns), dtype=np.float32)
    y, group = np.empty(rows, dtype=np.int8), np.empty(rows, dtype=np.int16)
    slope = np.zeros(columns, dtype=np.float32)
    slope[: min(5, columns)] = 1.0
    for start in range(0, rows, _BLOCK):
        part = slice(start, min(start + _BLOCK, rows))
        size = part.stop - part.start
        X[part] = rng.standard_normal((size, columns), dtype=np.float32)
        group[part] = rng.integers(groups, size=size)
        shifted = X[part] @ slope + 0.5 * (group[part] % 2) + 1.5 * rng.standard_normal(size, dtype=np.float32)
        y[part] = shifted > 1
    return X, y, group
