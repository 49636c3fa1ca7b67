"""Reports of fitted estimators: what is gathered from an estimator, and measured on data, for a `Report`.

In: a fitted `RateClassifier` or `RatePostprocessor`, and data to judge on. Out: a `Report`. `Judged.report` calls this.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .._core.errors import DataError
from ..data.examples import Examples, to_numpy
from ..data.sample import Sample
from ..judge.certification import Certification
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..reports.card import DRAWS
from ..reports.facts import Baseline, Course, Member, Origin, Point, changes, rates_by_slice
from ..reports.intersections import intersection_notes
from ..reports.report import Report
from .predictions import decided

if TYPE_CHECKING:
    from .frontier import Frontier
    from .judging import Judged

Array = NDArray[np.float64]

UNCONSTRAINED = (
    "the same without constraints",
    "The classifier with the best objective that the same training came by, whatever the constraints. Trained for "
    "itself it might be better, and the price higher.",
)
"""Name of the baseline that a `RateClassifier` keeps, and what to know about it."""
REPEATED = "rows repeat, so the numbers are of the decisions that predict(X) returns, equal rows decided alike"


def of_training(estimator: Judged) -> Report:
    """What is known without data: the evaluations on the parts of the training data."""
    parts = estimator.parts_
    kept: Mapping[str, Evaluation] = getattr(estimator, "_evaluations", {}).get("unconstrained", {})
    name = list(parts)[-1]
    baseline = Baseline(*UNCONSTRAINED, kept[name]) if name in kept else None
    return Report(**_head(estimator), parts=parts, baseline=baseline, origin=_origin(estimator, ()))


def of_data(
    estimator: Judged,
    X: Any,
    sample: Sample,
    confidence: float,
    baseline: Any,
    frontier: Frontier | None,
    sensitive_features: Any = None,
) -> Report:
    """The same and the data given, with rates by slice, a baseline and, where there is one, a frontier."""
    problem, features, examples = estimator.problem_, sample.X, sample.examples

    def evaluated(predictions: Array) -> Evaluation:
        return Evaluation.of(problem, examples, predictions, confidence)

    def rates(predictions: Array) -> Any:
        return rates_by_slice(problem, examples, predictions, confidence)

    ours = estimator._served(features, examples.columns)
    beside = None
    if baseline is None:
        found = estimator._unconstrained(features, examples.columns)
    else:
        classes, positive = estimator.classes_, estimator._positive()
        name, theirs = baseline_of(baseline, X, sensitive_features, classes, positive, len(ours))
        found = name, "", theirs
    if found is not None:
        name, note, theirs = found
        moved = changes(problem, examples, ours, theirs)
        beside = Baseline(name, note, evaluated(theirs), rates(theirs), moved)
    points = []
    if frontier is not None:
        for k in np.argsort(frontier.levels, kind="stable").tolist():
            there = frontier.decided(k, features, examples.columns)
            points.append(Point(frontier.levels[k], evaluated(there), rates(there)))
    shares = np.average(_decided(estimator, features, examples), axis=0, weights=examples.weights)
    head, tested = _head(estimator), evaluated(ours)
    asked = Problem(estimator.objective, estimator.constraints)
    crossed = intersection_notes(asked, examples, ours)
    head["notes"] = (*head["notes"], *_draws(estimator, sample, tested), *crossed)
    return Report(
        **head,
        parts={**estimator.parts_, "test": tested},
        rates=rates(ours),
        baseline=beside,
        frontier=tuple(points),
        origin=_origin(estimator, tuple(map(float, shares))),
    )


def _draws(estimator: Judged, sample: Sample, judged: Evaluation) -> list[str]:
    """What the draws of a mixture do: how many decisions depend on them, or that the numbers are of decisions drawn."""
    if estimator._repeat(sample.X):
        return [REPEATED]
    if not judged.undecided > 0:
        return []
    return [f"the decision of {judged.undecided:.1%} of the examples depends on the draw of the mixture's member"]


def _decided(estimator: Judged, features: Any, examples: Examples) -> NDArray[np.bool_]:
    """Decisions of every member, (examples, members)."""
    return estimator.classifier_.members.decide(features, attributes=examples.columns)


def _head(estimator: Judged) -> dict[str, Any]:
    history = getattr(estimator, "history_", None)
    return {
        "problem": repr(estimator.problem_),
        "notes": tuple(estimator.notes_),
        "positive_label": shown_label(estimator._positive()),
        "course": Course.of(history) if history and len(history["round"]) else None,
        "certification": _certification(estimator),
        "uncovered": tuple(getattr(estimator, "uncovered_", ())),
    }


def _certification(estimator: Judged) -> Certification | None:
    """The certificate of what predicts: one classifier made of a certified mixture has none."""
    found: Certification | None = getattr(estimator, "certification_", None)
    if found is None or estimator.status_.certified or not found.certified:
        return found
    return replace(found, certified=False, reasons=())


def baseline_of(
    baseline: Any, X: Any, sensitive_features: Any, classes: NDArray[Any], positive: Any, length: int
) -> tuple[str, Array]:
    """Name and predictions of the baseline that a user gave."""
    name = None
    if isinstance(baseline, Mapping):
        if len(baseline) != 1:
            raise DataError(f"a baseline is one classifier under one name; got {len(baseline)}")
        ((name, baseline),) = baseline.items()
    if not hasattr(baseline, "predict"):
        return str(name or "the predictions given"), as_probabilities(baseline, classes, positive, length)
    predictions = decided(baseline, X, sensitive_features, positive)
    return str(name or type(baseline).__name__), as_probabilities(predictions, np.array([0.0, 1.0]), 1.0, length)


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
    return repr(label.item() if isinstance(label, np.generic) else label)


def _how_drawn(estimator: Judged) -> str:
    """How a row comes to its decision."""
    if estimator.classifier_.is_deterministic:
        return "without a draw: one classifier decides every row"
    if getattr(estimator, "output", "") == "hashed":
        return "by a salted hash of the row, or of the key given to predict: the same row is always decided alike"
    return "for each row by its place in the batch, repeatably for a random_state"


def _origin(estimator: Judged, shares: tuple[float, ...]) -> Origin:
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
    made = getattr(estimator, "provenance_", None)
    if made is not None:
        known = {"trained": made.date, "model, SHA-256": made.model, "training data, SHA-256": made.data}
        facts |= {name: value for name, value in known.items() if value}
    versions = {name: version(name) for name in ("equirate", "numpy", "scipy", "scikit-learn")}
    written = re.sub(r" at 0x[0-9a-f]+", "", written)  # the same settings are written the same way
    return Origin(written, members, facts, {**versions, "Python": platform.python_version()})
