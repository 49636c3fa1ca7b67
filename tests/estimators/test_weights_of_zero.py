"""Rows of weight 0 count for nothing: not as rows of a test or of a slice, and not as rows that repeat."""

import warnings
from typing import Any

import numpy as np
import pytest

import equirate as eq

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 3))
GROUP = RNG.choice(["a", "b"], N)
Y = (X[:, 0] + X[:, 1] + (GROUP == "a") + RNG.normal(size=N) > 0.8).astype(int)
PROBLEM: Any = eq.minimize(eq.error_rate()), [eq.positive_rate(eq.attr("group") == "a") <= 0.6]


@pytest.mark.parametrize("method", ["cross", "holdout"])
def test_rows_of_weight_0_are_no_rows_of_a_test(method: str) -> None:
    weights = np.where(np.arange(3 * N) < N, 1, 0)
    many = np.tile(X, (3, 1)) + np.where(weights == 0, 0.1, 0.0)[:, None]
    clf = eq.RateClassifier(*PROBLEM, confidence=0.9, confidence_method=method, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(many, np.tile(Y, 3), sensitive_features={"group": np.tile(GROUP, 3)}, sample_weight=weights)
    assert clf.certification_.examples <= (N if method == "cross" else 0.6 * N)
    assert sum(part.slices[0].examples for part in clf.parts_.values()) <= N


def test_copies_of_weight_0_do_not_change_what_is_judged() -> None:
    clf = eq.RateClassifier(*PROBLEM, random_state=0).fit(X, Y, sensitive_features={"group": GROUP})
    copies = np.tile(X[:1], (N, 1))
    weights = np.repeat([1.0, 0.0], N)
    alone = clf.evaluate(X, Y, sensitive_features={"group": GROUP})
    beside = clf.evaluate(
        np.vstack([X, copies]),
        np.append(Y, np.repeat(Y[:1], N)),
        sensitive_features={"group": np.append(GROUP, np.repeat(GROUP[:1], N))},
        sample_weight=weights,
    )
    assert beside.objective == pytest.approx(alone.objective, rel=1e-12)
    assert beside.slices[0].examples == N
