"""Displays in scikit-learn's way: the numbers are the expressions', the drawing is matplotlib's."""

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq

N = 300
RNG = np.random.default_rng(0)
SEX, RACE = RNG.choice(["F", "M"], N), RNG.choice(["a", "b"], N)
X = RNG.normal(size=(N, 3))
X[:, 2] += SEX == "M"
Y = (X[:, 0] + X[:, 2] + RNG.normal(size=N) > 1).astype(int)
NAMES = np.where(Y == 1, "bad", "good")
PEOPLE = pd.DataFrame({"sex": SEX, "race": RACE})


@pytest.fixture(autouse=True)
def _closed() -> Any:
    yield
    plt.close("all")


def test_rates_of_an_estimator_by_group() -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, NAMES)
    shown = eq.RateDisplay.from_estimator(model, X, NAMES, sensitive_features=PEOPLE, pos_label="bad")
    bad = (model.predict(X) == "bad").astype(int)
    assert [rate.slice for rate in shown.rates[:5]] == [
        "everybody",
        *("sex == 'F'", "sex == 'M'", "race == 'a'", "race == 'b'"),
    ]
    for rate in shown.rates:
        name, _, value = rate.slice.partition(" == ")
        expression = getattr(eq, rate.rate)(*([eq.attr(name) == value.strip("'")] if value else []))
        assert rate.value == pytest.approx(expression.evaluate(Y, bad, attributes=PEOPLE))
        assert rate.low <= rate.value <= rate.high
    assert shown.figure_ is shown.ax_.figure
    assert [tick.get_text() for tick in shown.ax_.get_yticklabels()][1] == "sex == 'F'"
    assert "'bad'" in shown.ax_.get_xlabel()
    assert len(shown.containers_) == 3


def test_rates_of_predictions_by_combinations_of_attributes() -> None:
    _, ax = plt.subplots()
    shown = eq.RateDisplay.from_predictions(
        Y, Y, sensitive_features=PEOPLE, by=["sex", "race"], rates=["precision"], ax=ax, name="truth", color="black"
    )
    assert shown.ax_ is ax
    assert [rate.slice for rate in shown.rates][1] == "(sex == 'F') & (race == 'a')"
    assert len(shown.rates) == 5
    assert shown.plot().ax_ is not ax  # again, elsewhere
    half = eq.RateDisplay.from_predictions(Y, np.full(N, 0.5), sensitive_features=SEX, by="sex")
    assert half.rates[0].value == pytest.approx(0.5)


def test_columns_of_x_are_groups_too() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["old"] = (RNG.random(N) < 0.5).astype(float)
    model = LogisticRegression().fit(frame, Y)
    shown = eq.RateDisplay.from_estimator(model, frame, Y, by="old")
    assert [rate.slice for rate in shown.rates[:3]] == ["everybody", "old == 0.0", "old == 1.0"]
    with pytest.raises(eq.DataError, match="there are no groups to show"):
        eq.RateDisplay.from_estimator(model, frame, Y)


def test_what_cannot_be_shown() -> None:
    with pytest.raises(eq.EquirateError, match=r"rates must be some of .*; got 'auc'"):
        eq.RateDisplay.from_predictions(Y, Y, sensitive_features=PEOPLE, rates=["auc"])
    with pytest.raises(eq.DataError, match="pos_label 'x' is not among the labels"):
        eq.RateDisplay.from_predictions(Y, Y, sensitive_features=PEOPLE, pos_label="x")
    with pytest.raises(eq.EquirateError, match="a frontier is traced by a RateClassifier; got LogisticRegression"):
        eq.FrontierDisplay.from_estimator(LogisticRegression(), X, Y, levels=[0.0])


def test_frontiers() -> None:
    gap = abs(eq.positive_rate(eq.attr("sex") == "F") - eq.positive_rate(eq.attr("sex") == "M"))
    clf = eq.RateClassifier(
        eq.minimize(eq.error_rate()), [gap <= 0.0], n_rounds=30, theta_step=0.1, lambda_step=0.1, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        shown = eq.FrontierDisplay.from_estimator(
            clf, X, Y, sensitive_features=PEOPLE, levels=[0.0, 0.1], test=(X, Y, PEOPLE), name="ours"
        )
    assert shown.frontier.levels == (0.0, 0.1)
    assert shown.ax_.get_ylabel() == "minimize(error_rate())"
    assert shown.ax_.get_legend().get_title().get_text() == "ours"
    assert eq.FrontierDisplay.from_frontier(shown.frontier).figure_ is not shown.figure_
