"""Contributions add up to the scores that members decide by, and are what other computations say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.models.contributions import node_means, tree_contributions
from equirate.models.derandomised import Derandomised
from equirate.models.finite import FiniteMembers
from equirate.models.forest_members import ForestMembers
from equirate.models.forests import Forest, as_boosted
from equirate.models.linear_members import LinearMembers
from equirate.models.members import Members
from equirate.models.plug_in_rules import PlugInMembers
from equirate.models.posterior import Posterior, Signatures
from equirate.models.side_by_side import SideBySide
from equirate.models.thresholds import GivenScores, ThresholdMembers, Thresholds

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
X[rng.random(X.shape) < 0.1] = np.nan
WHOLE = np.nan_to_num(X)
Y = (WHOLE[:, 0] - WHOLE[:, 1] * WHOLE[:, 2] + 0.5 * rng.normal(size=400) > 0).astype(int)
LABEL = HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(X, Y)
GROUPS = HistGradientBoostingClassifier(max_iter=4, random_state=0).fit(X, WHOLE[:, 1] > 0)


def forest() -> Forest:
    found = as_boosted(LABEL)
    assert found is not None
    return found.forest


def rules(groups: bool) -> PlugInMembers:
    count = 2 if groups else 1
    bits = np.array([[False], [True]])[:count]
    signatures = Signatures((eq.attr("sex") == "F",), (), bits, np.zeros(1, bool), np.full(count, 1 / count))
    # the third rule has a cost that is higher for label 1, the fourth decides by the groups alone
    zeros, ones = np.array([0.5, 0.3, -0.4, 0.6]), np.array([-0.5, -0.9, 0.3, 0.2])
    costs = np.stack([zeros, zeros * 0.7, ones, ones * 1.2]) if groups else np.stack([zeros, ones])
    return PlugInMembers(Posterior(LABEL, GROUPS if groups else None, signatures, 3), costs)


def members() -> dict[str, tuple[Members, Any]]:
    trees = ForestMembers(
        Forest.concatenate([forest(), forest()]), np.array([-1, 0]), np.array([1, 0]), np.array([0.2, -0.1])
    )
    linear = LinearMembers(rng.normal(size=(4, 3)).astype(np.float32))
    single = Derandomised(linear, np.full(3, 1 / 3), np.array([-0.2, 0.3]), np.array([2, 0, 1]))
    return {
        "linear": (linear, WHOLE),
        "derandomised": (single, WHOLE),
        "trees": (trees, X),
        "side by side": (SideBySide((trees, rules(True)), np.array([3, 0, 1])), X),
        "rules": (rules(False), X),
        "rules and groups": (rules(True), X),
        "thresholds": (ThresholdMembers(Thresholds(GivenScores(-1.0)), np.array([[0.1, -0.4]])), WHOLE[:, 0]),
    }


@pytest.mark.parametrize("kind", members())
def test_the_sign_of_the_sum_is_the_decision(kind: str) -> None:
    some, given = members()[kind]
    found = some.contributions(given)
    assert found is not None
    decided = some.decide(given)
    assert found.scores.shape == decided.shape
    assert ((found.scores > 0) == decided).all()


def test_linear_contributions_are_products() -> None:
    W = np.array([[2.0], [-1.0], [0.5]])
    found = LinearMembers(W).contributions(np.array([[3.0, 4.0]]))
    assert found.features.tolist() == [[[6.0, -4.0]]]
    assert (found.base.tolist(), found.scores.tolist()) == ([[0.5]], [[2.5]])


def test_the_sum_is_the_score_of_trees() -> None:
    base, features = tree_contributions(forest(), X)
    assert np.allclose(base + features.sum(axis=2), forest().scores(X), rtol=0, atol=1e-12)
    assert np.allclose((base + features.sum(axis=2))[:, 0], LABEL.decision_function(X), rtol=0, atol=1e-12)


def test_path_contributions_are_those_of_scikit_learns_nodes() -> None:
    """Walk down scikit-learn's own arrays, row by row, with means by its own counts."""
    base, features = tree_contributions(forest(), X[:50])
    expected, start = np.zeros((50, 3)), float(np.ravel(LABEL._baseline_prediction)[0])
    for (tree,) in LABEL._predictors:
        nodes = tree.nodes

        def mean(k: int, nodes: Any = nodes) -> float:
            if nodes[k]["is_leaf"]:
                return float(nodes[k]["value"])
            a, b = int(nodes[k]["left"]), int(nodes[k]["right"])
            return float(
                (nodes[a]["count"] * mean(a) + nodes[b]["count"] * mean(b)) / (nodes[a]["count"] + nodes[b]["count"])
            )

        start += mean(0)
        for row, x in enumerate(X[:50]):
            k = 0
            while not nodes[k]["is_leaf"]:
                value, feature = x[nodes[k]["feature_idx"]], nodes[k]["feature_idx"]
                left = nodes[k]["missing_go_to_left"] if np.isnan(value) else value <= nodes[k]["num_threshold"]
                child = int(nodes[k]["left"] if left else nodes[k]["right"])
                expected[row, feature] += mean(child) - mean(k)
                k = child
    assert np.allclose(features[:, 0], expected, rtol=0, atol=1e-12)
    assert np.isclose(base[0], start)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosting_libraries_give_the_means_too(library: str) -> None:
    pytest.importorskip(library)
    from equirate.boosting import BoostedTrees

    model = BoostedTrees(library, begin=3, num_leaves=5) if library == "lightgbm" else BoostedTrees(library, begin=3)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), model=model, n_rounds=2, random_state=0).fit(WHOLE, Y)
    found = clf.members_.forest
    inner = found.left != np.arange(len(found.left))
    assert inner.any()
    low, high = np.minimum(*_children(found)), np.maximum(*_children(found))
    assert ((found.value[inner] >= low - 1e-12) & (found.value[inner] <= high + 1e-12)).all()
    assert found.value[inner].any()


def _children(forest: Forest) -> tuple[Any, Any]:
    inner = forest.left != np.arange(len(forest.left))
    return forest.value[forest.left[inner]], forest.value[forest.right[inner]]


def test_node_means() -> None:
    left, right = np.array([1, 3, 2, 3, 4]), np.array([2, 4, 2, 3, 4])
    value, cover = np.array([0.0, 0.0, 6.0, 1.0, 3.0]), np.array([8.0, 4.0, 4.0, 1.0, 3.0])
    assert node_means(left, right, value, cover).tolist() == [4.25, 2.5, 6.0, 1.0, 3.0]


def test_a_rule_is_about_the_log_odds_that_its_costs_ask_for() -> None:
    found, k = rules(False).contributions(X), rules(False).costs
    assert found is not None
    p = LABEL.predict_proba(X)[:, 1]
    asked = k[0, :2] / (k[0, :2] - k[1, :2])  # the probability of the label from which on predicting 1 costs less
    assert np.allclose(found.scores[:, :2], logit(p)[:, None] - logit(asked), rtol=0, atol=1e-9)
    assert np.allclose(expit(found.scores[:, 0] + logit(asked[0])), p)


def test_others_tell_none() -> None:
    assert FiniteMembers((LogisticRegression().fit(WHOLE, Y),)).contributions(WHOLE) is None
    mixed = SideBySide((members()["linear"][0], FiniteMembers((LogisticRegression().fit(WHOLE, Y),))), np.arange(2))
    assert mixed.contributions(WHOLE) is None
