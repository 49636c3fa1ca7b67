"""Pandas inputs whose indexes disagree: refused in another order, warned of otherwise, wherever data come in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import equirate as eq
from equirate.data.alignment import check_indexes

N = 200
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"], index=np.arange(N) + 50)
Y = pd.Series((X["a"] > 0.2).astype(int))
PEOPLE = pd.DataFrame({"sex": np.where(np.arange(N) % 2, "F", "M")}, index=X.index)
TURNED = PEOPLE.iloc[::-1]
OTHER = PEOPLE.reset_index(drop=True)


def classifier() -> eq.RateClassifier:
    constraints = eq.demographic_parity("sex", tolerance=0.2)
    return eq.RateClassifier(eq.minimize(eq.error_rate()), constraints, n_rounds=30, theta_step=0.1, random_state=0)


@pytest.mark.parametrize(
    "given",
    [
        {"X": X, "y": Y, "sensitive_features": PEOPLE},
        {"X": X.to_numpy(), "y": Y, "sensitive_features": {"sex": PEOPLE["sex"], "age": np.zeros(N)}},
        {"X": X, "y": list(Y), "sensitive_features": pl.DataFrame({"sex": PEOPLE["sex"].to_list()})},
        {"X": None, "y": np.zeros(3), "sensitive_features": TURNED},
        {"X": X, "y": Y[:5]},  # lengths are refused elsewhere
    ],
)
def test_what_agrees_or_has_no_index_is_fine(given) -> None:
    check_indexes(given)


def test_the_same_index_in_another_order_is_refused() -> None:
    with pytest.raises(
        eq.DataError, match=r"X and people have the same index in another order \(50, 51, 52, \.\.\. and 249"
    ):
        check_indexes({"X": X, "people": TURNED})
    with pytest.raises(eq.DataError, match=r"bring attribute 'sex' into the order of y with \.loc\[y\.index\]"):
        check_indexes({"y": Y, "people": {"sex": TURNED["sex"]}})
    twice = pd.DataFrame(np.zeros((N, 2)), columns=["a", "a"], index=TURNED.index)
    with pytest.raises(eq.DataError, match="X and y have the same index"):
        check_indexes({"X": twice, "y": Y})


def test_different_indexes_get_one_warning() -> None:
    with pytest.warns(
        eq.EquirateWarning, match=r"X \(50, .*\) and y \(0, .*\), people \(0, .*matched by place"
    ) as caught:
        check_indexes({"X": X, "y": Y.reset_index(drop=True), "people": OTHER, "w": Y})
    assert len(caught) == 1


def test_every_border_looks() -> None:
    base = classifier().fit(X, Y, sensitive_features=PEOPLE)
    post = eq.RatePostprocessor(None, eq.minimize(eq.error_rate()), groups="sex").fit(
        X["a"], Y, sensitive_features=PEOPLE
    )
    problem = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity("sex", tolerance=0.2))
    calls = [
        lambda people: classifier().fit(X, Y, sensitive_features=people),
        lambda people: base.evaluate(X, Y, sensitive_features=people),
        lambda people: base.frontier(X, Y, sensitive_features=people, levels=[0.0]),
        lambda people: post.fit(X["a"], Y, sensitive_features=people),
        lambda people: post.predict(X["a"], sensitive_features=people),
        lambda people: post.set_params(missing="group").predict(X["a"], sensitive_features=people),
        lambda people: post.certify(X["a"], Y, sensitive_features=people),
        lambda people: eq.solve(problem, X, Y, attributes=people, n_rounds=10),
        lambda people: eq.positive_rate(eq.attr("sex") == "F").evaluate(Y, Y, attributes=people),
    ]
    for call in calls:
        with pytest.raises(eq.DataError, match="the same index in another order"):
            call(TURNED)
        with pytest.warns(eq.EquirateWarning, match="have different indexes") as caught:
            call(OTHER)
        assert sum("indexes" in str(w.message) for w in caught) == 1
