"""`fit` succeeds or changes nothing, and what an interrupted fit leaves behind.

In: an estimator. Out: a context for its ``fit``. A fit that fails, or is interrupted, leaves the estimator as it was.
The result of an interrupted fit is kept as the attribute ``resume_``.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._core.errors import NotSolvedWarning

ON_INTERRUPT = ("raise", "keep")
KEPT = (
    "fit was interrupted: the estimator is as it was before, and what was found is in its attribute resume_, a fitted "
    'estimator; on_interrupt="keep" returns that instead of raising KeyboardInterrupt'
)
CUT_SHORT = "fit was interrupted: this is what was found until then; status_.interrupted is True"


class _InterruptedFit(KeyboardInterrupt):
    """An interruption, with the estimator that was fitted until then."""

    def __init__(self, fitted: Any) -> None:
        super().__init__()
        self.fitted = fitted


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was, unless everything inside succeeds."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException as error:
        vars(estimator).clear()
        vars(estimator).update(before)
        if not isinstance(error, _InterruptedFit):
            raise
        fitted = error.fitted
    else:
        vars(estimator).pop("resume_", None)
        return
    estimator.resume_ = fitted
    with contextlib.suppress(NotSolvedWarning):  # raise KeyboardInterrupt even if warnings are errors
        warnings.warn(KEPT, NotSolvedWarning, stacklevel=4)
    raise KeyboardInterrupt


def end_fit(estimator: Any) -> None:
    """Warn if the fit did not succeed; end one that was interrupted with a result as ``on_interrupt`` says."""
    interrupted = estimator.status_.interrupted
    if interrupted and estimator.on_interrupt == "raise":
        fitted = copy.copy(estimator)
        vars(fitted).pop("resume_", None)
        raise _InterruptedFit(fitted)
    for text in (*estimator.status_.warnings(), *([CUT_SHORT] if interrupted else ())):
        warnings.warn(text, NotSolvedWarning, stacklevel=3)
