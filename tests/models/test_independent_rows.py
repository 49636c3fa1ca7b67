"""Rows of which every decision is that of a linear classifier."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

import equirate as eq
from equirate.data.sample import Sample
from equirate.models.independent_rows import IndependentRows
from equirate.problem.problem import Problem
from equirate.problem.table import problem_cells

rng = np.random.default_rng(0)
BUCKET = np.append(np.arange(6), rng.integers(0, 6, 294))
X = np.eye(6)[BUCKET]
Y = (rng.random(300) < np.array([0.1, 0.3, 0.4, 0.5, 0.7, 0.9])[BUCKET]).astype(int)
GROUP = {"g": rng.integers(0, 2, 300)}
PARITY = Problem(eq.minimize(eq.error_rate()), eq.demographic_parity("g", tolerance=0.02))


def learner(features: object = X) -> IndependentRows | None:
    sample = Sample.of(features, Y, GROUP)
    return IndependentRows.of(sample, problem_cells(PARITY, sample.examples))


def test_answers_are_the_best_of_all_decisions() -> None:
    found = learner()
    assert found is not None
    costs = rng.normal(size=(len(found.counts), 5))
    families = found.respond(costs)
    every = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1)
    for cost, family in zip(costs.T, families, strict=True):
        assert (cost @ family.sums).min() == pytest.approx((cost @ found.counts @ every).min())


def test_sums_are_what_the_weights_decide() -> None:
    sample = Sample.of(X, Y, GROUP)
    cells = problem_cells(PARITY, sample.examples)
    found = IndependentRows.of(sample, cells)
    assert found is not None
    (family,) = found.respond(rng.normal(size=(len(cells), 1)))
    members = found.members([family.snapshot], [(0, k) for k in range(7)])
    np.testing.assert_allclose(cells.sums(members.decide(X)), family.sums)


@pytest.mark.parametrize(
    "features",
    [X[:, :-1], sp.csr_array(X), X * 1e6, X @ rng.normal(size=(6, 9))],
    ids=["one is left out", "sparse", "scaled", "mixed"],
)
def test_independent(features: object) -> None:
    assert learner(features) is not None


@pytest.mark.parametrize(
    "features",
    [
        np.column_stack([BUCKET % 2, BUCKET % 3]).astype(float),  # six distinct rows, two features
        rng.normal(size=(300, 20)),
        np.eye(300),
    ],
    ids=["fewer features than rows", "continuous", "all distinct"],
)
def test_not_independent(features: object) -> None:
    assert learner(features) is None


def test_a_fit_reaches_a_global_optimum_of_ratios() -> None:
    """Predictive parity is kept by predicting next to nobody positive: a local optimum, and a bad one."""
    problem = Problem(eq.maximize(eq.f1()), eq.predictive_parity("g", tolerance=0.02))
    fitted = eq.RateClassifier(problem.objective, problem.constraints, random_state=0).fit(
        X, Y, sensitive_features=GROUP
    )
    reached = fitted.status_.objective
    best = 0.0
    for decided in product([0.0, 0.25, 0.5, 0.75, 1.0], repeat=6):  # every mixture on a grid
        q = np.array(decided)[BUCKET]
        if q.sum() == 0:
            continue
        f1 = 2 * (q @ Y) / (q.sum() + Y.sum())
        if f1 > best:
            parts = [(q * (GROUP["g"] == g)) for g in (0, 1)]
            precisions = [(p @ Y) / p.sum() if p.sum() else 0.0 for p in parts]
            best = f1 if abs(precisions[0] - precisions[1]) <= 0.02 else best
    assert reached >= best - 1e-6
