r"""A constraint's violation as a function of proportions, and its bounds at any time.

A `Form` has the proportions to count, the value at given counts, and bounds over all proportions that the evidence does
not rule out; `residuals` finds it. There are four:

- `Affine`: a number plus multiples of proportions (rates, their differences between groups, precisions and their
  differences). Proportions without rows in common share one region (`martingales.largest`); where rates have rows in
  common, each class of disjoint ones has a region of its own at an equal share of the level.
- `Share`: a number plus the ratio of two affine sums, such as the ratio of two groups' positive rates, bounded by the t
  at which the bound of N - t D, which is affine, reaches 0.
- `Nested`: a rate of a group and the same rate of everybody, such as ``positive_rate(women) - positive_rate()``. With
  the group's share among everybody it is linear in the rates of the group and of the rest, which have a region of their
  own; the share has an interval.
- `General`: any other function. Every proportion has an interval at an equal share of the level, and the function is
  bounded over the box of them (`enclosing`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..language.curvature import Interval
from ..language.expressions import Expression
from .enclosing import largest_value, value_at
from .martingales import largest
from .proportions import Proportion, classes

Array = NDArray[np.float64]

_LARGEST = 1e9
"""A ratio that is not bounded below this is not bounded."""


class Form:
    """A function of proportions."""

    proportions: tuple[Proportion, ...]

    def value(self, p: Array) -> Array:
        """The value at proportions (proportions, points)."""
        raise NotImplementedError

    def bound(self, successes: Array, trials: Array, alpha: float, side: int) -> float:
        """Upper (side 1) or lower (-1) bound; both hold at all times together with a chance of 1 - ``alpha``."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Affine(Form):
    """``constant + coefficients @ p``."""

    constant: float
    proportions: tuple[Proportion, ...]
    coefficients: Array
    classes: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, constant: float, parts: Sequence[tuple[float, Proportion]]) -> Affine:
        """Add up parts; the same proportion is counted once."""
        sums: dict[Proportion, float] = {}
        for coefficient, one in parts:
            sums[one] = sums.get(one, 0.0) + coefficient
        known = {one: c for one, c in sums.items() if c}
        return cls(constant, tuple(known), np.array(list(known.values())), tuple(map(tuple, classes(known))))

    def value(self, p: Array) -> Array:
        """Add up."""
        return np.asarray(self.constant + self.coefficients @ p)

    def bound(self, successes: Array, trials: Array, alpha: float, side: int) -> float:
        """Largest or smallest value over the regions of all classes."""
        total, limit = side * self.constant, math.log(len(self.classes) / alpha) if self.classes else 0.0
        for part in map(list, self.classes):
            total += largest(side * self.coefficients[part], successes[part], trials[part], limit)
        return side * total


@dataclass(frozen=True, eq=False)
class Share(Form):
    """``constant + top / bottom`` of two affine sums, the lower one not negative."""

    constant: float
    top: Affine
    bottom: Affine
    proportions: tuple[Proportion, ...]
    classes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, constant: float, top: Affine, bottom: Affine) -> Share:
        """Put two sums over each other."""
        known = tuple(dict.fromkeys([*top.proportions, *bottom.proportions]))
        return cls(constant, top, bottom, known, tuple(map(tuple, classes(known))))

    def _places(self, part: Affine) -> list[int]:
        return [self.proportions.index(one) for one in part.proportions]

    def _less(self, t: float) -> Affine:
        """The sum N - t D."""
        coefficients = np.zeros(len(self.proportions))
        np.add.at(coefficients, self._places(self.top), self.top.coefficients)
        np.add.at(coefficients, self._places(self.bottom), -t * self.bottom.coefficients)
        constant = self.top.constant - t * self.bottom.constant
        return Affine(constant, self.proportions, coefficients, self.classes)

    def value(self, p: Array) -> Array:
        """Divide; 0/0 is NaN."""
        with np.errstate(all="ignore"):
            above, below = self.top.value(p[self._places(self.top)]), self.bottom.value(p[self._places(self.bottom)])
            return np.asarray(self.constant + above / below)

    def bound(self, successes: Array, trials: Array, alpha: float, side: int) -> float:
        """Look for the t beyond which ``side * (N - t D)`` cannot be positive."""
        with np.errstate(all="ignore"):
            start = float(self.value(successes / trials)) - self.constant

        def above(t: float) -> float:
            return side * self._less(t).bound(successes, trials, alpha, side)

        if not math.isfinite(start):
            return side * math.inf
        outer = start + side * 0.1
        while above(outer) > 0:
            if abs(outer) > _LARGEST:
                return side * math.inf
            outer = start + 4 * (outer - start)
        root = float(brentq(above, start, outer, xtol=1e-9))
        return self.constant + root + side * 2e-9


@dataclass(frozen=True, eq=False)
class Nested(Form):
    """``constant + own * a + overall * (s a + (1 - s) b)``: a rate of a group, a; of the rest, b; the group's share, s.

    The share has an interval, the two rates have a region, each at half of the level. For given rates the value is
    linear in the share, so that its ends are enough.
    """

    constant: float
    own: float
    overall: float
    proportions: tuple[Proportion, ...]
    """The share, and the rate in the group and in the rest."""

    def value(self, p: Array) -> Array:
        """Combine the rates of the group and of the rest."""
        share, group, others = p
        return np.asarray(self.constant + self.own * group + self.overall * (share * group + (1 - share) * others))

    def bound(self, successes: Array, trials: Array, alpha: float, side: int) -> float:
        """The larger of the bounds at both ends of the share."""
        one, limit, bounds = np.ones(1), math.log(2 / alpha), []
        k, n = successes[:1], trials[:1]
        for share in (-largest(-one, k, n, limit), largest(one, k, n, limit)):
            factors = side * np.array([self.own + self.overall * share, self.overall * (1 - share)])
            bounds.append(largest(factors, successes[1:], trials[1:], limit))
        return self.constant + side * max(bounds)


@dataclass(frozen=True, eq=False)
class General(Form):
    """Any function of quantities that are each monotone in one proportion."""

    expr: Expression
    proportions: tuple[Proportion, ...]
    leaf_values: tuple[Callable[[Any], Any], ...]
    """The value of each leaf as a function of its proportion."""
    negative: Expression = field(repr=False)

    def value(self, p: Array) -> Array:
        """Evaluate the expression."""
        return value_at(self.expr, [leaf_value(row) for leaf_value, row in zip(self.leaf_values, p, strict=True)])

    def bound(self, successes: Array, trials: Array, alpha: float, side: int) -> float:
        """Bound over the box of intervals."""
        limit, one = math.log(len(self.proportions) / alpha), np.ones(1)
        box = []
        for leaf_value, k, n in zip(self.leaf_values, successes, trials, strict=True):
            k, n = np.array([k]), np.array([n])
            ends = [float(leaf_value(end)) for end in (-largest(-one, k, n, limit), largest(one, k, n, limit))]
            box.append(Interval(min(ends), max(ends)))
        bound = largest_value(self.expr if side > 0 else self.negative, tuple(box))
        return side * bound
