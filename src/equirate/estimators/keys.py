"""Hashes of rows, by which a mixture decides equal rows alike, and the warning of few keys.

In: features: numbers, text, missing values, frames, sparse matrices, lists. Out: 64 bits per row, which depend on the
values of the row only.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import EquirateWarning
from .._core.hashing import Hashes, feature_hashes, row_hashes, single_precision, text_hashes
from .._core.warning import warn
from ..data.arrays import to_numpy


def row_keys(X: Any) -> Hashes:
    """A number for each row; equal rows have equal numbers, and numbers alone are hashed as everywhere else.

    Examples
    --------
    >>> keys = row_keys({"a": [1.0, 2.0, 1.0], "b": ["x", "x", "x"]})
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    if sp.issparse(X):
        return feature_hashes(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return feature_hashes(X.reshape(len(X), -1))
    columns = columns_of_features(X)
    numbers = [single_precision(column) if column.dtype.kind in "biuf" else np.zeros(len(column)) for column in columns]
    keys = row_hashes(np.stack(numbers, axis=1))
    for k, column in enumerate(columns):
        if column.dtype.kind not in "biuf":
            keys = keys + text_hashes([f"{k}:{value!s}" for value in column.tolist()])
    return keys


def columns_of_features(X: Any) -> list[NDArray[Any]]:
    """The columns of features, each as an array."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    if isinstance(X, dict):
        return [to_numpy(values) for values in X.values()]
    native = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return [native[:, k].to_numpy() for k in range(native.shape[1])]
    values = to_numpy(X)
    return [values] if values.ndim == 1 else list(values.reshape(len(values), -1).T)


FEWEST_KEYS = 25
"""Fewest distinct keys for which the standard error of a rate, at most 0.5 / sqrt(keys), is at most 0.1."""
ROWS_PER_KEY = 10
"""Mean number of rows per key from which on the keys are unlikely to identify people."""


def warn_few_keys(key: Any) -> None:
    """Warn if there are too few distinct keys for the decisions to have the mixture's rates."""
    if key is None:
        return
    keys = to_numpy(key)
    if keys.ndim != 1 or len(keys) < ROWS_PER_KEY:
        return
    distinct = len(set(keys.tolist()))
    if distinct < FEWEST_KEYS and len(keys) >= ROWS_PER_KEY * distinct:
        warn(
            f"key has {distinct} distinct value{'s' if distinct > 1 else ''} for {len(keys):,} rows, and rows with "
            "the same key draw the same member of the mixture, so rates may be far from those of the mixture: give a "
            "key that names each person, or none to draw by the features. Attributes are given as sensitive_features=",
            EquirateWarning,
        )
