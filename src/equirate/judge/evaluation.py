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
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.slices import EVERYBODY, Slice
from ..language.expressions import Constraint, Expression
from ..language.measuring import Measure
from ..language.nodes import Rate
from ..problem.problem import Problem
from ..problem.table import problem_cells
from .certify import certify
from .estimates import CellSample
from .spread import sums_by_slice

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
class ClassTable:
    """The confusion matrix of a slice: weighted shares of its examples, by label (rows) and prediction (columns)."""

    slice: str
    labels: tuple[Any, ...]
    """The classes, in the order of rows and columns."""
    examples: tuple[int, ...]
    """Examples of each class."""
    shares: tuple[tuple[float, ...], ...]

    def rates(self) -> list[dict[str, float]]:
        """Recall, precision, F1, and the shares labelled and predicted, class by class; NaN where undefined."""
        matrix = np.array(self.shares)
        right, labelled, predicted = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = {
                "recall": right / labelled,
                "precision": right / predicted,
                "f1": 2 * right / (labelled + predicted),
                "labelled": labelled,
                "predicted": predicted,
            }
        return [{name: float(values[k]) for name, values in found.items()} for k in range(len(right))]


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
        predictions, many = np.asarray(predictions, dtype=float), cells.n_classes > 2
        rates, constraints = problem.rates(), [c for c in problem.constraints if isinstance(c, Constraint)]
        sums = cells.expected_counts(predictions) if many else cells.sums(predictions[:, None])[:, 0]
        sample = CellSample.of(rates, examples, predictions, cells=cells)
        certificates = certify(constraints, examples, predictions, confidence, cells=cells, sample=sample)
        values = []
        for constraint, certificate in zip(constraints, certificates, strict=True):
            left, right = _value(constraint.left, sample.measure), _value(constraint.right, sample.measure)
            violation = left - right if constraint.symbol == "<=" else right - left
            values.append(
                ConstraintValue(
                    constraint=repr(constraint),
                    left=left,
                    symbol=constraint.symbol,
                    right=right,
                    violation=violation if np.isfinite(violation) else _value(constraint.residual, sample.measure),
                    low=certificate.low,
                    high=certificate.high,
                    verdict=certificate.verdict,
                )
            )
        there = all(_inside(cells, rate).any() for rate in problem.objective.expr.rates())
        if problem.losses() or not there:
            objective = low = high = float("nan")
        else:
            estimated = sample.estimate(problem.objective.expr)
            objective, (low, high) = estimated.value, estimated.interval(confidence)
        weights, drawn = examples.weights, (predictions > 0) & (predictions < 1)
        drawn = np.logical_or.reduce(drawn, axis=1) if many else drawn
        predicted = np.full(len(weights), np.nan) if many else predictions
        total, positive, undecided = cells.shared.total(np.array([weights.sum(), weights @ predicted, weights @ drawn]))
        positive, undecided = float(positive / total), float(undecided / total)
        sizes = _sizes(problem, cells, np.full(len(cells), np.nan) if many else sums)
        found = (objective, low, high, tuple(values), sizes, positive, confidence, undecided)
        return ClassEvaluation(*found, _class_tables(problem, cells, sums)) if many else cls(*found)


@dataclass(frozen=True)
class ClassEvaluation(Evaluation):
    """An `Evaluation` of more than two classes.

    ``classes`` holds a `ClassTable` for each slice, that of everybody first; ``positive_rate`` and the shares in
    ``slices`` are NaN.
    """

    classes: tuple[ClassTable, ...] = ()


def _value(expr: Expression, measure: Measure) -> float:
    """NaN where a group has no examples in these data: the other rows can still be told."""
    try:
        return float(expr.value(measure))
    except DataError:
        return float("nan")


def _inside(cells: Cells, rate: Rate) -> NDArray[np.bool_]:
    """The cells behind a rate that have any weight."""
    return np.asarray(cells.members[rate.slice] & rate.among(cells.labels) & (cells.totals > 0))


def _slices(problem: Problem) -> dict[Slice, None]:
    slices: dict[Slice, None] = {EVERYBODY: None}
    slices.update((rate.slice, None) for rate in problem.rates())
    return slices


def _class_tables(problem: Problem, cells: Cells, counts: Array) -> tuple[ClassTable, ...]:
    """The confusion matrix of every slice, from the counts of answers in the cells."""
    numbers = cells.sizes(positive=True)
    rest = counts.reshape(cells.n_classes - 1, -1)
    answers = np.concatenate([(cells.totals - rest.sum(axis=0))[None], rest]).T  # (cells, classes)
    rows = (np.arange(cells.n_classes)[:, None] == cells.labels).astype(float)
    everybody, found = np.ones(len(cells), dtype=bool), []
    for slice_ in _slices(problem):
        inside = rows * cells.members.get(slice_, everybody)
        total = float((inside @ cells.totals).sum())
        shares = np.maximum(inside @ answers, 0.0) / total if total > 0 else np.full((cells.n_classes,) * 2, np.nan)
        sizes = tuple((inside @ numbers).astype(int).tolist())
        found.append(ClassTable(repr(slice_), cells.classes, sizes, tuple(map(tuple, shares.tolist()))))
    return tuple(found)


def _sizes(problem: Problem, cells: Cells, sums: Array) -> tuple[SliceSize, ...]:
    """Sizes of all slices, from the cells."""
    slices = _slices(problem)
    numbers = cells.sizes()
    ones, everybody = cells.labels == 1, np.ones(len(cells), dtype=bool)
    parts = np.stack([numbers, numbers * ones, cells.totals, sums, cells.totals * ones], axis=1).astype(float)
    members = [cells.members.get(slice_, everybody) for slice_ in slices]
    found = []
    for slice_, (size, positives, total, predicted, labels) in zip(slices, sums_by_slice(members, parts), strict=True):
        shares = (predicted / total, labels / total) if total > 0 else (float("nan"),) * 2  # nobody inside
        found.append(SliceSize(repr(slice_), int(size), int(positives), *shares))
    return tuple(found)
