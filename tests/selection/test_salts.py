"""Rows that repeat: what is chosen, judged, certified and saved is what `predict` returns."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate._core.hashing import feature_hashes, salted, uniform
from equirate._core.peers import peers
from equirate._core.seeds import stream
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.data.sample import Given
from equirate.judge.evaluation import Evaluation
from equirate.models import PlugIn
from equirate.training.draws import may_repeat, rows_repeat

RNG = np.random.default_rng(0)
DEPARTMENT = RNG.integers(0, 3, 3000)
THREE = np.eye(3)[DEPARTMENT]
LABELS = (RNG.random(3000) < np.array([0.2, 0.4, 0.6])[DEPARTMENT]).astype(int)


def table(rows: int, sizes: tuple[int, ...], seed: int):
    """Indicators of categories, labels that depend on them, and a group that the first of them tells of."""
    rng = np.random.default_rng(seed)
    codes = [rng.choice(size, rows, p=rng.dirichlet(np.full(size, 3.0))) for size in sizes]
    X = np.hstack([np.eye(size)[code] for size, code in zip(sizes, codes, strict=True)])
    score = sum(rng.normal(size=size)[code] for size, code in zip(sizes, codes, strict=True))
    y = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int)
    group = np.where(rng.random(rows) < 0.2 + 0.6 * (codes[0] < sizes[0] / 2), "a", "b")
    return X, y, {"group": group}


def gap(decided, people) -> float:
    first, second = (decided[people["group"] == name].mean() for name in "ab")
    return abs(float(first - second))


PARITY = eq.demographic_parity("group", tolerance=0.05)


# -- which rows repeat ------------------------------------------------------------------------------


def test_distinct_rows_do_not_repeat_and_a_table_of_categories_does():
    continuous = feature_hashes(RNG.normal(size=(5000, 3)))
    assert not rows_repeat(continuous)
    assert rows_repeat(feature_hashes(THREE))
    few = continuous.copy()
    few[:20] = few[20:40]  # a mean of 0.008 other rows equal a row
    assert not rows_repeat(few)
    inside = np.zeros(5000, dtype=bool)
    inside[:40] = True  # but in this group every row has its equal
    assert rows_repeat(few, [inside])


def test_a_sample_says_whether_rows_may_repeat():
    rng = np.random.default_rng(1)
    rows = 60_000
    X = np.column_stack([np.ones(rows), rng.normal(size=(rows, 2)), rng.integers(0, 2, rows)])
    small = np.arange(rows) < 400
    cells = Cells.of_examples(Examples.of(rng.integers(0, 2, rows), {"small": small}), [eq.attr("small") == 1], [])
    assert not may_repeat(X, cells)
    assert may_repeat(X[:, [0, 3]], cells)
    pairs = X.copy()
    pairs[:300] = pairs[-300:]  # a mean of 0.01 other rows equal a row
    assert may_repeat(pairs, cells)
    copies = X.copy()
    copies[5_000:5_030] = X[0]  # 30 copies of one row
    assert may_repeat(copies, cells)
    inside = X.copy()
    inside[0] = inside[1] = inside[2]  # in a group of 400 that is as many
    assert may_repeat(inside, cells)
    weighted = cells.weighing(np.full(rows, 2.0))
    assert may_repeat(X, weighted)  # weights may stand for copies


def test_hashes_are_those_that_predict_draws_by():
    X = RNG.normal(size=(200, 2)).astype(np.float64)
    clf = eq.RateClassifier(eq.maximize(eq.recall()), [eq.positive_rate() <= 0.2], random_state=0)
    clf.fit(THREE, LABELS)
    assert (clf._uniform(X) == uniform(salted(feature_hashes(X), clf.salt_))).all()


# -- what is served ---------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_three_rows_the_status_is_true_of_predict(confidence):
    clf = eq.RateClassifier(
        eq.maximize(eq.recall()), [eq.positive_rate() <= 0.2], confidence=confidence, random_state=0
    ).fit(THREE, LABELS)
    assert clf.status_.feasible
    assert clf.predict(THREE).mean() <= 0.201
    assert clf.evaluate(THREE, LABELS).positive_rate == clf.predict(THREE).mean()
    # every function of three rows whose positive rate is at most 0.2 predicts 0 for everybody
    shares = np.bincount(DEPARTMENT) / 3000
    assert [d for d in product((0, 1), repeat=3) if 0 < shares @ d <= 0.2] == []
    assert any("key=" in note for note in clf.notes_)
    drawn = clf.predict(THREE, key=np.arange(3000)).mean()
    assert 0.12 < drawn < 0.24  # a key restores the mixture


@pytest.mark.parametrize("sizes", [(3,), (6, 4), (8, 5, 5), (13, 12, 13)])
@pytest.mark.parametrize("confidence", [None, 0.95])
def test_constraints_met_is_true_of_predict(sizes, confidence):
    X, y, people = table(3000, sizes, len(sizes))
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, confidence=confidence, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, y, sensitive_features=people)
    assert clf.repeats_
    decided = clf.predict(X)
    if confidence is None:
        assert clf.status_.feasible == (gap(decided, people) <= 0.051)
        assert clf.status_.objective == pytest.approx(np.mean(decided != y))
    told = clf.evaluate(X, y, sensitive_features=people)
    by_hand = Evaluation.of(clf.problem_, clf._judged(X, y, people).examples, decided.astype(float))
    assert told == by_hand
    certificates = clf.certify(X, y, sensitive_features=people)
    assert max(c.violation for c in certificates) == pytest.approx(gap(decided, people) - 0.05)
    score = eq.scorer(eq.minimize(eq.error_rate()), PARITY, penalty=0)
    assert score(clf, X, y, sensitive_features=people) == pytest.approx(-np.mean(decided != y))
    report = clf.report(X, y, sensitive_features=people)
    assert report.parts["test"].objective == pytest.approx(np.mean(decided != y))
    assert "as the rows draw" not in str(report)


def test_fitted_rows_are_those_that_the_status_speaks_of():
    X, y, people = table(3000, (8, 5, 5), 2)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, random_state=1).fit(X, y, sensitive_features=people)
    assert clf.parts_["train"].objective == pytest.approx(np.mean(clf.predict(X) != y))


def test_the_certificate_says_what_it_speaks_of():
    X, y, people = table(4000, (6, 4), 3)
    settings = {"confidence": 0.95, "random_state": 0}
    problem = (eq.minimize(eq.error_rate()), eq.demographic_parity("group", tolerance=0.15))
    hashed = eq.RateClassifier(*problem, **settings).fit(X, y, sensitive_features=people)
    assert hashed.certification_.method == "split"
    assert "predict(X)" in hashed.certification_.sentence
    assert abs(hashed.certification_.examples - 2000) <= 4
    assert "predict(X)" in str(hashed.status_)
    drawn = eq.RateClassifier(*problem, output="stochastic", **settings).fit(X, y, sensitive_features=people)
    assert drawn.certification_.method == "cross"
    assert "the mixture" in drawn.certification_.sentence
    assert "the mixture" in str(drawn.status_)


def test_the_test_is_on_rows_that_nothing_was_chosen_on():
    """With labels drawn anew, the numbers of the certificate are those of the rows kept apart, by the served salt."""
    X, y, people = table(4000, (6, 4), 3)
    problem = (eq.minimize(eq.error_rate()), eq.demographic_parity("group", tolerance=0.15))
    clf = eq.RateClassifier(*problem, confidence=0.95, random_state=0).fit(X, y, sensitive_features=people)
    training, _ = eq.RateClassifier(*problem, confidence=0.95, random_state=0)._training(peers(), Given(X, y, people))
    rows = training.moved[training.parts.test]
    assert training.parts.choose.stop <= training.parts.test.start
    decided = clf.predict(X)[rows]
    kept = {"group": people["group"][rows]}
    assert clf.certification_.constraints[0].left == pytest.approx(gap(decided, kept))


def test_files_keep_what_is_served(tmp_path):
    X, y, people = table(3000, (8, 5, 5), 2)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, random_state=1).fit(X, y, sensitive_features=people)
    clf.save(tmp_path / "model.equirate")
    again = eq.load(tmp_path / "model.equirate")
    assert (again.predict(X) == clf.predict(X)).all()
    key = np.arange(len(X))
    assert (again.predict(X, key=key) == clf.predict(X, key=key)).all()
    assert again.status_ == clf.status_
    assert again.repeats_
    few = slice(0, 5)  # distinct by chance: what is known from training counts
    people_few = {"group": np.array(["a", "b", "a", "b", "a"])}
    y_few = np.array([0, 1, 0, 1, 1])
    assert again.evaluate(X[few], y_few, sensitive_features=people_few).objective == pytest.approx(
        np.mean(clf.predict(X[few]) != y_few)
    )
    # no training rows in the file
    assert (tmp_path / "model.equirate").stat().st_size < 60_000


def test_a_frontier_speaks_of_what_is_served():
    X, y, people = table(3000, (6, 4), 4)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, random_state=1)
    found = clf.frontier(X, y, sensitive_features=people, levels=[0.0, 0.1], test=(X, y, people))
    assert "predict(X)" in str(found)
    for k in (0, 1):
        decided = found.decided(k, X)
        assert set(np.unique(decided)) <= {0.0, 1.0}
        assert found.parts["test"][k].objective == pytest.approx(np.mean(decided != y))
        assert found.parts["train"][k] == found.parts["test"][k]
    assert gap(found.decided(0, X), people) <= 0.051


def test_distinct_rows_are_judged_by_the_mixture():
    """Where rows are distinct no other classifier is served, and no other salt drawn."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 3))
    group = np.where(rng.random(1500) < 0.4, "a", "b")
    X[:, 1] += group == "a"
    y = (X[:, 0] + X[:, 1] + rng.normal(size=1500) > 0.8).astype(int)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, random_state=3)
    clf.fit(X, y, sensitive_features={"group": group})
    assert not clf.repeats_
    assert "served" not in clf.outputs_
    assert clf.salt_ == int(stream("salt", 3).integers(2**63))
    expected = clf.outputs_["stochastic"].classifier.positive_probability(X)
    assert clf.evaluate(X, y, sensitive_features={"group": group}).positive_rate == pytest.approx(expected.mean())


