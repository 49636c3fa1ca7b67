"""The probability of label and groups given the features, on which plug-in rules are based.

In: fitted classifiers for the label and for the signature (slices, and predictions of baselines). Out: `Posterior`,
which gives each row its probabilities: those of the label (`label_columns`), then that of each signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.cached import cached_property
from .._core.errors import DataError, FileError
from .._core.rules import FLAG, TEXT, ArrayOf, ListOf, Rule, Whole, check_arrays, maybe
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.features import features
from ..data.mapped import zeros_beside
from ..data.slices import Slice
from ..problem.written import read_slice, slice_text
from .contributions import Contributions, linear_contributions, tree_contributions
from .cross_fitting import classes_of, probabilities_by_class
from .forests import Boosted, Forest, as_boosted
from .members import named_inside
from .sklearn_classifiers import Logistic

Array = NDArray[np.float64]


SETTINGS: dict[str, Rule] = {
    "label": TEXT,
    "groups": maybe(TEXT),
    "slices": ListOf(maybe(TEXT), 1000),
    "baselines": ListOf(TEXT, 1000),
    "width": Whole(1, 10_000_000),
}
"""Rules for the settings of a posterior in a file, for any number of classes."""
OPTIONAL_SETTINGS: dict[str, Rule] = {"label_single": FLAG, "groups_single": FLAG}
"""Rules for settings that a file may lack."""
SIGNATURE_ARRAYS: dict[str, Rule] = {"bits": ArrayOf("u", 2), "known": ArrayOf("u", 1), "shares": ArrayOf("f", 1)}
"""Rules for the arrays of `Signatures` in a file."""


@dataclass(frozen=True, eq=False)
class Signatures:
    """The differences between cells of the same label: slices and baselines, and the combinations that occur.

    Attributes
    ----------
    slices, baselines
        What the bits of a signature stand for, in this order.
    bits
        (signatures, slices and baselines).
    known
        Which of the bits are looked up when predicting.
    shares
        Share of the weight of each signature.
    depth
        Bits of a baseline's prediction: one for two classes. With more, baselines are not looked up when predicting.
    """

    slices: tuple[Slice, ...]
    baselines: tuple[str, ...]
    bits: NDArray[np.bool_]
    known: NDArray[np.bool_]
    shares: Array
    depth: int = 1

    @classmethod
    def of(cls, cells: Cells, groups: Sequence[str] | None) -> Signatures:
        """The signatures of cells. ``groups`` are the attributes that are known when predicting; None for all."""
        depth = (cells.n_classes - 1).bit_length()
        cell_bits = _bits(cells, tuple(cells.members), tuple(cells.baselines), depth)
        bits, of = np.unique(cell_bits, axis=0, return_inverse=True)
        names = set(groups or ())
        by_slice = [groups is None or part.attributes <= names for part in cells.members]
        by_baseline = [depth == 1 and (groups is None or name in names) for name in cells.baselines]
        known = np.array([*by_slice, *np.repeat(by_baseline, depth)], dtype=bool)
        shares = np.bincount(of.reshape(-1), weights=cells.totals, minlength=len(bits))
        return cls(tuple(cells.members), tuple(cells.baselines), bits, known, shares / shares.sum(), depth)

    def __len__(self) -> int:
        """Count the signatures."""
        return len(self.bits)

    @cached_property
    def looked_up(self) -> NDArray[np.intp]:
        """The bits that have to be looked up: those that are known and differ."""
        return np.flatnonzero(self.known & (self.bits.any(axis=0) & ~self.bits.all(axis=0)))

    @cached_property
    def all_known(self) -> bool:
        """Whether the known attributes determine the signature, so that nothing needs to be estimated."""
        return len(np.unique(self.bits[:, self.looked_up], axis=0)) == len(self)

    def of_cells(self, cells: Cells) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Position of the coefficient of each cell (label 0 first), and the signature of each cell."""
        of = _places(self.bits, _bits(cells, self.slices, self.baselines, self.depth))
        if of.min(initial=0) < 0:
            raise DataError("there are combinations of groups here that the plug-in was not trained on")
        return cells.labels.astype(np.intp) * len(self) + of, of

    def plain(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The signatures as plain data."""
        settings = {"slices": list(map(slice_text, self.slices)), "baselines": list(self.baselines)}
        bits, known = self.bits.astype(np.uint8), self.known.astype(np.uint8)
        return settings, {"bits": bits, "known": known, "shares": self.shares}

    def among(self, chances: Array, examples: Examples | None) -> Array:
        """Probabilities of the signatures given the known attributes; 0 for those that they rule out."""
        if not len(self.looked_up):
            return np.ones((len(chances), 1)) if len(self) == 1 else chances
        if examples is None:
            raise DataError("this classifier looks groups up: give attributes (sensitive_features) when predicting")
        kinds, which = np.unique(self.bits[:, self.looked_up], axis=0, return_inverse=True)
        names = [*self.slices, *self.baselines]
        parts = [names[k] for k in self.looked_up]
        needed = [part.attributes if isinstance(part, Slice) else {part} for part in parts]
        missing = sorted(set().union(*needed) - set(examples.columns))
        if missing:
            raise DataError(
                "this classifier looks groups up: give attributes (sensitive_features) with "
                f"{', '.join(map(repr, missing))} when predicting"
            )
        masks = [
            examples.mask(part) if isinstance(part, Slice) else examples.baseline(part).astype(bool) for part in parts
        ]
        kind = _places(kinds, np.stack(masks, axis=1))
        possible = np.concatenate([which.reshape(-1) == np.arange(len(kinds))[:, None], np.zeros((1, len(self)), bool)])
        allowed = possible[kind]
        result = np.where(allowed, chances, 0.0)
        lost = ~(result.sum(axis=1) > 0)
        result[lost] = np.where(allowed[lost], self.shares, 0.0)
        return np.asarray(result / np.maximum(result.sum(axis=1, keepdims=True), 1e-300))


def _bits(cells: Cells, slices: Sequence[Slice], baselines: Sequence[str], depth: int) -> NDArray[np.bool_]:
    """(cells, slices and bits of baselines)."""
    baseline_bits = (cells.baselines[name] >> k & 1 for name in baselines for k in range(depth))
    columns = [*(cells.members[part] for part in slices), *baseline_bits]
    return np.stack(columns, axis=1).astype(bool) if columns else np.zeros((len(cells), 0), dtype=bool)


def _places(distinct: NDArray[np.bool_], bits: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Place of each row of bits among distinct ones; -1 for a row that is not there."""
    place = {row.tobytes(): k for k, row in enumerate(np.packbits(distinct, axis=1))}
    rows, inverse = np.unique(np.packbits(bits, axis=1), axis=0, return_inverse=True)
    return np.array([place.get(row.tobytes(), -1) for row in rows], dtype=np.intp)[inverse.reshape(-1)]


def label_columns(n_classes: int) -> int:
    """Number of probabilities of the label: one for each class, but of two classes only that of label 1."""
    return 1 if n_classes == 2 else n_classes


@dataclass(frozen=True, eq=False)
class GivenProbabilities:
    """Probabilities that replace the features during a game; further columns are not theirs."""

    signatures: Signatures
    n_classes: int
    needs_attributes = False

    @property
    def width(self) -> int:
        """Number of probabilities of label and signature."""
        return label_columns(self.n_classes) + len(self.signatures)

    def __call__(self, X: Any, examples: Examples | None) -> Array:
        """As they are."""
        return np.asarray(X[:, : self.width], dtype=float)


def numbered(probabilities: Array) -> Array:
    """Probabilities, and the number of each row as a last column."""
    result = zeros_beside(probabilities, (len(probabilities), probabilities.shape[1] + 1))
    result[:, :-1], result[:, -1] = probabilities, np.arange(len(probabilities))
    return result


@dataclass(frozen=True, eq=False)
class Posterior:
    """Classifiers for the label and, where it is not known, for the signature."""

    label: Any
    groups: Any
    signatures: Signatures
    width: int | None
    n_classes: int = 2

    @property
    def kind(self) -> str:
        """The kind of members on these probabilities in a file."""
        return "posterior" if self.n_classes == 2 else "class_posterior"

    @property
    def needs_attributes(self) -> bool:
        """Whether groups are looked up."""
        return bool(len(self.signatures.looked_up))

    def __call__(self, X: Any, examples: Examples | None) -> Array:
        """Probabilities of the label and of each signature; ``examples`` hold the attributes."""
        learners = [each for each in (self.label, self.groups) if each is not None]
        X = X if all(map(takes_anything, learners)) else features(X)
        labels, count = probabilities_by_class(self.label, X, self.n_classes), label_columns(self.n_classes)
        result = np.zeros((len(labels), count + len(self.signatures)))
        result[:, :count] = labels[:, -count:]
        if self.groups is not None:
            result[:, count:] = probabilities_by_class(self.groups, X, len(self.signatures))
        result[:, count:] = self.signatures.among(result[:, count:], examples)
        return result

    def completed(self, module: Any) -> Posterior:
        """Add the constructor of a network's module, which files do not hold; other classifiers need nothing."""
        return self

    # -- writing -------------------------------------------------------------------------------------

    def plain(self, width: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The classifiers as numbers, and their signatures as plain data; ``width`` is the number of features."""
        settings, arrays = self.signatures.plain()
        settings |= {"groups": None, "width": self.width}
        if self.n_classes > 2:
            settings["classes"] = self.n_classes
        for name, learner in (("label", self.label), ("groups", self.groups)):
            if learner is not None:
                kind, single, numbers = _written(learner)
                settings |= {name: kind} if single is None else {name: kind, f"{name}_single": single}
                arrays |= {f"learner.{name}.{key}": array for key, array in numbers.items()}
        return settings, arrays

    @classmethod
    def read(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Posterior:
        """Read a posterior from a file that is not trusted."""
        classes: int = settings.get("classes", 2)
        signatures = _read_signatures(settings, arrays, classes)
        learners = []
        unread = named_inside(arrays, "learner.")
        for name, number in (("label", classes), ("groups", len(signatures))):
            inner = {k.removeprefix(f"{name}."): unread.pop(k) for k in [*unread] if k.startswith(f"{name}.")}
            learners.append(cls._read_learner(name, settings, inner, number))
            if learners[-1] is None and inner:
                raise FileError("a plug-in has numbers of a classifier that it does not have")
        if unread:
            raise FileError(f"a plug-in has an array {next(iter(unread))[:60]!r} that this equirate does not know")
        label, groups = learners
        if signatures.all_known != (groups is None):
            raise FileError("a plug-in must have a classifier of the groups if they are not looked up, and only then")
        return cls(label, groups, signatures, settings.get("width"), classes)

    @classmethod
    def _read_learner(cls, name: str, settings: dict[str, Any], arrays: dict[str, NDArray[Any]], classes: int) -> Any:
        """The classifier of label or groups; None where there is none."""
        kind = settings[name]
        if kind is None:
            return None
        learner = _read(kind, settings.get(f"{name}_single"), arrays, classes)
        if learner.n_features_in_ != settings["width"]:
            raise FileError("the classifiers of a plug-in have other numbers of features")
        return learner


def _read_signatures(settings: dict[str, Any], arrays: dict[str, NDArray[Any]], classes: int) -> Signatures:
    """The signatures of a plug-in that was written; refuses signatures that are inconsistent."""
    depth = (classes - 1).bit_length()
    slices, baselines = tuple(map(read_slice, settings["slices"])), tuple(settings["baselines"])
    bits, known, shares, costs = (arrays[name] for name in ("bits", "known", "shares", "costs"))
    count, wide = len(bits), len(slices) + depth * len(baselines)
    fit = bits.shape == (count, wide) and known.shape == (wide,) and shares.shape == (count,)
    fit = fit and count > 0 and len(costs) == classes * count and bool((shares >= 0).all())
    fit = fit and max(bits.max(initial=0), known.max(initial=0)) <= 1
    if not fit or len(np.unique(bits, axis=0)) != count:
        raise FileError("the groups of a plug-in do not fit together")
    return Signatures(slices, baselines, bits.astype(bool), known.astype(bool), shares, depth)


_FOREST = {**Forest.rules, "classes": ArrayOf("i", 1), "shape": ArrayOf("i", 1)}
_LOGISTIC: dict[str, Rule] = {
    "coefficients": ArrayOf("f", 2),
    "intercepts": ArrayOf("f", 1),
    "classes": ArrayOf("i", 1),
}


def _written(learner: Any) -> tuple[str, bool | None, dict[str, NDArray[Any]]]:
    """Kind, precision of trees, and arrays of a classifier; refuses one that arrays cannot hold."""
    boosted = as_boosted(learner)
    if boosted is not None:
        classes = np.asarray(boosted.classes_, dtype=np.int64)
        numbers = {**boosted.forest.arrays(), "classes": classes, "shape": np.array([boosted.forest.width])}
        return "forest", boosted.forest.single, numbers
    logistic = Logistic.of(learner)
    numbers = {"coefficients": logistic.coef_, "intercepts": logistic.intercept_}
    return "logistic", None, {**numbers, "classes": np.asarray(logistic.classes_, dtype=np.int64)}


def _read(kind: str, single: bool | None, arrays: dict[str, NDArray[Any]], classes: int) -> Any:
    place = "a classifier of the plug-in"
    if kind == "forest":
        check_arrays(_FOREST, arrays, place)
        shape = arrays["shape"]
        if shape.shape != (1,) or not 1 <= shape[0] <= 10_000_000:
            raise FileError(f"{place} has no number of features")
        forest = Forest.read(arrays, int(shape[0]), bool(single))
        count = len(arrays["classes"])
        if count < 2 or len(forest.offset) != (1 if count == 2 else count):
            raise FileError(f"{place} has other scores than classes")
        learner: Any = Boosted(forest, arrays["classes"])
    elif kind == "logistic":
        check_arrays(_LOGISTIC, arrays, place)
        learner = Logistic(arrays["coefficients"], arrays["intercepts"], arrays["classes"])
    else:
        raise FileError(f"{place} is of the kind {kind[:60]!r}, which this equirate does not know: upgrade it")
    named = arrays["classes"]
    if not len(named) or not (np.diff(named) > 0).all() or named[0] < 0 or named[-1] >= classes:
        raise FileError("the classes of a plug-in do not fit together")
    return learner


def log_odds_contributions(learner: Any, X: Any) -> Contributions | None:
    """What each feature adds to the log-odds of a classifier's second class (rows, 1, features).

    For trees and for logistic regression of two classes; None for others.
    """
    if len(classes_of(learner)) != 2:
        return None
    try:
        boosted = as_boosted(learner)
        logistic = Logistic.of(learner) if boosted is None else None
    except FileError:
        return None
    if boosted is not None:
        return Contributions.of(*tree_contributions(boosted.forest, X))
    assert logistic is not None
    return linear_contributions(features(X), np.vstack([logistic.coef_.T, logistic.intercept_[None]]))


def takes_anything(learner: Any) -> bool:
    """Whether a classifier takes features of any kind, not only arrays of finite numbers."""
    return not isinstance(learner, Logistic) and type(learner).__name__ != "LogisticRegression"
