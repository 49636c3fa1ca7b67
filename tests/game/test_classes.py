"""Solving with more than two classes: finite lists against independent optima, and plug-in rules."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate.models.class_offsets import cheapest_offsets


def finite(seed: int, classes: int, members: int = 7, n: int = 200) -> tuple:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n) * 10
    y[:classes] = np.arange(classes) * 10
    lists = [
        np.where(rng.random(n) < rng.uniform(0.2, 0.8), y, rng.integers(0, classes, n) * 10) for _ in range(members)
    ]
    return np.zeros((n, 1)), y, lists, rng.choice(["F", "M"], n)


def rate(expr: eq.Expression, y: np.ndarray, lists: list, sex: np.ndarray) -> np.ndarray:
    classes = np.unique(y)
    return np.array([expr.evaluate(y, each, attributes={"sex": sex}, classes=classes) for each in lists])


@pytest.mark.parametrize(("seed", "classes"), [(0, 3), (1, 4), (2, 6), (3, 10)])
def test_a_list_is_mixed_as_a_linear_programme_says(seed: int, classes: int) -> None:
    X, y, lists, sex = finite(seed, classes)
    constraints = [eq.recall(label=0) >= 0.5, eq.coverage(10) <= 0.32, eq.demographic_parity("sex", tolerance=0.08)]
    problem = eq.Problem(eq.minimize(eq.error_rate()), constraints)
    solution = eq.solve(problem, X, y, attributes={"sex": sex}, model=lists)
    error = rate(eq.error_rate(), y, lists, sex)
    rows, limits = [-rate(eq.recall(label=0), y, lists, sex), rate(eq.coverage(10), y, lists, sex)], [-0.5, 0.32]
    women = eq.attr("sex") == "F"
    for k in np.unique(y).tolist():
        gap = rate(eq.coverage(k, women) - eq.coverage(k, ~women), y, lists, sex)
        rows, limits = [*rows, gap, -gap], [*limits, 0.08, 0.08]
    best = linprog(error, np.array(rows), limits, np.ones((1, len(lists))), [1.0])
    if best.status == 2:
        assert not solution.status.feasible
        return
    assert solution.status.objective == pytest.approx(best.fun, abs=1e-5)
    assert solution.status.violation <= 1e-6


@pytest.mark.parametrize(("seed", "classes"), [(4, 3), (5, 5), (6, 8)])
def test_worst_recall_of_a_list(seed: int, classes: int) -> None:
    X, y, lists, sex = finite(seed, classes)
    solution = eq.solve(eq.maximize(eq.worst_recall()), X, y, model=lists)
    recalls = np.array([rate(eq.recall(label=int(k)), y, lists, sex) for k in np.unique(y)])
    cost = np.append(np.zeros(len(lists)), -1.0)
    above = np.concatenate([-recalls, np.ones((classes, 1))], axis=1)
    best = linprog(cost, above, np.zeros(classes), np.append(np.ones(len(lists)), 0.0)[None], [1.0])
    assert solution.status.objective == pytest.approx(-best.fun, abs=1e-5)


@pytest.mark.parametrize("expr", [eq.macro_f1(), eq.g_mean(), eq.h_mean(), eq.kappa(), eq.precision(label=10)])
def test_other_scores_of_a_list_against_a_grid(expr: eq.Expression) -> None:
    X, y, lists, _ = finite(7, 3, members=3)
    solution = eq.solve(eq.maximize(expr), X, y, model=lists)
    onehot = [(each[:, None] == np.unique(y)).astype(float) for each in lists]
    steps = np.linspace(0, 1, 21)
    grid = max(
        expr.evaluate(y, a * onehot[0] + b * onehot[1] + max(1 - a - b, 0.0) * onehot[2])
        for a, b in itertools.product(steps, steps)
        if a + b <= 1 + 1e-9
    )
    assert solution.status.objective >= grid - 5e-4
    mixed = solution.polish()
    found = sum(
        w * onehot[int(k)] for w, k in zip(mixed.weights, solution.columns.handle[list(mixed.chosen), 1], strict=True)
    )
    assert expr.evaluate(y, found) == pytest.approx(solution.status.objective, abs=1e-6)


def test_an_impossible_problem_is_said() -> None:
    X, y, lists, _ = finite(8, 4)
    solution = eq.solve(eq.Problem(eq.minimize(eq.error_rate()), [eq.worst_recall() >= 0.99]), X, y, model=lists)
    assert not solution.status.feasible


def blobs(seed: int = 0, n: int = 600) -> tuple:
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    centre = {"a": (0.0, 0.0), "b": (1.5, 0.0), "c": (0.0, 1.5)}
    X = np.array([centre[k] for k in y]) + rng.normal(size=(n, 2))
    return X, y


def test_offsets_are_searched_exactly() -> None:
    rng = np.random.default_rng(0)
    expected, price = rng.random((40, 3)), rng.random((40, 3))
    offsets = cheapest_offsets(expected, price, sweeps=10)
    now = price[np.arange(40), (expected + offsets).argmin(axis=1)].sum()
    assert now <= price[np.arange(40), expected.argmin(axis=1)].sum()
    for k, move in itertools.product(range(3), np.linspace(-1, 1, 201)):  # no single class can be moved to gain
        moved = offsets + np.where(np.arange(3) == k, move, 0.0)
        assert price[np.arange(40), (expected + moved).argmin(axis=1)].sum() >= now - 1e-9


@pytest.mark.parametrize("model", ["linear", LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)])
def test_plug_in_rules_keep_what_they_say(model: object) -> None:
    X, y = blobs()
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.recall(label="c") >= 0.8, eq.coverage("a") <= 0.5])
    solution = eq.solve(problem, X, y, model=model)
    assert solution.status.feasible
    mixture = solution.polish()
    if not isinstance(model, DecisionTreeClassifier):  # that one is judged on rows that it was not trained on
        found = mixture.evaluate(None, X, y, classes=("a", "b", "c"))
        assert found["objective"] == pytest.approx(solution.status.objective, abs=1e-6)
        assert max(found["violations"]) <= 1e-6
    pmf = mixture.predict_pmf(X)
    assert pmf.shape == (600, 3)
    assert pmf.sum(axis=1) == pytest.approx(1.0)
    drawn = mixture.predict_hashed(X)
    assert (pmf[np.arange(600), drawn] > 0).all()
    with pytest.raises(eq.DataError, match="use predict_pmf"):
        mixture.positive_probability(X)


def test_unconstrained_error_is_that_of_the_most_probable_class_or_less() -> None:
    X, y = blobs(1)
    solution = eq.solve(eq.minimize(eq.error_rate()), X, y)
    plain = 1 - LogisticRegression().fit(X, y).score(X, y)
    assert solution.status.objective <= plain + 5e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "spade"}, "'spade' is a game of two classes, and y has 3"),
        ({"algorithm": "surrogate"}, "'surrogate' is a game of two classes"),
        ({"model": eq.models.Linear(radius=1.0)}, "radius and the spread of Linear"),
        ({"model": eq.models.Thresholds(lambda X: X[:, 0])}, "Thresholds is for two classes, and y has 3"),
    ],
)
def test_what_is_for_two_classes_is_refused_by_name(options: dict, message: str) -> None:
    X, y = blobs(2, 60)
    with pytest.raises(eq.AlgorithmError, match=message):
        eq.solve(eq.minimize(eq.error_rate()), X, y, **options)


def test_one_class_is_refused() -> None:
    with pytest.raises(eq.DataError, match="must hold 0 and 1"):
        eq.solve(eq.minimize(eq.error_rate()), np.zeros((3, 1)), ["a", "a", "a"])
