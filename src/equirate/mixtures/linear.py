r"""Linear programmes over the simplex of columns, with column generation and warm starts.

In: a cost and coefficients per column and per other variable. Out: `Solved`: a basic mixture, the other variables, the
value and the duals.

.. math::

    \min\; c \cdot \mu + d \cdot x \quad\text{s.t.}\quad A \mu + B x \le b, \quad \textstyle\sum_t \mu_t = 1,
    \quad \mu \ge 0, \quad l \le x \le u.

Of thousands of columns a programme contains only some: those with a negative reduced cost are added, and if it is
infeasible, those that its certificate of infeasibility does not cover. Of many constraints it contains only those that
a solution without them violated: a basic solution has few binding rows, however many groups there are. The solution is
optimal for all columns and all rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FEASIBLE = 1e-9
"""Tolerance of the programmes: violations up to this size are rounding.

A violation is priced by up to 1e5, so the solver's default of 1e-7 is not precise enough.
"""

_BATCH = 64
"""Columns, or violated rows, that are added at a time."""
_MANY_ROWS = 128
"""From this number on, rows are added only when violated; with fewer, one solve with all of them is cheaper."""
_STEPS = 10
"""Simplex steps per row and column after which a solve is assumed to cycle: usually it takes fewer than one."""

_NONE = np.zeros(0, np.int32)


class Solved(NamedTuple):
    """A basic solution over all columns."""

    weights: Array
    others: Array
    value: float
    duals: Array
    """Duals of the rows, at most 0: the change of the value per unit of the right-hand side."""


class Programme:
    """A linear programme over the simplex of columns that is changed and solved again.

    Parameters
    ----------
    columns
        (rows, columns): coefficients of the columns.
    others
        (rows, others): coefficients of the other variables.
    limits
        (rows,): right-hand sides; ``inf`` for a row that has no effect yet.
    bounds
        (others, 2): bounds of the other variables.
    active
        Columns to begin with, at least one.
    equal
        Which rows are equations; None for none.
    deferred
        How many of the first rows may be added only when violated. They must be inequalities that `set` and `limit`
        do not change, and the programme must be bounded without them.
    """

    def __init__(
        self,
        columns: Array,
        others: Array,
        limits: Array,
        bounds: Array,
        active: NDArray[np.intp],
        equal: NDArray[np.bool_] | None = None,
        deferred: int = 0,
    ) -> None:
        self.n_columns, self.n_others = columns.shape[1], others.shape[1]
        self.active, self.solves = np.zeros(0, np.intp), 0
        self.objective = np.zeros(self.n_columns)
        self._in = np.zeros(self.n_columns, dtype=bool)
        self._solver = _solver()
        self._solver.addCols(self.n_others, np.zeros(self.n_others), *bounds.T, 0, _NONE, _NONE, np.zeros(0))
        self._solver.addRow(1.0, 1.0, 0, _NONE, np.zeros(0))
        self._scale, self._limits = np.ones(1), np.zeros(0, dtype=bool)
        self._place, self._rows = np.zeros(1, np.int32), 1  # row in the solver, or -1, of the simplex and of each row
        scale = np.maximum(np.abs(columns).max(axis=1, initial=0.0), np.abs(others).max(axis=1, initial=0.0))
        scale[scale < 1e-12] = 1.0  # coefficients that come later
        self._scaled, self._where = columns / scale[:, None], np.arange(1, 1 + len(limits), dtype=np.int32)
        self._deferred = deferred if deferred >= _MANY_ROWS else 0
        self._others = others[: self._deferred] / scale[: self._deferred, None]
        self._upper = limits[: self._deferred] / scale[: self._deferred]
        self._append(others, limits, scale, np.zeros(len(limits), dtype=bool) if equal is None else equal)
        self._join(active)

    def add(self, others: Array, limits: Array, columns: Array | None = None) -> int:
        """Add rows (columns) . mu + (others) . x <= limits; without ``columns`` their coefficients are 0.

        Returns the index of the first of them, for `set` and `limit`.
        """
        first = len(self._scale)
        scale = np.abs(others).max(axis=1)
        scale = np.maximum(scale if columns is None else np.maximum(scale, np.abs(columns).max(axis=1)), 1e-12)
        scaled = None if columns is None else columns / scale[:, None]
        self._append(others, limits, scale, np.zeros(len(limits), dtype=bool), scaled)
        if scaled is not None:
            self._scaled = np.concatenate([self._scaled, scaled])
            self._where = np.concatenate([self._where, np.arange(first, first + len(limits), dtype=np.int32)])
        return first - 1

    def extend(self, columns: Array) -> None:
        """Add columns (coefficients of the initial rows), which join at once; their cost is 0 until it is set.

        Rows that were added later must have no coefficients of columns.
        """
        count = columns.shape[1]
        scaled = columns / self._scale[self._where][:, None]
        self._scaled = np.concatenate([self._scaled, scaled], axis=1)
        self.objective = np.concatenate([self.objective, np.zeros(count)])
        self._in = np.concatenate([self._in, np.zeros(count, dtype=bool)])
        self._join(np.arange(self.n_columns, self.n_columns + count))
        self.n_columns += count

    def set_objective(self, objective: Array, cost: Array) -> None:
        """Set the objective."""
        self.objective = objective
        solver, where = self._solver, np.arange(self.n_others + len(self.active), dtype=np.int32)
        solver.changeColsCost(len(where), where, np.concatenate([cost, objective[self.active]]))

    def bound(self, other: int, lower: float, upper: float) -> None:
        """Set the bounds of another variable."""
        self._solver.changeColBounds(other, lower, upper)

    def limit(self, row: int, upper: float) -> None:
        """Set a row's right-hand side."""
        self._solver.changeRowBounds(int(self._place[row + 1]), -highspy.kHighsInf, upper / self._scale[row + 1])

    def set(self, row: int, other: int, value: float) -> None:
        """Set the coefficient of another variable in a row."""
        self._solver.changeCoeff(int(self._place[row + 1]), other, value / self._scale[row + 1])

    def solve(self) -> Solved | None:
        """Solve for all columns and rows; None if there is no solution."""
        while True:
            status = self._run()
            if status == highspy.HighsModelStatus.kOptimal:
                solution = self._solver.getSolution()
                if self._restrict(np.array(solution.col_value)):
                    continue
                duals = self._by_row(np.array(solution.row_dual))
                gain = self.objective - duals[self._where] @ self._scaled - duals[0]
                if self._join(self._helpful(gain)):
                    continue
                x = np.array(solution.col_value)
                weights = np.zeros(self.n_columns)
                weights[self.active] = distribution(x[self.n_others :])
                value = float(self._solver.getInfo().objective_function_value)
                return Solved(weights, x[: self.n_others], value, duals[1:] / self._scale[1:])
            if status != highspy.HighsModelStatus.kInfeasible or not self._join(self._missing()):
                return None

    def _run(self) -> Any:
        self.solves += 1
        steps = _STEPS * (self._rows + self.n_others + len(self.active))
        self._solver.setOptionValue("simplex_iteration_limit", steps)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status not in _CLEAR:  # numerical trouble from the warm start, or a cycle: solve again from scratch
            self._solver.clearSolver()
            self._solver.setOptionValue("simplex_iteration_limit", highspy.kHighsIInf)
            self._solver.run()
            status = self._solver.getModelStatus()
        return status

    def _helpful(self, gain: Array) -> NDArray[np.intp]:
        """Columns with the most negative reduced costs."""
        gain = np.where(self._in, 0.0, gain)
        first = np.argpartition(gain, _BATCH)[:_BATCH] if self.n_columns > _BATCH else np.arange(self.n_columns)
        return first[gain[first] < -FEASIBLE]

    def _missing(self) -> NDArray[np.intp]:
        """Columns that the certificate of infeasibility does not cover.

        A certificate y is not negative on inequalities, and y . a is not negative for any column in the programme; a
        column for which it is negative may make the programme feasible. Without such a y, all other columns.
        """
        _, known, ray = self._solver.getDualRay()
        y = self._by_row(np.asarray(ray)) if known else np.zeros(1 + len(self._limits))
        signed = y[1:][self._limits]
        y = y if signed.max(initial=0.0) >= -signed.min(initial=0.0) else -y
        gain = y[self._where] @ self._scaled + y[0]
        size = np.abs(y).max(initial=0.0)
        sound = (y[1:][self._limits] >= -1e-7 * size).all() and (gain[self._in] >= -1e-7 * size).all()
        return self._helpful(gain / size) if size > 0 and sound and signed.any() else np.flatnonzero(~self._in)

    def _append(
        self, others: Array, limits: Array, scale: Array, equal: NDArray[np.bool_], columns: Array | None = None
    ) -> None:
        """Add rows; ``columns`` are their scaled coefficients of the columns, if some are already in the solver."""
        scaled, upper = others / scale[:, None], limits / scale
        if columns is not None:
            scaled = np.concatenate([scaled, columns[:, self.active]], axis=1)
        first = len(self._scale)
        self._scale = np.concatenate([self._scale, scale])
        self._limits = np.concatenate([self._limits, ~equal])
        self._place = np.concatenate([self._place, np.full(len(limits), -1, np.int32)])
        now = np.arange(self._deferred if first == 1 else 0, len(limits))
        self._put(first + now, scaled[now], np.where(equal, upper, -highspy.kHighsInf)[now], upper[now])

    def _put(self, rows: NDArray[np.intp], coefficients: Array, lower: Array, upper: Array) -> None:
        """Put rows into the solver; the coefficients are those of the others, then of the active columns."""
        place, where = np.nonzero(coefficients)
        starts = np.searchsorted(place, np.arange(len(rows))).astype(np.int32)
        values = np.ascontiguousarray(coefficients[place, where])
        self._solver.addRows(len(rows), lower, upper, len(place), starts, where.astype(np.int32), values)
        self._place[rows] = np.arange(self._rows, self._rows + len(rows))
        self._rows += len(rows)

    def _restrict(self, x: Array) -> bool:
        """Add the deferred rows that a solution violates most; whether there were any."""
        out = np.flatnonzero(self._place[1 : 1 + self._deferred] < 0)
        if not len(out):
            return False
        support = np.flatnonzero(x[self.n_others :])
        mixed = self._scaled[:, self.active[support]] @ x[self.n_others :][support]
        over = self._others[out] @ x[: self.n_others] + mixed[out] - self._upper[out]
        order = np.argsort(-over, kind="stable")[:_BATCH]
        chosen = out[order[over[order] > FEASIBLE]]
        if not len(chosen):
            return False
        coefficients = np.concatenate([self._others[chosen], self._scaled[np.ix_(chosen, self.active)]], axis=1)
        self._put(1 + chosen, coefficients, np.full(len(chosen), -highspy.kHighsInf), self._upper[chosen])
        return True

    def _by_row(self, values: Array) -> Array:
        """Values of the solver's rows as values of the simplex and of every row; 0 for rows not in the solver."""
        by_row: Array = np.where(self._place >= 0, values[self._place], 0.0)
        return by_row

    def _join(self, joining: NDArray[np.intp]) -> bool:
        """Add columns to the solver; whether there were any."""
        count, present = len(joining), self._place[self._where] >= 0
        if not count:
            return False
        values = np.ones((count, 1 + int(present.sum())))
        values[:, 1:] = self._scaled[:, joining].T[:, present]
        where = np.concatenate([np.zeros(1, np.int32), self._place[self._where[present]]])
        self._solver.addCols(
            count, self.objective[joining], np.zeros(count), np.full(count, highspy.kHighsInf), values.size,
            np.arange(count, dtype=np.int32) * values.shape[1], np.tile(where, count), values.ravel(),
        )  # fmt: skip
        self.active = np.concatenate([self.active, joining])
        self._in[joining] = True
        return True


