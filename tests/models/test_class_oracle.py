"""Classifiers without probabilities as cost-sensitive oracles of more than two classes."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import equirate as eq
from equirate.models.class_oracle import LinearScores, reduced
from equirate.models.members import Written
from equirate.models.registry import read_members

NAMES = ("cat", "dog", "owl")
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [eq.recall(label="owl") >= 0.75, eq.coverage("cat") <= 0.55])


def animals(seed: int = 0, n: int = 900) -> tuple:
    rng = np.random.default_rng(seed)
    y = rng.choice(NAMES, n, p=[0.6, 0.25, 0.15])
    centre = {"cat": (0.0, 0.0), "dog": (1.5, 0.0), "owl": (0.0, 1.5)}
    return np.array([centre[k] for k in y]) + rng.normal(size=(n, 2)), y


class Vote(ClassifierMixin, BaseEstimator):
    """The class with the largest weight among the rows with the same first feature: exact, and without scores."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        self.best_ = {}
        for value in np.unique(X[:, 0]):
            here = X[:, 0] == value
            totals = [weights[here & (y == k)].sum() for k in self.classes_]
            self.best_[float(value)] = self.classes_[int(np.argmax(totals))]
        return self

    def predict(self, X):
        return np.array([self.best_[float(value)] for value in X[:, 0]])


@given(arrays(float, (6, 4), elements=st.floats(-5, 5)), arrays(np.int64, 6, elements=st.integers(0, 3)))
@settings(max_examples=200, deadline=None)
def test_errors_of_the_reduction_are_the_costs_up_to_a_constant(price, answers):
    rows, targets, weights = reduced(price)
    assert (weights > 0).all()
    errors = weights[targets != answers[rows]].sum()
    gains = price.max(axis=1, keepdims=True) - price
    cost = price[np.arange(6), answers].sum()
    constant = gains.sum() - price.max(axis=1).sum()
    assert errors == pytest.approx(cost + constant, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_an_exact_classifier_comes_to_the_best_mixture_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, 400)
    chances = rng.dirichlet(np.ones(3), 4)
    y = np.array([rng.choice(NAMES, p=chances[k]) for k in x])
    X = x[:, None].astype(float)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.coverage("cat") >= 0.3, eq.recall(label="owl") >= 0.4])
    every = [Table(answers) for answers in itertools.product(range(3), repeat=4)]
    truth = eq.solve(problem, X, y, model=every)
    found = eq.solve(problem, X, y, model=eq.models.Oracle(Vote(), fits=30))
    assert truth.status.feasible
    assert found.status.feasible
    assert found.status.objective == pytest.approx(truth.status.objective, abs=1e-6)


class Table:
    """Predicts by the value of the only feature."""

    def __init__(self, answers: tuple) -> None:
        self.answers = np.array(NAMES)[list(answers)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.answers[X[:, 0].astype(int)]


@pytest.mark.parametrize(
    "model",
    [LinearSVC(), RidgeClassifier(), SGDClassifier(random_state=0), make_pipeline(StandardScaler(), LinearSVC())],
)
def test_constraints_hold_on_new_rows(model: object) -> None:
    X, y = animals()
    clf = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, model=model, random_state=0).fit(X, y)
    assert clf.status_.feasible
    linear = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, random_state=0).fit(X, y)
    assert clf.status_.objective <= linear.status_.objective + 0.05
    Z, z = animals(1, 5000)
    found = clf.evaluate(Z, z)
    assert found.violation <= 0.06
    assert found.objective <= clf.status_.objective + 0.03
    pmf = clf.predict_pmf(Z)
    assert pmf.sum(axis=1) == pytest.approx(1.0)
    assert (pmf[np.arange(5000), np.searchsorted(NAMES, clf.predict(Z))] > 0).all()


def test_solve_says_what_its_mixture_does() -> None:
    X, y = animals()
    solution = eq.solve(PROBLEM, X, y, model=LinearSVC())
    assert solution.status.feasible
    found = solution.polish().evaluate(None, X, y, classes=NAMES)
    assert found["objective"] == pytest.approx(solution.status.objective, abs=1e-9)
    assert max(found["violations"]) <= 1e-6


