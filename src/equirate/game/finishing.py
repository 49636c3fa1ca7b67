r"""Finishing: further columns after the play, until no answer of the model improves the best mixture.

In: a `Solution`. Out: the classifiers that join its columns. `Solution.finish` and `estimators.fitting` call this.

A play records the classifiers that it passed through, and the best mixture may need one that it did not. Each round,
the best mixture of all columns has prices (`mixtures.pricing`): multipliers at which no column costs less than those it
is made of. Through the table they are one cost per cell, and the model answers them: an answer that costs less is a
column that improves the mixture. This is column generation; for convex problems and a model that answers exactly it
ends at the best mixture of all its classifiers, and for ratios at one that no mixture nearby is better than.

The prices of a round are joined by means of those before them (Wentges 1997), because prices jump about while there are
few columns, and for ratios by those of other local optima.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core.peers import peers
from ..mixtures import Cut, best_index, judged, polish_weights, prices, shrink_weights
from ..models.contract import Answered, Fit, Learner
from ..problem.table import Table, make_table

if TYPE_CHECKING:
    from .solution import Solution

Array = NDArray[np.float64]
Told = Callable[[int, float, float], Any]
"""Told of each round: its number, and objective (in the user's sense) and violation of the best mixture so far."""

ROUNDS = 40
"""Rounds of answers at most."""
KNOWN = 3
"""Columns that are shown to the model for each of the prices, as perhaps near the best."""
LISTED = 1000
"""Classifiers up to which a model's whole list joins."""
_SAME = 1e-9
"""Columns whose rates differ by less are the same."""


@dataclass(frozen=True, eq=False)
class Joined:
    """Classifiers that join the columns of a solution: snapshots, which of their columns, and those columns' sums."""

    snapshots: tuple[Any, ...]
    places: tuple[NDArray[np.intp], ...]
    sums: tuple[Array, ...]
    fits: tuple[Fit, ...]
    interrupted: bool = False

    def __len__(self) -> int:
        """Count the classifiers."""
        return sum(map(len, self.places))


@dataclass
class Pool:
    """Columns to mix: those of a solution, and those that joined."""

    solution: Solution
    learner: Learner
    rates: Array
    rows: Array
    chosen: list[tuple[int, int]]
    """Where each column is: (snapshot, place)."""
    snapshots: list[Any]
    joined: Joined = field(default_factory=lambda: Joined((), (), (), ()))
    cuts: list[Cut] = field(default_factory=list)

    @classmethod
    def of(cls, solution: Solution, learner: Learner) -> Pool:
        """The recorded iterates."""
        rates, losses = solution.measured(solution.iterates)
        record = solution.record
        rows = solution.judge.rows_from_rates(rates, losses)
        return cls(solution, learner, rates, rows, record.local(solution.iterates), list(record.snapshots))

    def join(self, answered: Answered) -> None:
        """Take the classifiers in whose rates differ from those of all others."""
        table = self.solution.judge
        rates = table.rates(answered.sums)
        new: list[int] = []
        for k in range(rates.shape[1]):
            others = np.concatenate([self.rates, rates[:, new]], axis=1)
            if not (np.abs(others - rates[:, [k]]).max(axis=0) <= _SAME).any():
                new.append(k)
        if not new:
            return
        self.rates = np.concatenate([self.rates, rates[:, new]], axis=1)
        nothing = np.zeros((0, len(new)))
        self.rows = np.concatenate([self.rows, table.rows_from_rates(rates[:, new], nothing)], axis=1)
        self.chosen += [(len(self.snapshots), k) for k in new]
        self.snapshots.append(answered.snapshot)
        known = self.joined
        self.joined = Joined(
            (*known.snapshots, answered.snapshot),
            (*known.places, np.array(new)),
            (*known.sums, answered.sums[:, new]),
            (*known.fits, answered.fit),
        )

    # -- mixtures --------------------------------------------------------------------------------

    def begin(self) -> list[Array]:
        """Mixtures to begin at: the shrunk one, the best single column and, for ratios, everybody."""
        objective, violations = self.solution.values(self.rates, np.zeros((0, self.rates.shape[1])))
        count = len(objective)
        starts = [shrink_weights(objective, violations).weights]
        if self.solution.judge.program.has_ratios:
            starts += [np.eye(1, count, best_index(objective, violations))[0], np.full(count, 1 / count)]
        return starts

    def polished(self, start: Array) -> Array:
        """The best mixture that is found from one."""
        padded = np.concatenate([start, np.zeros(self.rates.shape[1] - len(start))])
        found = polish_weights(self.solution.judge, self.rows, padded, cuts=self.cuts)
        if found is None or self.value(padded) <= self.value(found.weights):
            return padded
        return found.weights

    def value(self, mixture: Array) -> tuple[float, float]:
        """Violation (rounded to what counts) and minimised objective, as the programmes have them."""
        objective, violation = judged(self.solution.judge, self.rows[:, : len(mixture)] @ mixture)
        if not np.isfinite(objective + violation):
            return np.inf, np.inf
        return round(violation, 6), objective

    def near(self, multipliers: Array, mixtures: Sequence[Array]) -> list[tuple[int, int]]:
        """Columns that cost least at some prices, and those of the mixtures."""
        costs = multipliers.T @ self.rows
        count = min(KNOWN, costs.shape[1])
        found = [np.argpartition(cost, count - 1)[:count] for cost in costs]
        found += [np.flatnonzero(mixture > 0) for mixture in mixtures]
        return [self.chosen[k] for k in np.unique(np.concatenate(found))]


def finishing(
    solution: Solution,
    learner: Learner | None = None,
    rounds: int = ROUNDS,
    time_limit: float | None = None,
    told: Told | None = None,
    searching: bool = True,
) -> Joined:
    """Find the classifiers that improve the best mixture of a solution, on the data that it is judged on.

    ``learner`` answers, and is joined with those data; by default the one that played. Where not ``searching``, with
    regressions alone.
    """
    learner = solution.learner if learner is None else learner
    pool = Pool.of(solution, learner)
    until = np.inf if time_limit is None else time.monotonic() + time_limit
    try:
        with learner.expecting(rounds):
            _answers(pool, rounds, until, told, searching)
    except KeyboardInterrupt:
        if peers().size > 1:  # the others are elsewhere
            raise
        return replace(pool.joined, interrupted=True)
    return pool.joined


def _answers(pool: Pool, rounds: int, until: float, told: Told | None, searching: bool) -> None:
    solution, learner = pool.solution, pool.learner
    every = learner.every_sum()
    if every is not None:
        _listed(pool, every)
        return
    answerer = learner.answerer(len(solution.record.actives[-1]), solution.judge.program.has_ratios, searching)
    for answered in answerer.begin():
        pool.join(answered)
    mixtures = [pool.polished(start) for start in pool.begin()]
    training = _training(solution)
    smooth: list[Array] = []
    best, stale = min(map(pool.value, mixtures)), 0
    for t in range(1, rounds + 1):
        mixtures = _different(sorted(mixtures, key=pool.value), pool)
        priced = [
            found.multipliers for mu in mixtures for found in prices(pool.solution.judge, pool.rows, mu, pool.cuts)
        ]
        multipliers = _several(priced, smooth, answerer.width)
        known = learner.members(pool.snapshots, pool.near(multipliers, mixtures))
        for answered in answerer.answer(training.coefficients(multipliers), known):
            pool.join(answered)
        mixtures = [pool.polished(mu) for mu in mixtures]
        now = min(map(pool.value, mixtures))
        gain = answerer.gain
        improved = now[0] < best[0] - gain or (now[0] <= best[0] + _SAME and now[1] < best[1] - gain)
        best, stale = min(now, best), 0 if improved else stale + 1
        if told is not None:
            told(t, solution.sign * best[1], best[0])
        if stale >= answerer.patience or answerer.spent or time.monotonic() > until:
            break


def _different(mixtures: list[Array], pool: Pool) -> list[Array]:
    """Mixtures whose rates differ."""
    kept: list[Array] = []
    for mixture in mixtures:
        rows = pool.rows @ mixture
        if all(np.abs(rows - pool.rows @ other).max() > 1e-6 for other in kept):
            kept.append(mixture)
    return kept


def _several(priced: list[Array], smooth: list[Array], count: int) -> Array:
    """As many prices as are asked for: the programmes' own, and means of theirs with those before."""
    found, jitter = priced[:count], np.random.default_rng(0)
    if smooth:
        found += [(each + smooth[0]) / 2 for each in priced]
    smooth[:] = [priced[0] if not smooth else (priced[0] + smooth[0]) / 2]
    while len(found) < count:
        found.append(found[len(found) % len(priced)] * np.exp(jitter.uniform(-0.5, 0.5, len(priced[0]))))
    return np.stack(found[:count], axis=1)


def _training(solution: Solution) -> Table:
    """The problem's table with the weights that the model is trained with."""
    judge, training = solution.judge, solution.training
    if training is None:
        return judge
    return make_table(judge.program, training.examples, training.cells)


def _listed(pool: Pool, every: Array) -> None:
    """Where all classifiers are known, so is the best mixture of them all."""
    solution, count = pool.solution, every.shape[1]
    table = solution.judge
    if count <= LISTED:
        chosen = np.arange(count)
    else:
        rates = table.rates(every)
        nothing = np.zeros((0, count))
        start = shrink_weights(*solution.values(rates, nothing)).weights
        found = polish_weights(table, table.rows_from_rates(rates, nothing), start)
        support = np.flatnonzero(start if found is None else found.weights)
        near = (support[:, None] + np.arange(-20, 21)).reshape(-1)
        spread = np.linspace(0, count - 1, LISTED // 2).astype(np.intp)
        chosen = np.unique(np.concatenate([spread, near.clip(0, count - 1)]))
    pool.join(Answered(pool.learner.every_snapshot(chosen), every[:, chosen]))
