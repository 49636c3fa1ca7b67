"""Training for the plug-in and the oracle with a boosting library: features are binned once for all folds and rounds.

In: an ``LGBMClassifier``, an ``XGBClassifier`` or a `BoostedProbabilities`, and a table. Out: a `Trainer` whose
classifiers are forests of plain arrays; None for settings whose trees cannot be read as arrays (the library's own
``fit`` is then used in every round).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.tree_threads import THREADS
from ..models.cross_fitting import Trainer
from ..models.forests import Boosted, chances
from .libraries import LIBRARIES, Array, Bins, Index, Params, bins_of, plain_settings

MIN_ROUNDS, MAX_ROUNDS = 4, 20
"""Smallest and largest number of rounds if ``trees`` limits the trees of all classes together."""
_OWN_WAY = ("rf", "dart")
"""Boosting types whose trees are not simply added up."""


@dataclass(frozen=True)
class BoostedProbabilities:
    """A classifier of a boosting library, by name and settings: an estimator for the plug-in.

    With few rows, trees are smaller and fewer than the library's defaults, unless the settings say otherwise.

    Parameters
    ----------
    library
        ``"lightgbm"`` or ``"xgboost"``.
    settings
        Settings in the library's own names.
    trees
        Number of trees for all classes together; None to use the settings' number for each class.
    """

    library: str = "lightgbm"
    settings: tuple[tuple[str, Any], ...] = ()
    trees: int | None = None
    takes_missing = True

    def predict_proba(self, X: Any) -> Array:
        """Not available: the plug-in trains a classifier from these settings.

        Parameters
        ----------
        X
            Features.
        """
        raise NotImplementedError

    def trained(self) -> tuple[str, dict[str, Any]]:
        """Library and settings.

        Returns
        -------
        library : str
            The name of the library.
        settings : dict
            Settings in the library's own names.
        """
        return self.library, dict(self.settings)

    def with_categories(self, columns: tuple[int, ...]) -> BoostedProbabilities:
        """A copy that treats some columns as categorical, unless the settings already name categorical columns.

        Parameters
        ----------
        columns
            Positions of the columns that hold category codes.

        Returns
        -------
        BoostedProbabilities
            A copy with these columns; the original is not changed.
        """
        known = dict(self.settings)
        if "categorical_feature" in known:
            return self
        return replace(self, settings=(*self.settings, ("categorical_feature", list(columns))))

    def plain(self) -> dict[str, Any]:
        """All settings as one mapping, for files.

        Returns
        -------
        dict
            Settings that JSON can hold.
        """
        return {**plain_settings(dict(self.settings)), "library": self.library, "trees": self.trees}

    @classmethod
    def from_plain(cls, settings: dict[str, Any]) -> BoostedProbabilities:
        """Restore the estimator from its settings.

        Parameters
        ----------
        settings
            The mapping that `plain` returned.

        Returns
        -------
        BoostedProbabilities
            The same library and settings.
        """
        others = {name: value for name, value in settings.items() if name not in ("library", "trees")}
        trees = settings.get("trees")
        if settings.get("library") not in LIBRARIES or not (trees is None or type(trees) is int):
            raise ValueError("there is no such library, or no such number of trees")
        return cls(settings["library"], tuple(others.items()), trees)


def library_of(estimator: Any) -> tuple[str, dict[str, Any]] | None:
    """Library and settings of a classifier whose trees can be read as arrays; None for others."""
    if isinstance(estimator, BoostedProbabilities):
        return estimator.trained()
    name = type(estimator).__name__
    if name == "LGBMClassifier":
        settings = estimator.get_params()
        special: tuple[bool, ...] = (
            settings.get("boosting_type", "gbdt") in _OWN_WAY or settings.get("boosting") in _OWN_WAY,
            bool(settings.get("linear_tree")),
            bool(settings.get("zero_as_missing")),
            settings.get("objective") not in (None, "binary"),
            settings.get("class_weight") is not None,
        )
        return None if any(special) else ("lightgbm", settings)
    if name == "XGBClassifier":
        settings = estimator.get_params()
        special = (
            settings.get("booster") not in (None, "gbtree"),
            callable(settings.get("objective")) or settings.get("objective") not in (None, "binary:logistic"),
            settings.get("tree_method") not in (None, "hist", "auto"),
            settings.get("multi_strategy") not in (None, "one_output_per_tree"),
            settings.get("device") not in (None, "cpu"),
            settings.get("num_parallel_tree") not in (None, 1),
            not _is_nan(settings.get("missing")),
        )
        return None if any(special) else ("xgboost", settings)
    return None


GROUP_TREES, GROUP_RATE = 40, 0.3
"""Number of trees for all groups together, and their learning rate: rules hardly depend on how good these trees are."""
COARSE = {
    "lightgbm": (
        ("use_quantized_grad", True),
        ("num_grad_quant_bins", 64),
        ("stochastic_rounding", False),
        ("quant_train_renew_leaf", True),
    ),
}
"""Settings that make trees for groups cheaper at the same log loss: gradients in 64 steps (0.8 of the time).

