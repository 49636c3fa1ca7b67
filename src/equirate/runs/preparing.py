"""From a table in a file to training and test parts: labels, attributes, weights, a split, and features.

In: `RunSettings`. Out: `PreparedTable`: the problem, the encoder learnt from the training rows, and the training and
test parts. Everything that can be refused without training is refused here, by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow.compute as compute
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.peers import ALONE
from ..data.examples import Examples
from ..data.splits import split_by_cell
from ..estimators.inputs import refuse_empty
from ..judge.spread import clusters_of
from ..problem.problem import Problem
from ..problem.table import problem_cells
from ..tables.encoder import Encoder, OneHot, Rows
from ..tables.kinds import Kind, attribute, kind_of, numbers, text_of
from ..tables.options import ReadOptions
from ..tables.reading import TableSource, open_source, release
from .checking import ALL_ROWS, Checked, RowRules, check, drop_rows, note, refuse
from .labels import Labels
from .names import check_names
from .out_of_core import encoded, too_large
from .settings import RunSettings

_TEST_SEED = 0x7E57
"""Added to the seed for the split into training and test rows: the estimator splits again, by the seed itself."""


@dataclass(frozen=True)
class ColumnRole:
    """What a column of the table is used for."""

    column: str
    role: str
    kind: str
    becomes: str


@dataclass(frozen=True, eq=False)
class Part:
    """Rows to train on, or to judge on."""

    X: Any
    codes: NDArray[Any]
    """Classes by their places in `Labels.values`; of two, whether a row is positive."""
    attributes: dict[str, NDArray[Any]]
    weights: NDArray[np.float64] | None
    clusters: NDArray[np.int64] | None = None
    classes: tuple[str, ...] = ()
    """All classes, where there are more than two."""

    def __len__(self) -> int:
        return len(self.codes)

    def examples(self) -> Examples:
        """Labels, attributes and weights, without the features."""
        return examples_of(self.codes, self.classes, self.attributes, self.weights, self.clusters)

    def take(self, rows: Rows) -> Part:
        """Some of the rows."""
        people = {name: column[rows] for name, column in self.attributes.items()}
        weights = None if self.weights is None else self.weights[rows]
        clusters = None if self.clusters is None else self.clusters[rows]
        return Part(self.X[rows], self.codes[rows], people, weights, clusters, self.classes)


def examples_of(
    codes: NDArray[Any],
    classes: tuple[str, ...],
    attributes: dict[str, NDArray[Any]],
    weights: NDArray[np.float64] | None,
    clusters: NDArray[np.int64] | None,
    two_classes: bool = False,
) -> Examples:
    """Labels, attributes and weights; ``classes`` are named where there are more than two."""
    if classes:
        examples = Examples.of(np.array(classes)[codes], attributes, weights, classes=classes)
    else:
        examples = Examples.of(codes, attributes, weights, two_classes=two_classes)
    return replace(examples, clusters=clusters)


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """Everything that is needed to train and to judge."""

    settings: RunSettings
    problem: Problem
    labels: Labels
    encoder: Encoder
    kinds: dict[str, Kind | None]
    roles: tuple[ColumnRole, ...]
    train: Part
    test: Part
    reading: ReadOptions


class RunLog(Protocol):
    """Receives the messages of a run."""

    def stage(self, what: str) -> None:
        """A stage begins."""

    def roles(self, roles: Sequence[ColumnRole], rows: int) -> None:
        """Show what the columns are used for."""

    def note(self, text: str) -> None:
        """A remark for the user."""

    def line(self, sense: str) -> Any:
        """A progress callback that shows the rounds of training, or None."""


def prepare(settings: RunSettings, log: RunLog, dense: bool = False, out: str = "") -> PreparedTable:
    """Read, check, split and encode; ``out`` is the folder that a proposed command names."""
    problem = settings.problem()
    source = open_source(Path(settings.data), settings.reading())
    other = open_source(Path(settings.test), settings.reading()) if settings.test else None
    features = features_of(settings, source)
    check_names(settings.texts, settings.attributes, source.names)
    log.stage(f"Reading {settings.data}")
    checked = check(settings, source, features)
    if checked.large:
        if settings.model != "linear":
            raise DataError(f"{source.path} does not fit into memory, which only --model linear can do without")
        log.note(too_large(source, features))
    refuse(settings, checked, out)
    log_findings(checked, log)
    table = checked.table
    kinds = {name: kind_of(name, table[name]) for name in settings.attributes}
    labels = Labels.of(settings.label, settings.positive, table[settings.label], settings.decimal)
    codes = labels.codes(table[settings.label], settings.decimal)
    people = people_of(table, kinds)
    weights = weights_of(settings.weight, table)
    clusters = clusters_in(settings.cluster, table)
    examples = examples_of(codes, labels.classes, people, weights, clusters, two_classes=True)
    problem_here = problem.expanded(examples)
    refuse_empty(problem_here, examples)
    if other is None:
        rows = _split(settings, problem_here, examples, table)
    else:
        rows = np.arange(len(codes)), np.zeros(0, dtype=np.intp)
    log.stage("Encoding")
    if checked.large:
        rows = np.sort(rows[0]), np.sort(rows[1])
        parts = [checked.rows[part] for part in rows]
        encoder, features_in = encoded(source, checked.options, features, parts, settings.label)
    else:
        encoder = Encoder.learnt(table, features, rows[0], checked=True)
        features_in = [encoder.features_of(table, part, dense) if encoder.columns else None for part in rows]
    if not encoder.columns:
        raise DataError("no column is left to predict from: every feature has one value only")
    train, test = (
        Part(
            X,
            codes[part],
            {name: column[part] for name, column in people.items()},
            None if weights is None else weights[part],
            None if clusters is None else clusters[part],
            labels.classes,
        )
        for X, part in zip(features_in, rows, strict=True)
    )
    roles = _roles(settings, source, checked.looked_at, encoder, kinds)
    log.roles(roles, table.num_rows)
    del table
    release()
    if other is not None:
        log.stage(f"Reading {settings.test}")
        later = replace(other, options=checked.options)
        rules = RowRules.of(settings)
        test = read_part(later, labels, kinds, settings.weight, encoder, log, dense, rules, settings.cluster)
    return PreparedTable(settings, problem, labels, encoder, kinds, roles, train, test, checked.options)


def log_findings(checked: Checked, log: RunLog) -> None:
    """Send the findings that do not stop a run, and how many rows are dropped."""
    for finding in checked.remarks:
        log.note(note(finding))
    note_dropped(checked.dropped, log)


def note_dropped(dropped: Mapping[str, int], log: RunLog) -> None:
    """Send how many rows are left out, by reason."""
    for why, rows in dropped.items():
        log.note(f"{rows:,} rows {why} are left out")


def read_part(
    source: TableSource,
    labels: Labels,
    kinds: Mapping[str, Kind | None],
    weight: str,
    encoder: Encoder,
    log: RunLog,
    dense: bool = False,
    rules: RowRules = ALL_ROWS,
    cluster: str = "",
) -> Part:
    """Read rows to judge on, with the columns and kinds of the training rows; the order of columns does not matter.

    Rows are independent if the table has no column ``cluster``. The log is told how many rows are left out.
    """
    source.require(encoder.names, "the model")
    source.require([labels.column], "the label")
    source.require(kinds, "an attribute")
    source.require([weight] if weight else [], "--weight")
    known: dict[str, Kind | None] = {**encoder.kinds, **kinds, labels.column: Kind.CATEGORY}
    known |= {weight: Kind.NUMBER} if weight else {}
    cluster = cluster if cluster in source.names else ""
    known |= {cluster: Kind.CATEGORY} if cluster else {}
    table = source.table(list(known), known)
    table, _, dropped = drop_rows(table, labels.column, list(kinds), rules)
    note_dropped(dropped, log)
    refuse_missing(table, kinds, rules)
    codes = labels.codes(table[labels.column], source.options.decimal)
    X, people = encoder.features_of(table, None, dense), people_of(table, kinds)
    return Part(X, codes, people, weights_of(weight, table), clusters_in(cluster, table), labels.classes)


def refuse_missing(table: Any, attributes: Iterable[str], rules: RowRules) -> None:
    """Refuse empty cells of attributes, where the rules say so."""
    for name in attributes if rules.missing_attributes == "refuse" else ():
        rows = compute.sum(compute.is_null(table[name], nan_is_null=True)).as_py()
        if rows:
            raise DataError(f"the attribute {name!r} is empty in {rows:,} rows: fill it or leave those rows out")


def people_of(table: Any, kinds: Mapping[str, Kind | None]) -> dict[str, NDArray[Any]]:
    """The attributes of a table."""
    return {name: attribute(name, table[name], kind) for name, kind in kinds.items()}


def weights_of(name: str, table: Any) -> NDArray[np.float64] | None:
    """The weights of a table's rows, if there are any."""
    if not name:
        return None
    if kind_of(name, table[name]) is not Kind.NUMBER:
        raise DataError(f"--weight names the column {name!r}, which does not hold numbers")
    weights = numbers(name, table[name], Kind.NUMBER)
    if np.isnan(weights).any() or (weights < 0).any():
        raise DataError(f"the weights in {name!r} must be numbers that are not negative, none of them missing")
    return weights


