"""`eq.scorer` in every tool of scikit-learn and imbalanced-learn that takes a scorer, with and without routing."""

import re
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import (
    GridSearchCV,
    LearningCurveDisplay,
    TunedThresholdClassifierCV,
    ValidationCurveDisplay,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq

N = 240
RNG = np.random.default_rng(0)
SEX = RNG.choice(["F", "M"], N)
X = RNG.normal(size=(N, 3))
X[:, 2] += SEX == "M"
Y = (X[:, 0] + 0.8 * (SEX == "M") + RNG.normal(size=N) > 0.8).astype(int)
FRAME = pd.DataFrame(X, columns=list("abc"), index=[f"row {k}" for k in range(N)])
PEOPLE = pd.DataFrame({"sex": SEX}, index=FRAME.index)
LABELS = pd.Series(Y, index=FRAME.index)
GAP = abs(eq.positive_rate(eq.attr("sex") == "F") - eq.positive_rate(eq.attr("sex") == "M"))
SMALL: dict[str, Any] = {"n_rounds": 30, "theta_step": 0.1, "lambda_step": 0.1, "random_state": 0}
PLAIN = eq.scorer(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.5])
SLICED = eq.scorer(eq.maximize(eq.f1()), [GAP <= 0.1])


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)  # small games
        yield
    plt.close("all")


# -- tools that take scorers apart ------------------------------------------------------------------


def test_displays_of_learning_and_validation_curves() -> None:
    shown = LearningCurveDisplay.from_estimator(LogisticRegression(), X, Y, scoring=PLAIN, cv=2, train_sizes=[0.5, 1.0])
    assert np.isfinite(shown.test_scores).all()
    assert shown.ax_.get_ylabel() == "Maximize(f1())"
    shown = ValidationCurveDisplay.from_estimator(
        LogisticRegression(), X, Y, param_name="C", param_range=[0.1, 1.0], scoring=PLAIN, cv=2
    )
    assert np.isfinite(shown.test_scores).all()


def test_tuned_thresholds_are_the_best_of_the_score() -> None:
    tuned = TunedThresholdClassifierCV(
        LogisticRegression(), scoring=PLAIN, cv="prefit", refit=False, store_cv_results=True
    )
    base = LogisticRegression().fit(X, Y)
    tuned.set_params(estimator=base).fit(X, Y)
    scores = base.predict_proba(X)[:, 1]
    by_hand = []
    for threshold in tuned.cv_results_["thresholds"]:
        predicted = (scores >= threshold).astype(int)
        violation = max(predicted.mean() - 0.5, 0.0)
        by_hand.append(eq.f1().evaluate(Y, predicted) - 10 * violation)
    np.testing.assert_allclose(tuned.cv_results_["scores"], by_hand, atol=1e-12)
    assert tuned.best_score_ == pytest.approx(max(by_hand))


def test_tuned_thresholds_with_attributes_that_are_routed() -> None:
    with config_context(enable_metadata_routing=True):
        tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=SLICED, cv=2, thresholds=20)
        tuned.fit(X, Y, sensitive_features=PEOPLE.reset_index(drop=True))
    assert np.isfinite(tuned.best_score_)


def test_tuned_thresholds_for_text_labels() -> None:
    names = np.where(Y == 1, "bad", "good")  # the positive label is the smaller one
    score = eq.scorer(eq.maximize(eq.recall()), [eq.positive_rate() <= 0.3], pos_label="bad")
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=score, cv=3).fit(X, names)
    assert 0.1 < (tuned.predict(X) == "bad").mean() < 0.5


def test_early_stopping_and_regularisation_by_the_score() -> None:
    trees = HistGradientBoostingClassifier(scoring=PLAIN, early_stopping=True, max_iter=5, random_state=0).fit(X, Y)
    assert np.isfinite(trees.validation_score_).all()
    lines = LogisticRegressionCV(Cs=[0.1, 1.0], scoring=PLAIN, cv=2, l1_ratios=(0,), use_legacy_attributes=False)
    assert lines.fit(X, Y).score(X, Y) == pytest.approx(PLAIN(lines, X, Y))


