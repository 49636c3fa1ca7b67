r"""Power: what can be certified at all with so many examples, before anything is trained.

In: constraints, and examples with the predictions that are assumed (of a pilot classifier, or made up from a true and a
false positive rate). Out: for each constraint the margin that the truth must keep so that `certify` passes with a given
chance, and how many examples would do for what is asked.

A certificate passes if value + reach <= 0, where the reach of the upper bound is what `estimates` says at the assumed
rates. The value varies by its standard error, so the truth needs the margin

.. math:: M = \text{reach} + z_{\text{power}} \cdot SE,

which for large samples is (1.645 + 0.842) SE = 2.49 SE at 95 % and 80 %. Both sides of an ``abs`` must pass; at
equality each may miss half as often, (1.645 + 1.282) SE = 2.93 SE, and the margin is the smallest tolerance that can be
certified. For a single rate the binomial is exact: the bound at the count that is exceeded with the chance
1 - power.

More examples means more of all groups, in the proportions of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from .._core.errors import EquirateError
from .._core.percent import percent
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.labels import code_of
from ..data.slices import EVERYBODY
from ..language.expressions import Constraint, Expression
from ..language.nodes import Rate
from .certify import opposed
from .estimates import Bounds, CellSample, check_confidence
from .exact import clopper_pearson

Array = NDArray[np.float64]
RECALL = 0.8
"""True positive rate that is assumed where none is given; the false positive rate then makes precision the same."""
_LARGEST = 1e6  # times as many examples: needing more counts as impossible
_SMALLEST = 1e-4
_CLEAR = 1e-9  # less than this is rounding error


@dataclass(frozen=True)
class ConstraintPower:
    """What can be certified of one constraint.

    Parameters
    ----------
    constraint
        As it was written.
    certifiable
        Whether it can be certified at the assumed rates; None where it does not hold at them, or only just.
    margin
        How far the truth must stay from the limit. For a constraint on ``abs`` that is the smallest tolerance that can
        be certified of equal rates.
    available
        How far the assumed rates stay from the limit; for a constraint on ``abs`` the given tolerance.
    two_sided
        Whether it is a constraint on ``abs``.
    group
        The group that contributes most to the uncertainty.
    examples
        How many examples it has.
    needed
        How many it would take, with all other groups growing alike; None where no number would do.
    rows
        How many rows that is altogether.
    most
        The largest margin that any truth can keep; for a constraint on ``abs``, the largest gap there can be.
    """

    constraint: str
    certifiable: bool | None
    margin: float
    available: float
    two_sided: bool
    group: str
    examples: int
    needed: int | None
    rows: int | None
    confidence: float
    most: float = math.inf

    @property
    def needs_more(self) -> bool:
        """Whether there are too few examples: at the assumed rates, or whatever the truth is."""
        return self.certifiable is False or self.margin > self.most

    @property
    def broken(self) -> bool:
        """Whether the assumed rates break it, though a sample of this size could certify it of others."""
        return self.certifiable is None and self.margin <= self.most

    def __str__(self) -> str:
        have = f"with {self.examples:,} {self.group}"
        level, margin = f"at {percent(self.confidence)}", _rounded_up(self.margin)
        if not math.isfinite(self.margin):
            return f"{self.constraint}: not measured, there are no examples of some group"
        if self.certifiable:
            hint = f"a tolerance of {margin} could be, too" if self.two_sided else f"the truth must keep {margin} away"
            return f"{have}, {self.constraint} can be certified {level}: {hint}"
        if self.margin > self.most:
            more = "no sample of this kind can" if self.needed is None else f"about {self.needed:,} would do"
            return f"{have}, {self.constraint} cannot be certified {level}, whatever the truth is; {more}"
        if self.certifiable is None:
            where = f"where the truth is better than the limit by {margin}"
            return f"{have}, {self.constraint} can be certified {level} {where}"
        more = "no sample of this kind can" if self.needed is None else f"about {self.needed:,} would do"
        if self.two_sided:
            return f"{have}, {self.constraint} cannot be certified {level}; {more}, or a tolerance of {margin}"
        where = f"it can where the truth is better than the limit by {margin}"
        return f"{have}, {self.constraint} cannot be certified {level} at the assumed rates; {more}; {where}"


@dataclass(frozen=True)
class Power:
    """What can be certified, constraint by constraint, at one confidence level and one chance to pass."""

    constraints: tuple[ConstraintPower, ...]
    confidence: float
    power: float
    assumed: str

    @property
    def certifiable(self) -> bool:
        """Whether every constraint can be certified at the assumed rates."""
        return all(part.certifiable for part in self.constraints)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON."""
        return {**asdict(self), "certifiable": self.certifiable}

    def __str__(self) -> str:
        head = f"what can be certified with a chance of {self.power:.0%}, assuming {self.assumed}:"
        broken = ", which the assumed rates are not"
        return "\n".join([head, *(f"  {part}{broken * part.broken}" for part in self.constraints)])

    __repr__ = __str__


