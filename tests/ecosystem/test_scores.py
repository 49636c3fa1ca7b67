"""Scores, coefficients and importances where scikit-learn's tools look for them, and what is said instead."""

import inspect
import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import PartialDependenceDisplay
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import DetCurveDisplay, PrecisionRecallDisplay, RocCurveDisplay, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import equirate as eq
from equirate.models.derandomised import Derandomised

N = 500
RNG = np.random.default_rng(0)
SEX = RNG.choice(["F", "M"], N)
X = RNG.normal(size=(N, 4))
X[:, 2] += 1.5 * (SEX == "M")
Y = (X[:, 0] + X[:, 2] + RNG.normal(size=N) > 1.2).astype(int)
NAMES = np.where(Y == 1, "bad", "good")
PEOPLE = {"sex": SEX}
GAP = abs(eq.positive_rate(eq.attr("sex") == "F") - eq.positive_rate(eq.attr("sex") == "M"))
ERROR, F1 = eq.minimize(eq.error_rate()), eq.maximize(eq.f1())
SMALL: dict[str, Any] = {"n_rounds": 60, "theta_step": (0.03, 0.1), "lambda_step": 0.1, "random_state": 0}


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)  # small games
        yield
    plt.close("all")


@pytest.fixture(scope="module")
def post() -> eq.RatePostprocessor:
    return eq.RatePostprocessor(LogisticRegression(), F1, [eq.positive_rate() <= 0.3], cv=3, random_state=0).fit(X, Y)


# -- RatePostprocessor hands its estimator's scores on -----------------------------------------------


def test_a_postprocessor_has_the_scores_of_its_estimator(post: eq.RatePostprocessor) -> None:
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(post, method)(X), getattr(post.estimator_, method)(X))
    machine = eq.RatePostprocessor(LinearSVC(), F1, cv=2)
    assert hasattr(machine, "decision_function")
    assert not hasattr(machine, "predict_proba")
    with pytest.raises(AttributeError, match=r"has no predict_proba.*predict_pmf\(X\)"):
        _ = machine.predict_proba
    assert not hasattr(eq.RatePostprocessor(None, F1), "decision_function")


def test_curves_calibration_and_partial_dependence(post: eq.RatePostprocessor) -> None:
    assert RocCurveDisplay.from_estimator(post, X, Y).roc_auc == pytest.approx(
        roc_auc_score(Y, post.estimator_.decision_function(X))
    )
    PrecisionRecallDisplay.from_estimator(post, X, Y)
    DetCurveDisplay.from_estimator(post, X, Y)
    CalibrationDisplay.from_estimator(post, X, Y)
    PartialDependenceDisplay.from_estimator(post, X, [0], grid_resolution=5)


def test_soft_voting(post: eq.RatePostprocessor) -> None:
    voting = VotingClassifier([("post", post), ("plain", LogisticRegression())], voting="soft").fit(X, Y)
    both = [each.predict_proba(X) for each in voting.estimators_]
    np.testing.assert_allclose(voting.predict_proba(X), np.mean(both, axis=0))


@pytest.mark.parametrize("around", [lambda stacked: stacked, lambda stacked: make_pipeline(StandardScaler(), stacked)])
def test_stacking_has_scores_once_it_is_fitted(around: Any) -> None:
    stacked = around(StackingClassifier([("line", LogisticRegression())], cv=2))
    assert not hasattr(stacked, "predict_proba")
    post = eq.RatePostprocessor(stacked, F1, [eq.positive_rate() <= 0.3], cv=2, random_state=0).fit(X, Y)
    assert post.train_.violation <= 1e-6


