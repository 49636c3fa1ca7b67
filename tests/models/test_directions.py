"""Regressions against scikit-learn, and intercepts against all of them."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from equirate.models.directions import Directions
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import LogisticRegression

from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.data.slices import EVERYBODY, attr
from equirate.models.design import Standard


def made(X, y, g, weights=None, **options):
    examples = Examples.of(y, {"g": g}, weights)
    cells = Cells.of_examples(examples, [EVERYBODY, attr("g") == 1], [])
    dense = X.toarray() if sp.issparse(X) else X
    return Directions(X, cells, Standard.of(dense, examples.weights), effort=1e9, **options)


def data(seed, n=80, d=3):
    rng = np.random.default_rng(seed)
    y, g = rng.integers(0, 2, n), rng.integers(0, 2, n)
    return np.round(rng.normal(size=(n, d)) + y[:, None], 1), y, g, rng


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25, deadline=None)
def test_no_intercept_costs_less(seed, weighted):
    X, y, g, rng = data(seed, 40)
    found = made(X, y, g, rng.integers(1, 4, 40) if weighted else None, intercept=True)
    costs = rng.normal(size=(len(found.cells), 3))
    units = found.unit(rng.normal(size=(4, 5)))
    least, shifts = found.cheapest(units, costs)
    spread = costs[found.cells.of] * found.cells.weights[:, None]
    scores = X @ found.raw(units)
    for k in range(5):
        edges = np.concatenate([[-np.inf], np.unique(scores[:, k])])
        sums = np.array([(scores[:, k] > edge + 1e-9) @ spread for edge in edges])
        np.testing.assert_allclose(least[k], sums.min(axis=0), atol=1e-9)
        for p in range(3):
            assert (scores[:, k] + shifts[k, p] > 0) @ spread[:, p] == pytest.approx(least[k, p])


@pytest.mark.parametrize("sparse", [False, True])
def test_the_regression_of_the_labels(sparse):
    X, y, g, rng = data(0, 200)
    weights = rng.uniform(0.5, 2, 200)
    found = made(sp.csr_array(X) if sparse else X, y, g, weights, intercept=True)
    spread = found.standard.spread
    Z = (X - found.standard.mean) / spread
    theirs = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(Z, y, sample_weight=weights)
    np.testing.assert_allclose(found.plain[:-1, 0] * spread, theirs.coef_[0], rtol=1e-3)
    score = X @ found.plain[:-1, 0] + found.plain[-1, 0]
    np.testing.assert_allclose(score, theirs.decision_function(Z), atol=1e-2)


@pytest.mark.parametrize("most", [0.0, 1e9])
def test_costs_are_weights(most):
    """With either second derivatives, from any start, a fit to costs separates by their signs."""
    X, y, g, rng = data(1, 300)
    found = made(X, y, g, intercept=True)
    costs = rng.normal(size=(len(found.cells), 2))
    W = found.logistic.fit(costs, np.zeros((4, 2)), 200, most)
    spread = costs[found.cells.of]
    Z = (X - found.standard.mean) / found.standard.spread
    for p in range(2):
        size = np.abs(spread[:, p]) * 300 / np.abs(spread[:, p]).sum()
        theirs = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(Z, spread[:, p] < 0, sample_weight=size)
        np.testing.assert_allclose(W[:-1, p] * found.standard.spread, theirs.coef_[0], atol=2e-3)


def test_the_search_finds_what_no_regression_has():
    """Where the costs are those of a half-plane that no known direction is near, it is found."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    wanted = (X @ [0.3, -1.0] > 0.4).astype(int)
    found = made(X, wanted, np.zeros(200, int), intercept=True)
    costs = np.where(found.cells.labels == 1, -1.0, 1.0)[:, None]
    fitted, best = found.answer(costs, np.zeros((3, 0)), 2, 400)
    wrong = [float(((X @ W[:-1, 0] + W[-1, 0] > 0) != wanted).mean()) for W in (fitted, best)]
    assert wrong[1] <= wrong[0]
    assert wrong[1] <= 0.01


def test_constant_features_have_no_weight():
    X, y, g, rng = data(2)
    X[:, 1] = 5.0
    found = made(X, y, g, intercept=True)
    fitted, best = found.answer(rng.normal(size=(len(found.cells), 2)), np.zeros((4, 0)), 4, 64)
    assert np.isfinite(fitted).all()
    np.testing.assert_array_equal(best[1], 0.0)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("as_given", [False, True])
def test_left_out_foresees_what_regressions_without_each_row_say(sparse, as_given):
    X, y, g, rng = data(1, 60)
    X, weights = X * [1.0, 5.0, 0.2], rng.uniform(0.5, 2, 60)
    found = made(sp.csr_array(X) if sparse else X, y, g, weights, intercept=True)
    regression = replace(found.logistic, ridge=3.0, as_given=as_given)
    W = regression.fit(found.labels, np.zeros((4, 1)), 30, 1e9)
    scale = 1.0 if as_given else found.standard.spread
    lost = 0.0
    for i in range(60):
        kept = np.arange(60) != i
        other = LogisticRegression(C=1 / 3, tol=1e-10, max_iter=5000).fit(X[kept] / scale, y[kept], weights[kept])
        score = other.decision_function(X[[i]] / scale)[0]
        lost += weights[i] * np.logaddexp(0.0, -score if y[i] else score)
    # The intercept is penalised by next to nothing here, by nothing there.
    assert regression.left_out(found.labels, W) == pytest.approx(lost, rel=0.01)


def test_few_rows_and_many_features_are_given_a_larger_penalty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    found = made(X, y, np.arange(200) % 2, intercept=True)
    fixed = found.logistic.fit(found.labels, np.zeros((61, 1)), 30, 1e9)
    new = rng.normal(size=(20_000, 60))
    sign = np.where(new[:, 0] + rng.normal(size=20_000) > 0, 1.0, -1.0)
    lost = [np.logaddexp(0.0, -sign * (new @ W[:-1, 0] + W[-1, 0])).mean() for W in (found.plain, fixed)]
    assert lost[0] < 0.8 * lost[1]


def test_the_usual_penalty_stays_where_another_hardly_matters():
    X, y, g, _ = data(2, 120)
    found = made(X, y, g, intercept=True)
    np.testing.assert_array_equal(found.plain, found.logistic.fit(found.labels, np.zeros((4, 1)), 12, 3e9))


@pytest.mark.parametrize("most", [1e9, 0.0])
def test_a_regression_without_intercept(most):
    X, y, g, _ = data(3, 300)
    found = made(X, y, g, intercept=False)
    spread = found.standard.spread
    theirs = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=5000).fit(X / spread, y)
    W = found.logistic.fit(found.labels, np.zeros((4, 1)), 200, most)
    np.testing.assert_allclose(W[:-1, 0] * spread, theirs.coef_[0], rtol=1e-2)
    assert abs(W[-1, 0]) < 1e-6
