r"""Estimates of functions of rates: the value on a sample, its standard error, and one-sided confidence bounds.

**A linear function of the rates** is a weighted mean of what the examples contribute, and its bound is that of a
Bayesian bootstrap of the sample with one made-up example for every denominator, of the outcome that would raise
(lower) it most. For a proportion of 0/1 outcomes that is the Clopper-Pearson bound; for bounded contributions it is the
bound of Learned-Miller and Thomas (2019). With v and m the sums of the squares and cubes of the influences in that
sample the quantile is found without drawing,

.. math:: L = \frac{m}{2v} \pm \tfrac12 \Bigl(\sum_d s_d^2\Bigr)^{1/2} + \sqrt v\, q(\pm z, 2 m v^{-3/2}),

where q is the quantile of a gamma variable with this skewness, m / 2v the second-order correction of a skewed mean
(Cai 2005), and s_d the span of one example in denominator d: half an example's step is what discreteness can hide, and
steps of different denominators add up like independent errors, not one on top of the other.

**Any other function** f is bounded by its largest value over the rates that are compatible with the data: those
within L(g) along every direction g. The largest value is looked for where f is steepest,

.. math:: x \leftarrow \hat R + L(g)\, \Sigma g / (g' \Sigma g), \quad g = \nabla f(x),

which rises monotonically for convex f, and for a ratio is Dinkelbach's iteration: its bound is Fieller's, the same as
that of the constraint multiplied through (`precision >= c` is about the mean of yhat (y - c)). For convex f it covers
as the linear bound does: if f(R) is above all f(x), then g'R, with the gradient at R, is above its own bound. Where f
bends the other way (the lower bound of a KL divergence) the plug-in value is biased towards the bound, by half the
trace of Hessian times covariance; that much is added.

Effective sizes are Kish's, (sum of w)^2 / sum of w^2, over clusters where examples belong together. There, and for
weights, the normal quantile is replaced by Student's with Satterthwaite's degrees of freedom.

Expressions are those of the mixture's *expected* rates; a single draw of a stochastic classifier varies around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._core.cached import cached_property
from .._core.errors import EquirateError
from ..data.cells import Cells
from ..data.examples import Examples
from ..language.clearing import cleared
from ..language.curvature import REALS, Curvature, Interval
from ..language.expressions import Expression
from ..language.measuring import measurer
from ..language.nodes import Rate
from .class_spread import class_sums
from .linear import FEWER, LinearFunctions, alike, together, whole_numbers
from .spread import CellSums, Sums, UnitSums, columns, outcomes, rates_by_key

Array = NDArray[np.float64]

_AT_ONCE = 2**20  # numbers in the points at which an expression is evaluated at once
_STEPS = 5  # of the search for the largest value


@dataclass(frozen=True)
class Estimate:
    """A value on a sample with its standard error; ``within`` is the range of possible values.

    ``bound`` gives the one-sided bound for a confidence level and a side (+1 above, -1 below); without it the bounds
    are those of a normal variable.
    """

    value: float
    error: float
    within: Interval = REALS
    bound: Callable[[float, int], float] | None = field(default=None, repr=False, compare=False)
    affine: bool = field(default=False, repr=False, compare=False)
    """Whether it is of a linear function of rates: then `opposite` holds."""

    def upper(self, confidence: float) -> float:
        """One-sided upper bound at a confidence level, inside the range of possible values."""
        return min(max(self._reached(confidence, 1), self.value), max(self.within.hi, self.value))

    def lower(self, confidence: float) -> float:
        """One-sided lower bound at a confidence level, inside the range of possible values."""
        return max(min(self._reached(confidence, -1), self.value), min(self.within.lo, self.value))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Two-sided interval at a confidence level: one-sided bounds, each with half of the error probability."""
        one_sided = 0.5 + confidence / 2
        return self.lower(one_sided), self.upper(one_sided)

    def opposite(self, value: float, within: Interval) -> Estimate:
        """The estimate of an expression that differs from the negative of this one by a constant only."""
        if self.bound is None:
            return Estimate(value, self.error, within)
        bound, total = self.bound, self.value + value
        return Estimate(value, self.error, within, lambda confidence, side: total - bound(confidence, -side))

    def _reached(self, confidence: float, side: int) -> float:
        if self.bound is not None:
            return self.bound(confidence, side)
        reach = float(ndtri(confidence)) * self.error
        return self.value + side * reach if np.isfinite(reach) else side * np.inf


