"""Multinomial logistic regression in blocks of rows, against scikit-learn solved to many digits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from equirate.models import multinomial
from equirate.models.cross_fitting import Certain
from equirate.models.multinomial import Multinomial

N, D, K = 3000, 8, 4
rng = np.random.default_rng(2)
MIXED = np.eye(D) + 2 * rng.normal(size=(D, D)) / np.sqrt(D)  # correlated features
X = rng.normal(size=(N, D)) @ MIXED * np.geomspace(0.01, 100, D) + np.arange(D)
SLOPES = np.linalg.solve(MIXED, rng.normal(size=(D, K))) / np.geomspace(0.01, 100, D)[:, None]
Y = ((X - X.mean(axis=0)) @ SLOPES - [0, 1, 2, 5] + rng.gumbel(size=(N, K))).argmax(axis=1)  # the last class is rare
W = rng.random(N) + 0.2


def reference(X, y, weights=None, intercept=True, penalty=1.0):
    """Probabilities of scikit-learn's regression on standardised features; sparse ones are scaled alone."""
    sparse = bool(sp.issparse(X))
    dense = X.toarray() if sparse else X
    mean = np.average(dense, axis=0, weights=weights)
    spread = np.sqrt(np.average((dense - mean) ** 2, axis=0, weights=weights))
    scaled = (dense - (mean if intercept and not sparse else 0.0)) / np.where(spread > 0, spread, 1.0)
    model = LogisticRegression(C=1 / penalty, fit_intercept=intercept, max_iter=10_000, tol=1e-9)
    return model.fit(scaled, y, weights).predict_proba(scaled)


def fitted(X, y, weights=None, penalty=1.0, intercept=True):
    weights = np.ones(len(y)) if weights is None else weights
    return Multinomial(penalty, intercept).fit(X, y, weights, int(y.max()) + 1)


@pytest.mark.parametrize("weights", [None, W], ids=["alike", "weighted"])
@pytest.mark.parametrize("penalty", [1.0, 30.0])
@pytest.mark.parametrize("kind", ["dense", "float32", "sparse", "no intercept", "two classes", "a constant"])
def test_the_probabilities_of_scikit_learn(kind, weights, penalty):
    features, y = X, Y
    if kind == "sparse":
        features = sp.csr_array(np.where(rng.random(X.shape) < 0.5, 0.0, X))
    elif kind == "float32":
        features = X.astype(np.float32)
    elif kind == "two classes":
        y = (Y == 0).astype(int)
    elif kind == "a constant":
        features = np.hstack([X, np.full((N, 1), 3.0)])
    intercept = kind != "no intercept"
    found = fitted(features, y, weights, penalty, intercept)
    wanted = reference(features.astype(float), y, weights, intercept, penalty)
    np.testing.assert_allclose(found.predict_proba(features), wanted, atol=2e-3)


def test_rows_without_weight_do_not_count():
    """Neither for the regression nor for the classes that it knows."""
    labels = np.where(np.arange(N) < 50, 6, Y)
    weights = np.where(np.arange(N) < 50, 0.0, W)
    found = Multinomial().fit(X, labels, weights, 7)
    other = fitted(X[50:], Y[50:], W[50:])
    assert found.classes_.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(found.predict_proba(X), other.predict_proba(X), atol=1e-6)
    only = Multinomial().fit(X, labels, np.where(labels == 6, 1.0, 0.0), 7)
    assert isinstance(only, Certain)
    assert only.classes_.tolist() == [6]


def test_blocks_of_rows_change_nothing(monkeypatch):
    whole = fitted(X, Y, W)
    monkeypatch.setattr(multinomial, "_BLOCK", 7 * D)
    monkeypatch.setattr(multinomial, "_TASK", 70 * D)
    blocks = fitted(X, Y, W)
    np.testing.assert_allclose(blocks.coef_, whole.coef_, rtol=1e-6, atol=1e-9)


def test_correlated_features_and_rare_classes_take_few_passes(monkeypatch):
    passes, loss = [], multinomial._Regression.loss

    def counted(regression, weights):
        passes.append(1)
        return loss(regression, weights)

    monkeypatch.setattr(multinomial._Regression, "loss", counted)
    fitted(X, Y)
    with_scales = len(passes)
    monkeypatch.setattr(multinomial, "MAX_FEATURES_FOR_MOMENTS", 0)  # without second moments
    fitted(X, Y)
    assert with_scales <= 30
    assert with_scales < len(passes) - with_scales


def test_kinds_count_for_every_class_in_part():
    """The regression on rows that appear once for each class, weighted by its share."""
    shares = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.2, 0.7, 0.1], [0.0, 0.0, 0.0, 1.0]])
    kind = np.arange(N) % 3
    found = Multinomial().fit(X, kind, W, K, shares=shares)
    rows, classes = np.nonzero(shares[kind])
    other = fitted(X[rows], classes, W[rows] * shares[kind[rows], classes])
    np.testing.assert_allclose(found.predict_proba(X), other.predict_proba(X), atol=1e-4)


def test_classes_without_a_share_are_not_known():
    shares = np.array([[0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
    found = Multinomial().fit(X, np.arange(N) % 2, W, 3, shares=shares)
    assert found.classes_.tolist() == [1, 2]
