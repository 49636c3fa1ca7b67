"""Column generation for any model: what ``algorithm="column_generation"`` runs.

In: a problem's table, a sample, a model, and the part of each row. Out: a `Solution`. `solving` and the estimators
call this. A linear model answers with regressions (`linear_engine`); every other model that can best-respond answers
through its learner (`Learner.families` and `Learner.respond`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..data.cells import Cells
from ..data.features import features
from ..data.sample import Sample
from ..mixtures import Columns
from ..models.contract import Learner, Model
from ..models.independent_rows import IndependentRows
from ..models.linear import FittedLinear, Linear
from ..models.messages import Family
from ..models.rows import Rows
from ..players.steps import ADAM
from ..problem.canonical import canonicalize
from ..problem.problem import Problem
from ..problem.table import Table, make_table
from .algorithms import column_generation
from .column_generation import PASSES, SPREADS, Course, Generation, generate
from .infeasible import loosened
from .linear_engine import LinearEngine
from .record import Start
from .solution import Solution

Array = NDArray[np.float64]
PartCodes = NDArray[np.int8]
Watch = Callable[[Sequence[Generation]], Any]
Levels = Sequence[float | Array]
"""Allowed violations: one number for all constraints, or one for each after ``abs`` and ``max`` are split."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Generator:
    """Settings of column generation.

    Attributes
    ----------
    passes
        Largest number of passes over the data, for each problem.
    watch
        Called after every pass with the generations; ends the run by returning True.
    start
        The end of an earlier fit of a linear model, to continue from.
    tolerance
        Violations up to this size count as met.
    seed
        Seed of a model that uses random numbers.
    """

    passes: int = PASSES
    watch: Watch | None = None
    start: Start | None = None
    tolerance: float = 1e-3
    seed: int = 0

    def solve(
        self,
        problem: Problem,
        sample: Sample,
        cells: Cells,
        model: Model,
        *,
        part: PartCodes | None = None,
        mix_on_held_out: bool = False,
        levels: Levels = (0.0,),
    ) -> Solution:
        """Solve a problem on a sample that has been checked.

        ``part`` is 0 for rows to train on and 1 for rows that are held out; with ``mix_on_held_out`` the mixture is
        chosen on the held-out rows alone, and rows of other parts are ignored. With several ``levels``, columns are
        generated for each, and the solution contains all of them.
        """
        if problem.losses():
            raise AlgorithmError(
                f"column_generation prices rates only and cannot minimise {problem.losses()[0]!r}: use surrogate"
            )
        if mix_on_held_out and part is not None:
            measured = cells.weighing(np.where(part == 1, cells.weights, 0.0))
            judge = make_table(canonicalize(problem), _weighing(sample, measured).examples, measured)
        else:
            judge = make_table(canonicalize(problem), sample.examples, cells)
        tables = [_at_level(judge, problem, level) for level in levels]
        linear = model.as_linear()
        if linear is not None and cells.n_classes == 2:
            return self._linear(problem, sample, cells, linear, judge, tables, part, mix_on_held_out)
        trained = (
            cells if part is None or not mix_on_held_out else cells.weighing(np.where(part == 0, cells.weights, 0.0))
        )
        learner = model.bind(Rows(sample, judge.cells, trained), 1 + SPREADS, ADAM, [self.seed] * (1 + SPREADS))
        training = None if trained is cells else make_table(judge.program, _weighing(sample, trained).examples, trained)
        return self._answered(problem, model, judge, tables, learner, training)

    # -- linear models -----------------------------------------------------------------------------

    def _linear(
        self,
        problem: Problem,
        sample: Sample,
        cells: Cells,
        model: Linear,
        judge: Table,
        tables: Sequence[Table],
        part: PartCodes | None,
        mix_on_held_out: bool,
    ) -> Solution:
        if model.radius is not None or model.spread:
            raise AlgorithmError(
                "the radius and the spread of Linear are those of a game, and column_generation plays none: name one, "
                'such as algorithm="surrogate", or take penalty='
            )
        sample = replace(sample, X=features(sample.X, len(sample)))
        learner: Learner = FittedLinear(sample.X.shape[1], sample.names)
        listed = _exact(model, sample, judge.cells, mix_on_held_out)
        if listed is not None:
            return self._answered(problem, model, judge, tables, listed, None, exact=True)
        engine = LinearEngine.of(sample, cells, part, 1 if part is None else int(part.max(initial=1)) + 1, model)
        begin = None if self.start is None else engine.rows.standard(_weights(self.start, sample.X.shape[1]))
        generation, view = engine.fit(
            tables[0], mix_on_held_out=mix_on_held_out, passes=self.passes, watch=self.watch, start=begin
        )
        courses = [generation.course(engine.rounds)]
        if len(tables) == 1:
            engine.release()
        columns, W = engine.columns(generation, sample, judge.cells)
        for table in tables[1:]:
            before, generation = generation, engine.go_on(generation, view, table)
            if not before.interrupted:
                generation = engine.run_until_met(generation, view, self.passes, self.watch)
            more, other = engine.columns(generation, sample, judge.cells)
            columns, W = columns.join(more, (0, W.shape[1])), np.concatenate([W, other], axis=1)
            courses.append(generation.course(engine.rounds))
        return self._solution(problem, judge, columns, learner, (W,), courses[0])

    # -- models that respond -----------------------------------------------------------------------

    def _answered(
        self,
        problem: Problem,
        model: Model,
        judge: Table,
        tables: Sequence[Table],
        learner: Learner,
        training: Table | None,
        exact: bool = False,
    ) -> Solution:
        labels = judge.cells.label_costs()
        exact = exact or model.capabilities.exact or learner.every_sum() is not None
        families, passes, joined = learner.families(), 0, None
        answered = [] if families else learner.respond(np.repeat(labels[:, None], 1 + SPREADS, axis=1))
        families = [*families, *answered]
        course: Course | None = None
        for table in tables:
            prices = training if training is None else make_table(table.program, training.examples, training.cells)
            generation = Generation(table, np.ones(table.cells.n_counts), prices, exact)
            generation.begin(families, labels)

            def answer(asked: Sequence[tuple[Generation, Array]]) -> list[tuple[list[Family], bool]]:
                return [(learner.respond(costs), True) for _, costs in asked]

            passes += generate([generation], answer, self.passes, self.watch)
            families = generation.families
            course = generation.course(passes) if course is None else course
            columns = generation.columns().measured(judge.rates(generation.gathered(_sums(generation))))
            joined = columns if joined is None else joined.join(columns)
        assert joined is not None  # there is at least one level
        assert course is not None
        return self._solution(problem, judge, joined, learner, tuple(f.snapshot for f in families), course, exact)

    def _solution(
        self,
        problem: Problem,
        judge: Table,
        columns: Columns,
        learner: Learner,
        snapshots: tuple[Any, ...],
        course: Course,
        exact: bool = False,
    ) -> Solution:
        return Solution(
            problem, column_generation, judge, columns, learner, snapshots, self.tolerance, exact, course=course
        )


