"""Arrays in files instead of memory, for features that do not fit; they behave like any other array.

In: a shape and a folder. Out: an array over an unnamed file, which is deleted with the last view of it. The system
keeps as much of it in memory as fits.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray


def scratch(shape: tuple[int, ...], dtype: Any, folder: str | os.PathLike[str] | None = None) -> NDArray[Any]:
    """A mapped array of zeros.

    Examples
    --------
    >>> array = scratch((2, 3), np.float32)
    >>> array[1] = 7
    >>> array.sum().item(), is_mapped(array), is_mapped(array[1:]), is_mapped(np.zeros(3))
    (21.0, True, True, False)
    """
    with tempfile.TemporaryFile(dir=None if folder is None else os.fspath(folder), prefix="equirate-") as file:
        size = max(int(np.prod(shape)), 1) * np.dtype(dtype).itemsize
        os.truncate(file.fileno(), size)
        return np.memmap(file, dtype, "r+", shape=tuple(shape)) if np.prod(shape) else np.zeros(shape, dtype)


def zeros_beside(X: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """An array of zeros, in a file if ``X`` lies in one."""
    return scratch(shape, np.float64) if is_mapped(X) else np.zeros(shape)


def is_mapped(array: Any) -> bool:
    """Whether an array, or what it is a view of, lies in a file."""
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False