# -- thresholds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_thresholds_on_scores_that_repeat(confidence, tmp_path):
    X, y, people = table(3000, (6, 4), 5)
    scores = X @ np.random.default_rng(0).normal(size=X.shape[1])
    post = eq.RatePostprocessor(None, eq.minimize(eq.error_rate()), PARITY, confidence=confidence, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        post.fit(scores, y, sensitive_features=people)
    decided = post.predict(scores)
    assert post.repeats_
    if confidence is None:
        assert post.status_.feasible == (gap(decided, people) <= 0.051)
        assert post.train_.objective == pytest.approx(np.mean(decided != y))
    assert post.evaluate(scores, y, sensitive_features=people).objective == pytest.approx(np.mean(decided != y))
    assert set(post.outputs_) >= {"stochastic", "served", "unconstrained"}
    post.save(tmp_path / "post.equirate")
    again, key = eq.load(tmp_path / "post.equirate"), np.arange(len(y))
    assert (again.predict(scores) == decided).all()
    assert (again.predict(scores, key=key) == post.predict(scores, key=key)).all()


def test_classifiers_fitted_without_a_row_do_not_speak_of_predict():
    """Out-of-fold decisions are not those that predict returns for the training rows."""
    X, y, people = table(2000, (6, 4), 6)
    model = eq.models.PlugIn(LogisticRegression())
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), PARITY, model=model, random_state=0)
    clf.fit(X, y, sensitive_features=people)
    assert clf.repeats_
    assert "that predict(X) returns" not in str(clf.status_)
    assert "rows that the classifiers were not fitted to; on training rows predict differs" in str(clf.status_)


