r"""A problem over the mixtures of columns: its values at a mixture, and its linear programme.

In: a table and the signed rows of every column. Out: `MixtureProgramme`, which the other modules of this package use.

Variables of the programme are the mixture :math:`\mu` and the *others*: a slack :math:`\xi_s` per argument of an atom,
a value :math:`\tau_a` per atom, the violation v, and a value :math:`z_m` per ratio. Its rows are

.. math::

    \ell_j(\mu) + \sum_a c_{ja}\tau_a \le v, \qquad
    \sigma_s\big(\ell_s(\mu) + \sum_b c_{sb}\tau_b - \xi_s\big) \le 0
    \quad(= 0 \text{ for numerators } N \text{ and denominators } D \text{ of ratios}),

and those that relate :math:`\tau` to its atom: cuts
:math:`\tau_a \ge \phi_a(\xi^0) + \nabla\phi_a(\xi^0)(\xi - \xi^0)` for convex atoms, which hold for any columns; for
ratios either a linearisation at a mixture (`near`), or the McCormick envelope of :math:`N = z D` over a box (`inside`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..problem.table import Table
from .linear import FEASIBLE, Programme, solve_over_simplex

Array = NDArray[np.float64]

_SAME = 1e-10
"""A cut violated by less than this, relative to its largest coefficient, is not added."""

_SHARES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
"""Relative positions in their boxes where atoms are cut initially: this saves programmes."""


@dataclass(frozen=True, eq=False)
class Cut:
    """One more row of the programme: ``slopes . (xi, tau) <= limit``."""

    slopes: Array
    limit: float


@dataclass(frozen=True, eq=False)
class Ratio:
    """N / D over the columns, and the atoms +N / D and -N / D."""

    top: int
    bottom: int
    """Indices of the slacks that equal numerator and denominator."""
    numerator: Array
    denominator: Array
    floor: float
    """Smallest denominator that is allowed."""
    atoms: tuple[tuple[int, float], ...]
    """Atoms and their signs."""


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds of all ratios (2, ratios): of their denominators, then of their values."""

    low: Array
    high: Array

    def split(self, side: int, m: int, at: float) -> tuple[Box, Box]:
        """Two parts, split at a ratio's denominator (side 0) or value (side 1)."""
        below, above = self.high.copy(), self.low.copy()
        below[side, m] = above[side, m] = at
        return Box(self.low, below), Box(above, self.high)

    def side_lost(self, outer: Box) -> float:
        """The largest fraction by which a side is shorter than in ``outer``."""
        before, after = outer.high - outer.low, self.high - self.low
        return float(np.max((before - after)[before > 0] / before[before > 0], initial=0.0))


