"""Labels: arrays of 0 and 1, or of any number of classes, as codes 0, 1, 2 ..., checked.

In: labels or probabilities as users have them, and the classes by value. Out: codes and probabilities.
`examples` calls this; everywhere else classes are codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core.errors import DataError, EquirateWarning
from .._core.listing import listed
from .._core.peers import peers
from .._core.warning import warn
from .arrays import finite_numbers, missing_values, one_dimensional, refuse_missing, same_length, to_numpy

Array = NDArray[np.float64]
Classes = tuple[Any, ...]
"""The classes by value, in the order of their codes."""

BINARY: Classes = (0, 1)
"""The classes of labels that are 0 and 1 already."""
MANY_CLASSES = 100
"""With more classes than this, a warning says how much memory they take."""
MAX_CLASSES = 1000
"""Classes at most: with more, labels are a quantity or an identifier."""
_ROUNDED = 1e-6  # how far the sum of a row's probabilities may be from 1, by rounding in single precision
_BLOCK = 1 << 18  # labels that are looked at together


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values of a column, in order, as `numpy.unique` has them; small whole numbers are not sorted.

    Examples
    --------
    >>> distinct(np.array([3, -1, 3, 0], dtype=np.int8))
    array([-1,  0,  3], dtype=int8)
    """
    if values.ndim != 1 or values.dtype.kind not in "iu" or not len(values):
        return np.unique(values)
    low, high = int(values.min()), int(values.max())
    if high - low > len(values):
        return np.unique(values)
    occurs = np.zeros(high - low + 1, dtype=bool)
    occurs[values if low == 0 else values.astype(np.int64) - low] = True
    return np.asarray(np.flatnonzero(occurs) + low, dtype=values.dtype)


def plain(value: Any) -> Any:
    """A label as a Python value."""
    return value.item() if isinstance(value, np.generic) else value


def codes_of_predictions(column: NDArray[Any], classes: Classes, name: str) -> NDArray[Any] | None:
    """Another model's predictions as codes of classes, by value or as text; None where they are not labels.

    Of two classes, numbers that are not labels mean 0 and 1, which is refused where 1 is the other label.

    Examples
    --------
    >>> codes_of_predictions(np.array([1.0, 0.0]), (1, 0), "old").tolist()  # label 0 is the positive one
    [0, 1]
    """
    try:
        return codes_of(column, classes, name)
    except DataError:
        texts = {str(value): code for code, value in enumerate(classes)}
    written = column.astype(str)
    if set(np.unique(written)) <= set(texts):
        return np.array([texts[text] for text in written.tolist()])
    if len(classes) == 2 and classes[0] == 1:
        raise DataError(
            f"{name} must hold the labels {list(classes)!r}: other values would mean 0 and 1, and 1 is the negative "
            "label here"
        )
    return None


def positive_label(pos_label: Any, classes: Sequence[Any] | NDArray[Any]) -> Any:
    """The label to call positive: ``pos_label``, or the last class where that is None."""
    if pos_label is None:
        return classes[-1]
    if np.ndim(pos_label) or pos_label not in classes:
        raise DataError(f"pos_label {pos_label!r} is not among the labels {list(map(plain, classes))!r}")
    return pos_label


def listed_values(values: Iterable[Any]) -> str:
    """Some values for a message.

    Examples
    --------
    >>> listed_values("abcdefgh")
    "'a', 'b', 'c', 'd', 'e' and 3 more"
    """
    return listed([repr(plain(value)) for value in values])


def classes_of(array: NDArray[Any], name: str, more: Iterable[Any] = ()) -> Classes:
    """The distinct labels of an array on all processes, in order; refuses text beside numbers.

    Examples
    --------
    >>> classes_of(np.array(["b", "a", "b"]), "y"), classes_of(np.array([2.0, 0.0]), "y", more=[1])
    (('a', 'b'), (0.0, 1, 2.0))
    """
    own_values = refuse_mixed(array, name, more)
    values = set().union(*peers().gather(own_values))
    _refuse_mixed(values, name)
    return tuple(sorted(values))


def refuse_mixed(array: NDArray[Any], name: str, more: Iterable[Any] = ()) -> set[Any]:
    """The distinct labels of an array here; refuses text beside numbers, and what is neither."""
    values = {*map(plain, array.tolist() if array.dtype == object else np.unique(array)), *map(plain, more)}
    _refuse_mixed(values, name)
    return values


