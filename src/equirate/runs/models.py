"""Models that a folder holds: what predicts, how it is trained from a prepared table, and what it says of itself.

In: a `Prepared` table and the name of a model. Out: a `Trained` model: one interface over the three kinds, ``linear``
(`RateClassifier`), ``trees`` (the same with plug-in rules on boosted trees, kept as plain arrays) and ``thresholds``
(`RatePostprocessor` on logistic regression, whose weights are kept beside it).
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError, EquirateWarning
from ..data.splits import split_by_cell
from ..estimators.postprocessor import RatePostprocessor
from ..estimators.rate_classifier import RateClassifier
from ..estimators.serving import hashes_of, rows_repeat
from ..explanations import Explanations
from ..game.classifiers import Classifier
from ..judge.evaluation import Evaluation
from ..models.contributions import Contributions, linear_contributions
from ..problem.problem import Problem
from ..problem.table import problem_cells
from .algorithms import algorithm_named
from .labels import Labels
from .preparing import Part, Prepared, Teller

Array = NDArray[np.float64]
_SCORED = 0.6  # share of the training rows that logistic regression is fitted on; thresholds are chosen on the others


@dataclass(frozen=True, eq=False)
class Scorer:
    """Logistic regression as plain numbers: the scores that thresholds cut."""

    weights: Array
    intercept: float

    def __call__(self, X: Any) -> Array:
        """One score for each example, as a column."""
        return np.asarray(X @ self.weights, dtype=float)[:, None] + self.intercept


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model of one of the kinds.

    Attributes
    ----------
    kind
        ``"linear"``, ``"trees"`` or ``"thresholds"``.
    estimator
        The `RateClassifier` or `RatePostprocessor`; None for a new mixture of its members (``recertify``), and for
        trees of a folder that was written before 0.3.
    classifier
        The mixture that decides.
    problem
        What it was trained for, with ready-made constraints written out for the groups of the training rows.
    scorer
        What makes the features of ``thresholds``.
    salt
        Of the hashed decisions, where there is no estimator to know it.
    """

    kind: str
    estimator: Any
    classifier: Classifier
    problem: Problem
    scorer: Scorer | None = None
    salt: int = 0

    def features(self, X: Any) -> Any:
        """What the estimator is given."""
        return X if self.scorer is None else self.scorer(X)

    def probabilities(self, X: Any) -> Array:
        """Probability of predicting positive, example by example."""
        return self.classifier.positive_probability(self.features(X))

    def served(self, X: Any) -> Array:
        """What is judged: the decisions that are served where rows repeat, else probabilities."""
        features = self.features(X)
        if self.estimator is not None:
            return np.asarray(self.estimator._served(features, None))
        hashes = hashes_of(features)
        if hashes is not None and rows_repeat(hashes):
            return self.classifier.predict_hashed(features, salt=self.salt).astype(float)
        return self.probabilities(X)

    def decide(self, X: Any, labels: Labels, key: NDArray[Any] | None = None) -> NDArray[Any]:
        """Labels, each example always decided the same way; by its key, where one is given."""
        features = self.features(X)
        if self.estimator is not None:
            return np.asarray(self.estimator.predict(features, key=key))
        return labels.named(self.classifier.predict_hashed(features, salt=self.salt, key=key).astype(bool))

    def explain(self, X: Any, key: NDArray[Any] | None = None) -> Explanations:
        """Why each example is decided as it is, in the features of the table."""
        if self.estimator is None:
            raise EquirateError("trees of a folder that was written before 0.3 give no reasons: fit them again")
        found: Explanations = self.estimator.explain(self.features(X), key=key)
        if self.scorer is None or found.contributions is None:
            return found
        # the score that thresholds cut is made of features itself
        sign = 1.0 if self.estimator.classes_[1] == self.estimator.pos_label else -1.0
        weights = sign * np.append(self.scorer.weights, self.scorer.intercept)
        score = linear_contributions(X, weights[:, None])
        features = np.broadcast_to(score.features, (len(found), len(found.weights), len(self.scorer.weights)))
        parts = Contributions.of(found.contributions.base + score.base, features)
        return replace(found, contributions=parts, unconstrained=(score.scores[:, 0] > 0).astype(float))

    def evaluate(self, part: Part, confidence: float) -> dict[str, Any]:
        """What is achieved on a part: objective, constraints with intervals and verdicts, sizes of slices."""
        return Evaluation.of(self.problem, part.examples(), self.served(part.X), confidence).as_dict()

    def report(self, part: Part, labels: Labels, confidence: float) -> Any:
        """The estimator's own report on a part; None where there is no estimator."""
        if self.estimator is None:
            return None
        features, named = self.features(part.X), labels.named(part.positive)
        return self.estimator.report(features, named, part.attributes, part.weights, confidence, clusters=part.clusters)

    @property
    def interrupted(self) -> bool:
        """Whether training was interrupted, and this is what was reached."""
        return bool(self.estimator is not None and self.estimator.status_.interrupted)


