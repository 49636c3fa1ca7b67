"""Tables to files, batch by batch: CSV, Parquet or Feather by the end of the name, CSV compressed too.

In: a path (or None for standard output) and columns of equal length. Out: a file that appears when it is complete;
after an interruption `Sink.keep` keeps the rows so far. A full disk, or a path that cannot be written to, is a
`FileError`.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from .._core.atomic import locked_file, sweep
from .._core.errors import FileError

_PACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda stream: gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0),  # equal rows, equal bytes
    ".bz2": lambda stream: bz2.BZ2File(stream, "wb"),
    ".xz": lambda stream: lzma.LZMAFile(stream, "wb"),  # noqa: SIM115  (closed by `Sink`)
    ".zst": lambda stream: pa.CompressedOutputStream(stream, "zstd"),
}
_WRITERS: dict[str, Callable[[Any, pa.Schema], Any]] = {
    ".csv": arrow_csv.CSVWriter,
    ".parquet": parquet.ParquetWriter,
    ".feather": pa.ipc.new_file,
}


class Sink:
    """Takes batches and writes them; use it as a context manager."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows = 0
        self._part: Path | None = None
        self._lock: int | None = None
        self._streams: list[Any] = []
        self._writer: Any = None
        name, self._packer = ("out.csv" if path is None else path.name), None
        for end, packer in _PACKERS.items():
            if name.endswith(f".csv{end}"):
                name, self._packer = name.removesuffix(end), packer
        self._make = next((make for end, make in _WRITERS.items() if name.endswith(end)), None)
        if self._make is None:
            raise FileError(f"{path} must end in .csv (or .csv.gz, .csv.bz2, .csv.xz, .csv.zst), .parquet or .feather")

    def __enter__(self) -> Self:
        with _file_errors(self.path):
            if self.path is None:
                self._streams = [_Open(sys.stdout.buffer)]
            elif self.path.exists() and not self.path.is_file():  # a device or a pipe is written to as it is
                self._streams = [open(self.path, "wb")]
            else:
                sweep(self.path)
                self._part, descriptor = locked_file(self.path, 0o666)
                self._lock = os.dup(descriptor)  # outlasts the stream, so that no process sweeps the complete file
                self._streams = [open(descriptor, "wb")]
            if self._packer is not None:
                self._streams.append(self._packer(self._streams[0]))
        return self

    def write(self, columns: dict[str, Any]) -> None:
        """Write a batch of columns."""
        batch = pa.record_batch(columns)
        with _file_errors(self.path):
            if self._writer is None:
                assert self._make is not None  # checked by __init__
                self._writer = self._make(self._streams[-1], batch.schema)
            self._writer.write_batch(batch.cast(self._writer_schema(batch)))
        self.rows += batch.num_rows

    def _writer_schema(self, batch: pa.RecordBatch) -> pa.Schema:
        """The first batch says what the columns are."""
        if not hasattr(self, "_schema"):
            self._schema = batch.schema
        return self._schema

    def keep(self) -> None:
        """Finish the file with what was written so far."""
        with _file_errors(self.path):
            self._close()
            if self._part is not None and self.path is not None:
                if sys.platform == "win32":  # an open file cannot be renamed there
                    self._release()
                os.replace(self._part, self.path)
                self._part = None
            self._release()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.keep()
            return
        try:
            self._close()
        except (OSError, pa.ArrowException):  # the first error is the one to report
            pass
        finally:
            if self._part is not None:
                self._part.unlink(missing_ok=True)
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _close(self) -> None:
        closing, self._writer, self._streams = [self._writer, *self._streams[::-1]], None, []
        for each in closing:
            if each is not None:
                each.close()


class _Open:
    """Standard output, which stays open."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def write(self, content: Any) -> int:
        return self.stream.write(content)

    def flush(self) -> None:
        self.stream.flush()

    def close(self) -> None:
        self.stream.flush()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


@contextmanager
def _file_errors(path: Path | None) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise FileError(f"cannot write to {path or 'standard output'}: {reason}") from None
