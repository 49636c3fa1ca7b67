"""Matthews correlation, a black box: the best labelling is found, with a list and with a linear model."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

import equirate as eq

PROBLEM = eq.Problem(eq.maximize(eq.matthews()))


@pytest.mark.parametrize("seed", [2, 3])
def test_the_best_labelling_of_one_hot_features(seed: int) -> None:
    """For a given share of labels the correlation is quasi-convex in (tpr, fpr): no mixture beats every member."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 6, 300)
    y = (rng.random(300) < rng.random(6)[level] * (0.4 if seed % 2 else 1)).astype(int)
    best = max(matthews_corrcoef(y, np.array(labels)[level]) for labels in itertools.product([0, 1], repeat=6))
    X = np.eye(6)[level]
    found = eq.solve(PROBLEM, X, y, n_rounds=800).polish()
    reached = eq.matthews().evaluate(y, found.positive_probability(X))
    assert best - 0.005 <= reached <= best + 1e-9


def test_under_a_bound() -> None:
    """A mixture of two members is best; compared with every mixture of two."""
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.4).astype(int)
    score = y + 0.8 * rng.normal(size=200)
    decided = np.stack([score > t for t in (-1, 0, 0.3, 0.6, 1, 1.5, 9)], axis=1).astype(float)
    problem = eq.Problem(eq.maximize(eq.matthews()), [eq.positive_rate() <= 0.33])
    X = np.arange(200.0)[:, None]
    members = [lambda X, k=k: decided[X[:, 0].astype(int), k] - 0.5 for k in range(7)]
    found = eq.solve(problem, X, y, model=members).polish().evaluate(problem, X, y)
    p, base = y == 1, y.mean()
    dense = []
    for a, b in itertools.combinations(range(7), 2):
        t = np.linspace(0, 1, 501)
        mixed = np.outer(t, decided[:, a]) + np.outer(1 - t, decided[:, b])
        tpr, fpr, q = mixed[:, p].mean(1), mixed[:, ~p].mean(1), mixed.mean(1)
        kept = (q <= 0.33) & (q > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = (tpr - fpr) * np.sqrt(base * (1 - base)) / np.sqrt(q * (1 - q))
        dense.append(value[kept].max(initial=-1))
    assert max(found["violations"]) <= 1e-6
    assert found["objective"] >= max(dense) - 0.005
