"""Weighted logistic regressions, several at once: the directions that a linear model answers costs with.

In: rows, and for each of several costs per row (negative where 1 is wanted). Out: weights whose scores separate what is
wanted from what is not, each error weighed by its cost. `directions` calls this.

Newton's method, with the true second derivatives where they are cheap and with the bound of Böhning and Lindsay (1988),
a quarter of the features' second moments, where they are not. Each cell has moments of its own, so that the bound of
any costs per cell is a weighted sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data.cells import Cells
from .design import Standard

Array = NDArray[np.float64]

WIDEST = 400
"""Features up to which second moments are kept."""
CHEAP, AFFORDABLE = 2e6, 3e9
"""Multiplications for second derivatives that an iteration may take: usually, and where it must converge."""
_MOMENTS = 8_000_000
"""Values that the moments of all cells may take."""
_BLOCK = 16384


@dataclass(eq=False)
class Logistic:
    """Rows to regress on.

    ``standard`` gives the scale of the features, for the penalty: of 1, as scikit-learn has it, on the weights of
    standardised features or, where ``as_given``, of the features as they are. Weights are for the features as given,
    with the intercept last.
    """

    X: Any
    cells: Cells
    standard: Standard
    intercept: bool = True
    ridge: float = 1.0
    as_given: bool = False
    _spread: Array = field(init=False)
    _penalty: Array = field(init=False)

    def __post_init__(self) -> None:
        spread = np.where(np.isfinite(self.standard.spread), self.standard.spread, 1e6)
        self._spread = np.append(spread, 1.0)
        each = np.minimum(self.ridge / np.maximum(spread, 1e-6) ** 2, 1e12) if self.as_given else self.ridge
        self._penalty = np.append(np.broadcast_to(each, spread.shape), 1e-6 if self.intercept else 1e12)

    @property
    def width(self) -> int:
        """Number of weights."""
        return int(self.X.shape[1]) + 1

    @cached_property
    def work(self) -> float:
        """Multiplications for the second moments of all rows."""
        sparse = bool(sp.issparse(self.X))
        each = np.diff(self.X.indptr).astype(float) ** 2 if sparse else np.array([float(self.X.shape[1]) ** 2])
        return float(each.sum() * (1 if sparse else self.X.shape[0]))

    def fit(self, costs: Array, start: Array, iterations: int, most: float = CHEAP) -> Array:
        """Weights (width, regressions) for costs per cell (cells, regressions), from ``start``.

        True second derivatives are used where an iteration then takes at most ``most`` multiplications for them.
        """
        scale = np.abs(costs[self.cells.of] * self.cells.weights[:, None]).sum(axis=0)
        size = self.cells.weights.sum() / np.maximum(scale, 1e-300)  # costs of 1 on average, as labels have them
        costs = costs * size
        W = start.copy()
        if not W.shape[1]:
            return W
        newton = self.newton(most / W.shape[1])
        bound = None if newton or self.width > WIDEST else self._bounds(np.abs(costs))
        best, value = W.copy(), np.full(W.shape[1], np.inf)
        step = np.ones(W.shape[1])
        for _ in range(iterations):
            lost, slope, curves = self._sweep(W, costs, newton)
            worse = ~(lost <= value + 1e-9 * np.abs(value))
            step = np.where(worse, step / 4, np.minimum(2 * step, 1.0))
            best[:, ~worse], value[~worse] = W[:, ~worse], lost[~worse]
            if worse.all() and (step < 1e-3).all():
                break
            move = self._move(slope, curves if newton else bound, costs)
            if not worse.any() and ((move * slope).sum(0) <= 1e-7 * (1 + np.abs(value))).all():
                break
            W = np.where(worse, best + step * (W - best), W - step * move)
        return best

    def newton(self, most: float) -> bool:
        """Whether the second derivatives of one regression are to be had with so many multiplications."""
        return self.width <= WIDEST and self.work <= most

    def left_out(self, costs: Array, W: Array) -> float:
        """The loss of one regression on its rows, each scored as if it had been left out (to first order).

        Leaving row i out moves its score by a step of Newton's method: by a g / (1 - a h), where g and h are the first
        and second derivative of its loss, and a = x' H^-1 x for the second derivatives H of all.
        """
        curves = self._sweep(W, costs, True)[2]
        assert curves is not None  # asked for
        inverse, lost = np.linalg.inv(curves[0]), 0.0
        for X, c, margin, tail in self._blocks(W, costs):
            dense = X.toarray() if bool(sp.issparse(X)) else X
            Z = np.hstack([dense, np.ones((len(c), 1))]) / self._spread
            push = ((Z @ inverse) * Z).sum(axis=1) * np.abs(c[:, 0]) * tail[:, 0]
            without = margin[:, 0] - push / (1 - np.minimum(push * (1 - tail[:, 0]), 1 - 1e-9))
            lost += float((np.abs(c[:, 0]) * np.logaddexp(0.0, -without)).sum())
        return lost

    def _move(self, slope: Array, curves: Array | None, costs: Array) -> Array:
        """The step of Newton's method, in coordinates in which the penalty is 1."""
        scaled = slope / self._spread[:, None]
        if curves is None:  # more features than moments are kept for: as if standardised features were uncorrelated
            total = np.abs(costs[self.cells.of] * self.cells.weights[:, None]).sum(axis=0)
            return np.asarray(scaled / (total / 4 + self._penalty[:, None]) / self._spread[:, None])
        found = np.linalg.solve(curves, scaled.T[:, :, None])[:, :, 0].T
        return np.asarray(found / self._spread[:, None])

    def _sweep(self, W: Array, costs: Array, newton: bool) -> tuple[Array, Array, Array | None]:
        """Losses, slopes and, where asked for, the scaled second derivatives."""
        penalised = W * self._spread[:, None]
        lost = 0.5 * (self._penalty @ penalised**2)
        slope = self._penalty[:, None] * penalised * self._spread[:, None]
        k = W.shape[1]
        curves = np.tile(np.diag(self._penalty), (k, 1, 1)) if newton else None
        for X, c, margin, tail in self._blocks(W, costs):
            size = np.abs(c)
            lost += (size * np.logaddexp(0.0, -margin)).sum(axis=0)
            residual = c * tail  # c < 0: 1 is wanted, and the score should rise
            slope[:-1] += X.T @ residual.astype(self.X.dtype)
            slope[-1] += residual.sum(axis=0)
            if curves is not None:
                for j in range(k):
                    curves[j] += self._moment(X, size[:, j] * tail[:, j] * (1 - tail[:, j]))
        if not self.intercept:
            slope[-1] = 0.0
        return lost, slope, curves

    def _blocks(self, W: Array, costs: Array) -> Iterator[tuple[Any, Array, Array, Array]]:
        """Block by block: rows, their costs, by how far each is on the side that its cost wants, and 1 / (1 + exp)."""
        low = W.astype(self.X.dtype)
        for a in range(0, self.X.shape[0], _BLOCK):
            rows = slice(a, a + _BLOCK)
            X, c = self.X[rows], costs[self.cells.of[rows]] * self.cells.weights[rows, None]
            f = np.asarray(X @ low[:-1], dtype=float) + W[-1]
            margin = np.where(c < 0, f, -f)
            with np.errstate(over="ignore"):
                tail = 1 / (1 + np.exp(margin))
            yield X, c, margin, tail

    def _bounds(self, sizes: Array) -> Array:
        """A quarter of the second moments, each row weighed by its cost, and the penalty."""
        eye = np.diag(self._penalty)
        if len(self.cells) * self.width**2 > _MOMENTS:
            weights = sizes[self.cells.of] * self.cells.weights[:, None]
            return np.stack([eye + self._moments_of(w) / 4 for w in weights.T])
        return np.asarray(eye + np.tensordot(sizes.T, self._cell_moments, axes=1) / 4)

    @cached_property
    def _cell_moments(self) -> Array:
        found = np.zeros((len(self.cells), self.width, self.width))
        for c in range(len(self.cells)):
            found[c] = self._moments_of(np.where(self.cells.of == c, self.cells.weights, 0.0))
        return found

    def _moments_of(self, weights: Array) -> Array:
        total = np.zeros((self.width, self.width))
        rows = np.flatnonzero(weights)
        for a in range(0, len(rows), _BLOCK):
            some = rows[a : a + _BLOCK]
            total += self._moment(self.X[some], weights[some])
        return total

    def _moment(self, X: Any, weights: Array) -> Array:
        """Weighted second moments of the scaled features and the intercept."""
        result = np.empty((self.width, self.width))
        sparse = bool(sp.issparse(X))
        if sparse:
            weighted = sp.csr_array(sp.diags_array(weights) @ X)
            result[:-1, :-1] = (weighted.T @ X).toarray()
            result[-1, :-1] = result[:-1, -1] = np.asarray(weighted.sum(axis=0)).reshape(-1)
        else:
            double = X.astype(float, copy=False)
            weighted = double * weights[:, None]
            result[:-1, :-1] = weighted.T @ double
            result[-1, :-1] = result[:-1, -1] = weighted.sum(axis=0)
        result[-1, -1] = weights.sum()
        return np.asarray(result / self._spread / self._spread[:, None])
