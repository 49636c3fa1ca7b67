"""Hashes of rows of features: the same for the same values, whatever the machine, the order of rows or the storage."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
_ALL_BITS = 2**64 - 1
_TOGETHER = 1 << 15
"""Values that are hashed together: as many as fit into a processor's cache, a few arrays of them."""
_COPIED = 1 << 22
"""Values that are copied in single precision at once."""
_MISSING = np.float32(-3.4e38)
"""Replaces NaN, whose bits differ."""


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
        ends = np.concatenate(
            [[np.uint64(0)], np.cumsum(_hashes(rows.data, mixed(rows.indices.astype(np.uint64))), dtype=np.uint64)]
        )
        sums = ends[rows.indptr[1:]] - ends[rows.indptr[:-1]]  # modulo 2^64, like the sums of the dense case
    else:
        sums = np.zeros(len(X), dtype=np.uint64)
        places = _places(X.shape[1])
        step = max(_TOGETHER // max(X.shape[1], 1), 1)
        for start in range(0, len(X), step):
            sums[start : start + step] = _hashes(X[start : start + step], places).sum(axis=1, dtype=np.uint64)
    return np.asarray(mixed(sums))


def uniform(hashes: Hashes) -> NDArray[np.float64]:
    """A number in [0, 1) for each hash."""
    return np.asarray((hashes >> np.uint64(11)) * 2.0**-53)


def salted(hashes: Hashes, salt: int | Hashes) -> Hashes:
    """Hashes that cannot be predicted without the salt; salts in an array are broadcast against the hashes."""
    key = salt if isinstance(salt, np.ndarray) else np.uint64(salt & _ALL_BITS)
    return np.asarray(mixed(mixed(hashes ^ key) + key))


def single_precision(values: NDArray[Any]) -> NDArray[np.float32]:
    """Values as they are hashed: in single precision, so that what differs by less is equal, and NaN as one value."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    missing = np.isnan(single)
    return np.where(missing, _MISSING, single) if missing.any() else single


def feature_hashes(X: Any) -> Hashes:
    """64 bits for each row of features; the same in single and double precision, dense or sparse.

    Examples
    --------
    >>> rows = np.array([[0.1, np.nan], [0.2, 3.0]])
    >>> bool((feature_hashes(rows) == feature_hashes(rows.astype(np.float32))).all())
    True
    """
    if sp.issparse(X):
        return row_hashes(X.astype(np.float32))  # type: ignore[attr-defined]  # the stubs know the classes only
    step = max(_COPIED // max(X.shape[1], 1), 1)
    parts = [row_hashes(single_precision(X[start : start + step])) for start in range(0, max(len(X), 1), step)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def salted_rows(X: Any, salt: int) -> Hashes:
    """64 bits for each row of features and salt.

    Examples
    --------
    >>> rows = np.array([[0.1, 0.0], [0.2, 3.0]])
    >>> bool((salted_rows(rows, 7) == salted_rows(sp.csr_array(rows.astype(np.float32)), 7)).all())
    True
    """
    return salted(feature_hashes(X), salt)


def salted_keys(keys: NDArray[Any], salt: int) -> Hashes:
    """64 bits for each key and salt: text, numbers or anything that prints; 7, 7.0 and "7" are the same key.

    Examples
    --------
    >>> hashes = salted_keys(np.array(["7", "8"], dtype=object), 1)
    >>> bool((hashes == salted_keys(np.array([7.0, 8.0]), 1)).all())
    True
    """
    if keys.dtype.kind == "f":
        integral = np.isfinite(keys) & (keys == np.trunc(keys)) & (np.abs(keys) < 2**53)
        texts = [str(int(key)) if w else repr(key) for key, w in zip(keys.tolist(), integral.tolist(), strict=True)]
    else:
        texts = [str(key) for key in keys.tolist()]
    return salted(text_hashes(texts), salt)


def text_hashes(texts: list[str]) -> Hashes:
    """64 bits for each text; each distinct one is hashed once."""
    known = {text: int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") for text in set(texts)}
    return np.array([known[text] for text in texts], dtype=np.uint64)


def mixed(z: Hashes) -> Hashes:
    """The finaliser of splitmix64 (Steele et al. 2014): every bit of the input matters to every bit of the output."""
    if z.size == 1:  # Python's integers are faster than nine passes over an array of one
        return np.full(z.shape, _mixed(int(z.item())), dtype=np.uint64)
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _mixed(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) & _ALL_BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _ALL_BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _ALL_BITS
    return z ^ (z >> 31)


@lru_cache(maxsize=8)
def _places(width: int) -> Hashes:
    """A hash for each column."""
    return mixed(np.arange(width, dtype=np.uint64))


def _hashes(values: NDArray[Any], places: Hashes) -> Hashes:
    """Hash of each value and its column; 0 for a zero."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    hashed: Hashes = np.where(values == 0, np.uint64(0), mixed(bits ^ places))
    return hashed
