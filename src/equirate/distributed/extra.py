"""The extra of this package, imported where it is used and named where it is missing."""

from __future__ import annotations

import importlib
from typing import Any


def needed(name: str) -> Any:
    """Import a module of the extra ``distributed``, or say what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(
            f"equirate.distributed needs {package}: pip install 'equirate[distributed]'", name=package
        ) from error
