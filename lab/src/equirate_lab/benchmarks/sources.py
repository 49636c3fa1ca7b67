"""Data of the comparisons: made-up tables of several kinds, made-up text, and public data sets in halves.

In: a name and a seed. Out: `Halves`, rows to train on and rows to test on. A seed is a new sample of made-up data and a
new split of a public data set.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trees.data import Halves
from .environments import UnavailableError

TEST_ROWS = 50_000
WORDS, LENGTH = 16_384, 60
"""Of made-up text: size of the vocabulary, and words of a comment."""
Table = tuple[Any, NDArray[Any], NDArray[Any]]
"""Features, labels and groups."""


@dataclass(frozen=True)
class Shape:
    """A made-up table: its kind, rows and features."""

    kind: str
    rows: int
    features: int

    @property
    def title(self) -> str:
        """A line for people."""
        return f"{self.rows:,} × {self.features}, {KINDS[self.kind]}"


KINDS = {"dense": "dense", "heavy": "heavy tails", "onehot": "one-hot", "rare": "a rare group"}
_RARE, _USUAL = 0.08, 0.35
"""Share of the group."""


def table(shape: Shape, seed: int, rows: int | None = None) -> Table:
    """A made-up table: the label is linear in the features and the group, and the group shifts one feature.

    Examples
    --------
    >>> X, y, group = table(Shape("onehot", 100, 8), 0)
    >>> X.shape, sorted(set(y.tolist())), sorted(set(group.tolist()))
    ((100, 8), [0, 1], [0, 1])
    """
    n, d = rows or shape.rows, shape.features
    rng = np.random.default_rng(seed)
    weights = np.random.default_rng(5).normal(size=d) / np.sqrt(d) * 1.8  # the same for every seed
    if shape.kind == "onehot":
        values = rng.integers(0, 4, size=(n, d // 4))
        X = np.concatenate([np.eye(4)[column] for column in values.T], axis=1)
        group = (rng.random(n) < 0.2 + 0.4 * (values[:, 0] == 0)).astype(int)
    else:
        group = (rng.random(n) < (_RARE if shape.kind == "rare" else _USUAL)).astype(int)
        X = rng.normal(size=(n, d))
        X[:, 0] += 0.8 * group
        if shape.kind == "heavy":
            X *= np.exp(0.8 * rng.normal(size=(n, d)))
    y = (X @ weights + 0.6 * group - 0.3 + rng.logistic(size=n) > 0).astype(int)
    return X, y, group


def made_up_halves(shape: Shape, seed: int) -> Halves:
    """A table to train on, new for every seed, and one to test on, which all seeds share."""
    return Halves(*table(shape, seed), *table(shape, 10_000, TEST_ROWS))


def text(rows: int, seed: int, words: int = WORDS) -> Table:
    """Made-up text as sparse counts of words; a tenth of the comments is positive, a fifth in the group.

    Examples
    --------
    >>> X, y, group = text(50, 0, words=100)
    >>> X.shape, X.format, round(float(y.mean()), 1)
    ((50, 100), 'csr', 0.1)
    """
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    often = 1 / np.arange(1, words + 1) ** 0.9
    weights = np.random.default_rng(7).normal(size=words) * (np.random.default_rng(8).random(words) < 0.03) * 3
    group = (rng.random(rows) < 0.2).astype(int)
    drawn = rng.choice(words, size=rows * LENGTH, p=often / often.sum())
    X = sp.csr_array((np.ones(rows * LENGTH), (np.repeat(np.arange(rows), LENGTH), drawn)), shape=(rows, words))
    X.sum_duplicates()
    X.data = np.log1p(X.data)
    score = X @ weights + 0.3 * rng.logistic(size=rows)
    return X, (score > np.quantile(score, 0.9)).astype(int), group


def text_halves(seed: int, rows: int = 40_000) -> Halves:
    """Text to train on and half as much to test on."""
    return Halves(*text(rows, seed), *text(rows // 2, 10_000))


def adult(seed: int) -> Halves:
    """Two thirds of Adult to train on; women and men, who are not told apart by a feature."""
    from equirate import datasets

    found = datasets.load("adult")
    kept = [name for name in found.features.columns if not str(name).startswith(("gender", "sex"))]
    X = found.features[kept].to_numpy(dtype=float)
    return _split((X, np.asarray(found.label, dtype=int), found.protected_rows.astype(int)), seed, 2 * len(X) // 3)


def acs_income(seed: int, rows: int = 100_000) -> Halves:
    """ACSIncome by sex: numbers, and one-hot classes of worker, marital status, relationship, race and occupation."""
    return _split(_acs_income(), seed, rows)


@cache
def _acs_income() -> Table:
    import pandas as pd

    path = Path(os.environ.get("EQUIRATE_DATA", "../shared/data")) / "acs_income.parquet"
    if not path.exists():
        raise UnavailableError(f"there is no {path}: ACSIncome is not bundled; set EQUIRATE_DATA to its folder")
    found = pd.read_parquet(path)
    numbers = found[["AGEP", "SCHL", "WKHP"]].to_numpy(dtype=float)
    classes = found[["COW", "MAR", "RELP", "RAC1P"]].astype(int).assign(OCCP=found["OCCP"].astype(int) // 500)
    indicators = pd.get_dummies(classes.astype(str)).to_numpy(dtype=float)
    X = np.concatenate([(numbers - numbers.mean(axis=0)) / numbers.std(axis=0), indicators], axis=1)
    return X, found["PINCP"].to_numpy().astype(int), (found["SEX"].to_numpy() == 2).astype(int)


def prepared(name: str, seed: int) -> Halves:
    """Two thirds of a data set of the paper to train on, as its loader prepares it."""
    from .. import datasets

    try:
        found = datasets.load(name)
    except (OSError, LookupError) as error:
        raise UnavailableError(str(error).splitlines()[0]) from None
    X = found.features.to_numpy(dtype=float)
    return _split((X, np.asarray(found.label, dtype=int), found.protected_rows.astype(int)), seed, 2 * len(X) // 3)


def _split(rows: Table, seed: int, size: int) -> Halves:
    """Rows to train on, and all others up to as many to test on."""
    order = np.random.default_rng(seed).permutation(len(rows[1]))
    train, test = order[:size], order[size : 2 * size]
    return Halves(*(part[train] for part in rows), *(part[test] for part in rows))
