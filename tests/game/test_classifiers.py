"""Mixtures as classifiers: probabilities, draws, hashes and exact values."""

import numpy as np
import pytest
import scipy.sparse as sp

import equirate as eq
from equirate.game.classifiers import Classifier, hashed_uniform
from equirate.models.linear_members import LinearMembers


def mixture(seed=0, count=3, features=4):
    rng = np.random.default_rng(seed)
    weights = np.array([0.2, 0.3, 0.5])[:count]
    return Classifier(LinearMembers(rng.normal(size=(features + 1, count))), weights / weights.sum())


def data(n=500, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), rng.integers(0, 2, n)


def test_probabilities_are_the_weights_of_those_who_say_one():
    X, _ = data()
    classifier = mixture()
    W = classifier.members.W
    expected = sum(w * (X @ W[:-1, k] + W[-1, k] > 0) for k, w in enumerate(classifier.weights))
    np.testing.assert_allclose(classifier.positive_probability(X), expected)
    pmf = classifier.predict_pmf(X)
    np.testing.assert_allclose(pmf[:, 1], expected)
    np.testing.assert_allclose(pmf.sum(1), 1)


def test_draws_repeat_and_go_by_place():
    X, _ = data()
    classifier = mixture()
    first = classifier.predict(X, random_state=3)
    np.testing.assert_array_equal(first, classifier.predict(X, random_state=3))
    assert (first != classifier.predict(X, random_state=4)).any()
    np.testing.assert_array_equal(first[:50], classifier.predict(X[:50], random_state=3))
    assert set(first) <= {0, 1}
    order = np.random.default_rng(0).permutation(len(X))
    assert (classifier.predict(X[order], random_state=3) != first[order]).any()  # as documented: draws go by place


def test_draws_have_the_probabilities_and_are_independent():
    X, _ = data(40)
    classifier = mixture()
    p = classifier.positive_probability(X)
    drawn = np.array([classifier.predict(X, random_state=seed) for seed in range(2000)])
    assert np.abs(drawn.mean(0) - p).max() < 4.5 * 0.5 / np.sqrt(2000)
    unsure = np.flatnonzero((p > 0.1) & (p < 0.9))
    assert len(unsure) >= 3
    correlation = np.corrcoef(drawn[:, unsure].T) - np.eye(len(unsure))
    assert np.abs(correlation).max() < 5 / np.sqrt(2000)


def test_one_member_needs_no_draws():
    X, _ = data()
    classifier = Classifier(mixture().members.take([1]), np.ones(1))
    assert classifier.is_deterministic
    np.testing.assert_array_equal(classifier.predict(X, random_state=None), classifier.predict_hashed(X))
    np.testing.assert_array_equal(classifier.predict(X), classifier.positive_probability(X))


def test_hashing_sees_only_the_row():
    X, _ = data()
    classifier = mixture()
    decided = classifier.predict_hashed(X)
    order = np.random.default_rng(5).permutation(len(X))
    np.testing.assert_array_equal(classifier.predict_hashed(X[order]), decided[order])
    np.testing.assert_array_equal(classifier.predict_hashed(X[7:8]), decided[7:8])
    np.testing.assert_array_equal(classifier.predict_hashed(X), decided)
    assert hashed_uniform(np.array([[0.0, 1.0]])) == hashed_uniform(np.array([[-0.0, 1.0]]))
    assert hashed_uniform(np.array([[1.0, 0.0]])) != hashed_uniform(np.array([[0.0, 1.0]]))
    assert hashed_uniform(np.array([[1.0, 2.0]])) != hashed_uniform(np.array([[2.0, 1.0]]))


@pytest.mark.parametrize(
    "rows",
    [
        np.random.default_rng(0).normal(size=(20_000, 3)),
        np.arange(20_000, dtype=float)[:, None],  # whole numbers differ in few bits
        np.array(np.meshgrid(*[[0.0, 1.0]] * 14)).reshape(14, -1).T,  # indicators only, as one-hot codes are
    ],
    ids=["normal", "whole", "indicators"],
)
def test_hashes_are_uniform(rows):
    u = hashed_uniform(rows)
    assert u.min() >= 0
    assert u.max() < 1
    counts = np.bincount((u * 50).astype(int), minlength=50)
    expected = len(rows) / 50
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < 49 + 5 * np.sqrt(2 * 49)
    assert len(np.unique(u)) == len(rows)


def test_hashed_decisions_have_the_weights():
    X, _ = data(20_000)
    classifier = mixture()
    p = classifier.positive_probability(X)
    decided = classifier.predict_hashed(X)
    for value in np.unique(p):
        inside = p == value
        bound = 4.5 * np.sqrt(max(value * (1 - value), 1e-12) * inside.sum()) + 1e-9
        assert abs(decided[inside].sum() - value * inside.sum()) <= bound


def test_sparse_and_dense_features_agree():
    X, y = data()
    X[np.abs(X) < 0.7] = 0
    sparse = sp.csr_matrix(X)
    classifier = mixture()
    np.testing.assert_allclose(classifier.predict_pmf(sparse), classifier.predict_pmf(X))
    np.testing.assert_array_equal(classifier.predict_hashed(sparse), classifier.predict_hashed(X))
    stored = sp.csr_array(X)
    stored.data[0] = 0.0  # a stored zero is a zero
    X[np.nonzero(X[:1])[0][0], np.nonzero(X[:1])[1][0]] = 0.0
    np.testing.assert_array_equal(hashed_uniform(stored), hashed_uniform(X))
    assert classifier.evaluate(eq.f1(), sparse, y) == classifier.evaluate(eq.f1(), X, y)


def test_values_are_those_of_the_expressions():
    X, y = data()
    g = (X[:, 1] > 0).astype(int)
    women = eq.attr("g") == 1
    classifier = mixture()
    p = classifier.positive_probability(X)
    for expr in (eq.f1(women), eq.kl_divergence(women), eq.g_mean()):
        assert classifier.evaluate(expr, X, y, attributes={"g": g}) == pytest.approx(
            expr.evaluate(y, p, attributes={"g": g})
        )
    constraint = eq.f1(women) >= 0.9
    assert classifier.evaluate(constraint, X, y, attributes={"g": g}) == pytest.approx(
        0.9 - eq.f1(women).evaluate(y, p, attributes={"g": g})
    )
    problem = eq.Problem(eq.minimize(eq.log_loss() + eq.error_rate()), [constraint])
    found = classifier.evaluate(problem, X, y, attributes={"g": g})
    scores = classifier.members.scores(X)
    loss = np.logaddexp(0, -(2 * y - 1)[:, None] * scores).mean(0) @ classifier.weights
    assert found["objective"] == pytest.approx(loss + eq.error_rate().evaluate(y, p))
    assert found["violations"] == [pytest.approx(classifier.evaluate(constraint, X, y, attributes={"g": g}))]
    with pytest.raises(eq.DataError, match="no problem of its own"):
        classifier.evaluate(None, X, y)


def test_wrong_width_is_refused():
    with pytest.raises(eq.DataError, match="3 features"):
        mixture().predict(np.zeros((2, 3)))