def test_scorers_are_hashable_and_equal_by_what_they_ask() -> None:
    again = eq.scorer(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.5])
    assert hash(again) == hash(PLAIN)
    assert again == PLAIN
    assert PLAIN not in ({SLICED}, {PLAIN.set_score_request(sample_weight=True)})


@pytest.mark.parametrize("objective", [eq.maximize(eq.f1()), eq.minimize(eq.error_rate())])
def test_a_problem_is_scored_by_its_objective_and_constraints(objective: eq.Objective) -> None:
    clf, limits = LogisticRegression().fit(X, Y), [eq.positive_rate() <= 0.1]
    both = eq.scorer(objective, limits)
    assert eq.scorer(eq.Problem(objective, limits)) == both
    assert eq.scorer(eq.Problem(objective), limits) == both
    assert eq.scorer(eq.Problem(objective))(clf, X, Y) != both(clf, X, Y)
    assert cross_validate(clf, X, Y, cv=2, scoring=eq.scorer(eq.Problem(objective, limits)))["test_score"].max() < 0
    with pytest.raises(TypeError, match="or be a Problem"):
        eq.scorer(eq.f1())  # type: ignore[arg-type]


def test_several_scorers_side_by_side() -> None:
    found = cross_validate(LogisticRegression(), X, Y, cv=2, scoring={"ours": PLAIN, "theirs": "f1"})
    assert np.isfinite(found["test_ours"]).all()
    assert np.isfinite(found["test_theirs"]).all()


def test_pipelines_of_imbalanced_learn() -> None:
    """Samplers change training rows only: scores are those of the classifier on the rows as they are."""
    clf = eq.RateClassifier(eq.maximize(eq.f1()), **SMALL)
    pipe = make_imblearn_pipeline(StandardScaler(), RandomOverSampler(random_state=0), clf)
    assert np.isfinite(cross_val_score(pipe, X, Y, scoring=PLAIN, cv=2, error_score="raise")).all()
    pipe.fit(X, Y)
    p = pipe[-1].predict_pmf(pipe[0].transform(X))[:, 1]
    assert eq.scorer(eq.maximize(eq.f1()))(pipe, X, Y) == pytest.approx(eq.f1().evaluate(Y, p))


# -- attributes --------------------------------------------------------------------------------------


def test_attributes_looked_up_by_the_index_of_x() -> None:
    score = eq.scorer(eq.maximize(eq.f1()), [GAP <= 0.1], sensitive_features=PEOPLE.sample(frac=1, random_state=0))
    base = LogisticRegression().fit(FRAME, Y)
    some = FRAME.iloc[::-2]
    assert score(base, some, LABELS[some.index]) == pytest.approx(
        SLICED(base, some, LABELS[some.index], sensitive_features=PEOPLE.loc[some.index])
    )
    assert np.isfinite(cross_val_score(LogisticRegression(), FRAME, LABELS, scoring=score, cv=3)).all()
    found = permutation_importance(base, FRAME, LABELS, scoring=score, n_repeats=2, random_state=0)
    assert found.importances_mean[0] > found.importances_mean[1]
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=score, cv=2).fit(FRAME, LABELS)
    assert np.isfinite(search.best_score_)


