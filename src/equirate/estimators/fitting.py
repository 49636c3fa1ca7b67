"""The steps of `RateClassifier.fit` between the border and the result: parts, play, choice.

In: settings, a problem written out for the groups in the data, checked features and examples. Out: a `Training`, which
holds a part of the data out, plays the game on the rest and makes classifiers of what was found. `estimator` makes one
for a fit, and `frontier` plays one for many levels.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, EquirateError, NotSolvedWarning
from ..data.examples import Examples
from ..data.splits import measurable, split_by_cell, subset
from ..game.classifiers import Classifier
from ..game.loop import Progress, Start
from ..game.solution import Solution, Status
from ..game.solving import ProgressLine, solve
from ..judge.certify import check_confidence
from ..models.design import Standard
from ..models.linear import Linear
from ..problem.problem import Problem
from .choosing import LevelPlateaus, Plateau, best_single, careful, status_of
from .scope import doubled_rows, scoped, sides

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
ENOUGH = 30
"""Training examples per feature from which on a linear model's own rates are trusted in the choice of a mixture."""
FEWEST = 5
"""Fewest examples behind a rate in every part; with less, fit uses all data for everything and says so."""


@dataclass(frozen=True)
class Settings:
    """The parameters of `RateClassifier` that its steps go by; they are explained there."""

    algorithm: Any
    model: Any
    n_rounds: int
    theta_step: float | Sequence[float]
    lambda_step: float | Sequence[float]
    validation: float
    two_sets: bool
    confidence: float | None
    scale: bool
    weight_scope: str
    tolerance: float
    patience: int | None
    verbose: bool | ProgressLine

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Take an estimator's parameters, and refuse those that make no sense (`solve` refuses the others)."""
        settings = cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})
        if not 0 <= settings.validation < 1:
            raise EquirateError(
                f"validation is a share of the data, at least 0 and below 1; got {settings.validation!r}"
            )
        if settings.confidence is not None:
            check_confidence(settings.confidence)
        if (settings.confidence is not None or settings.two_sets) and settings.validation == 0:
            raise EquirateError("two_sets and confidence need held-out data: set validation to a share such as 0.4")
        if not settings.tolerance >= 0:
            raise EquirateError(f"tolerance must not be negative; got {settings.tolerance!r}")
        return settings

    @property
    def standardised(self) -> bool:
        """Whether features are standardised inside the model."""
        return self.scale and is_linear(self.model)


@dataclass(frozen=True)
class Parts:
    """Rows to train on, rows held out, rows to choose the mixture on, and rows to test margins on."""

    train: Rows
    validation: Rows | None
    choose: Rows
    test: Rows | None = None

    @classmethod
    def of(cls, settings: Settings, problem: Problem, examples: Examples, width: int, seed: int | None) -> Parts:
        """Split into a part to train on, one to choose on and, for a confidence level, one to test on."""
        everything, share = np.arange(len(examples)), settings.validation
        if share == 0:
            return cls(everything, None, everything)
        shares = [1 - share, share] if settings.confidence is None else [1 - share, share / 2, share / 2]
        found = split_by_cell(problem, examples, shares, seed)
        if all(len(np.unique(examples.labels[part])) == 2 for part in found) and all(
            measurable(problem, subset(examples, part), FEWEST) for part in found
        ):
            # Both parts together choose best (the held-out one alone is small), unless the model fits its own too well.
            honest = is_linear(settings.model) and len(found[0]) >= ENOUGH * width and not settings.two_sets
            choose = np.sort(np.concatenate(found[:2])) if honest else found[1]
            return cls(found[0], found[1], choose, found[2] if len(found) > 2 else None)
        message = "too few examples behind some rate to hold data out: the mixture is chosen on the training data"
        if settings.confidence is not None or settings.two_sets:
            raise DataError(f"{message}, and confidence or two_sets cannot be had; give more data or larger slices")
        warnings.warn(message, NotSolvedWarning, stacklevel=4)  # where fit was called
        return cls(everything, None, everything)


@dataclass(frozen=True)
class Outcome:
    """What is made of the recorded iterates: a mixture and a single classifier, their statuses, and the margin kept."""

    outputs: dict[str, Classifier]
    statuses: dict[str, Status]
    margin: float


