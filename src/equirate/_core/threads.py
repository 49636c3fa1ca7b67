"""Work on several blocks at once, in threads: compiled passes release the interpreter's lock.

Results do not depend on the number of threads: blocks are the same whatever their number, and their results are summed
in order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any

from . import kernels

_limiting = threading.Lock()
"""Held by the fit that keeps BLAS to one thread."""
_working = threading.local()
"""Whether this thread works on blocks: what it calls then works alone, since nobody would be free to help it."""
MIN_ROWS = 10_000
"""Rows below which OpenBLAS works alone anyway."""


def count() -> int:
    """Threads to use: ``OMP_NUM_THREADS`` if it is set (as in worker processes), else the number of cores.

    Read at every pass, so that a change of the variable takes effect at once.
    """
    wish = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if wish.isdigit() and int(wish) > 0:
        return int(wish)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(process: int, others: int) -> ThreadPoolExecutor:
    """The threads of a process besides the calling one; a forked process gets its own."""
    return ThreadPoolExecutor(others, thread_name_prefix="equirate")


@cache
def _blas() -> Any:
    """The BLAS libraries of this process: to look for them takes milliseconds, as long as a small fit's passes."""
    # scikit-learn depends on it, without type information; only large trainings need it.
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


@contextmanager
def undisturbed(rows: int, compiled: bool = True) -> Iterator[None]:
    """Limit BLAS to one thread in this context, if passes over ``rows`` rows run in several threads themselves.

    Passes that are ``compiled`` do so only if there is a compiler.

    After each product over some ten thousand numbers, the threads of OpenBLAS keep spinning for tens of milliseconds.
    A game computes such products between its passes, which would then share the cores with spinning threads: two
    threads were slower than one.
    """
    # BLAS has one limit for the whole process, which concurrent fits must not set and restore across each other: one
    # fit at a time sets it, and a fit that overlaps leaves it as it is.
    own = count() > 1 and rows >= MIN_ROWS and (not compiled or kernels.ready())
    if not own or not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limiting.release()


def each(function: Callable[..., Any], blocks: Sequence[tuple[Any, ...]]) -> None:
    """Call a function with each block's arguments, side by side where there are threads for it."""
    available = 1 if getattr(_working, "now", False) else count()
    lots = min(available, len(blocks))

    def work(first: int) -> None:
        _working.now = True
        try:
            for block in blocks[first::lots]:
                function(*block)
        finally:
            _working.now = False

    if lots <= 1:
        for block in blocks:
            function(*block)
        return
    others = [_pool(os.getpid(), available - 1).submit(work, k) for k in range(1, lots)]
    try:
        work(0)
    finally:
        wait(others)  # they write to shared buffers, which must not be used before they are done
    for other in others:
        other.result()