@pytest.mark.filterwarnings("ignore:SVC takes sample_weight and ignores it")  # it can separate all rows
def test_rates_are_those_of_rows_that_were_not_trained_on() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 30)), rng.choice(NAMES, 300)
    close = SVC(C=1000.0, gamma=0.02)
    assert close.fit(X, y).score(X, y) == 1.0
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), model=close, random_state=0).fit(X, y)
    assert clf.status_.objective > 0.5
    assert clf.report().parts["train"].objective > 0.5


def test_no_more_fits_than_asked_for() -> None:
    counted: list[int] = []

    class Counted(LinearSVC):
        def fit(self, X, y, sample_weight=None):
            counted.append(len(y))
            return super().fit(X, y, sample_weight)

    X, y = animals()
    solution = eq.solve(PROBLEM, X, y, model=eq.models.Oracle(Counted(), fits=2))
    assert len(counted) == 2 + 2  # two more to see whether weights count
    assert solution.status.feasible  # by offsets


def test_a_class_that_a_fold_lacks_and_groups() -> None:
    X, y = animals()
    y = y.astype(object)
    y[:2] = "yak"
    sex = np.random.default_rng(0).choice(["F", "M"], len(y))
    parity = eq.demographic_parity("sex", tolerance=0.05)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), parity, model=LinearSVC(), random_state=0)
    with pytest.warns(eq.EquirateWarning, match="too few examples: 'yak'"):
        clf.fit(X, y, sensitive_features={"sex": sex}, sample_weight=np.linspace(0.5, 1.5, len(y)))
    assert clf.status_.feasible
    assert clf.predict_pmf(X).shape == (900, 4)


@pytest.mark.parametrize("output", ["hashed", "deterministic"])
@pytest.mark.parametrize("model", [LinearSVC(), RidgeClassifier(), SGDClassifier(random_state=0)])
def test_files(tmp_path: Path, model: object, output: str) -> None:
    X, y = animals()
    clf = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, model=model, output=output, random_state=0)
    clf.fit(X, y)
    clf.save(tmp_path / "model.equirate")
    again = eq.load(tmp_path / "model.equirate")
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    np.testing.assert_allclose(again.predict_pmf(X), clf.predict_pmf(X), atol=1e-12)


def test_what_cannot_be_saved_is_named(tmp_path: Path) -> None:
    X, y = animals()
    for model in (make_pipeline(StandardScaler(), LinearSVC()), SVC()):
        clf = eq.RateClassifier(PROBLEM.objective, PROBLEM.constraints, model=model, random_state=0).fit(X, y)
        with pytest.raises(eq.FileError, match=type(model).__name__):
            clf.save(tmp_path / "model.equirate")


def test_forged_members_are_refused() -> None:
    X, y = animals()
    kind, given_settings, data = eq.solve(PROBLEM, X, y, model=LinearSVC()).polish().members.plain(2)
    assert kind == "class_linear"
    read_members(Written(kind, given_settings, data))
    forged = [
        (given_settings, {**data, "place": data["place"] + 99}),
        (given_settings, {**data, "place": data["place"] - 1 - data["place"].max()}),
        (given_settings, {**data, "place": data["place"][1:]}),
        (given_settings, {**data, "offsets": data["offsets"][1:]}),
        (given_settings, {**data, "offsets": data["offsets"] * np.nan}),
        (given_settings, {**data, "intercepts": data["intercepts"][:, 1:]}),
        (given_settings, {**data, "coefficients": data["coefficients"][:, :, 1:]}),
        (given_settings, {**data, "more": data["offsets"]}),
        ({**given_settings, "classes": 4}, data),
        ({**given_settings, "classes": 2}, data),
    ]
    for changed, changed_data in forged:
        with pytest.raises(eq.FileError):
            read_members(Written(kind, changed, changed_data))


def test_linear_scores_of_two_classes_that_were_met() -> None:
    X, y = animals()
    codes = np.searchsorted(NAMES, y)
    fitted = LinearSVC().fit(X[codes != 1], codes[codes != 1])
    scores = LinearScores.of(fitted, 2, 3)(X)
    np.testing.assert_array_equal(scores.argmax(axis=1), fitted.predict(X))
