"""Rates, ratios and functions of them as numbers on counted cells: the truth's own language, apart from equirate's.

In: `Reach.totals`. Out: `Sum`s, affine in the four shares of predicted positives, with ratios and curved terms on top.
`Counted` and `Written` answer to the same names, so that a problem is written once, for both languages: ``L.f1(1)`` is
the F-measure of group 1, ``L.f1()`` that of everybody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .grounds import CELLS

Array = NDArray[np.float64]
FLOOR = 1e-3
"""Ratios whose denominator can vanish count from this denominator on, as in equirate's bounds."""


@dataclass(frozen=True, eq=False)
class Sum:
    """``slope @ shares + constant``, and coefficients times terms: `Ratio`s and `Curve`s."""

    slope: Array
    constant: float
    terms: tuple[tuple[float, Ratio | Curve], ...] = ()

    def __add__(self, other: Sum | float) -> Sum:
        if not isinstance(other, Sum):
            return Sum(self.slope, self.constant + other, self.terms)
        return Sum(self.slope + other.slope, self.constant + other.constant, self.terms + other.terms)

    def __sub__(self, other: Sum | float) -> Sum:
        return self + -1.0 * other

    def __rmul__(self, factor: float) -> Sum:
        terms = tuple((factor * coefficient, term) for coefficient, term in self.terms)
        return Sum(factor * self.slope, factor * self.constant, terms)

    def __truediv__(self, other: Sum) -> Sum:
        if self.terms or other.terms:
            raise TypeError("only affine functions have a ratio here")
        return Sum(np.zeros_like(self.slope), 0.0, ((1.0, Ratio(self, other)),))

    def value(self, shares: Array) -> float:
        """The number itself."""
        affine = float(self.slope @ shares) + self.constant
        return affine + sum(coefficient * term.value(shares) for coefficient, term in self.terms)

    @property
    def affine(self) -> bool:
        """Whether there are no terms."""
        return not self.terms

    def ratios(self) -> Iterator[Ratio]:
        """All ratios, those inside curves too."""
        for _, term in self.terms:
            if isinstance(term, Ratio):
                yield term
            else:
                for part in term.parts:
                    yield from part.ratios()


@dataclass(frozen=True, eq=False)
class Ratio:
    """One affine function over another."""

    top: Sum
    bottom: Sum

    def value(self, shares: Array) -> float:
        """The number; 0/0 counts as 0."""
        top, bottom = self.top.value(shares), self.bottom.value(shares)
        return top / bottom if bottom else 0.0

    def same(self, other: Ratio) -> bool:
        """Whether this is the same ratio."""
        pairs = ((self.top, other.top), (self.bottom, other.bottom))
        return all(np.allclose([*a.slope, a.constant], [*b.slope, b.constant]) for a, b in pairs)


@dataclass(frozen=True, eq=False)
class Curve:
    """A curved function of a few parts; by its name `programmes` knows what to do with it."""

    name: str
    parts: tuple[Sum, ...]
    function: Callable[..., float]

    def value(self, shares: Array) -> float:
        """The number itself."""
        return float(self.function(*(part.value(shares) for part in self.parts)))


