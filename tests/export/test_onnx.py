"""An ONNX model decides every row as Python does, or is not written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnxruntime

import equirate as eq
from equirate.export import checking, graph
from equirate.export.checking import check, run
from equirate.export.members import of_members
from equirate.export.model import Export
from equirate.game.classifiers import Classifier
from equirate.models.derandomised import Derandomised
from equirate.models.finite import FiniteMembers
from equirate.models.forest_members import ForestMembers
from equirate.models.forests import Boosted, Forest
from equirate.models.linear_members import LinearMembers
from equirate.models.members import Members
from equirate.models.plug_in_rules import PlugInMembers
from equirate.models.posterior import Posterior, Signatures
from equirate.models.side_by_side import SideBySide
from equirate.models.sklearn_classifiers import Logistic
from equirate.models.thresholds import GivenScores, ThresholdMembers, Thresholds

WIDTH, ROWS = 5, 3000


def random_forest(rng: np.random.Generator, trees: int = 40, scores: int = 1, single: bool = False) -> Forest:
    """Trees of three levels with numbers, sets of categories (feature 0) and both ways for missing values."""
    parts = []
    for _ in range(trees):
        coded = rng.random(7) < 0.3
        feature = np.where(coded, 0, rng.integers(1, WIDTH, 7)).astype(np.int32)
        threshold = rng.choice([0.1, 0.25, -0.7, 1 / 3], 7)
        threshold = threshold.astype(np.float32).astype(float) if single else threshold
        sets = rng.integers(0, 2**32, size=(7, 3), dtype=np.uint32) * (rng.random((7, 3)) < 0.7)
        own = np.arange(15, dtype=np.int32)
        inner = own < 7
        parts.append(
            Forest(
                feature=np.concatenate([feature, np.zeros(8, np.int32)]),
                threshold=np.concatenate([np.where(coded, 0.0, threshold), np.zeros(8)]),
                left=np.where(inner, 2 * own + 1, own).astype(np.int32),
                right=np.where(inner, 2 * own + 2, own).astype(np.int32),
                value=np.concatenate([np.zeros(7), rng.normal(size=8)]),
                default_left=np.where(inner, rng.integers(0, 2, 15), 0).astype(np.uint8),
                category=np.where(inner, np.append(np.where(coded, np.arange(7), -1), [-1] * 8), -1).astype(np.int32),
                starts=(3 * np.arange(8)).astype(np.int32),
                words=sets.astype(np.uint32).reshape(-1),
                roots=np.zeros(1, np.int32),
                column=np.zeros(1, np.int32),
                offset=rng.normal(size=1) / trees,
                single=single,
                width=WIDTH,
            )
        )
    return Forest.concatenate(parts, [np.array([k % scores], np.int32) for k in range(trees)])


def linear(rng: np.random.Generator, dtype: Any = np.float64, members: int = 3) -> LinearMembers:
    return LinearMembers(rng.normal(size=(WIDTH + 1, members)).astype(dtype))


def one_group(groups: int = 1) -> Signatures:
    sex = eq.attr("sex") == "F"
    bits = np.array([[False], [True]])[:groups]
    return Signatures((sex,), (), bits, np.zeros(1, bool), np.full(groups, 1 / groups))


def plug_in(rng: np.random.Generator, groups: int = 2) -> PlugInMembers:
    label = Boosted(random_forest(rng))
    told = Boosted(random_forest(rng, 20)) if groups > 1 else None
    k = np.vstack([rng.uniform(0.2, 1, size=(groups, 3)), -rng.uniform(0.2, 1, size=(groups, 3))])
    return PlugInMembers(Posterior(label, told, one_group(groups), WIDTH), k)


def logistic_plug_in(rng: np.random.Generator) -> PlugInMembers:
    label = Logistic(rng.normal(size=(1, WIDTH)), rng.normal(size=1), np.array([0, 1]))
    k = np.vstack([rng.uniform(0.2, 1, size=(1, 2)), -rng.uniform(0.2, 1, size=(1, 2))])
    return PlugInMembers(Posterior(label, None, one_group(), WIDTH), k)


def prefixes(rng: np.random.Generator, single: bool = False) -> ForestMembers:
    forest = random_forest(rng, 60, scores=3, single=single)
    return ForestMembers(forest, np.array([-1, 0, 1]), np.array([2, 1, 0]), rng.normal(size=3))


def derandomised(base: Members, rng: np.random.Generator) -> Derandomised:
    weights = rng.dirichlet(np.ones(len(base)))
    return Derandomised(base, weights, np.array([-0.5, 0.1, 0.8]), rng.integers(len(base), size=4))


def side_by_side(rng: np.random.Generator) -> SideBySide:
    parts = (prefixes(rng), plug_in(rng))
    return SideBySide(parts, np.array([4, 0, 2, 5]))


KINDS: dict[str, Any] = {
    "linear": linear,
    "linear in single precision": lambda rng: linear(rng, np.float32),
    "thresholds": lambda rng: ThresholdMembers(Thresholds(GivenScores(-1.0)), np.array([[0.1, -0.3, np.inf, -np.inf]])),
    "trees": prefixes,
    "trees in single precision": lambda rng: prefixes(rng, True),
    "a rule on trees": lambda rng: plug_in(rng, 1),
    "a rule on trees and groups": plug_in,
    "a rule on logistic regression": logistic_plug_in,
    "side by side": side_by_side,
    "derandomised linear": lambda rng: derandomised(linear(rng), rng),
    "derandomised trees": lambda rng: derandomised(prefixes(rng), rng),
    "derandomised rules": lambda rng: derandomised(plug_in(rng), rng),
}


def export_of(members: Members, **options: Any) -> Export:
    width = 1 if isinstance(members, ThresholdMembers) else WIDTH
    weights = np.random.default_rng(1).dirichlet(np.ones(len(members)))
    return Export(
        Classifier(members, weights),
        width,
        np.array(["no", "yes"]),
        "yes",
        lambda inputs: members.decide(inputs["X"]),
        **options,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_is_decided_alike(kind: str) -> None:
    """At thresholds and beside them, on edges where rounding decides, missing, and codes that are in no set."""
    rng = np.random.default_rng(0)
    members = KINDS[kind](rng)
    export = export_of(members)
    inputs = export.examples(rng, ROWS)
    decided = members.decide(inputs["X"])
    assert 0.02 < decided[:, :1].mean() < 0.98 or kind == "thresholds"
    pmf, found = run(export.content(), inputs)
    assert (found == decided).all()
    expected = export.classifier.positive_probability(inputs["X"])
    assert np.allclose(pmf[:, 1], expected, rtol=0, atol=1e-15)
    assert np.allclose(pmf.sum(axis=1), 1)


def test_rounding_at_the_edge_is_pythons() -> None:
    """The rows are so near to the edge that a matrix product alone would decide many of them otherwise."""
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        members = linear(rng, dtype, 2)
        X = of_members(members, WIDTH).rows(rng, 4000, WIDTH)
        decided = members.decide(X)
        plain = X @ members.W[:-1].astype(float) + members.W[-1] > 0
        assert (plain != decided).any()
        assert (run(export_of(members).content(), {"X": X})[1] == decided).all()


def test_a_code_with_a_fraction_is_its_whole_number() -> None:
    rng = np.random.default_rng(5)
    members = prefixes(rng)
    X = rng.normal(size=(500, WIDTH))
    X[:, 0] = rng.uniform(-2, 100, size=500)
    assert (run(export_of(members).content(), {"X": X})[1] == members.decide(X)).all()


def test_a_tree_of_one_leaf_and_no_trees() -> None:
    rng = np.random.default_rng(6)
    stump = Forest.concatenate([random_forest(rng, 3), Forest.constant([0.3], WIDTH)], [np.zeros(1, np.int32)] * 2)
    leaf = Forest.constant([0.0], WIDTH)
    one = np.zeros(1, np.int32)
    alone = Forest(
        **{
            **leaf.__dict__,
            "feature": one,
            "threshold": np.zeros(1),
            "left": one,
            "right": one,
            "value": np.array([0.7]),
        }
        | {"default_left": np.zeros(1, np.uint8), "category": one - 1, "roots": one, "column": one}
    )
    whole = Forest.concatenate([stump, alone, Forest.constant([-0.5], WIDTH)])
    members = ForestMembers(whole, np.full(3, -1), np.arange(3), np.zeros(3))
    X = rng.normal(size=(50, WIDTH))
    assert (run(export_of(members).content(), {"X": X})[1] == members.decide(X)).all()


def test_what_python_refuses_has_no_probability_and_no_label() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, WIDTH))
    X[1, 2], X[2, 0] = np.nan, np.inf
    refused = {"linear": [False, True, True, False], "trees": [False, False, True, False]}
    for kind, rows in refused.items():
        opened = checking.session(export_of(KINDS[kind](rng)).content())
        assert np.isnan(opened.run(["pmf"], {"X": X})[0]).any(axis=1).tolist() == rows
    with pytest.raises(Exception, match="out of data bounds"):
        checking.session(export_of(linear(rng, members=1)).content()).run(["label"], {"X": X})


@pytest.mark.parametrize("classes", [np.array([0, 1]), np.array(["no", "yes"]), np.array([False, True])])
def test_labels_of_any_type(classes: Any) -> None:
    rng = np.random.default_rng(0)
    members = linear(rng, members=1)
    for positive in classes:
        export = Export(
            Classifier(members, np.ones(1)), WIDTH, classes, positive, lambda inputs: members.decide(inputs["X"])
        )
        X = rng.normal(size=(40, WIDTH))
        label, pmf = checking.session(export.content()).run(["label", "pmf"], {"X": X})
        other = classes[1] if classes[0] == positive else classes[0]
        assert label.tolist() == np.where(members.decide(X)[:, 0], positive, other).tolist()
        assert (pmf.argmax(axis=1) == (label == classes[1])).all()


def test_a_model_that_decides_otherwise_is_not_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    members, other = linear(rng), linear(rng)
    export = export_of(members)
    export.__dict__["decide"] = lambda inputs: other.decide(inputs["X"])
    with pytest.raises(eq.EquirateError, match="of 2,000 checked rows differently from Python"):
        export.write(tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
    X = rng.normal(size=(10, WIDTH))
    with pytest.raises(eq.EquirateError, match="other probabilities"):
        check(export.content(), {"X": X}, members.decide(X), np.array([0.9, 0.05, 0.05]))


def test_others_are_refused_by_name() -> None:
    refused = {
        "FiniteMembers|decide": FiniteMembers((lambda X: np.asarray(X)[:, 0],)),
        "look attributes up": ThresholdMembers(
            Thresholds(GivenScores(), (eq.attr("sex") == "F", eq.attr("sex") != "F")), np.zeros((2, 1))
        ),
    }
    for reason, members in refused.items():
        with pytest.raises(eq.EquirateError, match=rf"can be exported to ONNX.*({reason}|saved)"):
            of_members(members, WIDTH)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(graph, "import_module", absent)
    with pytest.raises(eq.EquirateError, match=r"to_onnx needs onnx, .*pip install 'equirate\[onnx\]'"):
        export_of(linear(np.random.default_rng(0))).content()


# -- estimators -----------------------------------------------------------------------------------

rng = np.random.default_rng(2)
X = rng.normal(size=(600, 3))
SEX = rng.choice(["F", "M"], 600)
Y = np.where(X[:, 0] + 0.5 * (SEX == "M") + 0.5 * rng.normal(size=600) > 0.4, "yes", "no")
WOMEN = eq.attr("sex") == "F"
PROBLEM = (eq.minimize(eq.error_rate()), [eq.positive_rate(WOMEN) >= eq.positive_rate(~WOMEN) - 0.05])
PEOPLE = {"sex": SEX}
QUICK = {"n_rounds": 50, "random_state": 0}


@pytest.mark.parametrize("output", ["hashed", "deterministic"])
def test_to_onnx_of_a_classifier(tmp_path: Path, output: str) -> None:
    clf = eq.RateClassifier(*PROBLEM, output=output, **QUICK).fit(X, Y, sensitive_features=PEOPLE)
    two = LinearMembers(np.array([[1.0, 0.9], [0.1, -0.1], [0.0, 0.2], [-0.3, -0.5]]))
    clf.outputs_["stochastic"] = replace(
        clf.outputs_["stochastic"], classifier=Classifier(two, np.array([0.4, 0.6]))
    )  # a mixture, whatever the fit came to
    clf.to_onnx(tmp_path / "model.onnx", X)
    opened = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    names = [each.name for each in opened.get_outputs()]
    assert names == ["pmf", "members", *(["label"] if output == "deterministic" else [])]
    found = dict(zip(names, opened.run(None, {"X": X}), strict=True))
    assert np.allclose(found["pmf"], clf.predict_pmf(X), rtol=0, atol=1e-15)
    facts = opened.get_modelmeta().custom_metadata_map
    assert facts["classes"] == '["no", "yes"]'
    if output == "deterministic":
        assert (found["label"] == clf.predict(X)).all()
    else:
        assert facts["salt"] == str(clf.salt_)
        draws = clf._uniform(X)
        member = clf.classifier_.drawn(draws)
        assert (np.where(found["members"][np.arange(600), member], "yes", "no") == clf.predict(X)).all()


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        FrozenEstimator(HistGradientBoostingClassifier(max_iter=5).fit(np.where(X < -1, np.nan, X), Y)),
        None,
    ],
    ids=["linear", "trees", "scores"],
)
def test_to_onnx_of_thresholds(tmp_path: Path, estimator: Any) -> None:
    given = X if isinstance(estimator, LogisticRegression) else np.where(X < -1, np.nan, X)
    given = X[:, :1] if estimator is None else given
    post = eq.RatePostprocessor(estimator, *PROBLEM, random_state=0).fit(given, Y, sensitive_features=PEOPLE)
    post.to_onnx(tmp_path / "model.onnx", given)
    pmf, members = run((tmp_path / "model.onnx").read_bytes(), {"X": given})
    assert (members == post.classifier_.members.decide(given)).all()
    assert np.allclose(pmf, post.predict_pmf(given), rtol=0, atol=1e-15)


def test_to_onnx_of_trees_on_a_frame(tmp_path: Path) -> None:
    pd, lightgbm = pytest.importorskip("pandas"), pytest.importorskip("lightgbm")
    del lightgbm
    from equirate.boosting import default_trees

    frame = pd.DataFrame(X, columns=list("abc"))
    frame["colour"] = np.random.default_rng(0).choice(["red", "green", None], 600)
    frame.loc[::7, "a"] = np.nan
    model = default_trees("lightgbm", n_estimators=10)
    clf = eq.RateClassifier(*PROBLEM, model=model, random_state=0).fit(frame, Y, sensitive_features=PEOPLE)
    assert clf.categories_ == {"colour": ["green", "red"]}
    frame.loc[::5, "colour"] = "never seen"
    clf.to_onnx(tmp_path / "model.onnx", frame)
    opened = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    inputs: dict[str, Any] = {name: frame[[name]].to_numpy() for name in "abc"}
    inputs["colour"] = frame[["colour"]].fillna("").to_numpy(dtype=object)
    pmf = opened.run(["pmf"], inputs)[0]
    assert np.allclose(pmf, clf.predict_pmf(frame), rtol=0, atol=1e-12)
    clf.save(tmp_path / "model.equirate")
