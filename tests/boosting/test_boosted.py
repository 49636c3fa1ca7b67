"""Trees in function space, plug-in rules on trees, oracles of trees: what they promise and what they refuse."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq
from equirate._core import forking, tree_threads
from equirate._core.peers import peers
from equirate.boosting import BoostedProbabilities, BoostedTrees, default_trees, to_lightgbm, to_xgboost
from equirate.boosting.libraries import bins_of
from equirate.data.sample import Given
from equirate.models import Oracle, PlugIn, make_model
from equirate.models.registry import read_members

rng = np.random.default_rng(1)
N = 1600
GROUP = np.where(rng.random(N) < 0.4, "a", "b")
X = rng.normal(size=(N, 4))
X[:, 3] += 1.5 * (GROUP == "a")
Y = (X[:, 0] ** 2 + 0.5 * X[:, 1] + 0.7 * (GROUP == "a") + 0.5 * rng.normal(size=N) > 1.2).astype(int)
PEOPLE = {"group": GROUP}
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
PARITY = [abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.05]
ERROR = eq.minimize(eq.error_rate())
PROBLEM = eq.Problem(ERROR, PARITY)
SMALL = {"n_jobs": 1, "random_state": 0}
LIBRARIES = ("lightgbm", "xgboost")


def gap(estimator: Any, **options: Any) -> float:
    p = estimator.predict_pmf(X, **options)[:, 1]
    return abs(float(p[GROUP == "a"].mean() - p[GROUP == "b"].mean()))


# -- in function space ----------------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_step_is_the_newton_step_of_the_library(library: str) -> None:
    """With the slope and curvature of the log loss, trees that are grown here are those that the library grows."""
    settings = {**SMALL, "n_estimators": 5, "learning_rate": 0.3, "boost_from_average": False}
    settings |= {"max_depth": 3} if library == "xgboost" else {"num_leaves": 8}
    if library == "xgboost":
        settings.pop("boost_from_average")
    bins = bins_of(library, X, settings)
    begin = None if library == "lightgbm" else np.full(N, np.log(Y.mean() / (1 - Y.mean())))
    grower = bins.grower(settings, 0.3, begin)
    for _ in range(5):
        chance = 1 / (1 + np.exp(-grower.scores))
        grower.grow(chance - Y, chance * (1 - chance))
    own, _ = bins.fit(Y, None, 2, settings)
    np.testing.assert_allclose(grower.scores, own.scores(X)[:, 0], atol=1e-4)
    grown = grower.forest().scores(X)[:, 0] + (0.0 if begin is None else begin)
    np.testing.assert_allclose(grown, grower.scores, atol=1e-5)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("problem", [PROBLEM, eq.Problem(eq.maximize(eq.f1()), PARITY)], ids=["affine", "ratio"])
def test_boosted_trees_meet_constraints_with_few_rounds(library: str, problem: eq.Problem) -> None:
    model = BoostedTrees(library, begin=20, **SMALL)
    options = {"theta_step": 0.3, "lambda_step": (0.01, 0.03), "n_rounds": 60, "record_every": 3}
    solution = eq.solve(problem, X, Y, attributes=PEOPLE, model=model, **options)
    mixture = solution.polish()
    assert solution.status.feasible
    judged = mixture.evaluate(problem, X, Y, attributes=PEOPLE)
    assert judged["objective"] == pytest.approx(solution.status.objective, abs=2e-3)
    # what was recorded while growing is what the prefixes decide
    members = solution.members()
    np.testing.assert_allclose(
        solution.judge.rates(solution.judge.cells.sums(members.decide(X))), solution.columns.rates, atol=2e-3
    )


def test_prefixes_share_their_trees() -> None:
    model = BoostedTrees(begin=10, **SMALL)
    solution = eq.solve(
        PROBLEM, X, Y, attributes=PEOPLE, model=model, theta_step=0.3, lambda_step=0.03, n_rounds=30, record_every=1
    )
    members: Any = solution.members()
    assert len(members) == 30
    assert len(members.forest.roots) <= 10 + 29


def test_settings_of_the_library_are_passed_on() -> None:
    rising = BoostedTrees(begin=15, monotone_constraints=[0, 1, 0, 0], **SMALL)
    solution = eq.solve(PROBLEM, X, Y, attributes=PEOPLE, model=rising, theta_step=0.3, lambda_step=0.01, n_rounds=15)
    members = solution.best().members
    line = np.zeros((50, 4))
    line[:, 1] = np.linspace(-3, 3, 50)
    assert (np.diff(members.scores(line)[:, 0]) >= -1e-9).all()


def test_an_estimator_of_boosted_trees(tmp_path: Path) -> None:
    clf = eq.RateClassifier(ERROR, PARITY, model=BoostedTrees(begin=20, **SMALL), n_rounds=30, random_state=0)
    clf.fit(X, Y, sensitive_features=PEOPLE)
    assert clf.status_.violation < 0.02
    assert gap(clf) < 0.25
    clf.save(tmp_path / "model")
    again = eq.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert repr(again.model) == repr(clf.model)


def test_a_surrogate_that_diverges_is_dropped_and_named() -> None:
    model = BoostedTrees(begin=0, reg_lambda=0.0, min_child_samples=1, **SMALL)
    options = {"theta_step": 1e9, "lambda_step": 0.1, "n_rounds": 6, "record_every": 2}
    with pytest.raises(eq.AlgorithmError, match="every configuration diverged by round 2: take smaller steps"):
        eq.solve(PROBLEM, X, Y, attributes=PEOPLE, model=model, **options)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: BoostedTrees("catboost"), "the library must be one of 'lightgbm', 'xgboost'; got 'catboost'"),
        (lambda: BoostedTrees(begin=-1), "begin must be a number of trees"),
        (lambda: BoostedTrees(surrogate="exponential"), "the surrogate must be one of"),
    ],
)
def test_models_that_make_no_sense_are_refused(make: Any, says: str) -> None:
    with pytest.raises(eq.AlgorithmError, match=says):
        make()


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (BoostedTrees(num_leaves=1, **SMALL), "lightgbm refuses the settings"),
        (BoostedTrees("xgboost", max_depth=-3, **SMALL), "xgboost refuses the settings"),
        (BoostedTrees("xgboost", booster="gblinear", **SMALL), "booster='gblinear' is not known here"),
        (BoostedTrees(linear_tree=True, **SMALL), "linear"),
        (BoostedTrees(zero_as_missing=True, **SMALL), "zero_as_missing is not known here"),
    ],
)
def test_settings_that_the_library_or_the_arrays_do_not_know_are_refused(model: Any, says: str) -> None:
    with pytest.raises(eq.AlgorithmError, match=says):
        eq.solve(PROBLEM, X, Y, attributes=PEOPLE, model=model, n_rounds=2)


def test_a_library_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)

    def absent(name: str, *rest: Any) -> Any:
        if name == "lightgbm":
            raise ModuleNotFoundError(name=name)
        return real(name, *rest)

    real = importlib.import_module
    monkeypatch.setattr("equirate.boosting.libraries.importlib.import_module", absent)
    with pytest.raises(ImportError, match=r"lightgbm is not installed: pip install 'equirate\[boosting\]'"):
        eq.solve(PROBLEM, X, Y, attributes=PEOPLE, model=BoostedTrees(), n_rounds=2)


# -- the plug-in rule on trees ----------------------------------------------------------------------


def test_trees_are_a_name_for_the_plug_in_on_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = make_model("trees")
    assert isinstance(model, PlugIn)
    assert model.estimator.library == "lightgbm"
    monkeypatch.setattr("equirate.boosting.defaults.installed", lambda name: False)
    fallback: Any = make_model("trees")
    assert isinstance(fallback.estimator, HistGradientBoostingClassifier)


@pytest.mark.parametrize("library", [*LIBRARIES, "sklearn"])
@pytest.mark.parametrize("groups", [None, "group"])
def test_plug_in_rules_on_trees_keep_their_promise_and_are_saved(library: str, groups: Any, tmp_path: Path) -> None:
    settings = {} if library == "sklearn" else {"n_jobs": 1}
    clf = eq.RateClassifier(ERROR, PARITY, model=default_trees(library, **settings), groups=groups, random_state=0)
    clf.fit(X[:1200], Y[:1200], sensitive_features={"group": GROUP[:1200]})
    assert clf.status_.feasible
    held, people = X[1200:], {"group": GROUP[1200:]}
    given = {} if groups is None else {"sensitive_features": people}
    p = clf.predict_pmf(held, **given)[:, 1]
    assert abs(p[GROUP[1200:] == "a"].mean() - p[GROUP[1200:] == "b"].mean()) < 0.15
    assert np.where(Y[1200:] == 1, 1 - p, p).mean() < 0.3
    if groups is not None:
        with pytest.raises(eq.DataError, match="sensitive_features"):
            clf.predict(held)
    clf.save(tmp_path / "model")
    again = eq.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(held, **given), clf.predict(held, **given))
    for output in ("deterministic", "stochastic"):
        clf.output = again.output = output
        np.testing.assert_array_equal(again.predict(held, **given), clf.predict(held, **given))


def test_rows_are_judged_by_trees_that_have_not_seen_them() -> None:
    """On pure noise, trees fit their own rows and nothing else: the promise must not speak of that."""
    noise = np.random.default_rng(5)
    features, labels = noise.normal(size=(2500, 6)), noise.integers(0, 2, 2500)
    closely = default_trees(n_jobs=1, n_estimators=200, num_leaves=31, min_child_samples=5)
    clf = eq.RateClassifier(ERROR, [eq.positive_rate() <= 0.6], model=closely, random_state=0).fit(features, labels)
    oracle = eq.RateClassifier(
        ERROR, [eq.positive_rate() <= 0.6], model=RandomForestClassifier(20, random_state=0), random_state=0
    ).fit(features, labels)
    for each in (clf, oracle):
        assert each.status_.objective > 0.45
        assert each.parts_["train"].objective == pytest.approx(each.status_.objective, abs=1e-6)
        assert np.mean(each.predict(features) != labels) < 0.25  # what it says of rows that it has seen


def test_missing_features_and_the_same_row_decided_alike() -> None:
    holes = X.copy()
    holes[::7, 1] = np.nan
    clf = eq.RateClassifier(ERROR, PARITY, model=default_trees(n_jobs=1), random_state=0)
    clf.fit(holes, Y, sensitive_features=PEOPLE)
    whole = clf.predict(holes)
    np.testing.assert_array_equal(clf.predict(holes[::7]), whole[::7])
    with pytest.raises(eq.DataError, match="NaN"):
        eq.RateClassifier(ERROR, PARITY).fit(holes, Y, sensitive_features=PEOPLE)
    with pytest.raises(eq.DataError, match="infinite"):
        clf.fit(np.where(np.isnan(holes), np.inf, holes), Y, sensitive_features=PEOPLE)


@pytest.mark.parametrize("library", [*LIBRARIES, "sklearn"])
def test_categories_in_a_frame(library: str, tmp_path: Path) -> None:
    import pandas as pd

    colours = np.array(["red", "green", "blue"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    frame = pd.DataFrame({"colour": pd.Categorical(colours), "p": X[:, 1], "q": X[:, 2]}, index=np.arange(N) + 7)
    frame.loc[frame.index[::9], "colour"] = None
    model = default_trees(library, **({} if library == "sklearn" else {"n_jobs": 1}))
    clf = eq.RateClassifier(ERROR, PARITY, model=model, random_state=0)
    clf.fit(frame, Y, sensitive_features=PEOPLE)
    assert clf.categories_ == {"colour": ["blue", "green", "red"]}
    assert clf.evaluate(frame, Y, sensitive_features=PEOPLE).objective < 0.4
    if library == "sklearn":
        with pytest.raises(eq.FileError, match="over categories"):
            clf.save(tmp_path / "model")
        return
    clf.save(tmp_path / "model")
    again = eq.load(tmp_path / "model")
    strange = frame.assign(colour=["violet"] * N)
    for each in (frame, strange):
        np.testing.assert_array_equal(again.predict(each), clf.predict(each))
    np.testing.assert_array_equal(clf.predict(strange), clf.predict(frame.assign(colour=[None] * N)))
    with pytest.raises(eq.DataError, match="X must be a data frame with the columns 'colour'"):
        clf.predict(X[:, :3])
    with pytest.raises(eq.DataError, match="no column 'colour'"):
        clf.predict(frame.drop(columns="colour"))


def test_categories_are_for_trees_that_split_them() -> None:
    import polars as pl

    frame = pl.DataFrame({"colour": np.where(X[:, 0] > 0, "red", "blue"), "p": X[:, 1]})
    with pytest.raises(eq.DataError, match="'colour'"):
        eq.RateClassifier(ERROR, PARITY).fit(frame, Y, sensitive_features=PEOPLE)
    clf = eq.RateClassifier(ERROR, PARITY, model=BoostedTrees(begin=10, **SMALL), n_rounds=10, random_state=0)
    clf.fit(frame, Y, sensitive_features=PEOPLE)
    assert clf.predict(frame).shape == (N,)
    clf.fit(X, Y, sensitive_features=PEOPLE)
    assert not hasattr(clf, "categories_")


def test_groups_are_for_rules_that_look_them_up() -> None:
    for model in ("linear", RandomForestClassifier()):
        with pytest.raises(eq.EquirateError, match="groups are looked up by plug-in rules"):
            eq.RateClassifier(ERROR, PARITY, model=model, groups="group").fit(X, Y, sensitive_features=PEOPLE)


def test_a_frontier_of_trees_is_one_training() -> None:
    clf = eq.RateClassifier(ERROR, PARITY, model=default_trees(n_jobs=1), random_state=0)
    found = clf.frontier(
        X[:1200],
        Y[:1200],
        sensitive_features={"group": GROUP[:1200]},
        levels=[0.0, 0.1],
        test=(X[1200:], Y[1200:], {"group": GROUP[1200:]}),
    )
    table = found.table()
    assert table[0]["objective_train"] >= table[1]["objective_train"] - 1e-9
    assert set(found.parts) == {"train", "test"}


@pytest.mark.parametrize("method", ["cross", "holdout"])
def test_trees_are_certified(method: str) -> None:
    wide = [abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.3]
    options = {"confidence": 0.9, "confidence_method": method, "random_state": 0}
    clf = eq.RateClassifier(ERROR, wide, model=default_trees(n_jobs=1), **options)
    clf.fit(X, Y, sensitive_features=PEOPLE)
    assert clf.status_.certified is True
    assert gap(clf) < 0.3


# -- oracles -----------------------------------------------------------------------------------------


class Deaf(ClassifierMixin, BaseEstimator):
    """Takes weights and ignores them."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.inner_ = KNeighborsClassifier().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.inner_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.inner_.predict(X)


