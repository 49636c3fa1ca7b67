"""Models of a folder: how they predict, how they are trained from a prepared table, and their reports.

In: a `PreparedTable` and the name of a model. Out: a `Trained` model: one interface over the three kinds, ``linear``
(`RateClassifier`), ``trees`` (the same with plug-in rules on boosted trees, kept as plain arrays) and ``thresholds``
(`RatePostprocessor` of logistic regression).
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._core.choices import Output
from .._core.errors import EquirateError, EquirateWarning
from .._core.hashing import feature_hashes
from ..estimators.postprocessor import RatePostprocessor
from ..estimators.rate_classifier import RateClassifier
from ..explanations import Explanations
from ..game.classifiers import Classifier
from ..game.status import IN_PYTHON
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..training.draws import rows_repeat
from .algorithms import algorithm_named
from .labels import Labels
from .preparing import Part, PreparedTable, RunLog

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model of one of the kinds.

    Attributes
    ----------
    kind
        ``"linear"``, ``"trees"`` or ``"thresholds"``.
    estimator
        The `RateClassifier` or `RatePostprocessor`; None for a new mixture of its members (``recertify``).
    classifier
        The mixture that decides.
    problem
        What it was trained for, with ready-made constraints written out for the groups of the training rows.
    salt
        Of the hashed decisions, where there is no estimator to know it.
    """

    kind: str
    estimator: Any
    classifier: Classifier
    problem: Problem
    salt: int = 0

    def probabilities(self, X: Any) -> Array:
        """Probability of predicting positive, example by example; with more classes, a column for each."""
        return self.classifier.expected(X)

    def served(self, X: Any) -> Array:
        """The predictions to judge: hashed decisions if rows repeat, otherwise probabilities."""
        if self.estimator is not None:
            return np.asarray(self.estimator.decision_probability(X))
        if rows_repeat(feature_hashes(X)):
            decided = self.classifier.predict_hashed(X, salt=self.salt)
            many = self.classifier.n_classes > 2
            return np.eye(self.classifier.n_classes)[decided] if many else decided.astype(float)
        return self.probabilities(X)

    def decide(self, X: Any, labels: Labels, key: NDArray[Any] | None = None) -> NDArray[Any]:
        """Labels, each example always decided the same way; by its key, where one is given."""
        if self.estimator is not None:
            return np.asarray(self.estimator.predict(X, key=key))
        return labels.named(self.classifier.predict_hashed(X, salt=self.salt, key=key))

    def explain(self, X: Any, key: NDArray[Any] | None = None) -> Explanations:
        """Why each example is decided as it is, in the features of the table."""
        if self.estimator is None:
            raise EquirateError("a mixture made by recertify gives no reasons: fit it again with its constraints")
        explanations: Explanations = self.estimator.explain(X, key=key)
        return explanations

    def evaluate(self, part: Part, confidence: float) -> dict[str, Any]:
        """What is achieved on a part: objective, constraints with intervals and verdicts, sizes of slices."""
        evaluation = Evaluation.of(self.problem, part.examples(), self.served(part.X), confidence)
        return {**asdict(evaluation), "violation": evaluation.violation}

    def report(self, part: Part, labels: Labels, confidence: float) -> Any:
        """The estimator's own report on a part; None where there is no estimator."""
        if self.estimator is None:
            return None
        named = labels.named(part.codes)
        return self.estimator.report(
            part.X,
            named,
            sensitive_features=part.attributes,
            sample_weight=part.weights,
            confidence=confidence,
            clusters=part.clusters,
        )

    @property
    def interrupted(self) -> bool:
        """Whether training was interrupted, and this is what was reached."""
        return bool(self.estimator is not None and self.estimator.status_.interrupted)


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A trained model, the notes of its training, and whether it is certified at the requested confidence."""

    model: Trained
    notes: tuple[str, ...]
    certified: bool | None


def train(prepared: PreparedTable, log: RunLog) -> TrainedModel:
    """Train the model that the settings name."""
    settings = prepared.settings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log.stage("Training")
        model = _thresholds(prepared) if settings.model == "thresholds" else _game(prepared, log)
    own = [str(each.message).removesuffix(IN_PYTHON) for each in caught if issubclass(each.category, EquirateWarning)]
    notes = tuple(dict.fromkeys([*own, *getattr(model.estimator, "notes_", ())]))
    return TrainedModel(model, notes, model.estimator.status_.certified if settings.confidence else None)


def needs_dense(model: str) -> bool:
    """Whether a model cannot use a sparse matrix."""
    return model == "trees"


def estimator_of(prepared: PreparedTable, log: RunLog | None) -> RateClassifier:
    """The estimator for a prepared table, not fitted yet; an interrupted fit keeps its result so far."""
    settings, problem = prepared.settings, prepared.problem
    options: dict[str, Any] = {"n_rounds": settings.rounds} if settings.rounds else {}
    if settings.model == "trees":
        options["model"] = "trees"
    options["algorithm"] = algorithm_named(settings.algorithm)
    return RateClassifier(
        problem.objective,
        list(problem.constraints),
        output=cast(Output, settings.output),  # checked when the settings were read
        confidence=settings.confidence or None,
        on_interrupt="keep",
        pos_label=prepared.labels.positive or None,
        random_state=settings.seed,
        verbose=False if log is None else log.line(problem.objective.sense) or False,
        **options,
    )


def _game(prepared: PreparedTable, log: RunLog) -> Trained:
    train, labels = prepared.train, prepared.labels
    estimator = estimator_of(prepared, log)
    estimator.fit(
        train.X,
        labels.named(train.codes),
        sensitive_features=train.attributes,
        sample_weight=train.weights,
        clusters=train.clusters,
    )
    estimator.set_params(verbose=False)
    return Trained(prepared.settings.model, estimator, estimator.classifier_, estimator.problem_)


def _thresholds(prepared: PreparedTable) -> Trained:
    from sklearn.linear_model import LogisticRegression

    settings, labels, train = prepared.settings, prepared.labels, prepared.train
    if settings.algorithm != "auto":
        raise EquirateError(
            "--algorithm goes with --model linear and --model trees: thresholds have their own algorithm"
        )
    options: dict[str, Any] = {"n_rounds": settings.rounds} if settings.rounds else {}
    estimator = RatePostprocessor(
        LogisticRegression(max_iter=1000),
        prepared.problem.objective,
        list(prepared.problem.constraints),
        cv=5,
        confidence=settings.confidence or None,
        on_interrupt="keep",
        pos_label=labels.positive or None,
        random_state=settings.seed,
        **options,
    )
    estimator.fit(
        train.X,
        labels.named(train.codes),
        sensitive_features=train.attributes,
        sample_weight=train.weights,
        clusters=train.clusters,
    )
    return Trained("thresholds", estimator, estimator.classifier_, estimator.problem_)
