"""The problems: families of objectives and constraints, each written once for equirate and for the truth.

In: a ground. Out: `Case`s, each a problem on a ground, with levels that bind: shares of the way between what is easy
and what is possible there, which `Facts` computes with linear programmes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import equirate as eq

from .counted import Counted, Posed, Sum, Written
from .grounds import Ground, grounds
from .programmes import Truth, best

LINEAR, BOUND, CONVEX, KL = "linear", "bound on one ratio", "convex", "KL divergence"
RATIO, SEVERAL, MAXIMIN, BOX = "one ratio as objective", "several ratios", "maximin, differences", "black box"
INFEASIBLE = "infeasible"
FAMILIES = (LINEAR, BOUND, CONVEX, KL, RATIO, SEVERAL, MAXIMIN, BOX, INFEASIBLE)


@dataclass(frozen=True, eq=False)
class Facts:
    """What is possible on a ground."""

    ground: Ground

    @property
    def language(self) -> Counted:
        """The language of counts on this ground."""
        return Counted(self.ground.reach.totals)

    def best(self, sense: str, objective: Sum, *constraints: tuple[Sum, str, float]) -> float:
        """The best value of an objective."""
        found = best(Posed(sense, objective, constraints), self.ground.reach)
        if found.value is None:
            raise ValueError(f"{self.ground.name}: a level is asked for that nothing has")
        return float(found.value)

    @cached_property
    def error(self) -> float:
        """The smallest error."""
        return self.best("minimize", self.language.error_rate())

    @cached_property
    def base(self) -> float:
        """The share of label 1."""
        return float(self.ground.y.mean())

    def way(self, group: int | None, share: float) -> float:
        """A precision between that of predicting everybody and the best with one in ten predicted."""
        L = self.language
        every = L.precision(group).value(self.ground.reach.totals)
        top = self.best("maximize", L.precision(group), (L.positive_rate(group), ">=", 0.1))
        return round(every + share * (top - every), 3)

    def worse(self, share: float) -> float:
        """An error between the smallest and that of a coin that knows the share of label 1."""
        return round(self.error + share * (min(self.base, 1 - self.base) - self.error) + 1e-3, 3)


Pose = Callable[[Any, Facts, float], Posed]


@dataclass(frozen=True)
class Template:
    """A problem for any ground, at some levels."""

    family: str
    name: str
    levels: tuple[float, ...]
    pose: Pose


@dataclass(frozen=True, eq=False)
class Case:
    """A problem on a ground."""

    template: Template
    ground: Ground
    level: float

    @property
    def name(self) -> str:
        """The name, which is nobody else's."""
        return f"{self.template.name} ({self.level:g}), {self.ground.kind}, {self.ground.name}"

    @cached_property
    def posed(self) -> Posed:
        """The problem in counts."""
        facts = Facts(self.ground)
        return self.template.pose(facts.language, facts, self.level)

    def written(self) -> eq.Problem:
        """The problem as equirate takes it."""
        return self.template.pose(Written(), Facts(self.ground), self.level).written()

    @property
    def model(self) -> Any:
        """What mixtures are of."""
        return "linear"

    def shares(self, pmf: Any) -> Any:
        """What the truth counts, of probabilities of deciding."""
        ground = self.ground
        cells = [(ground.group == g) & (ground.y == label) for g in (0, 1) for label in (0, 1)]
        return np.array([pmf[cell, 1].sum() for cell in cells]) / len(ground.y)

    def truth(self) -> Truth:
        """The best there is."""
        return best(self.posed, self.ground.reach)


def _between(L: Any, rate: str) -> Any:
    return getattr(L, rate)(1) - getattr(L, rate)(0)


def _least(sense: str, objective: Any, *constraints: tuple[Any, str, float]) -> Posed:
    return Posed(sense, objective, constraints)


def _product(tpr: Any, fpr: Any) -> Any:
    return tpr * (1 - fpr)


def _cubed(tpr: Any, fpr: Any) -> Any:
    return tpr**3 - fpr


