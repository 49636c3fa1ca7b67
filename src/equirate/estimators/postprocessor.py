"""`RatePostprocessor`: keep a trained classifier, move its thresholds until the problem is solved.

The strong baseline of post-processing (Cruz and Hardt 2024): take a model trained for accuracy, and mix thresholds on
its scores, one for everybody or one per group, for the same objectives and constraints as `RateClassifier`. The best
response is exact, so the result is the best mixture of thresholds on the data given.
"""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.errors import DataError
from ..data.examples import Examples, columns_of, fill_missing, to_numpy
from ..data.sample import Sample
from ..data.slices import EVERYBODY, Attribute, Slice
from ..game.classifiers import Classifier
from ..game.options import Options
from ..game.solution import Status
from ..game.solving import solve_on
from ..judge.evaluation import Evaluation
from ..language.parity import attributes_in, groups_of
from ..models.thresholds import Given, Thresholds
from ..problem.problem import Objective, Problem
from .judging import Judged, compare_indexes, refuse_empty, two_classes
from .saving import plain_postprocessor

Array = NDArray[np.float64]

_NOT_FITTED = (
    "this %(name)s is not fitted: fit it first, and wrap it in sklearn.frozen.FrozenEstimator to keep it so when cloned"
)


class RatePostprocessor(Judged):
    """Mix thresholds on a trained classifier's scores for a function of rates under constraints.

    Parameters
    ----------
    estimator
        A fitted classifier with ``decision_function`` or ``predict_proba``. Cloning (as in a grid search) clones it
        too, unfitted, unless it is wrapped in ``sklearn.frozen.FrozenEstimator``. None: every method is given the
        scores themselves in the place of X, higher for the larger label (one per example: an array, a series or a
        column).
    objective, constraints
        As in `RateClassifier`.
    groups
        None: one threshold for everybody, so that predicting needs no attributes. An attribute (``attr("sex")`` or
        ``"sex"``), several, or a list of slices: a threshold per group, and predicting needs ``sensitive_features``.
    n_rounds
        Rounds of the game.
    pos_label
        The label to call positive; the larger one by default.
    missing
        What to do with missing values in an attribute: ``"refuse"``, or ``"group"``, as in `RateClassifier`.
    random_state
        Seed of stochastic predictions: a whole number, or a numpy RandomState or Generator, from which `fit` draws
        one.

    Attributes
    ----------
    classes_, problem_, status_
        As in `RateClassifier`.
    train_
        What was achieved on the data given to `fit`.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> from equirate import RatePostprocessor
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
        pos_label: Any = None,
        missing: str = "refuse",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.constraints = constraints
        self.groups = groups
        self.n_rounds = n_rounds
        self.pos_label = pos_label
        self.missing = missing
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sensitive_features: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Choose the thresholds on data, preferably data that the classifier was not trained on."""
        self._check_parameters()
        self.classes_ = self._two_classes(y)
        scorer = self._scorer()
        compare_indexes(X, y, sensitive_features, sample_weight)
        asked = Problem(self.objective, self.constraints)
        examples = self._examples(asked, self._labels(y), X, sensitive_features, sample_weight)
        self.problem_ = asked.expanded(examples)
        refuse_empty(self.problem_, examples)
        sample, model = Sample(X, examples), Thresholds(scorer, self._slices(examples))
        solution = solve_on(self.problem_, sample, Options(model=model, n_rounds=self.n_rounds))
        self._classifier = solution.polish()
        self.status_: Status = solution.status
        self.notes_ = tuple(self.status_.advice)
        self.train_ = self._evaluation(sample)
        return self

    def _two_classes(self, y: ArrayLike) -> NDArray[Any]:
        """The labels that the estimator tells apart or, where scores are given, those in y."""
        if self.estimator is None:
            labels = to_numpy(y)
            return two_classes(labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels)
        if isinstance(self.estimator, BaseEstimator):
            check_is_fitted(self.estimator, msg=_NOT_FITTED)
        Scorer(self.estimator)  # refuses what gives no scores
        classes = np.asarray(getattr(self.estimator, "classes_", ()))
        if len(classes) != 2:
            raise DataError(f"the estimator must tell two classes apart; {self.estimator!r} has {len(classes)}")
        return classes

    def _scorer(self) -> Given | Scorer:
        sign = 1.0 if self._positive() == self.classes_[1] else -1.0
        return Given(sign) if self.estimator is None else Scorer(self.estimator, sign)

    def _slices(self, examples: Examples) -> tuple[Slice, ...]:
        if self.groups is None:
            return (EVERYBODY,)
        parts = attributes_in(self.groups)
        if parts and all(isinstance(part, Attribute) for part in parts):
            names = tuple(part.name for part in parts)
            return tuple(group for group in groups_of(names, examples) if examples.mask(group).any())
        if parts and all(isinstance(part, Slice) for part in parts):
            return tuple(parts) if len(parts) > 1 else (parts[0], ~parts[0])
        raise TypeError(f"groups must be attributes, as in attr('sex'), or slices; got {self.groups!r}")

    @property
    def classifier_(self) -> Classifier:
        """The mixture of thresholds that predicts."""
        check_is_fitted(self, "_classifier")
        return self._classifier

    @property
    def parts_(self) -> dict[str, Evaluation]:
        """What it achieves on the data given to `fit`."""
        return {"train": self.train_}

    def _unconstrained(self, sample: Sample) -> tuple[str, str, Array] | None:
        if self.estimator is None:
            return None
        note = "The classifier with the threshold that it was trained with."
        return type(self.estimator).__name__, note, self._labels(self.estimator.predict(sample.X)).astype(float)

    def predict_pmf(self, X: Any, sensitive_features: Any = None) -> Array:
        """Probability with which each class is predicted."""
        return self._by_class(self.classifier_.positive_probability(X, self._attributes(X, sensitive_features)))

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """Predict labels; a mixture of thresholds draws one per row, repeatably for a given ``random_state``."""
        classifier = self.classifier_
        return self._named(classifier.predict(X, self._attributes(X, sensitive_features), random_state=self._draws))

    def _attributes(self, X: Any, sensitive_features: Any) -> Any:
        """Attributes to predict with, missing ones treated as when fitting."""
        if self.missing == "refuse":
            return sensitive_features
        compare_indexes(X, None, sensitive_features, None)
        return fill_missing(columns_of(sensitive_features, X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the thresholds to one file without pickle; `equirate.load` opens it again, executing nothing.

        Only for scores that are given (``estimator=None``): an estimator of another package cannot be saved without
        pickle. Save that one in its own way, and the thresholds on its scores here.
        """
        super().save(path)

    def _plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return plain_postprocessor(self)


class Scorer:
    """Scores of a fitted classifier: its decision function, or its probability of the second class.

    ``sign`` is -1 where the first class is the positive one.
    """

    def __init__(self, estimator: Any, sign: float = 1.0) -> None:
        self.estimator, self.sign = estimator, sign
        if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
            raise DataError(
                f"{estimator!r} has neither decision_function nor predict_proba: there is nothing to threshold"
            )

    def __call__(self, X: Any) -> Array:
        """Score examples."""
        if hasattr(self.estimator, "decision_function"):
            return self.sign * np.asarray(self.estimator.decision_function(X), dtype=float)
        return self.sign * np.asarray(self.estimator.predict_proba(X), dtype=float)[:, 1]
