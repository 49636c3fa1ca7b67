"""Checks of a table before anything is trained: all problems at once, with the options that solve them.

In: `RunSettings`, a `TableSource` and the columns that would be features. Out: `Checked`: the table, with dates and
numbers converted and rows dropped as the settings say, and every `TableFinding`. ``equirate check`` shows them; ``fit``
stops at those that the user must decide, and shows the others as notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray

from .._core.errors import DataError, TableError
from ..data.slices import Attribute
from ..tables.findings import Option, TableFinding, WrittenFinding, about_column, as_plain_numbers, has_points
from ..tables.kinds import Kind, kind_of, text_of
from ..tables.options import ReadOptions
from ..tables.reading import FileForm, TableSource
from .labels import MOST_CLASSES, Labels, distinct, shown_values
from .likeness import duplicates, share_determined
from .names import mentioned
from .out_of_core import LOOKED_AT, is_too_large
from .settings import RunSettings, option_text, shell

_MOST_GROUPS = 50
"""With more values of a text attribute than this there is a remark: a constraint over it has one part for each."""


@dataclass(frozen=True, eq=False)
class Checked:
    """A table that was checked.

    Attributes
    ----------
    table
        The table without dropped rows; if the features do not fit into memory, only the other columns.
    looked_at
        The rows whose features were checked: all of them, or the first.
    rows
        Places in the file of the rows of ``table``.
    options
        How it was read, with the formats of dates and numbers that were recognised.
    findings
        Everything unusual in it.
    facts
        Size and format of the file, in one line.
    dropped
        How many rows were dropped, by reason.
    large
        Whether the features do not fit into memory.
    """

    table: Any
    looked_at: Any
    rows: NDArray[np.intp]
    options: ReadOptions
    findings: tuple[TableFinding, ...]
    facts: str
    dropped: dict[str, int]
    large: bool = False

    @property
    def stops(self) -> tuple[TableFinding, ...]:
        """Findings that the user must decide before training."""
        return tuple(finding for finding in self.findings if finding.stops)

    @property
    def remarks(self) -> tuple[TableFinding, ...]:
        """Findings that do not stop training."""
        return tuple(finding for finding in self.findings if not finding.stops)

    @property
    def proposed(self) -> tuple[Option, ...]:
        """The options to add to the command; a column that is ignored needs no other."""
        options = dict.fromkeys(option for each in self.findings if each.proposed for option in each.options)
        ignored = {value for name, value in options if name == "ignore"}
        return tuple(
            (name, value)
            for name, value in options
            if name not in ("date", "number", "category") or value.partition("=%")[0] not in ignored
        )


def check(settings: RunSettings, source: TableSource, features: Sequence[str]) -> Checked:
    """Read and check a table; if it does not fit into memory, the features of its first rows only."""
    columns = needed(settings, features)
    if is_too_large(source, features):
        others = source.written(needed(settings, ()), {}, lenient=True)
        return checked(settings, source, features, source.first(columns, LOOKED_AT), others)
    # Labels of a CSV file are taken as they are written.
    written = source.written(columns, {settings.label: Kind.CATEGORY}, lenient=True)
    return checked(settings, source, features, written)


def needed(settings: RunSettings, features: Sequence[str]) -> list[str]:
    """The columns of a table that are read."""
    others = (settings.label, *settings.attributes, settings.weight, settings.cluster, settings.time_column)
    return list(dict.fromkeys([*(name for name in others if name), *features]))


def checked(
    settings: RunSettings, source: TableSource, features: Sequence[str], written: Any, others: Any = None
) -> Checked:
    """Check a table; with ``others``, all rows of the columns that are no features, ``written`` has its first rows."""
    table, options, findings = _converted(source.options, written)
    facts, rules = _facts(source, written if others is None else others), RowRules.of(settings)
    table, rows, dropped = drop_rows(table, settings.label, settings.attributes, rules)
    given = table
    if others is not None:
        given, _, _ = _converted(options, others)
        given, rows, dropped = drop_rows(given, settings.label, settings.attributes, rules)
    findings += _about_file(source, written)
    findings += _about_label(settings, given[settings.label], options)
    findings += _about_attributes(settings, given)
    looked_at = [name for name in dict.fromkeys([*settings.attributes, *features]) if name not in _named(findings)]
    how = _written(source, written, options)
    for name in looked_at:
        try:
            kind = kind_of(name, table[name])
        except DataError as error:
            findings.append(
                TableFinding(name, str(error).removeprefix(f"column {name!r} "), (("ignore", name),), stops=True)
            )
            continue
        about = about_column(name, table[name], kind, how)
        findings += about if name in features else [each for each in about if ("ignore", name) not in each.options]
    unread = {finding.column for finding in findings if finding.options[:1] == (("ignore", finding.column),)}
    decided = settings.with_options(option for each in findings for option in each.options if option[0] == "positive")
    findings += _about_columns(decided, table, [name for name in features if name not in unread], options)
    return Checked(given, table, rows, options, tuple(findings), facts, dropped, others is not None)


def refuse(settings: RunSettings, checked: Checked, out: str = "") -> None:
    """Raise an error if the user must decide something first, with all of it and a command that decides it."""
    if not checked.stops:
        return
    if len(checked.stops) == 1 and not any(each.options and each.proposed for each in checked.remarks):
        raise DataError(f"{_sentence(checked.stops[0])}{_options_note(checked.stops[0])}")
    lines = [f"{settings.data} cannot be trained on yet:"]
    lines += table_of([*checked.stops, *checked.remarks])
    raise TableError("\n".join([*lines, "all of it at once:", f"  {command(settings, checked, out)}"]))


def command(settings: RunSettings, checked: Checked, out: str = "") -> str:
    """The command ``fit`` with all proposed options."""
    decided = settings.with_options(checked.proposed)
    if not (decided.maximize or decided.minimize):
        several = not decided.positive and len(distinct(text_of(checked.table[settings.label])[1])) > 2
        decided = replace(decided, maximize="macro_f1()" if several else "f1()")
    return f"{decided.command()} --out {shell([out or 'model'])}"


def table_of(findings: Iterable[TableFinding]) -> list[str]:
    """Findings as lines: the column and the finding, with the options below."""
    lines = []
    for each in findings:
        lines.append(f"  {'!' if each.stops else '·'} {_sentence(each)}")
        if each.options:
            lines.append(f"      {written_options(each.options)}")
    return lines


def note(finding: TableFinding) -> str:
    """A finding in one line."""
    return f"{_sentence(finding)}{_options_note(finding)}"


def written_options(options: Iterable[Option]) -> str:
    """Options as text for a command."""
    return shell(word for name, value in options for word in option_text(name, value))


def _sentence(finding: TableFinding) -> str:
    return f"column {finding.column!r}: {finding.what}" if finding.column else finding.what


def _options_note(finding: TableFinding) -> str:
    return f" ({written_options(finding.options)})" if finding.options else ""


def _named(findings: Iterable[TableFinding]) -> set[str]:
    return {finding.column for finding in findings if finding.column}


# -- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowRules:
    """Which rows are dropped, and how empty cells of attributes are treated, as the options of that name say."""

    drop_unlabelled: bool = False
    missing_attributes: str = "group"

    @classmethod
    def of(cls, settings: RunSettings) -> RowRules:
        """As the settings say."""
        return cls(settings.drop_unlabelled, settings.missing_attributes)


ALL_ROWS = RowRules()
"""No row is dropped."""


def drop_rows(
    table: Any, label: str, attributes: Sequence[str], rules: RowRules, *, all_of_them: bool = False
) -> tuple[Any, NDArray[np.intp], dict[str, int]]:
    """A table without the rows that the rules drop, the indices of the others, and how many are dropped, by reason.

    A table that would lose all of its rows is refused, unless ``all_of_them`` allows it.
    """
    why = {}
    if rules.drop_unlabelled:
        why[f"without a label ({label})"] = _missing(table[label])
    if rules.missing_attributes == "drop":
        why |= {f"without {name!r}": _missing(table[name]) for name in attributes}
    counts = {reason: int(missing.sum()) for reason, missing in why.items() if missing.any()}
    absent = np.zeros(table.num_rows, dtype=bool)
    for missing in why.values():
        absent |= missing
    if absent.all() and counts and not all_of_them:
        raise DataError(f"no rows are left: all are {' or '.join(counts)}")
    rows = np.flatnonzero(~absent)
    return table.take(pa.array(rows)) if counts else table, rows, counts


def _missing(column: Any) -> NDArray[np.bool_]:
    absent = compute.is_null(column, nan_is_null=True)
    return np.asarray(absent.to_numpy() if isinstance(absent, pa.ChunkedArray) else absent.to_numpy(False))


# -- findings --------------------------------------------------------------------------------------


def _facts(source: TableSource, table: Any) -> str:
    facts = f"{table.num_rows:,} rows, {len(source.names)} columns; {source.form.value}"
    if source.form is not FileForm.CSV:
        return facts
    separated = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}[source.delimiter]
    return f"{facts} in {_encoding(table)}, separated by {separated}"


def _encoding(table: Any) -> str:
    return str((table.schema.metadata or {}).get(b"encoding", b"utf-8").decode())


def _written(source: TableSource, table: Any, options: ReadOptions) -> WrittenFinding:
    """How numbers are written. In a file with commas between values, or with decimal points, 1,234 is no fraction."""
    csv = source.form is FileForm.CSV
    points = csv and options.decimal == "." and any(has_points(table[name]) for name in table.schema.names)
    ambiguous = options.decimal if not csv or source.delimiter == "," or points else ","
    return WrittenFinding(options, csv, ambiguous, points)


def _about_file(source: TableSource, table: Any) -> list[TableFinding]:
    findings = []
    encoding = _encoding(table)
    if source.form is FileForm.CSV and not source.options.encoding and encoding != "utf-8":
        findings.append(
            TableFinding("", f"the file is taken for {encoding}", (("encoding", encoding),), proposed=False)
        )
    ragged = int((table.schema.metadata or {}).get(b"ragged", 0))
    if ragged and source.options.drop_ragged:
        findings.append(TableFinding("", f"{ragged:,} lines with more or fewer values than the header are left out"))
    elif ragged:
        line, values = source.ragged_line() or (0, [])
        shown = source.delimiter.join(values)[:60]
        what = f"{ragged:,} lines have more or fewer values than the header, the first is line {line:,} ({shown!r})"
        findings.append(TableFinding("", what, (("drop_ragged", ""),), stops=True))
    if source.skipped > 1:
        findings.append(TableFinding("", f"{source.skipped} lines above the header are left out"))
    for new, name in source.renamed.items():
        what = f"the name {name!r} is there more than once: another column of that name is read as {new!r}"
        findings.append(TableFinding("", what, (("ignore", new),), proposed=False))
    if len(source.header) > len(source.names):
        findings.append(
            TableFinding("", f"{len(source.header) - len(source.names)} columns without a name are left out")
        )
    return findings


def _converted(options: ReadOptions, table: Any) -> tuple[Any, ReadOptions, list[TableFinding]]:
    """Convert dates and numbers, column by column; a column that cannot be converted is a finding, and stays."""
    findings = []
    for name in [name for name in table.schema.names if name in options.texts]:
        alone = table.select([name])
        try:
            options = options.recognised(alone)
            column = options.converted(alone).column(name)
        except DataError as error:
            findings.append(TableFinding(name, str(error).removeprefix(f"column {name!r} "), stops=True))
            options = replace(
                options,
                dates={key: value for key, value in options.dates.items() if key != name},
                numbers={key: value for key, value in options.numbers.items() if key != name},
            )
        else:
            table = table.set_column(table.schema.get_field_index(name), name, column)
    return table, options, findings


def _about_label(settings: RunSettings, column: Any, options: ReadOptions) -> list[TableFinding]:
    name = settings.label
    findings: list[TableFinding] = []
    absent = int(_missing(column).sum())
    if absent:
        what = f"the label is missing in {absent:,} rows"
        findings.append(TableFinding(name, what, (("drop_unlabelled", ""),), stops=True))
        column = column.filter(pa.array(~_missing(column)))
    codes, values = text_of(column)
    counts = np.bincount(codes, minlength=len(values))
    several = distinct([values[k] for k in np.argsort(-counts, kind="stable")])
    if len(several) < len(values):
        findings.append(TableFinding("", f"values of the label {name!r} that differ in case or spaces alone are one"))
    known = {value.strip().casefold() for value in several} in ({"0", "1"}, {"true", "false"})
    if settings.positive or known or len(several) < 2:
        try:
            labels = Labels.of(name, settings.positive, column, options.decimal)
        except DataError as error:
            return [*findings, TableFinding(name, str(error).removeprefix(f"the label {name!r} "), stops=True)]
        if labels.rule == "rest":
            others = [value for value in sorted(several) if value != labels.positive]
            listed = shown_values(others)
            what = f"{labels.positive!r} is positive, the other {len(others):,} values are negative: {listed}"
            findings.append(TableFinding(name, what))
        return findings
    return [*findings, _undecided_label(name, column, several, options)]


def _undecided_label(name: str, column: Any, values: Sequence[str], options: ReadOptions) -> TableFinding:
    """A label without --positive: the proposal is the rarer value, or the upper half."""
    shown = shown_values(sorted(values))
    numbers = as_plain_numbers(name, column, options.decimal)
    if len(values) == len(column) and (numbers is None or (np.diff(numbers.to_numpy()) > 0).all()):
        what = f"every row has a value of its own, {shown}: this is no label; name another column with --label"
        return TableFinding(name, what, stops=True)
    if len(values) == 2:
        what = f"the label holds {shown}: say which one is positive with --positive"
        return TableFinding(name, what, (("positive", values[-1]),), stops=True)
    if len(values) <= MOST_CLASSES:
        what = f"the label has {len(values):,} values, {shown}: each is a class, unless --positive names one of them"
        return TableFinding(name, what)
    if numbers is not None:
        middle = float(np.nanmedian(numbers.to_numpy()))
        what = f"the label has {len(values):,} values, {shown}: say from which number on it is positive"
        return TableFinding(name, what, (("positive", f">= {middle:g}"),), stops=True)
    what = f"the label has {len(values):,} values, {shown}: say which one is positive; all others are then negative"
    return TableFinding(name, what, (("positive", values[-1]),), stops=True)


def _about_attributes(settings: RunSettings, table: Any) -> list[TableFinding]:
    used = {name for text in settings.texts if text for name, _ in mentioned(text.strip())}
    findings = []
    for name in settings.attributes:
        kind, column = kind_of(name, table[name]), table[name]
        if repr(Attribute(name)) != name and name not in used:
            findings.append(TableFinding(name, f"in the text of a constraint it is written {Attribute(name)!r}"))
        rows = int(_missing(column).sum())
        of_groups = kind in (None, Kind.CATEGORY, Kind.TRUTH)
        if rows and settings.missing_attributes == "refuse":
            what = f"the attribute is empty in {rows:,} rows"
            findings.append(TableFinding(name, what, (("missing_attributes", "drop"),), stops=True))
        elif rows and of_groups:
            what = f"the attribute is empty in {rows:,} rows: a group 'missing', which ready-made constraints cover"
            findings.append(TableFinding(name, what, (("missing_attributes", "drop"),), proposed=False))
        elif rows:
            what = f"the attribute is empty in {rows:,} rows, which no slice can judge"
            stops = name in used
            findings.append(TableFinding(name, what, (("missing_attributes", "drop"),), stops=stops, proposed=stops))
        values = len(compute.unique(column)) - bool(rows and not of_groups)
        if values < 2:
            only = next((each for each in compute.unique(column).to_pylist() if each is not None), None)
            what = f"the attribute has one value only, {only!r}: no slice can use it"
            findings.append(TableFinding(name, what, stops=True))
        elif kind is Kind.CATEGORY and values > _MOST_GROUPS:
            findings.append(TableFinding(name, f"the attribute has {values:,} values, each of which is a group"))
    return findings


def _about_columns(
    settings: RunSettings, table: Any, features: Sequence[str], options: ReadOptions
) -> list[TableFinding]:
    """Columns with one value, that duplicate another one, or that determine the label."""
    findings = []
    constant = [name for name in features if len(compute.unique(table[name])) < 2]
    for name in constant:
        findings.append(TableFinding(name, "has one value only, and is left out"))
    others = [name for name in features if name not in constant]
    for name, twin in duplicates(table, [*settings.attributes, *others]):
        if name in others:
            what = f"says the same as {twin!r}, row by row"
            findings.append(TableFinding(name, what, (("ignore", name),)))
    labelled = table.filter(pa.array(~_missing(table[settings.label])))
    column = labelled[settings.label]
    try:
        labels = Labels.of(settings.label, settings.positive, column, options.decimal)
        positive = labels.codes(column, options.decimal)
    except DataError:  # problems of the label are among the findings already
        return findings
    if labels.classes:
        return findings
    reported = _named(findings)
    for name in others:
        share = None if name in reported else share_determined(labelled[name], positive)
        if share is not None:
            what = f"almost determines the label: {share:.1%} of the rows follow from it. Is it known beforehand?"
            findings.append(TableFinding(name, what, (("ignore", name),)))
    return findings
