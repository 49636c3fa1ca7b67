"""The problems: constraints with a population each, balanced and not, and how large a sample is.

Twelve have two classes (`PROBLEMS`), six have three to six (`CLASS_PROBLEMS`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

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
class _Sizes:
    """``group`` of ``n`` examples are in the group, in every sample."""

    n: int
    group: int

    def groups(self, times: float = 1.0) -> NDArray[np.int_]:
        """Group of each example of a sample that is so many times as large."""
        return (np.arange(round(self.n * times)) < round(self.group * times)).astype(int)


@dataclass(frozen=True)
class Population(_Sizes):
    """Two groups, a label and normal features: two tell the label, one the group, the others nothing.

    ``base`` are the shares with label 1 outside and inside of the group.
    """

    base: tuple[float, float] = (0.35, 0.5)
    noise: int = 2

    classes: ClassVar[int] = 2

    def expected(self) -> NDArray[np.int_]:
        """Labels in the numbers that are expected of a sample."""
        group, labels = self.groups(), np.zeros(self.n, dtype=int)
        for k, base in enumerate(self.base):
            rows = np.flatnonzero(group == k)
            labels[rows[: round(base * len(rows))]] = 1
        return labels

    def draw(self, rng: np.random.Generator, times: float = 1.0) -> Data:
        """Draw a sample, or one that is so many times as large."""
        g = self.groups(times)
        n = len(g)
        y = (rng.random(n) < np.array(self.base)[g]).astype(int)
        X = rng.normal(size=(n, 3 + self.noise))
        X[:, 0] += 1.3 * y + 0.3 * g
        X[:, 1] += 0.9 * y
        X[:, 2] += 1.0 * g
        return Data(X, y, g)


@dataclass(frozen=True)
class ClassPopulation(_Sizes):
    """Two groups, several classes and normal features: one tells each class, one the group, the others nothing.

    ``shares`` are those of the classes outside of the group; inside, classes are closer to each other in size.
    """

    shares: tuple[float, ...]
    noise: int = 2

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.shares)

    def _labels(self, g: NDArray[np.int_], quantile: NDArray[np.float64]) -> NDArray[np.int_]:
        outside = np.array(self.shares)
        upper = np.cumsum([outside, (outside + outside[::-1]) / 2], axis=1)[:, :-1]
        return np.asarray((quantile[:, None] > upper[g]).sum(axis=1))

    def expected(self) -> NDArray[np.int_]:
        """Labels in the numbers that are expected of a sample."""
        g = self.groups()
        quantile = np.empty(self.n)
        for k in (0, 1):
            rows = np.flatnonzero(g == k)
            quantile[rows] = (np.arange(len(rows)) + 0.5) / len(rows)
        return self._labels(g, quantile)

    def draw(self, rng: np.random.Generator, times: float = 1.0) -> Data:
        """Draw a sample, or one that is so many times as large."""
        g = self.groups(times)
        y = self._labels(g, rng.random(len(g)))
        X = rng.normal(size=(len(g), self.classes + 1 + self.noise))
        X[np.arange(len(g)), y] += 1.8
        X[:, self.classes] += g
        return Data(X, y, g)


@dataclass(frozen=True)
class Problem:
    """Constraints on a population; ``samples`` times as many samples as usual.

    ``room`` is how far a classifier can stay from the limit, where the constraint is no bound on a gap (the tolerance
    is that of a gap): what certification can use.
    """

    name: str
    constraints: tuple[Any, ...]
    population: Population | ClassPopulation
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


def _each_class(rate: Any, classes: int, tolerance: float) -> tuple[Any, ...]:
    return tuple(abs(rate(G, label=k) - rate(~G, label=k)) <= tolerance for k in range(classes))


_THREE, _FOUR = (0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1)
_FIVE, _SIX = (0.35, 0.25, 0.2, 0.12, 0.08), (0.3, 0.2, 0.2, 0.1, 0.1, 0.1)

CLASS_PROBLEMS = (
    Problem(
        "3 classes, parity of each within 0.1, 800 of 2,500",
        _each_class(_PARITY, 3, 0.1),
        ClassPopulation(2500, 800, _THREE),
    ),
    Problem(
        "3 classes, recall of one >= 0.85, n = 1,500",
        (_RECALL(label=2) >= 0.85,),
        ClassPopulation(1500, 500, _THREE),
        room=0.15,
    ),
    Problem(
        "4 classes, precision of one >= 0.8, n = 2,500",
        (eq.precision(label=2) >= 0.8,),
        ClassPopulation(2500, 800, _FOUR),
        room=0.2,
    ),
    Problem(
        "4 classes, worst recall >= 0.72, n = 3,000", (eq.worst_recall() >= 0.72,), ClassPopulation(3000, 1000, _FOUR)
    ),
    Problem(
        "5 classes, coverage of one <= 0.28, n = 2,000",
        (eq.coverage(0) <= 0.28,),
        ClassPopulation(2000, 600, _FIVE),
        room=0.28,
    ),
    Problem(
        "6 classes, macro recall >= 0.68, n = 2,000",
        (_RECALL(average="macro") >= 0.68,),
        ClassPopulation(2000, 600, _SIX),
        room=0.0175,  # the macro recall of the best linear classifier of 2,000 rows is 0.6975
    ),
)
