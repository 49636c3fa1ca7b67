"""`Examples`: labels, weights and attributes of a sample, checked once, and the rates of predictions on them.

In: anything array-like, pandas or polars frames, dicts; `labels`, `attributes` and `weights` check them. Out:
`Examples`, which also measures a linear rate on given predictions. Everything past this module trusts it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError
from .._core.peers import Peers, peers
from .alignment import check_indexes
from .arrays import refuse_lazy, same_length
from .attributes import TakenColumns, categorical_names, columns_of, complete, shared_names
from .kinds import among, class_terms
from .labels import BINARY, Classes, binary, coded, codes_of
from .slices import (
    EVERYBODY,
    AttributeColumns,
    Comparison,
    Complement,
    Everybody,
    Mask,
    Slice,
    column_of,
    comparisons,
    unknown_values,
)
from .weights import checked_weights, taken_weights

Array = NDArray[np.float64]

_ORDERED = ("<", "<=", ">", ">=")
_BLOCK = 1 << 20  # examples that are processed together
_MASKS = 64  # masks that are cached: those of more slices, such as hundreds of groups, would fill the memory


@dataclass(frozen=True, eq=False)
class Examples:
    """Labels, weights and attributes of a sample, checked.

    Use `Examples.of` to make one.
    """

    labels: NDArray[Any]
    """Codes of ``classes``: 0 and 1, or 0, 1, 2 ..."""
    weights: Array
    columns: AttributeColumns
    categories: frozenset[str] = frozenset()
    given: bool = True
    """Whether there are attributes beside the columns of features."""
    ambiguous: frozenset[str] = frozenset()
    """Names that several columns of features share."""
    clusters: NDArray[np.int64] | None = None
    """Number of the cluster, such as a person, that each example belongs to; None if examples are independent."""
    classes: Classes = BINARY
    """The labels by value, in the order of their codes."""
    shared: Peers = field(default_factory=peers, repr=False)
    """The processes that share the examples; sums over the examples are sums over these processes."""
    _masks: dict[Slice, Mask] = field(default_factory=dict, repr=False)
    _codes: dict[str, tuple[dict[Any, int], NDArray[np.int32]]] = field(default_factory=dict, repr=False)
    _checked: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        y: ArrayLike,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        fallback: Any = None,
        two_classes: bool = False,
        compared: bool = False,
        classes: Classes | None = None,
    ) -> Examples:
        """Check labels, attributes and weights and combine them.

        Parameters
        ----------
        y
            Labels: 0/1, False/True or -1/1; values of ``classes`` where these are given.
        attributes
            A data frame, a dict of arrays, a series or an array (then its name is ``"group"``).
        sample_weight
            Non-negative weights, one per example; None for equal weights.
        fallback
            The features: where they are a data frame, its columns serve as attributes not given otherwise.
        two_classes
            Whether both labels must occur (training) or not (evaluation).
        compared
            Whether the caller has compared the indexes of pandas inputs already.
        classes
            All classes by value, where labels are not 0/1; of two, the second one counts as 1.
        """
        refuse_lazy(fallback, "X")
        if not compared:
            check_indexes({"X": fallback, "y": y, "attributes": attributes, "sample_weight": sample_weight})
        labels = binary(y, "y") if classes is None else coded(y, classes, "y")
        if two_classes and labels.size:
            low, high = peers().range(int(labels.min()), int(labels.max()))
            if low == high:
                raise DataError(f"y has one class only (all {low}): a classifier needs examples of both labels")
        columns = columns_of(attributes, fallback)
        categories = categorical_names(fallback) | categorical_names(attributes)
        for name, column in columns.items():
            same_length(column, len(labels), f"attribute {name!r}")
        weights, shared = checked_weights(sample_weight, len(labels)), shared_names(fallback) - columns.keys()
        values = BINARY if classes is None else classes
        return cls(labels, weights, columns, categories, attributes is not None, shared, classes=values)

    def __len__(self) -> int:
        """Count the examples."""
        return len(self.labels)

    def take(self, rows: NDArray[np.intp] | slice) -> Examples:
        """Some of the examples, in the order given; masks and columns that were checked are not checked again."""
        masks = {slice_: mask[rows] for slice_, mask in self._masks.items()}
        checked = {name: column[rows] for name, column in self._checked.items()}
        columns = TakenColumns(self.columns, rows)
        labels, weights = self.labels[rows], taken_weights(self.weights, rows)
        codes = {name: (numbers, coded[rows]) for name, (numbers, coded) in self._codes.items()}
        clusters = None if self.clusters is None else self.clusters[rows]
        part = replace(self, labels=labels, weights=weights, columns=columns, clusters=clusters)
        return replace(part, _masks=masks, _checked=checked, _codes=codes)

    def with_columns(self, columns: AttributeColumns) -> Examples:
        """The same examples with other attribute columns."""
        return replace(self, columns=columns, _masks={}, _checked={}, _codes={})

    def column(self, name: str) -> NDArray[Any]:
        """Return an attribute with no missing values, in the plainest dtype; refuses others by name."""
        if name in self.ambiguous:
            raise DataError(
                f"several columns of X are called {name!r}: rename them, or pass the one you mean as an attribute"
            )
        if name not in self._checked:
            self._checked[name] = complete(column_of(self.columns, name, self.given), name)
        return self._checked[name]

    def mask(self, slice_: Slice) -> Mask:
        """Which examples belong to a slice; refuses unknown attributes and missing values by name."""
        known = self._masks.get(slice_)
        if known is not None:
            return known
        mask = self._mask(slice_)
        if len(self._masks) < _MASKS:
            self._masks[slice_] = mask
        return mask

    def _mask(self, slice_: Slice) -> Mask:
        if isinstance(slice_, Everybody):
            return np.ones(len(self), dtype=bool)
        if isinstance(slice_, Complement):
            return ~self.mask(slice_.part)
        if isinstance(slice_, Comparison) and slice_.symbol == "==" and len(self._masks) >= _MASKS:
            column = self.column(slice_.attribute)
            if column.dtype.kind in "UO" and isinstance(slice_.value, str):
                numbers, codes = self._coded(slice_.attribute)
                return np.asarray(codes == numbers.get(slice_.value, -1))
        for part in comparisons(slice_):
            text = part.attribute in self.categories and self.column(part.attribute).dtype.kind not in "biuf"
            if text and part.symbol in _ORDERED:
                raise DataError(
                    f"cannot evaluate the slice {slice_!r}: {part.attribute!r} holds categories, whose order "
                    "is not that of their names; list them, as in .isin([...]), or give numbers"
                )
        return slice_.mask({name: self.column(name) for name in sorted(slice_.attributes)})

    def _coded(self, name: str) -> tuple[dict[Any, int], NDArray[np.int32]]:
        """Codes of the distinct values of an attribute, and the code of each example: for many slices of it."""
        if name not in self._codes:
            numbers: dict[Any, int] = {}
            column = self.column(name).tolist()
            codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in column), np.int32, len(column))
            self._codes[name] = numbers, codes
        return self._codes[name]

    def baseline(self, name: str) -> NDArray[Any]:
        """Return another model's predictions, held in an attribute: 0/1, or codes of more than two classes."""
        if len(self.classes) > 2:
            return codes_of(self.column(name), self.classes, f"the baseline {name!r}")
        try:
            return binary(self.column(name), f"the baseline {name!r}", only_01=True)
        except DataError as error:
            if name not in self.columns:
                raise
            raise DataError(f"{error}; give the other model's 0/1 predictions in that attribute") from None

    def has(self, rate: Any) -> bool:
        """Whether any process has examples to measure a rate on."""
        inside = self.mask(rate.slice) & rate.among(self.labels)
        return self.shared.some((self.weights[inside] != 0).any())

    def measure(self, rate: Any, predictions: Array) -> float:
        """Return the exact value of a linear rate on predictions.

        They are 0/1 or probabilities of predicting 1; of more than two classes, probabilities (examples, classes).
        """
        kind, codes = rate.kind, rate.codes if len(self.classes) > 2 else None
        mask, other = self.mask(rate.slice), None if rate.baseline is None else self.baseline(rate.baseline)
        sums = np.zeros(2)
        for first in range(0, len(self), _BLOCK):  # temporary arrays of one block only
            rows = slice(first, first + _BLOCK)
            labels, compared = self.labels[rows], None if other is None else other[rows]
            weight = np.where(mask[rows] & among(kind, codes, labels), self.weights[rows], 0.0)
            if len(self.classes) > 2:
                expected = class_terms(kind, codes, labels, compared).expected(predictions[rows])
            else:
                table = np.array(kind.contributions)[labels, 0 if compared is None else compared]
                expected = table[:, 0] * predictions[rows] + table[:, 1]
            sums += weight @ expected, weight.sum()
        counted, total = self.shared.total(sums)
        if total <= 0:
            raise DataError(empty_message(rate, self))
        return min(max(float(counted / total), 0.0), 1.0)  # rounding must not take a rate out of [0, 1]


def empty_message(rate: Any, examples: Examples) -> str:
    """Say that a rate has no examples, and which value of the slice does not occur."""
    labels, codes = rate.kind.labels, rate.codes if len(examples.classes) > 2 else None
    example = {(0, 1): "example", (1,): "example with label 1", (0,): "example with label 0"}[labels]
    if codes is not None and len(labels) == 1:
        other = "another label than" if labels == (0,) else "label"
        example = f"example with {other} {examples.classes[codes.label]!r}"
    where = "the data" if rate.slice == EVERYBODY else f"the slice {rate.slice!r}"
    why = unknown_values(rate.slice, {name: examples.column(name) for name in sorted(rate.slice.attributes)})
    return f"{rate.kind.name} cannot be measured: {where} holds no {example} with positive weight" + (
        why and f" ({why})"
    )
