"""Reports of fitted estimators: the values for a `Report`, from the estimator and measured on data.

In: a fitted `RateClassifier` or `RatePostprocessor`, and data to judge on. Out: a `Report`.
`RateEstimator.report` calls this.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._core.errors import DataError
from ..data.arrays import to_numpy
from ..data.examples import Examples
from ..data.labels import class_probabilities, plain
from ..data.sample import Sample
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..reports.card import DRAWS
from ..reports.facts import Baseline, GameCourse, Member, Origin, Point, changes, moves, rates_by_slice
from ..reports.intersections import intersection_notes
from ..reports.report import Report
from .predictions import class_probabilities_of, decided

if TYPE_CHECKING:
    from .base import RateEstimator
    from .frontier import Frontier

Array = NDArray[np.float64]

UNCONSTRAINED = (
    "the same without constraints",
    "The classifier with the best objective that the same training found, whatever the constraints. Trained for "
    "itself it might be better, and the price higher.",
)
"""Name and description of the baseline that a `RateClassifier` keeps."""
SEEN = "the classifier was trained on these examples: give report() others for a verdict that counts"
REPEATED = "rows repeat, so the numbers are of the decisions that predict(X) returns, equal rows decided alike"


def of_training(estimator: RateEstimator) -> Report:
    """A report without new data: the evaluations on the parts of the training data."""
    parts = estimator.parts_
    free, name = estimator.outputs_.get("unconstrained"), list(parts)[-1]
    baseline = None if free is None else Baseline(*UNCONSTRAINED, free.evaluations[name])
    return Report(**_head(estimator), parts=parts, baseline=baseline, origin=_origin(estimator, ()))


def compared_with(
    baseline: tuple[str, str, Array], problem: Problem, examples: Examples, predictions: Array, confidence: float
) -> Baseline:
    """A baseline judged on examples, and what it decides otherwise; it is a name, a note, and its predictions."""
    name, note, theirs = baseline
    return Baseline(
        name,
        note,
        Evaluation.of(problem, examples, theirs, confidence),
        rates_by_slice(problem, examples, theirs, confidence),
        changes(problem, examples, predictions, theirs),
        moves(examples, predictions, theirs),
    )


def of_data(
    estimator: RateEstimator,
    sample: Sample,
    predictions: Array,
    repeated: bool,
    confidence: float,
    baseline: tuple[str, str, Array] | None,
    frontier: Frontier | None,
) -> Report:
    """A report on new data too, with rates by slice, a baseline and, if there is one, a frontier.

    ``predictions`` are those that are judged; ``repeated`` says whether they are decisions, because rows repeat.
    ``baseline`` is as in `compared_with`.
    """
    problem, features, examples = estimator.problem_, sample.X, sample.examples

    def judged(decided: Array) -> tuple[Evaluation, Any]:
        return (
            Evaluation.of(problem, examples, decided, confidence),
            rates_by_slice(problem, examples, decided, confidence),
        )

    points = []
    if frontier is not None:
        for k in np.argsort(frontier.levels, kind="stable").tolist():
            decided = frontier.decided(k, features, sensitive_features=examples.columns)
            points.append(Point(frontier.levels[k], *judged(decided)))
    shares = np.full(len(estimator.classifier_.weights), np.nan)
    if len(estimator.classes_) == 2:
        decided_by_member = estimator.classifier_.members.decide(features, attributes=examples.columns)
        shares = np.average(decided_by_member, axis=0, weights=examples.weights)
    tested, rates = judged(predictions)
    head, original = _head(estimator), Problem(estimator.objective, estimator.constraints)
    if repeated:
        head["notes"] += (REPEATED,)
    elif tested.undecided > 0:
        share = f"{tested.undecided:.1%} of the examples"
        head["notes"] += (f"the decision of {share} depends on the draw of the mixture's member",)
    head["notes"] += tuple(intersection_notes(original, examples, predictions))
    return Report(
        **head,
        parts={**estimator.parts_, "test": tested},
        rates=rates,
        baseline=None if baseline is None else compared_with(baseline, problem, examples, predictions, confidence),
        frontier=tuple(points),
        origin=_origin(estimator, tuple(map(float, shares))),
    )


def _head(estimator: RateEstimator) -> dict[str, Any]:
    history = getattr(estimator, "history_", None)
    return {
        "problem": repr(estimator.problem_),
        "notes": tuple(estimator.notes_),
        "positive_label": "" if len(estimator.classes_) > 2 else shown_label(estimator.pos_label_),
        "course": GameCourse.of(history) if history and len(history["round"]) else None,
        "certification": getattr(estimator, "certification_", None),
        "uncovered": tuple(getattr(estimator, "uncovered_", ())),
    }


def baseline_of(
    baseline: Any, X: Any, sensitive_features: Any, classes: NDArray[Any], positive: Any, length: int
) -> tuple[str, str, Array]:
    """Name, note and predictions of a baseline passed by the user; with more than two classes, none is ``positive``."""
    name, baseline = _named(baseline)
    given = not hasattr(baseline, "predict")
    if len(classes) > 2:
        values = tuple(map(plain, classes))
        if given:
            return name, "", class_probabilities(to_numpy(baseline), values, length)
        return name, "", class_probabilities_of(baseline, X, sensitive_features, values)
    if given:
        return name, "", as_probabilities(baseline, classes, positive, length)
    predictions = decided(baseline, X, sensitive_features, positive)
    return name, "", as_probabilities(predictions, np.array([0.0, 1.0]), 1.0, length)


def _named(baseline: Any) -> tuple[str, Any]:
    """A baseline and its name: the user's own in a dict, or that of its class."""
    if not isinstance(baseline, Mapping):
        return type(baseline).__name__ if hasattr(baseline, "predict") else "the predictions given", baseline
    if len(baseline) != 1:
        raise DataError(f"a baseline is one classifier under one name; got {len(baseline)}")
    ((name, baseline),) = baseline.items()
    return (str(name), baseline) if name else _named(baseline)