@pytest.mark.parametrize(
    ("estimator", "says"),
    [
        (Deaf(), "Deaf takes sample_weight and ignores it"),
        (DummyClassifier(strategy="constant", constant=1), "DummyClassifier predicts 1 for everybody"),
    ],
)
def test_oracles_that_do_not_listen_are_noticed(estimator: Any, says: str) -> None:
    with pytest.warns(eq.EquirateWarning, match=says):
        eq.solve(PROBLEM, X, Y, attributes=PEOPLE, model=estimator, n_rounds=2)


def test_a_classifier_without_weights_is_no_oracle() -> None:
    with pytest.raises(eq.AlgorithmError, match=r"does not take sample_weight.*plug-in"):
        eq.RateClassifier(ERROR, PARITY, model=KNeighborsClassifier()).fit(X, Y, sensitive_features=PEOPLE)
    weighted = eq.RateClassifier(ERROR, PARITY, model=PlugIn(KNeighborsClassifier()), random_state=0)
    with pytest.raises(eq.AlgorithmError, match="does not take sample_weight"):
        weighted.fit(X, Y, sensitive_features=PEOPLE, sample_weight=rng.uniform(0.5, 2, N))
    weighted.fit(X, Y, sensitive_features=PEOPLE)


def lightgbm_classifier() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1)


