"""Unusual columns, and the options for them: identifiers, dates and numbers as text, signs for missing values.

In: a column as it was read. Out: `TableFinding`: a description, and the options of the command line for it. This
module does not know what a column is used for; `runs.checking` does, and collects the findings of a table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray

from .encoder import FEW_VALUES, MOST_VALUES, is_unfit
from .formats import as_numbers, date_formats, fits, number_pattern, number_style
from .kinds import Kind, codes
from .options import ReadOptions, is_text

Option = tuple[str, str]
"""Name of an option, with ``_`` for ``-``, and its value; an empty value for a flag."""

SIGNS = frozenset(
    {
        *("?", "-", "--", "---", "–", "—", ".", "..", "...", "*", "n.a.", "n/a", "na", "n.d.", "k.a.", "k. a."),
        *("#nv", "#n/a", "#value!", "#wert!", "#div/0!", "#ref!", "#null!"),
    }
)
"""Values of any column that may mean a missing value."""
WORDS = frozenset({"unknown", "missing", "none", "null", "nil", "nan", "not available", "unspecified"})
"""The same among numbers and dates; among categories they are ordinary values."""
_PLAIN = {
    ".": r"^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*$",
    ",": r"^\s*[-+]?(?:\d+,?\d*|,\d+)(?:[eE][-+]?\d+)?\s*$",
}
"""Numbers as the CSV reader takes them."""
_MOSTLY = 0.9
"""If at least this share of a column's values are numbers, the others are assumed to be mistakes."""
_FEWEST_ROWS = 50  # fewer rows are all different by chance
_NAMED_ID = re.compile(r"(?:^|[\W_])(?:id|ids|uid|uuid|guid|nr|no|number|key|index|row)$|[a-z](?:ID|Id|Nr|No)$")
_NAMED_CODE = re.compile(
    r"(?:^|[\W_])(?:code|zip|zipcode|postcode|plz|precinct|district|ward|branch|region|category|type|class|dept)(?:$|[\W_])"
)


@dataclass(frozen=True)
class TableFinding:
    """Something to decide, or to know, about a column or a file.

    Attributes
    ----------
    column
        The column; empty for what concerns the file.
    what
        The finding in words.
    options
        Options of the command line that solve it.
    stops
        Whether the user must decide this before training.
    proposed
        Whether the options are part of the proposed command; optional ones are only shown.
    """

    column: str
    what: str
    options: tuple[Option, ...] = ()
    stops: bool = False
    proposed: bool = True


@dataclass(frozen=True)
class WrittenFinding:
    """How the text of a table is written: the options it was read with, and whether it is CSV.

    ``ambiguous`` is the decimal sign to take where numbers such as ``1,234`` allow for both; ``points`` says whether
    some column has numbers with decimal points, so that another sign for the whole file would misread it.
    """

    options: ReadOptions
    csv: bool = True
    ambiguous: str = "."
    points: bool = False


def about_column(name: str, column: Any, kind: Kind | None, how: WrittenFinding) -> list[TableFinding]:
    """Findings about a column, from its values and from how the table is written."""
    if kind is Kind.CATEGORY and name not in how.options.categories:
        return _about_text(name, column, how)
    if kind is Kind.NUMBER:
        return _about_numbers(name, column)
    return []


def has_points(column: Any) -> bool:
    """Whether a column as it was read has numbers with decimal points; three decimals may be thousands."""
    if pa.types.is_floating(column.type):
        return True
    if not is_text(column):
        return False
    values = compute.unique(column.cast(pa.string()))
    return bool(compute.any(fits(values, r"^\s*[-+]?\d+\.(?:\d{1,2}|\d{4,})\s*$")).as_py())


# -- text ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Texts:
    """The distinct values of a column, how often each occurs, and those of them that may mean a missing value."""

    values: list[str]
    counts: NDArray[np.int64]

    def signs(self, known: frozenset[str]) -> list[str]:
        return [value for value in self.values if value.strip().casefold() in known]

    def alike(self) -> list[list[str]]:
        """Values that differ only by spaces or case: the most frequent one first, then what differs from it."""
        same: dict[str, list[str]] = {}
        for k in np.argsort(-self.counts, kind="stable"):
            same.setdefault(" ".join(self.values[k].casefold().split()), []).append(self.values[k])
        return [group for group in same.values() if len(group) > 1]

    def rows(self, chosen: Sequence[str]) -> int:
        chosen_set = set(chosen)
        return int(sum(count for value, count in zip(self.values, self.counts, strict=True) if value in chosen_set))


