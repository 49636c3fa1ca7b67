"""Problems with several classes whose optimum is known: mixtures of a few given classifiers.

In: a number of classes and a seed. Out: `ClassCase`s. What mixtures of listed classifiers can reach is a simplex in the
shares of rows by group, label and decision, so that the programmes for two classes find the optimum here, too.
`Confusion` and `WrittenClasses` answer to the same names, as `counted.Counted` and `Written` do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .counted import Curve, Posed, Sum
from .grounds import Reach
from .programmes import Truth, best, refined

Array = NDArray[np.float64]
CONVEX, RATIOS, INFEASIBLE = "several classes, convex", "several classes, ratios", "several classes, infeasible"
FAMILIES = (CONVEX, RATIOS, INFEASIBLE)
CLASSES = (3, 4, 6, 8, 10)
"""Numbers of classes."""
SEEDS = 3


@dataclass(frozen=True, eq=False)
class Listed:
    """Rows with labels and groups, the decisions of listed classifiers, and what their mixtures reach."""

    classes: int
    seed: int
    y: NDArray[np.int64]
    group: NDArray[np.int64]
    decided: NDArray[np.int64]

    @property
    def name(self) -> str:
        """The name, which is nobody else's."""
        return f"{self.classes} classes, {self.decided.shape[1]} classifiers, seed {self.seed}"

    @property
    def kind(self) -> str:
        """The kind of data, for tables."""
        return f"{self.classes} classes"

    @property
    def X(self) -> Array:  # noqa: N802  # features are called that everywhere
        """The number of each row: all that listed classifiers look at."""
        return np.arange(len(self.y), dtype=float)[:, None]

    def classifiers(self) -> list[Callable[[Any], NDArray[np.int64]]]:
        """The classifiers, as functions of X."""
        return [partial(_looked_up, column) for column in self.decided.T]

    @property
    def attributes(self) -> dict[str, NDArray[np.int64]]:
        """The group, as estimators take it."""
        return {"g": self.group}

    def shares(self, pmf: Array) -> Array:
        """Shares of all rows by group, label and decision, of probabilities of deciding."""
        cells = (self.group * self.classes + self.y)[:, None] == np.arange(2 * self.classes)
        return np.asarray(cells.T.astype(float) @ pmf / len(self.y)).ravel()

    @cached_property
    def reach(self) -> Reach:
        """What mixtures reach."""
        eye = np.eye(self.classes)
        generators = np.stack([self.shares(eye[column]) for column in self.decided.T], axis=1)
        cells = (self.group * self.classes + self.y)[:, None] == np.arange(2 * self.classes)
        return Reach(generators, cells.mean(axis=0), True)


def _looked_up(decided: NDArray[np.int64], X: Any) -> NDArray[np.int64]:
    return np.asarray(decided[np.asarray(X)[:, 0].astype(int)])


def listed(classes: int, seed: int, count: int) -> Listed:
    """Rows with rarer and rarer classes, and classifiers that prefer different classes in each group."""
    rng = np.random.default_rng([4, classes, seed])
    n = 80 * classes
    prior = 0.75 ** np.arange(classes)
    y = rng.choice(classes, size=n, p=prior / prior.sum())
    y[: 2 * classes] = np.repeat(np.arange(classes), 2)
    group = (rng.random(n) < 0.4).astype(np.int64)
    group[: 2 * classes] = np.tile([0, 1], classes)
    scores = rng.normal(size=(n, classes)) + 1.5 * np.eye(classes)[y] + 0.4 * group[:, None] * rng.normal(size=classes)
    offsets = rng.normal(0, 0.9, size=(count, 2, classes))
    decided = np.stack([(scores + offset[group]).argmax(axis=1) for offset in offsets], axis=1)
    return Listed(classes, seed, y.astype(np.int64), group, decided.astype(np.int64))


