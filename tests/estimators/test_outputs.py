"""Outputs that keep their word: what is said of a classifier is true of the one that predicts, alone or in a batch."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import equirate as eq
from equirate._core.hashing import salted_keys, salted_rows
from equirate.data.sample import Sample
from equirate.models.derandomised import Derandomised
from equirate.models.linear_members import LinearMembers
from equirate.models.registry import read_members
from equirate.selection.derandomization import derandomised

rng = np.random.default_rng(8)
N = 1200
X = rng.normal(size=(N, 4))
GROUP = np.where(rng.random(N) < 0.35, "a", "b")
Y = (X[:, 0] + 0.7 * (GROUP == "a") + 0.8 * rng.normal(size=N) > 0.4).astype(int)
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
PEOPLE = {"group": GROUP}
PROBLEMS = {
    "parity": (
        eq.minimize(eq.error_rate()),
        [abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.03, eq.positive_rate() <= 0.35],
    ),
    "ratios": (eq.maximize(eq.f1()), [eq.f1(A) >= eq.f1(B) - 0.02, eq.positive_rate() <= 0.4]),
    "kl": (eq.minimize(eq.error_rate()), [eq.kl_divergence(A) <= 0.02]),
    "cannot be": (eq.minimize(eq.error_rate()), [eq.tpr() >= 0.98, eq.fpr() <= 0.02]),
}


def fit(problem: str, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        objective, constraints = PROBLEMS[problem]
        return eq.RateClassifier(objective, constraints, **{"random_state": 3, **options}).fit(
            X, Y, sensitive_features=PEOPLE
        )


def by_hand(estimator, p):
    """Objective and largest signed violation of predictions, from the expressions alone."""
    objective = estimator.problem_.objective.expr.evaluate(Y, p, attributes=PEOPLE)
    worst = max(c.residual.evaluate(Y, p, attributes=PEOPLE) for c in estimator.problem_.constraints)
    return objective, worst


@pytest.fixture(scope="module", params=PROBLEMS)
def fitted(request):
    return {confidence: fit(request.param, confidence=confidence) for confidence in (None, 0.9)}


@pytest.mark.parametrize("output", ["hashed", "deterministic", "stochastic"])
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_status_report_and_file_speak_of_the_classifier_that_predicts(fitted, output, confidence, tmp_path):
    # With 30 rows per feature and no part to test on, the output is chosen on all rows: X itself.
    estimator = fitted[confidence].set_params(output=output)
    estimator.save(tmp_path / "model")
    loaded = eq.load(tmp_path / "model")
    status = estimator.status_
    p = estimator.predict_pmf(X)[:, 1]
    if output == "deterministic":
        assert set(np.unique(p)) <= {0.0, 1.0}
        np.testing.assert_array_equal(estimator.predict(X), p.astype(int))
    if confidence is None:
        objective, worst = by_hand(estimator, p)
        assert status.objective == pytest.approx(objective, abs=1e-6)
        assert status.violation == pytest.approx(max(worst, 0.0), abs=1e-6)
        assert status.feasible == (worst <= status.tolerance)
    else:
        assert status.certified in (True, False)
        assert (status.certified is False) == any("not certified" in note for note in estimator.notes_)
        assert ("not certified" in str(estimator.report(X, Y, sensitive_features=PEOPLE))) == (
            status.certified is False
        )
    told = estimator.evaluate(X, Y, sensitive_features=PEOPLE)
    assert told.objective == pytest.approx(by_hand(estimator, p)[0])
    assert max(c.violation for c in told.constraints) == pytest.approx(by_hand(estimator, p)[1])
    assert told.undecided == pytest.approx(np.mean((p > 0) & (p < 1)))
    np.testing.assert_array_equal(loaded.predict_pmf(X), estimator.predict_pmf(X))
    np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))
    assert loaded.status_ == status
    assert loaded.notes_ == estimator.notes_
    estimator.set_params(output="hashed")


def test_a_fit_that_could_not_certify_predicts_as_the_plain_one_and_says_so():
    gap = abs(eq.positive_rate(A) - eq.positive_rate(B)) <= 0.001  # half an example of the smaller group
    tight = eq.RateClassifier(eq.minimize(eq.error_rate()), [gap], confidence=0.95, random_state=3)
    with pytest.warns(eq.NotSolvedWarning, match="not certified: with .* examples of group == 'a', .* cannot be"):
        tight.fit(X, Y, sensitive_features=PEOPLE)
    assert tight.status_.certified is False
    assert tight.margin_ == 0.0
    assert not tight.certification_.certified
    assert "would do" in tight.certification_.reasons[0]
    assert "Not certified at 95%" in str(tight.status_)
    plain = clone(tight).set_params(confidence=None).fit(X, Y, sensitive_features=PEOPLE)
    np.testing.assert_array_equal(tight.predict_pmf(X), plain.predict_pmf(X))
    # Chosen without a margin: on the rows it was chosen on, the constraint holds.
    assert tight.status_.feasible
    assert tight.status_.violation <= tight.status_.tolerance


@pytest.mark.parametrize("output", ["hashed", "deterministic"])
def test_row_by_row_is_the_batch(output):
    estimator = fit("ratios", output=output)
    decided = estimator.predict(X)
    order = rng.permutation(N)
    np.testing.assert_array_equal([estimator.predict(X[i : i + 1])[0] for i in range(0, N, 7)], decided[::7])
    np.testing.assert_array_equal(estimator.predict(X[order]), decided[order])
    np.testing.assert_array_equal(estimator.predict(X.astype(np.float32)), decided)
    np.testing.assert_array_equal(estimator.predict(sp.csr_array(X)), decided)


def test_one_row_at_a_time_does_not_collapse_the_mixture():
    estimator = fit("parity")
    alone = np.array([estimator.predict(X[i : i + 1])[0] for i in range(N)])
    assert alone.mean() == pytest.approx(estimator.predict_pmf(X)[:, 1].mean(), abs=0.02)
    assert len(estimator.weights_) > 1
    estimator.set_params(output="stochastic")
    with pytest.warns(eq.EquirateWarning, match="a single row"):
        estimator.predict(X[:1])


def test_keys_decide_in_the_place_of_rows():
    estimator = fit("parity")
    p = estimator.predict_pmf(X)[:, 1]
    undecided = int(np.flatnonzero((p > 0) & (p < 1))[0])
    same = np.repeat(X[undecided : undecided + 1], 4000, axis=0)
    assert len(set(estimator.predict(same))) == 1
    drawn = estimator.predict(same, key=np.arange(4000))
    assert drawn.mean() == pytest.approx(p[undecided], abs=0.04)
    np.testing.assert_array_equal(drawn[7], estimator.predict(same[:1], key=["7"])[0])
    with pytest.raises(eq.DataError, match="one value per example"):
        estimator.predict(same, key=[1, 2])
    other = fit("parity", random_state=4)
    assert other.salt_ != estimator.salt_
    assert fit("parity").salt_ == estimator.salt_


def test_equal_rows_are_reported_with_what_they_draw():
    few = rng.integers(0, 2, size=(N, 2)).astype(float)
    y = (few[:, 0] + rng.normal(size=N) > 0.7).astype(int)
    limit = [eq.positive_rate() <= 0.3]
    estimator = eq.RateClassifier(eq.maximize(eq.f1()), limit, random_state=3).fit(few, y)
    report = estimator.report(few, y)
    text = " ".join(str(report).split())
    assert "depends on the draw" not in text
    assert "the numbers are of the decisions that predict(X) returns" in text
    assert report.parts["test"].positive_rate == pytest.approx(estimator.predict(few).mean())


# -- hashes --------------------------------------------------------------------------------------------


def test_hashes_of_rows_and_keys():
    rows = rng.normal(size=(20_000, 3))
    hashes = salted_rows(rows, 5)
    assert len(np.unique(hashes)) == len(rows)
    np.testing.assert_array_equal(hashes, salted_rows(rows.astype(np.float32).astype(np.float64), 5))
    for other in (salted_rows(rows, 6), salted_rows(rows[:, ::-1].copy(), 5)):
        assert (other != hashes).all()
    # Bits are fair, and neither salts nor neighbouring rows are correlated.
    bits = (hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.02
    u, v = hashes / 2.0**64, salted_rows(rows, 6) / 2.0**64
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.03
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.03
    keys = salted_keys(np.arange(20_000), 5)
    assert len(np.unique(keys)) == 20_000
    np.testing.assert_array_equal(keys, salted_keys(np.arange(20_000).astype(str), 5))
    np.testing.assert_array_equal(keys, salted_keys(np.arange(20_000.0), 5))


# -- derandomising -----------------------------------------------------------------------------------------


def test_a_derandomised_mixture_has_the_mixtures_rates():
    problem = eq.Problem(*PROBLEMS["parity"])
    solution = eq.solve(problem, X, Y, attributes=PEOPLE)
    W = np.stack([[1.0, 0, 0, 0, 0.4], [1.0, 0.5, 0, 0, -0.8], [0.3, -1.0, 0.2, 0, 0.1]], axis=1)
    mixture = eq.Classifier(LinearMembers(W), np.array([0.5, 0.3, 0.2]), problem)
    p = mixture.positive_probability(X)
    judge = solution.judge
    wanted = judge.rates(judge.cells.sums(p[:, None]))

    def cost(rates):
        return np.abs(rates - wanted).max(axis=0)

    made = derandomised(mixture, judge, Sample(X, judge.examples), cost)
    decided = made.predict(X)
    np.testing.assert_array_equal(made.positive_probability(X), decided)
    np.testing.assert_array_equal(decided[(p == 0) | (p == 1)], p[(p == 0) | (p == 1)])
    reached = judge.rates(judge.cells.sums(decided[:, None].astype(bool)))
    assert np.abs(reached - wanted).max() < 0.01
    assert ((p > 0) & (p < 1)).mean() > 0.2  # there was something to decide
    fresh = rng.normal(size=(50_000, 4))
    assert abs(made.predict(fresh).mean() - mixture.positive_probability(fresh).mean()) < 0.02


def test_members_that_do_not_fit_together_are_refused_from_files():
    base = LinearMembers(np.ones((3, 2)))
    good = Derandomised(base, np.array([0.5, 0.5]), np.array([0.0, 1.0]), np.array([0, 1, 0]))
    kind, settings, arrays = good.plain(2)
    again = read_members(type(good.plain(2))(kind, settings, arrays))
    rows = rng.normal(size=(30, 2))
    np.testing.assert_array_equal(again.decide(rows), good.decide(rows))
    for name, value in (
        ("choice", np.array([0, 2, 0])),
        ("choice", np.array([0, 1])),
        ("edges", np.array([1.0, 0.0])),
        ("weights", np.ones(3)),
        ("weights", np.array([np.nan, 1.0])),
        ("base.coefficients", np.ones((3, 1))),
        ("more", np.ones(2)),
    ):
        with pytest.raises(eq.FileError):
            read_members(type(good.plain(2))(kind, settings, {**arrays, name: value}))
    with pytest.raises(eq.FileError):
        read_members(type(good.plain(2))(kind, {**settings, "base": "derandomised"}, arrays))


def test_a_sample_is_decided_as_its_rows_are_and_only_once(monkeypatch):
    clf = fit("parity")
    sample = Sample.of(X, Y, PEOPLE)
    for name, output in clf.outputs_.items():
        members = output.classifier.members
        assert (members.decide_sample(sample) == members.decide(X)).all(), name
        np.testing.assert_array_equal(output.classifier.expected_sample(sample), output.classifier.expected(X))
    assert isinstance(clf.outputs_["deterministic"].classifier.members, Derandomised)
    asked = []
    monkeypatch.setattr(LinearMembers, "decide", lambda self, X, **_: asked.append(self) or np.zeros((N, 1), bool))
    for classifier in (clf.outputs_["stochastic"].classifier, clf.outputs_["deterministic"].classifier):
        classifier.members.decide_sample(sample)
    assert not asked


def test_a_sample_remembers_the_last_few_answers():
    sample, asked = Sample.of(X, Y, PEOPLE), []
    things = [object() for _ in range(20)]
    for _ in range(2):
        for k, thing in enumerate(things):
            assert sample.remember((thing,), lambda k=k: asked.append(k) or k) == k
    assert asked == [*range(20)] * 2
    assert len(sample._known) < 10
    assert sample.remember((things[-1],), lambda: -1) == 19


def test_a_fitted_classifier_does_not_keep_the_features_alive():
    mine = X.copy()
    gone = weakref.ref(mine)
    clf = eq.RateClassifier(*PROBLEMS["parity"], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.NotSolvedWarning)
        clf.fit(mine, Y, sensitive_features=PEOPLE)
    del mine
    gc.collect()
    assert gone() is None
    assert clf.predict(X[:3]).shape == (3,)


@pytest.mark.parametrize(("options", "held_out"), [({}, False), ({"validation": 0.4, "two_sets": True}, True)])
def test_a_status_says_where_its_rows_were_held_out(options: dict[str, Any], held_out: bool) -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] + np.random.default_rng(1).normal(size=400) > 0.5).astype(int)
    limit = [eq.positive_rate() <= 0.2]
    clf = eq.RateClassifier(eq.maximize(eq.recall()), limit, random_state=0, **options).fit(X, y)
    assert ("on rows that were held out of training" in str(clf.status_)) == held_out
