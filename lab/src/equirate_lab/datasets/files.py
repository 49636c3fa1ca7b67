"""Files of data sets that are not bundled: where they are, and whether they are the right ones.

In: an :class:`~equirate_lab.datasets.sources.ExternalSource` and perhaps a directory. Out: the raw table. Files are
looked for in the given directory, else in the one that ``EQUIRATE_DATA`` names, else, in a source checkout, in
``../shared/data`` beside it. Nothing is parsed before its digest is checked.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import zlib
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from equirate.datasets import CorruptDataError

from .sources import ExternalSource

__all__ = ["Directory", "MissingDataError", "data_directory", "path_of", "read_table"]

Directory: TypeAlias = "str | os.PathLike[str]"


class MissingDataError(FileNotFoundError):
    """A data file that is not bundled is not where it was looked for."""


def data_directory(data_dir: Directory | None = None) -> Path | None:
    """Return the directory for files that are not bundled, or None if nothing names one."""
    chosen = data_dir if data_dir is not None else os.environ.get("EQUIRATE_DATA")
    if chosen:
        return Path(chosen).expanduser()
    lab = Path(__file__).resolve().parents[3]
    beside_checkout = lab.parents[1] / "shared" / "data"
    return beside_checkout if lab.name == "lab" and beside_checkout.is_dir() else None


def read_table(source: ExternalSource, data_dir: Directory | None = None) -> pd.DataFrame:
    """Read the raw table of a source, after its digest was checked."""
    content = _checked_bytes(source, path_of(source, data_dir))
    return pd.read_csv(io.BytesIO(content), **source.read_options)  # type: ignore[call-overload,no-any-return]


def path_of(source: ExternalSource, data_dir: Directory | None = None) -> Path:
    """Return where the file of a source lies; raises :class:`MissingDataError` where it is not."""
    directory = data_directory(data_dir)
    path = None if directory is None else directory / source.file
    if path is None or not path.is_file():
        looked = "No data directory is set" if directory is None else f"It is not in {directory}"
        raise MissingDataError(
            f"Data set {source.name!r} needs the file {source.file}, which is not bundled. {looked}.\n"
            f"  It is: {source.title}.\n"
            f"  It comes from: {source.source}.\n"
            f"  sha256: {source.sha256}\n"
            f"  Put it in a folder and point to that: load({source.name!r}, data_dir=FOLDER), or set "
            "EQUIRATE_DATA=FOLDER."
        )
    return path


def _checked_bytes(source: ExternalSource, path: Path) -> bytes:
    """Return the decompressed table if either the file's digest or the table's own is the known one."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    text = _decompressed(source, content)
    if text is not None and (digest == source.sha256 or hashlib.sha256(text).hexdigest() == source.content_sha256):
        return text
    raise CorruptDataError(
        f"The file {path} is not the one that data set {source.name!r} was made from.\n"
        f"  expected sha256: {source.sha256}\n"
        f"  found sha256:    {digest}\n"
        "  Replace it by a fresh copy."
    )


def _decompressed(source: ExternalSource, content: bytes) -> bytes | None:
    """Return the bytes inside, or None if these are not compressed as the file's name says."""
    try:
        return gzip.decompress(content) if source.file.endswith(".gz") else lzma.decompress(content)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return None
