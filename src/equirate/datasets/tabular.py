"""From raw columns to 0/1 indicators.

In: one raw column (any array-like). Out: named indicator columns, as an ordered dictionary of arrays, which
:func:`frame` joins to a table. Called by the data sets' ``build`` functions.

Indicators are named for what they say: ``race=Other``, ``age=24..29`` (above 24, up to 29), ``age=48..``
(above 48), ``priors_count>3``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .optional import require

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "bucket_columns", "category_columns", "frame", "quantile_columns", "text_array"]

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
    return {f"{name}={value}": _indicator(text == value) for value in np.unique(text)}


def bucket_columns(name: str, values: ArrayLike, edges: Sequence[float], *, cumulative: bool = False) -> Columns:
    """Make one indicator per interval ``(edges[i], edges[i+1]]``.

    A value at or below the first edge, or above the last, is in no interval. With ``cumulative``, indicator i
    is 1 if any indicator j >= i is: "at least this much".

    Examples
    --------
    >>> {name: column.tolist() for name, column in bucket_columns("n", [0, 1, 5], [0, 1, 9]).items()}
    {'n=0..1': [0.0, 1.0, 0.0], 'n=1..9': [0.0, 0.0, 1.0]}
    >>> {name: column.tolist() for name, column in bucket_columns("n", [0, 1, 5], [0, 1, 9], cumulative=True).items()}
    {'n>0': [0.0, 1.0, 1.0], 'n>1': [0.0, 0.0, 1.0]}
    """
    numbers = np.asarray(values, dtype=np.float64)
    columns: Columns = {}
    for low, high in pairwise(edges):
        if cumulative:
            columns[f"{name}>{low:g}"] = _indicator((numbers > low) & (numbers <= edges[-1]))
        else:
            columns[f"{name}={low:g}..{high:g}"] = _indicator((numbers > low) & (numbers <= high))
    return columns


def quantile_columns(
    name: str, values: ArrayLike, n_bins: int, *, training_rows: NDArray[np.bool_] | None = None
) -> Columns:
    """Make one indicator per quantile bin; every value is in exactly one, since the outer bins are open.

    The cuts are the quantiles of the training rows where those are given, else of all rows.

    Examples
    --------
    >>> {name: column.tolist() for name, column in quantile_columns("n", [1, 2, 3, 4], 2).items()}
    {'n=..2.5': [1.0, 1.0, 0.0, 0.0], 'n=2.5..': [0.0, 0.0, 1.0, 1.0]}
    """
    numbers = np.asarray(values, dtype=np.float64)
    known = numbers if training_rows is None else numbers[training_rows]
    cuts = np.quantile(known, np.arange(1, n_bins) / n_bins)
    bins = np.searchsorted(cuts, numbers, side="left")
    ends = ["", *(f"{cut:g}" for cut in cuts), ""]
    return {f"{name}={ends[i]}..{ends[i + 1]}": _indicator(bins == i) for i in range(n_bins)}


def frame(columns: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Join the columns to a table of floats, in one block of memory."""
    pd = require("pandas", caller="equirate.datasets")
    values = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns.values()])
    return pd.DataFrame(values, columns=list(columns))  # type: ignore[no-any-return]


def _indicator(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    return mask.astype(np.float64)
