r"""Mixing recorded iterates for black boxes: branch and bound over the values of their arguments.

In: a table whose non-linear parts are all black boxes, and the signed rows of every iterate. Out: a mixture within a
tolerance of the optimum, or the best one found when the limit on nodes is reached.

A black box :math:`\phi` increases in every signed argument :math:`z_s = \sigma_s \ell_s(R)`, and a mixture's arguments
are the mixture of the arguments. So over all mixtures with :math:`z^- \le z \le z^+`, the linear programme with
:math:`\phi(z^-)` in place of :math:`\phi(z)` is a lower bound; boxes of arguments are split until it is tight. One to
three arguments make this a small search (monotonic optimisation), whatever the function.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from ..problem.table import Table
from .programme import judged

Array = NDArray[np.float64]

MOST_NODES = 300
"""Boxes that are bounded before the search ends."""
PENALTY = 1e3
"""Price of a violation when it is added to the objective."""
TOLERANCE = 1e-3
"""How much better than the best mixture, relative to its value, an open box may be when the search ends."""
_ROUNDING = 1e-9  # so that rounding does not decide on which side of a jump a mixture lies
_WIDE = 1e6
_LEAN = 1e-5  # weight of the arguments in the cost: of mixtures with the same bound, small arguments are better
_MOST_COMPARED = 3000  # all pairs of iterates are compared up to this number


def best_for_black_boxes(table: Table, rows: Array) -> Array | None:
    """Minimise objective + `PENALTY` * violation over mixtures; None if the problem also has other atoms.

    ``rows`` are the signed rows (multiplier rows, iterates), all finite.
    """
    if not all(group.form.grid for group in table.groups):
        return None
    kept = _undominated(rows)
    weights = np.zeros(rows.shape[1])
    weights[kept] = _Search(table, rows[:, kept]).run()
    return weights


def _undominated(rows: Array) -> NDArray[np.intp]:
    """Iterates that no other one dominates in the signed rows (all are better when smaller), without duplicates."""
    _, first = np.unique(rows, axis=1, return_index=True)
    if len(first) > _MOST_COMPARED:
        return np.sort(first)
    values = rows[:, first]
    worse = [bool(((values <= column).all(0) & (values != column).any(0)).any()) for column in values.T[:, :, None]]
    return np.sort(first[~np.array(worse)])


_Box = tuple[float, int, Array, Array, Array]
"""A box of arguments: its bound, its number, its two corners, and the mixture that attains the bound."""


class _Search:
    def __init__(self, table: Table, rows: Array) -> None:
        self.table, self.rows = table, rows
        self.arguments = rows[table.couplings]
        self.sense = table.sense[table.couplings]
        free = np.flatnonzero(np.ptp(self.arguments, axis=1) > _ROUNDING)
        self.hulls = {(j, k): _frontier(*self.arguments[[j, k]]) for j in free for k in free if j != k}
        self.n_columns = rows.shape[1]
        self.ones = np.append(np.ones(self.n_columns), 0.0)[None]
        singles = [self.merit(column) for column in np.eye(self.n_columns)]
        self.best: Array = np.eye(self.n_columns)[int(np.argmin(singles))]
        self.value = float(min(singles))
        self.count = 0

    def run(self) -> Array:
        """Split the box with the lowest bound until no box can be better by more than `TOLERANCE`."""
        boxes: list[_Box] = []
        self.add(boxes, self.arguments.min(axis=1), self.arguments.max(axis=1))
        while boxes and self.count < MOST_NODES:
            bound, _, low, high, mixture = heapq.heappop(boxes)
            if bound > self.value - TOLERANCE * (1 + abs(self.value)):
                break
            at = self.arguments @ mixture
            k = self.steepest(low, at)
            middle = (low[k] + min(max(at[k], low[k]), high[k])) / 2
            below, above = high.copy(), low.copy()
            below[k] = above[k] = middle
            self.add(boxes, low, below)
            self.add(boxes, above, high)
        return self.best

    def add(self, boxes: list[_Box], low: Array, high: Array) -> None:
        """Bound a box of arguments, evaluate the mixture, and keep the box if it may contain a better one."""
        self.count += 1
        least = self.tightened(low, high)
        solved = None if least is None else self.relaxed(least, high)
        if least is None or solved is None:
            return
        bound, mixture = solved
        merit = self.merit(mixture)
        if merit < self.value:
            self.best, self.value = mixture, merit
        if bound < self.value:
            heapq.heappush(boxes, (bound, self.count, least, high, mixture))

    def tightened(self, low: Array, high: Array) -> Array | None:
        """Lower bounds of the arguments given ``high``, from the hulls of pairs; None if the box is empty."""
        least = low.copy()
        for (j, k), hull in self.hulls.items():
            if high[j] + _ROUNDING < hull[0, 0]:
                return None
            least[k] = max(least[k], float(np.interp(high[j] + _ROUNDING, hull[0], hull[1])) - _ROUNDING)
        return None if (least > high + 2 * _ROUNDING).any() else least

    def relaxed(self, low: Array, high: Array) -> tuple[float, Array] | None:
        """The programme with every black box at its smallest value over the box."""
        atoms = _finite(self.atoms(low))
        constraints = self.table.constraints
        limited, room = self.rows[constraints], -self.table.atom_weights[constraints] @ atoms
        A = np.vstack([np.hstack([limited, -np.ones((len(limited), 1))]), np.pad(self.arguments, ((0, 0), (0, 1)))])
        cost = np.append(self.rows[0] + _LEAN * self.arguments.sum(0), PENALTY)
        result = linprog(cost, A, np.concatenate([room, high + _ROUNDING]), self.ones, [1.0], method="highs")
        if result.x is None:
            return None
        mixture = np.clip(result.x[:-1], 0.0, None)
        bound = result.fun - _LEAN * high.sum() + self.table.atom_weights[0] @ atoms
        return float(bound), mixture / mixture.sum()

    def atoms(self, arguments: Array) -> Array:
        """Values of the black boxes at signed arguments."""
        xi = np.clip(self.sense * arguments, self.table.lo, self.table.hi)
        values: Array = self.table.atom_values(xi[:, None])[:, 0]
        return values

    def merit(self, mixture: Array) -> float:
        """Objective + `PENALTY` * largest violation of a mixture; infinite where a black box is not defined."""
        signed = self.rows @ mixture
        signed[self.table.couplings] += _ROUNDING
        objective, violation = judged(self.table, signed)
        merit = objective + PENALTY * violation
        return np.inf if np.isnan(merit) else merit

    def steepest(self, low: Array, at: Array) -> int:
        """The argument whose distance from the lower corner loosens the bound most."""
        ways = np.tile(low, (len(low), 1))
        np.fill_diagonal(ways, np.maximum(at, low))
        weight = self.table.atom_weights.sum(axis=0)
        gains = np.array([weight @ (_finite(self.atoms(way)) - _finite(self.atoms(low))) for way in ways])
        # Where the function is flat at the corner and not at the mixture, the widest side is split.
        width = np.maximum(at - low, 0.0)
        return int(np.argmax(gains)) if gains.max() > 1e-9 else int(np.argmax(width))


def _finite(atoms: Array) -> Array:
    """Replace values that are not finite: a black box that is not defined gives no bound."""
    return np.nan_to_num(atoms, nan=-_WIDE, posinf=_WIDE, neginf=-_WIDE)


def _frontier(x: Array, y: Array) -> Array:
    """(2, points): the smallest y of mixtures with at most a given x, a decreasing convex function."""
    hull: list[tuple[float, float]] = []
    for k in np.lexsort((y, x)):
        point = (float(x[k]), float(y[k]))
        if hull and point[1] >= hull[-1][1]:
            continue
        while len(hull) > 1 and _turn(hull[-2], hull[-1], point) <= 0:
            hull.pop()
        hull.append(point)
    return np.array(hull).T


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Positive where the path from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