def assumed_predictions(examples: Examples, rates: dict[str, float] | None) -> tuple[Array, str]:
    """Probabilities of predicting 1 by label alone (of each class, if there are more), and their description."""
    given = dict(rates or {})
    if len(examples.classes) > 2:
        return _assumed_classes(examples, given)
    unknown = set(given) - {"tpr", "fpr"}
    if unknown:
        raise EquirateError(
            f"rates of power takes 'tpr' and 'fpr', the rates of the classifier to come; got {sorted(unknown)!r}. "
            "For anything finer give the predictions of a pilot classifier"
        )
    for name, value in given.items():
        if not 0 <= value <= 1:
            raise EquirateError(f"rates[{name!r}] must lie between 0 and 1; got {value!r}")
    base = float(examples.weights @ examples.labels / examples.weights.sum())
    tpr = given.get("tpr", RECALL)
    fpr = given.get("fpr", min(base * (1 - tpr) / (1 - base), tpr) if base < 1 else 0.0)
    probabilities: Array = np.where(examples.labels == 1, tpr, fpr)
    return probabilities, f"a true positive rate of {tpr:.2g} and a false positive rate of {fpr:.2g} in every group"


def _assumed_classes(examples: Examples, recalls: dict[Any, float]) -> tuple[Array, str]:
    """Probabilities of each class: right with the recall of the label, wrong in proportion to the other classes."""
    for label, value in recalls.items():
        code_of(label, examples.classes, "rates of power (a recall for each class)")
        if not 0 <= value <= 1:
            raise EquirateError(f"rates[{label!r}] must lie between 0 and 1; got {value!r}")
    count = len(examples.classes)
    right = np.array([recalls.get(label, RECALL) for label in examples.classes])
    shares = np.bincount(examples.labels, weights=examples.weights, minlength=count)
    table = np.repeat(np.maximum(shares, 1e-12)[None], count, axis=0)
    np.fill_diagonal(table, 0.0)
    table *= ((1 - right) / table.sum(axis=1))[:, None]
    table += np.diag(right)
    some = f"a recall of {RECALL:.2g} of every class" if not recalls else "the recalls that were given"
    return table[examples.labels], f"{some} in every group, and mistakes in proportion to the classes"


def powers(
    constraints: Sequence[Constraint],
    examples: Examples,
    predictions: Array,
    *,
    drawn: bool,
    assumed: str,
    confidence: float = 0.95,
    power: float = 0.8,
    counts: bool = True,
    cells: Cells | None = None,
) -> Power:
    """Work out the power for each constraint; ``drawn`` predictions are probabilities of a decision 0 or 1.

    ``cells`` are those of the examples, where they are known. Without ``counts``, the number of examples needed is
    computed only for constraints that cannot be certified with the present ones.
    """
    check_confidence(confidence)
    if isinstance(power, bool) or not isinstance(power, (int, float)) or not 0 < power < 1:
        raise EquirateError(f"power must lie between 0 and 1, such as 0.8; got {power!r}")
    results = []
    all_rates = [rate for constraint in constraints for rate in constraint.rates()]
    sample = CellSample.of(all_rates, examples, predictions, drawn, cells)
    sizes = sample.cells.sizes(positive=True)  # of all processes
    for constraint in constraints:
        rates = list(constraint.rates())
        if not sample.cells.measures(rates):
            nan = float("nan")
            results.append(
                ConstraintPower(repr(constraint), False, nan, nan, False, "examples", 0, None, None, confidence)
            )
            continue
        planned = _Planned(constraint, sample.merged(rates), confidence, power)
        behind = int(sizes[sample.cells.behind(planned.limiting())].sum())
        results.append(planned.result(examples, counts, behind, int(sizes.sum())))
    return Power(tuple(results), confidence, power, assumed)


