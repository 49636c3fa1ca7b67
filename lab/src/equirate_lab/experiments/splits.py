"""Splitting the paper's data sets: in a name and a seed, out three parts ready to train, choose and judge on.

The split is 4/9 : 2/9 : 1/3 at random by the seed. Wiki Toxicity comes with a split: seed 0 takes it as it is, other
seeds draw parts of the same sizes at random (the embedding, which uses no labels, stays the first split's).
Features are single precision and as the loaders give them: indicators, shares of a whole and, for Wiki Toxicity,
singular vectors standardised by the loader. Nothing else is scaled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equirate.datasets import Dataset, load_crime

from .. import datasets

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

PROTECTED = "protected"
"""The attribute that is 1 for the protected group and 0 for everybody else."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a data set: features, labels and attributes."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    attributes: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.y)

    def joined(self, other: Part) -> Part:
        """Both parts, one after the other."""
        attributes = {
            name: np.concatenate([column, other.attributes[name]]) for name, column in self.attributes.items()
        }
        return Part(np.concatenate([self.X, other.X]), np.concatenate([self.y, other.y]), attributes)

    def having(self, **attributes: NDArray[Any]) -> Part:
        """The same rows with more attributes."""
        return Part(self.X, self.y, {**self.attributes, **attributes})


@dataclass(frozen=True, eq=False)
class Split:
    """A data set in three parts."""

    dataset: str
    seed: int
    train: Part
    validation: Part
    test: Part

    @property
    def parts(self) -> dict[str, Part]:
        """The parts by name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}


def rows_of(n: int, seed: int, sizes: tuple[int, int] | None = None) -> tuple[Rows, Rows, Rows]:
    """Draw the rows of the three parts: 4/9, 2/9 and the rest, unless the first two sizes are given.

    Examples
    --------
    >>> [len(part) for part in rows_of(90, seed=0)]
    [40, 20, 30]
    """
    first, second = (round(4 * n / 9), round(2 * n / 9)) if sizes is None else sizes
    order = np.random.default_rng(seed).permutation(n)
    return order[:first], order[first : first + second], order[first + second :]


def make_split(name: str, seed: int, data_dir: Any = None) -> Split:
    """Load a data set and split it by a seed.

    Examples
    --------
    >>> split = make_split("compas", seed=0)
    >>> len(split.train), len(split.validation), len(split.test)
    (2743, 1372, 2057)
    """
    data = datasets.load(name, data_dir=data_dir)
    rows = _given(data) if name == "wiki_toxicity" and seed == 0 else rows_of(data.n_rows, seed, _sizes(data))
    if name == "crime":  # its bins and fill values are taken from the training rows
        data = load_crime(training_rows=rows[0])
    X = data.features.to_numpy(dtype=np.float32)
    protected = data.protected_rows.astype(np.int64)
    return Split(name, seed, *(Part(X[part], data.label[part], {PROTECTED: protected[part]}) for part in rows))


def _given(data: Dataset) -> tuple[Rows, Rows, Rows]:
    assert data.split is not None  # Wiki Toxicity has one
    train, dev, test = (np.flatnonzero(data.split == part) for part in ("train", "dev", "test"))
    return train, dev, test


def _sizes(data: Dataset) -> tuple[int, int] | None:
    if data.name != "wiki_toxicity":
        return None
    train, dev, _ = _given(data)
    return len(train), len(dev)
