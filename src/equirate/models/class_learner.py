"""The learner of plug-in rules for more than two classes: rules for prices, with searched offsets.

In: rows with known probabilities, and costs of answers by cell. Out: families of rules: those with the smallest
expected costs, and the same with constants added to the costs of each class (`class_offsets`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.cells import Cells
from ..mixtures import Source
from .class_offsets import ROWS, cheapest_offsets, offset_grid
from .class_rules import ClassPlugInMembers, blocks, decide, expected_costs, joint
from .contract import Choice, Learner
from .members import Members
from .messages import Family
from .posterior import GivenProbabilities, Posterior
from .rows import Rows

Array = NDArray[np.float64]


class ClassPlugInLearner(Learner):
    """Rules as costs (label and signature, answers, rules), all of them bound to rows with known probabilities."""

    def __init__(self, posterior: Posterior | GivenProbabilities, probabilities: Array, rows: Rows) -> None:
        self.posterior, self.probabilities, self.rows = posterior, probabilities, rows
        self.size = len(posterior.signatures)
        self.places, _ = posterior.signatures.of_cells(rows.cells)
        self.searched = Searched.of(probabilities, rows.trained, posterior.n_classes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.posterior.n_classes

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
        """By probabilities, where they are known: those of this learner's rows, and given ones."""
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
        step = max(total // ROWS, 1)
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
        counts += cells.take(rows).partial_counts(decide(block, rules))
    return np.asarray(cells.shared.total(counts))
