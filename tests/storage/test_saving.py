"""Fitted estimators as plain data: every model that numbers tell is saved, what is forged is refused by name."""

import inspect
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate.estimators.loading import restored
from equirate.models import Linear, Oracle, PlugIn
from equirate.models.members import Written
from equirate.models.registry import read_members
from equirate.storage import container, manifests

N = 600
RNG = np.random.default_rng(0)
GROUP = RNG.choice(["a", "b"], N)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + 0.7 * (GROUP == "a") + 0.7 * RNG.normal(size=N) > 0.5).astype(int)
PEOPLE = pd.DataFrame({"group": GROUP})
A = eq.attr("group") == "a"
ERROR, LIMIT = eq.minimize(eq.error_rate()), [eq.positive_rate(A) <= 0.3]


def fitted(constraints: Any = LIMIT, objective: Any = ERROR, **options: Any) -> eq.RateClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        return eq.RateClassifier(objective, constraints, random_state=0, **options).fit(X, Y, sensitive_features=PEOPLE)


@pytest.fixture(scope="module")
def content() -> tuple[container.Manifest, container.Arrays]:
    """Manifest and arrays of a mixture, whose deterministic output is one of its iterates."""
    return fitted(n_rounds=12, theta_step=0.1, lambda_step=(0.03, 0.1))._plain()


# -- what is saved --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        Linear(penalty=0.01, standardise=True),
        Linear(intercept=False),
        LogisticRegression(C=0.5),
        LinearSVC(C=0.1),
        Oracle(RidgeClassifier()),
        PlugIn(),
        PlugIn(LogisticRegression(C=0.1, max_iter=300)),
    ],
    ids=["linear", "no intercept", "logistic oracle", "svm oracle", "ridge oracle", "plug-in", "plug-in, own"],
)
def test_every_model_that_numbers_tell_is_saved(tmp_path: Path, model: Any) -> None:
    estimator = fitted(model=model)
    estimator.save(tmp_path / "model")
    loaded = eq.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))
    np.testing.assert_allclose(loaded.predict_pmf(X), estimator.predict_pmf(X), atol=1e-12)
    assert repr(loaded.model) == repr(estimator.model)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    with pytest.raises(ValueError, match="features"):
        loaded.predict(X[:, :2])


def test_probabilities_of_many_cells_are_those_of_scikit_learn(tmp_path: Path) -> None:
    third = eq.attr("third") == 1
    people = {**PEOPLE, "third": np.arange(len(Y)) % 3 == 1}
    estimator = eq.RateClassifier(ERROR, [eq.tpr(A) >= 0.5, eq.tpr(third) >= 0.5], model=PlugIn(), random_state=0)
    estimator.fit(X, Y, sensitive_features=people)
    posterior = estimator.members_.posterior
    assert posterior.groups.coef_.shape[0] == len(posterior.groups.classes_) > 2
    estimator.save(tmp_path / "model")
    again = eq.load(tmp_path / "model").members_.posterior
    np.testing.assert_allclose(again(X, None), posterior(X, None), atol=1e-14)


def test_a_mixture_of_constants_is_saved(tmp_path: Path) -> None:
    estimator = fitted([], eq.minimize(eq.positive_rate()), model=LogisticRegression())
    estimator.save(tmp_path / "model")
    assert not eq.load(tmp_path / "model").predict_pmf(X)[:, 1].any()


