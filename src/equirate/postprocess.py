"""`RatePostprocessor`: keep a trained classifier, move its thresholds until the problem is solved.

The strong baseline of post-processing (Cruz and Hardt 2024): take a model trained for accuracy, and mix thresholds on
its scores, one for everybody or one per group, for the same objectives and constraints as `RateClassifier`. The best
response is exact, so the result is the best mixture of thresholds on the data given.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .classifiers import Classifier
from .data import Examples, to_numpy
from .errors import DataError, NotSolvedWarning
from .models.thresholds import Thresholds
from .parity import groups_of
from .problem import Objective, Problem
from .report import Evaluation, Report
from .slices import EVERYBODY, Attribute, Slice
from .solving import solve

Array = NDArray[np.float64]

_NOT_FITTED = (
    "this %(name)s is not fitted: fit it first, and wrap it in sklearn.frozen.FrozenEstimator to keep it so when cloned"
)


class RatePostprocessor(ClassifierMixin, BaseEstimator):
    """Mix thresholds on a trained classifier's scores for a function of rates under constraints.

    Parameters
    ----------
    estimator
        A fitted classifier with ``decision_function`` or ``predict_proba``. Cloning (as in a grid search) clones it
        too, unfitted, unless it is wrapped in ``sklearn.frozen.FrozenEstimator``.
    objective, constraints
        As in `RateClassifier`.
    groups
        None: one threshold for everybody, so that predicting needs no attributes. An attribute (``attr("sex")``),
        several, or a list of slices: a threshold per group, and predicting needs ``sensitive_features``.
    n_rounds
        Rounds of the game.
    random_state
        Seed of stochastic predictions.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> from equirate.postprocess import RatePostprocessor
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = (X[:, 0] + rng.normal(size=500) > 0.8).astype(int)
    >>> base = LogisticRegression().fit(X, y)
    >>> post = RatePostprocessor(base, eq.maximize(eq.f1()), [eq.positive_rate() <= 0.2]).fit(X, y)
    >>> post.evaluate(X, y)["max_violation"] < 1e-6
    True
    """

    def __init__(
        self,
        estimator: Any,
        objective: Objective,
        constraints: Any = (),
        *,
        groups: Any = None,
        n_rounds: int = 300,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.constraints = constraints
        self.groups = groups
        self.n_rounds = n_rounds
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sensitive_features: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the thresholds on data, preferably data that the classifier was not trained on."""
        if isinstance(self.estimator, BaseEstimator):
            check_is_fitted(self.estimator, msg=_NOT_FITTED)
        scorer = Scorer(self.estimator)
        self.classes_ = np.asarray(getattr(self.estimator, "classes_", ()))
        if len(self.classes_) != 2:
            raise DataError(f"the estimator must tell two classes apart; {self.estimator!r} has {len(self.classes_)}")
        labels = self._labels(y)
        examples = Examples.of(labels, sensitive_features, sample_weight, fallback=X, two_classes=True)
        self.problem_ = Problem(self.objective, self.constraints).expanded(examples)
        model = Thresholds(scorer, self._slices(examples))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotSolvedWarning)  # the status says it
            solution = solve(
                self.problem_, X, labels, examples.columns, examples.weights, model=model, n_rounds=self.n_rounds
            )
        self.classifier_: Classifier = solution.polish()
        self.status_ = solution.status
        self.train_ = Evaluation.of(self.problem_, examples, self._probability(X, examples.columns))
        return self

    def _labels(self, y: ArrayLike) -> NDArray[np.int8]:
        """Map labels to 0 and 1; refuse what the estimator does not know."""
        labels = to_numpy(y)
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        positive = labels == self.classes_[1]
        if not np.all(positive | (labels == self.classes_[0])):
            raise DataError(f"y must hold the labels that the estimator was trained on: {self.classes_.tolist()}")
        return np.asarray(positive, dtype=np.int8)

    def _slices(self, examples: Examples) -> tuple[Slice, ...]:
        if self.groups is None:
            return (EVERYBODY,)
        parts = list(self.groups) if isinstance(self.groups, (list, tuple)) else [self.groups]
        if parts and all(isinstance(part, Attribute) for part in parts):
            names = tuple(part.name for part in parts)
            return tuple(group for group in groups_of(names, examples) if examples.mask(group).any())
        if parts and all(isinstance(part, Slice) for part in parts):
            return tuple(parts) if len(parts) > 1 else (parts[0], ~parts[0])
        raise TypeError(f"groups must be attributes, as in attr('sex'), or slices; got {self.groups!r}")

    def _probability(self, X: Any, attributes: Any) -> Array:
        check_is_fitted(self, "classifier_")
        return self.classifier_.positive_probability(X, attributes)

    def predict_pmf(self, X: Any, sensitive_features: Any = None) -> Array:
        """Probability with which each class is predicted."""
        p = self._probability(X, sensitive_features)
        return np.stack([1 - p, p], axis=1)

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """Predict labels; a mixture of thresholds draws one per row, repeatably for a given ``random_state``."""
        check_is_fitted(self, "classifier_")
        seed = 0 if self.random_state is None else int(self.random_state)
        return np.asarray(self.classes_[self.classifier_.predict(X, sensitive_features, random_state=seed)])

    def evaluate(
        self, X: Any, y: ArrayLike, sensitive_features: Any = None, sample_weight: ArrayLike | None = None
    ) -> dict[str, Any]:
        """Return what is achieved on data, as plain numbers."""
        return self._evaluation(X, y, sensitive_features, sample_weight).as_dict()

    def report(
        self, X: Any, y: ArrayLike, sensitive_features: Any = None, sample_weight: ArrayLike | None = None
    ) -> Report:
        """Return the same for a person."""
        check_is_fitted(self, "classifier_")
        parts = {"train": self.train_, "test": self._evaluation(X, y, sensitive_features, sample_weight)}
        return Report(repr(self.problem_), parts, self.status_.advice)

    def _evaluation(self, X: Any, y: ArrayLike, sensitive_features: Any, sample_weight: ArrayLike | None) -> Evaluation:
        check_is_fitted(self, "classifier_")
        examples = Examples.of(self._labels(y), sensitive_features, sample_weight, fallback=X)
        return Evaluation.of(self.problem_, examples, self._probability(X, examples.columns))


class Scorer:
    """Scores of a fitted classifier: its decision function, or its probability of the second class."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
            raise DataError(
                f"{estimator!r} has neither decision_function nor predict_proba: there is nothing to threshold"
            )

    def __call__(self, X: Any) -> Array:
        """Score examples."""
        if hasattr(self.estimator, "decision_function"):
            return np.asarray(self.estimator.decision_function(X), dtype=float)
        return np.asarray(self.estimator.predict_proba(X), dtype=float)[:, 1]
