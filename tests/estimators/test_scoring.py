"""`eq.scorer`: values by hand, any labels, pipelines, searches with routing."""

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq

N = 600
RNG = np.random.default_rng(0)
SEX = RNG.choice(["F", "M"], N)
X = RNG.normal(size=(N, 3))
X[:, 2] += SEX == "M"
Y = (X[:, 0] + 0.8 * (SEX == "M") + RNG.normal(size=N) > 0.8).astype(int)
PEOPLE = pd.DataFrame({"sex": SEX})
F, M = eq.attr("sex") == "F", eq.attr("sex") == "M"
GAP = abs(eq.positive_rate(F) - eq.positive_rate(M))
NAMES = np.where(Y == 1, "bad", "good")  # the positive label is the smaller one


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)  # small games
        yield


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 25.0])
@pytest.mark.parametrize("weights", [None, np.linspace(0, 2, N)], ids=["equal", "weighted"])
def test_the_value_is_the_objective_less_the_price_of_the_violation(sense: str, penalty: float, weights: Any) -> None:
    base = LogisticRegression().fit(X, Y)
    predicted = base.predict(X)
    objective = getattr(eq, sense)(eq.f1() if sense == "maximize" else eq.error_rate())
    constraints = [GAP <= 0.05, eq.positive_rate() <= 0.2]
    found = eq.scorer(objective, constraints, penalty=penalty)(
        base, X, Y, sensitive_features=PEOPLE, sample_weight=weights
    )
    value = objective.expr.evaluate(Y, predicted, attributes=PEOPLE, sample_weight=weights)
    violation = max(c.evaluate(Y, predicted, attributes=PEOPLE, sample_weight=weights) for c in constraints)
    assert violation > 0
    assert found == pytest.approx((value if sense == "maximize" else -value) - penalty * violation)
    met = eq.scorer(objective, [GAP <= 1.0], penalty=penalty)
    assert met(base, X, Y, sensitive_features=PEOPLE, sample_weight=weights) == pytest.approx(
        value if sense == "maximize" else -value
    )


def test_infinite_penalties() -> None:
    base = LogisticRegression().fit(X, Y)
    assert eq.scorer(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.01], penalty=math.inf)(base, X, Y) == -math.inf
    assert eq.scorer(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.9], penalty=math.inf)(base, X, Y) > 0.5


def test_a_mixture_is_scored_by_its_expected_rates() -> None:
    clf = eq.RateClassifier(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.2], random_state=0).fit(X, Y)
    assert len(clf.weights_) > 1
    p = clf.predict_pmf(X)[:, 1]
    assert eq.scorer(eq.maximize(eq.f1()))(clf, X, Y) == pytest.approx(eq.f1().evaluate(Y, p))
    piped = make_pipeline(StandardScaler(), "passthrough", clone(clf)).fit(X, Y)
    p = piped[-1].predict_pmf(piped[0].transform(X))[:, 1]
    assert eq.scorer(eq.maximize(eq.f1()))(piped, X, Y) == pytest.approx(eq.f1().evaluate(Y, p))


def test_thresholds_per_group_are_given_the_groups() -> None:
    post = eq.RatePostprocessor(LogisticRegression(), eq.maximize(eq.f1()), groups="sex", random_state=0)
    post.fit(X, Y, sensitive_features=PEOPLE)
    found = eq.scorer(eq.maximize(eq.f1()), [GAP <= 1])(post, X, Y, sensitive_features=PEOPLE)
    assert found == pytest.approx(eq.f1().evaluate(Y, post.predict_pmf(X, sensitive_features=PEOPLE)[:, 1]))


@pytest.mark.parametrize("how", ["scorer", "estimator", "not at all"])
def test_the_positive_label(how: str) -> None:
    """Recall of "bad" by the scorer's own word, by the classifier's, or of the larger label."""
    clf = eq.RateClassifier(
        eq.minimize(eq.error_rate()), pos_label="bad" if how == "estimator" else None, random_state=0
    )
    clf.fit(X, NAMES)
    score = eq.scorer(eq.maximize(eq.recall()), pos_label="bad" if how == "scorer" else None)
    positive = "good" if how == "not at all" else "bad"
    p = clf.predict_pmf(X)[:, list(clf.classes_).index(positive)]
    assert score(clf, X, NAMES) == pytest.approx(eq.recall().evaluate(positive == NAMES, p))
    with pytest.raises(eq.DataError, match="pos_label 'worse' is not among the labels"):
        eq.scorer(eq.maximize(eq.recall()), pos_label="worse")(clf, X, NAMES)


def test_text_labels_in_cross_validation_and_pipelines() -> None:
    score = eq.scorer(eq.maximize(eq.recall()), pos_label="bad")
    found = cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), X, NAMES, scoring=score, cv=3)
    plain = cross_val_score(make_pipeline(StandardScaler(), LogisticRegression()), X, Y, scoring="recall", cv=3)
    np.testing.assert_allclose(np.sort(found).mean(), plain.mean(), atol=0.03)
    frame = pd.DataFrame(X, columns=list("abc")).assign(sex=(SEX == "F").astype(float))
    by_column = eq.scorer(eq.maximize(eq.accuracy()), [eq.tpr(eq.attr("sex") == 1) >= 0.0], pos_label="bad")
    assert np.isfinite(cross_val_score(LogisticRegression(), frame, NAMES, scoring=by_column, cv=3)).all()


