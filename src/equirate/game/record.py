"""What happened in a play: snapshots of the model, exact rates, multipliers and slacks, every so many rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mixtures import Columns, Source

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

    def columns(self, rates: Array, losses: Array) -> Columns:
        """Every iterate as a column; ``rates`` and ``losses`` are (recorded rounds, quantity, configurations)."""
        rounds = np.concatenate([np.full(len(active), t) for t, active in enumerate(self.actives)]).astype(np.intp)
        place = np.concatenate([np.arange(len(active)) for active in self.actives]).astype(np.intp)
        configuration = np.concatenate(self.actives).astype(np.intp)
        return Columns(
            rates[rounds, :, configuration].T,
            losses[rounds, :, configuration].T,
            np.full(len(rounds), Source.PLAYED, dtype=np.int8),
            np.stack([rounds, place], axis=1),
            configuration,
        )

    def end(self) -> Start:
        """Where the play ended, to continue from there; configurations that were dropped stay away."""
        return Start(self.snapshots[-1], self.multipliers[-1][:, self.actives[-1]])

    def thin(self) -> None:
        """Forget every second iterate, but not the last."""
        for name in PER_ITERATE:
            kept = getattr(self, name)[::-2]
            setattr(self, name, kept[::-1])

    def stacked(self, name: str) -> Array:
        """Return a recorded quantity as one array (recorded rounds, quantity, configurations)."""
        return np.array(getattr(self, name))
