"""What a column holds: numbers, truth values, dates, times or categories; anything else is refused by name.

In: a column as it was read. Out: its `Kind`, and its values as numbers, as text or as an attribute that slices compare.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray

from .._core.errors import DataError

Array = NDArray[np.float64]
Column = Any
"""A pyarrow array, whole or in chunks."""

ABSENT = "missing"
"""The value of a categorical attribute where it is missing."""
_DAY = 86_400e6
_SECOND = 1e6


class Kind(StrEnum):
    """What a column holds."""

    NUMBER = "number"
    TRUTH = "true or false"
    DATE = "date"
    ZONED = "date with zone"
    TIME = "time of day"
    CATEGORY = "category"

    @property
    def in_csv(self) -> pa.DataType:
        """The type to read it as from text."""
        return _IN_CSV[self]


_IN_CSV = {
    Kind.NUMBER: pa.float64(),
    Kind.TRUTH: pa.bool_(),
    Kind.DATE: pa.timestamp("us"),
    Kind.ZONED: pa.timestamp("us", "UTC"),
    Kind.TIME: pa.time32("s"),
    Kind.CATEGORY: pa.string(),
}


def kind_of(name: str, column: Column) -> Kind | None:
    """Kind of a column; None for one that has no values at all. Lists, structures and bytes are refused by name."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return Kind.CATEGORY
    if pa.types.is_null(kind):
        return None
    if pa.types.is_boolean(kind):
        return Kind.TRUTH
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Kind.NUMBER
    if pa.types.is_date(kind):
        return Kind.DATE
    if pa.types.is_timestamp(kind):
        return Kind.DATE if kind.tz is None else Kind.ZONED
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return Kind.TIME
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Kind.CATEGORY
    raise DataError(f"column {name!r} holds {kind}, which is no number, date or category: leave it out with --ignore")


def numbers(name: str, column: Column, kind: Kind) -> Array:
    """Values as floats, NaN where missing: dates in days, times in seconds. Refuses infinity and text by name."""
    try:
        if kind in (Kind.DATE, Kind.ZONED):
            zone = "UTC" if kind is Kind.ZONED else None
            values = _floats(column.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())) / _DAY
        elif kind is Kind.TIME:
            spans = pa.types.is_duration(column.type)
            values = _floats(column.cast(pa.duration("us") if spans else pa.time64("us")).cast(pa.int64())) / _SECOND
        elif pa.types.is_boolean(column.type):
            values = _floats(column.cast(pa.uint8()))
        elif kind_of(name, column) in (None, Kind.NUMBER):
            values = _floats(column)
        else:
            raise pa.ArrowInvalid("no numbers")
    except pa.ArrowException:
        held = kind_of(name, column)
        raise DataError(
            f"column {name!r} must hold {_PLURAL[kind]}, as in training; it holds {_PLURAL[held or Kind.CATEGORY]}"
        ) from None
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise DataError(f"column {name!r} has {infinite} infinite values: replace them or leave it out with --ignore")
    return values


_PLURAL = {
    Kind.NUMBER: "numbers",
    Kind.TRUTH: "true or false",
    Kind.DATE: "dates without a zone",
    Kind.ZONED: "dates with a zone",
    Kind.TIME: "times of day",
    Kind.CATEGORY: "text",
}


def codes(column: Column) -> tuple[NDArray[np.int64], list[str]]:
    """Number the distinct values of a column: each row's number (-1 where missing), and the values as text."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    array = _one_chunk(column)
    values = [text or "" for text in array.dictionary.cast(pa.string()).to_pylist()]
    return _floats(array.indices, -1.0).astype(np.int64), values


def text_of(column: Column) -> tuple[NDArray[np.int64], list[str]]:
    """Like `codes`, for labels: integers are written without a decimal point, and every text occurs once."""
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = _floats(column)
        if np.array_equal(values, np.rint(values), equal_nan=True) and np.nanmax(np.abs(values), initial=0) < 2**53:
            column = pa.array(values, from_pandas=True).cast(pa.int64())
    indices, values_ = codes(column if pa.types.is_dictionary(column.type) else column.cast(pa.string()))
    places: dict[str, int] = {}
    once = np.array([places.setdefault(value, len(places)) for value in values_] + [-1], dtype=np.int64)
    return once[indices], list(places)


def attribute(name: str, column: Column, kind: Kind | None) -> NDArray[Any]:
    """Values as slices compare them: numbers, dates, truth values, or text with ``"missing"`` where there is none."""
    if kind in (None, Kind.CATEGORY):
        indices, values = codes(column.cast(pa.string()) if kind is None else column)
        return np.array([*values, ABSENT])[indices]
    assert kind is not None
    if kind in (Kind.DATE, Kind.ZONED):
        days = numbers(name, column, kind)
        missing = np.isnan(days)
        dates: NDArray[Any] = (np.where(missing, 0, days) * _DAY).round().astype("M8[us]")
        dates[missing] = np.datetime64("NaT")
        return dates
    values_ = numbers(name, column, kind)
    if kind is Kind.TRUTH and np.isnan(values_).any():
        which = np.where(np.isnan(values_), 2, values_).astype(int)
        return np.asarray(np.array(["False", "True", ABSENT])[which])
    return np.asarray(values_ > 0) if kind is Kind.TRUTH else values_


def _one_chunk(column: Column) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    column = column.unify_dictionaries()
    if column.num_chunks == 1:
        return column.chunk(0)
    return (
        column.combine_chunks() if column.num_chunks else pa.DictionaryArray.from_arrays([], pa.array([], pa.string()))
    )


def _floats(column: Column, absent: float = np.nan) -> Array:
    """A column of numbers as floats; missing values become ``absent``."""
    if pa.types.is_null(column.type):
        return np.full(len(column), absent)
    floats = column.cast(pa.float64(), safe=False)
    if floats.null_count:
        floats = compute.fill_null(floats, absent)
    values = floats.to_numpy() if isinstance(floats, pa.ChunkedArray) else floats.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)
