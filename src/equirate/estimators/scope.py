"""Weights that apply to the objective only, or to the constraints only.

A rate has one weight per example, so a problem whose objective and constraints weigh examples differently is put on two
copies of the examples: the objective is restricted to the first copy and its weights, the constraints to the second.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.peers import peers
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.features import stacked
from ..data.sample import Sample
from ..data.slices import Slice, attr
from ..game.solution import Status
from ..language.expressions import Constraint, Expression
from ..language.nodes import Loss, Rate
from ..problem.problem import Objective, Problem
from ..problem.table import problem_cells

SCOPES = ("both", "objective", "constraints")
COLUMN = "copy of the examples"


def scoped(problem: Problem, sample: Sample, cells: Cells, scope: str) -> tuple[Problem, Sample, Cells]:
    """Double the examples so that ``sample_weight`` applies to the objective or to the constraints alone."""
    examples = sample.examples
    low, high = peers().range(examples.weights.min(), examples.weights.max())
    if scope == "both" or low == high:
        return problem, sample, cells
    plain = np.ones(len(examples))
    weights = [examples.weights, plain] if scope == "objective" else [plain, examples.weights]
    columns = {name: np.concatenate([column, column]) for name, column in examples.columns.items()}
    columns[COLUMN] = np.repeat(["objective", "constraints"], len(examples))
    doubled = Examples(np.concatenate([examples.labels] * 2), np.concatenate(weights), columns)
    first, second = attr(COLUMN) == "objective", attr(COLUMN) == "constraints"
    objective = Objective(problem.objective.sense, restricted(problem.objective.expr, first))
    constraints = [
        Constraint(restricted(c.left, second), c.symbol, restricted(c.right, second))
        for c in problem.constraints
        if isinstance(c, Constraint)
    ]
    apart = Problem(objective, constraints)
    return apart, Sample(stacked(sample.X, sample.X), doubled, sample.names), problem_cells(apart, doubled)


def sides(examples: Examples, scope: str) -> tuple[Examples, Examples]:
    """The examples with the weights that apply to the objective, and with those that apply to the constraints."""
    plain = examples if scope == "both" else replace(examples, weights=np.ones(len(examples)))
    return (plain if scope == "constraints" else examples, plain if scope == "objective" else examples)


def worded(status: Status, played: Problem, asked: Problem) -> Status:
    """A status in the words of the problem that was asked, where one on two copies of the examples was played."""
    words = {repr(a): repr(b) for a, b in zip(played.constraints, asked.constraints, strict=True) if repr(a) != repr(b)}

    def said(text: str) -> str:
        for theirs, ours in words.items():
            text = text.replace(theirs, ours)
        return text

    return replace(status, conflict=tuple(map(said, status.conflict)), advice=tuple(map(said, status.advice)))


def twice(rows: slice, length: int, total: int) -> slice | NDArray[np.intp]:
    """Rows of the first copy, and the same rows of the second where there is one."""
    if length == total:
        return rows
    first = np.arange(length)[rows]
    return np.concatenate([first, first + length])


def restricted(expr: Expression, slice_: Slice) -> Expression:
    """The same expression with every rate and loss measured inside a slice only; names stay."""
    if isinstance(expr, (Rate, Loss)):
        return replace(expr, slice=expr.slice & slice_)
    node: Any = expr  # every node is a dataclass
    changed: Expression = replace(node, **{f.name: _inside(getattr(node, f.name), slice_) for f in fields(node)})
    return changed


def _inside(value: Any, slice_: Slice) -> Any:
    if isinstance(value, Expression):
        return restricted(value, slice_)
    return tuple(_inside(part, slice_) for part in value) if isinstance(value, tuple) else value
