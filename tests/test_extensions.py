"""Extensions written outside the library: a stopping rule, a source of columns and a rate.

A model of another package is in ``tests/models/test_extension.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import equirate as eq
from equirate.data.kinds import RateKind
from equirate.language.nodes import Rate
from equirate.mixtures import Source
from equirate.models import Asked, Capabilities, Finite, Learner, Members, Model, Rows, Seen
from equirate.models.messages import Family

N = 400
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=N) > 0.4).astype(int)
PROBLEM = eq.Problem(eq.maximize(eq.tpr()), [eq.positive_rate() <= 0.3])

# -- a stopping rule ------------------------------------------------------------------------------


@dataclass
class Enough:
    """Stop as soon as the objective is good enough and the constraints hold: any function of a `Moment` or a `Pass`."""

    objective: float
    asked: int = 0

    def __call__(self, state: Any) -> bool:
        self.asked += 1
        return bool(np.max(state.objective) >= self.objective and np.min(state.violation) <= 1e-3)


def test_a_stopping_rule_ends_column_generation() -> None:
    rule = Enough(objective=0.0)
    stopped = eq.solve(PROBLEM, X, Y, progress=rule)
    assert rule.asked == 1
    assert eq.solve(PROBLEM, X, Y, progress=Enough(objective=2.0)).rounds > stopped.rounds


def test_a_stopping_rule_ends_a_game() -> None:
    rule = Enough(objective=0.0)
    stopped = eq.solve(PROBLEM, X, Y, algorithm="oracle", model=some_thresholds(), n_rounds=100, progress=rule)
    assert stopped.rounds == rule.asked < 100


# -- a source of columns --------------------------------------------------------------------------

CUTS = np.linspace(-1.5, 1.5, 7)


def some_thresholds() -> Finite:
    """A list of classifiers as functions of X."""
    return Finite([lambda X, cut=cut: (np.asarray(X)[:, 0] > cut).astype(int) for cut in CUTS])


@dataclass(frozen=True, eq=False)
class FirstFeature(Members):
    """Each predicts 1 where the first feature is above its threshold."""

    cut: Any

    def __len__(self) -> int:
        return len(self.cut)

    def decide(self, X: Any, *, attributes: Any = None) -> Any:
        return np.asarray(X)[:, [0]] > self.cut

    def take(self, indices: Any) -> Members:
        return FirstFeature(self.cut[list(indices)])


@dataclass(frozen=True)
class KnownThresholds(Model):
    """Thresholds that are known before any costs are: columns to begin with, and no answer adds to them."""

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(exact=False, rows_per_feature=0)

    def bind(self, rows: Rows, count: int, step: Any, seeds: Any) -> Learner:
        return KnownLearner(rows, count)


class KnownLearner(Learner):
    """Gives a `Family` of columns; a snapshot is what `members` makes classifiers of."""

    def __init__(self, rows: Rows, count: int) -> None:
        self.sums = rows.cells.sums(FirstFeature(CUTS).decide(rows.X))
        self.index = np.zeros(count, dtype=np.intp)

    def families(self) -> list[Family]:
        return [Family(self.sums, Source.LISTED, CUTS)]

    def respond(self, costs: Any) -> list[Family]:
        return []

    def answer(self, asked: Asked) -> Seen:
        self.index = np.argmin(self.sums.T @ asked.costs, axis=0)
        return Seen(self.sums[:, self.index])

    def members(self, snapshots: Any, chosen: Any) -> Members:
        return FirstFeature(np.array([snapshots[t][c] for t, c in chosen]))


def test_a_source_of_columns_is_mixed_to_its_optimum() -> None:
    solution = eq.solve(PROBLEM, X, Y, model=KnownThresholds())
    decided = FirstFeature(CUTS).decide(X).astype(float)
    tpr, rate = decided[Y == 1].mean(axis=0), decided.mean(axis=0)
    best = linprog(-tpr, A_ub=[rate], b_ub=[0.3], A_eq=np.ones((1, len(CUTS))), b_eq=[1.0])
    assert solution.status.feasible
    assert solution.status.objective == pytest.approx(-best.fun, abs=1e-6)
    classifier = solution.polish()
    assert eq.tpr().evaluate(Y, classifier.positive_probability(X)) == pytest.approx(-best.fun, abs=1e-6)


# -- a rate ---------------------------------------------------------------------------------------

MISSED, FALSE_ALARM = (-1.0, 1.0), (0.5, 0.0)
COST = RateKind(
    "cost",
    (0, 1),
    ((FALSE_ALARM, FALSE_ALARM), (MISSED, MISSED)),
    compares=False,
    summary="Cost of errors, of which a false alarm counts half",
)


def test_a_rate_is_evaluated_and_solved_for() -> None:
    cost = Rate(COST)
    predicted = (X[:, 0] > 0).astype(int)
    by_hand = np.mean((Y == 1) & (predicted == 0)) + 0.5 * np.mean((Y == 0) & (predicted == 1))
    assert cost.evaluate(Y, predicted) == pytest.approx(by_hand)
    assert (repr(cost), cost.curvature) == ("cost()", "affine")
    constraints = [eq.positive_rate() <= 0.4]
    ours = eq.solve(eq.Problem(eq.minimize(cost), constraints), X, Y).status
    same = eq.solve(eq.Problem(eq.minimize(eq.fn() + 0.5 * eq.fp()), constraints), X, Y).status
    assert ours.feasible
    assert ours.objective == pytest.approx(same.objective, abs=1e-9)
