"""Drawing samples and counting: whose bounds are on the right side of the truth, and who passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import equirate as eq

from .cases import CASES, PLANS, Case, Plan
from .populations import Population, Sample

CONFIDENCE, POWER = 0.95, 0.8
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Covered:
    """Shares of samples whose upper and lower bound hold, and how far the bounds reach.

    ``reach_above`` and ``reach_below`` are mean distances from the truth, over 1.645 standard deviations of the value.
    """

    case: Case
    above: float
    below: float
    reach_above: float
    reach_below: float


@dataclass(frozen=True)
class Kept:
    """The margin that was foretold, and the share of samples that passed with it."""

    plan: Plan
    margin: float
    passed: float


@dataclass(frozen=True)
class Results:
    """Everything, with how it was measured."""

    samples: int
    seed: int
    covered: tuple[Covered, ...]
    kept: tuple[Kept, ...]


def run(
    samples: int = 4000,
    seed: int = 0,
    cases: Sequence[Case] = CASES,
    plans: Sequence[Plan] = PLANS,
    tell: Callable[[str], None] = lambda line: None,
) -> Results:
    """Measure cases and plans, each with random numbers of its own."""
    covered, kept = [], []
    for k, case in enumerate(cases):
        covered.append(coverage(case, samples, np.random.default_rng([seed, 0, k])))
        tell(f"{case.name}: {covered[-1].above:.2%} above, {covered[-1].below:.2%} below")
    for k, plan in enumerate(plans):
        kept.append(foretold(plan, samples // 2, np.random.default_rng([seed, 1, k])))
        tell(f"{plan.name}: {kept[-1].passed:.1%} passed with {kept[-1].margin:.3g}")
    return Results(samples, seed, tuple(covered), tuple(kept))


def coverage(case: Case, samples: int, rng: np.random.Generator) -> Covered:
    """Certify ``expr <= truth``: its residual is 0, so the upper bound must not be below 0, nor the lower above."""
    judge = _Judge(case.expr <= case.population.truth(case.expr), case.population)
    found = np.array([(one.violation, one.low, one.high) for one in (judge.draw(rng) for _ in range(samples))])
    value, low, high = found.T
    unit = 1.645 * value.std() if value.std() > 0 else np.nan
    return Covered(
        case,
        float((high >= -_ROUNDING).mean()),
        float((low <= _ROUNDING).mean()),
        float(high.mean() / unit),
        float(-low.mean() / unit),
    )


def foretold(plan: Plan, samples: int, rng: np.random.Generator) -> Kept:
    """Ask for the margin, then certify a constraint that the truth keeps by just that."""
    population = plan.population
    group = np.arange(population.n) < population.group
    label = np.zeros(population.n, dtype=int)
    for part in (group, ~group):  # the labels that are expected
        label[np.flatnonzero(part)[: round(population.base * part.sum())]] = 1
    rates = dict(zip(("fpr", "tpr"), population.rates, strict=True))
    asked = eq.power(plan.at(0.05), label, {"g": group.astype(int)}, confidence=CONFIDENCE, power=POWER, rates=rates)
    margin = asked.constraints[0].margin
    judge = _Judge(plan.at(margin), population)
    return Kept(plan, margin, float(np.mean([judge.draw(rng).verdict == "pass" for _ in range(samples)])))


class _Judge:
    """Certifies samples of a population; those with the same counts once."""

    def __init__(self, constraint: eq.Constraint, population: Population) -> None:
        self.constraint, self.population = constraint, population
        self.known: dict[bytes, Any] = {}

    def draw(self, rng: np.random.Generator) -> Any:
        """Draw a sample and return its certificate."""
        sample = self.population.draw(rng)
        if not self.population.countable:
            return self._certificate(sample)
        sort = 4 * sample["attributes"]["g"] + 2 * sample["y_true"] + sample["y_pred"].astype(int)
        key = np.bincount(sort, minlength=8).tobytes()
        if key not in self.known:
            self.known[key] = self._certificate(sample)
        return self.known[key]

    def _certificate(self, sample: Sample) -> Any:
        return eq.certify(self.constraint, **sample, confidence=CONFIDENCE)[0]
