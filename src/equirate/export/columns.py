"""The columns of a table as inputs of an ONNX model, and their encoding as features.

In: the kind of each column. Out: a named input for each column, (rows, 1), and a tensor of features in single
precision, as the command line's encoder makes them. Numbers are doubles, NaN where missing; dates are days and times
seconds. Text is text, empty where missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._core.errors import EquirateError
from .graph import ML, Graph

MISSING_TEXT = ""
"""Represents a missing text, which ONNX does not have."""


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, shifted and scaled, with a feature for missing values where there were some."""

    name: str
    mean: float
    scale: float
    missing: bool
    farthest: float
    """Scaled values are clipped here."""
    dtype: ClassVar[Any] = np.float64

    def features(self, graph: Graph, values: str) -> list[str]:
        """The features that the column becomes."""
        absent = graph.op("IsNaN", values)
        scaled = graph.op("Div", graph.op("Sub", values, graph.constant(self.mean)), graph.constant(self.scale))
        scaled = graph.op("Min", graph.op("Max", scaled, graph.constant(-self.farthest)), graph.constant(self.farthest))
        scaled = graph.op("Where", absent, graph.constant(0.0), scaled)
        features = [graph.cast(scaled, np.float32)]
        return [*features, graph.cast(absent, np.float32)] if self.missing else features

    def example(self, rng: np.random.Generator, rows: int) -> Any:
        """Values to check the export on: usual ones, far ones and missing ones."""
        values = self.mean + self.scale * rng.normal(size=rows)
        odd = [self.mean, self.mean + 2 * self.farthest * self.scale, -1e300, 0.0, np.nan]
        at = rng.random(rows) < 0.2
        values[at] = rng.choice(odd, size=int(at.sum()))
        return values[:, None]


@dataclass(frozen=True)
class TextColumn:
    """Categories: a feature of 0 and 1 for each value, and one for missing where some were."""

    name: str
    values: tuple[str, ...]
    missing: bool
    dtype: ClassVar[Any] = str

    def __post_init__(self) -> None:
        if MISSING_TEXT in self.values:
            raise EquirateError(
                f"cannot export to ONNX: the column {self.name!r} holds the empty text as a value, and ONNX knows no "
                "missing text but that: write it as missing before training"
            )

    def features(self, graph: Graph, values: str) -> list[str]:
        """The features that the column becomes."""
        known = [*self.values, *([MISSING_TEXT] if self.missing else [])]
        place = graph.op(
            "LabelEncoder",
            values,
            domain=ML,
            keys_strings=known,
            values_int64s=list(range(len(known))),
            default_int64=-1,
        )
        same = graph.op("Equal", place, graph.constant(np.arange(len(known))[None], np.int64))
        return [graph.cast(same, np.float32)]

    def example(self, rng: np.random.Generator, rows: int) -> Any:
        """Values to check the export on: known ones, one that was never seen and missing ones."""
        values = [*self.values, MISSING_TEXT, "a value that was never seen"]
        return np.array(values, dtype=object)[rng.integers(len(values), size=rows)][:, None]


@dataclass(frozen=True)
class CodedColumn:
    """A column of a frame for trees: a number as it is, or the code of a category, NaN where there is none."""

    name: str
    values: tuple[str, ...] | None

    @property
    def dtype(self) -> Any:
        """Text where it held categories."""
        return np.float64 if self.values is None else str

    def features(self, graph: Graph, values: str) -> list[str]:
        """The feature that the column becomes."""
        if self.values is None:
            return [values]
        code = graph.op(
            "LabelEncoder",
            values,
            domain=ML,
            keys_strings=list(self.values),
            values_int64s=list(range(len(self.values))),
            default_int64=-1,
        )
        number = graph.cast(code, np.float64)
        return [graph.op("Where", graph.op("Less", number, graph.constant(0.0)), graph.constant(np.nan), number)]

    def example(self, rng: np.random.Generator, rows: int) -> Any:
        """Values to check the export on: known and unknown categories; numbers, and missing ones."""
        if self.values is None:
            return np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows))[:, None]
        texts = np.array([*self.values, "a value that was never seen"], dtype=object)
        return texts[rng.integers(len(texts), size=rows)][:, None]


Column = NumberColumn | TextColumn | CodedColumn


def encoded(graph: Graph, columns: Sequence[Column], inputs: Sequence[str], dtype: Any) -> str:
    """Features (rows, features) of columns (rows, 1), of one type."""
    parts = [part for column, values in zip(columns, inputs, strict=True) for part in column.features(graph, values)]
    return graph.cast(graph.op("Concat", *parts, axis=1), dtype) if len(parts) > 1 else graph.cast(parts[0], dtype)
