"""The ledger: each row's latest prediction, a byte, and the sums over cells that follow from all of them.

A rate's denominator is the whole data set's; a batch only changes numerators. So a group that is missing from a batch
keeps its sums, and nothing is ever divided by a count in a batch. Predictions are as old as the last batch with their
row, an epoch at most (rare cells: a few batches).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.cells import Cells

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


class Ledger:
    """Latest predictions (configurations, rows), and their weighted sums (cells, configurations)."""

    def __init__(self, cells: Cells, count: int) -> None:
        self.cells = cells
        self.predicted = np.zeros((count, len(cells.index)), dtype=bool)
        self.known = np.zeros(len(cells.index), dtype=bool)
        self.sums = np.zeros((len(cells), count))
        self.totals = np.zeros(len(cells))
        """Weight of the rows that were seen, by cell."""
        self.complete = False

    def remember(self, c: int, rows: Rows, predicted: NDArray[np.bool_]) -> None:
        """Store the predictions of one configuration on a batch."""
        latest = self.predicted[c]
        changed = np.flatnonzero(latest[rows] != predicted)
        if len(changed):
            rows, predicted = rows[changed], predicted[changed]
            latest[rows] = predicted
            amount = np.where(predicted, self.cells.weights[rows], -self.cells.weights[rows])
            np.add.at(self.sums[:, c], self.cells.index[rows], amount)

    def note(self, rows: Rows) -> None:
        """Remember that rows were seen."""
        if self.complete:
            return
        new = rows[~self.known[rows]]
        self.known[new] = True
        np.add.at(self.totals, self.cells.index[new], self.cells.weights[new])
        self.complete = bool(self.known[self.cells.weights > 0].all())

    def replace(self, predicted: NDArray[np.bool_]) -> None:
        """Store exact predictions (rows, configurations) on all rows."""
        self.predicted = np.ascontiguousarray(predicted.T)
        self.sums = self.cells.partial_sums(predicted)
        self.known[:] = True
        self.totals, self.complete = self.cells.totals.copy(), True

    def unseen(self) -> Rows:
        """Rows with positive weight that were never seen."""
        return np.flatnonzero(~self.known & (self.cells.weights > 0))

    def estimate(self) -> Array:
        """Sums over all rows; rows not seen yet are estimated from the others of their cell."""
        if self.complete:
            return self.sums.copy()
        totals, seen = self.cells.totals, self.totals
        share = self.sums.sum(axis=0) / max(float(seen.sum()), 1e-12)
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = self.sums * (totals / seen)[:, None]
        estimate: Array = np.where(seen[:, None] > 0, scaled, totals[:, None] * share)
        return estimate

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.predicted, self.sums = self.predicted[columns], self.sums[:, columns]

    def state(self) -> dict[str, Any]:
        """Everything, as tensors."""
        packed = np.packbits(self.predicted, axis=1)
        parts: dict[str, NDArray[Any]] = {"predicted": packed, "known": np.packbits(self.known)}
        parts |= {"sums": self.sums, "totals": self.totals}
        return {name: torch.from_numpy(part.copy()) for name, part in parts.items()}

    def resume(self, state: dict[str, Any]) -> None:
        """Restore everything."""
        n = len(self.known)
        self.predicted = np.unpackbits(state["predicted"].numpy(), axis=1, count=n).astype(bool)
        self.known = np.unpackbits(state["known"].numpy(), count=n).astype(bool)
        self.sums, self.totals = state["sums"].numpy().copy(), state["totals"].numpy().copy()
        self.complete = bool(self.known[self.cells.weights > 0].all())
