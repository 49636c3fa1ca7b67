"""Linear classifiers that cost little: exact intercepts by sorting, and a local search over directions.

In: rows, costs per cell, and weights to begin with. Out: weights, for the features as given. `linear` calls this when a
play is finished with further columns.

For a direction w, the best intercept is found among all of them: sort the scores once, and add the costs up from the
highest score down; any number of costs share the sort. So a batch of directions is one matrix product and one sort
each. Directions are those that are known, weighted logistic regressions for the costs, and what lies near the best of
them: random steps of a radius that grows where it helps and shrinks where it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.cells import Cells
from .design import Standard
from .logistic import AFFORDABLE, Logistic

Array = NDArray[np.float64]

_AT_ONCE = 1 << 21
"""Values (rows x directions x costs) that are looked at together."""
TRIED = 16
"""Directions that are tried at a time for each of the costs."""
FAN = 64
"""Directions all around, where there are two features."""
PENALTIES = ((10.0, False), (30.0, False), (100.0, False), (1.0, True), (3.0, True))
"""Penalties of the labels' regression to choose from where rows are few, on the features standardised or as given."""
FEW = 50
"""Rows for each weight up to which the penalty of the labels' regression is chosen."""
LESS = 0.99
"""Share of the loss that another penalty must come down to, so that differences that hardly matter change nothing."""
QUICK = 3e8
"""Multiplications for second derivatives up to which it is."""


