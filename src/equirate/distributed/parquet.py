"""Rows of Parquet files, without loading them: row groups are shared out, and read once into a memory-mapped file.

In: one or several Parquet files, and which columns are label, attributes, weight and features. Out: `ParquetRows`,
which `RateClassifier.fit` and `equirate.solve` take instead of X, y, attributes and weights. A game passes over the
features some thousand times, so decoding them in every round would cost more than the rounds; they are decoded once,
block by block, into unnamed memory-mapped files in the scratch folder. A file is removed with the last array that uses
it. With several processes, each takes a contiguous share of the row groups.
"""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.peers import all_processes
from ..data.mapped import scratch
from ..data.sample import Given
from .extra import needed

BLOCK = 1 << 16
"""Rows that are decoded at once."""


@dataclass(frozen=True)
class Group:
    """A row group: its file, its number in the file, and its number of rows."""

    file: str
    number: int
    rows: int


@dataclass(frozen=True)
class ParquetRows:
    """Features, labels, attributes and weights in Parquet files.

    Parameters
    ----------
    path
        A file, a folder with ``*.parquet`` files, a pattern with ``*``, or a list of files. All have the same columns.
    label
        The column of the labels.
    attributes
        Columns that slices and baselines refer to; they are not features.
    features
        The columns to train on; by default all remaining numeric columns.
    sample_weight
        The column of the weights, if there is one.
    scratch
        The folder for the decoded features (4 bytes per value; 8 if a column has double precision), by default that for
        temporary files. It must be on a disk, not in memory.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, equirate as eq
    >>> rng = np.random.default_rng(0)
    >>> X, group = rng.normal(size=(2, 500)).astype(np.float32), rng.integers(0, 2, 500)
    >>> y = X[0] + rng.normal(size=500) > 0.5
    >>> folder = tempfile.TemporaryDirectory()
    >>> pq.write_table(pa.table({"a": X[0], "b": X[1], "group": group, "y": y}), f"{folder.name}/rows.parquet")
    >>> rows = ParquetRows(folder.name, label="y", attributes=["group"])
    >>> rows.names
    ('a', 'b')
    >>> parity = eq.demographic_parity("group", tolerance=0.1)
    >>> classifier = eq.RateClassifier(eq.maximize(eq.f1()), parity, n_rounds=50, random_state=0).fit(rows)
    >>> classifier.n_features_in_
    2
    >>> folder.cleanup()
    """

    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    label: str
    attributes: Sequence[str] = ()
    features: Sequence[str] | None = None
    sample_weight: str | None = None
    scratch: str | os.PathLike[str] | None = None

    # -- files and columns -------------------------------------------------------------------------

    @property
    def files(self) -> list[str]:
        """The files, in the order of their names."""
        given = [self.path] if isinstance(self.path, (str, os.PathLike)) else list(self.path)
        files: list[str] = []
        for path in [os.fspath(name) for name in given]:
            if os.path.isdir(path):
                files += sorted(glob.glob(os.path.join(glob.escape(path), "*.parquet")))
            else:
                files += sorted(glob.glob(path)) if glob.has_magic(path) and not os.path.exists(path) else [path]
        if not files:
            raise DataError(f"there is no Parquet file at {self.path}")
        return files

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are features."""
        return self._columns(_opened(self.files[0]).schema_arrow, self.files[0])

    def _named(self) -> list[str]:
        attributes = [self.attributes] if isinstance(self.attributes, str) else list(self.attributes)
        return [self.label, *attributes, *([self.sample_weight] if self.sample_weight else [])]

    def _columns(self, schema: Any, file: str) -> tuple[str, ...]:
        pa = needed("pyarrow")
        absent = [name for name in [*self._named(), *(self.features or ())] if name not in schema.names]
        if absent:
            raise DataError(
                f"{file} has no column {', '.join(map(repr, absent))}; it has {', '.join(map(repr, schema.names))}"
            )
        if self.features is not None:
            chosen = tuple(self.features)
        else:
            chosen = tuple(
                field.name
                for field in schema
                if field.name not in self._named()
                and (pa.types.is_floating(field.type) or pa.types.is_integer(field.type) or field.type == pa.bool_())
            )
        if not chosen:
            raise DataError(f"{file} has no column of numbers to take as a feature")
        return chosen

    def groups(self) -> tuple[list[Group], Any]:
        """The row groups of all files, and the schema that the files share.

        Returns
        -------
        groups : list of Group
            The row groups that have rows, in the order of the files.
        schema : dict
            The type of each column.
        """
        groups: list[Group] = []
        first: Any = None
        for file in self.files:
            opened = _opened(file)
            columns = [*self._named(), *self._columns(opened.schema_arrow, file)]
            schema = [(name, opened.schema_arrow.field(name).type) for name in columns]
            if first is None:
                first = schema
            elif schema != first:
                other = next((one, two) for one, two in itertools.zip_longest(first, schema) if one != two)
                raise DataError(
                    f"{file} has other columns than {self.files[0]}: {_column_text(other[1])} where that has "
                    f"{_column_text(other[0])}"
                )
            metadata = opened.metadata
            groups += [Group(file, k, metadata.row_group(k).num_rows) for k in range(metadata.num_row_groups)]
        groups = [group for group in groups if group.rows]
        if not groups:
            raise DataError(f"the Parquet file at {self.path} has no rows")
        return groups, dict(first)

    # -- reading -----------------------------------------------------------------------------------

    def given(self) -> Given:
        """Read the rows of this process: features into a mapped file, the other columns into arrays.

        Returns
        -------
        Given
            Features, labels, attributes and weights of these rows.
        """
        with all_processes() as shared:
            groups, schema = self.groups()
            row_groups = [(group.rows, os.path.basename(group.file)) for group in groups]
            shared.agree("the row groups of the Parquet files", repr(row_groups))
            return self._read(share(groups, shared.rank, shared.size), schema)

    def _read(self, groups: list[Group], schema: dict[str, Any]) -> Given:
        names = [name for name in schema if name not in self._named()] if self.features is None else list(self.features)
        count = sum(group.rows for group in groups)
        dtype = np.float64 if any(_double(schema[name]) for name in names) else np.float32
        X = scratch((count, len(names)), dtype, self.scratch)
        others = {name: self._empty(name, schema[name], groups, count) for name in self._named()}
        block = np.empty((BLOCK, len(names)), dtype)
        place = 0
        for group in groups:
            for batch in _batches(group, [*names, *others]):
                part = block[: batch.num_rows]
                for k, name in enumerate(names):
                    part[:, k] = _numbers(batch.column(name), name, group.file)
                X[place : place + len(part)] = part
                place += len(part)
                for name, column in others.items():
                    column[place - len(part) : place] = _plain(batch.column(name), name, group.file)
        if place != count:
            raise DataError(f"the Parquet files at {self.path} hold {place} rows, but say that they have {count}")
        weights = None if self.sample_weight is None else others[self.sample_weight]
        attributes = {name: others[name] for name in self._named()[1:] if name != self.sample_weight}
        return Given(X, others[self.label], attributes or None, weights, tuple(names))

    def _empty(self, name: str, kind: Any, groups: list[Group], count: int) -> NDArray[Any]:
        """An array for a column that is not a feature; for text as wide as its longest value."""
        pa = needed("pyarrow")
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return scratch((count,), np.dtype(kind.to_pandas_dtype()), self.scratch)
        longest = needed("pyarrow.compute").utf8_length
        lengths = (longest(_decoded(batch.column(name))) for group in groups for batch in _batches(group, [name]))
        widest = max((needed("pyarrow.compute").max(block).as_py() or 0 for block in lengths), default=0)
        return scratch((count,), f"<U{max(widest, 1)}", self.scratch)


def _opened(file: str) -> Any:
    parquet, pa = needed("pyarrow.parquet"), needed("pyarrow")
    try:
        return parquet.ParquetFile(file, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file} cannot be read as a Parquet file: {str(error).splitlines()[0]}") from None


def _batches(group: Group, columns: list[str]) -> Iterator[Any]:
    pa = needed("pyarrow")
    try:
        yield from _opened(group.file).iter_batches(BLOCK, row_groups=[group.number], columns=columns)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"row group {group.number} of {group.file} cannot be read: {reason}") from None


def share(groups: list[Group], rank: int, size: int) -> list[Group]:
    """The row groups of one process: contiguous, with about as many rows for each."""
    if len(groups) < size:
        raise DataError(
            f"the Parquet files have {len(groups)} row groups for {size} processes, and each takes whole ones: write "
            "them with smaller row groups, or start fewer processes"
        )
    rows = np.cumsum([0, *(group.rows for group in groups)])
    cuts = np.searchsorted(rows[:-1] + np.diff(rows) / 2, np.arange(size + 1) / size * rows[-1])
    cuts[0], cuts[-1] = 0, len(groups)
    for k in range(1, size):  # every process gets at least one, if necessary from its neighbours
        cuts[k] = min(max(cuts[k], cuts[k - 1] + 1), len(groups) - (size - k))
    return groups[cuts[rank] : cuts[rank + 1]]


def _double(kind: Any) -> bool:
    """Whether single precision would lose digits of a column of this type."""
    pa = needed("pyarrow")
    return bool(kind in (pa.float64(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()))


def _numbers(column: Any, name: str, file: str) -> NDArray[Any]:
    if column.null_count:
        raise DataError(
            f"X has {column.null_count} missing values in column {name!r} ({file}): fill them or drop those rows"
        )
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "fiub":
        raise DataError(f"the column {name!r} of {file} holds {column.type}, not numbers: leave it out of the features")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise DataError(f"X has NaN or infinite values in column {name!r} ({file}): fill them or drop those examples")
    return np.asarray(values)


def _decoded(column: Any) -> Any:
    """A column without a dictionary."""
    return column.dictionary_decode() if needed("pyarrow").types.is_dictionary(column.type) else column


def _plain(column: Any, name: str, file: str) -> NDArray[Any]:
    """A column of labels, attributes or weights as a numpy array."""
    if column.null_count:
        raise DataError(
            f"the column {name!r} of {file} has {column.null_count} missing values: fill them or drop those rows"
        )
    return np.asarray(_decoded(column).to_numpy(zero_copy_only=False))


def _column_text(column: tuple[str, Any] | None) -> str:
    return "nothing" if column is None else f"{column[0]!r} ({column[1]})"
