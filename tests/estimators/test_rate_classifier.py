"""RateClassifier: the scikit-learn contract, the border, the outputs, and what it promises."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import equirate as eq

GAME = {"n_rounds": 150, "theta_step": (0.03, 0.1), "lambda_step": (0.03, 0.1)}
A, B = eq.attr("group") == "a", eq.attr("group") == "b"


def people(n: int = 1200, seed: int = 0) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Two groups with different base rates; the label is noisy but linear."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n, p=[0.4, 0.6])
    X = rng.normal(size=(n, 4))
    X[:, 3] = (group == "a") + 0.3 * rng.normal(size=n)
    score = X[:, 0] + 0.5 * X[:, 1] - 1.4 * (group == "a") + 0.7 * rng.normal(size=n)
    old = (X[:, 0] > 0.2).astype(int)
    return X, (score > 0.3).astype(int), pd.DataFrame({"group": group, "old": old})


def classifier(**options: object) -> eq.RateClassifier:
    objective = options.pop("objective", eq.maximize(eq.f1()))
    constraints = options.pop("constraints", [eq.positive_rate() <= 0.4])
    return eq.RateClassifier(objective, constraints, **{"random_state": 0, **options})


# -- the contract -----------------------------------------------------------------------------------

WEIGHTS = "the validation part is drawn by rows, and a row with weight 2 is one of them"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, EXPECTED),
        ({**GAME, "n_rounds": 60}, EXPECTED),
        ({"validation": 0.0}, {}),
        pytest.param({"output": "deterministic"}, EXPECTED, marks=pytest.mark.slow),
        pytest.param({"output": "deterministic", "validation": 0.0}, {}, marks=pytest.mark.slow),
        pytest.param({"output": "stochastic"}, EXPECTED, marks=pytest.mark.slow),
    ],
    ids=["hashed", "a game", "nothing held out", "deterministic", "deterministic on all rows", "stochastic"],
)
def test_check_estimator(options: dict[str, object], expected: dict[str, str]) -> None:
    estimator = eq.RateClassifier(eq.maximize(eq.accuracy()), [eq.positive_rate() <= 0.6], random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's checks use tiny data, on which constraints cannot be met
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
    failed = [(r["check_name"], str(r["exception"])[:300]) for r in results if r["status"] == "failed"]
    assert failed == []
    assert len(results) > 40


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_train_as_rows_given_so_often(sparse: bool) -> None:
    X, y, attributes = people(300)
    X = sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X)) if sparse else X
    times = np.random.default_rng(0).integers(0, 4, size=300)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(300), times))
    make = lambda: classifier(constraints=[abs(eq.tpr(A) - eq.tpr(B)) <= 0.05], validation=0.0)  # noqa: E731
    weighted = make().fit(X, y, sensitive_features=attributes, sample_weight=times)
    repeated = make().fit(X[rows], y[rows], sensitive_features=attributes.iloc[rows].reset_index(drop=True))
    np.testing.assert_array_equal(weighted.members_.W, repeated.members_.W)
    np.testing.assert_array_equal(weighted.weights_, repeated.weights_)
    assert repeated.parts_["train"].slices[0].examples == times.sum()  # judged on the rows as they were given


def test_clone_pipeline_grid_search_cross_validate() -> None:
    X, y, attributes = people(400)
    estimator = classifier(constraints=[abs(eq.tpr(A) - eq.tpr(B)) <= 0.2], validation=0.0)
    assert repr(clone(estimator).constraints) == repr(estimator.constraints)
    with config_context(enable_metadata_routing=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        routed = clone(estimator).set_fit_request(sensitive_features=True)
        pipeline = make_pipeline(StandardScaler(), routed)
        pipeline.fit(X, y, sensitive_features=attributes)
        assert pipeline.predict(X).shape == (400,)
        scores = cross_validate(routed, X, y, cv=3, params={"sensitive_features": attributes})
        assert np.isfinite(scores["test_score"]).all()
        search = GridSearchCV(routed, {"n_rounds": [20, 40]}, cv=2).fit(X, y, sensitive_features=attributes)
        assert search.best_params_["n_rounds"] in (20, 40)


def test_fit_does_not_touch_its_parameters_and_repeats_itself() -> None:
    X, y, attributes = people(500)
    constraints = [eq.tpr(A) >= eq.tpr(B) - 0.05]
    estimator = classifier(constraints=constraints)
    before = {name: pickle.dumps(value) for name, value in estimator.get_params(deep=False).items()}
    first = estimator.fit(X, y, sensitive_features=attributes).predict(X)
    after = {name: pickle.dumps(value) for name, value in estimator.get_params(deep=False).items()}
    assert before == after
    assert estimator.constraints is constraints
    np.testing.assert_array_equal(first, clone(estimator).fit(X, y, sensitive_features=attributes).predict(X))


# -- inputs -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def predicted_0_and_1() -> np.ndarray:
    X, y, _ = people(400)
    return classifier(n_rounds=60).fit(X, y).predict(X)


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-1, 1), (2.0, 5.0)])
def test_any_two_labels(labels: tuple[object, object], predicted_0_and_1: np.ndarray) -> None:
    X, y, _ = people(400)
    named = np.array(labels)[y]
    fitted = classifier(n_rounds=60).fit(X, named)
    assert list(fitted.classes_) == sorted(labels)
    np.testing.assert_array_equal(fitted.predict(X), np.array(labels)[predicted_0_and_1])
    np.testing.assert_allclose(fitted.predict_pmf(X).sum(1), 1.0)


def test_pos_label_turns_the_problem_round() -> None:
    X, y, _ = people(600)
    named = np.where(y == 1, "good", "bad")
    fitted = classifier(pos_label="bad", constraints=[eq.positive_rate() <= 0.3]).fit(X, named)
    share = fitted.predict_pmf(X)[:, list(fitted.classes_).index("bad")].mean()
    assert share <= 0.3 + 1e-3
    with pytest.raises(eq.DataError, match="pos_label 'worse' is not among the labels"):
        classifier(pos_label="worse").fit(X, named)


def test_frames_sparse_and_attribute_containers_agree() -> None:
    X, y, attributes = people(500)
    make = lambda: classifier(constraints=[eq.tpr(A) >= eq.tpr(B) - 0.05], output="deterministic", n_rounds=30)  # noqa: E731
    expected = make().fit(X, y, sensitive_features=attributes).predict(X)
    frame = pd.DataFrame(X, columns=list("pqrs"))
    for features in (frame, pl.DataFrame(X, schema=list("pqrs"))):
        fitted = make().fit(features, y, sensitive_features=attributes)
        assert list(fitted.feature_names_in_) == list("pqrs")
        np.testing.assert_array_equal(fitted.predict(features), expected)
    for given in (
        attributes.to_dict("list"),
        attributes["group"],
        pl.DataFrame(attributes.to_dict("list")),
        {"group": attributes["group"].to_numpy()},
        attributes["group"].to_numpy(),
    ):
        np.testing.assert_array_equal(make().fit(X, y, sensitive_features=given).predict(X), expected)
    dense = make().set_params(scale=False).fit(X, y, sensitive_features=attributes)
    sparse = make().set_params(scale=False).fit(sp.csr_matrix(X), y, sensitive_features=attributes)
    assert (sparse.predict(sp.csr_matrix(X)) == dense.predict(X)).mean() > 0.95  # sparse features are not centred
    assert sparse.status_.feasible
    assert sparse.status_.objective == pytest.approx(dense.status_.objective, abs=0.005)
    assert make().fit(sp.csr_matrix(X), y, sensitive_features=attributes).predict(X).shape == (500,)


def test_attributes_may_be_columns_of_x() -> None:
    X, y, attributes = people(500)
    frame = pd.DataFrame(X, columns=list("pqrs")).assign(is_a=(attributes["group"] == "a").astype(float))
    fitted = classifier(constraints=[eq.tpr(eq.attr("is_a") == 1) >= 0.2]).fit(frame, y)
    assert fitted.report().last.constraints[0].left >= 0.2 - 0.05


BAD = [
    (lambda X, y, a: (np.where(X > 2, np.nan, X), y, a, None), "NaN"),
    (lambda X, y, a: (np.where(X > 2, np.inf, X), y, a, None), "infinity"),
    (lambda X, y, a: (X, np.zeros(len(y)), a, None), "one class only"),
    (lambda X, y, a: (X, np.arange(len(y)) % 3, a, None), "Only binary classification"),
    (lambda X, y, a: (X[:-1], y, a, None), "inconsistent numbers of samples"),
    (lambda X, y, a: (X, y, a[:-1], None), "attribute 'group' has 399 values"),
    (lambda X, y, a: (X, y, a.drop(columns="group"), None), "unknown attribute 'group'"),
    (lambda X, y, a: (X, y, None, None), "unknown attribute"),
    (lambda X, y, a: (X, y, a.assign(group="b"), None), "group == 'a' holds no example"),
    (lambda X, y, a: (X, y, a.assign(group=[None, *a["group"][1:]]), None), "attribute 'group' has 1 missing values"),
    (lambda X, y, a: (X, y, a, np.where(y == 1, -1.0, 1.0)), "must not be negative"),
    (lambda X, y, a: (X, y, a, np.full(len(y), np.nan)), "NaN"),
    (lambda X, y, a: (X, y, a.assign(old=2), None), "baseline 'old'"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD)
def test_bad_input_is_refused_by_name(spoil, message: str) -> None:
    X, y, attributes = people(400)
    X, y, attributes, weights = spoil(X, y, attributes)
    constraints = [eq.tpr(A) >= 0.1, eq.churn("old") <= 0.9]
    with pytest.raises(ValueError, match=message):
        classifier(constraints=constraints).fit(X, y, sensitive_features=attributes, sample_weight=weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "magic"}, "'output' parameter of RateClassifier must be one of"),
        ({"validation": 1.0}, "validation is a share"),
        ({"confidence": 1.5}, "confidence must lie between"),
        ({"two_sets": True, "validation": 0.0}, "needs held-out data"),
        ({"confidence": 0.95, "confidence_method": "sideways"}, "confidence_method"),
        ({"n_rounds": 0}, "n_rounds must be a whole number"),
        ({"n_rounds": 2.5}, "n_rounds must be a whole number"),
        ({**GAME, "n_rounds": 0}, "n_rounds must be a whole number"),
        ({"theta_step": -1.0}, "theta_step must be positive"),
        ({"algorithm": "magic"}, "the algorithm must be one of"),
        ({"model": "forest"}, "the model must be"),
        ({"tolerance": -1}, "tolerance must be a number"),
        ({"missing": "maybe"}, "'missing' parameter"),
    ],
)
def test_bad_parameters_are_refused(options: dict[str, object], message: str) -> None:
    X, y, _ = people(300)
    with pytest.raises(ValueError, match=message):
        classifier(**options).fit(X, y)


def test_wrong_columns_at_predict_time() -> None:
    X, y, _ = people(300)
    frame = pd.DataFrame(X, columns=list("pqrs"))
    fitted = classifier().fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["p", "q", "r"]])
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"p": "z"}))
    with pytest.raises(eq.DataError, match="labels that were not in training"):
        fitted.evaluate(frame, np.full(len(y), 7))


# -- hard data --------------------------------------------------------------------------------------


def test_a_constraint_that_cannot_be_met_is_a_status_not_an_exception() -> None:
    X, y, _ = people(500)
    impossible = [eq.tpr() >= 0.9, eq.fpr() <= 0.01]
    with pytest.warns(eq.NotSolvedWarning, match="constraints are not met"):
        fitted = classifier(objective=eq.minimize(eq.error_rate()), constraints=impossible).fit(X, y)
    assert not fitted.status_.feasible
    assert fitted.status_.smallest_violation > 0.05
    assert fitted.status_.conflict == ("tpr() >= 0.9", "fpr() <= 0.01")
    assert any("tpr() >= 0.9; fpr() <= 0.01" in line for line in fitted.status_.advice)
    assert np.isfinite(fitted.predict_pmf(X)).all()


def test_a_group_with_one_member_is_named() -> None:
    X, y, attributes = people(400)
    lonely = attributes.assign(group=["c", *attributes["group"][1:]])
    with pytest.warns(eq.NotSolvedWarning, match="too few examples"):
        classifier(constraints=[eq.positive_rate(eq.attr("group") == "c") <= 1.0]).fit(X, y, sensitive_features=lonely)


def test_separable_constant_and_single_features() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 1))
    y = (x[:, 0] > 0).astype(int)
    fitted = classifier(objective=eq.minimize(eq.error_rate()), constraints=[]).fit(x, y)
    assert (fitted.predict(x) == y).mean() > 0.97
    constant = np.hstack([x, np.ones((300, 1)), np.full((300, 1), 1e9)])
    fitted = classifier(objective=eq.minimize(eq.error_rate()), constraints=[]).fit(constant, y)
    assert (fitted.predict(constant) == y).mean() > 0.97
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        nothing = classifier(objective=eq.minimize(eq.error_rate()), constraints=[eq.tpr() <= 0.0])
        nothing.fit(np.ones((200, 1)), np.arange(200) % 2)
    assert any("for everybody" in note for note in nothing.notes_)


@pytest.mark.slow
def test_a_hundred_thousand_rows_of_two_hundred_features() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100_000, 200)).astype(np.float32)
    group = rng.choice(["a", "b"], len(X))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * (group == "a") + rng.normal(size=len(X)) > 0.7
    constraint = eq.precision(A) >= eq.precision(B) - 0.02
    fitted = classifier(constraints=[constraint])
    fitted.fit(X, y, sensitive_features={"group": group})
    assert fitted.status_.feasible
    assert fitted.status_.objective > 0.6


# -- outputs ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> tuple[eq.RateClassifier, np.ndarray, np.ndarray, pd.DataFrame]:
    X, y, attributes = people(2000)
    estimator = classifier(
        objective=eq.minimize(eq.error_rate()),
        constraints=[abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.05],
    )
    return estimator.fit(X, y, sensitive_features=attributes), X, y, attributes


def test_the_promise_holds_on_the_parts_it_was_made_for(fitted) -> None:
    estimator, X, y, attributes = fitted
    assert estimator.status_.feasible
    assert estimator.evaluate(X, y, sensitive_features=attributes).violation <= 1e-3
    free = classifier(objective=eq.minimize(eq.error_rate()), constraints=[]).fit(X, y)
    gap = abs(eq.positive_rate(A) - eq.positive_rate(B))
    unconstrained = gap.evaluate(y, free.predict_pmf(X)[:, 1], attributes=attributes)
    assert unconstrained > 0.15
    assert gap.evaluate(y, estimator.predict_pmf(X)[:, 1], attributes=attributes) < unconstrained / 2


def test_evaluate_agrees_with_the_expressions(fitted) -> None:
    estimator, X, y, attributes = fitted
    numbers = estimator.evaluate(X, y, sensitive_features=attributes)
    p = estimator.predict_pmf(X)[:, 1]
    assert numbers.objective == pytest.approx(eq.error_rate().evaluate(y, p))
    constraint = estimator.problem_.constraints[0]
    assert numbers.constraints[0].violation == pytest.approx(constraint.evaluate(y, p, attributes=attributes))


def test_stochastic_predictions_follow_the_pmf_and_repeat(fitted) -> None:
    estimator, X, *_ = fitted
    p = estimator.predict_pmf(X)[:, 1]
    estimator.set_params(output="stochastic")
    draws = np.mean([estimator.set_params(random_state=s).predict(X) for s in range(200)], axis=0)
    estimator.set_params(random_state=0)
    assert np.abs(draws - p).max() < 0.2
    np.testing.assert_array_equal(estimator.predict(X), estimator.predict(X))
    with pytest.raises(eq.EquirateError, match='key goes with output="hashed"'):
        estimator.predict(X, key=np.arange(len(X)))
    estimator.set_params(output="hashed")


def test_hashed_decides_each_row_always_the_same_way(fitted) -> None:
    estimator, X, *_ = fitted
    hashed = estimator.set_params(output="hashed")
    decided = hashed.predict(X)
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(hashed.predict(X[order]), decided[order])
    np.testing.assert_array_equal(hashed.predict(X[:7]), decided[:7])
    assert abs(decided.mean() - hashed.predict_pmf(X)[:, 1].mean()) < 0.03


def test_a_decision_function_is_there_where_one_classifier_decides(fitted) -> None:
    estimator, X, y, _ = fitted
    assert not hasattr(estimator, "decision_function")
    single = estimator.to_deterministic()
    assert estimator.output == "hashed"
    assert len(single.weights_) == 1
    assert single.classifier_.origin == "derandomised"
    np.testing.assert_array_equal(single.predict(X), (single.decision_function(X) > 0).astype(int))
    alone = classifier(constraints=[], output="deterministic").fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), (alone.decision_function(X) > 0).astype(int))


def test_other_models() -> None:
    X, y, attributes = people(600)
    tree = classifier(
        model=DecisionTreeClassifier(max_depth=3, random_state=0), n_rounds=15, constraints=[eq.positive_rate() <= 0.3]
    ).fit(X, y)
    assert tree.status_.violation <= 1e-3
    plug_in = classifier(model=eq.models.PlugIn(), n_rounds=50, constraints=[eq.tpr(A) >= eq.tpr(B) - 0.05])
    assert plug_in.fit(X, y, sensitive_features=attributes).predict(X).shape == (600,)


def test_multipliers_on_held_out_data_still_meet_the_constraints() -> None:
    X, y, attributes = people(1500)
    constraint = abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.05
    fitted = classifier(objective=eq.minimize(eq.error_rate()), constraints=[constraint], two_sets=True, validation=0.4)
    fitted.fit(X, y, sensitive_features=attributes)
    assert fitted.parts_["validation"].violation <= 1e-3
    assert fitted.parts_["train"].violation < 0.1


def test_a_confident_promise_keeps_a_margin() -> None:
    X, y, _ = people(2000)
    options = {"constraints": [eq.positive_rate() <= 0.3], "validation": 0.5}
    plain = classifier(**options).fit(X, y)
    careful = classifier(confidence=0.95, **options).fit(X, y)
    assert careful.margin_ > 0
    assert careful.evaluate(X, y).constraints[0].left < plain.evaluate(X, y).constraints[0].left


@pytest.mark.parametrize("game", [{}, GAME], ids=["column generation", "a game"])
def test_weights_apply_to_objective_and_constraints(game: dict[str, object]) -> None:
    X, y, _ = people(1500)
    weights = np.where(X[:, 0] > 0, 5.0, 1.0)  # the likely positives count five times
    fitted = classifier(constraints=[eq.positive_rate() <= 0.3], **game).fit(X, y, sample_weight=weights)
    p = fitted.predict_pmf(X)[:, 1]
    share = eq.positive_rate().evaluate(y, p, sample_weight=weights)
    assert share <= 0.3 + 1e-3
    assert abs(eq.positive_rate().evaluate(y, p) - 0.3) > 0.03  # without weights it is another constraint
    numbers = fitted.evaluate(X, y, sample_weight=weights)
    assert numbers.constraints[0].left == pytest.approx(share)
    assert numbers.objective == pytest.approx(eq.f1().evaluate(y, p, sample_weight=weights))


def test_warm_start_continues_where_column_generation_ended(tmp_path) -> None:
    X, y, _ = people(800)
    options = {"objective": eq.minimize(eq.error_rate()), "constraints": [eq.fnr() <= 0.1]}
    cold = classifier(warm_start=True, **options).fit(X, y)
    cold.save(tmp_path / "model.equirate")
    loaded = eq.load(tmp_path / "model.equirate")
    ended = cold.evaluate(X, y).objective
    loaded.set_params(n_rounds=1).fit(X, y)
    new = classifier(n_rounds=1, **options).fit(X, y)
    assert loaded.history_["objective"][0, 0] < new.history_["objective"][0, 0]
    assert loaded.evaluate(X, y).objective <= ended + 2e-3
    with pytest.raises(ValueError, match="cannot continue"):
        loaded.set_params(**GAME).fit(X, y)
    with pytest.raises(ValueError, match="the previous fit had 4 features, X has 2"):
        loaded.fit(X[:, :2], y)


def test_warm_start_continues_where_the_game_ended(tmp_path) -> None:
    X, y, _ = people(800)
    options = {"objective": eq.minimize(eq.error_rate()), "constraints": [eq.fnr() <= 0.1], "patience": None, **GAME}
    short = classifier(warm_start=True, **{**options, "n_rounds": 20}).fit(X, y)
    short.save(tmp_path / "game.equirate")
    loaded = eq.load(tmp_path / "game.equirate")
    first = loaded.history_["violation"][-1].min()
    loaded.set_params(n_rounds=150).fit(X, y)
    cold = classifier(**{**options, "n_rounds": 20}).fit(X, y)
    # The first recorded round of the continued game is further on than that of a new one.
    assert loaded.history_["violation"][0].min() <= max(first, cold.history_["violation"][0].min()) + 0.05
    assert np.abs(loaded.history_["multipliers"][0] - cold.history_["multipliers"][0]).max() > 1e-6
    with pytest.raises(ValueError, match="cannot continue"):
        loaded.set_params(theta_step=(0.01, 0.03, 0.1)).fit(X, y)
    with pytest.raises(ValueError, match="the previous fit had 4 features, X has 2"):
        loaded.fit(X[:, :2], y)


def test_missing_attributes_are_refused_or_a_group_of_their_own() -> None:
    X, y, attributes = people(600)
    holes = attributes.assign(group=[None if k % 5 == 0 else g for k, g in enumerate(attributes["group"])])
    unknown = eq.attr("group") == "missing"
    with pytest.raises(eq.DataError, match="attribute 'group' has 120 missing values"):
        classifier(constraints=[eq.tpr(A) >= 0.1]).fit(X, y, sensitive_features=holes)
    fitted = classifier(constraints=[eq.positive_rate(unknown) <= 0.2], missing="group")
    fitted.fit(X, y, sensitive_features=holes)
    sizes = {size.slice: size.examples for size in fitted.report(X, y, sensitive_features=holes).last.slices}
    assert sizes["group == 'missing'"] == 120


def test_history_plot() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y, _ = people(400)
    for game in ({}, {**GAME, "n_rounds": 50}):
        axes = classifier(**game).fit(X, y).plot_history()
        assert len(axes) == 3
        assert axes[1].get_ylabel() == "largest violation"
        matplotlib.pyplot.close("all")


def test_an_old_models_predictions_are_read_in_the_labels_of_y() -> None:
    X, y, attributes = people(1200)
    options = {"objective": eq.minimize(eq.error_rate()), "constraints": [eq.churn("old") <= 0.1]}
    plain = classifier(**options).fit(X, y, sensitive_features=attributes)
    turned = classifier(pos_label=0, **options).fit(X, y, sensitive_features=attributes)
    words = attributes.assign(old=np.where(attributes["old"] == 1, "yes", "no"))
    named = classifier(**options).fit(X, np.where(y == 1, "yes", "no"), sensitive_features=words)
    old = attributes["old"].to_numpy()
    for decided in (plain.predict(X), turned.predict(X), (named.predict(X) == "yes").astype(int)):
        assert (decided != old).mean() < 0.14
        assert (decided != y).mean() < 0.35


def test_a_deterministic_output_has_a_status_of_its_own() -> None:
    X, y, _ = people(1500)
    coarse = (X[:, :2] > 0).astype(float)  # four kinds of people: one classifier cannot meet both constraints exactly
    options = {
        "objective": eq.minimize(eq.error_rate()),
        "constraints": [eq.positive_rate() <= 0.35, eq.recall() >= 0.6],
    }
    mixture = classifier(**options, output="stochastic").fit(coarse, y)
    assert mixture.status_.feasible
    single = mixture.to_deterministic()
    achieved = single.evaluate(coarse, y).violation
    assert single.status_.violation == pytest.approx(achieved, abs=1e-6)
    assert single.status_.feasible == (achieved <= 1e-3)
    assert single.parts_["train"].constraints[0].left != mixture.parts_["train"].constraints[0].left


def test_a_group_missing_from_new_data_leaves_the_other_rows() -> None:
    X, y, attributes = people(900)
    fitted = classifier(constraints=[eq.tpr(A) >= 0.1, eq.positive_rate() <= 0.4])
    fitted.fit(X, y, sensitive_features=attributes)
    only_b = (attributes["group"] == "b").to_numpy()
    rows = fitted.evaluate(X[only_b], y[only_b], sensitive_features=attributes[only_b]).constraints
    assert rows[0].verdict == "not measured"
    assert rows[1].verdict in ("pass", "fail", "cannot tell")
    assert "not measured" in str(fitted.report(X[only_b], y[only_b], sensitive_features=attributes[only_b]))


def test_categories_are_not_ordered_by_the_alphabet() -> None:
    X, y, _ = people(600)
    size = pd.Categorical(np.array(["low", "mid", "high"])[np.arange(600) % 3], ["low", "mid", "high"], ordered=True)
    with pytest.raises(eq.DataError, match="'size' holds categories"):
        classifier(constraints=[eq.tpr(eq.attr("size") >= "mid") >= 0.1]).fit(
            X, y, sensitive_features=pd.DataFrame({"size": size})
        )
    fitted = classifier(constraints=[eq.tpr(eq.attr("size").isin(["mid", "high"])) >= 0.1])
    assert fitted.fit(X, y, sensitive_features={"size": size}).report().last.slices[1].examples > 0


def test_divergence_with_best_responses() -> None:
    X, y, _ = people(500)
    for algorithm in ("frank_wolfe", "oracle"):
        fitted = classifier(
            objective=eq.minimize(eq.kl_divergence()), constraints=[], algorithm=algorithm, n_rounds=30, validation=0.0
        ).fit(X, y)
        assert fitted.evaluate(X, y).objective < 0.05


def test_patience_ends_the_play_early() -> None:
    X, y, _ = people(600)
    options = {"objective": eq.minimize(eq.error_rate()), "constraints": [], **GAME, "n_rounds": 2000}
    eager = classifier(patience=2, **options).fit(X, y)
    assert eager.n_rounds_ < 2000
    stubborn = classifier(patience=None, **{**options, "n_rounds": 400}).fit(X, y)
    assert stubborn.n_rounds_ == 400


# -- files ------------------------------------------------------------------------------------------


def test_save_and_load_are_bit_identical(tmp_path, fitted) -> None:
    estimator, X, y, attributes = fitted
    path = tmp_path / "model.equirate"
    estimator.save(path)
    loaded = eq.load(path)
    np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))
    np.testing.assert_array_equal(loaded.predict_pmf(X), estimator.predict_pmf(X))
    assert repr(loaded.problem_) == repr(estimator.problem_)
    assert loaded.evaluate(X, y, sensitive_features=attributes) == estimator.evaluate(
        X, y, sensitive_features=attributes
    )
    assert str(loaded.report()) == str(estimator.report())
    assert loaded.get_params().keys() == estimator.get_params().keys()
    again = tmp_path / "again.equirate"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(estimator)).predict(X), estimator.predict(X))


def test_what_cannot_be_saved_without_pickle_says_so(tmp_path) -> None:
    X, y, _ = people(300)
    tree = classifier(model=DecisionTreeClassifier(max_depth=2), n_rounds=5, constraints=[]).fit(X, y)
    with pytest.raises(ValueError, match="the model holds DecisionTreeClassifier, which cannot be saved"):
        tree.save(tmp_path / "tree.equirate")


# -- frontier and reports ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "parts"),
    [({}, ["train"]), ({**GAME, "n_rounds": 300, "theta_step": 0.05}, ["train", "validation"])],
    ids=["column generation", "a game"],
)
def test_frontier_trades_the_objective_for_the_constraint(game: dict[str, object], parts: list[str]) -> None:
    X, y, attributes = people(1500)
    estimator = classifier(
        objective=eq.minimize(eq.error_rate()),
        constraints=[abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.0],
        **game,
    )
    frontier = estimator.frontier(X, y, sensitive_features=attributes, levels=[0.02, 0.1, 0.3], test=(X, y, attributes))
    rows = frontier.table()
    objective = [row["objective_test"] for row in rows]  # the data that the mixtures were chosen on
    assert objective[0] >= objective[1] - 1e-6 >= objective[2] - 2e-6
    assert rows[0]["violation_test"] <= 0.02 + 1e-3
    assert [name for name in rows[0] if name.startswith("objective_")] == [
        f"objective_{part}" for part in (*parts, "test")
    ]
    assert "level" in str(frontier)
    with pytest.raises(ValueError, match="levels must be finite"):
        estimator.frontier(X, y, sensitive_features=attributes, levels=[])


def test_report_names_what_was_asked_and_what_was_achieved(fitted) -> None:
    estimator, X, y, attributes = fitted
    text = str(estimator.report(X, y, sensitive_features=attributes))
    for part in (
        "minimize error_rate()",
        "abs(positive_rate(group == 'a')",
        "train",
        "test",
        "everybody",
    ):
        assert part in text
    assert "<table>" in estimator.report()._repr_html_()
    verdicts = estimator.certify(X, y, sensitive_features=attributes)
    assert verdicts[0].verdict in ("pass", "fail", "cannot tell")
    assert verdicts[0].low <= verdicts[0].violation <= verdicts[0].high


def test_unfitted_says_so() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        classifier().predict(np.zeros((2, 4)))
