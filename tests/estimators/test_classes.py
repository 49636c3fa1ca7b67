"""RateClassifier with more than two classes."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import equirate as eq
from equirate.storage.saving import plain_postprocessor, read_postprocessor

WEIGHTS = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "probabilities are estimated in folds, which copies of a row and weights share differently",
)
NAMES = ("cat", "dog", "owl")


def animals(seed: int = 0, n: int = 500) -> tuple:
    rng = np.random.default_rng(seed)
    y = rng.choice(NAMES, n, p=[0.6, 0.25, 0.15])
    centre = {"cat": (0.0, 0.0), "dog": (1.5, 0.0), "owl": (0.0, 1.5)}
    X = np.array([centre[k] for k in y]) + rng.normal(size=(n, 2))
    return X, y, rng.choice(["F", "M"], n)


def fitted(**options: object) -> tuple:
    X, y, sex = animals()
    objective = options.pop("objective", eq.minimize(eq.error_rate()))
    constraints = options.pop("constraints", [eq.recall(label="owl") >= 0.7])
    clf = eq.RateClassifier(objective, constraints, random_state=0, **options)
    return clf.fit(X, y, sensitive_features={"sex": sex}), X, y, sex


@pytest.mark.parametrize("output", ["hashed", "deterministic", "stochastic"])
def test_it_predicts_classes_and_keeps_what_it_says(output: str) -> None:
    clf, X, y, _ = fitted(output=output)
    assert clf.classes_.tolist() == list(NAMES)
    assert clf.status_.feasible
    assert set(clf.predict(X)) <= set(NAMES)
    pmf = clf.predict_pmf(X)
    assert pmf.shape == (500, 3)
    assert pmf.sum(axis=1) == pytest.approx(1.0)
    found = eq.recall(label="owl").evaluate(y, pmf)
    told = clf.evaluate(X, y)
    (said,) = told.constraints
    assert said.left == pytest.approx(found)
    assert "nan" not in repr(told)
    again = clf.predict(X[::-1])[::-1]
    if output != "stochastic":
        assert (again == clf.predict(X)).all()  # a row is decided alike, wherever it is
        assert (pmf[np.arange(500), np.searchsorted(NAMES, again)] > 0).all()


def test_the_deterministic_output_is_a_function_of_the_row() -> None:
    clf, X, _, _ = fitted(output="deterministic", objective=eq.maximize(eq.worst_recall()), constraints=[])
    whole = clf.predict(X)
    assert whole.tolist() == [clf.predict(X[[k]])[0] for k in range(0, 500)][:500]


@pytest.mark.parametrize(
    "labels", [np.array([10, 20, 30]), np.array([0.0, 1.0, 2.0]), np.array(["x", "y", "z"], dtype=object)]
)
def test_labels_of_any_type(labels: np.ndarray) -> None:
    X, y, _ = animals()
    named = labels[np.searchsorted(NAMES, y)]
    value = labels.tolist()[2]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.recall(label=value) >= 0.7], random_state=0).fit(X, named)
    text = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.recall(label="owl") >= 0.7], random_state=0).fit(X, y)
    assert clf.predict(X).dtype == labels.dtype
    assert (
        np.searchsorted(NAMES, text.predict(X)) == np.searchsorted(labels.astype(str), clf.predict(X).astype(str))
    ).all()


def test_two_classes_with_a_label_are_as_without() -> None:
    X, y, _ = animals()
    y = np.where(y == "cat", "yes", "no")
    plain = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.tnr() >= 0.7], random_state=0).fit(X, y)
    named = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.recall(label="no") >= 0.7], random_state=0).fit(X, y)
    assert plain.status_.objective == named.status_.objective
    assert (plain.predict_pmf(X) == named.predict_pmf(X)).all()
    assert named.report().parts["validation" if "validation" in named.parts_ else "train"].constraints[
        0
    ].constraint == ("recall(label='no') >= 0.7")


@pytest.mark.parametrize("output", ["hashed", "deterministic"])
@pytest.mark.parametrize("model", ["linear", LogisticRegression()])
def test_files(tmp_path: Path, model: object, output: str) -> None:
    parity = eq.demographic_parity("sex", tolerance=0.1)
    clf, X, y, sex = fitted(model=model, output=output, constraints=[eq.recall(label="owl") >= 0.7, *parity])
    clf.save(tmp_path / "model.equirate")
    again = eq.load(tmp_path / "model.equirate")
    assert again.classes_.tolist() == list(NAMES)
    assert (again.predict(X) == clf.predict(X)).all()
    assert (again.predict_pmf(X) == clf.predict_pmf(X)).all()
    one, two = (each.evaluate(X, y, sensitive_features={"sex": sex}) for each in (clf, again))
    assert (one.constraints, one.classes) == (two.constraints, two.classes)
    assert again.parts_["train"].classes == clf.parts_["train"].classes


def test_two_classes_with_a_label_are_saved(tmp_path: Path) -> None:
    X, y, _ = animals()
    y = np.where(y == "cat", "yes", "no")
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.recall(label="no") >= 0.7], random_state=0).fit(X, y)
    clf.save(tmp_path / "model.equirate")
    again = eq.load(tmp_path / "model.equirate")
    assert again.evaluate(X, y).constraints == clf.evaluate(X, y).constraints


def test_a_report_has_a_line_for_each_class() -> None:
    clf, X, y, _ = fitted()
    text = str(clf.report(X, y))
    assert "most mistaken for" in text
    for name in NAMES:
        assert f"\n{name} " in text
    assert "positive label" not in text
    table = clf.evaluate(X, y).classes[0]
    assert table.rates()[2]["recall"] == pytest.approx(eq.recall(label="owl").evaluate(y, clf.predict_pmf(X)))
    beside = clf.report(X, y, baseline=LogisticRegression().fit(X, y)).baseline
    assert beside is not None
    expected = 1 - LogisticRegression().fit(X, y).score(X, y)
    assert beside.evaluation.objective == pytest.approx(expected)


def test_certify_audit_of_new_rows() -> None:
    clf, _, _, _ = fitted()
    X, y, _ = animals(1, 2000)
    (found,) = clf.certify(X, y)
    assert found.verdict in ("pass", "cannot tell", "fail")
    (exact,) = clf.certify(X, y, method="exact")
    assert exact.high >= found.violation


def test_scorer_and_search() -> None:
    X, y, _ = animals()
    score = eq.scorer(eq.maximize(eq.macro_f1()), [eq.coverage("cat") <= 0.9])
    plain = LogisticRegression().fit(X, y)
    assert score(plain, X, y) == pytest.approx(eq.macro_f1().evaluate(y, plain.predict(X)))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), eq.RateClassifier(eq.maximize(eq.macro_f1()), random_state=0)),
        {"rateclassifier__output": ["hashed", "deterministic"]},
        scoring=score,
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.5


def test_frames_weights_and_a_frontier() -> None:
    X, y, sex = animals()
    frame = pd.DataFrame(X, columns=["u", "v"])
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), eq.demographic_parity("sex", tolerance=0.05), random_state=0)
    weights = np.random.default_rng(0).exponential(size=len(y))
    clf.fit(frame, y, sensitive_features=pd.DataFrame({"sex": sex}), sample_weight=weights)
    assert clf.status_.feasible
    curve = clone(clf).frontier(frame, y, sensitive_features=pd.DataFrame({"sex": sex}), levels=[0.0, 0.1])
    assert curve.levels == (0.0, 0.1) or list(curve.levels) == [0.0, 0.1]


def test_churn_against_a_model_of_classes() -> None:
    X, y, _ = animals()
    old = LogisticRegression().fit(X, y).predict(X)
    clf = eq.RateClassifier(eq.maximize(eq.worst_recall()), [eq.churn("old") <= 0.1], random_state=0)
    clf.fit(X, y, sensitive_features={"old": old})
    assert clf.status_.feasible
    assert clf.evaluate(X, y, sensitive_features={"old": old}).violation <= 0.05


def test_groups_are_looked_up() -> None:
    X, y, sex = animals()
    parity, model = eq.equal_opportunity("sex", tolerance=0.02), eq.models.PlugIn()
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), parity, model=model, groups="sex", random_state=0)
    clf.fit(X, y, sensitive_features={"sex": sex})
    assert clf.predict(X, sensitive_features={"sex": sex}).shape == (500,)
    with pytest.raises(eq.DataError, match="give attributes"):
        clf.predict(X)


def test_scikit_learns_checks() -> None:
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), validation=0.0)
    assert clf.__sklearn_tags__().classifier_tags.multi_class
    assert not eq.RateClassifier(eq.maximize(eq.f1())).__sklearn_tags__().classifier_tags.multi_class
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(clf, expected_failed_checks=WEIGHTS, on_skip=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraints": [eq.recall() >= 0.5]}, r"y has 3 classes: write recall\(label='cat'\)"),
        ({"constraints": [eq.recall(label="cow") >= 0.5]}, "y has no class 'cow'"),
        ({"objective": eq.maximize(eq.matthews())}, "defined for two classes"),
        ({"pos_label": "cat"}, "pos_label is for two classes"),
        ({"two_sets": True}, "two_sets is for two classes"),
        ({"algorithm": "surrogate"}, "a game of two classes"),
        ({"objective": eq.minimize(eq.log_loss()), "constraints": []}, "log_loss"),
    ],
)
def test_refusals(options: dict, message: str) -> None:
    with pytest.raises(eq.EquirateError, match=message):
        fitted(**options)


def test_bad_labels() -> None:
    X, y, _ = animals()
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), random_state=0)
    with pytest.raises(eq.DataError, match="mixed types"):
        clf.fit(X, np.array(["a", 1] * 250, dtype=object))
    with pytest.raises(eq.DataError, match="one class only"):
        clf.fit(X, np.repeat("a", 500))
    clf.fit(X, y)
    with pytest.raises(eq.DataError, match="labels that were not in training: cow"):
        clf.evaluate(X[:4], ["cat", "cow", "dog", "owl"])
    few = clf.evaluate(X[:50], np.where(y[:50] == "owl", "cat", y[:50]))  # a class that new data do not have
    assert few.classes[0].examples[2] == 0
    report = str(clf.report(X[:50], np.where(y[:50] == "owl", "cat", y[:50])))
    assert "owl" in report


def test_a_constraint_on_a_class_that_new_data_lack_is_not_measured() -> None:
    clf, X, y, _ = fitted()
    (found,) = clf.evaluate(X[:50], np.where(y[:50] == "owl", "cat", y[:50])).constraints
    assert found.verdict == "not measured"


def test_rare_classes_are_named() -> None:
    X, y, _ = animals(0, 200)
    y = y.astype(object)
    y[:2] = "yak"
    with pytest.warns(eq.EquirateWarning, match=r"'yak' \(2\)"):
        eq.RateClassifier(eq.minimize(eq.error_rate()), model=LogisticRegression(), random_state=0).fit(X, y)


def test_many_classes_are_told_what_they_take() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(600) % 120
    X = np.stack([y + rng.normal(size=600), rng.normal(size=600)], axis=1)
    with pytest.warns(eq.EquirateWarning, match="y has 120 classes"):
        clf = eq.RateClassifier(eq.minimize(eq.error_rate()), random_state=0).fit(X, y)
    assert clf.predict_pmf(X).shape == (600, 120)
    with pytest.raises(eq.DataError, match="more than 1,000 classes"):
        eq.RateClassifier(eq.minimize(eq.error_rate())).fit(np.zeros((1100, 1)), np.arange(1100))


@pytest.mark.parametrize("method", ["cross", "holdout"])
def test_confidence(method: str) -> None:
    X, y, _ = animals(2, 1500)
    asked = [eq.recall(label="owl") >= 0.5, eq.macro_f1() >= 0.5]
    clf = eq.RateClassifier(
        eq.minimize(eq.error_rate()), asked, confidence=0.95, confidence_method=method, random_state=0
    ).fit(X, y)
    assert clf.status_.certified
    X, y, _ = animals(3, 20_000)
    assert clf.evaluate(X, y).violation == 0


def test_confidence_says_where_it_cannot_be_had() -> None:
    X, y, _ = animals(2, 300)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.recall(label="owl") >= 0.97], confidence=0.95)
    with pytest.warns(eq.NotSolvedWarning, match="not certified"):
        clf.fit(X, y)
    assert not clf.status_.certified


@pytest.mark.parametrize("kind", ["trained", "frozen", "given"])
def test_probabilities_of_any_classifier_are_post_processed(kind: str) -> None:
    X, y, _ = animals(4, 800)
    model = LogisticRegression().fit(*animals(5, 800)[:2])
    estimator = {"trained": LogisticRegression(), "frozen": FrozenEstimator(model), "given": None}[kind]
    Z = model.predict_proba(X) if kind == "given" else X
    post = eq.RatePostprocessor(
        estimator, eq.minimize(eq.error_rate()), [eq.recall(label="owl") >= 0.8, eq.coverage("cat") <= 0.5]
    )
    post.fit(Z, y)
    assert post.status_.feasible
    pmf = post.predict_pmf(Z)
    assert pmf.shape == (800, 3)
    assert set(post.predict(Z)) <= set(NAMES)
    if kind != "trained":
        assert eq.recall(label="owl").evaluate(y, pmf) >= 0.8 - 1e-6
        assert eq.error_rate().evaluate(y, pmf) == pytest.approx(post.status_.objective, abs=1e-6)


@pytest.mark.parametrize("groups", [None, "sex"])
@pytest.mark.parametrize("kind", ["trained", "frozen", "prefit", "given"])
def test_files_of_post_processors(tmp_path: Path, kind: str, groups: str | None) -> None:
    X, y, sex = animals(4, 800)
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = LogisticRegression().fit(frame, y)
    estimator = {"trained": LogisticRegression(C=2.0), "frozen": FrozenEstimator(model), "prefit": model, "given": None}
    Z = model.predict_proba(frame) if kind == "given" else frame
    constraints = [eq.recall(label="owl") >= 0.8, *eq.demographic_parity("sex", tolerance=0.05)]
    post = eq.RatePostprocessor(
        estimator[kind], eq.minimize(eq.error_rate()), constraints, groups=groups, random_state=0,
        **({"cv": "prefit"} if kind == "prefit" else {}),
    ).fit(Z, y, sensitive_features={"sex": sex})  # fmt: skip
    post.save(tmp_path / "post.equirate")
    again = eq.load(tmp_path / "post.equirate")
    told = {"sensitive_features": {"sex": sex}} if groups else {}
    assert again.classes_.tolist() == list(NAMES)
    assert again.classes_.dtype == post.classes_.dtype
    assert (again.predict_pmf(Z, **told) == post.predict_pmf(Z, **told)).all()
    assert (again.predict(Z, **told) == post.predict(Z, **told)).all()
    one, two = (each.evaluate(Z, y, sensitive_features={"sex": sex}) for each in (post, again))
    assert (one.constraints, one.classes) == (two.constraints, two.classes)
    assert repr(again.train_) == repr(post.train_)  # rates of one positive label are NaN
    assert str(again.report()) == str(post.report())
    assert again.notes_ == post.notes_
    again.save(tmp_path / "again.equirate")
    third = eq.load(tmp_path / "again.equirate")
    assert (third.predict_pmf(Z, **told) == post.predict_pmf(Z, **told)).all()
    if kind != "given":
        assert (again.predict_proba(Z) == post.predict_proba(Z)).all()
        with pytest.raises(eq.DataError, match="must be those of the training data"):
            again.predict(frame[["v", "u"]], **told)
    again.fit(Z, y, sensitive_features={"sex": sex})  # as the settings say


def test_post_processors_of_other_classifiers_are_refused_by_name(tmp_path: Path) -> None:
    X, y, _ = animals()
    post = eq.RatePostprocessor(DecisionTreeClassifier(), eq.minimize(eq.error_rate())).fit(X, y)
    with pytest.raises(eq.FileError, match="the scores come from DecisionTreeClassifier"):
        post.save(tmp_path / "post.equirate")


def test_forged_files_of_post_processors_are_refused() -> None:
    X, y, sex = animals()
    post = eq.RatePostprocessor(
        LogisticRegression(), eq.minimize(eq.error_rate()), eq.demographic_parity("sex", tolerance=0.1), groups="sex"
    ).fit(X, y, sensitive_features={"sex": sex})
    manifest, arrays = plain_postprocessor(post)
    again = read_postprocessor(eq.RatePostprocessor, manifest, arrays)
    assert (again.predict(X, sensitive_features={"sex": sex}) == post.predict(X, sensitive_features={"sex": sex})).all()
    costs = "stochastic.members.costs"
    output = manifest["outputs"]["stochastic"]

    def told(**changed: object) -> dict:
        return {**manifest, "outputs": {**manifest["outputs"], "stochastic": {**output, **changed}}}

    forged = [
        (manifest, {**arrays, costs: arrays[costs][1:]}),
        (manifest, {**arrays, costs: arrays[costs][:, :2]}),
        (manifest, {**arrays, costs: arrays[costs][:, :, :0]}),
        (manifest, {**arrays, costs: arrays[costs] * np.nan}),
        (manifest, {**arrays, "estimator.coef": arrays["estimator.coef"][:2]}),
        (manifest, {**arrays, "estimator.coef": arrays["estimator.coef"][:, :1]}),
        (manifest, {**arrays, "estimator.intercept": arrays["estimator.intercept"][:1]}),
        (manifest, {name: array for name, array in arrays.items() if name != "estimator.coef"}),
        (manifest, {**arrays, "more": arrays[costs]}),
        (told(kind="thresholds"), arrays),
        (told(settings={**output["settings"], "groups": None}), arrays),
        (told(settings={**output["settings"], "classes": 4}), arrays),
        (told(settings={**output["settings"], "classes": 10**9}), arrays),
        ({**manifest, "settings": {**manifest["settings"], "estimator": {"LinearSVC": {}}}}, arrays),
        ({**manifest, "classes": {"values": ["a", "b", "c", "d"], "dtype": "<U1"}}, arrays),
        ({**manifest, "classes": {"values": ["cat", "dog"], "dtype": "<U3"}}, arrays),
    ]
    for changed, data in forged:
        with pytest.raises(eq.EquirateError):
            read_postprocessor(eq.RatePostprocessor, changed, data)


def test_post_processing_by_group_keeps_parity() -> None:
    X, y, sex = animals(6, 1200)
    X[sex == "F", 1] += 0.5
    model = FrozenEstimator(LogisticRegression().fit(X, y))
    parity = eq.demographic_parity("sex", tolerance=0.02)
    post = eq.RatePostprocessor(model, eq.minimize(eq.error_rate()), parity, groups="sex")
    post.fit(X, y, sensitive_features={"sex": sex})
    assert post.status_.feasible
    assert post.evaluate(X, y, sensitive_features={"sex": sex}).violation <= 1e-3
    with pytest.raises(eq.DataError, match="rules for each group"):
        post.predict(X)


def test_post_processing_needs_probabilities() -> None:
    X, y, _ = animals()
    with pytest.raises(eq.DataError, match="has no predict_proba"):
        eq.RatePostprocessor(LinearSVC(), eq.minimize(eq.error_rate())).fit(X, y)
    with pytest.raises(eq.DataError, match="Only binary classification is supported"):
        eq.RatePostprocessor(LogisticRegression(), eq.maximize(eq.f1())).fit(X, y)


def test_a_metric_of_one_class_is_refused_with_what_to_write_at_the_end() -> None:
    X, y, _ = animals()
    fix = r"by this problem: y has 3 classes: write f1\(label='cat'\), f1\(average='macro'\) or worst\('f1'\)$"
    for estimator in (
        eq.RateClassifier(eq.maximize(eq.f1())),
        eq.RatePostprocessor(LogisticRegression(), eq.maximize(eq.f1())),
    ):
        with pytest.raises(eq.DataError, match=fix):
            estimator.fit(X, y)
    with pytest.raises(eq.AlgorithmError, match=r"by these settings: .*[^)]$"):
        eq.RateClassifier(eq.minimize(eq.error_rate()), algorithm="surrogate").fit(X, y)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([True, 0], r"mixed types, such as True \(a boolean\) and 0 \(a number\): .* astype\(int\)"),
        ([1, True, 0], "mixed types"),
        ([True, 0.0], "mixed types"),
        ([1, 0], r"objects that holds numbers: convert it, for example with astype\(int\)"),
        ([True, False], r"objects that holds booleans: convert it, for example with astype\(bool\)"),
    ],
)
def test_numbers_and_booleans_in_an_array_of_objects(labels: list[Any], said: str) -> None:
    X, _, _ = animals()
    y = np.array((labels * len(X))[: len(X)], dtype=object)
    for estimator in (
        eq.RateClassifier(eq.maximize(eq.f1())),
        eq.RatePostprocessor(LogisticRegression(), eq.maximize(eq.f1())),
    ):
        with pytest.raises(eq.DataError, match=said):
            estimator.fit(X, y)


def test_what_is_not_there_yet_says_so(tmp_path: Path) -> None:
    clf, _, _, _ = fitted()
    with pytest.raises(eq.EquirateError, match="they have 3 classes"):
        clf.to_onnx(tmp_path / "model.onnx")


def test_what_is_for_two_classes_says_so(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    clf, X, y, _ = fitted()
    post = eq.RatePostprocessor(LogisticRegression(), eq.minimize(eq.error_rate())).fit(X, y)
    for model in (clf, post):
        with pytest.raises(eq.EquirateError, match="they have 3 classes, and only two can be exported"):
            model.to_onnx(tmp_path / "model.onnx")


def test_a_display_shows_one_class_against_the_others() -> None:
    pytest.importorskip("matplotlib")
    clf, X, y, sex = fitted()
    with pytest.raises(eq.DataError, match=r"there are 3 classes: say which one to show .* with pos_label="):
        eq.RateDisplay.from_estimator(clf, X, y, sensitive_features={"sex": sex})
    shown = eq.RateDisplay.from_estimator(clf, X, y, sensitive_features={"sex": sex}, pos_label="owl", rates=["tpr"])
    p = clf.decision_probability(X)[:, 2]
    assert shown.rates[0].value == pytest.approx(p[y == "owl"].mean())
