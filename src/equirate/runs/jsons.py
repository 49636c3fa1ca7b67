"""Results as JSON, for programs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def as_json(plain: Any) -> str:
    """Plain data as JSON; numbers that JSON does not have are null."""
    return json.dumps(_finite(plain), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(plain: Any) -> Any:
    if isinstance(plain, np.generic):
        plain = plain.item()
    if isinstance(plain, float) and not math.isfinite(plain):
        return None
    if isinstance(plain, dict):
        return {str(name): _finite(value) for name, value in plain.items()}
    return [_finite(value) for value in plain] if isinstance(plain, (list, tuple)) else plain
