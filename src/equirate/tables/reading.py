"""Tables from files: CSV, Parquet and Feather, plain or compressed, or a folder of Parquet.

In: a path. Out: a `TableSource`, which knows the names of its columns before anything is read, and gives them all at
once (`TableSource.table`) or batch by batch in constant memory (`TableSource.batches`). The format of a file is
recognised by its first bytes, not by its name. Every problem of a file is a `DataError` in one line.
"""

from __future__ import annotations

import bz2
import csv
import difflib
import gzip
import io
import itertools
import lzma
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from .._core.errors import DataError
from .._core.listing import listed
from .encodings import Utf8, check_encoding, wide_encoding
from .kinds import Kind
from .options import AS_WRITTEN, MISSING, ReadOptions

_DICTIONARY = 2000  # text columns with fewer distinct values are dictionary-encoded
_BLOCK = 4 << 20  # bytes of a CSV file that are parsed together
_ROWS = 1 << 16  # rows of a Parquet file in a batch
_LONGEST_HEADER = 1 << 20
_MOST_TITLES = 20  # lines at the beginning of a CSV file among which the header is looked for
_DELIMITERS = (",", ";", "\t", "|")
_SHOWN = 10  # columns that a message lists
_UNREADABLE = (pa.ArrowException, OSError, EOFError, zlib.error, lzma.LZMAError, UnicodeDecodeError)


class FileForm(StrEnum):
    """Format of a file."""

    CSV = "CSV"
    PARQUET = "Parquet"
    FEATHER = "Feather"


_MAGIC = ((b"PAR1", FileForm.PARQUET), (b"ARROW1", FileForm.FEATHER))
_PACKED: tuple[tuple[bytes, Callable[[Path], Any]], ...] = (
    (b"\x1f\x8b", gzip.GzipFile),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"\x28\xb5\x2f\xfd", lambda path: pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")),
)


