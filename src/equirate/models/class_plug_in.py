r"""Plug-in rules for more than two classes: fit probabilities once, then an answer is a matrix product and a search.

With the probability :math:`P(y, s \mid x)` of label and signature (`posterior`), the classifier that minimises costs
:math:`k_{a, y, s}` of the answers a predicts the one with the smallest expected cost
:math:`\sum_{y, s} P(y \mid x) P(s \mid x) k_{a, y, s}`. A constant added to all costs of an answer, its *offset*, gives
a rule of the same kind: `class_offsets` searches the offsets whose decisions cost least on the rows themselves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, EquirateWarning, FileError
from .._core.rules import FLAG, TEXT, ArrayOf, Fields, ListOf, Whole, maybe
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.features import features
from ..data.labels import MOST
from ..data.mapped import is_mapped, scratch
from ..data.sample import Sample, count_rows
from ..data.splits import split_by_cell
from ..mixtures import Source
from ..players.steps import StepRule
from .capabilities import Capabilities
from .class_offsets import ROWS, cheapest_offsets, offset_grid
from .class_oracle import ClassOracle
from .contract import Choice, Learner, Model, Prepared
from .cross_fitting import Trainer, fold_count
from .linear import Linear
from .members import Members, Written
from .messages import Family
from .multinomial import Multinomial
from .oracle import Oracle
from .plug_in import MOST_SIGNATURES, PlugIn, fits_closely
from .posterior import Posterior, Signatures, class_chances, takes_anything
from .rows import Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Fill = Callable[[NDArray[Any], Array], Any]
"""Writes the probabilities of each row's classes, given as codes, and returns the classifier that serves."""
ENOUGH = 50
"""Number of rows per feature and class from which on a linear model is judged on the rows that it was fitted to."""
_AT_ONCE = 1 << 18  # expected costs in memory at once: they stay in cache
_BLOCK = 1 << 16  # rows whose probabilities are in memory at once


@dataclass(frozen=True, eq=False)
class ClassPlugIn(PlugIn):
    """Plug-in rules on the probabilities of more than two classes; its settings are those of `PlugIn`."""

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Fit the probabilities, once."""
        setting = self
        if self.folds is None and not fits_closely(self.estimator):
            setting = replace(self, folds=1)
        posterior, probabilities = setting.estimate_classes(
            rows.sample, rows.trained, int(seeds[0]) if len(seeds) else 0
        )
        return ClassPlugInLearner(posterior, probabilities, rows)

    @property
    def capabilities(self) -> Capabilities:
        """Regressions add up over processes that share the rows; other classifiers need all rows in one place."""
        shares = isinstance(self.estimator, Multinomial) and self.group_estimator is None
        return replace(super().capabilities, shares_rows=shares)

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared:
        """Fit the probabilities, which replace the features in the game."""
        weights = cells.n_classes * (sample.X.shape[1] if np.ndim(sample.X) == 2 else 1)
        rows = cells.shared.total(int((cells.weights > 0).sum()))
        enough = not fits_closely(self.estimator) and rows >= ENOUGH * weights
        setting = replace(self, folds=1) if enough and self.folds is None else self
        posterior, probabilities = setting.estimate_classes(sample, cells, seed)
        inputs = GivenClasses(posterior.signatures, posterior.n_classes)
        return Prepared(GivenClassPlugIn(inputs), probabilities, ClassServing(posterior), setting.folds != 1)

    def estimate_classes(self, sample: Sample, cells: Cells, seed: int) -> tuple[ClassPosterior, Array]:
        """Classifiers for label and signature, and their probabilities for each row (rows, classes + signatures).

        Rows that have no weight are not trained on.
        """
        X = self._features(sample, cells)
        signatures = Signatures.of(cells, None if self.group_aware else self.groups)
        _, of = signatures.of_cells(cells)
        if not signatures.all_known and len(signatures) > MOST_SIGNATURES:
            raise AlgorithmError(
                f"the problem has {len(signatures)} combinations of groups, too many to estimate the probability of "
                f"each (at most {MOST_SIGNATURES}): look them up with groups=, or take fewer"
            )
        K, labels = cells.n_classes, cells.labels[cells.index]
        counts = cells.shared.total(np.bincount(labels[cells.weights > 0], minlength=K))
        count = fold_count(int(counts.sum()), self.folds)
        _warn_of_rare(counts, cells, count)
        fold = _folds(cells, count, seed)
        shape = len(sample), K + len(signatures)
        probabilities: Array = scratch(shape, np.float64) if is_mapped(X) else np.zeros(shape)
        fill = self._filling(self.estimator, X, cells, fold, seed)
        label = fill(labels, probabilities[:, :K])
        groups = None
        if not signatures.all_known:
            if self.group_estimator is not None:
                fill = self._filling(self.group_estimator, X, cells, fold, seed, fill)
            groups = fill(of.astype(np.int16)[cells.index], probabilities[:, K:])
        if signatures.all_known or len(signatures.looked_up):
            probabilities[:, K:] = signatures.among(probabilities[:, K:], sample.examples)
        return self._posterior(label, groups, signatures, X, K), probabilities

    def _features(self, sample: Sample, cells: Cells) -> Any:
        """The features that the classifiers are trained on, checked."""
        for estimator in (self.estimator, self.group_estimator):
            if estimator is not None and not hasattr(estimator, "predict_proba"):
                raise AlgorithmError(f"a plug-in needs predict_proba, which {estimator!r} does not have")
        X = sample.X if self.capabilities.missing_values else features(sample.X, len(sample))
        cells.shared.agree("the features", f"{X.shape[1]} columns")
        return X

    def _posterior(self, label: Any, groups: Any, signatures: Signatures, X: Any, n_classes: int) -> ClassPosterior:
        """Both classifiers as one posterior."""
        return ClassPosterior(label, groups, signatures, int(X.shape[1]), n_classes)

    def _filling(
        self, estimator: Any, X: Any, cells: Cells, fold: NDArray[np.int8], seed: int, labels: Fill | None = None
    ) -> Fill:
        """The function that fills in the probabilities of a classifier; for the groups after that of the labels."""
        if isinstance(estimator, Multinomial):
            return partial(_regressed, estimator, X, cells, fold)
        weights = unequal_weights(cells, fold)
        if weights is not None:
            self._refuse_unweighted()
        if isinstance(labels, CrossFit):
            return CrossFit(labels.trainer.for_groups(estimator), weights)
        return CrossFit(Trainer.of(estimator, X, *parts_of(fold)), weights)


def parts_of(fold: NDArray[np.int8]) -> tuple[list[Index], Index]:
    """The rows of each fold, and those in no fold."""
    return [np.flatnonzero(fold == k) for k in range(int(fold.max()) + 1)], np.flatnonzero(fold < 0)


def unequal_weights(cells: Cells, fold: NDArray[np.int8]) -> Array | None:
    """The weights of the rows; None if all rows in folds have equal weights."""
    weights = cells.weights[fold >= 0]
    return None if not len(weights) or bool((weights == weights[0]).all()) else cells.weights


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Fills in out-of-fold probabilities, and returns a classifier trained on all folds."""

    trainer: Trainer
    weights: Array | None

    def __call__(self, target: NDArray[Any], out: Array) -> Any:
        """The probabilities of the classes of ``target`` into ``out``."""
        classes, target = out.shape[1], target.astype(np.intp)
        crossed = self.trainer.cross_fit(target, self.weights, classes)
        out[:] = crossed.chances
        if len(self.trainer.folds) == 1:
            return crossed.models[0]
        model, out[self.trainer.rest] = self.trainer.fit(target, self.weights, classes)
        return model


