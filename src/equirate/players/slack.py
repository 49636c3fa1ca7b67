r"""The slack player: picks :math:`\xi` to minimise its part of the Lagrangian.

.. math:: L_1 = \sum_a w_a \phi_a(\xi_a) - \sum_s \lambda_s \sigma_s \xi_s.

Strategies: `BestSlack` (closed form per atom, over the box of reachable values; a grid for black boxes; in
biconvex form it also descends on u), `DescendingSlack` (projected gradient steps) and `ImpliedSlack` (no slack of its
own: it stands where the multipliers of follow-the-leader put it).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..problem.table import AtomGroup, Table
from .state import State
from .steps import ADAM, StepRule, StepState

Array = NDArray[np.float64]

GRID_POINTS = {1: 401, 2: 61, 3: 21}
"""Points per argument in the search for a black box's best response."""


@dataclass(frozen=True, eq=False)
class Slacks(State):
    """State of a slack player: the slacks (slacks, configurations) and, where it takes steps, those of its steps."""

    xi: Array
    step: StepState | None = None
    u: Array | None = None
    """(atoms, configurations), in biconvex form."""


@dataclass(frozen=True)
class SlackPlayer:
    """Base of the strategies.

    ``takes_steps`` says whether the player moves by a step rule and uses the slack's step size; ``answers_best``
    whether its slacks minimise the Lagrangian in every round, so that the Lagrangian bounds the optimum from below.
    """

    @property
    def takes_steps(self) -> bool:
        """Whether the player moves by a step rule."""
        return False

    @property
    def answers_best(self) -> bool:
        """Whether the slacks minimise the Lagrangian in every round."""
        return False

    def stepping(self, rule: StepRule[Any]) -> Self:
        """The same player with another step rule, where it has one."""
        return self

    def start(self, table: Table, count: int) -> Slacks:
        """Begin in the middle of the box."""
        return Slacks(np.repeat(((table.lo + table.hi) / 2)[:, None], count, axis=1))

    def answer(self, state: Slacks, table: Table, multipliers: Array) -> Slacks:
        """Choose this round's slacks, knowing this round's multipliers."""
        return state

    def learn(self, state: Slacks, table: Table, multipliers: Array, rows: Array, rate: Array) -> Slacks:
        """Prepare for the next round, knowing this round's rates."""
        return state

    def direct(self, state: Slacks, table: Table, multipliers: Array) -> Array:
        """Multipliers of the direct rows: w u^2 in biconvex form."""
        return np.zeros((table.n_direct, multipliers.shape[1]))


@dataclass(frozen=True)
class ImpliedSlack(SlackPlayer):
    """No slack of its own: follow-the-leader has minimised over it."""

    @property
    def answers_best(self) -> bool:
        """Follow-the-leader's multipliers are the gradient there."""
        return True


@dataclass(frozen=True)
class BestSlack(SlackPlayer):
    """Minimise L1 exactly, atom by atom. In biconvex form, take a gradient step on u each round."""

    step: StepRule[Any] = ADAM

    @property
    def takes_steps(self) -> bool:
        """On u, in biconvex form."""
        return True

    @property
    def answers_best(self) -> bool:
        """Exactly."""
        return True

    def stepping(self, rule: StepRule[Any]) -> Self:
        """Move on u by another rule."""
        return replace(self, step=rule)

    def start(self, table: Table, count: int) -> Slacks:
        """Begin in the middle, with u at its value there."""
        state = super().start(table, count)
        ratios = [g for g in table.groups if g.direct is not None]
        if not ratios:
            return state
        u = np.zeros((len(table.program.atoms), count))
        for group in ratios:
            _, high = _u_box(table, group)
            u[group.atoms] = np.minimum(0.5, high)[:, None]
        return replace(state, u=u, step=self.step.start(u.shape))

    def answer(self, state: Slacks, table: Table, multipliers: Array) -> Slacks:
        """Best response of every group of atoms at once."""
        xi = state.xi.copy()
        weight = atom_weights(table, multipliers)
        price = table.coupling_sense * multipliers[table.couplings]
        for group in table.groups:
            w = weight[group.atoms]
            if group.direct is not None:
                w = 2 * _u_of(state)[group.atoms] * w
            v, lo, hi = (
                price[group.slacks],
                table.lo[group.slacks][..., None],
                table.hi[group.slacks][..., None],
            )
            if group.form.grid:
                xi[group.slacks] = _grid_response(group, w, v, lo, hi)
            elif group.form.respond is not None:
                with np.errstate(over="ignore"):
                    xi[group.slacks] = group.form.respond(w, v, lo, hi)
        return replace(state, xi=xi)

    def learn(self, state: Slacks, table: Table, multipliers: Array, rows: Array, rate: Array) -> Slacks:
        """Descend on u: the derivative of w (u^2 D - 2 u sqrt(xi))."""
        if state.u is None:
            return state
        gradient = np.zeros_like(state.u)
        weight = atom_weights(table, multipliers)
        for group in table.groups:
            if group.direct is not None:
                root = -group.form.value(state.xi[group.slacks])
                u = state.u[group.atoms]
                gradient[group.atoms] = 2 * weight[group.atoms] * (u * rows[group.direct] - root)
        move, step = self.step.move(state.step, gradient, rate)
        u = state.u - move
        for group in table.groups:
            if group.direct is not None:
                low, high = _u_box(table, group)
                u[group.atoms] = np.clip(u[group.atoms], low[:, None], high[:, None])
        return replace(state, u=u, step=step)

    def direct(self, state: Slacks, table: Table, multipliers: Array) -> Array:
        """The denominator D enters with w u^2."""
        result = super().direct(state, table, multipliers)
        if not table.n_direct:
            return result
        weight = atom_weights(table, multipliers)
        first = table.program.n_multipliers
        for group in table.groups:
            if group.direct is not None:
                result[group.direct - first] = weight[group.atoms] * _u_of(state)[group.atoms] ** 2
        return result


