"""What users give and get at the estimators' surface: keyword-only arguments, results as objects, keys."""

import json
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import equirate as eq

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 3))
SEX = np.where(RNG.random(N) < 0.5, "F", "M")
Y = (X[:, 0] + RNG.normal(size=N) > 0.3).astype(int)
PEOPLE = {"sex": SEX}
GAP = eq.positive_rate(eq.attr("sex") == "F") - eq.positive_rate(eq.attr("sex") == "M")


@pytest.fixture(scope="module")
def fitted() -> eq.RateClassifier:
    """A mixture of several members, so that the draw matters."""
    constraints = [abs(GAP) <= 0.01, eq.positive_rate() <= 0.3]
    return eq.RateClassifier(eq.maximize(eq.f1()), constraints, random_state=0).fit(X, Y, sensitive_features=PEOPLE)


def test_an_attribute_cannot_be_taken_for_the_key(fitted: eq.RateClassifier) -> None:
    with pytest.raises(TypeError, match="positional"):
        fitted.predict(X, SEX)  # type: ignore[misc]
    scores = eq.RatePostprocessor(None, eq.minimize(eq.error_rate())).fit(X[:, 0], Y)
    with pytest.raises(TypeError, match="positional"):
        scores.predict(X[:, 0], SEX)  # type: ignore[misc]


def test_a_key_with_few_values_is_warned_of(fitted: eq.RateClassifier) -> None:
    assert not fitted.classifier_.is_deterministic
    with pytest.warns(eq.EquirateWarning, match="key has 2 distinct values for 400 rows"):
        fitted.predict(X, key=SEX)
    with pytest.warns(eq.EquirateWarning, match="key has 24 distinct values"):
        fitted.predict(X, key=np.arange(N) % 24)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.predict(X, key=np.arange(N))
        fitted.predict(X, key=np.arange(N) % 25)
        fitted.predict(X[:1], key=["somebody"])
        fitted.predict(X[:9], key=["somebody"] * 9)
        fitted.to_deterministic().predict(X)


def test_evaluate_returns_an_object(fitted: eq.RateClassifier) -> None:
    found = fitted.evaluate(X, Y, sensitive_features=PEOPLE)
    p = fitted.predict_pmf(X)[:, 1]
    assert found.objective == pytest.approx(eq.f1().evaluate(Y, p))
    assert found.violation == pytest.approx(max(0.0, abs(GAP.evaluate(Y, p, attributes=PEOPLE)) - 0.01, p.mean() - 0.3))
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["violation"] == found.violation
    assert "max_violation" not in plain
    frame = found.to_frame()
    assert frame["name"].tolist() == ["objective", *(c.constraint for c in found.constraints)]
    assert frame["value"].tolist() == [found.objective, *(c.violation for c in found.constraints)]
    assert frame["verdict"].tolist()[1:] == [c.verdict for c in found.constraints]


def test_numbers_that_json_cannot_hold_are_none() -> None:
    clf = eq.RateClassifier(eq.minimize(eq.log_loss()), random_state=0).fit(X, Y)
    assert clf.evaluate(X, Y).to_dict()["objective"] is None


def test_a_frontier_is_a_frame(fitted: eq.RateClassifier) -> None:
    found = clone(fitted).frontier(X, Y, sensitive_features=PEOPLE, levels=[0.0, 0.1])
    frame = found.to_frame()
    assert frame.to_dict("records") == found.table()
    assert frame["level"].tolist() == [0.0, 0.1]


@pytest.mark.parametrize("weights", [None, np.arange(N) % 3])
def test_the_score_is_the_accuracy(fitted: eq.RateClassifier, weights: Any) -> None:
    right = fitted.predict(X) == Y
    assert fitted.score(X, Y, sample_weight=weights) == pytest.approx(np.average(right, weights=weights))
    with pytest.raises(TypeError, match="positional"):
        fitted.score(X, Y, weights)  # type: ignore[misc]


def test_the_score_of_thresholds_for_groups_takes_attributes() -> None:
    post = eq.RatePostprocessor(None, eq.minimize(eq.error_rate()), [abs(GAP) <= 0.05], groups="sex", random_state=0)
    post.fit(X[:, 0], Y, sensitive_features=PEOPLE)
    decided = post.predict(X[:, 0], sensitive_features=PEOPLE)
    assert post.score(X[:, 0], Y, sensitive_features=PEOPLE) == pytest.approx(np.mean(decided == Y))
