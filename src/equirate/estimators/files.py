"""Saving and loading without pickle: arrays and JSON in one zip file, so a file from a stranger can be opened.

Format (version 1): a zip archive with ``manifest.json`` (format name, version, what the arrays mean, settings and
problem as text of the language of rates) and one ``.npy`` file per array, written and read with pickling disabled.
Reading never executes anything and writes nothing to disk: text is parsed by `language`, and an array is made only if
its header fits the bytes that follow. What the arrays must hold is checked by who asked for them.
"""

from __future__ import annotations

import io
import json
import math
import os
import uuid
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import FileError

FORMAT, VERSION = "equirate", 1
_MOST_BYTES, _MOST_TEXT = 2**30, 2**26
_EPOCH = (1980, 1, 1, 0, 0, 0)
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def write(path: str | os.PathLike[str], manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a manifest and arrays; the file appears complete or not at all, and equal content gives equal bytes."""
    target = Path(path)
    head = {**manifest, "format": FORMAT, "version": VERSION, "arrays": sorted(arrays)}
    try:
        content = _packed(head, arrays)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"cannot save to {target}: a setting or an array is not plain data ({error})") from None
    temporary = target.parent / f".{uuid.uuid4().hex}.part"
    try:
        if not target.parent.is_dir():
            raise FileError(f"cannot save to {target}: the folder {target.parent} does not exist")
        if target.is_dir():
            raise FileError(f"cannot save to {target}: it is a folder")
        try:
            with open(temporary, "xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except FileError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise FileError(f"cannot save to {target}: {error}") from None


def _packed(head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    text = json.dumps(head, indent=1, sort_keys=True, allow_nan=False)
    contents = {"manifest.json": text.encode()}
    for name in sorted(arrays):
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(arrays[name], order="C"), allow_pickle=False)
        contents[f"{name}.npy"] = buffer.getvalue()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in contents.items():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            archive.writestr(entry, content)
    return packed.getvalue()


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a manifest and arrays back, or say why the file is refused."""
    source = Path(path)
    if not source.is_file():
        raise FileError(f"{source} is a folder, not a file" if source.is_dir() else f"there is no file {source}")
    try:
        with zipfile.ZipFile(source) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MOST_BYTES:
                raise FileError(f"{source} would unpack to more than {_MOST_BYTES >> 20} MiB and is refused")
            manifest = _manifest(archive, source)
            arrays = {name: _array(archive, f"{name}.npy", source) for name in manifest["arrays"]}
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{source} cannot be read: {error}") from None
    except zipfile.BadZipFile as error:
        raise FileError(f"{source} is not a file saved by equirate, or it is damaged or cut short ({error})") from None
    except Exception as error:  # a stranger's bytes can fail the readers of zip and numpy in many ways
        raise FileError(f"{source} is damaged: {type(error).__name__}, {error}") from None
    return manifest, arrays


def _manifest(archive: zipfile.ZipFile, source: Path) -> dict[str, Any]:
    try:
        if archive.getinfo("manifest.json").file_size > _MOST_TEXT:
            raise FileError(f"{source} has a manifest of more than {_MOST_TEXT >> 20} MiB and is refused")
        manifest = json.loads(archive.read("manifest.json"))
    except KeyError:
        raise FileError(f"{source} is a zip file, but not one saved by equirate: it has no manifest") from None
    except FileError:
        raise
    except (ValueError, RecursionError):
        raise FileError(f"{source} is damaged: its manifest is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileError(f"{source} was not saved by equirate")
    version = manifest.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileError(f"{source} has no format version")
    if version > VERSION:
        raise FileError(f"{source} has format version {version}; this equirate reads up to {VERSION}: upgrade equirate")
    names = manifest.get("arrays")
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names) or len(set(names)) != len(names):
        raise FileError(f"{source} is damaged: its manifest does not list its arrays")
    return manifest


def _array(archive: zipfile.ZipFile, name: str, source: Path) -> NDArray[Any]:
    try:
        stream = io.BytesIO(archive.read(name))
    except KeyError:
        raise FileError(f"{source} is damaged: {name} is missing") from None
    try:
        read_header = _HEADERS[np.lib.format.read_magic(stream)]
        shape, _, dtype = read_header(stream)
        if dtype.hasobject:
            raise FileError(f"{source} is refused: {name} holds pickled Python objects, which could run code")
        if math.prod(shape) * dtype.itemsize != len(stream.getbuffer()) - stream.tell() or min(shape, default=0) < 0:
            raise FileError(f"{source} is damaged: {name} does not have the size that it claims")
        stream.seek(0)
        array: NDArray[Any] = np.load(stream, allow_pickle=False)
    except FileError:
        raise
    except Exception as error:  # numpy raises many things on bytes that it did not write
        raise FileError(f"{source} is damaged: {name} is not an array ({error})") from None
    return array
