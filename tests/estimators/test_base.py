"""What both estimators share: seeds, labels, attributes, certificates, reports and files."""

import re
from copy import deepcopy
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate.storage import container
from equirate.storage.container import FileError

N = 900
RNG = np.random.default_rng(0)
SEX = RNG.choice(["F", "M"], N)
X = RNG.normal(size=(N, 3))
X[:, 2] += SEX == "M"
Y = (X[:, 0] + 0.8 * (SEX == "M") + RNG.normal(size=N) > 0.8).astype(int)
OLD = (X[:, 0] > 0.5).astype(int)
PEOPLE = pd.DataFrame({"sex": SEX, "old": OLD})
BASE = LogisticRegression().fit(X, Y)
SCORES = BASE.decision_function(X)
PARITY = eq.demographic_parity("sex", tolerance=0.05)
ERROR = eq.minimize(eq.error_rate())


def classifier(constraints=PARITY, **options) -> eq.RateClassifier:
    return eq.RateClassifier(ERROR, constraints, **{"random_state": 0, **options})


def postprocessor(constraints=PARITY, estimator=BASE, **options) -> eq.RatePostprocessor:
    return eq.RatePostprocessor(
        estimator, ERROR, constraints, **{"n_rounds": 60, "random_state": 0, "cv": "prefit", **options}
    )


BOTH = pytest.mark.parametrize("make", [classifier, postprocessor])


@cache
def _fitted_once(make):
    return make().fit(X, Y, sensitive_features=PEOPLE)


def fitted_as(make):
    """What ``make().fit(X, Y, PEOPLE)`` gives; fitted once, and a copy for each caller."""
    return deepcopy(_fitted_once(make))


# -- seeds ----------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("generator", [np.random.RandomState, np.random.default_rng])
def test_a_generator_gives_one_seed(make, generator) -> None:
    make = partial(make, n_rounds=20)
    first = make(random_state=generator(5)).fit(X, Y, sensitive_features=PEOPLE)
    again = make(random_state=generator(5)).fit(X, Y, sensitive_features=PEOPLE)
    other = make(random_state=generator(6)).fit(X, Y, sensitive_features=PEOPLE)
    np.testing.assert_array_equal(first.predict(X), first.predict(X))
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    assert first.seed_ == again.seed_ != other.seed_
    drawn = make(random_state=first.seed_).fit(X, Y, sensitive_features=PEOPLE)
    np.testing.assert_array_equal(first.predict(X), drawn.predict(X))
    shared = generator(5)
    assert (
        make(random_state=shared).fit(X, Y, sensitive_features=PEOPLE).seed_
        != make(random_state=shared).fit(X, Y, sensitive_features=PEOPLE).seed_
    )


@BOTH
@pytest.mark.parametrize("bad", ["0", -1, 1.5, True, [1]])
def test_other_seeds_are_refused(make, bad) -> None:
    with pytest.raises(eq.EquirateError, match=r"'random_state' parameter of Rate\w+ must be None, a whole number"):
        make(random_state=bad).fit(X, Y, sensitive_features=PEOPLE)
    fitted = fitted_as(make).set_params(random_state=bad)
    if "output" in fitted.get_params():
        fitted.set_params(output="stochastic")  # a hash needs no seed
    with pytest.raises(eq.EquirateError, match="'random_state' parameter"):
        fitted.predict(X)


# -- labels and attributes ------------------------------------------------------------------------


@BOTH
def test_pos_label_turns_the_problem_round(make) -> None:
    names = np.where(Y == 1, "bad", "good")
    limit = [eq.positive_rate() <= 0.2]
    options = {} if make is classifier else {"estimator": LogisticRegression().fit(X, names)}
    fitted = make(limit, pos_label="bad", **options).fit(X, names)
    share = fitted.predict_pmf(X)[:, list(fitted.classes_).index("bad")].mean()
    assert 0.1 < share <= 0.2 + 1e-3
    assert (fitted.predict(X) == "bad").mean() == pytest.approx(share, abs=0.05)
    assert fitted.evaluate(X, names).constraints[0].left == pytest.approx(share)
    assert "predicted 'bad'" in str(fitted.report(X, names))
    assert (fitted.predict(X) == names).mean() > 0.7
    with pytest.raises(eq.DataError, match="pos_label 'worse' is not among the labels"):
        make(pos_label="worse", **options).fit(X, names)