def clusters_in(name: str, table: Any) -> NDArray[np.int64] | None:
    """Cluster of each row, as a number; None without a column of clusters."""
    if not name:
        return None
    codes, _ = text_of(table[name])
    if (codes < 0).any():
        raise DataError(f"the cluster {name!r} is missing in {int((codes < 0).sum()):,} rows")
    return clusters_of(codes, len(codes), ALONE)


def features_of(settings: RunSettings, source: TableSource) -> list[str]:
    """Columns to predict from: all that have no other role."""
    others = {settings.label: "--label", settings.weight: "--weight", settings.time_column: "--time-column"}
    others[settings.cluster] = "--cluster"
    others.pop("", None)
    for name, option in others.items():
        source.require([name], option)
    reading = settings.reading()
    for option, names in (("--category", reading.categories), ("--date", reading.dates), ("--number", reading.numbers)):
        source.require(names, option)
    for option, names in (("--attributes", settings.attributes), ("--ignore", settings.ignore)):
        source.require(names, option)
        for name in names:
            if name in others:
                raise DataError(
                    f"the column {name!r} is named by {others[name]} and by {option}: it can be one of them"
                )
        others |= dict.fromkeys(names, option)
    for name in settings.also_feature:
        source.require([name], "--also-feature")
        if others.pop(name, None) in ("--label", "--weight"):
            raise DataError(f"the column {name!r} cannot be a feature: it is the label or the weight")
    features = [name for name in source.names if name not in others]
    if not features:
        raise DataError("no column is left to predict from: all have another role")
    return features


