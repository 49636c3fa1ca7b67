"""Which form a violation has: from the residual of a constraint to the proportions that it is a function of.

In: a residual, which the constraint keeps at or below 0. Out: a `Form`, of the sharpest kind that fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._core.errors import EquirateError
from ..data.slices import EVERYBODY
from ..judge.exact import LinearForm, sides_of
from ..language.clearing import cleared
from ..language.curvature import Curvature
from ..language.expressions import Expression, Quotient
from ..language.nodes import BlackBox, Rate
from .enclosing import Leaf, with_leaves
from .forms import Affine, Form, General, Nested, Share
from .proportions import Proportion, Sorts, contributions, oriented

_ROUND = 12
"""Digits to which values of a row are compared."""


def form_of(residual: Expression, classes: int = 2) -> Form:
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
    sorts = Sorts.of(classes, residual.rates())
    affine = _affine(residual, sorts)
    if affine is not None:
        return _nested(affine) or affine
    return _ratio(residual, sorts) or _general(residual, sorts)


def _affine(residual: Expression, sorts: Sorts) -> Affine | None:
    affine = LinearForm.of(residual)
    if affine is not None:
        return Affine.of(*_steps(affine, sorts))
    constant = 0.0
    parts: list[tuple[float, Proportion]] = []
    for factor, part in residual.terms():
        linear = LinearForm.of(factor if part is None else factor * part)
        if linear is not None:
            more, steps = _steps(linear, sorts)
            constant, parts = constant + more, [*parts, *steps]
            continue
        if not isinstance(part, Quotient) or any(True for _ in factor.rates()):
            return None
        single = _single(part, sorts)
        if single is None or not single.is_affine:
            return None
        times = float(factor.value(_no_rates))
        constant += times * float(single.value(0.0))
        parts.append((times * float(single.value(1.0) - single.value(0.0)), single.proportion))
    return Affine.of(constant, parts)


def _steps(linear: LinearForm, sorts: Sorts) -> tuple[float, list[tuple[float, Proportion]]]:
    """An affine function of rates: for each denominator a mean of few values, the sum of its steps.

    A variable with the values ``v_0 < v_1 < ...`` has the mean ``v_0 + sum of (v_j - v_(j-1)) P[V >= v_j]``.
    """
    constant, steps = linear.constant, []
    groups: dict[Any, list[int]] = {}
    for k, rate in enumerate(linear.rates):
        groups.setdefault((rate.population, rate.baseline), []).append(k)
    for members in groups.values():
        rates = [linear.rates[k] for k in members]
        inside = contributions(rates[0], sorts)[1]
        values = sum(linear.factors[k] * contributions(linear.rates[k], sorts)[0] for k in members)
        values = np.round(np.asarray(values, dtype=float), _ROUND)
        levels = sorted(set(values[inside].tolist()))
        constant += levels[0]
        for below, level in pairwise(levels):
            one, turned = oriented(
                rates[0].slice, rates[0].baseline, inside, inside & (values > (below + level) / 2), sorts
            )
            step = level - below
            steps.append((-step if turned else step, one))
            constant += step if turned else 0.0
    return constant, steps


def _nested(affine: Affine) -> Nested | None:
    """The rate of a group together with the same rate of everybody; None for anything else."""
    if len(affine.proportions) != 2:
        return None
    for group, everybody in ((0, 1), (1, 0)):
        one, all_ = affine.proportions[group], affine.proportions[everybody]
        if all_.slice == EVERYBODY and one == replace(all_, slice=one.slice):
            share = replace(all_, success=all_.counted, part=one.slice)
            others = replace(one, slice=~one.slice)
            own, other = float(affine.coefficients[group]), float(affine.coefficients[everybody])
            return Nested(affine.constant, own, other, (share, one, others))
    return None


@dataclass(frozen=True, eq=False)
class _Single:
    """A ratio that is a function of one proportion."""

    proportion: Proportion
    value: Callable[[Any], Any]
    is_affine: bool


def _single(ratio: Quotient, sorts: Sorts) -> _Single | None:
    """A ratio in which rows of one denominator count in two ways, or not at all; None for any other."""
    sides = sides_of(ratio)
    if sides is None:
        return None
    rates = [rate for side in sides for rate in side.rates]
    models = {rate.baseline for rate in rates} - {None}
    if len(models) > 1:
        return None
    inside = contributions(rates[0], sorts)[1]
    values = []
    for side in sides:
        total = np.full(sorts.count, side.constant)
        for rate, factor in zip(side.rates, side.factors, strict=True):
            total = total + factor * contributions(rate, sorts)[0]
        values.append(np.round(total, _ROUND))
    pairs = list(zip(*map(np.ndarray.tolist, values), strict=True))
    kinds = sorted({pair for pair, counts in zip(pairs, inside, strict=True) if counts and pair != (0.0, 0.0)})
    if len(kinds) != 2 or any(below < 0 for _, below in kinds):
        return None
    counted = [counts and pair in kinds for pair, counts in zip(pairs, inside, strict=True)]
    success = [pair == kinds[1] for pair in pairs]
    one, turned = oriented(rates[0].slice, next(iter(models), None), counted, success, sorts)
    (n1, d1), (n2, d2) = kinds[::-1] if turned else kinds

    def value(share: Any) -> Any:
        with np.errstate(all="ignore"):
            share = np.asarray(share, dtype=float)
            return (share * n2 + (1 - share) * n1) / (share * d2 + (1 - share) * d1)

    return _Single(one, value, d1 == d2)


def _ratio(residual: Expression, sorts: Sorts) -> Share | None:
    """A number plus one ratio of affine sums that are no function of one proportion."""
    if cleared(residual) is None:
        return None
    constant, ratios = 0.0, []
    for factor, part in residual.terms():
        if any(True for _ in factor.rates()):
            return None
        number = float(factor.value(_no_rates))
        if part is None:
            constant += number
        elif isinstance(part, Quotient):
            ratios.append((number, part))
    number, ratio = ratios[0]
    top, bottom = LinearForm.of(number * ratio.left), LinearForm.of(ratio.right)
    if top is None or bottom is None or _single(ratio, sorts) is not None:
        return None
    return Share.of(constant, Affine.of(*_steps(top, sorts)), Affine.of(*_steps(bottom, sorts)))


def _general(residual: Expression, sorts: Sorts) -> General:
    leaves: dict[tuple[Any, ...], Leaf] = {}
    proportions: list[Proportion] = []
    leaf_values: list[Callable[[Any], Any]] = []

    def add(part: Expression, one: Proportion, value: Callable[[Any], Any]) -> None:
        leaves[part.key] = Leaf(len(proportions))
        proportions.append(one)
        leaf_values.append(value)

    def visit(part: Expression) -> None:
        if part.key in leaves:
            return
        if isinstance(part, Rate):
            values, inside = contributions(part, sorts)
            one, turned = oriented(part.slice, part.baseline, inside, values > 0, sorts)
            add(part, one, _complement if turned else _same)
            return
        single = _single(part, sorts) if isinstance(part, Quotient) else None
        if single is not None:
            add(part, single.proportion, single.value)
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
    return General(expr, tuple(proportions), tuple(leaf_values), -expr)


def _same(share: Any) -> Any:
    return share


def _complement(share: Any) -> Any:
    return 1 - np.asarray(share, dtype=float)


def _no_rates(part: Any) -> Any:
    raise AssertionError(f"{part!r} in a number")