_CLEAR = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)


def _solver() -> Any:
    highs: Any = highspy.Highs  # its type hints are incomplete
    solver = highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")  # it would drop the last basis and the certificates
    solver.setOptionValue("parallel", "off")
    solver.setOptionValue("primal_feasibility_tolerance", FEASIBLE)
    solver.setOptionValue("dual_feasibility_tolerance", FEASIBLE)
    return solver


def solve_over_simplex(
    objective: Array, columns: Array, limits: Array, active: NDArray[np.intp] | None = None
) -> Solved | None:
    """A basic solution of min objective . mu with columns mu <= limits over the simplex; None if there is none.

    ``active`` are columns to begin with, by default the best one in every row.

    Examples
    --------
    >>> solve_over_simplex(np.array([0.0, 1.0]), np.array([[0.3, -0.1]]), np.zeros(1)).weights.round(6).tolist()
    [0.25, 0.75]
    """
    nothing = np.zeros((len(columns), 0))
    if active is None:
        active = np.union1d(np.argmin(objective), np.argmin(columns, axis=1))
    programme = Programme(columns, nothing, limits, np.zeros((0, 2)), active, deferred=len(limits))
    programme.set_objective(objective, np.zeros(0))
    return programme.solve()


def basic_shares(costs: Array, coefficients: Array, values: Array) -> Array | None:
    """A basic solution of least cost: shares (groups, members) that add up to 1 in each group; None if there is none.

    Parameters
    ----------
    costs
        (groups, members).
    coefficients
        (rows, groups, members): their products with the shares add up to the values.
    values
        (rows,).

    Examples
    --------
    >>> costs, counted = np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([[[0.0, 1.0], [0.0, 1.0]]])
    >>> basic_shares(costs, counted, np.ones(1)).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    rows, groups, members = coefficients.shape
    solver, count = _solver(), groups * members
    totals = np.concatenate([values, np.ones(groups)])
    solver.addRows(len(totals), totals, totals, 0, np.zeros(len(totals), np.int32), _NONE, np.zeros(0))
    entries = np.concatenate([coefficients.reshape(rows, count), np.ones((1, count))]).T
    places = np.tile(np.arange(rows + 1, dtype=np.int32), (count, 1))
    places[:, -1] += np.repeat(np.arange(groups, dtype=np.int32), members)
    starts = np.arange(count, dtype=np.int32) * (rows + 1)
    solver.addCols(
        count, costs.ravel(), np.zeros(count), np.ones(count), entries.size, starts, places.ravel(), entries.ravel()
    )
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(solver.getSolution().col_value).reshape(groups, members)


def distribution(x: Array) -> Array:
    """Remove rounding errors from a solution that should be a distribution."""
    clean: Array = np.where(x < 1e-12, 0.0, x)
    return clean / float(clean.sum())
