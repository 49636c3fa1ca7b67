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

**split** is what cross becomes where rows repeat (`serving`): the decisions that `predict` returns, those of a mixture
and its salt, are tested on half of the rows by the approximate test. Equal rows are decided alike, so a test of the
folds' mixtures would say nothing of their uniform mixture. Salts are chosen where mixtures are; given the salt the
decisions are a function of the row, and the rows of the test are independent of it.

That all constraints pass needs no correction: if one is broken, that one passes with a chance of at most 1 - confidence
(an intersection-union test).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError, InfeasibleError
from .._core.peers import peers
from ..data.examples import Examples
from ..data.splits import measurable, split_by_cell
from ..game.algorithms import column_generation
from ..game.classifiers import Classifier
from ..game.infeasible import loosened
from ..game.linear_engine import LinearEngine
from ..game.solution import Solution
from ..judge.exact import Decisions
from ..language.expressions import Constraint
from ..models.linear import FittedLinear
from ..problem.canonical import canonicalize
from ..problem.problem import Problem
from ..problem.table import make_table
from .careful import ROOM, Part
from .fitting import Training
from .serving import Served, best_salt
from .trials import Trial
from .walking import Walked, deployed, tested, walk

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

METHODS = ("cross", "holdout")
K = 5
"""Folds."""
TIGHT = 1.2
"""How much tighter: this share of what the test's bound reaches."""
MOST = 20_000
"""Rows that are looked at, about, to say how far bounds reach."""
_TIGHTER = 3
"""Mixtures that are tried for each share where rows repeat, each with a margin for what the best salt missed."""
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
    salt: int | None = None
    """That was tested with the mixture, where rows repeat."""


# -- cross-fitting --------------------------------------------------------------------------------


def cross(training: Training, chooser: Solution, seconds: float = 0.0) -> Found:
    """Cross-fit and walk.

    ``chooser`` is the plain fit, judged where its mixture was chosen; ``seconds`` is how long it took.
    """
    trial = trial_of(training, "approximate")
    plain, everybody = chooser.polish(), np.arange(len(trial.sample))
    size, looked_at = peers().total(len(everybody)), _looked_at(trial, plain)
    of = _folds(training)
    if of is None:
        sample = trial.sample
        decided = plain.positive_probability(sample.X, attributes=sample.examples.columns)
        return Found(trial, everybody, decided, reasons=(TOO_FEW,))
    beyond, tight = trial.beyond(*looked_at, size), TIGHT * trial.reach(*looked_at, size)
    parts = _parts(training, trial, of, beyond, tight, seconds)
    rows = np.concatenate([part.test for part in parts])
    without, walked = tested(parts, [part.plain for part in parts]), walk(trial, parts)
    mixture = None if walked is None else deployed(parts, walked.mixtures, training.problem, "cross-fitted")
    return Found(trial, rows, without, walked, mixture)


def _folds(training: Training) -> NDArray[np.intp] | None:
    """Fold of each row, stratified by cell; None where a part without one could not measure every rate.

    Rows are dealt out in the order in which they were given, whichever process has them.
    """
    cells, moved = training.cells, training.moved
    of = np.empty(len(training.sample), dtype=np.intp)
    as_given = cells if moved is None else cells.take(np.argsort(moved))
    for k, rows in enumerate(split_by_cell(as_given, [1 / K] * K, training.seed)):
        of[rows] = k
    of = of if moved is None else of[moved]
    rates = training.problem.rates()
    enough = all(measurable(rates, training.cells.take(np.flatnonzero(of != k))) for k in range(K))
    return of if enough else None


