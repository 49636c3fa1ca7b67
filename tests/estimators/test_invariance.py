"""What must not matter: scales of columns, order of rows, names of groups, how rows are repeated or stored."""

import numpy as np
import pytest
import scipy.sparse as sp

import equirate as eq

N = 1500
PROBLEMS = {
    "parity": (eq.minimize(eq.error_rate()), eq.demographic_parity("g", tolerance=0.05)),
    "F1": (eq.maximize(eq.f1()), [eq.precision() >= 0.6]),
}


def make(n, seed):
    rng = np.random.default_rng(seed)
    g = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 6))
    X[:, 0] += 0.8 * g
    X[:, 5] = X[:, 5] > 1
    y = (X @ [1.0, -0.7, 0.4, 0.0, 0.2, 0.6] + rng.logistic(size=n) > 0.6).astype(int)
    return X, y, g


X, Y, G = make(N, 0)
NEW = make(20_000, 1)


def achieved(problem, X, y, people, weights=None, *, new=NEW, people_new=None, **settings):
    """Objective and largest violation on new rows."""
    classifier = eq.RateClassifier(*PROBLEMS[problem], random_state=0, **settings)
    classifier.fit(X, y, sensitive_features={"g": people}, sample_weight=weights)
    p = classifier.predict_pmf(new[0])[:, 1]
    names = {"g": new[2] if people_new is None else people_new}
    asked = eq.Problem(*PROBLEMS[problem])
    objective = asked.objective.expr.evaluate(NEW[1], p, attributes=names)
    written = classifier.problem_.constraints
    return objective, max(c.evaluate(NEW[1], p, attributes=names) for c in written)


@pytest.fixture(scope="module", params=list(PROBLEMS))
def problem(request):
    return request.param


@pytest.fixture(scope="module")
def plain(problem):
    return achieved(problem, X, Y, G)


def assert_alike(one, other):
    assert one[0] == pytest.approx(other[0], abs=0.004)
    assert one[1] == pytest.approx(other[1], abs=0.005)


@pytest.mark.parametrize("scale", [[1e6, 1e-6, 1.0, 1e6, 1e-6, 1.0], [1e6], [1e-6]], ids=["mixed", "1e6", "1e-6"])
def test_scales_of_columns(problem, plain, scale):
    scale = np.resize(scale, 6)
    assert_alike(achieved(problem, X * scale, Y, G, new=(NEW[0] * scale, *NEW[1:])), plain)


def test_order_of_rows(problem, plain):
    # the split goes by the place of rows, so what is held out may differ: without it the same rows are used
    order = np.random.default_rng(5).permutation(N)
    one = achieved(problem, X, Y, G, validation=0)
    assert_alike(achieved(problem, X[order], Y[order], G[order], validation=0), one)


def test_names_of_groups(problem, plain):
    names = np.array(["zebra", "ant"])
    assert_alike(achieved(problem, X, Y, names[G], people_new=names[NEW[2]]), plain)


@pytest.mark.parametrize("factor", [1e-9, 2.0, 1e6])
def test_scale_of_weights(problem, plain, factor):
    assert_alike(achieved(problem, X, Y, G, np.full(N, factor)), plain)


def test_rows_that_are_there_twice_weigh_2(problem):
    twice = [np.concatenate([part, part]) for part in (X, Y, G)]
    one = achieved(problem, *twice, validation=0)
    assert_alike(achieved(problem, X, Y, G, np.full(N, 2.0), validation=0), one)


def test_dense_or_sparse(problem, plain):
    assert_alike(achieved(problem, sp.csr_array(X), Y, G, new=(sp.csr_array(NEW[0]), *NEW[1:])), plain)


def test_with_or_without_a_compiler(problem, monkeypatch):
    pytest.importorskip("numba")
    found = []
    for wish in ("0", "1"):
        monkeypatch.setenv("EQUIRATE_KERNELS", wish)
        found.append(achieved(problem, X, Y, G))
    assert_alike(*found)
