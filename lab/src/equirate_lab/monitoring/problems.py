"""Six constraints, each with a population whose violation can be set exactly: two groups, a label and decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

import equirate as eq

Array = NDArray[np.float64]
WOMEN = eq.attr("sex") == "F"
SHARE, BASE = 0.3, 0.4
"""Share of women, and of label 1 in both groups."""
FPR, TPR = 0.2, 0.7


@dataclass(frozen=True)
class Rows:
    """Rows of a stream."""

    predicted: NDArray[np.int8]
    label: NDArray[np.int8]
    sex: NDArray[np.str_]

    def take(self, rows: slice) -> Rows:
        """Some of them."""
        return Rows(self.predicted[rows], self.label[rows], self.sex[rows])


@dataclass(frozen=True)
class Problem:
    """A constraint, and how decisions become worse: (women, label) -> change of P[predicted 1] for a shift of 1.

    ``rival`` names the risk that MAPIE monitors in its place, with the sign of the limit, where there is one.
    """

    name: str
    expression: Callable[[], eq.Expression]
    limit: float
    change: tuple[tuple[float, float], tuple[float, float]]
    kind: str
    rival: tuple[str, Callable[[float], float]] | None = None
    least: float = -0.25
    """The smallest shift; the violation rises with the shift from there on."""

    @property
    def constraint(self) -> eq.Constraint:
        """The expression kept at or below the limit."""
        return self.expression() <= self.limit

    def rates(self, violation: float) -> Array:
        """P[predicted 1] by group (men, women) and label, at which the violation is so much."""
        return self._at(_shift(self, violation))

    def _at(self, shift: float) -> Array:
        plain = np.array([[FPR, TPR], [FPR, TPR]])
        rates: Array = np.clip(plain + shift * np.array(self.change), 0.0, 1.0)
        return rates

    def violation_at(self, shift: float) -> float:
        """The violation at a shift."""
        group, label = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
        weight = np.where(group == 1, SHARE, 1 - SHARE) * np.where(label == 1, BASE, 1 - BASE)
        p = self._at(shift)[group, label]
        return self.constraint.evaluate(
            label, p, attributes={"sex": np.where(group == 1, "F", "M")}, sample_weight=weight
        )

    def draw(self, rng: np.random.Generator, rows: int, violation: float) -> Rows:
        """Draw rows."""
        women = (rng.random(rows) < SHARE).astype(int)
        label = (rng.random(rows) < BASE).astype(np.int8)
        predicted = (rng.random(rows) < self.rates(violation)[women, label]).astype(np.int8)
        return Rows(predicted, label, np.where(women == 1, "F", "M"))


@cache
def _shift(problem: Problem, violation: float) -> float:
    return float(brentq(lambda shift: problem.violation_at(shift) - violation, problem.least, 0.25))


_ALL, _POSITIVES = ((1.0, 1.0), (1.0, 1.0)), ((0.0, -1.0), (0.0, -1.0))
PROBLEMS = (
    Problem(
        "rate",
        eq.positive_rate,
        0.4,
        _ALL,
        "positive_rate() <= 0.4",
        ("predicted_positive_fraction", lambda limit: limit),
    ),
    Problem(
        "parity",
        lambda: eq.positive_rate(~WOMEN) - eq.positive_rate(WOMEN),
        0.05,
        ((0.0, 0.0), (-1.0, -1.0)),
        "difference of two groups' rates",
    ),
    Problem(
        "equal opportunity",
        lambda: abs(eq.tpr(~WOMEN) - eq.tpr(WOMEN)),
        0.05,
        ((0.0, 0.0), (0.0, -1.0)),
        "abs of a difference",
        least=0.0,
    ),
    Problem(
        "precision",
        lambda: 1 - eq.precision(),
        0.3,
        ((1.0, 0.0), (1.0, 0.0)),
        "a ratio that is one proportion",
        ("precision", lambda limit: limit),
    ),
    Problem("F1 parity", lambda: eq.f1(~WOMEN) - eq.f1(WOMEN), 0.05, ((0.0, 0.0), (0.0, -1.0)), "two ratios"),
    Problem("G-mean", lambda: 1 - eq.g_mean(), 0.25, _POSITIVES, "a concave function of two rates"),
)
