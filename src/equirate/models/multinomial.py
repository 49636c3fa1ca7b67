r"""The solver of multinomial logistic regression for a given penalty, on standardised features.

In: features, classes, weights. Out: a `Logistic`, whose coefficients are in the units of the features as given. The
rows are read in blocks and only sums over them are kept, so that they may lie in files, and several processes may share
them.

The mean loss with its ridge is minimised by L-BFGS. At weights 0 and the logarithms of the shares :math:`\pi` of the
classes, the second derivatives are :math:`(\mathrm{diag}(\pi) - \pi\pi^\top) \otimes S + \lambda`, with the second
moments :math:`S` of the features: the product of two small matrices. The weights are expressed in its eigenvectors, so
that correlated features and rare classes take no more passes than others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize

from .._core import threads
from .._core.peers import ALONE, Peers
from ..data.features import is_sparse
from .cross_fitting import Certain
from .rows import blocks
from .sklearn_classifiers import Logistic

Array = NDArray[np.float64]
Result = TypeVar("Result")

TOLERANCE = 1e-5
"""Largest slope of the mean loss at the end, by weights that are scaled to unit second derivatives."""
MOST_PASSES = 300
"""Largest number of steps."""
SAMPLED_ROWS = 20_000
"""Rows, evenly spaced, that second moments are estimated on: they set the scale of the steps, not the result."""
MAX_FEATURES_FOR_MOMENTS = 1000
"""Features up to which second moments are used: their eigenvectors take half a second then."""
_BLOCK = 1 << 18
"""Values of features per block, in double precision: they stay in cache."""
_TASK = 1 << 22
"""Values of features per task of a thread; the number of threads changes no sum."""


@dataclass(frozen=True)
class Multinomial:
    """A multinomial logistic regression that standardises inside.

    Parameters
    ----------
    penalty
        Ridge penalty on the standardised coefficients.
    intercept
        Whether there is an intercept for each class.
    """

    penalty: float = 1.0
    intercept: bool = True

    def predict_proba(self, X: Any) -> Array:
        """Not available: `fit` returns the object that predicts."""
        raise NotImplementedError

    def fit(
        self,
        X: Any,
        target: NDArray[Any],
        weights: Array,
        classes: int,
        shared: Peers = ALONE,
        shares: Array | None = None,
    ) -> Logistic | Certain:
        """Fit on the rows of all processes, and return the coefficients for features as given.

        ``target`` holds codes 0, 1, 2 ..., and rows without weight do not count. With ``shares`` (kinds, classes), it
        is the kind of each row, which counts for every class in part.
        """
        kinds = classes if shares is None else len(shares)
        totals = np.bincount(target, weights=weights, minlength=kinds).astype(float)
        totals = shared.total(totals if shares is None else totals @ shares)
        present = np.flatnonzero(totals > 0)
        if len(present) == 1:
            return Certain(present)
        shares = None if shares is None else shares[:, present]
        return _Regression(self, X, target, weights, present, totals[present], shared, shares).solve()


class _Regression:
    """One regression: the rows of this process, and the shares of the classes on all of them."""

    def __init__(
        self,
        setting: Multinomial,
        X: Any,
        target: NDArray[Any],
        weights: Array,
        present: NDArray[np.intp],
        totals: Array,
        shared: Peers,
        shares: Array | None = None,
    ) -> None:
        self.setting, self.X, self.target, self.weights, self.shared = setting, X, target, weights, shared
        self.shares = shares
        self.present, self.totals, self.total = present, totals, float(totals.sum())
        self.width, self.sparse = int(X.shape[1]), is_sparse(X)
        # Of two classes, each has half of the coefficients that one of them would have alone.
        self.ridge = setting.penalty / self.total * (2.0 if len(present) == 2 else 1.0)
        self.place = np.zeros(int(present[-1]) + 1, dtype=np.intp)
        self.place[present] = np.arange(len(present))
        self.centre, self.spread = self._standard()
        self._inverse = 1 / self.spread

    # -- rows --------------------------------------------------------------------------------------

    @property
    def _rows(self) -> int:
        """Rows of a block."""
        values = self.width
        if self.sparse:
            values = self.X.nnz // max(self.X.shape[0], 1)
        return max(_BLOCK // max(values, len(self.present), 1), 1)

    def _by_block(self, function: Callable[[Any, Array, NDArray[np.intp]], Result]) -> list[Result]:
        """Results of a function of a block, in the order of the rows, whichever thread finished first."""
        results: dict[int, list[Result]] = {}

        def work(first: int, last: int) -> None:
            results[first] = [function(*block) for block in self._blocks(first, last)]

        tasks = blocks(len(self.target), self._rows * (_TASK // _BLOCK))
        threads.each(work, [(task.start, task.stop) for task in tasks])
        return [each for first in sorted(results) for each in results[first]]

    def _blocks(self, first: int, last: int) -> Iterator[tuple[Any, Array, NDArray[np.intp]]]:
        """Features as given, weights, and positions of the classes or kinds, of the rows with positive weight."""
        for a in range(first, last, self._rows):
            rows = slice(a, min(a + self._rows, last))
            w, X, target = self.weights[rows], self.X[rows], self.target[rows]
            used = w > 0
            if not used.all():
                w, X, target = w[used], X[used], target[used]
            if len(w):
                yield X, w, self.place[target] if self.shares is None else target

    def _standard(self) -> tuple[Array, Array]:
        """Centre (0 for sparse features, and without an intercept) and spread of each feature, never 0."""
        moments = self._by_block(self._moments_of)
        nothing = np.zeros(self.width)
        (total,) = self.shared.add(sum((size * mean for size, mean, _ in moments), nothing))
        mean = total / self.total
        (squares,) = self.shared.add(
            sum((square + size * (centre - mean) ** 2 for size, centre, square in moments), nothing)
        )
        spread = np.sqrt(squares / self.total)
        spread = np.where(spread > 1e-9 * np.maximum(np.hypot(spread, mean), 1e-300), spread, 1.0)
        return (nothing if self.sparse or not self.setting.intercept else mean), spread

    def _moments_of(self, X: Any, w: Array, target: NDArray[np.intp]) -> tuple[float, Array, Array]:
        """Weight, mean, and sum of squares about the mean, of the rows of a block."""
        size = float(w.sum())
        if self.sparse:
            mean = np.asarray(w @ X).reshape(-1) / size
            return size, mean, np.maximum(np.asarray(w @ X.multiply(X)).reshape(-1) - size * mean**2, 0.0)
        X = X.astype(float, copy=False)
        mean = w @ X / size
        return size, mean, w @ np.square(X - mean)

    def _scaled(self, X: Any) -> Any:
        """Standardised features; sparse ones are scaled by the weights instead."""
        if self.sparse:
            return X
        scaled = X - self.centre
        scaled *= self._inverse
        return scaled

    # -- scales ------------------------------------------------------------------------------------

    def _second_moments(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the second moments of standardised features, from a sample of the rows."""
        if self.sparse or self.width > MAX_FEATURES_FOR_MOMENTS:
            return np.ones(self.width), np.eye(0)
        first, total = self.shared.places(len(self.target))
        step = max(total // SAMPLED_ROWS, 1)
        matrix, size = np.zeros((self.width, self.width)), 0.0
        chosen = np.arange(-first % step, len(self.target), step)
        chosen = chosen[self.weights[chosen] > 0]
        for a in range(0, len(chosen), self._rows):
            X = self._scaled(self.X[chosen[a : a + self._rows]])
            matrix += X.T @ X
            size += len(X)
        matrix, sizes = self.shared.add(matrix, np.array([size]))
        values, vectors = eigh(matrix / max(float(sizes[0]), 1.0))
        return np.maximum(values, 0.0), np.asarray(vectors)

    def solve(self) -> Logistic:
        """Minimise the mean loss."""
        shares, K, intercept = self.totals / self.total, len(self.present), self.setting.intercept
        values, Q = self._second_moments()
        curvature, U = eigh(np.diag(shares) - np.outer(shares, shares))
        curvature, U = np.maximum(curvature[1:], 1e-12), np.asarray(U[:, 1:])  # the first adds the same to all classes
        scale = 1 / np.sqrt(values[:, None] * curvature + self.ridge)
        scale = np.vstack([scale, 1 / np.sqrt(curvature) if intercept else np.zeros(K - 1)])
        begin = np.zeros((self.width + 1, K))
        if intercept:
            begin[-1] = np.log(shares) - np.log(shares).mean()

        def turned(V: Array, back: bool = False) -> Array:
            """Into the eigenvectors, or back from them."""
            if not len(Q):
                return V
            return np.vstack([(Q.T if back else Q) @ V[:-1], V[-1:]])

        def weights(z: Array) -> Array:
            return begin + turned(scale * z.reshape(scale.shape)) @ U.T

        def mean_loss(z: Array) -> tuple[float, Array]:
            loss, slope = self.loss(weights(z))
            return loss, (scale * (turned(slope, back=True) @ U)).reshape(-1)

        options: Any = {"maxiter": MOST_PASSES, "gtol": TOLERANCE, "ftol": 64 * np.finfo(float).eps, "maxls": 50}
        result = minimize(mean_loss, np.zeros(scale.size), jac=True, method="L-BFGS-B", options=options)
        return self._served(weights(result.x))

    def loss(self, W: Array) -> tuple[float, Array]:
        """Mean loss with the ridge at weights (features and intercept, classes) and its slope: one pass."""
        coefficients = W[:-1] / self.spread[:, None] if self.sparse else W[:-1]
        loss, slope = np.zeros(1), np.zeros_like(W)
        for lost, part in self._by_block(partial(self._block_loss, coefficients, W[-1])):
            loss += lost
            slope += part
        loss, slope = self.shared.add(loss, slope)
        if self.sparse:
            slope[:-1] /= self.spread[:, None]
        slope /= self.total
        slope[:-1] += self.ridge * W[:-1]
        if not self.setting.intercept:
            slope[-1] = 0.0
        return float(loss[0] / self.total + self.ridge / 2 * np.square(W[:-1]).sum()), slope

    def _block_loss(
        self, W: Array, intercept: Array, X: Any, w: Array, target: NDArray[np.intp]
    ) -> tuple[float, Array]:
        """Loss and slope of a block of rows."""
        X = self._scaled(X)
        rows = np.arange(len(target))
        scores = np.ascontiguousarray((X @ W).T)  # by class: sums over a few classes are fast that way
        scores += intercept[:, None]
        scores -= scores.max(axis=0)
        shares = None if self.shares is None else np.ascontiguousarray(self.shares[target].T)
        right = scores[target, rows] if shares is None else (shares * scores).sum(axis=0)
        chances = np.exp(scores, out=scores)
        totals = chances.sum(axis=0)
        loss = float(w @ (np.log(totals) - right))
        chances *= w / totals
        if shares is None:
            chances[target, rows] -= w
        else:
            chances -= shares * w
        slope = np.empty((self.width + 1, len(intercept)))
        slope[:-1] = X.T @ chances.T
        slope[-1] = chances.sum(axis=1)
        return loss, slope

    def _served(self, W: Array) -> Logistic:
        """Coefficients for the features as given; of two classes, those of the second alone."""
        coefficients = W[:-1].T / self.spread
        intercepts = W[-1] - coefficients @ self.centre
        if len(self.present) == 2:
            coefficients, intercepts = coefficients[1:] - coefficients[:1], intercepts[1:] - intercepts[:1]
        return Logistic(coefficients, intercepts, self.present.astype(np.int64))
