"""Predictions of any fitted classifier: a mixture's probabilities, or 0 and 1 for others.

In: an estimator, a pipeline, a search, one of fairlearn's randomised classifiers, or an array of predictions. Out: for
each row the probability of predicting the positive label. Scorers, reports and displays call this.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from ..data.arrays import to_numpy
from ..data.labels import Classes, codes_of, in_order, one_hot

Array = NDArray[np.float64]


def unwrapped(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """The classifier that decides, and the features, if there are any, as it takes them.

    The best estimator of a search, the last step of a pipeline; samplers of imbalanced-learn are for training only.
    """
    from sklearn.pipeline import Pipeline  # imports a quarter of a second's modules, which no fit needs

    if hasattr(estimator, "best_estimator_"):
        return unwrapped(estimator.best_estimator_, X)
    if not isinstance(estimator, Pipeline):
        return estimator, X
    for _, step in estimator.steps[:-1]:
        if X is not None and step not in (None, "passthrough") and not hasattr(step, "fit_resample"):
            X = step.transform(X)
    return unwrapped(estimator.steps[-1][1], X)


def served(estimator: Any) -> Any:
    """The classifier that decides, without features."""
    return unwrapped(estimator)[0]


def decided(estimator: Any, X: Any, sensitive_features: Any, positive: Any) -> Array:
    """Probability of predicting the positive label, row by row: expected where a classifier draws, else 0 and 1.

    Where rows repeat, a hashed output is judged by the decisions that it returns.
    """
    classifier, pmf = _expected(estimator, X, sensitive_features)
    if pmf is None:
        return np.asarray(to_numpy(_called(estimator.predict, X, sensitive_features)) == positive, dtype=float)
    classes = list(getattr(classifier, "classes_", (0, 1)))  # fairlearn's have labels 0 and 1, and no classes_
    if positive not in classes:
        raise DataError(f"the positive label {positive!r} is not among the classes {classes!r} of {classifier!r}")
    # Strided columns are summed in another order, which would change the last digit for the same mixture.
    return np.ascontiguousarray(pmf[:, classes.index(positive)])


def class_probabilities_of(estimator: Any, X: Any, sensitive_features: Any, classes: Classes) -> Array:
    """Probability of predicting each of several classes: expected where a classifier draws, else 0 and 1."""
    classifier, pmf = _expected(estimator, X, sensitive_features)
    if pmf is not None:
        return in_order(pmf, list(classifier.classes_), classes)
    predicted = to_numpy(_called(estimator.predict, X, sensitive_features))
    return one_hot(codes_of(predicted, classes, "the prediction"), len(classes))


def _expected(estimator: Any, X: Any, sensitive_features: Any) -> tuple[Any, Array | None]:
    """The classifier that decides, and with which probability it predicts each of its classes; None without draws."""
    if hasattr(served(estimator), "predict_pmf"):  # neither a pipeline nor a search passes it on
        estimator, X = unwrapped(estimator, X)
        method = getattr(estimator, "decision_probability", estimator.predict_pmf)  # equal rows are decided alike
    elif hasattr(estimator, "_pmf_predict"):  # fairlearn's name for the same
        method = estimator._pmf_predict
    else:
        return estimator, None
    p = np.asarray(to_numpy(_called(method, X, sensitive_features)), dtype=float)
    if p.ndim == 1:  # of the positive one of two classes
        p = np.stack([p if label == estimator.pos_label_ else 1 - p for label in estimator.classes_], axis=1)
    return estimator, p


def _called(method: Any, X: Any, sensitive_features: Any) -> Any:
    """Call a prediction method, with the attributes if it takes them."""
    takes = "sensitive_features" in inspect.signature(method).parameters
    options = {"sensitive_features": sensitive_features} if takes and sensitive_features is not None else {}
    return method(X, **options)