They are rounded to the nearest step, because random rounding depends on the number of threads.
"""
_KEPT = (*THREADS, "random_state", "categorical_feature", "categorical_features", "feature_types", "max_bin")
"""Settings of the trees for the label that the trees for the groups inherit."""


def for_groups(library: str, settings: Params) -> BoostedProbabilities:
    """A classifier of few trees for the groups, given the settings of the one for the label."""
    kept = tuple((name, settings[name]) for name in _KEPT if settings.get(name) is not None)
    return BoostedProbabilities(library, (*kept, *COARSE.get(library, ()), ("learning_rate", GROUP_RATE)), GROUP_TREES)


def cheaper(estimator: Any) -> BoostedProbabilities | None:
    """A classifier for the groups, given one for the label; None if the trees of that cannot be read as arrays."""
    library_and_settings = library_of(estimator)
    return None if library_and_settings is None else for_groups(*library_and_settings)


def _is_nan(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def trainer_of(estimator: Any, X: Any, folds: Sequence[Index], rest: Index) -> Trainer | None:
    """A trainer that shares bins, if the trees of the classifier can be read as arrays; otherwise None."""
    library_and_settings = library_of(estimator)
    if library_and_settings is None:
        return None
    library, settings = library_and_settings
    if not isinstance(estimator, BoostedProbabilities):
        return BinnedTrainer(library, settings, X, folds, rest, {})
    settings = {**modest(library, sum(map(len, folds))), **settings}
    return BinnedTrainer(library, settings, X, folds, rest, hasty(settings))


def hasty(settings: Params) -> dict[str, Any]:
    """Half as many trees with twice the learning rate: for folds of two classes, only used for held-out rows."""
    rate = float(settings.get("learning_rate") or 0.1)
    trees = int(settings.get("n_estimators") or 100)
    if not {"n_estimators", "learning_rate"} >= {name for name in settings if name in _PACES} or rate > MOST_RATE:
        return {}  # a setting has another name, or the rate is too large to be doubled
    return {"n_estimators": max(trees // 2, 1), "learning_rate": 2 * rate}


MOST_RATE = 0.15
_PACES = ("n_estimators", "learning_rate", "eta", "shrinkage_rate", "num_iterations", "num_boost_round", "num_rounds")


def modest(library: str, rows: int) -> dict[str, Any]:
    """Settings for few rows, which the libraries' defaults overfit (measured on COMPAS and Law School)."""
    size = next((size for most, size in SIZES if rows < most), None)
    if size is None:
        return {}
    trees, leaves, depth = size
    shape = {"num_leaves": leaves, "min_child_samples": 30} if library == "lightgbm" else {"max_depth": depth}
    return {"n_estimators": trees, **shape}


SIZES = ((10_000, (40, 7, 3)), (20_000, (60, 15, 4)))
"""Below each number of rows: number of trees, their leaves (LightGBM) and their depth (XGBoost)."""


class BinnedTrainer(Trainer):
    """Trains on parts of one binned table; each part is created once."""

    def __init__(
        self,
        library: str,
        settings: Params,
        X: Any,
        folds: Sequence[Index],
        rest: Index,
        in_folds: Params,
    ) -> None:
        super().__init__(None, X, folds, rest)
        self.in_folds = in_folds
        self.settings, self.bins = dict(settings), bins_of(library, X, settings)
        self.parts: dict[Any, Bins] = {}
        self.most: int | None = None

    def for_groups(self, estimator: Any) -> Trainer:
        """A trainer with the same bins and parts, for another classifier of the same library."""
        library_and_settings = library_of(estimator)
        if library_and_settings is None or library_and_settings[0] != self.bins.library:
            return super().for_groups(estimator)
        other = copy.copy(self)
        other.settings, other.in_folds = library_and_settings[1], {}
        other.most = getattr(estimator, "trees", None)
        return other

    def _part(self, name: Any, rows: Index) -> Bins:
        if name not in self.parts:
            every_row = len(rows) == self.bins.count
            self.parts[name] = self.bins if every_row else self.bins.part(rows)
        return self.parts[name]

    def _train(
        self, target: NDArray[Any], weights: Array | None, classes: int, fold: int | None
    ) -> tuple[Any, list[Array]]:
        train, tests = self.rows_without(fold)
        names = ["rest"] if fold is None else [f"fold {fold}", "rest"]
        present = np.unique(target[train])
        if len(present) == 1:
            return super()._train(target, weights, classes, fold)
        place = np.searchsorted(present, target[train])  # a class without rows has no trees: no gaps for the library
        tested = {name: self._part(name, rows) for name, rows in zip(names, tests, strict=True) if len(rows)}
        # Large steps overshoot where one of several classes is rare: its trees have few rows, and no curvature.
        settings = self.settings if fold is None or classes > 2 else {**self.settings, **self.in_folds}
        if self.most is not None:  # two classes have one tree per round, more classes have one each
            rounds = self.most // (len(present) if len(present) > 2 else 1)
            settings = {**settings, "n_estimators": min(max(rounds, MIN_ROUNDS), MAX_ROUNDS)}
        weighed = None if weights is None else weights[train]
        bins = self._part(f"without {fold}", train)
        forest, scores = bins.fit(place, weighed, len(present), settings, list(tested.values()))
        scores_of = dict(zip(tested, scores, strict=True))
        result = []
        for name, rows in zip(names, tests, strict=True):
            probabilities = np.zeros((len(rows), classes))
            if len(rows):
                probabilities[:, present] = chances(scores_of[name])
            result.append(probabilities)
        return Boosted(forest, present), result
