"""Pausing a play: everything that its next round depends on, taken out and put back.

In: a `Game` between two rounds. Out: plain state of a few kilobytes, and the lists of its record, from which a game
with the same data and rules goes on as if it had not stopped. Where and how often that is kept is the business of the
processes that play (`Peers.checkpoints`).
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

from .._core.peers import peers
from .record import PER_ITERATE, Record

if TYPE_CHECKING:
    from .loop import Game, Rules

_RECORDED = [field.name for field in fields(Record) if field.name not in (*PER_ITERATE, "count")]


def about(game: Game, rules: Rules) -> str:
    """What is played, as a digest: a state of something else is not taken."""
    told = hashlib.sha256(repr(game.table.program.problem).encode())
    settings = (rules.n_rounds, rules.record_every, rules.two_sets, game.learner.about())
    told.update(repr(settings).encode())
    for array in (rules.theta_rate, rules.lambda_rate, rules.slack_rate, rules.levels, game.table.cells.totals):
        told.update(b"" if array is None else array.tobytes())
    return told.hexdigest()


class KeptByPeers:
    """Keeps a play where the processes that play keep theirs."""

    def __init__(self, checkpoints: Any) -> None:
        self.checkpoints = checkpoints

    def resume(self, game: Game, progress: Any) -> int:
        """Bring a game to where it was kept, and return the round: 0 where nothing was kept."""
        found = self.checkpoints.last()
        return 0 if found is None else resume(game, found[0], found[1], progress)

    def keep(self, game: Game, progress: Any, t: int, last: bool) -> None:
        """Keep the game if its record has grown; one that is over goes on at once."""
        if not last and game.record.rounds and game.record.rounds[-1] == t:
            self.checkpoints.offer(partial(paused, game, t, progress))


def kept_by_peers(game: Game) -> KeptByPeers | None:
    """Where the processes keep this play; None where they keep nothing."""
    checkpoints = peers().checkpoints(partial(about, game, game.rules)) if game.learner.alike else None
    return None if checkpoints is None else KeptByPeers(checkpoints)


def paused(game: Game, t: int, progress: Any) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """What the round after t depends on, and the record so far."""
    state = {
        "round": t,
        "learner": game.learner.state(),
        "slacks": game.slacks,
        "multipliers": game.multipliers,
        "active": game.active,
        "every": game.every,
        "stored": game.stored,
        "record": {name: getattr(game.record, name) for name in _RECORDED},
        "progress": progress.state() if hasattr(progress, "state") else None,
    }
    return state, {name: getattr(game.record, name) for name in PER_ITERATE}


def resume(game: Game, state: dict[str, Any], record: dict[str, list[Any]], progress: Any) -> int:
    """Put it back; returns the round that was played last."""
    rules = game.rules
    game.learner.resume(state["learner"])
    game.slacks, game.multipliers = state["slacks"], state["multipliers"]
    game.active, game.every, game.stored = state["active"], state["every"], state["stored"]
    game.theta_rate, game.lambda_rate = rules.theta_rate[game.active], rules.lambda_rate[game.active]
    game.slack_rate = rules.slack_rate[game.active]
    game.levels = None if rules.levels is None else rules.levels[:, game.active]
    for name, value in {**state["record"], **{name: list(record[name]) for name in PER_ITERATE}}.items():
        setattr(game.record, name, value)
    if state["progress"] is not None:
        progress.resume(state["progress"])
    return int(state["round"])
