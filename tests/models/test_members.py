"""Members of several fits decide as each does."""

import numpy as np

import equirate as eq
from equirate.models.linear_members import LinearMembers
from equirate.models.side_by_side import SideBySide, concatenate_members
from equirate.models.thresholds import GivenScores, ThresholdMembers, Thresholds

N = 400
rng = np.random.default_rng(3)
G = rng.integers(0, 2, N)
Y = (rng.random(N) < 0.3 + 0.2 * G).astype(int)
X = rng.normal(size=(N, 3)) + np.outer(Y, [1.0, 0.5, 0.0])


def test_concatenated_members_decide_as_each() -> None:
    weights = rng.normal(size=(4, 5))
    lines = [LinearMembers(weights[:, :2]), LinearMembers(weights[:-1, 2:], intercept=False)]
    both = concatenate_members(lines)
    assert isinstance(both, LinearMembers)
    np.testing.assert_array_equal(both.decide(X), np.hstack([part.decide(X) for part in lines]))
    setting = Thresholds(GivenScores(1.0), (eq.attr("g") == 1, eq.attr("g") == 0))
    cuts = [ThresholdMembers(setting, rng.normal(size=(2, 2))) for _ in range(2)]
    assert isinstance(concatenate_members(cuts), ThresholdMembers)
    np.testing.assert_array_equal(
        concatenate_members(cuts).decide(X[:, 0], attributes={"g": G}),
        np.hstack([part.decide(X[:, 0], attributes={"g": G}) for part in cuts]),
    )


def test_members_of_different_settings_stay_apart() -> None:
    apart = [ThresholdMembers(Thresholds(GivenScores(sign)), np.array([[0.0, 0.5]])) for sign in (1.0, -1.0)]
    both = concatenate_members(apart)
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
        np.testing.assert_array_equal(like.constants().decide(features), np.tile([False, True], (N, 1)))
    assert SideBySide.of(()).constants() is None
