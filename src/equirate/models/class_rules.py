"""Plug-in rules for more than two classes: costs of answers, the members that decide by them, and their learner.

In: probabilities of label and signature of each row, and costs (label and signature, answers, rules). Out: for each
rule the answer with the smallest expected cost. The learner answers costs by cell with the rules whose expected costs
are smallest, and with the same after constants were added to the costs of each class (`class_offsets`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import FileError
from .._core.rules import ArrayOf, Fields, Whole
from ..data.cells import Cells
from ..data.features import is_sparse
from ..data.labels import MAX_CLASSES
from ..mixtures import Source
from .class_offsets import MIN_ROWS_SEARCHED, cheapest_offsets, offset_grid
from .contract import Choice, Learner
from .members import Members
from .messages import Family
from .plug_in_rules import PosteriorMembers
from .posterior import OPTIONAL_SETTINGS, SETTINGS, SIGNATURE_ARRAYS, GivenProbabilities, Posterior
from .rows import Rows, blocks

Array = NDArray[np.float64]
_AT_ONCE = 1 << 18  # expected costs in memory at once: they stay in cache


def joint(probabilities: Array, n_classes: int) -> Array:
    """Joint probabilities of label and signature (rows, classes times signatures), label 0 first."""
    labels, groups = probabilities[:, :n_classes], probabilities[:, n_classes:]
    if groups.shape[1] == 1:
        return np.ascontiguousarray(labels)
    return np.asarray((labels[:, :, None] * groups[:, None, :]).reshape(len(probabilities), -1))


def expected_costs(joint: Array, rules: Array) -> Array:
    """Expected cost of each answer (rows, answers, rules)."""
    costs: Array = (joint @ rules.reshape(len(rules), -1)).reshape(len(joint), *rules.shape[1:])
    return costs


def decide(joint: Array, rules: Array) -> NDArray[Any]:
    """The answers with the smallest expected costs, as codes (rows, rules)."""
    (_, answers, count), size = rules.shape, len(joint)
    decided = np.zeros((count, size), dtype=np.uint8 if answers <= 255 else np.uint16)
    by_answer = np.ascontiguousarray(rules.reshape(len(rules), -1).T)
    step = max(_AT_ONCE // max(len(by_answer), 1), 1)
    for first in range(0, size, step):
        rows = slice(first, first + step)
        costs = (by_answer @ joint[rows].T).reshape(answers, count, -1)  # rows last: each step is one long pass
        least = costs[0]
        for k in range(1, answers):
            np.copyto(decided[:, rows], k, where=costs[k] < least)
            np.minimum(least, costs[k], out=least)
    return decided.T


def lead(costs: Array) -> Array:
    """Difference between the second smallest and the smallest cost, from costs (rows, answers)."""
    two = np.partition(costs, 1, axis=1)[:, :2]
    return np.asarray(two[:, 1] - two[:, 0])


@dataclass(frozen=True, eq=False)
class ClassPlugInMembers(PosteriorMembers):
    """Plug-in rules, costs (label and signature, answers, rules)."""

    settings_rule = Fields({**SETTINGS, "classes": Whole(3, MAX_CLASSES)}, OPTIONAL_SETTINGS)
    array_rules = {"costs": ArrayOf("f", 3), **SIGNATURE_ARRAYS}  # noqa: RUF012  # frozen like the class

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Predict the class with the smallest expected cost, as a code."""
        return self._by_block(X, attributes, lambda joint: decide(joint, self.costs))

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """Difference between the second smallest and the smallest cost, at the mean costs of the rules."""
        rule = (self.costs @ weights)[:, :, None]
        return self._by_block(X, attributes, lambda joint: lead(expected_costs(joint, rule)[:, :, 0]))

    def _by_block(self, X: Any, attributes: Any, function: Callable[[Array], NDArray[Any]]) -> NDArray[Any]:
        """Apply a function to the probabilities of label and signature, in blocks of rows."""
        array = isinstance(X, np.ndarray) or is_sparse(X)
        parts = blocks(X.shape[0]) if array and not self.needs_attributes else []
        if len(parts) > 1:
            return np.concatenate([self._by_block(X[rows], None, function) for rows in parts])
        return function(joint(self._probabilities(X, attributes), self.n_classes))

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read them back."""
        check_costs(arrays["costs"], settings["classes"])
        return super().from_plain(settings, arrays)


def check_costs(costs: Array, n_classes: int) -> None:
    """Refuse costs from a file that are not those of each class as an answer."""
    if costs.shape[1] != n_classes:
        raise FileError(f"a plug-in has costs of {costs.shape[1]} answers, and there are {n_classes} classes")


# -- the learner ------------------------------------------------------------------------------------


class ClassPlugInLearner(Learner):
    """Rules as costs (label and signature, answers, rules), all of them bound to rows with known probabilities."""

    def __init__(self, posterior: Posterior | GivenProbabilities, probabilities: Array, rows: Rows) -> None:
        self.posterior, self.probabilities, self.rows = posterior, probabilities, rows
        self.size, self.n_classes = len(posterior.signatures), posterior.n_classes
        self.places, _ = posterior.signatures.of_cells(rows.cells)
        self.searched = Searched.of(probabilities, rows.trained, posterior.n_classes)

    def families(self) -> list[Family]:
        """The constant classifiers, the most probable class, and that with each class made more and less frequent."""
        K = self.n_classes
        constant = np.ones((K * self.size, K, K))
        constant[:, np.arange(K), np.arange(K)] = 0.0
        wrong = np.repeat(1.0 - np.eye(K), self.size, axis=0)[:, :, None]
        grid = offset_grid(expected_costs(self.searched.joint, wrong)[:, :, 0])
        return [self._family(constant, Source.LISTED), self._family(wrong + grid[None], Source.LISTED)]

    def respond(self, costs: Array) -> list[Family]:
        """The rules with the smallest expected costs, and with offsets whose decisions cost least on the rows."""
        rules = self._by_place(costs)
        size = np.abs(rules).max(axis=(0, 1), keepdims=True)
        rules = rules / np.where(size > 0, size, 1.0)
        all_rules, searched = [rules], self.searched
        answers = self._by_answer(costs)
        for m in range(costs.shape[1]):
            expected = expected_costs(searched.joint, rules[:, :, [m]])[:, :, 0]
            offsets = cheapest_offsets(expected, searched.price(answers[:, :, m]))
            all_rules.append(rules[:, :, [m]] + offsets[None, :, None])
        return [self._family(np.concatenate(all_rules, axis=2), Source.PRICED)]

    def _by_answer(self, costs: Array) -> Array:
        """(answers, cells, responses), with answer 0 at 0."""
        cells = len(self.rows.cells)
        others = costs.reshape(-1, cells, costs.shape[1])
        return np.concatenate([np.zeros((1, cells, costs.shape[1])), others])

    def _by_place(self, costs: Array) -> Array:
        """(label and signature, answers, responses); combinations that are not cells cost nothing."""
        answers = self._by_answer(costs)
        spread = np.zeros((self.n_classes * self.size, len(answers), costs.shape[1]))
        spread[self.places] = answers.transpose(1, 0, 2)
        return spread

    def _family(self, rules: Array, source: Source) -> Family:
        return Family(counted(self.probabilities, self.rows.cells, rules), source, rules)

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen rules side by side."""
        return ClassPlugInMembers(self.posterior, np.stack([snapshots[t][:, :, c] for t, c in chosen], axis=2))

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """Use probabilities of the rows that are known already: those of this learner's own rows, or given ones."""
        if isinstance(self.posterior, GivenProbabilities):
            probabilities = self.posterior(rows.X, None)
        elif rows.X is self.rows.X:
            probabilities = self.probabilities
        else:
            return super().measurer(rows)
        return lambda members: counted(probabilities, rows.cells, members.costs)  # type: ignore[attr-defined]  # its own


