r"""The constants of the paper's theorems: radius of the multipliers and step sizes, from the problem and the data.

In: a `Table`, an `Algorithm`, the number of rounds. Out: numbers. `solve` calls this for ``"theory"``.

Only couplings and constraints have multipliers here (affine parts get no slack), so L, the Lipschitz constant of the
theorems in the sup-norm, is the largest sum of the couplings' multipliers :math:`|\partial\psi/\partial\xi_s|` over the
box of reachable values.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from ..data.features import features
from ..models.capabilities import Pace
from ..models.contract import Model
from ..players.multipliers import leader
from ..players.slack import middle
from ..players.steps import Damped
from ..problem.table import AtomGroup, Table
from .algorithms import Algorithm

Array = NDArray[np.float64]


def lipschitz(table: Table, row: int) -> float:
    """L of one row (0: the objective): bound on the sum of the couplings' multipliers per unit of its multiplier."""
    bound = np.zeros(table.program.n_multipliers)
    bound[row] = 1.0
    for group in reversed(table.groups):  # outer atoms give inner ones their weight
        weight = (table.atom_weights.T @ bound)[group.atoms]
        bound[table.couplings.start + group.slacks] = weight * _steepest(table, group)
    return float(bound[table.couplings].sum())


def _steepest(table: Table, group: AtomGroup) -> Array:
    """Largest |slope| of every argument (arguments, atoms), which is attained at a corner of the box."""
    lo, hi = table.lo[group.slacks], table.hi[group.slacks]
    steepest = np.zeros(lo.shape)
    for k, end, others in itertools.product(range(len(lo)), (lo, hi), (lo, hi)):
        point = others.copy()
        point[k] = end[k]
        with np.errstate(all="ignore"):
            slope = np.abs(group.form.gradient(point[..., None])[k, ..., 0])
        steepest[k] = np.fmax(steepest[k], slope)
    return steepest


def row_ranges(table: Table) -> tuple[Array, Array]:
    """Smallest and largest values of the signed rows, atoms included, over all predictions and slacks."""
    low, high = (np.array(end, dtype=float) for end in table.reach(np.arange(table.program.n_multipliers)))
    if any(group.direct is not None for group in table.groups):  # a ratio N / D with 0 <= N <= D, up to its sign
        least, most = -np.ones(len(table.program.atoms)), np.ones(len(table.program.atoms))
    else:
        falling = table.sense[table.couplings] < 0  # an atom moves with the sense of its slacks
        ends = np.where(falling, table.hi, table.lo), np.where(falling, table.lo, table.hi)
        least, most = table.atom_values(np.stack(ends, axis=1)).T
    return low + table.atom_weights @ least, high + table.atom_weights @ most


def residual_bounds(table: Table) -> Array:
    """Bound on every residual that a multiplier sees, as of the true rates: constraints, then couplings.

    Surrogate rates are not bounded: multipliers that see them get the step size for the true rates.
    """
    low, high = row_ranges(table)
    sense = table.sense[table.couplings]
    slacks = np.sort(np.stack([sense * table.lo, sense * table.hi]), axis=0)
    low[table.couplings] -= slacks[1]
    high[table.couplings] -= slacks[0]
    return np.maximum(np.abs(low), np.abs(high))[1:]


def theory_radius(table: Table, algorithm: Algorithm, rounds: int, margin: float | None) -> float:
    """kappa: L without constraints, (L + 1) T^(1/4) for the surrogate, else 2 (L + 1) B_g / gamma.

    B_g is the objective's range. If the objective has atoms of its own, their multipliers are added.
    """
    objective = lipschitz(table, 0)
    if not table.program.n_constraints:
        return max(objective, 1e-6)
    L = max(lipschitz(table, 1 + j) for j in range(table.program.n_constraints))
    if not algorithm.responds and not algorithm.multipliers.sees_bounds:
        return objective + (L + 1) * float(np.sqrt(np.sqrt(rounds)))
    if margin is None or not 0 < margin < np.inf:
        raise AlgorithmError(
            'radius="theory" needs margin=...: by how much every constraint can be met with room to spare '
            f"(the theorem's gamma), a positive number; got {margin!r}"
        )
    low, high = row_ranges(table)
    return 2 * (objective + (L + 1) * float(high[0] - low[0]) / margin)


def damped_steps(table: Table, pace: Pace, learns_couplings: bool) -> Damped:
    """Steps of the multipliers of a model that is trained on batches: damped, and each constraint's in its own unit.

    The unit of a multiplier is the value at which its constraint changes an example's cost as much as an error does.
    For a constraint on a group, this is the group's share of the examples: a step that fits a rate over all examples is
    far too long for a group of one percent, and a step that fits the group takes a whole run for a constraint on all
    examples. If couplings are learnt, they and the constraints with atoms are priced by the atoms and have the unit 1;
    they are not damped, because slacks that best-respond jump. Otherwise atoms are linearised in the middle of their
    boxes. ``pace.units`` is how many units a constraint's multiplier moves where a coupling's moves by 1.
    """
    n, m = table.program.n_multipliers, table.program.n_constraints
    scale, damped = np.ones(n - 1), np.zeros(n - 1)
    learnt = np.flatnonzero(~table.nonlinear) if learns_couplings else np.arange(m)
    direct = np.zeros((table.n_direct, m))
    alone = np.concatenate([leader(table, middle(table, m), np.eye(m), objective=0.0), direct])
    most = np.abs(table.coefficients(alone)).max(axis=0, initial=0.0)
    scale[learnt] = pace.units / np.maximum(table.cells.totals.sum() * most[learnt], 1e-12)
    damped[learnt] = pace.damping or 0.0
    return Damped(damped, scale, pace.patience)


def theory_theta(table: Table, algorithm: Algorithm, model: Model, rounds: int, X: Any) -> float:
    r"""eta_theta = B_Theta / (B_theta sqrt(2 T)), with B_Theta the radius of the model's ball.

    :math:`B_\theta`, the bound on the gradient of the surrogate Lagrangian, is
    :math:`\max_\lambda \sum_i |k_i(\lambda)| \, s \, \|x_i\|` with k the coefficients of the predictions and s the
    surrogate's steepest slope.
    """
    linear = model.as_linear()
    if linear is None or linear.radius is None:
        raise AlgorithmError('theta_step="theory" needs a bounded model: model=Linear(radius=...)')
    X = features(X, len(table.examples))
    sparse = sp.issparse(X)
    squares = np.asarray((X.power(2) if sparse else X**2).sum(axis=1), dtype=np.float64).ravel()
    norms = np.sqrt(squares + (1.0 if linear.intercept else 0.0))
    lengths = table.cells.sums(norms[:, None])[:, 0]
    slope = algorithm.model.surrogate.slope_bound
    rows = slope * np.asarray(abs(table.matrix) @ lengths)[: table.program.n_multipliers]
    losses = sum(float(np.abs(coefficient) @ lengths) for coefficient in table.loss.values())  # slopes of at most 1
    weight = algorithm.multipliers.most
    steepest = rows[0] + losses + weight * rows[1:].max(initial=0.0) + linear.penalty * linear.radius
    return float(linear.radius / (max(float(steepest), 1e-9) * np.sqrt(2 * rounds)))