class Counted:
    """The language of the truth: functions of a group (0, 1, or None for everybody)."""

    def __init__(self, totals: Array) -> None:
        self.totals = totals

    def _size(self, group: int | None, label: int | None = None) -> float:
        return float(sum(t for t, cell in zip(self.totals, CELLS, strict=True) if _inside(cell, group, label)))

    def _predicted(self, group: int | None, label: int | None = None) -> Sum:
        """The share of all examples that are in the group, have the label and are predicted positive."""
        return Sum(np.array([float(_inside(cell, group, label)) for cell in CELLS]), 0.0)

    def constant(self, value: float) -> Sum:
        """A number."""
        return Sum(np.zeros(len(CELLS)), value)

    def positive_rate(self, group: int | None = None) -> Sum:
        """P[predicted 1]."""
        return (1 / self._size(group)) * self._predicted(group)

    def tpr(self, group: int | None = None) -> Sum:
        """P[predicted 1 | label 1]."""
        return (1 / self._size(group, 1)) * self._predicted(group, 1)

    def fpr(self, group: int | None = None) -> Sum:
        """P[predicted 1 | label 0]."""
        return (1 / self._size(group, 0)) * self._predicted(group, 0)

    def error_rate(self, group: int | None = None) -> Sum:
        """P[wrong]."""
        wrong = self._predicted(group, 0) - self._predicted(group, 1) + self._size(group, 1)
        return (1 / self._size(group)) * wrong

    def accuracy(self, group: int | None = None) -> Sum:
        """P[right]."""
        return -1.0 * self.error_rate(group) + 1.0

    def cost(self, group: int | None = None, *, fp: float, fn: float) -> Sum:
        """Average cost."""
        missed = -1.0 * self._predicted(group, 1) + self._size(group, 1)
        return (1 / self._size(group)) * (fp * self._predicted(group, 0) + fn * missed)

    def precision(self, group: int | None = None) -> Sum:
        """True among predicted positives. Numerator and denominator are shares of the group, as a floor on them is."""
        size = self._size(group)
        return ((1 / size) * self._predicted(group, 1)) / ((1 / size) * self._predicted(group))

    def npv(self, group: int | None = None) -> Sum:
        """True among predicted negatives."""
        size = self._size(group)
        right = -1.0 * self._predicted(group, 0) + self._size(group, 0)
        return ((1 / size) * right) / (-1.0 / size * self._predicted(group) + 1.0)

    def f1(self, group: int | None = None) -> Sum:
        """2 tp / (predicted + labelled positives)."""
        size = self._size(group)
        whole = self._predicted(group) + self._size(group, 1)
        return ((2 / size) * self._predicted(group, 1)) / ((1 / size) * whole)

    def jaccard(self, group: int | None = None) -> Sum:
        """Tp / (tp + fp + fn)."""
        size = self._size(group)
        whole = self._predicted(group, 0) + self._size(group, 1)
        return ((1 / size) * self._predicted(group, 1)) / ((1 / size) * whole)

    def kappa(self, group: int | None = None) -> Sum:
        """(accuracy - chance) / (1 - chance), both sides times the size of the group."""
        share = self._size(group, 1) / self._size(group)
        top = 2.0 * (self._predicted(group, 1) - share * self._predicted(group))
        bottom = (1 - 2 * share) * self._predicted(group) + self._size(group, 1)
        return ((1 / self._size(group)) * top) / ((1 / self._size(group)) * bottom)

    def g_mean(self, group: int | None = None) -> Sum:
        """Geometric mean of tpr and tnr."""
        return self._curve("geometric", lambda a, b: math.sqrt(max(a * b, 0.0)), *self._both(group))

    def h_mean(self, group: int | None = None) -> Sum:
        """Harmonic mean of tpr and tnr."""
        return self._curve("harmonic", lambda a, b: 2 * a * b / (a + b) if a + b else 0.0, *self._both(group))

    def q_mean(self, group: int | None = None) -> Sum:
        """1 - root mean square of fpr and fnr."""
        missed = -1.0 * self.tpr(group) + 1.0
        return -1 / math.sqrt(2) * self._curve("norm", math.hypot, self.fpr(group), missed) + 1.0

    def kl_divergence(self, group: int | None = None) -> Sum:
        """Divergence of the predicted proportion from everybody's share of label 1."""
        p = self._size(None, 1)

        def divergence(r: float) -> float:
            return p * math.log(p / r) + (1 - p) * math.log((1 - p) / (1 - r)) if 0 < r < 1 else math.inf

        return self._curve(f"kl {p!r}", divergence, self.positive_rate(group))

    def matthews(self, group: int | None = None) -> Sum:
        """Correlation of label and prediction."""
        p = self._size(group, 1) / self._size(group)

        def correlation(tpr: float, fpr: float) -> float:
            q = p * tpr + (1 - p) * fpr
            spread = math.sqrt(max(p * (1 - p) * q * (1 - q), 0.0))
            return p * (1 - p) * (tpr - fpr) / spread if spread > 0 else 0.0

        return self._curve("plane", correlation, self.tpr(group), self.fpr(group))

    def box(self, function: Callable[[Any, Any], Any], group: int | None = None) -> Sum:
        """Any function that rises with tpr and falls with fpr."""
        return self._curve("plane", function, self.tpr(group), self.fpr(group))

    def minimum(self, *parts: Sum) -> Sum:
        """The smallest part."""
        return self._curve("min", min, *parts)

    def maximum(self, *parts: Sum) -> Sum:
        """The largest part."""
        return self._curve("max", max, *parts)

    def absolute(self, part: Sum) -> Sum:
        """The absolute value."""
        return self._curve("max", max, part, -1.0 * part)

    def root(self, part: Sum) -> Sum:
        """The square root, of one ratio."""
        return self._curve("increasing", lambda value: math.sqrt(max(value, 0.0)), part)

    def _both(self, group: int | None) -> tuple[Sum, Sum]:
        return self.tpr(group), -1.0 * self.fpr(group) + 1.0

    def _curve(self, name: str, function: Callable[..., float], *parts: Sum) -> Sum:
        return Sum(np.zeros(len(CELLS)), 0.0, ((1.0, Curve(name, parts, function)),))


_FUNCTIONS = {"minimum": "min", "maximum": "max", "absolute": "abs", "root": "sqrt"}
"""Functions of expressions, and what equirate calls them."""


class Written:
    """The same names in equirate's language."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(eq, _FUNCTIONS.get(name, name))
        return function if name in _FUNCTIONS else lambda group=None, **more: function(_slice(group), **more)

    def box(self, function: Callable[[Any, Any], Any], group: int | None = None) -> Any:
        """A black box of tpr and fpr."""
        inside = _slice(group)
        return eq.black_box(function, eq.tpr(inside), eq.fpr(inside), increasing=[True, False])


def _slice(group: int | None) -> eq.Slice | None:
    one = eq.attr("g") == 1
    return None if group is None else one if group == 1 else ~one


def _inside(cell: tuple[int, int], group: int | None, label: int | None) -> bool:
    return group in (None, cell[0]) and label in (None, cell[1])


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem in either language: ``(expression, "<=" | ">=" | "within", number)`` are its constraints."""

    sense: str
    objective: Any
    constraints: tuple[tuple[Any, str, float], ...] = ()

    def written(self) -> eq.Problem:
        """The problem as equirate takes it; its parts must be equirate's."""
        made = [
            eq.abs(left) <= right if symbol == "within" else left <= right if symbol == "<=" else left >= right
            for left, symbol, right in self.constraints
        ]
        return eq.Problem((eq.maximize if self.sense == "maximize" else eq.minimize)(self.objective), made)

    @property
    def sign(self) -> float:
        """-1 if larger is better: the sign times the objective is what is minimised."""
        return -1.0 if self.sense == "maximize" else 1.0

    def residuals(self) -> list[Sum]:
        """What must not be above 0, in the language of counts."""
        found = []
        for left, symbol, right in self.constraints:
            if symbol in ("<=", "within"):
                found.append(left - right)
            if symbol in (">=", "within"):
                found.append(-1.0 * left - (-right if symbol == ">=" else right))
        return found

    def violation(self, shares: Array) -> float:
        """The largest violation at some shares, at least 0."""
        return max((part.value(shares) for part in self.residuals()), default=0.0)
