"""The record of a play: snapshots of the model, exact rates, multipliers and slacks, at regular intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mixtures import Columns, Source

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Start:
    """The end of an earlier play: the model's parameters and the multipliers, with configurations as last axis."""

    parameters: Any
    multipliers: Array


PER_ITERATE = (
    "rounds", "snapshots", "actives", "rates", "losses", "multipliers", "slacks", "lagrangian", "shares",
)  # fmt: skip


@dataclass(eq=False)
class Record:
    """The record of a play: snapshots of the model, exact rates, multipliers and slacks, at regular intervals.

    Arrays have shape (recorded rounds, quantity, configurations); configurations that were dropped are NaN. If the
    snapshots take more memory than the model allows, every second iterate is dropped, and half as many are recorded
    from then on.
    """

    count: int
    n_multipliers: int = 0
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
    """Configuration and the round in which it was found to be no longer finite."""
    retired: dict[int, int] = field(default_factory=dict)
    """Configuration and the round after which it was removed from the play, because it no longer improved."""
    left_domain: dict[int, int] = field(default_factory=dict)
    """Configuration and the first round in which surrogate rates left an atom's domain."""
    played: int = 0
    interrupted: bool = False

    def __post_init__(self) -> None:
        shape = self.n_multipliers, self.count
        self.residual_sum, self.multiplier_sum = np.zeros(shape), np.zeros(shape)
        self.lagrangian_sum, self.model_sum = np.zeros(self.count), np.zeros(self.count)
        self.dual_bound = np.full(self.count, -np.inf)
        """Largest Lagrangian so far: a lower bound on the optimum if slack and model both best-respond."""

    def columns(self) -> Columns:
        """Every iterate as a column."""
        rates, losses = self.stacked("rates"), self.stacked("losses")
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
        """The end of the play, to continue from there; without configurations that were dropped."""
        return Start(self.snapshots[-1], self.multipliers[-1][:, self.actives[-1]])

    def thin(self) -> None:
        """Drop every second iterate, but not the last."""
        for name in PER_ITERATE:
            kept = getattr(self, name)[::-2]
            setattr(self, name, kept[::-1])

    def stacked(self, name: str) -> Array:
        """Return a recorded quantity as one array (recorded rounds, quantity, configurations)."""
        return np.array(getattr(self, name))
