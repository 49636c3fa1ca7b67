"""`Training`: a problem with the rows to train on, those held out, and how to solve on them.

In: settings, a problem written out for the groups in the data, checked features and examples. Out: a `Training`, which
holds a part of the rows out and solves on the rest (`Training.play`). `selection` makes classifiers of the solution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.hashing import Hashes
from ..data.cells import Cells
from ..data.sample import Sample
from ..game.algorithms import column_generation
from ..game.classifiers import Classifier
from ..game.engine import Generator, Levels
from ..game.loop import Progress
from ..game.options import Options
from ..game.progress import ProgressLine
from ..game.record import Start
from ..game.solution import Solution
from ..game.solving import solve_on
from ..game.stopping import LevelPlateaus, Plateau
from ..models.contract import Prepared, check_shared_rows
from ..models.design import Standard
from ..problem.problem import Problem
from .draws import Draws
from .parts import Parts
from .settings import SPLIT, Settings

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class HeldPart(NamedTuple):
    """A part of the rows that classifiers are judged on, with its cells and, where rows repeat, their draws."""

    sample: Sample
    cells: Cells
    draws: Draws | None

    def decided(self, classifier: Classifier, salt: int | None) -> Array:
        """What a classifier decides: with a salt as served, without one in expectation."""
        if salt is None or self.draws is None:
            return classifier.expected_sample(self.sample)
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
    """What was learnt before training, if something else replaces the features there."""
    seed: int | None = None
    moved: Rows | None = None
    """Index of each row in the data as given; None if the rows were not moved."""
    draws: Draws | None = None
    """How rows that repeat draw; None where they are distinct, or the output does not draw by rows."""

    @classmethod
    def of(
        cls,
        settings: Settings,
        problem: Problem,
        sample: Sample,
        cells: Cells,
        seed: int | None,
        hashes: Hashes | None = None,
    ) -> Training:
        """Split the data, and lay them out in that order; for a game, also in its precision.

        ``cells`` are those of the problem. ``hashes`` are those that the rows draw by; None for an output that does not
        draw by rows.
        """
        check_shared_rows(settings.resolved_model, sample.examples.shared)
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
        if settings.resolved_model.capabilities.all_parts and not plays and parts.test is None:
            return cls(settings, problem, sample, cells, parts, seed=seed)  # the engine makes a layout of its own
        dtype = None
        if settings.standardised and plays:  # single precision where a standardised linear model loses nothing by it
            trained = np.zeros(len(sample))
            rows = parts.train if parts.order is None else parts.order[parts.train]
            trained[rows] = sample.examples.weights[rows]
            dtype = np.float32 if Standard.of(sample.X, trained, cells.shared).single else np.float64
            del trained, rows  # before the copy
        cells = cells if parts.order is None else cells.take(parts.order)
        sample = sample.arranged(parts.order, dtype)
        prepared, moved, parts = None, parts.order, replace(parts, order=None)
        if settings.resolved_model.capabilities.fitted_before:
            fitted = cells
            if parts.validation is not None or parts.test is not None:
                only = np.zeros(len(sample))
                only[parts.train] = sample.examples.weights[parts.train]
                fitted = cells.weighing(only)
            prepared = settings.resolved_model.prepared(sample, fitted, 0 if seed is None else seed)
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
        return self.settings.resolved_model.capabilities.all_parts and self.generates

    @property
    def mixes_on_held_out(self) -> bool:
        """Whether the mixture is chosen on held-out rows alone."""
        return self.parts.validation is not None and self.parts.choose == self.parts.validation

    @property
    def referee(self) -> bool:
        """Whether multipliers see a held-out part, and the model is trained on the others."""
        return self.settings.referee and self.parts.validation is not None

    def rows_of(self, part: slice) -> Rows | slice:
        """The rows of a part in the sample as it is laid out."""
        return part if self.parts.order is None else self.parts.order[part]

    def held(self) -> dict[str, HeldPart]:
        """The parts that classifiers are judged on, by name; one part if all rows train."""
        named = {"train": self.parts.train, "validation": self.parts.validation}
        if self.linear and not self.mixes_on_held_out:
            return {"train": self._held(self._fitted)}
        return {name: self._held(self.rows_of(part)) for name, part in named.items() if part is not None}

    def _held(self, rows: Rows | slice) -> HeldPart:
        draws = None if self.draws is None else self.draws.take(rows)
        return HeldPart(self.sample.take(rows), self.cells.take(rows), draws)

    @property
    def _fitted(self) -> slice:
        """All rows but those of the test, which are the last ones."""
        return slice(0, (self.parts.validation or self.parts.train).stop)

    def play(self, levels: Levels | None = None, start: Start | None = None) -> tuple[Solution, Solution]:
        """Solve on the training part; return the solution, and the same judged where mixtures are chosen."""
        shown = self.settings.verbose
        sense = self.problem.objective.sense
        line = shown if isinstance(shown, ProgressLine) else ProgressLine(sense) if shown else None
        try:
            if self.linear:
                solution = self._generated(line, levels, start)
                return solution, solution
            solution = self.solve(self.parts.train, levels, start, line)
            chooser = solution
            if self.parts.validation is not None and not self.referee:
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
            seed=self.seed if self.seed is not None and settings.resolved_model.capabilities.random else 0,
        )

    def _generated(self, line: ProgressLine | None, levels: Levels | None, start: Start | None) -> Solution:
        """Columns of a linear model, by the one rule for all rows but those of a test."""
        part = None
        if self.parts.validation is not None:
            part = self.parts.codes(len(self.sample))[self._fitted]
        return self.generator(line, start).solve(
            self.problem,
            self.sample.take(self._fitted),
            self.cells.only(self._fitted),
            self.model(),
            part=part,
            mix_on_held_out=self.mixes_on_held_out,
            levels=(0.0,) if levels is None else levels,
        )

    def solve(
        self,
        rows: Rows | slice,
        levels: Levels | None = None,
        start: Start | None = None,
        line: ProgressLine | None = None,
    ) -> Solution:
        """Solve on some of the rows: generate columns or, if the algorithm is a game, play it."""
        levels = None if levels is None else list(levels)
        if self.generates and not self.referee:
            return self.generator(line, start).solve(
                self.problem,
                self.sample.take(rows),
                self.cells.only(rows),
                self.model(),
                levels=(0.0,) if levels is None else levels,
            )
        if self.generates:
            part = self.parts.codes(len(self.sample))
            return self.generator(line, start).solve(
                self.problem, self.sample, self.cells, self.model(), part=part, mix_on_held_out=True
            )
        watch = self._watch(levels is not None, line)
        levels_given = None if levels is None else stacked(levels)
        options = replace(self.options(), start=start, progress=watch, levels=levels_given)
        if self.referee:
            return _on_two_sets(self.problem, self.sample, self.cells, self.parts.train, self.parts.choose, options)
        return solve_on(self.problem, self.sample.take(rows), options, cells=self.cells.only(rows))

    def options(self) -> Options:
        """How to play a game."""
        settings = self.settings
        seed = self.seed if self.seed is not None and settings.resolved_model.capabilities.random else 0
        return Options(
            algorithm=settings.algorithm,
            model=self.model(),
            **self._usual(),
            tolerance=settings.tolerance,
            seeds=[seed],
        )

    def model(self) -> Any:
        """The model, with features standardised inside if the settings say so."""
        if self.prepared is not None:
            return self.prepared.model
        model = self.settings.resolved_model
        return model.standardised() if self.settings.standardised else model

    def _usual(self) -> dict[str, Any]:
        """Rounds and steps: as given, or the model's own."""
        usual = self.settings.resolved_model.defaults._asdict()
        given = {name: getattr(self.settings, name, None) for name in usual}
        return {name: usual[name] if value is None else value for name, value in given.items()}

    def served(self, classifier: Classifier) -> Classifier:
        """A classifier that decides by the features, if it was trained on what replaced them."""
        if self.prepared is None:
            return classifier
        return replace(classifier, members=classifier.members.map(self.prepared.serve))

    def _watch(self, levels: bool, line: ProgressLine | None) -> Progress | None:
        """Progress, and an end to the play (or a level's) when nothing improves any more."""
        patience, tolerance = self.settings.patience, self.settings.tolerance
        if patience is None:
            return line
        if levels:
            return LevelPlateaus(patience, tolerance, line=line)
        return Plateau(patience, tolerance, line=line)

    @property
    def judged_rows(self) -> slice:
        """The rows of the solution's table; rows that do not count there have no weight."""
        if self.linear:
            return self._fitted
        return slice(0, len(self.sample)) if self.referee else self.parts.choose


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
