"""The outputs of a fit: a problem is solved, classifiers are chosen, and an estimator keeps them with their values.

In: an estimator and its `Training`. Out: the fitted attributes that `RateClassifier` and `RatePostprocessor` share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._core.seeds import stream
from ..certification.certificate import certification_of
from ..certification.outcome import outcome_of_fit
from ..game.classifiers import Classifier
from ..game.record import Start
from ..game.solution import Solution
from ..judge.evaluation import Evaluation
from ..problem.problem import Problem
from ..selection.choice import FittedOutput, Outcome
from ..selection.group_notes import costly, left_out, with_notes
from ..training.draws import COPIES, are_copies
from ..training.merged_rows import merged
from ..training.training import EvaluationPart, Training

TRAINED_ELSEWHERE = (
    "classifiers of the model are used as they were given: what is said of them, and certified, holds only if they "
    "were not trained on the rows given to fit"
)


def fit_outputs(
    estimator: Any,
    training: Training,
    original: Problem,
    *,
    parts: Mapping[str, EvaluationPart] | None = None,
    serve: Callable[[Classifier], Classifier] | None = None,
    start: Start | None = None,
) -> None:
    """Solve, choose the outputs, and store them in the estimator.

    ``original`` is the problem as the user wrote it. Outputs are evaluated on ``parts`` (by default those of the
    training), and ``serve`` makes classifiers for the features of those that decide in the training.
    """
    began = time.monotonic()
    merged_training = merged(training)
    solution, judged_solution = merged_training.solve_on_training(start=start)
    outcome = outcome_of_fit(merged_training, judged_solution, time.monotonic() - began)
    uncovered = left_out(original, training.sample.examples)
    outcome = with_notes(outcome, uncovered, (*costly(original, judged_solution), *_assumed(training)))
    estimator.uncovered_ = uncovered
    estimator.problem_ = training.problem
    estimator.margin_ = 0.0 if outcome.certification is None else outcome.certification.margin
    estimator.history_ = solution.history
    estimator.configurations_ = solution.configurations
    estimator.n_rounds_ = solution.rounds
    estimator.repeats_ = training.draws is not None
    estimator.salt_ = outcome.salt or int(stream("salt", estimator.seed_).integers(2**63))
    estimator.end_ = _end_of(solution, outcome) if training.settings.resolved_model.capabilities.warm_starts else None
    parts, serve = parts or training.evaluation_parts(), serve or training.served
    estimator.outputs_ = {
        name: FittedOutput(serve(classifier), outcome.statuses.get(name), _achieved(training, parts, classifier, salt))
        for name, classifier in outcome.outputs.items()
        for salt in [outcome.salt if name == "served" else None]
    }
    estimator.certification_ = certification_of(estimator.status_, outcome.certification)


def _achieved(
    training: Training, parts: Mapping[str, EvaluationPart], classifier: Classifier, salt: int | None
) -> dict[str, Evaluation]:
    """What a classifier achieves on each part."""
    return {
        name: Evaluation.of(training.problem, part.sample.examples, part.decided(classifier, salt), cells=part.cells)
        for name, part in parts.items()
    }


def _assumed(training: Training) -> tuple[str, ...]:
    """What a certificate assumes of the model and the rows, where there is reason to doubt it."""
    if training.settings.confidence is None:
        return ()
    examples, draws, notes = training.sample.examples, training.draws, []
    if training.settings.resolved_model.capabilities.trained_elsewhere:
        notes.append(TRAINED_ELSEWHERE)
    used = examples.weights > 0
    if draws is not None and examples.clusters is None and are_copies(draws.hashes[used], examples.labels[used]):
        notes.append(COPIES)
    return tuple(notes)


def _end_of(solution: Solution, outcome: Outcome) -> Start | None:
    """Where a linear model ended, for the next fit to begin at: the last iterates, or the members of the mixture."""
    if solution.play is not None:
        return solution.record.end() if solution.learner.can_start else None
    weights = outcome.outputs["stochastic"].members.linear_weights()
    if weights is None:
        return None
    return Start(weights, np.zeros((solution.judge.program.n_multipliers, weights.shape[1])))
