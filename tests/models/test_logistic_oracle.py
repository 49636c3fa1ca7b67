"""Answers of a linear model: one step of a weighted logistic regression at a time."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from equirate.data.cells import Cells
from equirate.data.examples import Examples
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
    best = min(view.directions, key=lambda direction: view._loss(direction, view.normal(labels[:, 0])))
    np.testing.assert_allclose(best.weights[:-1], expected.coef_[0], atol=2e-3)
    assert best.weights[-1] == pytest.approx(expected.intercept_[0], abs=2e-3)


def test_a_step_for_other_costs_begins_at_the_known_direction_with_the_least_loss():
    X, _, cells = problem()
    rows = CellRows(X, cells)
    view = viewed(rows)
    costs = np.array([[1.0, 2.0], [-4.0, -1.0]])
    for _ in range(8):
        view.directions += rows.score(view.propose(costs))
    losses = [[view._loss(d, view.normal(column)) for d in view.directions] for column in costs.T]
    assert np.argmin(losses[0]) != np.argmin(losses[1])
    assert min(losses[0]) < losses[0][0] * 0.98


def test_a_part_that_is_left_out_changes_nothing():
    X, y, cells = problem()
    part = np.arange(len(y)) % 3 == 0
    fine = Cells(
        (cells.of * 2 + part).astype(np.int32), cells.weights,
        np.bincount(cells.of * 2 + part, minlength=4).astype(float), np.repeat(cells.labels, 2), {}, {},
    )  # fmt: skip
    rows, alone = CellRows(X, fine), CellRows(X[~part], Cells.of_examples(Examples.of(y[~part], None), [], []))
    rows.mean, rows.scale = alone.mean, alone.scale  # the same coordinates
    rows.X = rows._dense(X)
    rows.moments, rows.first = rows._moments()
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
