"""Saving and loading without pickle: one file of arrays and plain data, which is safe to open from any source.

Format (version 2): the layout of safetensors. Eight bytes with the length of a header; the header, JSON with the
format, its version, and the type, shape and offset of every array; the arrays, one after the other, without gaps. The
first array is the manifest (JSON: what the arrays mean, settings, and the problem as text of the language of rates).
The last one is the SHA-256 of every byte before it. Nothing is compressed, so nothing grows when it is read; the same
content gives the same bytes; other readers of safetensors can open the arrays.

Reading never executes anything and writes nothing to disk. Every size is compared with the size of the file before
anything is allocated. The checksum finds damage, not malice: the caller still checks the content. Only `FileError` is
raised.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
from collections.abc import Iterator
from io import BufferedIOBase, BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import plain
from .._core.atomic import Bytes, kind_of, write_whole
from .._core.errors import FileError
from .._core.rules import Fields, ListOf, MapOf, OneOf, Text, Whole, shown

Manifest = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

FORMAT, VERSION = "equirate", 2
MOST_BYTES = 2**31
"""Bytes of a file."""
MOST_HEADER, MOST_ARRAYS, MOST_AXES = 2**20, 4000, 8
TYPES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
MANIFEST, CHECKSUM = "manifest", "sha256"
_NAMES = {np.dtype(code): name for name, code in TYPES.items()}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_ENTRY = Fields(
    {
        "dtype": OneOf(tuple(TYPES)),
        "shape": ListOf(Whole(0, MOST_BYTES), MOST_AXES),
        "data_offsets": ListOf(Whole(0, MOST_BYTES), 2, 2),
    }
)
_METADATA = Fields({"format": Text(100), "version": Text(20)})


# -- writing --------------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], manifest: Manifest, arrays: Arrays) -> None:
    """Write a manifest and arrays; the file appears complete or not at all, and equal content gives equal bytes."""
    try:
        parts = packed(manifest, arrays)
    except FileError as error:
        raise FileError(f"cannot save to {path}: {error}") from None
    write_whole(path, parts)


def packed(manifest: Manifest, arrays: Arrays) -> list[Bytes]:
    """The bytes of a file, in parts: arrays are not copied."""
    text = plain.to_text(manifest)
    text += b" " * (-len(text) % 8)  # align numbers of eight bytes for memory maps
    ready = {name: _ready(name, array) for name, array in arrays.items()}
    order = sorted(ready, key=lambda name: (-ready[name].itemsize, name))
    named = {MANIFEST: np.frombuffer(text, np.uint8), **{name: ready[name] for name in order}}
    named[CHECKSUM] = np.zeros(32, np.uint8)
    head = _head(named)
    parts: list[Bytes] = [head, text, *(ready[name].reshape(-1).view(np.uint8).data for name in order)]
    if sum(map(len, parts)) > MOST_BYTES or len(head) > MOST_HEADER or len(named) > MOST_ARRAYS:
        raise FileError(
            f"a file holds at most {MOST_BYTES >> 20} MiB in {MOST_ARRAYS} arrays; this one would have "
            f"{sum(map(len, parts)) >> 20} MiB in {len(named)}"
        )
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return [*parts, digest.digest()]


def to_bytes(manifest: Manifest, arrays: Arrays) -> bytes:
    """The content of a file."""
    return b"".join(packed(manifest, arrays))


def _ready(name: str, array: NDArray[Any]) -> NDArray[Any]:
    little = array.dtype.newbyteorder("<")
    if not _NAME.fullmatch(name) or name in (MANIFEST, CHECKSUM):
        raise FileError(f"{name!r} cannot be the name of an array")
    if little not in _NAMES or array.ndim > MOST_AXES:
        raise FileError(f"the array {name!r} is not plain data: it has {array.ndim} axes of type {array.dtype}")
    return np.asarray(array, dtype=little, order="C")


def _head(named: Arrays) -> bytes:
    table: dict[str, Any] = {"__metadata__": {"format": FORMAT, "version": str(VERSION)}}
    place = 0
    for name, array in named.items():
        entry = {"dtype": _NAMES[array.dtype], "shape": list(array.shape)}
        table[name] = {**entry, "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = plain.to_text(table, ordered=True)
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


# -- reading --------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> tuple[Manifest, Arrays]:
    """Read a manifest and arrays; an error says why the file cannot be read."""
    try:
        with _opened(path) as (stream, size):
            return unpacked(stream, size)
    except OSError as error:
        raise FileError(f"it cannot be read: {error.strerror or error}") from None


def from_bytes(content: bytes) -> tuple[Manifest, Arrays]:
    """Read the content of a file."""
    return unpacked(BytesIO(content), len(content))


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[BufferedIOBase, int]]:
    """A regular file and its size; an error for anything else, without blocking."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (FileNotFoundError, NotADirectoryError):
        raise FileError("there is no such file") from None
    except (ValueError, TypeError) as error:  # a null byte in the name, or a name that is not text
        raise FileError(f"that is no name of a file ({error})") from None
    facts = os.fstat(descriptor)
    kind = kind_of(facts.st_mode)
    if kind is not None or facts.st_size > MOST_BYTES:
        os.close(descriptor)
        if kind is not None:
            raise FileError(f"it is {kind}, not a file")
        raise FileError(f"it has {facts.st_size >> 20} MiB; at most {MOST_BYTES >> 20} MiB are read")
    with open(descriptor, "rb") as stream:
        yield stream, facts.st_size


