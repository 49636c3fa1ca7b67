"""Messages between the game and a model: costs per cell go in, sums over cells come back.

Each round the game asks (`Asked`: costs per cell) and the learner answers (`Seen`: sums over cells). Column generation
gets classifiers with their sums (`Family`). No array with one entry per example is exchanged, and everything that is
*adds up* over batches, blocks of rows and processes.

Counts are (cell, answer): with two answers there is one count per cell, the weighted sum of the predictions of 1. With
K answers there are K - 1; nothing here depends on how many counts there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.cached import cached_property
from ..data.cells import Cells
from ..mixtures import Source
from ..players.losses import LOSSES, signs
from ..players.surrogates import HINGE, Surrogate
from .row_counts import RowCounts
from .rows import Batch

Array = NDArray[np.float64]
Scores = NDArray[Any]


class Seen(NamedTuple):
    """Sums of the predictions on some rows; those of parts of the rows add up (`plus`) to those of all rows.

    Parameters
    ----------
    sums
        Weighted sums of the predictions, (counts, configurations).
    bounds
        The same sums of the upper and of the lower surrogate bounds, where they were asked for.
    losses
        Weighted sums of the ordinary losses, (losses, counts, configurations), where they were asked for.
    """

    sums: Array
    """(counts, configurations): weighted sums of the predictions."""
    bounds: tuple[Array, Array] | None = None
    """The same sums of the upper and of the lower surrogate bounds, where they were asked for."""
    losses: Array | None = None
    """(losses, counts, configurations): weighted sums of the ordinary losses, where they were asked for."""

    def parts(self) -> list[Array]:
        """The arrays that are present, in a fixed order.

        Returns
        -------
        list of numpy.ndarray
            The arrays.
        """
        return [self.sums, *(self.bounds or ()), *([] if self.losses is None else [self.losses])]

    def of_parts(self, parts: Sequence[Array]) -> Seen:
        """The same message with other arrays, in the order of `parts`.

        Parameters
        ----------
        parts
            Arrays, as many as `parts` returns.

        Returns
        -------
        Seen
            The message with these arrays.
        """
        others = list(parts[1:])
        bounds = None if self.bounds is None else (others.pop(0), others.pop(0))
        return Seen(parts[0], bounds, others.pop(0) if others else None)

    def plus(self, other: Seen) -> Seen:
        """The sums over both sets of rows.

        Parameters
        ----------
        other
            Sums over other rows, of the same quantities.

        Returns
        -------
        Seen
            The sums of both.
        """
        return self.of_parts([a + b for a, b in zip(self.parts(), other.parts(), strict=True)])


@dataclass(frozen=True, eq=False)
class Asked:
    """The request of the game to the model in a round: arrays are (counts, configurations), nothing is per example.

    A model that responds minimises the sum of ``costs`` times the weighted predictions. A model that descends takes
    the gradient of an upper bound of that sum, in which each prediction is replaced by an upper bound where its cost is
    positive (``up``) and by a lower bound where it is negative (``down``), plus the ordinary losses.

    Parameters
    ----------
    respond
        Whether the model best-responds; otherwise it computes a gradient.
    up, down
        Costs on the upper and on the lower bound of the predictions.
    surrogate
        The bounds that replace the predictions.
    losses
        Coefficients of each ordinary loss in the objective, by name.
    bounded
        Whether `Seen.bounds` is wanted.
    recorded
        Whether this round is recorded, so that `Seen.losses` is wanted.
    """

    respond: bool
    up: Array
    down: Array
    surrogate: Surrogate = HINGE
    losses: Mapping[str, Array] = field(default_factory=dict)
    """Coefficients (counts, configurations) of each ordinary loss in the objective."""
    bounded: bool = False
    """Whether `Seen.bounds` is wanted."""
    recorded: bool = False
    """Whether this round is recorded, so that `Seen.losses` is wanted."""

    @cached_property
    def costs(self) -> Array:
        """Costs of predicting 1, per unit of weight: what an oracle minimises."""
        return self.up + self.down

    @cached_property
    def net(self) -> bool:
        """Whether no cell has a cost on both bounds."""
        return bool(((self.up == 0) | (self.down == 0)).all())

    def slope(self, batch: Batch, scores: Scores) -> Scores:
        """Gradient with respect to the scores (rows of the batch, configurations).

        Parameters
        ----------
        batch
            Some of the rows.
        scores
            Their scores, (rows of the batch, configurations).

        Returns
        -------
        numpy.ndarray
            (rows of the batch, configurations).
        """
        cells, dtype = batch.trained, scores.dtype
        if self.net:
            slope = self.surrogate.net_slope(scores, np.take(self.costs.astype(dtype), cells.index, axis=0))
        else:
            slope = np.take(self.up.astype(dtype), cells.index, axis=0) * self.surrogate.upper_slope(scores)
            slope += np.take(self.down.astype(dtype), cells.index, axis=0) * self.surrogate.lower_slope(scores)
        for name, coefficient in self.losses.items():
            slope += coefficient.astype(dtype)[cells.index] * LOSSES[name].slope(scores, _signs(cells, dtype))
        return _weighed(slope, cells)

    def curvature(self, batch: Batch, scores: Scores) -> Scores:
        """Bound on the second derivatives with respect to the scores, for learners that take Newton steps.

        Parameters
        ----------
        batch
            Some of the rows.
        scores
            Their scores, (rows of the batch, configurations).

        Returns
        -------
        numpy.ndarray
            (rows of the batch, configurations).
        """
        cells, dtype = batch.trained, scores.dtype
        curvature = np.take((self.up - self.down).astype(dtype), cells.index, axis=0) * self.surrogate.curvature(scores)
        for name, coefficient in self.losses.items():
            curvature += np.abs(coefficient.astype(dtype))[cells.index] * LOSSES[name].curvature(scores)
        return _weighed(curvature, cells)

    def value(self, batch: Batch, scores: Scores) -> Array:
        """The function whose gradient `slope` is, summed over the batch: one number per configuration.

        Parameters
        ----------
        batch
            Some of the rows.
        scores
            Their scores, (rows of the batch, configurations).

        Returns
        -------
        numpy.ndarray
            One value per configuration.
        """
        cells, dtype = batch.trained, scores.dtype
        up, down = (np.take(part.astype(dtype), cells.index, axis=0) for part in (self.up, self.down))
        value = up * self.surrogate.upper(scores) + down * self.surrogate.lower(scores)
        for name, coefficient in self.losses.items():
            value += coefficient.astype(dtype)[cells.index] * LOSSES[name].value(scores, _signs(cells, dtype))
        return np.asarray(_weighed(value, cells).sum(axis=0), dtype=float)

    def column(self, c: int) -> Asked:
        """The message to one configuration.

        Parameters
        ----------
        c
            Position of a configuration.

        Returns
        -------
        Asked
            The message with one configuration.
        """
        losses = {name: coefficient[:, [c]] for name, coefficient in self.losses.items()}
        return replace(self, up=self.up[:, [c]], down=self.down[:, [c]], losses=losses)

    def seen(self, batch: Batch, scores: Scores) -> Seen:
        """Sums over the cells of a batch, of everything that was asked for.

        Parameters
        ----------
        batch
            Some of the rows.
        scores
            Their scores, (rows of the batch, configurations).

        Returns
        -------
        Seen
            The sums over the rows of the batch.
        """
        add = batch.cells.partial_sums
        bounds = (add(self.surrogate.upper(scores)), add(self.surrogate.lower(scores))) if self.bounded else None
        losses = None
        if self.losses and self.recorded:
            sign = _signs(batch.cells, scores.dtype)
            losses = np.stack([add(LOSSES[name].value(scores, sign)) for name in self.losses])
        return Seen(add(scores > 0), bounds, losses)


def _signs(cells: Cells, dtype: Any) -> Scores:
    return signs(cells.labels[cells.index], dtype)


def _weighed(values: Scores, cells: Cells) -> Scores:
    if not cells.unweighted:
        values *= cells.weights.astype(values.dtype)[:, None]
    return values


@dataclass(frozen=True, eq=False)
class Family:
    """Classifiers with their sums, such as all thresholds on one score.

    Attributes
    ----------
    sums
        (counts, classifiers): weighted sums of their predictions, as an array or by rows.
    source
        How they were found.
    snapshot
        What `Learner.members` makes members of; the last axis is the classifiers.
    """

    sums: Array | RowCounts
    source: Source
    snapshot: Any = None
