"""Communities and Crime: whether a community's rate of violent crime is above the 70th percentile.

In: the raw UCI table. Out: 1,994 rows, 135 features: 123 numeric columns (the 122 predictors and UCI's
``fold`` number, which the paper's count includes) and twelve indicators, the thirds of four race percentages.
Missing values become the column's mean. Means and thirds are those of the training rows if the caller gives them,
else of all rows: the source has no split of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .dataset import Dataset
from .optional import require
from .sources import SOURCES
from .tabular import Columns, frame, quantile_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["build"]

TARGET = "ViolentCrimesPerPop"
NOT_FEATURES = ("state", "county", "community", "communityname", TARGET)
POPULATIONS = {
    "racepctblack": "black_population",
    "racePctWhite": "white_population",
    "racePctAsian": "asian_population",
    "racePctHisp": "hispanic_population",
}


def build(table: pd.DataFrame, training_rows: ArrayLike | None = None) -> Dataset:
    """Build the data set from the raw table.

    Parameters
    ----------
    table : pandas.DataFrame
        The raw table.
    training_rows : array-like of int or bool, optional
        Row numbers (or one boolean per row) to take the means and the thirds from; all rows if None.
    """
    source = SOURCES["crime"]
    training = _as_mask(training_rows, len(table))
    columns: Columns = {}
    for name in table.columns:
        if name not in NOT_FEATURES:
            columns[str(name)] = _filled(table[name].to_numpy(dtype=np.float64), training)
    for name in POPULATIONS:
        columns |= quantile_columns(name, columns[name], 3, training_rows=training)
    crime = table[TARGET].to_numpy(dtype=np.float64)
    pd = require("pandas", caller="equirate.datasets")
    return Dataset(
        name=source.name,
        features=frame(columns),
        label=(crime > np.quantile(crime, 0.7)).astype(np.int64),
        attributes=pd.DataFrame({name: _high_or_low(columns[raw]) for raw, name in POPULATIONS.items()}),
        protected=source.protected,
        description=source.description,
    )


def _as_mask(rows: ArrayLike | None, n_rows: int) -> NDArray[np.bool_]:
    mask = np.ones(n_rows, dtype=np.bool_)
    if rows is not None:
        mask[:] = False
        mask[np.asarray(rows)] = True
    return mask


def _filled(values: NDArray[np.float64], training: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(np.isnan(values), np.nanmean(values[training]), values)


def _high_or_low(values: NDArray[np.float64]) -> NDArray[np.str_]:
    """High: above the median of all communities."""
    return np.where(values > np.median(values), "high", "low")
