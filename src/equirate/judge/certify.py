r"""How sure we are: standard errors and intervals for any function of rates, and what follows for a constraint.

Rates on a sample are weighted means: example i moves rate k by its influence
:math:`w_i (z_{ik} - R_k) / \sum_i w_i` (sums over the rate's denominator), and the covariance of the rates is the sum
of the products of influences. A function f of the rates is followed along the principal axes :math:`\delta_j` of that
covariance (sigma points):

.. math:: \sigma^2(R) = \sum_j d_j^2 + 2 c_j^2, \quad d_j = \tfrac12 [f(R + \delta_j) - f(R - \delta_j)], \quad
          c_j = \tfrac12 [f(R + \delta_j) + f(R - \delta_j)] - f(R).

The first part is the delta method; the second keeps the error right where f is flat or has a kink, such as a KL
divergence or an ``abs`` near 0.

Near 0 and 1 a sample's own variance is too small; it is 0 if all predictions agree, whoever made them. So the error is
at least that of a sample with four made-up examples for every denominator (Agresti and Coull): two of the outcome that
would raise f most, two of the one that would lower it most, and the distance between the two samples' values is added
as a bias, because the reported value stays the plain one. For a proportion of 0/1 outcomes that is the Agresti-Coull
interval; for probabilities of predicting 1, whose variance is below that of 0/1 outcomes with the same mean, the
made-up examples only add what could have gone unseen, O(1/n) to the error.

Expressions are those of the mixture's *expected* rates; a single draw of a stochastic classifier varies around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from .._core.errors import EquirateError
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.kinds import RateKind
from ..language.curvature import REALS, Interval
from ..language.expressions import Constraint, Expression
from ..language.measuring import measurer
from ..language.nodes import Rate

Array = NDArray[np.float64]
Values = Callable[[Array], Array]
"""A function of rates, (rates, points), at each point."""

_MADE_UP = 4  # examples for every denominator: 1.96^2, rounded
_AT_ONCE = 2**20  # numbers in the points at which an expression is evaluated at once


@dataclass(frozen=True)
class Estimate:
    """A value on a sample with its standard error; ``within`` is the range of values there are."""

    value: float
    error: float
    within: Interval = REALS

    def interval(self, confidence: float) -> tuple[float, float]:
        """Two-sided interval at a confidence level, inside the range of values there are."""
        if not np.isfinite(self.error):
            return self.within.lo, self.within.hi
        reach = float(ndtri(0.5 + confidence / 2)) * self.error
        low, high = max(self.value - reach, self.within.lo), min(self.value + reach, self.within.hi)
        return min(low, self.value), max(high, self.value)

    def upper(self, confidence: float) -> float:
        """One-sided upper bound at a confidence level."""
        return self.value + float(ndtri(confidence)) * self.error

    def lower(self, confidence: float) -> float:
        """One-sided lower bound at a confidence level."""
        return self.value - float(ndtri(confidence)) * self.error


@dataclass(frozen=True)
class Certificate:
    """One constraint judged on held-out data.

    ``verdict`` is ``"pass"`` if the upper confidence bound of the signed violation is at most 0, ``"fail"`` if the
    lower one is above 0, and ``"cannot tell"`` otherwise: then more data are needed, or a margin. ``low`` and ``high``
    are these one-sided bounds, each at the confidence level by itself. A constraint on ``abs`` or ``max`` holds if all
    of its parts do, so ``violation``, ``low`` and ``high`` are the largest over its parts. ``"not measured"`` says that
    a group in it has no examples in these data.
    """

    constraint: str
    violation: float
    error: float
    low: float
    high: float
    confidence: float
    verdict: str

    def __str__(self) -> str:
        return (
            f"{self.verdict:<12}{self.constraint}   violation {self.violation:+.4f} [{self.low:+.4f}, {self.high:+.4f}]"
        )


def estimate(expr: Expression, examples: Examples, predictions: Array) -> Estimate:
    """Value and standard error of an expression on predictions (0/1 or probabilities of predicting 1).

    Examples
    --------
    >>> import equirate as eq
    >>> y = np.array([0, 1] * 200)
    >>> result = estimate(eq.accuracy(), Examples.of(y), np.where(np.arange(400) < 300, y, 1 - y))
    >>> round(result.value, 3), round(result.error, 3)
    (0.75, 0.022)
    """
    return _Sample(list(expr.rates()), examples, predictions).estimate(expr)


def certify(
    constraints: Sequence[Constraint], examples: Examples, predictions: Array, confidence: float = 0.95
) -> list[Certificate]:
    """Judge constraints on held-out predictions: estimate, confidence interval, and pass, fail or cannot tell."""
    check_confidence(confidence)
    everything = _sample([rate for c in constraints for rate in c.rates()], examples, predictions)
    found = []
    for constraint in constraints:
        sample = everything or _sample(list(constraint.rates()), examples, predictions)
        if sample is None:
            nan = float("nan")
            found.append(Certificate(repr(constraint), nan, nan, nan, nan, confidence, "not measured"))
            continue
        parts = [sample.estimate(part.residual) for part in constraint.split()]
        worst = max(parts, key=lambda part: part.value)
        if all(part.upper(confidence) <= 0 for part in parts):
            verdict = "pass"
        elif any(part.lower(confidence) > 0 for part in parts):
            verdict = "fail"
        else:
            verdict = "cannot tell"
        intervals = [part.interval(2 * confidence - 1) for part in parts]  # its ends are the one-sided bounds
        low, high = (max(ends) for ends in zip(*intervals, strict=True))
        found.append(Certificate(repr(constraint), worst.value, worst.error, low, high, confidence, verdict))
    return found


def _sample(rates: Sequence[Rate], examples: Examples, predictions: Array) -> _Sample | None:
    """None where some rate cannot be measured because its group is not there."""
    counts = {
        kind.labels: _labelled(examples.labels, kind) & (examples.weights > 0) for kind in {r.kind for r in rates}
    }
    if not all((examples.mask(rate.slice) & counts[rate.kind.labels]).any() for rate in rates):
        return None
    return _Sample(rates, examples, predictions)


def _labelled(labels: NDArray[np.int8], kind: RateKind) -> NDArray[np.bool_]:
    """Which labels are among those that a kind of rate is measured on."""
    return np.array([label in kind.labels for label in (0, 1)])[labels]


def check_confidence(confidence: float) -> None:
    """Refuse what is not a confidence level."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0.5 < confidence < 1:
        raise EquirateError(f"confidence must lie between 0.5 and 1, such as 0.95; got {confidence!r}")


