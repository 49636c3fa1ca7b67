"""Plug-in rules for more than two classes: costs of answers, and the members that decide by them.

In: probabilities of label and signature of each row, and costs (label and signature, answers, rules). Out: for each
rule the answer with the smallest expected cost. `class_learner` finds the costs; files keep the members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import FileError
from .._core.rules import ArrayOf, Fields, Whole
from ..data.examples import Examples
from ..data.features import features
from ..data.labels import MOST
from ..data.sample import count_rows
from .members import Members, Written
from .posterior import (
    OPTIONAL_SETTINGS,
    SETTINGS,
    SIGNATURE_ARRAYS,
    Posterior,
    Signatures,
    class_chances,
    takes_anything,
)

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
class GivenClasses:
    """Probabilities of classes and signatures that replace the features; further columns are not theirs."""

    signatures: Signatures
    n_classes: int
    needs_attributes = False

    @property
    def width(self) -> int:
        """Probabilities of the classes, and those of the signatures."""
        return self.n_classes + len(self.signatures)

    def __call__(self, X: Any, examples: Examples | None) -> Array:
        """As they are."""
        return np.asarray(X[:, : self.width], dtype=float)

    def members(self, rules: Array) -> ClassPlugInMembers:
        """Rules on these probabilities."""
        return ClassPlugInMembers(self, rules)


@dataclass(frozen=True, eq=False)
class ClassPosterior(Posterior):
    """Classifiers for one of several labels and, where it is not known, for the signature."""

    n_classes: int = 3

    def __call__(self, X: Any, examples: Examples | None) -> Array:
        """Probabilities of each class and of each signature; ``examples`` hold the attributes."""
        learners = [each for each in (self.label, self.groups) if each is not None]
        X = X if all(map(takes_anything, learners)) else features(X)
        K = self.n_classes
        result = np.zeros((int(X.shape[0]), K + len(self.signatures)))
        result[:, :K] = class_chances(self.label, X, K)
        if self.groups is not None:
            result[:, K:] = class_chances(self.groups, X, len(self.signatures))
        result[:, K:] = self.signatures.among(result[:, K:], examples)
        return result

    def members(self, rules: Array) -> ClassPlugInMembers:
        """Rules on these probabilities."""
        return ClassPlugInMembers(self, rules)

    def plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The classifiers as numbers, their signatures as plain data, and the number of classes."""
        settings, arrays = super().plain()
        return {**settings, "classes": self.n_classes}, arrays

    @classmethod
    def _more(cls, classes: int) -> dict[str, Any]:
        return {"n_classes": classes}


@dataclass(frozen=True, eq=False)
class ClassPlugInMembers(Members):
    """Plug-in rules, costs (label and signature, answers, rules)."""

    posterior: ClassPosterior | GivenClasses
    rules: Array
    settings_rule = Fields({**SETTINGS, "classes": Whole(3, MOST)}, OPTIONAL_SETTINGS)
    array_rules = {"costs": ArrayOf("f", 3), **SIGNATURE_ARRAYS}  # noqa: RUF012  # frozen like the class
    nested = "learner."

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # depends on the posterior
        """Number of classes."""
        return self.posterior.n_classes

    @property
    def needs_attributes(self) -> bool:  # type: ignore[override]  # depends on the posterior
        """Whether predicting needs attributes."""
        return self.posterior.needs_attributes

    @property
    def width(self) -> int | None:
        """Features of the classifiers."""
        return self.posterior.width

    def __len__(self) -> int:
        """Count the rules."""
        return int(self.rules.shape[2])

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[Any]:
        """Predict the class with the smallest expected cost, as a code."""
        return self._by_block(X, attributes, lambda joint: decide(joint, self.rules))

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """Difference between the second smallest and the smallest cost, at the mean costs of the rules."""
        rule = (self.rules @ weights)[:, :, None]
        return self._by_block(X, attributes, lambda joint: lead(expected_costs(joint, rule)[:, :, 0]))

    def _by_block(self, X: Any, attributes: Any, function: Callable[[Array], NDArray[Any]]) -> NDArray[Any]:
        """Apply a function to the probabilities of label and signature, in blocks of rows."""
        array = isinstance(X, np.ndarray) or bool(sp.issparse(X))
        if array and X.shape[0] > _BLOCK and not self.needs_attributes:
            return np.concatenate([self._by_block(X[rows], None, function) for rows in blocks(X.shape[0])])
        examples = None
        if self.needs_attributes and attributes is not None:
            examples = Examples.of(np.zeros(count_rows(X)), attributes)
        return function(joint(self.posterior(X, examples), self.n_classes))

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some rules."""
        return replace(self, rules=self.rules[:, :, list(indices)])

    def concatenate(self, parts: Sequence[ClassPlugInMembers]) -> Members | None:
        """All rules, where they are on the same probabilities."""
        if not all(part.posterior.signatures is self.posterior.signatures for part in parts):
            return None
        return replace(self, rules=np.concatenate([part.rules for part in parts], axis=2))

    def plain(self, width: int) -> Written:
        """Write the classifiers of label and groups as numbers, and the costs."""
        settings, arrays = self.posterior.plain()  # type: ignore[union-attr]  # served ones estimate by themselves
        return Written("class_posterior", settings, {**arrays, "costs": self.rules})

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read them back."""
        posterior = ClassPosterior.read(settings, arrays)
        assert isinstance(posterior, ClassPosterior)
        check_costs(arrays["costs"], posterior.n_classes)
        return cls(posterior, arrays["costs"])


def check_costs(costs: Array, n_classes: int) -> None:
    """Refuse costs from a file that are not those of each class as an answer."""
    if costs.shape[1] != n_classes:
        raise FileError(f"a plug-in has costs of {costs.shape[1]} answers, and there are {n_classes} classes")
