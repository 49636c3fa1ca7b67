"""The data sets, each split into rows to fit on and rows that are new.

In: a name and a split. Out: `Rows` to fit on and new ones, with features, labels and the protected group. The paper's
six data sets are split as in its experiments, training and validation parts together to fit on; ACSIncome is one-hot
throughout, as census tables are, and split in the same proportions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import datasets
from ..experiments.paper import DATASETS
from ..experiments.splits import PROTECTED, make_split, rows_of

ACS = "acs_income"
NAMES = (*datasets.names(), ACS)
AGES, HOURS = (30, 45, 60), (20, 39, 45)
"""Where age and hours a week are cut into bins: 74 indicators in all."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows: features, labels, and 1 for the protected group."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    group: NDArray[np.int64]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.y)

    @property
    def attributes(self) -> dict[str, NDArray[np.int64]]:
        """The group, as estimators take it."""
        return {PROTECTED: self.group}

    def some(self, most: int | None, seed: int) -> Rows:
        """So many of the rows at most, drawn by a seed."""
        if most is None or len(self) <= most:
            return self
        kept = np.sort(np.random.default_rng(seed).permutation(len(self))[:most])
        return Rows(self.X[kept], self.y[kept], self.group[kept])


def title(name: str) -> str:
    """The name of a data set for people."""
    return "ACSIncome" if name == ACS else DATASETS[name].title


def missing(name: str, data_dir: str | None) -> str:
    """Why a data set cannot be had; empty if it can."""
    if name == ACS:
        return "" if _acs_path(data_dir) else "acs_income.parquet is not in the data directory (--data-dir)"
    try:
        datasets.require_files(name, data_dir=data_dir)
    except datasets.MissingDataError as error:
        return str(error)
    return ""


def load(name: str, split: int, data_dir: str | None = None) -> tuple[Rows, Rows]:
    """Rows to fit on, and rows that are new."""
    if name == ACS:
        whole = _acs(data_dir)
        first, second, new = rows_of(len(whole), split)
        parts = (np.concatenate([first, second]), new)
        fitted, tested = (Rows(whole.X[part], whole.y[part], whole.group[part]) for part in parts)
        return fitted, tested
    found = make_split(name, split, data_dir)
    fit, test = found.train.joined(found.validation), found.test
    return Rows(fit.X, fit.y, fit.attributes[PROTECTED]), Rows(test.X, test.y, test.attributes[PROTECTED])


def _acs_path(data_dir: str | None) -> Path | None:
    folder = data_dir or os.environ.get("EQUIRATE_DATA")
    path = Path(folder or ".") / "acs_income.parquet"
    return path if folder and path.exists() else None


def _acs(data_dir: str | None) -> Rows:
    """ACSIncome with indicators for everything: schooling, work, family, sex, race, and bins of age and hours."""
    path = _acs_path(data_dir)
    if path is None:
        raise FileNotFoundError(missing(ACS, data_dir))
    table = pd.read_parquet(path)
    table["AGEP"], table["WKHP"] = np.digitize(table["AGEP"], AGES), np.digitize(table["WKHP"], HOURS)
    kept = ["SCHL", "RELP", "COW", "MAR", "SEX", "RAC1P", "AGEP", "WKHP"]
    X: Any = pd.get_dummies(table[kept].astype(int).astype(str)).to_numpy(np.float32)
    return Rows(X, table["PINCP"].to_numpy(np.int64), np.asarray(table["SEX"] == 2, dtype=np.int64))