def _sums(generation: Generation) -> Array:
    return np.stack([generation.families[f].sums[:, k] for f, k in generation.places], axis=1)


def _weighing(sample: Sample, cells: Cells) -> Sample:
    return replace(sample, examples=replace(sample.examples, weights=cells.weights))


def _at_level(judge: Table, problem: Problem, level: float | Array) -> Table:
    """The table with every constraint loosened by ``level``."""
    if not np.any(level):
        return judge
    return make_table(canonicalize(loosened(problem, level)), judge.examples, judge.cells)


def _weights(start: Start, width: int) -> Array:
    """The weights of an earlier fit, with a row of intercepts."""
    weights = np.asarray(start.parameters, dtype=float)
    if weights.ndim != 2 or len(weights) not in (width, width + 1):
        raise AlgorithmError(
            f"cannot continue: the earlier fit has weights of shape {weights.shape}, and there are {width} features"
        )
    return weights if len(weights) > width else np.vstack([weights, np.zeros((1, weights.shape[1]))])


def _exact(model: Linear, sample: Sample, cells: Cells, mix_on_held_out: bool) -> Learner | None:
    """A learner that answers exactly: all thresholds of one feature, or all decisions of independent rows."""
    if not model.intercept:
        return None
    if sample.X.shape[1] == 1:
        learner = model.bind(Rows.of(sample, cells), 1, ADAM, [0])
        return learner if learner.every_sum() is not None else None
    return None if model.penalty or mix_on_held_out else IndependentRows.of(sample, cells)
