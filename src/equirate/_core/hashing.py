"""Hashes of rows of features: the same for the same values, whatever the machine, the order of rows or the storage."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def row_hashes(X: Any) -> Hashes:
    """64 bits for each row, dense or sparse.

    Every non-zero value is hashed with its column and the hashes are added up, so sparse and dense features agree.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> hashes = row_hashes(rows)
    >>> (
    ...     bool(hashes[0] == hashes[2]),
    ...     bool(hashes[0] == hashes[1]),
    ...     bool((hashes == row_hashes(sp.csr_array(rows))).all()),
    ... )
    (True, False, True)
    """
    if sp.issparse(X):
        rows: Any = sp.csr_array(X, copy=True)  # type: ignore[call-overload]  # the stubs know the classes only
        rows.sum_duplicates()
        ends = np.concatenate([[np.uint64(0)], np.cumsum(_hashes(rows.data, rows.indices), dtype=np.uint64)])
        sums = ends[rows.indptr[1:]] - ends[rows.indptr[:-1]]  # modulo 2^64, like the sums of the dense case
    else:
        sums = np.zeros(len(X), dtype=np.uint64)
        for k in range(X.shape[1]):
            sums += _hashes(X[:, k], k)
    return np.asarray(mixed(sums))


def mixed(z: Hashes) -> Hashes:
    """The finaliser of splitmix64 (Steele et al. 2014): every bit of the input matters to every bit of the output."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _hashes(values: NDArray[Any], columns: Any) -> Hashes:
    """Hash of each value and its column; 0 for a zero."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    places = mixed(np.atleast_1d(np.asarray(columns, dtype=np.uint64)))
    hashed: Hashes = np.where(values == 0, np.uint64(0), mixed(bits ^ places))
    return hashed