class MixtureProgramme:
    """A problem over mixtures of columns; see the module's docstring."""

    def __init__(self, table: Table, rows: Array, cuts: list[Cut], start: Array) -> None:
        self.table, self.rows, self.cuts = table, rows, cuts
        self.n_columns, self.n_slacks, self.n_atoms = rows.shape[1], table.n_slacks, len(table.program.atoms)
        self.n_constraints = table.program.n_constraints
        self.convex = [group for group in table.groups if group.form.respond is not None]
        self.ratios = self._ratios()
        self.violation_index = self.n_slacks + self.n_atoms
        self.cost = np.zeros(self.violation_index + 1 + len(self.ratios))
        self.cost[self.n_slacks : self.violation_index] = table.atom_weights[0]
        if not cuts:
            for share in _SHARES:
                self.cut_at(table.lo + share * (table.hi - table.lo))
        self.cut_at(self.at(start)[0])
        self._known = 0
        self._cutoff: int | None = None
        self.programme = self._programme(start)
        self._add_cuts()

    def extend(self, rows: Array) -> None:
        """Add columns, given by their signed rows."""
        self.rows = np.concatenate([self.rows, rows], axis=1)
        columns = np.zeros((self._first_envelope + 4 * len(self.ratios), rows.shape[1]))
        columns[: self.n_constraints + self.n_slacks] = rows[1:]
        self.programme.extend(columns)
        self.n_columns += rows.shape[1]
        self.ratios = [
            replace(ratio, numerator=self._argument(ratio.top), denominator=self._argument(ratio.bottom))
            for ratio in self.ratios
        ]

    def _argument(self, slack: int) -> Array:
        """Value of a slack for every column."""
        row = 1 + self.n_constraints + slack
        return np.asarray(self.table.sense[row] * self.rows[row])

    # -- values at a mixture ---------------------------------------------------------------------

    def at(self, mu: Array) -> tuple[Array, Array]:
        """Arguments of the atoms at a mixture, and the atoms' values (inner atoms first)."""
        return atoms_at(self.table, self.rows @ mu)

    def judge(self, mu: Array) -> tuple[float, float]:
        """Objective and largest violation (at least 0) of a mixture."""
        return judged(self.table, self.rows @ mu)

    def merit(self, mu: Array, penalty: float) -> float:
        """Objective plus the price of the violation."""
        objective, violation = self.judge(mu)
        return objective + penalty * violation

    # -- objectives ------------------------------------------------------------------------------

    def minimize_within(self, room: float | None) -> None:
        """Minimise the objective with a violation of at most ``room``; if that is None, minimise the violation."""
        if room is None:
            self.programme.set_objective(np.zeros(self.n_columns), np.eye(1, len(self.cost), self.violation_index)[0])
            self.programme.bound(self.violation_index, 0.0, np.inf)
        else:
            self.programme.set_objective(self.rows[0], self.cost)
            self.programme.bound(self.violation_index, 0.0, room + FEASIBLE)

    def minimize_function(self, objective: Array, room: float) -> None:
        """Minimise a function of the columns, given by its value at each, with a violation of at most ``room``."""
        self.programme.set_objective(objective, np.zeros_like(self.cost))
        self.programme.bound(self.violation_index, 0.0, room + FEASIBLE)

    def optimize_variable(self, other: int, sign: float) -> None:
        """Minimise (``sign`` 1) or maximise (-1) one of the other variables; the bounds stay as they are."""
        self.programme.set_objective(np.zeros(self.n_columns), sign * np.eye(1, len(self.cost), other)[0])

    def set_cutoff(self, cutoff: float, violation: bool) -> None:
        """Exclude mixtures whose violation, or else whose objective, is above ``cutoff``."""
        if violation:
            self.programme.bound(self.violation_index, 0.0, cutoff)
            return
        if self._cutoff is None:
            self._cutoff = self.programme.add(self.cost[None], np.array([np.inf]), self.rows[:1])
        self.programme.limit(self._cutoff, cutoff)

    def minimize_merit(self, penalty: float) -> None:
        """Minimise objective plus ``penalty`` times violation."""
        cost = self.cost.copy()
        cost[self.violation_index] = penalty
        self.programme.set_objective(self.rows[0], cost)
        self.programme.bound(self.violation_index, 0.0, np.inf)

    # -- convex atoms: cuts ----------------------------------------------------------------------

    def cut_at(self, xi: Array, others: Array | None = None) -> int:
        """Cut every convex atom at its arguments; with ``others``, add only cuts that they violate.

        Returns how many cuts were added.
        """
        before = len(self.cuts)
        for group in self.convex:
            points = xi[group.slacks][..., None]
            with np.errstate(all="ignore"):
                values, slopes = group.form.value(points)[..., 0], group.form.gradient(points)[..., 0]
            for k, atom in enumerate(group.atoms):
                if not (np.isfinite(values[k]) and np.isfinite(slopes[:, k]).all()):
                    continue
                row = np.zeros(self.n_slacks + self.n_atoms)
                row[group.slacks[:, k]] = slopes[:, k]
                row[self.n_slacks + atom] = -1.0
                limit = float(slopes[:, k] @ points[:, k, 0] - values[k])
                if others is None or row @ others[: self.violation_index] > limit + _SAME * np.abs(row).max():
                    self.cuts.append(Cut(row, limit))
        return len(self.cuts) - before

    def cut_off(self, others: Array, *mixtures: Array) -> bool:
        """Cut at the programme's solution and at mixtures; whether cuts were added."""
        if not self.convex:
            return False
        arguments = np.clip(others[: self.n_slacks], self.table.lo, self.table.hi)
        return bool(sum(self.cut_at(xi, others) for xi in (arguments, *(self.at(mu)[0] for mu in mixtures))))

    def solve(self) -> tuple[Array, Array, float] | None:
        """Mixture, other variables and value of the programme with all cuts so far; None if it has no solution."""
        self._add_cuts()
        solved = self.programme.solve()
        if solved is None:
            return None
        self.prices = -solved.duals[: self.n_constraints + self.n_slacks]
        return solved.weights, solved.others, solved.value

    def _add_cuts(self) -> None:
        """Add the cuts that the programme does not have yet."""
        fresh = self.cuts[self._known :]
        if not fresh:
            return
        padded = np.zeros((len(fresh), len(self.cost)))
        padded[:, : self.violation_index] = [cut.slopes for cut in fresh]
        self.programme.add(padded, np.array([cut.limit for cut in fresh]))
        self._known = len(self.cuts)

    # -- ratios ----------------------------------------------------------------------------------

    def near(self, mu: Array, width: float) -> None:
        """Tau = s N / D near (N0, D0): s (r + (N - r D) / D0) with r = N0 / D0, while |D - D(mu)| <= width D0."""
        row = self._first_link
        for m, ratio in enumerate(self.ratios):
            denominator = float(ratio.denominator @ mu)
            d0 = max(denominator, ratio.floor)
            value = float(ratio.numerator @ mu) / d0
            for _, sign in ratio.atoms:
                self._link(row, m, top=sign / d0, bottom=-sign * value / d0, value=0.0, limit=-sign * value)
                row += 1
            self.programme.bound(ratio.bottom, denominator - width * d0, denominator + width * d0)
            self.programme.bound(self.violation_index + 1 + m, -np.inf, np.inf)
            for k in range(4):
                self.programme.limit(self._first_envelope + 4 * m + k, np.inf)

    def inside(self, box: Box) -> None:
        """Tau = s z, with z in the McCormick envelope of N = z D over a box."""
        row, programme = self._first_link, self.programme
        for m, ratio in enumerate(self.ratios):
            for _, sign in ratio.atoms:
                self._link(row, m, top=0.0, bottom=0.0, value=sign, limit=0.0)
                row += 1
            (d_lo, z_lo), (d_hi, z_hi) = box.low[:, m].tolist(), box.high[:, m].tolist()
            programme.bound(ratio.bottom, d_lo, d_hi)
            programme.bound(self.violation_index + 1 + m, z_lo, z_hi)
            # N >= z' D + z d' - z' d' at the corners (lo, lo), (hi, hi); N <= the same at (lo, hi), (hi, lo).
            corners = ((-1.0, z_lo, d_lo), (-1.0, z_hi, d_hi), (1.0, z_lo, d_hi), (1.0, z_hi, d_lo))
            for k, (side, z, d) in enumerate(corners):
                row_of = self._first_envelope + 4 * m + k
                programme.set(row_of, ratio.top, side)
                programme.set(row_of, ratio.bottom, -side * z)
                programme.set(row_of, self.violation_index + 1 + m, -side * d)
                programme.limit(row_of, -side * z * d)

    def _link(self, row: int, m: int, top: float, bottom: float, value: float, limit: float) -> None:
        ratio = self.ratios[m]
        self.programme.set(row, ratio.top, top)
        self.programme.set(row, ratio.bottom, bottom)
        self.programme.set(row, self.violation_index + 1 + m, value)
        self.programme.limit(row, limit)

    def _ratios(self) -> list[Ratio]:
        """Ratios of the problem; +N / D and -N / D share one."""
        table, first = self.table, 1 + self.n_constraints
        ratios: list[Ratio] = []
        for group in table.groups:
            if group.form.respond is not None:
                continue
            for k, atom in enumerate(group.atoms):
                top, bottom = group.slacks[:, k]
                sign = float(table.sense[first + top])
                N, D = self._argument(top), self._argument(bottom)
                for m, other in enumerate(ratios):
                    if np.allclose(N, other.numerator, 0, 1e-12) and np.allclose(D, other.denominator, 0, 1e-12):
                        ratios[m] = replace(other, atoms=(*other.atoms, (int(atom), sign)))
                        break
                else:
                    floor = float(table.lo[bottom])
                    ratios.append(Ratio(int(top), int(bottom), N, D, floor, ((int(atom), sign),)))
        return ratios

    # -- the programme ---------------------------------------------------------------------------

    def _programme(self, start: Array) -> Programme:
        table, count = self.table, len(self.cost)
        links = sum(len(ratio.atoms) for ratio in self.ratios)
        self._first_link = self.n_constraints + self.n_slacks
        self._first_envelope = self._first_link + links
        others = np.zeros((self._first_envelope + 4 * len(self.ratios), count))
        others[: self._first_link, self.n_slacks : self.violation_index] = table.atom_weights[1:]
        others[self.n_constraints : self._first_link, : self.n_slacks] = -np.diag(table.sense[table.couplings])
        others[: self.n_constraints, self.violation_index] = -1.0
        equal = np.zeros(len(others), dtype=bool)
        row = self._first_link
        for ratio in self.ratios:
            equal[[self.n_constraints + ratio.top, self.n_constraints + ratio.bottom]] = True
            for atom, _ in ratio.atoms:
                others[row, self.n_slacks + atom] = -1.0
                row += 1
        columns = np.zeros((len(others), self.n_columns))
        columns[: self.n_constraints + self.n_slacks] = self.rows[1:]
        limits = np.zeros(len(others))
        return Programme(columns, others, limits, self._bounds(), self._begin_with(start), equal, self.n_constraints)

    def _begin_with(self, start: Array) -> NDArray[np.intp]:
        """Columns of the start, the best in every row, and the best in some random combinations of rows."""
        directions = np.random.default_rng(0).dirichlet(np.ones(len(self.rows)), 64)
        directions /= np.ptp(self.rows, axis=1) + 1e-12
        extremes = np.concatenate([np.argmin(self.rows, axis=1), np.argmin(directions @ self.rows, axis=1)])
        return np.union1d(np.flatnonzero(start), extremes)

    def _bounds(self) -> Array:
        """Slacks are free (their couplings bound them), convex atoms are at least their smallest value."""
        table = self.table
        bounds = np.tile([-np.inf, np.inf], (len(self.cost), 1))
        falling = table.sense[table.couplings] < 0
        with np.errstate(all="ignore"):
            least = table.atom_values(np.where(falling, table.hi, table.lo)[:, None])[:, 0]
        for group in self.convex:
            known = group.atoms[np.isfinite(least[group.atoms])]
            bounds[self.n_slacks + known, 0] = least[known]
        bounds[self.violation_index] = 0.0, np.inf
        return bounds


