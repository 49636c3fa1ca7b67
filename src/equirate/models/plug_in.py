r"""A plug-in rule on class probabilities: fit once, then every best response costs one matrix product.

With the probability :math:`P(c \mid x)` that an example belongs to cell c, the classifier that minimises a weighted
sum of rates predicts 1 where the expected coefficient :math:`\sum_c P(c \mid x) k_c` is negative. A cell is a label and
a *signature*: the slices of an example, and the predictions of baselines. So two classifiers are enough, one for the
label and one for the signature, :math:`P(c \mid x) = P(y \mid x) \, P(s \mid x)`; attributes that are known when
predicting are used instead. Both are cross-fitted: a row's probabilities are those of classifiers that were trained
without it, so that rates hold on new data even where a classifier overfits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import methodcaller
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from .._core.errors import AlgorithmError
from .._core.rules import ArrayOf, Fields
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.features import features
from ..data.mapped import zeros_beside
from ..data.sample import Sample, count_rows
from ..mixtures import Source
from ..players.steps import StepRule
from .capabilities import Capabilities, Defaults
from .categorical import most_categories, with_categories
from .contract import Array, Choice, ColumnLearner, Learner, Model, Prepared, PreparedModel
from .contributions import Contributions
from .cross_fitting import CrossFit, Fill, Fold, Trainer, fold_count, make_folds, parts_of, unequal_weights
from .forests import counted_splits
from .members import Members, Written
from .messages import Asked, Family, Seen
from .posterior import (
    OPTIONAL_SETTINGS,
    SETTINGS,
    SIGNATURE_ARRAYS,
    GivenProbabilities,
    Posterior,
    Signatures,
    label_columns,
    log_odds_contributions,
)
from .rows import Rows
from .sklearn_classifiers import LINEAR
from .thresholds import midway, sums_above
from .weighted_fit import weight_parameter

MOST_SIGNATURES = 128
"""Combinations of slices up to which the probability of each is estimated."""
MOST_THRESHOLDS, FEWEST_THRESHOLDS = 256, 16
"""Thresholds on a rule's expected costs, about equally many rows between them; fewer where cells are many."""
MOST_COUNTS = 1 << 17
"""Thresholds times cells of one rule."""
SAMPLED = 50_000
"""Rows that thresholds are chosen from."""


