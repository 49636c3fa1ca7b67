r"""The game: one loop in which slack, multipliers and model play against each other.

Each round, with :math:`\lambda^t` given: the slack answers with :math:`\xi^t`; a model that best-responds answers
with :math:`\theta^t`; the rates of :math:`\theta^t` are measured exactly; then multipliers, slack and model (one
that descends) take their steps for the next round, all from what was seen in this one. Every algorithm of the
paper is a choice of three players (see `algorithms`); the loop does not depend on it.

All arrays have a last axis of *configurations* (step sizes, constraint levels, seeds), so a grid of runs is one run.
Configurations that are no longer finite are dropped before they are recorded, and reported; the others continue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.cached import cached_property
from .._core.errors import AlgorithmError
from .._core.interrupts import may_end_early
from ..mixtures import largest, values
from ..models.contract import Learner
from ..models.messages import Asked, Seen
from ..problem.table import Table
from .algorithms import Algorithm
from .pausing import peer_checkpointer
from .record import Record, Start

Array = NDArray[np.float64]
Progress = Callable[["Moment"], Any]


@dataclass(frozen=True)
class Moment:
    """The argument of a progress callback: round, number of rounds, the state of the game, and the record so far."""

    round: int
    n_rounds: int
    active: NDArray[np.intp]
    record: Record
    table: Table
    rates: Array
    losses: Array
    """Rates and losses that were just recorded, for all configurations."""
    levels: Array | None
    """(constraints, all configurations): allowed violation of each constraint."""

    @cached_property
    def _values(self) -> tuple[Array, Array]:
        return values(self.table, self.rates[:, self.active], self.losses[:, self.active])

    @property
    def objective(self) -> Array:
        """Objective of each active configuration's iterate, in the user's own sense."""
        return self.table.program.problem.objective.sign * self._values[0]

    @property
    def violation(self) -> Array:
        """Its largest violation, at least 0."""
        return largest(self._values[1])


@dataclass(frozen=True, eq=False)
class Rules:
    """Number of rounds, and step sizes; arrays have one entry per configuration."""

    n_rounds: int
    record_every: int
    theta_rate: Array
    lambda_rate: Array
    slack_rate: Array
    levels: Array | None = None
    """(J, configurations): allowed violation of each constraint (negative: how much it is tightened)."""
    two_sets: bool = False
    """Whether the model is trained on other data than the multipliers see."""

    @property
    def count(self) -> int:
        """Number of configurations."""
        return len(self.theta_rate)


def play(
    table: Table,
    learner: Learner,
    algorithm: Algorithm,
    rules: Rules,
    progress: Progress | None = None,
    training: Table | None = None,
    start: Start | None = None,
) -> Record:
    """Play the rounds and return the record. Ctrl-C ends the play and keeps what was recorded.

    ``table`` has the data that multipliers and slacks see and that is recorded. ``training`` has the data that the
    model is trained on: the same by default; another table over the same rows (with other weights) gives the
    two-data-set game of Cotter et al. (2019). ``start`` continues an earlier play; a play whose process died continues
    from its checkpoint, if there are checkpoints. A progress callback that returns True ends the play; one that returns
    an array of configurations ends only these.
    """
    game = Game(table, table if training is None else training, learner, algorithm, rules)
    record = game.record
    if start is not None:
        game.start_from(start)
    checkpointer = learner.keeper or peer_checkpointer(game)
    try:
        # Configurations that diverge are dropped and reported.
        with learner.expecting(rules.n_rounds), np.errstate(over="ignore", invalid="ignore"):
            played = 0 if checkpointer is None else checkpointer.resume(game, progress)
            for t in range(played + 1, rules.n_rounds + 1):
                recorded = t % game.every == 0 or t == rules.n_rounds
                if recorded:
                    game.drop_diverged(t)
                if not len(game.active):
                    break
                game.round(t, recorded)
                wish = progress(game.moment(t)) if recorded and progress is not None else None
                if isinstance(wish, np.ndarray) and len(wish):
                    game.retire(wish, t)
                over = wish is True
                if checkpointer is not None:
                    checkpointer.save(game, progress, t, over or t == rules.n_rounds)
                if over:
                    break
    except KeyboardInterrupt:
        if not may_end_early():
            raise
        record.interrupted = True
    if not record.rounds and len(record.diverged) == rules.count:
        last = max(record.diverged.values())
        raise AlgorithmError(f"every configuration diverged by round {last}: take smaller steps")
    return record


class Turn(NamedTuple):
    """The start of a round: the multipliers, the slacks, the multipliers of all rows, and the request to the model."""

    lam: Array
    xi: Array
    full: Array
    asked: Asked


class Game:
    """The state of a play and the steps of one round."""

    def __init__(self, table: Table, training: Table, learner: Learner, algorithm: Algorithm, rules: Rules) -> None:
        self.table, self.training = table, training
        self.learner, self.algorithm, self.rules = learner, algorithm, rules
        self.active, self.every, self.stored = np.arange(rules.count), rules.record_every, 0
        self.levels = rules.levels
        self.theta_rate, self.lambda_rate, self.slack_rate = rules.theta_rate, rules.lambda_rate, rules.slack_rate
        self.slacks = algorithm.slack.start(table, rules.count)
        self.multipliers = algorithm.multipliers.start(table, rules.count)
        self.n_multipliers = table.program.n_multipliers
        self.record = Record(rules.count, self.n_multipliers)

    def start_from(self, start: Start) -> None:
        """Continue from the parameters and multipliers of an earlier play."""
        lam = self.multipliers.lam
        if start.multipliers.shape != lam.shape:
            raise AlgorithmError(
                f"cannot continue: the earlier play has multipliers of shape {start.multipliers.shape}, "
                f"this one {lam.shape}"
            )
        self.multipliers = replace(self.multipliers, lam=start.multipliers.copy())
        self.learner.start_from(start.parameters)

    def round(self, t: int, recorded: bool) -> None:
        """Play one round."""
        turn = self.begin(recorded)
        self.end(turn, self.learner.answer(turn.asked), t, recorded)

    def begin(self, recorded: bool) -> Turn:
        """Let the slack answer the multipliers, and compute the request to the model."""
        table, algorithm = self.table, self.algorithm
        lam = self.multipliers.lam
        self.slacks = algorithm.slack.answer(self.slacks, table, lam)
        implied = self.multipliers.slacks
        xi = self.slacks.xi if implied is None else implied
        direct = algorithm.slack.direct(self.slacks, table, lam)
        full = np.concatenate([lam, direct]) if len(direct) else lam
        return Turn(lam, xi, full, self.request(full, recorded))

    def end(self, turn: Turn, seen: Seen, t: int, recorded: bool) -> None:
        """Update all players with the answer of the model."""
        table, algorithm = self.table, self.algorithm
        lam, xi, full = turn.lam, turn.xi, turn.full
        rows = table.rows(seen.sums, self.levels)
        learnt_from = rows if seen.bounds is None else self._bounded(seen.bounds, t)
        residual = self.residual_of(rows, xi)
        learnt = residual if learnt_from is rows else self.residual_of(learnt_from, xi)
        self._add_up(t, rows, lam, full, residual, learnt)
        if recorded:
            self.remember(t, seen, lam, xi, (lam * residual).sum(0))
        if not algorithm.model.responds:
            self.learner.advance(self.theta_rate)
        self.slacks = algorithm.slack.learn(self.slacks, table, lam, rows, self.slack_rate)
        self.multipliers = algorithm.multipliers.learn(
            self.multipliers, table, learnt_from, learnt, self.lambda_rate, t
        )
        if self.multipliers.left is not None:
            self._leave(self.multipliers.left, t)

    def request(self, full: Array, recorded: bool) -> Asked:
        """The request to the model: costs per cell of its training data."""
        model, training = self.algorithm.model, self.training
        up, down = model.split(training, full, self.levels)
        losses = {name: coefficient[:, None] * full[0] for name, coefficient in training.loss.items()}
        bounded = self.algorithm.multipliers.sees_bounds and not model.responds
        return Asked(model.responds, up, down, model.surrogate, losses, bounded, recorded)

    def residual_of(self, rows: Array, xi: Array) -> Array:
        """Gradient of the Lagrangian (without the objective's ordinary losses) with respect to the multipliers."""
        table = self.table
        values = table.atom_values(xi, self.slacks.u, rows)
        residual: Array = rows[: self.n_multipliers] + table.atom_matrix @ values
        residual[table.couplings] -= table.coupling_sense * xi
        return residual

    def _bounded(self, bounds: tuple[Array, Array], t: int) -> Array:
        """Rows computed from the bounds on the predictions."""
        seen = self.table.bounded_rows(*bounds, self.levels)
        self._leave(self.table.arguments(seen)[2], t)
        return seen

    def _leave(self, outside: NDArray[np.bool_], t: int) -> None:
        for c in self.active[outside]:
            self.record.left_domain.setdefault(int(c), t)

    def _add_up(self, t: int, rows: Array, lam: Array, full: Array, residual: Array, learnt: Array) -> None:
        """Update the sums for the regrets and the dual bound."""
        record = self.record
        active = slice(None) if len(self.active) == record.count else self.active
        value = (lam * residual).sum(0)
        record.residual_sum[:, active] += learnt
        record.multiplier_sum[:, active] += lam
        record.lagrangian_sum[active] += value if learnt is residual else (lam * learnt).sum(0)
        record.model_sum[active] += (full * rows).sum(0)
        record.dual_bound[active] = np.fmax(record.dual_bound[active], value)
        record.played = t

    def remember(self, t: int, seen: Seen, lam: Array, xi: Array, value: Array) -> None:
        """Record an iterate of every configuration."""
        record, table = self.record, self.table
        record.rounds.append(t)
        record.snapshots.append(self.learner.snapshot())
        record.actives.append(self.active)
        for name, array in (
            ("rates", table.rates(seen.sums)),
            ("losses", table.loss_values(seen.losses, len(self.active))),
            ("multipliers", lam),
            ("slacks", xi),
            ("lagrangian", value),
            ("shares", self.algorithm.multipliers.share(self.multipliers)),
        ):
            getattr(record, name).append(self._wide(array))
        self.stored += getattr(record.snapshots[-1], "nbytes", 0)
        if self.stored > self.learner.budget:
            record.thin()
            self.every *= 2
            self.stored = sum(snapshot.nbytes for snapshot in record.snapshots)

    def _wide(self, array: Array) -> Array:
        """Values of the active configurations as values of all; NaN for the others."""
        wide = np.full((*array.shape[:-1], self.record.count), np.nan)
        wide[..., self.active] = array
        return wide

    def drop_diverged(self, t: int) -> None:
        """Drop the configurations that are no longer finite."""
        good = self.learner.finite() & np.isfinite(self.multipliers.lam).all(axis=0)
        if good.all():
            return
        self.record.diverged.update(dict.fromkeys(self.active[~good].tolist(), t))
        self.keep_configurations(good)

    def retire(self, configurations: NDArray[np.intp], t: int) -> None:
        """End the play of some configurations; their iterates stay in the record."""
        self.record.retired.update(dict.fromkeys(configurations.tolist(), t))
        self.keep_configurations(~np.isin(self.active, configurations))

    def keep_configurations(self, good: NDArray[np.bool_]) -> None:
        """Drop the other configurations."""
        columns = np.flatnonzero(good)
        self.active = self.active[good]
        self.learner.keep(columns)
        self.slacks, self.multipliers = self.slacks.keep(columns), self.multipliers.keep(columns)
        self.theta_rate, self.lambda_rate = self.theta_rate[columns], self.lambda_rate[columns]
        self.slack_rate = self.slack_rate[columns]
        self.levels = None if self.levels is None else self.levels[:, columns]

    def moment(self, t: int) -> Moment:
        """The current state of the game, for a progress callback."""
        record = self.record
        last = record.rates[-1], record.losses[-1]
        return Moment(t, self.rules.n_rounds, self.active, record, self.table, *last, self.rules.levels)
