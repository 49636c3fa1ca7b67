"""From raw columns to 0/1 indicators, as ``equirate.datasets`` makes them of its own.

In: one raw column (any array-like). Out: named indicator columns, as an ordered dictionary of arrays, which
:func:`frame` joins to a table. Called by the data sets' ``build`` functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

__all__ = ["Columns", "category_columns", "frame", "quantile_columns", "text_array"]

Columns: TypeAlias = dict[str, NDArray[np.float64]]


def text_array(values: Any) -> NDArray[np.str_]:
    """Turn a column of strings into a plain numpy array."""
    return np.asarray(list(values), dtype=np.str_)


def category_columns(name: str, values: Any) -> Columns:
    """Make one indicator per value that occurs, in sorted order.

    Examples
    --------
    >>> {name: column.tolist() for name, column in category_columns("sex", ["M", "F", "M"]).items()}
    {'sex=F': [0.0, 1.0, 0.0], 'sex=M': [1.0, 0.0, 1.0]}
    """
    text = text_array(values)
    return {f"{name}={value}": (text == value).astype(np.float64) for value in np.unique(text)}


def quantile_columns(name: str, values: ArrayLike, n_bins: int) -> Columns:
    """Make one indicator per quantile bin; every value is in exactly one, since the outer bins are open.

    Examples
    --------
    >>> {name: column.tolist() for name, column in quantile_columns("n", [1, 2, 3, 4], 2).items()}
    {'n=..2.5': [1.0, 1.0, 0.0, 0.0], 'n=2.5..': [0.0, 0.0, 1.0, 1.0]}
    """
    numbers = np.asarray(values, dtype=np.float64)
    cuts = np.quantile(numbers, np.arange(1, n_bins) / n_bins)
    bins = np.searchsorted(cuts, numbers, side="left")
    ends = ["", *(f"{cut:g}" for cut in cuts), ""]
    return {f"{name}={ends[i]}..{ends[i + 1]}": (bins == i).astype(np.float64) for i in range(n_bins)}


def frame(columns: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Join the columns to a table of floats, in one block of memory."""
    values = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns.values()])
    return pd.DataFrame(values, columns=list(columns))