@dataclass(frozen=True, eq=False)
class PlugIn(Model):
    """Thresholds on estimated probabilities, one linear rule in probability space per best response.

    Parameters
    ----------
    estimator
        A scikit-learn classifier with ``predict_proba``; logistic regression by default.
    group_aware
        False: estimate the probability of groups from x, so that predicting needs no attributes. True: look them up,
        so that predicting needs attributes.
    groups
        Names of the attributes that are used when predicting, where not all are.
    group_estimator
        A classifier for the groups; by default that for the label.
    folds
        Folds of the cross-fitting; by default 5, or 2 from 20,000 rows on. 1 trains and measures on the same rows.
    """

    estimator: Any = field(default_factory=lambda: _logistic())
    group_aware: bool = False
    groups: tuple[str, ...] = ()
    group_estimator: Any = None
    folds: int | None = None

    def __post_init__(self) -> None:
        is_integer = isinstance(self.folds, (int, np.integer)) and not isinstance(self.folds, bool)
        if self.folds is not None and (not is_integer or self.folds < 1):
            raise AlgorithmError(f"folds must be None or a whole number of at least 1; got {self.folds!r}")

    @property
    def capabilities(self) -> Capabilities:
        """Each row's probabilities are estimated without it, unless there is one fold."""
        limits = [most_categories(each) for each in self._classifiers]
        return Capabilities(
            fitted_before=True,
            out_of_sample=self.folds != 1,
            refitted=self.folds != 1,
            missing_values=all(map(takes_missing, self._classifiers)),
            max_categories=min((limit for limit in limits if limit is not None), default=None),
            trained_elsewhere=any(map(frozen_parts, self._classifiers)),
        )

    @property
    def title(self) -> str:
        """With the class of the classifier."""
        return f"PlugIn of a {type(self.estimator).__name__}"

    @property
    def _classifiers(self) -> list[Any]:
        return [each for each in (self.estimator, self.group_estimator) if each is not None]

    @property
    def defaults(self) -> Defaults:
        """Few rounds: answers are exact, and multipliers that step are asked for ratios only."""
        return Defaults(300, 0.1, (0.01, 0.03, 0.1))

    def with_categories(self, columns: tuple[int, ...]) -> Model | None:
        """Name the categorical features to the classifiers.

        Parameters
        ----------
        columns
            Positions of the columns that are codes of categories.

        Returns
        -------
        PlugIn or None
            A new model; None where a classifier takes no categories.
        """
        estimators = {"estimator": self.estimator, "group_estimator": self.group_estimator}
        changed = {name: with_categories(each, columns) for name, each in estimators.items() if each is not None}
        return replace(self, **changed) if all(each is not None for each in changed.values()) else None

    def with_groups(self, names: tuple[str, ...]) -> Model:
        """The rule that looks these attributes up.

        Parameters
        ----------
        names
            Names of attributes.

        Returns
        -------
        PlugIn
            A new model.
        """
        return replace(self, groups=names)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Fit the probabilities, once.

        Parameters
        ----------
        rows
            The rows to train and to measure on.
        count
            Number of configurations.
        step
            Not used.
        seeds
            The first one is the seed of the folds.

        Returns
        -------
        Learner
            The rules of all configurations.
        """
        if self.folds is None and not fits_closely(self.estimator):
            # rows are judged by a model fitted to them, which hardly overfits
            return replace(self, folds=1).bind(rows, count, step, seeds)
        posterior, probabilities = self.estimate(rows.sample, rows.trained, int(seeds[0]) if len(seeds) else 0)
        return self._learner(posterior, probabilities, rows, count)

    def _learner(self, posterior: Posterior, probabilities: Array, rows: Rows, count: int) -> Learner:
        """The learner on rows with known probabilities."""
        return PlugInLearner(posterior, probabilities, rows, count)

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared:
        """Fit the probabilities, which replace the features in the game.

        Parameters
        ----------
        sample
            The rows to fit on.
        cells
            Their cells, with the weights to train with.
        seed
            Seed of the folds.

        Returns
        -------
        Prepared
            The model of the game, and the probabilities that replace the features.
        """
        posterior, probabilities = self.estimate(sample, cells, seed)
        given = GivenProbabilities(posterior.signatures, posterior.n_classes)

        def learner(rows: Rows, count: int) -> Learner:
            return PlugInLearner(given, given(rows.X, None), rows, count)

        return Prepared(PreparedModel(learner), probabilities, methodcaller("served", posterior), self.folds != 1)

    def estimate(self, sample: Sample, cells: Cells, seed: int) -> tuple[Posterior, Array]:
        """Classifiers for label and signature, and their probabilities for each row.

        Rows that have no weight are not trained on.

        Parameters
        ----------
        sample
            The rows to fit on.
        cells
            Their cells, with the weights to train with.
        seed
            Seed of the folds.

        Returns
        -------
        posterior : Posterior
            The fitted classifiers.
        probabilities : numpy.ndarray
            Their estimates for each row.
        """
        X = self._features(sample, cells)
        signatures = Signatures.of(cells, None if self.group_aware else self.groups)
        if not signatures.all_known and len(signatures) > MOST_SIGNATURES:
            raise AlgorithmError(
                f"the problem has {len(signatures)} combinations of groups, too many to estimate the probability of "
                f"each (at most {MOST_SIGNATURES}): look them up (groups= of an estimator, PlugIn(group_aware=True)), "
                "take fewer or, for two classes, use an oracle"
            )
        _, signature = signatures.of_cells(cells)
        labels, count = cells.labels[cells.index], label_columns(cells.n_classes)
        sizes = cells.shared.total(np.bincount(labels[cells.weights > 0], minlength=cells.n_classes))
        fold = self._fold(cells, sizes, seed)
        probabilities = zeros_beside(X, (len(sample), count + len(signatures)))
        fill = self._filling(self.estimator, X, cells, fold, seed)
        label = fill(labels, probabilities[:, :count])
        groups = None
        if not signatures.all_known:
            if self.group_estimator is not None:
                fill = self._filling(self.group_estimator, X, cells, fold, seed, fill)
            if isinstance(fill, CrossFit) and cells.n_classes == 2:
                fill = replace(fill, average_trees=True)  # the mean of the folds is as good as a new fit
            groups = fill(signature.astype(np.int16)[cells.index], probabilities[:, count:])
        if signatures.all_known or len(signatures.looked_up):
            probabilities[:, count:] = signatures.among(probabilities[:, count:], sample.examples)
        return self._posterior(label, groups, signatures, X, cells.n_classes), probabilities

    def _features(self, sample: Sample, cells: Cells) -> Any:
        """The features that the classifiers are trained on, checked."""
        for estimator in self._classifiers:
            if not hasattr(estimator, "predict_proba"):
                raise AlgorithmError(f"a plug-in needs predict_proba, which {estimator!r} does not have")
        X = sample.X if self.capabilities.missing_values else features(sample.X, len(sample))
        cells.shared.agree("the features", f"{X.shape[1]} columns")
        return X

    def _fold(self, cells: Cells, sizes: NDArray[Any], seed: int) -> Fold:
        """The fold of each row; ``sizes`` are the numbers of rows of each class."""
        rows = np.flatnonzero(cells.weights > 0)
        count = min(fold_count(len(rows), self.folds), max(int(sizes.min()), 1))
        fold = np.full(len(cells.index), -1, dtype=np.int16)
        for k, part in enumerate(make_folds(cells, rows, count, seed)):
            fold[part] = k
        return fold

    def _filling(self, estimator: Any, X: Any, cells: Cells, fold: Fold, seed: int, labels: Fill | None = None) -> Fill:
        """The function that fills in the probabilities of a classifier; for the groups after that of the labels."""
        weights = unequal_weights(cells)
        if weights is not None:
            self._refuse_unweighted()
        if isinstance(labels, CrossFit):
            return CrossFit(labels.trainer.for_groups(estimator), weights)
        return CrossFit(Trainer.of(estimator, X, *parts_of(fold)), weights)

    def _posterior(self, label: Any, groups: Any, signatures: Signatures, X: Any, n_classes: int) -> Posterior:
        """Both classifiers as one posterior."""
        return Posterior(label, groups, signatures, int(X.shape[1]), n_classes)

    def _refuse_unweighted(self) -> None:
        for estimator in (self.estimator, self.group_estimator):
            if hasattr(estimator, "fit") and weight_parameter(estimator) is None:
                raise AlgorithmError(
                    f"the plug-in's {estimator!r} does not take sample_weight in fit, and the examples have weights: "
                    "choose one that does, or leave the weights out"
                )


class PlugInLearner(ColumnLearner):
    """Costs (label and signature, configurations)."""

    def __init__(self, posterior: Posterior | GivenProbabilities, probabilities: Array, rows: Rows, count: int) -> None:
        self.posterior, self.probabilities, self.rows = posterior, probabilities, rows
        self.places, _ = posterior.signatures.of_cells(rows.cells)
        self.parameters = np.ones((2 * len(posterior.signatures), count))

    def answer(self, asked: Asked) -> Seen:
        """Adopt the costs, and predict 1 where the expected cost is negative."""
        self.parameters = by_place(asked.costs, self.places, len(self.posterior.signatures))
        return Seen(self.rows.cells.sums(expected(self.probabilities, self.parameters) < 0))

    def families(self) -> list[Family]:
        """The constant classifiers, and all thresholds on the probability of the label."""
        label = np.repeat([0.5, -0.5], len(self.posterior.signatures))
        return [self._thresholds(label, Source.LISTED)]

    def respond(self, costs: Array) -> list[Family]:
        """The rules with the smallest expected costs, each with all thresholds on its expected costs."""
        rules = by_place(costs, self.places, len(self.posterior.signatures))
        return [self._thresholds(rule, Source.PRICED) for rule in rules.T]

    def _thresholds(self, rule: Array, source: Source) -> Family:
        """A rule with constants added to its costs: thresholds on what it expects, from everybody to nobody."""
        cells = self.rows.cells
        score = -expected(self.probabilities, rule[:, None])[:, 0]
        own = score[cells.weights > 0]
        some = np.sort(own[:: max(len(own) // SAMPLED, 1)])
        count = int(np.clip(MOST_COUNTS // len(cells), FEWEST_THRESHOLDS, MOST_THRESHOLDS))
        places = np.linspace(0, len(some) - 1, count + 1).astype(np.intp)[1:]
        beyond = 2 * float(np.abs(score).max(initial=0.0)) + 1.0
        cuts = np.unique(np.concatenate([[-beyond, 0.0, beyond], midway(some[places - 1], some[places])]))
        sums = sums_above(np.concatenate([[-np.inf], cuts]), score, cells)[:, 1:]
        return Family(sums, source, rule[:, None] + cuts)

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Put the chosen columns side by side."""
        return PlugInMembers(self.posterior, np.stack([snapshots[t][:, c] for t, c in chosen], axis=1))

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """On the rows of this learner, by their out-of-fold probabilities."""
        if rows.X is not self.rows.X or isinstance(self.posterior, GivenProbabilities):
            return super().measurer(rows)

        def sums(members: Any) -> Array:
            return rows.cells.sums(expected(self.probabilities, members.costs) < 0)

        return sums


