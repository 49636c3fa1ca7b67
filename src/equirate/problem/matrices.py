"""Matrices that are dense or sparse, whichever is less work, and products of several."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

Matrix = Any
"""A dense array, or a scipy CSR array where that is smaller."""


def signed_parts(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """The positive and the negative part of a matrix."""
    if isinstance(matrix, sp.csr_array):
        return sp.csr_array(matrix.maximum(0)), sp.csr_array(matrix.minimum(0))
    return np.maximum(matrix, 0), np.minimum(matrix, 0)


def product(factors: tuple[sp.csr_array, ...]) -> sp.csr_array:
    """The product of sparse matrices, last factor first; the last ones are multiplied first, which are the smaller."""
    *first, result = factors
    for factor in reversed(first):
        result = sp.csr_array(result @ factor)
    return result


def apply_all(factors: tuple[Matrix, ...], values: Array) -> Array:
    """Multiply values by one factor after the other."""
    for factor in factors:
        values = factor @ values
    return values


def work(matrix: Matrix) -> int:
    """Cost of a product with the matrix, in multiplications; a sparse product has an overhead."""
    return int(matrix.size) if isinstance(matrix, np.ndarray) else 3 * int(matrix.nnz) + 5000


def work_of_shape(rows: int, columns: int, entries: int) -> int:
    """The same for a matrix with so many entries, once it is compact."""
    return rows * columns if _is_dense(rows, columns, entries) else 3 * entries + 5000


def _is_dense(rows: int, columns: int, entries: int) -> bool:
    return rows * columns <= 4096 or entries > 0.2 * rows * columns


def compact(matrix: Matrix) -> Matrix:
    """Keep a matrix sparse only where that saves work."""
    sparse: Any = sp.csr_array(matrix)
    rows, columns = sparse.shape
    return np.ascontiguousarray(sparse.toarray()) if _is_dense(rows, columns, sparse.nnz) else sparse
