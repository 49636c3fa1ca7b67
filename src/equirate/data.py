"""The border: labels, attributes and weights come in as users have them, and are checked once.

In: anything array-like, pandas or polars frames, dicts. Out: `Examples`, which knows labels (0/1), weights
and attribute columns, and measures a linear rate on given predictions. Everything past this module trusts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DataError
from .kinds import RateKind
from .slices import EVERYBODY, Columns, Everybody, Mask, Slice, column_of

Array = NDArray[np.float64]

UNNAMED = "group"
"""Name of an attribute given as a bare array or an unnamed series."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Labels, weights and attributes of a sample, checked.

    Use `Examples.of` to make one.
    """

    labels: NDArray[np.int8]
    weights: Array
    columns: Columns
    _masks: dict[Slice, Mask] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        y: ArrayLike,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        fallback: Any = None,
        two_classes: bool = False,
    ) -> Examples:
        """Check labels, attributes and weights and put them together.

        Parameters
        ----------
        y
            Labels: 0/1, False/True or -1/1.
        attributes
            A data frame, a dict of arrays, a series or an array (then its name is ``"group"``).
        sample_weight
            Non-negative weights, one per example; None for equal weights.
        fallback
            The features: where they are a data frame, its columns serve as attributes not given otherwise.
        two_classes
            Whether both labels must occur (training) or not (evaluation).
        """
        labels = binary(y, "y")
        if two_classes and labels.size and labels.min() == labels.max():
            raise DataError(f"y has one class only (all {int(labels[0])}): a classifier needs examples of both labels")
        columns = {**_frame_columns(fallback), **attribute_columns(attributes)}
        for name, column in columns.items():
            same_length(column, len(labels), f"attribute {name!r}")
        return cls(labels, _weights(sample_weight, len(labels)), columns)

    def __len__(self) -> int:
        """Count the examples."""
        return len(self.labels)

    def mask(self, slice_: Slice) -> Mask:
        """Which examples belong to a slice; refuses unknown attributes and missing values by name."""
        if slice_ not in self._masks:
            if isinstance(slice_, Everybody):
                self._masks[slice_] = np.ones(len(self), dtype=bool)
            else:
                for name in sorted(slice_.attributes):
                    _no_missing(column_of(self.columns, name), name)
                self._masks[slice_] = slice_.mask(self.columns)
        return self._masks[slice_]

    def baseline(self, name: str) -> NDArray[np.int8]:
        """Return another model's 0/1 predictions, held in an attribute."""
        column = column_of(self.columns, name)
        _no_missing(column, name)
        try:
            return binary(column, f"the baseline {name!r}", only_01=True)
        except DataError as error:
            raise DataError(f"{error}; give the other model's 0/1 predictions in that attribute") from None

    def denominator(self, kind: RateKind, slice_: Slice) -> Array:
        """Return each example's weight in the denominator of a rate."""
        inside = self.mask(slice_) & np.isin(self.labels, kind.labels)
        return np.where(inside, self.weights, 0.0)

    def measure(self, kind: RateKind, slice_: Slice, baseline: str | None, predictions: Array) -> float:
        """Return the exact value of a linear rate on predictions (0/1, or probabilities of predicting 1)."""
        weight = self.denominator(kind, slice_)
        total = weight.sum()
        if total <= 0:
            raise DataError(empty_message(kind, slice_))
        b = self.baseline(baseline) if baseline is not None else np.zeros(len(self), dtype=np.int8)
        table = np.array(kind.contributions)[self.labels, b]
        return float(weight @ (table[:, 0] * predictions + table[:, 1]) / total)


def empty_message(kind: RateKind, slice_: Slice) -> str:
    """Say that nobody is there to measure a rate on."""
    among = {(0, 1): "example", (1,): "example with label 1", (0,): "example with label 0"}[kind.labels]
    where = "the data" if slice_ == EVERYBODY else f"the slice {slice_!r}"
    return f"{kind.name} cannot be measured: {where} holds no {among} with positive weight"


def binary(values: ArrayLike, name: str, *, only_01: bool = False) -> NDArray[np.int8]:
    """Turn 0/1, False/True or (unless ``only_01``) -1/1 into int8 0/1, or refuse by name."""
    array = to_numpy(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} must be one-dimensional; got shape {array.shape}")
    if array.size == 0:
        raise DataError(f"{name} is empty")
    allowed = "0 and 1" if only_01 else "0 and 1 (or False/True, or -1/1)"
    try:
        numbers = array.astype(float)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or (array.dtype.kind in "USO" and not all(isinstance(v, (int, float, np.generic)) for v in array)):
        found = sorted({str(v) for v in array.tolist()})[:4]
        raise DataError(
            f"{name} must hold {allowed}; got {', '.join(map(repr, found))}. "
            "RateClassifier takes any two label values and maps them for you"
        )
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} has NaN or infinite values")
    found_values = np.unique(numbers)
    if set(found_values) <= {0.0, 1.0}:
        return numbers.astype(np.int8)
    if not only_01 and set(found_values) <= {-1.0, 1.0}:
        return (numbers > 0).astype(np.int8)
    shown = ", ".join(f"{v:g}" for v in found_values[:5]) + (", ..." if len(found_values) > 5 else "")
    raise DataError(f"{name} must hold {allowed}; got the values {shown}")


