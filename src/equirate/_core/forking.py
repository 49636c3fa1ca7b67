"""Threads of OpenMP do not survive a fork: a parallel loop in the child waits for them for ever.

In: the number of threads that a library is about to use. Out: nothing, or a `ProcessError` instead of a fit, or of
scores, that would hang: after a fit of LightGBM, XGBoost or ``HistGradientBoostingClassifier`` with several threads, a
child made by ``fork`` cannot use them with several.
"""

from __future__ import annotations

import os

from .errors import ProcessError

_user: int | None = None
"""The process that first used several threads of OpenMP; a forked child inherits its parent's."""


def use_openmp(library: str, threads: int) -> None:
    """Note that a library uses threads of OpenMP in this process; an error where it would wait for ever."""
    global _user
    if threads <= 1:
        return
    if _user is None:
        _user = os.getpid()
    elif _user != os.getpid():
        raise ProcessError(
            f"{library} cannot be used with {threads} threads in this process: it was forked after trees were "
            "trained in its parent, and OpenMP, which the library uses, would wait for ever. Start processes with the "
            'method "spawn" or "forkserver" (joblib\'s default does), or set OMP_NUM_THREADS=1 in this one'
        )