def as_probabilities(
    predictions: Any, classes: NDArray[Any], positive: Any, length: int, what: str = "baseline"
) -> Array:
    """Labels, or probabilities of predicting the positive one, as numbers from 0 to 1."""
    values = to_numpy(predictions)
    if values.shape != (length,):
        raise DataError(f"the {what} must give one prediction per example, ({length},); got {values.shape}")
    known = np.isin(values, classes)
    if values.dtype.kind == "f" and not known.all():
        if not ((values >= 0) & (values <= 1)).all():
            raise DataError(f"the {what}'s predictions must be labels, or probabilities of predicting the positive one")
        return values.astype(float)
    if not known.all():
        strange = sorted({str(label) for label in values[~known].tolist()})
        raise DataError(
            f"the {what} predicts labels that were not in training: {', '.join(strange[:5])}; the labels are "
            f"{classes.tolist()}"
        )
    return np.asarray(values == positive, dtype=float)


def shown_label(label: Any) -> str:
    """A label as text."""
    return repr(plain(label))


def _how_drawn(estimator: RateEstimator) -> str:
    """How the member that decides a row is drawn."""
    if estimator.classifier_.is_deterministic:
        return "without a draw: one classifier decides every row"
    if estimator.output == "hashed":
        return "by a salted hash of the row, or of the key given to predict: the same row is always decided alike"
    return "for each row by its place in the batch, repeatably for a random_state"


def _origin(estimator: RateEstimator, shares: tuple[float, ...]) -> Origin:
    weights = estimator.classifier_.weights
    members = tuple(Member(float(weight), shares[k] if shares else float("nan")) for k, weight in enumerate(weights))
    written = BaseEstimator.__repr__(estimator, N_CHAR_MAX=100_000)
    attributes = sorted({name for rate in estimator.problem_.rates() for name in rate.slice.attributes})
    facts = {"attributes that groups are made of": ", ".join(attributes) or "none"}
    facts[DRAWS] = _how_drawn(estimator)
    if hasattr(estimator, "n_features_in_"):
        facts["features"] = f"{estimator.n_features_in_:,}"
    if hasattr(estimator, "n_rounds_"):
        facts["rounds played"] = f"{estimator.n_rounds_:,}"
    if getattr(estimator, "margin_", 0.0):
        facts["margin kept, as a share of what the test's bound reaches"] = f"{estimator.margin_:g}"
    provenance = getattr(estimator, "provenance_", None)
    if provenance is not None:
        known = {
            "trained": provenance.date,
            "model, SHA-256": provenance.model,
            "training data, SHA-256": provenance.data,
        }
        facts |= {name: value for name, value in known.items() if value}
    versions = {name: version(name) for name in ("equirate", "numpy", "scipy", "scikit-learn")}
    written = re.sub(r" at 0x[0-9a-f]+", "", written)  # the same settings are written the same way
    return Origin(written, members, facts, {**versions, "Python": platform.python_version()})
