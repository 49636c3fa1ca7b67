"""Plug-in rules for more than two classes: costs of answers, and the members that decide by them.

In: probabilities of label and signature of each row, and costs (label and signature, answers, rules). Out: for each
rule the answer with the smallest expected cost. `class_learner` finds the costs; files keep the members.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import FileError
from .._core.rules import ArrayOf, Fields, Whole
from ..data.labels import MOST
from .members import Members
from .plug_in import PosteriorMembers
from .posterior import OPTIONAL_SETTINGS, SETTINGS, SIGNATURE_ARRAYS

Array = NDArray[np.float64]
_AT_ONCE = 1 << 18  # expected costs in memory at once: they stay in cache
_BLOCK = 1 << 16  # rows whose probabilities are in memory at once


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


def blocks(size: int) -> list[slice]:
    """All rows, as many at a time as are in memory at once."""
    return [slice(a, min(a + _BLOCK, size)) for a in range(0, size, _BLOCK)]


@dataclass(frozen=True, eq=False)
class ClassPlugInMembers(PosteriorMembers):
    """Plug-in rules, costs (label and signature, answers, rules)."""

    settings_rule = Fields({**SETTINGS, "classes": Whole(3, MOST)}, OPTIONAL_SETTINGS)
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
        array = isinstance(X, np.ndarray) or bool(sp.issparse(X))
        if array and X.shape[0] > _BLOCK and not self.needs_attributes:
            return np.concatenate([self._by_block(X[rows], None, function) for rows in blocks(X.shape[0])])
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
