"""Checks of features: errors name the columns that are wrong; the values stay as given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.listing import listed
from .._core.peers import Peers
from .arrays import same_length, to_numpy
from .slices import is_missing

LEAST_SPREAD = 1e-150
"""Spread of a feature below which squares are lost."""
_HOLES = "X must hold numbers, all of them: fill missing values or drop those examples"


def features(X: Any, length: int | None = None, finite: bool = True) -> Any:
    """Check features: a finite two-dimensional float array, or a CSR matrix. float32 and float64 are kept.

    With ``finite=False`` the values are not checked: the code that scores them does that.
    """
    if sp.issparse(X):
        refuse_corrupt(X)
        matrix: Any = sp.csr_array(X)  # type: ignore[call-overload]  # the stubs know the classes, not `issparse`
        matrix = matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
    else:
        matrix = to_numpy(X)
        matrix = matrix.astype(matrix.dtype.newbyteorder("="), copy=False)  # float32 stays so in either byte order
        if matrix.dtype not in (np.float32, np.float64):
            try:
                matrix = matrix.astype(np.float64)
            except (TypeError, ValueError):
                raise DataError(not_numbers(matrix, feature_names(X)) or _HOLES) from None
    if matrix.ndim != 2:
        raise DataError(f"X must be two-dimensional (examples, features); got shape {matrix.shape}")
    if length is not None:
        same_length(range(matrix.shape[0]), length, "X")
    if finite:
        refuse_infinite(matrix, feature_names(X))
    return matrix


def checked_features(X: Any, width: int, names: tuple[str, ...] | None = None, finite: bool = True) -> Any:
    """Features of new examples; refuses other columns than those of the training data, and non-finite values."""
    columns = feature_names(X)
    if names is not None and columns is not None and columns != names:
        raise DataError(
            f"X has the columns {', '.join(columns)}; the classifier was trained on {', '.join(names)}, in that order"
        )
    X = features(X, finite=finite)
    if X.shape[1] != width:
        raise DataError(f"X has {X.shape[1]} features, but the classifier was trained on {width}")
    return X


def as_given(X: Any, length: int) -> Any:
    """Check features, but keep integers (for embeddings) and arrays of more dimensions (images) as they are."""
    array = None if sp.issparse(X) or feature_names(X) is not None else to_numpy(X)
    if array is None or array.ndim < 2 or (array.ndim == 2 and array.dtype.kind not in "iu"):
        return features(X, length)
    same_length(array, length, "X")
    return array


def feature_names(X: Any) -> tuple[str, ...] | None:
    """Names of the columns of a data frame; None for anything else."""
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(map(str, columns))


def refuse_corrupt(X: Any) -> None:
    """Refuse a sparse matrix whose indices point outside it: compiled code would read and write there."""
    wrong = ""
    if X.format in ("csr", "csc", "bsr"):
        block = X.blocksize if X.format == "bsr" else (1, 1)
        rows, columns = (size // side for size, side in zip(X.shape, block, strict=True))
        major, minor = (columns, rows) if X.format == "csc" else (rows, columns)
        pointers, indices = np.asarray(X.indptr), np.asarray(X.indices)
        if len(pointers) != major + 1 or pointers[0] != 0 or (np.diff(pointers) < 0).any():
            wrong = "indptr does not rise from 0, one step for each " + ("column" if X.format == "csc" else "row")
        elif pointers[-1] > min(len(indices), len(X.data)):
            wrong = f"indptr ends at {pointers[-1]}, but there are {min(len(indices), len(X.data))} values"
        elif len(indices) and (indices.min() < 0 or indices.max() >= minor):
            wrong = f"indices range from {indices.min()} to {indices.max()}, but there are {minor} places"
    elif X.format == "coo" and X.nnz:
        for part, size in zip((X.row, X.col), X.shape, strict=True):
            if part.min() < 0 or part.max() >= size:
                wrong = f"indices range from {part.min()} to {part.max()}, but there are {size} places"
    if wrong:
        raise DataError(f"X is a corrupt sparse matrix: {wrong}. Build it anew, or see what changed its arrays")


def refuse_infinite(matrix: Any, names: Sequence[str] | None = None) -> None:
    """Refuse NaN, infinity and numbers whose squares overflow, and say in which columns and in how many rows."""
    sparse = is_sparse(matrix)
    values = matrix.data if sparse else matrix
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.einsum("i,i->" if values.ndim == 1 else "ij,ij->", values, values, dtype=np.float64)):
            return
    if _all_finite(values):
        _refuse_large(matrix, names)
    counts = []
    for what, test in (("NaN", np.isnan), ("infinity", np.isinf)):
        if sparse:
            rows = np.bincount(matrix.indices[test(matrix.data)], minlength=matrix.shape[1])
        else:
            rows = test(matrix).sum(axis=0)
        counts += [(int(k), int(rows[k]), what) for k in np.flatnonzero(rows)]
    counts.sort(key=lambda each: each[0])
    parts = [f"{what} in {n} row{'s' if n > 1 else ''} of column {_named(k, names)}" for k, n, what in counts]
    raise DataError(f"X has NaN or infinite values ({listed(parts)}): fill them or drop those examples")


def _refuse_large(matrix: Any, names: Sequence[str] | None) -> None:
    sizes = dense(abs(matrix).max(axis=0)).astype(float).ravel()
    k = int(np.argmax(sizes))
    raise DataError(
        f"column {_named(k, names)} of X has values up to {sizes[k]:g}, whose squares are too large for a number: "
        "scale it, for example with sklearn.preprocessing.MaxAbsScaler"
    )


def not_numbers(matrix: NDArray[Any], names: Sequence[str] | None = None) -> str:
    """Say which columns of an array hold something else than numbers, and what to do; empty if none does."""
    if matrix.ndim != 2 or matrix.dtype.kind in "biufc":
        return ""
    columns = [k for k in range(matrix.shape[1]) if _not_a_number(matrix[:, k]) is not None]
    if not columns:
        return ""
    shown = listed([f"{_named(k, names)} (such as {_not_a_number(matrix[:, k])})" for k in columns])
    them, these = ("it", "this column does") if len(columns) == 1 else ("them", "these columns do")
    return (
        f"X must hold numbers, and {these} not: {shown}. Encode {them} (text with "
        f"sklearn.preprocessing.OneHotEncoder, dates as days since the first one), or take {them} out of X and pass "
        f"{them} as sensitive_features (RateClassifier) or attributes (solve)"
    )


def is_sparse(X: Any) -> bool:
    """Whether features are a sparse matrix, for type checkers too: the stubs narrow the class after `issparse`."""
    return bool(sp.issparse(X))


def dense(X: Any) -> NDArray[Any]:
    """Features as an array."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def stacked(first: Any, second: Any) -> Any:
    """One table of features above the other, dense or CSR."""
    return sp.vstack([first, second]).tocsr() if is_sparse(first) else np.concatenate([first, second])


