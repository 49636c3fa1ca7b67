"""How many threads trees are trained and scored with: one where rows are few, unless the user has set a number.

In: settings or a classifier, and the number of rows. Out: a number of threads; or a limit while a classifier works.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from . import threads
from .forking import use_openmp

MIN_PARALLEL_ROWS = 20_000
"""Rows from which on trees have several threads. Below, a second one saves a tenth of a second of a fit at most."""
THREADS = ("n_jobs", "num_threads", "nthread", "num_thread", "nthreads")
"""Names of the number of threads in LightGBM and XGBoost."""
_LIGHT = "LGBMClassifier"
_TREES = (_LIGHT, "XGBClassifier", "HistGradientBoostingClassifier")
"""Classifiers that train and score in parallel loops of OpenMP."""


def thread_count(settings: Mapping[str, Any], rows: int) -> int:
    """Number of threads in the settings of trees. By default and for 0 as the number of rows says; -1 for all cores.

    On a machine whose cores are busy, threads that wait for each other keep spinning: fits of a few thousand rows then
    take ten times as long with two threads as with one, and more.
    """
    wish = next((int(settings[name]) for name in THREADS if settings.get(name) is not None), 0)
    if wish == 0:
        return 1 if rows < MIN_PARALLEL_ROWS else threads.count()
    return wish if wish > 0 else max(threads.count() + 1 + wish, 1)


@contextmanager
def threads_for(estimator: Any, rows: int, training: bool = False) -> Iterator[None]:
    """Limit the threads of a classifier of trees that works by its own methods, alone or inside of another estimator.

    An error where it would wait for ever after a fork.
    """
    found = list(_trees_in(estimator))
    with ExitStack() as limits:
        for trees, own in found:
            name = type(trees).__name__
            settings = trees.get_params(deep=False) if name != "HistGradientBoostingClassifier" else {}
            number = thread_count(settings, rows)
            if number == 1 and name == _LIGHT and thread_count(settings, MIN_PARALLEL_ROWS) > 1:
                # It passes a number of threads to its library, all cores by default, whatever the limit of OpenMP is.
                if training and own:
                    limits.enter_context(_one_job(trees))
                else:
                    number = thread_count(settings, MIN_PARALLEL_ROWS)
            use_openmp(name, number)
        if found and thread_count({}, rows) == 1:
            limits.enter_context(one_thread(*(type(trees).__module__.partition(".")[0] for trees, _ in found)))
        yield


@contextmanager
def one_thread(*packages: str) -> Iterator[None]:
    """Keep OpenMP to one thread meanwhile, in these packages and others that are loaded.

    OpenMP has a limit for each thread that calls it, so that fits in other threads are not affected.
    """
    with _openmp(frozenset(packages)).limit(limits=1, user_api="openmp"):
        yield


def _trees_in(estimator: Any, own: bool = True) -> Iterator[tuple[Any, bool]]:
    """Classifiers of trees, and whether they are trained themselves and not as clones."""
    if type(estimator).__name__ in _TREES:
        yield estimator, own
        return
    steps = list(getattr(estimator, "steps", ()))
    last = steps[-1][-1] if steps else None  # a pipeline trains clones of the others
    named = [*steps, *(getattr(estimator, "estimators", None) or ())]  # of stacking, voting
    inside = [part[1] for part in named if isinstance(part, tuple)]
    inside += [getattr(estimator, name, None) for name in ("estimator", "final_estimator")]
    for part in inside:
        if part is not None and not isinstance(part, str):
            yield from _trees_in(part, own and part is last)


@contextmanager
def _one_job(trees: Any) -> Iterator[None]:
    before, trees.n_jobs = trees.n_jobs, 1
    try:
        yield
    finally:
        trees.n_jobs = before


@cache
def _openmp(packages: frozenset[str]) -> Any:
    """The libraries of OpenMP once classifiers of these packages exist, which bring their own; looking takes 20 ms."""
    # scikit-learn depends on it, without type information.
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
