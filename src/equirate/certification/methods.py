"""The methods by which constraints are certified, and what they have in common.

In: a `Training` and its plain solution. Out: a `MethodResult`: the mixture that passed the test, or the reasons
why none did. `folds` and `holdout` have the methods, `outcome` calls them.

**cross** (the default). The rows are split into K folds, stratified by cell, and the model is trained without each of
them. For ever smaller shares of the margin (`margins`), the best mixture of each fold decides on the rows of that fold,
which it has not seen, and all rows together are tested. The first failure ends the sequence, and the last candidate
that passed is deployed: the uniform mixture of the K mixtures, whose expected rates are what was tested. All rows
train, and all rows test. The test is the approximate one (`judge.estimates`). There is no proof for finite samples;
`docs/confidence.md` has measured coverage.

**holdout**. Half of the rows are kept for the test alone. The candidates of the same sequence do not depend on these
rows, and each is tested by exact binomial bounds on drawn decisions at the full level. So for any data, a broken
constraint passes with a probability of at most 1 - confidence. A linear model's mixture is chosen on its training rows,
which keep constraints better than unseen ones; folds of the training rows show by how much, and every margin is that
much wider.

**split** replaces cross where the mixture of the folds is not what serves: for models that are trained once more on all
rows (`Capabilities.refitted`), and where rows repeat (`selection.salts`). Equal rows are then decided alike, so a test
of the folds' mixtures would not be one of their uniform mixture. Instead what `predict` returns is tested on half of
the rows by the approximate test; where rows repeat, these are the decisions of a mixture and its salt. The salt is
chosen on the other half, so the decisions are a fixed function of the row for the rows of the test.

Holdout and split, which test on rows kept for it, need no correction for several constraints: a classifier passes only
if every constraint does, and a broken one passes with a probability of at most 1 - confidence (an intersection-union
test). The candidates of cross depend on the rows of the test and may be at the limit of several constraints at once, so
there Holm's correction applies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._core.errors import InfeasibleError
from ..game.classifiers import Classifier
from ..game.infeasible import loosened
from ..judge.certify import Certificates
from ..problem.problem import Problem
from ..training.training import Training
from .constraint_test import ConstraintTest

Array = NDArray[np.float64]
RowIndex = NDArray[np.intp]

METHODS = ("cross", "holdout")
TIGHTENING = 1.2
"""Factor of the margin that columns are also generated for: a little more than the reach of the test's bound."""
MAX_ROWS_FOR_REACH = 20_000
"""Rows, about, that the reach of the test's bounds is measured on."""
TOO_FEW = "there are too few examples behind some rate to deal them out in folds"


@dataclass(frozen=True, eq=False)
class Passed:
    """The last candidate of the fixed sequence that passed the test."""

    share: float
    """Of the margin."""
    mixture: Classifier
    salt: int | None
    """The salt that was tested with the mixture, where rows repeat."""
    probability: Array
    certificates: Certificates


@dataclass(frozen=True, eq=False)
class MethodResult:
    """The result of a method: the rows of the test, the decisions there without a margin, and what passed."""

    constraint_test: ConstraintTest
    rows: RowIndex
    without_margin: Array
    passed: Passed | None = None
    reasons: tuple[str, ...] = ()


def too_few(constraint_test: ConstraintTest, plain: Classifier) -> MethodResult:
    """The result where there are too few rows to keep some for a test."""
    sample = constraint_test.sample
    return MethodResult(constraint_test, np.arange(len(sample)), plain.expected_sample(sample), reasons=(TOO_FEW,))


def thinned(constraint_test: ConstraintTest, rows: RowIndex, plain: Classifier) -> tuple[RowIndex, Array]:
    """At most about `MAX_ROWS_FOR_REACH` of the rows, and the predictions of the plain classifier there."""
    rows = rows[:: max(len(rows) // MAX_ROWS_FOR_REACH, 1)]
    return rows, plain.expected_sample(constraint_test.sample.take(rows))


def feasible_margins(problem: Problem, tight: Array) -> Array:
    """Margins, halved until the constraints with them do not contradict each other (both sides of an ``abs``)."""
    while True:
        try:
            loosened(problem, -tight)
        except InfeasibleError:
            tight = tight / 2
        else:
            return tight


def constraint_test_of(training: Training, method: str, correction: str | None = None) -> ConstraintTest:
    """The test of a fit with a confidence level, on all of its rows."""
    level, seed = training.settings.confidence, training.seed or 0
    assert level is not None  # there is nothing to test without
    return ConstraintTest(training.problem, training.sample, training.cells, level, method, correction, seed)