def test_check_estimator_of_a_postprocessor_with_scores() -> None:
    """As with scikit-learn's own TunedThresholdClassifierCV, 0 is not the threshold on the scores."""
    expected = {"check_classifiers_train": "threshold at score 0 does not hold"}
    tuned = eq.RatePostprocessor(LogisticRegression(), eq.maximize(eq.accuracy()), cv=2, n_rounds=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(tuned, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


# -- RateClassifier(output="deterministic") ----------------------------------------------------------

PROBLEMS = {
    "parity": (ERROR, [GAP <= 0.05]),
    "limits": (F1, [eq.positive_rate() <= 0.3, eq.fpr() <= 0.1]),
    "ratios": (F1, [eq.precision(eq.attr("sex") == "F") >= eq.precision(eq.attr("sex") == "M") - 0.02]),
    "nothing": (ERROR, []),
}
MODELS = {
    "linear": "linear",
    "trees": "trees",
    "oracle": HistGradientBoostingClassifier(max_iter=5, random_state=0),
    "plug-in": eq.models.PlugIn(),
}


CASES = [("linear", name, label) for name in PROBLEMS for label in (None, "bad")]
CASES += [("trees", "ratios", None), ("oracle", "parity", "bad"), ("plug-in", "limits", None)]


@pytest.mark.parametrize(("model", "name", "pos_label"), CASES)
def test_the_deterministic_output_has_a_score_that_agrees_with_its_decisions(
    model: str, name: str, pos_label: str | None
) -> None:
    objective, constraints = PROBLEMS[name]
    settings = SMALL if model == "linear" else {"random_state": 0, "n_rounds": 20}
    clf = eq.RateClassifier(
        objective, constraints, model=MODELS[model], output="deterministic", pos_label=pos_label, **settings
    )
    assert hasattr(clf, "decision_function")
    clf.fit(X, NAMES, sensitive_features=PEOPLE)
    scores = clf.decision_function(X)
    assert scores.shape == (N,)
    np.testing.assert_array_equal(clf.classes_[(scores > 0).astype(int)], clf.predict(X))
    alone = np.concatenate([clf.decision_function(X[k : k + 1]) for k in range(0, N, 50)])
    np.testing.assert_allclose(alone, scores[::50], rtol=1e-6, atol=1e-12)
    assert roc_auc_score(clf.classes_[1] == NAMES, scores) > 0.5


def test_a_mixture_made_deterministic_scores_by_the_mean_where_its_members_agree() -> None:
    clf = eq.RateClassifier(F1, [GAP <= 0.05], **SMALL).fit(X, Y, sensitive_features=PEOPLE).to_deterministic()
    members = clf.members_
    assert isinstance(members, Derandomised)
    decided = members.base.decide(X)
    agree = decided.all(axis=1) | ~decided.any(axis=1)
    assert 0 < agree.sum() < N
    mean = members.base.mean_score(X, weights=members.weights)
    np.testing.assert_array_equal(clf.decision_function(X)[agree], mean[agree])
    moved = (mean > 0) != clf.predict(X).astype(bool)
    assert moved.any()
    order = np.argsort(mean[moved & (mean <= 0)])
    assert (np.diff(clf.decision_function(X)[moved & (mean <= 0)][order]) > 0).all()  # those moved keep their order
    RocCurveDisplay.from_estimator(clf, X, Y)


def test_coefficients_where_one_linear_member_decides() -> None:
    for positive in (None, "bad"):
        clf = eq.RateClassifier(ERROR, output="deterministic", pos_label=positive, **SMALL).fit(X, NAMES)
        assert clf.coef_.shape == (1, 4)
        assert clf.intercept_.shape == (1,)
        np.testing.assert_allclose(X @ clf.coef_[0] + clf.intercept_, clf.decision_function(X), rtol=1e-5, atol=1e-6)
    assert SelectFromModel(clf, prefit=True, threshold="median").get_support().sum() == 2
    assert (
        RFE(eq.RateClassifier(ERROR, output="deterministic", **SMALL), n_features_to_select=2).fit(X, Y).n_features_
        == 2
    )
    mixed = eq.RateClassifier(F1, [GAP <= 0.05], **SMALL).fit(X, Y, sensitive_features=PEOPLE)
    assert len(mixed.weights_) > 1
    with pytest.raises(AttributeError, match=r"no coef_ and intercept_: .*members_\[k\]\.W"):
        _ = mixed.coef_


def test_members_can_be_iterated_and_indexed() -> None:
    clf = eq.RateClassifier(F1, [GAP <= 0.05], **SMALL).fit(X, Y, sensitive_features=PEOPLE)
    members = clf.members_
    together = members.decide(X)
    assert len(list(members)) == len(members) > 1
    for k, member in enumerate(members):
        np.testing.assert_array_equal(member.decide(X)[:, 0], together[:, k])
        np.testing.assert_array_equal(members[k - len(members)].decide(X)[:, 0], together[:, k])
    np.testing.assert_array_equal(members[:2].decide(X), together[:, :2])
    with pytest.raises(IndexError, match=r"there are .* members; asked for number 99"):
        members[99]


ORACLE = eq.models.Oracle(HistGradientBoostingClassifier(max_iter=5, random_state=0), fits=1)


@pytest.mark.parametrize("model", ["trees", ORACLE], ids=["plug-in", "oracle"])
def test_trees_have_importances(model: Any) -> None:
    clf = eq.RateClassifier(ERROR, [GAP <= 0.1], model=model, n_rounds=20, random_state=0).fit(
        X, Y, sensitive_features=PEOPLE
    )
    assert clf.feature_importances_.shape == (4,)
    assert clf.feature_importances_.sum() == pytest.approx(1.0)
    assert set(np.argsort(clf.feature_importances_)[-2:]) == {0, 2}  # those that the label depends on
    assert SelectFromModel(clf, prefit=True).get_support().any()
    with pytest.raises(AttributeError, match="permutation_importance"):
        _ = eq.RateClassifier(F1, **SMALL).fit(X, Y).feature_importances_


# -- what is not there says what to use --------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict_log_proba", "predict_proba", "partial_fit"])
def test_methods_that_are_not_there(method: str) -> None:
    said = {"predict_log_proba": "predict_pmf", "predict_proba": "predict_pmf", "partial_fit": "warm_start=True"}
    clf = eq.RateClassifier(F1, **SMALL)
    assert not hasattr(clf, method)
    with pytest.raises(AttributeError, match=said[method]):
        getattr(clf, method)
    with pytest.raises(AttributeError, match="FrozenEstimator"):
        _ = eq.RatePostprocessor(LogisticRegression(), F1).partial_fit


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("class_weight", "balanced_accuracy"),
        ("n_jobs", "OMP_NUM_THREADS"),
        ("max_iter", "n_rounds"),
        ("n_iter", "n_rounds"),
        ("seed", "random_state"),
        *((name, "Linear\\(penalty") for name in ("C", "alpha", "penalty")),
        ("cv", "validation"),
        ("early_stopping", "patience"),
        ("fit_intercept", "intercept=False"),
        ("learning_rate", "lambda_step"),
        *((name, "LGBMClassifier") for name in ("max_depth", "n_estimators")),
        ("solver", "algorithm"),
        ("tol", "tolerance"),
    ],
)
def test_parameters_that_are_not_there(name: str, said: str) -> None:
    with pytest.raises(TypeError, match=f"RateClassifier has no parameter '{name}': .*{said}"):
        eq.RateClassifier(F1, **{name: 1})
    with pytest.raises(TypeError, match=f"RateClassifier has no parameter '{name}': .*{said}"):
        eq.RateClassifier(F1).set_params(**{name: 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        eq.RateClassifier(F1, nonsense=1)  # type: ignore[call-arg]
    assert eq.RatePostprocessor(LogisticRegression(), F1, n_jobs=1).n_jobs == 1


def test_settings_of_a_classifier_are_given_to_the_estimator() -> None:
    with pytest.raises(TypeError, match=r"RatePostprocessor has no parameter 'C': .* give it to the estimator"):
        eq.RatePostprocessor(LogisticRegression(), F1, C=0.1)  # type: ignore[call-arg]
    post = eq.RatePostprocessor(LogisticRegression(), F1, cv=2).set_params(estimator__C=0.1)
    assert clone(post).estimator.C == 0.1


def test_the_signature_is_still_seen() -> None:
    assert list(inspect.signature(eq.RateClassifier).parameters)[:3] == ["objective", "constraints", "algorithm"]
    assert list(inspect.signature(eq.RatePostprocessor).parameters)[:3] == ["estimator", "objective", "constraints"]
