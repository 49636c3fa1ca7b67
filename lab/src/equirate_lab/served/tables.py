"""Populations whose rows repeat: tables of categories, made up or resampled from published counts.

In: a seed. Out: indicators of the categories, labels and groups of as many rows as are wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

Array = NDArray[np.float64]
BERKELEY = {
    # department: admitted and rejected men, admitted and rejected women (Bickel, Hammel and O'Connell 1975)
    "A": (512, 313, 89, 19),
    "B": (353, 207, 17, 8),
    "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244),
    "E": (53, 138, 94, 299),
    "F": (22, 351, 24, 317),
}
TITANIC = {
    # class: men who survived and died, women who survived and died (British Board of Trade 1912; adults)
    "1st": (57, 118, 140, 4),
    "2nd": (14, 154, 80, 13),
    "3rd": (75, 387, 76, 89),
    "crew": (192, 670, 20, 3),
}


@dataclass(frozen=True)
class Drawn:
    """Rows of a population."""

    X: Array
    y: NDArray[np.int64]
    group: dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class CategoryTable:
    """A population over few distinct rows, and a problem.

    Attributes
    ----------
    sizes
        How many values each column has.
    counts
        Published counts, in place of made-up chances; see `BERKELEY`.
    """

    name: str
    rows: int
    problem: Callable[[], tuple[Any, list[Any]]]
    sizes: tuple[int, ...] = ()
    counts: dict[str, tuple[int, int, int, int]] | None = None
    seed: int = 0

    @cached_property
    def distinct(self) -> int:
        """Number of distinct rows."""
        return len(self.counts) if self.counts is not None else int(np.prod(self.sizes))

    @cached_property
    def _made_up(self) -> tuple[list[Array], list[Array], Array]:
        rng = np.random.default_rng([self.seed, 17])
        shares = [rng.dirichlet(np.full(size, 3.0)) for size in self.sizes]
        effects = [rng.normal(size=size) / np.sqrt(len(self.sizes)) * 1.5 for size in self.sizes]
        return shares, effects, rng.uniform(0.2, 0.8, self.sizes[0])

    def draw(self, rows: int, rng: np.random.Generator) -> Drawn:
        """Draw rows of the population."""
        if self.counts is not None:
            return self._resampled(rows, rng)
        shares, effects, in_group = self._made_up
        codes = [rng.choice(len(share), rows, p=share) for share in shares]
        X = np.hstack([np.eye(len(share))[code] for share, code in zip(shares, codes, strict=True)])
        score = np.sum([effect[code] for effect, code in zip(effects, codes, strict=True)], axis=0)
        y = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(np.int64)
        group = np.where(rng.random(rows) < in_group[codes[0]], "a", "b")
        return Drawn(X, y, {"g": group})

    def _resampled(self, rows: int, rng: np.random.Generator) -> Drawn:
        counts = np.array(list((self.counts or {}).values()), dtype=float)
        place = rng.choice(counts.size, rows, p=(counts / counts.sum()).ravel())
        kind, sort = place // 4, place % 4
        group = np.where(sort < 2, "a", "b")
        return Drawn(np.eye(len(counts))[kind], (sort % 2 == 0).astype(np.int64), {"g": group})


def _parity(tolerance: float) -> Callable[[], tuple[Any, list[Any]]]:
    return lambda: (eq.minimize(eq.error_rate()), [eq.demographic_parity("g", tolerance=tolerance)])


def _opportunity(tolerance: float) -> Callable[[], tuple[Any, list[Any]]]:
    return lambda: (eq.minimize(eq.error_rate()), [eq.equal_opportunity("g", tolerance=tolerance)])


def _limited(limit: float) -> Callable[[], tuple[Any, list[Any]]]:
    return lambda: (eq.maximize(eq.recall()), [eq.positive_rate() <= limit])


def _precise(limit: float) -> Callable[[], tuple[Any, list[Any]]]:
    return lambda: (eq.maximize(eq.f1()), [eq.precision() >= limit])


TABLES = (
    CategoryTable("Berkeley, parity within 0.1", 4526, _parity(0.1), counts=BERKELEY),
    CategoryTable("Berkeley, positive rate <= 0.3", 4526, _limited(0.3), counts=BERKELEY),
    CategoryTable("Titanic, parity within 0.2", 2092, _parity(0.2), counts=TITANIC),
    CategoryTable("3 rows, positive rate <= 0.2", 3000, _limited(0.2), (3,), seed=1),
    CategoryTable("3 rows, parity within 0.1", 3000, _parity(0.1), (3,), seed=2),
    CategoryTable("24 rows, parity within 0.05", 3000, _parity(0.05), (6, 4), seed=3),
    CategoryTable("24 rows, precision >= 0.6", 3000, _precise(0.6), (4, 3, 2), seed=4),
    CategoryTable("24 rows, positive rate <= 0.25", 3000, _limited(0.25), (6, 4), seed=5),
    CategoryTable("200 rows, parity within 0.05", 4000, _parity(0.05), (8, 5, 5), seed=6),
    CategoryTable("200 rows, equal opportunity within 0.1", 4000, _opportunity(0.1), (10, 5, 4), seed=7),
    CategoryTable("2,000 rows, parity within 0.05", 6000, _parity(0.05), (10, 10, 5, 4), seed=8),
    CategoryTable("2,000 rows, positive rate <= 0.3", 6000, _limited(0.3), (10, 10, 20), seed=9),
)
