"""BLAS keeps to one thread where the passes have threads of their own, and nowhere else."""

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  -- its BLAS too
from threadpoolctl import threadpool_info, threadpool_limits

import equirate as eq
from equirate._core import kernels, threads


def blas():
    """Threads of numpy's and scipy's BLAS; others that tests have loaded before may know one thread only."""
    found = [each for each in threadpool_info() if each["user_api"] == "blas"]
    return {each["num_threads"] for each in found if "numpy" in each["filepath"] or "scipy" in each["filepath"]}


@pytest.fixture
def two(monkeypatch):
    """Two threads for everybody."""
    monkeypatch.setattr(threads, "count", lambda: 2)
    monkeypatch.setattr(kernels, "ready", lambda: True)
    with threadpool_limits(limits=2, user_api="blas"):
        if blas() != {2}:
            pytest.skip("this BLAS cannot have two threads")
        yield


def test_blas_is_kept_to_one_thread_for_large_data_and_then_let_go(two):
    with threads.undisturbed(threads.FEW):
        assert blas() == {1}
    assert blas() == {2}
    with pytest.raises(ZeroDivisionError), threads.undisturbed(threads.FEW):
        _ = 1 / 0
    assert blas() == {2}


def test_blas_is_left_alone_where_the_passes_do_not_use_threads(two, monkeypatch):
    with threads.undisturbed(threads.FEW - 1):
        assert blas() == {2}
    monkeypatch.setattr(kernels, "ready", lambda: False)
    with threads.undisturbed(threads.FEW):
        assert blas() == {2}
    monkeypatch.setattr(threads, "count", lambda: 1)
    with threads.undisturbed(threads.FEW):
        assert blas() == {2}


@pytest.mark.parametrize(("model", "expected"), [("linear", {1}), ([np.ones(300, dtype=int)], {2})])
def test_a_play_with_compiled_passes_is_undisturbed(two, monkeypatch, model, expected):
    monkeypatch.setattr(threads, "FEW", 300)
    if model == "linear" and not kernels.compiled().ENABLED:
        pytest.skip("no compiled passes here")
    seen = []
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    eq.solve(
        eq.minimize(eq.error_rate()), X, y, model=model, n_rounds=1, record_every=1,
        progress=lambda moment: seen.append(blas()) and None,
    )  # fmt: skip
    assert seen == [expected]
    assert blas() == {2}
