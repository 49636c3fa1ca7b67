"""COMPAS: whether a defendant is charged with a new crime within two years.

In: the raw ProPublica table. Out: 6,172 rows, 31 features, as in the loader published with the paper. The
features are indicators of charge degree, race, risk category, sex, and of age, risk decile and number of
priors cut at percentiles (the last two cumulative), plus the days between arrest and screening.
Percentiles are those of all filtered rows. A defendant without priors has no ``priors_count`` indicator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .dataset import Dataset
from .sources import SOURCES
from .tabular import Columns, bucket_columns, category_columns, frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["build"]

PERCENTILES = (20, 40, 60, 80, 90, 100)
PRIORS_PERCENTILES = (0, 50, 70, 80, 90, 100)
CATEGORIES = ("c_charge_degree", "race", "score_text", "sex")


def build(table: pd.DataFrame) -> Dataset:
    """Build the data set from the raw table."""
    source = SOURCES["compas"]
    people = table.loc[_kept(table)].reset_index(drop=True)
    columns: Columns = {"days_b_screening_arrest": people["days_b_screening_arrest"].to_numpy(dtype=np.float64)}
    for name in CATEGORIES:
        columns |= category_columns(name, people[name])
    for name in ("age", "decile_score"):
        edges = [0.0, *np.percentile(people[name], PERCENTILES).tolist()]
        columns |= bucket_columns(name, people[name], edges, cumulative=name == "decile_score")
    edges = np.percentile(people["priors_count"], PRIORS_PERCENTILES).tolist()
    columns |= bucket_columns("priors_count", people["priors_count"], edges, cumulative=True)
    return Dataset(
        name=source.name,
        features=frame(columns),
        label=people["two_year_recid"].to_numpy(dtype=np.int64, copy=True),
        attributes=people[["sex", "race"]].copy(),
        protected=source.protected,
        description=source.description,
    )


def _kept(table: pd.DataFrame) -> Any:
    """ProPublica's filters: screened within 30 days of the arrest, a known case, not a traffic offence."""
    return (
        table["days_b_screening_arrest"].between(-30, 30)
        & (table["is_recid"] != -1)
        & (table["c_charge_degree"] != "O")
        & (table["score_text"] != "N/A")
    )
