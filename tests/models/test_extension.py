"""A model of another package: everything that it needs is public, and nothing in the library knows its class."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import equirate as eq
from equirate.models import Asked, Capabilities, Learner, Members, Model, Rows, Seen

N = 400
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 3))
GROUP = np.where(rng.random(N) < 0.4, "a", "b")
Y = (X[:, 0] + 0.6 * (GROUP == "a") + 0.7 * rng.normal(size=N) > 0.3).astype(int)
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
LIMIT = 0.05
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.positive_rate(A) - eq.positive_rate(B)) <= LIMIT])


@dataclass(frozen=True)
class Stumps(Model):
    """Thresholds on one feature, at its deciles."""

    cuts: int = 9

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(exact=True, rows_per_feature=0)

    def bind(self, rows: Rows, count: int, step: Any, seeds: Any) -> Learner:
        return StumpLearner(self, rows, count)


@dataclass(frozen=True, eq=False)
class StumpMembers(Members):
    """Each predicts 1 where its feature is above its threshold."""

    feature: NDArray[np.intp]
    cut: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.feature)

    def scores(self, X: Any, *, attributes: Any = None) -> NDArray[np.float64]:
        return np.asarray(np.asarray(X)[:, self.feature] - self.cut)

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        return self.scores(X) > 0

    def take(self, indices: Any) -> Members:
        return StumpMembers(self.feature[list(indices)], self.cut[list(indices)])


def stumps(X: NDArray[np.float64], cuts: int) -> StumpMembers:
    edges = np.quantile(X, np.arange(1, cuts + 1) / (cuts + 1), axis=0)
    ends = np.vstack([edges, np.full(X.shape[1], -1e9), np.full(X.shape[1], 1e9)])
    return StumpMembers(np.tile(np.arange(X.shape[1]), len(ends)), ends.ravel())


class StumpLearner(Learner):
    """Compares all stumps: their sums are known as soon as there are rows."""

    def __init__(self, setting: Stumps, rows: Rows, count: int) -> None:
        self.every = stumps(rows.X, setting.cuts)
        self.sums = rows.cells.sums(self.every.decide(rows.X))
        self.index = np.zeros(count, dtype=np.intp)

    def answer(self, asked: Asked) -> Seen:
        self.index = np.argmin(self.sums.T @ asked.costs, axis=0)
        return Seen(self.sums[:, self.index])

    def snapshot(self) -> NDArray[np.intp]:
        return self.index.copy()

    def keep(self, columns: NDArray[np.intp]) -> None:
        self.index = self.index[columns]

    def finite(self) -> NDArray[np.bool_]:
        return np.ones(len(self.index), dtype=bool)

    def members(self, snapshots: Any, chosen: Any) -> Members:
        return self.every.take([snapshots[t][c] for t, c in chosen])


def optimum() -> float:
    """The best mixture of all stumps, by a linear programme of its own."""
    decided = stumps(X, 9).decide(X).astype(float)
    error = (decided != Y[:, None]).mean(axis=0)
    gap = decided[GROUP == "a"].mean(axis=0) - decided[GROUP == "b"].mean(axis=0)
    found = linprog(error, A_ub=[gap, -gap], b_ub=[LIMIT, LIMIT], A_eq=np.ones((1, len(error))), b_eq=[1.0])
    return float(found.fun)


@pytest.mark.parametrize("algorithm", ["auto", "oracle"])
def test_a_model_of_another_package_is_solved(algorithm: str) -> None:
    solution = eq.solve(PROBLEM, X, Y, attributes={"group": GROUP}, model=Stumps(), algorithm=algorithm)
    assert solution.status.feasible
    assert solution.status.objective == pytest.approx(optimum(), abs=2e-3)
    assert solution.status.bound is not None  # best responses are declared to be exact
    assert solution.status.bound <= optimum() + 1e-9


def test_an_estimator_takes_it_as_it_takes_any_other() -> None:
    clf = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, model=Stumps(), random_state=0)
    clf.fit(X, Y, sensitive_features={"group": GROUP})
    assert clf.status_.feasible
    assert type(clf.classifier_.members) is StumpMembers
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    single = clf.to_deterministic()
    np.testing.assert_array_equal(single.decision_function(X) > 0, single.predict(X) == 1)


def test_what_it_does_not_declare_is_refused_by_name() -> None:
    with pytest.raises(eq.AlgorithmError, match="a model without gradients"):
        eq.solve(PROBLEM, X, Y, attributes={"group": GROUP}, model=Stumps(), algorithm="surrogate")
    with pytest.raises(eq.EquirateError, match=r"groups are looked up by plug-in rules.*Stumps"):
        eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, model=Stumps(), groups=eq.attr("group")).fit(
            X, Y, sensitive_features={"group": GROUP}
        )


@dataclass(frozen=True)
class ClassTables(Model):
    """One of three answers for each third of the first feature: every such table."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(exact=True, any_classes=True, rows_per_feature=0)

    def bind(self, rows: Rows, count: int, step: Any, seeds: Any) -> Learner:
        return ClassTableLearner(rows, count)


@dataclass(frozen=True, eq=False)
class ClassTableMembers(Members):
    """Each looks the answer up by the third that a row is in."""

    tables: NDArray[np.intp]
    n_classes = 3

    def __len__(self) -> int:
        return len(self.tables)

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.intp]:
        return self.tables[:, np.digitize(np.asarray(X)[:, 0], [-0.4, 0.4])].T

    def take(self, indices: Any) -> Members:
        return ClassTableMembers(self.tables[list(indices)])


TABLES = np.array(list(product(range(3), repeat=3)))


class ClassTableLearner(StumpLearner):
    """Compares all tables."""

    def __init__(self, rows: Rows, count: int) -> None:
        self.every = ClassTableMembers(TABLES)  # type: ignore[assignment]
        self.sums = rows.cells.sums(self.every.decide(rows.X))
        self.index = np.zeros(count, dtype=np.intp)


def test_a_model_of_another_package_may_take_more_than_two_classes() -> None:
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=N), [-0.8, 0.3])
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.recall(label=0) >= 0.97])
    solution = eq.solve(problem, X, y, model=ClassTables())
    decided = ClassTableMembers(TABLES).decide(X)
    error, recall = (decided != y[:, None]).mean(axis=0), (decided[y == 0] == 0).mean(axis=0)
    assert recall[np.argmin(error)] < 0.97  # the constraint binds
    best = linprog(error, A_ub=[-recall], b_ub=[-0.97], A_eq=np.ones((1, len(error))), b_eq=[1.0]).fun
    assert solution.status.feasible
    assert solution.status.objective == pytest.approx(best, abs=2e-3)
    with pytest.raises(eq.AlgorithmError, match="Stumps is for two classes, and y has 3"):
        eq.solve(problem, X, y, model=Stumps())