@dataclass(frozen=True, eq=False)
class Training:
    """A problem joined with data, of which a part is held out."""

    settings: Settings
    problem: Problem
    X: Any
    examples: Examples
    parts: Parts

    @cached_property
    def precise(self) -> Any:
        """Features in the precision to play in: single where a standardised linear model loses nothing by it."""
        if not self.settings.standardised:
            return self.X
        weights = np.zeros(len(self.examples))
        weights[self.parts.train] = self.examples.weights[self.parts.train]
        wanted = np.float32 if Standard.of(self.X, weights).single else np.float64
        return self.X.astype(wanted, copy=False)

    def held(self) -> dict[str, tuple[Any, Examples]]:
        """Features and examples of the parts that classifiers are judged on, by name."""
        rows = {"train": self.parts.train, "validation": self.parts.validation}
        return {name: (self.X[part], subset(self.examples, part)) for name, part in rows.items() if part is not None}

    def play(self, levels: Array | None = None, start: Start | None = None) -> tuple[Solution, Solution]:
        """Play the game on the training part; return the solution, and the same judged where mixtures are chosen."""
        settings, parts = self.settings, self.parts
        problem, X, doubled = scoped(self.problem, self.precise, self.examples, settings.weight_scope)
        rows = [doubled_rows(part, len(self.examples), len(doubled)) for part in (parts.train, parts.choose)]
        (train_X, train), (choose_X, choose) = ((_taken(X, part), subset(doubled, part)) for part in rows)
        judged_on = (choose_X, choose.labels, choose.columns, choose.weights)
        shown = settings.verbose
        line = shown if isinstance(shown, ProgressLine) else ProgressLine(problem.objective.sense) if shown else None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotSolvedWarning)  # the status says it, with numbers
                solution = solve(
                    problem,
                    train_X,
                    train.labels,
                    train.columns,
                    train.weights,
                    algorithm=settings.algorithm,
                    model=self._model(),
                    n_rounds=settings.n_rounds,
                    theta_step=settings.theta_step,
                    lambda_step=settings.lambda_step,
                    levels=levels,
                    referee=judged_on if settings.two_sets else None,
                    start=start,
                    tolerance=settings.tolerance,
                    progress=self._watch(levels, line),
                )
        finally:
            if line is not None:
                line.end()
        return solution, solution if settings.two_sets or parts.validation is None else solution.on(*judged_on)

    def _model(self) -> Any:
        """The model, with features standardised inside where that is asked for."""
        model = self.settings.model
        if not self.settings.standardised:
            return model
        return replace(Linear() if isinstance(model, str) else model, standardise=True)

    def _watch(self, levels: Array | None, line: ProgressLine | None) -> Progress | None:
        """Progress, and an end to the play (or a level's) when nothing improves any more."""
        patience, tolerance = self.settings.patience, self.settings.tolerance
        if patience is None:
            return line
        if levels is not None:
            return LevelPlateaus(patience, tolerance, line=line)
        return Plateau(patience, tolerance, line=line)

    def choose(self, chooser: Solution) -> Outcome:
        """Make classifiers of the recorded iterates, with a margin where one is asked for."""
        margin = 0.0
        if self.settings.confidence is not None and self.problem.constraints:
            assert self.parts.test is not None  # made for a confidence level
            confident = sides(self.examples, self.settings.weight_scope)[1]
            on, test = ((self.precise[rows], subset(confident, rows)) for rows in (self.parts.choose, self.parts.test))
            mixture, margin = careful(chooser, self.problem, on, test, self.settings.confidence)
        else:
            mixture = chooser.polish()
        single = best_single(chooser, self.settings.tolerance)
        statuses = {"stochastic": chooser.status, "deterministic": status_of(chooser, single)}
        made = {"stochastic": mixture, "deterministic": single}
        outputs = {name: replace(found, problem=self.problem, notes={}) for name, found in made.items()}
        return Outcome(outputs, statuses, margin)


def _taken(X: Any, rows: Rows) -> Any:
    """Some rows of the features, in order; no copy is made of all of them."""
    return X if len(rows) == X.shape[0] else X[rows]


def is_linear(model: Any) -> bool:
    """Whether a model is the linear one, by name or with settings."""
    return isinstance(model, Linear) or (isinstance(model, str) and model == "linear")