def test_members_that_look_groups_up_are_saved() -> None:
    problem = eq.Problem(ERROR, [eq.positive_rate(A) <= 0.3, eq.tpr(~A) >= 0.5])
    members = eq.solve(problem, X, Y, attributes=PEOPLE, model=PlugIn(group_aware=True), n_rounds=12).polish().members
    written = members.plain(3)
    back = read_members(Written(written.kind, json.loads(json.dumps(written.settings)), written.arrays))
    np.testing.assert_array_equal(back.decide(X, attributes=PEOPLE), members.decide(X, attributes=PEOPLE))
    alike = np.zeros_like(written.arrays["bits"])
    with pytest.raises(eq.FileError, match="do not fit together"):
        read_members(written._replace(arrays={**written.arrays, "bits": alike}))


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (DecisionTreeClassifier(max_depth=2), "DecisionTreeClassifier"),
        (PlugIn(DecisionTreeClassifier(max_depth=2)), "DecisionTreeClassifier"),
        ([lambda X: X[:, 0], DecisionTreeClassifier().fit(X, Y)], "list"),
        (LogisticRegression(class_weight={0: 1.0, 1: 2.0}), "LogisticRegression.class_weight"),
    ],
    ids=["tree", "plug-in", "list", "setting"],
)
def test_what_only_pickle_keeps_is_refused_before_anything_is_written(tmp_path: Path, model: Any, named: str) -> None:
    with pytest.raises(eq.FileError, match=named):
        fitted(model=model).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_list_of_linear_classifiers_writes_itself() -> None:
    lines = [LogisticRegression().fit(X, Y), LinearSVC().fit(X, Y)]
    members = (
        eq.solve(eq.Problem(ERROR, []), X, Y, attributes=PEOPLE, model=lines, algorithm="oracle", n_rounds=5)
        .uniform()
        .members
    )
    back = read_members(members.plain(3))
    np.testing.assert_array_equal(back.decide(X), members.decide(X))
    tree = eq.solve(
        eq.Problem(ERROR, []), X, Y, attributes=PEOPLE, model=[DecisionTreeClassifier().fit(X, Y)], n_rounds=5
    )
    with pytest.raises(eq.FileError, match="the model holds DecisionTreeClassifier"):
        tree.best().members.plain(3)


def test_attributes_that_not_every_estimator_has_are_kept(tmp_path: Path) -> None:
    estimator = fitted()
    estimator.salt_ = 2**63
    estimator.save(tmp_path / "model")
    assert eq.load(tmp_path / "model").salt_ == 2**63
    estimator.salt_ = -1
    with pytest.raises(eq.FileError, match="salt must be a whole number"):
        estimator.save(tmp_path / "model")


@pytest.mark.parametrize("kind", [eq.RateClassifier, eq.RatePostprocessor])
def test_every_setting_has_a_rule(kind: type) -> None:
    """A new one may have any plain value until it gets a rule of its own."""
    assert set(inspect.signature(kind).parameters) - set(manifests._SETTINGS) <= {"estimator"}


# -- what is forged -------------------------------------------------------------------------------


def refused(manifest: Any, arrays: Any) -> str:
    with pytest.raises(eq.EquirateError) as caught:
        restored(manifest, dict(arrays))
    assert caught.value.__cause__ is None
    return str(caught.value)


def changed(value: Any, path: str, new: Any) -> Any:
    """A copy of nested data with another value at a path such as ``problem.constraints``."""
    first, _, rest = path.partition(".")
    if isinstance(value, list):
        return [changed(part, rest, new) if str(k) == first and rest else part for k, part in enumerate(value)]
    return {**value, first: changed(value[first], rest, new) if rest else new}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("problem.constraints", ["f1() >= 0.5"] * 20_000, "a list of 0 to 4096 entries; it is a list of 20000"),
        ("problem.constraints", ["f1() >= 0.5 + " + " + ".join(["0.25"] * 2000)] * 100, "524288 characters"),
        ("problem.constraints", ["f1()"], "is not a constraint"),
        ("problem.objective", "f1() >= 1", "is not an objective"),
        ("problem.objective", "x" * 30_000, "a text of at most 20000 characters"),
        ("settings.n_rounds", 1.5, "must be null or a whole number"),
        ("settings.n_rounds", True, "must be null or a whole number"),
        ("settings.random_state", 2**300, "a whole number of 301 bits"),
        ("settings.output", "other", "must be one of 'stochastic', 'deterministic', 'hashed'"),
        ("settings.tolerance", float("nan"), "must be a finite number"),
        ("settings.surprise", 1, "does not know: upgrade equirate"),
        ("settings.model", {"linear": {"radius": -1.0}}, "the radius of Linear must be positive"),
        ("settings.model", {"linear": {"surprise": 1.0}}, "upgrade equirate"),
        ("settings.model", {"plug_in": {"estimator": {"os": {}}}}, "the estimator of a model must be one of"),
        ("settings.model", {"LogisticRegression": {"surprise": 1}}, "knows no setting 'surprise'"),
        ("settings.model", "other", "the model must be 'linear'"),
        ("classes.dtype", "<U500000000", "must be a text of at most 10"),
        ("classes.dtype", "<U999999", "are not read"),
        ("classes.dtype", "|O", "are not read"),
        ("classes.dtype", "|b1", "not different ones"),
        ("classes.dtype", "<U1", "not different ones"),
        ("classes.values", [1, 1], "not different ones"),
        ("classes.values", [0, "1"], "not different ones"),
        ("classes.values", [0], "a list of 2 to 1000 entries"),
        ("classes.values", [0, 1, 2], "y has 3 classes"),
        ("features.count", 0, "from 1 to"),
        ("features.count", 4, "wants 3 features, the classifier has 4"),
        ("features.names", ["a"], "1 names for 3 features"),
        ("outputs.stochastic.kind", "forest", "'forest' are not known to this equirate"),
        ("outputs.stochastic.kind", "torch", "has no 'names'"),
        ("outputs.stochastic.settings", {"intercept": 1}, "intercept must be true or false"),
        ("outputs.stochastic.settings", {}, "has no 'intercept'"),
        ("outputs.other", {}, "upgrade equirate"),
        ("statuses.stochastic.feasible", "yes", "must be true or false"),
        ("statuses.stochastic.advice", [1], r"advice[0] must be a text"),
        ("evaluations.stochastic.train.constraints", [], "0 of 1 constraints were evaluated"),
        ("evaluations.stochastic", {}, "evaluated on no data"),
        ("margin", float("inf"), "margin must be a finite number"),
        ("margin", 10**400, "margin must be a finite number"),
        ("n_rounds", -1, "must be a whole number"),
        ("notes", ["\ud800"], "must be a text"),
        ("notes", None, "must be a list"),
        ("salt", 2**63 + 1, "must be a whole number from 0 to"),
        ("surprise", 1, "upgrade equirate"),
    ],
)
def test_a_forged_manifest_is_refused(content: Any, path: str, value: Any, message: str) -> None:
    manifest, arrays = content
    found = refused(changed(manifest, path, value), arrays)
    assert message in found


