r"""Mixing recorded iterates: small linear and convex programmes over the simplex.

In: each iterate's objective, violations, or signed rows. Out: weights over the iterates. A mixture's rates are the
mixture of the rates, so `polish_weights` minimises :math:`\psi(\sum_t \mu_t R(\theta^t))` under
:math:`\phi_j(\sum_t \mu_t R(\theta^t)) \le 0` itself, by cutting planes on top of the same linear programme, where
the paper's shrinking (`shrink_weights`) averages each iterate's own values. Ratios, which are not convex, are handled
by successive linear programmes inside a trust region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ..problem.table import Table
from .black_boxes import best_for_black_boxes

Array = NDArray[np.float64]

FEASIBLE = 1e-9
"""Violations up to this size are rounding."""

PENALTY = 10.0
"""Price of a violation where it is weighed against the objective."""

EXACT: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
"""What a programme may be wrong by. A violation is priced by up to 1e5, so the solver's own 1e-7 is no precision."""

_SAME = 1e-10
"""A cut that changes less than this, by its largest coefficient, does not cut."""

PENALTIES = (PENALTY, 1e3, 1e5)
"""Prices of a violation while ratios are linearised: the next where the one before did not keep the constraints."""


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
    larger = np.maximum(_ranks(value), _ranks(worst))
    return int(np.lexsort((worst, value, larger))[0])


def _ranks(values: Array) -> NDArray[np.intp]:
    """Rank of each value: how many are smaller."""
    return np.searchsorted(np.sort(values), values)


def shrink_weights(objective: Array, violations: Array) -> Weights:
    """The paper's shrinking: min mu . objective with mu . violations <= 0 over the simplex, a basic solution.

    At most J + 1 iterates get weight. Where no mixture is feasible, the smallest achievable largest violation is
    found first and then not exceeded.

    Parameters
    ----------
    objective
        (iterates,) values to minimise; those that are not finite get no weight.
    violations
        (constraints, iterates) signed violations.

    Examples
    --------
    >>> shrink_weights(np.array([0.1, 0.3]), np.array([[0.2, -0.2]])).weights  # half and half just keeps the limit
    array([0.5, 0.5])
    """
    kept = np.asarray(np.isfinite(violations).all(axis=0))
    usable = np.flatnonzero(np.isfinite(objective) & kept)
    if not len(usable):
        return _without_values(objective, violations, kept)
    f, V = objective[usable], violations[:, usable]
    slack = _smallest_violation(V)
    mu = _simplex_programme(f, V, slack)
    weights = np.zeros(len(objective))
    weights[usable] = mu
    return Weights(weights, slack)


def _without_values(objective: Array, violations: Array, kept: NDArray[np.bool_]) -> Weights:
    """The uniform mixture, where every iterate alone is infinite.

    A divergence is, where all are predicted alike; a mixture of such iterates need not be. So there is nothing to be
    linear in: all that have values take part, and a violation that is finite in none has no smallest average.
    """
    known = ~(np.isnan(objective) | np.isnan(violations).any(axis=0))
    part = kept & known if (kept & known).any() else known if known.any() else np.ones_like(known)
    return Weights(part / part.sum(), _smallest_violation(violations[:, part]) if kept[part].all() else np.inf)


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
    room = slack + FEASIBLE if slack else 1e-12  # a violation of 1e-16 everywhere is none
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
        options=EXACT,
    )
    if result.x is None:
        raise RuntimeError(f"the linear programme over the iterates was not solved: {result.message}")
    x: Array = result.x
    x[:simplex] = _distribution(x[:simplex])
    return x


def polish_weights(
    table: Table,
    rows: Array,
    start: Array,
    rounds: int = 60,
    tolerance: float = 1e-6,
    cuts: list[Cut] | None = None,
) -> Weights | None:
    """The best mixture of iterates for the problem itself.

    Parameters
    ----------
    table
        Gives the atoms and their boxes.
    rows
        (multiplier rows, iterates): signed row values of every iterate.
    start
        Weights to begin at (the shrunk mixture): where the linearisation of ratios starts.
    cuts
        Cutting planes of an earlier call for the same problem, which hold whatever the iterates; new ones are added.

    Returns
    -------
    Weights or None
        None where the problem has black boxes beside other atoms or is in biconvex form, which have no cutting planes,
        or where no iterate of ``start`` has finite rows.
    """
    if any(group.direct is not None for group in table.groups):
        return None
    usable = np.flatnonzero(np.isfinite(rows).all(axis=0))
    if not start[usable].sum() > 0:
        return None
    if any(group.form.grid for group in table.groups):
        searched = best_for_black_boxes(table, rows[:, usable])
        if searched is None:
            return None
        weights = np.zeros(rows.shape[1])
        weights[usable] = searched
        return Weights(weights, 0.0)
    programme = _Programme(table, rows[:, usable], start[usable], [] if cuts is None else cuts)
    mu, smallest = programme.solve(rounds, tolerance)
    weights = np.zeros(rows.shape[1])
    weights[usable] = programme.sparse(mu)
    return Weights(weights, smallest)


