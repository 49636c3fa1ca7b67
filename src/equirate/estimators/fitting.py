"""The steps of `RateClassifier.fit` between the border and the result: parts, play, choice.

In: settings, a problem written out for the groups in the data, checked features and examples. Out: a `Training`, which
holds a part of the data out, plays the game on the rest and makes classifiers of what was found. `estimator` makes one
for a fit, and `frontier` plays one for many levels.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.errors import DataError, EquirateError, NotSolvedWarning
from .._core.hashing import Hashes
from .._core.peers import peers
from ..data.cells import Cells
from ..data.sample import Sample
from ..data.slices import Slice
from ..data.splits import measurable, split_by_cell
from ..game.algorithms import Algorithm, choose, column_generation
from ..game.classifiers import Classifier
from ..game.engine import Generator, Levels
from ..game.loop import Progress
from ..game.options import Options
from ..game.progress import ProgressLine
from ..game.record import Start
from ..game.solution import Solution, Status
from ..game.solving import solve_on
from ..game.status import MIXTURE
from ..judge.certification import Certification
from ..judge.certify import check_confidence
from ..language.parity import attributes_in
from ..mixtures import PENALTY, largest
from ..models import make_model
from ..models.contract import Members, Model, Prepared, refuse_apart
from ..models.derandomised import Derandomised
from ..models.design import Standard
from ..models.linear import Linear
from ..models.plug_in import PlugIn
from ..models.side_by_side import SideBySide
from ..models.thresholds import Thresholds
from ..problem.problem import Problem
from ..problem.table import problem_cells
from .choosing import LevelPlateaus, Plateau, better, measured, status_of
from .derandomising import derandomised
from .serving import Draws, chosen_to_serve

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
ENOUGH = 5
"""Training examples per feature from which on a linear model's own rates are trusted in the choice of a mixture.

With about as few as that a logistic regression may fit its examples without an error (Sur and Candes 2019).
"""
FEWEST = 5
"""Fewest examples behind a rate in every part; with less, fit uses all data for everything and says so."""
_LARGEST = float(np.finfo(float).max)
TESTED = 0.5
"""Share of the rows that the strict method of confidence keeps for its test."""
SPLIT = "split"
"""What ``confidence_method="cross"`` becomes where rows repeat: the decisions that are served are tested on rows kept
for that, since those of the folds' mixtures are other decisions."""


@dataclass(frozen=True)
class Settings:
    """The parameters of `RateClassifier` that its steps go by; they are explained there."""

    algorithm: Any
    model: Any
    groups: Any
    n_rounds: int | None
    theta_step: float | Sequence[float] | None
    lambda_step: float | Sequence[float] | None
    validation: float
    two_sets: bool
    confidence: float | None
    confidence_method: str
    scale: bool
    tolerance: float
    patience: int | None
    verbose: bool | ProgressLine
    output: str = "hashed"

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Take an estimator's parameters, and refuse those that make no sense (`solve` refuses the others)."""
        settings = cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})
        if not _number(settings.validation) or not 0 <= settings.validation < 1:
            raise EquirateError(
                f"validation is a share of the data, at least 0 and below 1; got {settings.validation!r}"
            )
        if settings.confidence is not None:
            check_confidence(settings.confidence)
        if settings.two_sets and settings.validation == 0:
            raise EquirateError("two_sets needs held-out data: set validation to a share such as 0.4")
        if not _number(settings.tolerance) or not 0 <= settings.tolerance <= _LARGEST:
            raise EquirateError(f"tolerance must be a number of at least 0; got {settings.tolerance!r}")
        whole = isinstance(settings.patience, Integral) and not isinstance(settings.patience, bool)
        if settings.patience is not None and (not whole or settings.patience < 1):
            raise EquirateError(f"patience must be None or a whole number of at least 1; got {settings.patience!r}")
        return settings

    @property
    def standardised(self) -> bool:
        """Whether features are standardised inside the model."""
        return self.scale and is_linear(self.model)

    @property
    def tested(self) -> float:
        """Share of the data that is kept for a test alone."""
        return TESTED if self.confidence is not None and self.confidence_method in ("holdout", SPLIT) else 0.0

    def trusted(self, examples: int, width: int) -> bool:
        """Whether a model trained on so many examples may choose its mixture on them."""
        few = isinstance(self.model, Thresholds) or self.made.honest
        enough = is_linear(self.model) and peers().total(examples) >= ENOUGH * width
        return bool(few or enough) and not self.referee

    @property
    def steps(self) -> bool:
        """Whether steps were given, which only a game takes."""
        return self.theta_step is not None or self.lambda_step is not None

    def chosen_algorithm(self, problem: Problem) -> Algorithm:
        """The algorithm, for a problem that is written out."""
        return choose(self.algorithm, problem, self.made.can_descend, self.made.has_own_steps, self.steps)

    @property
    def referee(self) -> bool:
        """Whether multipliers see the held-out part: as users wish, or as the model does where one is held out."""
        return self.two_sets or bool(self.validation and self.made.wants_referee)

    @cached_property
    def made(self) -> Model:
        """The model itself, with groups looked up where that is asked for."""
        model = make_model(self.model)
        if self.groups is None:
            return model
        if not isinstance(model, PlugIn):
            raise EquirateError(
                'groups are looked up by plug-in rules: take model="trees" or a PlugIn, or RatePostprocessor for one '
                f"threshold a group; the model is {self.model!r}"
            )
        names = [part.attributes if isinstance(part, Slice) else {part.name} for part in attributes_in(self.groups)]
        return replace(model, groups=tuple(sorted(set().union(*names))))


