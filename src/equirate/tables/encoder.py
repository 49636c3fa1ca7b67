"""From columns to features: numbers are scaled, categories become one column of 0 and 1 each; all of it plain data.

In: the columns of a table and the rows to learn from. Out: an `Encoder`, which turns the same columns of any table
into the same features, at once or batch by batch, and which is written and read as JSON. It encodes each kind of
column as follows:

- numbers, truth values, dates (days) and times (seconds): mean 0 and variance 1 on the rows learnt from; a missing
  value becomes the mean and, where some were missing, sets an indicator feature;
- categories: a feature for each value seen; a new value has all of them 0, and missing is a value of its own where
  some were missing;
- a column with one value has no feature; identifiers and free text are refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import DataError, FileError
from .kinds import Column, Kind, codes, kind_of, numbers

Rows = NDArray[np.intp]

MOST_VALUES = 1000
"""Most distinct values of a category; a column with more is assumed to be an identifier or free text."""
FARTHEST = 1e6
"""Scaled values are clipped here, so that a single wrong entry cannot overflow."""
FEW_VALUES = 20
"""With at most this many values, a column of nearly as many values as rows is still a category."""
_LONGEST = 1000  # characters of a value or a name
_MOST_COLUMNS = 100_000
_SPARSE = 4  # with more features per column than this, the matrix is sparse


@dataclass(frozen=True)
class Scaled:
    """A column of numbers: shifted, scaled, and with a feature for missing values where there were some."""

    name: str
    kind: Kind
    mean: float
    scale: float
    missing: bool

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features it becomes."""
        return (self.name, f"{self.name} is missing") if self.missing else (self.name,)

    def cells(self, column: Column) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Index (-1 for none) and value of each row's entries in this column's features, (rows, 1 or 2)."""
        values = numbers(self.name, column, self.kind)
        absent = np.isnan(values)
        scaled = np.clip((values - self.mean) / self.scale, -FARTHEST, FARTHEST)
        scaled[absent] = 0.0
        places = np.zeros((len(values), len(self.features)), dtype=np.int32)
        cells = np.zeros(places.shape, dtype=np.float32)
        cells[:, 0] = scaled
        if self.missing:
            places[:, 1], cells[:, 1] = np.where(absent, 1, -1), absent
        return places, cells

    def plain(self) -> dict[str, Any]:
        """As data for JSON."""
        return {
            "column": self.name,
            "kind": self.kind.value,
            "mean": self.mean,
            "scale": self.scale,
            "missing": self.missing,
        }


@dataclass(frozen=True)
class OneHot:
    """A column of categories: a feature for each value, and one for missing where some were."""

    name: str
    values: tuple[str, ...]
    missing: bool
    kind: Kind = Kind.CATEGORY

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features it becomes."""
        return (*(f"{self.name}={value}" for value in self.values), *([f"{self.name} is missing"] * self.missing))

    def cells(self, column: Column) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Index (-1 for none) and value of each row's entry in this column's features, (rows, 1)."""
        indices, values = codes(column)
        place = {value: k for k, value in enumerate(self.values)}
        known = [place.get(value, -1) for value in values]
        places = np.array([*known, len(self.values) if self.missing else -1], dtype=np.int32)[indices]
        return places[:, None], np.ones((len(places), 1), dtype=np.float32)

    def plain(self) -> dict[str, Any]:
        """As data for JSON."""
        return {"column": self.name, "kind": self.kind.value, "values": list(self.values), "missing": self.missing}


Encoding = Scaled | OneHot


@dataclass(frozen=True)
class Encoder:
    """How each column becomes features, in order."""

    columns: tuple[Encoding, ...]

    @classmethod
    def learnt(cls, table: Mapping[str, Column], names: Sequence[str], rows: Rows, checked: bool = False) -> Self:
        """Learn from some rows of a table how its columns become features; a column with one value has none.

        Identifiers and free text are refused, unless all rows were ``checked`` for them before.
        """
        encodings = (_learnt(name, table[name], rows, checked) for name in names)
        return cls(tuple(column for column in encodings if column is not None))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns it needs."""
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> dict[str, Kind | None]:
        """What each of them holds."""
        return {column.name: column.kind for column in self.columns}

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def sparse(self) -> bool:
        """Whether features are mostly zeros, and come as a CSR matrix."""
        return len(self.features) > _SPARSE * len(self.columns)

    def features_of(self, table: Mapping[str, Column], rows: Rows | None = None, dense: bool = False) -> Any:
        """Features of some rows of a table (all of them by default): float32, an array or a CSR matrix.

        Encodes column by column, so that only the features themselves are as large as the table.
        """
        length = len(table[self.names[0]]) if rows is None else len(rows)
        if self.sparse and not dense:
            return self._sparse(table, rows, length)
        X = np.zeros((length, len(self.features)), dtype=np.float32)
        for start, places, values in self._cells(table, rows):
            for place, value in zip(places.T, values.T, strict=True):
                filled = np.flatnonzero(place >= 0)
                X[filled, start + place[filled]] = value[filled]
        return X

    def _cells(self, table: Mapping[str, Column], rows: Rows | None) -> Iterator[tuple[int, Any, Any]]:
        start = 0
        for column in self.columns:
            places, values = column.cells(table[column.name])
            yield (start, places, values) if rows is None else (start, places[rows], values[rows])
            start += len(column.features)

    def _sparse(self, table: Mapping[str, Column], rows: Rows | None, length: int) -> Any:
        """A CSR matrix, filled in place: a row's entries are in the order of its columns, zeros are left out."""
        width = sum(2 if isinstance(column, Scaled) and column.missing else 1 for column in self.columns)
        indices = np.full((length, width), -1, dtype=np.int32)
        data = np.zeros((length, width), dtype=np.float32)
        at = 0
        for start, places, values in self._cells(table, rows):
            end = at + places.shape[1]
            indices[:, at:end] = np.where((places >= 0) & (values != 0), start + places, -1)
            data[:, at:end] = values
            at = end
        kept = indices >= 0
        ends = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        return sp.csr_array((data[kept], indices[kept], ends), shape=(length, len(self.features)))

    def plain(self) -> list[dict[str, Any]]:
        """As data for JSON."""
        return [column.plain() for column in self.columns]

    @classmethod
    def read(cls, plain: Any) -> Self:
        """Read it from JSON; an error for anything that `plain` does not write."""
        if not isinstance(plain, list) or not 0 < len(plain) <= _MOST_COLUMNS:
            raise FileError("the columns are not a list of the right length")
        columns = tuple(map(_read, plain))
        if len({column.name for column in columns}) != len(columns):
            raise FileError("a column occurs twice")
        return cls(columns)


