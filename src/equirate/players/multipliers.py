r"""The multiplier player: picks :math:`\lambda \ge 0` within a radius to maximise the Lagrangian.

Multipliers are arrays (rows, configurations) over objective, constraints and couplings; the objective's is 1,
except for the swap-regret player, who plays it too. The gradient of the Lagrangian is the *residual*

.. math:: \partial L/\partial\lambda_j = \ell_j(R) + \sum_a c_{ja}\phi_a(\xi_a), \qquad
          \partial L/\partial\lambda_s = \sigma_s(\mathrm{arg}_s(R) - \xi_s).

Strategies: `Ascent` (projected gradient steps), `FollowTheLeader` (:math:`\lambda = \nabla\psi` at the average
of the rates so far), `Following` (that gradient at the present rates, and ascent on the constraints' multipliers),
`OuterAscent` (COCO: ascent on the constraints' multipliers around an inner Frank-Wolfe) and
`SwapRegret` (the stationary distribution of a multiplicatively updated matrix; Cotter et al. 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..problem.table import Table
from .slack import atom_weights, middle
from .state import State
from .steps import ADAM, StepRule, StepState

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Multipliers(State):
    """State of a multiplier player: the multipliers (rows, configurations) that it plays next.

    ``slacks`` are those that the multipliers imply, if the player minimises over them itself; ``left`` says which
    configurations left an atom's domain, if the player checks that.
    """

    lam: Array
    slacks: Array | None = field(default=None, kw_only=True)
    left: NDArray[np.bool_] | None = field(default=None, kw_only=True)


S = TypeVar("S", bound=Multipliers)


@dataclass(frozen=True, kw_only=True)
class MultiplierPlayer(Generic[S]):
    """Base of the strategies, and the interface for new ones.

    `start` and `learn` are the strategy. The attributes declare what the player needs and provides. ``sees_bounds``
    says whether it sees the model's surrogate bounds instead of the true rates.
    """

    sees_bounds: bool = False

    takes_steps: ClassVar[bool] = True
    """Whether the player uses the multipliers' step size."""
    plays_objective: ClassVar[bool] = False
    """Whether the objective's multiplier is played, too, instead of being 1."""
    has_radius: ClassVar[bool] = False
    """Whether the player projects on a radius that can be set (`within`)."""
    has_regret: ClassVar[bool] = False
    """Whether the player's theorem bounds the regret against the best fixed multipliers."""
    learns_couplings: ClassVar[bool] = True
    """Whether the multipliers of couplings take steps of their own."""

    @property
    def most(self) -> float:
        """Bound on the sum of the multipliers, without the objective's."""
        return 1.0

    def stepping(self, rule: StepRule[Any]) -> Self:
        """The same player with another step rule, where it has one."""
        return self

    def within(self, radius: float) -> Self:
        """The same player with another bound on the sum of the multipliers, where it has one."""
        return self

    def theory_rate(self, bounds: Array, n_constraints: int, rounds: int) -> float:
        """The step size of the player's theorem; ``bounds`` are those on the residuals (constraints, couplings)."""
        raise AlgorithmError(f'{type(self).__name__} has no theorem here: give lambda_step a number, not "theory"')

    def start(self, table: Table, count: int) -> S:
        """Return the state before the first round."""
        raise NotImplementedError

    def learn(self, state: S, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> S:
        """Choose the next round's multipliers, knowing this round's rows and residuals."""
        raise NotImplementedError

    def share(self, state: S) -> Array:
        """Return the unnormalised weight of this round's classifier in the output that the theorem is about."""
        return np.ones(state.lam.shape[1])


@dataclass(frozen=True, kw_only=True)
class Ascending(MultiplierPlayer[S]):
    """Players that take steps up and project on {lambda >= 0, |lambda|_1 <= radius}."""

    step: StepRule[Any] = ADAM
    radius: float = 100.0

    has_radius: ClassVar[bool] = True

    @property
    def most(self) -> float:
        """The radius of the projection."""
        return self.radius

    def stepping(self, rule: StepRule[Any]) -> Self:
        """Ascend by another rule."""
        return replace(self, step=rule)

    def within(self, radius: float) -> Self:
        """Project on another radius."""
        return replace(self, radius=radius)


@dataclass(frozen=True, eq=False)
class AscentState(Multipliers):
    """Multipliers, and the state of their steps."""

    step: StepState


@dataclass(frozen=True, kw_only=True)
class Ascent(Ascending[AscentState]):
    """Gradient ascent, then projection on {lambda >= 0, |lambda|_1 <= radius}.

    Constraints with atoms in them keep a multiplier of at least ``floor``: with weight 0, the best response of a slack
    is a corner of its box. ``initial`` sets every multiplier's first value; None begins affine constraints at 0, those
    with atoms at 1 (near 0 their slacks would jump from end to end, and the multipliers would diverge), and the
    couplings at the gradient of the atoms in the middle of their boxes.
    """

    floor: float = 1e-4
    initial: float | None = None

    has_regret: ClassVar[bool] = True  # that of online gradient ascent

    def theory_rate(self, bounds: Array, n_constraints: int, rounds: int) -> float:
        """eta_lambda = kappa / (B_lambda sqrt(2 T))."""
        return self.radius / (max(float(np.linalg.norm(bounds)), 1e-9) * math.sqrt(2 * rounds))

    def start(self, table: Table, count: int) -> AscentState:
        """Begin as ``initial`` says."""
        if self.initial is None:
            with_atoms = np.repeat(table.nonlinear[:, None].astype(float), count, axis=1)
            lam = leader(table, middle(table, count), with_atoms)
        else:
            lam = np.full((table.program.n_multipliers, count), self.initial)
            lam[0] = 1.0
        lam[1:] = project(lam[1:], self.radius)
        return AscentState(self._floored(lam, table), self.step.start(lam[1:].shape))

    def learn(self, state: AscentState, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> AscentState:
        """Take one step up."""
        move, step = self.step.move(state.step, residual[1:], rate)
        lam = state.lam.copy()
        lam[1:] = project(lam[1:] + move, self.radius)
        return AscentState(self._floored(lam, table), step)

    def _floored(self, lam: Array, table: Table) -> Array:
        with_atoms = table.constraints_with_atoms
        if len(with_atoms):
            lam[with_atoms] = np.maximum(lam[with_atoms], self.floor)
        return lam


@dataclass(frozen=True, eq=False)
class LeaderState(Multipliers):
    """Multipliers, and the sum of the rows so far."""

    total: Array


@dataclass(frozen=True, kw_only=True)
class FollowTheLeader(MultiplierPlayer[LeaderState]):
    """The multipliers that would have been best so far: the gradient at the average of the rates."""

    takes_steps: ClassVar[bool] = False

    def start(self, table: Table, count: int) -> LeaderState:
        """Begin at the gradient at the rates of the classifier that predicts 0 for everybody."""
        rows = _rows_of_nobody(table, count)
        xi = table.arguments(rows)[0]
        none_left = np.zeros(count, dtype=bool)
        return LeaderState(leader(table, xi), np.zeros_like(rows), slacks=xi, left=none_left)

    def learn(self, state: LeaderState, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> LeaderState:
        """Average, then take the gradient."""
        total = state.total + rows[: table.program.n_multipliers]
        xi, _, left = table.arguments(total / t)
        return LeaderState(leader(table, xi), total, slacks=xi, left=left)


@dataclass(frozen=True, eq=False)
class OuterState(Multipliers):
    """Multipliers, the Frank-Wolfe point of the inner run, and the number of the run and of its round."""

    point: Array
    step: StepState
    run: int = 1
    k: int = 0


@dataclass(frozen=True, kw_only=True)
class OuterAscent(Ascending[OuterState]):
    r"""COCO (Narasimhan 2018): after every inner run of Frank-Wolfe, a step on the constraints' multipliers.

    Run s takes :math:`\lceil \mathrm{inner} \sqrt{s} \rceil` rounds: its Frank-Wolfe error is then of the order
    :math:`1/\sqrt{s}`, like the regret of the steps, so both vanish without knowing the number of rounds. With
    ``growing=False`` every run takes ``inner`` rounds, as in the paper's experiments.
    """

    inner: int = 5
    growing: bool = True

    def theory_rate(self, bounds: Array, n_constraints: int, rounds: int) -> float:
        """As for `Ascent`, with one step per inner run, on the constraints alone."""
        norm = max(float(np.linalg.norm(bounds[:n_constraints])), 1e-9)
        return self.radius / (norm * math.sqrt(2 * max(self.runs(rounds), 1)))

    def start(self, table: Table, count: int) -> OuterState:
        """Begin with no weight on the constraints, at the classifier that predicts 0 for everybody."""
        rows = _rows_of_nobody(table, count)
        outer = np.zeros((table.program.n_constraints, count))
        xi = table.arguments(rows)[0]
        return OuterState(leader(table, xi, outer), rows, self.step.start(outer.shape), slacks=xi)

    def learn(self, state: OuterState, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> OuterState:
        """Move the Frank-Wolfe point; at the end of an inner run, step on the multipliers."""
        run, k, step = state.run, state.k, state.step
        gamma = 2 / (k + 2)
        point = (1 - gamma) * state.point + gamma * rows[: table.program.n_multipliers]
        outer = state.lam[table.constraints]
        xi, values, _ = table.arguments(point)
        if k + 1 == self.length(run):
            value = point + table.atom_matrix @ values
            move, step = self.step.move(step, value[table.constraints], rate)
            outer, run, k = project(outer + move, self.radius), run + 1, -1
        return OuterState(leader(table, xi, outer), point, step, run, k + 1, slacks=xi)

    def length(self, run: int) -> int:
        """Rounds of an inner run, counted from 1."""
        return math.ceil(self.inner * math.sqrt(run)) if self.growing else self.inner

    def runs(self, rounds: int) -> int:
        """Number of inner runs that are finished, and of steps taken, after so many rounds."""
        run = 0
        while (rounds := rounds - self.length(run + 1)) >= 0:
            run += 1
        return run

    def share(self, state: OuterState) -> Array:
        """Weight of the k-th inner round in its Frank-Wolfe point: gamma_k times the later (1 - gamma)."""
        length = self.length(state.run)
        return np.full(state.lam.shape[1], 2 * (state.k + 1) / (length * (length + 1)))


@dataclass(frozen=True, eq=False)
class FollowingState(Multipliers):
    """Multipliers, the rates that the atoms are priced at, and the state of the constraints' steps."""

    point: Array
    step: StepState


@dataclass(frozen=True, kw_only=True)
class Following(Ascending[FollowingState]):
    """Price the atoms at the present rates, and take steps up on the constraints' multipliers alone.

    The couplings' multipliers are the gradient of the atoms at a running mean of the rates: a model that descends then
    moves along the gradient of the function itself, ratios as well. Only constraints are learnt by violating them.

    Parameters
    ----------
    memory
        Rounds that the mean of the rates goes over.
    edge
        Share of its box that an argument is kept away from both ends when the gradient is taken: that of a root or a
        logarithm has no bound there.
    """

    memory: float = 10.0
    edge: float = 0.01

    learns_couplings: ClassVar[bool] = False

    def start(self, table: Table, count: int) -> FollowingState:
        """Begin in the middle of the boxes, with no weight on constraints."""
        xi = middle(table, count)
        rows = _rows_of_nobody(table, count)
        return FollowingState(leader(table, xi), rows, self.step.start(rows[1:].shape), slacks=xi)

    def learn(
        self, state: FollowingState, table: Table, rows: Array, residual: Array, rate: Array, t: int
    ) -> FollowingState:
        """Move the mean; step on the constraints by their values at the present rates."""
        rows = rows[: table.program.n_multipliers]
        point = state.point + max(1 / t, 1 / self.memory) * (rows - state.point)
        values = table.arguments(rows)[1]
        gradient = np.zeros_like(rows)
        gradient[table.constraints] = (rows + table.atom_matrix @ values)[table.constraints]
        move, step = self.step.move(state.step, gradient[1:], rate)
        constraints = project((state.lam[1:] + move)[: table.program.n_constraints], self.radius)
        xi, _, left = table.arguments(point)
        room = self.edge * (table.hi - table.lo)[:, None]
        inside = np.clip(xi, table.lo[:, None] + room, table.hi[:, None] - room)
        return FollowingState(leader(table, inside, constraints), point, step, slacks=xi, left=left)


@dataclass(frozen=True, eq=False)
class SwapState(Multipliers):
    """Multipliers, and the matrix of column distributions that they are the fixed point of."""

    matrix: Array


@dataclass(frozen=True, kw_only=True)
class SwapRegret(MultiplierPlayer[SwapState]):
    r"""Proxy-Lagrangian (Cotter et al. 2019): a distribution over objective and constraints without swap regret.

    A matrix M of column distributions is updated by :math:`M \odot \exp(\eta \Delta \lambda^\top)` and normalised;
    :math:`\lambda = M\lambda` is what is played. The objective's own entry of the gradient is 0.
    The rate is constant: with one that shrinks like 1/sqrt(t), six of the tests of its theorem were not met.
    """

    plays_objective: ClassVar[bool] = True

    def theory_rate(self, bounds: Array, n_constraints: int, rounds: int) -> float:
        """sqrt(m log m / (T B^2)), B in the sup-norm."""
        m = max(1 + len(bounds), 2)
        return math.sqrt(m * math.log(m) / rounds) / max(float(bounds.max(initial=0.0)), 1e-9)

    def start(self, table: Table, count: int) -> SwapState:
        """Begin uniform."""
        m = table.program.n_multipliers
        return SwapState(np.full((m, count), 1 / m), np.full((m, m, count), 1 / m))

    def learn(self, state: SwapState, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> SwapState:
        """Update the matrix and find its fixed point."""
        gradient = residual.copy()
        gradient[0] = 0.0
        exponent = rate * gradient[:, None] * state.lam[None]
        grown = state.matrix * np.exp(np.clip(exponent, -50, 50))
        matrix = np.maximum(grown / grown.sum(0), 1e-12)
        return SwapState(stationary(matrix), matrix)

    def share(self, state: SwapState) -> Array:
        """Weight of the objective: the theorem's output favours rounds in which the constraints were satisfied."""
        weight: Array = state.lam[0].copy()
        return weight


@dataclass(frozen=True, kw_only=True)
class MasterDuals(MultiplierPlayer[Any]):
    """The duals of the best mixture so far, which `game.column_generation` solves for, without steps or learning."""


def _rows_of_nobody(table: Table, count: int) -> Array:
    """Rows of the classifier that predicts 0 for everybody, for every configuration."""
    return np.repeat(table.offset[: table.program.n_multipliers, None], count, axis=1)


def project(points: Array, radius: float) -> Array:
    """Project every column on {x >= 0, sum x <= radius} in Euclidean distance.

    Examples
    --------
    >>> project(np.array([[3.0, 0.2], [1.0, -1.0]]), 2.0)
    array([[2. , 0.2],
           [0. , 0. ]])
    """
    clipped = np.maximum(points, 0.0)
    over = clipped.sum(0) > radius
    if not over.any():
        return clipped
    # Duchi et al. 2008: subtract the threshold at which the sorted partial sums meet the radius.
    columns = points[:, over]
    ordered = -np.sort(-columns, axis=0)
    count = np.arange(1, len(points) + 1)[:, None]
    thresholds = (np.cumsum(ordered, axis=0) - radius) / count
    last = (ordered > thresholds).cumsum(0).argmax(0)
    clipped[:, over] = np.maximum(columns - np.take_along_axis(thresholds, last[None], axis=0), 0.0)
    return clipped


def stationary(matrix: Array) -> Array:
    """Fixed point of every column-stochastic matrix (rows, rows, configurations)."""
    stacked = np.moveaxis(matrix / matrix.sum(0), -1, 0)
    m = stacked.shape[-1]
    solution = np.linalg.solve(np.eye(m) - stacked + 1.0, np.ones((len(stacked), m, 1)))[..., 0]
    positive = np.maximum(solution, 0.0)
    return np.ascontiguousarray((positive / positive.sum(1, keepdims=True)).T)


def leader(table: Table, xi: Array, constraints: Array | None = None, objective: float = 1.0) -> Array:
    """Multipliers that support the atoms at given slacks: lambda_s = w_a |d phi_a / d xi_s|."""
    lam = np.zeros((table.program.n_multipliers, xi.shape[1]))
    lam[0] = objective
    if constraints is not None:
        lam[table.constraints] = constraints
    first = table.couplings.start
    for group in reversed(table.groups):  # outer atoms give inner ones their weight
        weight = atom_weights(table, lam)[group.atoms]
        lam[first + group.slacks] = weight * np.abs(group.form.gradient(xi[group.slacks]))
    return lam