@dataclass(frozen=True, eq=False)
class Searched:
    """A sample of the rows of all processes, evenly spaced: probabilities of label and signature, cells, weights.

    Every process has the same ones, whichever of them holds the rows.
    """

    joint: Array
    index: NDArray[np.int32]
    weights: Array
    rows: slice
    """Those of this process."""

    @classmethod
    def of(cls, probabilities: Array, cells: Cells, n_classes: int) -> Searched:
        """Gather the rows."""
        first, total = cells.shared.places(len(probabilities))
        step = max(total // MIN_ROWS_SEARCHED, 1)
        rows = slice(-first % step, len(probabilities), step)
        parts = cells.shared.gather((np.array(probabilities[rows]), cells.index[rows], np.array(cells.weights[rows])))
        sampled, index, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(joint(sampled, n_classes), index, weights, rows)

    def price(self, answers: Array) -> Array:
        """Cost of each answer on each row (rows, classes), from those of each cell (classes, cells)."""
        return np.asarray(answers[:, self.index].T * self.weights[:, None])


def counted(probabilities: Array, cells: Cells, rules: Array) -> Array:
    """Counts of the answers of rules on all rows, in blocks, from the probabilities of the rows of this process."""
    counts = np.zeros((cells.n_counts, rules.shape[2]))
    for rows in blocks(len(probabilities)):
        block = joint(np.asarray(probabilities[rows]), cells.n_classes)
        counts += cells.batch(rows).partial_counts(decide(block, rules))
    return np.asarray(cells.shared.total(counts))
