from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from equirate.models.linear import LinearMembers
from equirate.scaling import Scaling

Array = NDArray[np.float64]


def drawn(n: int = 300, d: int = 5, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def fitted(X: Any, weights: Array | None = None) -> Scaling:
    return Scaling.of(X, np.arange(X.shape[0]), True, weights)


def test_features_are_standardised_in_single_precision() -> None:
    X = 5 + 3 * drawn()
    scaled = fitted(X)(X)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-5)


def test_only_the_given_rows_are_measured() -> None:
    X = drawn()
    rows = np.arange(100)
    scaling = Scaling.of(X, rows, True)
    np.testing.assert_allclose(scaling.mean, X[:100].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaling.scale, X[:100].std(axis=0), rtol=1e-12)


def test_inactive_scaling_leaves_everything_alone() -> None:
    X = drawn()
    scaling = Scaling.of(X, np.arange(10), False)
    members = LinearMembers(np.ones((6, 2)), True)
    assert scaling(X) is X
    assert scaling.undo(members) is members


SCALES = [1e-12, 1e-6, 1.0, 1e6, 1e12]


@pytest.mark.parametrize("shift", [0.0, 1.0, 1e4], ids=lambda shift: f"shift {shift:g}")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["float64", "float32", "sparse", "sparse32"])
def test_undone_classifiers_decide_alike_on_features_as_given(kind: str, intercept: bool, shift: float) -> None:
    X: Any = (drawn() + shift) * SCALES
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind.startswith("sparse"):
        X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
        X = sp.csr_array(X.astype(np.float32 if kind == "sparse32" else float))
    scaling = fitted(X)
    scaled = scaling(X)
    assert sp.issparse(scaled) == kind.startswith("sparse")
    assert scaled.dtype == np.float32
    W = np.random.default_rng(2).normal(size=(5 + intercept, 20)).astype(np.float32)
    members = LinearMembers(W, intercept)
    back = scaling.undo(members)
    wanted, found = members.scores(scaled), back.scores(X)
    tolerance = 1e-4 if shift < 100 or kind != "float32" else 2e-2
    np.testing.assert_allclose(found, wanted, atol=tolerance)
    clear = np.abs(wanted) > tolerance
    assert clear.mean() > 0.9
    assert (back.decide(X) == members.decide(scaled))[clear].all()


def test_no_feature_is_lost_to_its_unit() -> None:
    X = drawn() * SCALES
    scaled = fitted(X)(X)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-5)
    np.testing.assert_allclose(fitted(sp.csr_array(X))(sp.csr_array(X)).toarray().std(axis=0), 1, atol=0.05)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7, 1e-12, 1e12 / 3, 1e300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_feature_becomes_zero(value: float, dtype: type, weighted: bool) -> None:
    value = min(value, 1e30) if dtype is np.float32 else value
    n = 10_007
    X = np.column_stack([np.full(n, value), drawn(n, 1)]).astype(dtype)
    weights = np.random.default_rng(0).random(n) if weighted else None
    scaling = fitted(X, weights)
    assert scaling.scale[0] == pytest.approx(max(1.0, abs(value)))
    assert np.abs(scaling(X)[:, 0]).max() <= 1e-14
    back = scaling.undo(LinearMembers(np.array([[1.0], [1.0], [0.0]]), True))
    assert np.isfinite(back.W).all()


def test_an_empty_sparse_column_stays_empty() -> None:
    X = sp.csr_array(np.column_stack([np.zeros(50), drawn(50, 2)]))
    scaled = fitted(X)(X)
    assert scaled[:, [0]].nnz == 0
    assert np.isfinite(scaled.data).all()


@given(st.lists(st.integers(0, 4), min_size=12, max_size=12).filter(any), st.booleans())
def test_a_weight_counts_like_so_many_copies(counts: list[int], sparse: bool) -> None:
    X = drawn(12, 3) * [1e-6, 1, 1e6] + [0, 5, 0]
    copies = np.repeat(X, counts, axis=0)
    as_given = sp.csr_array if sparse else np.asarray
    a = fitted(as_given(X), np.array(counts, dtype=float))
    b = fitted(as_given(copies))
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(a.scale, b.scale, rtol=1e-9)


def test_weights_are_those_of_the_rows() -> None:
    X, rows = drawn(20, 2), np.array([3, 4, 5])
    weights = np.arange(20.0)
    a, b = Scaling.of(X, rows, True, weights), fitted(X[rows], weights[rows])
    np.testing.assert_array_equal(a.mean, b.mean)
    np.testing.assert_array_equal(a.scale, b.scale)


def test_no_weight_at_all_is_equal_weight() -> None:
    X = drawn(20, 2)
    np.testing.assert_allclose(fitted(X, np.zeros(20)).scale, fitted(X).scale)


def test_other_classifiers_are_left_alone() -> None:
    marker = object()
    assert fitted(drawn()).undo(marker) is marker


def test_weights_go_there_and_back() -> None:
    scaling = fitted((drawn() + 1) * SCALES)
    W = np.random.default_rng(2).normal(size=(6, 3))
    np.testing.assert_allclose(scaling.redo(scaling.raw(W)), W, rtol=1e-9, atol=1e-9)
