"""Atoms of ratios (maximin, an absolute difference, roots): solved as well as a dense search over all mixtures does."""

import itertools
from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

import equirate as eq

A, B = eq.attr("group") == "a", eq.attr("group") == "b"
N, K = 80, 5
X = np.arange(N, dtype=float)[:, None]


@cache
def sample(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, groups, and the decisions of thresholds that differ between the groups; the last predicts nobody."""
    rng = np.random.default_rng(seed)
    y, group = (rng.random(N) < 0.4).astype(int), np.where(rng.random(N) < 0.5, "a", "b")
    score = y + 0.8 * rng.normal(size=N)
    thresholds = [*rng.uniform(-1, 2, (K - 1, 2)), (9.0, 9.0)]
    decided = np.stack([np.where(group == "a", a < score, b < score) for a, b in thresholds], axis=1)
    return y, group, decided.astype(float)


@cache
def mixtures(steps: int = 24) -> np.ndarray:
    """(mixtures, K): a regular grid over the simplex."""
    whole = [c for c in itertools.product(range(steps + 1), repeat=K - 1) if sum(c) <= steps]
    grid = np.array(whole, dtype=float) / steps
    return np.hstack([grid, 1 - grid.sum(1, keepdims=True)])


class Hand:
    """Rates of every mixture of the grid, by hand."""

    def __init__(self, seed: int) -> None:
        y, group, decided = sample(seed)
        self.p = mixtures() @ decided.T
        self.y, self.inside = y, {"a": group == "a", "b": group == "b", "all": np.ones(N, dtype=bool)}
        self.error = np.where(y == 1, 1 - self.p, self.p).mean(1)

    def tp(self, where: str) -> np.ndarray:
        return self.p[:, self.inside[where] & (self.y == 1)].sum(1)

    def positive(self, where: str) -> np.ndarray:
        return self.p[:, self.inside[where]].sum(1)

    def recall(self, where: str) -> np.ndarray:
        return self.tp(where) / self.y[self.inside[where]].sum()

    def precision(self, where: str) -> np.ndarray:
        return np.divide(
            self.tp(where), self.positive(where), out=np.zeros(len(self.p)), where=self.positive(where) > 0
        )

    def f1(self, where: str) -> np.ndarray:
        return 2 * self.tp(where) / (self.positive(where) + self.y[self.inside[where]].sum())


PROBLEMS = {
    "maximin": (
        eq.Problem(eq.maximize(eq.min(eq.f1(A), eq.f1(B)))),
        lambda h: -np.minimum(h.f1("a"), h.f1("b")),
    ),
    "minimax": (
        eq.Problem(eq.minimize(eq.max(2 * eq.error_rate(), 1 - eq.precision(A), 1 - eq.f1(B)))),
        lambda h: np.maximum.reduce([2 * h.error, 1 - h.precision("a"), 1 - h.f1("b")]),
    ),
    "error and difference": (
        eq.Problem(eq.minimize(eq.error_rate() + abs(eq.precision(A) - eq.precision(B)))),
        lambda h: h.error + np.abs(h.precision("a") - h.precision("b")),
    ),
    "difference under a bound": (
        eq.Problem(eq.minimize(abs(eq.precision(A) - eq.precision(B))), [eq.recall() >= 0.5]),
        lambda h: np.where(h.recall("all") >= 0.5, np.abs(h.precision("a") - h.precision("b")), np.inf),
    ),
    "roots": (
        eq.Problem(eq.maximize(eq.sqrt(eq.f1(A)) + eq.sqrt(eq.f1(B)))),
        lambda h: -np.sqrt(h.f1("a")) - np.sqrt(h.f1("b")),
    ),
    "logarithm": (
        eq.Problem(eq.maximize(eq.log(eq.precision()) + eq.recall())),
        lambda h: -np.log(np.maximum(h.precision("all"), 1e-12)) - h.recall("all"),
    ),
}


def solved(problem: eq.Problem, seed: int) -> float:
    """The minimised objective that polish() reaches; constraints kept."""
    y, group, decided = sample(seed)
    members = [lambda X, k=k: decided[X[:, 0].astype(int), k] - 0.5 for k in range(K)]
    solution = eq.solve(problem, X, y, attributes={"group": group}, model=members, n_rounds=200)
    found = solution.polish().evaluate(problem, X, y, attributes={"group": group})
    assert max(found["violations"], default=0.0) <= 1e-6
    return found["objective"] if problem.objective.sense == "minimize" else -found["objective"]


@pytest.mark.parametrize("seed", [0, 4])
@pytest.mark.parametrize("name", PROBLEMS)
def test_as_good_as_a_dense_search(name: str, seed: int) -> None:
    problem, by_hand = PROBLEMS[name]
    assert solved(problem, seed) <= by_hand(Hand(seed)).min() + 1e-4


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_maximin_is_exact(seed: int) -> None:
    """The level set {f1(a) >= t, f1(b) >= t} is a polytope of mixtures, so bisection on t finds the optimum."""
    y, group, decided = sample(seed)
    low, high = 0.0, 1.0
    for _ in range(40):
        t = (low + high) / 2
        rows = []
        for inside in (group == "a", group == "b"):
            tp, positive = decided[inside & (y == 1)].sum(0), decided[inside].sum(0)
            rows.append(t * (positive + y[inside].sum()) - 2 * tp)
        reached = linprog(np.zeros(K), rows, np.zeros(2), np.ones((1, K)), [1.0]).status == 0
        low, high = (t, high) if reached else (low, t)
    assert -solved(PROBLEMS["maximin"][0], seed) == pytest.approx(low, abs=1e-5)
