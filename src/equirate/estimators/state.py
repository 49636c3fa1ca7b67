"""The state of fitted estimators for skops: the content of a ``.equirate`` file.

In: a fitted estimator. Out: a state that is bytes alone, and back. skops then has to trust no more than the estimators
themselves, `SKOPS_TRUSTED`: what is in the bytes is checked as a file of a stranger is. Pickle and ``copy`` keep
everything, as for any estimator.
"""

from __future__ import annotations

import io
from typing import Any

from . import files

SKOPS_TRUSTED = (
    "equirate.estimators.rate_classifier.RateClassifier",
    "equirate.estimators.postprocessor.RatePostprocessor",
)
"""The types of equirate that ``skops.io.load(file, trusted=...)`` has to trust."""
_CONTENT = "equirate_file"


def as_file(estimator: Any) -> dict[str, bytes]:
    """The state of a fitted estimator: what ``save`` would write."""
    return {_CONTENT: b"".join(bytes(part) for part in files.packed(*estimator._plain()))}


def is_file(state: Any) -> bool:
    """Whether a state is the content of a file."""
    return isinstance(state, dict) and set(state) == {_CONTENT}


def restored(state: dict[str, bytes]) -> Any:
    """The estimator that a state describes."""
    from .loading import restored as read  # it imports the estimators

    content = state[_CONTENT]
    return read(*files.unpacked(io.BytesIO(content), len(content)))
