"""Labels of any number of classes: their values in order, and arrays of them as codes 0, 1, 2 ...

In: numpy arrays of labels or of probabilities, and the classes by value. Out: codes and probabilities, checked.
`examples` calls this; everywhere else classes are codes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, EquirateWarning
from .._core.peers import peers

Array = NDArray[np.float64]
Classes = tuple[Any, ...]
"""The classes by value, in the order of their codes."""

BINARY: Classes = (0, 1)
"""The classes of labels that are 0 and 1 already."""
MANY = 100
"""With more classes than this, a warning says how much memory they take."""
MOST = 1000
"""Classes at most: with more, labels are a quantity or an identifier."""
_ROUNDED = 1e-6  # how far the sum of a row's probabilities may be from 1, by rounding in single precision
_SHOWN = 5
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
    there = np.zeros(high - low + 1, dtype=bool)
    there[values if low == 0 else values.astype(np.int64) - low] = True
    return np.asarray(np.flatnonzero(there) + low, dtype=values.dtype)


def plain(value: Any) -> Any:
    """A label as a Python value."""
    return value.item() if isinstance(value, np.generic) else value


def listed(values: Iterable[Any]) -> str:
    """Some values for a message.

    Examples
    --------
    >>> listed("abcdefgh")
    "'a', 'b', 'c', 'd', 'e' and 3 more"
    """
    shown = [repr(plain(value)) for value in values]
    more = f" and {len(shown) - _SHOWN:,} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


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
    if count > MOST:
        raise DataError(
            f"{name} has {count:,} different values, more than {MOST:,} classes: labels that are a quantity or an "
            "identifier are no classes; put them into fewer"
        )
    if count > MANY:
        size = 8 * count * rows / 1e9
        warnings.warn(
            f"{name} has {count:,} classes: probabilities of {rows:,} rows take {size:.2g} GB, and every pass compares "
            f"{count:,} classes one by one; join rare classes where that is too slow",
            EquirateWarning,
            stacklevel=3,
        )


def code_of(label: Any, classes: Classes, what: str) -> int:
    """The code of one class by value; ``what`` names it."""
    for code, value in enumerate(classes):
        if value == label and isinstance(value, str) == isinstance(label, str):
            return code
    similar = [value for value in classes if str(value) == str(label)]
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    raise DataError(f"{what}: y has no class {label!r}; its classes are {listed(classes)}{hint}")


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
        raise DataError(f"{name} has values that are no class: {listed(unknown)}; the classes are {listed(classes)}")
    codes: NDArray[Any] = np.array([number[key] for key in keys], dtype=dtype)[inverse.reshape(-1)]
    return codes


def class_probabilities(array: NDArray[Any], classes: Classes, length: int) -> Array:
    """Predictions as probabilities (examples, classes): from labels, or from probabilities in the order of classes."""
    if len(array) != length:
        raise DataError(f"y_pred has {len(array)} values, but y has {length}: they must describe the same examples")
    count = len(classes)
    if array.ndim == 1:
        return one_hot(codes_of(array, classes, "y_pred"), count)
    if array.ndim != 2 or array.shape[1] != count:
        raise DataError(
            f"y_pred must hold predicted labels, or probabilities of shape ({length:,}, {count}) for the classes "
            f"{listed(classes)}; got shape {array.shape}. Give all classes with classes=[...] where y lacks some"
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