@BOTH
def test_unknown_labels_are_named(make) -> None:
    fitted = fitted_as(make)
    for wrong in (np.full(N, 7), np.where(Y == 1, "yes", "no"), [None] * N):
        with pytest.raises(eq.DataError, match=r"labels that were not in training: (7|no, yes|None); .* \[0, 1\]"):
            fitted.evaluate(X, wrong, sensitive_features=PEOPLE)


@BOTH
def test_missing_attributes_may_be_a_group(make) -> None:
    holes = PEOPLE.assign(sex=np.where(np.arange(N) % 5 == 0, None, SEX))
    with pytest.raises(eq.DataError, match="attribute 'sex' has 180 missing values"):
        make().fit(X, Y, sensitive_features=holes)
    with pytest.raises(eq.EquirateError, match=r"'missing' parameter of Rate\w+ must be one of 'refuse', 'group'"):
        make(missing="maybe").fit(X, Y, sensitive_features=holes)
    fitted = make(missing="group").fit(X, Y, sensitive_features=holes)
    sizes = {size.slice: size.examples for size in fitted.report(X, Y, sensitive_features=holes).last.slices}
    assert sizes["sex == 'missing'"] == 180


def test_missing_attributes_have_a_threshold_of_their_own() -> None:
    holes = PEOPLE.assign(sex=np.where(np.arange(N) % 5 == 0, None, SEX))
    fitted = postprocessor(missing="group", groups="sex").fit(X, Y, sensitive_features=holes)
    pmf = fitted.predict_pmf(X, sensitive_features=holes)
    assert eq.error_rate().evaluate(Y, pmf[:, 1]) == pytest.approx(fitted.train_.objective)
    assert len(fitted.predict(X, sensitive_features=holes)) == N


@BOTH
def test_an_old_models_predictions_are_read_in_the_labels_of_y(make) -> None:
    names = np.where(Y == 1, "yes", "no")
    options = {} if make is classifier else {"estimator": LogisticRegression().fit(X, names)}
    people = {"old": np.where(OLD == 1, "yes", "no")}
    fitted = make([eq.churn("old") <= 0.1], **options).fit(X, names, sensitive_features=people)
    assert fitted.evaluate(X, names, sensitive_features=people).constraints[0].left <= 0.1 + 1e-3


@BOTH
def test_a_value_that_nobody_has_is_told_before_training(make) -> None:
    with pytest.raises(eq.DataError, match=r"the attribute 'sex' has no value 'Female', but 'F', 'M'"):
        make([eq.tpr(eq.attr("sex") == "Female") >= 0.1]).fit(X, Y, sensitive_features=PEOPLE)


# -- judging --------------------------------------------------------------------------------------


@BOTH
def test_certificates_and_reports(make) -> None:
    fitted = fitted_as(make)
    (verdict,) = fitted.certify(X, Y, sensitive_features=PEOPLE, confidence=0.9)
    numbers = fitted.evaluate(X, Y, sensitive_features=PEOPLE, confidence=0.9)
    assert verdict.violation == pytest.approx(numbers.constraints[0].violation)
    assert verdict.verdict == numbers.constraints[0].verdict
    assert verdict.confidence == 0.9
    assert list(fitted.report().parts) == list(fitted.parts_)
    assert list(fitted.report(X, Y, sensitive_features=PEOPLE).parts) == [*fitted.parts_, "test"]
    with pytest.raises(eq.DataError, match="report needs y with X"):
        fitted.report(X)


