"""Warnings that point at the user's code, wherever in the library they are issued."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from pathlib import Path

_INSIDE = (str(Path(__file__).parents[1]), contextlib.__file__)
"""Files whose frames are skipped: those of the library, and of the context managers that it uses."""


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost call that is not of the library."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
