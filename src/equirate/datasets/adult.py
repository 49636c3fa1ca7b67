"""Adult: whether a person earns more than 50,000 dollars a year.

In: the two UCI files as one table with a ``split`` column. Out: 48,842 rows (32,561 train, 16,281 test), 122
features, all indicators: eight categorical columns (``?``, not stated, is a category of its own) and five
numeric ones cut into four intervals. The cuts for age are the quartiles of the training part; as in the
loader published with the paper, the youngest age (17) lies in no interval. ``fnlwgt`` is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .dataset import Dataset
from .sources import SOURCES
from .tabular import Columns, bucket_columns, category_columns, frame, text_array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["build"]

CATEGORIES = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)
EDGES = {
    "capital_gain": (-1.0, 1.0, 4000.0, 10000.0, 100000.0),
    "capital_loss": (-1.0, 1.0, 1800.0, 1950.0, 4500.0),
    "hours_per_week": (0.0, 39.0, 41.0, 50.0, 100.0),
    "education_num": (0.0, 8.0, 9.0, 11.0, 16.0),
}


def build(table: pd.DataFrame) -> Dataset:
    """Build the data set from the raw table."""
    source = SOURCES["adult"]
    people = table.rename(columns={"gender": "sex"})
    split = text_array(people["split"])
    columns: Columns = {}
    for name in CATEGORIES:
        columns |= category_columns(name, people[name])
    quartiles = np.quantile(people["age"].to_numpy()[split == "train"], (0, 0.25, 0.5, 0.75, 1))
    columns |= bucket_columns("age", people["age"], quartiles.tolist())
    for name, edges in EDGES.items():
        columns |= bucket_columns(name, people[name], edges)
    return Dataset(
        name=source.name,
        features=frame(columns),
        label=np.asarray(people["income_bracket"] == ">50K", dtype=np.int64),
        attributes=people[["sex", "race"]].copy(),
        protected=source.protected,
        description=source.description,
        split=split,
    )
