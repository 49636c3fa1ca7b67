"""Finishing rounds, against the optimum over all classifiers, which are few enough here to be listed."""

import itertools

import numpy as np
import pytest

import equirate as eq
from equirate.data.examples import Examples
from equirate.game.classifiers import snapped
from equirate.game.loop import values
from equirate.mixtures import Search, polish_weights, shrink_weights
from equirate.models.contract import Fit
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table

A, B = eq.attr("g") == 0, eq.attr("g") == 1
PROBLEMS = {
    "error, equal opportunity": (eq.minimize(eq.error_rate()), eq.equal_opportunity("g", tolerance=0.02)),
    "divergence, error limit": (eq.minimize(eq.kl_divergence(A) + eq.kl_divergence(B)), [eq.error_rate() <= 0.35]),
    "f1, predictive parity": (eq.maximize(eq.f1()), eq.predictive_parity("g", tolerance=0.02)),
    "f1, precision bound": (eq.maximize(eq.f1()), [eq.precision() >= 0.6]),
    "precision, recall bound": (eq.maximize(eq.precision()), [eq.recall() >= 0.3]),
    "the smaller f1": (eq.maximize(eq.min(eq.f1(A), eq.f1(B))), []),
}


def one_hot(seed):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 6, 300)
    y = (rng.random(300) < rng.random(6)[level]).astype(int)
    g = (rng.random(300) < rng.random(6)[level]).astype(int)
    decided = np.array(list(itertools.product([0, 1], repeat=6))).T[level]
    return np.eye(6)[level], y, {"g": g}, decided


def one_feature(seed):
    rng = np.random.default_rng(seed)
    y, g = (rng.random(150) < 0.4).astype(int), (rng.random(150) < 0.4).astype(int)
    x = rng.normal(size=150) + 0.7 * y + 0.3 * g
    edges = np.append(-np.inf, np.sort(x))
    above = (x[:, None] > edges).astype(int)
    return x[:, None], y, {"g": g}, np.concatenate([above, 1 - above], axis=1)


def two_features(seed, n=60):
    """All half-planes: the order along a direction changes only where the direction is across two points."""
    rng = np.random.default_rng(seed)
    y, g = (rng.random(n) < 0.4).astype(int), (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 2)) + 0.8 * y[:, None] * rng.normal(size=2) + 0.5 * g[:, None]
    i, j = np.triu_indices(n, 1)
    across = np.sort(np.mod(np.arctan2(X[i, 0] - X[j, 0], X[j, 1] - X[i, 1]), np.pi))
    angles = np.append((across[1:] + across[:-1]) / 2, (across[-1] + across[0] + np.pi) / 2)
    order = np.argsort(-(X @ np.stack([np.cos(angles), np.sin(angles)])), axis=0)
    rank = np.argsort(order, axis=0)
    above = (rank[:, :, None] < np.arange(n + 1)).reshape(n, -1).astype(np.int8)
    above = np.unique(above, axis=1)
    return X, y, {"g": g}, np.concatenate([above, 1 - above], axis=1)


def optimum(problem, y, attributes, decided):
    """Minimised objective of the best mixture of all classifiers, and its violation, in the user's own terms."""
    examples = Examples.of(y, attributes)
    table = make_table(canonicalize(problem.expanded(examples)), examples)
    rates = np.unique(table.rates(table.cells.sums(decided.astype(bool))), axis=1)
    none = np.zeros((0, rates.shape[1]))
    start = shrink_weights(*values(table, snapped(rates), none, table.constants)).weights
    mixtures = [start]
    rows = table.rows_from_rates(rates, none)
    for begin in (start, np.full(rates.shape[1], 1 / rates.shape[1])):
        found = polish_weights(table, rows, begin, search=Search(programmes=400))
        if found is not None:
            mixtures.append(found.weights)
    reached = []
    for mu in mixtures:
        objective, broken = values(table, snapped((rates @ mu)[:, None]), none[:, :1], table.constants)
        reached.append((max(float(broken.max(initial=0.0)), 0.0), float(objective[0])))
    return min((round(violation, 5), objective) for violation, objective in reached if np.isfinite(objective))


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("data", [one_hot, one_feature, pytest.param(two_features, marks=pytest.mark.slow)])
def test_the_optimum_over_all_classifiers(name, data):
    X, y, attributes, decided = data(3)
    problem = eq.Problem(*PROBLEMS[name])
    violation, truth = optimum(problem, y, attributes, decided)
    solution = eq.solve(problem, X, y, attributes, n_rounds=100)
    finished = solution.finish()
    objective, broken = finished.value_of(finished.polish())
    if violation <= 1e-4:
        assert broken <= 0.002
        assert finished.sign * objective <= truth + 0.005
    before = solution.value_of(solution.polish())
    assert max(broken, 1e-3) <= max(before[1], 1e-3) + 1e-6
    if before[1] <= 1e-3:
        assert finished.sign * objective <= solution.sign * before[0] + 1e-6


@pytest.mark.parametrize("name", ["error, equal opportunity", "f1, predictive parity"])
def test_with_one_feature_the_bound_is_over_everything(name):
    X, y, attributes, decided = one_feature(1)
    problem = eq.Problem(*PROBLEMS[name])
    status = eq.solve(problem, X, y, attributes, n_rounds=100, finish=True).status
    sign = -1 if problem.objective.sense == "maximize" else 1
    assert status.bound_over == "all classifiers of this model"
    assert sign * status.bound <= optimum(problem, y, attributes, decided)[1] + 1e-6
    assert status.gap <= 0.002


