r"""A cost-sensitive oracle around any classifier of scikit-learn whose ``fit`` takes ``sample_weight``.

Minimising :math:`\sum_i c_i \hat y_i` is weighted classification: the target is 1 where the cost is negative, and the
weight is the cost's size. `equirate.solve` fits one for every answer, and measures it on the rows it was fitted to.

An estimator does better (`Oracle.prepared`). Its fits are cross-fitted: rows are measured by classifiers that were
trained without them, and the mean of those predicts new rows. Every fit gives a score, and every threshold on it is a
classifier: all of them are kept in a *pool*, which begins with the unconstrained classifier. Where the classifier has
probabilities, the plug-in rule (`plug_in`) answers too, at no cost, so that prices settle before the first fit. The
classifier is fitted again only where neither gives a new answer.

`oracle_pool` has the pool and the learners.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import Any

import numpy as np

from .._core.errors import AlgorithmError
from ..data.cells import Cells
from ..data.sample import Sample
from ..players.steps import StepRule
from .capabilities import ROWS_PER_FEATURE, Capabilities, Defaults
from .categorical import most_categories, with_categories
from .contract import Learner, Model, Prepared, PreparedModel
from .cross_fitting import fold_count
from .oracle_pool import FitPool, Pool
from .plug_in import fits_closely, takes_missing
from .posterior import numbered
from .rows import Rows
from .weighted_fit import weight_parameter

FITS = 8
"""Default number of fits of an oracle."""
FOLDS = 3
"""Number of folds of few rows, by default."""


@dataclass(frozen=True, eq=False)
class Oracle(Model):
    """Refit a classifier at best responses.

    Parameters
    ----------
    estimator
        A scikit-learn classifier whose ``fit`` takes ``sample_weight``, or a pipeline that ends with one. It is
        cloned, never changed.
    fits
        Largest number of fits; later answers are thresholds on the scores of these.
    folds
        Folds of the cross-fitting in an estimator; by default 3, or 2 from 20,000 rows on. 1 trains and measures on the
        same rows, as `equirate.solve` does.
    """

    estimator: Any
    fits: int = FITS
    folds: int | None = None

    def __post_init__(self) -> None:
        if weight_parameter(self.estimator) is None:
            raise AlgorithmError(
                f"the oracle {self.estimator!r} does not take sample_weight in fit, so it cannot weigh costs: "
                "choose one that does, such as LogisticRegression, or a plug-in"
            )
        for name, value in (("fits", self.fits), ("folds", self.folds)):
            is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if value is not None and (not is_integer or value < 1):
                raise AlgorithmError(f"{name} of an oracle must be a whole number of at least 1; got {value!r}")

    @property
    def capabilities(self) -> Capabilities:
        """Cross-fitted if the classifier may overfit; the other capabilities are those of the classifier."""
        closely = fits_closely(self.estimator)
        crossed = self.folds != 1 and closely
        return Capabilities(
            fitted_before=crossed,
            out_of_sample=crossed,
            refitted=crossed,
            rows_per_feature=math.inf if closely else ROWS_PER_FEATURE,
            missing_values=takes_missing(self.estimator),
            max_categories=most_categories(self.estimator),
        )

    def crossed_folds(self, rows: int) -> int:
        """Folds of the cross-fitting.

        Parameters
        ----------
        rows
            Rows to train on.

        Returns
        -------
        int
            Number of folds.
        """
        return fold_count(rows, self.folds, of_few=FOLDS)

    @property
    def title(self) -> str:
        """With the class of the classifier."""
        return f"Oracle of a {type(self.estimator).__name__}"

    def with_categories(self, columns: tuple[int, ...]) -> Model | None:
        """Name the categorical features to the classifier.

        Parameters
        ----------
        columns
            Positions of the columns that are codes of categories.

        Returns
        -------
        Oracle or None
            A new model; None where the classifier takes no categories.
        """
        estimator = with_categories(self.estimator, columns)
        return None if estimator is None else replace(self, estimator=estimator)

    @property
    def defaults(self) -> Defaults:
        """Rounds in which most answers come from the pool."""
        return Defaults(100, 0.1, (0.03, 0.1))

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Pass the features to the classifier as given.

        Parameters
        ----------
        rows
            The rows to train and to measure on.
        count
            Number of configurations.
        step
            Not used.
        seeds
            Not used.

        Returns
        -------
        Learner
            The classifiers that were fitted so far.
        """
        pool = self._pool(rows.X, rows.trained, self.folds or 1, 0)
        return pool.learner(rows, np.arange(len(rows)), count, remembered=False)

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared | None:
        """Let the game have probabilities and numbers of rows instead of features, and judge rows by fits without them.

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
        Prepared or None
            None where the classifier is not cross-fitted.
        """
        if not self.capabilities.fitted_before:
            return None
        folds = self.crossed_folds(int((cells.weights > 0).sum()))
        pool = self._pool(sample.X, cells, folds, seed)
        pool.estimate(sample, seed)

        def learner(rows: Rows, count: int) -> Learner:
            return pool.learner(rows, np.asarray(rows.X)[:, -1].astype(np.intp), count, remembered=True)

        return Prepared(PreparedModel(learner), numbered(pool.probabilities), methodcaller("served", pool.posterior))

    def _pool(self, X: Any, cells: Cells, folds: int, seed: int) -> FitPool:
        """The fits on a table."""
        return Pool(self.estimator, self.fits, X, cells, folds, seed)