def _learnt(name: str, column: Column, rows: Rows, checked: bool) -> Encoding | None:
    kind = kind_of(name, column)
    if kind is None:
        return None
    if kind is Kind.CATEGORY:
        return _learnt_category(name, column, rows, checked)
    values = numbers(name, column, kind)[rows]
    present = values[~np.isnan(values)]
    missing = len(present) < len(values)
    if not len(present):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = float(present.mean()), float(present.std())
    if not (math.isfinite(mean) and math.isfinite(scale)):
        raise DataError(f"column {name!r} holds numbers too large to scale, up to {np.abs(present).max():g}")
    if scale <= 1e-12 * abs(mean):  # the same number everywhere, up to rounding
        return Scaled(name, kind, mean, 1.0, True) if missing else None
    return Scaled(name, kind, mean, scale, missing)


def is_unfit(distinct: int, rows: int, longest: int) -> bool:
    """Whether so many distinct values in so many rows look like an identifier or free text."""
    return _is_too_large(distinct, longest) or (distinct > FEW_VALUES and distinct > rows / 2)


def _is_too_large(distinct: int, longest: int) -> bool:
    return distinct > MOST_VALUES or longest > _LONGEST


def _learnt_category(name: str, column: Column, rows: Rows, checked: bool) -> OneHot | None:
    indices, values = codes(column)
    counts = np.bincount(indices[rows] + 1, minlength=len(values) + 1)
    seen = sorted({value for value, count in zip(values, counts[1:], strict=True) if count})
    total = int(counts[1:].sum())
    longest = max(map(len, seen), default=0)
    if _is_too_large(len(seen), longest) if checked else is_unfit(len(seen), total, longest):
        raise DataError(
            f"column {name!r} has {len(seen):,} distinct values in {total:,} rows, the longest of {longest:,} letters: "
            f"it looks like an identifier or free text, which is no feature; leave it out with --ignore {name!r}"
        )
    missing = bool(counts[0])
    return OneHot(name, tuple(seen), missing) if len(seen) + missing > 1 else None


def _read(plain: Any) -> Encoding:
    if not isinstance(plain, dict) or not isinstance(plain.get("missing"), bool):
        raise FileError("a column is not described as it should be")
    name, missing = _text(plain.get("column")), plain["missing"]
    try:
        kind = Kind(str(plain.get("kind")))
    except ValueError:
        raise FileError(f"column {name!r} has no known kind") from None
    if kind is Kind.CATEGORY:
        values = plain.get("values")
        if not isinstance(values, list) or not 0 < len(values) <= MOST_VALUES:
            raise FileError(f"the values of column {name!r} are not a list of the right length")
        texts = tuple(_text(value, empty=True) for value in values)
        if len(set(texts)) != len(texts):
            raise FileError(f"a value of column {name!r} occurs twice")
        return OneHot(name, texts, missing)
    mean, scale = _number(plain.get("mean"), name), _number(plain.get("scale"), name)
    if not scale > 0:
        raise FileError(f"the scale of column {name!r} is not positive")
    return Scaled(name, kind, mean, scale, missing)


def _text(value: Any, empty: bool = False) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or not (value or empty):
        raise FileError("a name or a value is not text of the right length")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise FileError(f"a number of column {name!r} is not finite")
    return float(value)