def _looked_at(trial: Trial, plain: Classifier) -> tuple[Rows, Array]:
    """Rows, not too many, and what the plain classifier decides there."""
    size = len(trial.sample)
    rows = np.arange(size)[:: max(size // MOST, 1)]
    sample = trial.sample.take(rows)
    return rows, plain.positive_probability(sample.X, attributes=sample.examples.columns)


def _parts(
    training: Training, trial: Trial, of: NDArray[np.intp], beyond: Array, tight: Array, seconds: float
) -> list[Part]:
    """Train without each fold, and gather the columns."""
    rows = np.arange(len(of))
    trusted = training.settings.trusted(len(of) - len(of) // K, training.width)
    solve = _linear_folds if training.linear else _other_folds
    return [
        Part(trial, one, inside=rows[of != k], test=rows[of == k], size=peers().total(len(of)), beyond=beyond)
        for k, one in enumerate(solve(training, of, tight, trusted, seconds))
    ]


def _linear_folds(
    training: Training, of: NDArray[np.intp], tight: Array, trusted: bool, seconds: float
) -> list[Solution]:
    """Columns of a linear model without each fold: for the constraints as written, and for tighter ones.

    All folds share the passes. Where the model's own rates are not trusted, the fold after the one that is left out
    measures, and is not trained on either.
    """
    problem, cells = training.problem, training.cells
    engine = LinearEngine.of(training.sample, cells, of, K, training.model())
    table = make_table(canonicalize(problem), training.sample.examples, cells)
    tighter = make_table(canonicalize(loosened(problem, -possible(problem, tight))), training.sample.examples, cells)
    engine.choose_ridge(np.ones(len(engine.rows.cells)))
    views, rows = [], set(range(K))
    for k in range(K):
        apart = (k + 1) % K
        views.append(engine.view(sorted(rows - {k})) if trusted else engine.view(sorted(rows - {k, apart}), [apart]))
    as_written = [engine.begin(view, table) for view in views]
    engine.run(list(zip(as_written, views, strict=True)))
    careful = [engine.go_on(one, view, tighter) for one, view in zip(as_written, views, strict=True)]
    engine.run(list(zip(careful, views, strict=True)))
    learner = FittedLinear(training.width, training.sample.names)
    found = []
    for both in zip(as_written, careful, strict=True):
        first, second = (each.columns() for each in both)
        W = np.concatenate([engine.weights(each, range(len(each.places))) for each in both], axis=1)
        handle = np.stack([np.zeros(W.shape[1], dtype=np.intp), np.arange(W.shape[1])], axis=1)
        columns = replace(first.join(second), handle=handle)
        found.append(Solution(problem, column_generation, table, columns, learner, (W,), training.settings.tolerance))
    return found


def possible(problem: Problem, tight: Array) -> Array:
    """Margins that leave room: the two sides of a gap must not contradict each other."""
    while True:
        try:
            loosened(problem, -tight)
        except InfeasibleError:
            tight = tight / 2
        else:
            return tight


def _other_folds(
    training: Training, of: NDArray[np.intp], tight: Array, trusted: bool, seconds: float
) -> list[Solution]:
    """Columns of any other model without each fold, one after the other, for tighter constraints."""
    found, tell = [], _Teller(training, seconds)
    for k in range(K):
        tell.before(k)
        apart = of == (k + 1) % K
        train = np.flatnonzero((of != k) & (trusted | ~apart))
        one = training.solve(train, [-possible(training.problem, tight)])
        if not trusted:
            choose = np.flatnonzero(apart)
            one = one.on_sample(training.sample.take(choose), training.cells.only(choose))
        found.append(one)
    tell.end()
    return found


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
        Decisions.check(examples, examples.clusters)
        decided = np.zeros(len(examples))
        for part in constraints:
            Decisions.of(list(part.rates()), examples, decided, 0).estimate(part.residual).upper(0.9)
    except EquirateError as error:
        raise EquirateError(
            f'confidence_method="holdout" tests by exact counts, and that cannot be had here ({error}); '
            'use confidence_method="cross"'
        ) from None


def holdout(training: Training, chooser: Solution, method: str = "exact") -> Found:
    """Walk on the rows that were kept for the test; where rows repeat, with the decisions that are served."""
    test, trial, plain = training.parts.test, trial_of(training, method), chooser.polish()
    if test is None:  # too few rows to keep some for a test
        sample = training.sample
        decided = plain.positive_probability(sample.X, attributes=sample.examples.columns)
        return Found(trial, np.arange(len(sample)), decided, reasons=(TOO_FEW,))
    rows, inside = (np.arange(len(training.sample))[part] for part in (test, training.parts.choose))
    looked_at = inside[:: max(len(inside) // MOST, 1)]
    there = training.sample.take(looked_at)
    decided = plain.positive_probability(there.X, attributes=there.examples.columns)
    beyond = trial.beyond(looked_at, decided, len(rows))
    if training.linear:
        tight = TIGHT * (trial.reach(looked_at, decided, len(rows)) + beyond)
        chooser = training.play([0.0, -possible(training.problem, tight)])[1]
    if training.draws is None:
        part = Part(trial, chooser, inside=inside, test=rows, size=len(rows), beyond=beyond)
    else:
        part = ServedPart(trial, chooser, inside=inside, test=rows, size=len(rows), beyond=beyond, training=training)
    without, walked = part.probability(part.plain), walk(trial, [part])
    if walked is None:
        return Found(trial, rows, without)
    mixture = deployed([part], walked.mixtures, training.problem, "held out")
    salt = part.salt_of(walked.mixtures[0]) if isinstance(part, ServedPart) else None
    return Found(trial, rows, without, walked, mixture, salt=salt)


class ServedPart(Part):
    """A part whose mixtures decide as they are served where rows repeat: each with the salt that suits it best.

    Salts are chosen on the rows that mixtures are chosen on, never on those of the test.
    """

    def __init__(self, *arguments: Any, training: Training, **options: Any) -> None:
        draws = training.draws
        if draws is None:
            raise TypeError("rows that do not repeat are served as the mixture")
        super().__init__(*arguments, **options)
        self.draws, self.sample = draws, training.sample
        self.judged = training.judged_rows
        self._salts: dict[bytes, int] = {}

    def classifier(self, mu: Array) -> Classifier:
        """The mixture as a classifier."""
        support = np.flatnonzero(mu)
        return Classifier(self.members.take(support.tolist()), mu[support], self.solution.problem)

    def _served(self, mu: Array, margins: Array | float) -> Served:
        sample, draws = self.sample.take(self.judged), self.draws.take(self.judged)
        found = best_salt(self.solution, self.classifier(mu), sample, draws, margins)
        self._salts[mu.tobytes()] = found.salt
        return found

    def salt_of(self, mu: Array) -> int:
        """The salt that a mixture is served with."""
        if mu.tobytes() not in self._salts:
            self._served(mu, 0.0)
        return self._salts[mu.tobytes()]

    def mixture(self, share: float, more: Array | float = 0.0) -> Array | None:
        """The best mixture with a share of the margin that some salt keeps; None where none does."""
        for _ in range(_TIGHTER):
            mu = super().mixture(share, more)
            if mu is None:
                return None
            found = self._served(mu, self.margins(share).at(mu))
            if found.violation <= ROOM:
                return mu
            more = more + found.violation
        return None

    def probability(self, mu: Array, rows: Rows | None = None) -> Array:
        """What is served on the rows of the test (or others), 0 or 1."""
        rows = self.test if rows is None else rows
        classifier, sample = self.classifier(mu), self.sample.take(rows)
        return self.draws.take(rows).decisions(classifier, sample, self.salt_of(mu))


def trial_of(training: Training, method: str) -> Trial:
    """The trial of a fit with a confidence level, on all of its rows."""
    level = training.settings.confidence
    if level is None:
        raise TypeError("a confidence level is needed")
    return Trial.of(training.problem, training.sample, level, method, training.seed)
