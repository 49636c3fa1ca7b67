r"""Surrogates: bounds on the prediction :math:`\hat y = 1[f > 0]` that a gradient can be taken of.

They belong to the model player alone. ``upper(f) >= 1[f > 0] >= lower(f)`` for every score, so replacing each
positive coefficient's :math:`\hat y` by the upper and each negative one's by the lower bound gives an upper
bound on any weighted sum of rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._core.errors import AlgorithmError

Scores = NDArray[np.floating[Any]]
Function = Callable[[Scores], Scores]


@dataclass(frozen=True)
class Surrogate:
    """A pair of bounds on the prediction and their derivatives, as functions of the score."""

    name: str
    upper: Function
    lower: Function
    upper_slope: Function
    lower_slope: Function
    slope_bound: float


HINGE = Surrogate(
    "hinge",
    upper=lambda f: np.maximum(0, 1 + f),
    lower=lambda f: np.minimum(1, f),
    upper_slope=lambda f: (f > -1).astype(f.dtype),
    lower_slope=lambda f: (f < 1).astype(f.dtype),
    slope_bound=1.0,
)
LOGISTIC = Surrogate(
    "logistic",
    upper=lambda f: np.logaddexp(0, f) / math.log(2),
    lower=lambda f: 1 - np.logaddexp(0, -f) / math.log(2),
    upper_slope=lambda f: expit(f) / math.log(2),
    lower_slope=lambda f: expit(-f) / math.log(2),
    slope_bound=1 / math.log(2),
)
SIGMOID = Surrogate(  # bounds, but not convex ones
    "sigmoid",
    upper=lambda f: 2 * expit(f),
    lower=lambda f: 2 * expit(f) - 1,
    upper_slope=lambda f: 2 * expit(f) * expit(-f),
    lower_slope=lambda f: 2 * expit(f) * expit(-f),
    slope_bound=0.5,
)

SURROGATES = {s.name: s for s in (HINGE, LOGISTIC, SIGMOID)}


def surrogate_named(name: str | Surrogate) -> Surrogate:
    """Return a surrogate by name, or a surrogate itself."""
    if isinstance(name, Surrogate):
        return name
    if name not in SURROGATES:
        raise AlgorithmError(f"the surrogate must be one of {', '.join(map(repr, SURROGATES))}; got {name!r}")
    return SURROGATES[name]
