"""Answers of a linear model: one step of a weighted logistic regression at a time."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.data.sample import Sample
from equirate.data.slices import attr
from equirate.game.linear_engine import LinearEngine
from equirate.models import Linear, cell_rows
from equirate.models.cell_rows import CellRows
from equirate.models.logistic_oracle import RIDGES, View, choose_ridge


def problem(n=600, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    y = (X[:, 0] + rng.logistic(size=n) > 0.5).astype(int)
    cells = Cells.of_examples(Examples.of(y, None), [], [])
    return X, y, cells


def viewed(rows: CellRows, ridge: float = 1.0) -> View:
    ones = np.ones(len(rows.cells))
    view = View(rows, ones, ones, np.append(np.full(rows.width - 1, ridge), 1e-6))
    view.directions = [view.origin()]
    return view


@pytest.mark.parametrize("ridge", [1.0, 30.0])
def test_steps_for_the_labels_end_at_logistic_regression(ridge):
    X, y, cells = problem()
    rows = CellRows(X, cells)
    view = viewed(rows, ridge)
    labels = np.where(cells.labels == 1, -1.0, 1.0)[:, None]
    for _ in range(25):
        view.directions += rows.score(view.propose(labels))
    assert view.settled
    expected = LogisticRegression(C=1 / ridge, tol=1e-8, max_iter=1000).fit(StandardScaler().fit_transform(X), y)
    best = view.directions[int(np.argmin(view._losses(view.normal(labels[:, 0]))))]
    np.testing.assert_allclose(best.weights[:-1], expected.coef_[0], atol=2e-3)
    assert best.weights[-1] == pytest.approx(expected.intercept_[0], abs=2e-3)


def test_a_step_for_other_costs_begins_at_the_known_direction_with_the_least_loss():
    X, _, cells = problem()
    rows = CellRows(X, cells)
    view = viewed(rows)
    costs = np.array([[1.0, 2.0], [-4.0, -1.0]])
    for _ in range(8):
        view.directions += rows.score(view.propose(costs))
    losses = [view._losses(view.normal(column)) for column in costs.T]
    assert np.argmin(losses[0]) != np.argmin(losses[1])
    assert min(losses[0]) < losses[0][0] * 0.98


def test_a_part_that_is_left_out_changes_nothing():
    X, y, cells = problem()
    part = np.arange(len(y)) % 3 == 0
    fine = cells.by_part(part, 2)
    rows, alone = CellRows(X, fine), CellRows(X[~part], Cells.of_examples(Examples.of(y[~part], None), [], []))
    rows.mean, rows.scale = alone.mean, alone.scale  # the same coordinates
    rows.X = rows._dense(X, fine.order)
    rows.moments, rows.first = rows.cell_moments()
    inside = np.tile([1.0, 0.0], 2)
    view = View(rows, inside, inside, np.append(np.ones(rows.width - 1), 1e-6))
    view.directions = [view.origin()]
    other = viewed(alone)
    labels = np.array([[1.0], [-1.0]])
    for _ in range(4):
        view.directions += rows.score(view.propose(np.repeat(labels, 2, axis=0)))
        other.directions += alone.score(other.propose(labels))
    np.testing.assert_allclose(view.directions[-1].weights, other.directions[-1].weights, atol=1e-3)


def test_the_ridge_is_the_one_that_foresees_rows_left_out():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 12))
    y = (X[:, 0] + 2 * rng.logistic(size=60) > 0).astype(int)
    rows = CellRows(X, Cells.of_examples(Examples.of(y, None), [], []))
    Z = StandardScaler().fit_transform(X)
    lost = []
    for ridge in RIDGES:
        each = []
        for k in range(60):
            keep = np.arange(60) != k
            model = LogisticRegression(C=1 / ridge, tol=1e-8, max_iter=1000).fit(Z[keep], y[keep])
            each.append(-model.predict_log_proba(Z[[k]])[0, y[k]])
        lost.append(np.sum(each))
    penalties = [np.append(np.full(12, ridge), 1e-6) for ridge in RIDGES]
    assert choose_ridge(rows, penalties, np.ones(2)) == int(np.argmin(lost))
    assert np.ptp(lost) > 1


def fitted(rows: CellRows, costs, steps: int = 60, penalty=None):
    """Weights of least loss after some steps for costs by cell."""
    view = viewed(rows)
    view.penalty = view.penalty if penalty is None else penalty
    for _ in range(steps):
        view.directions += rows.score(view.propose(costs[:, None]))
    return view.directions[int(np.argmin(view._losses(view.normal(costs))))].weights


def standard(rows: CellRows, X):
    """Features as the rows have them, in the order given."""
    return (np.asarray(X.todense() if sp.issparse(X) else X) - rows.mean) / rows.scale


@pytest.mark.parametrize("kind", ["dense", "sparse", "diagonal"])
def test_costs_are_weights(kind, monkeypatch):
    """Whatever bounds the second derivatives, steps for costs end where a regression on their signs ends."""
    if kind == "diagonal":
        monkeypatch.setattr(cell_rows, "MOST_MOMENTS", 0)
    rng = np.random.default_rng(1)
    n = 500
    y, g, weights = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.uniform(0.5, 2, n)
    X = rng.normal(size=(n, 3)) + 0.8 * y[:, None] + 0.4 * g[:, None]
    if kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    cells = Cells.of_examples(Examples.of(y, {"g": g}, weights), [attr("g") == 1], [])
    rows = CellRows(X, cells)
    costs = np.where(cells.labels == 1, -1.0, 1.0) * rng.uniform(0.2, 3, len(cells))
    found = fitted(rows, costs)
    size = np.abs(costs)[cells.index] * cells.weights
    size *= cells.weights.sum() / size.sum()
    theirs = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)
    theirs.fit(standard(rows, X), costs[cells.index] < 0, sample_weight=size)
    np.testing.assert_allclose(found[:-1], theirs.coef_[0], atol=5e-3)
    assert found[-1] == pytest.approx(theirs.intercept_[0], abs=5e-3)


@pytest.mark.parametrize("as_given", [False, True])
def test_a_regression_without_intercept(as_given):
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(300, 3)) + rng.integers(0, 2, (300, 1))) * [1.0, 5.0, 0.2]
    y = (X[:, 0] + rng.logistic(size=300) > 0.5).astype(int)
    sample = Sample.of(X, y)
    cells = Cells.of_examples(sample.examples, [], [])
    engine = LinearEngine.of(sample, cells, None, 1, Linear(intercept=False, standardise=not as_given))
    rows = engine.rows
    found = fitted(rows, np.where(cells.labels == 1, -1.0, 1.0), penalty=engine.penalty)
    Z = X if as_given else (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=5000).fit(Z, y)
    np.testing.assert_allclose(found[:-1] / (rows.scale if as_given else 1.0), theirs.coef_[0], rtol=1e-2, atol=5e-3)
    assert abs(found[-1]) < 1e-6


def test_constant_features_have_no_weight():
    X, _, cells = problem()
    X[:, 1] = 5.0
    rows = CellRows(X, cells)
    found = fitted(rows, np.where(cells.labels == 1, -1.0, 1.0), steps=10)
    assert np.isfinite(found).all()
    assert rows.raw(found, 0.0)[1] == 0


def chosen(X, y):
    """The ridge that an engine chooses, and the weights of the labels' regression with it, for features as given."""
    sample = Sample.of(X, y)
    cells = Cells.of_examples(sample.examples, [], [])
    engine = LinearEngine.of(sample, cells, None, 1, Linear(standardise=True))
    engine.choose_ridge(np.ones(len(cells)))
    labels = np.where(cells.labels == 1, -1.0, 1.0)
    usual = np.append(np.full(X.shape[1], RIDGES[0]), engine.penalty[-1])
    both = (fitted(engine.rows, labels, penalty=penalty) for penalty in (engine.penalty, usual))
    return engine.penalty[0], [engine.rows.raw(weights, 0.0) for weights in both]