@dataclass(frozen=True, eq=False)
class Training:
    """A trained model, what was said on the way, and whether a confidence that was asked for was reached."""

    model: Trained
    notes: tuple[str, ...]
    certified: bool | None


def train(prepared: Prepared, tell: Teller) -> Training:
    """Train the model that the settings name."""
    settings = prepared.settings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tell.stage("Training")
        model = _thresholds(prepared) if settings.model == "thresholds" else _game(prepared, tell)
    said = [each for each in caught if issubclass(each.category, EquirateWarning)]
    notes = tuple(dict.fromkeys([*(str(each.message) for each in said), *getattr(model.estimator, "notes_", ())]))
    return Training(model, notes, model.estimator.status_.certified if settings.confidence else None)


def needs_dense(model: str) -> bool:
    """Whether a model cannot use a matrix that leaves zeros out."""
    return model == "trees"


def estimator_of(prepared: Prepared, tell: Teller | None) -> RateClassifier:
    """The estimator for a prepared table, not fitted yet; an interrupted fit keeps what it has found."""
    settings, problem = prepared.settings, prepared.problem
    options: dict[str, Any] = {"n_rounds": settings.rounds} if settings.rounds else {}
    if settings.model == "trees":
        options["model"] = "trees"
    options["algorithm"] = algorithm_named(settings.algorithm)
    return RateClassifier(
        problem.objective,
        list(problem.constraints),
        output=settings.output,
        confidence=settings.confidence or None,
        on_interrupt="keep",
        pos_label=prepared.labels.positive,
        random_state=settings.seed,
        verbose=False if tell is None else tell.line(problem.objective.sense) or False,
        **options,
    )


def _game(prepared: Prepared, tell: Teller) -> Trained:
    train, labels = prepared.train, prepared.labels
    estimator = estimator_of(prepared, tell)
    named = labels.named(train.positive)
    estimator.fit(train.X, named, train.attributes, train.weights, clusters=train.clusters)
    estimator.set_params(verbose=False)
    return Trained(prepared.settings.model, estimator, estimator.classifier_, estimator.problem_)


def _thresholds(prepared: Prepared) -> Trained:
    from sklearn.linear_model import LogisticRegression

    settings, labels, whole = prepared.settings, prepared.labels, prepared.train
    if settings.algorithm != "auto":
        raise EquirateError("--algorithm goes with --model linear and --model trees: thresholds have one of their own")
    options: dict[str, Any] = {"n_rounds": settings.rounds} if settings.rounds else {}
    if settings.confidence:
        if "confidence" not in inspect.signature(RatePostprocessor).parameters:
            raise EquirateError("--confidence is not to be had with --model thresholds: use --model linear")
        options["confidence"] = settings.confidence
    examples = whole.examples()
    problem = prepared.problem.expanded(examples)
    first, second = split_by_cell(problem_cells(problem, examples), (_SCORED, 1 - _SCORED), settings.seed)
    scored, part = whole.taken(first), whole.taken(second)
    base = LogisticRegression(max_iter=1000).fit(scored.X, scored.positive, sample_weight=scored.weights)
    scorer = Scorer(np.asarray(base.coef_[0], dtype=float), float(base.intercept_[0]))
    # The scores are higher for the positive label; the estimator takes them to be higher for the larger one.
    flipped = labels.positive < labels.negative
    scorer = Scorer(-scorer.weights, -scorer.intercept) if flipped else scorer
    estimator = RatePostprocessor(
        None,
        prepared.problem.objective,
        list(prepared.problem.constraints),
        on_interrupt="keep",
        pos_label=labels.positive,
        random_state=settings.seed,
        **options,
    )
    named = labels.named(part.positive)
    estimator.fit(scorer(part.X), named, part.attributes, part.weights, clusters=part.clusters)
    return Trained("thresholds", estimator, estimator.classifier_, estimator.problem_, scorer)
