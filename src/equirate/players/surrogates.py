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
Net = Callable[[Scores, Scores], Scores]


@dataclass(frozen=True)
class Surrogate:
    """A pair of bounds on the prediction and their derivatives, as functions of the score."""

    name: str
    upper: Function
    lower: Function
    upper_slope: Function
    lower_slope: Function
    slope_bound: float
    curvature: Function
    """Bound on the size of both second derivatives."""
    net: Net | None = None
    """A faster `net_slope`, where there is one."""

    def net_slope(self, scores: Scores, net: Scores) -> Scores:
        """Slope of net coefficients, each on the upper bound where it is positive and on the lower where negative."""
        if self.net is not None:
            return self.net(scores, net)
        return np.asarray(net * np.where(net > 0, self.upper_slope(scores), self.lower_slope(scores)))


def _net_hinge(scores: Scores, net: Scores) -> Scores:
    """Net where the score is above -1 (net > 0) or below 1 (net < 0): both are ``net * score + |net| > 0``."""
    active = scores * net
    active += np.abs(net)
    return np.asarray(net * (active > 0))


HINGE = Surrogate(
    "hinge",
    upper=lambda f: np.maximum(0, 1 + f),
    lower=lambda f: np.minimum(1, f),
    upper_slope=lambda f: (f > -1).astype(f.dtype),
    lower_slope=lambda f: (f < 1).astype(f.dtype),
    slope_bound=1.0,
    curvature=np.zeros_like,
    net=_net_hinge,
)
LOGISTIC = Surrogate(
    "logistic",
    upper=lambda f: np.logaddexp(0, f) / math.log(2),
    lower=lambda f: 1 - np.logaddexp(0, -f) / math.log(2),
    upper_slope=lambda f: expit(f) / math.log(2),
    lower_slope=lambda f: expit(-f) / math.log(2),
    slope_bound=1 / math.log(2),
    curvature=lambda f: expit(f) * expit(-f) / math.log(2),
)
SIGMOID = Surrogate(  # bounds, but not convex ones
    "sigmoid",
    upper=lambda f: 2 * expit(f),
    lower=lambda f: 2 * expit(f) - 1,
    upper_slope=lambda f: 2 * expit(f) * expit(-f),
    lower_slope=lambda f: 2 * expit(f) * expit(-f),
    slope_bound=0.5,
    curvature=lambda f: 2 * expit(f) * expit(-f),  # |2 s (1 - s) (1 - 2 s)| is at most that
)

SURROGATES = {s.name: s for s in (HINGE, LOGISTIC, SIGMOID)}


def surrogate_named(name: str | Surrogate) -> Surrogate:
    """Return a surrogate by name, or a surrogate itself."""
    if isinstance(name, Surrogate):
        return name
    if name not in SURROGATES:
        raise AlgorithmError(f"the surrogate must be one of {', '.join(map(repr, SURROGATES))}; got {name!r}")
    return SURROGATES[name]
