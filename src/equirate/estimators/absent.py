"""Methods and parameters that an estimator does not have, and messages that say what to use instead.

scikit-learn tests with ``hasattr``, so an absent attribute must raise `AttributeError`. Its ``available_if`` does so,
but with a message of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

PMF = "predict_pmf(X) is the probability with which each label is predicted"
NO_PROBABILITY = (
    "a RateClassifier has no predict_proba: it is trained for decisions, and knows no probability of a label. " + PMF
)
NO_LOG_PROBABILITY = f"a RateClassifier has no predict_log_proba, because it has no predict_proba: {PMF}"
NO_SCORE = (
    f"this RateClassifier has no decision_function: its decisions have no single score. {PMF}; with "
    'output="deterministic", or after to_deterministic(), there is a decision_function'
)
NO_COEFFICIENTS = (
    "this RateClassifier has no coef_ and intercept_: they are there where one linear classifier decides (a linear "
    "model whose output has one member). members_[k].W has the weights of member k, the intercept last"
)
NO_IMPORTANCES = (
    "this RateClassifier has no feature_importances_: they are there for trees, as shares of the splits. For any model "
    "use sklearn.inspection.permutation_importance with scoring=eq.scorer(...)"
)
NO_PARTIAL_FIT = (
    "a RateClassifier has no partial_fit: rates are about all examples at once. Fit again with warm_start=True to go "
    "on from the last fit; for rows that do not fit into memory, see equirate.distributed.ParquetRows"
)
INSTEAD: Mapping[str, str] = {
    "class_weight": (
        "say in the objective what each label is worth (balanced_accuracy(), cost(...)), or give sample_weight to fit"
    ),
    "max_iter": "n_rounds is the number of rounds",
    "n_iter": "n_rounds is the number of rounds",
    "n_jobs": "training uses the cores that there are, or as many threads as OMP_NUM_THREADS says",
    "scoring": "the objective is what is trained for; eq.scorer(objective, constraints) is the same as a scorer",
    "seed": "random_state is the seed",
    "threshold": "constraints say how often to predict each label, as in positive_rate() <= 0.2",
    "sensitive_features": "attributes are given to fit: fit(X, y, sensitive_features=...)",
}
"""Parameters of other classifiers, and what to use instead."""
_PENALTY = "model=equirate.models.Linear(penalty=...) is regularised; a larger penalty is a smaller C"
_OF_TREES = "give it to the trees, as in model=BoostedTrees(...) (equirate.boosting) or model=LGBMClassifier(...)"
OF_MODELS: Mapping[str, str] = {
    "C": _PENALTY,
    "alpha": _PENALTY,
    "penalty": _PENALTY,
    "cv": "validation is the share of the rows that is held out",
    "early_stopping": "training ends when nothing improves any more; patience is that of a game",
    "fit_intercept": "model=equirate.models.Linear(intercept=False) has no intercept",
    "learning_rate": "theta_step and lambda_step are the steps of a game; that of trees is given to them",
    "max_depth": _OF_TREES,
    "n_estimators": _OF_TREES,
    "solver": "algorithm names one of equirate.algorithms",
    "tol": "tolerance is the largest violation that counts as met",
}
"""Parameters of models that other classifiers have, and what to use in a `RateClassifier` instead."""


class Absent:
    """An attribute that does not exist; the `AttributeError` has a message that says what to use instead.

    Examples
    --------
    >>> class Person:
    ...     height = Absent("nobody measured it")
    >>> hasattr(Person(), "height")
    False
    >>> Person().height
    Traceback (most recent call last):
    ...
    AttributeError: nobody measured it
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        raise AttributeError(self.text)


class method_if:  # noqa: N801  # a decorator
    """A method that exists if ``check(object)`` is true; otherwise `AttributeError` says what to use instead."""

    def __init__(self, check: Callable[[Any], bool], text: str) -> None:
        self.check, self.text = check, text

    def __call__(self, method: Callable[..., Any]) -> method_if:
        """Decorate a method."""
        self.method, self.__doc__ = method, method.__doc__
        return self

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self.method
        if not self.check(owner):
            raise AttributeError(self.text)
        return MethodType(self.method, owner)


def refuse_unknown(kind: type, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters that other classifiers have, and say what to use instead."""
    accepted = inspect.signature(kind).parameters
    for name in parameters:
        advice = INSTEAD.get(name) or OF_MODELS.get(name)
        if advice is None or name in accepted:
            continue
        if name in OF_MODELS and "estimator" in accepted:
            advice = "it is a parameter of classifiers: give it to the estimator"
        raise TypeError(f"{kind.__name__} has no parameter {name!r}: {advice}")
