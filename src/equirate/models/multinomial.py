"""Multinomial logistic regression on standardised features: the probabilities behind a linear model of many classes.

In: features, classes, weights. Out: a `Logistic`, whose coefficients are in the units of the features as given.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data.features import features
from .sklearn_classifiers import Logistic

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Multinomial:
    """A multinomial logistic regression that standardises inside.

    Parameters
    ----------
    penalty
        Ridge penalty on the standardised coefficients.
    intercept
        Whether there is an intercept for each class.
    scale
        Whether features are standardised.
    """

    penalty: float = 1.0
    intercept: bool = True
    scale: bool = True

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, as scikit-learn clones by them."""
        return {"penalty": self.penalty, "intercept": self.intercept, "scale": self.scale}

    def predict_proba(self, X: Any) -> Array:
        """Nothing is fitted here: `fit` returns what predicts."""
        raise NotImplementedError

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Array | None = None) -> Logistic:
        """Fit, and return the coefficients for features as given."""
        from sklearn.exceptions import ConvergenceWarning  # takes a second: only where it is used
        from sklearn.linear_model import LogisticRegression

        X = features(X)
        sparse = bool(sp.issparse(X))
        centre, spread = self._standard(X, sample_weight)
        scaled: Any = X @ sp.diags_array(1 / spread) if sparse else (X - centre) / spread
        model = LogisticRegression(C=1 / self.penalty, fit_intercept=self.intercept, max_iter=300, tol=1e-5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # probabilities of a nearly converged fit serve as well
            model.fit(scaled, y, sample_weight)
        coefficients = model.coef_ / spread
        intercepts = np.broadcast_to(model.intercept_, len(coefficients)) - coefficients @ centre
        return Logistic(coefficients, intercepts, np.asarray(model.classes_, dtype=np.int64))

    def _standard(self, X: Any, weights: Array | None) -> tuple[Array, Array]:
        """Centre (0 for sparse features, and without an intercept) and spread of each feature, never 0."""
        width, sparse = int(X.shape[1]), bool(sp.issparse(X))
        if not self.scale:
            return np.zeros(width), np.ones(width)
        w = np.ones(int(X.shape[0])) if weights is None else weights
        total = w.sum()
        mean = np.asarray(w @ X).reshape(-1) / total
        square = np.asarray(w @ (X.multiply(X) if sparse else X * X)).reshape(-1) / total
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        spread = np.where(spread > 1e-9 * np.maximum(np.sqrt(square), 1e-300), spread, 1.0)
        return (np.zeros(width) if sparse or not self.intercept else mean), spread
