"""The paper's baselines against scikit-learn and brute force."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import equirate as eq
from equirate.game.baselines import best_f1_threshold, logistic, post_shift, unc_error, unc_f1, unconstrained
from equirate.models import Linear


def data(n=600, noise=0.7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X @ [1.0, -0.5, 0.0] + noise * rng.normal(size=n) > 0.3).astype(int)
    return X, y, (rng.random(n) < 0.4).astype(int)


def test_unc_error_is_near_the_support_vector_machine():
    X, y, _ = data()
    ours = (unc_error(X, y, n_rounds=1500).predict(X) != y).mean()
    theirs = (LinearSVC(C=1.0, loss="hinge", max_iter=200_000).fit(X, y).predict(X) != y).mean()
    assert ours <= theirs + 0.01


def test_logistic_is_near_scikit_learn():
    X, y, _ = data()
    w = np.random.default_rng(1).uniform(0.5, 2, len(y))
    ours = logistic(X, y, sample_weight=w, n_rounds=3000, steps=0.05)
    theirs = LogisticRegression(C=1e6).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.members.W[:-1, 0], theirs.coef_[0], atol=0.02)
    np.testing.assert_allclose(ours.members.W[-1, 0], theirs.intercept_[0], atol=0.02)


def test_a_bounded_model_stays_in_its_ball():
    X, y, _ = data()
    found = unconstrained(X, y, n_rounds=200, model=Linear(radius=0.5))
    assert np.linalg.norm(found.members.W) <= 0.5 + 1e-9


def test_selection_on_validation_data():
    X, y, _ = data()
    steps, part = (1e-4, 0.05, 20.0), slice(0, 200)
    kept = unconstrained(X[200:], y[200:], n_rounds=100, steps=steps, validation=(X[part], y[part]))
    errors = [
        (unconstrained(X[200:], y[200:], n_rounds=100, steps=s).predict(X[part]) != y[part]).mean() for s in steps
    ]
    assert (kept.predict(X[part]) != y[part]).mean() == pytest.approx(min(errors))


@pytest.mark.parametrize("seed", range(20))
def test_f1_threshold_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    scores, y, w = rng.normal(size=40).round(seed % 2), rng.integers(0, 2, 40), rng.uniform(0.1, 2, 40)
    found = best_f1_threshold(scores, y, sample_weight=w)

    def f1(threshold):
        said = scores > threshold
        return 2 * (w * y * said).sum() / ((w * said).sum() + (w * y).sum())

    assert f1(found) == pytest.approx(max(f1(t) for t in [*scores, scores.min() - 1]))


def test_unc_f1_moves_the_threshold_only():
    X, y, _ = data()
    base, found = unc_error(X, y, n_rounds=500), unc_f1(X, y, n_rounds=500)
    np.testing.assert_array_equal(found.members.W[:-1], base.members.W[:-1])
    scores = base.members.scores(X)[:, 0]
    best = max(eq.f1().evaluate(y, (scores > t).astype(int)) for t in scores)
    assert found.evaluate(eq.f1(), X, y) == pytest.approx(best)
    plain = unc_f1(X, y, n_rounds=200, model=Linear(intercept=False))
    assert plain.members.intercept
    assert plain.evaluate(eq.f1(), X, y) >= 0.6


def test_post_shift_gives_every_group_the_rate():
    X, y, g = data()
    groups = [eq.attr("g") == 1, eq.attr("g") == 0]
    for rate in (None, 0.2):
        found = post_shift(X, y, attributes={"g": g}, groups=groups, rate=rate, n_rounds=300)
        p = y.mean() if rate is None else rate
        for k, group in enumerate(groups):
            measured = found.evaluate(eq.positive_rate(group), X, y, attributes={"g": g})
            assert abs(measured - p) <= 1 / (g == 1 - k).sum()
    with pytest.raises(eq.DataError, match="give attributes"):
        found.predict(X)


def test_post_shift_with_equal_scores_takes_the_nearest_rate():
    X = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)
    y = (np.arange(60) % 3 < X[:, 0]).astype(int)
    found = post_shift(
        X, y, attributes={"g": np.ones(60, dtype=int)}, groups=[eq.attr("g") == 1], rate=0.3, n_rounds=100
    )
    assert found.evaluate(eq.positive_rate(), X, y, attributes={"g": np.ones(60, dtype=int)}) == pytest.approx(1 / 3)


def test_refusals():
    X, y, g = data()
    one = eq.attr("g") == 1
    for groups in ([one, one | ~one], [one]):
        with pytest.raises(eq.DataError, match="must not overlap and must cover everybody"):
            post_shift(X, y, attributes={"g": g}, groups=groups)
    with pytest.raises(eq.DataError, match="empty"):
        post_shift(X, y, attributes={"g": g}, groups=[one, ~one], sample_weight=np.where(g == 1, 0.0, 1.0))
    with pytest.raises(eq.DataError, match="rate of post_shift"):
        post_shift(X, y, attributes={"g": g}, groups=[one, ~one], rate=1.5)
    with pytest.raises(eq.AlgorithmError, match="the loss must be one of"):
        unconstrained(X, y, loss="squared")
    with pytest.raises(eq.AlgorithmError, match="steps must be positive"):
        unconstrained(X, y, steps=[0.1, -1])
    with pytest.raises(eq.DataError, match="one class only"):
        unc_error(X, np.ones(len(y)))
