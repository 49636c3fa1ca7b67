import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

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
        cv="prefit",
    ).fit(data.X, data.y, sensitive_features=data.people)
    assert post.train_.violation <= 1e-6
    assert post.train_.objective == pytest.approx(Programme(data, aware).error(tolerance), abs=1e-6)


@pytest.mark.parametrize("aware", [False, True], ids=["blind", "aware"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("most", [1.0, 0.2])
def test_f1_is_optimal(seed: int, aware: bool, most: float) -> None:
    data = Data(seed)
    constraints = [eq.positive_rate() <= most] if most < 1 else []
    post = RatePostprocessor(
        Rounded(data.base), eq.maximize(eq.f1()), constraints, groups=[ZERO, ONE] if aware else None, cv="prefit"
    ).fit(data.X, data.y, sensitive_features=data.people)
    assert post.train_.violation <= 1e-6
    assert post.train_.objective == pytest.approx(Programme(data, aware).f1(most), abs=1e-6)


@pytest.mark.parametrize("aware", [False, True], ids=["blind", "aware"])
def test_kl_is_optimal(data: Data, aware: bool) -> None:
    objective = eq.minimize(eq.kl_divergence(ONE) + eq.kl_divergence(ZERO))
    bound = 0.24  # binding, with and without groups
    post = RatePostprocessor(
        Rounded(data.base), objective, [eq.error_rate() <= bound], groups=ONE if aware else None, cv="prefit"
    ).fit(data.X, data.y, sensitive_features=data.people)
    assert post.train_.violation <= 1e-6
    assert post.train_.objective == pytest.approx(Programme(data, aware).kl(bound), abs=1e-6)


def test_weights_count_like_copies(data: Data) -> None:
    counts = np.random.default_rng(0).integers(0, 3, len(data.y))
    setting = (Rounded(data.base), eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.2])
    options = {"cv": "prefit", "output": "stochastic"}  # copies are rows that repeat, for which a hashed output chooses
    weighted = RatePostprocessor(*setting, **options).fit(data.X, data.y, sample_weight=counts)
    copies = RatePostprocessor(*setting, **options).fit(np.repeat(data.X, counts, axis=0), np.repeat(data.y, counts))
    assert weighted.train_.objective == pytest.approx(copies.train_.objective, abs=1e-6)
    assert weighted.train_.violation <= 1e-6


def test_predictions_are_those_that_were_promised(data: Data) -> None:
    post = RatePostprocessor(
        FrozenEstimator(data.base),
        eq.minimize(eq.error_rate()),
        eq.demographic_parity(G, tolerance=0.05),
        groups=G,
        random_state=3,
    ).fit(data.X, data.y, sensitive_features=data.people)
    pmf = post.predict_pmf(data.X, sensitive_features=data.people)
    np.testing.assert_allclose(pmf.sum(axis=1), 1)
    assert eq.error_rate().evaluate(data.y, pmf[:, 1]) == pytest.approx(post.train_.objective)
    predicted = post.predict(data.X, sensitive_features=data.people)
    np.testing.assert_array_equal(predicted, post.predict(data.X, sensitive_features=data.people))
    certain = (pmf == 0) | (pmf == 1)
    assert (predicted == pmf[:, 1])[certain.all(axis=1)].all()
    assert certain.all(axis=1).mean() > 0.5


def test_string_labels(data: Data) -> None:
    names = np.array(["no", "yes"])[data.y]
    base = FrozenEstimator(LogisticRegression().fit(data.X, names))
    post = RatePostprocessor(base, eq.maximize(eq.f1())).fit(data.X, names)
    assert post.classes_.tolist() == ["no", "yes"]
    assert set(post.predict(data.X)) <= {"no", "yes"}
    plain = RatePostprocessor(FrozenEstimator(data.base), eq.maximize(eq.f1())).fit(data.X, data.y)
    assert post.train_.objective == pytest.approx(plain.train_.objective, abs=1e-6)
    assert post.evaluate(data.X, pd.Series(names)).objective == pytest.approx(post.train_.objective)
    for wrong in (data.y, np.where(data.y == 1, "yes", "maybe")):
        with pytest.raises(eq.DataError, match="labels that the estimator was trained on"):
            post.fit(data.X, wrong)
        with pytest.raises(eq.DataError, match="labels"):
            post.evaluate(data.X, wrong)


def test_a_frame_with_attribute_columns_needs_nothing_else(data: Data) -> None:
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"]).assign(g=data.g, sex=np.where(data.g == 1, "f", "m"))
    chosen = make_column_transformer((StandardScaler(), ["a", "b", "c"]))
    base = FrozenEstimator(make_pipeline(chosen, LogisticRegression()).fit(frame, data.y))
    for groups in (None, eq.attr("sex"), [eq.attr("sex"), G]):
        post = RatePostprocessor(
            base, eq.minimize(eq.error_rate()), eq.demographic_parity(eq.attr("sex"), tolerance=0.05), groups=groups
        ).fit(frame, data.y)
        assert post.train_.violation <= 1e-6
        assert post.evaluate(frame, data.y).objective == pytest.approx(post.train_.objective)
        assert len(post.predict(frame)) == len(frame)
    # Attributes may be given beside the frame instead.
    bare = frame.drop(columns=["g", "sex"])
    np.testing.assert_array_equal(
        post.predict_pmf(bare, sensitive_features=frame[["g", "sex"]]), post.predict_pmf(frame)
    )


def test_thresholds_per_group_need_attributes(data: Data) -> None:
    post = RatePostprocessor(data.base, eq.minimize(eq.error_rate()), groups=G).fit(
        data.X, data.y, sensitive_features=data.people
    )
    for call in (post.predict, post.predict_pmf):
        with pytest.raises(eq.DataError, match="sensitive_features"):
            call(data.X)
    with pytest.raises(eq.DataError, match="'g'"):
        post.evaluate(data.X, data.y)
    with pytest.raises(eq.DataError, match="in no group"):
        post.predict(data.X, sensitive_features={"g": data.g + 5})
    with pytest.raises(eq.DataError, match="'g'"):
        RatePostprocessor(data.base, eq.minimize(eq.error_rate()), groups=G).fit(data.X, data.y)
    blind = RatePostprocessor(data.base, eq.minimize(eq.error_rate()), [eq.tpr(ONE) >= 0.5])
    assert len(blind.fit(data.X, data.y, sensitive_features=data.people).predict(data.X)) == len(data.y)


def test_groups_that_make_no_sense(data: Data) -> None:
    for groups, error, match in (
        ([ZERO, eq.attr("g") <= 1], eq.DataError, "overlap"),
        ("h", eq.DataError, "unknown attribute 'h'"),
        (3, TypeError, "attr"),
        ([G, ONE], TypeError, "attributes"),
        ([], TypeError, "attributes"),
    ):
        with pytest.raises(error, match=match):
            RatePostprocessor(data.base, eq.minimize(eq.error_rate()), groups=groups).fit(
                data.X, data.y, sensitive_features=data.people
            )


def test_estimators_that_will_not_do(data: Data) -> None:
    objective = eq.minimize(eq.error_rate())
    for given, cv in ((FrozenEstimator(LogisticRegression()), 5), (LogisticRegression(), "prefit")):
        with pytest.raises(NotFittedError, match="is not fitted, and is to be used as it is"):
            RatePostprocessor(given, objective, cv=cv).fit(data.X, data.y)
    for estimator in (LinearRegression().fit(data.X, data.y), StandardScaler().fit(data.X)):
        for cv in (5, "prefit"):
            with pytest.raises(eq.DataError, match="neither decision_function nor predict_proba"):
                RatePostprocessor(estimator, objective, cv=cv).fit(data.X, data.y)
    three = LogisticRegression().fit(data.X, data.y + (data.X[:, 1] > 1))
    post = RatePostprocessor(three, objective, cv="prefit").fit(data.X, data.y)  # a class that these data do not have
    assert post.predict_pmf(data.X).shape == (len(data.y), 3)
    with pytest.raises(eq.DataError, match=r"it has no get_params: .* cv='prefit'"):
        RatePostprocessor(Rounded(data.base), objective).fit(data.X, data.y)


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
    limit = [eq.positive_rate() <= 0.2]
    for cv in (3, "prefit"):
        post = RatePostprocessor(base, eq.minimize(eq.error_rate()), limit, n_rounds=100, cv=cv, random_state=0)
        post.fit(data.X, data.y)
        assert post.train_.violation <= 1e-6
        np.testing.assert_array_equal(base.predict(data.X), before)
    # Without the constraint nothing is lost.
    free = RatePostprocessor(base, eq.minimize(eq.error_rate()), n_rounds=20, cv="prefit").fit(data.X, data.y)
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
    assert fresh.fit(data.X, data.y, sensitive_features=data.people).train_.violation <= 1e-6
    kept = clone(post.set_params(estimator=FrozenEstimator(data.base))).fit(
        data.X, data.y, sensitive_features=data.people
    )
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
    with pytest.warns(eq.NotSolvedWarning, match="not met"):
        post.fit(data.X, data.y)
    assert post.train_.violation > 0.1
    assert not post.status_.feasible
    assert "!" in str(post.report(data.X, data.y))


# -- classifiers that are trained here -------------------------------------------------------------

ERROR, F1 = eq.minimize(eq.error_rate()), eq.maximize(eq.f1())


@pytest.mark.parametrize(
    ("base", "output"),
    [(LogisticRegression(), "hashed"), (DecisionTreeClassifier(max_depth=3, random_state=0), "stochastic")],
)
def test_check_estimator(base: Any, output: str) -> None:
    place = "a stochastic output draws a member for each row, by its place"
    checks = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")
    expected = dict.fromkeys(checks, place) if output == "stochastic" else {}
    expected["check_classifiers_train"] = "the threshold on the estimator's scores is not 0"
    limit = [eq.positive_rate() <= 0.6]
    post = RatePostprocessor(base, eq.maximize(eq.accuracy()), limit, cv=2, n_rounds=30, output=output)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's checks use tiny data, on which constraints cannot be met
        results = check_estimator(post, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert [(r["check_name"], str(r["exception"])[:300]) for r in results if r["status"] == "failed"] == []
    assert len(results) > 40


def test_thresholds_chosen_on_new_rows_keep_their_promise() -> None:
    """The classifier's own rows promise a precision that new rows do not keep; out-of-fold scores do not."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 5))
    y = (X[:, 0] + X[:, 1] ** 2 + 1.5 * rng.normal(size=3000) > 1).astype(int)
    train, test = slice(0, 1200), slice(1200, None)
    trees = RandomForestClassifier(30, min_samples_leaf=3, random_state=0)
    limit = [eq.precision() >= 0.7]

    def precision(post: RatePostprocessor) -> float:
        post.fit(X[train], y[train])
        assert post.train_.violation <= 1e-3
        return eq.precision().evaluate(y[test], post.predict_pmf(X[test])[:, 1])

    seen = RatePostprocessor(FrozenEstimator(trees.fit(X[train], y[train])), eq.maximize(eq.recall()), limit)
    unseen = RatePostprocessor(trees, eq.maximize(eq.recall()), limit, random_state=0)
    assert precision(seen) < 0.64
    assert precision(unseen) > 0.68
    assert any("must be new to it" in note for note in seen.notes_)
    assert "must be new to it" in str(seen.report())
    assert unseen.notes_ == ()


def folds(n: int) -> list[tuple[Array, Array]]:
    return [(np.flatnonzero(np.arange(n) % 3 != k), np.flatnonzero(np.arange(n) % 3 == k)) for k in range(3)]


@pytest.mark.parametrize(
    ("cv", "count"),
    [(2, 400), (4, 400), (0.25, 100), (KFold(3), 400), (folds(400), 400), (ShuffleSplit(2, test_size=0.3), None)],
    ids=["2", "4", "share", "splitter", "pairs", "overlapping"],
)
def test_each_row_is_scored_by_a_classifier_that_did_not_see_it(data: Data, cv: Any, count: int | None) -> None:
    """A nearest neighbour knows its own rows by heart: were one scored with itself, its error would be too small."""
    noise = np.random.default_rng(0).integers(0, 2, 400)
    post = RatePostprocessor(KNeighborsClassifier(1), ERROR, cv=cv, random_state=0).fit(data.X, noise)
    assert post.train_.objective > 0.35
    assert post.estimator_.n_samples_fit_ == 400
    assert (post.estimator_.predict(data.X) == noise).all()
    if count is not None:
        assert post.train_.slices[0].examples == count


def test_rows_in_several_folds_count_once(data: Data) -> None:
    """Repeated folds give every row several scores: rates are the means, and rows are not counted twice."""
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    post = RatePostprocessor(LogisticRegression(), ERROR, [eq.positive_rate() <= 0.2], cv=splitter).fit(data.X, data.y)
    assert post.train_.slices[0].examples == 400
    scores, rows = [], []
    for train, test in splitter.split(data.X, data.y):
        scores.append(LogisticRegression().fit(data.X[train], data.y[train]).decision_function(data.X[test]))
        rows.append(test)
    every = np.concatenate(rows)
    given = RatePostprocessor(None, ERROR, [eq.positive_rate() <= 0.2]).fit(np.concatenate(scores), data.y[every])
    assert post.train_.objective == pytest.approx(given.train_.objective, abs=1e-9)
    assert post.train_.positive_rate == pytest.approx(given.train_.positive_rate, abs=1e-9)


@pytest.mark.parametrize("cv", [1, 0, -3, 1.5, True, None, "fit", 2.5])
def test_folds_that_make_no_sense(data: Data, cv: Any) -> None:
    with pytest.raises(eq.EquirateError, match="'cv' parameter of RatePostprocessor must be"):
        RatePostprocessor(data.base, ERROR, cv=cv).fit(data.X, data.y)


def test_folds_without_both_labels_are_refused(data: Data) -> None:
    few = np.zeros(400, dtype=int)
    few[:3] = 1
    with pytest.raises(eq.DataError, match="cv=5 needs 5 examples of each label; one label has only 3"):
        RatePostprocessor(data.base, ERROR).fit(data.X, few)
    ordered = np.sort(data.y)
    with pytest.raises(eq.DataError, match="does not hold all labels"):
        RatePostprocessor(GaussianNB(), ERROR, cv=[(np.arange(100), np.arange(100, 400))]).fit(data.X, ordered)


def test_one_fold_can_serve(data: Data) -> None:
    rows = [(np.arange(300), np.arange(300, 400))]
    post = RatePostprocessor(LogisticRegression(), F1, cv=rows, refit=False).fit(data.X, data.y)
    np.testing.assert_allclose(post.estimator_.coef_, LogisticRegression().fit(data.X[:300], data.y[:300]).coef_)
    with pytest.raises(eq.EquirateError, match="refit=False"):
        RatePostprocessor(LogisticRegression(), F1, refit=False).fit(data.X, data.y)


class Weighed(LogisticRegression):  # type: ignore[misc]  # scikit-learn has no types
    """Remembers the weights that it was trained with."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen_ = None if sample_weight is None else np.asarray(sample_weight)
        return super().fit(X, y, sample_weight)


def test_weights_reach_the_estimator(data: Data) -> None:
    weights = np.linspace(1, 2, 400)
    post = RatePostprocessor(Weighed(), ERROR).fit(data.X, data.y, sample_weight=weights)
    np.testing.assert_array_equal(post.estimator_.seen_, weights)
    assert RatePostprocessor(Weighed(), ERROR).fit(data.X, data.y).estimator_.seen_ is None
    piped = RatePostprocessor(make_pipeline(StandardScaler(), Weighed()), ERROR)
    np.testing.assert_array_equal(piped.fit(data.X, data.y, sample_weight=weights).estimator_[-1].seen_, weights)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), Weighed())
        routed[-1].set_fit_request(sample_weight=True)
        post = RatePostprocessor(routed, ERROR).fit(data.X, data.y, sample_weight=weights)
        np.testing.assert_array_equal(post.estimator_[-1].seen_, weights)
    without = RatePostprocessor(KNeighborsClassifier(), ERROR).fit(data.X, data.y, sample_weight=weights)
    assert without.notes_ == (
        "KNeighborsClassifier takes no sample_weight: it was trained without, and the weights count for the "
        "thresholds only",
    )


