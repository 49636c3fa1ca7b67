"""Validation of features with scikit-learn's `validate_data`, with messages that name the column.

In: an estimator and features (and labels). Out: a float array or a CSR matrix, finite. For text and NaN, which
scikit-learn refuses without saying where, the message names the column.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from .._core.errors import DataError
from ..data.arrays import refuse_lazy, refuse_missing, to_numpy
from ..data.attributes import shared_names
from ..data.features import feature_names, not_numbers, refuse_corrupt, refuse_infinite


def is_valid(estimator: Any, X: Any) -> bool:
    """Whether features are a plain array that passes every check unchanged: a fast test, for serving single rows.

    Everything else, and an array that a check might refuse or warn about, goes through `validated`.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _FLOATS or not X.dtype.isnative:
        return False
    if (
        not len(X)
        or X.shape[1] != getattr(estimator, "n_features_in_", None)
        or hasattr(estimator, "feature_names_in_")
    ):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.einsum("ij,ij->", X, X, dtype=np.float64)))


_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def validated(estimator: Any, X: Any, *y: Any, missing: bool) -> Any:
    """Validate features as scikit-learn does; with labels, `fit` also learns the names of the columns.

    ``missing`` says whether features may be NaN.
    """
    if sp.issparse(X):
        refuse_corrupt(X)
    else:
        refuse_lazy(X, "X")
        _refuse_dates(X)
    shared = shared_names(X)
    if shared:  # scikit-learn identifies features by their names
        raise DataError(f"X has several columns called {', '.join(map(repr, sorted(shared)))}: rename them")
    for labels in y:
        if labels is not None and not sp.issparse(labels):
            refuse_missing(to_numpy(labels), "y")
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": bool(y)}
    options["ensure_min_samples"] = 2 if y else 1
    try:
        checked = validate_data(estimator, X, *y, ensure_all_finite=False, **options)
    except OverflowError:
        raise DataError("X holds a whole number beyond 1.8e308: scale it, or leave its column out") from None
    except (TypeError, ValueError) as error:
        refusal = _refusal(X, error)
        if not refusal:
            raise
        raise DataError(refusal) from error
    features = checked[0] if y else checked
    if not missing or sp.issparse(features):
        refuse_infinite(features, feature_names(X))
    elif np.isinf(features).any():
        refuse_infinite(np.where(np.isnan(features), 0.0, features), feature_names(X))
    return checked


def _refuse_dates(X: Any) -> None:
    """Refuse an array or a frame of dates only, which scikit-learn would convert to numbers in the unit of storage."""
    first = np.empty(0)
    if isinstance(X, np.ndarray) or hasattr(X, "columns"):
        with suppress(TypeError, ValueError, KeyError, IndexError):  # X without rows is refused later
            first = to_numpy(X[:1])
    if first.dtype.kind in "mM" and first.ndim == 2:
        raise DataError(not_numbers(first, feature_names(X)))


def _refusal(X: Any, error: Exception) -> str:
    """A message that names the columns that are not numeric; empty if that is not the reason."""
    names = feature_names(X)
    if sp.issparse(X) or (isinstance(error, TypeError) and names is None):
        return ""
    try:
        return not_numbers(to_numpy(X), names)
    except ValueError:  # scikit-learn reports inputs that are no table
        return ""
