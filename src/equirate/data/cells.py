"""Cells: examples with the same label, slice memberships and baseline predictions, which every rate treats alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.cached import cached_property
from .._core.peers import Peers, peers
from .examples import Examples
from .labels import BINARY, Classes
from .slices import Slice
from .weights import taken_weights

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cells:
    """A partition of the examples: the cell of each example, and what the examples of a cell have in common.

    Where several processes share the rows, all of them have the same cells with the totals of all rows, and each has
    the cell numbers of its own examples.
    """

    index: NDArray[np.int32]
    """Cell of each example."""
    weights: Array
    """Weight of each example."""
    totals: Array
    """Weight of each cell."""
    labels: NDArray[Any]
    """Label of each cell, as a code."""
    members: dict[Slice, NDArray[np.bool_]]
    """Which cells lie inside a slice."""
    baselines: dict[str, NDArray[Any]]
    """Baseline prediction of each cell."""
    clusters: NDArray[np.int64] | None = None
    """Cluster of each example; a split keeps clusters together. None if examples are independent."""
    classes: Classes = BINARY
    """The labels by value, in the order of their codes."""
    shared: Peers = field(default_factory=peers, repr=False)
    """The processes that share the examples."""

    def __len__(self) -> int:
        """Count the cells."""
        return len(self.totals)

    @classmethod
    def of_examples(cls, examples: Examples, slices: Iterable[Slice], baselines: Iterable[str]) -> Cells:
        """Partition examples by label, membership of slices, and baseline predictions."""
        slices, names = list(dict.fromkeys(slices)), list(dict.fromkeys(baselines))
        width = (len(examples.classes) - 1).bit_length()  # one bit for two classes
        coded = [examples.labels, *(examples.baseline(name) for name in names)]
        bits = [codes >> k & 1 == 1 for codes in coded for k in reversed(range(width))]
        places: dict[Slice, int] = {}  # a slice and its complement are one bit of a cell
        for slice_ in slices:
            if ~slice_ not in places:
                places[slice_] = len(places)
        count = len(bits) + len(places)
        keys, of = _partition(_packed(itertools.chain(bits, map(examples.mask, places))))
        keys, of = _of_all_processes(keys, of, examples.shared)
        totals = np.bincount(of, weights=examples.weights, minlength=len(keys)).astype(float)
        alike = np.unpackbits(keys, axis=1)[:, :count].T.astype(bool)
        inside = alike[len(bits) :]
        members = {s: inside[places[s]] if s in places else ~inside[places[~s]] for s in slices}
        dtype = examples.labels.dtype
        labels, *known = (_number(alike[k * width : (k + 1) * width], dtype) for k in range(len(coded)))
        return cls(
            of.astype(np.int32, copy=False),
            examples.weights,
            examples.shared.total(totals),
            labels,
            members,
            dict(zip(names, known, strict=True)),
            examples.clusters,
            examples.classes,
            examples.shared,
        )

    @classmethod
    def of_rates(cls, examples: Examples, rates: Sequence[Any], slices: Iterable[Slice] = ()) -> Cells:
        """Partition examples so that all rates treat those of a cell alike, and so do some more slices."""
        baselines = [rate.baseline for rate in rates if rate.baseline is not None]
        return cls.of_examples(examples, [*(rate.slice for rate in rates), *slices], baselines)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self.classes)

    @property
    def n_counts(self) -> int:
        """Number of counts that predictions are summed into: one for each cell and each answer but the first."""
        return (len(self.classes) - 1) * len(self)

    @property
    def order(self) -> NDArray[np.intp]:
        """The examples cell by cell; those of a cell stay in order."""
        small = np.uint8 if len(self) <= 256 else np.uint16 if len(self) <= 65536 else np.int64  # sorted by digits
        return np.argsort(self.index.astype(small, copy=False), kind="stable")

    @cached_property
    def adder(self) -> sp.csr_array:
        """(cells, examples): sums weighted examples in each cell."""
        order = self.order
        pointers = np.concatenate([[0], np.cumsum(np.bincount(self.index, minlength=len(self)))])
        return sp.csr_array((self.weights[order], order, pointers), shape=(len(self), len(self.index)))

    def behind(self, rate: Any) -> NDArray[np.bool_]:
        """Which cells a rate is measured on."""
        return np.asarray(self.members[rate.slice] & rate.among(self.labels))

    def measures(self, rates: Iterable[Any]) -> bool:
        """Whether every rate is measured on cells with some weight."""
        present = self.totals > 0
        return all(bool((self.behind(rate) & present).any()) for rate in rates)

    def batch(self, rows: NDArray[np.intp] | slice) -> Cells:
        """The same cells for some of the examples, in any order; ``totals`` stay those of all the examples."""
        clusters = None if self.clusters is None else self.clusters[rows]
        return replace(self, index=self.index[rows], weights=taken_weights(self.weights, rows), clusters=clusters)

    def subset(self, rows: NDArray[np.intp] | slice) -> Cells:
        """The same cells for some of the examples as data of their own; ``totals`` are those of these alone."""
        return self.batch(rows).weighing(taken_weights(self.weights, rows))

    def by_part(self, part: NDArray[Any], parts: int) -> Cells:
        """Cells by part of the examples: number ``cell * parts + part``.

        Sums over these cells give the sums of any parts together: a use of the parts, such as all but fold 3, is a
        matrix of factors (cells, parts).
        """
        index = np.multiply(self.index, parts, dtype=np.int32)
        index += part.astype(np.int32, copy=False)
        totals = np.bincount(index, weights=self.weights, minlength=parts * len(self)).astype(float)
        return replace(
            self,
            index=index,
            totals=self.shared.total(totals),
            labels=np.repeat(self.labels, parts),
            members={name: np.repeat(inside, parts) for name, inside in self.members.items()},
            baselines={name: np.repeat(values, parts) for name, values in self.baselines.items()},
            clusters=None,
        )

    def weighing(self, weights: Array) -> Cells:
        """The same cells with other weights of the examples."""
        totals = np.bincount(self.index, weights=weights, minlength=len(self)).astype(float)
        return replace(self, weights=weights, totals=self.shared.total(totals))

    @cached_property
    def unweighted(self) -> bool:
        """Whether every example has weight 1."""
        return bool((self.weights == 1).all())

    @cached_property
    def _indicator(self) -> NDArray[np.float32] | None:
        """(cells, examples), where counting by a dense product is faster than by a sparse one, and exact."""
        if not self.unweighted or len(self) > 64 or len(self.index) >= 2**24:
            return None
        indicator: NDArray[np.float32] = (np.arange(len(self))[:, None] == self.index).astype(np.float32)
        return indicator

    def sizes(self, positive: bool = False) -> NDArray[np.intp]:
        """Number of examples in each cell, over all processes; with ``positive``, of those with positive weight."""
        inside = self.index[self.weights > 0] if positive else self.index
        return np.asarray(self.shared.total(np.bincount(inside, minlength=len(self))))

    def sums(self, values: NDArray[Any]) -> Array:
        """Add weighted values (examples, configurations) up, cell by cell, over the examples of all processes."""
        sums: Array = self.shared.total(self.partial_sums(values))
        return sums

    def partial_sums(self, values: NDArray[Any]) -> Array:
        """The same over the examples of this process alone; `Rows.reduce` sums over the processes later.

        Codes of classes are counted for each answer.
        """
        if values.dtype.kind in "iu" and self.n_classes > 2:
            return self.partial_counts(values)
        if values.dtype == bool:
            if self._indicator is not None:  # whole numbers below 2^24 are exact in single precision
                return np.asarray(self._indicator @ values.astype(np.float32), dtype=float)
            values = values.view(np.int8)
        if values.shape[1] == 1:  # the same sums in the same order, without a matrix
            column = np.bincount(self.index, weights=self.weights * values[:, 0], minlength=len(self))
            return np.asarray(column, dtype=float)[:, None]
        return np.asarray(self.adder @ values, dtype=float)

    def counts(self, answers: NDArray[Any]) -> Array:
        """Weighted numbers of answers 1, 2 ... in each cell, (counts, classifiers), from codes of the answers.

        Like `sums`, they are those of all processes.

        Examples
        --------
        >>> examples = Examples.of(["a", "b", "c", "c"], classes=("a", "b", "c"))
        >>> cells = Cells.of_examples(examples, [], [])
        >>> cells.counts(np.array([[1], [1], [2], [0]]))[:, 0].tolist()
        [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        """
        return np.asarray(self.shared.total(self.partial_counts(answers)))

    def partial_counts(self, answers: NDArray[Any]) -> Array:
        """The same over the examples of this process."""
        size, classifiers = len(self), answers.shape[1]
        counts = np.empty((self.n_classes * size, classifiers))
        for m in range(classifiers):
            places = answers[:, m].astype(np.intp) * size + self.index
            counts[:, m] = np.bincount(places, weights=self.weights, minlength=len(counts))
        return counts[size:]

    def constants(self) -> Array:
        """Counts of the classifiers that give everybody the same answer, (counts, classes)."""
        K, size = self.n_classes, len(self)
        counts = np.zeros((K - 1, size, K))
        for k in range(1, K):
            counts[k - 1, :, k] = self.totals
        return counts.reshape(-1, K)

    def label_costs(self) -> Array:
        """The error of each answer minus that of answer 0, by count: the costs of the error rate."""
        if self.n_classes == 2:
            return np.where(self.labels == 1, -1.0, 1.0)
        answers = np.arange(1, self.n_classes)[:, None]
        return np.where(self.labels == answers, -1.0, np.where(self.labels == 0, 1.0, 0.0)).reshape(-1)

    def expected_counts(self, predictions: Array) -> Array:
        """Counts of one classifier that predicts with probabilities: of 1, or (examples, classes)."""
        if self.n_classes == 2:
            return self.sums(predictions[:, None])[:, 0]
        counts = np.zeros((len(self), self.n_classes - 1))
        for first in range(0, len(predictions), _BLOCK):
            rows = slice(first, first + _BLOCK)
            counts += self.batch(rows).adder @ predictions[rows, 1:]
        return np.asarray(self.shared.total(counts.T.reshape(-1)))

    def spread(self, coefficients: Array) -> Array:
        """Give each example its weight times its cell's coefficient."""
        return coefficients[self.index] * self.weights[:, None]


_BLOCK = 1 << 20
"""Examples whose probabilities are added up at once."""
_WORD = 64
"""Masks that are packed together, as the bits of one number for each example."""


def _number(bits: NDArray[np.bool_], dtype: Any) -> NDArray[Any]:
    """Whole numbers from their bits, the highest first."""
    powers = 1 << np.arange(len(bits))[::-1]
    return np.asarray(powers @ bits, dtype=dtype)


def _packed(masks: Iterator[NDArray[np.bool_]]) -> Iterator[NDArray[np.uint8]]:
    """Masks as bits, (examples, bytes), a word at a time."""
    while block := list(itertools.islice(masks, _WORD)):
        yield np.packbits(np.stack(block, axis=1), axis=1)


def _partition(words: Iterator[NDArray[np.uint8]]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The distinct rows of a table, given some columns at a time, in order, and the index of each row among them.

    The columns split the parts so far, so that memory does not grow with their number.
    """
    keys, of = _distinct_rows(next(words))
    for word in words:
        own, place = _distinct_rows(word)
        pairs, of = np.unique(of.astype(np.int64) * len(own) + place, return_inverse=True)
        keys = np.concatenate([keys[pairs // len(own)], own[pairs % len(own)]], axis=1)
    return keys, of


def _distinct_rows(keys: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The distinct rows of ``keys``, in order, and the index of each row among them."""
    if keys.shape[1] == 1:
        distinct = np.flatnonzero(np.bincount(keys[:, 0], minlength=256)).astype(np.uint8)
        number = np.zeros(256, np.int32)
        number[distinct] = np.arange(len(distinct))
        return distinct[:, None], number[keys[:, 0]]
    if keys.shape[1] <= 8:  # as one number, which is faster to sort
        wide = np.zeros((len(keys), 8), np.uint8)
        wide[:, : keys.shape[1]] = keys
        numbers, of = np.unique(wide.view(">u8")[:, 0].astype(np.uint64), return_inverse=True)
        return numbers.astype(">u8").view(np.uint8).reshape(-1, 8)[:, : keys.shape[1]], of
    distinct, of = np.unique(keys.view(np.dtype((np.void, keys.shape[1])))[:, 0], return_inverse=True)
    return distinct.view(np.uint8).reshape(-1, keys.shape[1]), of.reshape(-1)


def _of_all_processes(
    keys: NDArray[np.uint8], of: NDArray[Any], shared: Peers
) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The keys of all processes, and the index of each row's key among them."""
    if shared.size == 1:
        return keys, of
    all_keys, place = _distinct_rows(np.concatenate([*shared.gather(keys), keys]))
    return all_keys, place[len(place) - len(keys) :][of]
