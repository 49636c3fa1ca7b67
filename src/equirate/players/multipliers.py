r"""The multiplier player: picks :math:`\lambda \ge 0` to maximise the Lagrangian.

Multipliers are arrays (rows, configurations) over objective, constraints and couplings; the objective's is 1,
except for the swap-regret player, who plays it too. The gradient of the Lagrangian is the *residual*

.. math:: \partial L/\partial\lambda_j = \ell_j(R) + \sum_a c_{ja}\phi_a(\xi_a), \qquad
          \partial L/\partial\lambda_s = \sigma_s(\mathrm{arg}_s(R) - \xi_s).

Strategies: `Ascent` (projected gradient steps), `FollowTheLeader` (:math:`\lambda = \nabla\psi` at the average
of the rates so far), `OuterAscent` (COCO: ascent on the constraints' multipliers around an inner Frank-Wolfe) and
`SwapRegret` (the stationary distribution of a multiplicatively updated matrix; Cotter et al. 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from .slack import atom_weights
from .steps import ADAM, StepRule

Array = NDArray[np.float64]
State = dict[str, Any]

ROUNDING = 1e-9
"""How far an argument may be outside a domain by rounding alone: 1 - positive_rate() of a sum of weights."""


@dataclass(frozen=True, kw_only=True)
class MultiplierPlayer:
    """Base of the strategies. ``state["lam"]`` holds the multipliers.

    ``surrogate`` says whether the player sees surrogate rates instead of the true ones.
    """

    surrogate: bool = False

    def start(self, table: Table, count: int) -> State:
        """Return the state before the first round."""
        raise NotImplementedError

    def learn(self, state: State, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> State:
        """Choose the next round's multipliers, knowing this round's rows and residuals."""
        raise NotImplementedError

    def share(self, state: State, t: int) -> Array:
        """Return the unnormalised weight of this round's classifier in the output that the theorem is about."""
        return np.ones(state["lam"].shape[1])

    def settled(self, state: State) -> bool:
        """Whether nothing is left to play for: the optimum is known to be reached."""
        return False

    @staticmethod
    def keep(state: State, columns: NDArray[np.intp]) -> State:
        """Return the state of some of the configurations."""
        return {
            name: StepRule.keep(value, columns)
            if isinstance(value, dict)
            else (value[..., columns] if isinstance(value, np.ndarray) else value)
            for name, value in state.items()
        }


