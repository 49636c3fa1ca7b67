"""Explanations say what was decided, by whom, by how much chance, and why."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.explanations import Explanations
from equirate.game.classifiers import Classifier
from equirate.models.contributions import Contributions
from equirate.models.linear_members import LinearMembers

rng = np.random.default_rng(1)
X = rng.normal(size=(800, 4))
SEX = rng.choice(["F", "M"], 800)
Y = np.where(X[:, 0] + X[:, 1] + 0.8 * (SEX == "M") + 0.7 * rng.normal(size=800) > 0.7, "yes", "no")
WOMEN = eq.attr("sex") == "F"
PROBLEM = (eq.minimize(eq.error_rate()), [abs(eq.positive_rate(WOMEN) - eq.positive_rate(~WOMEN)) <= 0.02])
PEOPLE = {"sex": SEX}


TWO = LinearMembers(np.array([[1.0, 0.8], [0.5, -0.2], [0.1, 0.3], [0.0, -0.1], [-0.6, 0.1]]))


def fitted(given: Any = X, **options: Any) -> Any:
    clf = eq.RateClassifier(*PROBLEM, n_rounds=30, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        return clf.fit(given, Y, sensitive_features=PEOPLE)


def mixture(output: str) -> Any:
    """A fitted classifier that mixes two members, whatever the fit came to."""
    clf = fitted(output=output)
    clf.outputs_["stochastic"] = replace(clf.outputs_["stochastic"], classifier=Classifier(TWO, np.array([0.3, 0.7])))
    return clf


@pytest.fixture(scope="module")
def clf() -> Any:
    return mixture("hashed")


def test_decisions_probabilities_and_chance(clf: Any) -> None:
    found = clf.explain(X)
    assert (found.label == clf.predict(X)).all()
    assert np.allclose(found.probability, clf.predict_pmf(X)[:, 1])
    for row in (0, int(np.argmax(found.chance)), -1):
        one = found[row]
        assert one.label == clf.predict(X)[row]
        assert one.pmf == pytest.approx(dict(zip(["no", "yes"], clf.predict_pmf(X)[row], strict=True)))
        others = [member.weight for member in one.members if member.label != one.label]
        assert one.chance == pytest.approx(sum(others))
        drawn = [member for member in one.members if member.drawn]
        assert [member.label for member in drawn] == [one.label]
        assert one.score == drawn[0].score


def test_contributions_add_up_in_the_units_given(clf: Any) -> None:
    found, W = clf.explain(X), clf.members_.with_intercept.astype(float)
    for row in range(0, 800, 97):
        one = found[row]
        (k,) = (k for k, member in enumerate(one.members) if member.drawn)
        by_name = {reason.feature: reason.contribution for reason in one.reasons}
        assert by_name == pytest.approx({f"x{j}": X[row, j] * W[j, k] for j in range(4)}, rel=1e-5)
        assert one.base == pytest.approx(W[-1, k])
        assert one.score == pytest.approx(one.base + sum(by_name.values()))
        assert (one.score > 0) == (one.label == "yes")
        assert [abs(r.contribution) for r in one.reasons] == sorted(map(abs, by_name.values()), reverse=True)


def test_a_key_draws_as_in_predict(clf: Any) -> None:
    key = np.arange(800)
    assert (clf.explain(X, key=key).label == clf.predict(X, key=key)).all()


def test_what_the_constraints_changed(clf: Any) -> None:
    found = clf.explain(X)
    free = clf.outputs_["unconstrained"].classifier.positive_probability(X)
    assert (found.unconstrained == free).all()
    assert (found.changed == (np.where(free >= 0.5, "yes", "no") != clf.predict(X))).all()
    assert found.changed.any()
    changed = found[int(np.argmax(found.changed))]
    other = "no" if changed.label == "yes" else "yes"
    assert str(changed).endswith(f"Without the constraints the decision would be '{other}'.")
    same = found[int(np.argmin(found.changed))]
    assert str(same).endswith("The decision would be the same without the constraints.")


def test_a_sentence(clf: Any) -> None:
    found = clf.explain(X)
    sure = str(found[int(np.argmin(found.chance))])
    assert sure.startswith("Decided '")
    assert "members agree: nothing was left to chance." in sure
    k = int(np.argmax(found.chance))
    assert f"with probability {found.chance[k]:.3g}." in str(found[k])
    assert "For it: x" in sure
    assert found[0].sentence(most=1).count(" = ") <= 2


def test_a_frame(clf: Any) -> None:
    found = clf.explain(X[:20])
    frame = found.to_frame()
    parts = [name for name in frame.columns if name.startswith("contribution of ")]
    assert parts == [f"contribution of x{k}" for k in range(4)]
    assert np.allclose(frame["base"] + frame[parts].sum(axis=1), frame["score"])
    assert frame["label"].tolist() == clf.predict(X[:20]).tolist()
    assert set(frame.columns) >= {"probability", "chance", "unconstrained", "changed"}


def test_names_and_values_of_a_frame_of_features() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["age", "income", "debt", "hours"])
    clf = fitted(frame, output="deterministic")
    one = clf.explain(frame)[3]
    assert {reason.feature: reason.value for reason in one.reasons} == frame.iloc[3].to_dict()
    assert "members agree" not in str(one)  # there is one, and no draw
    assert one.to_dict()["pmf"] in ({"no": 0.0, "yes": 1.0}, {"no": 1.0, "yes": 0.0})


def test_sparse_features_and_slices(clf: Any) -> None:
    dense, sparse = clf.explain(X[:30]), clf.explain(sp.csr_array(X[:30]))
    assert np.allclose(dense.contributions.features, sparse.contributions.features, rtol=1e-5)
    some = dense[10:12]
    assert len(some) == 2
    assert some[0] == dense[10]
    with pytest.raises(IndexError, match="30 explanations"):
        dense[30]


def test_a_stochastic_output_has_the_more_probable_label() -> None:
    clf = mixture("stochastic")
    found = clf.explain(X)
    assert found.drawn is None
    assert (found.label == np.where(clf.predict_pmf(X)[:, 1] >= 0.5, "yes", "no")).all()
    mean = found.contributions.scores @ clf.weights_
    assert np.allclose(found.deciding.scores[:, 0], mean)


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), FrozenEstimator(HistGradientBoostingClassifier(max_iter=5).fit(X, Y)), None],
    ids=["linear", "trees", "scores"],
)
def test_thresholds(estimator: Any) -> None:
    given = X[:, :1] if estimator is None else X
    post = eq.RatePostprocessor(estimator, *PROBLEM, random_state=0).fit(given, Y, sensitive_features=PEOPLE)
    found = post.explain(given)
    assert (found.label == post.predict(given)).all()
    score = given[:, 0] if estimator is None else post.estimator_.decision_function(given)
    cuts = post.classifier_.members.cuts[0]
    assert np.allclose(found.contributions.scores, score[:, None] - cuts)
    if estimator is None:
        assert found.names == ("score",)
        without = np.where(post.outputs_["unconstrained"].classifier.predict(given) == 1, "yes", "no")
    else:
        without = post.estimator_.predict(X)
    assert (found.changed == (without != post.predict(given))).all()


def test_classifiers_that_tell_nothing() -> None:
    forest = RandomForestClassifier(5, random_state=0)
    post = eq.RatePostprocessor(forest, *PROBLEM, random_state=0).fit(X, Y, sensitive_features=PEOPLE)
    one = post.explain(X)[0]
    assert (one.score, one.reasons) == (None, ())
    assert "have no contributions" in str(one)
    assert post.explain(X).to_frame()["score"].isna().all()


def test_a_rule_that_decides_by_groups_alone() -> None:
    parts = Contributions.of(0.3, np.array([[[0.5, -0.2]]]), np.array([[-np.inf]]))
    found = Explanations(
        np.array([0, 1]), 1, np.ones(1), np.array([[False]]), np.zeros(1, np.intp), parts, ("a", "b"), ([1.0], ["x"])
    )
    assert str(found[0]) == "Decided 0. For it: estimated groups (decisive), b = x (-0.2). Against it: a = 1 (+0.5)."


def test_a_missing_value_is_called_so() -> None:
    parts = Contributions.of(0.0, np.array([[[0.5]]]))
    found = Explanations(
        np.array([0, 1]), 1, np.ones(1), np.array([[True]]), np.zeros(1, np.intp), parts, ("age",), ([np.nan],)
    )
    assert str(found[0]) == "Decided 1. For it: age = missing (+0.5)."


def test_features_that_belong_together() -> None:
    parts = Contributions.of(0.0, np.array([[[0.5, 0.25, -1.0]]]))
    found = Explanations(
        np.array([0, 1]),
        1,
        np.ones(1),
        np.array([[False]]),
        np.zeros(1, np.intp),
        parts,
        ("a=1", "a=2", "b"),
        ([0],) * 3,
    )
    merged = found.merged(["a", "b"], [slice(0, 2), slice(2, 3)], [["two"], [3]])
    assert [(r.feature, r.value, r.contribution) for r in merged[0].reasons] == [("b", 3, -1.0), ("a", "two", 0.75)]


# -- more than two classes ---------------------------------------------------------------------------


def animals(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.choice(["cat", "dog", "owl"], n, p=[0.6, 0.25, 0.15])
    centre = {"cat": (0.0, 0.0), "dog": (1.5, 0.0), "owl": (0.0, 1.5)}
    return np.array([centre[k] for k in y]) + rng.normal(size=(n, 2)), y


@pytest.mark.parametrize("output", ["hashed", "stochastic", "deterministic"])
def test_classes_have_probabilities_by_member_and_chance(output: str) -> None:
    Z, z = animals()
    asked = [eq.recall(label="owl") >= 0.7, eq.coverage("cat") <= 0.5]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), asked, output=output, random_state=0).fit(Z, z)
    found, pmf, names = clf.explain(Z), clf.predict_pmf(Z), clf.classes_.tolist()
    np.testing.assert_allclose(found.pmf, pmf, atol=1e-12)
    if output != "stochastic":
        assert (found.label == clf.predict(Z)).all()
    else:
        assert (found.label == clf.classes_[pmf.argmax(axis=1)]).all()
    codes = np.searchsorted(names, found.label)
    np.testing.assert_allclose(found.chance, 1 - pmf[np.arange(500), codes], atol=1e-12)
    free = clf.outputs_["unconstrained"].classifier.expected(Z).argmax(axis=1)
    assert (found.changed == (free != codes)).all()
    assert found.changed.any()
    frame = found.to_frame()
    assert frame["label"].tolist() == found.label.tolist()
    assert frame["unconstrained"].tolist() == clf.classes_[free].tolist()
    np.testing.assert_allclose(frame["probability of owl"], pmf[:, 2], atol=1e-12)
    row = int(np.flatnonzero(found.changed)[0])
    one = found[row]
    assert one.label == found.label[row]
    assert one.pmf == pytest.approx(dict(zip(names, pmf[row], strict=True)))
    together = {name: sum(m.weight for m in one.members if m.label == name) for name in names}
    assert together == pytest.approx(one.pmf)
    assert [m.label for m in one.members if m.drawn] == ([] if output == "stochastic" else [one.label])
    assert (one.score, one.reasons) == (None, ())
    assert one.free == names[free[row]]
    assert one.without == one.free
    assert f"Without the constraints the decision would be {one.free!r}." in str(one)
    assert "have no contributions of features" in str(one)
    assert one.to_dict()["free"] == one.free
    same = found[int(np.flatnonzero(~found.changed)[0])]
    assert same.without == same.label
    assert len(found[2:5]) == 3
    assert found[2:5][0] == found[2]


def test_the_chance_of_several_other_classes_is_told_one_by_one() -> None:
    Z, z = animals()
    clf = eq.RateClassifier(eq.maximize(eq.worst_recall()), random_state=0).fit(Z, z)
    found = clf.explain(Z)
    many = np.flatnonzero((found.pmf > 0).sum(axis=1) == 3)
    for row in many[:3]:
        one = found[int(row)]
        assert f"otherwise with probability {one.chance:.3g}: " in str(one)
    post = eq.RatePostprocessor(LogisticRegression(), eq.minimize(eq.error_rate()), [eq.recall(label="owl") >= 0.8])
    told = post.fit(Z, z).explain(Z)
    np.testing.assert_allclose(told.pmf, post.predict_pmf(Z), atol=1e-12)
    plain = LogisticRegression().fit(Z, z).predict(Z)
    assert (told.changed == (told.label != plain)).all()
