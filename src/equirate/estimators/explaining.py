"""Explanations of the decisions of a fitted estimator.

In: a fitted `RateClassifier` or `RatePostprocessor`, features, and the random numbers of the hashed output. Out:
`Explanations`. `RateEstimator.explain` calls this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..explanations import ClassExplanations, Explanations
from .keys import columns_of_features

if TYPE_CHECKING:
    from ..game.classifiers import Classifier
    from .base import Array, RateEstimator


def explained(
    estimator: RateEstimator,
    classifier: Classifier,
    original_X: Any,
    X: Any,
    attributes: Any,
    draws: Array | None,
    unconstrained: tuple[str, str, Array] | None,
) -> Explanations:
    """Explain rows; ``original_X`` are the features as the user passed them, ``X`` as the members take them.

    ``unconstrained`` is the classifier without constraints to compare with: a name, a note, and its predictions.
    """
    many = len(estimator.classes_) > 2
    decided = classifier.members.decide(X, attributes=attributes)
    drawn = None if draws is None else classifier.drawn(draws)
    if classifier.is_deterministic:
        drawn = np.zeros(len(decided), dtype=np.intp)
    columns = columns_of_features(original_X)
    return (ClassExplanations if many else Explanations)(
        classes=estimator.classes_,
        positive=None if many else estimator.pos_label_,
        weights=classifier.weights,
        decided=decided,
        drawn=drawn,
        contributions=None if many else classifier.members.contributions(X, attributes=attributes),
        names=_names(estimator, len(columns)),
        values=tuple(columns),
        unconstrained=None if unconstrained is None else unconstrained[2],
    )


def _names(estimator: Any, count: int) -> tuple[str, ...]:
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        return tuple(map(str, names))
    if getattr(estimator, "estimator_", estimator) is None:  # X holds scores instead of features
        return ("score",)
    return tuple(f"x{k}" for k in range(count))