def _about_text(name: str, column: Any, how: WrittenFinding) -> list[TableFinding]:
    indices, values = codes(column)
    texts = _Texts(values, np.bincount(indices[indices >= 0], minlength=len(values)))
    rows = int(texts.counts.sum())
    signs = texts.signs(SIGNS | WORDS)
    others = pa.array([value for value in values if value not in set(signs)], pa.string())
    many = len(others) > FEW_VALUES
    missing: tuple[Option, ...] = tuple(("missing", sign) for sign in signs)
    beside = f", and {_listed(signs)} for missing in {texts.rows(signs):,} rows" if signs else ""
    if len(others):
        style = number_style(others, how.ambiguous)
        formats = date_formats(others)
        if formats:
            return [_dates(name, others, formats, missing, beside, many, how)]
        if style:
            return [_numbers(name, others, style, missing, beside, many, how)]
    misfits = _misfits(others, how.options.decimal) if many else []
    if misfits:
        what = f"numbers, but for {_listed(misfits)} in {texts.rows(misfits):,} rows"
        return [TableFinding(name, what, tuple(("missing", misfit) for misfit in misfits), stops=True)]
    findings = []
    signs = texts.signs(SIGNS)
    if signs:
        what = f"{_listed(signs)} in {texts.rows(signs):,} rows may mean a missing value"
        findings.append(TableFinding(name, what, tuple(("missing", sign) for sign in signs)))
    alike = texts.alike()
    if alike:
        pairs = "; ".join(f"{_listed(group)} in {texts.rows(group[1:]):,} rows" for group in alike[:3])
        more = f"; and {len(alike) - 3} more" if len(alike) > 3 else ""
        what = f"values that differ only by spaces or case are different ones here, make them alike: {pairs}{more}"
        findings.append(TableFinding(name, what))
    longest = max(map(len, values), default=0)
    if is_unfit(len(values), rows, longest):
        what = (
            f"{len(values):,} distinct values in {rows:,} rows, the longest of {longest:,} letters: "
            "it looks like an identifier or free text, which is no feature"
        )
        findings.append(TableFinding(name, what, (("ignore", name),), stops=True))
    return findings


def _dates(
    name: str,
    values: Any,
    formats: list[str],
    missing: tuple[Option, ...],
    beside: str,
    many: bool,
    how: WrittenFinding,
) -> TableFinding:
    example = values[0].as_py()
    if len(formats) > 1:
        ways = " or ".join(formats)
        what = f"dates such as {example!r}, to be read as {ways}{beside}"
        return TableFinding(name, what, (("date", f"{name}={formats[0]}"), *missing), stops=many)
    # The CSV reader recognises these dates once it knows the sign for a missing value.
    plain = formats[0] in ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S") and bool(missing) and how.csv
    option: tuple[Option, ...] = () if plain else (("date", name),)
    return TableFinding(name, f"dates as text, such as {example!r}{beside}", (*option, *missing), stops=many)


def _numbers(
    name: str, values: Any, style: str, missing: tuple[Option, ...], beside: str, many: bool, how: WrittenFinding
) -> TableFinding:
    def all_fit(pattern: str) -> bool:
        return bool(compute.all(fits(values, pattern)).as_py())

    example = next((v for v in values.to_pylist() if not v.strip().isdigit()), values[0].as_py())
    decimal = how.options.decimal
    if how.csv and all_fit(_PLAIN[decimal]):
        what = f"numbers{beside}"
        return TableFinding(name, what, missing, stops=many)
    if how.csv and decimal == "." and style == "," and not how.points and all_fit(_PLAIN[","]):
        what = f"numbers with decimal commas, such as {example!r}{beside}"
        return TableFinding(name, what, (("decimal", ","), *missing), stops=many)
    what = f"numbers as text, such as {example!r}{beside}"
    return TableFinding(name, what, (("number", name), *missing), stops=many)


def _misfits(values: Any, decimal: str) -> list[str]:
    """The few values that are no numbers in a column of numbers; empty if there are more than a few."""
    good = fits(values, number_pattern(decimal))
    share = compute.mean(good.cast(pa.float64())).as_py()
    if share < _MOSTLY or share == 1:
        return []
    wrong: list[str] = values.filter(compute.invert(good)).to_pylist()
    return wrong if len(wrong) <= 3 else []


def _listed(values: Sequence[str]) -> str:
    shown = ", ".join(map(repr, values[:3]))
    return shown if len(values) <= 3 else f"{shown}, ..."


# -- numbers ---------------------------------------------------------------------------------------


def _about_numbers(name: str, column: Any) -> list[TableFinding]:
    if pa.types.is_floating(column.type):
        infinite = int(compute.sum(compute.is_inf(column)).as_py() or 0)
        what = f"has {infinite:,} infinite values: replace them, or leave it out"
        return [TableFinding(name, what, (("ignore", name),), stops=True)] if infinite else []
    if not pa.types.is_integer(column.type) or len(column) < _FEWEST_ROWS:
        return []
    values = column.drop_null().to_numpy()
    if len(values) < _FEWEST_ROWS:
        return []
    rising = bool((np.diff(values) > 0).all())
    if rising or (_NAMED_ID.search(name) and _distinct(column) == len(values)):
        how = "whole numbers that rise from row to row" if rising else "whole numbers, another one in every row"
        return [TableFinding(name, f"{how}: it looks like an identifier", (("ignore", name),))]
    distinct = _distinct(column) if _NAMED_CODE.search(name.casefold()) else 0
    if 2 < distinct <= MOST_VALUES:
        what = f"whole numbers with {distinct:,} values, scaled as one feature: if they are codes, make them categories"
        return [TableFinding(name, what, (("category", name),), proposed=False)]
    return []


def _distinct(column: Any) -> int:
    return int(compute.count_distinct(column).as_py())


def as_plain_numbers(name: str, column: Any, decimal: str) -> Any:
    """Values as floats, where they are numbers or texts of numbers; None if they are not."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        return column.cast(pa.float64())
    texts = column.cast(pa.string())
    style = number_style(compute.unique(texts), decimal)
    return as_numbers(name, texts, style) if style else None
