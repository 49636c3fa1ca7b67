"""Cross-fitting: mixtures trained without each fold, tested on all rows together (``confidence_method="cross"``).

In: a `Training` that was solved, and its plain solution. Out: a `MethodResult`. `outcome` calls this; `methods`
describes the methods. `holdout` learns from folds of its training rows how much larger violations are on unseen rows.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..data.splits import measurable, split_by_cell
from ..game.algorithms import column_generation
from ..game.infeasible import loosened
from ..game.linear_engine import LinearEngine
from ..game.solution import Solution
from ..models.linear import FittedLinear
from ..problem.canonical import canonicalize
from ..problem.table import make_table
from ..training.training import Training
from .fixed_sequence import run_sequence
from .margins import FoldMixtures
from .methods import TIGHTENING, MethodResult, constraint_test_of, feasible_margins, thinned, too_few

Array = NDArray[np.float64]

K = 5
"""Number of folds."""


def cross_fit(training: Training, solution: Solution, seconds: float) -> MethodResult:
    """Train without each fold, and test mixtures of the folds in a fixed sequence.

    ``solution`` is the plain solution, judged where its mixture was chosen; ``seconds`` is how long it took.
    """
    constraint_test = constraint_test_of(training, "approximate", "holm")
    plain, rows, of = solution.polish(), np.arange(len(training.sample)), _folds(training)
    if of is None:
        return too_few(constraint_test, plain)
    some_rows, size = thinned(constraint_test, rows, plain), constraint_test.count(rows)
    over_normal, tight = (
        constraint_test.excess_over_normal(*some_rows, size),
        TIGHTENING * constraint_test.reach(*some_rows, size),
    )
    on_all = training.settings.may_mix_on_training_rows(constraint_test.count(rows[len(rows) // K :]), training.width)
    if training.fits_parts_together:
        solutions = _linear_folds(training, of, on_all, tight)
    else:
        solutions = _other_folds(training, of, on_all, tight, seconds)
    parts = [
        FoldMixtures(constraint_test, one, inside=rows[of != k], test=rows[of == k], size=size, over_normal=over_normal)
        for k, one in enumerate(solutions)
    ]
    return run_sequence(constraint_test, parts)


def excess_on_unseen_rows(training: Training) -> Array:
    """By how much each violation is larger on rows that were not trained on, where the mixture is chosen on those.

    Linear models are trained without each fold of the training rows; each decides on its own rows and on its fold.
    """
    rows = training.judged_rows
    moved = None if training.moved is None else training.moved[rows]
    inner = replace(training, sample=training.sample.take(rows), cells=training.cells.subset(rows), moved=moved)
    constraint_test, of = constraint_test_of(inner, "approximate"), _folds(inner)
    if of is None:
        return np.zeros(len(constraint_test.parts))
    probability, seen = np.empty(len(of)), []
    for k, solution in enumerate(_linear_folds(inner, of, on_all=True)):
        decided = solution.polish().expected_sample(inner.sample)
        fold, trained = np.flatnonzero(of == k), np.flatnonzero(of != k)
        probability[fold] = decided[fold]
        seen.append(constraint_test.values(trained, decided[trained]))
    unseen = constraint_test.values(np.arange(len(of)), probability)
    return np.asarray(np.maximum(unseen - np.mean(seen, axis=0), 0.0))


def _folds(training: Training) -> NDArray[np.int8] | None:
    """Fold of each row, stratified by cell; None if the rows without some fold cannot measure every rate.

    Rows are dealt out in the order in which they were given, whichever process has them.
    """
    cells, moved = training.cells, training.moved
    of = np.empty(len(training.sample), dtype=np.int8)
    as_given = np.arange(len(of)) if moved is None else np.argsort(moved)
    for k, rows in enumerate(split_by_cell(cells.batch(as_given), [1 / K] * K, training.seed)):
        of[as_given[rows]] = k
    rates = training.problem.rates()
    enough = all(measurable(rates, training.cells.batch(np.flatnonzero(of != k))) for k in range(K))
    return of if enough else None


def _linear_folds(training: Training, of: NDArray[np.int8], on_all: bool, tight: Array | None = None) -> list[Solution]:
    """Columns of a linear model without each fold: for the constraints as written, and for tighter ones if given.

    All folds share the passes. Where the mixture is not chosen on the rows that train (``on_all`` is False), the fold
    after the one that is left out measures, and is not trained on either.
    """
    problem, examples, cells = training.problem, training.sample.examples, training.cells
    engine = LinearEngine.of(training.sample, cells, of, K, training.model(), training.settings.tolerance)
    table = make_table(canonicalize(problem), examples, cells)
    engine.choose_ridge(np.ones(len(engine.rows.cells)))
    views, rows = [], set(range(K))
    for k in range(K):
        held = (k + 1) % K
        views.append(engine.view(sorted(rows - {k})) if on_all else engine.view(sorted(rows - {k, held}), [held]))
    runs = [[engine.begin(view, table) for view in views]]
    engine.run(list(zip(runs[0], views, strict=True)))
    if tight is not None:
        tighter = make_table(canonicalize(loosened(problem, -feasible_margins(problem, tight))), examples, cells)
        runs.append([engine.go_on(one, view, tighter) for one, view in zip(runs[0], views, strict=True)])
        engine.run(list(zip(runs[1], views, strict=True)))
    learner = FittedLinear(training.sample.names)
    solutions = []
    for generations in zip(*runs, strict=True):
        columns = generations[0].columns()
        for tighter_one in generations[1:]:
            columns = columns.join(tighter_one.columns())
        W = np.concatenate([engine.weights(one, range(len(one.places))) for one in generations], axis=1)
        handle = np.stack([np.zeros(W.shape[1], dtype=np.intp), np.arange(W.shape[1])], axis=1)
        columns = replace(columns, handle=handle)
        solutions.append(
            Solution(problem, column_generation, table, columns, learner, (W,), training.settings.tolerance)
        )
    return solutions


def _other_folds(
    training: Training, of: NDArray[np.int8], on_all: bool, tight: Array, seconds: float
) -> list[Solution]:
    """Columns of any other model without each fold, one after the other, for tighter constraints.

    It prints how many trainings there are, and an estimate of the time left; ``seconds`` is how long one takes.
    """
    solutions: list[Solution] = []
    began = time.monotonic()
    for k in range(K):
        if training.settings.verbose:
            each = (time.monotonic() - began) / k if k else seconds
            left = f"about {(K - k) * each:.0f} s to go"
            text = f"confidence: training {k + 1} of {K}, each without one fold ({left})"
            print(f"\r{text:<90}", end="", file=sys.stderr, flush=True)
        held_out = np.flatnonzero(of == (k + 1) % K)
        train = np.flatnonzero((of != k) & (on_all | (of != (k + 1) % K)))
        one = training.solve_on_rows(train, [-feasible_margins(training.problem, tight)], held_out=held_out)
        if not on_all:
            one = one.on_sample(training.sample.take(held_out), training.cells.subset(held_out))
        solutions.append(one)
    if training.settings.verbose:
        print(file=sys.stderr)
    return solutions
