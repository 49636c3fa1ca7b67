"""The certificate of a classifier with a confidence level, and the reasons where nothing passed.

In: the result of a method (`folds` or `holdout`). Out: a `Certification`, with the reasons where nothing passed.
"""

from __future__ import annotations

from dataclasses import replace

from ..data.cells import Cells
from ..data.examples import Examples
from ..game.status import MIXTURE, SERVED, Status
from ..judge.certification_record import Certification
from ..judge.certify import Certificates
from ..judge.evaluation import ConstraintValue, Evaluation
from ..judge.power import ConstraintPower, assumed_predictions, powers
from ..training.training import Training
from .constraint_test import ConstraintTest
from .methods import MethodResult

NO_MARGIN = (
    "no margin that was tried makes every constraint pass its test: on rows that it has not seen the classifier keeps "
    "them less well than on its own, or the constraints leave no room; give more data, or loosen them"
)


def certification_of(status: Status, certification: Certification | None) -> Certification | None:
    """The certificate of one output; for an output that was not tested, one that says why it is not certified."""
    if certification is None or status.certified or not certification.certified:
        return certification
    reasons = tuple(line for line in status.advice if line.startswith("not certified"))
    return replace(certification, certified=False, reasons=reasons)


def certify_result(training: Training, result: MethodResult) -> tuple[Certification, Evaluation]:
    """The certificate of a method's result, and the numbers of the test.

    They are those of the mixture that passed or, where none did, of the one without a margin.
    """
    test, passed = result.constraint_test, result.passed
    examples, cells = test.sample.examples.take(result.rows), test.cells.subset(result.rows)
    plain = evaluation = Evaluation.of(test.problem, examples, result.without_margin, test.confidence, cells)
    constraints, power = plain.constraints, _expected_power(test, examples, cells)
    reasons: tuple[str, ...] = ()
    if passed is None:
        short = tuple(str(part) for part in power if part.needs_more)
        reasons = (*result.reasons, *short) or (NO_MARGIN,)
    else:
        evaluation = Evaluation.of(test.problem, examples, passed.probability, test.confidence, cells)
        constraints = _bounded(evaluation, passed.certificates)
    certification = Certification(
        method=training.settings.confidence_method,
        confidence=test.confidence,
        certified=passed is not None,
        margin=0.0 if passed is None else passed.share,
        examples=test.count(result.rows),
        objective=float("nan") if passed is None else evaluation.objective,
        plain_objective=plain.objective,
        constraints=constraints,
        power=tuple(map(str, power)),
        reasons=reasons,
        speaks_of=MIXTURE if training.draws is None else SERVED,
    )
    return certification, evaluation


def _expected_power(test: ConstraintTest, examples: Examples, cells: Cells) -> tuple[ConstraintPower, ...]:
    """What can be certified at all with so many examples, whatever the classifier."""
    assumed, words = assumed_predictions(examples, None)
    power = powers(
        test.written,
        examples,
        assumed,
        drawn=True,
        assumed=words,
        confidence=test.confidence,
        counts=False,
        cells=cells,
    )
    return power.constraints


def _bounded(evaluation: Evaluation, certificates: Certificates) -> tuple[ConstraintValue, ...]:
    """The constraints with the bounds of the test that was passed."""
    return tuple(
        replace(row, low=one.low, high=one.high, verdict=one.verdict)
        for row, one in zip(evaluation.constraints, certificates, strict=True)
    )
