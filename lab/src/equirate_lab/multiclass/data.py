"""Data sets with several classes: from the folder of data, from scikit-learn, and from census tables.

In: a name, a folder. Out: `Rows`: features, labels from 0 on, and for census data the sex of each person. Census tables
and long ones are subsampled, so that a fit takes seconds; classes with fewer than `FEWEST` rows are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST = 12
"""Rows that a class must have to be kept: some for each part of the data."""
MOST = 12_000
"""Rows that are kept of a long table."""
TAIL = 0.75
"""How much rarer than the one before each digit is made."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, labels, and a group of every row where there is one."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    group: NDArray[np.int64] | None = None

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.y.max()) + 1

    def take(self, rows: NDArray[Any]) -> Rows:
        """Keep some rows."""
        return Rows(self.X[rows], self.y[rows], None if self.group is None else self.group[rows])


def folder(data_dir: str | None) -> Path:
    """The folder of data sets that are not bundled."""
    return Path(data_dir or os.environ.get("EQUIRATE_DATA") or "../shared/data")


def missing(name: str, data_dir: str | None) -> str:
    """Why a data set cannot be loaded; empty if it can."""
    path = _path(name, data_dir)
    return "" if path is None or path.exists() else f"there is no {path}: give its folder as --data-dir"


def _path(name: str, data_dir: str | None) -> Path | None:
    if name == "digits":
        return None
    if name.startswith("adult"):
        return folder(data_dir) / "adult.csv.gz"
    if name.startswith("ACS"):
        return folder(data_dir) / "acs_income.parquet"
    return folder(data_dir) / "multiclass" / f"{name}.csv.gz"


@cache
def load(name: str, data_dir: str | None = None) -> Rows:
    """Load a data set; rows are drawn with a fixed seed where there are more than `MOST`."""
    path = _path(name, data_dir)
    rows = _digits() if path is None else _LOADERS.get(name, _stored)(path)
    return _frequent(_subsample(rows))


def stored(name: str, data_dir: str | None = None) -> Rows:
    """All rows of a file of the folder, as it is."""
    return _stored(folder(data_dir) / "multiclass" / f"{name}.csv.gz")


def split(rows: Rows, seed: int, share: float = 0.3) -> tuple[Rows, Rows]:
    """Training and test rows, standardised by the training rows; every class is in both."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    train, test = train_test_split(np.arange(len(rows.y)), test_size=share, random_state=seed, stratify=rows.y)
    scaler = StandardScaler().fit(rows.X[train])
    first, second = rows.take(train), rows.take(test)
    return (
        Rows(scaler.transform(first.X), first.y, first.group),
        Rows(scaler.transform(second.X), second.y, second.group),
    )


def _stored(path: Path) -> Rows:
    import pandas as pd

    table = pd.read_csv(path)
    labels = table.pop("label").astype("category").cat.codes.to_numpy().astype(np.int64)
    return Rows(table.to_numpy(dtype=float), labels)


def _digits() -> Rows:
    """The digits of scikit-learn with a long tail: each is `TAIL` as frequent as the one before."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    kept = rng.random(len(y)) < TAIL**y
    noisy = X + rng.normal(0, 6.0, X.shape)  # without noise a linear model makes no errors
    return Rows(noisy[kept], y[kept].astype(np.int64))


def _adult(path: Path) -> Rows:
    import pandas as pd

    table = pd.read_csv(path)
    table = table[table["occupation"].str.strip() != "?"]
    return _census(
        table.drop(columns=["fnlwgt", "split", "education"]), "occupation", table["gender"].str.strip() == "Female"
    )


def _worker(path: Path) -> Rows:
    import pandas as pd

    table = _shorter(pd.read_parquet(path))
    return _census(_binned(table), "COW", table["SEX"] == 2)


def _education(path: Path) -> Rows:
    """Seven levels: no diploma, diploma, some college, associate, bachelor, master, beyond."""
    import pandas as pd

    table = _shorter(pd.read_parquet(path))
    levels = np.digitize(table["SCHL"], [16, 18, 20, 21, 22, 23])
    return _census(_binned(table).assign(SCHL=levels), "SCHL", table["SEX"] == 2)


def _shorter(table: Any) -> Any:
    return table.sample(min(len(table), 2 * MOST), random_state=0)


def _binned(table: Any) -> Any:
    """Codes as text, so that they become indicators; age and hours stay numbers, occupations become major groups."""
    coded = table[["SCHL", "RELP", "COW", "MAR", "RAC1P", "SEX"]].astype(int).astype(str)
    major = (table["OCCP"] // 500).astype(int).astype(str)
    return coded.assign(OCCP=major, AGEP=table["AGEP"], WKHP=table["WKHP"], PINCP=table["PINCP"])


def _census(table: Any, label: str, women: Any) -> Rows:
    import pandas as pd

    labels = table[label].astype("category").cat.codes.to_numpy().astype(np.int64)
    features = pd.get_dummies(table.drop(columns=[label]), dtype=float)
    common = features.columns[(features != 0).mean() > 0.005]
    return Rows(features[common].to_numpy(), labels, np.asarray(women, dtype=np.int64))


def _subsample(rows: Rows) -> Rows:
    if len(rows.y) <= MOST:
        return rows
    return rows.take(np.random.default_rng(0).permutation(len(rows.y))[:MOST])


def _frequent(rows: Rows) -> Rows:
    """Leave out classes with few rows, and number the others from 0 on."""
    kept = np.bincount(rows.y)[rows.y] >= FEWEST
    rest = rows.take(kept)
    return Rows(rest.X, np.unique(rest.y, return_inverse=True)[1].astype(np.int64), rest.group)


_LOADERS: dict[str, Callable[[Path], Rows]] = {
    "adult occupation": _adult,
    "ACS class of worker": _worker,
    "ACS education": _education,
}
NAMES = ("digits", "page_blocks", "abalone", "glass", "shuttle", "letter", *_LOADERS)
"""Every data set, in the order of the tables."""
