"""Rows go down trees: the compiled pass of `equirate.models.forests`.

One call handles the rows from ``start`` to ``stop``. Arrays are those of a `Forest`: a leaf is its own child, a row
goes left where its value is at most the threshold or in the node's set of categories, and a missing value goes where
``default_left`` says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .passes import _compiled

_BLOCK_ROWS = 256
"""Rows that go down one tree after the other together, so that a tree stays in the cache."""


@_compiled
def descend(
    X: Any,
    feature: Any,
    threshold: Any,
    left: Any,
    right: Any,
    value: Any,
    default_left: Any,
    category: Any,
    starts: Any,
    words: Any,
    roots: Any,
    column: Any,
    scores: Any,
    start: int,
    stop: int,
) -> None:
    """Add the value of the leaf that each row falls into, tree by tree, to the tree's column of the scores."""
    for first in range(start, stop, _BLOCK_ROWS):
        last = min(first + _BLOCK_ROWS, stop)
        for t in range(len(roots)):
            to = column[t]
            for i in range(first, last):
                node = roots[t]
                while left[node] != node:
                    x = X[i, feature[node]]
                    if np.isnan(x):
                        goes_left = default_left[node] != 0
                    elif category[node] < 0:
                        goes_left = x <= threshold[node]
                    else:
                        goes_left = False
                        begin, end = starts[category[node]], starts[category[node] + 1]
                        if 0 <= x < 32.0 * (end - begin):
                            k = int(x)
                            goes_left = (words[begin + (k >> 5)] >> (k & 31)) & 1 != 0
                    node = left[node] if goes_left else right[node]
                scores[i, to] += value[node]