def _folds(cells: Cells, count: int, seed: int) -> NDArray[np.int8]:
    """The fold of each row, stratified by cell over all processes; -1 for rows without weight."""
    used = cells.weights > 0
    fold = np.where(used, 0, -1).astype(np.int8)
    if count > 1:
        rows = np.flatnonzero(used)
        for k, part in enumerate(split_by_cell(cells.take(rows), [1.0] * count, seed, "folds")):
            fold[rows[part]] = k
    return fold


def _regressed(
    setting: Multinomial, X: Any, cells: Cells, fold: NDArray[np.int8], target: NDArray[Any], out: Array
) -> Any:
    """Fill in the probabilities of regressions, on the rows of all processes, in blocks; returns that of all rows."""
    classes, shared = out.shape[1], cells.shared
    count = 1 + int(shared.range(0, int(fold.max(initial=0)))[1])
    model = setting.fit_rows(X, target, cells.weights, classes, shared)
    for k in range(count):
        fold_model = model
        if count > 1:
            fold_model = setting.fit_rows(X, target, np.where(fold == k, 0.0, cells.weights), classes, shared)
        for rows in _blocks(len(out)):
            inside = np.flatnonzero(fold[rows] == k) if count > 1 else slice(None)
            out[rows][inside] = class_chances(fold_model, X[rows][inside], classes)
    if count > 1:
        unused = np.flatnonzero(fold < 0)
        out[unused] = class_chances(model, X[unused], classes)
    return model


def _blocks(size: int) -> list[slice]:
    return [slice(a, min(a + _BLOCK, size)) for a in range(0, size, _BLOCK)]


def of_linear(model: Linear, n_classes: int) -> ClassPlugIn:
    """Plug-in rules on multinomial logistic probabilities."""
    if model.radius is not None or model.spread:
        raise AlgorithmError(
            f"the radius and the spread of Linear are those of a game of two classes, and y has {n_classes}"
        )
    return ClassPlugIn(Multinomial(1.0 + model.penalty, model.intercept))


def of_plug_in(model: PlugIn, n_classes: int) -> ClassPlugIn:
    """The same classifiers, for more than two classes."""
    return ClassPlugIn(**{part.name: getattr(model, part.name) for part in fields(model)})


def of_oracle(model: Oracle, n_classes: int) -> Model:
    """Plug-in rules on the classifier's probabilities: it is fitted once, and not again for every cost.

    A classifier without probabilities is fitted to costs.
    """
    if not hasattr(model.estimator, "predict_proba"):
        return ClassOracle(model.estimator, model.fits, model.folds)
    return ClassPlugIn(model.estimator, folds=model.folds)