def test_attributes_that_cannot_be_looked_up() -> None:
    base = LogisticRegression().fit(FRAME, Y)
    with pytest.raises(eq.DataError, match=r"looked up by the index of X, and X is a ndarray without one.*set_config"):
        eq.scorer(eq.maximize(eq.f1()), [GAP <= 0.1], sensitive_features=PEOPLE)(base, X, Y)
    with pytest.raises(eq.DataError, match="its index has no 'row 0'"):
        eq.scorer(eq.maximize(eq.f1()), [GAP <= 0.1], sensitive_features=PEOPLE.iloc[1:])(base, FRAME, LABELS)
    with pytest.raises(eq.DataError, match=r"must be a pandas data frame or series.*got ndarray"):
        eq.scorer(eq.maximize(eq.f1()), [GAP <= 0.1], sensitive_features=SEX)
    with pytest.raises(eq.DataError, match="have the index 0 twice"):
        eq.scorer(eq.maximize(eq.f1()), [GAP <= 0.1], sensitive_features=pd.Series(["F", "M"], index=[0, 0]))


@pytest.mark.parametrize("make", [np.asarray, pd.Series, lambda sex: sex.reshape(-1, 1)], ids=["array", "series", "2d"])
def test_an_attribute_without_a_name_in_a_search(make: Any) -> None:
    """It can only be the one attribute that the problem refers to."""
    clf = eq.RateClassifier(eq.maximize(eq.f1()), [GAP <= 0.1], validation=0.0, **SMALL)
    with config_context(enable_metadata_routing=True):
        clf.set_fit_request(sensitive_features=True)
        search = GridSearchCV(clf, {"n_rounds": [10, 20]}, scoring=SLICED, cv=2, error_score="raise")
        search.fit(X, Y, sensitive_features=make(SEX))
        named = GridSearchCV(clf, {"n_rounds": [10, 20]}, scoring=SLICED, cv=2).fit(X, Y, sensitive_features=PEOPLE)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])


def test_a_dict_of_attributes_in_a_search_is_refused_with_the_way_out() -> None:
    clf = eq.RateClassifier(eq.maximize(eq.f1()), [GAP <= 0.1], **SMALL)
    with config_context(enable_metadata_routing=True):
        clf.set_fit_request(sensitive_features=True)
        search = GridSearchCV(clf, {"n_rounds": [10]}, scoring=SLICED, cv=2, error_score="raise")
        with pytest.raises(eq.DataError, match=r"240 values, but y has 120.*pandas.DataFrame\(sensitive_features\)"):
            search.fit(X, Y, sensitive_features={"sex": SEX})
    base = LogisticRegression().fit(X, Y)
    with pytest.raises(eq.DataError, match="passes a dict on whole"):
        SLICED(base, X[:100], Y[:100], sensitive_features={"sex": SEX})


# -- without routing ---------------------------------------------------------------------------------

ROUTING = (
    r"unknown attribute 'sex'.*set_config\(enable_metadata_routing=True\).*set_fit_request\(sensitive_features=True\).*"
    r"set_score_request\(sensitive_features=True\)"
)


def test_a_pipeline_needs_no_routing() -> None:
    pipe = Pipeline([("clf", eq.RateClassifier(eq.maximize(eq.f1()), [GAP <= 0.1], **SMALL))])
    with pytest.raises(eq.DataError, match=r"pipe\.fit\(X, y, clf__sensitive_features=people\).*In a search"):
        pipe.fit(X, Y)
    pipe.fit(X, Y, clf__sensitive_features=PEOPLE)


def test_a_search_without_routing_names_routing() -> None:
    clf = eq.RateClassifier(eq.maximize(eq.f1()), [GAP <= 0.1], **SMALL)
    with pytest.raises(eq.DataError, match=ROUTING):
        cross_val_score(clf, X, Y, cv=2, error_score="raise")
    with pytest.raises(eq.DataError, match=ROUTING):
        cross_val_score(LogisticRegression(), X, Y, scoring=SLICED, cv=2, error_score="raise")
    search = GridSearchCV(clf, {"n_rounds": [10, 20]}, scoring=SLICED, cv=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, Y, sensitive_features=PEOPLE)
    assert any(re.search(f"(?s)Scoring failed.*{ROUTING}", str(each.message)) for each in caught)
    with pytest.raises(eq.DataError, match=ROUTING):
        clf.fit(X, Y)