@dataclass(frozen=True)
class Parts:
    """How the examples are laid out: first those to train on, then those held out, then those to test margins on.

    ``choose`` are the rows that the mixture is chosen on. ``order`` brings the examples into this layout; None where
    they stay as they are.
    """

    order: Rows | None
    train: slice
    validation: slice | None
    choose: slice
    test: slice | None = None

    @classmethod
    def of(cls, settings: Settings, problem: Problem, cells: Cells, width: int, seed: int | None) -> Parts:
        """Split into a part to train on, one to choose on and, for the strict method of confidence, one to test on."""
        share, tested, everything = settings.validation, settings.tested, slice(0, len(cells.of))
        share = 0.0 if settings.made.honest and not settings.referee else share
        if share == 0 and not tested:
            return cls(None, everything, None, everything)
        shares = [(1 - tested) * (1 - share), (1 - tested) * share, tested]
        found = split_by_cell(cells, [part for part in shares if part], seed)
        if all(measurable(problem.rates(), cells.take(part), FEWEST) for part in found):
            ends = np.cumsum([0, *map(len, found)]).tolist()
            parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
            test = parts.pop() if tested else None
            # Both parts together choose best (the held-out one alone is small), unless the model fits its own too well.
            choose = slice(0, ends[len(parts)]) if settings.trusted(len(found[0]), width) else parts[-1]
            return cls(np.concatenate(found), parts[0], parts[1] if share else None, choose, test)
        if tested and settings.confidence_method == SPLIT:  # what cannot be tested is not certified
            return cls.of(replace(settings, confidence=None), problem, cells, width, seed)
        message = "too few examples behind some rate to hold data out: the mixture is chosen on the training data"
        if tested or settings.two_sets:
            wish = "two_sets" if settings.two_sets else 'confidence_method="holdout"'
            raise DataError(f"{message}, and {wish} cannot be had; give more data or larger slices")
        warnings.warn(message, NotSolvedWarning, stacklevel=4)  # where fit was called
        return cls(None, everything, None, everything)


@dataclass(frozen=True)
class Outcome:
    """What is made of the recorded iterates: a mixture and a single classifier, their statuses, and the margin kept.

    Where there are constraints, the outputs also hold ``"unconstrained"``: the iterate with the best objective,
    whatever the constraints, to set beside the others in a report.
    """

    outputs: dict[str, Classifier]
    statuses: dict[str, Status]
    margin: float = 0.0
    certification: Certification | None = None
    salt: int | None = None
    """That the output ``"served"`` draws by, where rows repeat and there is one."""


class HeldPart(NamedTuple):
    """A part of the rows that classifiers are judged on, with its cells and, where rows repeat, their draws."""

    sample: Sample
    cells: Cells
    draws: Draws | None

    def decided(self, classifier: Classifier, salt: int | None) -> Array:
        """What a classifier decides: with a salt as served, without one in expectation."""
        if salt is None or self.draws is None:
            return classifier.positive_probability(self.sample.X, attributes=self.sample.examples.columns)
        return self.draws.decisions(classifier, self.sample, salt)