@BOTH
def test_certificates_take_the_options_of_certify(make) -> None:
    fitted = make([PARITY, eq.positive_rate() <= 0.6]).fit(X, Y, sensitive_features=PEOPLE)
    p = fitted.predict_pmf(X)[:, 1]
    plain = fitted.certify(X, Y, sensitive_features=PEOPLE)
    assert plain == eq.certify(fitted.problem_, Y, p, attributes=PEOPLE)
    for options in ({"clusters": np.arange(N) // 3}, {"correction": "bonferroni"}):
        found = fitted.certify(X, Y, sensitive_features=PEOPLE, **options)
        assert found == eq.certify(fitted.problem_, Y, p, attributes=PEOPLE, **options)
        assert found[0].high != plain[0].high
    exact = fitted.certify(X, Y, sensitive_features=PEOPLE, method="exact")
    assert exact == fitted.certify(X, Y, sensitive_features=PEOPLE, method="exact")
    assert exact[0].method == "exact"
    with pytest.raises(eq.EquirateError, match="weighted sum"):
        fitted.certify(X, Y, sensitive_features=PEOPLE, sample_weight=np.arange(1, N + 1), method="exact")


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [None, "sex", [eq.attr("sex") == "F"], [eq.attr("sex"), eq.attr("old")]])
def test_thresholds_on_given_scores_are_saved(tmp_path, groups) -> None:
    post = postprocessor(estimator=None, groups=groups, random_state=3).fit(SCORES, Y, sensitive_features=PEOPLE)
    around = postprocessor(groups=groups, random_state=3).fit(X, Y, sensitive_features=PEOPLE)
    np.testing.assert_array_equal(
        post.predict_pmf(SCORES, sensitive_features=PEOPLE), around.predict_pmf(X, sensitive_features=PEOPLE)
    )
    post.save(tmp_path / "post.equirate")
    loaded = eq.load(tmp_path / "post.equirate")
    assert isinstance(loaded, eq.RatePostprocessor)
    np.testing.assert_array_equal(
        loaded.predict(SCORES, sensitive_features=PEOPLE), post.predict(SCORES, sensitive_features=PEOPLE)
    )
    assert loaded.evaluate(SCORES, Y, sensitive_features=PEOPLE) == post.evaluate(SCORES, Y, sensitive_features=PEOPLE)
    assert str(loaded.report(SCORES, Y, sensitive_features=PEOPLE)) == str(
        post.report(SCORES, Y, sensitive_features=PEOPLE)
    )
    assert str(loaded.status_) == str(post.status_)
    loaded.save(tmp_path / "again.equirate")
    assert (tmp_path / "again.equirate").read_bytes() == (tmp_path / "post.equirate").read_bytes()
    np.testing.assert_array_equal(
        clone(loaded).fit(SCORES, Y, sensitive_features=PEOPLE).predict(SCORES, sensitive_features=PEOPLE),
        post.predict(SCORES, sensitive_features=PEOPLE),
    )


def test_given_scores_of_any_kind_and_for_either_label(tmp_path) -> None:
    names = np.where(Y == 1, "yes", "no")
    limit = [eq.positive_rate() <= 0.2]
    turned = postprocessor(limit, None, pos_label="no").fit(SCORES, names)
    turned.save(tmp_path / "turned.equirate")
    loaded = eq.load(tmp_path / "turned.equirate")
    assert (SCORES[turned.predict(SCORES) == "no"]).max() < np.median(SCORES)
    for given in (SCORES, list(SCORES), SCORES[:, None], pd.Series(SCORES), pd.DataFrame({"score": SCORES})):
        np.testing.assert_array_equal(loaded.predict(given), turned.predict(SCORES))
    for bad, message in (
        (X, "must be one-dimensional"),
        (np.where(SCORES > 1, np.nan, SCORES), "missing values"),
        (names, "one score per example"),
    ):
        with pytest.raises(eq.DataError, match=message):
            loaded.predict(bad)
        with pytest.raises(eq.DataError, match=message):
            postprocessor(limit, None).fit(bad, Y)
    with pytest.raises(eq.DataError, match="one class only"):
        postprocessor(limit, None).fit(SCORES, np.ones(N))
    with pytest.raises(eq.DataError, match="Only binary"):
        postprocessor(limit, None).fit(SCORES, np.arange(N) % 3)


def test_an_estimator_is_not_saved_without_pickle(tmp_path) -> None:
    for tree, cv in (
        (DecisionTreeClassifier(max_depth=3), 2),
        (DecisionTreeClassifier(max_depth=3).fit(X, Y), "prefit"),
    ):
        post = postprocessor(estimator=tree, cv=cv).fit(X, Y, sensitive_features=PEOPLE)
        with pytest.raises(
            FileError, match=r"DecisionTreeClassifier, which cannot be saved .*RatePostprocessor\(None, \.\.\.\)"
        ):
            post.save(tmp_path / "post.equirate")
    with pytest.raises(ValueError, match="not fitted"):
        postprocessor().save(tmp_path / "post.equirate")
    splitter = postprocessor(estimator=LogisticRegression(), cv=KFold(3)).fit(X, Y, sensitive_features=PEOPLE)
    with pytest.raises(FileError, match=r"the setting cv=.* cannot be saved without pickle"):
        splitter.save(tmp_path / "post.equirate")


@pytest.mark.parametrize(
    ("estimator", "cv"),
    [
        (LogisticRegression(C=0.3), 3),
        (LinearSVC(), 0.4),
        (RidgeClassifier(), 2),
        (SGDClassifier(random_state=0), 2),
        (FrozenEstimator(LogisticRegression().fit(X, Y)), 5),
        (LogisticRegression().fit(X, Y), "prefit"),
    ],
    ids=["logistic", "svc", "ridge", "sgd", "frozen", "prefit"],
)
def test_thresholds_on_a_linear_classifier_are_saved(tmp_path, estimator, cv) -> None:
    post = postprocessor(estimator=estimator, groups="sex", cv=cv, pos_label=0).fit(X, Y, sensitive_features=PEOPLE)
    post.save(tmp_path / "post.equirate")
    loaded = eq.load(tmp_path / "post.equirate")
    np.testing.assert_array_equal(
        loaded.predict_pmf(X, sensitive_features=PEOPLE), post.predict_pmf(X, sensitive_features=PEOPLE)
    )
    np.testing.assert_array_equal(
        loaded.predict(X, sensitive_features=PEOPLE), post.predict(X, sensitive_features=PEOPLE)
    )
    assert str(loaded.report(X, Y, sensitive_features=PEOPLE)) == str(post.report(X, Y, sensitive_features=PEOPLE))
    loaded.save(tmp_path / "again.equirate")
    assert (tmp_path / "again.equirate").read_bytes() == (tmp_path / "post.equirate").read_bytes()
    again = clone(loaded).fit(X, Y, sensitive_features=PEOPLE)
    np.testing.assert_array_equal(
        again.predict(X, sensitive_features=PEOPLE), post.predict(X, sensitive_features=PEOPLE)
    )
    with pytest.raises(eq.DataError, match="X has 1 features"):
        loaded.predict(X[:, :1], sensitive_features=PEOPLE)


def test_a_saved_linear_classifier_knows_its_columns(tmp_path) -> None:
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    post = postprocessor(estimator=LogisticRegression(), cv=2).fit(frame, Y, sensitive_features=PEOPLE)
    post.save(tmp_path / "post.equirate")
    loaded = eq.load(tmp_path / "post.equirate")
    np.testing.assert_array_equal(loaded.feature_names_in_, post.feature_names_in_)
    np.testing.assert_array_equal(loaded.predict(frame), post.predict(frame))
    with pytest.raises(eq.DataError, match="the columns of X must be those of the training data"):
        loaded.predict(frame[frame.columns[::-1]])


@BOTH
def test_a_file_keeps_the_seed_that_was_drawn(tmp_path, make) -> None:
    options = {} if make is classifier else {"estimator": None}
    features = X if make is classifier else SCORES
    fitted = make(random_state=np.random.default_rng(1), **options).fit(features, Y, sensitive_features=PEOPLE)
    fitted.save(tmp_path / "file")
    loaded = eq.load(tmp_path / "file")
    assert loaded.random_state == fitted.seed_
    np.testing.assert_array_equal(loaded.predict(features), fitted.predict(features))


def test_a_strangers_file_is_checked(tmp_path) -> None:
    path, other = tmp_path / "post.equirate", tmp_path / "other.equirate"
    postprocessor(estimator=None, groups="sex").fit(SCORES, Y, sensitive_features=PEOPLE).save(path)
    manifest, arrays = container.read(path)
    output, settings = manifest["outputs"]["stochastic"], manifest["settings"]

    def grouped(*groups: str) -> dict:
        forged = {**output, "settings": {**output["settings"], "groups": list(groups)}}
        return {"outputs": {**manifest["outputs"], "stochastic": forged}}

    for changed, message in (
        ({"kind": "Other"}, "it holds 'Other', not a RateClassifier or a RatePostprocessor"),
        ({"kind": ["RateClassifier"]}, "it holds a list of 1 entries"),
        ({"kind": "RateClassifier"}, "the manifest has no 'features'"),
        (grouped("sex == 'F'"), "the groups and the thresholds do not fit together"),
        (grouped("sex", "old"), "'sex' is not a slice"),
        (grouped("f1()", "f1()"), "is not an attribute or a slice"),
        ({"statuses": {**manifest["statuses"], "stochastic": {}}}, "stochastic has no 'objective'"),
        ({"outputs": {"stochastic": output}}, "outputs has no 'deterministic'"),
        ({"settings": {**settings, "estimator": "a string"}}, "estimator must be null or an object"),
        ({"settings": {**settings, "estimator": {"Popen": {}}}}, "must be one of LogisticRegression"),
        ({"settings": {**settings, "estimator": {"LinearSVC": {}}}}, "there is no array 'estimator.coef'"),
        ({"settings": {**settings, "groups": ["f1()"]}}, "is not an attribute or a slice"),
        ({"settings": {}}, "settings has no 'estimator'"),
        ({"settings": {**settings, "pos_label": 2}}, "pos_label 2 is not among the labels"),
        ({"settings": {**settings, "pos_label": 0}}, "are not on scores for the positive label"),
    ):
        container.write(other, {**manifest, **changed}, arrays)
        with pytest.raises(FileError, match=re.escape(message)):
            eq.load(other)


# -- progress -------------------------------------------------------------------------------------


GAME = {"n_rounds": 200, "theta_step": 0.1, "lambda_step": (0.03, 0.1)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "columns, best mixture: objective "),
        ({**GAME, "patience": 5}, "best mixture so far: objective "),
        ({**GAME, "patience": None}, "best iterate of this round: objective "),
    ],
    ids=["column generation", "a game", "a game to its end"],
)
def test_the_progress_line_says_what_it_shows(capsys, options, words) -> None:
    fitted = classifier(validation=0.0, verbose=True, **options).fit(X, Y, sensitive_features=PEOPLE)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    last = err.splitlines()[-1]
    assert words in last
    if options.get("patience", 5):
        assert float(last.split(words)[1].split(",")[0]) == pytest.approx(fitted.status_.objective, abs=0.02)


@pytest.mark.parametrize("options", [{}, {**GAME, "n_rounds": 50}], ids=["column generation", "a game"])
def test_the_line_of_a_frontier_ends(capsys, options) -> None:
    classifier(verbose=True, **options).frontier(X, Y, sensitive_features=PEOPLE, levels=[0.0, 0.1])
    assert capsys.readouterr().err.endswith("\n")
