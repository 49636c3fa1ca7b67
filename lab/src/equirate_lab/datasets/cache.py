"""Computed arrays kept between runs.

In: a key and a function that computes the array. Out: the array, from the cache directory if a sound copy is
there. The directory is ``EQUIRATE_CACHE`` if set, else the platform's directory for caches. Files are plain
``.npz`` and never unpickled; a damaged one is computed anew, and a directory that cannot be written to costs
a warning and nothing else.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["cache_directory", "cached_array"]


def cache_directory() -> Path:
    """Return the directory that computed arrays are kept in."""
    chosen = os.environ.get("EQUIRATE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "equirate"


def cached_array(
    key: str, compute: Callable[[], NDArray[np.float32]], *, shape: tuple[int, ...]
) -> NDArray[np.float32]:
    """Return the array kept under ``key``, or ``compute()``, which is then kept."""
    path = cache_directory() / f"{key}.npz"
    kept = _read(path)
    if kept is not None and kept.shape == shape and bool(np.isfinite(kept).all()):
        return kept
    array = compute()
    try:
        _write(path, array)
    except OSError as error:
        warnings.warn(
            f"Could not keep a computed array in {path.parent} ({error.strerror or error}); it will be "
            "computed again next time. Set EQUIRATE_CACHE to a folder that can be written to.",
            stacklevel=2,
        )
    return array


def _read(path: Path) -> NDArray[np.float32] | None:
    try:
        # Opened here, because numpy would not close a file that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            array = archive["array"]
    except (OSError, EOFError, KeyError, ValueError, AttributeError, zipfile.BadZipFile, zlib.error):
        return None
    return array if array.dtype == np.float32 else None


def _write(path: Path, array: NDArray[np.float32]) -> None:
    """Write under another name first, so that no reader or crash ever leaves an incomplete file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix=".npz", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, array=array)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
