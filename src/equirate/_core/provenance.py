"""Where a model comes from: when it was trained, by which version, on which data, and the hash of the model itself.

In: data of any kind. Out: `Provenance`, plain text that pages, certificates and files carry, and `digest`, the SHA-256
of data. The environment variable ``SOURCE_DATE_EPOCH``, as in compilers, replaces the present time, so that equal runs
can write equal bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 24  # bytes that are hashed at once
_SHORT = 12  # digits of a hash in a sentence


@dataclass(frozen=True)
class Provenance:
    """Where a model comes from.

    Attributes
    ----------
    date
        When it was trained, in ISO 8601, UTC.
    version
        Of equirate.
    model, data
        SHA-256 of the model and of the data that it was trained on; empty where that is not known.
    """

    date: str
    version: str
    model: str = ""
    data: str = ""

    @property
    def sentence(self) -> str:
        """All of it in one sentence."""
        hashes = [f"{name} {value[:_SHORT]}" for name, value in (("model", self.model), ("data", self.data)) if value]
        suffix = f" (SHA-256: {', '.join(hashes)})" if hashes else ""
        return f"Trained on {self.date} by equirate {self.version}{suffix}."


def present() -> str:
    """The present time as text.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, SOURCE_DATE_EPOCH="1700000000"):
    ...     present()
    '2023-11-14T22:13:20+00:00'
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    time = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
    return time.isoformat(timespec="seconds")


def file_digest(path: Path) -> str:
    """SHA-256 of a file, as ``sha256sum`` has it; of a folder, of the names and hashes of its Parquet files."""
    if path.is_dir():
        parts = sorted(file for file in path.rglob("*.parquet") if file.is_file())
        listed = "".join(f"{file_digest(file)}  {file.relative_to(path).as_posix()}\n" for file in parts)
        return hashlib.sha256(listed.encode()).hexdigest()
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest(*parts: Any) -> str:
    """SHA-256 of arrays, sparse matrices, frames, mappings of them and None; empty for anything else.

    Examples
    --------
    >>> digest(np.arange(3)) == digest(np.arange(3)), digest(np.arange(3)) == digest(np.arange(3.0))
    (True, False)
    """
    total = hashlib.sha256()
    try:
        for part in parts:
            _update(total, part)
    except TypeError:
        return ""
    return total.hexdigest()


def _update(total: Any, part: Any) -> None:
    if part is None:
        total.update(b"none;")
    elif isinstance(part, Mapping):
        for name in sorted(part, key=str):
            total.update(f"{name!r}:".encode())
            _update(total, part[name])
    elif hasattr(part, "indptr"):
        for each in (part.data, part.indices, part.indptr):
            _update(total, np.asarray(each))
    elif hasattr(part, "columns"):
        for name in part.columns:
            total.update(f"{name!r}:".encode())
            _update(total, np.asarray(part[name]))
    else:
        _update_array(total, np.asarray(part))


def _update_array(total: Any, array: NDArray[Any]) -> None:
    total.update(f"{array.dtype.str}{array.shape};".encode())
    if array.dtype.hasobject:
        if not array.ndim:
            raise TypeError(f"{array!r} is not data")
        total.update("\0".join(map(repr, array.ravel().tolist())).encode())
        return
    rows = max(1, _BLOCK // max(array[:1].nbytes, 1)) if array.ndim else 1
    for start in range(0, len(array) if array.ndim else 1, rows):
        block = array[start : start + rows] if array.ndim else array
        total.update(np.ascontiguousarray(block).tobytes())
