"""Verdicts: what a sample says about constraints, one by one and together (with corrections).

In: constraints, examples, predictions, and which method says how sure we are (`estimates`, or `exact` for strictness).
Out: a `Certificate` for each constraint.

A constraint on ``abs`` or ``max`` holds if all of its parts do, and passes if each part passes at the full level: if
it is broken, some part is, and that part passes with a chance of at most 1 - confidence. By the same reason "all
constraints pass" needs no correction. It is needed to trust every single pass among several, and every single fail:
then ``correction="holm"`` (or the simpler and weaker ``"bonferroni"``) keeps the chance of *any* wrong pass below
1 - confidence, and that of any wrong fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from ..data.cells import Cells
from ..data.examples import Examples
from ..language.expressions import Constraint, Expression
from .estimates import CellSample, Estimate, check_confidence, estimate
from .exact import Decisions

__all__ = ["Certificate", "Certificates", "Estimate", "certify", "check_confidence", "estimate", "opposed"]

Array = NDArray[np.float64]
Estimator = Callable[[Sequence[Expression]], list[Estimate]]
Levels = Callable[[int, float, Callable[[int, float], bool]], list[float]]
"""Takes the number of claims, the overall level, and whether claim k can be made at a level; a level for each claim."""


ROUNDING = 1e-9
"""Rounding error of a constraint that holds with equality: a lower bound below this is no evidence of a violation."""


@dataclass(frozen=True)
class Certificate:
    """One constraint judged on held-out data.

    ``verdict`` is ``"pass"`` if the upper confidence bound of the signed violation is at most 0, ``"fail"`` if the
    lower one is above 0, and ``"cannot tell"`` otherwise: then more data are needed, or a margin. ``low`` and ``high``
    are these one-sided bounds, each at the confidence level by itself (after the correction, if there is one). A
    constraint on ``abs`` or ``max`` holds if all of its parts do, so ``violation`` and ``high`` are the largest over
    its parts, and so is ``low``, with the error probability divided among the parts. ``"not measured"`` says that a
    group in it has no examples in these data.
    """

    constraint: str
    violation: float
    error: float
    low: float
    high: float
    confidence: float
    verdict: str
    method: str = "approximate"

    def __str__(self) -> str:
        return (
            f"{self.verdict:<12}{self.constraint}   violation {self.violation:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"
        )


class Certificates(list[Certificate]):
    """The certificates of several constraints, in their order; ``verdict`` is about all of them."""

    @property
    def verdict(self) -> str:
        """``"pass"`` if every constraint passes, ``"fail"`` if some constraint fails, otherwise ``"cannot tell"``.

        That all pass holds at the confidence level, with or without a correction. That some constraint fails holds at
        that level only with a correction, if there are several constraints.
        """
        verdicts = {certificate.verdict for certificate in self}
        if "fail" in verdicts:
            return "fail"
        return "pass" if verdicts <= {"pass"} else "cannot tell"

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def _by_itself(number: int, confidence: float, claimed: Callable[[int, float], bool]) -> list[float]:
    """Every claim at the requested level."""
    return [confidence] * number


def _bonferroni(number: int, confidence: float, claimed: Callable[[int, float], bool]) -> list[float]:
    """Every claim with an equal share of the error probability, 1 - confidence."""
    return [1 - (1 - confidence) / max(number, 1)] * number


def _holm(number: int, confidence: float, claimed: Callable[[int, float], bool]) -> list[float]:
    """Step down: a claim that holds at its equal share of the error probability frees its share for the others."""
    levels, open_ = [confidence] * number, list(range(number))
    while open_:
        level = 1 - (1 - confidence) / len(open_)
        for k in open_:
            levels[k] = level
        left = [k for k in open_ if not claimed(k, level)]
        if len(left) == len(open_):
            break
        open_ = left
    return levels


CORRECTIONS: dict[str | None, Levels] = {None: _by_itself, "bonferroni": _bonferroni, "holm": _holm}
METHODS = ("approximate", "exact")


def certify(
    constraints: Sequence[Constraint],
    examples: Examples,
    predictions: Array,
    confidence: float = 0.95,
    *,
    method: str = "approximate",
    correction: str | None = None,
    seed: int = 0,
    cells: Cells | None = None,
    sample: CellSample | None = None,
) -> Certificates:
    """Judge constraints on held-out predictions: estimate, confidence interval, and pass, fail or cannot tell.

    Parameters
    ----------
    method
        ``"approximate"`` (see `estimates`) or ``"exact"`` (see `exact`), which holds for every number of examples.
    correction
        ``"holm"`` or ``"bonferroni"`` where single verdicts among several constraints are to be trusted together.
    seed
        Of the decisions that the exact method draws where predictions are probabilities.
    cells
        Those of the examples, where they are known already.
    sample
        The sums of all rates over these cells, where they are known already.
    """
    check_confidence(confidence)
    if method not in METHODS:
        raise EquirateError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
    if correction not in CORRECTIONS:
        raise EquirateError(f"correction must be one of {', '.join(map(repr, CORRECTIONS))}; got {correction!r}")
    if method == "exact":
        if examples.shared.size > 1:
            raise EquirateError('method="exact" draws decisions for all rows in one place: judge a sample of them')
        Decisions.check(examples)

    rates = [rate for constraint in constraints for rate in constraint.rates()]
    judge: Decisions | CellSample
    if method == "exact":
        judge = Decisions.of(rates, examples, predictions, seed, cells)
    else:
        judge = sample or CellSample.of(rates, examples, predictions, cells=cells)
    measured = [judge.cells.measures(constraint.rates()) for constraint in constraints]
    estimated = _judge([*compress(constraints, measured)], judge.estimates)
    spread = CORRECTIONS[correction]
    above = spread(len(estimated), confidence, lambda k, level: estimated[k].high(level) <= 0)
    below = spread(len(estimated), confidence, lambda k, level: estimated[k].low(level) > 0)
    levels = iter(zip(estimated, above, below, strict=True))
    certificates = Certificates()
    for constraint, known in zip(constraints, measured, strict=True):
        if known:
            one, high, low = next(levels)
            certificates.append(one.certificate(constraint, confidence, high, low, method))
        else:
            nan = float("nan")
            certificates.append(Certificate(repr(constraint), nan, nan, nan, nan, confidence, "not measured", method))
    return certificates


@dataclass(frozen=True, eq=False)
class _Judged:
    """The parts of one constraint, estimated."""

    parts: list[Estimate]
    ways: int
    """How many parts could be broken at once: the two sides of an ``abs`` count as one."""

    def high(self, level: float) -> float:
        return max(part.upper(level) for part in self.parts)

    def low(self, level: float) -> float:
        return max(part.lower(1 - (1 - level) / self.ways) for part in self.parts)

    def certificate(self, constraint: Constraint, asked: float, above: float, below: float, method: str) -> Certificate:
        worst = max(self.parts, key=lambda part: part.value)
        possible = constraint.residual.interval
        low, high = max(self.low(below), possible.lo), min(self.high(above), possible.hi)
        verdict = "pass" if high <= 0 else "fail" if low > ROUNDING else "cannot tell"
        return Certificate(repr(constraint), worst.value, worst.error, low, high, asked, verdict, method)


def _judge(constraints: Sequence[Constraint], estimator: Estimator) -> list[_Judged]:
    """Estimate the parts of all constraints at once; the second side of an ``abs`` follows from the first."""
    parts = [[part.residual for part in constraint.split()] for constraint in constraints]
    totals = [[_constant_total(own[k - 1], part) if k % 2 else None for k, part in enumerate(own)] for own in parts]
    asked = [
        part
        for own, sums in zip(parts, totals, strict=True)
        for part, total in zip(own, sums, strict=True)
        if total is None
    ]
    known = iter(estimator(asked))
    judged = []
    for own, sums in zip(parts, totals, strict=True):
        estimates: list[Estimate] = []
        for part, total in zip(own, sums, strict=True):
            if total is None:
                estimates.append(next(known))
            elif estimates[-1].affine:
                estimates.append(estimates[-1].opposite(total - estimates[-1].value, part.interval))
            else:
                estimates += estimator([part])
        judged.append(_Judged(estimates, len(own) - sum(total is not None for total in sums)))
    return judged


def opposed(left: Expression, right: Expression) -> bool:
    """Whether two residuals are the two sides of an ``abs``: their sum does not depend on any rate."""
    return _constant_total(left, right) is not None


def _constant_total(left: Expression, right: Expression) -> float | None:
    """The sum of two expressions if it does not depend on any rate, otherwise None."""
    ours, theirs = left.linear_factors or (), right.linear_factors or ()
    if ours and [rate.key for rate, _ in ours] == [rate.key for rate, _ in theirs]:
        gone = all(abs(one + other) < 1e-9 for (_, one), (_, other) in zip(ours, theirs, strict=True))
        return float(left.value(lambda rate: 0.0) + right.value(lambda rate: 0.0)) if gone else None
    keys = dict.fromkeys(rate.key for side in (left, right) for rate in side.rates())
    points = dict(zip(keys, _points(len(keys)), strict=True))
    with np.errstate(all="ignore"):
        total = left.value(lambda part: points[part.key]) + right.value(lambda part: points[part.key])
    values = np.broadcast_to(np.asarray(total, dtype=float), 4)
    return float(values[0]) if np.ptp(values) < 1e-9 else None


@lru_cache(64)
def _points(number: int) -> Array:
    """Some points in the space of rates, the same in every call."""
    return np.random.default_rng(0).uniform(0.2, 0.8, (number, 4))
