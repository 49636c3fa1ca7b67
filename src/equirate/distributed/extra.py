"""Import of the packages of the extra ``distributed``, with an error that names the extra if one is missing."""

from __future__ import annotations

import importlib
from typing import Any


def needed(name: str) -> Any:
    """Import a module of the extra ``distributed``, or raise an error with the command that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(
            f"equirate.distributed needs {package}: pip install 'equirate[distributed]'", name=package
        ) from error
