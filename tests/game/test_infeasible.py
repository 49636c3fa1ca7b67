"""Constraints that cannot be met: the smallest conflict and tolerance, against linear programmes written by hand."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.game.infeasible import COLUMNS, EVERYTHING, SEARCHED
from equirate.models.thresholds import GivenScores, Thresholds

Array = NDArray[np.float64]
AIM = eq.maximize(eq.accuracy())
N = 240


class Data:
    """A sample with scores, and the rates of every classifier that the model can be."""

    def __init__(self, seed: int, thresholds: bool) -> None:
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 2, N)
        self.scores = (self.y + 1.2 * rng.normal(size=N)).round(1)
        cuts = [-np.inf, *np.unique(self.scores)] if thresholds else rng.choice(self.scores, 6, replace=False)
        self.decided = np.stack([self.scores > cut for cut in cuts], axis=1).astype(float)
        positive = self.y == 1
        self.rates = {
            "tpr": self.decided[positive].mean(axis=0),
            "fpr": self.decided[~positive].mean(axis=0),
            "positive_rate": self.decided.mean(axis=0),
            "accuracy": (self.decided == self.y[:, None]).mean(axis=0),
            "tp": (self.decided * self.y[:, None]).mean(axis=0),
        }
        self.model = Thresholds(GivenScores()) if thresholds else [lambda X, cut=cut: X[:, 0] > cut for cut in cuts]
        self.X = self.scores if thresholds else self.scores[:, None]

    def status(self, constraints: list[eq.Constraint]) -> eq.Status:
        return eq.solve(eq.Problem(AIM, constraints), self.X, self.y, model=self.model).status

    def least(self, constraints: list[tuple[str, str, float]]) -> float:
        """The smallest tolerance with which a mixture of all classifiers meets bounds on linear rates."""
        rows = [(1 if symbol == "<=" else -1) * (self.rates[name] - bound) for name, symbol, bound in constraints]
        A = np.column_stack([np.stack(rows), -np.ones(len(rows))])
        n = self.decided.shape[1]
        cost, one = np.eye(n + 1)[-1], np.append(np.ones(n), 0.0)[None]
        return float(linprog(cost, A, np.zeros(len(rows)), one, [1.0], [(0, 1)] * n + [(None, None)]).fun)


def written(bounds: list[tuple[str, str, float]]) -> list[eq.Constraint]:
    return [
        getattr(eq, name)() <= bound if symbol == "<=" else getattr(eq, name)() >= bound
        for name, symbol, bound in bounds
    ]


BOUNDS = [
    ("tpr", ">=", 0.9),
    ("fpr", "<=", 0.15),
    ("positive_rate", "<=", 0.3),
    ("accuracy", ">=", 0.55),
    ("positive_rate", ">=", 0.25),
]


@pytest.mark.parametrize("thresholds", [False, True], ids=["list", "thresholds"])
@pytest.mark.parametrize("seed", range(4))
def test_the_conflict_is_one_and_none_smaller_is(seed: int, thresholds: bool) -> None:
    data = Data(seed, thresholds)
    status = data.status(written(BOUNDS))
    by_text = dict(zip(map(repr, written(BOUNDS)), BOUNDS, strict=True))
    assert not status.feasible
    assert status.conflict_over == EVERYTHING
    chosen = [by_text[text] for text in status.conflict]
    assert data.least(chosen) > status.tolerance
    for k in range(len(chosen)):
        rest = chosen[:k] + chosen[k + 1 :]
        assert not rest or data.least(rest) <= status.tolerance + 1e-6
    assert status.smallest_tolerance == pytest.approx(data.least(chosen), abs=1e-6)
    assert status.violation == pytest.approx(data.least(BOUNDS), abs=1e-4)
    (advice,) = status.advice
    assert all(text in advice for text in status.conflict)
    assert f"{status.smallest_tolerance:.3g}" in advice
    assert "more rounds will not help" in advice


@pytest.mark.parametrize("thresholds", [False, True], ids=["list", "thresholds"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_a_bound_on_a_ratio_is_told_in_its_own_units(seed: int, thresholds: bool) -> None:
    """The largest violation and the smallest there is are of the same kind: precision, not what it is solved as."""
    data = Data(seed, thresholds)
    texts = ("precision() >= 0.97", "recall() >= 0.5")
    status = data.status([eq.precision() >= 0.97, eq.recall() >= 0.5])
    tp, positive, tpr = data.rates["tp"], data.rates["positive_rate"], data.rates["tpr"]

    def possible(loose: float, which: tuple[str, ...]) -> bool:
        """Bounds on both, and somebody predicted 1."""
        every = {texts[0]: (0.97 - loose) * positive - tp, texts[1]: 0.5 - loose - tpr}
        rows, n = np.stack([*(every[text] for text in which), 0.001 - positive]), len(tp)
        return bool(linprog(np.zeros(n), rows, np.zeros(len(rows)), np.ones((1, n)), [1.0], [(0, 1)] * n).success)

    def least(which: tuple[str, ...]) -> float:
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (low, middle) if possible(middle, which) else (middle, high)
        return high

    # A list is played through; of the thresholds, only some are recorded.
    assert status.violation == pytest.approx(least(texts), abs=3e-3 if thresholds else 3e-5)
    assert status.violation >= least(texts) - 1e-6
    assert status.smallest_violation == pytest.approx(status.violation, abs=2e-5)
    assert status.conflict_over == EVERYTHING
    assert set(status.conflict) <= set(texts)
    assert status.smallest_tolerance == pytest.approx(least(status.conflict), abs=2e-4)


def test_the_reported_tolerance_is_enough() -> None:
    """Loosened by what was told, and a little, the constraints are met; by clearly less, they are not."""
    data = Data(0, True)
    status = data.status([eq.tpr() >= 0.95, eq.fpr() <= 0.05])
    t = status.smallest_tolerance
    assert data.status([eq.tpr() >= 0.95 - t - 1e-6, eq.fpr() <= 0.05 + t + 1e-6]).feasible
    assert not data.status([eq.tpr() >= 0.95 - 0.9 * t, eq.fpr() <= 0.05 + 0.9 * t]).feasible


def test_a_linear_model_is_told_over_its_columns() -> None:
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    solution = eq.solve(
        eq.Problem(AIM, [eq.tpr() >= 0.9, eq.fpr() <= 0.1, eq.accuracy() >= 0.1]), X, noise, n_rounds=100
    )
    status = solution.status
    assert status.conflict == ("tpr() >= 0.9", "fpr() <= 0.1")
    assert status.conflict_over == COLUMNS
    assert "play more rounds" in status.advice[0]
    assert "any mixture of the classifiers found" in status.advice[0]  # columns are those of a table, to a reader
    assert status.smallest_tolerance <= status.violation + 1e-9


def test_differences_of_ratios_are_searched() -> None:
    rng = np.random.default_rng(0)
    X, y, g = rng.normal(size=(300, 2)), rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    a, b = eq.attr("g") == 1, eq.attr("g") == 0
    problem = eq.Problem(AIM, [eq.precision(a) >= eq.precision(b) + 0.6, eq.positive_rate() >= 0.6])
    status = eq.solve(problem, X, y, attributes={"g": g}, n_rounds=100).status
    assert status.conflict_over == SEARCHED
    assert status.conflict


def test_one_constraint_alone() -> None:
    data = Data(1, True)
    status = data.status([eq.accuracy() >= 0.99, eq.positive_rate() <= 0.9])
    assert status.conflict == ("accuracy() >= 0.99",)
    assert status.smallest_tolerance == pytest.approx(0.99 - data.rates["accuracy"].max(), abs=1e-6)
    assert status.advice[0].startswith(
        "accuracy() >= 0.99 cannot be met by any mixture of all classifiers of this model"
    )


def test_two_conflicts_give_both_tolerances() -> None:
    data = Data(2, True)
    bounds = [("tpr", ">=", 0.9), ("fpr", "<=", 0.1), ("positive_rate", "<=", 0.05)]
    status = data.status(written(bounds))
    pairs = [pair for pair in itertools.combinations(bounds, 2) if data.least(list(pair)) > status.tolerance]
    assert len(pairs) == 2
    assert status.smallest_tolerance == pytest.approx(max(data.least(list(pair)) for pair in pairs), abs=1e-6)
    assert status.violation == pytest.approx(data.least(bounds), abs=1e-4)


def test_what_is_feasible_has_no_conflict() -> None:
    status = Data(0, True).status([eq.positive_rate() <= 0.5])
    assert (status.feasible, status.conflict, status.smallest_tolerance, status.conflict_over) == (True, (), None, None)


def test_what_the_model_could_do_is_no_conflict() -> None:
    """One round leaves the constraints broken, but other thresholds meet them: then rounds are what is missing."""
    data = Data(0, True)
    problem = eq.Problem(AIM, [abs(eq.positive_rate() - 0.37) <= 0.002])
    status = eq.solve(problem, data.X, data.y, model=data.model, algorithm="oracle", n_rounds=1).status
    assert not status.feasible
    assert status.conflict == ()
    assert "play more rounds" in status.advice[0]


@pytest.mark.parametrize("algorithm", ["auto", "surrogate"])
def test_a_fit_with_weights_tells_the_constraints_as_written(algorithm: str) -> None:
    data = Data(0, False)
    clf = eq.RateClassifier(AIM, [eq.tpr() >= 0.95, eq.fpr() <= 0.05], algorithm=algorithm, n_rounds=50, random_state=0)
    with pytest.warns(eq.NotSolvedWarning):
        clf.fit(data.X, data.y, sample_weight=np.linspace(1, 2, N))
    assert clf.status_.conflict == ("tpr() >= 0.95", "fpr() <= 0.05")


def test_a_saved_status_keeps_the_conflict(tmp_path) -> None:
    data = Data(0, True)
    post = eq.RatePostprocessor(None, AIM, [eq.tpr() >= 0.95, eq.fpr() <= 0.05])
    with pytest.warns(eq.NotSolvedWarning):
        post.fit(data.scores, data.y)
    post.save(tmp_path / "post")
    assert eq.load(tmp_path / "post").status_ == post.status_
    assert post.status_.conflict == ("tpr() >= 0.95", "fpr() <= 0.05")
    assert post.status_.advice[0] in " ".join(str(post.report()).split())


# -- models that give no exact answers ------------------------------------------------------------


def scored(n: int = 1500, seed: int = 0) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Two features, the first of which ranks well only above a high score; and a group."""
    rng = np.random.default_rng(seed)
    y, group = (rng.random(n) < 0.3).astype(int), rng.random(n) < 0.4
    return np.column_stack([rng.normal(size=n) + 1.4 * y, rng.normal(size=n) + 0.5 * y]), y, group