def by_place(k: Array, places: NDArray[np.intp], count: int) -> Array:
    """Coefficients of cells as (label and signature, columns): label 0 first; combinations that are not cells cost 0.

    ``places`` has the row of each cell.
    """
    spread = np.zeros((2 * count, k.shape[1]))
    spread[places] = k
    return spread


def expected(probabilities: Array, k: Array) -> Array:
    """Expected coefficient of each row (rows, columns): probabilities of label and signature times coefficients."""
    count = len(k) // 2
    positive, groups = probabilities[:, :1], probabilities[:, 1:]
    without = groups @ k[:count]
    return np.asarray(without + positive * (groups @ k[count:] - without))


@dataclass(frozen=True, eq=False)
class PosteriorMembers(Members):
    """Plug-in rules as costs, whose first axis is label and signature, and whose last axis is the rules."""

    posterior: Posterior | GivenProbabilities
    costs: Array
    nested = "learner."
    posterior_type: ClassVar[type[Posterior]] = Posterior

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
        return int(self.costs.shape[-1])

    def served(self, posterior: Posterior) -> Self:
        """The same rules for features, instead of the probabilities of a game."""
        return replace(self, posterior=posterior)

    def _probabilities(self, X: Any, attributes: Any) -> Array:
        """Probabilities of the label and of each signature."""
        examples = None
        if self.needs_attributes and attributes is not None:
            examples = Examples.of(np.zeros(count_rows(X)), attributes)
        return self.posterior(X, examples)

    def take(self, indices: Sequence[int]) -> Members:
        """Keep some rules."""
        return replace(self, costs=self.costs[..., list(indices)])

    def concatenate(self, parts: Sequence[Self]) -> Members | None:
        """All rules, where they are on the same probabilities."""
        if not all(part.posterior.signatures is self.posterior.signatures for part in parts):
            return None
        return replace(self, costs=np.concatenate([part.costs for part in parts], axis=-1))

    def completed(self, module: Any) -> Members:
        """Add the module to networks that were read from a file."""
        return replace(self, posterior=self._fitted.completed(module))

    def plain(self, width: int) -> Written:
        """Write the classifiers of label and groups as numbers, and the costs."""
        settings, arrays = self._fitted.plain(width)
        return Written(self._fitted.kind, settings, {**arrays, "costs": self.costs})

    @property
    def _fitted(self) -> Posterior:
        assert isinstance(self.posterior, Posterior)  # rules on given probabilities exist only during a game
        return self.posterior

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read them back."""
        return cls(cls.posterior_type.read(settings, arrays), arrays["costs"])


@dataclass(frozen=True, eq=False)
class PlugInMembers(PosteriorMembers):
    """Plug-in rules, one column of coefficients (label and signature, rules) each."""

    settings_rule = Fields(SETTINGS, OPTIONAL_SETTINGS)
    array_rules = {"costs": ArrayOf("f", 2), **SIGNATURE_ARRAYS}  # noqa: RUF012  # frozen like the class

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Predict 1 where the expected coefficient is negative."""
        return np.asarray(self._expected(X, attributes) < 0)

    def scores(self, X: Any, *, attributes: Any = None) -> Array:
        """Expected saving from predicting 1."""
        return -self._expected(X, attributes)

    def _expected(self, X: Any, attributes: Any) -> Array:
        return expected(self._probabilities(X, attributes), self.costs)

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions | None:
        """Contributions to the label's log-odds, less the threshold that follows from the costs of the row's groups."""
        label = log_odds_contributions(self._fitted.label, X)
        if label is None:
            return None
        probabilities, half = self._probabilities(X, attributes), len(self.costs) // 2
        without = probabilities[:, 1:] @ self.costs[:half]
        difference = probabilities[:, 1:] @ self.costs[half:] - without
        # 1 where p * difference < -without: where p is above (or, for a positive difference, below) a threshold
        with np.errstate(divide="ignore", invalid="ignore"):
            threshold = logit(np.clip(-without / difference, 0, 1))
        threshold = np.where(difference == 0, np.where(without < 0, -np.inf, np.inf), threshold)
        sign = np.where(difference > 0, -1.0, 1.0)
        features = sign[:, :, None] * label.features
        if half == 1:  # everybody is in the same group: the threshold is one for all
            return Contributions.of(sign * (label.base - threshold), features)
        return Contributions.of(sign * label.base, features, -sign * threshold)

    def split_counts(self) -> Array | None:
        """Number of splits by each feature of the trees for label and groups; None where not all are trees."""
        learners = (self._fitted.label, self._fitted.groups)
        return counted_splits([each for each in learners if each is not None])


def fits_closely(estimator: Any) -> bool:
    """Whether a classifier may overfit its training rows: any but a linear one."""
    return type(estimator).__name__ not in (*LINEAR, "Multinomial")


def takes_missing(estimator: Any) -> bool:
    """Whether a classifier declares that it takes missing features."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    if tags is None:
        return bool(getattr(estimator, "takes_missing", False))
    return bool(tags().input_tags.allow_nan)


def frozen_parts(estimator: Any) -> list[Any]:
    """The classifier itself, or what it contains, where that is a ``FrozenEstimator``, which no fit trains again."""
    parts = estimator.get_params(deep=True).values() if hasattr(estimator, "get_params") else ()
    return [part for part in (estimator, *parts) if type(part).__name__ == "FrozenEstimator"]


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression  # takes a second: only where it is used

    return LogisticRegression(max_iter=1000)
