"""Trees as plain arrays: they score like the libraries they come from, and strangers' arrays are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import equirate as eq
from equirate._core import kernels
from equirate.boosting import extreme, light
from equirate.models.forest_members import ForestMembers
from equirate.models.forests import Boosted, Forest, as_boosted
from equirate.models.registry import read_members

rng = np.random.default_rng(0)
N = 900
X = rng.normal(size=(N, 4))
X[rng.random((N, 4)) < 0.1] = np.nan
X[:, 2] = rng.integers(0, 70, N)
Y = (np.nan_to_num(X[:, 0]) + (X[:, 2] % 3 == 0) + 0.3 * rng.normal(size=N) > 0.5).astype(int)
NEW = X.copy()
NEW[:40, 2] = np.nan


def lightgbm_booster(**params: Any) -> Any:
    import lightgbm

    quiet = {"objective": "binary", "verbose": -1, "num_threads": 1, **params}
    return lightgbm.train(quiet, lightgbm.Dataset(X, Y, categorical_feature=[2]), 12)


def xgboost_booster() -> tuple[Any, Any]:
    import xgboost

    kinds = {"feature_types": ["q", "q", "c", "q"], "enable_categorical": True}
    return xgboost.train({"nthread": 1, "objective": "binary:logistic"}, xgboost.DMatrix(X, Y, **kinds), 12), kinds


def test_lightgbm_and_its_arrays_give_the_same_numbers() -> None:
    booster = lightgbm_booster()
    strange = NEW.copy()
    strange[40:60, 2], strange[60:70, 2] = 999, -3  # codes that nobody has seen
    np.testing.assert_array_equal(
        light.forest_of(booster, 4).scores(strange)[:, 0], booster.predict(strange, raw_score=True)
    )


def test_xgboost_and_its_arrays_give_the_same_numbers() -> None:
    import xgboost

    booster, kinds = xgboost_booster()
    scores = booster.predict(xgboost.DMatrix(NEW, **kinds), output_margin=True)
    np.testing.assert_allclose(extreme.forest_of(booster, 4).scores(NEW)[:, 0], scores, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_histograms_and_their_arrays_give_the_same_numbers(classes: int) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    target = Y if classes == 2 else (X[:, 2] % 3).astype(int)
    fitted = HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(X, target)
    found = as_boosted(fitted)
    assert found is not None
    np.testing.assert_allclose(found.predict_proba(NEW), fitted.predict_proba(NEW), rtol=1e-12)
    np.testing.assert_array_equal(found.predict(NEW), fitted.predict(NEW))


def test_compiled_and_plain_passes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = light.forest_of(lightgbm_booster(), 4)
    found = []
    for wish in ("0", "1"):
        monkeypatch.setenv("EQUIRATE_KERNELS", wish)
        if wish == "1" and not kernels.ready():
            pytest.skip("numba is not here")
        found.append(forest.scores(NEW))
    np.testing.assert_array_equal(*found)


def test_concatenated_forests_score_side_by_side_and_means_are_means() -> None:
    one, other = (light.forest_of(lightgbm_booster(seed=k, num_leaves=5 + k), 4) for k in (0, 9))
    both = Forest.concatenate([one, other]).scores(NEW)
    np.testing.assert_array_equal(both, np.hstack([one.scores(NEW), other.scores(NEW)]))
    mean = Boosted.mean([Boosted(one), Boosted(other)])
    np.testing.assert_allclose(mean.decision_function(NEW), both.mean(axis=1), atol=1e-12)
    with pytest.raises(eq.DataError, match="4 features"):
        one.scores(NEW[:, :3])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12)), min_size=1, max_size=6))
def test_prefixes_are_scored_in_one_pass(chosen: list[tuple[int, int]]) -> None:
    base = light.forest_of(lightgbm_booster(num_leaves=4), 4)
    grown = {k: light.forest_of(lightgbm_booster(num_leaves=6 + k), 4) for k in (0, 1)}
    members = ForestMembers.of_prefixes(grown, chosen, np.zeros(len(chosen)), base)
    wanted = [base.scores(NEW)[:, 0] + grown[k].of_trees(0, count).scores(NEW)[:, 0] for k, count in chosen]
    np.testing.assert_allclose(members.scores(NEW), np.stack(wanted, axis=1), atol=1e-12)
    longest = {k: max([count for each, count in chosen if each == k], default=0) for k in (0, 1)}
    assert len(members.forest.roots) == 12 + sum(longest.values())  # every tree is there once
    some = members.take([len(chosen) - 1, 0])
    np.testing.assert_allclose(some.scores(NEW), members.scores(NEW)[:, [-1, 0]], atol=1e-12)
    back = read_members(members.plain(4))
    np.testing.assert_array_equal(back.decide(NEW), members.decide(NEW))


def arrays() -> dict[str, Any]:
    whole = {"feature": [0, 0, 0], "left": [1, 1, 2], "right": [2, 1, 2], "roots": [0], "column": [0]}
    whole |= {"category": [-1, -1, -1], "starts": [0]}
    floats = {"threshold": [0.5, 0.0, 0.0], "value": [0.0, -1.0, 1.0], "offset": [0.0]}
    made: dict[str, Any] = {name: np.array(values, dtype=np.int32) for name, values in whole.items()}
    made |= {name: np.array(values) for name, values in floats.items()}
    return made | {"default_left": np.zeros(3, np.uint8), "words": np.zeros(0, np.uint32)}


@pytest.mark.parametrize(
    "change",
    [
        {"left": [0, 1, 2]},
        {"left": [-1, 1, 2]},
        {"right": [3, 1, 2]},
        {"right": [0, 1, 2]},
        {"left": [2, 0, 2]},
        {"feature": [1, 0, 0]},
        {"feature": [-1, 0, 0]},
        {"roots": [3]},
        {"roots": [-1]},
        {"left": [1, 1]},
        {"column": [1]},
        {"column": [-1]},
        {"column": [0, 0]},
        {"offset": []},
        {"category": [0, -1, -1]},
        {"category": [-2, -1, -1]},
        {"starts": []},
        {"starts": [1]},
        {"starts": [0, 1]},
        {"starts": [0, 2, 0]},
    ],
)
def test_forged_forests_are_refused(change: dict[str, Any]) -> None:
    good = arrays()
    np.testing.assert_array_equal(Forest.read(good, 1, single=False).scores([[0.0], [1.0]])[:, 0], [-1.0, 1.0])
    bad = good | {name: np.array(values, dtype=good[name].dtype) for name, values in change.items()}
    with pytest.raises(eq.FileError, match="do not fit together"):
        Forest.read(bad, 1, single=False)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"value": np.array([0.0, np.nan, 1.0])}, "finite"),
        ({"threshold": np.array([np.inf, 0.0, 0.0])}, "finite"),
        ({"before": np.array([0])}, "do not fit together"),
        ({"place": np.array([1])}, "do not fit together"),
        ({"place": np.zeros(0, np.int64), "cuts": np.zeros(0)}, "do not fit together"),
        ({"more": np.zeros(1)}, "does not know"),
    ],
)
def test_forged_members_are_refused(change: dict[str, Any], says: str) -> None:
    forest = Forest.read(arrays(), 1, single=False)
    written = ForestMembers(forest, np.array([-1]), np.array([0]), np.zeros(1)).plain(1)
    assert read_members(written).decide(np.array([[0.0], [1.0]])).tolist() == [[False], [True]]
    with pytest.raises(eq.FileError, match=says):
        read_members(written._replace(arrays={**written.arrays, **change}))


def test_small_batches_use_the_compiled_pass_and_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels._available():
        pytest.skip("no compiled passes here")
    forest = light.forest_of(lightgbm_booster(), 4)
    kernels.compiled()
    monkeypatch.setattr(Forest, "visits", None)  # without a compiler
    small = [forest.scores(NEW[:rows]) for rows in (1, 7, 100)]
    monkeypatch.undo()
    monkeypatch.setenv("EQUIRATE_KERNELS", "0")
    for scores in small:
        np.testing.assert_array_equal(scores, forest.scores(NEW[: len(scores)]))


def test_many_small_batches_are_worth_loading_the_compiled_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    from equirate.models.forests import TREE_WORK

    forest, asked = light.forest_of(lightgbm_booster(), 4), []
    monkeypatch.setattr(kernels, "ready_by_now", lambda work: bool(asked.append(work)))
    forest.scores(NEW[:1])
    assert asked == [pytest.approx(TREE_WORK * len(forest.roots), rel=0.01)]