class _Sample:
    """Examples and predictions as sums over cells: gathered once, for as many expressions as there are."""

    def __init__(self, rates: Sequence[Rate], examples: Examples, predictions: Array) -> None:
        baselines = [rate.baseline for rate in rates if rate.baseline is not None]
        self.cells = Cells.of_examples(examples, [rate.slice for rate in rates], baselines)
        powers = (examples.weights**2 * predictions**k for k in range(3))
        self.squares = [np.bincount(self.cells.of, weights=v, minlength=len(self.cells)) for v in powers]
        """Sums of w^2, w^2 p and w^2 p^2 in each cell."""
        sums, known = self.cells.sums(predictions[:, None])[:, 0], {}
        for rate in rates:
            slope, offset, share = self._column(rate)
            if share.any():  # otherwise `measurer` says what is missing
                known[rate.key] = min(max(float(slope @ sums + offset @ self.cells.totals), 0.0), 1.0)
        self.measure = measurer(examples, predictions, known)

    def estimate(self, expr: Expression) -> Estimate:
        value = float(expr.value(self.measure))
        rates = list({rate.key: rate for rate in expr.rates()}.values())
        if not rates or not np.isfinite(value):
            return Estimate(value, 0.0 if np.isfinite(value) else np.inf, expr.interval)
        index = {rate.key: k for k, rate in enumerate(rates)}

        def at(points: Array) -> Array:
            with np.errstate(all="ignore"):
                values = expr.value(lambda part: points[index[part.key]])
            return np.broadcast_to(np.asarray(values, dtype=float), points.shape[1:])

        here = np.array([self.measure(rate) for rate in rates])
        slopes, offsets, inside = np.stack([self._column(rate) for rate in rates], axis=-1)
        sizes = 1 / (self.squares[0] @ inside**2)  # effective numbers of examples (Kish)
        plain = _variance(at, here, self._covariance(slopes, offsets - inside * here))
        made_up, together = _made_up(at, rates, here, sizes)
        share = sizes / (sizes + _MADE_UP)
        there = share * here + (1 - share) * made_up.mean(axis=1)
        unseen = (made_up - there[:, None]) / (sizes + _MADE_UP)[:, None]
        covariance = self._covariance(share * slopes, share * (offsets - inside * there)) + together * (
            unseen @ unseen.T
        )
        bias = float(at(there[:, None])[0]) - value
        careful = _variance(at, there, covariance) + bias**2
        return Estimate(value, float(np.sqrt(np.nan_to_num(max(plain, careful), nan=np.inf))), expr.interval)

    def _column(self, rate: Rate) -> Array:
        """Slope, offset and 1 of each cell in a rate, over its denominator: (3, cells), 0 outside the denominator."""
        inside = np.flatnonzero(self.cells.members[rate.slice] & _labelled(self.cells.labels, rate.kind))
        column = np.zeros((3, len(self.cells)))
        total = self.cells.totals[inside].sum()
        if total > 0:
            b = 0 if rate.baseline is None else self.cells.baselines[rate.baseline][inside]
            column[:2, inside] = np.array(rate.kind.contributions)[self.cells.labels[inside], b].T
            column[2, inside] = 1.0
            column[:, inside] *= 1 / total
        return column

    def _covariance(self, slopes: Array, offsets: Array) -> Array:
        """Sum over examples of w^2 (slope p + offset)(slope p + offset)'."""
        s0, s1, s2 = (square[:, None] for square in self.squares)
        cross = slopes.T @ (s1 * offsets)
        covariance: Array = slopes.T @ (s2 * slopes) + cross + cross.T + offsets.T @ (s0 * offsets)
        return covariance