@pytest.mark.parametrize(("folds", "unseen"), [(2, True), (1, False)])
def test_a_status_speaks_of_unseen_rows_only_where_rows_were_left_out(folds, unseen):
    X = RNG.normal(size=(300, 2))
    y = (X[:, 0] + RNG.normal(size=300) > 0).astype(int)
    clf = eq.RateClassifier(eq.maximize(eq.f1()), [eq.fpr() <= 0.2], model=PlugIn(folds=folds), random_state=0).fit(
        X, y
    )
    assert ("rows that the classifiers were not fitted to" in str(clf.status_)) == unseen


@pytest.mark.parametrize("kind", ["thresholds", "plug-in"])
def test_the_status_is_of_what_is_served_where_equal_rows_have_scores_of_several_folds(kind):
    told = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, group = rng.integers(0, 3, (300, 3)).astype(float), rng.choice(["a", "b"], 300)
        y = (X[:, 0] + X[:, 1] + (group == "a") + 2 * rng.normal(size=300) > 3).astype(int)
        of_a = eq.attr("group") == "a"
        gap = abs(eq.recall(of_a) - eq.recall(~of_a)) <= 0.03
        problem = eq.maximize(eq.accuracy()), [eq.positive_rate() <= 0.35, gap]
        if kind == "thresholds":
            estimator = eq.RatePostprocessor(LogisticRegression(), *problem, random_state=seed)
        else:
            model = PlugIn(LogisticRegression())
            estimator = eq.RateClassifier(*problem, model=model, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(X, y, sensitive_features={"group": group})
        (part,) = estimator.parts_.values()
        assert estimator.status_.violation == pytest.approx(max(part.violation, 0.0), abs=1e-9)
        assert estimator.status_.objective == pytest.approx(part.objective)
        told.append(estimator.status_.feasible)
    assert any(told)