def _refuse_mixed(values: set[Any], name: str) -> None:
    text = [value for value in values if isinstance(value, str)]
    other = [value for value in values if not isinstance(value, str)]
    odd = [value for value in other if not isinstance(value, (bool, int, float))]
    if odd:
        raise DataError(f"{name} must hold text, whole numbers or booleans; got {odd[0]!r}")
    if text and other:
        raise DataError(
            f"{name} holds labels of mixed types, such as {sorted(text)[0]!r} (text) and {other[0]!r} (a number): "
            "convert them to one type, for example with astype(str)"
        )


def check_number(count: int, rows: int, name: str = "y") -> None:
    """Refuse more classes than make sense, and warn of many."""
    if count > MAX_CLASSES:
        raise DataError(
            f"{name} has {count:,} different values, more than {MAX_CLASSES:,} classes: labels that are a quantity or "
            "an identifier are no classes; put them into fewer"
        )
    if count > MANY_CLASSES:
        size = 8 * count * rows / 1e9
        warn(
            f"{name} has {count:,} classes: probabilities of {rows:,} rows take {size:.2g} GB, and every pass compares "
            f"{count:,} classes one by one; join rare classes where that is too slow",
            EquirateWarning,
        )


def code_of(label: Any, classes: Classes, what: str) -> int:
    """The code of one class by value; ``what`` names it."""
    for code, value in enumerate(classes):
        if value == label and isinstance(value, str) == isinstance(label, str):
            return code
    similar = [value for value in classes if str(value) == str(label)]
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    raise DataError(f"{what}: y has no class {label!r}; its classes are {listed_values(classes)}{hint}")


def codes_of(array: NDArray[Any], classes: Classes, name: str) -> NDArray[Any]:
    """Labels as codes, in the smallest whole numbers; refuses values that are no class.

    Examples
    --------
    >>> codes_of(np.array(["b", "a"]), ("a", "b", "c"), "y").tolist()
    [1, 0]
    """
    if len(array) > _BLOCK and array.dtype != object:  # sorting takes several times the room of the labels
        return np.concatenate([codes_of(array[k : k + _BLOCK], classes, name) for k in range(0, len(array), _BLOCK)])
    number = {(isinstance(value, str), value): code for code, value in enumerate(classes)}
    dtype = np.int8 if len(classes) <= 127 else np.int16
    if array.dtype == object:
        values = list(dict.fromkeys(array.tolist()))
        place = {value: k for k, value in enumerate(values)}
        inverse = np.fromiter((place[value] for value in array.tolist()), np.intp, len(array))
    else:
        distinct, inverse = np.unique(array, return_inverse=True)
        values = distinct.tolist()
    keys = [(isinstance(value, str), plain(value)) for value in values]
    unknown = [value for value, key in zip(values, keys, strict=True) if key not in number]
    if unknown:
        raise DataError(
            f"{name} has values that are no class: {listed_values(unknown)}; the classes are {listed_values(classes)}"
        )
    codes: NDArray[Any] = np.array([number[key] for key in keys], dtype=dtype)[inverse.reshape(-1)]
    return codes


def class_probabilities(array: NDArray[Any], classes: Classes, length: int) -> Array:
    """Predictions as probabilities (examples, classes): from labels, or from probabilities in the order of classes."""
    same_length(array, length, "y_pred")
    count = len(classes)
    if array.ndim == 1:
        return one_hot(codes_of(array, classes, "y_pred"), count)
    if array.ndim != 2 or array.shape[1] != count:
        raise DataError(
            f"y_pred must hold predicted labels, or probabilities of shape ({length:,}, {count}) for the classes "
            f"{listed_values(classes)}; got shape {array.shape}. Give all classes with classes=[...] where y lacks some"
        )
    numbers = np.asarray(array, dtype=float)
    if not np.isfinite(numbers).all():
        raise DataError("y_pred has missing or infinite probabilities")
    if numbers.min(initial=0.0) < -_ROUNDED or np.abs(numbers.sum(axis=1) - 1).max(initial=0.0) > _ROUNDED:
        raise DataError("y_pred must hold probabilities: every row at least 0, and together 1")
    numbers = np.clip(numbers, 0.0, 1.0)
    return np.asarray(numbers / numbers.sum(axis=1, keepdims=True), dtype=float)


