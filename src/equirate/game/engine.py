"""Column generation for any model: what ``algorithm="column_generation"`` runs.

In: a problem, a sample, a model, and which rows are held out. Out: a `Solution`. `solving` calls this. A linear model
answers with regressions (`linear_engine`); every other model that can best-respond answers through its learner
(`Learner.families` and `Learner.respond`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from .._core.interrupts import retry_after_interrupt
from ..data.cells import Cells
from ..data.features import features
from ..data.sample import Sample
from ..mixtures import Columns
from ..models.contract import Learner
from ..models.independent_rows import IndependentRows
from ..models.linear import FittedLinear, Linear
from ..models.messages import Family
from ..models.rows import Rows
from ..players.steps import ADAM
from ..problem.canonical import Program, canonicalize
from ..problem.problem import Problem
from ..problem.table import Table, make_table
from .algorithms import column_generation
from .column_generation import SPREADS, Generation, generate, keeping_columns
from .infeasible import add_for_infeasible, loosened
from .linear_engine import LinearEngine
from .options import Options
from .progress import ProgressLine
from .record import Start
from .solution import Solution

Array = NDArray[np.float64]
HeldOut = NDArray[np.bool_]
OnPass = Callable[[Sequence[Generation]], Any]
Levels = Sequence[float | Array]
"""Allowed violations: one number for all constraints, or one for each after ``abs`` and ``max`` are split."""


def solve_by_columns(
    problem: Problem,
    sample: Sample,
    cells: Cells,
    options: Options,
    held_out: HeldOut | None = None,
    mix_on_held_out: bool = False,
) -> Solution:
    """Solve a problem on a sample that has been checked.

    ``held_out`` says which rows are held out; with ``mix_on_held_out`` the mixture is chosen on these alone, and the
    model is trained on the others. With several levels, columns are generated for each, and the solution contains all
    of them.
    """
    options.check_generated()
    if problem.losses():
        raise AlgorithmError(
            f"column_generation prices rates only and cannot minimise {problem.losses()[0]!r}: use surrogate"
        )
    train = ~held_out if held_out is not None and mix_on_held_out else None
    program, examples, model = canonicalize(problem), sample.examples, options.model
    judge = make_table(program, examples, cells) if train is None else _table_of(~train, program, sample, cells)
    tables = [_at_level(judge, problem, level) for level in options.generated_levels(program.n_constraints)]
    linear = model.as_linear()
    if linear is None or cells.n_classes > 2:
        training = None if train is None else _table_of(train, program, sample, cells)
        rows = Rows(sample, judge.cells, cells if training is None else training.cells)
        learner = model.bind(rows, 1 + SPREADS, ADAM, [options.seed()] * (1 + SPREADS))
        exact = model.capabilities.exact or learner.every_sum() is not None
        return _answered(judge, tables, learner, options, training, exact)
    if linear.radius is not None or linear.spread:
        raise AlgorithmError(
            "the radius and the spread of Linear are those of a game, and column_generation plays none: name one, "
            'such as algorithm="surrogate", or take penalty='
        )
    sample = replace(sample, X=features(sample.X, len(sample)))
    listed = _exact(linear, sample, judge.cells, mix_on_held_out)
    if listed is not None:
        return _answered(judge, tables, listed, options, None, exact=True)
    engine = LinearEngine.of(sample, cells, held_out, 1 if held_out is None else 2, linear, options.tolerance)
    return _regressed(engine, judge, tables, sample, options, mix_on_held_out)


def _regressed(
    engine: LinearEngine,
    judge: Table,
    tables: Sequence[Table],
    sample: Sample,
    options: Options,
    mix_on_held_out: bool,
) -> Solution:
    """The columns of a linear model that is fitted by regressions."""
    passes, watch, width = options.passes(), _watch(options.progress), sample.X.shape[1]
    start = None if options.start is None else engine.rows.standard(_weights(options.start, width))
    generation, view = engine.fit(tables[0], mix_on_held_out=mix_on_held_out, passes=passes, watch=watch, start=start)
    if len(tables) == 1 and _is_met(generation, options):
        engine.release()
    (columns, W), interrupted = retry_after_interrupt(lambda: engine.columns(generation, sample, judge))
    generation.interrupted |= interrupted
    first, course = generation, generation.course(engine.rounds)

    def add(table: Table) -> None:
        nonlocal generation, columns, W
        before, generation = generation, engine.go_on(generation, view, table)
        if not before.interrupted:
            generation = engine.run_until_met(generation, view, passes, watch)
        more, other = engine.columns(generation, sample, judge)
        columns, W = columns.join(more, (0, W.shape[1])), np.concatenate([W, other], axis=1)

    def solution() -> Solution:
        return Solution(
            judge.program.problem,
            column_generation,
            judge,
            columns,
            FittedLinear(sample.names),
            (W,),
            options.tolerance,
            course=replace(course, interrupted=first.interrupted or generation.interrupted),
        )

    for table in tables[1:]:
        add(table)
    if len(tables) == 1 and not _is_met(first, options):
        with keeping_columns([first]):
            add_for_infeasible(solution, add)
    return solution()


def _answered(
    judge: Table,
    tables: Sequence[Table],
    learner: Learner,
    options: Options,
    training: Table | None,
    exact: bool,
) -> Solution:
    """The columns of a model that answers through its learner."""
    labels, watch = judge.cells.label_costs(), _watch(options.progress)
    families, passes = learner.families(), []
    answered = [] if families else learner.respond(np.repeat(labels[:, None], 1 + SPREADS, axis=1))
    families = [*families, *answered]
    generations: list[Generation] = []

    def answer(asked: Sequence[tuple[Generation, Array]]) -> list[tuple[list[Family], bool]]:
        return [(learner.respond(costs), True) for _, costs in asked]

    def add(table: Table) -> None:
        nonlocal families
        prices = training if training is None else make_table(table.program, training.examples, training.cells)
        generation = Generation(table, np.ones(table.cells.n_counts), prices, exact)
        generation.begin(families, labels)
        passes.append(generate([generation], answer, options.passes(), watch))
        families = generation.families
        generations.append(generation)

    def solution() -> Solution:
        columns = [one.columns().measured(judge.rates(one.gathered(_sums(one)))) for one in generations]
        course = generations[0].course(passes[0])
        return Solution(
            judge.program.problem,
            column_generation,
            judge,
            reduce(Columns.join, columns),
            learner,
            tuple(family.snapshot for family in families),
            options.tolerance,
            exact,
            course=replace(course, interrupted=any(one.interrupted for one in generations)),
        )

    for table in tables:
        add(table)
    if len(tables) == 1 and not _is_met(generations[0], options):
        with keeping_columns(generations[:1]):
            add_for_infeasible(solution, add)
    return solution()


def _is_met(generation: Generation, options: Options) -> bool:
    """Whether the constraints are met, or the generation was interrupted and nothing more is generated."""
    assert generation.mixture is not None
    return generation.interrupted or generation.mixture.violation <= options.tolerance


def _watch(progress: Any) -> OnPass | None:
    """The callback of column generation: the progress line, or the user's function with the last pass."""
    if progress is None:
        return None
    if isinstance(progress, ProgressLine):
        return progress.watch
    return lambda generations: progress(generations[0].stages[-1])


def _sums(generation: Generation) -> Array:
    return np.stack([generation.families[f].sums[:, k] for f, k in generation.places], axis=1)


def _table_of(rows: HeldOut, program: Program, sample: Sample, cells: Cells) -> Table:
    """The table of some of the rows; the others have no weight."""
    some = cells.weighing(np.where(rows, cells.weights, 0.0))
    return make_table(program, replace(sample.examples, weights=some.weights), some)


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