def atoms_at(table: Table, signed: Array) -> tuple[Array, Array]:
    """Arguments of the atoms, and the atoms' values, at the signed rows of a mixture."""
    xi, values, _ = table.arguments(signed[:, None])
    return xi[:, 0], values[:, 0]


def violations_at(table: Table, signed: Array, values: Array) -> Array:
    """Signed violation of every constraint at the signed rows of a mixture and the values of its atoms."""
    rows = table.constraints
    return np.asarray(signed[rows] + table.atom_weights[rows] @ values)


def judged(table: Table, signed: Array) -> tuple[float, float]:
    """Objective and largest violation (at least 0) at the signed rows of a mixture, as in the programmes."""
    if not table.groups:
        return float(signed[0]), max(float(signed[table.constraints].max(initial=0.0)), 0.0)
    values = atoms_at(table, signed)[1]
    objective = float(signed[0] + table.atom_weights[0] @ values)
    return objective, max(float(violations_at(table, signed, values).max(initial=0.0)), 0.0)


def basic(rows: Array, mu: Array) -> Array:
    """A basic mixture that is at least as good in every signed row (every row is better when smaller)."""
    support = np.flatnonzero(mu)
    if len(support) == 1:
        return mu
    part = rows[:, support]
    solved = solve_over_simplex(part.sum(0), part, part @ mu[support] + 1e-12)
    if solved is None:
        return mu
    result = np.zeros_like(mu)
    result[support] = solved.weights
    return result