class Seen(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Predicts what the first feature says."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(X[:, 0] > 0).astype(int)]


def test_routing_of_attributes_and_weights() -> None:
    weights = RNG.uniform(0, 2, N)
    score = eq.scorer(eq.minimize(eq.error_rate()), [GAP <= 0.0], penalty=1.0).set_score_request(sample_weight=True)
    splits = [(np.arange(300), np.arange(300, N)), (np.arange(300, N), np.arange(300))]
    with config_context(enable_metadata_routing=True):
        given = {"sensitive_features": PEOPLE, "sample_weight": weights}
        found = cross_validate(Seen(), X, Y, scoring=score, cv=splits, params=given)["test_score"]
    for value, (_, test) in zip(found, splits, strict=True):
        assert value == pytest.approx(
            score(Seen().fit(X, Y), X[test], Y[test], sensitive_features=PEOPLE.iloc[test], sample_weight=weights[test])
        )
        assert value != pytest.approx(score(Seen().fit(X, Y), X[test], Y[test], sensitive_features=PEOPLE.iloc[test]))


def test_a_search_over_rate_classifiers() -> None:
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [GAP <= 0.02], validation=0.0, random_state=0)
    score = eq.scorer(eq.minimize(eq.error_rate()), [GAP <= 0.02])
    with config_context(enable_metadata_routing=True):
        clf.set_fit_request(sensitive_features=True)
        loose = [[GAP <= 0.5], [GAP <= 0.02]]
        search = GridSearchCV(clf, {"constraints": loose}, scoring=score, cv=3)
        search.fit(X, Y, sensitive_features=PEOPLE)
        assert search.best_params_["constraints"] == loose[1]
        piped = GridSearchCV(
            make_pipeline(StandardScaler(), clf), {"rateclassifier__n_rounds": [5, 40]}, scoring=score, cv=2
        )
        piped.fit(X, NAMES, sensitive_features=PEOPLE)
        assert np.isfinite(piped.cv_results_["mean_test_score"]).all()
        assert score(piped, X, NAMES, sensitive_features=PEOPLE) == pytest.approx(
            score(piped.best_estimator_, X, NAMES, sensitive_features=PEOPLE)
        )


def test_requests() -> None:
    score = eq.scorer(eq.maximize(eq.f1()))
    other = score.set_score_request(sample_weight="weights", sensitive_features=False)
    assert score.get_metadata_routing().score.requests == {"sensitive_features": True, "sample_weight": None}
    assert other.get_metadata_routing().score.requests == {"sensitive_features": False, "sample_weight": "weights"}
    assert pickle.loads(pickle.dumps(other)) == other
    assert repr(eq.scorer(eq.maximize(eq.f1()), [eq.fpr() <= 0.1])) == "scorer(maximize(f1()), [fpr() <= 0.1])"


def test_ready_made_constraints_missing_values_and_old_models() -> None:
    holes = PEOPLE.assign(sex=np.where(np.arange(N) % 5 == 0, None, SEX), old=np.where(X[:, 0] > 0, "bad", "good"))
    base = LogisticRegression().fit(X, NAMES)
    parity = eq.demographic_parity("sex", tolerance=0.0)
    with pytest.raises(eq.DataError, match="missing values"):
        eq.scorer(eq.maximize(eq.f1()), parity, pos_label="bad")(base, X, NAMES, sensitive_features=holes)
    objective = eq.minimize(eq.churn("old"))
    found = eq.scorer(objective, parity, pos_label="bad", missing="group", penalty=0.0)(
        base, X, NAMES, sensitive_features=holes
    )
    assert found == pytest.approx(-np.mean(base.predict(X) != holes["old"]))


def test_what_cannot_be_a_scorer() -> None:
    with pytest.raises(TypeError, match="minimize"):
        eq.scorer(eq.f1())  # type: ignore[arg-type]
    with pytest.raises(eq.EquirateError, match="log_loss"):
        eq.scorer(eq.minimize(eq.error_rate() + eq.log_loss()))
    for bad in (-1, math.nan, "10"):
        with pytest.raises(eq.EquirateError, match="penalty"):
            eq.scorer(eq.maximize(eq.f1()), penalty=bad)  # type: ignore[arg-type]
    with pytest.raises(eq.EquirateError, match="missing must be one of"):
        eq.scorer(eq.maximize(eq.f1()), missing="maybe")
    with pytest.raises(eq.DataError, match="unknown attribute 'sex'"):
        eq.scorer(eq.maximize(eq.f1()), [GAP <= 0.1])(DummyClassifier().fit(X, Y), X, Y)
