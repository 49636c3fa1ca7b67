"""Numbers for other programs: data frames of the library that is installed, and values that JSON can hold.

In: columns, or nested values. Out: a data frame, or plain data. Results use both for `to_frame` and `to_dict`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

import narwhals as nw

FRAMES: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")
"""Libraries that `make_frame` can use, in the order in which they are tried."""


def make_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Make a data frame of columns: pandas, or polars or pyarrow without it.

    Examples
    --------
    >>> make_frame({"level": [0.0, 0.1]}).shape
    (2, 1)
    """
    for backend in FRAMES:
        try:
            import_module(backend)
        except ImportError:
            continue
        return nw.from_dict(columns, backend=backend).to_native()
    raise ImportError("to_frame needs pandas, polars or pyarrow: pip install 'equirate[data]'")


def json_ready(value: Any) -> Any:
    """Mappings, lists, text and finite numbers, as JSON has them; NaN and infinity become None.

    Examples
    --------
    >>> json_ready({"low": float("nan"), "values": (1, 2.5)})
    {'low': None, 'values': [1, 2.5]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_ready(part) for key, part in value.items()}
    return [json_ready(part) for part in value] if isinstance(value, (list, tuple)) else value
