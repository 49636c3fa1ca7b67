r"""The slack player: picks :math:`\xi` to minimise its part of the Lagrangian.

.. math:: L_1 = \sum_a w_a \phi_a(\xi_a) - \sum_s \lambda_s \sigma_s \xi_s.

Strategies: `BestResponse` (closed form per atom, over the box of reachable values; a grid for black boxes; in
biconvex form it also descends on u), `Descent` (projected gradient steps) and `Implied` (no slack of its own:
it stands where the multipliers of follow-the-leader put it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem.table import AtomGroup, Table
from .steps import ADAM, StepRule

Array = NDArray[np.float64]
State = dict[str, Any]

GRID_POINTS = {1: 401, 2: 61, 3: 21}
"""Points per argument in the search for a black box's best response."""
ZOOM_POINTS = {1: 17, 2: 7, 3: 5}
"""Points per argument in each smaller grid around the best point so far."""
FINE = 1e-3
"""Spacing, as a share of the box, at which the search for a black box's best response ends."""
HOLD = 25
"""Rounds for which a black box is played at one level of its first arguments, and then at all of them."""
WINDOW = 1 / 8
"""Width of a level, as a share of the box."""


@dataclass(frozen=True)
class SlackPlayer:
    """Base of the strategies. ``state["xi"]`` holds the slacks (slacks, configurations)."""

    def start(self, table: Table, count: int) -> State:
        """Begin in the middle of the box."""
        middle = np.repeat(((table.lo + table.hi) / 2)[:, None], count, axis=1)
        return {"xi": middle}

    def answer(self, state: State, table: Table, multipliers: Array) -> State:
        """Choose this round's slacks, knowing this round's multipliers."""
        return state

    def learn(self, state: State, table: Table, multipliers: Array, rows: Array, rate: Array) -> State:
        """Prepare for the next round, knowing this round's rates."""
        return state

    def direct(self, state: State, table: Table, multipliers: Array) -> Array:
        """Multipliers of the direct rows: w u^2 in biconvex form."""
        return np.zeros((table.n_direct, multipliers.shape[1]))

    @staticmethod
    def keep(state: State, columns: NDArray[np.intp]) -> State:
        """Return the state of some of the configurations."""
        return {
            name: StepRule.keep(value, columns) if isinstance(value, dict) else value[..., columns]
            for name, value in state.items()
        }


@dataclass(frozen=True)
class Implied(SlackPlayer):
    """No slack of its own: follow-the-leader has minimised over it."""


@dataclass(frozen=True)
class BestResponse(SlackPlayer):
    """Minimise L1 exactly, atom by atom. In biconvex form, take a gradient step on u each round."""

    step: StepRule = ADAM

    def start(self, table: Table, count: int) -> State:
        """Begin in the middle, with u at its value there."""
        state = super().start(table, count)
        ratios = [g for g in table.groups if g.direct is not None]
        if ratios:
            state["u"] = np.zeros((len(table.program.atoms), count))
            for group in ratios:
                _, high = _u_box(table, group)
                state["u"][group.atoms] = np.minimum(0.5, high)[:, None]
            state["u_step"] = self.step.start(state["u"].shape)
        if any(group.form.grid for group in table.groups):
            state["rounds"] = np.zeros(count)
        return state

    def answer(self, state: State, table: Table, multipliers: Array) -> State:
        """Best response of every group of atoms at once."""
        xi = state["xi"].copy()
        weight = atom_weights(table, multipliers)
        price = table.coupling_sense * multipliers[table.couplings]
        for group in table.groups:
            w = weight[group.atoms]
            if group.direct is not None:
                w = 2 * state["u"][group.atoms] * w
            v, lo, hi = (
                price[group.slacks],
                table.lo[group.slacks][..., None],
                table.hi[group.slacks][..., None],
            )
            if group.form.grid:
                within = _level(group, lo, hi, int(state["rounds"][0]))
                xi[group.slacks] = _grid_response(group, w, v, *within)
            elif group.form.respond is not None:
                with np.errstate(over="ignore"):
                    xi[group.slacks] = group.form.respond(w, v, lo, hi)
        played = {"rounds": state["rounds"] + 1} if "rounds" in state else {}
        return {**state, "xi": xi, **played}

    def learn(self, state: State, table: Table, multipliers: Array, rows: Array, rate: Array) -> State:
        """Descend on u: the derivative of w (u^2 D - 2 u sqrt(xi))."""
        if "u" not in state:
            return state
        gradient = np.zeros_like(state["u"])
        weight = atom_weights(table, multipliers)
        for group in table.groups:
            if group.direct is not None:
                root = -group.form.value(state["xi"][group.slacks])
                u = state["u"][group.atoms]
                gradient[group.atoms] = 2 * weight[group.atoms] * (u * rows[group.direct] - root)
        move, u_step = self.step.move(state["u_step"], gradient, rate)
        u = state["u"] - move
        for group in table.groups:
            if group.direct is not None:
                low, high = _u_box(table, group)
                u[group.atoms] = np.clip(u[group.atoms], low[:, None], high[:, None])
        return {**state, "u": u, "u_step": u_step}

    def direct(self, state: State, table: Table, multipliers: Array) -> Array:
        """The denominator D enters with w u^2."""
        result = super().direct(state, table, multipliers)
        if not table.n_direct:
            return result
        weight = atom_weights(table, multipliers)
        first = table.program.n_multipliers
        for group in table.groups:
            if group.direct is not None:
                result[group.direct - first] = weight[group.atoms] * state["u"][group.atoms] ** 2
        return result


