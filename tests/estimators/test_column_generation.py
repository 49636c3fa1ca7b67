"""Column generation in a fit: what it reaches beside a game and a logistic regression, and its frontiers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equirate as eq


def people(n=400, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y, g = (rng.random(n) < 0.4).astype(int), rng.integers(0, 2, n)
    X = rng.normal(size=(n, d)) + y[:, None] * rng.normal(size=d) + 0.4 * g[:, None]
    return X, y, {"g": g}


G = eq.attr("g") == 1


GAME = {"n_rounds": 100, "theta_step": (0.01, 0.1), "lambda_step": (0.01, 0.1)}


def test_it_is_no_worse_than_a_game_on_the_data_given():
    X, y, attributes = people(240)
    problem = (eq.maximize(eq.f1()), [abs(eq.precision(G) - eq.precision(~G)) <= 0.02])
    reached = []
    for game in (GAME, {}):
        clf = eq.RateClassifier(*problem, random_state=0, **game).fit(X, y, sensitive_features=attributes)
        assert clf.status_.feasible
        reached.append(clf.evaluate(X, y, sensitive_features=attributes).objective)
    assert reached[1] >= reached[0] - 1e-6


def test_no_less_than_a_logistic_regression_where_nothing_binds():
    X, y, _ = people(24_000, 12, seed=1)
    X, new_X, y, new_y = X[:4000], X[4000:], y[:4000], y[4000:]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.99], random_state=0).fit(X, y)
    theirs = LogisticRegression().fit(X, y)
    wrong, allowed = (float(np.mean(each.predict(new_X) != new_y)) for each in (clf, theirs))
    assert wrong <= allowed + 0.003


def test_a_looser_level_is_never_worse():
    X, y, attributes = people(300, 3)
    clf = eq.RateClassifier(eq.maximize(eq.f1()), [abs(eq.precision(G) - eq.precision(~G)) <= 0.05], validation=0.0)
    levels = [0.05, -0.04, 0.0, 0.2, -0.02]
    found = clf.frontier(X, y, sensitive_features=attributes, levels=levels)
    objective = [found.table()[k]["objective_train"] for k in np.argsort(levels)]
    assert (np.diff(objective) >= -1e-9).all()


def test_progress_is_shown(capsys):
    X, y, attributes = people(200)
    problem = (eq.minimize(eq.error_rate()), [eq.fpr(G) <= 0.3])
    eq.RateClassifier(*problem, verbose=True, random_state=0).fit(X, y, sensitive_features=attributes)
    assert "pass 1" in capsys.readouterr().err


def test_one_feature_is_proven_on_the_data_it_was_chosen_on():
    X, y, attributes = people(300, 1)
    clf = eq.RateClassifier(eq.maximize(eq.f1()), [eq.fpr(G) <= 0.3], random_state=0).fit(
        X, y, sensitive_features=attributes
    )
    assert clf.status_.bound_over == "all classifiers of this model"
    assert clf.status_.gap <= 0.002
    assert "of the best that any mixture of all classifiers of this model can do" in str(clf.status_)


def test_with_twenty_rows_for_each_feature_all_rows_train():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 60))
    y = (X[:, :5].sum(axis=1) + 2 * rng.normal(size=1200) > 0).astype(int)
    attributes = {"g": rng.integers(0, 2, 1200)}
    loose = [abs(eq.positive_rate(G) - eq.positive_rate(~G)) <= 0.9]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), loose, random_state=0).fit(
        X, y, sensitive_features=attributes
    )
    assert list(clf.parts_) == ["train"]
    new = rng.normal(size=(40_000, 60))
    ours, whole = clf.predict(new), LogisticRegression().fit(X, y).predict(new)
    part = LogisticRegression().fit(X[:900], y[:900]).predict(new)
    assert np.mean(ours != whole) < np.mean(part != whole)
    truth = new[:, :5].sum(axis=1) > 0
    assert np.mean(ours != truth) <= np.mean(whole != truth) + 0.003


def test_with_few_rows_for_each_feature_the_mixture_is_chosen_on_others():
    X, y, attributes = people(300, 60, seed=2)
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.fpr(G) <= 0.2], random_state=0).fit(
        X, y, sensitive_features=attributes
    )
    assert list(clf.parts_) == ["train", "validation"]
    assert clf.parts_["validation"].violation <= 1e-3
    assert clf.status_.violation == pytest.approx(clf.parts_["validation"].violation, abs=1e-6)


def test_levels_beyond_what_is_possible_give_what_violates_least():
    X, y, attributes = people(300, 3)
    gap = abs(eq.positive_rate(G) - eq.positive_rate(~G)) <= 0.05
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [gap], validation=0.0)
    found = clf.frontier(X, y, sensitive_features=attributes, levels=[-0.1, 0.0])
    assert found.table()[0]["violation_train"] == pytest.approx(-0.05, abs=1e-3)  # the gap itself is 0


def test_the_regression_of_the_labels_does_not_stand_in_for_other_objectives():
    """It keeps the limit of false positives with room to spare, and has a third of the recall that the limit allows."""
    rng = np.random.default_rng(0)
    y = (rng.random(800) < 0.2).astype(int)
    X = rng.normal(size=(800, 2)) + 1.0 * y[:, None]
    clf = eq.RateClassifier(eq.maximize(eq.recall()), [eq.fpr() <= 0.3], random_state=0).fit(X, y)
    plain = LogisticRegression().fit(X, y).predict(X)
    assert clf.status_.objective >= plain[y == 1].mean() + 0.25
