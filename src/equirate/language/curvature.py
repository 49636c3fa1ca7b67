"""Curvature, monotonicity and intervals as values, and their composition, written once.

In: local facts about parts (an atom is concave and increasing, a rate lies in [0, 1]).
Out: the same facts about their composition. Only `expressions` uses it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum


class Curvature(StrEnum):
    """What kind of function of the rates an expression is.

    ``RATIO`` is a sum or difference of ratios of affine functions, perhaps with affine parts.

    Examples
    --------
    >>> Curvature.CONVEX + Curvature.AFFINE
    <Curvature.CONVEX: 'convex'>
    >>> -Curvature.CONVEX
    <Curvature.CONCAVE: 'concave'>
    >>> (Curvature.CONVEX + Curvature.RATIO).value
    'unknown'
    """

    CONSTANT = "constant"
    AFFINE = "affine"
    CONVEX = "convex"
    CONCAVE = "concave"
    RATIO = "ratio"
    UNKNOWN = "unknown"

    def __add__(self, other: str) -> Curvature:
        """Curvature of a sum."""
        first, second = sorted((self, Curvature(other)), key=_ORDER.__getitem__)
        if first in (Curvature.CONSTANT, Curvature.AFFINE) or first is second:
            return second
        return Curvature.UNKNOWN

    def __neg__(self) -> Curvature:
        """Curvature of the negative."""
        return {Curvature.CONVEX: Curvature.CONCAVE, Curvature.CONCAVE: Curvature.CONVEX}.get(self, self)

    def scaled(self, factor: Interval) -> Curvature:
        """Curvature after multiplication by a constant of which only the interval is known.

        Parameters
        ----------
        factor
            The interval of the constant.

        Returns
        -------
        Curvature
            That of the product.
        """
        if factor.lo == factor.hi == 0.0:
            return Curvature.CONSTANT
        if self in (Curvature.CONSTANT, Curvature.AFFINE, Curvature.RATIO) or factor.lo >= 0:
            return self
        return -self if factor.hi <= 0 else Curvature.UNKNOWN


_ORDER = {curvature: rank for rank, curvature in enumerate(Curvature)}


class Monotonicity(IntEnum):
    """Direction in which an atom moves with one of its arguments; the value is the slack's sense sigma."""

    DECREASING = -1
    NONE = 0
    INCREASING = 1


class Shape(Enum):
    """Curvature of an atom as a function of its own arguments."""

    CONVEX = Curvature.CONVEX
    CONCAVE = Curvature.CONCAVE


def compose(shape: Shape, arguments: Iterable[tuple[Monotonicity, Curvature]]) -> Curvature:
    """Curvature of an atom of expressions: the one composition rule of disciplined programming.

    A convex atom of a convex argument is convex if it is increasing there, of a concave argument if it is
    decreasing, and of an affine argument always; likewise for concave with the roles exchanged.

    Examples
    --------
    >>> compose(Shape.CONVEX, [(Monotonicity.INCREASING, Curvature.CONVEX)]).value
    'convex'
    >>> compose(Shape.CONVEX, [(Monotonicity.INCREASING, Curvature.CONCAVE)]).value
    'unknown'
    """
    own = shape.value
    parts = list(arguments)
    if all(curvature is Curvature.CONSTANT for _, curvature in parts):
        return Curvature.CONSTANT
    for monotonicity, curvature in parts:
        if curvature in (Curvature.CONSTANT, Curvature.AFFINE):
            continue
        needed = {Monotonicity.INCREASING: own, Monotonicity.DECREASING: -own}.get(monotonicity)
        if curvature is not needed:
            return Curvature.UNKNOWN
    return own


@dataclass(frozen=True)
class Interval:
    """A closed interval of the reals, with the arithmetic that range analysis needs.

    Examples
    --------
    >>> Interval(0, 1) - Interval(0, 1)
    Interval(lo=-1, hi=1)
    >>> Interval(-1, 2) * Interval(3, 3)
    Interval(lo=-3, hi=6)
    """

    lo: float
    hi: float

    def __add__(self, other: Interval) -> Interval:
        """Range of a sum of two independent quantities; infinities of both signs may add to anything."""
        lo, hi = self.lo + other.lo, self.hi + other.hi
        return Interval(-math.inf if math.isnan(lo) else lo, math.inf if math.isnan(hi) else hi)

    def __neg__(self) -> Interval:
        """Range of the negative."""
        return Interval(-self.hi, -self.lo)

    def __sub__(self, other: Interval) -> Interval:
        """Range of a difference."""
        return self + (-other)

    def __mul__(self, other: Interval) -> Interval:
        """Range of a product."""
        corners = [_times(a, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        """Range of a quotient; unbounded if the divisor can be zero, on one side only where the signs are known."""
        if other.lo == 0 < other.hi:
            lowest = self.lo / other.hi if self.lo >= 0 else -math.inf
            return Interval(lowest, self.hi / other.hi if self.hi <= 0 else math.inf)
        if other.lo <= 0 <= other.hi:
            return Interval(-math.inf, math.inf)
        return self * Interval(1 / other.hi, 1 / other.lo)

    def __contains__(self, other: Interval) -> bool:
        """Whether another interval lies inside this one."""
        return self.lo <= other.lo and other.hi <= self.hi

    def __and__(self, other: Interval) -> Interval:
        """Part that two intervals share."""
        return Interval(max(self.lo, other.lo), min(self.hi, other.hi))

    def widened(self, margin: float) -> Interval:
        """The interval with a margin on both sides, for rounding."""
        return Interval(self.lo - margin, self.hi + margin)

    def __str__(self) -> str:
        """Read as in mathematics."""
        return f"[{self.lo:g}, {self.hi:g}]"


def _times(a: float, b: float) -> float:
    """Multiply with 0 * inf = 0, as interval arithmetic requires."""
    return 0.0 if a == 0 or b == 0 else a * b


REALS = Interval(-math.inf, math.inf)
UNIT = Interval(0, 1)
