r"""A plug-in rule on class probabilities: fit once, then every best response costs one matrix product.

With the probability :math:`P(c \mid x)` that an example belongs to cell c, the classifier that minimises a
weighted sum of rates predicts 1 where the expected coefficient :math:`\sum_c P(c \mid x) k_c` is negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, DataError, FileError
from .._core.rules import TEXT, ArrayOf, Fields, ListOf, Whole, maybe
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.features import features
from ..data.slices import Slice
from ..players.steps import StepRule
from ..problem.written import read_slice, slice_text
from .contract import Array, Asked, Choice, Learner, Members, Model, Rows, Seen, Written

MOST_CELLS = 256


@dataclass(frozen=True, eq=False)
class PlugIn(Model):
    """Thresholds on estimated probabilities, one linear rule in probability space per best response.

    Parameters
    ----------
    estimator
        A scikit-learn classifier with ``predict_proba``; logistic regression by default.
    group_aware
        False: estimate the probability of every cell (label and groups) from x alone, so that predicting needs no
        attributes. True: estimate the label only and look the groups up, so that predicting needs attributes.
    """

    estimator: Any = field(default_factory=lambda: _logistic())
    group_aware: bool = False

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Fit the probabilities, once."""
        from sklearn.base import clone  # takes a second: only where it is used

        X, cells = features(rows.X, len(rows)), rows.trained
        if not hasattr(self.estimator, "predict_proba"):
            raise AlgorithmError(f"a plug-in needs predict_proba, which {self.estimator!r} does not have")
        if not self.group_aware and len(cells) > MOST_CELLS:
            raise AlgorithmError(
                f"the problem has {len(cells)} cells, too many to estimate the probability of each "
                f"(at most {MOST_CELLS}): use PlugIn(group_aware=True) or an oracle"
            )
        target = cells.labels[cells.of] if self.group_aware else cells.of
        weighted = {} if (cells.weights == cells.weights[0]).all() else {"sample_weight": cells.weights}
        learner = clone(self.estimator).fit(X, target, **weighted)
        posterior = Aware(learner, _signatures(cells)) if self.group_aware else Blind(learner, len(cells))
        return PlugInLearner(posterior, posterior(X, rows.sample.examples), rows, count)


class Posterior:
    """Probability of each cell, (examples, cells)."""

    needs_attributes = False
    learner: Any

    def __call__(self, X: Any, examples: Examples | None) -> Array:
        """Return the probabilities; ``examples`` hold the attributes."""
        raise NotImplementedError

    def plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """How cells are told apart, as settings and arrays."""
        nothing = {"bits": np.zeros((0, 0), np.uint8), "labels": np.zeros(0, np.int8)}
        return {"slices": None, "baselines": []}, nothing


@dataclass(frozen=True, eq=False)
class Blind(Posterior):
    """Probability of each cell given the features alone."""

    learner: Any
    count: int

    def __call__(self, X: Any, examples: Examples | None) -> Array:
        """Ask the learner, whose classes are the cells."""
        result = np.zeros((X.shape[0], self.count))
        result[:, np.asarray(self.learner.classes_, dtype=np.intp)] = self.learner.predict_proba(X)
        return result


@dataclass(frozen=True, eq=False)
class Signatures:
    """What tells cells apart: slices, baselines, and the bits and label of each cell."""

    slices: tuple[Slice, ...]
    baselines: tuple[str, ...]
    cells: dict[tuple[bytes, int], int]