def predictions_of(values: ArrayLike, length: int) -> Array:
    """Check predictions: 0/1, or probabilities of predicting 1."""
    array = to_numpy(values)
    try:
        array = array.astype(float)
    except (TypeError, ValueError):
        raise DataError(f"y_pred must hold numbers in [0, 1]; got values of type {array.dtype}") from None
    if array.ndim != 1:
        raise DataError(f"y_pred must be one-dimensional; got shape {array.shape}")
    same_length(array, length, "y_pred")
    if not np.isfinite(array).all():
        raise DataError("y_pred has NaN or infinite values")
    if set(np.unique(array)) == {-1.0, 1.0}:
        return np.asarray(array > 0, dtype=float)
    if array.min() < 0 or array.max() > 1:
        raise DataError("y_pred must hold 0/1 predictions or probabilities of predicting 1, all in [0, 1]")
    return array


def same_length(array: NDArray[Any], length: int, name: str) -> None:
    """Refuse arrays whose length differs from the labels'."""
    if len(array) != length:
        raise DataError(f"{name} has {len(array)} values, but y has {length}: they must describe the same examples")


def to_numpy(values: Any) -> NDArray[Any]:
    """Turn a series, a list or an array into a numpy array."""
    native = nw.from_native(values, allow_series=True, pass_through=True)
    array = native.to_numpy() if isinstance(native, (nw.Series, nw.DataFrame)) else np.asarray(values)
    return np.asarray(array)


def attribute_columns(attributes: Any) -> dict[str, NDArray[Any]]:
    """Turn whatever holds attributes into named numpy columns."""
    if attributes is None:
        return {}
    if isinstance(attributes, Mapping):
        return {str(name): _column(values, str(name)) for name, values in attributes.items()}
    columns = _frame_columns(attributes)
    if columns:
        return columns
    native = nw.from_native(attributes, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return {str(native.name) if native.name not in (None, "") else UNNAMED: to_numpy(attributes)}
    array = np.asarray(attributes)
    if array.ndim == 1:
        return {UNNAMED: array}
    if array.ndim == 2:
        names = [UNNAMED] if array.shape[1] == 1 else [f"{UNNAMED}_{k}" for k in range(array.shape[1])]
        return {name: array[:, k] for k, name in enumerate(names)}
    raise DataError(
        "attributes must be a data frame, a dict of arrays, a series or a one- or two-dimensional array; "
        f"got {type(attributes).__name__} of shape {array.shape}"
    )


def _frame_columns(frame: Any) -> dict[str, NDArray[Any]]:
    native = nw.from_native(frame, eager_only=True, pass_through=True) if frame is not None else None
    if not isinstance(native, nw.DataFrame):
        return {}
    return {str(name): native[name].to_numpy() for name in native.columns}


def _column(values: Any, name: str) -> NDArray[Any]:
    array = to_numpy(values)
    if array.ndim != 1:
        raise DataError(f"attribute {name!r} must be one-dimensional; got shape {array.shape}")
    return array


def _weights(sample_weight: ArrayLike | None, length: int) -> Array:
    if sample_weight is None:
        return np.ones(length)
    try:
        weights = to_numpy(sample_weight).astype(float)
    except (TypeError, ValueError):
        raise DataError("sample_weight must hold numbers") from None
    if weights.ndim != 1:
        raise DataError(f"sample_weight must be one-dimensional; got shape {weights.shape}")
    same_length(weights, length, "sample_weight")
    if not np.isfinite(weights).all():
        raise DataError("sample_weight has NaN or infinite values")
    if weights.min() < 0:
        raise DataError(f"sample_weight must not be negative; the smallest is {weights.min():g}")
    if weights.sum() <= 0:
        raise DataError("sample_weight sums to zero: at least one example must count")
    return weights


def _no_missing(column: NDArray[Any], name: str) -> None:
    if column.dtype == object:
        count = sum(map(_is_missing, column))
    elif column.dtype.kind in "fcmM":
        count = int((column != column).sum())
    else:
        count = 0
    if count:
        raise DataError(
            f"attribute {name!r} has {count} missing values: fill them, drop those examples, "
            "or give the missing ones a value of their own (a slice must be true or false for everyone)"
        )


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA answers neither True nor False
        return True
