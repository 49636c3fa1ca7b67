"""The problems: the paper's two experiments and the other rows of its Table 1.

In: a protected group, and for some an error limit or an older model. Out: `Problem`s, and `Measures`: which two
numbers of a classifier are reported, A (B), on any part of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .splits import PROTECTED, Part

Array = NDArray[np.float64]

GROUP = eq.attr(PROTECTED) == 1
OTHERS = ~GROUP
EXCESS = 1.1
"""How much more error than UncError's the first experiment allows."""
F_MARGIN = 0.01
"""How far below the others' the F-measure of the protected group may be in the second."""
LEGACY = "legacy"
"""The attribute with the older model's predictions."""


def kld(error_limit: float) -> eq.Problem:
    """Each group's predicted proportion of positives near the true one, the error limited: Table 5.

    Examples
    --------
    >>> kld(0.3)
    minimize kl_divergence(protected == 1) + kl_divergence(~(protected == 1))
    subject to error_rate() <= 0.3
    """
    return eq.Problem(
        eq.minimize(eq.kl_divergence(GROUP) + eq.kl_divergence(OTHERS)), [eq.error_rate() <= float(error_limit)]
    )


def fmeasure(margin: float = F_MARGIN) -> eq.Problem:
    """The largest F-measure such that the protected group's is hardly below the others': Table 7."""
    return eq.Problem(eq.maximize(eq.f1()), [eq.f1(GROUP) >= eq.f1(OTHERS) - margin])


@dataclass(frozen=True)
class Measures:
    """What is reported of a classifier: A (B), and which of them is better high.

    ``value(predictions, part, reference)`` gives the pair; ``reference`` is UncError's error on that part.
    """

    objective: str
    constraint: str
    maximise: bool
    limit: float
    value: Callable[[Array, Part, float], tuple[float, float]]


def _kld_pair(predictions: Array, part: Part, reference: float) -> tuple[float, float]:
    def of(expression: Any) -> float:
        return float(expression.evaluate(part.y, predictions, attributes=part.attributes))

    return of(kld(1.0).objective.expr), of(eq.error_rate()) / max(reference, 1e-12)


def _pair_of(problem: eq.Problem) -> Callable[[Array, Part, float], tuple[float, float]]:
    """Objective and largest signed violation of a problem whose constraints are plain."""

    def pair(predictions: Array, part: Part, reference: float) -> tuple[float, float]:
        given = (part.y, predictions)
        violations = [
            c.evaluate(*given, attributes=part.attributes) for c in problem.constraints if isinstance(c, eq.Constraint)
        ]
        return float(problem.objective.expr.evaluate(*given, attributes=part.attributes)), max(violations, default=0.0)

    return pair


KLD = Measures("KL divergence", "error / UncError's", False, EXCESS, _kld_pair)
FMEASURE = Measures("F-measure", "violation", True, 0.0, _pair_of(fmeasure()))


@dataclass(frozen=True)
class Row:
    """A row of Table 1 as a small problem."""

    title: str
    problem: eq.Problem
    ratios: bool = False
    legacy: bool = False

    @property
    def measures(self) -> Measures:
        """Objective and violation."""
        name = repr(self.problem.objective.expr)
        return Measures(name, "violation", self.problem.objective.sense == "maximize", 0.0, _pair_of(self.problem))


def _accurate(title: str, constraints: Any, legacy: bool = False) -> Row:
    return Row(title, eq.Problem(eq.maximize(eq.accuracy()), constraints), ratios=True, legacy=legacy)


TABLE1: dict[str, Row] = {
    "g_mean": Row("G-mean", eq.Problem(eq.maximize(eq.g_mean()))),
    "h_mean": Row("H-mean", eq.Problem(eq.maximize(eq.h_mean()))),
    "q_mean": Row("Q-mean", eq.Problem(eq.maximize(eq.q_mean()))),
    "predictive_parity": _accurate("Predictive parity", eq.predictive_parity([GROUP, OTHERS], tolerance=0.02)),
    "f1_parity": _accurate("F-measure parity", eq.f1_parity([GROUP, OTHERS], tolerance=0.02)),
    "churn": _accurate("Churn difference", eq.churn_difference(LEGACY, [GROUP, OTHERS], tolerance=0.1), legacy=True),
}
"""The other rows of Table 1: three objectives without constraints, three parities of ratios."""
