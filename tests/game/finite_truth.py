"""The best mixture of finitely many classifiers, by scipy's linear programmes over rates that are counted by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

import equirate as eq

Array = NDArray[np.float64]
A, B = eq.attr("g") == 0, eq.attr("g") == 1
WIDE = 0.02
"""Width of the strips that precisions are searched in."""


def one_hot(seed: int) -> tuple[Array, Array, dict[str, Array], Array]:
    """Six indicators: every labelling of the six levels is a linear classifier."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 6, 300)
    y = (rng.random(300) < rng.random(6)[level]).astype(int)
    g = (rng.random(300) < rng.random(6)[level]).astype(int)
    decided = np.array(list(itertools.product([0, 1], repeat=6))).T[level]
    return np.eye(6)[level], y, {"g": g}, decided


def one_feature(seed: int) -> tuple[Array, Array, dict[str, Array], Array]:
    """One feature: both signs with every threshold."""
    rng = np.random.default_rng(seed)
    y, g = (rng.random(150) < 0.4).astype(int), (rng.random(150) < 0.4).astype(int)
    x = rng.normal(size=150) + 0.7 * y + 0.3 * g
    above = (x[:, None] > np.append(-np.inf, np.sort(x))).astype(int)
    return x[:, None], y, {"g": g}, np.concatenate([above, 1 - above], axis=1)


def two_features(seed: int, n: int = 40) -> tuple[Array, Array, dict[str, Array], Array]:
    """All half-planes: the order along a direction changes only where the direction is across two points."""
    rng = np.random.default_rng(seed)
    y, g = (rng.random(n) < 0.4).astype(int), (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 2)) + 0.8 * y[:, None] * rng.normal(size=2) + 0.5 * g[:, None]
    i, j = np.triu_indices(n, 1)
    across = np.sort(np.mod(np.arctan2(X[i, 0] - X[j, 0], X[j, 1] - X[i, 1]), np.pi))
    angles = np.append((across[1:] + across[:-1]) / 2, (across[-1] + across[0] + np.pi) / 2)
    order = np.argsort(-(X @ np.stack([np.cos(angles), np.sin(angles)])), axis=0)
    above = (np.argsort(order, axis=0)[:, :, None] < np.arange(n + 1)).reshape(n, -1).astype(np.int8)
    above = np.unique(above, axis=1)
    return X, y, {"g": g}, np.concatenate([above, 1 - above], axis=1)


class Counted:
    """Rates of every classifier of a list, counted by hand; classifiers with the same rates count once."""

    def __init__(self, y: Array, g: Array, decided: Array) -> None:
        cells = [(g == a) & (y == b) for a in (0, 1) for b in (0, 1)]
        sums = np.unique(np.stack([decided[cell].sum(axis=0, dtype=float) for cell in cells]), axis=1)
        size = np.array([[cell.sum()] for cell in cells])
        n, base = len(y), float(y.mean())
        tp = [sums[1], sums[3]]
        self.n, self.base = sums.shape[1], base
        self.positive = sums.sum(axis=0) / n
        self.tp = (sums[1] + sums[3]) / n
        self.error = (sums[0] + sums[2] + (size[1] - sums[1]) + (size[3] - sums[3])) / n
        self.tpr = (sums[1] + sums[3]) / (size[1] + size[3])
        self.group_tpr = [sums[1] / size[1], sums[3] / size[3]]
        self.group_positive = [(sums[0] + sums[1]) / (size[0] + size[1]), (sums[2] + sums[3]) / (size[2] + size[3])]
        self.group_tp = [part / (size[2 * k] + size[2 * k + 1]) for k, part in enumerate(tp)]
        self.group_base = [float(y[g == k].mean()) for k in (0, 1)]

    # -- programmes over mixtures ------------------------------------------------------------------

    def least(self, cost: Array, rows: list[Array], limits: list[float]) -> float:
        """Least value of a linear function of the mixture; infinite where no mixture meets the limits."""
        A = np.stack(rows) if rows else None
        found = linprog(cost, A, limits or None, np.ones((1, len(cost))), [1.0], (0, 1))
        return float(found.fun) if found.success else np.inf

    def largest_ratio(self, top: Array, bottom: Array, rows: list[Array]) -> float:
        """Largest ratio of two linear functions with others at most 0 (Charnes and Cooper 1962)."""
        A = np.stack(rows) if rows else None
        found = linprog(-top, A, np.zeros(len(rows)) if rows else None, bottom[None], [1.0], (0, None))
        return float(-found.fun) if found.success else -np.inf


