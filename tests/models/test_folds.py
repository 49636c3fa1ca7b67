"""Folds in one play are plays without the folds; members of several plays decide as each does."""

import numpy as np
import pytest

import equirate as eq
from equirate.data.sample import Sample
from equirate.data.splits import split_by_cell
from equirate.game.options import Options
from equirate.game.solving import solve_on
from equirate.models.folds import Folds
from equirate.models.joined import constants, joined
from equirate.models.linear import LinearMembers
from equirate.models.side_by_side import SideBySide
from equirate.models.thresholds import GivenScores, ThresholdMembers, Thresholds
from equirate.problem.table import problem_cells

N, K = 400, 5
rng = np.random.default_rng(3)
G = rng.integers(0, 2, N)
Y = (rng.random(N) < 0.3 + 0.2 * G).astype(int)
X = rng.normal(size=(N, 3)) + np.outer(Y, [1.0, 0.5, 0.0])
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.tpr(eq.attr("g") == 1) - eq.tpr(eq.attr("g") == 0)) <= 0.05])


def dealt():
    sample = Sample.of(X, Y, {"g": G}, two_classes=True)
    cells = problem_cells(PROBLEM, sample.examples)
    of = np.empty(N, dtype=np.intp)
    for k, rows in enumerate(split_by_cell(cells, [1 / K] * K, 0)):
        of[rows] = k
    return sample, cells, of


def rates_of(game, configuration):
    return game.record.stacked("rates")[:, :, configuration]


@pytest.mark.parametrize(
    "out", [np.eye(K, dtype=bool), np.eye(K, dtype=bool) | np.roll(np.eye(K, dtype=bool), 1, axis=1)]
)
def test_one_play_for_all_folds_is_a_play_without_each(out) -> None:
    sample, cells, of = dealt()
    options = Options(n_rounds=40, record_every=10, theta_step=(0.05,), lambda_step=(0.05, 0.1))
    together = solve_on(PROBLEM, sample, options, cells=cells, folds=Folds(of, out, (1,)))
    assert [setting["fold"] for setting in together.configurations] == list(range(K))
    assert {setting["lambda_step"] for setting in together.configurations} == {0.1}
    for k in range(K):
        there = ~out[k][of]
        totals = np.bincount(cells.of, minlength=len(cells)) / np.bincount(cells.of, there, len(cells))
        alone = Sample.of(X, Y, {"g": G}, there * totals[cells.of], two_classes=True)
        by_itself = solve_on(PROBLEM, alone, Options(n_rounds=40, record_every=10, theta_step=0.05, lambda_step=0.1))
        np.testing.assert_allclose(rates_of(together, k), rates_of(by_itself, 0), atol=1e-12)


def test_left_out_rows_change_nothing() -> None:
    _, cells, of = dealt()
    other = X.copy()
    other[of == 2] += 7.0
    options = Options(n_rounds=30, record_every=10, theta_step=(0.05,), lambda_step=(0.05,))
    folds = Folds(of, np.eye(K, dtype=bool))
    one, two = (
        solve_on(PROBLEM, Sample.of(each, Y, {"g": G}, two_classes=True), options, cells=cells, folds=folds)
        for each in (X, other)
    )
    np.testing.assert_array_equal(rates_of(one, 2), rates_of(two, 2))
    assert (rates_of(one, 1) != rates_of(two, 1)).any()


def test_joined_members_decide_as_each() -> None:
    weights = rng.normal(size=(4, 5))
    lines = [LinearMembers(weights[:, :2]), LinearMembers(weights[:-1, 2:], intercept=False)]
    both = joined(lines)
    assert isinstance(both, LinearMembers)
    np.testing.assert_array_equal(both.decide(X), np.hstack([part.decide(X) for part in lines]))
    setting = Thresholds(GivenScores(1.0), (eq.attr("g") == 1, eq.attr("g") == 0))
    cuts = [ThresholdMembers(setting, rng.normal(size=(2, 2))) for _ in range(2)]
    assert isinstance(joined(cuts), ThresholdMembers)
    np.testing.assert_array_equal(
        joined(cuts).decide(X[:, 0], attributes={"g": G}),
        np.hstack([part.decide(X[:, 0], attributes={"g": G}) for part in cuts]),
    )


def test_members_of_different_settings_stay_apart() -> None:
    apart = [ThresholdMembers(Thresholds(GivenScores(sign)), np.array([[0.0, 0.5]])) for sign in (1.0, -1.0)]
    both = joined(apart)
    assert isinstance(both, SideBySide)
    assert len(both) == 4
    score = X[:, 0]
    expected = np.hstack([part.decide(score) for part in apart])
    np.testing.assert_array_equal(both.decide(score), expected)
    np.testing.assert_array_equal(both.take([3, 0]).decide(score), expected[:, [3, 0]])
    share = np.array([0.1, 0.2, 0.3, 0.4])
    mean = sum(part.mean_score(score, weights=w) for part, w in zip(apart, (share[:2], share[2:]), strict=True))
    np.testing.assert_allclose(both.mean_score(score, weights=share), mean)


def test_constants_say_the_same_to_everybody() -> None:
    for like in (LinearMembers(np.ones((4, 1))), ThresholdMembers(Thresholds(GivenScores(1.0)), np.zeros((1, 1)))):
        features = X if isinstance(like, LinearMembers) else X[:, 0]
        np.testing.assert_array_equal(constants(like).decide(features), np.tile([False, True], (N, 1)))
    assert constants(SideBySide.of(())) is None
