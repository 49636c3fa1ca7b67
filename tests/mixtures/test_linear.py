"""One linear programme over the simplex, changed and solved again, against scipy with all columns at once."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy.optimize import linprog

from equirate.mixtures.linear import Programme, solve_over_simplex


def truth(objective, cost, columns, others, limits, bounds):
    n, k = columns.shape[1], others.shape[1]
    return linprog(
        np.concatenate([objective, cost]),
        A_ub=np.hstack([columns, others]),
        b_ub=limits,
        A_eq=np.concatenate([np.ones(n), np.zeros(k)])[None],
        b_eq=[1.0],
        bounds=[(0, None)] * n + [tuple(bound) for bound in bounds],
    )


@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 5), st.integers(1, 3))
@example(23972, 4, 4, 2)  # the only column that takes part has 0 in the certificate, but for rounding
@settings(max_examples=60, deadline=None)
def test_a_programme_that_is_changed_gives_what_a_fresh_one_gives(seed, n, rows, k):
    rng = np.random.default_rng(seed)
    columns, others = rng.normal(size=(rows, n)), rng.normal(size=(rows, k))
    limits, bounds = rng.normal(0.2, 0.6, rows), np.tile([-1.0, 1.0], (k, 1))
    programme = Programme(columns, others, limits, bounds, np.array([int(rng.integers(n))]))
    for change in range(5):
        objective, cost = rng.normal(size=n), rng.normal(size=k)
        if change == 1:
            limits = rng.normal(0.2, 0.6, rows)
            for row, limit in enumerate(limits):
                programme.limit(row, limit)
        elif change == 2:
            bounds[0] = sorted(rng.uniform(-1, 1, 2))
            programme.bound(0, *bounds[0])
        elif change == 3:
            others[0, 0] = rng.normal()
            programme.set(0, 0, others[0, 0])
        elif change == 4:
            extra, limit = rng.normal(size=(1, k)), rng.normal(size=1)
            programme.add(extra, limit)
            columns, others = np.vstack([columns, np.zeros((1, n))]), np.vstack([others, extra])
            limits = np.append(limits, limit)
        programme.set_objective(objective, cost)
        solved, expected = programme.solve(), truth(objective, cost, columns, others, limits, bounds)
        assert (solved is None) == (expected.status == 2)
        if solved is not None:
            assert solved.value == pytest.approx(expected.fun, abs=1e-7)
            assert objective @ solved.weights + cost @ solved.others == pytest.approx(expected.fun, abs=1e-7)
            assert (columns @ solved.weights + others @ solved.others <= limits + 1e-7).all()
            assert solved.weights.min() >= 0
            np.testing.assert_allclose(solved.duals, expected.ineqlin.marginals, atol=1e-6)


def test_columns_that_make_a_programme_feasible_are_found():
    """Of 5,000 columns, two together meet both limits; it begins with one that does not."""
    rng = np.random.default_rng(0)
    columns = rng.uniform(0.1, 1.0, (2, 5000))
    columns[:, 1234], columns[:, 4321] = (-0.5, 0.3), (0.3, -0.5)
    programme = Programme(columns, np.zeros((2, 0)), np.full(2, -0.09), np.zeros((0, 2)), np.array([0]))
    solved = programme.solve()
    assert (columns @ solved.weights <= -0.09 + 1e-9).all()
    assert solved.weights[[1234, 4321]].min() > 0.4
    assert len(programme.active) < 500
    programme.limit(0, -0.6)
    assert programme.solve() is None


def test_equations_hold():
    columns = np.array([[0.0, 1.0, 3.0]])
    programme = Programme(
        columns, np.array([[-1.0]]), np.zeros(1), np.array([[2.0, 2.0]]), np.array([0]), np.array([True])
    )
    programme.set_objective(np.array([0.0, -1.0, 0.0]), np.zeros(1))
    solved = programme.solve()
    np.testing.assert_allclose(solved.weights, [0, 0.5, 0.5], atol=1e-9)


def test_no_distribution_where_none_keeps_the_limits():
    assert solve_over_simplex(np.zeros(2), np.array([[0.1, 0.2]]), np.zeros(1)) is None


@pytest.mark.parametrize("rows", [10, 400])
@pytest.mark.parametrize("seed", range(4))
def test_deferred_rows_give_what_all_rows_give(rows, seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(rows, 30)) - 0.2
    others, bounds = -np.ones((rows, 1)), np.array([[0.0, np.inf]])
    programme = Programme(columns, others, np.zeros(rows), bounds, np.array([0]), deferred=rows)
    for change in range(4):
        if change == 2:
            more = rng.normal(size=(rows, 20)) - 0.2
            programme.extend(more)
            columns = np.concatenate([columns, more], axis=1)
        if change == 3:
            programme.add(np.array([[1.0]]), np.array([2.0]))
        objective, cost = rng.normal(size=columns.shape[1]) * (change > 0), np.array([1.0 + change])
        programme.set_objective(objective, cost)
        solved = programme.solve()
        exact = truth(objective, cost, columns, others, np.zeros(rows), bounds)
        assert solved.value == pytest.approx(exact.fun, abs=1e-7)
        assert (columns @ solved.weights - solved.others[0]).max() <= 1e-7
        assert len(solved.duals) == rows + (change == 3)
        reduced = objective - solved.duals[:rows] @ columns
        assert reduced.min() == pytest.approx(exact.fun, abs=1e-6)  # strong duality over the simplex


def test_few_of_many_rows_join():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(2000, 40))
    programme = Programme(
        columns, -np.ones((2000, 1)), np.zeros(2000), np.array([[0.0, np.inf]]), np.array([0]), None, 2000
    )
    programme.set_objective(np.zeros(40), np.ones(1))
    assert programme.solve() is not None
    assert programme._rows < 400
    assert solve_over_simplex(np.arange(3.0), np.ones((300, 3)), np.full(300, 0.5)) is None


def test_a_solve_that_goes_round_in_circles_begins_again(monkeypatch):
    """Without any steps, as after too many: from scratch there is no limit, and the answer is the same."""
    rng = np.random.default_rng(0)
    objective, columns, limits = rng.normal(size=40), rng.normal(size=(5, 40)), np.full(5, 0.1)
    expected = solve_over_simplex(objective, columns, limits).weights
    monkeypatch.setattr("equirate.mixtures.linear._STEPS", 0)
    assert solve_over_simplex(objective, columns, limits).weights == pytest.approx(expected, abs=1e-9)