class Mixture(NamedTuple):
    """The best mixture of columns, its value, and the prices that make it so."""

    weights: Array
    value: float
    """Minimised objective plus the price of the violation."""
    multipliers: Array
    """Duals of constraints and couplings."""


def best_mixture(table: Table, rows: Array, penalty: float, tolerance: float, cuts: list[Cut]) -> Mixture | None:
    """Minimise objective + penalty * violation over mixtures of columns, with the duals; for convex problems.

    ``rows`` and ``cuts`` are as in `polish_weights`. None where the programme has no solution.
    """
    programme = _Programme(table, rows, np.full(rows.shape[1], 1.0), cuts)
    programme.begin()
    best: Mixture | None = None
    for _ in range(60):
        solved = programme.programme(None, penalty=penalty)
        if solved is None:
            break
        mu, others, lower = solved
        value = programme.merit(mu, penalty)
        if best is None or value < best.value:
            best = Mixture(mu, value, programme.duals)
        best = best._replace(multipliers=programme.duals)
        if best.value - lower <= tolerance * (1 + abs(lower)):
            break
        points = np.clip(others[: table.n_slacks], table.lo, table.hi), programme.at(mu)[0]
        if not sum(programme.cut_at(point, others) for point in points):
            break  # as far as the programme is exact
    return best


@dataclass(frozen=True, eq=False)
class Cut:
    """One more row of the programme: ``iterates . mu + others . (xi, tau, v) <= limit``."""

    others: Array
    limit: float
    iterates: Array | None = None


