"""What happened in a play: snapshots of the model, exact rates, multipliers and slacks, every so many rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.contract import Fit, Learner, Members

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Start:
    """Where an earlier play ended: the model's parameters and the multipliers, with configurations last."""

    parameters: Any
    multipliers: Array


PER_ITERATE = (
    "rounds", "snapshots", "actives", "rates", "losses", "multipliers", "slacks", "lagrangian", "shares",
)  # fmt: skip


@dataclass(eq=False)
class Record:
    """What happened: snapshots of the model, exact rates, multipliers and slacks, every so many rounds.

    Arrays have shape (recorded rounds, quantity, configurations); configurations that were dropped are NaN. Where the
    snapshots would take more memory than the model allows, every second iterate is forgotten, and half as many are
    recorded from then on.
    """

    count: int
    rounds: list[int] = field(default_factory=list)
    snapshots: list[Any] = field(default_factory=list)
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
    joined: dict[int, NDArray[np.intp]] = field(default_factory=dict)
    """Classifiers that joined after the play (`finishing`) stand like recorded rounds behind those that were played:
    index of the round, and the places of its classifiers in the snapshot."""
    fits: dict[int, Fit] = field(default_factory=dict)
    """How closely each of these fits the sample that it was found on."""

    @property
    def recorded(self) -> int:
        """How many rounds of the play were recorded."""
        return len(self.rounds) - len(self.joined)

    def members(self, learner: Learner, chosen: Sequence[tuple[int, int]]) -> Members:
        """Return recorded iterates, (recorded round, configuration), as classifiers."""
        return learner.members(self.snapshots, self.local(chosen))

    def local(self, chosen: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Translate configurations to columns of the snapshots."""
        where = [(t, int(np.searchsorted(self.actives[t], c))) for t, c in chosen]
        return [(t, int(self.joined[t][k]) if t in self.joined else k) for t, k in where]

    def joining(self, snapshot: Any, places: NDArray[np.intp], fit: Fit) -> Record:
        """The same with further classifiers, some places of a snapshot; of a play, nothing is recorded for them."""
        made = replace(self, joined=dict(self.joined), fits=dict(self.fits))
        for name in PER_ITERATE:
            setattr(made, name, list(getattr(self, name)))
        for start in range(0, len(places), self.count):
            some = slice(start, start + self.count)
            made.joined[len(made.rounds)] = places[some]
            made.fits[len(made.rounds)] = fit
            made.rounds.append(self.played)
            made.snapshots.append(snapshot)
            made.actives.append(np.arange(len(places[some])))
            for name in ("rates", "losses", "multipliers", "slacks", "lagrangian", "shares"):
                getattr(made, name).append(np.full_like(getattr(self, name)[0], np.nan))
        return made

    def end(self) -> Start:
        """Where the play ended, to continue from there; configurations that were dropped stay away."""
        last = self.recorded - 1
        return Start(self.snapshots[last], self.multipliers[last][:, self.actives[last]])

    def thin(self) -> None:
        """Forget every second iterate, but not the last."""
        for name in PER_ITERATE:
            kept = getattr(self, name)[::-2]
            setattr(self, name, kept[::-1])

    def stacked(self, name: str) -> Array:
        """Return a recorded quantity as one array (recorded rounds, quantity, configurations)."""
        return np.array(getattr(self, name))