def _variance(at: Values, center: Array, covariance: Array) -> float:
    """Variance of a function of rates, along the principal axes of the rates' covariance."""
    sizes, axes = np.linalg.eigh(covariance)
    steps = axes * np.sqrt(np.maximum(sizes, 0.0))
    middle = center[:, None]
    values = at(np.clip(np.concatenate([middle, middle + steps, middle - steps], axis=1), 0.0, 1.0))
    up, down = np.split(values[1:], 2)
    with np.errstate(invalid="ignore"):
        first, second = (up - down) / 2, (up + down) / 2 - values[0]
        return float(first @ first + 2 * second @ second)


def _made_up(at: Values, rates: Sequence[Rate], here: Array, sizes: Array) -> tuple[Array, NDArray[np.bool_]]:
    """What the made-up examples contribute to each rate, (rates, made-up examples); which rates share a denominator."""
    denominators = [(rate.slice, rate.kind.labels) for rate in rates]
    number = {denominator: k for k, denominator in enumerate(dict.fromkeys(denominators))}
    group = np.array([number[denominator] for denominator in denominators])
    made_up = np.empty((len(rates), _MADE_UP))
    members = [np.flatnonzero(group == g) for g in range(len(number))]
    made = [np.array([rates[int(k)].outcomes[1] for k in own]) for own in members]
    moves = [(own, (each - here[own, None]) / (sizes[own, None] + 1)) for own, each in zip(members, made, strict=True)]
    for own, each, values in zip(members, made, _after(at, here, moves), strict=True):
        made_up[own] = each[:, np.repeat([values.argmax(), values.argmin()], _MADE_UP // 2)]
    return made_up, group[:, None] == group


def _after(at: Values, here: Array, moves: Sequence[tuple[NDArray[np.intp], Array]]) -> Iterator[Array]:
    """Values after each move: some rates, and the steps they take from here, (rates, points); many moves at once."""
    widest = max(steps.shape[1] for _, steps in moves)
    many = max(1, _AT_ONCE // (widest * len(here)))
    for start in range(0, len(moves), many):
        block = moves[start : start + many]
        ends = np.cumsum([steps.shape[1] for _, steps in block])
        points = np.repeat(here[:, None], ends[-1], axis=1)
        for (members, steps), end in zip(block, ends, strict=True):
            points[members, end - steps.shape[1] : end] += steps
        values = np.nan_to_num(at(points)).round(12)  # a tie is not decided by rounding
        yield from np.split(values, ends[:-1])
