"""Files of format version 1, as equirate wrote them until 0.1.0: a zip archive of ``manifest.json`` and ``.npy`` files.

In: a stream and its size. Out: the manifest and the arrays as version 2 has them. The archive is a stranger's: it must
hold exactly what its manifest lists, the declared sizes are checked before anything is unpacked, and unpacking stops
where they were a lie. The headers of arrays are matched, not evaluated.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .._core import plain
from .._core.errors import FileError
from .._core.rules import FLAG, TEXT, Fields, ListOf, MapOf, Text, Whole, shown

Manifest = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

MAGIC = b"PK\x03\x04"
MOST_BYTES = 2**30
"""Bytes that an archive may unpack to."""
MOST_ENTRIES, MOST_DIRECTORY = 1000, 2**20
FREE, RATIO = 2**25, 100
"""Bytes that any archive may unpack to, and how many times its own size it may unpack to beyond them."""
_NPY = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<|][fiub][1248])', 'fortran_order': False, 'shape': \(((?:\d{1,12}, )*\d{1,12},?)?\), \} *\n"
)
_TYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
_BLOCK = 2**20
_HEAD = {"format": TEXT, "version": Whole(1, 1), "kind": Text(100), "arrays": ListOf(Text(200), MOST_ENTRIES)}
_END = b"PK\x05\x06"


def read(stream: IO[bytes], size: int) -> tuple[Manifest, Arrays]:
    """Read a manifest and arrays, and bring them up to date."""
    try:
        return _upgraded(*_read(stream, size))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeError) as error:
        raise FileError(f"it is not a file saved by equirate, or it is damaged or cut short ({error})") from None


def _read(stream: IO[bytes], size: int) -> tuple[Manifest, Arrays]:
    _check_directory(stream, size)
    with zipfile.ZipFile(stream) as archive:
        entries = _entries(archive, size)
        if "manifest.json" not in entries:
            raise FileError("it is a zip file, but not one saved by equirate: it has no manifest")
        if entries["manifest.json"].file_size > plain.MOST_TEXT:
            raise FileError(f"its manifest has more than {plain.MOST_TEXT >> 20} MiB")
        manifest = plain.from_text(_text(archive, entries.pop("manifest.json")))
        _check_head(manifest)
        wanted = {f"{name}.npy": name for name in manifest.pop("arrays")}
        if wanted.keys() != entries.keys():
            name = sorted(wanted.keys() ^ entries.keys())[0]
            raise FileError(f"it is damaged: {name} is {'missing' if name in wanted else 'not in its manifest'}")
        return manifest, {wanted[name]: _array(archive, entry) for name, entry in entries.items()}


def _check_directory(stream: IO[bytes], size: int) -> None:
    """Look at the directory's size before `zipfile` reads it: each entry becomes an object."""
    tail = min(size, 22)
    stream.seek(size - tail)
    end = stream.read(tail)
    if len(end) != 22 or not end.startswith(_END):  # no comment behind it: equirate wrote none
        raise FileError("it is not a file saved by equirate, or it is damaged or cut short")
    count, length = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if count > MOST_ENTRIES or length > MOST_DIRECTORY:
        raise FileError(f"it claims to hold {count} parts; at most {MOST_ENTRIES} are read")
    stream.seek(0)


def _entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(entries) != len(archive.infolist()):
        raise FileError("it is damaged: a part is there twice")
    for entry in entries.values():
        if entry.flag_bits & 0x1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileError(f"its part {shown(entry.filename)} is encrypted, or packed as equirate never did")
    total = sum(entry.file_size for entry in entries.values())
    if total > min(MOST_BYTES, FREE + RATIO * size):
        raise FileError(f"it has {size} bytes and would unpack to {total >> 20} MiB")
    return entries


def _check_end(stream: IO[bytes], name: str) -> None:
    """Refuse a part that holds more than it declared; reaching its end also compares its checksum."""
    if stream.read(1):
        raise FileError(f"it is damaged: {shown(name)} does not have the size that it claims")


