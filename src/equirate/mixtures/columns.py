"""Columns: candidate classifiers with what a mixture needs to know about them.

In: the classifiers of a game or an oracle. Out: `Columns`, a dataclass of arrays with one entry per classifier: its
exact rates and losses, where it came from, and a handle to find it by. All code that selects classifiers uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp] | NDArray[np.bool_] | Sequence[int]


class Source(IntEnum):
    """Where a column came from."""

    PLAYED = 0
    """An iterate of a game."""
    CONSTANT = 1
    """Predicts the same for everybody."""
    LABELS = 2
    """Fitted to the labels, whatever the problem."""
    PRICED = 3
    """Fitted to prices of the problem."""
    REFINED = 4
    """Found by a search on the exact costs of the rows, which are not smooth."""
    LISTED = 5
    """One of a list that was given."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Candidate classifiers and what is known of them.

    Attributes
    ----------
    rates
        (rates, columns): exact rates on the rows that mixtures are chosen on.
    losses
        (losses, columns): ordinary losses on these rows.
    source
        (columns,): where each came from, a `Source`.
    handle
        (columns, 2): the snapshot of the model that each is in, and its place there.
    configuration
        (columns,): the configuration of a game that each belongs to; -1 outside a game.
    """

    rates: Array
    losses: Array
    source: NDArray[np.int8]
    handle: NDArray[np.intp]
    configuration: NDArray[np.intp]

    def __len__(self) -> int:
        """Count the columns."""
        return len(self.source)

    @classmethod
    def of(cls, rates: Array, source: Source | NDArray[np.int8], handle: NDArray[np.intp] | None = None) -> Columns:
        """Columns outside a game, without ordinary losses; handles that nobody looks up may be left out."""
        count = rates.shape[1]
        handle = np.zeros((count, 2), dtype=np.intp) if handle is None else handle
        sources = np.broadcast_to(np.asarray(source, dtype=np.int8), (count,))
        return cls(rates, np.zeros((0, count)), sources, handle, np.full(count, -1, dtype=np.intp))

    def where(self, chosen: Index) -> Columns:
        """Some of the columns, by a mask or by their indices."""
        place = np.asarray(chosen)
        return Columns(
            self.rates[:, place], self.losses[:, place], self.source[place], self.handle[place],
            self.configuration[place],
        )  # fmt: skip

    def join(self, other: Columns, shift: tuple[int, int] = (0, 0)) -> Columns:
        """These columns followed by others, whose handles are shifted: by snapshots, and by places in a snapshot."""
        return Columns(
            np.concatenate([self.rates, other.rates], axis=1),
            np.concatenate([self.losses, other.losses], axis=1),
            np.concatenate([self.source, other.source]),
            np.concatenate([self.handle, other.handle + np.array(shift, dtype=np.intp)]),
            np.concatenate([self.configuration, other.configuration]),
        )

    def measured(self, rates: Array, losses: Array | None = None) -> Columns:
        """The same columns with other rates (and losses): on other rows, or of another problem."""
        return replace(self, rates=rates, losses=self.losses if losses is None else losses)