@dataclass(frozen=True, eq=False)
class Aware(Posterior):
    """Probability of the label given the features, with the groups looked up."""

    learner: Any
    signatures: Signatures
    needs_attributes = True

    def __call__(self, X: Any, examples: Examples | None) -> Array:
        """Give the example's own groups the probabilities of the labels, and all other cells 0."""
        if examples is None:
            raise DataError("this classifier looks groups up: give attributes when predicting")
        s = self.signatures
        chances = self.learner.predict_proba(X)  # columns: label 0, label 1
        masks = [*map(examples.mask, s.slices), *(examples.baseline(name) for name in s.baselines)]
        packed, inverse = np.unique(_packed(masks), axis=0, return_inverse=True)
        result = np.zeros((X.shape[0], len(s.cells)))
        for label in (0, 1):
            cells = np.array([s.cells.get((bits.tobytes(), label), -1) for bits in packed])[inverse.reshape(-1)]
            known = np.flatnonzero(cells >= 0)  # groups that were never seen with this label cost nothing
            result[known, cells[known]] = chances[known, label]
        return result

    def plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The slices as text, and the bits and label of each cell."""
        s = self.signatures
        keys = sorted(s.cells, key=lambda key: s.cells[key])
        bits = np.array([list(bits) for bits, _ in keys], np.uint8).reshape(len(keys), -1)
        settings = {"slices": list(map(slice_text, s.slices)), "baselines": list(s.baselines)}
        return settings, {"bits": bits, "labels": np.array([label for _, label in keys], np.int8)}


def _signatures(cells: Cells) -> Signatures:
    bits = _packed([*cells.members.values(), *cells.baselines.values()])
    found = {(bits[c].tobytes(), int(cells.labels[c])): c for c in range(len(cells))}
    return Signatures(tuple(cells.members), tuple(cells.baselines), found)


def _read_signatures(settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Signatures:
    bits, labels, cells = arrays["bits"], arrays["labels"], settings["cells"]
    slices = tuple(map(read_slice, settings["slices"]))
    wide = -(-(len(slices) + len(settings["baselines"])) // 8)
    if bits.shape != (cells, wide) or bits.dtype != np.uint8 or labels.shape != (cells,):
        raise FileError("the cells of a plug-in do not fit together")
    found = {(bits[c].tobytes(), int(labels[c])): c for c in range(cells)}
    if len(found) != cells or not set(labels.tolist()) <= {0, 1}:
        raise FileError("the cells of a plug-in do not differ from each other")
    return Signatures(slices, tuple(settings["baselines"]), found)


def _packed(masks: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
    return np.packbits(np.stack(masks, axis=1).astype(bool), axis=1)


class PlugInLearner(Learner):
    """Coefficients of the cells (cells, configurations)."""

    def __init__(self, posterior: Posterior, probabilities: Array, rows: Rows, count: int) -> None:
        self.posterior, self.probabilities, self.rows = posterior, probabilities, rows
        self.k = np.ones((len(rows.cells), count))

    def answer(self, asked: Asked) -> Seen:
        """Adopt the costs as coefficients, and predict 1 where the expected cost is negative."""
        self.k = asked.costs.copy()
        return Seen(self.rows.cells.sums(self.probabilities @ self.k < 0))

    def resume(self, state: Array) -> None:
        """Take the coefficients over."""
        self.k = state.copy()

    def snapshot(self) -> Array:
        """Copy the coefficients."""
        return self.k.copy()

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.k = self.k[:, columns]

    def finite(self) -> NDArray[np.bool_]:
        """Columns without NaN or infinity."""
        return np.asarray(np.isfinite(self.k).all(axis=0))

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen columns side by side."""
        return PlugInMembers(self.posterior, np.stack([snapshots[t][:, c] for t, c in chosen], axis=1))


@dataclass(frozen=True, eq=False)
class PlugInMembers(Members):
    """Plug-in rules, one column of coefficients each."""

    posterior: Posterior
    k: Array
    settings_rule = Fields(
        {"cells": Whole(1, 100_000), "slices": maybe(ListOf(maybe(TEXT), 1000)), "baselines": ListOf(TEXT, 1000)}
    )
    array_rules = {  # noqa: RUF012  # frozen like the class
        **{"coefficients": ArrayOf("f", 2), "intercepts": ArrayOf("f", 1), "classes": ArrayOf("i", 1)},
        **{"costs": ArrayOf("f", 2), "bits": ArrayOf("u", 2), "labels": ArrayOf("i", 1)},
    }

    @property
    def needs_attributes(self) -> bool:  # type: ignore[override]  # depends on the posterior
        """Whether predicting needs attributes."""
        return self.posterior.needs_attributes

    def __len__(self) -> int:
        """Count the columns."""
        return int(self.k.shape[1])

    def decide(self, X: Any, attributes: Any = None) -> NDArray[np.bool_]:
        """Predict 1 where the expected coefficient is negative."""
        X = features(X)
        examples = None
        if self.needs_attributes and attributes is not None:
            examples = Examples.of(np.zeros(X.shape[0]), attributes)
        return np.asarray(self.posterior(X, examples) @ self.k < 0)

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some columns."""
        return PlugInMembers(self.posterior, self.k[:, list(indices)])

    @property
    def width(self) -> int | None:
        """Features of the learner, where it tells."""
        return getattr(self.posterior.learner, "n_features_in_", None)

    def plain(self, width: int) -> Written:
        """Write the coefficients of a logistic regression and of the cells."""
        from .scikit import Logistic  # it imports this module

        learner = Logistic.of(self.posterior.learner)
        learned = {"coefficients": learner.coef_, "intercepts": learner.intercept_}
        learned["classes"] = np.asarray(learner.classes_, dtype=np.int64)
        settings, arrays = self.posterior.plain()
        return Written("plug_in", {"cells": len(self.k), **settings}, {**learned, "costs": self.k, **arrays})

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read the coefficients back."""
        from .scikit import Logistic

        cells, classes, costs = settings["cells"], arrays["classes"], arrays["costs"]
        aware = settings["slices"] is not None
        learner = Logistic(arrays["coefficients"], arrays["intercepts"], classes)
        known = (np.diff(classes) > 0).all() and classes[0] >= 0 and classes[-1] < (2 if aware else cells)
        if len(costs) != cells or not known:
            raise FileError("the cells of a plug-in do not fit together")
        if not aware:
            return cls(Blind(learner, cells), costs)
        return cls(Aware(learner, _read_signatures(settings, arrays)), costs)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression  # takes a second: only where it is used

    return LogisticRegression(max_iter=1000)
