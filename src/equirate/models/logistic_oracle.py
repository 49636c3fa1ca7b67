"""The oracle of a linear model: one step of a weighted logistic regression for an answer, all thresholds as columns.

In: rows by cell (`cell_rows`), and costs per cell. Out: directions. `game.column_generation` asks, through a `View`:
the rows that a direction is trained on and those that its classifiers are measured on.

An answer is one step from the known direction that has the least loss *at these costs*. The step solves with a quarter
of the cells' second moments, each weighed by its cost, corrected by secants between known directions (L-BFGS), whose
slopes are taken at these costs, too. Where the last step overshot and the costs hardly changed, the answer is the
minimum of the cubic between its two ends. So an answer costs one pass over the rows, and no answer is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from .cell_rows import CellRows, Direction

Array = NDArray[np.float64]
Solve = Callable[[Array], Array]

SECANTS = 8
"""Known directions, those of least loss, whose differences correct a step."""
MAX_COST_CHANGE = 0.2
"""Largest change of the costs, as a share of the total weight, after which an overshooting step is still shortened."""
MIN_STEP_SHARE, MAX_STEP_SHARE = 0.1, 0.6
"""Shares of a step that overshot between which the minimum of the cubic is taken."""
SETTLED = 1e-3
"""Newton decrement, as a share of the total weight, below which a regression counts as solved."""
ROUNDING = 1e-5
"""Newton decrement below which differences of losses are those of single precision."""
INTERCEPT_RIDGE = 1e-6
"""Ridge on the intercept."""
RIDGES = (1.0, 10.0, 100.0)
"""Ridges to choose from where rows are few."""
ROWS_PER_WEIGHT = 50
"""Rows for each weight up to which the ridge is chosen."""
MAX_LOSS_SHARE = 0.99
"""Share of the left-out loss that a larger ridge must come down to."""


@dataclass(frozen=True, eq=False)
class Step:
    """Weights to score next, the direction that the step begins at, and how far the regression is from being solved."""

    weights: Array
    begin: int
    decrement: float


@dataclass(eq=False)
class View:
    """The rows that directions are trained on and measured on, as factors of the cells; and the directions known.

    Attributes
    ----------
    rows
        The rows that all views share.
    train, measure
        Factor of every cell where directions are trained, and where their classifiers are counted.
    penalty
        Ridge on every weight, the intercept last.
    thresholds
        Whether all thresholds of a direction are classifiers, or only the regression's own: a score of 0.
    """

    rows: CellRows
    train: Array
    measure: Array
    penalty: Array
    thresholds: bool = True
    directions: list[Direction] = field(default_factory=list)
    settled: bool = False
    """Whether the last answer was close to the solution of the regression."""
    _last: tuple[int, int, Array] | None = None
    """The direction that the last step began at, the one that it ended at, and the costs."""

    @property
    def weights(self) -> Array:
        """Weight of every cell in the training."""
        return self.train * self.rows.cells.totals

    def origin(self) -> Direction:
        """The direction with score 0 for every row: the constant classifiers. It needs no pass."""
        totals = self.rows.cells.totals
        sums = np.stack([totals, np.zeros_like(totals)], axis=1)
        nothing = np.zeros(self.rows.width)
        edges = np.array([-1.0, 1.0])
        return Direction(nothing, edges, sums, totals * np.log(2), np.zeros_like(totals), self.rows.first / 2)

    def propose(self, costs: Array) -> Array:
        """Weights to score next, (width, answers), for costs by cell (cells, answers); the first ones matter most."""
        normal = [self.normal(column) for column in costs.T]
        steps = [self._step(column, k == 0) for k, column in enumerate(normal)]
        self.settled = steps[0].decrement < SETTLED
        self._last = (steps[0].begin, len(self.directions), normal[0])
        return np.stack([step.weights for step in steps], axis=1)

    def best(self, costs: Array) -> Direction:
        """The known direction with the least loss at costs by cell."""
        normal = self.normal(costs)
        return self.directions[1 + int(np.argmin(self._losses(normal)[1:]))]

    def normal(self, costs: Array) -> Array:
        """Costs scaled to a mean of 1 (as the costs of labels have) on the cells that this view trains on."""
        total = float(self.weights.sum())
        return np.asarray(costs * self.train * total / max(float(np.abs(costs) @ self.weights), 1e-300))

    def _losses(self, costs: Array) -> Array:
        """Loss of every known direction at normal costs; infinite if the loss is unknown."""
        size = np.abs(costs)
        places = [k for k, each in enumerate(self.directions) if each.loss is not None]
        known = [self.directions[k] for k in places]
        losses = np.array([each.loss for each in known]) @ size
        losses -= np.array([each.linear for each in known]) @ (size * (costs < 0))
        losses += 0.5 * np.square([each.weights for each in known]) @ self.penalty
        result = np.full(len(self.directions), np.inf)
        result[places] = losses
        return result

    def _slope(self, direction: Direction, costs: Array) -> Array:
        assert direction.slope is not None  # its loss is finite
        size = np.abs(costs)
        slope = size @ direction.slope - (size * (costs < 0)) @ self.rows.first
        return np.asarray(slope + self.penalty * direction.weights)

    def _step(self, costs: Array, first: bool) -> Step:
        """One step for normalised costs."""
        losses = self._losses(costs)
        best = int(np.argmin(losses))
        slope = self._slope(self.directions[best], costs)
        move = _two_loops(slope, self._secants(losses, best, costs), self.solver(costs), self.rows.diagonal)
        decrement = float(slope @ move) / float(self.weights.sum())
        shorter = self._shortened(best, slope, losses, costs) if first and decrement > ROUNDING else None
        if shorter is not None:
            return Step(shorter, best, np.inf)
        return Step(self.directions[best].weights - move, best, decrement)

    def _shortened(self, best: int, slope: Array, losses: Array, costs: Array) -> Array | None:
        """The minimum of the cubic along the last step, if that step increased the loss; else None."""
        if self._last is None or self._last[0] != best:
            return None
        _, other, before = self._last
        if other >= len(self.directions):  # the last step was not taken
            return None
        if float(np.abs(costs - before) @ self.rows.cells.totals) > MAX_COST_CHANGE * float(self.weights.sum()):
            return None
        move = self.directions[other].weights - self.directions[best].weights
        start_slope, end_slope = float(slope @ move), float(self._slope(self.directions[other], costs) @ move)
        if start_slope >= 0:
            return None
        rise = start_slope + end_slope - 3 * float(losses[other] - losses[best])
        root = np.sqrt(max(rise * rise - start_slope * end_slope, 0.0))
        width = end_slope - start_slope + 2 * root
        share = 1 - (end_slope + root - rise) / width if abs(width) > 1e-300 else 0.5
        share = float(np.clip(share, MIN_STEP_SHARE, MAX_STEP_SHARE)) if np.isfinite(share) else 0.5
        return np.asarray(self.directions[best].weights + share * move)

    def solver(self, costs: Array) -> Solve:
        """Solve with the bound of the second derivatives at normal costs."""
        size = np.abs(costs)
        if self.rows.diagonal:
            diagonal = size @ self.rows.moments / 4 + self.penalty
            return lambda slope: np.asarray(slope / diagonal)
        moments = self.rows.moments
        matrix = (size @ moments.reshape(len(size), -1)).reshape(moments.shape[1:]) / 4
        diagonal = matrix.reshape(-1)[:: len(matrix) + 1]
        diagonal += self.penalty
        diagonal *= 1 + 1e-7
        factor = cho_factor(matrix, check_finite=False)
        return lambda slope: np.asarray(cho_solve(factor, slope, check_finite=False))

    def _secants(self, losses: Array, best: int, costs: Array) -> list[tuple[Array, Array, float]]:
        """Steps between known directions and changes of their slopes, those nearest to the best one last."""
        near = [k for k in np.argsort(losses, kind="stable")[: SECANTS + 1] if k != best and np.isfinite(losses[k])]
        chain = [self.directions[k] for k in reversed(near)] + [self.directions[best]]
        slopes = [self._slope(direction, costs) for direction in chain]
        pairs = []
        for k in range(len(chain) - 1):
            s, y = chain[k + 1].weights - chain[k].weights, slopes[k + 1] - slopes[k]
            curve = float(s @ y)
            if curve > 1e-10 * np.sqrt(float(s @ s) * float(y @ y)):
                pairs.append((s, y, curve))
        return pairs


def _two_loops(slope: Array, pairs: Sequence[tuple[Array, Array, float]], solve: Solve, rescale: bool) -> Array:
    """The step of L-BFGS (Nocedal 1980) from a first guess of the inverse; ``rescale`` scales it by the last secant."""
    direction, shares = slope.copy(), []
    for s, y, curve in reversed(pairs):
        shares.append(float(s @ direction) / curve)
        direction = direction - shares[-1] * y
    move = solve(direction)
    if pairs and rescale:
        _, y, curve = pairs[-1]
        move = move * np.clip(curve / float(y @ solve(y)), 1.0, 10.0)
    for (s, y, curve), share in zip(pairs, reversed(shares), strict=True):
        move = move + s * (share - float(y @ move) / curve)
    return np.asarray(move)


def choose_ridge(rows: CellRows, penalties: Sequence[Array], train: Array) -> int:
    """Which penalty leaves the least loss on rows that are left out, to first order.

    Leaving a row out moves its score by a step of Newton's method, by a g / (1 - a h), where g and h are the first and
    second derivative of its loss and a = x' H^-1 x for the second derivatives H of all. A later (larger) penalty must
    come down to `MAX_LOSS_SHARE` of the loss of those before it, so that differences that hardly matter change nothing.
    """
    X = np.asarray(rows.X.toarray() if rows.sparse else rows.X, dtype=float)
    if rows.sparse:
        X = np.hstack([X, np.ones((len(X), 1))])
    cell = np.repeat(np.arange(len(rows.cells)), np.diff(rows.starts))
    y = rows.cells.labels[cell].astype(float)
    w = train[cell] * (1.0 if rows.weights is None else rows.weights)
    W, least, chosen, count = np.zeros(X.shape[1]), np.inf, 0, rows.shared.total(len(X))
    for k, penalty in enumerate(penalties):
        for _ in range(12):
            z = X @ W
            p = 1 / (1 + np.exp(-z))
            bend = w * p * (1 - p)
            matrix, slope = rows.shared.add((X * bend[:, None]).T @ X, X.T @ (w * (p - y)))
            matrix, slope = matrix + np.diag(penalty), slope + penalty * W
            move = np.linalg.solve(matrix, slope)
            if float(slope @ move) / count < 1e-5:
                break
            W = W - move
        leverage = (np.linalg.solve(matrix, X.T).T * X).sum(axis=1)
        without = z + leverage * w * (p - y) / (1 - np.minimum(leverage * bend, 1 - 1e-9))
        lost = rows.shared.total(float(w @ (np.logaddexp(0.0, without) - y * without)))
        if lost < (MAX_LOSS_SHARE * least if k else np.inf):
            least, chosen = lost, k
    return chosen