def test_the_play_stays_as_it_was():
    X, y, attributes, _ = two_features(0)
    problem = eq.Problem(*PROBLEMS["f1, predictive parity"])
    plain = eq.solve(problem, X, y, attributes, n_rounds=100)
    finished = plain.finish()
    assert len(finished.iterates) > len(plain.iterates)
    for key, array in plain.history.items():
        np.testing.assert_array_equal(finished.history[key], array)
    for made in ("uniform", "average"):
        one, other = getattr(plain, made)(), getattr(finished, made)()
        np.testing.assert_array_equal(one.positive_probability(X), other.positive_probability(X))
    assert finished.played().iterates == plain.iterates
    np.testing.assert_array_equal(finished.record.end().parameters, plain.record.end().parameters)
    assert finished.status.lambda_regret == plain.status.lambda_regret


def test_rates_are_those_of_the_classifiers():
    X, y, attributes, _ = two_features(1)
    finished = eq.solve(eq.Problem(*PROBLEMS["f1, precision bound"]), X, y, attributes, n_rounds=50).finish()
    joined = finished.joined(Fit.SEARCHED)
    assert set(joined.iterates) == set(finished.iterates) - set(finished.played().iterates)
    decided = finished.members(joined.iterates).decide(X)
    rates = finished.judge.rates(finished.judge.cells.sums(decided))
    np.testing.assert_allclose(finished.measured(joined.iterates)[0], rates)
    again = finished.on(X, y, attributes)
    np.testing.assert_allclose(again.measured(joined.iterates)[0], rates)


def test_a_list_joins_as_a_whole():
    X, y, attributes, decided = one_hot(0)
    problem = eq.Problem(*PROBLEMS["error, equal opportunity"])
    members = [np.ascontiguousarray(column) for column in decided.T]
    solution = eq.solve(problem, X, y, attributes, model=members, algorithm="oracle", n_rounds=3, finish=True)
    objective, broken = solution.value_of(solution.polish())
    assert broken <= 1e-6
    assert objective == pytest.approx(optimum(problem, y, attributes, decided)[1], abs=1e-6)


def test_an_oracle_answers_too():
    from sklearn.tree import DecisionTreeClassifier

    X, y, attributes, _ = two_features(2)
    problem = eq.Problem(*PROBLEMS["f1, predictive parity"])
    options = {"model": DecisionTreeClassifier(max_depth=2, random_state=0), "algorithm": "oracle", "n_rounds": 4}
    solution = eq.solve(eq.Problem(eq.maximize(eq.g_mean())), X, y, attributes, **options)
    before, after = (each.value_of(each.polish())[0] for each in (solution, solution.finish(rounds=4)))
    assert after >= before - 1e-9
    assert problem.objective.sense == "maximize"


def test_two_sets_and_no_intercept():
    X, y, attributes, _ = two_features(4)
    problem = eq.Problem(*PROBLEMS["error, equal opportunity"])
    referee = (X[::2], y[::2], {"g": attributes["g"][::2]})
    solution = eq.solve(problem, X, y, attributes, referee=referee, n_rounds=50)
    assert solution.finish().value_of(solution.finish().polish())[0] <= solution.value_of(solution.polish())[0] + 1e-6
    straight = eq.solve(problem, X, y, attributes, model=eq.models.Linear(intercept=False), n_rounds=50).finish()
    np.testing.assert_array_equal(straight.members().decide(np.zeros((1, 2))), False)


def test_ordinary_losses_are_left_alone():
    X, y, attributes, _ = two_features(0)
    solution = eq.solve(eq.Problem(eq.minimize(eq.log_loss()), [eq.fpr() <= 0.3]), X, y, attributes, n_rounds=20)
    assert solution.finish() is solution


def test_other_data_are_refused():
    X, y, attributes, _ = two_features(0)
    solution = eq.solve(eq.minimize(eq.error_rate()), X, y, attributes, n_rounds=20)
    with pytest.raises(eq.AlgorithmError, match=r"before on\(\)"):
        solution.on(X, y, attributes).finish()


def test_an_interruption_keeps_what_there_is():
    X, y, attributes, _ = two_features(0)
    solution = eq.solve(eq.Problem(*PROBLEMS["f1, precision bound"]), X, y, attributes, n_rounds=20)
    seen = []

    def stop(*told):
        seen.append(told)
        raise KeyboardInterrupt

    finished = solution.finish(progress=stop)
    assert len(seen) == 1
    assert finished.record.interrupted
    assert len(finished.iterates) > len(solution.iterates)


def test_limits():
    X, y, attributes, _ = two_features(0)
    solution = eq.solve(eq.Problem(*PROBLEMS["f1, predictive parity"]), X, y, attributes, n_rounds=20)
    told = []
    solution.finish(rounds=2, progress=lambda *now: told.append(now))
    assert [t for t, _, _ in told] == [1, 2][: len(told)]
    told.clear()
    solution.finish(time_limit=0.0, progress=lambda *now: told.append(now))
    assert len(told) == 1