@dataclass(frozen=True)
class DescendingSlack(SlackPlayer):
    """Projected gradient steps on L1, inside the box."""

    step: StepRule[Any] = ADAM

    @property
    def takes_steps(self) -> bool:
        """Every round."""
        return True

    def stepping(self, rule: StepRule[Any]) -> Self:
        """Move by another rule."""
        return replace(self, step=rule)

    def start(self, table: Table, count: int) -> Slacks:
        """Begin in the middle of the box."""
        state = super().start(table, count)
        return replace(state, step=self.step.start(state.xi.shape))

    def learn(self, state: Slacks, table: Table, multipliers: Array, rows: Array, rate: Array) -> Slacks:
        """Take one step."""
        move, step = self.step.move(state.step, slack_gradient(table, state.xi, multipliers), rate)
        return replace(state, xi=np.clip(state.xi - move, table.lo[:, None], table.hi[:, None]), step=step)


def atom_weights(table: Table, multipliers: Array) -> Array:
    """w_a = c_0a + sum_j lambda_j c_ja (+ the couplings that an inner atom stands in)."""
    weights: Array = table.atom_matrix.T @ multipliers[: table.program.n_multipliers]
    return weights


def slack_gradient(table: Table, xi: Array, multipliers: Array) -> Array:
    """Gradient of L1 with respect to the slacks."""
    weight = atom_weights(table, multipliers)
    gradient = -table.coupling_sense * multipliers[table.couplings]
    for group in table.groups:
        slopes = weight[group.atoms] * group.form.gradient(xi[group.slacks])
        gradient[group.slacks] += slopes  # every slack belongs to one atom
    return gradient


def _u_of(state: Slacks) -> Array:
    """U of a table in biconvex form, which `BestSlack.start` made."""
    if state.u is None:
        raise TypeError("these slacks were started for a table without ratios in biconvex form")
    return state.u


def _u_box(table: Table, group: AtomGroup) -> tuple[Array, Array]:
    """0 <= u <= 1 / sqrt(smallest denominator): sqrt(D - N) / D <= 1 / sqrt(D)."""
    assert group.direct is not None
    low, _ = table.reach(group.direct)
    return np.zeros(len(group.atoms)), 1 / np.sqrt(np.maximum(low, group.floors))


def _grid_response(group: AtomGroup, weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    """Search a grid over the box: atoms are few, configurations many."""
    arity, count = group.slacks.shape
    result = np.empty(price.shape)
    axis = np.linspace(0, 1, GRID_POINTS[arity])
    unit = np.array(np.meshgrid(*([axis] * arity), indexing="ij")).reshape(arity, -1)
    for a in range(count):
        points = lo[:, a] + (hi[:, a] - lo[:, a]) * unit
        objective = weight[a] * group.form.value(points)[:, None] - points.T @ price[:, a]
        result[:, a] = points[:, np.argmin(np.where(np.isnan(objective), np.inf, objective), axis=0)]
    return result
