"""Spread with more than two classes: sums over the different pairs of a cell and probabilities of the answers.

In: cells and probabilities (examples, classes). Out: what `spread` gathers for two classes. There powers of one
probability are enough; here rows of one cell with the same probabilities are put together, which are few where a few
classifiers are mixed; all processes know those of all. Slopes are by count, answers 1, 2 ... one after the other;
offsets are by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..data.cells import Cells
from .spread import UnitSums

Array = NDArray[np.float64]

_BLOCK = 1 << 18  # examples that are put together at once


def class_sums(cells: Cells, weights: Array, predictions: Array, drawn: bool = False) -> UnitSums:
    """Gather the sums; ``drawn`` predictions are one answer each, with these probabilities."""
    find = _drawn if drawn else _alike
    parts = []
    for first in range(0, max(len(weights), 1), _BLOCK):  # no more than blocks beside what was given
        rows = slice(first, first + _BLOCK)
        parts.append(find(cells.index[rows], weights[rows], np.asarray(predictions[rows])))
    groups = _merged(cells.shared.gather(_merged(parts)))
    return UnitSums(*_laid_out(groups.cells, groups.predictions, cells), groups.squares, groups.cubes)


class _Groups(NamedTuple):
    """Examples of one cell with the same probabilities: the cell, the probabilities, and sums of w^2 and w^3."""

    cells: NDArray[Any]
    predictions: Array
    squares: Array
    cubes: Array


def _alike(of: NDArray[Any], w: Array, p: Array) -> _Groups:
    """Examples with a weight, put together."""
    weighted = np.flatnonzero(w > 0)
    of, w, p = of[weighted], w[weighted], p[weighted]
    return _grouped(_Groups(of, p, w**2, w**3))


def _drawn(of: NDArray[Any], w: Array, p: Array) -> _Groups:
    """Every answer by itself, as often as it is drawn."""
    rows, answers = np.nonzero(np.where(w[:, None] > 0, p, 0.0))
    chance, of, w, K = p[rows, answers], of[rows], w[rows], p.shape[1]
    places, group = np.unique(of.astype(np.int64) * K + answers, return_inverse=True)
    two, three = (np.bincount(group, weights=chance * w**k, minlength=len(places)).astype(float) for k in (2, 3))
    return _Groups(places // K, np.eye(K)[places % K], two, three)


def _grouped(groups: _Groups) -> _Groups:
    """The same with equal groups as one, in an order that depends on them alone."""
    keys = np.concatenate([groups.cells[:, None].astype(float), groups.predictions + 0.0], axis=1)
    factors = np.random.default_rng(0).integers(2**63, size=keys.shape[1], dtype=np.uint64)
    mixed = keys.view(np.uint64) @ (2 * factors + np.uint64(1))  # sorted far faster than the keys themselves
    first, group = np.unique(mixed ^ (mixed >> np.uint64(32)), return_index=True, return_inverse=True)[1:]
    if (keys != keys[first][group]).any():  # two keys with one number
        as_bytes = keys.view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1])))[:, 0]
        first, group = np.unique(as_bytes, return_index=True, return_inverse=True)[1:]
    two, three = (
        np.bincount(group.reshape(-1), weights=sums, minlength=len(first)).astype(float)
        for sums in (groups.squares, groups.cubes)
    )
    return _Groups(groups.cells[first], groups.predictions[first], two, three)


def _merged(parts: Sequence[_Groups]) -> _Groups:
    """The groups of several blocks, or processes."""
    if len(parts) == 1:
        return parts[0]
    cells, predictions, squares, cubes = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _grouped(_Groups(cells, predictions, squares, cubes))


def _laid_out(of: NDArray[Any], p: Array, cells: Cells) -> tuple[sp.csr_array, sp.csr_array]:
    groups, size = len(of), len(cells)
    rows, answers = np.nonzero(p[:, 1:])
    places = answers * size + of[rows]
    by_answer = sp.csr_array((p[rows, answers + 1], (rows, places)), shape=(groups, cells.n_counts))
    return by_answer, sp.csr_array((np.ones(groups), (np.arange(groups), of)), shape=(groups, size))
