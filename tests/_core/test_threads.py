"""BLAS keeps to one thread where the passes have threads of their own, and nowhere else."""

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  -- its BLAS too
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

import equirate as eq
from equirate._core import kernels, threads


def blas():
    """Threads of numpy's and scipy's BLAS; others that tests have loaded before may know one thread only."""
    found = [each for each in threadpool_info() if each["user_api"] == "blas"]
    return {each["num_threads"] for each in found if "numpy" in each["filepath"] or "scipy" in each["filepath"]}


def let_go():
    """Let any thread set limits: threadpoolctl 3.8 leaves that to the thread which did so first."""
    if hasattr(threadpoolctl.OpenBLASController, "clear_controlling_thread"):
        threadpoolctl.OpenBLASController.clear_controlling_thread(force=True)


@pytest.fixture
def two(monkeypatch):
    """Two threads for everybody."""
    monkeypatch.setattr(threads, "count", lambda: 2)
    monkeypatch.setattr(kernels, "ready", lambda: True)
    limits = threadpool_limits(limits=2, user_api="blas")
    let_go()
    if blas() != {2}:
        pytest.skip("this BLAS cannot have two threads")
    yield
    let_go()
    limits.restore_original_limits()


def test_blas_is_kept_to_one_thread_for_large_data_and_then_let_go(two):
    with threads.undisturbed(threads.MIN_ROWS):
        assert blas() == {1}
    assert blas() == {2}
    with pytest.raises(ZeroDivisionError), threads.undisturbed(threads.MIN_ROWS):
        _ = 1 / 0
    assert blas() == {2}


def test_blas_is_left_alone_where_the_passes_do_not_use_threads(two, monkeypatch):
    with threads.undisturbed(threads.MIN_ROWS - 1):
        assert blas() == {2}
    monkeypatch.setattr(kernels, "ready", lambda: False)
    with threads.undisturbed(threads.MIN_ROWS):
        assert blas() == {2}
    monkeypatch.setattr(threads, "count", lambda: 1)
    with threads.undisturbed(threads.MIN_ROWS):
        assert blas() == {2}


@pytest.mark.parametrize(("model", "expected"), [("linear", {1}), ([np.ones(300, dtype=int)], {2})])
def test_a_play_with_compiled_passes_is_undisturbed(two, monkeypatch, model, expected):
    monkeypatch.setattr(threads, "MIN_ROWS", 300)
    if model == "linear" and not kernels.compiled().ENABLED:
        pytest.skip("no compiled passes here")
    seen = []
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    eq.solve(
        eq.minimize(eq.error_rate()), X, y, model=model, n_rounds=1, record_every=1,
        algorithm="surrogate" if model == "linear" else "oracle",
        progress=lambda moment: seen.append(blas()) and None,
    )  # fmt: skip
    assert seen == [expected]
    assert blas() == {2}


def test_overlapping_fits_leave_blas_as_it_was(two):
    """The first to begin is the first to end, so that it restores the limit while the other still works."""
    first_in, both_in, first_out = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with threads.undisturbed(threads.MIN_ROWS):
            first_in.set()
            both_in.wait(30)
        first_out.set()

    def second():
        first_in.wait(30)
        with threads.undisturbed(threads.MIN_ROWS):
            seen.append(blas())
            both_in.set()
            first_out.wait(30)

    workers = [threading.Thread(target=work) for work in (first, second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == [{1}]
    assert blas() == {2}