def xgboost_classifier() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=20, n_jobs=1)


def histograms_classifier() -> Any:
    return HistGradientBoostingClassifier(max_iter=20, random_state=0)


@pytest.mark.parametrize(
    "make",
    [
        lightgbm_classifier,
        xgboost_classifier,
        pytest.param(histograms_classifier, marks=pytest.mark.slow),
        lambda: RandomForestClassifier(20, min_samples_leaf=10, random_state=0),
    ],
    ids=["lightgbm", "xgboost", "histograms", "forest"],
)
def test_oracles_of_trees(make: Any) -> None:
    clf = eq.RateClassifier(ERROR, PARITY, model=Oracle(make(), fits=4), random_state=0)
    clf.fit(X, Y, sensitive_features=PEOPLE)
    assert clf.status_.feasible
    assert gap(clf) < 0.15
    assert clf.n_rounds_ <= 100


@pytest.mark.parametrize(
    "make",
    [lightgbm_classifier, xgboost_classifier, pytest.param(histograms_classifier, marks=pytest.mark.slow)],
    ids=[*LIBRARIES, "histograms"],
)
def test_oracles_beside_plug_in_rules_are_saved(make: Any, tmp_path: Path) -> None:
    clf = eq.RateClassifier(ERROR, PARITY, model=Oracle(make(), fits=4), random_state=0)
    clf.fit(X, Y, sensitive_features=PEOPLE)
    clf.save(tmp_path / "model")
    again = eq.load(tmp_path / "model")
    for output in ("hashed", "deterministic", "stochastic"):
        clf.output = again.output = output
        np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    training, _ = clf._training(peers(), Given(X, Y, PEOPLE))
    everything = training.solve_on_training()[0].members().map(training.prepared.serve)
    rules, fits = everything.parts
    assert len(rules) > 2  # more than the constant classifiers
    assert len(fits.fitted) > 0
    first = int(np.flatnonzero(everything.order >= len(rules))[0])
    assert len(everything.take([first]).forests()) == 1  # to be handed over to a library
    with pytest.raises(eq.AlgorithmError, match="not ensembles of trees"):
        everything.forests()
    np.testing.assert_array_equal(read_members(everything.plain(X.shape[1])).decide(X), everything.decide(X))


