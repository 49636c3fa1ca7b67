"""A sample: features and examples together, checked once and then passed from package to package.

In: features, labels, attributes and weights as users have them. Out: `Sample`, of which `take` gives parts; it is not
checked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from .._core.errors import DataError
from .._core.peers import Peers
from .arrays import same_length
from .attributes import attribute_columns
from .examples import Examples
from .features import feature_names
from .labels import Classes
from .mapped import is_mapped, scratch
from .slices import is_missing

RowIndex = NDArray[np.intp] | slice
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""An address in a ``repr``, which differs between processes for equal objects."""
_BLOCK = 65536
_REMEMBERED = 6
"""Answers that a sample keeps: those that the outputs of one fit share."""


class Given(NamedTuple):
    """Features, labels, attributes and weights, unchecked, as users give them one by one."""

    X: Any
    y: Any
    attributes: Any = None
    sample_weight: Any = None
    names: tuple[str, ...] | None = None
    """Names of the features, if X has no names."""


def given(X: Any, y: Any, attributes: Any, sample_weight: Any) -> Given:
    """The user's inputs; if X holds everything, as the rows of a file do, nothing else may be given."""
    if not hasattr(X, "given"):
        return Given(X, y, attributes, sample_weight)
    if not (y is None and attributes is None and sample_weight is None):
        raise DataError(f"a {type(X).__name__} has its own labels, attributes and weights: give nothing else")
    parts: Given = X.given()
    return parts


@dataclass(frozen=True, eq=False)
class Sample:
    """Features, and the labels, weights and attributes of the same examples.

    ``X`` is whatever the model takes: an array, a CSR matrix, a data frame, or scores. ``names`` are those of its
    columns, where it has names.
    """

    X: Any
    examples: Examples
    names: tuple[str, ...] | None = None
    _known: dict[tuple[int, ...], tuple[Any, Any]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        X: Any,
        y: ArrayLike,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        two_classes: bool = False,
        classes: Classes | None = None,
    ) -> Sample:
        """Check labels, attributes and weights, and that there are as many features; the model checks their values."""
        examples = Examples.of(y, attributes, sample_weight, fallback=X, two_classes=two_classes, classes=classes)
        same_length(range(count_rows(X)), len(examples), "X")
        return cls(X, examples, feature_names(X))

    def __len__(self) -> int:
        """Count the examples."""
        return len(self.examples)

    def remember(self, about: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What is found out about these examples from some objects, asked once; the last few answers are kept."""
        key = tuple(map(id, about))
        if key not in self._known:
            answer = make()
            while len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = about, answer  # what is kept alive cannot lend its id to something else
        return self._known[key][1]

    def take(self, rows: RowIndex) -> Sample:
        """Some of the examples, in the order given; all of them in order, or a slice of an array, are not copied."""
        n = len(self)
        if isinstance(rows, slice):
            if rows.indices(n) == (0, n, 1):
                return self
        elif len(rows) == n and (rows == np.arange(n)).all():
            return self
        if isinstance(rows, slice) or not is_mapped(self.X):
            return Sample(taken(self.X, rows), self.examples.take(rows), self.names)
        return self.arranged(rows)  # what lies in a file stays in one

    def arranged(self, order: NDArray[np.intp] | None, dtype: Any = None) -> Sample:
        """The examples in another order, arrays in another precision, with at most one copy of the features.

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
    shape = (len(order), *X.shape[1:])
    result = scratch(shape, dtype) if is_mapped(X) else np.empty(shape, dtype)
    for start in range(0, len(order), _BLOCK):  # in blocks: no second copy in the precision given
        result[start : start + _BLOCK] = X[order[start : start + _BLOCK]]
    return result


def count_rows(X: Any) -> int:
    """Number of examples in features of any kind; for a loader, those of its data set."""
    if getattr(X, "shape", ()):
        return int(X.shape[0])
    X = getattr(X, "dataset", X)
    return len(X if hasattr(X, "__len__") else np.asarray(X))


def taken(X: Any, rows: RowIndex) -> Any:
    """Some rows of features of any kind."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def same_everywhere(others: Peers, asked: Any, X: Any, attributes: Any, settings: Mapping[str, Any]) -> None:
    """Refuse different problems, settings, columns or kinds of numbers on the processes that share the rows."""
    if others.size == 1:
        return
    others.agree("the problem", repr(asked))
    settings_of_all = others.gather({name: _ADDRESS.sub("", repr(value)) for name, value in settings.items()})
    for name in settings_of_all[0]:
        if any(each.get(name) != settings_of_all[0][name] for each in settings_of_all):
            others.agree(name, settings_of_all[others.rank].get(name))
    shape: tuple[int, ...] = getattr(X, "shape", ())
    names = feature_names(X)
    if len(shape) == 2 and shape[0] == 0:
        raise DataError("X has no rows here: every process needs some; give the rows to fewer processes")
    others.agree(
        "the columns of X", f"{', '.join(names)}" if names else f"{shape[1] if len(shape) == 2 else 1} columns"
    )
    kind = "a sparse matrix" if issparse(X) else "a table"
    others.agree("the kind of X", f"{kind} of {getattr(X, 'dtype', 'columns')}" if names is None else "a data frame")
    given = {name: _kind(column) for name, column in attribute_columns(attributes).items()}
    others.agree("the attributes", ", ".join(f"{name} ({kind})" for name, kind in sorted(given.items())))


def _kind(column: NDArray[Any]) -> str:
    """The kind of values in a column, leaving missing values out, since columns of any kind may have them."""
    if column.dtype.kind == "O":
        kinds = {"text" if isinstance(value, str) else "numbers" for value in column.tolist() if not is_missing(value)}
        return " and ".join(sorted(kinds)) or "nothing"
    return {"U": "text", "S": "text", "M": "dates", "m": "durations"}.get(column.dtype.kind, "numbers")
