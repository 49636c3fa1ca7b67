"""Plug-in rules of files that were written before labels and groups had classifiers of their own.

In: settings and arrays of the kind ``"plug_in"``: one logistic regression for the cells (blind) or for the label
(aware). Out: the same rules as `PlugInMembers`. Nothing is written like that any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._core.errors import FileError
from .._core.rules import TEXT, ArrayOf, Fields, ListOf, Rule, Whole, maybe
from ..data.slices import EVERYBODY
from ..problem.written import read_slice
from .contract import Members
from .plug_in import PlugInMembers
from .posterior import Array, Posterior, Signatures


@dataclass(frozen=True)
class Sure:
    """Says label 1 of everybody: the cells of a blind plug-in know the label themselves."""

    n_features_in_: int

    @property
    def classes_(self) -> NDArray[Any]:
        """Label 1."""
        return np.array([1])

    def predict_proba(self, X: Any) -> Array:
        """One."""
        return np.ones((X.shape[0], 1))


class FirstPlugInMembers(Members):
    """Reads what version 1 of the plug-in wrote."""

    settings_rule: ClassVar[Rule] = Fields(
        {"cells": Whole(1, 100_000), "slices": maybe(ListOf(maybe(TEXT), 1000)), "baselines": ListOf(TEXT, 1000)}
    )
    array_rules: ClassVar[Mapping[str, Rule]] = {
        **{"coefficients": ArrayOf("f", 2), "intercepts": ArrayOf("f", 1), "classes": ArrayOf("i", 1)},
        **{"costs": ArrayOf("f", 2), "bits": ArrayOf("u", 2), "labels": ArrayOf("i", 1)},
    }

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
        width = learner.n_features_in_
        if aware:
            return _aware(settings, arrays, learner)
        # every cell is a signature of its own, and the label is always 1
        bits = np.eye(cells, dtype=bool)
        signatures = Signatures((EVERYBODY,) * cells, (), bits, np.zeros(cells, dtype=bool), np.full(cells, 1 / cells))
        spread = np.concatenate([np.zeros_like(costs), costs])
        return PlugInMembers(Posterior(Sure(width), learner, signatures, width), spread)


def _aware(settings: dict[str, Any], arrays: dict[str, NDArray[Any]], learner: Any) -> Members:
    bits, labels, cells = arrays["bits"], arrays["labels"], settings["cells"]
    slices, baselines = tuple(map(read_slice, settings["slices"])), tuple(settings["baselines"])
    wide = len(slices) + len(baselines)
    if bits.shape != (cells, -(-wide // 8)) or bits.dtype != np.uint8 or labels.shape != (cells,):
        raise FileError("the cells of a plug-in do not fit together")
    if not set(labels.tolist()) <= {0, 1}:
        raise FileError("the cells of a plug-in do not differ from each other")
    unpacked = np.unpackbits(bits, axis=1)[:, :wide].astype(bool)
    found, of = np.unique(unpacked, axis=0, return_inverse=True)
    place = labels.astype(np.intp) * len(found) + of.reshape(-1)
    if len(set(place.tolist())) != cells:
        raise FileError("the cells of a plug-in do not differ from each other")
    spread = np.zeros((2 * len(found), arrays["costs"].shape[1]))
    spread[place] = arrays["costs"]
    signatures = Signatures(slices, baselines, found, np.ones(wide, dtype=bool), np.full(len(found), 1 / len(found)))
    return PlugInMembers(Posterior(learner, None, signatures, learner.n_features_in_), spread)