@pytest.mark.parametrize("model", ["linear", "plug-in"])
def test_a_constraint_that_can_be_met_alone_is_not_blamed_alone(model: str) -> None:
    """Columns for both constraints together need not have one that meets each."""
    X, y, group = scored()
    in_group = eq.attr("group") == 1
    chosen = eq.models.PlugIn(LogisticRegression()) if model == "plug-in" else model
    precise, found = eq.precision() >= 0.9, eq.recall(in_group) >= 0.8

    def status(*constraints: eq.Constraint) -> eq.Status:
        problem = eq.Problem(eq.maximize(eq.recall()), constraints)
        return eq.solve(problem, X, y, attributes={"group": group.astype(int)}, model=chosen).status

    assert status(precise).feasible
    assert status(found).feasible
    both = status(precise, found)
    assert not both.feasible
    assert both.conflict == (repr(precise), repr(found))


@pytest.mark.parametrize("model", ["linear", "plug-in"])
def test_the_smallest_violation_of_bounds_on_ratios_cannot_be_halved(model: str) -> None:
    """Loosened by clearly less than what was told, the problem is not solved either."""
    X, y, group = scored(seed=1)
    in_group = eq.attr("group") == 1
    chosen = eq.models.PlugIn(LogisticRegression()) if model == "plug-in" else model

    def status(loose: float) -> eq.Status:
        constraints = [eq.precision() >= 0.95 - loose, eq.recall(in_group) >= 0.9 - loose]
        problem = eq.Problem(eq.maximize(eq.recall()), constraints)
        return eq.solve(problem, X, y, attributes={"group": group.astype(int)}, model=chosen).status

    least = status(0.0).smallest_violation
    assert least > 0.05
    assert not status(0.9 * least).feasible
    assert status(1.05 * least).feasible