def test_settings_of_a_library_are_saved_by_name_and_others_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from lightgbm import LGBMClassifier

    from equirate.models import scikit

    plain = scikit.plain_learner(LGBMClassifier(n_estimators=7, max_bin=63))
    assert plain == {"LGBMClassifier": {"n_estimators": 7, "max_bin": 63}}
    assert scikit.read_learner(plain).get_params()["max_bin"] == 63
    assert scikit.plain_learner(xgboost_classifier()) == {"XGBClassifier": {"n_estimators": 20, "n_jobs": 1}}
    with pytest.raises(eq.FileError, match="knows no setting 'forcedsplits_filename' of LGBMClassifier"):
        scikit.plain_learner(LGBMClassifier(forcedsplits_filename="secret"))
    with pytest.raises(eq.FileError, match="knows no setting 'input_model' of LGBMClassifier"):
        scikit.read_learner({"LGBMClassifier": {"input_model": "secret"}})
    monkeypatch.setitem(scikit.LEARNERS, "LGBMClassifier", "gone")
    with pytest.raises(eq.FileError, match=r"gone is not installed: pip install 'equirate\[boosting\]'"):
        scikit.read_learner(plain)


def test_folds_of_several_classes_are_trained_as_all_rows_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half as many trees with twice the learning rate lose a rare class."""
    from equirate.boosting import light

    trained = []
    real = light.LightBins.fit
    monkeypatch.setattr(light.LightBins, "fit", lambda self, *a: (trained.append(a[3]), real(self, *a))[1])
    labels = Y + (X[:, 1] > 1)
    for y, steps in ((labels[:600], 1), (Y[:600], 2)):
        trained.clear()
        eq.RateClassifier(ERROR, model=default_trees("lightgbm", n_jobs=1), random_state=0).fit(X[:600], y)
        rates = [settings.get("learning_rate", 0.1) for settings in trained]
        assert rates == pytest.approx([0.1 * steps] * 5 + [0.1])


def test_bins_are_made_once_for_all_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    from equirate.boosting import light

    made = []
    real = light.LightBins.of
    monkeypatch.setattr(light.LightBins, "of", classmethod(lambda cls, *a: (made.append(1), real(*a))[1]))
    clf = eq.RateClassifier(ERROR, PARITY, model=Oracle(lightgbm_classifier(), fits=5), random_state=0)
    clf.fit(X, Y, sensitive_features=PEOPLE)
    assert len(made) == 2  # one for the probabilities, one for all answers
    made.clear()
    trees = default_trees("lightgbm", **SMALL, n_estimators=5)
    clf = eq.RateClassifier(ERROR, eq.demographic_parity("group", tolerance=0.1), model=trees, random_state=0)
    clf.fit(X[:600], (Y + (X[:, 1] > 1))[:600], sensitive_features={"group": GROUP[:600]})
    assert len(made) == 1  # those of three classes and of the groups


@pytest.mark.parametrize(
    ("algorithm", "said"), [("auto", "interrupted after 2 passes"), ("oracle", "interrupted after 2 of 50 rounds")]
)
def test_an_interrupted_oracle_keeps_what_there_is(algorithm: str, said: str) -> None:
    calls = []

    def stop(_: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    options = {"algorithm": algorithm, "n_rounds": 50, "progress": stop}
    with pytest.warns(eq.NotSolvedWarning, match=said):
        solution = eq.solve(PROBLEM, X, Y, attributes=PEOPLE, model=lightgbm_classifier(), **options)
    assert solution.interrupted
    assert solution.rounds == 2
    assert len(solution.members()) == len(solution.columns) >= 2


def test_probabilities_by_name_are_no_classifier_of_their_own() -> None:
    with pytest.raises(NotImplementedError):
        BoostedProbabilities().predict_proba(X)


# -- handed over to the library ------------------------------------------------------------------------


@pytest.mark.parametrize("begin", [0, 12])
def test_a_single_ensemble_is_handed_over_to_lightgbm(begin: int) -> None:
    holes = X.copy()
    holes[::5, 0] = np.nan
    holes[:, 2] = np.floor(np.abs(10 * holes[:, 2]))
    model = BoostedTrees(begin=begin, categorical_feature=[2], **SMALL)
    best = eq.solve(
        PROBLEM, holes, Y, attributes=PEOPLE, model=model, theta_step=0.3, lambda_step=0.01, n_rounds=20
    ).best()
    scores = to_lightgbm(best).predict(holes, raw_score=True)
    np.testing.assert_allclose(scores, best.members.scores(holes)[:, 0], atol=1e-12)


def test_a_single_ensemble_is_handed_over_to_xgboost() -> None:
    import xgboost

    best = eq.solve(
        PROBLEM,
        X,
        Y,
        attributes=PEOPLE,
        model=BoostedTrees("xgboost", begin=8, **SMALL),
        theta_step=0.3,
        lambda_step=0.01,
        n_rounds=20,
    ).best()
    scores = to_xgboost(best).predict(xgboost.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(scores, best.members.scores(X)[:, 0], atol=1e-5)
    with pytest.raises(eq.AlgorithmError, match="use to_xgboost"):
        to_lightgbm(best)


def test_an_oracle_is_handed_over_with_its_threshold() -> None:
    best = eq.solve(PROBLEM, X, Y, attributes=PEOPLE, model=lightgbm_classifier(), n_rounds=3).best()
    np.testing.assert_array_equal(to_lightgbm(best).predict(X, raw_score=True) > 0, best.members.decide(X)[:, 0])


def test_only_a_single_ensemble_is_handed_over() -> None:
    limit = eq.Problem(ERROR, [eq.positive_rate() <= 0.1234])  # between two thresholds
    mixture = eq.solve(limit, X, Y, model="trees", n_rounds=10).polish()
    with pytest.raises(eq.AlgorithmError, match="only a single ensemble"):
        to_lightgbm(mixture)
    with pytest.raises(eq.AlgorithmError, match="not all of these classifiers are trees"):
        to_lightgbm(eq.solve(PROBLEM, X, Y, attributes=PEOPLE, model=RandomForestClassifier(5), n_rounds=2).best())


# -- threads and processes ------------------------------------------------------------------------

LOOSE = [abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.5]


@pytest.mark.parametrize("model", ["trees", *LIBRARIES])
def test_the_model_does_not_depend_on_the_number_of_threads(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_threads, "MIN_PARALLEL_ROWS", 0)
    written = []
    for number in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", number)
        made: Any = "trees" if model == "trees" else BoostedTrees(model, begin=5)
        clf = eq.RateClassifier(ERROR, LOOSE, model=made, n_rounds=2, random_state=0)
        clf.fit(X[:400], Y[:400], sensitive_features={"group": GROUP[:400]}).save(tmp_path / number)
        written.append((tmp_path / number).read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize("library", [*LIBRARIES, "scikit-learn"])
def test_a_fit_that_would_hang_after_a_fork_is_refused(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "_user", os.getpid() + 1)  # the parent
    monkeypatch.setattr(tree_threads, "MIN_PARALLEL_ROWS", 0)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    model: Any = (
        PlugIn(HistGradientBoostingClassifier(max_iter=2))
        if library == "scikit-learn"
        else BoostedTrees(library, begin=2)
    )
    clf = eq.RateClassifier(ERROR, LOOSE, model=model, n_rounds=2)
    with pytest.raises(eq.ProcessError, match=r'forked after trees were trained.*"spawn".*OMP_NUM_THREADS=1'):
        clf.fit(X, Y, sensitive_features=PEOPLE)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    clf.fit(X[:300], Y[:300], sensitive_features={"group": GROUP[:300]})


LINE = LogisticRegression()
AROUND_TREES: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda trees: trees,
    "a pipeline": lambda trees: make_pipeline(StandardScaler(), trees),
    "voting": lambda trees: VotingClassifier([("line", LINE), ("trees", trees), ("none", "drop")], voting="soft"),
    "stacking": lambda trees: StackingClassifier([("trees", trees), ("line", LINE)], cv=2),
    "stacking at the end": lambda trees: StackingClassifier([("line", LINE)], final_estimator=trees, cv=2),
}


@pytest.mark.parametrize("around", AROUND_TREES)
def test_a_postprocessor_that_would_hang_after_a_fork_is_refused(around: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_threads, "MIN_PARALLEL_ROWS", 0)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    estimator = AROUND_TREES[around](HistGradientBoostingClassifier(max_iter=2))
    post = eq.RatePostprocessor(estimator, ERROR, LOOSE)
    monkeypatch.setattr(forking, "_user", None)
    post.fit(X[:300], Y[:300], sensitive_features={"group": GROUP[:300]})
    assert forking._user == os.getpid()
    monkeypatch.setattr(forking, "_user", os.getpid() + 1)  # the parent
    with pytest.raises(eq.ProcessError, match=r"forked after trees were trained.*OMP_NUM_THREADS=1"):
        clone(post).fit(X[:300], Y[:300], sensitive_features={"group": GROUP[:300]})
    with pytest.raises(eq.ProcessError, match="forked after trees were trained"):
        post.predict(X[:300])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    post.predict(X[:300])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals as shells send them")
def test_a_forked_child_is_told_and_one_of_a_parent_without_trees_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "_user", None)

    def refused() -> bool:
        child = os.fork()
        if not child:
            try:
                forking.use_openmp("lightgbm", 2)
            except eq.ProcessError:
                os._exit(1)
            os._exit(0)
        return bool(os.waitpid(child, 0)[1])

    assert not refused()
    forking.use_openmp("lightgbm", 1)
    assert not refused()
    forking.use_openmp("lightgbm", 2)
    assert refused()


def test_trees_that_part_missing_values_from_all_others_are_saved(tmp_path: Path) -> None:
    """LightGBM writes an infinite threshold there, which no file may hold."""
    given = rng.normal(size=(400, 1))
    given[::2] = np.nan
    label = np.isnan(given[:, 0]).astype(int)
    model = default_trees("lightgbm", n_estimators=3)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), model=model, random_state=0).fit(given, label)
    assert (clf.predict(given) == label).all()
    clf.save(tmp_path / "model.equirate")
    assert (eq.load(tmp_path / "model.equirate").predict(given) == label).all()
