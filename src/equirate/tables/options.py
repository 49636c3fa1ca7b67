"""Options for reading the text of a table, as plain data that a model keeps.

In: options of the command line, or what a model's file holds. Out: `ReadOptions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as compute

from .._core.errors import DataError, FileError
from .encodings import check_encoding
from .formats import STYLES, as_dates, as_numbers, date_formats, number_style

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None")
"""Texts that mean a missing value in a CSV file."""
_MOST, _LONGEST = 10_000, 1000


@dataclass(frozen=True)
class ReadOptions:
    """How to read a table.

    Attributes
    ----------
    missing
        Texts that mean a missing value in a CSV file, besides `MISSING`.
    decimal
        Decimal sign of a CSV file, ``"."`` or ``","``.
    encoding
        Of a CSV file; recognised if empty.
    categories
        Columns that hold categories, whatever they look like.
    dates
        Columns of text that hold dates, with the format of each; recognised if empty.
    numbers
        Columns of text that hold numbers with signs, such as ``12%`` or ``1.234,5``, with the decimal sign of each;
        recognised if empty.
    drop_ragged
        Whether lines of a CSV file with more or fewer values than the header are left out.
    """

    missing: tuple[str, ...] = ()
    decimal: str = "."
    encoding: str = ""
    categories: tuple[str, ...] = ()
    dates: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    drop_ragged: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        if self.decimal not in STYLES:
            raise DataError(f"--decimal must be '.' or ','; got {self.decimal!r}")
        if self.encoding:
            check_encoding(self.encoding)
        twice = [name for name in self.dates if name in self.numbers or name in self.categories]
        twice += [name for name in self.numbers if name in self.categories]
        if twice:
            raise DataError(f"column {twice[0]!r} can be one of --category, --date and --number")

    @property
    def texts(self) -> set[str]:
        """Columns of a CSV file that are read as text, whatever they look like."""
        return {*self.categories, *self.dates, *self.numbers}

    def converted(self, table: Any) -> Any:
        """The columns of a table, or of a batch, as what they hold."""
        for place, name in enumerate(table.schema.names):
            column = table.column(name)
            if name in self.categories:
                column = _as_text(column)
            elif name in self.dates and is_text(column):
                column = as_dates(name, column, self.dates[name] or date_format(name, column))
            elif name in self.numbers and is_text(column):
                column = as_numbers(name, column, self.numbers[name] or self._style(name, column))
            else:
                continue
            table = table.set_column(place, name, column)
        return table

    def recognised(self, table: Any) -> Self:
        """The same with the formats of dates and numbers that a table of text shows, for the files that come later."""
        dates, numbers = dict(self.dates), dict(self.numbers)
        for name in table.schema.names:
            column = table.column(name)
            if not is_text(column):
                continue
            if name in dates and not dates[name]:
                dates[name] = date_format(name, column)
            if name in numbers and not numbers[name]:
                numbers[name] = self._style(name, column)
        return replace(self, dates=dates, numbers=numbers)

    def _style(self, name: str, column: Any) -> str:
        style = number_style(compute.unique(column.cast(pa.string())), self.decimal)
        return style or self.decimal  # `as_numbers` raises an error that names the value

    def plain(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)

    @classmethod
    def read(cls, plain: Any) -> Self:
        """Read it from JSON; an error for anything that `plain` does not write."""
        plain = {"drop_ragged": False, **plain} if isinstance(plain, dict) else {}  # earlier versions dropped none
        dropped = plain.get("drop_ragged")
        if set(plain) != {each.name for each in fields(cls)} or not isinstance(dropped, bool):
            raise FileError("it is not described how tables are read")
        lists = {name: _texts(plain[name]) for name in ("missing", "categories")}
        pairs = {}
        for name in ("dates", "numbers"):
            if not isinstance(plain[name], dict):
                raise FileError("it is not described how tables are read")
            pairs[name] = dict(zip(_texts(plain[name]), _texts(plain[name].values()), strict=True))
        if any(style not in STYLES for style in pairs["numbers"].values()):
            raise FileError("it is not described how numbers are written")
        single = dict(zip(("decimal", "encoding"), _texts([plain["decimal"], plain["encoding"]]), strict=True))
        return cls(**lists, **pairs, **single, drop_ragged=dropped)  # type: ignore[arg-type]


AS_WRITTEN = ReadOptions()
"""The default options."""


def date_format(name: str, column: Any) -> str:
    """The one format that a column's dates have; refuses none, and several, by name."""
    values = compute.unique(column.cast(pa.string()))
    formats = date_formats(values)
    if len(formats) == 1:
        return formats[0]
    if formats:
        either = " or ".join(f"--date '{name}={format_}'" for format_ in formats)
        raise DataError(f"column {name!r} holds dates that can be read in two ways: give {either}")
    raise DataError(
        f"column {name!r} holds {values.drop_null()[0].as_py()!r}, and its values are no dates in one known format: "
        f"give it, as in --date '{name}=%d.%m.%Y', or --missing for signs of missing values"
    )


def is_text(column: Any) -> bool:
    """Whether a column holds text, in a dictionary or not."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _as_text(column: Any) -> Any:
    """Values as text; integers in a column of floats, such as one with missing values, without a decimal point."""
    if is_text(column):
        return column
    if pa.types.is_floating(column.type):
        integers = compute.all(compute.equal(column, compute.round(column))).as_py()
        column = column.cast(pa.int64()) if integers else column
    return column.cast(pa.string())


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    texts = tuple(values) if isinstance(values, (list, tuple, dict)) or hasattr(values, "__iter__") else ()
    if len(texts) > _MOST or any(not isinstance(value, str) or len(value) > _LONGEST for value in texts):
        raise FileError("how tables are read is not text of the right length")
    return texts
