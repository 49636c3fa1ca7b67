"""The cases: 29 expressions with a population each, and the constraints whose power is foretold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import equirate as eq

from .populations import Population

G = eq.attr("g") == 1
_PARITY = eq.positive_rate(G) - eq.positive_rate(~G)
_OPPORTUNITY = eq.recall(G) - eq.recall(~G)


@dataclass(frozen=True)
class Case:
    """An expression, in a population."""

    kind: str
    name: str
    expr: eq.Expression
    population: Population


@dataclass(frozen=True)
class Plan:
    """A constraint at a distance from what is true: what `equirate.power` says of it can be tried out."""

    name: str
    at: Callable[[float], eq.Constraint]
    """The constraint that the truth keeps by some margin."""
    population: Population


CASES = (
    Case("rates", "rate 0.5, n = 1,000", eq.positive_rate(), Population(1000, 400, rates=(0.5, 0.5))),
    Case("rates", "rate 0.1, n = 100", eq.positive_rate(), Population(100, 40, rates=(0.1, 0.1))),
    Case("rates", "rate 0.05, n = 20", eq.positive_rate(), Population(20, 8, rates=(0.05, 0.05))),
    Case("rates", "recall 0.9 of a group of 20", eq.recall(G), Population(200, 20, base=0.5, rates=(0.1, 0.9))),
    Case("rates", "fpr 0.02, n = 70", eq.fpr(), Population(70, 30, rates=(0.02, 0.9))),
    Case("rates at 0 and 1", "rate 0, n = 50", eq.positive_rate(), Population(50, 20, rates=(0.0, 0.0))),
    Case("rates at 0 and 1", "recall 1, n = 50", eq.recall(), Population(50, 20, rates=(0.5, 1.0))),
    Case("differences", "parity, 150 and 150 at 0.5", _PARITY, Population(300, 150, rates=(0.5, 0.5))),
    Case("differences", "parity, 50 of 1,000", _PARITY, Population(1000, 50, rates=(0.1, 0.6))),
    Case("differences", "parity, 20 of 1,000", _PARITY, Population(1000, 20, rates=(0.1, 0.6))),
    Case("differences", "parity, 1,000 of 5,000", _PARITY, Population(5000, 1000, rates=(0.1, 0.6))),
    Case("differences", "equal opportunity, 200 of 600", _OPPORTUNITY, Population(600, 200)),
    Case("differences", "equal opportunity at 0.97, 100 of 600", _OPPORTUNITY, Population(600, 100, rates=(0.1, 0.97))),
    Case("ratios", "precision, n = 100", eq.precision(), Population(100, 40)),
    Case("ratios", "precision of 6 predicted of 40", eq.precision(G), Population(300, 40, base=0.2, rates=(0.05, 0.6))),
    Case("ratios", "precision parity, 150 of 600", eq.precision(G) - eq.precision(~G), Population(600, 150)),
    Case(
        "ratios", "positive rates' ratio, 100 of 600", eq.positive_rate(G) / eq.positive_rate(~G), Population(600, 100)
    ),
    Case("F1", "F1, n = 150", eq.f1(), Population(150, 60)),
    Case("F1", "F1 parity, 150 of 600", eq.f1(G) - eq.f1(~G), Population(600, 150)),
    Case("F1", "F1 parity, 50 of 300", eq.f1(G) - eq.f1(~G), Population(300, 50)),
    Case("KL", "KL 0.04, 200 of 500", eq.kl_divergence(G), Population(500, 200, of_group=(0.05, 0.5))),
    Case("KL", "KL near 0, 200 of 500", eq.kl_divergence(G), Population(500, 200, of_group=(0.1, 0.7))),
    Case("KL", "KL 0.04, 50 of 300", eq.kl_divergence(G), Population(300, 50, of_group=(0.05, 0.5))),
    Case("mixtures", "parity of probabilities, 60 of 300", _PARITY, Population(300, 60, softness=1.0)),
    Case("mixtures", "F1 of probabilities, n = 150", eq.f1(), Population(150, 60, softness=3.0)),
    Case("weights", "weighted parity, 80 of 400", _PARITY, Population(400, 80, weighted=True)),
    Case("weights", "weighted F1, n = 150", eq.f1(), Population(150, 60, weighted=True)),
    Case("clusters", "parity, 40 clusters of 4", _PARITY, Population(160, 64, cluster=4)),
    Case("clusters", "F1, 100 clusters of 3", eq.f1(), Population(300, 120, cluster=3)),
)

PLANS = (
    Plan("recall >= c, 90 with the label", lambda m: eq.recall() >= 0.8 - m, Population(300, 100)),
    Plan("recall of a group >= c, 12 with the label", lambda m: eq.recall(G) >= 0.8 - m, Population(300, 40)),
    Plan("parity within c, 150 of 600", lambda m: abs(_PARITY) <= m, Population(600, 150)),
    Plan("equal opportunity within c, 470 of 3,000", lambda m: abs(_OPPORTUNITY) <= m, Population(3000, 470)),
    Plan("precision >= c, n = 400", lambda m: eq.precision() >= 24 / 31 - m, Population(400, 100)),
    Plan("F1 parity within c, 300 of 1,500", lambda m: abs(eq.f1(G) - eq.f1(~G)) <= m, Population(1500, 300)),
    Plan("F1 >= c, n = 500", lambda m: eq.f1() >= 48 / 61 - m, Population(500, 200)),
)
