"""Cells: examples with the same label, slice memberships and baseline predictions, which every rate treats alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.peers import peers
from .examples import Examples, taken_weights
from .slices import Slice

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cells:
    """A partition of the examples: who is in which cell, and what the cells share.

    Where several processes share the rows, all of them know the same cells with the totals of all rows, and each knows
    which of its own examples is where.
    """

    of: NDArray[np.int32]
    """Cell of each example."""
    weights: Array
    """Weight of each example."""
    totals: Array
    """Weight of each cell."""
    labels: NDArray[np.int8]
    """Label of each cell."""
    members: dict[Slice, NDArray[np.bool_]]
    """Which cells lie inside a slice."""
    baselines: dict[str, NDArray[np.int8]]
    """Baseline prediction of each cell."""
    clusters: NDArray[np.int64] | None = None
    """Cluster of each example, whose examples are kept together in every split; None where each stands alone."""

    def __len__(self) -> int:
        """Count the cells."""
        return len(self.totals)

    @classmethod
    def of_examples(cls, examples: Examples, slices: Iterable[Slice], baselines: Iterable[str]) -> Cells:
        """Partition examples by label, membership of slices, and baseline predictions."""
        slices, names = list(dict.fromkeys(slices)), list(dict.fromkeys(baselines))
        bits = [examples.labels.astype(bool), *(examples.baseline(name).astype(bool) for name in names)]
        count = len(bits) + len(slices)
        keys, of = _known_everywhere(*_partition(_packed(itertools.chain(bits, map(examples.mask, slices)))))
        totals = np.bincount(of, weights=examples.weights, minlength=len(keys)).astype(float)
        shared = np.unpackbits(keys, axis=1)[:, :count].T.astype(bool)
        known, inside = shared[1 : len(bits)].astype(np.int8), shared[len(bits) :]
        return cls(
            of.astype(np.int32, copy=False),
            examples.weights,
            peers().total(totals),
            shared[0].astype(np.int8),
            dict(zip(slices, inside, strict=True)),
            dict(zip(names, known, strict=True)),
            examples.clusters,
        )

    @cached_property
    def adder(self) -> sp.csr_array:
        """(cells, examples): adds weighted examples up, cell by cell."""
        order = np.argsort(self.of, kind="stable")
        pointers = np.concatenate([[0], np.cumsum(np.bincount(self.of, minlength=len(self)))])
        return sp.csr_array((self.weights[order], order, pointers), shape=(len(self), len(self.of)))

    def take(self, rows: NDArray[np.intp] | slice) -> Cells:
        """The same cells with some of the examples (``totals`` stay those of all): a batch of them."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return replace(self, of=self.of[rows], weights=taken_weights(self.weights, rows), clusters=clusters)

    def only(self, rows: NDArray[np.intp] | slice) -> Cells:
        """The same cells of some of the examples alone, with their totals: a part of the data."""
        return self.take(rows).weighing(taken_weights(self.weights, rows))

    def weighing(self, weights: Array) -> Cells:
        """The same cells with other weights of the examples."""
        totals = np.bincount(self.of, weights=weights, minlength=len(self)).astype(float)
        return replace(self, weights=weights, totals=peers().total(totals))

    @cached_property
    def unweighted(self) -> bool:
        """Whether every example has weight 1."""
        return bool((self.weights == 1).all())

    @cached_property
    def _indicator(self) -> NDArray[np.float32] | None:
        """(cells, examples), where counting by a dense product is faster than by a sparse one, and exact."""
        if not self.unweighted or len(self) > 64 or len(self.of) >= 2**24:
            return None
        indicator: NDArray[np.float32] = (np.arange(len(self))[:, None] == self.of).astype(np.float32)
        return indicator

    def sums_of_all(self, values: NDArray[Any]) -> Array:
        """The same as `sums`, over the rows of all processes."""
        found: Array = peers().total(self.sums(values))
        return found

    def sums(self, values: NDArray[Any]) -> Array:
        """Add weighted values (examples, configurations) up, cell by cell."""
        if values.dtype == bool:
            if self._indicator is not None:  # whole numbers below 2^24 are exact in single precision
                return np.asarray(self._indicator @ values.astype(np.float32), dtype=float)
            values = values.view(np.int8)
        if values.shape[1] == 1:  # the same sums in the same order, without a matrix
            column = np.bincount(self.of, weights=self.weights * values[:, 0], minlength=len(self))
            return np.asarray(column, dtype=float)[:, None]
        return np.asarray(self.adder @ values, dtype=float)

    def spread(self, coefficients: Array) -> Array:
        """Give each example its weight times its cell's coefficient."""
        return coefficients[self.of] * self.weights[:, None]


_WORD = 64
"""Masks that are looked at together, as the bits of one number for each example."""


def _packed(masks: Iterator[NDArray[np.bool_]]) -> Iterator[NDArray[np.uint8]]:
    """Masks as bits, (examples, bytes), a word at a time."""
    while some := list(itertools.islice(masks, _WORD)):
        yield np.packbits(np.stack(some, axis=1), axis=1)


def _partition(words: Iterator[NDArray[np.uint8]]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The different rows of a table that is given some columns at a time, in order, and which of them each row is.

    The columns split the parts so far, so that memory does not grow with their number.
    """
    keys, of = _told_apart(next(words))
    for word in words:
        own, place = _told_apart(word)
        pairs, of = np.unique(of.astype(np.int64) * len(own) + place, return_inverse=True)
        keys = np.concatenate([keys[pairs // len(own)], own[pairs % len(own)]], axis=1)
    return keys, of


def _told_apart(keys: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The different rows of ``keys``, in order, and which of them each row is."""
    if keys.shape[1] == 1:
        found = np.flatnonzero(np.bincount(keys[:, 0], minlength=256)).astype(np.uint8)
        number = np.zeros(256, np.int32)
        number[found] = np.arange(len(found))
        return found[:, None], number[keys[:, 0]]
    if keys.shape[1] <= 8:  # as one number, which is faster to sort
        wide = np.zeros((len(keys), 8), np.uint8)
        wide[:, : keys.shape[1]] = keys
        numbers, of = np.unique(wide.view(">u8")[:, 0].astype(np.uint64), return_inverse=True)
        return numbers.astype(">u8").view(np.uint8).reshape(-1, 8)[:, : keys.shape[1]], of
    found, of = np.unique(keys.view(np.dtype((np.void, keys.shape[1])))[:, 0], return_inverse=True)
    return found.view(np.uint8).reshape(-1, keys.shape[1]), of.reshape(-1)


def _known_everywhere(keys: NDArray[np.uint8], of: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The keys of all processes, gathered once, and which of them each row here is."""
    if peers().size == 1:
        return keys, of
    every, place = _told_apart(np.concatenate([*peers().gather(keys), keys]))
    return every, place[len(place) - len(keys) :][of]
