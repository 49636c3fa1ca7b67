import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate.estimators.postprocessor import RatePostprocessor

Array = NDArray[np.float64]
G = eq.attr("g")
ONE, ZERO = G == 1, G == 0


class Data:
    """A sample with a group, and a classifier trained for accuracy."""

    def __init__(self, seed: int = 0, n: int = 400) -> None:
        rng = np.random.default_rng(seed)
        self.g = (rng.random(n) < 0.35).astype(int)
        self.X = rng.normal(size=(n, 3)) + 0.5 * self.g[:, None]
        self.y = (self.X[:, 0] + 0.6 * self.g + rng.normal(size=n) > 0.7).astype(int)
        self.base = LogisticRegression().fit(self.X, self.y)
        self.scores = self.base.decision_function(self.X).round(1)  # ties, too
        self.people = {"g": self.g}

    def masks(self, aware: bool) -> list[NDArray[np.bool_]]:
        return [self.g == 0, self.g == 1] if aware else [np.ones(len(self.g), dtype=bool)]


class Rounded:
    """A classifier with rounded scores, so that there are ties; not one of scikit-learn's."""

    def __init__(self, base: Any, classes: Any = (0, 1)) -> None:
        self.base, self.classes_ = base, np.array(classes)

    def decision_function(self, X: Any) -> Array:
        return np.asarray(self.base.decision_function(X).round(1))


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


class Programme:
    """Linear programmes over every mixture of thresholds: a distribution over the thresholds of each group."""

    def __init__(self, data: Data, aware: bool) -> None:
        columns, owner = [], []
        for k, mask in enumerate(data.masks(aware)):
            cuts = [np.inf, *np.unique(data.scores[mask])]
            columns += [((data.scores >= cut) & mask).astype(float) for cut in cuts]
            owner += [k] * len(cuts)
        self.decided = np.stack(columns, axis=1)
        self.simplexes = (np.array(owner) == np.arange(max(owner) + 1)[:, None]).astype(float)
        y, g = data.y, data.g
        self.tp, self.fp, self.positive = (
            (y[:, None] * self.decided).mean(axis=0),
            ((1 - y)[:, None] * self.decided).mean(axis=0),
            self.decided.mean(axis=0),
        )
        self.base = y.mean()
        self.by_group = [self.decided[g == k].mean(axis=0) for k in (0, 1)]
        self.gap = self.by_group[1] - self.by_group[0]

    def minimum(self, cost: Array, A: Any = None, b: Any = None) -> float:
        result = linprog(cost, A, b, self.simplexes, np.ones(len(self.simplexes)), method="highs")
        return float(result.fun) if result.success else np.inf

    def error(self, tolerance: float) -> float:
        """Smallest error with positive rates this close."""
        return self.base + self.minimum(self.fp - self.tp, np.stack([self.gap, -self.gap]), [tolerance, tolerance])

    def f1(self, most: float = 1.0) -> float:
        """Largest F-measure with a positive rate of at most ``most``: by bisection, F >= v is linear."""
        low, high = 0.0, 1.0
        for _ in range(50):
            v = (low + high) / 2
            reached = -self.minimum(v * (self.positive) - 2 * self.tp, self.positive[None], [most]) - v * self.base >= 0
            low, high = (v, high) if reached else (low, v)
        return low

    def kl(self, error: float) -> float:
        """Smallest sum over groups of KL(base rate | predicted rate) with a bounded error: by cutting planes."""
        p, n = self.base, self.decided.shape[1]
        A, b = [np.concatenate([self.fp - self.tp, [0.0]])], [error - self.base]
        simplexes = np.column_stack([self.simplexes, np.zeros(len(self.simplexes))])
        best = np.inf
        for _ in range(200):
            result = linprog(
                np.eye(n + 1)[-1], A, b, simplexes, np.ones(len(simplexes)), [(0, 1)] * n + [(0, None)], method="highs"
            )
            mu = result.x[:-1]
            q = np.clip([rate @ mu for rate in self.by_group], 1e-9, 1 - 1e-9)
            value = float(sum(p * np.log(p / x) + (1 - p) * np.log((1 - p) / (1 - x)) for x in q))
            best = min(best, value)
            if best - result.fun < 1e-7:
                break
            slope = sum((-p / x + (1 - p) / (1 - x)) * rate for x, rate in zip(q, self.by_group, strict=True))
            A, b = [*A, np.concatenate([slope, [-1.0]])], [*b, slope @ mu - value]
        return best


