"""Feature scaling inside the estimator, and the way back to the features as given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .models.linear import LinearMembers

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Standardised features in single precision, and the way back."""

    mean: Array
    scale: Array
    active: bool

    @classmethod
    def of(cls, X: Any, rows: NDArray[np.intp], active: bool, weights: NDArray[np.float64] | None = None) -> Scaling:
        """Measure mean and spread on some rows; sparse features are scaled but not shifted, to stay sparse.

        ``weights`` has one weight per row of X: an example of weight k counts like k copies. A feature that is constant
        up to rounding becomes zero.
        """
        width = X.shape[1]
        if not active:
            return cls(np.zeros(width), np.ones(width), False)
        w = np.ones(len(rows)) if weights is None else weights[rows]
        w = (w if w.any() else np.ones(len(rows))) / (w.sum() or len(rows))
        part = X[rows].astype(float)
        if _is_sparse(part):
            mean, square = np.zeros(width), w @ part.multiply(part)
        else:
            mean = w @ part
            mean = mean + w @ (part - mean)  # what rounding left over
            square = w @ (part - mean) ** 2
        spread = np.sqrt(np.asarray(square).ravel())
        varies = spread > np.maximum(1e-14 * np.abs(mean), 1e-150)
        return cls(mean, np.where(varies, spread, np.maximum(np.abs(mean), 1.0)), True)

    def __call__(self, X: Any) -> Any:
        """Scale features."""
        if not self.active:
            return X
        if _is_sparse(X):
            return sp.csr_array(X.astype(float) @ sp.diags_array(1 / self.scale)).astype(np.float32)
        return ((X - self.mean) / self.scale).astype(np.float32)

    def undo(self, members: Any) -> Any:
        """Rewrite linear classifiers for the features as given."""
        if not self.active or not isinstance(members, LinearMembers):
            return members
        W = members.W if members.intercept else np.vstack([members.W, np.zeros((1, members.W.shape[1]))])
        return LinearMembers(self.raw(W), True)

    def raw(self, W: NDArray[Any]) -> Array:
        """Weights for the features as given, from weights (intercept last) for the scaled ones."""
        weights = W[:-1].astype(float) / self.scale[:, None]
        return np.vstack([weights, W[-1:] - self.mean @ weights])

    def redo(self, W: NDArray[Any]) -> Array:
        """Weights for the scaled features, from weights (intercept last) for the features as given."""
        return np.vstack([W[:-1] * self.scale[:, None], W[-1:] + self.mean @ W[:-1]])


def _is_sparse(X: Any) -> bool:
    return bool(sp.issparse(X))
