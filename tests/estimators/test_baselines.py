"""Predictions of other models: numbers, booleans and text that name labels mean the same."""

import numpy as np
import pytest

import equirate as eq

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 3))
Y = (X[:, 0] + X[:, 1] + RNG.normal(size=500) > 0.3).astype(int)
OLD = (X[:, 0] > 0.3).astype(int)
PROBLEM = eq.minimize(eq.error_rate()), [eq.churn("old") <= 0.05]


@pytest.mark.parametrize("written", [int, float, bool, str], ids=["int", "float", "bool", "text"])
@pytest.mark.parametrize("labels", [int, float, bool])
@pytest.mark.parametrize("positive", [0, 1])
def test_a_baseline_is_read_by_value_whatever_the_types(written: type, labels: type, positive: int) -> None:
    old = OLD.astype(written) if written is not str else OLD.astype(labels).astype(str)
    clf = eq.RateClassifier(*PROBLEM, pos_label=labels(positive), random_state=0)
    clf.fit(X, Y.astype(labels), sensitive_features={"old": old})
    churn = np.mean(clf.predict(X).astype(int) != OLD)
    assert churn <= 0.08
    found = clf.evaluate(X, Y.astype(labels), sensitive_features={"old": old}).constraints[0]
    assert found.left == pytest.approx(np.mean(clf.predict_pmf(X)[np.arange(500), 1 - OLD]))
    monitor = eq.Monitor(clf).update(clf.predict(X), Y.astype(labels), attributes={"old": old})
    assert monitor.status()[0].estimate == pytest.approx(churn - 0.05)


def test_numbers_that_could_mean_either_label_are_refused() -> None:
    clf = eq.RateClassifier(*PROBLEM, pos_label=-1, random_state=0)
    with pytest.raises(eq.DataError, match=r"the baseline 'old' must hold the labels \[1, -1\]"):
        clf.fit(X, 2 * Y - 1, sensitive_features={"old": OLD})
    clf.fit(X, 2 * Y - 1, sensitive_features={"old": 2 * OLD - 1})
    assert np.mean(clf.predict(X) != 2 * OLD - 1) <= 0.08