class _Planned:
    """One constraint on a sample that could be larger."""

    def __init__(self, constraint: Constraint, sample: CellSample, confidence: float, power: float) -> None:
        self.constraint, self.sample, self.confidence = constraint, sample, confidence
        self.parts = [part.residual for part in constraint.split()]
        self.chance = 1 - (1 - power) / len(self.parts)  # each part may miss its share
        self.two_sided = len(self.parts) == 2 and opposed(*self.parts)

    def result(self, examples: Examples, counts: bool, behind: int, rows: int) -> ConstraintPower:
        """``behind`` are the examples behind the limiting rate, and ``rows`` all that have weight."""
        values = [self.sample.estimate(part).value for part in self.parts]
        available = -sum(values) / 2 if self.two_sided else -max(values)
        margin, holds = self.margin(1.0), available > _CLEAR
        wanted = holds and (counts or margin > available)
        least = _SMALLEST if margin <= available else 1.0
        factor = _smallest(lambda f: self.margin(f) <= available, least) if wanted else None
        ends = [part.interval for part in self.parts]
        most = max(end.hi for end in ends) + available if self.two_sided else max(-end.lo for end in ends)
        return ConstraintPower(
            repr(self.constraint),
            margin <= available if holds else None,
            margin,
            available,
            self.two_sided,
            _examples_of(self.limiting(), examples),
            behind,
            None if factor is None else _two_digits(factor * behind),
            None if factor is None else _two_digits(factor * rows),
            self.confidence,
            most,
        )

    def margin(self, factor: float) -> float:
        """The margin with ``factor`` times as many examples."""
        sample = self.sample.times(factor)
        return max(self._margin(part, sample) for part in self.parts)

    def _margin(self, part: Expression, sample: CellSample) -> float:
        estimated = sample.estimate(part)
        bounds = estimated.bound
        if sample.plain and isinstance(bounds, Bounds) and bounds.affine and len(bounds.rates) == 1:
            slope, rate, size = (float(each[0]) for each in (bounds.gradient, bounds.rate_values, bounds.sizes))
            return _binomial(slope, rate, size, self.confidence, self.chance)
        return estimated.upper(self.confidence) - estimated.value + float(ndtri(self.chance)) * estimated.error

    def limiting(self) -> Rate:
        """The rate whose denominator contributes most to the uncertainty."""
        shares: list[tuple[Rate, float]] = []
        for part in self.parts:
            bounds = self.sample.estimate(part).bound
            shares += bounds.shares() if isinstance(bounds, Bounds) else []
        return max(shares, key=lambda pair: pair[1])[0] if shares else next(self.constraint.rates())


def _binomial(slope: float, rate: float, size: float, confidence: float, chance: float) -> float:
    """Margin of a multiple of one rate: its bound at the count that is exceeded with the chance left."""
    trials, share = max(round(size), 1), rate if slope > 0 else 1 - rate
    count = int(binom.ppf(chance, trials, share))
    return abs(slope) * (clopper_pearson(count, trials, 1 - confidence, 1) - share)


def _smallest(enough: Callable[[float], bool], least: float) -> float | None:
    """Smallest factor, at least ``least``, that is enough, to 1 %; None if there is none."""
    low, high = math.log(least), math.log(_LARGEST)
    if not enough(_LARGEST):
        return None
    while high - low > 0.01:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return math.exp(high)


def _examples_of(rate: Rate, examples: Examples) -> str:
    where = "" if rate.slice == EVERYBODY else f" of {rate.slice!r}"
    if rate.codes is not None and rate.kind.labels != (0, 1):
        other = "" if rate.kind.labels == (1,) else "another label than "
        return f"examples{where} with {other or 'label '}{examples.classes[rate.codes.label]!r}"
    label = {(0, 1): "", (1,): " with label 1", (0,): " with label 0"}[rate.kind.labels]
    return f"examples{where}{label}"


def _two_digits(number: float) -> int:
    """Round up to two significant digits: the number is an order of magnitude, not a count."""
    unit = int(10.0 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0))
    return math.ceil(number / unit - 1e-9) * unit


def _rounded_up(number: float) -> str:
    """Two significant digits, rounded up."""
    if not math.isfinite(number) or number <= 0:
        return f"{number:g}"
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / unit - 1e-9) * unit:.2g}"
