"""The problems: twelve constraints with a population each, balanced and not, and how large a sample is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

G = eq.attr("g") == 1
ERROR = eq.minimize(eq.error_rate())


@dataclass(frozen=True)
class Data:
    """One sample: features, labels and the group."""

    X: NDArray[np.float64]
    y: NDArray[np.int_]
    g: NDArray[np.int_]


@dataclass(frozen=True)
class Population:
    """Two groups, a label and normal features: two tell the label, one the group, the others nothing.

    ``group`` of ``n`` examples are in the group, in every sample; ``base`` are the shares with label 1 outside and
    inside of it.
    """

    n: int
    group: int
    base: tuple[float, float] = (0.35, 0.5)
    noise: int = 2

    def draw(self, rng: np.random.Generator, times: float = 1.0) -> Data:
        """Draw a sample, or one that is so many times as large."""
        n = round(self.n * times)
        g = (np.arange(n) < round(self.group * times)).astype(int)
        y = (rng.random(n) < np.array(self.base)[g]).astype(int)
        X = rng.normal(size=(n, 3 + self.noise))
        X[:, 0] += 1.3 * y + 0.3 * g
        X[:, 1] += 0.9 * y
        X[:, 2] += 1.0 * g
        return Data(X, y, g)


@dataclass(frozen=True)
class Problem:
    """Constraints on a population; ``samples`` times as many samples as usual.

    ``room`` is how far a classifier can stay from the limit, where the constraint is no bound on a gap (the tolerance
    is that of a gap): what certification can use.
    """

    name: str
    constraints: tuple[Any, ...]
    population: Population
    samples: int = 1
    room: float | None = None
    objective: Any = ERROR


def _within(rate: Any, tolerance: float) -> tuple[Any, ...]:
    return (abs(rate(G) - rate(~G)) <= tolerance,)


_PARITY, _RECALL, _FPR = eq.positive_rate, eq.recall, eq.fpr

PROBLEMS = (
    Problem("parity within 0.08, 600 of 1,500", _within(_PARITY, 0.08), Population(1500, 600)),
    Problem("parity within 0.12, 250 of 5,000", _within(_PARITY, 0.12), Population(5000, 250)),
    Problem("parity within 0.3, 50 of 500", _within(_PARITY, 0.3), Population(500, 50, noise=1)),
    Problem("equal opportunity within 0.08, 1,000 of 3,000", _within(_RECALL, 0.08), Population(3000, 1000), 2),
    Problem("equal opportunity within 0.2, 150 of 1,500", _within(_RECALL, 0.2), Population(1500, 150), 2),
    Problem(
        "equalized odds within 0.12, 600 of 2,000",
        (*_within(_RECALL, 0.12), *_within(_FPR, 0.12)),
        Population(2000, 600),
    ),
    Problem("precision parity within 0.12, 1,000 of 2,500", _within(eq.precision, 0.12), Population(2500, 1000)),
    Problem("F1 parity within 0.12, 700 of 2,000", _within(eq.f1, 0.12), Population(2000, 700)),
    Problem(
        "parity within 0.12, recall >= 0.6, precision >= 0.6, 1,000 of 3,000",
        (*_within(_PARITY, 0.12), _RECALL() >= 0.6, eq.precision() >= 0.6),
        Population(3000, 1000),
    ),
    Problem("KL <= 0.03, 400 of 2,000", (eq.kl_divergence(G) <= 0.03,), Population(2000, 400), room=0.03),
    Problem("recall >= 0.7, n = 800, 15 % positive", (_RECALL() >= 0.7,), Population(800, 200, (0.15, 0.15)), room=0.3),
    Problem("precision >= 0.72, n = 2,000", (eq.precision() >= 0.72,), Population(2000, 400, (0.3, 0.3))),
)
