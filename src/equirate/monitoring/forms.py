r"""A constraint's violation as a function of proportions, and its bounds at any time.

In: a residual, which the constraint keeps at or below 0. Out: a `Form`: the proportions to count, the value at given
counts, and bounds over all proportions that the evidence does not rule out. There are three:

- `Affine`: a number plus multiples of proportions (rates, their differences between groups, precisions and their
  differences). Proportions without rows in common share one region (`martingales.largest`); where rates have rows in
  common, each class of disjoint ones has a region of its own at an equal share of the level.
- `Quotient`-like `Share` of two affine sums, such as the ratio of two groups' positive rates: bounded by the t at which
  the bound of N - t D, which is affine, reaches 0.
- `General`: any other function. Every proportion has an interval at an equal share of the level, and the function is
  bounded over the box of them (`enclosing`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from .._core.errors import EquirateError
from ..judge.exact import Linear
from ..language.clearing import cleared
from ..language.curvature import Curvature, Interval
from ..language.expressions import Expression, Quotient
from ..language.nodes import BlackBox, Rate
from .enclosing import Leaf, largest_value, value_at, with_leaves
from .martingales import largest
from .proportions import SORTS, Proportion, classes, contributions, oriented

Array = NDArray[np.float64]

_LARGEST = 1e9
"""A ratio that is not bounded below this is not bounded."""
_ROUND = 12
"""Digits to which values of a row are told apart."""


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
        together: dict[Proportion, float] = {}
        for coefficient, one in parts:
            together[one] = together.get(one, 0.0) + coefficient
        known = {one: c for one, c in together.items() if c}
        return cls(constant, tuple(known), np.array(list(known.values())), tuple(map(tuple, classes(known))))

    def value(self, p: Array) -> Array:
        """Add up."""
        return np.asarray(self.constant + self.coefficients @ p)

    def bound(self, successes: Array, trials: Array, alpha: float, side: int) -> float:
        """Largest or smallest value over the regions of all classes."""
        found, limit = side * self.constant, math.log(len(self.classes) / alpha) if self.classes else 0.0
        for part in map(list, self.classes):
            found += largest(side * self.coefficients[part], successes[part], trials[part], limit)
        return side * found


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
        found = float(brentq(above, start, outer, xtol=1e-9))
        return self.constant + found + side * 2e-9


@dataclass(frozen=True, eq=False)
class General(Form):
    """Any function of quantities that are each monotone in one proportion."""

    expr: Expression
    proportions: tuple[Proportion, ...]
    worths: tuple[Callable[[Any], Any], ...]
    """What each leaf is worth at its proportion."""
    negative: Expression = field(repr=False)

    def value(self, p: Array) -> Array:
        """Evaluate the expression."""
        return value_at(self.expr, [worth(row) for worth, row in zip(self.worths, p, strict=True)])

    def bound(self, successes: Array, trials: Array, alpha: float, side: int) -> float:
        """Bound over the box of intervals."""
        limit, one = math.log(len(self.proportions) / alpha), np.ones(1)
        box = []
        for worth, k, n in zip(self.worths, successes, trials, strict=True):
            k, n = np.array([k]), np.array([n])
            ends = [float(worth(end)) for end in (-largest(-one, k, n, limit), largest(one, k, n, limit))]
            box.append(Interval(min(ends), max(ends)))
        found = largest_value(self.expr if side > 0 else self.negative, tuple(box))
        return side * found


# -- taking residuals apart -----------------------------------------------------------------------


def form_of(residual: Expression) -> Form:
    """The form of a residual: affine where it can be, then a ratio of affine sums, then any function.

    Examples
    --------
    >>> import equirate as eq
    >>> women = eq.attr("sex") == "F"
    >>> type(form_of((eq.precision(women) >= eq.precision(~women) - 0.02).residual)).__name__
    'Affine'
    >>> type(form_of((eq.positive_rate(women) / eq.positive_rate(~women) >= 0.8).residual)).__name__
    'Share'
    """
    if any(True for _ in residual.losses()):
        raise EquirateError(f"a monitor follows decisions, and {residual!r} holds a loss of scores: leave it out")
    return _affine(residual) or _ratio(residual) or _general(residual)


def _affine(residual: Expression) -> Affine | None:
    whole = Linear.of(residual)
    if whole is not None:
        return Affine.of(*_steps(whole))
    constant = 0.0
    parts: list[tuple[float, Proportion]] = []
    for factor, part in residual.terms():
        linear = Linear.of(factor if part is None else factor * part)
        if linear is not None:
            more, found = _steps(linear)
            constant, parts = constant + more, [*parts, *found]
            continue
        if not isinstance(part, Quotient) or any(True for _ in factor.rates()):
            return None
        single = _single(part)
        if single is None or not single.is_affine:
            return None
        times = float(factor.value(_no_rates))
        constant += times * float(single.worth(0.0))
        parts.append((times * float(single.worth(1.0) - single.worth(0.0)), single.proportion))
    return Affine.of(constant, parts)


def _steps(linear: Linear) -> tuple[float, list[tuple[float, Proportion]]]:
    """An affine function of rates: for each denominator a mean of few values, the sum of its steps.

    A variable with the values ``v_0 < v_1 < ...`` has the mean ``v_0 + sum of (v_j - v_(j-1)) P[V >= v_j]``.
    """
    constant, found = linear.constant, []
    groups: dict[Any, list[int]] = {}
    for k, rate in enumerate(linear.rates):
        groups.setdefault((rate.slice, rate.kind.labels, rate.baseline), []).append(k)
    for members in groups.values():
        rates = [linear.rates[k] for k in members]
        inside = contributions(rates[0])[1]
        values = sum(linear.factors[k] * contributions(linear.rates[k])[0] for k in members)
        values = np.round(np.asarray(values, dtype=float), _ROUND)
        levels = sorted(set(values[inside].tolist()))
        constant += levels[0]
        for below, level in pairwise(levels):
            one, turned = oriented(rates[0].slice, rates[0].baseline, inside, inside & (values > (below + level) / 2))
            step = level - below
            found.append((-step if turned else step, one))
            constant += step if turned else 0.0
    return constant, found


@dataclass(frozen=True, eq=False)
class _Single:
    """A ratio that is a function of one proportion."""

    proportion: Proportion
    worth: Callable[[Any], Any]
    is_affine: bool


def _single(ratio: Quotient) -> _Single | None:
    """A ratio in which rows of one denominator count in two ways, or not at all; None for any other."""
    sides = [Linear.of(side) for side in (ratio.left, ratio.right)]
    top, bottom = sides
    if top is None or bottom is None:
        return None
    rates = [*top.rates, *bottom.rates]
    if len({(rate.slice, rate.kind.labels) for rate in rates}) != 1:
        return None
    models = {rate.baseline for rate in rates} - {None}
    if len(models) > 1:
        return None
    inside = contributions(rates[0])[1]
    values = []
    for side in (top, bottom):
        total = np.full(SORTS, side.constant)
        for rate, factor in zip(side.rates, side.factors, strict=True):
            total = total + factor * contributions(rate)[0]
        values.append(np.round(total, _ROUND))
    pairs = list(zip(*map(np.ndarray.tolist, values), strict=True))
    kinds = sorted({pair for pair, here in zip(pairs, inside, strict=True) if here and pair != (0.0, 0.0)})
    if len(kinds) != 2 or any(below < 0 for _, below in kinds):
        return None
    counted = [here and pair in kinds for pair, here in zip(pairs, inside, strict=True)]
    success = [pair == kinds[1] for pair in pairs]
    one, turned = oriented(rates[0].slice, next(iter(models), None), counted, success)
    (n1, d1), (n2, d2) = kinds[::-1] if turned else kinds

    def worth(share: Any) -> Any:
        with np.errstate(all="ignore"):
            share = np.asarray(share, dtype=float)
            return (share * n2 + (1 - share) * n1) / (share * d2 + (1 - share) * d1)

    return _Single(one, worth, d1 == d2)


def _ratio(residual: Expression) -> Share | None:
    """A number plus one ratio of affine sums that are no function of one proportion."""
    if cleared(residual) is None:
        return None
    constant, found = 0.0, []
    for factor, part in residual.terms():
        if any(True for _ in factor.rates()):
            return None
        number = float(factor.value(_no_rates))
        if part is None:
            constant += number
        elif isinstance(part, Quotient):
            found.append((number, part))
    number, ratio = found[0]
    top, bottom = Linear.of(number * ratio.left), Linear.of(ratio.right)
    if top is None or bottom is None or _single(ratio) is not None:
        return None
    return Share.of(constant, Affine.of(*_steps(top)), Affine.of(*_steps(bottom)))


def _general(residual: Expression) -> General:
    leaves: dict[tuple[Any, ...], Leaf] = {}
    proportions: list[Proportion] = []
    worths: list[Callable[[Any], Any]] = []

    def add(part: Expression, one: Proportion, worth: Callable[[Any], Any]) -> None:
        leaves[part.key] = Leaf(len(proportions))
        proportions.append(one)
        worths.append(worth)

    def visit(part: Expression) -> None:
        if part.key in leaves:
            return
        if isinstance(part, Rate):
            values, inside = contributions(part)
            one, turned = oriented(part.slice, part.baseline, inside, values > 0)
            add(part, one, _complement if turned else _same)
            return
        single = _single(part) if isinstance(part, Quotient) else None
        if single is not None:
            add(part, single.proportion, single.worth)
            return
        if isinstance(part, BlackBox) and any(each.curvature is Curvature.CONSTANT for each in part.arguments):
            raise EquirateError(
                f"a monitor cannot bound {part!r}: its direction in a rate of the data alone, such as base_rate(), is "
                "not known; follow the rates in it instead, as in informedness() or precision()"
            )
        for child in part.children:
            visit(child)

    visit(residual)
    expr = with_leaves(residual, leaves)
    return General(expr, tuple(proportions), tuple(worths), -expr)


def _same(share: Any) -> Any:
    return share


def _complement(share: Any) -> Any:
    return 1 - np.asarray(share, dtype=float)


def _no_rates(part: Any) -> Any:
    raise AssertionError(f"{part!r} in a number")