TEMPLATES = (
    Template(LINEAR, "error, demographic parity", (0.01, 0.1),
             lambda L, f, t: _least("minimize", L.error_rate(), (_between(L, "positive_rate"), "within", t))),
    Template(LINEAR, "error, equal opportunity", (0.02,),
             lambda L, f, t: _least("minimize", L.error_rate(), (_between(L, "tpr"), "within", t))),
    Template(LINEAR, "error, equalized odds", (0.03,),
             lambda L, f, t: _least("minimize", L.error_rate(), (_between(L, "tpr"), "within", t),
                                    (_between(L, "fpr"), "within", t))),
    Template(LINEAR, "recall, false positives limited", (0.1, 0.3),
             lambda L, f, t: _least("maximize", L.tpr(), (L.fpr(), "<=", t))),
    Template(LINEAR, "cost, positives limited, recall of a group", (0.3,),
             lambda L, f, t: _least("minimize", L.cost(fp=1, fn=5), (L.positive_rate(), "<=", t),
                                    (L.tpr(1) - L.tpr(0), ">=", -0.05))),
    Template(BOUND, "recall, precision", (0.4, 0.8),
             lambda L, f, t: _least("maximize", L.tpr(), (L.precision(), ">=", f.way(None, t)))),
    Template(BOUND, "error, precision in a group, its recall", (0.6,),
             lambda L, f, t: _least("minimize", L.error_rate(), (L.precision(1), ">=", f.way(1, t)),
                                    (L.tpr(1), ">=", 0.2))),
    Template(BOUND, "cost, F1", (0.9,),
             lambda L, f, t: _least("minimize", L.cost(fp=3, fn=1),
                                    (L.f1(), ">=", round(t * f.best("maximize", f.language.f1()), 3)))),
    Template(BOUND, "recall, precision floors in both groups", (0.5,),
             lambda L, f, t: _least("maximize", L.tpr(), (L.precision(1), ">=", f.way(1, t)),
                                    (L.precision(0), ">=", f.way(0, t)))),
    Template(CONVEX, "G-mean, demographic parity", (0.02,),
             lambda L, f, t: _least("maximize", L.g_mean(), (_between(L, "positive_rate"), "within", t))),
    Template(CONVEX, "H-mean, positives limited", (0.35,),
             lambda L, f, t: _least("maximize", L.h_mean(), (L.positive_rate(), "<=", t))),
    Template(CONVEX, "Q-mean, equal opportunity", (0.02,),
             lambda L, f, t: _least("maximize", L.q_mean(), (_between(L, "tpr"), "within", t))),
    Template(CONVEX, "larger error of two groups, recall", (0.5,),
             lambda L, f, t: _least("minimize", L.maximum(L.error_rate(0), L.error_rate(1)), (L.tpr(), ">=", t))),
    Template(CONVEX, "error, G-mean", (0.9,),
             lambda L, f, t: _least("minimize", L.error_rate(),
                                    (L.g_mean(), ">=", round(t * f.best("maximize", f.language.g_mean()), 3)))),
    Template(KL, "KL of both groups, error limited", (0.05, 0.5),
             lambda L, f, t: _least("minimize", L.kl_divergence(1) + L.kl_divergence(0),
                                    (L.error_rate(), "<=", f.worse(t)))),
    Template(KL, "error, KL of both groups limited", (0.005,),
             lambda L, f, t: _least("minimize", L.error_rate(), (L.kl_divergence(1), "<=", t),
                                    (L.kl_divergence(0), "<=", t))),
    Template(RATIO, "F1", (0.0,), lambda L, f, t: _least("maximize", L.f1())),
    Template(RATIO, "F1, precision", (0.5, 0.9),
             lambda L, f, t: _least("maximize", L.f1(), (L.precision(), ">=", f.way(None, t)))),
    Template(RATIO, "F1, demographic parity", (0.02,),
             lambda L, f, t: _least("maximize", L.f1(), (_between(L, "positive_rate"), "within", t))),
    Template(RATIO, "precision, recall", (0.2, 0.6),
             lambda L, f, t: _least("maximize", L.precision(), (L.tpr(), ">=", t))),
    Template(RATIO, "kappa, equal opportunity", (0.05,),
             lambda L, f, t: _least("maximize", L.kappa(), (_between(L, "tpr"), "within", t))),
    Template(RATIO, "Jaccard, positives limited", (0.25,),
             lambda L, f, t: _least("maximize", L.jaccard(), (L.positive_rate(), "<=", t))),
    Template(SEVERAL, "F1, predictive parity", (0.01, 0.05),
             lambda L, f, t: _least("maximize", L.f1(), (_between(L, "precision"), "within", t))),
    Template(SEVERAL, "F1, F1 parity", (0.01, 0.05),
             lambda L, f, t: _least("maximize", L.f1(), (_between(L, "f1"), "within", t))),
    Template(SEVERAL, "accuracy, predictive parity, positives in both groups", (0.02,),
             lambda L, f, t: _least("maximize", L.accuracy(), (_between(L, "precision"), "within", t),
                                    (L.positive_rate(1), ">=", 0.1), (L.positive_rate(0), ">=", 0.1))),
    Template(SEVERAL, "accuracy, F1 parity", (0.02,),
             lambda L, f, t: _least("maximize", L.accuracy(), (_between(L, "f1"), "within", t))),
    Template(SEVERAL, "F1, precision floors in both groups", (0.6,),
             lambda L, f, t: _least("maximize", L.f1(), (L.precision(1), ">=", f.way(1, t)),
                                    (L.precision(0), ">=", f.way(0, t)))),
    Template(SEVERAL, "F1 of both groups added, demographic parity", (0.05,),
             lambda L, f, t: _least("maximize", L.f1(1) + L.f1(0), (_between(L, "positive_rate"), "within", t))),
    Template(SEVERAL, "F1, predictive parity both ways", (0.25,),
             lambda L, f, t: _least("maximize", L.f1(), (_between(L, "precision"), "within", t),
                                    (_between(L, "npv"), "within", t))),
    Template(MAXIMIN, "smaller F1 of two groups", (0.0,),
             lambda L, f, t: _least("maximize", L.minimum(L.f1(1), L.f1(0)))),
    Template(MAXIMIN, "smaller precision of two groups, recall", (0.4,),
             lambda L, f, t: _least("maximize", L.minimum(L.precision(1), L.precision(0)), (L.tpr(1), ">=", t),
                                    (L.tpr(0), ">=", t))),
    Template(MAXIMIN, "difference of precisions, recall in both groups", (0.5, 0.9),
             lambda L, f, t: _least("minimize", L.absolute(_between(L, "precision")), (L.tpr(1), ">=", t),
                                    (L.tpr(0), ">=", t))),
    Template(MAXIMIN, "difference of F1, accuracy", (0.1,),
             lambda L, f, t: _least("minimize", L.absolute(_between(L, "f1")), (L.error_rate(), "<=", f.worse(t)))),
    Template(MAXIMIN, "root of F1, precision", (0.5,),
             lambda L, f, t: _least("maximize", L.root(L.f1()), (L.precision(), ">=", f.way(None, t)))),
    Template(BOX, "Matthews correlation", (0.0,), lambda L, f, t: _least("maximize", L.matthews())),
    Template(BOX, "Matthews correlation, demographic parity", (0.02,),
             lambda L, f, t: _least("maximize", L.matthews(), (_between(L, "positive_rate"), "within", t))),
    Template(BOX, "a product of rates, positives limited", (0.25,),
             lambda L, f, t: _least("maximize", L.box(_product), (L.positive_rate(), "<=", t))),
    Template(BOX, "a cubic of rates, equal opportunity", (0.02,),
             lambda L, f, t: _least("maximize", L.box(_cubed), (_between(L, "tpr"), "within", t))),
    Template(INFEASIBLE, "recall with few positives", (0.9,),
             lambda L, f, t: _least("minimize", L.error_rate(), (L.tpr(), ">=", t),
                                    (L.positive_rate(), "<=", round(0.7 * f.base, 3)))),
    Template(INFEASIBLE, "an error below the smallest", (0.03,),
             lambda L, f, t: _least("maximize", L.f1(), (L.error_rate(), "<=", round(f.error - t, 3)))),
    Template(INFEASIBLE, "a precision above the largest", (0.04,),
             lambda L, f, t: _least("maximize", L.f1(), (L.tpr(), ">=", 0.8), (L.precision(), ">=", round(
                 f.best("maximize", f.language.precision(), (f.language.tpr(), ">=", 0.8)) + t, 3)))),
    Template(INFEASIBLE, "predictive parity with a precision only one group has", (0.04,),
             lambda L, f, t: _parity_apart(L, f, t)),
    Template(INFEASIBLE, "KL of a group with an error it does not allow", (0.03,),
             lambda L, f, t: _least("minimize", L.error_rate(), (L.kl_divergence(1), "<=", 0.001), (
                 L.error_rate(), "<=", round(f.best("minimize", f.language.error_rate(),
                                                    (f.language.kl_divergence(1), "<=", 0.001)) - t, 3)))),
)  # fmt: skip
"""Every family. Levels are what the name says: tolerances, floors, or shares of the way to what is possible."""


