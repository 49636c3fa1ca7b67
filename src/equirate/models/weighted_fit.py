"""Fitting a classifier of scikit-learn with weights, also one at the end of a pipeline.

In: an estimator, data and weights. Out: the estimator, fitted. Oracles, plug-ins and `RatePostprocessor` call this.
"""

from __future__ import annotations

from typing import Any

from .._core.tree_threads import threads_for


def weight_parameter(estimator: Any) -> str | None:
    """Name of the parameter of ``fit`` for the weights of the examples; None where there is none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> weight_parameter(make_pipeline(StandardScaler(), LogisticRegression()))
    'logisticregression__sample_weight'
    """
    from sklearn.pipeline import Pipeline  # takes a second: only where it is used
    from sklearn.utils.metadata_routing import get_routing_for_object
    from sklearn.utils.validation import has_fit_parameter

    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    if get_routing_for_object(estimator).consumes("fit", ["sample_weight"]):
        return "sample_weight"  # asked for by set_fit_request, where routing is enabled
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return None


def fit_weighted(estimator: Any, X: Any, y: Any, weights: Any = None) -> Any:
    """Fit an estimator, with weights where there are any; trees have one thread where rows are few."""
    with threads_for(estimator, len(y), training=True):
        return _fitted(estimator, X, y, weights)


def _fitted(estimator: Any, X: Any, y: Any, weights: Any) -> Any:
    if weights is None:
        return estimator.fit(X, y)
    name = weight_parameter(estimator)
    if name is None:
        raise TypeError(f"{type(estimator).__name__} takes no sample_weight in fit")
    if "__" not in name:
        return estimator.fit(X, y, **{name: weights})
    from sklearn import config_context  # takes a second: only where it is used

    with config_context(enable_metadata_routing=False):  # it would refuse parameters of steps by their names
        return estimator.fit(X, y, **{name: weights})