@pytest.mark.parametrize("aware", [False, True], ids=["blind", "aware"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("tolerance", [0.02, 0.15])
def test_error_under_demographic_parity_is_optimal(seed: int, aware: bool, tolerance: float) -> None:
    data = Data(seed)
    post = RatePostprocessor(
        Rounded(data.base),
        eq.minimize(eq.error_rate()),
        eq.demographic_parity(G, tolerance=tolerance),
        groups=G if aware else None,
    ).fit(data.X, data.y, data.people)
    assert post.train_.violation <= 1e-6
    assert post.train_.objective == pytest.approx(Programme(data, aware).error(tolerance), abs=1e-6)


@pytest.mark.parametrize("aware", [False, True], ids=["blind", "aware"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("most", [1.0, 0.2])
def test_f1_is_optimal(seed: int, aware: bool, most: float) -> None:
    data = Data(seed)
    constraints = [eq.positive_rate() <= most] if most < 1 else []
    post = RatePostprocessor(
        Rounded(data.base), eq.maximize(eq.f1()), constraints, groups=[ZERO, ONE] if aware else None
    ).fit(data.X, data.y, data.people)
    assert post.train_.violation <= 1e-6
    assert post.train_.objective == pytest.approx(Programme(data, aware).f1(most), abs=1e-6)


@pytest.mark.parametrize("aware", [False, True], ids=["blind", "aware"])
def test_kl_is_optimal(data: Data, aware: bool) -> None:
    objective = eq.minimize(eq.kl_divergence(ONE) + eq.kl_divergence(ZERO))
    bound = 0.24  # binding, with and without groups
    post = RatePostprocessor(
        Rounded(data.base), objective, [eq.error_rate() <= bound], groups=ONE if aware else None
    ).fit(data.X, data.y, data.people)
    assert post.train_.violation <= 1e-6
    assert post.train_.objective == pytest.approx(Programme(data, aware).kl(bound), abs=1e-6)


def test_weights_count_like_copies(data: Data) -> None:
    counts = np.random.default_rng(0).integers(0, 3, len(data.y))
    setting = (Rounded(data.base), eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.2])
    weighted = RatePostprocessor(*setting).fit(data.X, data.y, sample_weight=counts)
    copies = RatePostprocessor(*setting).fit(np.repeat(data.X, counts, axis=0), np.repeat(data.y, counts))
    assert weighted.train_.objective == pytest.approx(copies.train_.objective, abs=1e-6)
    assert weighted.train_.violation <= 1e-6


def test_predictions_are_those_that_were_promised(data: Data) -> None:
    post = RatePostprocessor(
        data.base, eq.minimize(eq.error_rate()), eq.demographic_parity(G, tolerance=0.05), groups=G, random_state=3
    ).fit(data.X, data.y, data.people)
    pmf = post.predict_pmf(data.X, data.people)
    np.testing.assert_allclose(pmf.sum(axis=1), 1)
    assert eq.error_rate().evaluate(data.y, pmf[:, 1]) == pytest.approx(post.train_.objective)
    predicted = post.predict(data.X, data.people)
    np.testing.assert_array_equal(predicted, post.predict(data.X, data.people))
    certain = (pmf == 0) | (pmf == 1)
    assert (predicted == pmf[:, 1])[certain.all(axis=1)].all()
    assert certain.all(axis=1).mean() > 0.5


def test_string_labels(data: Data) -> None:
    names = np.array(["no", "yes"])[data.y]
    base = LogisticRegression().fit(data.X, names)
    post = RatePostprocessor(base, eq.maximize(eq.f1())).fit(data.X, names)
    assert post.classes_.tolist() == ["no", "yes"]
    assert set(post.predict(data.X)) <= {"no", "yes"}
    plain = RatePostprocessor(data.base, eq.maximize(eq.f1())).fit(data.X, data.y)
    assert post.train_.objective == pytest.approx(plain.train_.objective, abs=1e-6)
    assert post.evaluate(data.X, pd.Series(names))["objective"] == pytest.approx(post.train_.objective)
    for wrong in (data.y, np.where(data.y == 1, "yes", "maybe")):
        with pytest.raises(eq.DataError, match="labels that the estimator was trained on"):
            post.fit(data.X, wrong)
        with pytest.raises(eq.DataError, match="labels"):
            post.evaluate(data.X, wrong)


def test_a_frame_with_attribute_columns_needs_nothing_else(data: Data) -> None:
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"]).assign(g=data.g, sex=np.where(data.g == 1, "f", "m"))
    chosen = make_column_transformer((StandardScaler(), ["a", "b", "c"]))
    base = make_pipeline(chosen, LogisticRegression()).fit(frame, data.y)
    for groups in (None, eq.attr("sex"), [eq.attr("sex"), G]):
        post = RatePostprocessor(
            base, eq.minimize(eq.error_rate()), eq.demographic_parity(eq.attr("sex"), tolerance=0.05), groups=groups
        ).fit(frame, data.y)
        assert post.train_.violation <= 1e-6
        assert post.evaluate(frame, data.y)["objective"] == pytest.approx(post.train_.objective)
        assert len(post.predict(frame)) == len(frame)
    # Attributes may be given beside the frame instead.
    bare = frame.drop(columns=["g", "sex"])
    np.testing.assert_array_equal(post.predict(bare, frame[["g", "sex"]]), post.predict(frame))


def test_thresholds_per_group_need_attributes(data: Data) -> None:
    post = RatePostprocessor(data.base, eq.minimize(eq.error_rate()), groups=G).fit(data.X, data.y, data.people)
    for call in (post.predict, post.predict_pmf):
        with pytest.raises(eq.DataError, match="sensitive_features"):
            call(data.X)
    with pytest.raises(eq.DataError, match="'g'"):
        post.evaluate(data.X, data.y)
    with pytest.raises(eq.DataError, match="in no group"):
        post.predict(data.X, {"g": data.g + 5})
    with pytest.raises(eq.DataError, match="'g'"):
        RatePostprocessor(data.base, eq.minimize(eq.error_rate()), groups=G).fit(data.X, data.y)
    blind = RatePostprocessor(data.base, eq.minimize(eq.error_rate()), [eq.tpr(ONE) >= 0.5])
    assert len(blind.fit(data.X, data.y, data.people).predict(data.X)) == len(data.y)


def test_groups_that_make_no_sense(data: Data) -> None:
    for groups, error, match in (
        ([ZERO, eq.attr("g") <= 1], eq.DataError, "overlap"),
        ("h", eq.DataError, "unknown attribute 'h'"),
        (3, TypeError, "attr"),
        ([G, ONE], TypeError, "attributes"),
        ([], TypeError, "attributes"),
    ):
        with pytest.raises(error, match=match):
            RatePostprocessor(data.base, eq.minimize(eq.error_rate()), groups=groups).fit(data.X, data.y, data.people)


def test_estimators_that_will_not_do(data: Data) -> None:
    objective = eq.minimize(eq.error_rate())
    with pytest.raises(NotFittedError, match="LogisticRegression is not fitted"):
        RatePostprocessor(LogisticRegression(), objective).fit(data.X, data.y)
    for estimator in (LinearRegression().fit(data.X, data.y), StandardScaler().fit(data.X)):
        with pytest.raises(eq.DataError, match="neither decision_function nor predict_proba"):
            RatePostprocessor(estimator, objective).fit(data.X, data.y)
    three = LogisticRegression().fit(data.X, data.y + (data.X[:, 1] > 1))
    with pytest.raises(eq.DataError, match="two classes"):
        RatePostprocessor(three, objective).fit(data.X, data.y)


def test_what_is_not_fitted_does_not_predict(data: Data) -> None:
    post = RatePostprocessor(data.base, eq.minimize(eq.error_rate()))
    for call in (
        lambda: post.predict(data.X),
        lambda: post.predict_pmf(data.X),
        lambda: post.evaluate(data.X, data.y),
        lambda: post.report(data.X, data.y),
    ):
        with pytest.raises(NotFittedError):
            call()


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        LinearSVC(),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ],
    ids=["pipeline", "decision_function", "predict_proba", "tree"],
)
def test_kinds_of_estimators(data: Data, estimator: Any) -> None:
    base = clone(estimator).fit(data.X, data.y)
    before = base.predict(data.X)
    post = RatePostprocessor(base, eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.2], n_rounds=100)
    post.fit(data.X, data.y)
    assert post.train_.violation <= 1e-6
    np.testing.assert_array_equal(base.predict(data.X), before)
    # Without the constraint nothing is lost.
    free = RatePostprocessor(base, eq.minimize(eq.error_rate()), n_rounds=20).fit(data.X, data.y)
    assert free.train_.objective <= (before != data.y).mean() + 1e-9


