"""Evaluation of a problem on one part of the data: values of objective and constraints, with their intervals.

In: a problem, examples and predictions. Out: an `Evaluation`. The package `reports` makes text of several of them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.frames import json_ready, make_frame
from .._core.percent import percent
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.slices import EVERYBODY, Slice
from ..language.expressions import Expression
from ..language.measuring import Measure
from ..problem.problem import Problem
from ..problem.table import problem_cells
from .certify import certify
from .estimates import CellSample
from .spread import sums_by_slice

Array = NDArray[np.float64]
_BLOCK = 1 << 20  # examples that are looked at together


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


def _known(record: Any) -> str:
    """The repr of a record without the fields that are NaN."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    shown = ", ".join(f"{name}={value!r}" for name, value in values.items() if value == value)
    return f"{type(record).__name__}({shown})"


@dataclass(frozen=True, repr=False)
class SliceSize:
    """Number of examples in a slice, and of those with label 1; the weighted shares predicted and labelled 1."""

    slice: str
    examples: int
    positives: int
    predicted: float
    labelled: float = float("nan")

    __repr__ = _known


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
            rates = {
                "recall": right / labelled,
                "precision": right / predicted,
                "f1": 2 * right / (labelled + predicted),
                "labelled": labelled,
                "predicted": predicted,
            }
        return [{name: float(values[k]) for name, values in rates.items()} for k in range(len(right))]


@dataclass(frozen=True)
class Evaluation:
    """Values of a problem's objective and constraints on some data, with confidence intervals.

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

    def __str__(self) -> str:
        head = f"objective {self.objective:.4f} [{self.low:.4f}, {self.high:.4f}]"
        lines = [
            f"{c.verdict:<12}{c.constraint}   {c.left:.4f} {c.symbol} {c.right:.4f}, violation {c.violation:+.4f} "
            f"[{c.low:+.4f}, {c.high:+.4f}]"
            for c in self.constraints
        ]
        return "\n".join([f"{head} at {percent(self.confidence)} confidence", *lines])

    @property
    def violation(self) -> float:
        """Largest violation, at least 0."""
        return max((c.violation for c in self.constraints if c.violation > 0), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON; NaN and infinity, which JSON lacks, become None."""
        data: dict[str, Any] = json_ready({**asdict(self), "violation": self.violation})
        return data

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
        rates, constraints = problem.rates(), problem.plain_constraints
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
        if problem.losses() or not cells.measures(problem.objective.expr.rates()):
            objective = low = high = float("nan")
        else:
            estimated = sample.estimate(problem.objective.expr)
            objective, (low, high) = estimated.value, estimated.interval(confidence)
        weights, total = examples.weights, cells.totals.sum()
        drawn = np.concatenate([_undecided(predictions[rows]) for rows in _blocks(len(weights))])
        positive = np.nan if many else float(sample.counts.sum() / total)
        undecided = float(cells.shared.total(weights @ drawn) / total)
        sizes = _sizes(problem, cells, np.full(len(cells), np.nan) if many else sample.counts)
        known = (objective, low, high, tuple(values), sizes, positive, confidence, undecided)
        return ClassEvaluation(*known, _class_tables(problem, cells, sample.counts)) if many else cls(*known)


@dataclass(frozen=True, repr=False)
class ClassEvaluation(Evaluation):
    """An `Evaluation` of more than two classes.

    ``classes`` holds a `ClassTable` for each slice, that of everybody first; ``positive_rate`` and the shares in
    ``slices`` are NaN.
    """

    classes: tuple[ClassTable, ...] = ()

    __repr__ = _known


def _undecided(predictions: Array) -> NDArray[np.bool_]:
    """Whether an example's decision depends on the draw, from probabilities of predicting 1 or of each class."""
    drawn = (predictions > 0) & (predictions < 1)
    return np.asarray(np.logical_or.reduce(drawn, axis=1) if drawn.ndim == 2 else drawn)


def _blocks(size: int) -> list[slice]:
    """At least one, of no examples where there are none: a process may have none of a part."""
    return [slice(first, first + _BLOCK) for first in range(0, max(size, 1), _BLOCK)]


def _value(expr: Expression, measure: Measure) -> float:
    """The value of an expression; NaN if a group has no examples, so that the other values can be reported."""
    try:
        return float(expr.value(measure))
    except DataError:
        return float("nan")


def _slices(problem: Problem) -> dict[Slice, None]:
    slices: dict[Slice, None] = {EVERYBODY: None}
    slices.update((rate.slice, None) for rate in problem.rates())
    return slices


def _class_tables(problem: Problem, cells: Cells, counts: Array) -> tuple[ClassTable, ...]:
    """The confusion matrix of every slice, from the counts of answers in the cells."""
    numbers = cells.sizes(positive=True)
    other_answers = counts.reshape(cells.n_classes - 1, -1)
    answers = np.concatenate([(cells.totals - other_answers.sum(axis=0))[None], other_answers]).T  # (cells, classes)
    rows = (np.arange(cells.n_classes)[:, None] == cells.labels).astype(float)
    everybody, tables = np.ones(len(cells), dtype=bool), []
    for slice_ in _slices(problem):
        inside = rows * cells.members.get(slice_, everybody)
        total = float((inside @ cells.totals).sum())
        shares = np.maximum(inside @ answers, 0.0) / total if total > 0 else np.full((cells.n_classes,) * 2, np.nan)
        sizes = tuple((inside @ numbers).astype(int).tolist())
        tables.append(ClassTable(repr(slice_), cells.classes, sizes, tuple(map(tuple, shares.tolist()))))
    return tuple(tables)


def _sizes(problem: Problem, cells: Cells, sums: Array) -> tuple[SliceSize, ...]:
    """Sizes of all slices, from the cells."""
    slices = _slices(problem)
    numbers = cells.sizes(positive=True)
    ones, everybody = cells.labels == 1, np.ones(len(cells), dtype=bool)
    parts = np.stack([numbers, numbers * ones, cells.totals, sums, cells.totals * ones], axis=1).astype(float)
    members = [cells.members.get(slice_, everybody) for slice_ in slices]
    sizes = []
    for slice_, (size, positives, total, predicted, labels) in zip(slices, sums_by_slice(members, parts), strict=True):
        shares = (predicted / total, labels / total) if total > 0 else (float("nan"),) * 2  # no examples
        sizes.append(SliceSize(repr(slice_), int(size), int(positives), *shares))
    return tuple(sizes)
