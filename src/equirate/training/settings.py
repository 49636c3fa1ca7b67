"""The parameters of an estimator that training uses, checked.

In: an estimator's parameters. Out: `Settings`, with the model and the algorithm that they resolve to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._core.cached import cached_property
from .._core.errors import EquirateError
from ..data.slices import Slice
from ..game.algorithms import Algorithm, choose, refuse_games
from ..game.progress import ProgressLine
from ..judge.certify import check_confidence
from ..language.parity import attributes_in
from ..models import make_model
from ..models.contract import Model
from ..models.registry import for_classes
from ..problem.problem import Problem

TEST_SHARE = 0.5
"""Share of the rows that the strict method of confidence keeps for its test."""
SPLIT = "split"
"""What ``confidence_method="cross"`` becomes where rows repeat, or a model is refitted: what serves is tested on rows
kept for that, since the mixtures of the folds decide otherwise."""
ROUNDING = 1e-8
"""Smallest tolerance of a violation: linear programmes meet constraints up to 1e-9."""
_MAX_FLOAT = float(np.finfo(float).max)


@dataclass(frozen=True)
class Settings:
    """The parameters of `RateClassifier` that training uses; they are explained there."""

    model: Any
    algorithm: Any = "auto"
    groups: Any = None
    n_rounds: int | None = None
    theta_step: float | Sequence[float] | None = None
    lambda_step: float | Sequence[float] | None = None
    validation: float = 0.0
    two_sets: bool = False
    confidence: float | None = None
    confidence_method: str = "cross"
    scale: bool = False
    tolerance: float = 1e-3
    patience: int | None = None
    verbose: bool | ProgressLine = False

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Take an estimator's parameters and check them (`solve` checks the others)."""
        settings = cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})
        if not _number(settings.validation) or not 0 <= settings.validation < 1:
            raise EquirateError(
                f"validation is a share of the data, at least 0 and below 1; got {settings.validation!r}"
            )
        if settings.confidence is not None:
            check_confidence(settings.confidence)
        if settings.two_sets and settings.validation == 0:
            raise EquirateError("two_sets needs held-out data: set validation to a share such as 0.4")
        if not _number(settings.tolerance) or not 0 <= settings.tolerance <= _MAX_FLOAT:
            raise EquirateError(f"tolerance must be a number of at least 0; got {settings.tolerance!r}")
        is_integer = isinstance(settings.patience, Integral) and not isinstance(settings.patience, bool)
        if settings.patience is not None and (not is_integer or settings.patience < 1):
            raise EquirateError(f"patience must be None or a whole number of at least 1; got {settings.patience!r}")
        return replace(settings, tolerance=max(settings.tolerance, ROUNDING))

    @property
    def standardised(self) -> bool:
        """Whether features are standardised inside the model."""
        return self.scale and self.resolved_model.capabilities.standardises

    @property
    def test_share(self) -> float:
        """Share of the data that is kept for a test alone."""
        return TEST_SHARE if self.confidence is not None and self.confidence_method in ("holdout", SPLIT) else 0.0

    def may_mix_on_training_rows(self, examples: int, width: int) -> bool:
        """Whether the rates of a model on so many training examples say enough to choose its mixture by."""
        model = self.resolved_model.capabilities
        enough = examples >= model.rows_per_feature * width
        return (enough or model.out_of_sample) and not self.referee

    def chosen_algorithm(self, problem: Problem) -> Algorithm:
        """The algorithm, for a problem that is written out."""
        can = self.resolved_model.capabilities
        steps = self.theta_step is not None or self.lambda_step is not None  # only a game takes them
        return choose(self.algorithm, problem, can.descends, can.own_steps, steps)

    @property
    def referee(self) -> bool:
        """Whether multipliers use the held-out part: because the user says so, or because the model does."""
        return self.two_sets or bool(self.validation and self.resolved_model.capabilities.held_out_prices)

    def for_classes(self, n_classes: int) -> Settings:
        """The settings of a fit with more than two classes; refuses what is for two."""
        refuse_games(self.algorithm, n_classes)
        if self.two_sets:
            raise EquirateError(f"two_sets is for two classes, and y has {n_classes}: leave it out")
        return replace(self, model=for_classes(make_model(self.model), n_classes))

    @property
    def group_names(self) -> set[str]:
        """Names of the attributes that are looked up when predicting."""
        parts = () if self.groups is None else attributes_in(self.groups)
        return set().union(*(part.attributes if isinstance(part, Slice) else {part.name} for part in parts))

    @cached_property
    def resolved_model(self) -> Model:
        """The model itself, with groups looked up if ``groups`` is given."""
        model = make_model(self.model)
        if self.groups is None:
            return model
        aware = model.with_groups(tuple(sorted(self.group_names)))
        if aware is None:
            raise EquirateError(
                'groups are looked up by plug-in rules: take model="trees" or a PlugIn, or RatePostprocessor for one '
                f"threshold a group; the model is {self.model!r}"
            )
        return aware


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
