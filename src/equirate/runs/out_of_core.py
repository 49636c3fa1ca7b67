"""Parquet tables that do not fit into memory: features go batch by batch into mapped files, through `ParquetRows`.

In: `RunSettings` and a `TableSource` of Parquet files. Out: the same `PreparedTable` as from memory. Labels,
attributes and weights are held in memory; the features are read three times: to check the first rows, to learn the
encoder from the training rows, and to encode. `prepare` uses this where `is_too_large` says so.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from ..data.mapped import scratch
from ..data.sample import Given
from ..distributed.parquet import BLOCK, Group, ParquetRows
from ..tables.encoder import Encoder
from ..tables.options import AS_WRITTEN, ReadOptions
from ..tables.reading import FileForm, TableSource
from ..tables.streaming import learnt_from, within

LOOKED_AT = 100_000
"""Rows that are checked before anything is trained."""
_COPIES = 3
"""Copies of the features: as read, as encoded, and as arranged for training."""
_SHARE = 0.5
"""Usable share of the free memory: the rest is for predictions, other programs, and an estimate that is too low."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def is_too_large(source: TableSource, features: Sequence[str]) -> bool:
    """Whether a table is in Parquet files and would not fit into memory with its features."""
    if source.form is not FileForm.PARQUET:
        return False
    free = free_memory()
    return free is not None and needed_memory(source, features) > _SHARE * free


def needed_memory(source: TableSource, features: Sequence[str]) -> int:
    """Bytes that training on a table would take, about: its columns as they are stored, and as features."""
    wanted, stored, rows = set(features), 0, 0
    for file in source.files:
        metadata = parquet.read_metadata(file)
        rows += metadata.num_rows
        for k in range(metadata.num_row_groups):
            group = metadata.row_group(k)
            columns = (group.column(j) for j in range(group.num_columns))
            stored += sum(each.total_uncompressed_size for each in columns if each.path_in_schema in wanted)
    return stored + _COPIES * rows * len(features) * np.dtype(np.float32).itemsize


def free_memory() -> int | None:
    """Bytes of memory that are free, within the limits of a container; None if unknown."""
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    except OSError:
        return None
    free = None if match is None else int(match[1]) * 1024
    for limit in _LIMITS:
        try:
            text = Path(limit).read_text("ascii").strip()
        except OSError:
            continue
        if text.isdecimal() and free is not None:
            free = min(free, int(text))
    return free


@dataclass(frozen=True)
class EncodedRows(ParquetRows):
    """Rows of Parquet files whose columns become features by an encoder; some of the rows, in their order.

    Attributes
    ----------
    encoder
        How columns become features.
    reading
        How the text of columns is read.
    rows
        Places of the rows in the files, in rising order.
    """

    encoder: Encoder | None = None
    reading: ReadOptions = AS_WRITTEN
    rows: NDArray[np.intp] | None = None

    def _columns(self, schema: Any, file: str) -> tuple[str, ...]:
        return () if self.encoder is None else self.encoder.names

    def _read(self, groups: list[Group], schema: dict[str, Any]) -> Given:
        rows, encoder = self.rows, self.encoder
        assert rows is not None
        assert encoder is not None
        X = scratch((len(rows), len(encoder.features)), np.float32, self.scratch)
        start = place = 0
        for group in groups:
            for batch in self._batches(group, encoder.names):
                positions = within(rows, start, batch.num_rows)
                start += batch.num_rows
                if not len(positions):
                    continue
                table = {name: batch.column(batch.schema.get_field_index(name)) for name in encoder.names}
                X[place : place + len(positions)] = encoder.features_of(table, positions, dense=True)
                place += len(positions)
        return Given(X, None, None, None, encoder.features)

    def _batches(self, group: Group, names: Sequence[str]) -> Iterator[Any]:
        with parquet.ParquetFile(group.file, memory_map=True) as file:
            for batch in file.iter_batches(BLOCK, row_groups=[group.number], columns=list(names)):
                yield self.reading.converted(batch)


def encoded(
    source: TableSource, options: ReadOptions, features: Sequence[str], parts: Sequence[NDArray[np.intp]], label: str
) -> tuple[Encoder, list[Any]]:
    """An encoder learnt from the first part, and the features of every part in mapped files."""
    as_read = replace(source, options=options)
    encoder = learnt_from(as_read.batches(features, {}), features, parts[0])
    if not encoder.columns:
        return encoder, [None for _ in parts]
    files = [os.fspath(file) for file in source.files]
    rows = [
        EncodedRows(files, label, features=encoder.names, encoder=encoder, reading=options, rows=part) for part in parts
    ]
    return encoder, [each.given().X for each in rows]


def too_large(source: TableSource, features: Sequence[str]) -> str:
    """The note for a table that does not fit into memory."""
    size = needed_memory(source, features) / 2**30
    return (
        f"the table would take about {size:,.1f} GiB of memory, more than is free: its features go to files in "
        f"{tempfile.gettempdir()}"
    )