def _all_finite(values: NDArray[Any]) -> bool:
    """Whether every value is finite, without an array of answers as large as the values."""
    return all(np.isfinite(values[k : k + 65536]).all() for k in range(0, len(values), 65536))


def refuse_tiny(X: Any, spread: NDArray[np.float64], shared: Peers) -> None:
    """Refuse a feature whose values are not all equal, but too small to be squared."""
    sparse = bool(sp.issparse(X))
    for k in np.flatnonzero(spread <= LEAST_SPREAD):
        column = np.asarray(X[:, [k]].toarray() if sparse else X[:, k])
        largest = float(np.abs(column).max()) if column.size else 0.0
        if shared.some(column.size and 0 < largest <= LEAST_SPREAD and (column != column.flat[0]).any()):
            raise DataError(
                f"column {k} of X has values of at most {largest:g}, whose squares are too small for a number: scale "
                "it, for example with sklearn.preprocessing.MaxAbsScaler"
            )


def _not_a_number(column: NDArray[Any]) -> str | None:
    """The first value of a column that is no number, as it is written; None if there is none."""
    if column.dtype.kind in "mM":  # numpy makes numbers of dates, in whatever unit they are kept
        return str(column[0]) if len(column) else "a date"
    try:
        column.astype(np.float64)
        return None
    except (TypeError, ValueError):
        pass
    for value in column.tolist():
        try:
            float(value)
        except (TypeError, ValueError):
            if not is_missing(value):
                return repr(value)
    return None


def _named(column: int, names: Sequence[str] | None) -> str:
    return str(column) if names is None else repr(names[column])
