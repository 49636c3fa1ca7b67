"""Batches: a few rows of every rare cell in each, with the weights that keep every sum over the rows unbiased.

Rows are cut into two strata: those of cells that a batch would hardly ever have, and all others. A batch has so many
rows of each, drawn without replacement until a stratum is used up. A row then stands for the size of its stratum over
its rows in a batch, whatever its cell; a sum over a batch with these weights has the sum over all rows as its mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from .._core.errors import AlgorithmError, DataError
from .._core.seeds import stream
from ..data.cells import Cells

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
LARGEST_SHARE = 0.25
"""Largest share of a batch for rare cells beyond their share of the data."""


@dataclass(frozen=True)
class Strata:
    """Rare and common rows, and their numbers in a batch."""

    rare: Rows
    common: Rows
    rare_rows: int
    common_rows: int

    @classmethod
    def of(cls, cells: Cells, batch_size: int, least: int) -> Strata:
        """Cut the rows that are trained on: a cell is rare where fewer than ``least`` of its rows are expected."""
        rows = np.flatnonzero(cells.weights > 0)
        size = min(batch_size, len(rows))
        counts = np.bincount(cells.index[rows], minlength=len(cells))
        expected = counts * size / max(len(rows), 1)
        chosen = (counts > 0) & (expected < least) & (size < len(rows))
        rare = rows[chosen[cells.index[rows]]]
        common = rows[~chosen[cells.index[rows]]]
        proportional = len(rare) * size / max(len(rows), 1)
        target = min(least * int(chosen.sum()), math.floor(LARGEST_SHARE * size))
        count = min(max(target, round(proportional)), len(rare)) if len(rare) else 0
        if not count or not len(common) or size - count < 1:
            return cls(rows[:0], rows, 0, size)
        return cls(rare, common, count, min(size - count, len(common)))

    @property
    def batches(self) -> int:
        """Batches until every row that is not rare was seen."""
        return max(math.ceil(len(self.common) / max(self.common_rows, 1)), 1)

    @property
    def size(self) -> int:
        """Rows of a batch."""
        return self.rare_rows + self.common_rows

    def factors(self, n: int) -> Array:
        """Number of rows that each row represents; 0 for rows that are never drawn."""
        factors = np.zeros(n)
        factors[self.common] = len(self.common) / max(self.common_rows, 1)
        if self.rare_rows:
            factors[self.rare] = len(self.rare) / self.rare_rows
        return factors


class BatchDraws:
    """An endless stream of the rows of one stratum in random order; no row appears twice in a batch."""

    def __init__(self, rows: Rows, rng: np.random.Generator) -> None:
        self.rows, self.rng = rows, rng
        self.order, self.place = rows[:0], 0

    def take(self, count: int) -> Rows:
        """The next rows."""
        if count == len(self.rows):
            return self.rows
        rows = self.order[self.place : self.place + count]
        self.place += count
        if len(rows) == count:
            return rows
        order = self.rng.permutation(self.rows)
        if len(rows):  # rows that are already in this batch come last
            again = np.isin(order, rows)
            order = np.concatenate([order[~again], order[again]])
        missing = count - len(rows)
        self.order, self.place = order, missing
        return np.concatenate([rows, order[:missing]])


class Batches:
    """An endless stream of batches of row numbers; its state can be saved and resumed."""

    def __init__(self, strata: Strata, rng: np.random.Generator) -> None:
        self.strata, self.rng = strata, rng
        self.common, self.rare = BatchDraws(strata.common, rng), BatchDraws(strata.rare, rng)

    def take(self) -> Rows:
        """The next batch."""
        common = self.common.take(self.strata.common_rows)
        if not self.strata.rare_rows:
            return common
        return np.concatenate([self.rare.take(self.strata.rare_rows), common])

    def state(self) -> dict[str, Any]:
        """The state of the stream, as plain data and tensors."""
        return {
            "random": self.rng.bit_generator.state,
            **{
                name: {"order": torch.from_numpy(np.array(draws.order)), "place": draws.place}
                for name, draws in (("common", self.common), ("rare", self.rare))
            },
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Go on where the state was taken."""
        self.rng.bit_generator.state = state["random"]
        for name, draws in (("common", self.common), ("rare", self.rare)):
            draws.order, draws.place = state[name]["order"].numpy(), state[name]["place"]


class StratifiedSampler(torch.utils.data.Sampler[list[int]]):
    """A batch sampler for a ``DataLoader`` that puts rows of rare cells into every batch.

    `RateGame.sampler` makes one, and then knows how many rows each row stands for.

    Parameters
    ----------
    cells
        A number for each row: rows with the same number are alike to the rates (label and groups).
    batch_size
        Rows of a batch.
    least
        A cell is rare where a batch is expected to have fewer of its rows; about so many of each are put into every
        batch, up to a quarter of it.
    seed
        Of the order.

    Attributes
    ----------
    weights
        How many rows each row stands for. Sums over a batch with these weights are unbiased for sums over all rows.

    Examples
    --------
    >>> cells = np.array([0] * 990 + [1] * 10)
    >>> sampler = StratifiedSampler(cells, batch_size=50, least=2)
    >>> [sum(row >= 990 for row in batch) for batch in sampler][:5]
    [2, 2, 2, 2, 2]
    >>> round(sum(float(sampler.weights[row]) for row in next(iter(sampler))))
    1000
    """

    def __init__(self, cells: ArrayLike, batch_size: int, least: int = 4, seed: int = 0) -> None:
        numbers = np.asarray(cells)
        if numbers.ndim != 1 or not len(numbers):
            raise DataError(f"cells must have one number per row; got shape {numbers.shape}")
        check_size(batch_size, "batch_size")
        _, of = np.unique(numbers, return_inverse=True)
        n = int(of.max()) + 1
        totals = np.bincount(of, minlength=n).astype(float)
        self._begin(
            Cells(of.astype(np.int32), np.ones(len(of)), totals, np.zeros(n, np.int8), {}, {}), batch_size, least, seed
        )

    @classmethod
    def of_cells(cls, cells: Cells, batch_size: int, least: int = 4, seed: int = 0) -> StratifiedSampler:
        """A sampler of the rows that have a weight.

        Parameters
        ----------
        cells
            The cells of the rows, with their weights.
        batch_size, least, seed
            As in `StratifiedSampler`.

        Returns
        -------
        StratifiedSampler
            The sampler.
        """
        check_size(batch_size, "batch_size")
        sampler = cls.__new__(cls)
        cls._begin(sampler, cells, batch_size, least, seed)
        return sampler

    def _begin(self, cells: Cells, batch_size: int, least: int, seed: int) -> None:
        self.strata = Strata.of(cells, batch_size, least)
        self.weights = self.strata.factors(len(cells.index))
        self.stream = Batches(self.strata, stream("batches", seed))

    def __len__(self) -> int:
        """Count the batches of an epoch."""
        return self.strata.batches

    def __iter__(self) -> Iterator[list[int]]:
        """An epoch of batches; the next one goes on where this one ended."""
        for _ in range(len(self)):
            yield self.stream.take().tolist()

    def state_dict(self) -> dict[str, Any]:
        """Where the sampler is. A loader's workers fetch ahead: save at the end of an epoch.

        Returns
        -------
        dict
            For `load_state_dict`.
        """
        return self.stream.state()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where the state was taken.

        Parameters
        ----------
        state
            What `state_dict` returned.
        """
        self.stream.resume(state)


def check_size(value: Any, name: str) -> None:
    """Refuse values that are not an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise AlgorithmError(f"{name} must be a whole number of at least 1; got {value!r}")
