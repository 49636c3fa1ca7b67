"""What a report gathers from a fitted estimator: baselines, frontiers, where it comes from."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import equirate as eq

N = 900
RNG = np.random.default_rng(0)
SEX = RNG.choice(["F", "M"], N)
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
X["c"] += SEX == "M"
Y = np.where(X["a"] + 0.8 * (SEX == "M") + RNG.normal(size=N) > 0.8, "yes", "no")
PEOPLE = pd.DataFrame({"sex": SEX})
PARITY = eq.demographic_parity("sex", tolerance=0.02)
ERROR = eq.minimize(eq.error_rate())
PLAIN = LogisticRegression().fit(X, Y)
THEIRS = (PLAIN.predict(X) == "yes").astype(float)


@pytest.fixture(scope="module")
def clf() -> eq.RateClassifier:
    return eq.RateClassifier(ERROR, PARITY, random_state=0).fit(X, Y, sensitive_features=PEOPLE)


def test_the_baseline_is_the_best_that_training_came_by(clf) -> None:
    report = clf.report(X, Y, sensitive_features=PEOPLE)
    assert report.baseline.name == "the same without constraints"
    assert report.baseline.evaluation.objective < report.last.objective  # an error: less is better
    assert report.baseline.evaluation.violation > report.last.violation
    assert "Trained for itself" in report.baseline.note
    seen = clf.report()
    assert seen.baseline.evaluation == clf.outputs_["unconstrained"].evaluations["train"]
    assert not seen.baseline.changes
    free = clf.outputs_["unconstrained"].classifier
    objective = [
        eq.error_rate().evaluate(Y == "yes", p.classifier.positive_probability(X.to_numpy()))
        for p in clf.outputs_.values()
    ]
    assert free.is_deterministic
    assert objective[2] < objective[0]  # the mixture; one made deterministic may be lucky on the rows it was made on


def test_without_constraints_there_is_nothing_to_compare_with() -> None:
    fitted = eq.RateClassifier(ERROR, random_state=0).fit(X, Y, sensitive_features=PEOPLE)
    assert fitted.report(X, Y, sensitive_features=PEOPLE).baseline is None
    assert fitted.report().baseline is None


def test_a_loaded_model_reports_the_same(clf, tmp_path) -> None:
    clf.save(tmp_path / "model.equirate")
    loaded = eq.load(tmp_path / "model.equirate")
    assert (
        loaded.report(X, Y, sensitive_features=PEOPLE).to_dict()
        == clf.report(X, Y, sensitive_features=PEOPLE).to_dict()
    )


@pytest.mark.parametrize(
    ("baseline", "name"),
    [
        (PLAIN, "LogisticRegression"),
        ({"the model in production": PLAIN}, "the model in production"),
        (PLAIN.predict(X), "the predictions given"),
        (pd.Series(PLAIN.predict(X)), "the predictions given"),
        (0.25 + 0.5 * THEIRS, "the predictions given"),
    ],
    ids=["classifier", "named", "labels", "series", "probabilities"],
)
def test_a_baseline_may_be_given(baseline, name, clf) -> None:
    report = clf.report(X, Y, sensitive_features=PEOPLE, baseline=baseline)
    assert report.baseline.name == name
    p = 0.25 + 0.5 * THEIRS if isinstance(baseline, np.ndarray) and baseline.dtype.kind == "f" else THEIRS
    truth = Y == "yes"
    assert report.baseline.evaluation.objective == pytest.approx(eq.error_rate().evaluate(truth, p))
    ours = clf.predict_pmf(X)[:, 1]
    everybody = report.baseline.changes[0]
    assert everybody.gained == pytest.approx((ours * (1 - p)).sum())
    assert everybody.lost_right == pytest.approx(((1 - ours) * p)[~truth].sum())


def test_a_mixture_as_a_baseline(clf) -> None:
    same = clf.report(X, Y, sensitive_features=PEOPLE, baseline=clf)
    assert same.baseline.evaluation == same.last
    assert "That costs nothing" in str(same)


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        (PLAIN.predict(X)[:5], r"one prediction per example, \(900,\); got \(5,\)"),
        (np.full(N, "maybe"), "labels that were not in training: maybe"),
        (np.full(N, 1.5), "labels, or probabilities"),
        ({}, "one classifier under one name; got 0"),
    ],
)
def test_a_baseline_that_cannot_be_is_refused(baseline, message, clf) -> None:
    with pytest.raises(eq.DataError, match=message):
        clf.report(X, Y, sensitive_features=PEOPLE, baseline=baseline)


@pytest.mark.parametrize("given", [{"y": Y}, {"baseline": PLAIN}, {"frontier": object()}])
def test_what_needs_data_is_refused_without(given, clf) -> None:
    with pytest.raises(eq.DataError, match=f"report needs X with {next(iter(given))}"):
        clf.report(**given)


def test_the_points_of_a_frontier_are_measured_on_the_data(clf) -> None:
    frontier = clf.frontier(X, Y, sensitive_features=PEOPLE, levels=[0.1, 0.0])
    report = clf.report(X, Y, sensitive_features=PEOPLE, frontier=frontier)
    assert [point.level for point in report.frontier] == [0.0, 0.1]
    for level, point in zip((1, 0), report.frontier, strict=True):
        p = frontier.classifiers[level].positive_probability(X.to_numpy())
        assert point.evaluation.objective == pytest.approx(eq.error_rate().evaluate(Y == "yes", p))
        women = next(r for r in point.rates if r.rate == "positive_rate" and "'F'" in r.slice)
        assert women.value == pytest.approx(p[SEX == "F"].mean())


def test_where_it_comes_from(clf) -> None:
    origin = clf.report(X, Y, sensitive_features=PEOPLE).origin
    assert [member.weight for member in origin.members] == list(clf.weights_)
    shares = clf.members_.decide(X.to_numpy()).mean(axis=0)
    np.testing.assert_allclose([member.predicted for member in origin.members], shares)
    assert "random_state=0" in origin.estimator
    assert origin.facts["features"] == "3"
    assert origin.facts["attributes that groups are made of"] == "sex"
    forest = eq.RateClassifier(ERROR, PARITY, model=RandomForestClassifier(3, random_state=0), n_rounds=3)
    text = forest.fit(X, Y, sensitive_features=PEOPLE).report(X, Y, sensitive_features=PEOPLE).origin.estimator
    assert "RandomForestClassifier" in text
    assert not re.search("0x[0-9a-f]+", text)


def test_a_postprocessor_is_set_beside_its_own_classifier() -> None:
    post = eq.RatePostprocessor(PLAIN, ERROR, PARITY, n_rounds=60).fit(X, Y, sensitive_features=PEOPLE)
    report = post.report(X, Y, sensitive_features=PEOPLE)
    assert report.baseline.name == "LogisticRegression"
    assert report.baseline.evaluation.objective == pytest.approx(np.mean(PLAIN.predict(X) != Y))
    json.dumps(report.to_dict(), allow_nan=False)


def test_thresholds_on_given_scores_are_set_beside_the_best_threshold_without_constraints() -> None:
    scores = PLAIN.decision_function(X)
    post = eq.RatePostprocessor(None, ERROR, PARITY, n_rounds=60).fit(scores, Y, sensitive_features=PEOPLE)
    least = min(np.mean((scores > cut) != (Y == "yes")) for cut in np.append(scores, scores.min() - 1))
    for report in (post.report(), post.report(scores, Y, sensitive_features=PEOPLE)):
        assert report.baseline.name == "the same without constraints"
        assert report.baseline.evaluation.objective == pytest.approx(least)


def test_weights_of_the_labels_are_those_of_the_predictions(clf) -> None:
    weights = np.where(Y == "yes", 3.0, 1.0)
    everybody = clf.report(X, Y, sensitive_features=PEOPLE, sample_weight=weights).last.slices[0]
    assert everybody.labelled == pytest.approx(weights[Y == "yes"].sum() / weights.sum())
    assert everybody.predicted == pytest.approx(np.average(clf.predict_pmf(X)[:, 1], weights=weights))


def test_an_evaluation_prints_a_line_for_each_constraint(clf) -> None:
    found = clf.evaluate(X, Y, sensitive_features=PEOPLE)
    head, *lines = str(found).splitlines()
    assert head == f"objective {found.objective:.4f} [{found.low:.4f}, {found.high:.4f}] at 95% confidence"
    assert len(lines) == len(found.constraints)
    assert lines[0].startswith(found.constraints[0].verdict)
    assert f"violation {found.constraints[0].violation:+.4f}" in lines[0]
    assert "np." not in repr(found)


def test_numbers_of_a_status_are_plain() -> None:
    data = {"sensitive_features": PEOPLE}
    for objective in (ERROR, eq.maximize(eq.f1())):  # bounds of lists, and of columns
        status = eq.RatePostprocessor(PLAIN, objective, PARITY).fit(X, Y, **data).status_
        assert "np." not in repr(status)
    assert "np." not in repr(eq.RateClassifier(eq.maximize(eq.f1()), PARITY).fit(X, Y, **data).status_)


def test_a_report_on_the_rows_of_training_says_so() -> None:
    clf = eq.RateClassifier(ERROR, [eq.positive_rate() <= 0.9], confidence=0.9, random_state=0)
    clf.fit(X, Y, sensitive_features=PEOPLE)
    said = "trained on these examples"
    assert said in str(clf.report(X, Y, sensitive_features=PEOPLE))
    assert said not in str(clf.report(X[:-1], Y[:-1], sensitive_features=PEOPLE[:-1]))