def as_it_is(model: Model, n_classes: int) -> Model:
    """A model that takes any number of classes."""
    return model


def _warn_of_rare(counts: NDArray[Any], cells: Cells, folds: int) -> None:
    """Warn of classes with fewer rows than folds: some classifiers are trained without them."""
    rare = [f"{cells.classes[k]!r} ({counts[k]})" for k in np.flatnonzero(counts < folds)]
    if rare and folds > 1:
        shown = ", ".join(rare[:5]) + (f" and {len(rare) - 5} more" if len(rare) > 5 else "")
        warnings.warn(
            f"classes with fewer rows than the {folds} folds that probabilities are estimated in: {shown}; their "
            "probabilities are too small where a fold has none of them",
            EquirateWarning,
            stacklevel=2,
        )


@dataclass(frozen=True, eq=False)
class GivenClassPlugIn(Model):
    """The plug-in of a game in which probabilities replace the features."""

    posterior: GivenClasses

    @property
    def capabilities(self) -> Capabilities:
        """Each row's probabilities were estimated without it."""
        return Capabilities(out_of_sample=True)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Nothing is left to be fitted."""
        return ClassPlugInLearner(self.posterior, np.asarray(rows.X, dtype=float), rows)


@dataclass(frozen=True, eq=False)
class ClassServing:
    """Gives members of a game on probabilities the classifiers that estimate them."""

    posterior: ClassPosterior

    def __call__(self, members: Any) -> Members:
        """The same rules on features."""
        return self.posterior.members(members.rules)


@dataclass(frozen=True, eq=False)
class GivenClasses:
    """Probabilities of classes and signatures that replace the features."""

    signatures: Signatures
    n_classes: int
    needs_attributes = False

    @property
    def width(self) -> int:
        """Probabilities of the classes, and those of the signatures."""
        return self.n_classes + len(self.signatures)

    def __call__(self, X: Any, examples: Examples | None) -> Array:
        """As they are."""
        return np.asarray(X, dtype=float)

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


class ClassPlugInLearner(Learner):
    """Rules as costs (label and signature, answers, rules), all of them bound to rows with known probabilities."""

    def __init__(self, posterior: ClassPosterior | GivenClasses, probabilities: Array, rows: Rows) -> None:
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
            price = answers[:, :, m][:, searched.index].T * searched.weights[:, None]
            offsets = cheapest_offsets(expected, price)
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
        return self.posterior.members(np.stack([snapshots[t][:, :, c] for t, c in chosen], axis=2))

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """By probabilities, where they are known: those of this learner's rows, and given ones."""
        if isinstance(self.posterior, GivenClasses):
            return lambda members: counted(rows.X, rows.cells, members.rules)  # type: ignore[attr-defined]  # its own
        if rows.X is not self.rows.X:
            return super().measurer(rows)
        return lambda members: counted(self.probabilities, rows.cells, members.rules)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Searched:
    """A sample of the rows of all processes, evenly spaced: probabilities of label and signature, cells, weights.

    Every process has the same ones, whichever of them holds the rows.
    """

    joint: Array
    index: NDArray[np.int32]
    weights: Array

    @classmethod
    def of(cls, probabilities: Array, cells: Cells, n_classes: int) -> Searched:
        """Gather the rows."""
        first, total = cells.shared.places(len(probabilities))
        step = max(total // ROWS, 1)
        rows = slice(-first % step, len(probabilities), step)
        parts = cells.shared.gather((np.array(probabilities[rows]), cells.index[rows], np.array(cells.weights[rows])))
        sampled, index, weights = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(joint(sampled, n_classes), index, weights)


def counted(probabilities: Array, cells: Cells, rules: Array) -> Array:
    """Counts of the answers of rules on all rows, in blocks, from the probabilities of the rows of this process."""
    counts = np.zeros((cells.n_counts, rules.shape[2]))
    for rows in _blocks(len(probabilities)):
        block = joint(np.asarray(probabilities[rows]), cells.n_classes)
        counts += cells.take(rows).partial_counts(decide(block, rules))
    return np.asarray(cells.shared.total(counts))


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
class ClassPlugInMembers(Members):
    """Plug-in rules, costs (label and signature, answers, rules)."""

    posterior: ClassPosterior | GivenClasses
    rules: Array
    settings_rule = Fields(
        {
            "label": TEXT,
            "groups": maybe(TEXT),
            "slices": ListOf(maybe(TEXT), 1000),
            "baselines": ListOf(TEXT, 1000),
            "width": Whole(1, 10_000_000),
            "classes": Whole(3, MOST),
        },
        {"label_single": FLAG, "groups_single": FLAG},
    )
    array_rules = {  # noqa: RUF012  # frozen like the class
        **{"costs": ArrayOf("f", 3), "bits": ArrayOf("u", 2), "known": ArrayOf("u", 1), "shares": ArrayOf("f", 1)},
    }
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
            return np.concatenate([self._by_block(X[rows], None, function) for rows in _blocks(X.shape[0])])
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
