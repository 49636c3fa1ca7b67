"""A sample of the rows that every process has: for searches that sort, where all rows are too many or not here.

In: features and cells of the rows that are here. Out: rows spread evenly over all rows of all processes, in an order
of their own; all of them where they are few. What such a search finds is measured on all rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._core.hashing import row_hashes
from .._core.peers import Peers
from ..data.cells import Cells

SAMPLED = 200_000
"""Rows that a search looks at, of however many."""


def sampled(X: Any, cells: Cells, shared: Peers, most: int = SAMPLED) -> tuple[Any, Cells]:
    """Features and cells of the sample; its weights stand for those of all rows."""
    first, total = shared.places(X.shape[0])
    if total > most:  # one row from each of as many stretches of equal length
        places = ((np.arange(most) + np.random.default_rng(0).random(most)) * (total / most)).astype(np.int64)
        rows: Any = places[(places >= first) & (places < first + X.shape[0])] - first
    else:
        rows = slice(None)
    parts = shared.gather((X[rows], cells.of[rows], cells.weights[rows]))
    features, of, weights = zip(*parts, strict=True)
    sparse = bool(sp.issparse(X))
    joint: Any = sp.csr_array(sp.vstack(features)) if sparse else np.concatenate(features)
    cell, weight = np.concatenate(of), np.concatenate(weights) * max(total / most, 1.0)
    order = np.lexsort((weight, cell, row_hashes(joint)))  # whoever had them
    return joint[order], replace(cells, of=cell[order], weights=weight[order])