def one_hot(codes: NDArray[Any], count: int) -> Array:
    """Certain predictions as probabilities (examples, classes)."""
    probabilities = np.zeros((len(codes), count))
    probabilities[np.arange(len(codes)), codes] = 1.0
    return probabilities


def in_order(probabilities: Array, given: Sequence[Any], classes: Classes) -> Array:
    """Columns of probabilities in the order of ``classes``; 0 for classes that the other model does not know."""
    ordered = np.zeros((len(probabilities), len(classes)))
    for k, value in enumerate(given):
        ordered[:, code_of(plain(value), classes, "the classifier's classes_")] = probabilities[:, k]
    return ordered


def binary(values: ArrayLike, name: str, *, only_01: bool = False) -> NDArray[np.int8]:
    """Turn 0/1, False/True or (unless ``only_01``) -1/1 into int8 0/1, or refuse by name."""
    array = one_dimensional(to_numpy(values), name)
    if array.size == 0:
        raise DataError(f"{name} is empty")
    allowed = "0 and 1" if only_01 else "0 and 1 (or False/True, or -1/1)"
    numbers = finite_numbers(array, name)
    if numbers is None:
        texts = sorted({str(v) for v in array.tolist()})
        shown = ", ".join(map(repr, texts[:4])) + (", ..." if len(texts) > 4 else "")
        other = f"; elsewhere give pos_label, or compare: y == {texts[-1]!r}" if len(texts) == 2 else ""
        hint = "" if only_01 else f". RateClassifier takes any two label values and maps them for you{other}"
        raise DataError(f"{name} must hold {allowed}; got {shown}{hint}")
    distinct = np.unique(np.concatenate(peers().gather(np.unique(numbers))))
    if set(distinct) <= {0.0, 1.0}:
        return numbers.astype(np.int8)
    if not only_01 and set(distinct) <= {-1.0, 1.0}:
        return (numbers > 0).astype(np.int8)
    shown = ", ".join(f"{v:g}" for v in distinct[:5]) + (", ..." if len(distinct) > 5 else "")
    raise DataError(f"{name} must hold {allowed}; got the values {shown}")


def coded(values: ArrayLike, classes: Classes, name: str) -> NDArray[Any]:
    """Labels as codes of classes by value; refuses missing values, an empty array, and values that are no class."""
    array = one_dimensional(to_numpy(values), name)
    if array.size == 0:
        raise DataError(f"{name} is empty")
    refuse_missing(array, name)
    return codes_of(array, classes, name)


def label_classes(values: ArrayLike, name: str, more: Iterable[Any] = ()) -> Classes:
    """The distinct labels of an array and some more, in order; refuses missing values and mixed types."""
    array = one_dimensional(to_numpy(values), name)
    refuse_missing(array, name)
    if array.dtype.kind not in "biufOUS":
        raise DataError(f"{name} must hold text, whole numbers or booleans; got the dtype {array.dtype}")
    classes = classes_of(array, name, more)
    check_number(len(classes), len(array), name)
    return classes


def many_classes(y: ArrayLike) -> Classes | None:
    """The classes of labels that are more than two; None for two or fewer, which are 0/1, False/True or -1/1."""
    array = to_numpy(y)
    other = are_labels(array) and not is_binary(distinct_labels(array))
    if not peers().some(other):  # a class may occur on one process only
        return None
    classes = label_classes(y, "y")
    return classes if len(classes) > 2 else None


def are_labels(array: NDArray[Any]) -> bool:
    """Whether an array may hold labels: one column, nothing missing, and whole numbers if any."""
    if array.size == 0 or array.ndim > 2 or (array.ndim == 2 and array.shape[1] > 1) or missing_values(array).any():
        return False
    return array.dtype.kind != "f" or bool((array == np.floor(array)).all())


def is_binary(labels: set[Any]) -> bool:
    """Whether labels are 0/1, False/True or -1/1."""
    return labels <= {0, 1} or labels <= {-1, 1}


def distinct_labels(array: NDArray[Any]) -> set[Any]:
    """The different values of an array, quickly where they are -1, 0 and 1."""
    if array.dtype == object:
        return set(map(plain, array.reshape(-1).tolist()))
    if array.dtype.kind in "biuf":
        matches = [array == value for value in (-1, 0, 1)]
        if np.logical_or.reduce(matches).all():
            return {value for value, mask in zip((-1, 0, 1), matches, strict=True) if mask.any()}
    return set(np.unique(array).tolist())
