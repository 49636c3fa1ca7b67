"""A sample: features and examples together, checked once and then handed from room to room.

In: features, labels, attributes and weights as users have them. Out: `Sample`, of which `take` gives parts. Whoever
holds one trusts it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .examples import Examples, same_length
from .features import feature_names

Rows = NDArray[np.intp] | slice
_BLOCK = 65536


@dataclass(frozen=True, eq=False)
class Sample:
    """Features, and the labels, weights and attributes of the same examples.

    ``X`` is whatever the model takes: an array, a CSR matrix, a data frame, or scores. ``names`` are those of its
    columns, where it has names.
    """

    X: Any
    examples: Examples
    names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        y: ArrayLike,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        two_classes: bool = False,
    ) -> Sample:
        """Check labels, attributes and weights, and that there are as many features; the model checks their values."""
        examples = Examples.of(y, attributes, sample_weight, fallback=X, two_classes=two_classes)
        rows = count_rows(X)
        if rows != len(examples):
            same_length(np.empty(rows), len(examples), "X")
        return cls(X, examples, feature_names(X))

    def __len__(self) -> int:
        """Count the examples."""
        return len(self.examples)

    def take(self, rows: Rows) -> Sample:
        """Some of the examples, in the order given; all of them in order, or a slice of an array, are not copied."""
        n = len(self)
        if isinstance(rows, slice):
            if rows.indices(n) == (0, n, 1):
                return self
        elif len(rows) == n and (rows == np.arange(n)).all():
            return self
        return Sample(taken(self.X, rows), self.examples.take(rows), self.names)

    def arranged(self, order: NDArray[np.intp] | None, dtype: Any = None) -> Sample:
        """The examples in another order, arrays in another precision: one copy of the features, or none if none is due.

        Parts that are contiguous in the new order are then views (`take` of a slice).
        """
        examples = self.examples if order is None else self.examples.take(order)
        return Sample(_arranged(self.X, order, dtype), examples, self.names)


def _arranged(X: Any, order: NDArray[np.intp] | None, dtype: Any) -> Any:
    if not isinstance(X, np.ndarray):
        X = X if order is None else taken(X, order)
        return X if dtype is None or not hasattr(X, "astype") else X.astype(dtype, copy=False)
    dtype = X.dtype if dtype is None else np.dtype(dtype)
    if order is None:
        return X.astype(dtype, copy=False)
    result = np.empty(X.shape, dtype)
    for start in range(0, len(order), _BLOCK):  # in blocks: no second copy in the precision given
        result[start : start + _BLOCK] = X[order[start : start + _BLOCK]]
    return result


def count_rows(X: Any) -> int:
    """How many examples features of any kind are of; a loader's are those of its data set."""
    return int(X.shape[0] if getattr(X, "shape", ()) else len(getattr(X, "dataset", X)))


def taken(X: Any, rows: Rows) -> Any:
    """Some rows of features of any kind."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