@dataclass(frozen=True, kw_only=True)
class Ascent(MultiplierPlayer):
    """Gradient ascent, then projection on {lambda >= 0, |lambda|_1 <= radius}.

    Constraints with atoms in them keep a multiplier of at least ``floor``: the best response of a slack that
    no one has a stake in is a corner of its box. ``initial`` sets every multiplier's first value; None begins
    affine constraints at 0, those with atoms at 1 (near 0 their slacks would jump from end to end, and throw the
    multipliers far off), and the couplings at the gradient of the atoms in the middle of their boxes.
    """

    step: StepRule = ADAM
    radius: float = 100.0
    floor: float = 1e-4
    initial: float | None = None

    def start(self, table: Table, count: int) -> State:
        """Begin as ``initial`` says."""
        if self.initial is None:
            middle = np.repeat(((table.lo + table.hi) / 2)[:, None], count, axis=1)
            lam = leader(table, middle, np.repeat(table.nonlinear[:, None].astype(float), count, axis=1))
        else:
            lam = np.full((table.program.n_multipliers, count), self.initial)
            lam[0] = 1.0
        lam[1:] = project(lam[1:], self.radius)
        return {"lam": self._floored(lam, table), "lam_step": self.step.start(lam[1:].shape)}

    def learn(self, state: State, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> State:
        """Take one step up."""
        move, lam_step = self.step.move(state["lam_step"], residual[1:], rate)
        lam = state["lam"].copy()
        lam[1:] = project(lam[1:] + move, self.radius)
        return {**state, "lam": self._floored(lam, table), "lam_step": lam_step}

    def _floored(self, lam: Array, table: Table) -> Array:
        needy = table.needy
        if len(needy):
            lam[needy] = np.maximum(lam[needy], self.floor)
        return lam


@dataclass(frozen=True, kw_only=True)
class FollowTheLeader(MultiplierPlayer):
    """The multipliers that would have been best so far: the gradient at the average of the rates."""

    def start(self, table: Table, count: int) -> State:
        """Begin at the gradient at the rates of the classifier that says 0 to everybody."""
        rows = np.repeat(table.offset[: table.program.n_multipliers, None], count, axis=1)
        xi, _ = arguments(table, rows)
        nobody = np.zeros(count, dtype=bool)
        return {"lam": leader(table, xi), "xi": xi, "sum": np.zeros_like(rows), "left": nobody}

    def learn(self, state: State, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> State:
        """Average, then take the gradient."""
        total = state["sum"] + rows[: table.program.n_multipliers]
        xi, left = arguments(table, total / t)
        return {"lam": leader(table, xi), "xi": xi, "sum": total, "left": left}


@dataclass(frozen=True, kw_only=True)
class OuterAscent(MultiplierPlayer):
    r"""COCO (Narasimhan 2018): after every inner run of Frank-Wolfe, a step on the constraints' multipliers.

    Run s takes :math:`\lceil \mathrm{inner} \sqrt{s} \rceil` rounds: its Frank-Wolfe error is then of the order
    :math:`1/\sqrt{s}`, like the regret of the steps, so both vanish without knowing the number of rounds. With
    ``growing=False`` every run takes ``inner`` rounds, as in the paper's experiments.
    """

    step: StepRule = ADAM
    radius: float = 100.0
    inner: int = 5
    growing: bool = True

    def start(self, table: Table, count: int) -> State:
        """Begin with no weight on the constraints, at the classifier that says 0 to everybody."""
        rows = np.repeat(table.offset[: table.program.n_multipliers, None], count, axis=1)
        outer = np.zeros((table.program.n_constraints, count))
        xi, _ = arguments(table, rows)
        lam_step = self.step.start(outer.shape)
        return {"lam": leader(table, xi, outer), "xi": xi, "point": rows, "lam_step": lam_step, "run": 1, "k": 0}

    def learn(self, state: State, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> State:
        """Move the Frank-Wolfe point; at the end of an inner run, step on the multipliers."""
        run, k = state["run"], state["k"]
        gamma = 2 / (k + 2)
        point = (1 - gamma) * state["point"] + gamma * rows[: table.program.n_multipliers]
        outer, lam_step = state["lam"][table.constraints], state["lam_step"]
        xi, _ = arguments(table, point)
        if k + 1 == self.length(run):
            value = point + table.atom_matrix @ table.atom_values(xi)
            move, lam_step = self.step.move(lam_step, value[table.constraints], rate)
            outer, run, k = project(outer + move, self.radius), run + 1, -1
        lam = leader(table, xi, outer)
        return {"lam": lam, "xi": xi, "point": point, "lam_step": lam_step, "run": run, "k": k + 1}

    def length(self, run: int) -> int:
        """Rounds of an inner run, counted from 1."""
        return math.ceil(self.inner * math.sqrt(run)) if self.growing else self.inner

    def runs(self, rounds: int) -> int:
        """Number of inner runs that are finished, and of steps taken, after so many rounds."""
        run = 0
        while (rounds := rounds - self.length(run + 1)) >= 0:
            run += 1
        return run

    def share(self, state: State, t: int) -> Array:
        """Weight of the k-th inner round in its Frank-Wolfe point: gamma_k times the later (1 - gamma)."""
        length = self.length(state["run"])
        return np.full(state["lam"].shape[1], 2 * (state["k"] + 1) / (length * (length + 1)))


@dataclass(frozen=True, kw_only=True)
class SwapRegret(MultiplierPlayer):
    r"""Proxy-Lagrangian (Cotter et al. 2019): a distribution over objective and constraints without swap regret.

    A matrix M of column distributions is updated by :math:`M \odot \exp(\eta \Delta \lambda^\top)` and normalised;
    :math:`\lambda = M\lambda` is what is played. The objective's own entry of the gradient is 0.
    The rate is constant: with one that shrinks like 1/sqrt(t), six of the tests of its theorem were not met.
    """

    def start(self, table: Table, count: int) -> State:
        """Begin uniform."""
        m = table.program.n_multipliers
        return {"lam": np.full((m, count), 1 / m), "matrix": np.full((m, m, count), 1 / m)}

    def learn(self, state: State, table: Table, rows: Array, residual: Array, rate: Array, t: int) -> State:
        """Update the matrix and find its fixed point."""
        gradient = residual.copy()
        gradient[0] = 0.0
        exponent = rate * gradient[:, None] * state["lam"][None]
        grown = state["matrix"] * np.exp(np.clip(exponent, -50, 50))
        matrix = np.maximum(grown / grown.sum(0), 1e-12)
        return {"lam": stationary(matrix), "matrix": matrix}

    def share(self, state: State, t: int) -> Array:
        """Weight of the objective: the theorem's output favours rounds in which the constraints were at peace."""
        weight: Array = state["lam"][0].copy()
        return weight


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


def arguments(table: Table, rows: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Slacks at the arguments' own values, kept in their boxes; and which configurations left an atom's domain."""
    xi = np.zeros((table.n_slacks, rows.shape[1]))
    values = np.zeros((len(table.program.atoms), rows.shape[1]))
    left = np.zeros(rows.shape[1], dtype=bool)
    for group in table.groups:  # inner atoms come first
        signed = rows[table.couplings] + (table.atom_matrix @ values)[table.couplings]
        raw = (table.coupling_sense * signed)[group.slacks]
        left |= (raw < group.form.domain_lo - ROUNDING).any((0, 1))
        xi[group.slacks] = np.clip(raw, table.lo[group.slacks][..., None], table.hi[group.slacks][..., None])
        values[group.atoms] = group.form.value(xi[group.slacks])
    return xi, left


def leader(table: Table, xi: Array, constraints: Array | None = None) -> Array:
    """Multipliers that support the atoms at given slacks: lambda_s = w_a |d phi_a / d xi_s|."""
    lam = np.zeros((table.program.n_multipliers, xi.shape[1]))
    lam[0] = 1.0
    if constraints is not None:
        lam[table.constraints] = constraints
    first = table.couplings.start
    for group in reversed(table.groups):  # outer atoms give inner ones their weight
        weight = atom_weights(table, lam)[group.atoms]
        lam[first + group.slacks] = weight * np.abs(group.form.gradient(xi[group.slacks]))
    return lam
