"""Pausing a play: saving and restoring all state that its next round depends on.

In: a `Game` between two rounds. Out: plain data and arrays (in dicts and lists), from which a game with the same data
and rules continues as if it had not stopped: a few kilobytes of state, and the lists of the record. The processes that
play (`Peers.checkpoints`), or a learner with checkpoints of its own, decide where and how often that is stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.errors import FileError
from ..mixtures import Cut
from .record import PER_ITERATE

if TYPE_CHECKING:
    from .loop import Game

_OF_GAME = ("slacks", "multipliers", "every", "stored", "theta_rate", "lambda_rate", "slack_rate", "levels")
_OF_RECORD = ("played", "residual_sum", "multiplier_sum", "lagrangian_sum", "model_sum", "dual_bound")
_WHEN = ("diverged", "retired", "left_domain")
ITERATES = tuple(name for name in PER_ITERATE if name != "snapshots")
"""Lists of the record with one entry per iterate, without the model's snapshots."""


def about(game: Game) -> str:
    """A digest of problem, data and settings: a checkpoint with another one is not used."""
    rules, digest = game.rules, hashlib.sha256(repr(game.table.program.problem).encode())
    settings = (rules.n_rounds, rules.record_every, rules.two_sets, game.learner.about())
    digest.update(repr(settings).encode())
    for array in (rules.theta_rate, rules.lambda_rate, rules.slack_rate, rules.levels, game.table.cells.totals):
        digest.update(b"" if array is None else array.tobytes())
    return digest.hexdigest()


class PeerCheckpointer:
    """Stores a play in the checkpoints of its processes."""

    def __init__(self, checkpoints: Any) -> None:
        self.checkpoints = checkpoints

    def resume(self, game: Game, progress: Any) -> int:
        """Restore a game from the last checkpoint, and return the round; 0 if there is no checkpoint."""
        checkpoint = self.checkpoints.last()
        if checkpoint is None:
            return 0
        state, record = checkpoint
        resume(game, state, record)
        game.record.snapshots = list(record["snapshots"])
        game.learner.resume(unpacked(state["learner"], game.learner.state()))
        rewatch(progress, state["progress"])
        return int(state["round"])

    def save(self, game: Game, progress: Any, t: int, last: bool) -> None:
        """Offer a checkpoint if an iterate was just recorded; not for a play that is over."""
        if not last and game.record.rounds and game.record.rounds[-1] == t:
            self.checkpoints.offer(partial(self._state, game, progress, t))

    def _state(self, game: Game, progress: Any, t: int) -> tuple[dict[str, Any], dict[str, list[Any]]]:
        state = {"round": t, "learner": packed(game.learner.state()), "progress": watched(progress), **paused(game)}
        return state, {**iterates(game), "snapshots": packed(game.record.snapshots)}


def peer_checkpointer(game: Game) -> PeerCheckpointer | None:
    """The checkpoints of this play; None if its processes store none."""
    shared = game.table.cells.shared
    checkpoints = shared.checkpoints(partial(about, game)) if game.learner.alike else None
    return None if checkpoints is None else PeerCheckpointer(checkpoints)


# -- saving and restoring -------------------------------------------------------------------------------


def paused(game: Game) -> dict[str, Any]:
    """State of the players and sums of the record; neither the learner nor the iterates."""
    record = game.record
    return {
        "active": game.active,
        **{name: packed(getattr(game, name)) for name in _OF_GAME},
        **{name: packed(getattr(record, name)) for name in _OF_RECORD},
        **{name: [list(pair) for pair in getattr(record, name).items()] for name in _WHEN},
    }


def iterates(game: Game) -> dict[str, list[Any]]:
    """Lists of the record with one entry per iterate, without the snapshots."""
    return {name: packed(getattr(game.record, name)) for name in ITERATES}


def resume(game: Game, state: Mapping[str, Any], record: Mapping[str, list[Any]]) -> None:
    """Restore players and record; the caller restores the learner and the snapshots."""
    if len(state["active"]) < len(game.active):
        game.keep_configurations(np.isin(game.active, state["active"]))
    for name in _OF_GAME:
        setattr(game, name, unpacked(state[name], getattr(game, name)))
    for name in _OF_RECORD:
        setattr(game.record, name, unpacked(state[name], None))
    for name in _WHEN:
        setattr(game.record, name, {int(c): int(t) for c, t in state[name]})
    for name in ITERATES:
        setattr(game.record, name, list(record[name]))


def watched(progress: Any) -> dict[str, Any] | None:
    """State of a progress callback, if it has one."""
    if not hasattr(progress, "state"):
        return None
    return {name: packed(value) for name, value in progress.state().items()}


def rewatch(progress: Any, state: Mapping[str, Any] | None) -> None:
    """Restore a progress callback."""
    if state is not None and hasattr(progress, "resume"):
        progress.resume({name: unpacked(value, getattr(progress, name, None)) for name, value in state.items()})


def packed(value: Any) -> Any:
    """States of players as dicts; arrays and plain values are kept.

    Examples
    --------
    >>> packed([Cut(np.zeros(2), 1.0), np.float64(3)])
    [{'is': 'Cut', 'slopes': array([0., 0.]), 'limit': 1.0}, 3.0]
    """
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return np.array(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {"is": type(value).__name__} | {part.name: packed(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, (list, tuple)):
        return [packed(part) for part in value]
    if isinstance(value, dict):
        return {"is": "dict", "pairs": [[packed(name), packed(part)] for name, part in value.items()]}
    raise FileError(
        f"a checkpoint holds numbers and arrays, and cannot keep a {type(value).__name__}: fit this model without "
        "checkpoints"
    )


def unpacked(value: Any, like: Any) -> Any:
    """The inverse of `packed`; ``like`` is a state of the same player, whose class is used."""
    if isinstance(value, list):
        return [unpacked(part, None) for part in value]
    if not isinstance(value, dict):
        return np.array(value) if isinstance(value, np.ndarray) else value
    if value.get("is") == "dict":
        known = like if isinstance(like, dict) else {}
        return {name: unpacked(part, known.get(name)) for name, part in value["pairs"]}
    parts = {name: part for name, part in value.items() if name != "is"}
    if value.get("is") == Cut.__name__:
        return Cut(**{name: unpacked(part, None) for name, part in parts.items()})
    if not is_dataclass(like) or isinstance(like, type) or type(like).__name__ != value.get("is"):
        raise FileError("the checkpoint is of other players than those of this game")
    return replace(like, **{name: unpacked(part, getattr(like, name, None)) for name, part in parts.items()})
