"""The outputs of a fit: mixture, deterministic classifier, decisions served; and the best one without constraints.

In: a `Training` and the `Solution` whose columns are chosen from. Out: `Outcome`, each output with a status of its own.
The estimators' ``fit`` and `certification` call this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._core.interrupts import retry_after_interrupt
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..game.solution import Solution, Status
from ..game.status import HELD_OUT, SERVED, UNSEEN
from ..judge.certification_record import Certification
from ..judge.evaluation import Evaluation
from ..mixtures import PENALTY, largest
from ..training.training import Training
from .comparison import cost_of, status_of
from .derandomization import derandomised
from .salts import chosen_to_serve

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """The classifiers made from the columns: a mixture and a single classifier, and their statuses.

    Where there are constraints, the outputs also hold ``"unconstrained"``: the iterate with the best objective,
    whatever the constraints, to compare with the others in a report.
    """

    outputs: dict[str, Classifier]
    statuses: dict[str, Status]
    certification: Certification | None = None
    salt: int | None = None
    """The salt of the output ``"served"``, if rows repeat."""


@dataclass(frozen=True)
class FittedOutput:
    """One output of a fitted estimator: the classifier, its status, and what it achieves on the parts of the data.

    Outputs that are only for comparison have no status.
    """

    classifier: Classifier
    status: Status | None
    evaluations: Mapping[str, Evaluation]


def choose(training: Training, solution: Solution) -> Outcome:
    """Make classifiers from the columns; after an interruption, try once more so that the columns are not lost.

    A second interruption is raised.
    """
    outcome, interrupted = retry_after_interrupt(lambda: outcome_of(training, solution, solution.polish()))
    if not interrupted:
        return outcome
    return replace(outcome, statuses={name: replace(one, interrupted=True) for name, one in outcome.statuses.items()})


def outcome_of(training: Training, solution: Solution, mixture: Classifier) -> Outcome:
    """A mixture and the single classifier made from it, with their statuses."""
    rows = training.judged_rows
    sample = training.sample.take(rows)
    on_scores = training.settings.resolved_model.capabilities.thresholds
    single = solution.best_single() if on_scores else _single(solution, mixture, sample)
    classifiers = {"stochastic": mixture, "deterministic": single}
    statuses = {name: status_of(solution, classifier, sample) for name, classifier in classifiers.items()}
    salt = None
    if training.draws is not None:
        serving, statuses["served"] = chosen_to_serve(solution, mixture, single, sample, training.draws.take(rows))
        classifiers["served"], salt = serving.classifier, serving.salt
    if training.prepared is not None and training.prepared.out_of_fold:
        statuses = {name: _out_of_fold(status) for name, status in statuses.items()}
    elif training.multipliers_see_held_out or training.mixes_on_held_out:
        statuses = {name: _on_held_out(status) for name, status in statuses.items()}
    if training.problem.constraints:  # to show the price of the constraints
        classifiers["unconstrained"] = solution.best_single(constrained=False)
    outputs = {
        name: replace(classifier, problem=training.problem, notes={}) for name, classifier in classifiers.items()
    }
    return Outcome(outputs, statuses, salt=salt)


def _out_of_fold(status: Status) -> Status:
    """The status, with the note that classifiers were fitted without the rows that they decide."""
    decisions = {"": "the decisions", SERVED: "the decisions, equal rows decided alike"}
    return replace(status, speaks_of=f"{decisions.get(status.speaks_of, status.speaks_of)}, {UNSEEN}")


def _on_held_out(status: Status) -> Status:
    """The status, with the note that its rows were held out."""
    return replace(status, speaks_of=f"{status.speaks_of or 'the decisions'}, {HELD_OUT}")


def _single(solution: Solution, mixture: Classifier, sample: Sample) -> Classifier:
    """The mixture made deterministic or, where that is better, the best single column."""

    def cost(rates: Array) -> Array:
        objective, violations = solution.values(rates)
        return np.asarray(objective + PENALTY * largest(violations))

    single = solution.best_single()
    deterministic = derandomised(mixture, solution.judge, sample, cost)
    if deterministic is None or solution.problem.losses():
        return single
    return min(deterministic, single, key=lambda classifier: cost_of(solution, classifier, sample))