class Confusion:
    """The language of the truth: functions of the shares by group, label and decision."""

    def __init__(self, ground: Listed) -> None:
        self.k, self.totals = ground.classes, ground.reach.totals

    def _size(self, group: int | None = None, label: int | None = None) -> float:
        kept = self.totals.reshape(2, self.k)[self._groups(group)]
        return float(kept.sum() if label is None else kept[:, label].sum())

    def _decided(self, group: int | None = None, label: int | None = None, decision: int | None = None) -> Sum:
        slope = np.zeros((2, self.k, self.k))
        labels, decisions = (slice(None) if each is None else each for each in (label, decision))
        slope[self._groups(group), labels, decisions] = 1.0
        return Sum(slope.ravel(), 0.0)

    @staticmethod
    def _groups(group: int | None) -> Any:
        return slice(None) if group is None else slice(group, group + 1)

    @property
    def labels(self) -> range:
        """The classes."""
        return range(self.k)

    def recall(self, label: int, group: int | None = None) -> Sum:
        """P[decided k | label k]."""
        return (1 / self._size(group, label)) * self._decided(group, label, label)

    def coverage(self, label: int, group: int | None = None) -> Sum:
        """P[decided k]."""
        return (1 / self._size(group)) * self._decided(group, None, label)

    def share(self, label: int) -> float:
        """P[label k]."""
        return self._size(None, label)

    def error_rate(self, group: int | None = None) -> Sum:
        """P[wrong]."""
        right = [self._decided(group, k, k) for k in self.labels]
        return -1 / self._size(group) * _added(right) + 1.0

    def precision(self, label: int) -> Sum:
        """P[label k | decided k]."""
        return self._decided(None, label, label) / self._decided(None, None, label)

    def f1(self, label: int) -> Sum:
        """2 P[label and decision k] / (P[label k] + P[decision k])."""
        return (2.0 * self._decided(None, label, label)) / (self._decided(None, None, label) + self._size(None, label))

    def macro_f1(self) -> Sum:
        """The mean of the classes' F1."""
        return 1 / self.k * _added([self.f1(k) for k in self.labels])

    def balanced_accuracy(self) -> Sum:
        """The mean of the classes' recalls."""
        return 1 / self.k * _added([self.recall(k) for k in self.labels])

    def cost(self, matrix: Array) -> Sum:
        """The average cost of a decision."""
        cells = [(i, j) for i in self.labels for j in self.labels]
        return _added([float(matrix[i, j]) * self._decided(None, i, j) for i, j in cells])

    def worst_recall(self) -> Sum:
        """The smallest recall."""
        return self._curve("min", min, *(self.recall(k) for k in self.labels))

    def g_mean(self) -> Sum:
        """The geometric mean of the recalls."""
        return self._curve(
            "geometric", lambda *r: math.prod(map(float, np.maximum(r, 0))) ** (1 / len(r)), *self._recalls
        )

    def h_mean(self) -> Sum:
        """The harmonic mean of the recalls."""
        return self._curve("harmonic", lambda *r: len(r) / sum(1 / a for a in r) if min(r) > 0 else 0.0, *self._recalls)

    def q_mean(self) -> Sum:
        """1 - root mean square of the misses."""
        missed = [-1.0 * part + 1.0 for part in self._recalls]
        return -1 / math.sqrt(self.k) * self._curve("norm", math.hypot, *missed) + 1.0

    def kl_divergence(self) -> Sum:
        """Divergence of the decided shares from those of the labels."""
        parts = [
            -self.share(k) * self._curve("log", lambda q: math.log(q) if q > 0 else -math.inf, self.coverage(k))
            for k in self.labels
        ]
        return _added(parts) + sum(self.share(k) * math.log(self.share(k)) for k in self.labels)

    @property
    def _recalls(self) -> list[Sum]:
        return [self.recall(k) for k in self.labels]

    def _curve(self, name: str, function: Callable[..., float], *parts: Sum) -> Sum:
        return Sum(np.zeros(2 * self.k**2), 0.0, ((1.0, Curve(name, parts, function)),))


def _added(parts: Sequence[Sum]) -> Sum:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


class WrittenClasses:
    """The same names in equirate's language."""

    def __init__(self, ground: Listed) -> None:
        self.k, self._own = ground.classes, Confusion(ground)

    @property
    def labels(self) -> range:
        """The classes."""
        return range(self.k)

    def share(self, label: int) -> float:
        """P[label k], as a number."""
        return self._own.share(label)

    def recall(self, label: int, group: int | None = None) -> Any:
        """P[decided k | label k]."""
        return eq.recall(_slice(group), label=label)

    def coverage(self, label: int, group: int | None = None) -> Any:
        """P[decided k]."""
        return eq.coverage(label, _slice(group))

    def f1(self, label: int) -> Any:
        """F1 of a class."""
        return eq.f1(label=label)

    def precision(self, label: int) -> Any:
        """P[label k | decided k]."""
        return eq.precision(label=label)

    def error_rate(self, group: int | None = None) -> Any:
        """P[wrong]."""
        return eq.error_rate(_slice(group))

    def cost(self, matrix: Array) -> Any:
        """The average cost of a decision."""
        return eq.cost(matrix=matrix.tolist(), labels=list(self.labels))

    def __getattr__(self, name: str) -> Callable[[], Any]:
        function: Callable[[], Any] = getattr(eq, name)
        return function


def _slice(group: int | None) -> eq.Slice | None:
    one = eq.attr("g") == 1
    return None if group is None else one if group == 1 else ~one