def test_few_rows_and_many_features_are_given_a_larger_ridge():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 60))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    ridge, both = chosen(X, y)
    assert ridge > RIDGES[0]
    new = rng.normal(size=(20_000, 60))
    sign = np.where(new[:, 0] + rng.normal(size=20_000) > 0, 1.0, -1.0)
    lost = [np.logaddexp(0.0, -sign * (new @ w[:-1] + w[-1])).mean() for w in both]
    assert lost[0] < 0.8 * lost[1]


def test_the_usual_ridge_stays_where_another_hardly_matters():
    X, y, _ = problem(150)
    assert chosen(X, y)[0] == RIDGES[0]


def test_a_ridge_that_was_given_stays():
    X, y, _ = problem(60)
    sample = Sample.of(X, y)
    cells = Cells.of_examples(sample.examples, [], [])
    engine = LinearEngine.of(sample, cells, None, 1, Linear(penalty=0.5, standardise=True))
    engine.choose_ridge(np.ones(len(cells)))
    np.testing.assert_allclose(engine.penalty[:-1], 0.5 * 60)  # of the mean loss, as in a game; here losses add up


def test_the_loss_of_rows_left_out_is_the_same_for_sparse_rows():
    rng = np.random.default_rng(4)
    X = np.where(rng.random((80, 10)) < 0.5, rng.normal(size=(80, 10)), 0.0)
    y = (X[:, 0] + 2 * rng.logistic(size=80) > 0).astype(int)
    cells = Cells.of_examples(Examples.of(y, None), [], [])
    sparse, dense = CellRows(sp.csr_array(X), cells), CellRows(X, cells, centre=False)
    dense.X = np.hstack([sparse.X.toarray(), np.ones((80, 1), np.float32)])  # the same scale
    penalties = [np.append(np.full(10, ridge), 1e-6) for ridge in RIDGES]
    for k in range(len(RIDGES)):
        for other in range(k + 1, len(RIDGES)):
            pair = [penalties[k], penalties[other]]
            assert choose_ridge(sparse, pair, np.ones(2)) == choose_ridge(dense, pair, np.ones(2))
