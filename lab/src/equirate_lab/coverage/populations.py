"""Populations whose every rate is known: two groups, a label, and predictions that depend on nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

Array = NDArray[np.float64]
Sample = dict[str, Any]
"""Keyword arguments of `equirate.certify` that are data."""


@dataclass(frozen=True)
class Population:
    """What samples are drawn from; a group of ``group`` among ``n`` examples.

    ``rates`` are the false and the true positive rate, ``of_group`` those of the group where they differ.
    """

    n: int
    group: int
    base: float = 0.3
    rates: tuple[float, float] = (0.1, 0.8)
    of_group: tuple[float, float] | None = None
    softness: float | None = None
    """Concentration of a beta distribution of probabilities (a mixture); None for decisions 0 and 1."""
    weighted: bool = False
    """Weights vary by a log-normal factor, and label 1 weighs twice as much."""
    cluster: int = 1
    """Examples of each cluster; half of them are decided by what their cluster has in common."""

    def draw(self, rng: np.random.Generator) -> Sample:
        """Draw one sample."""
        whose = np.repeat(np.arange(self.n // self.cluster), self.cluster)
        group = (whose * self.cluster < self.group).astype(int)
        label = (rng.random(len(group)) < self.base).astype(int)
        p = np.array([self.rates, self.of_group or self.rates])[group, label]
        own, shared = rng.random(len(group)), rng.random(whose[-1] + 1)[whose]
        decided = np.where(rng.random(len(group)) < 0.5, own, shared) < p
        predictions: Array = decided.astype(float)
        if self.softness is not None:
            predictions = rng.beta(self.softness * p, self.softness * (1 - p))
        found: Sample = {"y_true": label, "y_pred": predictions, "attributes": {"g": group}}
        if self.weighted:
            found["sample_weight"] = np.exp(0.7 * rng.standard_normal(len(group))) * (1 + label)
        if self.cluster > 1:
            found["clusters"] = whose
        return found

    def truth(self, expr: eq.Expression) -> float:
        """The value of an expression in the population: of four sorts of examples, weighed by how many there are."""
        label, group = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
        share = np.where(group == 1, self.group / self.n, 1 - self.group / self.n)
        share = share * np.where(label == 1, self.base, 1 - self.base) * (1 + label if self.weighted else 1)
        p = np.array([*self.rates, *(self.of_group or self.rates)])
        return expr.evaluate(label, p, attributes={"g": group}, sample_weight=share)

    @property
    def countable(self) -> bool:
        """Whether samples with the same counts are the same sample."""
        return self.softness is None and not self.weighted and self.cluster == 1
