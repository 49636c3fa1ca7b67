"""Compiled passes over the examples: an optional speed-up of what `sweeps` and `models.design` do in numpy.

Needs numba (the extra ``fast``). ``EQUIRATE_KERNELS=0`` in the environment turns them off; results agree up to
rounding (tests/test_kernels.py).
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any

LANES = 16
"""Configurations that a compiled pass handles at once."""


@cache
def ready() -> bool:
    """Whether the compiled passes can be used."""
    if os.environ.get("EQUIRATE_KERNELS", "1") == "0":
        return False
    try:
        return bool(compiled().ENABLED)
    except ImportError:  # no numba, or one that does not know this numpy
        return False


@cache
def compiled() -> Any:
    """The module of the compiled passes; importing it loads numba, which takes a moment."""
    return importlib.import_module(".passes", __name__)
