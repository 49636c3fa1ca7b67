r"""The strict method: bounds that hold for every number of examples, from binomial counts of drawn decisions.

In: examples and predictions; probabilities are drawn once, 0 or 1, with a seed that is given beforehand. Out: estimates
whose bounds are Clopper and Pearson's. A residual is decomposed into proportions, each with an equal share of the
error probability (a union bound, so that it does not matter how they depend on each other):

- an affine part is, for every denominator, the mean of a variable with few values :math:`v_0 < v_1 < \dots`, that is
  :math:`v_0 + \sum_j (v_j - v_{j-1}) P[V \ge v_j]`;
- a ratio in which examples count in two ways, or not at all, is a function of one proportion: precision among those
  predicted 1, F1 (2π / (1 + π)) among those that are not true negatives;
- any other single ratio N / D is bounded by the t at which the bound of N - t D, which is affine, reaches 0.

Proportions are those among a denominator's examples, given how many there are. Anything else raises an error with the
reason: weights and clusters, for which counts are not binomial, and nonlinear functions (use the approximate method).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from .._core.errors import EquirateError
from ..data.cells import Cells
from ..data.examples import Examples
from ..language.expressions import Expression, Quotient
from ..language.nodes import Rate
from ..problem.rate_matrix import contributions
from .estimates import Estimate
from .spread import outcomes

Array = NDArray[np.float64]
_HALVINGS = 60
_LARGEST = 1e9  # a ratio that is not bounded below this is not bounded


@dataclass(frozen=True)
class ExactProportion:
    """A count of successes among trials, and the contribution of their proportion to a sum, monotone in it."""

    successes: int
    trials: int
    contribution: Callable[[float], float]

    def bound(self, left: float, side: int) -> float:
        """The largest (smallest) contribution, given its share ``left`` of the error probability."""
        rising = self.contribution(1.0) >= self.contribution(0.0)
        return self.contribution(clopper_pearson(self.successes, self.trials, left, side if rising else -side))


def clopper_pearson(successes: int, trials: int, left: float, side: int) -> float:
    """Upper (side 1) or lower (-1) bound of a proportion that is wrong with a chance of at most ``left``.

    Examples
    --------
    >>> round(clopper_pearson(0, 50, 0.05, 1), 4)
    0.0582
    """
    if side > 0:
        return 1.0 if successes >= trials else float(betaincinv(successes + 1, trials - successes, 1 - left))
    return 0.0 if successes <= 0 else float(betaincinv(successes, trials - successes + 1, left))


@dataclass(frozen=True)
class LinearForm:
    """An affine function of rates."""

    constant: float
    rates: tuple[Rate, ...]
    factors: Array

    @classmethod
    def of(cls, expr: Expression) -> LinearForm | None:
        """Find the factors from values, or None if not affine; base_rate, a constant in training, is a rate here."""
        rates = tuple({rate.key: rate for rate in expr.rates()}.values())
        index, k = {rate.key: j for j, rate in enumerate(rates)}, len(rates)
        probes = np.random.default_rng(0).uniform(0.1, 0.9, (k, 3))
        points = np.concatenate([np.zeros((k, 1)), np.eye(k), probes], axis=1)
        with np.errstate(all="ignore"):
            value_at_points = np.asarray(expr.value(lambda part: points[index[part.key]]), dtype=float)
        values = np.broadcast_to(value_at_points, points.shape[1:])
        if not np.isfinite(values).all():
            return None
        constant, factors = float(values[0]), values[1 : k + 1] - values[0]
        straight = np.allclose(constant + factors @ probes, values[k + 1 :], atol=1e-9)
        return cls(constant, rates, factors) if straight else None

    def plus(self, factor: float, other: LinearForm) -> LinearForm:
        """The sum of this and a multiple of another."""
        rates = {rate.key: rate for rate in (*self.rates, *other.rates)}
        factors = dict.fromkeys(rates, 0.0)
        for times, linear in ((1.0, self), (factor, other)):
            for rate, weight in zip(linear.rates, linear.factors, strict=True):
                factors[rate.key] += times * float(weight)
        constant = self.constant + factor * other.constant
        return LinearForm(constant, tuple(rates.values()), np.array(list(factors.values())))

    def denominators(self) -> dict[Any, list[int]]:
        """Rates that are measured on the same examples."""
        groups: dict[Any, list[int]] = {}
        for k, rate in enumerate(self.rates):
            groups.setdefault(rate.population, []).append(k)
        return groups


def sides_of(ratio: Quotient) -> tuple[LinearForm, LinearForm] | None:
    """Numerator and denominator of a ratio of rates that are measured on the same examples; None for any other."""
    top, bottom = LinearForm.of(ratio.left), LinearForm.of(ratio.right)
    if top is None or bottom is None or len({rate.population for rate in (*top.rates, *bottom.rates)}) != 1:
        return None
    return top, bottom


@dataclass(frozen=True, eq=False)
class Decisions:
    """How many examples there are of each cell and decision."""

    cells: Cells
    counts: NDArray[np.int64]
    """(cells, classes): decided 0, decided 1 ..."""

    @classmethod
    def check(cls, examples: Examples) -> None:
        """Raise an error for examples whose counts are not binomial."""
        weights = examples.weights[examples.weights > 0]
        if examples.clusters is not None:
            raise EquirateError(
                "method='exact' counts independent examples, and examples of a cluster are not: "
                "use method='approximate', or keep one example of each cluster"
            )
        if not (weights == weights[:1]).all():
            raise EquirateError(
                "method='exact' counts examples, and a weighted sum is not a count: use method='approximate', "
                "or leave sample_weight out"
            )

    @classmethod
    def of(
        cls,
        rates: Sequence[Rate],
        examples: Examples,
        predictions: Array,
        seed: int = 0,
        cells: Cells | None = None,
    ) -> Decisions:
        """Draw decisions where predictions are probabilities, and count.

        ``cells`` are those of the examples, where they are known.
        """
        u = np.random.default_rng(seed).random(len(predictions))
        decided: NDArray[Any] = (
            u < predictions if predictions.ndim == 1 else (u[:, None] >= predictions.cumsum(axis=1)[:, :-1]).sum(axis=1)
        )
        cells = Cells.of_rates(examples, rates) if cells is None else cells
        positive = examples.weights > 0
        answers = cells.n_classes
        counts = np.bincount(answers * cells.index[positive] + decided[positive], minlength=answers * len(cells))
        return cls(cells, counts.reshape(-1, answers).astype(np.int64))

    def estimate(self, expr: Expression) -> Estimate:
        """Value on the drawn decisions, and exact bounds; an error if the expression is no function of proportions."""
        constant, proportions = self._proportions(expr)
        if proportions is None:
            return self._single_ratio(expr)

        def bound(confidence: float, side: int) -> float:
            left = (1 - confidence) / max(len(proportions), 1)
            return constant + sum(proportion.bound(left, side) for proportion in proportions)

        value = constant + sum(p.contribution(p.successes / max(p.trials, 1)) for p in proportions)
        variance = sum(_variance(p) for p in proportions)
        return Estimate(value, float(np.sqrt(variance)), expr.interval, bound)

    def estimates(self, exprs: Sequence[Expression]) -> list[Estimate]:
        """Estimate several expressions."""
        return list(map(self.estimate, exprs))

    # -- decomposing -----------------------------------------------------------------------------

    def _proportions(self, expr: Expression) -> tuple[float, list[ExactProportion] | None]:
        """A constant and proportions that sum up to an expression; None if a ratio needs more than one proportion."""
        affine = LinearForm.of(expr)
        if affine is not None:
            return self._affine(affine)
        constant, proportions = 0.0, []
        for factor, part in expr.terms():
            term = factor if part is None else factor * part
            linear = LinearForm.of(term)
            if linear is not None:
                more, more_proportions = self._affine(linear)
                constant += more
                proportions += more_proportions
            elif isinstance(part, Quotient) and not list(factor.rates()):
                ratio = self._ratio(float(factor.value(_no_rates)), part)
                if ratio is None:
                    return 0.0, None
                proportions.append(ratio)
            else:
                raise EquirateError(_refusal(expr, part))
        return constant, proportions

    def _affine(self, linear: LinearForm) -> tuple[float, list[ExactProportion]]:
        """Means of variables with few values, each a sum of proportions above a value."""
        constant, proportions = linear.constant, []
        for members in linear.denominators().values():
            rates, factors = [linear.rates[k] for k in members], linear.factors[members]
            possible = sorted(
                {round(float(v), 12) for v in factors @ np.array([self._outcomes(rate) for rate in rates])}
            )
            inside = self.cells.behind(rates[0])
            values = sum(f * self._contributions(rate) for f, rate in zip(factors, rates, strict=True))
            trials = int(self.counts[inside].sum())
            constant += possible[0]
            for below, value in pairwise(possible):
                above = (np.asarray(values) > (below + value) / 2) & inside[:, None]
                step = value - below
                proportions.append(ExactProportion(int(self.counts[above].sum()), trials, _times(step)))
        return constant, proportions

    def _ratio(self, factor: float, ratio: Quotient) -> ExactProportion | None:
        """A ratio in which examples of one denominator count in two ways, or not at all; None for any other."""
        sides = sides_of(ratio)
        if sides is None:
            return None
        rates = [rate for side in sides for rate in side.rates]
        sorts, seen = [], []
        for side in sides:
            outcomes: Any = side.constant
            values = np.full(self.counts.shape, side.constant)
            for weight, rate in zip(side.factors, side.rates, strict=True):
                outcomes = outcomes + weight * self._outcomes(rate)
                values = values + weight * self._contributions(rate)
            sorts.append(np.broadcast_to(outcomes, self._outcomes(rates[0]).shape).round(12))
            seen.append(values.round(12))
        pairs = {pair for pair in zip(*map(np.ndarray.tolist, sorts), strict=True) if pair != (0.0, 0.0)}
        if len(pairs) != 2 or any(below < 0 for _, below in pairs):
            return None
        inside = self.cells.behind(rates[0])[:, None]
        (n1, d1), (n2, d2) = sorted(pairs)
        first, second = (
            int(self.counts[inside & (seen[0] == n) & (seen[1] == d)].sum()) for n, d in ((n1, d1), (n2, d2))
        )

        def contribution(share: float) -> float:
            below = share * d2 + (1 - share) * d1
            return factor * (share * n2 + (1 - share) * n1) / below if below > 0 else factor * float("inf")

        return ExactProportion(second, first + second, contribution)

    def _single_ratio(self, expr: Expression) -> Estimate:
        """Bound a ratio by the t at which the bound of N - t D reaches 0."""
        ratios = [(factor, part) for factor, part in expr.terms() if part is not None]
        constants = [factor for factor, part in expr.terms() if part is None]
        if len(ratios) != 1 or any(list(factor.rates()) for factor in [*constants, ratios[0][0]]):
            raise EquirateError(
                f"method='exact' cannot bound {expr!r}: of ratios that are not functions of one proportion it takes "
                "one at a time, with numbers beside it; use method='approximate'"
            )
        factor, ratio = float(ratios[0][0].value(_no_rates)), ratios[0][1]
        if not isinstance(ratio, Quotient) or ratio.right.interval.lo < 0:
            raise EquirateError(_refusal(expr, ratio))
        constant = sum(float(number.value(_no_rates)) for number in constants)
        top, bottom = LinearForm.of(factor * ratio.left), LinearForm.of(ratio.right)
        if top is None or bottom is None:
            raise EquirateError(_refusal(expr, ratio))

        def above(t: float, confidence: float, side: int) -> bool:
            """Whether side * (f N + (constant - t) D) can be above 0."""
            start, proportions = self._affine(top.plus(constant - t, bottom))
            left = (1 - confidence) / len(proportions)
            return side * (start + sum(p.bound(left, side) for p in proportions)) > 0

        def bound(confidence: float, side: int) -> float:
            inner, outer = value, value + side
            while above(outer, confidence, side):
                if abs(outer) > _LARGEST:
                    return side * np.inf
                inner, outer = outer, value + 4 * (outer - value)
            for _ in range(_HALVINGS):
                middle = (inner + outer) / 2
                inner, outer = (middle, outer) if above(middle, confidence, side) else (inner, middle)
            return outer

        measured = {rate.key: self._measured(rate) for rate in expr.rates()}
        value = float(expr.value(lambda part: measured[part.key]))
        error = abs(bound(0.84, 1) - value) if np.isfinite(value) else np.inf  # one standard error is at 84 %
        return Estimate(value, error, expr.interval, bound)

    # -- counting --------------------------------------------------------------------------------

    def _outcomes(self, rate: Rate) -> Array:
        """What an example of each sort contributes: label, baseline, prediction."""
        return outcomes(rate, self.cells.n_classes, bool(self.cells.baselines))

    def _contributions(self, rate: Rate) -> Array:
        """What an example of each cell and decision contributes to a rate: (cells, classes)."""
        slopes, offset = contributions(rate, self.cells, np.arange(len(self.cells)))
        return np.asarray(offset[:, None] + np.pad(slopes, ((0, 0), (1, 0))))

    def _measured(self, rate: Rate) -> float:
        inside = self.cells.behind(rate)
        counts = self.counts[inside]
        return float((counts * self._contributions(rate)[inside]).sum() / counts.sum())


def _times(step: float) -> Callable[[float], float]:
    return lambda share: step * share


def _variance(proportion: ExactProportion) -> float:
    """Variance of a contribution, by its slope at the observed proportion."""
    if proportion.trials == 0:
        return np.inf
    share, width = proportion.successes / proportion.trials, 1 / (proportion.trials + 2)
    ends = [proportion.contribution(min(max(share + way * width, 0.0), 1.0)) for way in (1, -1)]
    slope = (ends[0] - ends[1]) / (min(share + width, 1.0) - max(share - width, 0.0))
    return float(slope**2 * (share * (1 - share) + width) / proportion.trials)


def _no_rates(part: Any) -> Any:
    raise AssertionError(f"{part!r} in a number")


def _refusal(expr: Expression, part: Expression | None) -> str:
    return (
        f"method='exact' cannot bound {expr!r}: {part!r} is not a sum of rates or a ratio of such sums, "
        "so it is no function of binomial counts; use method='approximate'"
    )
