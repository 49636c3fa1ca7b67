"""Declarations of a model: its capabilities, its default rounds and steps, and its pace.

The game and the estimators ask these values, and never which class a model is. `contract` has the model itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

ROWS_PER_FEATURE = 5
"""Training rows per feature from which on the rates of linear classifiers are trusted in the choice of a mixture.

With about as few as that a logistic regression may fit its examples without an error (Sur and Candes 2019).
"""


@dataclass(frozen=True)
class Capabilities:
    """What a model can do and what it needs. The game and the estimators ask this, and never which class a model is.

    Parameters
    ----------
    descends
        It can take gradient steps; every model can best-respond.
    own_steps
        It has its own optimiser, which ignores the game's step size.
    exact
        Best responses are exact minimisers. Only then does the Lagrangian bound the optimum.
    shares_rows
        Its learner needs only sums over the rows, so that several processes can share them.
    all_parts
        Column generation fits it on several parts of the rows in the same passes (`Model.as_linear`), so that rows
        are not copied for each part and parts need not be contiguous.
    standardises
        It can standardise the features (`Model.standardised`).
    warm_starts
        A fit can start from the classifiers of an earlier one.
    fitted_before
        It is fitted before the game, which then uses its predictions (`Model.prepared`).
    out_of_sample
        Each row is measured by a classifier that was trained without it, so that rates hold on new rows.
    refitted
        What serves is trained once more on all rows, and is not the classifier that rows were measured by.
    rows_per_feature
        Training rows per feature from which a mixture may be chosen by the rates on the training rows.
    thresholds
        All its classifiers are thresholds on scores that are given. The single classifier of a fit is the best of them,
        for which a better score is never worse, and not a mixture made deterministic.
    held_out_prices
        By default the multipliers see held-out rows instead of those that the model is trained on.
    random
        Training draws random numbers, so that it needs the estimator's seed.
    missing_values
        Features may be missing.
    any_classes
        It takes labels of any number of classes. With more than two, others are exchanged for a counterpart
        (``CLASS_MODELS`` of the registry), or refused.
    max_categories
        Largest number of different values in a column of categories; None for no limit.
    trained_elsewhere
        Some of its classifiers are used as they were given, and may have been trained on the rows given to `fit`.
    """

    descends: bool = False
    own_steps: bool = False
    exact: bool = False
    shares_rows: bool = False
    all_parts: bool = False
    standardises: bool = False
    warm_starts: bool = False
    fitted_before: bool = False
    out_of_sample: bool = False
    refitted: bool = False
    rows_per_feature: float = math.inf
    thresholds: bool = False
    held_out_prices: bool = False
    random: bool = False
    missing_values: bool = False
    any_classes: bool = False
    max_categories: int | None = None
    trained_elsewhere: bool = False


class Pace(NamedTuple):
    """Rounds and steps that suit a model which sees a batch of the examples in a round."""

    rounds: int | None = None
    """Number of rounds; None for the default of the game."""
    record_every: int | None = None
    """Rounds between two exact measurements; None for the default of the game. Users' own settings come first."""
    share: float = 1.0
    """Share of the examples that the model sees in a round: steps of slacks and multipliers are multiplied by it."""
    lambda_step: float | None = None
    """Default step size of the multipliers, for a round that sees all examples."""
    damping: float | None = None
    """Rounds for which a change of a violation counts (`players.steps.Damped`); None for undamped steps."""
    units: float = 1.0
    """Length of damped steps of a constraint, in its own unit, relative to those of couplings."""
    patience: float = math.inf
    """Rounds with a violation of the same sign after which damped steps are e times as long."""


class Defaults(NamedTuple):
    """Default number of rounds and step sizes of an estimator with this model."""

    n_rounds: int
    theta_step: float | Sequence[float]
    lambda_step: float | Sequence[float] | None
    """None for that of `Pace`."""
    record_every: int | None = None


STEPS = (0.003, 0.01, 0.03, 0.1)
"""Step sizes tried side by side, for the model and for the multipliers, on scaled features."""
