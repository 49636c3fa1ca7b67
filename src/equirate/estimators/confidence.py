"""Confidence: a classifier whose constraints hold on new data, certified, or the reason why that cannot be had.

In: a `Training` that was played, and what its plain fit came to. Out: `Found`: the mixture to deploy with the test that
it passed, or nothing and the reasons. `promises` calls this, and says so.

**cross** (the default). The rows are dealt into K folds, stratified by cell, and the model is trained without each of
them. For shares of the margin from careful to bold (`careful`), every fold's best mixture decides on the fold that it
has not seen, and all rows together are tested; the first failure ends the walk, and the last that passed is deployed:
the uniform mixture of the K, whose expected rates are what was tested. All rows train, and all rows test. The test is
the approximate one (`judge.estimates`); there is no proof for finite samples, but `docs/confidence.md` has the counts.

**holdout**. Half of the rows are kept for the test alone. The same walk, from careful to bold, is a fixed sequence of
candidates that do not depend on these rows, each tested by exact binomial bounds on drawn decisions at the full level:
whatever the data, a broken constraint passes with a chance of at most 1 - confidence.

That all constraints pass needs no correction: if one is broken, that one passes with a chance of at most 1 - confidence
(an intersection-union test).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from .._core.peers import peers
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.sample import Sample
from ..data.splits import measurable, split_by_cell
from ..game.classifiers import Classifier
from ..game.solution import Solution
from ..game.solving import solve_on
from ..judge.exact import Decisions
from ..language.expressions import Constraint
from ..mixtures import PENALTY, shrink_weights
from ..models.contract import Rows as ModelRows
from ..models.folds import Folds
from ..problem.problem import Problem
from .careful import Part
from .fitting import Training
from .scope import scoped, twice
from .trials import Trial
from .walking import Walked, deployed, tested, walk

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

METHODS = ("cross", "holdout")
K = 5
"""Folds."""
AS_WRITTEN, TIGHTER = 2, 3
"""Configurations of the plain fit that are played for each fold: for constraints as written, and for tighter ones."""
TIGHT = 1.2
"""How much tighter: this share of what the test's bound reaches."""
MOST = 20_000
"""Rows that are looked at, about, to say how far bounds reach."""
TOO_FEW = "there are too few examples behind some rate to deal them out in folds"


@dataclass(frozen=True, eq=False)
class Found:
    """What came of a walk: the rows of the test, what is decided there without a margin, and what passed, if any."""

    trial: Trial
    rows: Rows
    without: Array
    walked: Walked | None = None
    mixture: Classifier | None = None
    reasons: tuple[str, ...] = ()


# -- cross-fitting --------------------------------------------------------------------------------


def cross(training: Training, solution: Solution, chooser: Solution, seconds: float = 0.0) -> Found:
    """Cross-fit and walk.

    ``solution`` is the plain fit's play and ``chooser`` the same judged where its mixture was chosen: they tell which
    step sizes are worth playing for the folds, and how long. ``seconds`` is how long the plain fit took.
    """
    trial = trial_of(training, "approximate")
    plain, everybody = chooser.polish(), np.arange(len(trial.sample))
    size, looked_at = peers().total(len(everybody)), _looked_at(trial, plain)
    of = _folds(training)
    if of is None:
        sample = trial.sample
        decided = plain.positive_probability(sample.X, sample.examples.columns)
        return Found(trial, everybody, decided, reasons=(TOO_FEW,))
    beyond, tight = trial.beyond(*looked_at, size), TIGHT * trial.reach(*looked_at, size)
    parts = _played(training, solution, trial, of, beyond, tight, seconds)
    rows = np.concatenate([part.test for part in parts])
    without, walked = tested(parts, [part.plain for part in parts]), walk(trial, parts)
    mixture = None if walked is None else deployed(parts, walked.mixtures, training.problem, "cross-fitted")
    return Found(trial, rows, without, walked, mixture)


def _folds(training: Training) -> NDArray[np.intp] | None:
    """Fold of each row, stratified by cell; None where a part without one could not measure every rate."""
    cells = training.cells
    order = training.parts.order if peers().wide else None  # as the rows were given, whoever has them
    found = split_by_cell(cells if order is None else cells.take(np.argsort(order)), [1 / K] * K, training.seed)
    of = np.empty(len(training.sample), dtype=np.intp)
    for k, rows in enumerate(found):
        of[rows] = k
    if order is not None:
        of = of[order]
    rates = training.problem.rates()
    enough = all(measurable(rates, training.cells.take(np.flatnonzero(of != k))) for k in range(K))
    return of if enough else None