@dataclass(eq=False)
class Directions:
    """Rows to look for linear classifiers on.

    Attributes
    ----------
    effort
        Scores that may still be sorted; a limit that is the same on every machine.
    centred
        Whether, without an intercept, scores are those of standardised features.
    """

    X: Any
    cells: Cells
    standard: Standard
    intercept: bool
    effort: float
    centred: bool = True
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.X.shape[0])

    @cached_property
    def logistic(self) -> Logistic:
        """Regressions on the same rows."""
        return Logistic(self.X, self.cells, self.standard, self.intercept)

    @cached_property
    def labels(self) -> Array:
        """Costs per cell of being wrong about the label: what an unconstrained model minimises."""
        return np.where(self.cells.labels == 1, -1.0, 1.0)[:, None]

    @cached_property
    def plain(self) -> Array:
        """The logistic regression of the labels, (features and intercept, 1).

        Where rows are few, with the penalty that foresees rows best which are left out.
        """
        start = np.zeros((self.logistic.width, 1))
        found = self.logistic.fit(self.labels, start, 12, AFFORDABLE)
        if self.rows > FEW * self.logistic.width or not self.logistic.newton(QUICK):
            return found
        least = LESS * self.logistic.left_out(self.labels, found)
        for ridge, as_given in PENALTIES:
            regression = replace(self.logistic, ridge=ridge, as_given=as_given)
            other = regression.fit(self.labels, found, 12, AFFORDABLE)
            lost = regression.left_out(self.labels, other)
            if lost < least:
                found, least = other, lost
        return found

    def unscaled(self, W: Array) -> Array:
        """Weights for standardised features, without the intercept."""
        finite = np.where(np.isfinite(self.standard.spread), self.standard.spread, 0.0)
        return np.asarray(W[: len(finite)] * finite[:, None])

    def unit(self, W: Array) -> Array:
        """Directions of length 1 for standardised features, (features, directions)."""
        scaled = self.unscaled(W)
        length = np.sqrt((scaled**2).sum(axis=0))
        return np.asarray(scaled / np.where(length > 0, length, 1.0))

    def raw(self, units: Array) -> Array:
        """The same for the features as given."""
        return np.asarray(units / self.standard.spread[:, None])

    # -- exact intercepts ------------------------------------------------------------------------

    def cheapest(self, units: Array, costs: Array) -> tuple[Array, Array]:
        """For each direction and each of the costs (cells, costs): the least cost, and the intercept that has it."""
        V = self.raw(units)
        values, shifts = (np.zeros((units.shape[1], costs.shape[1])) for _ in range(2))
        spread = costs[self.cells.of] * self.cells.weights[:, None]
        size = max(_AT_ONCE // max(self.rows * costs.shape[1], 1), 1)
        for a in range(0, units.shape[1], size):
            some = slice(a, a + size)
            scores = np.asarray(self.X @ V[:, some].astype(self.X.dtype))
            found = _sorted_out(scores, spread) if self.intercept else self._fixed(scores, V[:, some], spread)
            values[some], shifts[some] = found
        self.effort -= self.rows * units.shape[1]
        return values, shifts

    def _fixed(self, scores: NDArray[Any], V: Array, spread: Array) -> tuple[Array, Array]:
        """Without an intercept there is nothing to choose."""
        shift = -(self.standard.mean @ V) if self.centred else np.zeros(V.shape[1])
        above = scores + shift > 0
        return above.T.astype(float) @ spread, np.repeat(shift[:, None], spread.shape[1], axis=1)

    # -- answers ---------------------------------------------------------------------------------

    def answer(self, costs: Array, known: Array, iterations: int, tried: float) -> tuple[Array, Array]:
        """Regressions for each of the costs, and the best classifier found: of these, the known and what lies near.

        Both are columns: the regressions fit the sample less closely than what is best on it.

        ``iterations`` are those of the logistic regressions; about ``tried`` directions are looked at.
        """
        begin = np.concatenate([self.plain, known], axis=1)
        found = _Found.of(self, self.unit(begin), costs)
        size = np.sqrt((self.unscaled(self.plain) ** 2).sum())
        start = np.vstack([self.raw(found.units), found.shifts]) * max(size, 1e-3)
        units = self.unit(self.logistic.fit(costs, start, iterations))
        fitted = _Found.of(self, units, costs)
        regressed = fitted.weights(self)
        found.take(fitted)
        if self.X.shape[1] == 2:
            angles = np.linspace(0, 2 * np.pi, FAN, endpoint=False) + self.rng.random() * np.pi / FAN
            found.take(_Found.of(self, np.stack([np.cos(angles), np.sin(angles)]), costs))
        radius = np.full(costs.shape[1], 0.3)
        for _ in range(int(tried // (TRIED * costs.shape[1]))):
            if self.effort <= 0 or (radius < 1e-3).all():
                break
            radius = self._search(found, costs, radius)
        return regressed, found.weights(self)

    def _search(self, found: _Found, costs: Array, radius: Array) -> Array:
        """One batch of directions near the best ones; what is better for any of the costs is kept."""
        d, count = found.units.shape
        steps = self._steps(d, count * TRIED) * np.repeat(radius, TRIED)
        tried = np.repeat(found.units, TRIED, axis=1) + steps
        tried /= np.maximum(np.sqrt((tried**2).sum(axis=0)), 1e-300)
        before = found.values.copy()
        found.take(_Found.of(self, tried, costs))
        return np.asarray(np.where(found.values < before, np.minimum(1.5 * radius, 1.0), 0.6 * radius))

    def _steps(self, d: int, count: int) -> Array:
        """Half of them in all directions, half along one or two features."""
        steps = self.rng.standard_normal((d, count)) / np.sqrt(d)
        alone = np.arange(0, count, 2)
        sparse = np.zeros((d, len(alone)))
        for _ in range(2):
            sparse[self.rng.integers(d, size=len(alone)), np.arange(len(alone))] += self.rng.standard_normal(len(alone))
        steps[:, alone] = sparse
        return np.asarray(steps)


@dataclass
class _Found:
    """For each of several costs: a direction, the least cost that it has, and the intercept that has it."""

    units: Array
    values: Array
    shifts: Array

    @classmethod
    def of(cls, directions: Directions, units: Array, costs: Array) -> _Found:
        """The best of some directions."""
        values, shifts = directions.cheapest(units, costs)
        best, each = np.argmin(values, axis=0), np.arange(costs.shape[1])
        return cls(units[:, best], values[best, each], shifts[best, each])

    def take(self, other: _Found) -> None:
        """Take over what is better."""
        better = other.values < self.values - 1e-12
        self.units[:, better] = other.units[:, better]
        self.values[better], self.shifts[better] = other.values[better], other.shifts[better]

    def weights(self, directions: Directions) -> Array:
        """For the features as given, with the intercepts."""
        return np.vstack([directions.raw(self.units), self.shifts])


def _sorted_out(scores: NDArray[Any], costs: Array) -> tuple[Array, Array]:
    """Least sums of costs above a threshold (directions, costs), and the intercepts that put it there."""
    n, count = scores.shape
    order = np.argsort(scores, axis=0)[::-1]
    ranked = np.take_along_axis(scores, order, axis=0).astype(float)
    running = np.empty((n + 1, count, costs.shape[1]))
    running[0] = 0.0
    np.cumsum(costs[order], axis=0, out=running[1:])
    # Scores that differ by rounding alone cannot be parted.
    eps = 8 * float(np.finfo(scores.dtype).eps) * (np.abs(ranked[[0, -1]]).max(axis=0) + 1e-300)
    apart = np.ones((n + 1, count), dtype=bool)
    apart[1:-1] = ranked[:-1] - ranked[1:] > eps
    running[~apart] = np.inf
    k = np.argmin(running, axis=0)
    padded = np.concatenate([ranked[:1] + 1, ranked, ranked[-1:] - 1])
    column = np.arange(count)[:, None]
    middle = (padded[k, column] + padded[k + 1, column]) / 2
    values = np.take_along_axis(running, k[None], axis=0)[0]
    return values, -middle
