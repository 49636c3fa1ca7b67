"""The state of fitted estimators for skops: the content of a ``.equirate`` file.

In: the manifest and arrays of a fitted estimator. Out: a state that is bytes alone, and back. skops then has to trust
no more than the estimators themselves (`equirate.SKOPS_TRUSTED`): the bytes are checked like any file. Pickle and
``copy`` keep everything, as for any estimator.
"""

from __future__ import annotations

import io
from typing import Any

from . import container

_CONTENT = "equirate_file"


def as_file(manifest: container.Manifest, arrays: container.Arrays) -> dict[str, bytes]:
    """The state of a fitted estimator: what ``save`` would write."""
    return {_CONTENT: b"".join(bytes(part) for part in container.packed(manifest, arrays))}


def is_file(state: Any) -> bool:
    """Whether a state is the content of a file."""
    return isinstance(state, dict) and set(state) == {_CONTENT}


def from_file(state: dict[str, bytes]) -> tuple[container.Manifest, container.Arrays]:
    """The manifest and arrays that a state holds."""
    content = state[_CONTENT]
    return container.unpacked(io.BytesIO(content), len(content))
