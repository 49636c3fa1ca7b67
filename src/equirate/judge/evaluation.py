"""The numbers of one part of the data: what a problem's objective and constraints are worth there, and how sure.

In: a problem, examples and predictions. Out: an `Evaluation`. The package `reports` makes text of several of them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.frames import json_ready, make_frame
from .._core.peers import peers
from ..data.cells import Cells
from ..data.examples import Examples, empty_message
from ..data.slices import EVERYBODY, Slice
from ..language.expressions import Constraint, Expression
from ..language.measuring import Measure
from ..language.nodes import Rate
from ..problem.problem import Problem
from ..problem.table import problem_cells
from .certify import certify, estimate
from .spread import column, labelled

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConstraintValue:
    """One constraint on one part of the data."""

    constraint: str
    left: float
    symbol: str
    right: float
    violation: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True)
class SliceSize:
    """How many examples stand behind a slice, how many have label 1; the weighted shares predicted and labelled 1."""

    slice: str
    examples: int
    positives: int
    predicted: float
    labelled: float = float("nan")


@dataclass(frozen=True)
class Evaluation:
    """What a problem's objective and constraints are worth on some data, and how sure that is.

    Attributes
    ----------
    objective, low, high
        Value of the objective, and its interval; NaN for ordinary losses and where a slice is empty.
    constraints
        A `ConstraintValue` for each constraint: both sides, signed violation with its interval, and verdict.
    slices
        A `SliceSize` for each slice that the problem names.
    positive_rate
        (Weighted) share of the examples that are predicted positive.
    confidence
        Of the intervals and verdicts.
    undecided
        (Weighted) share of the examples whose decision depends on the draw.
    """

    objective: float
    low: float
    high: float
    constraints: tuple[ConstraintValue, ...]
    slices: tuple[SliceSize, ...]
    positive_rate: float
    confidence: float
    undecided: float = float("nan")

    @property
    def violation(self) -> float:
        """Largest violation, at least 0."""
        return max((c.violation for c in self.constraints if c.violation > 0), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data that JSON can hold; numbers that it cannot (NaN, infinity) are None."""
        found: dict[str, Any] = json_ready({**asdict(self), "violation": self.violation})
        return found

    def to_frame(self) -> Any:
        """The objective and every constraint as a row of a data frame: pandas, or polars or pyarrow without it.

        The columns are ``kind`` (objective or constraint), ``name``, ``value`` (of a constraint: its signed violation,
        positive where broken) with ``low`` and ``high``, and for constraints ``left``, ``right`` and ``verdict``.
        """
        rows: list[tuple[Any, ...]] = [
            ("objective", "objective", self.objective, self.low, self.high, float("nan"), float("nan"), "")
        ]
        rows += [
            ("constraint", c.constraint, c.violation, c.low, c.high, c.left, c.right, c.verdict)
            for c in self.constraints
        ]
        names = ("kind", "name", "value", "low", "high", "left", "right", "verdict")
        return make_frame({name: [row[k] for row in rows] for k, name in enumerate(names)})

    @classmethod
    def of(
        cls,
        problem: Problem,
        examples: Examples,
        predictions: Array,
        confidence: float = 0.95,
        cells: Cells | None = None,
    ) -> Evaluation:
        """Measure a problem on predictions: 0/1, or probabilities of predicting 1.

        ``cells`` are those of the problem on these examples, with any weights, where they are known already.
        """
        problem = problem.expanded(examples)
        cells = problem_cells(problem, examples) if cells is None else cells.weighing(examples.weights)
        sums = cells.sums_of_all(np.asarray(predictions, dtype=float)[:, None])[:, 0]
        measure = _measurer(cells, sums, examples)
        constraints = [c for c in problem.constraints if isinstance(c, Constraint)]
        values = []
        for constraint, certificate in zip(
            constraints,
            certify(constraints, examples, predictions, confidence, cells=cells),
            strict=True,
        ):
            values.append(
                ConstraintValue(
                    constraint=repr(constraint),
                    left=_value(constraint.left, measure),
                    symbol=constraint.symbol,
                    right=_value(constraint.right, measure),
                    violation=_value(constraint.residual, measure),
                    low=certificate.low,
                    high=certificate.high,
                    verdict=certificate.verdict,
                )
            )
        there = all(_inside(cells, rate).any() for rate in problem.objective.expr.rates())
        if problem.losses() or not there:
            objective = low = high = float("nan")
        else:
            found = estimate(problem.objective.expr, examples, predictions, cells=cells)
            objective, (low, high) = found.value, found.interval(confidence)
        weights, drawn = examples.weights, (predictions > 0) & (predictions < 1)
        total, positive, undecided = peers().total(np.array([weights.sum(), weights @ predictions, weights @ drawn]))
        positive, undecided = float(positive / total), float(undecided / total)
        sizes = _sizes(problem, cells, sums)
        return cls(objective, low, high, tuple(values), sizes, positive, confidence, undecided)


def _value(expr: Expression, measure: Measure) -> float:
    """NaN where a group has no examples in these data: the other rows can still be told."""
    try:
        return float(expr.value(measure))
    except DataError:
        return float("nan")


def _inside(cells: Cells, rate: Rate) -> NDArray[np.bool_]:
    """The cells behind a rate that have any weight."""
    return np.asarray(cells.members[rate.slice] & labelled(cells.labels, rate.kind) & (cells.totals > 0))


def _measurer(cells: Cells, sums: Array, examples: Examples) -> Measure:
    """Measure rates by the weighted sums of the predictions in every cell."""

    def measure(rate: Any) -> float:
        if not _inside(cells, rate).any():
            raise DataError(empty_message(rate.kind, rate.slice, examples))
        slope, offset, _ = column(cells, rate)
        return min(max(float(slope @ sums + offset @ cells.totals), 0.0), 1.0)

    return measure


def _sizes(problem: Problem, cells: Cells, sums: Array) -> tuple[SliceSize, ...]:
    """Sizes of all slices, from the cells."""
    slices: dict[Slice, None] = {EVERYBODY: None}
    slices.update((rate.slice, None) for rate in problem.rates())
    numbers = peers().total(np.bincount(cells.of, minlength=len(cells)))
    found = []
    for slice_ in slices:
        inside = cells.members.get(slice_, np.ones(len(cells), dtype=bool))
        positive = inside & (cells.labels == 1)
        total = cells.totals[inside].sum()
        with np.errstate(invalid="ignore", divide="ignore"):  # nobody inside: NaN
            predicted, labels = (float(part / total) for part in (sums[inside].sum(), cells.totals[positive].sum()))
        size = int(numbers[inside].sum()), int(numbers[positive].sum())
        found.append(SliceSize(repr(slice_), *size, predicted, labels))
    return tuple(found)