class _Programme:
    """min and s.t. over mu, with one variable per slack, one per atom (its value) and one for the violation.

    Variables: mu (iterates), then the *others*: xi (slacks), tau (atoms), v (violation of the constraints). Only the
    iterates that can matter take part: the rest are priced out by the dual solution and join when they would help.
    """

    def __init__(self, table: Table, rows: Array, start: Array, cuts: list[Cut]) -> None:
        self.table, self.rows, self.start = table, rows, start / start.sum()
        self.n, self.s, self.a = rows.shape[1], table.n_slacks, len(table.program.atoms)
        self.j = table.program.n_constraints
        others = np.zeros((1 + self.j + self.s, self.s + self.a + 1))
        others[:, self.s : -1] = table.atom_weights
        others[1 + self.j :, : self.s] = -np.diag(table.sense[table.couplings])
        others[1 : 1 + self.j, -1] = -1.0
        self.cost, self.others = others[0], others[1:]
        self.cuts = cuts
        self.duals = np.zeros(len(self.others))
        self.bounds = self._bounds()
        self.convex = [g for g in table.groups if g.form.respond is not None]
        self.ratios = [g for g in table.groups if g.form.respond is None]
        directions = np.random.default_rng(0).dirichlet(np.ones(len(rows)), 64) / (np.ptp(rows, axis=1) + 1e-12)
        extremes = np.concatenate([np.argmin(rows, axis=1), np.argmin(directions @ rows, axis=1)])
        self.active = np.union1d(np.flatnonzero(self.start), extremes)

    def begin(self) -> None:
        """A few cuts to begin with save programmes."""
        if not self.cuts:
            for share in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98):
                self.cut_at(self.table.lo + share * (self.table.hi - self.table.lo))
        self.cut_at(self.at(self.start)[0])

    def solve(self, rounds: int, tolerance: float) -> tuple[Array, float]:
        """Return the mixture, and the smallest violation there is."""
        self.begin()
        if self.ratios:
            return self._with_ratios(rounds, tolerance)
        violation = 0.0
        if self.j and self._judge(self.start, None) > 0:
            self.start, violation = self._minimise(rounds, tolerance, room=None)
        mu, _ = self._minimise(rounds, tolerance, room=violation)
        return mu, violation if violation > 10 * tolerance else 0.0

    # -- convex: cutting planes ------------------------------------------------------------------

    def _minimise(self, rounds: int, tolerance: float, room: float | None) -> tuple[Array, float]:
        """Minimise the objective with violations up to ``room``, or (None) the violation; cut until right."""
        mu = self.start
        best = self._judge(mu, room)
        for _ in range(rounds):
            solved = self.programme(room)
            if solved is None:  # an argument below its box, where cuts and values part: what there is, is best
                break
            found, others, lower = solved
            mixed = [mu + step * (found - mu) for step in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)]
            judged = [self._judge(candidate, room) for candidate in mixed]
            k = int(np.argmin(judged))
            if judged[k] < best:
                mu, best = mixed[k], judged[k]
            if best - lower <= tolerance * (1 + abs(lower)):
                break
            xi = np.clip(others[: self.s], self.table.lo, self.table.hi)
            points = xi, self.at(mu)[0], self.at(found)[0]
            if not sum(self.cut_at(point, others) for point in points):
                break  # as far as the programme is exact
        return mu, max(self._violation(mu, self.at(mu)[1]), 0.0)

    def _judge(self, mu: Array, room: float | None) -> float:
        values = self.at(mu)[1]
        violation = self._violation(mu, values)
        if room is None:
            return max(violation, 0.0)
        return self._objective(mu, values) + 1e3 * max(violation - room, 0.0)

    # -- ratios: successive linear programmes ----------------------------------------------------

    def _with_ratios(self, rounds: int, tolerance: float) -> tuple[Array, float]:
        mu = self.start
        allowed = max(self._violation(mu, self.at(mu)[1]), 0.0) + FEASIBLE
        for penalty in PENALTIES:
            found = self._descend(mu, penalty, rounds, tolerance)
            violation = max(self._violation(found, self.at(found)[1]), 0.0)
            if violation <= allowed or violation <= tolerance:
                mu, allowed = found, violation
            if violation <= FEASIBLE:
                break
        return mu, max(self._violation(mu, self.at(mu)[1]), 0.0)

    def _descend(self, mu: Array, penalty: float, rounds: int, tolerance: float) -> Array:
        """Successive linear programmes from ``mu``, each trusted while the denominators change little."""
        merit, width = self.merit(mu, penalty), 0.3
        for _ in range(rounds):
            solved = self.programme(None, self._linearised(mu, width), penalty)
            value = np.inf if solved is None else self.merit(solved[0], penalty)
            if solved is not None and value < merit - 1e-3 * tolerance:
                mu, merit, width = solved[0], value, min(2 * width, 1.0)
                self.cut_at(self.at(mu)[0])
            else:
                width /= 4
                if width < 1e-4:
                    break
        return mu

    def merit(self, mu: Array, penalty: float) -> float:
        values = self.at(mu)[1]
        return self._objective(mu, values) + penalty * max(self._violation(mu, values), 0.0)

    def _linearised(self, mu: Array, width: float) -> list[Cut]:
        """Tau = s N / D near (N0, D0): s (r + (N - r D) / D0) with r = N0 / D0, while |D - D(mu)| <= width D0."""
        first, cuts = 1 + self.j, []
        for group in self.ratios:
            for k, atom in enumerate(group.atoms):
                top, bottom = group.slacks[:, k]
                sign = self.table.sense[first + top]
                N = sign * self.rows[first + top]
                D = self.table.sense[first + bottom] * self.rows[first + bottom]
                here = float(D @ mu)
                d0 = max(here, float(self.table.lo[bottom]))
                ratio = float(N @ mu) / d0
                others = np.zeros_like(self.cost)
                others[self.s + atom] = -1.0
                cuts.append(Cut(others, -sign * ratio, sign * (N - ratio * D) / d0))
                cuts.append(Cut(np.zeros_like(self.cost), here / d0 + width, D / d0))
                cuts.append(Cut(np.zeros_like(self.cost), width - here / d0, -D / d0))
        return cuts

    # -- the linear programme --------------------------------------------------------------------

    def _bounds(self) -> list[tuple[float | None, float | None]]:
        """Slacks are free (their couplings hold them), convex atoms are at least their smallest value."""
        table = self.table
        falling = table.sense[table.couplings] < 0
        with np.errstate(all="ignore"):
            least = table.atom_values(np.where(falling, table.hi, table.lo)[:, None])[:, 0]
        usable = np.isfinite(least)
        for group in table.groups:
            usable[group.atoms] &= group.form.respond is not None  # a linearised ratio has its own bound
        return [(None, None)] * self.s + [(float(v) if ok else None, None) for v, ok in zip(least, usable, strict=True)]

    def programme(
        self, room: float | None, extra: list[Cut] | None = None, penalty: float = 0.0
    ) -> tuple[Array, Array, float] | None:
        """Solve with the cuts so far; without ``room``, for the violation or the objective + ``penalty`` * violation.

        Returns the mixture, the other variables and the value, or None if there is no solution.
        """
        cuts = self.cuts + (extra or [])
        others = np.vstack([self.others, *(cut.others for cut in cuts)])
        limits = np.concatenate([np.zeros(len(self.others)), [cut.limit for cut in cuts]])
        iterates = np.zeros((len(others), self.n))
        iterates[: len(self.others)] = self.rows[1:]
        for k, cut in enumerate(cuts, start=len(self.others)):
            if cut.iterates is not None:
                iterates[k] = cut.iterates
        objective, cost = self.rows[0], self.cost.copy()
        cost[-1] = penalty
        if room is None and not penalty:
            objective, cost = np.zeros(self.n), np.eye(1, cost.size, cost.size - 1)[0]
        bounds = [*self.bounds, (0.0, None if room is None else room + FEASIBLE)]
        while True:
            solved = _basic(objective, cost, iterates, others, limits, self.active, bounds)
            if solved is None:
                return None
            x, duals, level = solved
            reduced = objective - duals @ iterates - level
            helpful = np.argsort(reduced)[:64]
            helpful = np.setdiff1d(helpful[reduced[helpful] < -1e-9], self.active)
            if not len(helpful):
                break
            self.active = np.union1d(self.active, helpful)
        self.duals = np.maximum(-duals[: len(self.others)], 0.0)
        mu = np.zeros(self.n)
        mu[self.active] = _distribution(x[: len(self.active)])
        rest = x[len(self.active) :]
        return mu, rest, float(objective @ mu + cost @ rest)

    # -- pieces ----------------------------------------------------------------------------------

    def at(self, mu: Array) -> tuple[Array, Array]:
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

    def _objective(self, mu: Array, values: Array) -> float:
        return float(self.rows[0] @ mu + self.table.atom_weights[0] @ values)

    def _violation(self, mu: Array, values: Array) -> float:
        if not self.j:
            return 0.0
        rows = slice(1, 1 + self.j)
        return float((self.rows[rows] @ mu + self.table.atom_weights[rows] @ values).max())

    def cut_at(self, xi: Array, others: Array | None = None) -> int:
        """tau_a >= phi_a(xi0) + grad . (xi - xi0), for every convex atom; with ``others``, where it cuts them off.

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
                row = np.zeros_like(self.cost)
                row[group.slacks[:, k]] = slopes[:, k]
                row[self.s + atom] = -1.0
                limit = float(slopes[:, k] @ points[:, k, 0] - values[k])
                if others is None or row @ others > limit + _SAME * np.abs(row).max():
                    self.cuts.append(Cut(row, limit))
        return len(self.cuts) - before

    def sparse(self, mu: Array) -> Array:
        """A basic mixture that is at least as good in every signed row (every row is better when smaller)."""
        support = np.flatnonzero(mu)
        rows = self.rows[:, support]
        if len(support) == 1:
            return mu
        result = np.zeros_like(mu)
        result[support] = _solve(rows.sum(0), rows, rows @ mu[support] + 1e-12, simplex=len(support))
        return result


def _basic(
    objective: Array, cost: Array, iterates: Array, others: Array, limits: Array, active: Any, bounds: Any
) -> tuple[Array, Array, float] | None:
    """Basic solution over the active iterates and the other variables, with the duals of rows and of the simplex."""
    A = np.hstack([iterates[:, active], others])
    scale = np.maximum(np.abs(A).max(axis=1), 1e-12)
    ones = np.concatenate([np.ones(len(active)), np.zeros(others.shape[1])])[None]
    result = linprog(
        np.concatenate([objective[active], cost]),
        A_ub=A / scale[:, None],
        b_ub=limits / scale,
        A_eq=ones,
        b_eq=[1.0],
        bounds=[(0, None)] * len(active) + bounds,
        method="highs-ds",
        options=EXACT,
    )
    if result.x is None:
        return None
    return result.x, result.ineqlin.marginals / scale, float(result.eqlin.marginals[0])


def _distribution(x: Array) -> Array:
    """Clean rounding off a solution that should be a distribution."""
    clean: Array = np.where(x < 1e-12, 0.0, x)
    return clean / float(clean.sum())
