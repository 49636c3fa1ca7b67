"""Decisions at the edge: the same alone and in a batch, compiled or not."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from equirate._core import kernels
from equirate.models.deciding import _fused, in_order
from equirate.models.design import decisions

KINDS = [np.float32, np.float64]
WAYS = [np.inf, 0.0] if kernels.ready() else [np.inf]
"""Amounts of work from which on the passes are compiled: never, and always."""


def at_the_edge(n: int, d: int, count: int, dtype: type, seed: int = 0) -> tuple[Any, Any]:
    """Tenths, whose sums are 0 but for rounding in many rows."""
    source = np.random.default_rng(seed)
    X = source.integers(-3, 4, size=(n, d)) / 10
    W = source.integers(-3, 4, size=(d + 1, count)) / 10
    return X.astype(dtype), W.astype(dtype)


def decided(worth: float, X: Any, W: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(kernels, "MIN_COMPILED_WORK", worth)
    found = decisions(X, W)
    assert found is not None
    return found


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_a_row_is_decided_alike_alone_and_in_a_batch(
    dtype: type, stored: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, W = at_the_edge(300, 9, count, dtype)
    batch = decided(np.inf, stored(X), W, monkeypatch)
    assert (batch != (X.astype(float) @ W[:-1] + W[-1] > 1e-4)).any()  # some rows are at the edge indeed
    for worth in WAYS:
        np.testing.assert_array_equal(decided(worth, stored(X), W, monkeypatch), batch)
        for rows in (slice(0, 1), slice(7, 9), slice(100, 250)):
            np.testing.assert_array_equal(decided(worth, stored(X)[rows], W, monkeypatch), batch[rows])


@pytest.mark.parametrize("worth", WAYS)
def test_scores_that_are_no_numbers_are_told(worth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "MIN_COMPILED_WORK", worth)
    W = np.ones((2, 1))
    assert decisions(np.array([[1.0], [np.nan]]), W) is None
    assert decisions(np.array([[1e200], [-1e200]]), W).tolist() == [[True], [False]]


def test_only_what_is_near_the_edge_is_added_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[int] = []
    real = in_order
    monkeypatch.setattr("equirate.models.deciding.in_order", lambda X, W: (again.append(X.shape[0]), real(X, W))[1])
    source = np.random.default_rng(0)
    X, W = source.normal(size=(500, 4)), source.normal(size=(5, 3))
    X[3] = 0.0
    W[-1] = 0.0
    decided(np.inf, X, W, monkeypatch)
    assert again == []  # a row of zeros scores 0 in any order
    X[5], W[:, 0] = [0.1, 0.2, -0.3, 0.0], 1.0
    W[-1] = 0.0
    decided(np.inf, X, W, monkeypatch)
    assert again == [1]


NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(NUMBERS, NUMBERS, NUMBERS, st.sampled_from(KINDS))
def test_product_and_sum_are_rounded_once(a: float, b: float, c: float, dtype: type) -> None:
    one = [np.array([x], dtype=dtype) for x in (a, b, c)]
    exact = Fraction(float(one[0][0])) * Fraction(float(one[1][0])) + Fraction(float(one[2][0]))
    assert float(_fused(*one)[0]) == float(dtype(float(exact)))