@dataclass(frozen=True, eq=False)
class Training:
    """A problem joined with data, of which a part is held out.

    ``sample`` and ``cells`` are laid out as ``parts`` say, so that every part of them is a view.
    """

    settings: Settings
    problem: Problem
    sample: Sample
    cells: Cells
    parts: Parts
    prepared: Prepared | None = None
    """What was learnt before the play, where something else takes the place of the features there."""
    seed: int | None = None
    moved: Rows | None = None
    """Where each row was in the data as given; None where the rows were not moved."""
    draws: Draws | None = None
    """How rows that repeat draw; None where they are distinct, or the output does not draw by rows."""

    @classmethod
    def of(
        cls, settings: Settings, problem: Problem, sample: Sample, seed: int | None, hashes: Hashes | None = None
    ) -> Training:
        """Split the data, and lay them out in that order; a game also wants them in the precision to play in.

        ``hashes`` are those that the rows draw by; None for an output that does not draw by rows.
        """
        refuse_apart(settings.made)
        cells = problem_cells(problem, sample.examples)
        merges = settings.validation == 0 and settings.confidence is None  # copies and weights train alike
        draws = Draws.of(hashes, problem, cells, seed, counted=merges)
        if draws is not None and settings.confidence_method == "cross":
            settings = replace(settings, confidence_method=SPLIT)
        training = cls._laid_out(settings, problem, sample, seed, cells)
        if draws is not None and training.moved is not None:
            draws = draws.take(training.moved)
        return replace(training, draws=draws)

    @classmethod
    def _laid_out(
        cls, settings: Settings, problem: Problem, sample: Sample, seed: int | None, cells: Cells
    ) -> Training:
        parts = Parts.of(settings, problem, cells, _width(sample), seed)
        plays = settings.chosen_algorithm(problem) is not column_generation
        if is_linear(settings.model) and not plays and parts.test is None:
            return cls(settings, problem, sample, cells, parts, seed=seed)  # the engine makes a layout of its own
        dtype = None
        if settings.standardised and plays:  # single precision where a standardised linear model loses nothing by it
            trained = np.zeros(len(sample))
            rows = parts.train if parts.order is None else parts.order[parts.train]
            trained[rows] = sample.examples.weights[rows]
            dtype = np.float32 if Standard.of(sample.X, trained).single else np.float64
            del trained, rows  # before the copy
        cells = cells if parts.order is None else cells.take(parts.order)
        sample = sample.arranged(parts.order, dtype)
        prepared, moved, parts = None, parts.order, replace(parts, order=None)
        if not is_linear(settings.model):
            only = np.zeros(len(sample))
            only[parts.train] = sample.examples.weights[parts.train]
            prepared = settings.made.prepared(sample, cells.weighing(only), 0 if seed is None else seed)
        if prepared is None:
            return cls(settings, problem, sample, cells, parts, seed=seed, moved=moved)
        return cls(settings, problem, replace(sample, X=prepared.X), cells, parts, prepared, seed, moved)

    @property
    def width(self) -> int:
        """Number of features."""
        return _width(self.sample)

    @property
    def generates(self) -> bool:
        """Whether columns are generated, rather than a game played."""
        return self.settings.chosen_algorithm(self.problem) is column_generation

    @property
    def linear(self) -> bool:
        """Whether the engine for linear models trains on several parts of the rows in the same passes."""
        return is_linear(self.settings.model) and self.generates

    @property
    def mixes_apart(self) -> bool:
        """Whether the mixture is chosen on held-out rows alone."""
        return self.parts.validation is not None and self.parts.choose == self.parts.validation

    def rows_of(self, part: slice) -> Rows | slice:
        """The rows of a part, where they are."""
        return part if self.parts.order is None else self.parts.order[part]

    def held(self) -> dict[str, HeldPart]:
        """The parts that classifiers are judged on, by name: of rows that all train, one."""
        named = {"train": self.parts.train, "validation": self.parts.validation}
        if self.linear and not self.mixes_apart:
            return {"train": self._held(self._fitted)}
        return {name: self._held(self.rows_of(part)) for name, part in named.items() if part is not None}

    def _held(self, rows: Rows | slice) -> HeldPart:
        draws = None if self.draws is None else self.draws.take(rows)
        return HeldPart(self.sample.take(rows), self.cells.take(rows), draws)

    @property
    def _fitted(self) -> slice:
        """All rows but those of the test; an order of their own comes only without a test."""
        return slice(0, (self.parts.validation or self.parts.train).stop)

    def play(self, levels: Levels | None = None, start: Start | None = None) -> tuple[Solution, Solution]:
        """Solve on the training part; return the solution, and the same judged where mixtures are chosen."""
        settings, shown = self.settings, self.settings.verbose
        sense = self.problem.objective.sense
        line = shown if isinstance(shown, ProgressLine) else ProgressLine(sense) if shown else None
        try:
            if self.linear:
                solution = self._generated(line, levels, start)
                return solution, solution
            solution = self.solve(self.parts.train, levels, start, line)
            chooser = solution
            if self.parts.validation is not None and not settings.referee:
                chooser = solution.on_sample(self.sample.take(self.parts.choose), self.cells.only(self.parts.choose))
        finally:
            if line is not None:
                line.end()
        return solution, chooser

    def generator(self, line: ProgressLine | None = None, start: Start | None = None) -> Generator:
        """How columns are generated."""
        settings = self.settings
        return Generator(
            passes=Options(n_rounds=settings.n_rounds).passes(),
            watch=None if line is None else line.watch,
            start=start,
            tolerance=settings.tolerance,
            seed=self.seed if self.seed is not None and settings.made.draws else 0,
        )

    def _generated(self, line: ProgressLine | None, levels: Levels | None, start: Start | None) -> Solution:
        """Columns of a linear model, by the one rule for all rows but those of a test."""
        part = None
        if self.parts.validation is not None:
            part = np.zeros(len(self.sample), dtype=np.intp)
            part[self.rows_of(self.parts.validation)] = 1
            part = part[self._fitted]
        return self.generator(line, start).solve(
            self.problem,
            self.sample.take(self._fitted),
            self.cells.only(self._fitted),
            self.model(),
            part=part,
            mix_apart=self.mixes_apart,
            levels=(0.0,) if levels is None else levels,
        )

    def solve(
        self,
        rows: Rows | slice,
        levels: Levels | None = None,
        start: Start | None = None,
        line: ProgressLine | None = None,
    ) -> Solution:
        """Solve on some of the rows: generate columns or, where a game is asked for, play it."""
        levels = None if levels is None else list(levels)
        if self.generates and not self.settings.referee:
            return self.generator(line, start).solve(
                self.problem,
                self.sample.take(rows),
                self.cells.only(rows),
                self.model(),
                levels=(0.0,) if levels is None else levels,
            )
        if self.generates:
            part = np.zeros(len(self.sample), dtype=np.intp)
            part[self.parts.choose] = 1
            return self.generator(line, start).solve(
                self.problem, self.sample, self.cells, self.model(), part=part, mix_apart=True
            )
        watch = self._watch(levels is not None, line)
        levels_given = None if levels is None else stacked(levels)
        options = replace(self.options(), start=start, progress=watch, levels=levels_given)
        if self.settings.referee:
            return _on_two_sets(self.problem, self.sample, self.cells, self.parts.train, self.parts.choose, options)
        return solve_on(self.problem, self.sample.take(rows), options, cells=self.cells.only(rows))

    def options(self) -> Options:
        """How to play a game."""
        settings = self.settings
        seed = self.seed if self.seed is not None and settings.made.draws else 0
        return Options(
            algorithm=settings.algorithm,
            model=self.model(),
            **self._usual(),
            tolerance=settings.tolerance,
            seeds=[seed],
        )

    def model(self) -> Any:
        """The model, with features standardised inside where that is asked for."""
        if self.prepared is not None:
            return self.prepared.model
        model = self.settings.made
        return replace(model, standardise=True) if self.settings.standardised and isinstance(model, Linear) else model

    def _usual(self) -> dict[str, Any]:
        """Rounds and steps: as given, or the model's own."""
        usual = self.settings.made.usual._asdict()
        given = {name: getattr(self.settings, name, None) for name in usual}
        return {name: usual[name] if value is None else value for name, value in given.items()}

    def served(self, classifier: Classifier) -> Classifier:
        """A classifier that decides by the features, where it was made on what took their place."""
        if self.prepared is None:
            return classifier
        return replace(classifier, members=_served(classifier.members, self.prepared.serve))

    def _watch(self, levels: bool, line: ProgressLine | None) -> Progress | None:
        """Progress, and an end to the play (or a level's) when nothing improves any more."""
        patience, tolerance = self.settings.patience, self.settings.tolerance
        if patience is None:
            return line
        if levels:
            return LevelPlateaus(patience, tolerance, line=line)
        return Plateau(patience, tolerance, line=line)

    def choose(self, chooser: Solution) -> Outcome:
        """Make classifiers of the recorded iterates."""
        return self.outcome(chooser, chooser.polish())

    def outcome(self, chooser: Solution, mixture: Classifier) -> Outcome:
        """A mixture with the single classifier made of it, and what was reached."""
        rows = self.judged_rows
        sample = self.sample.take(rows)
        single = self._single(chooser, mixture, sample)
        made = {"stochastic": mixture, "deterministic": single}
        statuses = {name: status_of(chooser, found, sample) for name, found in made.items()}
        if not mixture.is_deterministic:
            statuses["stochastic"] = replace(statuses["stochastic"], speaks_of=MIXTURE)
        salt = None
        if self.draws is not None:
            alone = chooser.best_single() if isinstance(self.settings.model, Thresholds) else single
            serving, statuses["served"] = chosen_to_serve(chooser, mixture, alone, sample, self.draws.take(rows))
            made["served"], salt = serving.classifier, serving.salt
        if self.problem.constraints:  # what is given up for the constraints
            made["unconstrained"] = chooser.best_single(constrained=False)
        outputs = {name: replace(found, problem=self.problem, notes={}) for name, found in made.items()}
        return Outcome(outputs, statuses, salt=salt)

    @property
    def judged_rows(self) -> slice:
        """The rows that the solution's table is of; those that do not count there have no weight."""
        if self.linear:
            return self._fitted
        return slice(0, len(self.sample)) if self.settings.referee else self.parts.choose

    def _single(self, chooser: Solution, mixture: Classifier, sample: Sample) -> Classifier:
        """The mixture made deterministic or, where that is better, the best single column."""

        def cost(rates: Array) -> Array:
            objective, violations = chooser.values(rates)
            return np.asarray(objective + PENALTY * largest(violations))

        single = chooser.best_single()
        made = derandomised(mixture, chooser.judge, sample, cost)
        if made is None or chooser.problem.losses():
            return single
        sign = chooser.sign
        values = [measured(chooser, each, sample) for each in (single, made)]
        (one, other) = ((sign * objective, violation) for objective, violation in values)
        return single if better(one, other, self.settings.tolerance) else made