@dataclass(frozen=True)
class TableSource:
    """A table in a file, or in a folder of Parquet files: its columns are known, its rows are not read yet.

    Attributes
    ----------
    path
        As it was given.
    form
        Format of the file.
    names
        Columns in the order of the file; those without a name are left out.
    files
        The file itself, or the files of a folder by name.
    options
        How its text is to be read.
    delimiter, header, skipped
        Of a CSV file: what separates values, all columns, those without a name too, and how many lines are above them.
    renamed, blank
        Of a CSV file: names that were there already, by the name that such a column has instead, and how many empty
        lines are above the header.
    """

    path: Path
    form: FileForm
    names: tuple[str, ...]
    files: tuple[Path, ...]
    options: ReadOptions = AS_WRITTEN
    delimiter: str = ","
    header: tuple[str, ...] = ()
    skipped: int = 0
    renamed: Mapping[str, str] = field(default_factory=dict)
    blank: int = 0
    spool: Any = field(default=None, repr=False, compare=False)
    """The temporary file of a table that was read from a pipe."""

    def require(self, wanted: Iterable[str], what: str) -> None:
        """Refuse columns that are not there, and propose the nearest name."""
        for name in wanted:
            if name not in self.names:
                near = nearest(name, self.names)
                raise DataError(f"{what} names a column {name!r} that {self.path} does not have{near or self._has()}")

    def _has(self) -> str:
        """The columns that there are, to stand at the end of a message."""
        return f"; its columns are {listed([*map(repr, self.names)], _SHOWN)}"

    def table(self, columns: Sequence[str], kinds: Mapping[str, Kind | None]) -> pa.Table:
        """Read some columns; the kind of a column without one in ``kinds`` is inferred from its values.

        The metadata of the table's schema hold the encoding of a CSV file.
        """
        return self.options.converted(self.written(columns, kinds))

    def written(self, columns: Sequence[str], kinds: Mapping[str, Kind | None], lenient: bool = False) -> pa.Table:
        """Read some columns, with dates and numbers that need an option still as text.

        ``lenient`` leaves out lines with too many or too few values, if they are the fewer ones; the metadata say how
        many.
        """
        ragged: list[str] | None = [] if lenient or self.options.drop_ragged else None
        with _data_errors(self):
            if self.form is FileForm.CSV:
                read = arrow_csv.ReadOptions(block_size=_BLOCK, **self._above())
                with self._text() as stream:
                    table = arrow_csv.read_csv(stream, read, self._parse(ragged), self._convert(columns, kinds))
                    metadata = {"encoding": stream.encoding, "ragged": str(len(ragged or ()))}
                    table = table.replace_schema_metadata(metadata)
                if ragged and len(ragged) > table.num_rows:
                    raise self.ragged_error()
            else:
                parts = [part for file in self.files for part in _batches(self, file, columns)]
                table = pa.Table.from_batches(parts) if parts else None
        release()
        if table is None or not table.num_rows:
            raise DataError(f"{self.path} has a header but no rows")
        return table

    def first(self, columns: Sequence[str], rows: int) -> pa.Table:
        """The first rows of a Parquet or Feather file, with dates and numbers that need an option still as text."""
        parts: list[Any] = []
        with _data_errors(self):
            for part in (part for file in self.files for part in _batches(self, file, columns)):
                parts.append(part)
                if sum(each.num_rows for each in parts) >= rows:
                    break
        return pa.Table.from_batches(parts).slice(0, rows)

    def batches(self, columns: Sequence[str], kinds: Mapping[str, Kind | None]) -> Iterator[pa.RecordBatch]:
        """Read some columns of known kinds batch by batch: memory does not grow with the file."""
        with _data_errors(self):
            if self.form is not FileForm.CSV:
                for file in self.files:
                    yield from map(self.options.converted, _batches(self, file, columns))
                return
            known = {name: kinds.get(name) or Kind.CATEGORY for name in columns}
            # One thread and a small block: reading ahead would fill the memory.
            read = arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=False, **self._above())
            with self._text() as stream:
                parse = self._parse([] if self.options.drop_ragged else None)
                batches = arrow_csv.open_csv(stream, read, parse, self._convert(columns, known))
                yield from map(self.options.converted, batches)

    def _text(self) -> Utf8:
        return Utf8(_unpacked(self.files[0]), str(self.path), self.options.encoding)

    def _above(self) -> dict[str, Any]:
        """What the reader skips: lines above the header, and the header itself if columns have other names."""
        if not self.renamed:
            return {"skip_rows": self.skipped}
        return {
            "skip_rows": self.skipped,
            "column_names": list(self.header),
            "skip_rows_after_names": 1 + self.blank,
        }

    def ragged_line(self) -> tuple[int, list[str]] | None:
        """The number and the values of the first line of a CSV file with more or fewer values than the header."""
        with self._text() as stream:
            lines = _lines(stream)
            for _ in range(self.skipped):
                next(lines, None)
            reader, first = csv.reader(lines, delimiter=self.delimiter), 0
            try:
                for row in reader:
                    if row and len(row) != len(self.header):
                        return self.skipped + first + 1, row
                    first = reader.line_num
            except csv.Error:  # a value that is too long for Python's reader
                pass
        return None

    def ragged_error(self) -> DataError:
        """The error of the first line with more or fewer values than the header."""
        line, values = self.ragged_line() or (0, [])
        return DataError(
            f"{self.path}: line {line:,} has {len(values)} values, and the header has {len(self.header)}: "
            f"{_shortened(self.delimiter.join(values))!r}; leave such lines out with --drop-ragged, or put values that "
            f"hold {self.delimiter!r} in double quotes"
        )

    def _parse(self, ragged: list[str] | None) -> Any:
        """How lines are parsed; lines with too many or too few values go to ``ragged``, or are an error."""

        def leave_out(row: Any) -> str:
            ragged.append(row.text)  # type: ignore[union-attr]  # only called with a list
            return "skip"

        handler = None if ragged is None else leave_out
        return arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=handler)

    def _convert(self, columns: Sequence[str], kinds: Mapping[str, Kind | None]) -> Any:
        types = {name: kind.in_csv for name, kind in kinds.items() if kind is not None and name in columns}
        types |= {name: pa.string() for name in self.options.texts if name in columns}
        return arrow_csv.ConvertOptions(
            include_columns=list(columns),
            column_types=types,
            decimal_point=self.options.decimal,
            null_values=[*MISSING, *self.options.missing],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
            auto_dict_encode=True,
            auto_dict_max_cardinality=_DICTIONARY,
        )


def open_source(path: Path, options: ReadOptions = AS_WRITTEN) -> TableSource:
    """Open a file, or a folder of Parquet files: find its format and its columns.

    Parameters
    ----------
    path
        The file or folder.
    options
        How its text is to be read.
    """
    if str(path) == "-":
        return _from_stream(getattr(sys.stdin, "buffer", None), Path("standard input"), options)
    if not path.exists():
        raise DataError(f"there is no file {path}")
    if path.is_dir():
        return _folder(path, options)
    if not path.is_file():
        with _data_errors(path), open(path, "rb") as stream:
            return _from_stream(stream, path, options)
    with _data_errors(path):
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty")
        form, packed = _form(path)
        if form is FileForm.CSV:
            delimiter, written, skipped, blank = _header(path, options.encoding)
            header, renamed = _unique(written)
            names = tuple(name for name in header if name)
            return TableSource(path, form, names, (path,), options, delimiter, header, skipped, renamed, blank)
        if packed:
            raise DataError(
                f"{path} is a compressed {form.value} file: unpack it first ({form.value} compresses by itself)"
            )
        return _named(TableSource(path, form, tuple(_schema(path, form).names), (path,), options))


