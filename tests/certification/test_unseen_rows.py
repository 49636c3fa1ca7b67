"""What is certified is tested on rows that nothing was trained on: labels that features say nothing about tell."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import equirate as eq

N = 300
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 8)).astype(np.float32), RNG.integers(0, 2, N)


def boosted() -> dict[str, Any]:
    pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    from equirate.boosting import BoostedTrees

    return {"model": BoostedTrees(begin=10, n_jobs=1), "n_rounds": 10}


def network(**settings: Any) -> dict[str, Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from equirate.torch import TorchModel

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 200), torch.nn.ReLU(), torch.nn.Linear(200, 1))
    return {"model": TorchModel(module, learning_rate=0.05, batch_size=64), **settings}


MODELS: dict[str, Callable[[], dict[str, Any]]] = {
    "linear": dict,
    "plug-in": lambda: {"model": eq.models.PlugIn(LogisticRegression())},
    "game on two sets": lambda: {"algorithm": "surrogate", "two_sets": True, "validation": 0.4, "n_rounds": 30},
    "boosted trees": boosted,
    "network": lambda: network(n_rounds=20),
    "network that ends early, nothing held out": lambda: network(n_rounds=40, validation=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_noise_is_not_certified(name: str) -> None:
    settings = MODELS[name]()
    wanted = eq.accuracy() >= 0.55
    clf = eq.RateClassifier(eq.maximize(eq.recall()), [wanted], confidence=0.9, random_state=0, **settings)
    with pytest.warns(eq.NotSolvedWarning):
        clf.fit(X, Y)
    assert clf.status_.certified is False
    assert clf.certification_.constraints[0].left == pytest.approx(0.5, abs=0.09)  # three standard errors


SCORE = eq.tpr() - eq.fpr() >= 0.15
OBJECTIVE = eq.maximize(eq.accuracy())


def test_probabilities_of_seen_rows_are_refused() -> None:
    model = eq.models.PlugIn(RandomForestClassifier(10), folds=1)
    with pytest.raises(eq.AlgorithmError, match=r"with folds=1 .* leave folds out"):
        eq.RateClassifier(OBJECTIVE, [SCORE], model=model, confidence=0.9, random_state=0).fit(X, Y)
    clf = eq.RateClassifier(
        OBJECTIVE, [SCORE], model=model, confidence=0.9, confidence_method="holdout", random_state=0
    )
    with pytest.warns(eq.NotSolvedWarning):
        assert clf.fit(X, Y).status_.certified is False


def test_a_confident_fit_does_not_continue_from_one_that_saw_its_test() -> None:
    wide = np.random.default_rng(1).normal(size=(N, 200))
    clf = eq.RateClassifier(
        OBJECTIVE, [SCORE], algorithm="proxy_lagrangian", n_rounds=200, warm_start=True, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(wide, Y)
        clf.set_params(confidence=0.9, confidence_method="holdout").fit(wide, Y)
    assert clf.status_.certified is False
    assert clf.certification_.constraints[0].left == pytest.approx(0.0, abs=0.25)


@pytest.mark.parametrize("frozen", [False, True])
def test_classifiers_that_were_trained_elsewhere_are_named(frozen: bool) -> None:
    forest = RandomForestClassifier(10, random_state=0).fit(X, Y)  # on the same rows
    model = eq.models.PlugIn(FrozenEstimator(forest)) if frozen else [forest]
    clf = eq.RateClassifier(OBJECTIVE, [SCORE], model=model, confidence=0.9, random_state=0).fit(X, Y)
    assert any("used as they were given" in note for note in clf.notes_)
    plain = eq.RateClassifier(OBJECTIVE, [SCORE], confidence=0.9, random_state=0)
    with pytest.warns(eq.NotSolvedWarning):
        assert not any("used as they were given" in note for note in plain.fit(X, Y).notes_)


def test_folds_that_test_rows_they_train_on_are_refused() -> None:
    everything = np.arange(N)
    post = eq.RatePostprocessor(LogisticRegression(), OBJECTIVE, [SCORE], cv=[(everything, everything)])
    with pytest.raises(eq.DataError, match="cv puts rows into training and test at once"):
        post.fit(X, Y)


def test_a_certified_fit_of_several_classes_is_saved(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 400)
    Z = rng.normal(size=(400, 4))
    Z[:, 0] += y
    clf = eq.RateClassifier(
        eq.maximize(eq.balanced_accuracy()), [eq.coverage(0) <= 0.45], confidence=0.9, random_state=0
    ).fit(Z, y)
    assert clf.status_.certified
    clf.save(tmp_path / "model.equirate")
    np.testing.assert_array_equal(eq.load(tmp_path / "model.equirate").predict(Z), clf.predict(Z))


@pytest.mark.parametrize("kind", ["plug-in", "post-processor"])
def test_what_serves_is_what_was_tested(kind: str) -> None:
    rng = np.random.default_rng(0)

    def sample(rows: int) -> tuple[Any, Any]:
        Z = rng.normal(size=(rows, 8))
        return Z, (Z[:, 0] + Z[:, 1] + 1.5 * rng.normal(size=rows) > 1.4).astype(int)

    shrunk = LogisticRegression(C=1e-4)  # its scores have another scale with other numbers of rows
    settings: dict[str, Any] = {"confidence": 0.95, "random_state": 0}
    limit, recall = [eq.positive_rate() <= 0.2], eq.maximize(eq.recall())
    if kind == "plug-in":
        clf = eq.RateClassifier(recall, limit, model=eq.models.PlugIn(shrunk), **settings)
    else:
        clf = eq.RatePostprocessor(shrunk, recall, limit, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        clf.fit(*sample(3000))
    tested, served = clf.certification_.constraints[0].left, clf.predict_pmf(sample(50_000)[0])[:, 1].mean()
    assert served == pytest.approx(tested, abs=0.03)  # it was off by .04 and more
    assert served <= 0.2 or not clf.status_.certified


def test_copies_of_rows_are_noticed() -> None:
    twice = np.concatenate([X, X]), np.concatenate([Y, Y])
    settings: dict[str, Any] = {"confidence": 0.9, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        copied = eq.RateClassifier(OBJECTIVE, [SCORE], **settings).fit(*twice)
        named = eq.RateClassifier(OBJECTIVE, [SCORE], **settings).fit(*twice, clusters=np.tile(np.arange(N), 2))
        coarse = np.round(X[:, :1])  # equal rows of other people, with other labels
        alike = eq.RateClassifier(OBJECTIVE, [SCORE], **settings).fit(coarse, Y)
    assert [any("copies made by oversampling" in note for note in clf.notes_) for clf in (copied, named, alike)] == [
        True,
        False,
        False,
    ]


def test_without_constraints_no_rows_are_kept_for_a_test() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    asked = {"confidence": 0.95, "confidence_method": "holdout"}
    kept, plain = (eq.RateClassifier(eq.maximize(eq.accuracy()), random_state=0, **more) for more in (asked, {}))
    assert (kept.fit(X, y).predict(X) == plain.fit(X, y).predict(X)).all()
    assert sum(part.slices[0].examples for part in kept.parts_.values()) == 400