def _on_two_sets(
    problem: Problem, sample: Sample, cells: Cells, train: Rows | slice, referee: Rows | slice, options: Options
) -> Solution:
    """The game in which the model is trained on one part and the multipliers see another (Cotter et al. 2019)."""
    weights = sample.examples.weights
    trained, measured = np.zeros_like(weights), np.zeros_like(weights)
    trained[train], measured[referee] = weights[train], weights[referee]
    judged = replace(sample, examples=replace(sample.examples, weights=measured))
    return solve_on(problem, judged, options, cells=cells.weighing(measured), trained=trained)


def stacked(levels: Levels) -> Array:
    """Levels of a game: (levels,), or (levels, constraints) where constraints have their own."""
    return np.stack([np.asarray(level, dtype=float) for level in levels])


def _width(sample: Sample) -> int:
    """Number of features; scores in their place are one."""
    return int(sample.X.shape[1]) if np.ndim(sample.X) != 1 else 1


def _served(members: Members, serve: Callable[[Members], Members]) -> Members:
    """Members with their features back, also those that are made of others."""
    if isinstance(members, Derandomised):
        return replace(members, base=_served(members.base, serve))
    if isinstance(members, SideBySide):
        return replace(members, parts=tuple(_served(part, serve) for part in members.parts))
    return serve(members)


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_linear(model: Any) -> bool:
    """Whether a model is the linear one, by name or with settings."""
    return isinstance(model, Linear) or (isinstance(model, str) and model == "linear")