def _from_stream(stream: IO[bytes] | None, name: Path, options: ReadOptions) -> TableSource:
    """A table from a pipe, which can be read once: through a temporary file that is deleted with the source."""
    if stream is None:
        raise DataError(f"{name} is closed: there is no table to read")
    spool = tempfile.NamedTemporaryFile(prefix="equirate-", suffix=".table")  # noqa: SIM115  (kept by the source)
    with _data_errors(name):
        shutil.copyfileobj(stream, spool)
        spool.flush()
    try:
        return replace(open_source(Path(spool.name), options), path=name, spool=spool)
    except DataError as error:
        raise DataError(str(error).replace(spool.name, str(name))) from None


def release() -> None:
    """Return unused memory of tables to the system; the reader would keep it for the next table."""
    pa.default_memory_pool().release_unused()


def nearest(name: str, known: Iterable[str]) -> str:
    """A proposal for an unknown name, for the end of a message; empty if no name is similar.

    Examples
    --------
    >>> nearest("gendr", ["age", "gender"])
    "; did you mean 'gender'?"
    """
    matches = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {matches[0]!r}?" if matches else ""


def _folder(path: Path, options: ReadOptions) -> TableSource:
    files = tuple(sorted(file for file in path.rglob("*.parquet") if file.is_file()))
    if not files:
        raise DataError(f"{path} is a folder without Parquet files (*.parquet)")
    with _data_errors(path):
        schemas = [_schema(file, FileForm.PARQUET) for file in files]
    for file, schema in zip(files, schemas, strict=True):
        if not schema.equals(schemas[0]):
            raise DataError(f"{file} does not have the same columns, in name, type and order, as {files[0]}")
    return _named(TableSource(path, FileForm.PARQUET, tuple(schemas[0].names), files, options))