def test_a_frozen_part_is_taken_on_trust(data: Data) -> None:
    post = RatePostprocessor(make_pipeline(StandardScaler(), FrozenEstimator(data.base)), ERROR).fit(data.X, data.y)
    assert [note for note in post.notes_ if note.startswith("LogisticRegression is used as it was given")]


def test_the_same_seed_gives_the_same_folds_and_jobs_change_nothing(data: Data) -> None:
    def fitted(seed: int, **options: Any) -> RatePostprocessor:
        limit = [eq.positive_rate() <= 0.2]
        return RatePostprocessor(LogisticRegression(), ERROR, limit, random_state=seed, **options).fit(data.X, data.y)

    one, other = fitted(0), fitted(1)
    with parallel_config(backend="threading"):
        same = fitted(0, n_jobs=2)
    np.testing.assert_array_equal(one.predict(data.X), same.predict(data.X))
    assert one.train_ == same.train_ != other.train_
    assert one.salt_ == same.salt_ != other.salt_


# -- hashed decisions -------------------------------------------------------------------------------


def between(data: Data, **options: Any) -> RatePostprocessor:
    """A mixture that is undecided about many."""
    tied = np.where(data.scores > 0, 1.0, 0.0)
    return RatePostprocessor(None, ERROR, [eq.positive_rate() <= 0.1], **options).fit(tied, data.y)