def check_confidence(confidence: Any) -> None:
    """Raise an error unless ``confidence`` is a number between 0.5 and 1."""
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0.5 < float(confidence) < 1:
        raise EquirateError(f"confidence must lie between 0.5 and 1, such as 0.95; got {confidence!r}")


def estimate(expr: Expression, examples: Examples, predictions: Array) -> Estimate:
    """Value, standard error and bounds of an expression on predictions (0/1 or probabilities of predicting 1).

    Examples
    --------
    >>> import equirate as eq
    >>> y = np.array([0, 1] * 200)
    >>> result = estimate(eq.accuracy(), Examples.of(y), np.where(np.arange(400) < 300, y, 1 - y))
    >>> round(result.value, 3), round(result.error, 3)
    (0.75, 0.022)
    """
    return CellSample.of(list(expr.rates()), examples, predictions).estimate(expr)


@dataclass(frozen=True, eq=False)
class CellSample:
    """Examples and predictions as sums over cells, gathered once for any number of expressions."""

    cells: Cells
    sums: Sums
    counts: Array
    """Weighted number of predictions of 1 by cell, or of each answer by cell."""
    measure: Callable[..., float]
    plain: bool
    """Whether examples are independent and have equal weights: then counts are binomial."""

    @classmethod
    def of(
        cls,
        rates: Sequence[Rate],
        examples: Examples,
        predictions: Array,
        drawn: bool = False,
        cells: Cells | None = None,
    ) -> CellSample:
        """Gather the sums for some rates; ``cells`` are those of the examples, where they are known."""
        cells = Cells.of_rates(examples, rates) if cells is None else cells
        # Rates without examples are left out here; `measurer` raises an error that names what is missing.
        counts = cells.expected_counts(predictions)
        known = rates_by_key(cells, rates, counts)
        weights, clusters = examples.weights, examples.clusters
        sums: Sums
        if clusters is not None:
            sums = UnitSums.of_clusters(cells, weights, predictions, clusters)
        else:
            sums = (class_sums if cells.n_classes > 2 else CellSums.of)(cells, weights, predictions, drawn)
        positive = weights[:1] if (weights == 1).all() else weights[weights > 0]
        low, high = cells.shared.range(positive.min(initial=np.inf), positive.max(initial=-np.inf))
        plain = clusters is None and bool(low >= high)
        return cls(cells, sums, counts, measurer(examples, predictions, known), plain)

    def times(self, factor: float) -> CellSample:
        """The sample as it would be with ``factor`` times as many such examples."""
        return replace(self, sums=self.sums.times(factor))

    def merged(self, rates: Sequence[Rate]) -> CellSample:
        """The same sample with those cells merged that these rates treat alike.

        An expression about one of many groups then costs as much as with two groups.
        """
        if self.cells.n_classes > 2:
            return self
        members = {rate.slice: self.cells.members[rate.slice] for rate in rates}
        baselines = {rate.baseline: self.cells.baselines[rate.baseline] for rate in rates if rate.baseline is not None}
        bits = [self.cells.labels, *members.values(), *baselines.values()]
        if 2 ** len(bits) * FEWER > len(self.cells):
            return self
        _, first, into = np.unique(whole_numbers(bits), return_index=True, return_inverse=True)
        cells = replace(
            self.cells,
            index=np.zeros(0, np.int32),  # no examples: their sums are known
            weights=np.zeros(0),
            totals=np.bincount(into, weights=self.cells.totals).astype(float, copy=False),
            labels=self.cells.labels[first],
            members={slice_: inside[first] for slice_, inside in members.items()},
            baselines={name: values[first] for name, values in baselines.items()},
        )
        counts = np.bincount(into, weights=self.counts).astype(float, copy=False)
        return replace(self, cells=cells, sums=self.sums.merged(len(first), into), counts=counts)

    def estimate(self, expr: Expression) -> Estimate:
        """Estimate an expression of these rates."""
        value = float(expr.value(self.measure))
        rates = list({rate.key: rate for rate in expr.rates()}.values())
        if not rates or not np.isfinite(value):
            return Estimate(value, 0.0 if np.isfinite(value) else np.inf, expr.interval)
        bounds = Bounds(self.merged(rates), expr, value, rates)
        return Estimate(value, bounds.error, expr.interval, bounds, bounds.affine)

    def estimates(self, exprs: Sequence[Expression]) -> list[Estimate]:
        """Estimate several expressions; linear ones that are alike are worked out together."""
        if self.cells.n_classes > 2 or not isinstance(self.sums, CellSums):
            return list(map(self.estimate, exprs))
        estimates: dict[int, Estimate] = {}
        same: dict[Any, list[int]] = {}
        for k, expr in enumerate(exprs):
            if expr.linear_factors:
                same.setdefault(alike([rate for rate, _ in expr.linear_factors]), []).append(k)
            else:
                estimates[k] = self.estimate(expr)
        for kind, places in same.items():
            many = max(1, _AT_ONCE // (len(self.cells) * len(kind)))
            for first in range(0, len(places), many):
                some = places[first : first + many]
                estimates.update(zip(some, self._alike([exprs[k] for k in some], self.sums), strict=True))
        return [estimates[k] for k in range(len(exprs))]

    def _alike(self, exprs: Sequence[Expression], sums: CellSums) -> Iterator[Estimate]:
        """Estimate linear expressions that are alike."""
        factors = [expr.linear_factors or () for expr in exprs]
        functions = [[rate for rate, _ in own] for own in factors]
        linear = together(self.cells, sums, self.plain, self.measure, functions)
        values = np.array([float(expr.value(self.measure)) for expr in exprs])
        gradient = np.array([[factor for _, factor in own] for own in factors])

        @cache  # worked out for all functions when the first of them asks
        def bounds(confidence: float, side: int) -> Array:
            reach, _ = linear.reach(gradient, side, confidence)
            return values + reach

        def bound(k: int, confidence: float, side: int) -> float:
            return float(bounds(confidence, side)[k])

        errors = linear.error(gradient).tolist()
        for k, (expr, value, error) in enumerate(zip(exprs, values.tolist(), errors, strict=True)):
            yield Estimate(value, error, expr.interval, partial(bound, k), affine=True)


class Bounds:
    """Confidence bounds of an expression on a sample, computed when they are first used."""

    def __init__(self, sample: CellSample, expr: Expression, value: float, rates: Sequence[Rate]) -> None:
        self.sample, self.value, self.rates = sample, value, rates
        self._known: dict[tuple[float, int], float] = {}
        compared = any(rate.baseline is not None for rate in rates)
        here = np.array([[sample.measure(rate) for rate in rates]])
        slopes, offsets, inside = columns(sample.cells, rates)
        sorts = [outcomes(rate, sample.cells.n_classes, compared) for rate in rates]
        self.linear = LinearFunctions(
            sample.sums,
            sample.plain,
            here,
            slopes[None],
            offsets[None],
            inside[None],
            [rate.population for rate in rates],
            np.array(sorts),
        )
        self.rate_values, self.sizes = self.linear.here[0], self.linear.sizes[0]
        self.affine = expr.curvature is Curvature.AFFINE and all(r.curvature is Curvature.AFFINE for r in rates)
        self.one_ratio = not self.affine and cleared(expr) is not None
        index = {rate.key: k for k, rate in enumerate(rates)}

        def at(points: Array) -> Array:
            with np.errstate(all="ignore"):
                values = expr.value(lambda part: points[index[part.key]])
            return np.broadcast_to(np.asarray(values, dtype=float), points.shape[1:])

        self.at = at

    def _move(self, gradient: Array, side: int, level: float) -> Array:
        """How far the rates are from their values where a linear function reaches its bound."""
        influence = self.linear.influence(gradient[None], side)
        (reach,), (second,) = self.linear.reach(gradient[None], side, level, influence)
        if second <= 0:
            return np.zeros_like(self.rate_values)
        a, b, slopes, offsets, step, new, _ = (part[0] for part in influence)
        moved = self.sample.sums.covariances(a, b, slopes, offsets) + step * new[self.linear.group]
        return np.asarray(moved * (reach / second))

    def shares(self) -> list[tuple[Rate, float]]:
        """A rate of each denominator, and the variance that comes from it."""
        gradient = self.gradient if self.affine else self._slope(self.rate_values)
        own = np.where(self.linear.group == np.arange(len(self.linear.first))[:, None], gradient, 0.0)
        slopes, centred = self.linear.slopes[0], self.linear.centred[0]
        variances, _ = self.sample.sums.moments(own @ slopes.T, own @ centred.T)
        return [(self.rates[first], variance) for first, variance in zip(self.linear.first, variances, strict=True)]

    # -- any function ----------------------------------------------------------------------------

    def __call__(self, confidence: float, side: int) -> float:
        """One-sided bound: the largest (smallest) value that is compatible with the data."""
        if (confidence, side) not in self._known:
            self._known[confidence, side] = self._bound(confidence, side)
        return self._known[confidence, side]

    def _bound(self, confidence: float, side: int) -> float:
        if self.affine:
            return self.value + float(self.linear.reach(self.gradient[None], side, confidence)[0][0])
        secants, bends = self._along_axes
        starts = [self.axes @ secants]
        if np.abs(bends).max() > 0.25 * np.sqrt(secants @ secants):  # flat or with a kink: try several directions
            starts += [sign * self.axes[:, np.abs(bends).argmax()] for sign in (1, -1)]
        largest = max(self._search(start, side, confidence) for start in starts)
        if self.one_ratio:  # multiplied through it is linear, and linear functions have no bias
            return side * largest
        bias = side * float(bends.sum())  # of the plug-in value; where it is away from the bound it only helps
        return side * (largest + max(-bias, 0.0))

    def _search(self, direction: Array, side: int, level: float) -> float:
        """Largest value of side * f found from a first direction in the space of rates."""
        point, best = self.rate_values + side * direction, side * self.value
        for _ in range(_STEPS):
            gradient = self._slope(np.clip(point, 0.0, 1.0))
            if not np.any(gradient):
                break
            move = self._move(gradient, side, level)
            point = self.rate_values + move
            values = side * self.at(np.clip(self.rate_values[:, None] + move[:, None] * _PART_WAY, 0.0, 1.0))
            reached = float(np.fmax.reduce(values))
            if not reached > best + 1e-4 * abs(best - side * self.value):  # it has converged
                break
            best = reached
        return best

    @cached_property
    def gradient(self) -> Array:
        """Slopes of an affine expression: its values at the unit vectors, from that at the origin."""
        k = len(self.rate_values)
        values = self._values(lambda columns: np.eye(k, k + 1, k=0)[:, columns], k + 1)
        slopes: Array = values[:k] - values[k]
        return slopes

    def _slope(self, point: Array) -> Array:
        """Gradient at a point, by differences that stay between 0 and 1 and where the function is defined."""
        k, step = len(point), 0.05 * self.scale
        ends = [np.clip(point + sign * step, 0.0, 1.0) for sign in (1, -1)]
        moves = np.concatenate([end - point for end in ends])

        def points(columns: NDArray[np.intp]) -> Array:
            moved = np.repeat(point[:, None], len(columns), axis=1)
            moved[columns % k, np.arange(len(columns))] += moves[columns]
            return moved

        up, down = np.split(self._values(points, 2 * k), 2)
        middle = float(self.at(point[:, None])[0])
        up, down = (np.where(np.isfinite(side), side, middle) for side in (up, down))
        width = moves[:k] - moves[k:]
        with np.errstate(invalid="ignore", divide="ignore"):
            gradient: Array = np.nan_to_num((up - down) / width, posinf=0.0, neginf=0.0)
        return gradient

    def _values(self, points: Callable[[NDArray[np.intp]], Array], number: int) -> Array:
        """Values at many points, computed in blocks."""
        many = max(1, _AT_ONCE // len(self.rate_values))
        blocks = (np.arange(i, min(i + many, number)) for i in range(0, number, many))
        values: Array = np.concatenate([self.at(points(columns)) for columns in blocks])
        return values

    # -- the standard error -----------------------------------------------------------------------

    @cached_property
    def error(self) -> float:
        """Standard error: the root of second moments along the principal axes, also where f is flat or has a kink."""
        if self.affine:
            return float(self.linear.error(self.gradient[None])[0])
        deviations = self._moved(np.concatenate([self.axes, -self.axes], axis=1)) - self.value
        secants, bends = self._along_axes
        beyond = self._room < 1  # a step leaves [0, 1]: use the side that stays inside
        largest = np.abs(deviations).reshape(2, -1).max(axis=0)
        return float(np.sqrt(np.where(beyond, largest**2, secants**2 + 2 * bends**2).sum()))

    @cached_property
    def _covariance(self) -> Array:
        """Covariance of the rates, including outcomes that may be unseen."""
        slopes, centred, unseen = self.linear.slopes[0], self.linear.centred[0], self.linear.unseen[0]
        same_denominator = self.linear.group[:, None] == self.linear.group
        observed = self.sample.sums.covariances(slopes, centred, slopes, centred)
        covariance: Array = observed + same_denominator * (unseen @ unseen.T)
        return covariance

    @cached_property
    def scale(self) -> Array:
        """Standard error of each rate, always above 0."""
        errors: Array = np.maximum(np.sqrt(np.diag(self._covariance)), 1e-6)
        return errors

    @cached_property
    def axes(self) -> Array:
        """Principal axes of the covariance, as columns, each as long as its standard error."""
        sizes, axes = np.linalg.eigh(self._covariance)
        scaled: Array = axes * np.sqrt(np.maximum(sizes, 0.0))
        return scaled

    @cached_property
    def _room(self) -> Array:
        """The share of each axis that a step can take in both directions without leaving [0, 1]."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.minimum(self.rate_values, 1 - self.rate_values)[:, None] / np.abs(self.axes)
        room: Array = np.minimum(np.nan_to_num(shares, nan=1.0, posinf=1.0).min(axis=0), 1.0)
        return room

    @cached_property
    def _along_axes(self) -> tuple[Array, Array]:
        """Halves of the difference and of the second difference of f along each axis."""
        room = np.where(self._room > 0.1, self._room, 1.0)
        signed = self.axes * room
        up, down = np.split(self._moved(np.concatenate([signed, -signed], axis=1)), 2)
        bends = np.where(self._room > 0.1, ((up + down) / 2 - self.value) / room**2, 0.0)
        return (up - down) / 2 / room, bends

    def _moved(self, moves: Array) -> Array:
        """Values after moves of the rates, as columns; where undefined, the value without the move."""
        middle = self.rate_values[:, None]
        values = self._values(lambda columns: np.clip(middle + moves[:, columns], 0.0, 1.0), moves.shape[1])
        return np.where(np.isfinite(values), values, self.value)


_PART_WAY = np.array([0.25, 0.5, 0.75, 1.0])
