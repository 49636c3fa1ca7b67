"""Text and categories in a frame of features as codes, for models that split them.

In: a frame with columns that hold no numbers. Out: `Categories`: what the columns held when fitting, and the same frame
with codes in their place; what is missing, or was not there when fitting, is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from .._core.errors import DataError
from ..data.slices import is_missing

MOST = 100_000
"""Categories of one column at most: a column with more tells rows apart, and nothing else."""


@dataclass(frozen=True)
class Categories:
    """What each column that holds no numbers held, by the column's name."""

    columns: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, X: Any) -> Categories:
        """Those of a frame; none where there is no frame, or it holds numbers."""
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return cls({})
        found = {}
        for name, dtype in frame.schema.items():
            if not (dtype.is_numeric() or dtype == nw.Boolean):
                values = sorted({str(value) for value in frame[name].to_list() if not is_missing(value)})
                if len(values) > MOST:
                    raise DataError(f"column {name!r} of X has {len(values)} different values: leave it out")
                found[str(name)] = tuple(values)
        return cls(found)

    def places(self, X: Any) -> tuple[int, ...]:
        """Which columns of the frame they are."""
        frame = nw.from_native(X, eager_only=True)
        return tuple(k for k, name in enumerate(frame.columns) if name in self.columns)

    def coded(self, X: Any) -> Any:
        """The frame with codes in the place of categories.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [31, 47, 20], "colour": ["red", None, "blue"]})
        >>> Categories.of(frame).coded(frame)["colour"].tolist()
        [1.0, nan, 0.0]
        """
        if not self.columns:
            return X
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            raise DataError(
                f"X must be a data frame with the columns {', '.join(map(repr, self.columns))}, which held categories "
                f"when fitting; got {type(X).__name__}"
            )
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise DataError(f"X has no column {missing[0]!r}, which held categories when fitting")
        coded = []
        for name, values in self.columns.items():
            code = {value: float(k) for k, value in enumerate(values)}
            given = frame[name].to_list()
            numbers = [np.nan if is_missing(value) else code.get(str(value), np.nan) for value in given]
            coded.append(nw.new_series(name, numbers, nw.Float64, backend=nw.get_native_namespace(frame)))
        index = getattr(X, "index", None)
        native = [each.to_native() for each in coded]
        if index is not None:  # pandas aligns by the index
            for each in native:
                each.index = index
        return frame.with_columns([nw.from_native(each, series_only=True) for each in native]).to_native()
