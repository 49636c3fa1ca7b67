r"""Mixing recorded iterates: small linear and convex programmes over the simplex.

In: each iterate's objective, violations, or signed rows. Out: weights over the iterates. A mixture's rates are the
mixture of the rates, so `polish_weights` minimises :math:`\psi(\sum_t \mu_t R(\theta^t))` under
:math:`\phi_j(\sum_t \mu_t R(\theta^t)) \le 0` itself, by cutting planes on top of the same linear programme, where
the paper's shrinking (`shrink_weights`) averages each iterate's own values. Ratios, which are not convex, are handled
by successive linear programmes inside a trust region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import rankdata

from .table import Table

Array = NDArray[np.float64]

FEASIBLE = 1e-9
"""Violations up to this size are rounding."""


@dataclass(frozen=True)
class Weights:
    """Weights over iterates, and the smallest violation that was achievable (0 if the constraints can be met)."""

    weights: Array
    smallest_violation: float


def best_index(objective: Array, violations: Array) -> int:
    """The single best iterate by ranks (Cotter et al. 2019): the smallest larger rank, ties by objective.

    Parameters
    ----------
    objective
        (iterates,) values to minimise.
    violations
        (constraints, iterates) signed violations.

    Examples
    --------
    >>> best_index(np.array([0.1, 0.2, 0.3]), np.array([[0.5, 0.0, -0.1]]))
    1
    """
    usable = np.isfinite(objective) & np.isfinite(violations).all(axis=0)
    worst = np.where(usable, np.maximum(violations, 0.0).max(axis=0, initial=0.0), np.inf)
    value = np.where(usable, objective, np.inf)
    larger = np.maximum(rankdata(value, method="min"), rankdata(worst, method="min"))
    return int(np.lexsort((worst, value, larger))[0])


def shrink_weights(objective: Array, violations: Array) -> Weights:
    """The paper's shrinking: min mu . objective with mu . violations <= 0 over the simplex, a basic solution.

    At most J + 1 iterates get weight. Where no mixture is feasible, the smallest achievable largest violation is
    found first and then not exceeded.
    """
    usable = np.flatnonzero(np.isfinite(objective) & np.isfinite(violations).all(axis=0))
    if not len(usable):
        raise ValueError("no iterate has a finite objective and finite violations")
    f, V = objective[usable], violations[:, usable]
    slack = _smallest_violation(V)
    mu = _simplex_programme(f, V, slack)
    weights = np.zeros(len(objective))
    weights[usable] = mu
    return Weights(weights, slack)


def _smallest_violation(V: Array) -> float:
    if not len(V) or (V.max(0) <= 0).any():
        return 0.0
    n = V.shape[1]
    cost = np.zeros(n + 1)
    cost[-1] = 1.0
    A = np.hstack([V, -np.ones((len(V), 1))])
    solved = _solve(cost, A, np.zeros(len(V)), simplex=n, bounds=[(0, None)] * n + [(0, None)])
    value = float(solved[-1])
    return value if value > FEASIBLE else 0.0


def _simplex_programme(f: Array, V: Array, slack: float) -> Array:
    room = slack + (FEASIBLE if slack else 0.0)
    return _solve(f, V, np.full(len(V), room), simplex=len(f))


def _solve(cost: Array, A: Array, b: Array, simplex: int, bounds: Any = None) -> Array:
    """Solve min cost . x, A x <= b, the first ``simplex`` entries a distribution; a basic solution."""
    ones = np.zeros((1, len(cost)))
    ones[0, :simplex] = 1.0
    scale = np.maximum(np.abs(A).max(axis=1, initial=0.0), 1e-12) if len(A) else np.ones(0)
    result = linprog(
        cost,
        A_ub=A / scale[:, None] if len(A) else None,
        b_ub=b / scale if len(A) else None,
        A_eq=ones,
        b_eq=[1.0],
        bounds=(0, None) if bounds is None else bounds,
        method="highs-ds",
    )
    if result.x is None:
        raise RuntimeError(f"the linear programme over the iterates was not solved: {result.message}")
    x: Array = result.x
    x[:simplex] = np.maximum(x[:simplex], 0.0)
    x[:simplex][x[:simplex] < 1e-12] = 0.0
    x[:simplex] /= x[:simplex].sum()
    return x


def polish_weights(table: Table, rows: Array, start: Array, rounds: int = 60, tolerance: float = 1e-7) -> Weights | None:
    """The best mixture of iterates for the problem itself.

    Parameters
    ----------
    table
        Gives the atoms and their boxes.
    rows
        (multiplier rows, iterates): signed row values of every iterate, with any levels taken off.
    start
        Weights to begin at (the shrunk mixture): where the linearisation of ratios starts.

    Returns
    -------
    Weights or None
        None where the problem has black boxes, which have no cutting planes.
    """
    if any(group.form.grid or group.direct is not None for group in table.groups):
        return None
    usable = np.flatnonzero(np.isfinite(rows).all(axis=0))
    programme = _Programme(table, rows[:, usable])
    mu, smallest = programme.solve(start[usable], rounds, tolerance)
    weights = np.zeros(rows.shape[1])
    weights[usable] = programme.sparse(mu)
    return Weights(weights, smallest)


class _Programme:
    """min and s.t. over mu, with one variable per slack, one per atom (its value) and one for the violation.

    Variables: mu (iterates), xi (slacks), tau (atoms), v (violation of the constraints, minimised first).
    """

    def __init__(self, table: Table, rows: Array) -> None:
        self.table, self.rows = table, rows
        self.n, self.s, self.a = rows.shape[1], table.n_slacks, len(table.program.atoms)
        self.j = table.program.n_constraints
        self.cuts: list[tuple[Array, float]] = []
        m = 1 + self.j + self.s
        base = np.zeros((m, self.n + self.s + self.a + 1))
        base[:, : self.n] = rows
        base[:, self.n + self.s : -1] = table.atom_weights
        base[1 + self.j :, self.n : self.n + self.s] = -np.diag(table.sense[table.couplings])
        base[1 : 1 + self.j, -1] = -1.0
        self.cost, self.base = base[0], base[1:]
        self.convex = [g for g in table.groups if g.form.respond is not None]
        self.ratios = [g for g in table.groups if g.form.respond is None]

    def solve(self, start: Array, rounds: int, tolerance: float) -> tuple[Array, float]:
        self._cut_at(self._slacks(start))
        for corner in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98):  # a few cuts to begin with save programmes
            self._cut_at((self.table.lo + corner * (self.table.hi - self.table.lo)))
        if not self.ratios:
            return self._convex(rounds, tolerance)
        return self._with_ratios(start, rounds, tolerance)

    # -- convex: cutting planes ------------------------------------------------------------------

    def _convex(self, rounds: int, tolerance: float) -> tuple[Array, float]:
        violation = self._phase(np.eye(1, self.cost.size, self.cost.size - 1)[0], np.inf, rounds, tolerance)[1] if self.j else 0.0
        violation = violation if violation > 10 * tolerance else 0.0
        mu, _ = self._phase(self.cost, violation, rounds, tolerance)
        return mu, violation

    def _phase(self, cost: Array, room: float, rounds: int, tolerance: float) -> tuple[Array, float]:
        """Minimise a cost, adding cuts until the atoms' values are right."""
        best: tuple[float, Array, float] | None = None
        for _ in range(rounds):
            x = self._programme(cost, room)
            mu = x[: self.n]
            xi, values = self._at(mu)
            lower = float(cost @ x)
            worst = self._violation(mu, values)
            upper = worst if cost[-1] else float(self.cost[: self.n] @ mu + self.table.atom_weights[0] @ values)
            penalty = 0.0 if cost[-1] else max(worst - max(room, 0.0), 0.0)
            if best is None or upper + 1e3 * penalty < best[0]:
                best = (upper + 1e3 * penalty, mu, worst)
            if upper - lower <= tolerance * (1 + abs(lower)) and penalty <= tolerance:
                break
            before = len(self.cuts)
            self._cut_at(xi)
            self._cut_at(np.clip(x[self.n : self.n + self.s], self.table.lo, self.table.hi))
            if len(self.cuts) == before:
                break
        assert best is not None
        return best[1], max(best[2], 0.0)

    # -- ratios: successive linear programmes ----------------------------------------------------

    def _with_ratios(self, start: Array, rounds: int, tolerance: float) -> tuple[Array, float]:
        mu, merit = start / start.sum(), self._merit(start / start.sum())
        width = 0.3
        for _ in range(rounds):
            linear, trust = self._linearised(mu, width)
            x = self._programme(self.cost, np.inf, linear, trust, penalty=10.0)
            candidate = x[: self.n]
            value = self._merit(candidate)
            if value < merit - tolerance:
                mu, merit, width = candidate, value, min(2 * width, 1.0)
                self._cut_at(self._at(candidate)[0])
            else:
                width /= 4
                if width < 1e-4:
                    break
        return mu, max(self._violation(mu, self._at(mu)[1]), 0.0)

    def _merit(self, mu: Array) -> float:
        values = self._at(mu)[1]
        objective = float(self.rows[0] @ mu + self.table.atom_weights[0] @ values)
        return objective + 10.0 * max(self._violation(mu, values), 0.0)

    def _linearised(self, mu: Array, width: float) -> tuple[list[tuple[Array, float]], list[tuple[Array, float]]]:
        """tau = s N / D near (N0, D0), exactly s (N0/D0 + (N - N0/D0 D) / D0) to first order; |D - D0| <= width D0."""
        first = 1 + self.j
        linear, trust = [], []
        for group in self.ratios:
            for k, atom in enumerate(group.atoms):
                top, bottom = group.slacks[:, k]
                N = self.table.sense[first + top] * self.rows[first + top]
                D = self.table.sense[first + bottom] * self.rows[first + bottom]
                d0 = max(float(D @ mu), self.table.lo[bottom])
                ratio = float(N @ mu) / d0
                sign = self.table.sense[first + top]
                row = np.zeros(self.cost.size)
                row[: self.n] = sign * (N - ratio * D) / d0
                row[self.n + self.s + atom] = -1.0
                linear.append((row, -sign * ratio))
                for side in (1.0, -1.0):
                    bound = np.zeros(self.cost.size)
                    bound[: self.n] = side * D / d0
                    trust.append((bound, side + width))
        return linear, trust

    # -- pieces ----------------------------------------------------------------------------------

    def _programme(
        self,
        cost: Array,
        room: float,
        linear: list[tuple[Array, float]] | None = None,
        trust: list[tuple[Array, float]] | None = None,
        penalty: float = 0.0,
    ) -> Array:
        rows = [*self.cuts, *(linear or []), *(trust or [])]
        A = np.vstack([self.base, *(row[None] for row, _ in rows)]) if rows else self.base
        b = np.concatenate([np.zeros(len(self.base)), [limit for _, limit in rows]])
        if penalty:
            cost = cost.copy()
            cost[-1] = penalty
        free = [(None, None)] * self.a
        box = list(zip(self.table.lo, self.table.hi, strict=True))
        if linear is not None:  # ratio slacks are not used by linearised ratios
            for group in self.ratios:
                for s in group.slacks.ravel():
                    box[s] = (None, None)
        limit = (0.0, None if room == np.inf else room)
        return _solve(cost, A, b, simplex=self.n, bounds=[(0, None)] * self.n + box + free + [limit])

    def _slacks(self, mu: Array) -> Array:
        return self._at(mu)[0]

    def _at(self, mu: Array) -> tuple[Array, Array]:
        """Arguments of the atoms at a mixture, and the atoms' values (inner atoms first)."""
        table, first = self.table, 1 + self.j
        signed = self.rows[first:] @ mu
        xi, values = np.zeros(self.s), np.zeros(self.a)
        for group in table.groups:
            inner = signed[group.slacks] + table.atom_weights[first + group.slacks] @ values
            raw = table.sense[first + group.slacks] * inner
            xi[group.slacks] = np.clip(raw, table.lo[group.slacks], table.hi[group.slacks])
            values[group.atoms] = group.form.value(xi[group.slacks][..., None])[..., 0]
        return xi, values

    def _violation(self, mu: Array, values: Array) -> float:
        if not self.j:
            return 0.0
        rows = slice(1, 1 + self.j)
        return float((self.rows[rows] @ mu + self.table.atom_weights[rows] @ values).max())

    def _cut_at(self, xi: Array) -> None:
        """tau_a >= phi_a(xi0) + grad . (xi - xi0), for every convex atom."""
        for group in self.convex:
            points = xi[group.slacks][..., None]
            with np.errstate(all="ignore"):
                values, slopes = group.form.value(points)[..., 0], group.form.gradient(points)[..., 0]
            for k, atom in enumerate(group.atoms):
                if not (np.isfinite(values[k]) and np.isfinite(slopes[:, k]).all()):
                    continue
                row = np.zeros(self.cost.size)
                row[self.n + group.slacks[:, k]] = slopes[:, k]
                row[self.n + self.s + atom] = -1.0
                self.cuts.append((row, float(slopes[:, k] @ points[:, k, 0] - values[k])))

    def sparse(self, mu: Array) -> Array:
        """A basic mixture that is at least as good in every signed row (every row is better when smaller)."""
        support = np.flatnonzero(mu)
        rows = self.rows[:, support]
        if len(support) <= len(rows) + 1:
            return mu
        target = rows @ mu[support]
        result = np.zeros_like(mu)
        result[support] = _solve(rows.sum(0), rows, target + 1e-12, simplex=len(support))
        return result