def _split(settings: RunSettings, problem: Problem, examples: Examples, table: Any) -> tuple[Rows, Rows]:
    """Rows to train on and rows to judge on: the latest ones where there is a time, else stratified by cell."""
    if not settings.time_column:
        shares, cells = (1 - settings.split, settings.split), problem_cells(problem, examples)
        first, second = split_by_cell(cells, shares, settings.seed + _TEST_SEED)
    else:
        time = _times(settings.time_column, table[settings.time_column])
        cut = np.sort(time)[int(len(time) * (1 - settings.split))]
        if examples.clusters is not None:  # a cluster with a late row is in the test part
            latest = np.full(int(examples.clusters.max()) + 1, -np.inf)
            np.maximum.at(latest, examples.clusters, time)
            time = latest[examples.clusters]
        first, second = np.flatnonzero(time < cut), np.flatnonzero(time >= cut)
    for part, what in ((first, "train"), (second, "judge")):
        if len(np.unique(examples.labels[part])) < 2:
            raise DataError(
                f"the {len(part):,} rows to {what} on do not hold both labels: change --split, or give more rows"
            )
    return first, second


def _times(name: str, column: Any) -> NDArray[Any]:
    kind = kind_of(name, column)
    if kind in (None, Kind.CATEGORY):
        codes, values = text_of(column)
        order = np.argsort(np.array(values))
        times: NDArray[Any] = np.append(np.argsort(order), -1)[codes].astype(float)
        times[codes < 0] = np.nan
    else:
        assert kind is not None
        times = numbers(name, column, kind)
    if np.isnan(times).any():
        raise DataError(f"the time {name!r} is missing in {int(np.isnan(times).sum()):,} rows")
    return times


def _roles(
    settings: RunSettings, source: TableSource, table: Any, encoder: Encoder, kinds: Mapping[str, Kind | None]
) -> tuple[ColumnRole, ...]:
    """What every column of the file is used for."""
    encoded = {column.name: column for column in encoder.columns}
    single = {settings.label: "label", settings.weight: "weight", settings.time_column: "time"}
    single[settings.cluster] = "cluster"
    roles = []
    for name in source.names:
        parts = ["attribute"] if name in kinds else [single[name]] if name in single else []
        column = encoded.get(name)
        read = name in table.schema.names
        kind = kind_of(name, table[name]) if read else None
        use = "not read"
        if column is not None:
            parts.append("feature")
            use = f"{len(column.values)} values, one feature each" if isinstance(column, OneHot) else "scaled"
            use += ", and one for missing" if column.missing else ""
        elif read:
            use = "" if parts else "one value only, left out"
        roles.append(ColumnRole(name, " and ".join(parts) or ("left out" if read else "ignored"), str(kind or ""), use))
    return tuple(roles)
