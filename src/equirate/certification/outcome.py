"""The outcome of a fit: with a confidence level, what passed its test.

In: a `Training` and its plain solution. Out: the `Outcome` that passed its test, or the plain one with the
reasons; each with a `Certification`. The ``fit`` of both estimators calls this (`estimators.outputs`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core.interrupts import complete, may_end_early
from ..game.classifiers import Classifier
from ..game.solution import Solution
from ..game.status import Status
from ..judge.certification_record import Certification
from ..judge.evaluation import Evaluation
from ..selection.choice import Outcome, choose, outcome_of
from ..training.settings import SPLIT
from ..training.training import Training
from .certificate import certify_result
from .folds import cross_fit
from .holdout import hold_out
from .methods import MethodResult

INTERRUPTED = "not certified: fit was interrupted before the test of the constraints was complete"
UNCERTIFIED = "not certified: {reasons}. This is the classifier without a margin"
"""Advice where the requested confidence was not reached."""
NOT_ALONE = 'not certified: the mixture (output="hashed") passed its test, the one classifier made of it did not'
NOT_MIXTURE = (
    "not certified: rows repeat, and what passed its test are the decisions that predict(X) returns with "
    'output="hashed"; the mixture, which predict(X, key=...) draws from, was not tested'
)
ONE_ALONE = (
    'not certified: confidence_method="cross" certifies the mixture (output="hashed"), and this is one classifier made '
    'of it; confidence_method="holdout" tests the one classifier itself'
)


def outcome_of_fit(training: Training, solution: Solution, seconds: float) -> Outcome:
    """The outcome of a fit: with a confidence level what passed the test, or the plain one that says why not.

    ``seconds`` is how long the plain solution took.
    """
    if training.settings.confidence is None:
        return choose(training, solution)
    if not solution.interrupted:
        try:
            with complete():
                return _tested(training, solution, seconds)
        except KeyboardInterrupt:
            if not may_end_early():
                raise
    plain = choose(training, solution)
    statuses = {name: replace(_without(one, INTERRUPTED), interrupted=True) for name, one in plain.statuses.items()}
    return replace(plain, statuses=statuses)


def _tested(training: Training, solution: Solution, seconds: float) -> Outcome:
    method = training.settings.confidence_method
    held_out = method in ("holdout", SPLIT)
    test_method = "exact" if method == "holdout" else "approximate"
    result = hold_out(training, solution, test_method) if held_out else cross_fit(training, solution, seconds)
    certification, evaluation = certify_result(training, result)
    passed = result.passed
    if passed is None:
        plain, advice = choose(training, solution), UNCERTIFIED.format(reasons="; ".join(certification.reasons))
        statuses = {name: _without(status, advice, certification.sentence) for name, status in plain.statuses.items()}
        return replace(plain, statuses=statuses, certification=certification)
    outcome = outcome_of(training, solution, passed.mixture)
    outputs = {**outcome.outputs, "plain": replace(solution.polish(), problem=training.problem, notes={})}
    tested = "stochastic" if passed.salt is None else "served"
    if passed.salt is not None:
        outputs["served"] = outcome.outputs["stochastic"]
    status = _certified(outcome.statuses[tested], certification, evaluation, training.settings.tolerance)
    single = outcome.statuses["deterministic"]
    if len(outputs["stochastic"].members) == 1:
        single = status  # the mixture is one classifier already
    elif held_out and _passes(outputs["deterministic"], result):
        single = replace(single, certified=True, certificate=certification.sentence)
    else:
        single = _without(single, NOT_ALONE if held_out else ONE_ALONE)
    statuses = {**outcome.statuses, "deterministic": single, tested: status}
    if passed.salt is not None:
        statuses["stochastic"] = _without(outcome.statuses["stochastic"], NOT_MIXTURE)
    return Outcome(outputs, statuses, certification, passed.salt)


def _certified(status: Status, certification: Certification, evaluation: Evaluation, tolerance: float) -> Status:
    """The status of the output that passed, with the numbers of the test."""
    worst = max((c.violation for c in evaluation.constraints), default=0.0)
    return replace(
        status,
        objective=evaluation.objective if np.isfinite(evaluation.objective) else status.objective,
        violation=max(worst, 0.0),
        feasible=worst <= tolerance,
        bound=None,  # the proven bound is for the columns of the plain solution
        bound_over=None,
        gap=None,
        certified=True,
        certificate=certification.sentence,
    )


def _without(status: Status, advice: str, sentence: str = "") -> Status:
    """The status of an output that is not certified."""
    return replace(status, certified=False, advice=(*status.advice, advice), certificate=sentence)


def _passes(classifier: Classifier, result: MethodResult) -> bool:
    """Whether one classifier passes the test that the mixture passed: the next in the fixed sequence."""
    decided = classifier.expected_sample(result.constraint_test.sample.take(result.rows))
    return result.constraint_test.certify(result.rows, decided).verdict == "pass"
