"""Indexes of pandas inputs: examples are matched by position, so indexes that disagree get a warning or an error.

In: features, labels, attributes and weights as the user gave them, by name. Out: nothing, a warning or an error.
`examples` and the estimators call this before anything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.errors import DataError, EquirateWarning
from .._core.late import Late
from .._core.warning import warn

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = Late("narwhals")


def check_indexes(given: Mapping[str, Any]) -> None:
    """Compare the indexes of pandas inputs by name: examples are matched by position, not by index.

    The same index in another order would mix the examples up and is refused; indexes with different values get a
    warning.
    """
    indexes = [pair for name, values in given.items() for pair in _indexes(name, values)]
    different = []
    for name, index in indexes[1:]:
        first, other = indexes[0]
        if len(index) != len(other) or index.equals(other):  # lengths are refused elsewhere
            continue
        if Counter(index) == Counter(other):
            raise DataError(
                f"{first} and {name} have the same index in another order ({_ends(other)} and {_ends(index)}), but "
                f"examples are matched by place: bring {name} into the order of {first} with .loc[{first}.index], or, "
                "if the places are right, drop the index with .reset_index(drop=True)"
            )
        different.append(f"{name} ({_ends(index)})")
    if different:
        first, other = indexes[0]
        warn(
            f"{first} ({_ends(other)}) and {', '.join(different)} have different indexes: examples are matched by "
            "place, not by index. If the places are right, drop the index with .reset_index(drop=True)",
            EquirateWarning,
        )


def _indexes(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    """Indexes of a pandas frame or series, or of those in a dict of attributes, each with the name of its input."""
    if isinstance(values, Mapping):
        for key, column in values.items():
            yield from _indexes(f"attribute {str(key)!r}", column)
        return
    if values is None or isinstance(values, np.ndarray):  # asking narwhals takes longer than a small batch
        return
    try:
        native = nw.from_native(values, allow_series=True, pass_through=True)
    except nw.exceptions.DuplicateError:  # features may share a name
        native = nw.from_native(values.iloc[:, 0], series_only=True)
    index = nw.maybe_get_index(native) if isinstance(native, (nw.DataFrame, nw.Series)) else None
    if index is not None:
        yield name, index


def _ends(index: Any) -> str:
    return ", ".join(map(str, index[:3])) + (", ..." if len(index) > 3 else "")
