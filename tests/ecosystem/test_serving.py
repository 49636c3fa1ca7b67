"""Serving one row: no check is lost on the short way, and decisions are those of the batch, bit by bit.

How long it takes is measured in the laboratory; here it is counted which work is done.
"""

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import equirate as eq
from equirate._core.hashing import mixed, row_hashes
from equirate.boosting.libraries import bins_of
from equirate.models.forests import Forest, as_boosted

N = 300
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 5))
Y = (X[:, 0] + RNG.normal(size=N) > 0.5).astype(int)
SMALL: dict[str, Any] = {"n_rounds": 40, "theta_step": 0.1, "lambda_step": 0.1, "random_state": 0}


@pytest.fixture(scope="module")
def clf() -> eq.RateClassifier:
    return eq.RateClassifier(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.2], **SMALL).fit(X, Y)


def calls(function: Any) -> list[str]:
    """Files of all functions that a call runs."""
    found = []
    sys.setprofile(lambda frame, event, _: found.append(frame.f_code.co_filename) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("output", ["hashed", "deterministic"])
def test_one_row_goes_through_neither_narwhals_nor_the_checks_of_frames(clf: eq.RateClassifier, output: str) -> None:
    served = clf if output == "hashed" else clf.to_deterministic()
    served.predict(X[:1])
    run = calls(lambda: served.predict(X[:1]))
    assert not [name for name in run if "narwhals" in name or "sklearn" in name]
    assert len(run) < 200  # two thirds of what LogisticRegression takes; with all checks it was a thousand


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_row_is_decided_as_in_the_batch(clf: eq.RateClassifier, dtype: Any) -> None:
    rows = X.astype(dtype)
    for served in (clf, clf.to_deterministic()):
        alone = np.concatenate([served.predict(rows[k : k + 1]) for k in range(N)])
        np.testing.assert_array_equal(alone, served.predict(rows))
        np.testing.assert_array_equal(alone, served.predict(rows.tolist()))


def spoilt(value: float) -> np.ndarray:
    row = X[:1].copy()
    row[0, 3] = value
    return row


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: spoilt(np.nan), "NaN in 1 row of column 3"),
        (lambda: spoilt(np.inf), "infinity in 1 row of column 3"),
        (lambda: spoilt(1e200), "values up to 1e\\+200"),
        (lambda: X[:1, :4], "X has 4 features, but RateClassifier is expecting 5 features"),
        (lambda: X[:0], "Found array with 0 sample"),
        (lambda: X[0], "Expected 2D array"),
        (lambda: X[:1].astype(complex), "Complex data not supported"),
        (lambda: np.array([["a"] * 5]), "X must hold numbers"),
    ],
)
def test_every_check_is_still_made(clf: eq.RateClassifier, given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        clf.predict(given())


def test_names_of_columns_are_still_compared(clf: eq.RateClassifier) -> None:
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = eq.RateClassifier(eq.maximize(eq.f1()), **SMALL).fit(frame, Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        named.predict(X[:1])
    with pytest.raises(ValueError, match="feature names should match"):
        named.predict(frame[list("abced")])
    with pytest.warns(UserWarning, match="X has feature names, but RateClassifier was fitted without"):
        clf.predict(frame)
    big_endian = X[:4].astype(">f8")
    np.testing.assert_array_equal(clf.predict(big_endian), clf.predict(X[:4]))


def test_hashes_of_rows_are_sums_over_their_values() -> None:
    """By the definition, value by value."""
    rows = np.where(RNG.random((50, 7)) < 0.3, 0.0, RNG.normal(size=(50, 7)))
    by_hand = np.zeros(50, dtype=np.uint64)
    for k in range(7):
        place = mixed(np.array([k], dtype=np.uint64))
        bits = np.ascontiguousarray(rows[:, k]).view(np.uint64)
        by_hand += np.where(rows[:, k] == 0, np.uint64(0), mixed(bits ^ place))
    np.testing.assert_array_equal(row_hashes(rows), mixed(by_hand))
    np.testing.assert_array_equal(row_hashes(rows[:1]), mixed(by_hand)[:1])
    np.testing.assert_array_equal([mixed(by_hand[k : k + 1])[0] for k in range(50)], mixed(by_hand))


def forest_of(X: Any, y: Any, classes: int) -> Forest:
    boosted = as_boosted(HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=6, random_state=0).fit(X, y))
    assert boosted is not None
    assert len(boosted.classes_) == classes
    return boosted.forest


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("holes", [False, True])
def test_few_rows_go_down_all_trees_at_once_to_the_same_scores(
    classes: int, holes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.where(RNG.random(X.shape) < 0.2, np.nan, X) if holes else X
    forest = forest_of(rows, RNG.integers(classes, size=N) if classes > 2 else Y, classes)
    together = forest.scores(rows)
    monkeypatch.setattr("equirate.models.forests._MAX_NODES_AT_ONCE", 0)
    np.testing.assert_array_equal(together, forest.scores(rows))


def test_few_rows_of_categories_too(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = RNG.integers(40, size=(N, 2)).astype(float)
    rows = np.hstack([codes, X[:, :2]])
    y = (codes[:, 0] % 3 == 0) ^ (X[:, 0] > 0.8)
    few = {"min_child_samples": 5, "min_data_per_group": 5, "cat_smooth": 1.0, "cat_l2": 0.0}
    settings = {"categorical_feature": [0, 1], "n_estimators": 5, "verbose": -1, **few}
    forest, _ = bins_of("lightgbm", rows, settings).fit(y.astype(int), None, 2, settings)
    assert (forest.category >= 0).any()
    new = rows[:40].copy()
    new[:3, 0] = np.nan, 99.0, -1.0
    together = forest.scores(new)
    monkeypatch.setattr("equirate.models.forests._MAX_NODES_AT_ONCE", 0)
    np.testing.assert_array_equal(together, forest.scores(new))
