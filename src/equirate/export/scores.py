"""Scores that thresholds cut, as ONNX graphs: those of a linear model and those of trees.

In: weights or a `Forest`. Out: a tensor of scores (rows, 1), and rows on which they are hard to get right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..models.forests import Forest
from . import linear, trees
from .graph import Graph
from .probing import split_rows

Array = NDArray[np.float64]


class Score(Protocol):
    """A score of features."""

    @property
    def missing(self) -> bool:
        """Whether features may be NaN."""

    @property
    def width(self) -> int:
        """Number of features."""

    def build(self, graph: Graph, X: str) -> str:
        """Scores of the rows (rows, 1)."""

    def rows(self, rng: np.random.Generator, count: int) -> Array:
        """Rows to check an export on."""


@dataclass(frozen=True, eq=False)
class LinearScore:
    """``x . w + b``; the intercept is the last of the weights."""

    weights: NDArray[Any]
    missing = False

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.weights) - 1

    def build(self, graph: Graph, X: str) -> str:
        """A matrix product."""
        return linear.products(graph, X, self.weights[:, None])

    def rows(self, rng: np.random.Generator, count: int) -> Array:
        """Random ones."""
        return rng.normal(size=(count, self.width))


@dataclass(frozen=True, eq=False)
class TreeScore:
    """The sum of the leaves."""

    forest: Forest
    missing = True

    @property
    def width(self) -> int:
        """Number of features."""
        return self.forest.width

    def build(self, graph: Graph, X: str) -> str:
        """Trees."""
        return trees.scores(graph, X, self.forest)

    def rows(self, rng: np.random.Generator, count: int) -> Array:
        """Rows at the thresholds of the trees."""
        return split_rows(rng, [self.forest], count)