def _bisected(possible: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(22):
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return low


def _equal_opportunity(c: Counted) -> tuple[float, float]:
    apart = c.group_tpr[0] - c.group_tpr[1]
    found = c.least(c.error, [apart, -apart], [0.02, 0.02])
    return found, found


def _divergence(c: Counted) -> tuple[float, float]:
    """The divergence is a function of each group's positive rate; its tangents lie below it."""
    q = np.concatenate([np.geomspace(1e-4, 0.02, 20), np.linspace(0.025, 0.975, 191), 1 - np.geomspace(1e-4, 0.02, 20)])
    p, zero = c.base, np.zeros((len(q), c.n))
    value = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    slope = -p / q + (1 - p) / (1 - q)
    rows, limits = [np.append(c.error, [0, 0])[None]], [np.array([0.35])]
    for k, positive in enumerate(c.group_positive):
        tangents = np.column_stack([zero + slope[:, None] * positive, -np.eye(2)[k] * np.ones((len(q), 1))])
        rows.append(tangents)
        limits.append(slope * q - value)
    cost = np.append(np.zeros(c.n), [1.0, 1.0])
    bounds = [(0, 1)] * c.n + [(0, None)] * 2
    found = linprog(cost, np.vstack(rows), np.concatenate(limits), np.append(np.ones(c.n), [0, 0])[None], [1], bounds)
    return float(found.fun), float(found.fun) + 1e-4


def _predictive_parity(c: Counted) -> tuple[float, float]:
    """Precisions in strips: with one group's in a strip, those of the other are bounded, which is linear."""
    inner = outer = -np.inf
    for low in np.arange(0.0, 1.0, WIDE):
        high = low + WIDE
        own = [low * c.group_positive[0] - c.group_tp[0], c.group_tp[0] - high * c.group_positive[0]]
        for near, far in ((high - 0.02, low + 0.02), (low - 0.02, high + 0.02)):
            other = [near * c.group_positive[1] - c.group_tp[1], c.group_tp[1] - far * c.group_positive[1]]
            found = c.largest_ratio(2 * c.tp, c.positive + c.base, [*own, *other])
            if near > low - 0.02:
                inner = max(inner, found)
            else:
                outer = max(outer, found)
    return inner, outer


def _f1_at_a_precision(c: Counted) -> tuple[float, float]:
    found = c.largest_ratio(2 * c.tp, c.positive + c.base, [0.6 * c.positive - c.tp])
    return found, found


def _precision_at_a_recall(c: Counted) -> tuple[float, float]:
    found = c.largest_ratio(c.tp, c.positive, [0.3 - c.tpr])
    return found, found


def _smaller_f1(c: Counted) -> tuple[float, float]:
    both = list(zip(c.group_tp, c.group_positive, c.group_base, strict=True))
    found = _bisected(
        lambda r: np.isfinite(c.least(np.zeros(c.n), [r * (pos + b) - 2 * tp for tp, pos, b in both], [0.0, 0.0]))
    )
    return found, found


PROBLEMS = {
    "error, equal opportunity": (eq.minimize(eq.error_rate()), eq.equal_opportunity("g", tolerance=0.02)),
    "divergence, error limit": (eq.minimize(eq.kl_divergence(A) + eq.kl_divergence(B)), [eq.error_rate() <= 0.35]),
    "f1, predictive parity": (eq.maximize(eq.f1()), eq.predictive_parity("g", tolerance=0.02)),
    "f1, precision bound": (eq.maximize(eq.f1()), [eq.precision() >= 0.6]),
    "precision, recall bound": (eq.maximize(eq.precision()), [eq.recall() >= 0.3]),
    "the smaller f1": (eq.maximize(eq.min(eq.f1(A), eq.f1(B))), []),
}
BEST = {
    "error, equal opportunity": _equal_opportunity,
    "divergence, error limit": _divergence,
    "f1, predictive parity": _predictive_parity,
    "f1, precision bound": _f1_at_a_precision,
    "precision, recall bound": _precision_at_a_recall,
    "the smaller f1": _smaller_f1,
}


def best(name: str, y: Array, attributes: dict[str, Array], decided: Array) -> tuple[float, float]:
    """Objective that the best mixture has at least and at most (the other way round where it is minimised)."""
    return BEST[name](Counted(y, attributes["g"], decided))
