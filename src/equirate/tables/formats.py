"""Numbers and dates as people write them: ``1.234,5``, ``12%``, ``31.12.2024``.

In: texts of a column. Out: the way they are written (`number_style`, `date_formats`), and their values by it
(`as_numbers`, `as_dates`). A way of writing is plain text, so that a model keeps it for the files that come later.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as compute

from .._core.errors import DataError

Column = Any
"""A pyarrow array, whole or in chunks."""

STYLES = (".", ",")
"""Decimal signs; the other one may separate thousands."""
_SIGN = r"[-+−]?\s*"
_CURRENCY = r"(?:[$€£¥]|EUR|USD|GBP|CHF)"
_NUMBER = {
    ".": r"(?:\d{1,3}(?:[,' \x{a0}\x{202f}]\d{3})+|\d+)(?:\.\d+)?|\.\d+",
    ",": r"(?:\d{1,3}(?:[.' \x{a0}\x{202f}]\d{3})+|\d+)(?:,\d+)?|,\d+",
}
_WRITTEN = {
    style: rf"^\s*{_CURRENCY}?\s*{_SIGN}{_CURRENCY}?\s*(?:{number})\s*(?:%|{_CURRENCY})?\s*$"
    for style, number in _NUMBER.items()
}

_DAY, _MONTH, _YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"\d{4}"
_CLOCK = {"": "", " %H:%M": r" \d{1,2}:\d{2}", " %H:%M:%S": r" \d{1,2}:\d{2}:\d{2}"}
_DATES = {
    "%Y-%m-%d": rf"{_YEAR}-{_MONTH}-{_DAY}",
    "%Y/%m/%d": rf"{_YEAR}/{_MONTH}/{_DAY}",
    "%d.%m.%Y": rf"{_DAY}\.{_MONTH}\.{_YEAR}",
    "%d/%m/%Y": rf"{_DAY}/{_MONTH}/{_YEAR}",
    "%m/%d/%Y": rf"{_MONTH}/{_DAY}/{_YEAR}",
    "%d-%m-%Y": rf"{_DAY}-{_MONTH}-{_YEAR}",
    "%m-%d-%Y": rf"{_MONTH}-{_DAY}-{_YEAR}",
    "%d.%m.%y": rf"{_DAY}\.{_MONTH}\.\d\d",
    "%d/%m/%y": rf"{_DAY}/{_MONTH}/\d\d",
    "%m/%d/%y": rf"{_MONTH}/{_DAY}/\d\d",
    "%d-%b-%Y": rf"{_DAY}-[A-Za-z]{{3}}-{_YEAR}",
    "%d %b %Y": rf"{_DAY} [A-Za-z]{{3}} {_YEAR}",
}
FORMATS = {
    **{
        day + clock: rf"^\s*{pattern}{digits}\s*$"
        for clock, digits in _CLOCK.items()
        for day, pattern in _DATES.items()
    },
    "%Y-%m-%dT%H:%M:%S": rf"^\s*{_DATES['%Y-%m-%d']}T\d\d:\d\d:\d\d\s*$",
}
"""Formats of dates that are recognised, in the order in which they are tried, and the texts that they take."""


def fits(values: Column, pattern: str) -> Any:
    """Which texts match a pattern; missing ones are null."""
    return compute.match_substring_regex(values, pattern)


def _all(values: Column, pattern: str) -> bool:
    return bool(compute.all(fits(values, pattern)).as_py())


def number_pattern(style: str) -> str:
    """The pattern of numbers that are written in a style."""
    return _WRITTEN[style]


def number_style(values: Column, decimal: str = ".") -> str:
    """How the numbers of a column are written; empty if they are not all numbers.

    Parameters
    ----------
    values
        Texts; missing ones do not count.
    decimal
        The style to take where both fit, as for ``1,234``.

    Examples
    --------
    >>> number_style(pa.array(["1.234,5", "12", None])), number_style(pa.array(["12%", "7.5 %"]))
    (',', '.')
    """
    for style in sorted(STYLES, key=lambda style: style != decimal):
        if _all(values, _WRITTEN[style]):
            return style
    return ""


def as_numbers(name: str, column: Column, style: str) -> Column:
    """The numbers that texts hold, without percent, currency and thousands signs.

    Examples
    --------
    >>> as_numbers("price", pa.array(["€ 1.234,5", "12 %", None]), ",").to_pylist()
    [1234.5, 12.0, None]
    """
    texts = column.cast(pa.string())
    wrong = texts.filter(compute.invert(compute.fill_null(fits(texts, _WRITTEN[style]), True)))
    if len(wrong):
        raise DataError(
            f"column {name!r} holds {wrong[0].as_py()!r} in {len(wrong):,} row{'s' * (len(wrong) > 1)}, which is no "
            f"number as in {_EXAMPLE[style]}: give --missing {wrong[0].as_py()!r} if it stands for a missing value"
        )
    other = "," if style == "." else "."
    plain = compute.replace_substring_regex(texts, rf"[{other}' \x{{a0}}\x{{202f}}%$€£¥A-Z\s]", "")
    plain = compute.replace_substring(compute.replace_substring(plain, style, "."), "−", "-")
    return compute.replace_substring(plain, "+", "").cast(pa.float64())


_EXAMPLE = {".": "1,234.5", ",": "1.234,5"}


def date_formats(values: Column) -> list[str]:
    """Formats that match every date of a column: several where day and month are ambiguous.

    Examples
    --------
    >>> date_formats(pa.array(["31.12.2024", None])), date_formats(pa.array(["1/2/2024"]))
    (['%d.%m.%Y'], ['%d/%m/%Y', '%m/%d/%Y'])
    """
    if not len(values) - values.null_count:
        return []
    return [format_ for format_, pattern in FORMATS.items() if _all(values, pattern)]


def as_dates(name: str, column: Column, format_: str) -> Column:
    """The dates that texts hold; refuses what is none, by name."""
    texts = compute.utf8_trim_whitespace(column.cast(pa.string()))
    dates = compute.strptime(texts, format_, "us", error_is_null=True)
    good = compute.is_valid(dates)
    if format_ in FORMATS:  # strptime takes two digits for a year of four
        good = compute.and_(good, compute.fill_null(fits(texts, FORMATS[format_]), False))
    wrong = texts.filter(compute.and_(compute.invert(good), compute.is_valid(texts)))
    if len(wrong):
        raise DataError(
            f"column {name!r} holds {wrong[0].as_py()!r} in {len(wrong):,} row{'s' * (len(wrong) > 1)}, which is no "
            f"date as in {format_}: give --missing {wrong[0].as_py()!r} if it stands for a missing value"
        )
    return dates
