"""What is promised with a confidence level: the outcome of a fit, and what is said of it.

In: a `Training`, its play, and the plain outcome. Out: the `Outcome` that passed its test, or the plain one with the
reasons; both with a `Certification`. `RateClassifier.fit` and `RatePostprocessor.fit` call this.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._core.hashing import Hashes
from .._core.interrupts import complete, may_end_early
from ..data.examples import Examples
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..game.solution import Solution, Status
from ..game.status import MIXTURE, SERVED
from ..judge.certification import Certification
from ..judge.certify import Certificates, check_confidence
from ..judge.evaluation import ConstraintValue, Evaluation
from ..judge.power import ConstraintPower, assumed_predictions, powers
from ..language.expressions import Constraint
from ..models.thresholds import Thresholds
from ..problem.problem import Problem
from .confidence import Found, cross, holdout, refuse_inexact, trial_of
from .fitting import SPLIT, Outcome, Settings, Training

Array = NDArray[np.float64]

NO_MARGIN = (
    "no margin that was tried makes every constraint pass its test: on rows that it has not seen the classifier keeps "
    "them less well than on its own, or the constraints leave no room; give more data, or loosen them"
)
INTERRUPTED = "not certified: fit was interrupted before the test of the constraints was complete"
UNCERTIFIED = "not certified: {reasons}. This is the classifier without a margin"
"""Said wherever a confidence was asked for that could not be had."""
NOT_ALONE = 'not certified: the mixture (output="hashed") passed its test, the one classifier made of it did not'
NOT_MIXTURE = (
    "not certified: rows repeat, and what passed its test are the decisions that predict(X) returns with "
    'output="hashed"; the mixture, which predict(X, key=...) draws from, was not tested'
)
ONE_ALONE = (
    'not certified: confidence_method="cross" certifies the mixture (output="hashed"), and this is one classifier made '
    'of it; confidence_method="holdout" tests the one classifier itself'
)


def chosen(training: Training, chooser: Solution) -> Outcome:
    """What is made of the columns; after an interruption once more, so that what was found is kept.

    A second interruption is raised.
    """
    try:
        return training.choose(chooser)
    except KeyboardInterrupt:
        if not may_end_early():
            raise
    outcome = training.choose(chooser)
    return replace(outcome, statuses={name: replace(one, interrupted=True) for name, one in outcome.statuses.items()})


def promised(training: Training, chooser: Solution, plain: Outcome, seconds: float) -> Outcome:
    """The outcome of a fit with a confidence level: what passed the test, or the plain one that says why not.

    ``seconds`` is how long the plain fit took.
    """
    if plain.statuses["stochastic"].interrupted:
        return _cut_short(plain)
    try:
        with complete():
            return _tested(training, chooser, plain, seconds)
    except KeyboardInterrupt:
        if not may_end_early():
            raise
        return _cut_short(plain)


def _cut_short(plain: Outcome) -> Outcome:
    """The plain outcome of an interrupted fit: a test that was not made, or not to its end, certifies nothing."""
    statuses = {
        name: replace(status, interrupted=True, certified=False, advice=(*status.advice, INTERRUPTED))
        for name, status in plain.statuses.items()
    }
    return replace(plain, statuses=statuses)


def _tested(training: Training, chooser: Solution, plain: Outcome, seconds: float) -> Outcome:
    method = training.settings.confidence_method
    apart = method in ("holdout", SPLIT)  # tested on rows kept for that
    exact = "exact" if method == "holdout" else "approximate"
    found = holdout(training, chooser, exact) if apart else cross(training, chooser, seconds)
    said, evaluation = certification(training, found)
    if found.mixture is None:
        advice = UNCERTIFIED.format(reasons="; ".join(said.reasons))
        statuses = {name: _uncertain(status, advice, said) for name, status in plain.statuses.items()}
        return replace(plain, statuses=statuses, certification=said)
    made = training.outcome(chooser, found.mixture)
    outputs = {**made.outputs, "plain": plain.outputs["stochastic"]}
    tested = "stochastic" if found.salt is None else "served"
    if found.salt is not None:
        outputs["served"] = made.outputs["stochastic"]
    worst = max((c.violation for c in evaluation.constraints), default=0.0)
    before = made.statuses[tested]
    status = replace(
        before,
        objective=evaluation.objective if np.isfinite(evaluation.objective) else before.objective,
        violation=max(worst, 0.0),
        feasible=worst <= training.settings.tolerance,
        bound=None,  # what was proven is about the columns of the plain fit
        bound_over=None,
        gap=None,
        certified=True,
        certificate=said.sentence,
    )
    single = made.statuses["deterministic"]
    if len(outputs["stochastic"].members) == 1:
        single = status  # the mixture is one classifier already
    elif apart and _passes(training, outputs["deterministic"], exact):
        single = replace(single, certified=True, certificate=said.sentence)
    else:
        single = _uncertain(single, NOT_ALONE if apart else ONE_ALONE, said)
    statuses = {**made.statuses, "deterministic": single, tested: status}
    if found.salt is not None:
        statuses["stochastic"] = _uncertain(made.statuses["stochastic"], NOT_MIXTURE, said)
    return Outcome(outputs, statuses, said.margin, said, found.salt)


def of_thresholds(
    problem: Problem,
    sample: Sample,
    model: Thresholds,
    n_rounds: int,
    promise: tuple[float, str],
    seed: int | None,
    hashes: Hashes | None = None,
) -> Outcome:
    """The outcome for thresholds on the scores of a sample; ``promise`` is the confidence level and the method.

    ``hashes`` are those that the rows draw by, for a hashed output.
    """
    level, method = promise
    check_confidence(level)
    if method == "holdout":
        refuse_inexact(problem, sample.examples)
    settings = Settings(
        algorithm="auto",
        model=model,
        groups=None,
        n_rounds=n_rounds,
        theta_step=None,
        lambda_step=None,
        validation=0.0,
        two_sets=False,
        confidence=level,
        confidence_method=method,
        scale=False,
        tolerance=1e-3,
        patience=None,
        verbose=False,
    )
    training = Training.of(settings, problem, sample, seed, hashes)
    began = time.monotonic()
    _, chooser = training.play()
    return promised(training, chooser, chosen(training, chooser), time.monotonic() - began)


def _uncertain(status: Status, advice: str, said: Certification) -> Status:
    sentence = said.sentence if not said.certified else ""
    return replace(status, certified=False, advice=(*status.advice, advice), certificate=sentence)


def _passes(training: Training, classifier: Classifier, method: str) -> bool:
    """Whether one classifier passes the test that the mixture passed: the next in the fixed sequence."""
    trial, rows = trial_of(training, method), np.arange(len(training.sample))[training.parts.test]
    sample = trial.sample.take(rows)
    decided = classifier.positive_probability(sample.X, attributes=sample.examples.columns)
    return trial.certify(rows, decided).verdict == "pass"


def certification(training: Training, found: Found) -> tuple[Certification, Evaluation]:
    """What is said of a walk, and the numbers of the test: of what passed or, where nothing did, without a margin."""
    trial, walked = found.trial, found.walked
    plain = _evaluated(training, found, found.without)
    evaluation = plain if walked is None else _evaluated(training, found, walked.probability)
    examples = trial.sample.examples.take(found.rows)
    told = foretold(training.problem, examples, trial.confidence)
    reasons: tuple[str, ...] = ()
    if walked is None:
        short = tuple(str(part) for part in told if part.needs_more)
        reasons = (*found.reasons, *short) or (NO_MARGIN,)
    said = Certification(
        method=training.settings.confidence_method,
        confidence=trial.confidence,
        certified=walked is not None,
        margin=0.0 if walked is None else walked.share,
        examples=len(found.rows),
        objective=float("nan") if walked is None else evaluation.objective,
        plain_objective=plain.objective,
        constraints=evaluation.constraints if walked is None else _bounded(evaluation, walked.certificates),
        power=tuple(map(str, told)),
        reasons=reasons,
        speaks_of=MIXTURE if training.draws is None else SERVED,
    )
    return said, evaluation


def foretold(problem: Problem, examples: Examples, confidence: float) -> tuple[ConstraintPower, ...]:
    """What can be certified at all with so many examples, without any classifier: the reasons where that is too few."""
    assumed, words = assumed_predictions(examples, None)
    told = powers(_written(problem), examples, assumed, drawn=True, assumed=words, confidence=confidence, counts=False)
    return told.constraints


def _written(problem: Problem) -> list[Constraint]:
    return [c for c in problem.constraints if isinstance(c, Constraint)]


def _evaluated(training: Training, found: Found, probability: Array) -> Evaluation:
    """What decisions of rows that were not seen come to."""
    return Evaluation.of(
        training.problem, training.sample.examples.take(found.rows), probability, found.trial.confidence
    )


def _bounded(evaluation: Evaluation, certificates: Certificates) -> tuple[ConstraintValue, ...]:
    """The constraints with the bounds of the test that was passed."""
    return tuple(
        replace(row, low=one.low, high=one.high, verdict=one.verdict)
        for row, one in zip(evaluation.constraints, certificates, strict=True)
    )
