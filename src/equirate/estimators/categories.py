"""Text and categories in a frame of features as codes, and dates as numbers, for models that split them.

In: a frame with columns that are not numeric. Out: the values of the columns when fitting, and the same
frame with codes in their place; missing values, and values not seen when fitting, are NaN. Dates are days since 1970.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .._core.errors import DataError
from ..data.slices import is_missing

MOST = 100_000
"""Largest number of categories of one column: a column with more merely identifies rows."""
FEWEST = 2
"""Mean number of rows per value of a column, below which the column says little about new rows."""
_DAY = 86_400_000.0  # milliseconds
Categories = Mapping[str, Sequence[str]]
"""The values of each column that is not numeric, by the column's name."""


def categories_of(X: Any) -> Categories:
    """The categories of a frame; none if X is not a frame, or all its columns are numeric."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return {}
    categories = {}
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean or _is_date(frame[name])):
            values = sorted({str(value) for value in frame[name].to_list() if not is_missing(value)})
            if len(values) > MOST:
                raise DataError(f"column {name!r} of X has {len(values)} different values: leave it out")
            categories[str(name)] = values
    return categories


def refuse_many(categories: Categories, most: int | None) -> None:
    """Refuse a column with more values than a model accepts, and name it."""
    for name, values in categories.items():
        if most is not None and len(values) > most:
            raise DataError(
                f"column {name!r} of X has {len(values)} different values, and this model takes at most {most} "
                'categories of a column: leave it out, group rare values, or install lightgbm for model="trees" '
                "(pip install 'equirate[boosting]')"
            )


def places(categories: Categories, X: Any) -> tuple[int, ...]:
    """Positions of the columns with categories in a frame."""
    frame = nw.from_native(X, eager_only=True)
    return tuple(k for k, name in enumerate(frame.columns) if name in categories)


def coded(categories: Categories, X: Any) -> Any:
    """A frame with codes in the place of categories.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 47, 20], "colour": ["red", None, "blue"]})
    >>> coded(categories_of(frame), frame)["colour"].tolist()
    [1.0, nan, 0.0]
    """
    X = dates_as_numbers(X)
    if not categories:
        return X
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise DataError(
            f"X must be a data frame with the columns {', '.join(map(repr, categories))}, which held categories "
            f"when fitting; got {type(X).__name__}"
        )
    missing = [name for name in categories if name not in frame.columns]
    if missing:
        raise DataError(f"X has no column {missing[0]!r}, which held categories when fitting")
    columns = []
    for name, values in categories.items():
        code = {value: float(k) for k, value in enumerate(values)}
        cells = frame[name].to_list()
        numbers = [np.nan if is_missing(value) else code.get(str(value), np.nan) for value in cells]
        columns.append(nw.new_series(name, numbers, nw.Float64, backend=nw.get_native_namespace(frame)))
    return frame.with_columns(columns).to_native()


def dates_as_numbers(X: Any) -> Any:
    """A frame with dates, times and durations as numbers of days; anything else as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> dates_as_numbers(pd.DataFrame({"opened": pd.to_datetime(["1970-01-02", None])}))["opened"].tolist()
    [1.0, nan]
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    names = [name for name in frame.columns if _is_date(frame[name])]
    if not names:
        return X
    backend = nw.get_native_namespace(frame)
    days = [nw.new_series(name, _days(frame[name]), nw.Float64, backend=backend) for name in names]
    return frame.with_columns(days).to_native()


def few_rows_each(categories: Categories, rows: int) -> list[str]:
    """A note for each column of categories in which most values belong to one row: it merely identifies rows."""
    return [
        f"column {name!r} of X has {len(values):,} different values in {rows:,} rows: it identifies rows, and says "
        "little of new ones. Leave it out if it is an identifier; give dates as dates, not as text"
        for name, values in categories.items()
        if len(values) * FEWEST > rows
    ]


def _is_date(column: Any) -> bool:
    if column.dtype.is_temporal():
        return True
    if column.dtype != nw.Object:
        return False
    values = [value for value in column.to_list() if not is_missing(value)]
    return bool(values) and all(isinstance(value, (dt.date, dt.timedelta)) for value in values)


def _days(column: Any) -> list[float]:
    """Days since 1970 (in UTC), or days of a duration; NaN for missing values."""
    kind = column.dtype
    if kind in (nw.Datetime, nw.Date):
        numbers = column.cast(nw.Datetime("ms") if kind == nw.Date else kind).dt.timestamp("ms").to_list()
        return [np.nan if is_missing(value) else float(value) / _DAY for value in numbers]
    return [np.nan if is_missing(value) else _day(value) for value in column.to_list()]


def _day(value: Any) -> float:
    if isinstance(value, dt.timedelta):
        return value.total_seconds() * 1000 / _DAY
    if isinstance(value, dt.time):
        return (value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) * 1000 / _DAY
    if isinstance(value, dt.datetime):
        zone = value.tzinfo or dt.UTC
        return value.replace(tzinfo=zone).timestamp() * 1000 / _DAY
    return float((value - dt.date(1970, 1, 1)).days)
