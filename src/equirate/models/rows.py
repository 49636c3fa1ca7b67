"""The rows of a game: the only object that knows the number of examples and where they are stored.

In: a `Sample` and its cells. Out: `Rows`, which a model is trained and measured on, in batches where the model wants
them. Sums over rows that several processes share are completed by `Rows.reduce`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.peers import Peers
from ..data.cells import Cells
from ..data.sample import Sample, taken

Array = NDArray[np.float64]
Index = NDArray[np.intp] | slice
BLOCK = 1 << 16
"""Rows in memory at once where an array has a value for each row and classifier, class or feature."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of the rows: features, and the cells with the weights to measure with and to train with.

    Parameters
    ----------
    X
        Features.
    cells
        Cells of the rows, with the weights that rates are measured with.
    trained
        The same cells, with the weights that the model is trained with.
    rows
        Positions of the rows.
    """

    X: Any
    _: KW_ONLY
    cells: Cells
    trained: Cells
    rows: Index


@dataclass(frozen=True, eq=False)
class Rows:
    """The examples that a model is trained and measured on.

    ``cells`` have the weights that rates are measured with, ``trained`` (the same cells) those that the model is
    trained with. The two differ in a game on two data sets: each data set has weight 0 where the other one counts.
    Where several processes share the rows, these are the rows of this process, and ``reduce`` adds up over all of them.

    Parameters
    ----------
    sample
        Features, labels, attributes and weights.
    cells
        Cells of the rows, with the weights that rates are measured with.
    trained
        The same cells, with the weights that the model is trained with.
    _blocks
        Batches that `batches` keeps for later rounds; leave it out.
    """

    sample: Sample
    cells: Cells
    trained: Cells
    _blocks: dict[int, list[Batch]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, sample: Sample, cells: Cells) -> Rows:
        """Rows that are trained on and measured alike.

        Parameters
        ----------
        sample
            Features, labels, attributes and weights.
        cells
            Their cells.

        Returns
        -------
        Rows
            The rows.
        """
        return cls(sample, cells, cells)

    @property
    def shared(self) -> Peers:
        """The processes that share the rows."""
        return self.cells.shared

    @property
    def X(self) -> Any:  # noqa: N802  # features are called that everywhere
        """Features of all rows here."""
        return self.sample.X

    def __len__(self) -> int:
        """Count the rows here."""
        return len(self.sample)

    def batches(self, size: int | None = None, rng: np.random.Generator | None = None) -> Iterator[Batch]:
        """All rows in batches: in order and the same ones every time, or shuffled by ``rng``.

        Parameters
        ----------
        size
            Rows in a batch; None for one batch of all rows.
        rng
            Shuffles the rows; None for their own order.

        Yields
        ------
        Batch
            The next rows.
        """
        n = len(self)
        size = n if size is None else size
        if rng is None:
            yield from self._in_order(max(size, 1))
            return
        order = rng.permutation(n)
        for start in range(0, n, size):
            yield self.batch(order[start : start + size])

    def batch(self, rows: Index) -> Batch:
        """Some of the rows.

        Parameters
        ----------
        rows
            Positions of rows, or a slice.

        Returns
        -------
        Batch
            These rows.
        """
        return _batch(self.X, self.cells, self.trained, rows)

    def _in_order(self, size: int) -> list[Batch]:
        if size not in self._blocks:
            self._blocks.clear()  # the number of configurations only falls: older batches are not needed again
            self._blocks[size] = batches_in_order(self.X, self.cells, self.trained, size)
        return self._blocks[size]

    def reduce(self, *parts: Array) -> tuple[Array, ...]:
        """Add parts up over all processes, in one call: the sums and the slope of a round are reduced at once.

        Parameters
        ----------
        *parts
            Arrays of this process.

        Returns
        -------
        tuple of numpy.ndarray
            The sums over all processes.
        """
        return self.shared.add(*parts)


def blocks(count: int, size: int | None = None) -> list[slice]:
    """All of ``count`` rows, ``size`` at a time; by default as many as are in memory at once (`BLOCK`)."""
    size = BLOCK if size is None else size
    return [slice(a, min(a + size, count)) for a in range(0, count, size)]


def batches_in_order(X: Any, cells: Cells, trained: Cells, size: int) -> list[Batch]:
    """All rows, ``size`` at a time, as views where they can be."""
    return [_batch(X, cells, trained, rows) for rows in blocks(len(cells.index), size)]


def _batch(X: Any, cells: Cells, trained: Cells, rows: Index) -> Batch:
    measured = cells.batch(rows)
    trained = measured if trained is cells else trained.batch(rows)
    return Batch(taken(X, rows), cells=measured, trained=trained, rows=rows)
