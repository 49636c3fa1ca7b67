"""`eq.report` for anything that predicts, `eq.audit` for plain arrays, and what a report says of intersections."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equirate as eq

N = 400
RNG = np.random.default_rng(0)
SEX, RACE = RNG.choice(["F", "M"], N), RNG.choice(["a", "b"], N)
X = RNG.normal(size=(N, 3))
X[:, 2] += 1.5 * (SEX == "M")
Y = (X[:, 0] + X[:, 2] + RNG.normal(size=N) > 1.2).astype(int)
NAMES = np.where(Y == 1, "bad", "good")
PEOPLE = pd.DataFrame({"sex": SEX, "race": RACE})
GAP = abs(eq.positive_rate(eq.attr("sex") == "F") - eq.positive_rate(eq.attr("sex") == "M"))
F1 = eq.maximize(eq.f1())
PROBLEM = eq.Problem(F1, [GAP <= 0.05])
SMALL: dict[str, Any] = {"n_rounds": 40, "theta_step": 0.1, "lambda_step": 0.1, "random_state": 0}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)  # small games
        yield


@pytest.fixture(scope="module")
def clf() -> eq.RateClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        return eq.RateClassifier(F1, [GAP <= 0.05], **SMALL).fit(X, Y, sensitive_features=PEOPLE)


def test_an_estimator_of_ours_has_its_own_problem(clf: eq.RateClassifier) -> None:
    assert str(eq.report(clf, X, Y, sensitive_features=PEOPLE)) == str(clf.report(X, Y, sensitive_features=PEOPLE))


def test_inside_a_pipeline_and_a_search() -> None:
    frame = pd.DataFrame(X, columns=list("abc")).assign(sex=SEX)
    steps = make_column_transformer((StandardScaler(), list("abc")))  # drops the attribute
    pipe = make_pipeline(steps, eq.RatePostprocessor(LogisticRegression(), F1, cv=2, random_state=0)).fit(frame, Y)
    p = pipe[-1].predict_pmf(pipe[0].transform(frame))[:, 1]
    assert eq.report(pipe, frame, Y).last.objective == pytest.approx(eq.f1().evaluate(Y, p))
    judged = eq.report(pipe, frame, Y, problem=PROBLEM)  # sex is a column of X
    assert judged.last.constraints[0].left == pytest.approx(GAP.evaluate(Y, p, attributes=PEOPLE))
    search = GridSearchCV(pipe, {"ratepostprocessor__n_rounds": [5, 10]}, cv=2).fit(frame, Y)
    assert str(eq.report(search, frame, Y)) == str(eq.report(search.best_estimator_, frame, Y))


def test_any_classifier_and_any_predictions_with_a_problem() -> None:
    base = LogisticRegression().fit(X, NAMES)
    found = eq.report(base, X, NAMES, sensitive_features=PEOPLE, problem=PROBLEM, pos_label="bad")
    bad = (base.predict(X) == "bad").astype(int)
    assert found.last.objective == pytest.approx(eq.f1().evaluate(Y, bad))
    assert found.last.constraints[0].left == pytest.approx(GAP.evaluate(Y, bad, attributes=PEOPLE))
    assert found.positive_label == "'bad'"
    said = eq.report(base.predict(X), None, NAMES, sensitive_features=SEX, problem=PROBLEM, pos_label="bad")
    assert said.last == found.last
    assert eq.report(bad.astype(float), None, Y, sensitive_features=PEOPLE, problem=PROBLEM).last == found.last
    half = eq.report(np.full(N, 0.5), None, Y, sensitive_features=PEOPLE, problem=PROBLEM)
    assert half.last.positive_rate == pytest.approx(0.5)
    assert "depends on a draw" in str(half)


def test_what_cannot_be_reported() -> None:
    base = LogisticRegression().fit(X, Y)
    with pytest.raises(eq.EquirateError, match=r"report needs a problem.*problem=eq\.Problem"):
        eq.report(base, X, Y)
    with pytest.raises(eq.DataError, match=r"one prediction per example, \(400,\); got \(3,\)"):
        eq.report(np.ones(3), None, Y, problem=eq.Problem(F1))
    with pytest.raises(eq.DataError, match="pos_label 'worse' is not among the labels"):
        eq.report(base, X, Y, problem=eq.Problem(F1), pos_label="worse")


@pytest.mark.filterwarnings("ignore:.*:pandas.errors.Pandas4Warning")  # fairlearn's own
@pytest.mark.parametrize("given", ["its own report", "eq.report"])
def test_classifiers_of_fairlearn_as_a_baseline(clf: eq.RateClassifier, given: str) -> None:
    """One that draws counts by its expected decisions; one that looks attributes up is given them."""
    theirs = ThresholdOptimizer(estimator=LogisticRegression(), prefit=False, predict_method="predict_proba")
    theirs.fit(X, Y, sensitive_features=PEOPLE[["sex"]])
    expected = theirs._pmf_predict(X, sensitive_features=PEOPLE[["sex"]])[:, 1]
    report = clf.report if given == "its own report" else lambda *data, **more: eq.report(clf, *data, **more)
    found = report(X, Y, sensitive_features=PEOPLE[["sex"]], baseline={"fairlearn": theirs})
    assert found.baseline is not None
    assert found.baseline.name == "fairlearn"
    assert found.baseline.evaluation.objective == pytest.approx(eq.f1().evaluate(Y, expected))
    reduction = ExponentiatedGradient(LogisticRegression(), DemographicParity(), max_iter=3)
    reduction.fit(X, Y, sensitive_features=SEX)
    judged = eq.report(reduction, X, Y, sensitive_features=PEOPLE, problem=PROBLEM)
    assert judged.last.positive_rate == pytest.approx(reduction._pmf_predict(X)[:, 1].mean())


def test_a_pipeline_as_an_oracle() -> None:
    """The last step gets the weights, whether or not scikit-learn routes metadata."""
    from sklearn import config_context

    model = make_pipeline(StandardScaler(), LogisticRegression())
    clf = eq.RateClassifier(F1, [GAP <= 0.1], model=model, n_rounds=10, random_state=0)
    decided = clf.fit(X * 100, Y, sensitive_features=PEOPLE).predict_pmf(X * 100)
    assert 0.1 < decided[:, 1].mean() < 0.9
    with config_context(enable_metadata_routing=True):
        np.testing.assert_allclose(clf.fit(X * 100, Y, sensitive_features=PEOPLE).predict_pmf(X * 100), decided)
    numbers = make_pipeline(OneHotEncoder(), "passthrough", LogisticRegression())
    assert eq.models.Oracle(numbers).estimator is numbers
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(eq.AlgorithmError, match="does not take sample_weight in fit"):
        eq.models.Oracle(make_pipeline(StandardScaler(), KNeighborsClassifier()))


def test_audit_of_plain_arrays() -> None:
    found = eq.audit(NAMES, np.where(SEX == "M", "bad", "good"), attributes=PEOPLE, pos_label="bad")
    assert found.findings[0].rate == "positive_rate"
    assert found.findings[0].difference == pytest.approx(1.0) or found.findings[0].difference == pytest.approx(-1.0)
    with pytest.raises(eq.DataError, match="y_pred has 3 values"):
        eq.audit(Y, Y[:3], attributes=PEOPLE)


# -- several attributes ------------------------------------------------------------------------------


def crossed() -> tuple[Any, Any]:
    """Decisions with equal rates for each sex and each race, and very different ones for their combinations."""
    people = pd.DataFrame({"sex": ["F", "F", "M", "M"] * 50, "race": ["a", "b", "a", "b"] * 50})
    decided = np.where(
        (people["sex"] == "F") == (people["race"] == "a"), np.arange(200) % 3 > 0, np.arange(200) % 4 == 3
    )
    return people, decided.astype(float)


def test_a_report_names_the_largest_gap_between_intersections() -> None:
    people, decided = crossed()
    y = np.arange(200) % 2
    problem = eq.Problem(F1, eq.demographic_parity(["sex", "race"], tolerance=0.2))
    found = eq.report(decided, None, y, sensitive_features=people, problem=problem)
    rates = {pair: decided[rows].mean() for pair, rows in people.groupby(["sex", "race"]).indices.items()}
    low, high = min(rates, key=lambda pair: rates[pair]), max(rates, key=lambda pair: rates[pair])
    (note,) = found.notes
    assert f"differs by up to {rates[high] - rates[low]:.4f}" in note
    assert f"{rates[low]:.4f} for (sex == '{low[0]}') & (race == '{low[1]}') (50 examples)" in note
    assert "intersect=True" in note
    apart = eq.Problem(F1, eq.demographic_parity(["sex", "race"], tolerance=0.2, intersect=True))
    assert not eq.report(decided, None, y, sensitive_features=people, problem=apart).notes
    one = eq.Problem(F1, eq.demographic_parity("sex", tolerance=0.2))
    assert not eq.report(decided, None, y, sensitive_features=people, problem=one).notes


def test_the_report_of_an_estimator_names_it_too() -> None:
    post = eq.RatePostprocessor(
        None, F1, eq.demographic_parity(["sex", "race"], tolerance=0.05), n_rounds=30, random_state=0
    )
    people, score = crossed()
    y = (score + RNG.random(200) > 0.8).astype(int)
    post.fit(score + RNG.random(200), y, sensitive_features=people)
    assert any("intersect=True" in note for note in post.report(score, y, sensitive_features=people).notes)


def test_labels_that_a_classifier_was_not_trained_on_are_refused() -> None:
    model = LogisticRegression().fit(X, Y)
    other = np.where(np.arange(N) < 50, 7, Y)
    for judge in (
        lambda: eq.report(model, X, other, sensitive_features=PEOPLE, problem=PROBLEM),
        lambda: eq.scorer(F1)(model, X, other),
        lambda: eq.RateDisplay.from_estimator(model, X, other, sensitive_features=PEOPLE),
    ):
        with pytest.raises(eq.DataError, match=r"y has values that are no class: 7; the classes are 0, 1"):
            judge()


def test_a_warning_about_indexes_names_the_line_of_the_caller() -> None:
    model = LogisticRegression().fit(X, Y)
    moved = PEOPLE.set_axis(np.arange(N) + 1)
    with pytest.warns(eq.EquirateWarning, match="index") as caught:
        eq.report(model, pd.DataFrame(X), Y, sensitive_features=moved, problem=PROBLEM)
    assert caught[0].filename == __file__


def test_a_stochastic_postprocessor_warns_of_single_rows() -> None:
    frame = np.random.default_rng(1).normal(size=(N, 1))
    settings: dict[str, Any] = {"cv": "prefit", "output": "stochastic", "random_state": 0}
    drawn = eq.RatePostprocessor(None, eq.maximize(eq.f1()), [eq.positive_rate() <= 0.123], **settings).fit(frame, Y)
    assert not drawn.classifier_.is_deterministic
    with pytest.warns(eq.EquirateWarning, match="a single row"):
        drawn.predict(frame[:1])