def test_an_output_that_the_estimator_does_not_have_is_refused() -> None:
    made = eq.RatePostprocessor(LogisticRegression(), ERROR, [eq.positive_rate() <= 0.4], cv=2).fit(X, Y)
    manifest, arrays = made._plain()
    assert "must be one of 'stochastic', 'hashed'" in refused(
        changed(manifest, "settings.output", "deterministic"), arrays
    )


def test_labels_of_one_byte_are_not_cut(content: Any) -> None:
    manifest, arrays = content
    classes = {"values": [0, 300], "dtype": "|u1"}
    assert "not of the type '|u1'" in refused({**manifest, "classes": classes}, arrays)


@pytest.mark.parametrize("name", ["stochastic.weights", "stochastic.members.coefficients", "end.parameters"])
def test_a_missing_array_is_refused(content: Any, name: str) -> None:
    manifest, arrays = content
    assert "array" in refused(manifest, {other: arrays[other] for other in arrays if other != name})


@pytest.mark.parametrize(
    "weights",
    [
        [0.5, 0.5 + 3e-9],
        [2.0, -1.0],
        [np.nan, 1.0],
        [1e308, 1e308],
        [np.inf, 0.0],
        [0.0, 0.0],
        [],
        [[0.5, 0.5]],
        [1, 0],
        np.array([0.5, 0.5], np.float32),
        np.full(100_001, 1 / 100_001),
    ],
)
def test_weights_are_a_distribution(content: Any, weights: Any) -> None:
    manifest, arrays = content
    W = np.ones((4, 2))
    good = {**arrays, "stochastic.members.coefficients": W}
    restored(manifest, {**good, "stochastic.weights": np.array([0.25, 0.75])})
    assert "weights" in refused(manifest, {**good, "stochastic.weights": np.asarray(weights)})


def test_arrays_must_fit_together(content: Any) -> None:
    manifest, arrays = content
    name = "deterministic.members.coefficients"
    for shape in ((4, 2), (4,), (5, 1), (0, 1), (4, 1, 1)):
        refused(manifest, {**arrays, name: np.ones(shape)})
    for W in (np.full((4, 1), np.nan), np.ones((4, 1), int)):
        refused(manifest, {**arrays, name: W})
    two = {**arrays, name: np.ones((4, 2)), "deterministic.weights": np.array([0.5, 0.5])}
    assert "deterministic output is a mixture" in refused(manifest, two)
    assert "does not know" in refused(manifest, {**arrays, "surprise": np.ones(2)})
    assert "do not fit together" in refused(manifest, {**arrays, "end.multipliers": np.ones((1, 7))})
    assert "same rounds" in refused(manifest, {**arrays, "history.round": np.ones(77)})
