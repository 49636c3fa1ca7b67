"""Step rules: how far to move along a gradient. One rate per configuration.

A rule is a pair of small functions over explicit state: ``start(shape)`` and ``move(state, gradient)``, which
returns the step to take (to be added or subtracted by the player) and the new state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core import kernels
from .._core.errors import AlgorithmError
from .._core.kernels import compiled
from .state import State

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepState(State):
    """How many steps were taken."""

    t: int


@dataclass(frozen=True, eq=False)
class AdamState(StepState):
    """Steps taken, and the running means of the gradient and of its square."""

    m: Array
    v: Array


S = TypeVar("S", bound=StepState)


@dataclass(frozen=True)
class StepRule(Generic[S]):
    """Base: `move`, in subclasses, multiplies by the rate."""

    def start(self, shape: tuple[int, ...], dtype: Any = np.float64) -> S:
        """Return the state before the first step, for parameters of a shape (..., configurations)."""
        raise NotImplementedError

    def move(self, state: S, gradient: Array, rate: Array) -> tuple[Array, S]:
        """Return the step for a gradient, and the new state."""
        raise NotImplementedError


@dataclass(frozen=True)
class Plain(StepRule[StepState]):
    """Constant steps: rate times gradient."""

    def start(self, shape: tuple[int, ...], dtype: Any = np.float64) -> StepState:
        """Nothing to remember."""
        return StepState(0)

    def move(self, state: StepState, gradient: Array, rate: Array) -> tuple[Array, StepState]:
        """Return rate times gradient."""
        return rate * gradient, state


@dataclass(frozen=True)
class InverseRoot(StepRule[StepState]):
    """Steps that shrink like 1 / sqrt(t)."""

    def start(self, shape: tuple[int, ...], dtype: Any = np.float64) -> StepState:
        """No steps were taken."""
        return StepState(0)

    def move(self, state: StepState, gradient: Array, rate: Array) -> tuple[Array, StepState]:
        """Return rate / sqrt(t) times gradient."""
        t = state.t + 1
        return rate / math.sqrt(t) * gradient, StepState(t)


@dataclass(frozen=True)
class Adam(StepRule[AdamState]):
    """Adam (Kingma and Ba 2015), with the bias correction of every step."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def start(self, shape: tuple[int, ...], dtype: Any = np.float64) -> AdamState:
        """Both moments are zero."""
        return AdamState(0, np.zeros(shape, dtype), np.zeros(shape, dtype))

    def move(self, state: AdamState, gradient: Array, rate: Array) -> tuple[Array, AdamState]:
        """Return the bias-corrected step; the moments are updated in place."""
        t, m, v = state.t + 1, state.m, state.v
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
        return step, AdamState(t, m, v)


@dataclass(frozen=True, eq=False)
class DampedState(StepState):
    """Steps taken, the gradient before, and for how many steps its sign has been the same."""

    last: Array
    same: Array


@dataclass(frozen=True, eq=False)
class Damped(StepRule[DampedState]):
    """Rate times the gradient and its change: a controller with an integral and a proportional part.

    Multipliers that only sum violations oscillate around a model that follows them with a delay; the change of the
    violation damps that (Stooke, Achiam and Abbeel 2020; Sohrabi et al. 2024). A model that hardly follows, such as a
    network that fits its data, needs much larger multipliers: while a violation keeps its sign, steps grow.

    Parameters
    ----------
    damping
        Steps that the change counts for, for each row of the gradient; where it is 0, steps do not grow either.
    scale
        A factor for each row: rows have units of their own.
    patience
        After so many steps with the same sign, they are e times as long.
    fastest
        How many times as long steps become at most.
    """

    damping: Array
    scale: Array
    patience: float
    fastest: float = 100.0

    def start(self, shape: tuple[int, ...], dtype: Any = np.float64) -> DampedState:
        """There was no gradient before."""
        return DampedState(0, np.zeros(shape, dtype), np.zeros(shape, dtype))

    def move(self, state: DampedState, gradient: Array, rate: Array) -> tuple[Array, DampedState]:
        """Return rate times the gradient, and its change since the last step times the damping."""
        change = gradient - state.last if state.t else np.zeros_like(gradient)
        same = np.where((gradient > 0) == (state.last > 0), state.same + 1, 0.0)
        grown = np.where(self.damping[:, None] > 0, same / self.patience, 0.0)
        faster = np.exp(np.minimum(grown, math.log(self.fastest)))
        step = rate * self.scale[:, None] * (faster * gradient + self.damping[:, None] * change)
        return step, DampedState(state.t + 1, gradient.copy(), same)


PLAIN, ADAM = Plain(), Adam()
STEPS: dict[str, StepRule[Any]] = {"plain": PLAIN, "sqrt": InverseRoot(), "adam": ADAM}


def step_named(name: str | StepRule[Any]) -> StepRule[Any]:
    """Return a step rule by name (``"plain"``, ``"sqrt"``, ``"adam"``), or a rule itself."""
    if isinstance(name, StepRule):
        return name
    if name not in STEPS:
        raise AlgorithmError(f"the step rule must be one of {', '.join(map(repr, STEPS))}; got {name!r}")
    return STEPS[name]