def test_parameters_and_clones(data: Data) -> None:
    objective, constraints = eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.2]
    post = RatePostprocessor(data.base, objective, constraints, groups=G, n_rounds=50, random_state=1)
    parameters = post.get_params(deep=False)
    assert parameters["objective"] is objective
    assert parameters["constraints"] is constraints
    assert parameters["n_rounds"] == 50
    fresh = clone(post).set_params(n_rounds=70)
    assert fresh.n_rounds == 70
    assert post.n_rounds == 50
    assert fresh.groups.name == "g"
    assert repr(fresh.objective) == repr(objective)
    assert "RatePostprocessor" in repr(post)
    with pytest.raises(NotFittedError, match="FrozenEstimator"):
        fresh.fit(data.X, data.y, data.people)
    kept = clone(post.set_params(estimator=FrozenEstimator(data.base))).fit(data.X, data.y, data.people)
    assert kept.train_.violation <= 1e-6


def test_the_report_has_both_parts(data: Data) -> None:
    post = RatePostprocessor(data.base, eq.maximize(eq.f1()), [eq.positive_rate() <= 0.2]).fit(data.X, data.y)
    other = Data(seed=5)
    text = str(post.report(other.X, other.y))
    assert "maximize f1()" in text
    assert re.search(r"train +test +baseline", text)
    assert f"{eq.f1().evaluate(other.y, post.predict_pmf(other.X)[:, 1]):.4f}" in text


def test_an_impossible_constraint_is_told(data: Data) -> None:
    post = RatePostprocessor(data.base, eq.minimize(eq.error_rate()), [eq.tpr() >= 0.99, eq.fpr() <= 0.01])
    post.fit(data.X, data.y)
    assert post.train_.violation > 0.1
    assert not post.status_.feasible
    assert "!" in str(post.report(data.X, data.y))