Pose = Callable[[Any, float], Posed]


@dataclass(frozen=True)
class ClassTemplate:
    """A problem for any number of classes, at a level."""

    family: str
    name: str
    level: float
    pose: Pose


def _matrix(k: int) -> Array:
    """Costs that grow with the distance between classes."""
    return np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(float) ** 1.5


def _parity(L: Any, t: float) -> tuple[tuple[Any, str, float], ...]:
    return tuple((L.coverage(k, 1) - L.coverage(k, 0), "within", t) for k in L.labels)


def _shares(L: Any, t: float) -> tuple[tuple[Any, str, float], ...]:
    return tuple((L.coverage(k) - L.share(k), "within", t) for k in L.labels)


TEMPLATES = (
    ClassTemplate(CONVEX, "G-mean", 0.0, lambda L, t: Posed("maximize", L.g_mean())),
    ClassTemplate(CONVEX, "H-mean, coverage", 0.08, lambda L, t: Posed("maximize", L.h_mean(), _shares(L, t))),
    ClassTemplate(CONVEX, "Q-mean, demographic parity", 0.1, lambda L, t: Posed("maximize", L.q_mean(), _parity(L, t))),
    ClassTemplate(CONVEX, "KL of proportions", 0.0, lambda L, t: Posed("minimize", L.kl_divergence())),
    ClassTemplate(CONVEX, "worst recall", 0.0, lambda L, t: Posed("maximize", L.worst_recall())),
    ClassTemplate(CONVEX, "error, recall of the rarest", 0.5,
                  lambda L, t: Posed("minimize", L.error_rate(), ((L.recall(L.labels[-1]), ">=", t),))),
    ClassTemplate(CONVEX, "cost matrix, demographic parity", 0.1,
                  lambda L, t: Posed("minimize", L.cost(_matrix(len(L.labels))), _parity(L, t))),
    ClassTemplate(CONVEX, "balanced accuracy, coverage", 0.08,
                  lambda L, t: Posed("maximize", L.balanced_accuracy(), _shares(L, t))),
    ClassTemplate(RATIOS, "F1 of a class", 0.0, lambda L, t: Posed("maximize", L.f1(1))),
    ClassTemplate(RATIOS, "error, precision of a class", 0.6,
                  lambda L, t: Posed("minimize", L.error_rate(), ((L.precision(1), ">=", t),))),
    ClassTemplate(RATIOS, "macro-F1", 0.0, lambda L, t: Posed("maximize", L.macro_f1())),
    ClassTemplate(RATIOS, "macro-F1, coverage of the rarest", 0.1,
                  lambda L, t: Posed("maximize", L.macro_f1(),
                                     ((L.coverage(L.labels[-1]) - L.share(L.labels[-1]), "<=", t),))),
    ClassTemplate(INFEASIBLE, "a recall of all classes that nobody has", 0.97,
                  lambda L, t: Posed("minimize", L.error_rate(), tuple((L.recall(k), ">=", t) for k in L.labels))),
)  # fmt: skip
"""Every family; the level is a tolerance or a floor."""


@dataclass(frozen=True, eq=False)
class ClassCase:
    """A problem on a list of classifiers."""

    template: ClassTemplate
    ground: Listed

    @property
    def name(self) -> str:
        """The name, which is nobody else's."""
        return f"{self.template.name} ({self.template.level:g}), {self.ground.name}"

    @cached_property
    def posed(self) -> Posed:
        """The problem in counts."""
        return self.template.pose(Confusion(self.ground), self.template.level)

    def written(self) -> eq.Problem:
        """The problem as equirate takes it."""
        return self.template.pose(WrittenClasses(self.ground), self.template.level).written()

    @property
    def model(self) -> Any:
        """What mixtures are of."""
        return self.ground.classifiers()

    def shares(self, pmf: Array) -> Array:
        """What the truth counts, of probabilities of deciding."""
        return self.ground.shares(pmf)

    def truth(self) -> Truth:
        """The best there is; of macro-F1, by a grid over all mixtures that is made finer and finer."""
        if len(self.posed.objective.terms) > 1 and self.template.family == RATIOS:
            return refined(self.posed, self.ground.reach)
        return best(self.posed, self.ground.reach)


def class_cases(classes: Sequence[int] = CLASSES) -> list[ClassCase]:
    """All problems; macro-F1 on four classifiers, whose mixtures a grid can list, the others on thirty."""
    made = []
    for k in classes:
        for seed in range(SEEDS):
            for template in TEMPLATES:
                few = template.name.startswith("macro-F1")
                made.append(ClassCase(template, listed(k, seed, 4 if few else 30)))
    return made
