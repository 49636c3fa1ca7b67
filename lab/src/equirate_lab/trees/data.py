"""Tables in halves: ACSIncome from the data folder and Adult, with sex and four race groups; COMPAS and Law School.

In: a split's number. Out: `Halves`, training and test rows. The attribute that a problem is about is never a feature of
census data; COMPAS and Law School are taken as their loaders prepare them, with one protected group.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = 100_000
"""Rows of ACSIncome to train on, and to test on."""
ATTRIBUTES = {"acs": ("race", "sex"), "adult": ("race", "sex"), "compas": ("group",), "law_school": ("group",)}
"""Data sets, and the attributes that problems on them are about."""


@dataclass(frozen=True, eq=False)
class Halves:
    """Rows to train on and rows to test on: features, labels and groups."""

    train_X: NDArray[Any]  # noqa: N815  # features are called that everywhere
    train_y: NDArray[Any]
    train_group: NDArray[Any]
    test_X: NDArray[Any]  # noqa: N815
    test_y: NDArray[Any]
    test_group: NDArray[Any]

    def arrays(self) -> dict[str, Any]:
        """For a rival's process."""
        return dict(self.__dict__)


def halves(data: str, attribute: str, split: int, directory: Path | None, rows: int = ROWS) -> Halves:
    """Two parts of a data set, drawn anew for every split."""
    load = {"acs": _acs, "adult": _adult}.get(data)
    X, y, groups = _prepared(data) if load is None else load(attribute, directory)
    order = np.random.default_rng(split).permutation(len(y))
    ends = (rows, 2 * rows) if data == "acs" else (2 * len(y) // 3, len(y))
    first, second = order[: ends[0]], order[ends[0] : ends[1]]
    return Halves(*(part[first] for part in (X, y, groups)), *(part[second] for part in (X, y, groups)))


@cache
def _acs(attribute: str, directory: Path | None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    import pandas as pd

    folder = directory or Path(os.environ.get("EQUIRATE_DATA", "."))
    path = folder / "acs_income.parquet"
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}: ACSIncome is not bundled; give its folder as --data-dir")
    table = pd.read_parquet(path)
    race = table["RAC1P"].to_numpy().astype(int)
    groups = np.select([race == 0, race == 1, race == 5], [0, 1, 2], 3)
    sex = table["SEX"].to_numpy().astype(int) - 1
    dropped = ["RAC1P", "PINCP", *(["SEX"] if attribute == "sex" else [])]
    X = table.drop(columns=dropped).to_numpy(dtype=float)
    return X, table["PINCP"].to_numpy().astype(int), sex if attribute == "sex" else groups


@cache
def _adult(attribute: str, directory: Path | None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    from equirate import datasets

    found = datasets.load("adult")
    named = found.features
    kept = [name for name in named.columns if not str(name).startswith(attribute)]
    people = found.attributes
    race = people["race"].astype(str).str.strip().to_numpy()
    groups = np.select([race == "White", race == "Black", race == "Asian-Pac-Islander"], [0, 1, 2], 3)
    sex = (people["sex"].astype(str).str.strip() == "Female").to_numpy().astype(int)
    X = named[kept].to_numpy(dtype=float)
    return X, np.asarray(found.label, dtype=int), sex if attribute == "sex" else groups


@cache
def _prepared(data: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    from .. import datasets

    found = datasets.load(data)
    X = found.features.to_numpy(dtype=float)
    return X, np.asarray(found.label, dtype=int), found.protected_rows.astype(int)
