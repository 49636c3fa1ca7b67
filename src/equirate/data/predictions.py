"""Predictions and scores as users have them, checked together with their labels.

In: labels and predictions, of two classes or of more. Out: `Examples`, and probabilities of predicting each class.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError
from .arrays import finite_numbers, one_dimensional, refuse_missing, same_length, to_numpy
from .examples import Examples
from .labels import Classes, are_labels, class_probabilities, distinct_labels, is_binary, label_classes, plain
from .slices import is_missing

Array = NDArray[np.float64]

_ROUNDED = 1e-9  # how far rounding in other libraries takes a probability out of [0, 1]


def examples_and_predictions(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    attributes: Any = None,
    sample_weight: ArrayLike | None = None,
    *,
    pos_label: Any = None,
    classes: Iterable[Any] | None = None,
    mentioned: Collection[Any] = (),
) -> tuple[Examples, Array]:
    """Labels and predictions of two classes or of more, checked together.

    Labels that are 0/1, False/True or -1/1, or that ``pos_label`` splits, are two classes as everywhere else. All
    others are classes by value: those of ``classes``, or all that occur in the labels, in the predictions and among
    those ``mentioned``.
    """
    if pos_label is not None:
        y_true, y_pred = by_label(y_true, y_pred, pos_label)
    elif classes is not None or not _is_binary(y_true, y_pred, mentioned):
        return _class_predictions(y_true, y_pred, attributes, sample_weight, classes, mentioned)
    examples = Examples.of(y_true, attributes, sample_weight)
    if -1 in mentioned:
        examples = replace(examples, classes=(-1, 1))
    return examples, predictions_of(y_pred, len(examples))


def _is_binary(y_true: ArrayLike, y_pred: ArrayLike, mentioned: Iterable[Any]) -> bool:
    """Whether labels, and predictions that are labels, are 0/1, False/True or -1/1, or cannot be classes at all."""
    true, predicted = to_numpy(y_true), to_numpy(y_pred)
    if not are_labels(true):
        return True  # `binary` refuses these by name
    labels = distinct_labels(true) | set(mentioned)
    if predicted.ndim == 2 and predicted.shape[1] > 1:
        return predicted.shape[1] == 2 and is_binary(labels)
    text = predicted.dtype.kind in "OUS" and any(isinstance(value, str) for value in predicted.reshape(-1)[:1])
    if predicted.dtype.kind != "f" and (not text or not labels <= {-1, 0, 1}):
        labels |= {value for value in distinct_labels(predicted) if not is_missing(value)}
    elif predicted.dtype.kind == "f" and labels <= {0, 1} and predicted.size:
        beyond_1 = predicted.max() >= 2 and (predicted % 1 == 0).all()  # a label, as a float
        return not beyond_1
    return is_binary(labels)


def _class_predictions(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    attributes: Any,
    sample_weight: ArrayLike | None,
    classes: Iterable[Any] | None,
    mentioned: Iterable[Any],
) -> tuple[Examples, Array]:
    predicted = to_numpy(y_pred)
    predicted = predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted
    refuse_missing(predicted, "y_pred")
    if classes is None:
        more = [*mentioned, *(set(map(plain, predicted.tolist())) if predicted.ndim == 1 else ())]
        values = label_classes(y_true, "y", more)
    else:
        values = tuple(map(plain, classes))
    examples = Examples.of(y_true, attributes, sample_weight, classes=values)
    probabilities = class_probabilities(predicted, values, len(examples))
    return examples, probabilities if len(values) > 2 else probabilities[:, -1]


def predictions_of(values: ArrayLike, length: int) -> Array:
    """Check predictions: 0/1 (or -1/1), or probabilities of predicting 1."""
    array = one_dimensional(to_numpy(values), "y_pred")
    same_length(array, length, "y_pred")
    numbers = finite_numbers(array, "y_pred")
    allowed = "y_pred must hold 0/1 predictions or probabilities of predicting 1, all in [0, 1]"
    if numbers is None:
        raise DataError(f"{allowed}; got values such as {array[0]!r}")
    if set(np.unique(numbers)) <= {-1.0, 1.0}:
        return np.asarray(numbers > 0, dtype=float)
    if numbers.min() < -_ROUNDED or numbers.max() > 1 + _ROUNDED:
        raise DataError(f"{allowed}; they range from {numbers.min():.12g} to {numbers.max():.12g}")
    return np.clip(numbers, 0.0, 1.0)


def by_label(y_true: ArrayLike, y_pred: ArrayLike, pos_label: Any) -> tuple[NDArray[np.int8], Any]:
    """Labels of any two values as 0 and 1, and predictions likewise where they are labels rather than probabilities.

    Examples
    --------
    >>> by_label(["no", "yes"], ["yes", "yes"], "yes")[1].tolist()
    [1, 1]
    >>> by_label(["no", "yes"], [0.2, 0.9], "yes")[1].tolist()
    [0.2, 0.9]
    """
    true, predicted = (one_dimensional(to_numpy(values), name) for values, name in ((y_true, "y"), (y_pred, "y_pred")))
    for array, name in ((true, "y"), (predicted, "y_pred")):
        refuse_missing(array, name)
    labels = set(true.tolist())
    if predicted.dtype.kind != "f" or set(predicted.tolist()) <= labels | {pos_label}:
        labels |= set(predicted.tolist())
        predicted = np.asarray(predicted == pos_label, dtype=np.int8)
    if len(labels | {pos_label}) > 2 or pos_label not in labels:
        shown = ", ".join(sorted(map(repr, labels))[:5])
        raise DataError(f"with pos_label={pos_label!r}, labels must be that and one other; there are {shown}")
    return np.asarray(true == pos_label, dtype=np.int8), predicted


def scores_of(values: Any) -> Array:
    """Check scores: one finite number per example, as an array, a series or a single column."""
    array = one_dimensional(to_numpy(values), "X (the scores)")
    numbers = finite_numbers(array, "X (the scores)")
    if numbers is None:
        raise DataError(f"X must hold one score per example; got values such as {array[0]!r}")
    return numbers


def probabilities_of(values: Any, classes: Classes) -> Array:
    """Check probabilities of more than two classes, given instead of features."""
    array = to_numpy(values)
    if array.ndim != 2:
        raise DataError(
            f"X must hold a probability of each of the {len(classes)} classes for each example; got shape {array.shape}"
        )
    return class_probabilities(array, classes, len(array))