def _parity_apart(L: Any, f: Facts, t: float) -> Posed:
    """Both groups' precisions within 0.01, one of them above what the other can have, with a recall in both."""
    own = f.language
    tops = [f.best("maximize", own.precision(k), (own.tpr(k), ">=", 0.6)) for k in (0, 1)]
    high = int(tops[1] > tops[0])
    floor = round(tops[1 - high] + 0.01 + t, 3)
    return _least(
        "maximize", L.f1(), (_between(L, "precision"), "within", 0.01), (L.tpr(1), ">=", 0.6), (L.tpr(0), ">=", 0.6),
        (L.precision(high), ">=", floor),
    )  # fmt: skip


SHARE = {"one-hot": {SEVERAL: 4, MAXIMIN: 3, RATIO: 3}, "one feature": {}, "two features": {}}
"""On how many grounds of a kind each template is posed; two if nothing is said."""


def cases(known: Sequence[Ground] | None = None) -> list[Case]:
    """All problems: every template on some grounds of every kind, in turn."""
    return list(_cases(grounds() if known is None else known))


def _cases(known: Sequence[Ground]) -> Iterator[Case]:
    for kind, more in SHARE.items():
        there = [ground for ground in known if ground.kind == kind]
        turn = 0
        for template in TEMPLATES:
            for level in template.levels:
                for _ in range(more.get(template.family, 2 if kind == "one-hot" else 1)):
                    yield Case(template, there[turn % len(there)], level)
                    turn += 1