def _looked_at(trial: Trial, plain: Classifier) -> tuple[Rows, Array]:
    """Rows, not too many, and what the plain classifier decides there."""
    size = len(trial.sample)
    rows = np.arange(size)[:: max(size // MOST, 1)]
    sample = trial.sample.take(rows)
    return rows, plain.positive_probability(sample.X, sample.examples.columns)


def _played(
    training: Training,
    solution: Solution,
    trial: Trial,
    of: NDArray[np.intp],
    beyond: Array,
    tight: Array,
    seconds: float,
) -> list[Part]:
    """Play without each fold, and gather the columns: in one play for linear models, one after the other for others."""
    n, everybody = len(of), np.arange(len(of))
    problem, sample, cells = scoped(training.problem, training.sample, training.cells, training.settings.weight_scope)
    copies = len(sample) // n

    def rows_of(inside: NDArray[np.bool_]) -> Rows:
        return np.flatnonzero(np.tile(inside, copies))

    def part(judged: Solution, chosen: Sequence[tuple[int, int]], rates: Array, losses: Array, k: int) -> Part:
        where = {"inside": everybody[of != k], "test": everybody[of == k]}
        return Part(trial, judged, chosen, rates, losses, size=peers().total(n), beyond=beyond, **where)

    honest = training.settings.trusted(n - n // K, training.width)
    options = replace(training.options(), n_rounds=solution.record.played)
    if training.batched:
        out = np.eye(K, dtype=bool) if honest else np.eye(K, dtype=bool) | np.roll(np.eye(K, dtype=bool), 1, axis=1)
        folds = Folds(np.tile(of, copies), out, _worth_playing(solution))
        played = solve_on(problem, sample, replace(options, levels=_levels(tight)), cells=cells, folds=folds)
        found = []
        for k, chosen in enumerate(_by_fold(played)):
            rates, losses = played.measured(chosen)
            if not honest:
                rates = _rates_on(played, chosen, folds, sample, cells, (k + 1) % K)
            found.append(part(played, chosen, rates, losses, k))
        return found
    found, tell = [], _Teller(training, seconds)
    for k in range(K):
        tell.before(k)
        out_of_play = (of == k) | ((of == (k + 1) % K) & (not honest))
        train, choose = rows_of(~out_of_play), rows_of((of != k) if honest else of == (k + 1) % K)
        one = solve_on(problem, sample.take(train), replace(options, levels=-tight[None]), cells=cells.only(train))
        judged = one if honest else one.on_sample(sample.take(choose), cells.only(choose))
        found.append(part(judged, judged.iterates, *judged.measured(judged.iterates), k))
    tell.end()
    return found


def _by_fold(played: Solution) -> list[list[tuple[int, int]]]:
    """Recorded iterates of each fold."""
    fold = [setting["fold"] for setting in played.configurations]
    return [[(t, c) for t, c in played.iterates if fold[c] == k] for k in range(K)]


def _rates_on(
    played: Solution, chosen: Sequence[tuple[int, int]], folds: Folds, sample: Sample, cells: Cells, fold: int
) -> Array:
    """Rates of iterates on one fold alone."""
    rows = ModelRows.of(sample, folds.cells(cells))
    measure = played.learner.measurer(rows)
    others = np.arange(K)[None] != fold
    factors = folds.factors(cells, others)[:, :, 0]
    sums = measure(played.members(chosen)).reshape(*factors.shape, len(chosen))
    return played.judge.rates((sums * factors[:, :, None]).sum(axis=1))


def _worth_playing(plain: Solution) -> tuple[int, ...]:
    """Configurations for the `_levels`: those whose iterates make the best mixtures, without a margin and with one."""
    count, iterates = len(plain.configurations), plain.iterates
    objective, violations = plain.values(*plain.measured(iterates))
    of = np.array([c for _, c in iterates])
    score = np.zeros(count)
    for margin in (0.0, 0.02, 0.05):
        weights = shrink_weights(objective, violations + margin).weights
        score += np.bincount(of, weights=weights > 0, minlength=count)
    merit = np.nan_to_num(objective + PENALTY * np.maximum(violations, 0.0).max(axis=0, initial=0.0), nan=np.inf)
    best = np.full(count, np.inf)
    np.minimum.at(best, of, merit)
    order = [2 * int(c) for c in np.lexsort((best, -score))]  # levels are the last axis of configurations but one
    return (*order[:AS_WRITTEN], *(c + 1 for c in order[:TIGHTER]))


def _levels(tight: Array) -> Array:
    """Levels to play for: the constraints as written, and tighter ones."""
    return np.stack([np.zeros_like(tight), -tight])


class _Teller:
    """Says beforehand how many trainings there are to come and, while they run, about how long they will take."""

    def __init__(self, training: Training, seconds: float) -> None:
        self.shown, self.each, self.began = bool(training.settings.verbose), seconds, time.monotonic()

    def before(self, k: int) -> None:
        """Say which training begins."""
        if k:
            self.each = (time.monotonic() - self.began) / k
        if self.shown:
            left = f"about {(K - k) * self.each:.0f} s to go"
            text = f"confidence: training {k + 1} of {K}, each without one fold ({left})"
            print(f"\r{text:<90}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line."""
        if self.shown:
            print(file=sys.stderr)


# -- the strict method ----------------------------------------------------------------------------


def refuse_inexact(problem: Problem, examples: Examples) -> None:
    """Refuse, before training, what the strict method has no exact bounds for."""
    if peers().size > 1:
        raise EquirateError(
            'confidence_method="holdout" counts the rows of one process: over several, use confidence_method="cross"'
        )
    constraints = [part for c in problem.constraints if isinstance(c, Constraint) for part in c.split()]
    try:
        Decisions.check(examples, None)
        decided = np.zeros(len(examples))
        for part in constraints:
            Decisions.of(list(part.rates()), examples, decided, 0).estimate(part.residual).upper(0.9)
    except EquirateError as error:
        raise EquirateError(
            f'confidence_method="holdout" tests by exact counts, and that cannot be had here ({error}); '
            'use confidence_method="cross"'
        ) from None


def _played_tighter(training: Training, solution: Solution, tight: Array) -> Solution:
    """Columns that keep a margin: a play for tighter constraints beside those as written, on the training part."""
    problem, sample, cells = scoped(training.problem, training.sample, training.cells, training.settings.weight_scope)
    parts = training.parts
    train, choose = (twice(part, len(training.sample), len(sample)) for part in (parts.train, parts.choose))
    options = replace(training.options(), n_rounds=solution.record.played, levels=_levels(tight))
    rows = sample.take(train)
    everybody = Folds(np.zeros(len(rows), dtype=np.intp), np.zeros((1, 1), dtype=bool), _worth_playing(solution))
    played = solve_on(problem, rows, options, cells=cells.only(train), folds=everybody)
    return played.on_sample(sample.take(choose), cells.only(choose))


def holdout(training: Training, solution: Solution, chooser: Solution) -> Found:
    """Walk on the rows that were kept for the test."""
    test = training.parts.test
    if test is None:
        raise TypeError("the strict method needs a part to test on, which `Parts.of` makes")
    trial, plain = trial_of(training, "exact"), chooser.polish()
    rows, inside = (np.arange(len(training.sample))[part] for part in (test, training.parts.choose))
    looked_at = inside[:: max(len(inside) // MOST, 1)]
    there = training.sample.take(looked_at)
    decided = plain.positive_probability(there.X, there.examples.columns)
    beyond = trial.beyond(looked_at, decided, len(rows))
    if training.batched:
        tight = TIGHT * (trial.reach(looked_at, decided, len(rows)) + beyond)
        chooser = _played_tighter(training, solution, tight)
    found = chooser.measured(chooser.iterates)
    part = Part(trial, chooser, chooser.iterates, *found, inside=inside, test=rows, size=len(rows), beyond=beyond)
    without, walked = part.probability(part.plain), walk(trial, [part])
    mixture = None if walked is None else deployed([part], walked.mixtures, training.problem, "held out")
    return Found(trial, rows, without, walked, mixture)


def trial_of(training: Training, method: str) -> Trial:
    """The trial of a fit with a confidence level, on all of its rows."""
    level = training.settings.confidence
    if level is None:
        raise TypeError("a confidence level is needed")
    return Trial.of(training.problem, training.confident(slice(None)), level, method, training.seed)
