"""How large violations of coverage are by chance alone.

In: data sets and splits. Out: `ByChance`: the mean largest violation on new rows of a classifier whose shares of
predictions are, in the population, exactly those of the training labels, and of one whose shares are at the limits.
The number of new rows that are predicted as each class is then multinomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .comparison import COVERAGE
from .data import load, split

DRAWS = 400


@dataclass(frozen=True)
class ByChance:
    """A data set's mean violation by chance, with shares of predictions in the middle and at the limits."""

    data: str
    classes: int
    new_rows: int
    centred: float
    at_limits: float


def by_chance(names: Sequence[str], splits: int = 2, data_dir: str | None = None, draws: int = DRAWS) -> list[ByChance]:
    """Draw predictions for the new rows of each split."""
    rng, made = np.random.default_rng(0), []
    for name in names:
        found = []
        for seed in range(splits):
            train, test = split(load(name, data_dir), seed)
            prior, size = np.bincount(train.y) / len(train.y), len(test.y)
            limits = prior * rng.choice([1 - COVERAGE, 1 + COVERAGE], (draws, len(prior)))
            limits /= limits.sum(axis=1, keepdims=True)
            found.append(
                [_violation(rng, np.tile(prior, (draws, 1)), prior, size), _violation(rng, limits, prior, size)]
            )
        centred, at_limits = np.mean(found, axis=0).tolist()
        made.append(ByChance(name, len(prior), size, centred, at_limits))
    return made


def _violation(rng: np.random.Generator, shares: NDArray[np.float64], prior: NDArray[np.float64], size: int) -> float:
    drawn = rng.multinomial(size, shares) / size
    return float(np.maximum((np.abs(drawn - prior) - COVERAGE * prior).max(axis=1), 0.0).mean())