def _unique(header: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Names with a number behind those that were there already, as pandas does; and the old names by the new ones.

    Examples
    --------
    >>> _unique(["age", "age", "", "age.1", "age", ""])
    (('age', 'age.2', '', 'age.1', 'age.3', ''), {'age.2': 'age', 'age.3': 'age'})
    """
    taken, names, renamed = set(header), list[str](), dict[str, str]()
    for name in header:
        new = name
        if name and name in names:
            new = next(f"{name}.{k}" for k in itertools.count(1) if f"{name}.{k}" not in taken)
            taken.add(new)
            renamed[new] = name
        names.append(new)
    return tuple(names), renamed


def _named(source: TableSource) -> TableSource:
    """Raise an error for duplicate names."""
    seen: dict[str, int] = {}
    for place, name in enumerate(source.names, 1):
        if name in seen:
            where = f"columns {seen[name]} and {place}"
            raise DataError(f"{source.path} has two columns with the name {name!r} ({where}): rename one of them")
        seen[name] = place
    return source


def _form(path: Path) -> tuple[FileForm, bool]:
    """Format of a file, and whether it is compressed; an error for a binary file of another format."""
    with open(path, "rb") as plain:
        packed = any(plain.read(8).startswith(magic) for magic, _ in _PACKED if not plain.seek(0))
    with closing(_unpacked(path)) as stream:
        start = stream.read(1024)
    for magic, form in _MAGIC:
        if start.startswith(magic):
            return form, packed
    if b"\x00" in start and not wide_encoding(start):
        raise DataError(f"{path} is not a table: it is neither CSV, Parquet nor Feather")
    return FileForm.CSV, packed


def _unpacked(path: Path) -> Any:
    """A file for reading, decompressed."""
    with open(path, "rb") as plain:
        start = plain.read(8)
    unpack = next((opened for magic, opened in _PACKED if start.startswith(magic)), None)
    return open(path, "rb") if unpack is None else unpack(path)  # the caller closes it


def _header(path: Path, encoding: str) -> tuple[str, tuple[str, ...], int, int]:
    """Delimiter, names of the columns, and the numbers of lines above them: to skip, and empty."""
    if encoding:
        check_encoding(encoding)
    with Utf8(_unpacked(path), str(path), encoding) as stream:
        start = _start(stream)
    text = start.decode("utf-8-sig", errors="ignore")
    declared = _SEPARATOR.match(text)  # a first line such as sep=; which spreadsheets write
    if declared is not None:
        text = text[declared.end() :]
    body = text.lstrip("\n\r")
    delimiter = declared[1] if declared is not None else _delimiter(body.partition("\n")[0])
    titles = _titles(text, delimiter if declared is not None else "")
    if titles:
        body = "".join(text.splitlines(keepends=True)[titles:])
        delimiter = delimiter if declared is not None else _delimiter(body.partition("\n")[0])
    names = next(csv.reader(io.StringIO(body, newline=""), delimiter=delimiter), [])
    if not any(names):
        raise DataError(f"{path} is not a table: its first line names no columns")
    blank = 0 if titles else len(text[: len(text) - len(body)].splitlines())
    return delimiter, tuple(names), int(declared is not None) + titles, blank


def _delimiter(line: str) -> str:
    """What separates the values of a line: the sign that is there most often outside of quotes."""
    return max(_DELIMITERS, key=re.sub(r'"[^"]*"', "", line).count)


def _titles(text: str, delimiter: str) -> int:
    """How many lines are above the header: titles, and cells that spreadsheets merge.

    They are mostly empty, and a line below has at least twice as many cells, none of which is a number.
    """
    lines = text.splitlines()[:_MOST_TITLES]
    rows = [[cell.strip() for cell in _cells(line, delimiter or _delimiter(line))] for line in lines]
    counts = [sum(map(bool, row)) for row in rows]
    first = header = next((k for k, count in enumerate(counts) if count), 0)
    while header < len(rows) and (counts[header] < 2 or 2 * counts[header] < len(rows[header])):
        wanted = max(2 * counts[header], 2)
        below = [k for k in range(header + 1, len(rows)) if counts[k] >= wanted]
        if not below or any(map(_NUMERIC.match, rows[below[0]])):
            break
        header = below[0]
    return 0 if header == first else header


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


_NUMERIC = re.compile(r"[-+]?[\d.,]*\d[\d.,%]*$")


_SEPARATOR = re.compile(r'"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)


def _lines(stream: Utf8) -> Iterator[str]:
    """The lines of a text, each with its end."""
    held = b""
    while part := stream.read(_BLOCK):
        *whole, held = (held + part).split(b"\n")
        yield from (line.decode("utf-8-sig", errors="replace") + "\n" for line in whole)
    if held:
        yield held.decode("utf-8-sig", errors="replace")


def _start(stream: Utf8) -> bytes:
    """The first part of a text, which holds the header."""
    parts, length = [], 0
    while length < _LONGEST_HEADER and (part := stream.read(_LONGEST_HEADER)):
        parts.append(part)
        length += len(part)
    return b"".join(parts)


def _schema(path: Path, form: FileForm) -> pa.Schema:
    if form is FileForm.PARQUET:
        return parquet.read_schema(path)
    with pa.memory_map(str(path)) as mapped:
        return pa.ipc.open_file(mapped).schema


def _batches(source: TableSource, path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    if source.form is FileForm.PARQUET:
        # Row group by row group: a pass over the whole file would keep all of it in memory.
        with parquet.ParquetFile(path, memory_map=True) as file:
            for group in range(file.num_row_groups):
                yield from file.iter_batches(_ROWS, row_groups=[group], columns=list(columns))
        return
    with pa.memory_map(str(path)) as mapped:
        reader = pa.ipc.open_file(mapped)
        for k in range(reader.num_record_batches):
            yield reader.get_batch(k).select(list(columns))


@contextmanager
def _data_errors(source: TableSource | Path) -> Iterator[None]:
    """Turn errors of the readers into a `DataError` of one line."""
    path = source if isinstance(source, Path) else source.path
    try:
        yield
    except DataError:
        raise
    except _UNREADABLE as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(error, OSError) and error.errno is not None and error.strerror:
            raise DataError(f"{path} cannot be read: {error.strerror}") from None
        wrong = _WRONG_VALUE.search(reason)
        if wrong is not None and isinstance(source, TableSource):
            name, wanted = source.header[int(wrong[1])], _WANTED.get(wrong[2], wrong[2])
            raise DataError(f"{path}: column {name!r} holds {wrong[3]!r}, which is no {wanted}") from None
        if isinstance(source, TableSource) and _RAGGED.search(reason):
            raise source.ragged_error() from None
        raise DataError(f"{path} cannot be read, or is cut short: {_shortened(reason)}") from None


_WRONG_VALUE = re.compile(r"CSV column #(\d+): .*CSV conversion error to ([a-z]+)\S*: invalid value '(.*)'")
_RAGGED = re.compile(r"Expected \d+ columns, got \d+")
_WANTED = {"double": "number", "bool": "true or false", "timestamp": "date", "time": "time of day"}


def _shortened(reason: str, most: int = 160) -> str:
    reason = re.sub(r"^CSV parse error: ", "", reason)
    return reason if len(reason) <= most else reason[:most] + "..."
