"""Step rules: how far to move along a gradient. One rate per configuration.

A rule is a pair of small functions over explicit state: ``start(shape)`` and ``move(state, gradient)``, which
returns the step to take (to be added or subtracted by the player) and the new state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import kernels
from .._core.errors import AlgorithmError
from .._core.kernels import compiled

Array = NDArray[np.float64]
State = dict[str, Any]


@dataclass(frozen=True)
class StepRule:
    """Base: the rate is multiplied in by `move`; subclasses say how."""

    def start(self, shape: tuple[int, ...], dtype: Any = np.float64) -> State:
        """Return the state before the first step, for parameters of a shape (..., configurations)."""
        return {"t": 0}

    def move(self, state: State, gradient: Array, rate: Array) -> tuple[Array, State]:
        """Return the step for a gradient, and the new state."""
        raise NotImplementedError

    @staticmethod
    def keep(state: State, columns: NDArray[np.intp]) -> State:
        """Return the state of some of the configurations."""
        return {name: value[..., columns] if isinstance(value, np.ndarray) else value for name, value in state.items()}


@dataclass(frozen=True)
class Plain(StepRule):
    """Constant steps: rate times gradient."""

    def move(self, state: State, gradient: Array, rate: Array) -> tuple[Array, State]:
        """Return rate times gradient."""
        return rate * gradient, state


@dataclass(frozen=True)
class InverseRoot(StepRule):
    """Steps that shrink like 1 / sqrt(t)."""

    def move(self, state: State, gradient: Array, rate: Array) -> tuple[Array, State]:
        """Return rate / sqrt(t) times gradient."""
        t = state["t"] + 1
        return rate / math.sqrt(t) * gradient, {"t": t}


@dataclass(frozen=True)
class Adam(StepRule):
    """Adam (Kingma and Ba 2015), with the bias correction of every step."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def start(self, shape: tuple[int, ...], dtype: Any = np.float64) -> State:
        """Both moments are zero."""
        return {"t": 0, "m": np.zeros(shape, dtype), "v": np.zeros(shape, dtype)}

    def move(self, state: State, gradient: Array, rate: Array) -> tuple[Array, State]:
        """Return the bias-corrected step; the moments are updated in place."""
        t, m, v = state["t"] + 1, state["m"], state["v"]
        bias = math.sqrt(1 - self.beta2**t)
        correction, epsilon = bias / (1 - self.beta1**t), self.epsilon * bias
        if m.ndim == 2 and kernels.ready():
            step = np.empty_like(m)
            one = m.dtype.type
            numbers = one(self.beta1), one(self.beta2), one(correction), one(epsilon)
            compiled().adam(m, v, np.ascontiguousarray(gradient), rate, step, *numbers)
        else:
            m += (1 - self.beta1) * (gradient - m)
            v += (1 - self.beta2) * (gradient * gradient - v)
            step = m * (rate * correction) / (np.sqrt(v) + epsilon)
        return step, {"t": t, "m": m, "v": v}


ADAM = Adam()
STEPS: dict[str, StepRule] = {"plain": Plain(), "sqrt": InverseRoot(), "adam": ADAM}


def step_named(name: str | StepRule) -> StepRule:
    """Return a step rule by name (``"plain"``, ``"sqrt"``, ``"adam"``), or a rule itself."""
    if isinstance(name, StepRule):
        return name
    if name not in STEPS:
        raise AlgorithmError(f"the step rule must be one of {', '.join(map(repr, STEPS))}; got {name!r}")
    return STEPS[name]
