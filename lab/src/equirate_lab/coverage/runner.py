"""Drawing samples and counting: whose bounds are on the right side of the truth, and who passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
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

    name: str
    kind: str
    above: float
    below: float
    reach_above: float
    reach_below: float

    def __str__(self) -> str:
        return f"{self.above:.2%} above, {self.below:.2%} below"


@dataclass(frozen=True)
class Kept:
    """The margin that was foretold, and the share of samples that passed with it."""

    name: str
    margin: float
    passed: float

    def __str__(self) -> str:
        return f"{self.passed:.1%} passed with {self.margin:.3g}"


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
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> Results:
    """Measure cases and plans, each with random numbers of its own, several side by side where asked for."""
    names = [case.name for case in cases] + [plan.name for plan in plans]
    found: dict[str, Covered | Kept] = {}
    with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
        arguments = (names, [samples] * len(names), [seed] * len(names))
        measured = map(_measured, *arguments) if pool is None else pool.map(_measured, *arguments)
        for name, one in zip(names, measured, strict=True):
            found[name] = one
            tell(f"{name}: {one}")
    covered = tuple(one for one in found.values() if isinstance(one, Covered))
    return Results(samples, seed, covered, tuple(one for one in found.values() if isinstance(one, Kept)))


def _measured(name: str, samples: int, seed: int) -> Covered | Kept:
    """Measure a case or a plan by its name, which is also its part of the seed."""
    rng = np.random.default_rng([seed, *name.encode()])
    for case in CASES:
        if case.name == name:
            return coverage(case, samples, rng)
    return foretold(next(plan for plan in PLANS if plan.name == name), samples // 2, rng)


def coverage(case: Case, samples: int, rng: np.random.Generator) -> Covered:
    """Certify ``expr <= truth``: its residual is 0, so the upper bound must not be below 0, nor the lower above."""
    judge = _Judge(case.expr <= case.population.truth(case.expr), case.population)
    found = np.array([(one.violation, one.low, one.high) for one in (judge.draw(rng) for _ in range(samples))])
    value, low, high = found.T
    unit = 1.645 * value.std() if value.std() > 0 else np.nan
    return Covered(
        case.name,
        case.kind,
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
    asked = eq.power(
        plan.at(0.05), label, attributes={"g": group.astype(int)}, confidence=CONFIDENCE, power=POWER, rates=rates
    )
    margin = asked.constraints[0].margin
    judge = _Judge(plan.at(margin), population)
    return Kept(plan.name, margin, float(np.mean([judge.draw(rng).verdict == "pass" for _ in range(samples)])))


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
