r"""The game: one loop in which slack, multipliers and model play against each other.

Each round, with :math:`\lambda^t` given: the slack answers with :math:`\xi^t`; a model that best-responds answers
with :math:`\theta^t`; the rates of :math:`\theta^t` are measured exactly; then multipliers, slack and model (one
that descends) take their steps for the next round, all from what was seen in this one. Every algorithm of the
paper is a choice of three players (see `algorithms`); the loop does not know which.

All arrays carry a last axis of *configurations* (step sizes, constraint levels, seeds), so a grid of runs is one
run. Configurations that stop being finite are dropped before they are recorded, and named; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import kernels
from .._core.errors import AlgorithmError
from ..language.expressions import Expression
from ..models.base import Members, Player
from ..players import model as model_players
from ..players.losses import loss_values
from ..players.multipliers import MultiplierPlayer, arguments
from ..players.slack import SlackPlayer
from ..players.surrogates import HINGE
from ..problem.table import Table

Array = NDArray[np.float64]
Progress = Callable[["Moment"], Any]


@dataclass(frozen=True)
class Moment:
    """What a progress callback is told: round, number of rounds, where the game stands, and the record so far."""

    round: int
    n_rounds: int
    active: NDArray[np.intp]
    record: Record
    table: Table
    rates: Array
    losses: Array
    """What was just recorded, for all configurations."""
    levels: Array | None
    """(constraints, all configurations): how far each constraint may be overstepped."""

    @cached_property
    def _values(self) -> tuple[Array, Array]:
        return values(self.table, self.rates[:, self.active], self.losses[:, self.active], self.table.constants)

    @property
    def objective(self) -> Array:
        """Objective of each active configuration's iterate, in the user's own sense."""
        sign = -1.0 if self.table.program.problem.objective.sense == "maximize" else 1.0
        return sign * self._values[0]

    @property
    def violation(self) -> Array:
        """Its largest violation, at least 0."""
        worst: Array = np.maximum(self._values[1], 0.0).max(axis=0, initial=0.0)
        return worst


@dataclass(frozen=True, eq=False)
class Rules:
    """How long to play and how fast to move; one entry per configuration."""

    n_rounds: int
    record_every: int
    theta_rate: Array
    lambda_rate: Array
    slack_rate: Array
    levels: Array | None = None
    """(J, configurations): how far each constraint may be overstepped (negative: how much tighter it is)."""
    two_sets: bool = False
    """Whether the model is trained on other data than the multipliers see."""

    @property
    def count(self) -> int:
        """Number of configurations."""
        return len(self.theta_rate)


@dataclass(frozen=True, eq=False)
class Start:
    """Where an earlier play ended: the model's parameters and the multipliers, with configurations last."""

    parameters: Any
    multipliers: Array


_PER_ITERATE = (
    "rounds", "photographs", "actives", "rates", "losses", "multipliers", "slacks", "lagrangian", "shares",
)  # fmt: skip


