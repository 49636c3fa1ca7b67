"""`fit` succeeds or changes nothing, and what an interrupted fit leaves behind.

In: an estimator. Out: a context for its ``fit``. A fit that fails, or is interrupted, leaves the estimator as it was.
The result of an interrupted fit is kept as the attribute ``resume_``.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._core.errors import NotSolvedWarning
from .._core.warning import warn

ON_INTERRUPT = ("raise", "keep")
KEPT = (
    "fit was interrupted: the estimator is as it was before, and what was found is in its attribute resume_, a fitted "
    'estimator; on_interrupt="keep" returns that instead of raising KeyboardInterrupt'
)
CUT_SHORT = "fit was interrupted: this is what was found until then; status_.interrupted is True"


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was, unless its fit inside succeeds; warn if what was fitted is not what was asked for.

    A fit that was interrupted with a result ends as ``on_interrupt`` says.
    """
    before = dict(vars(estimator))
    try:
        yield
        vars(estimator).pop("resume_", None)
        status = estimator.status_
        refused = status.interrupted and estimator.on_interrupt == "raise"
        if not refused:
            for text in (*status.warnings(), *([CUT_SHORT] if status.interrupted else ())):
                warn(text, NotSolvedWarning)
    except BaseException:
        _restore(estimator, before)
        raise
    if not refused:
        return
    fitted = copy.copy(estimator)
    _restore(estimator, before)
    estimator.resume_ = fitted
    with contextlib.suppress(NotSolvedWarning):  # raise KeyboardInterrupt even if warnings are errors
        warn(KEPT, NotSolvedWarning)
    raise KeyboardInterrupt


def _restore(estimator: Any, before: dict[str, Any]) -> None:
    vars(estimator).clear()
    vars(estimator).update(before)