def unpacked(stream: BufferedIOBase, size: int) -> tuple[Manifest, Arrays]:
    """Read the content of a file of version 2 from a stream of known size; the arrays are views of one buffer."""
    table, start = _table(stream, size)
    stream.seek(0)
    content = np.empty(size, dtype=np.uint8)
    if stream.readinto(content.data) != size:
        raise FileError("it became shorter while it was read")
    if hashlib.sha256(content[:-32].data).digest() != content[-32:].tobytes():
        raise FileError("it is damaged: its checksum is not that of its content")
    arrays = {name: _array(content[start:], entry) for name, entry in table.items()}
    del arrays[CHECKSUM]
    manifest = plain.from_text(arrays.pop(MANIFEST).tobytes())
    if not isinstance(manifest, dict):
        raise FileError("it is damaged: its manifest is not an object")
    return manifest, arrays


def _table(stream: BufferedIOBase, size: int) -> tuple[dict[str, Any], int]:
    """The entries of the arrays, and where they begin; sizes and places agree with each other and the file."""
    length = int.from_bytes(stream.read(8), "little")
    if size < 8 + 2 or not 2 <= length <= min(MOST_HEADER, size - 8):
        raise FileError("it was not saved by equirate, or it is damaged or cut short")
    try:
        table = plain.from_text(stream.read(length))
    except FileError as error:
        raise FileError(f"it was not saved by equirate, or it is damaged: {error}") from None
    _check_version(table)
    if len(table) > MOST_ARRAYS:
        raise FileError(f"it claims to hold {len(table)} arrays; at most {MOST_ARRAYS} are read")
    MapOf(_ENTRY, MOST_ARRAYS).check(table, "its header")
    place = 0
    for name, entry in table.items():
        if not _NAME.fullmatch(name):
            raise FileError(f"it is damaged: an array is called {shown(name)}")
        bytes_ = math.prod(entry["shape"]) * np.dtype(TYPES[entry["dtype"]]).itemsize
        if entry["data_offsets"] != [place, place + bytes_]:
            raise FileError(f"it is damaged: the array {name!r} does not have the size and the place that it claims")
        place += bytes_
    if 8 + length + place != size:
        raise FileError(f"it is damaged or cut short: it claims {8 + length + place} bytes and has {size}")
    if [*table][:1] != [MANIFEST] or [*table][-1] != CHECKSUM:
        raise FileError("it is damaged: its manifest or its checksum is not where it belongs")
    kinds = [(table[name]["dtype"], len(table[name]["shape"])) for name in (MANIFEST, CHECKSUM)]
    if kinds != [("U8", 1)] * 2 or table[CHECKSUM]["shape"] != [32] or table[MANIFEST]["shape"][0] > plain.MOST_TEXT:
        raise FileError("it is damaged: its manifest or its checksum is too large or not bytes")
    return table, 8 + length


def _check_version(table: Any) -> None:
    metadata = table.pop("__metadata__", None) if isinstance(table, dict) else None
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise FileError("it was not saved by equirate")
    _METADATA.check(metadata, "its header")
    version = metadata["version"]
    if not re.fullmatch(r"[1-9][0-9]{0,8}", version):
        raise FileError(f"it has no format version, but {shown(version)}")
    if int(version) != VERSION:
        advice = ": upgrade equirate" if int(version) > VERSION else ""
        raise FileError(f"its format version is {version}, and this equirate reads version {VERSION}{advice}")


def _array(data: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    start, end = entry["data_offsets"]
    values = data[start:end].view(TYPES[entry["dtype"]]).reshape(entry["shape"])
    if values.dtype == np.bool_ and values.size and int(values.view(np.uint8).max()) > 1:
        raise FileError("it is damaged: a flag is neither true nor false")
    return np.require(values, requirements="A")  # other writers may not align numbers
