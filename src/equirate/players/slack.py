r"""The slack player: picks :math:`\xi` to minimise its part of the Lagrangian.

.. math:: L_1 = \sum_a w_a \phi_a(\xi_a) - \sum_s \lambda_s \sigma_s \xi_s.

Strategies: `BestSlack` (closed form per atom, over the box of reachable values; a grid for black boxes; in
biconvex form it also descends on u), `DescendingSlack` (projected gradient steps) and `ImpliedSlack` (no slack of its
own: the multipliers of follow-the-leader determine it).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..problem.table import AtomGroup, Table
from .state import State
from .steps import ADAM, StepRule, StepState

Array = NDArray[np.float64]

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


@dataclass(frozen=True, eq=False)
class Slacks(State):
    """State of a slack player: the slacks (slacks, configurations) and, where it takes steps, those of its steps."""

    xi: Array
    step: StepState | None = None
    u: Array | None = None
    """(atoms, configurations), in biconvex form."""
    rounds: int = 0
    """Rounds with a best response, which determine the levels of black boxes."""


@dataclass(frozen=True)
class SlackPlayer:
    """Base of the strategies.

    ``answers_best`` says whether the slacks minimise the Lagrangian in every round, so that the Lagrangian bounds the
    optimum from below.
    """

    answers_best: ClassVar[bool] = False

    def stepping(self, rule: StepRule[Any]) -> Self:
        """The same player with another step rule, where it has one."""
        return self

    def start(self, table: Table, count: int) -> Slacks:
        """Begin in the middle of the box."""
        return Slacks(middle(table, count))

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
    """No slack of its own: follow-the-leader has minimised over it, and its multipliers are the gradient there."""

    answers_best: ClassVar[bool] = True


@dataclass(frozen=True)
class BestSlack(SlackPlayer):
    """Minimise L1 exactly, atom by atom. In biconvex form, take a gradient step on u each round."""

    step: StepRule[Any] = ADAM

    answers_best: ClassVar[bool] = True

    def stepping(self, rule: StepRule[Any]) -> Self:
        """Move on u by another rule."""
        return replace(self, step=rule)

    def start(self, table: Table, count: int) -> Slacks:
        """Begin in the middle, with u at its value there."""
        state = super().start(table, count)
        ratios = _ratios(table)
        if not ratios:
            return state
        u = np.zeros((len(table.program.atoms), count))
        for group, direct in ratios:
            _, high = _u_box(table, group, direct)
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
            v = price[group.slacks]
            lo, hi = table.lo[group.slacks][..., None], table.hi[group.slacks][..., None]
            if group.form.grid:
                within = _level(lo, hi, state.rounds)
                xi[group.slacks] = _grid_response(group, w, v, *within)
            elif group.form.respond is not None:
                with np.errstate(over="ignore"):
                    xi[group.slacks] = group.form.respond(w, v, lo, hi)
        return replace(state, xi=xi, rounds=state.rounds + 1)

    def learn(self, state: Slacks, table: Table, multipliers: Array, rows: Array, rate: Array) -> Slacks:
        """Descend on u: the derivative of w (u^2 D - 2 u sqrt(xi))."""
        if state.u is None:
            return state
        gradient = np.zeros_like(state.u)
        weight = atom_weights(table, multipliers)
        for group, direct in _ratios(table):
            root = -group.form.value(state.xi[group.slacks])
            u = state.u[group.atoms]
            gradient[group.atoms] = 2 * weight[group.atoms] * (u * rows[direct] - root)
        move, step = self.step.move(state.step, gradient, rate)
        u = state.u - move
        for group, direct in _ratios(table):
            low, high = _u_box(table, group, direct)
            u[group.atoms] = np.clip(u[group.atoms], low[:, None], high[:, None])
        return replace(state, u=u, step=step)

    def direct(self, state: Slacks, table: Table, multipliers: Array) -> Array:
        """The denominator D enters with w u^2."""
        result = super().direct(state, table, multipliers)
        if not table.n_direct:
            return result
        weight = atom_weights(table, multipliers)
        first = table.program.n_multipliers
        for group, direct in _ratios(table):
            result[direct - first] = weight[group.atoms] * _u_of(state)[group.atoms] ** 2
        return result


@dataclass(frozen=True)
class DescendingSlack(SlackPlayer):
    """Projected gradient steps on L1, inside the box."""

    step: StepRule[Any] = ADAM

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


def middle(table: Table, count: int) -> Array:
    """Slacks in the middle of their boxes."""
    return np.repeat(((table.lo + table.hi) / 2)[:, None], count, axis=1)


def atom_weights(table: Table, multipliers: Array) -> Array:
    """w_a = c_0a + sum_j lambda_j c_ja (+ the couplings that contain an inner atom)."""
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


def _ratios(table: Table) -> list[tuple[AtomGroup, NDArray[np.intp]]]:
    """The ratios in biconvex form, with the rows of their denominators."""
    return [(group, group.direct) for group in table.groups if group.direct is not None]


def _u_of(state: Slacks) -> Array:
    """U of a table in biconvex form, which `BestSlack.start` made."""
    if state.u is None:
        raise TypeError("these slacks were started for a table without ratios in biconvex form")
    return state.u


def _u_box(table: Table, group: AtomGroup, direct: NDArray[np.intp]) -> tuple[Array, Array]:
    """0 <= u <= 1 / sqrt(smallest denominator): sqrt(D - N) / D <= 1 / sqrt(D)."""
    low, _ = table.reach(direct)
    return np.zeros(len(group.atoms)), 1 / np.sqrt(np.maximum(low, group.floors))


def _level(lo: Array, hi: Array, played: int) -> tuple[Array, Array]:
    """The part of the box that a black box is searched in: all of it, or in turn one level of all arguments but one.

    Over the whole box the game converges to where the function's convex envelope is best, but the function's own best
    point may be elsewhere. The levels, spread evenly however many rounds there are, give classifiers all over the box.
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
        free = width[:, 0] > 0  # an argument that depends on the data alone has a box of one point
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
    axes = [np.linspace(0, 1, points) if varies else np.zeros(1) for varies in free]
    return np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(free), -1), 1 / (points - 1)


def _lowest(points: Array, values: Array) -> Array:
    """The best of the points (arguments, configurations, points) for each configuration; ties go to the first."""
    index = np.argmin(values, axis=-1)
    shape = (len(points), *values.shape)
    chosen: Array = np.take_along_axis(np.broadcast_to(points, shape), index[None, :, None], axis=-1)[..., 0]
    return chosen