def test_a_row_is_decided_alike_alone_and_among_others(data: Data) -> None:
    post = RatePostprocessor(data.base, ERROR, [eq.positive_rate() <= 0.2], cv=2, random_state=0)
    post.fit(data.X, data.y)
    together = post.predict(data.X)
    np.testing.assert_array_equal([post.predict(data.X[k : k + 1])[0] for k in range(50)], together[:50])
    np.testing.assert_array_equal(post.predict(data.X[::-1]), together[::-1])


def test_a_key_decides(data: Data) -> None:
    post = between(data, random_state=0)
    score, n = np.ones(4000), 4000
    assert len(set(post.predict(score))) == 1  # the same row 4,000 times
    share = post.predict_pmf(score)[0, 1]
    for key in (np.arange(n), [f"person {k}" for k in range(n)], pd.Series(range(n))):
        decided = post.predict(score, key=key)
        assert decided.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / n))
        np.testing.assert_array_equal(decided[7:9], post.predict(score[7:9], key=list(key)[7:9]))
    other = between(data, random_state=1)  # another salt
    assert (other.predict(score, key=np.arange(n)) != post.predict(score, key=np.arange(n))).any()
    with pytest.raises(eq.DataError, match="key"):
        post.predict(score, key=[1, 2])
    with pytest.raises(eq.EquirateError, match='output="hashed"'):
        between(data, output="stochastic").predict(score, key=np.arange(n))
    with pytest.raises(eq.EquirateError, match="'output' parameter"):
        between(data, output="both")


def test_rows_of_text_with_holes_are_decided_too(data: Data) -> None:
    words = np.where(data.X[:, 1] > 0.3, "high", np.where(data.X[:, 1] > -0.3, "middle", "low"))
    frame = pd.DataFrame({"a": np.where(np.arange(400) % 9 == 0, np.nan, data.X[:, 0]), "word": words})
    columns = make_column_transformer((SimpleImputer(), ["a"]), (OneHotEncoder(), ["word"]))
    base = make_pipeline(columns, LogisticRegression())
    post = RatePostprocessor(base, ERROR, [eq.positive_rate() <= 0.15], cv=3, random_state=0).fit(frame, data.y)
    together = post.predict(frame)
    order = np.random.default_rng(0).permutation(400)
    np.testing.assert_array_equal(post.predict(frame.iloc[order]), together[order])
    np.testing.assert_array_equal(post.predict(frame.astype({"word": "category"})), together)
    assert together.mean() == pytest.approx(post.predict_pmf(frame)[:, 1].mean(), abs=0.03)
