"""Threads: how many are used follows the environment, also while the process runs."""

import threading

import pytest

from equirate._core import threads


def used() -> set[int]:
    """The threads that work on blocks which wait for each other."""
    number = threads.count()
    together, seen = threading.Barrier(number, timeout=30), set()

    def work(block: int) -> None:
        together.wait()  # fewer threads than blocks would wait for ever
        seen.add(threading.get_ident())

    threads.each(work, [(k,) for k in range(number)])
    return seen


def test_the_environment_says_how_many_threads_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for wish in ("1", "3", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", wish)
        assert threads.count() == len(used()) == int(wish)


@pytest.mark.parametrize("wish", ["", "0", "many"])
def test_other_values_mean_all_cores(wish: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = threads.count()
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert threads.count() == cores >= 1


def test_work_that_calls_for_threads_itself_works_alone(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    done = []

    def outer(k):
        threads.each(lambda j: done.append((k, j)), [(0,), (1,)])  # nobody is free: waiting for help would never end

    threads.each(outer, [(k,) for k in range(4)])
    assert sorted(done) == [(k, j) for k in range(4) for j in range(2)]