@dataclass(eq=False)
class Record:
    """What happened: photographs of the model, exact rates, multipliers and slacks, every so many rounds.

    Arrays have shape (recorded rounds, quantity, configurations); configurations that were dropped are NaN. Where the
    photographs would take more memory than the model allows, every second iterate is forgotten, and half as many are
    recorded from then on.
    """

    count: int
    rounds: list[int] = field(default_factory=list)
    photographs: list[Any] = field(default_factory=list)
    actives: list[NDArray[np.intp]] = field(default_factory=list)
    rates: list[Array] = field(default_factory=list)
    losses: list[Array] = field(default_factory=list)
    multipliers: list[Array] = field(default_factory=list)
    slacks: list[Array] = field(default_factory=list)
    lagrangian: list[Array] = field(default_factory=list)
    shares: list[Array] = field(default_factory=list)
    diverged: dict[int, int] = field(default_factory=dict)
    """Configuration and the round by which it was found not to be finite."""
    retired: dict[int, int] = field(default_factory=dict)
    """Configuration and the round after which it was taken out of the play, having reached what it could."""
    left_domain: dict[int, int] = field(default_factory=dict)
    """Configuration and the first round in which surrogate rates left an atom's domain."""
    played: int = 0
    interrupted: bool = False
    residual_sum: Array = field(default_factory=lambda: np.zeros((0, 0)))
    multiplier_sum: Array = field(default_factory=lambda: np.zeros((0, 0)))
    lagrangian_sum: Array = field(default_factory=lambda: np.zeros(0))
    model_sum: Array = field(default_factory=lambda: np.zeros(0))
    dual_bound: Array = field(default_factory=lambda: np.zeros(0))
    """Largest Lagrangian so far: a lower bound on the optimum where slack and model both answer best."""

    def members(self, player: Player, chosen: Sequence[tuple[int, int]]) -> Members:
        """Return recorded iterates, (recorded round, configuration), as classifiers."""
        return player.members(self.photographs, self.local(chosen))

    def local(self, chosen: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Translate configurations to columns of the photographs."""
        return [(t, int(np.searchsorted(self.actives[t], c))) for t, c in chosen]

    def end(self) -> Start:
        """Where the play ended, to continue from there; configurations that were dropped stay away."""
        return Start(self.photographs[-1], self.multipliers[-1][:, self.actives[-1]])

    def thin(self) -> None:
        """Forget every second iterate, but not the last."""
        for name in _PER_ITERATE:
            kept = getattr(self, name)[::-2]
            setattr(self, name, kept[::-1])

    def stacked(self, name: str) -> Array:
        """Return a recorded quantity as one array (recorded rounds, quantity, configurations)."""
        return np.array(getattr(self, name))


def play(
    table: Table,
    player: Player,
    slack: SlackPlayer,
    multipliers: MultiplierPlayer,
    model: model_players.ModelPlayer,
    rules: Rules,
    progress: Progress | None = None,
    training: Table | None = None,
    start: Start | None = None,
) -> Record:
    """Play the rounds and return the record. Ctrl-C ends the play and keeps what was recorded.

    ``table`` is what multipliers and slacks see, and what is recorded. ``training`` is what the model is trained on:
    the same by default; another table over the same rows (with other weights) makes the two-data-set game of Cotter
    et al. (2019). ``start`` continues an earlier play. A progress callback that returns True ends the play; one that
    returns an array of configurations ends theirs, and the others go on in a smaller batch.
    """
    record = Record(rules.count)
    game = _Game(table, table if training is None else training, player, slack, multipliers, model, rules, record)
    if start is not None:
        game.resume(start)
    try:
        work = player.work * rules.count * rules.n_rounds
        with (
            kernels.expecting(work),
            np.errstate(over="ignore", invalid="ignore"),
        ):  # what diverges is dropped and named
            for t in range(1, rules.n_rounds + 1):
                recorded = t % game.every == 0 or t == rules.n_rounds
                if recorded:
                    game.drop_diverged(t)
                if not len(game.active):
                    break
                game.round(t, recorded)
                wish = progress(game.moment(t)) if recorded and progress is not None else None
                if wish is True:
                    break
                if isinstance(wish, np.ndarray) and len(wish):
                    game.retire(wish, t)
                if recorded and multipliers.settled(game.lambda_state):
                    break
    except KeyboardInterrupt:
        record.interrupted = True
    if not record.rounds and len(record.diverged) == rules.count:
        last = max(record.diverged.values())
        raise AlgorithmError(f"every configuration diverged by round {last}: take smaller steps")
    return record


class _Game:
    """The state of a play and the steps of one round."""

    def __init__(
        self,
        table: Table,
        training: Table,
        player: Player,
        slack: SlackPlayer,
        multipliers: MultiplierPlayer,
        model: model_players.ModelPlayer,
        rules: Rules,
        record: Record,
    ) -> None:
        self.table, self.training = table, training
        self.player, self.rules, self.record = player, rules, record
        self.slack, self.multipliers = slack, multipliers
        self.descent = model if isinstance(model, model_players.Descent) else None
        self.sweeps = self.descent is not None and self.descent.surrogate is HINGE and not training.loss
        self.active, self.every, self.stored = np.arange(rules.count), rules.record_every, 0
        self.levels = rules.levels
        self.theta_rate, self.lambda_rate, self.slack_rate = rules.theta_rate, rules.lambda_rate, rules.slack_rate
        self.slack_state = slack.start(table, rules.count)
        self.lambda_state = multipliers.start(table, rules.count)
        self.n = table.program.n_multipliers
        zeros = np.zeros((self.n, rules.count))
        record.residual_sum, record.multiplier_sum = zeros.copy(), zeros.copy()
        record.lagrangian_sum, record.model_sum = np.zeros(rules.count), np.zeros(rules.count)
        record.dual_bound = np.full(rules.count, -np.inf)

    def resume(self, start: Start) -> None:
        """Continue from the parameters and multipliers of an earlier play."""
        lam = self.lambda_state["lam"]
        if start.multipliers.shape != lam.shape:
            raise AlgorithmError(
                f"cannot continue: the earlier play has multipliers of shape {start.multipliers.shape}, "
                f"this one {lam.shape}"
            )
        self.lambda_state["lam"] = start.multipliers.copy()
        self.player.resume(start.parameters)

    def round(self, t: int, recorded: bool) -> None:
        """Play one round."""
        table, levels = self.table, self.levels
        lam = self.lambda_state["lam"]
        self.slack_state = self.slack.answer(self.slack_state, table, lam)
        xi: Array = (self.lambda_state if "xi" in self.lambda_state else self.slack_state)["xi"]
        direct = self.slack.direct(self.slack_state, table, lam)
        full = np.concatenate([lam, direct]) if len(direct) else lam
        costs = None if self.descent is None else self.descent.coefficients(self.training, full, levels)
        sums, bounds, scores = self._measured(full, costs)
        rows = table.rows(sums, levels)
        seen = rows if bounds is None else self._bounded(bounds, t)
        residual = self._residual(rows, xi)
        learnt = residual if seen is rows else self._residual(seen, xi)
        self._add_up(t, rows, lam, full, residual, learnt)
        if recorded:
            self._remember(t, sums, scores, lam, xi, (lam * residual).sum(0))
        if self.descent is not None and costs is not None:
            if scores is None:
                self.player.step(self.theta_rate)
            else:
                gradient = self.descent.score_gradient(self.training, scores, *costs, lam[0])
                self.player.descend(gradient, self.theta_rate)
        self.slack_state = self.slack.learn(self.slack_state, table, lam, rows, self.slack_rate)
        self.lambda_state = self.multipliers.learn(self.lambda_state, table, seen, learnt, self.lambda_rate, t)
        if "left" in self.lambda_state:
            self._leave(self.lambda_state["left"], t)

    def _measured(
        self, full: Array, costs: tuple[Array, Array] | None
    ) -> tuple[Array, tuple[Array, Array] | None, Any]:
        """Cell sums of this round's model, of bounds on its predictions for multipliers that see those, and its scores.

        A model that best-responds moves first. One that descends measures and feels its slope in one pass where it can,
        on the hinge bounds and with no ordinary losses; then there are no scores, and nobody needs them.
        """
        if costs is None:
            self.player.respond(self.training, self.training.coefficients(full, self.levels))
            return self.player.sums(self.table), None, None
        surrogate = self.multipliers.surrogate
        swept = self.player.sweep(self.table, self.training, *costs, surrogate) if self.sweeps else None
        if swept is not None:
            return *swept, None
        scores, add = self.player.scores(), self.table.cells.sums
        assert self.descent is not None  # there are costs
        bounds = self.descent.surrogate
        seen = (add(bounds.upper(scores)), add(bounds.lower(scores))) if surrogate else None
        return add(scores > 0), seen, scores

    def _residual(self, rows: Array, xi: Array) -> Array:
        """Gradient of the Lagrangian (without the objective's ordinary losses) with respect to the multipliers."""
        table = self.table
        values = table.atom_values(xi, self.slack_state.get("u"), rows)
        residual: Array = rows[: self.n] + table.atom_matrix @ values
        residual[table.couplings] -= table.coupling_sense * xi
        return residual

    def _bounded(self, bounds: tuple[Array, Array], t: int) -> Array:
        """Rows as the bounds on the predictions have them."""
        seen = self.table.bounded_rows(*bounds, self.levels)
        self._leave(arguments(self.table, seen)[1], t)
        return seen

    def _leave(self, outside: NDArray[np.bool_], t: int) -> None:
        for c in self.active[outside]:
            self.record.left_domain.setdefault(int(c), t)

    def _add_up(self, t: int, rows: Array, lam: Array, full: Array, residual: Array, learnt: Array) -> None:
        """Keep what the regrets and the dual bound are computed from."""
        record: Record = self.record
        active = slice(None) if len(self.active) == record.count else self.active
        value = (lam * residual).sum(0)
        record.residual_sum[:, active] += learnt
        record.multiplier_sum[:, active] += lam
        record.lagrangian_sum[active] += value if learnt is residual else (lam * learnt).sum(0)
        record.model_sum[active] += (full * rows).sum(0)
        record.dual_bound[active] = np.fmax(record.dual_bound[active], value)
        record.played = t

    def _remember(self, t: int, sums: Array, scores: Any, lam: Array, xi: Array, value: Array) -> None:
        """Record an iterate of every configuration."""
        record = self.record
        record.rounds.append(t)
        record.photographs.append(self.player.photograph())
        record.actives.append(self.active)
        losses = self.table.program.problem.losses()
        for name, array in (
            ("rates", self.table.rates(sums)),
            (
                "losses",
                loss_values(losses, self.table.examples, scores) if losses else np.zeros((0, len(self.active))),
            ),
            ("multipliers", lam),
            ("slacks", xi),
            ("lagrangian", value),
            ("shares", self.multipliers.share(self.lambda_state, t)),
        ):
            getattr(record, name).append(self._wide(array))
        self.stored += getattr(record.photographs[-1], "nbytes", 0)
        if self.stored > self.player.budget:
            record.thin()
            self.every *= 2
            self.stored = sum(photograph.nbytes for photograph in record.photographs)

    def _wide(self, array: Array) -> Array:
        if len(self.active) == self.record.count:
            return np.array(array)
        wide = np.full((*array.shape[:-1], self.record.count), np.nan)
        wide[..., self.active] = array
        return wide

    def drop_diverged(self, t: int) -> None:
        """Give up the configurations that are no longer finite."""
        good = self.player.finite() & np.isfinite(self.lambda_state["lam"]).all(axis=0)
        if good.all():
            return
        for c in self.active[~good]:
            self.record.diverged[int(c)] = t
        self._keep(good)

    def retire(self, configurations: NDArray[np.intp], t: int) -> None:
        """End the play of some configurations; what they have recorded stays."""
        for c in configurations:
            self.record.retired[int(c)] = t
        self._keep(~np.isin(self.active, configurations))

    def _keep(self, good: NDArray[np.bool_]) -> None:
        columns = np.flatnonzero(good)
        self.active = self.active[good]
        self.player.keep(columns)
        self.slack_state = self.slack.keep(self.slack_state, columns)
        self.lambda_state = self.multipliers.keep(self.lambda_state, columns)
        self.theta_rate, self.lambda_rate = self.theta_rate[columns], self.lambda_rate[columns]
        self.slack_rate = self.slack_rate[columns]
        self.levels = None if self.levels is None else self.levels[:, columns]

    def moment(self, t: int) -> Moment:
        """Where the game stands, for a progress callback."""
        record = self.record
        last = record.rates[-1], record.losses[-1]
        return Moment(t, self.rules.n_rounds, self.active, record, self.table, *last, self.rules.levels)


def values(table: Table, rates: Array, losses: Array, known: dict[tuple[Any, ...], float]) -> tuple[Array, Array]:
    """Minimised objective (columns,) and signed violations (split constraints, columns), in the user's own terms.

    ``rates`` and ``losses`` have one column per classifier; ``known`` holds the constants of the data.
    """
    program = table.program
    measured: dict[tuple[Any, ...], Any] = dict(known)
    measured.update((rate.key, rates[k]) for k, rate in enumerate(program.rates))
    measured.update((loss.key, losses[k]) for k, loss in enumerate(program.problem.losses()))
    count = rates.shape[1]

    def of(expr: Expression) -> Array:
        return np.broadcast_to(np.asarray(expr.value(lambda part: measured[part.key]), dtype=float), (count,))

    with np.errstate(divide="ignore", invalid="ignore"):  # a divergence may be infinite, a ratio 0 / 0
        objective = of(program.problem.objective.minimised)
        violations = [of(part.residual) for _, part in program.parts]
    return objective, np.array(violations, dtype=float).reshape(len(violations), count)
