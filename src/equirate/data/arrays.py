"""Arrays as users have them: lists, series and columns of data frames as numpy arrays, and checks of their values.

In: anything array-like, by name. Out: numpy arrays; missing values, tables and lazy frames are refused by name.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError
from .._core.late import Late
from .slices import is_missing

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = Late("narwhals")

Array = NDArray[np.float64]


def one_dimensional(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Refuse tables; a single column counts as one-dimensional."""
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{name} must be one-dimensional; got shape {array.shape}")
    return array


def finite_numbers(array: NDArray[Any], name: str) -> Array | None:
    """Turn an array into floats, all finite; None if it does not hold numbers."""
    if array.dtype == object:
        refuse_missing(array, name)
        if not all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in array):
            return None
    elif array.dtype.kind not in "biuf":
        return None
    try:
        numbers = array.astype(float)
    except OverflowError:
        raise DataError(f"{name} holds a whole number beyond 1.8e308") from None
    refuse_missing(numbers, name)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise DataError(f"{name} has infinite values, the first in row {row}")
    return numbers


def missing_values(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are None, NaN, NaT or pandas.NA; the array is flattened, and the result is read-only."""
    if array.dtype == object:
        return np.fromiter((is_missing(value) for value in array.ravel()), dtype=bool, count=array.size)
    return (array != array).ravel() if array.dtype.kind in "fcmM" else np.broadcast_to(np.False_, array.size)


def refuse_missing(array: NDArray[Any], name: str) -> None:
    """Refuse None, NaN, NaT and pandas.NA, and say how many there are and where the first is."""
    missing = missing_values(array)
    count = int(missing.sum())
    if count:
        raise DataError(
            f"{name} has {count} missing value{'s' * (count > 1)} (NaN or None), the first in row "
            f"{int(np.flatnonzero(missing)[0])}: drop those examples or fill them in"
        )


def same_length(array: Sized, length: int, name: str) -> None:
    """Refuse arrays whose length differs from the labels'."""
    if len(array) != length:
        raise DataError(f"{name} has {len(array)} values, but y has {length}: they must describe the same examples")


def to_numpy(values: Any) -> NDArray[Any]:
    """Turn a series, a list or an array into a numpy array."""
    if type(values) is np.ndarray:  # the common case: asking narwhals would take a tenth of a millisecond
        return values
    try:
        native = nw.from_native(values, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:  # features may share a name: their positions identify them
        native = values
    if isinstance(native, (nw.Series, nw.DataFrame)):
        return np.asarray(native.to_numpy())
    refuse_lazy(values, "the data")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise DataError(f"cannot make an array of a {type(values).__name__}: {error}") from None


def refuse_lazy(values: Any, name: str) -> None:
    """Refuse a frame whose rows are still to be computed."""
    if values is None or type(values) is np.ndarray:
        return
    try:
        frame = nw.from_native(values, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:  # other checks handle columns that share a name
        return
    if isinstance(frame, nw.LazyFrame):
        method = "collect" if hasattr(values, "collect") else "compute"
        raise DataError(
            f"{name} is a {type(values).__name__}, whose rows are not there yet: call .{method}() on it first"
        )
