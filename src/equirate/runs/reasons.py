"""Reasons for decisions in the columns of a table: what ``predict --reasons`` writes.

In: a model and the columns and features of some rows. Out: further columns: how much was chance, whether the
constraints changed the decision, and a sentence. Features that a column was encoded as are added up to that column's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..explanations import Explanations
from ..tables.encoder import Encoder
from .folders import FolderModel

COLUMNS = ("chance", "changed", "reasons")
_MOST = 4_000_000
"""Contributions, one for each row, member and feature, that are held at once."""


def reasons(model: FolderModel, table: Mapping[str, Any], X: Any, key: NDArray[Any] | None) -> dict[str, Any]:
    """The columns of `COLUMNS` for some rows."""
    explanations = list(_explained(model, table, X, key))
    sentences = [one.sentence() for part in explanations for one in part]
    changed = [None if part.changed is None else part.changed.tolist() for part in explanations]
    flags = [flag for part, known in zip(explanations, changed, strict=True) for flag in known or [None] * len(part)]
    return {
        "chance": np.concatenate([part.chance for part in explanations]),
        "changed": pa.array(flags, pa.bool_()),
        "reasons": sentences,
    }


def _explained(
    model: FolderModel, table: Mapping[str, Any], X: Any, key: NDArray[Any] | None
) -> Iterator[Explanations]:
    size = max(_MOST // (X.shape[1] * len(model.trained.classifier.weights)), 1)
    for a in range(0, X.shape[0], size):
        rows = slice(a, a + size)
        columns = {name: column[rows] for name, column in table.items()}
        yield in_columns(model, columns, X[rows], None if key is None else key[rows])


def in_columns(model: FolderModel, table: Mapping[str, Any], X: Any, key: NDArray[Any] | None = None) -> Explanations:
    """Explanations whose features are the columns of the table, with their values."""
    encoder = model.encoder
    values = [table[name].to_pylist() for name in encoder.names]
    return model.trained.explain(X, key).merged(encoder.names, _places(encoder), values)


def _places(encoder: Encoder) -> list[slice]:
    """The features that each column is encoded as."""
    ends = np.cumsum([0, *(len(column.features) for column in encoder.columns)]).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]