@dataclass(frozen=True)
class Descent(SlackPlayer):
    """Projected gradient steps on L1, inside the box."""

    step: StepRule = ADAM

    def start(self, table: Table, count: int) -> State:
        """Begin in the middle of the box."""
        state = super().start(table, count)
        return {**state, "xi_step": self.step.start(state["xi"].shape)}

    def learn(self, state: State, table: Table, multipliers: Array, rows: Array, rate: Array) -> State:
        """Take one step."""
        xi = state["xi"]
        move, xi_step = self.step.move(state["xi_step"], slack_gradient(table, xi, multipliers), rate)
        moved = np.clip(xi - move, table.lo[:, None], table.hi[:, None])
        return {**state, "xi": moved, "xi_step": xi_step}


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


def _u_box(table: Table, group: AtomGroup) -> tuple[Array, Array]:
    """0 <= u <= 1 / sqrt(smallest denominator): sqrt(D - N) / D <= 1 / sqrt(D)."""
    assert group.direct is not None
    low, _ = table.reach(group.direct)
    return np.zeros(len(group.atoms)), 1 / np.sqrt(np.maximum(low, group.floors))


def _level(group: AtomGroup, lo: Array, hi: Array, played: int) -> tuple[Array, Array]:
    """The part of the box that a black box is searched in: all of it, and by turns one level of all arguments but one.

    Over the whole box the game settles where the function's convex envelope is best. Elsewhere its own best point may
    lie; the levels, spread evenly however many rounds there are, make the multipliers ask for classifiers all along.
    """
    turn = played // HOLD
    free = np.flatnonzero((hi - lo)[:, 0, 0] > 0)
    if turn % 2 == 0 or len(free) < 2:
        return lo, hi
    low, high = lo.copy(), hi.copy()
    for k, argument in enumerate(free[:-1]):
        centre = (0.5 + (turn // 2) * (0.6180339887, 0.7548776662)[k]) % 1.0
        start = min(max(centre - WINDOW / 2, 0.0), 1.0 - WINDOW)
        width = hi[argument] - lo[argument]
        low[argument], high[argument] = lo[argument] + start * width, lo[argument] + (start + WINDOW) * width
    return low, high


def _grid_response(group: AtomGroup, weight: Array, price: Array, lo: Array, hi: Array) -> Array:
    """Search a grid over the box, then ever smaller ones around its best point: atoms are few, configurations many.

    The first grid finds the valley, whatever the function; the smaller ones find its bottom.
    """
    result = np.empty(price.shape)
    for a in range(group.slacks.shape[1]):
        low, width = lo[:, a], hi[:, a] - lo[:, a]
        free = width[:, 0] > 0  # an argument that only the data tell has a box of one point
        arity = max(int(free.sum()), 1)

        def objective(points: Array, a: int = a) -> Array:
            with np.errstate(all="ignore"):
                values = weight[a][:, None] * group.form.value(points) - (price[:, a, :, None] * points).sum(0)
            return np.where(np.isnan(values), np.inf, values)

        unit, spacing = _lattice(free, GRID_POINTS[arity])
        points = low[..., None] + width[..., None] * unit[:, None]
        best = _lowest(points, objective(points))
        offsets, _ = _lattice(free, ZOOM_POINTS[arity])
        while spacing > FINE:
            near = best[..., None] + width[..., None] * spacing * (2 * offsets[:, None] - free[:, None, None])
            near = np.clip(near, low[..., None], (low + width)[..., None])
            best = _lowest(near, objective(near))
            spacing *= 2 / (ZOOM_POINTS[arity] - 1)
        result[:, a] = best
    return result


def _lattice(free: NDArray[np.bool_], points: int) -> tuple[Array, float]:
    """A regular grid (arguments, points) over the unit box, flat where an argument is not free; and its spacing."""
    axes = [np.linspace(0, 1, points) if each else np.zeros(1) for each in free]
    return np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(free), -1), 1 / (points - 1)


def _lowest(points: Array, values: Array) -> Array:
    """The best of the points (arguments, configurations, points) for each configuration; ties go to the first."""
    index = np.argmin(values, axis=-1)
    shape = (len(points), *values.shape)
    chosen: Array = np.take_along_axis(np.broadcast_to(points, shape), index[None, :, None], axis=-1)[..., 0]
    return chosen