def _text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The manifest; never more than it declares, whatever is packed."""
    with archive.open(entry) as stream:
        text = stream.read(entry.file_size)
        _check_end(stream, entry.filename)
    return text


def _check_head(manifest: Any) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != "equirate":
        raise FileError("it was not saved by equirate")
    version = manifest.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version > 1:
        raise FileError(f"it has format version {version} in the layout of version 1: upgrade equirate")
    for name, rule in _HEAD.items():
        if name not in manifest:
            raise FileError(f"it is damaged: its manifest has no {name!r}")
        rule.check(manifest[name], f"its {name}")
    if len(set(manifest["arrays"])) != len(manifest["arrays"]):
        raise FileError("it is damaged: its manifest lists an array twice")
    del manifest["format"], manifest["version"]


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """An array from a ``.npy`` file, by its header in the one form that equirate wrote."""
    name = entry.filename
    with archive.open(entry) as stream:
        start = stream.read(10)
        length = int.from_bytes(start[8:], "little")
        header = stream.read(length)
        found = _HEADER.fullmatch(header) if len(header) == length else None
        if not start.startswith(_NPY) or found is None or found[1].decode() not in _TYPES:
            raise FileError(f"it is damaged: {shown(name)} is not an array of numbers (objects are refused)")
        dtype = np.dtype(found[1].decode())
        shape = [int(part) for part in (found[2] or b"").split(b",") if part]
        if len(shape) > 8 or math.prod(shape) * dtype.itemsize != entry.file_size - len(start) - len(header):
            raise FileError(f"it is damaged: {shown(name)} does not have the size that it claims")
        array = np.empty(shape, dtype)
        _fill(array, stream, name)
        _check_end(stream, name)
    return array


def _fill(array: NDArray[Any], stream: IO[bytes], name: str) -> None:
    if not array.size:
        return
    room, done = array.reshape(-1).view(np.uint8).data, 0
    while done < len(room):
        block = stream.read(min(_BLOCK, len(room) - done))
        if not block:
            raise FileError(f"it is damaged: {shown(name)} is shorter than it claims")
        room[done : done + len(block)] = block
        done += len(block)
    if array.dtype == np.bool_ and int(np.asarray(room).max()) > 1:
        raise FileError(f"it is damaged: a flag in {shown(name)} is neither true nor false")


# -- what has changed since -----------------------------------------------------------------------

_LINEAR = MapOf(Fields({"intercept": FLAG, "origin": TEXT}), 10)


def _upgraded(manifest: Manifest, arrays: Arrays) -> tuple[Manifest, Arrays]:
    """Outputs by kind of members, arrays under their outputs' names, bounds without what they are over left out."""
    for status in (manifest.get("status"), *_values(manifest.get("statuses"))):
        if isinstance(status, dict):
            status.pop("lower_bound", None)
            status["gap"] = None
    if manifest["kind"] == "RatePostprocessor":
        _upgrade_thresholds(manifest)
        renamed = {"thresholds": "stochastic.members.cuts", "weights": "stochastic.weights"}
        return manifest, {renamed.get(name, name): array for name, array in arrays.items()}
    outputs = manifest.get("outputs")
    _LINEAR.check(outputs, "outputs")
    assert isinstance(outputs, dict)  # by the rule
    manifest["outputs"] = {
        name: {"kind": "linear", "settings": {"intercept": output["intercept"]}, "origin": output["origin"]}
        for name, output in outputs.items()
    }
    if isinstance(manifest.get("settings"), dict):
        manifest["settings"].pop("weight_scope", None)
    endings = {"_coefficients": ".members.coefficients", "_weights": ".weights"}
    arrays = {_renamed(name, endings): array for name, array in arrays.items()}
    if "history.objective" in arrays:
        arrays["history.bound"] = np.full(arrays["history.objective"].shape, np.nan)
    return manifest, arrays


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def _upgrade_thresholds(manifest: Manifest) -> None:
    settings, classes = manifest.get("settings"), manifest.get("classes")
    values = classes.get("values") if isinstance(classes, dict) else None
    if not isinstance(settings, dict) or not isinstance(values, list) or len(values) != 2:
        raise FileError("it is damaged: it has no settings or no labels")
    positive = settings.get("pos_label")
    sign = 1.0 if positive is None or positive == values[1] else -1.0
    facts = {"groups": manifest.pop("groups", None), "sign": sign}
    manifest["outputs"] = {
        "stochastic": {"kind": "thresholds", "settings": facts, "origin": manifest.pop("origin", None)}
    }


def _renamed(name: str, endings: dict[str, str]) -> str:
    for old, new in endings.items():
        if name.endswith(old):
            return name.removesuffix(old) + new
    for old in ("history_", "end_"):
        if name.startswith(old):
            return f"{old[:-1]}.{name.removeprefix(old)}"
    return name
