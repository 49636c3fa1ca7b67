"""`Training`: a problem with the rows to train on, those held out, and how to solve on them.

In: settings, a problem written out for the groups in the data, checked features and examples. Out: a `Training`, which
holds a part of the rows out and solves on the rest (`solve_on_training`). `selection` makes classifiers of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from .._core.hashing import Hashes
from ..data.cells import Cells
from ..data.sample import Sample
from ..game.algorithms import column_generation
from ..game.classifiers import Classifier
from ..game.engine import Levels
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
RowIndex = NDArray[np.intp]


class EvaluationPart(NamedTuple):
    """Rows, held out or not, on which classifiers are evaluated; with their cells and, where they repeat, draws."""

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
    """A model fitted beforehand, and its predictions, which replace the features in training; None for other models."""
    seed: int | None = None
    moved: RowIndex | None = None
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
        model = settings.resolved_model
        check_shared_rows(model, sample.examples.shared)
        merges = model.capabilities.all_parts and settings.validation == 0 and settings.confidence is None
        draws = Draws.of(hashes, problem, cells, seed, counted=merges)
        if settings.confidence_method == "cross" and (draws is not None or model.capabilities.refitted):
            settings = replace(settings, confidence_method=SPLIT)
        parts = Parts.of(settings, problem, cells, _width(sample), seed)
        moved = parts.order
        plays = settings.chosen_algorithm(problem) is not column_generation
        if model.capabilities.all_parts and not plays and parts.test is None:  # the engine makes a layout of its own
            return cls(settings, problem, sample, cells, parts, seed=seed, draws=draws)
        dtype = None
        if settings.standardised and plays:  # single precision where a standardised linear model loses nothing by it
            trained = _only(sample.examples.weights, parts.train if moved is None else moved[parts.train])
            dtype = np.float32 if Standard.of(sample.X, trained, cells.shared).single else np.float64
            del trained  # before the copy
        if moved is not None:
            cells, draws = cells.batch(moved), None if draws is None else draws.take(moved)
        sample, parts = sample.arranged(moved, dtype), replace(parts, order=None)
        prepared = None
        if model.capabilities.fitted_before:
            seen = not model.capabilities.out_of_sample
            if seen and settings.confidence is not None and parts.test is None:
                raise AlgorithmError(
                    'confidence_method="cross" tests every row by a classifier that has not seen it, and with folds=1 '
                    "the probabilities of all rows are those of a classifier that was trained on them: leave folds "
                    'out, or take confidence_method="holdout"'
                )
            fitted = cells.weighing(_only(sample.examples.weights, parts.train))
            prepared = model.prepared(sample, fitted, seed or 0)
        if prepared is not None:
            sample = replace(sample, X=prepared.X)
        return cls(settings, problem, sample, cells, parts, prepared, seed, moved, draws)

    @property
    def width(self) -> int:
        """Number of features."""
        return _width(self.sample)

    @property
    def generates_columns(self) -> bool:
        """Whether columns are generated, rather than a game played."""
        return self.settings.chosen_algorithm(self.problem) is column_generation

    @property
    def fits_parts_together(self) -> bool:
        """Whether the engine for linear models trains on several parts of the rows in the same passes."""
        return self.settings.resolved_model.capabilities.all_parts and self.generates_columns

    @property
    def mixes_on_held_out(self) -> bool:
        """Whether the mixture is chosen on held-out rows alone."""
        return self.parts.validation is not None and self.parts.choose == self.parts.validation

    @property
    def multipliers_see_held_out(self) -> bool:
        """Whether multipliers see a held-out part, and the model is trained on the others."""
        return self.settings.referee and self.parts.validation is not None

    def evaluation_parts(self) -> dict[str, EvaluationPart]:
        """The parts that classifiers are evaluated on, the training part included; one part if all rows train."""
        if self.fits_parts_together and not self.mixes_on_held_out:
            return {"train": self._part(self._fitted)}
        named, order = {"train": self.parts.train, "validation": self.parts.validation}, self.parts.order
        return {
            name: self._part(part if order is None else order[part]) for name, part in named.items() if part is not None
        }

    def _part(self, rows: RowIndex | slice) -> EvaluationPart:
        draws = None if self.draws is None else self.draws.take(rows)
        return EvaluationPart(self.sample.take(rows), self.cells.batch(rows), draws)

    @property
    def _fitted(self) -> slice:
        """All rows but those of the test, which are the last ones."""
        return slice(0, (self.parts.validation or self.parts.train).stop)

    def solve_on_training(self, levels: Levels | None = None, start: Start | None = None) -> tuple[Solution, Solution]:
        """Solve on the training part; return the solution, and the same judged on the rows to choose mixtures on."""
        shown, sense = self.settings.verbose, self.problem.objective.sense
        line = shown if isinstance(shown, ProgressLine) else ProgressLine(sense) if shown else None
        try:
            if self.fits_parts_together:
                solution = solve_on(
                    self.problem,
                    self.sample.take(self._fitted),
                    self._options(levels, start, line),
                    cells=self.cells.subset(self._fitted),
                    held_out=self.parts.held_out(self._fitted.stop),
                    mix_on_held_out=self.mixes_on_held_out,
                )
                return solution, solution
            solution = self.solve_on_rows(self.parts.train, levels, start, line)
            judged = solution
            if self.parts.validation is not None and not self.multipliers_see_held_out:
                judged = solution.on_sample(self.sample.take(self.parts.choose), self.cells.subset(self.parts.choose))
        finally:
            if line is not None:
                line.end()
        return solution, judged

    def solve_on_rows(
        self,
        rows: RowIndex | slice,
        levels: Levels | None = None,
        start: Start | None = None,
        line: ProgressLine | None = None,
        *,
        held_out: RowIndex | slice | None = None,
    ) -> Solution:
        """Solve on some of the rows: generate columns or, if the algorithm is a game, play it.

        ``held_out`` are the rows that the multipliers see instead, where they see others than the model
        (`multipliers_see_held_out`); by default the part that is held out.
        """
        options = self._options(levels, start, line)
        if self.multipliers_see_held_out:  # the game with two data sets of Cotter et al. (2019)
            weights = self.sample.examples.weights
            trained, measured = (
                _only(weights, rows),
                _only(weights, self.parts.choose if held_out is None else held_out),
            )
            judged = replace(self.sample, examples=replace(self.sample.examples, weights=measured))
            return solve_on(self.problem, judged, options, cells=self.cells.weighing(measured), trained=trained)
        return solve_on(self.problem, self.sample.take(rows), options, cells=self.cells.subset(rows))

    def _options(self, levels: Levels | None, start: Start | None, line: ProgressLine | None) -> Options:
        """How to generate columns, or how to play a game: rounds and steps as given, or the model's own."""
        own = self.settings.resolved_model.defaults._asdict()
        own = dict.fromkeys(own) if self.generates_columns else own  # they are those of a game
        given = {name: getattr(self.settings, name, None) for name in own}
        return Options(
            algorithm=self.settings.algorithm,
            model=self.model(),
            **{name: own[name] if value is None else value for name, value in given.items()},
            levels=None if levels is None else np.stack([np.asarray(level, dtype=float) for level in levels]),
            seeds=[self._model_seed],
            start=start,
            tolerance=self.settings.tolerance,
            progress=self._watch(levels is not None, line),
        )

    @property
    def _model_seed(self) -> int:
        """Seed of a model that uses random numbers."""
        return self.seed if self.seed is not None and self.settings.resolved_model.capabilities.random else 0

    def model(self) -> Any:
        """The model, with features standardised inside if the settings say so."""
        if self.prepared is not None:
            return self.prepared.model
        model = self.settings.resolved_model
        return model.standardised() if self.settings.standardised else model

    def served(self, classifier: Classifier) -> Classifier:
        """A classifier that decides by the features, if it was trained on what replaced them."""
        if self.prepared is None:
            return classifier
        return replace(classifier, members=classifier.members.map(self.prepared.serve))

    def _watch(self, levels: bool, line: ProgressLine | None) -> Progress | None:
        """Progress, and an end to the play (or a level's) when nothing improves any more."""
        patience, tolerance = self.settings.patience, self.settings.tolerance
        if patience is None or self.generates_columns:
            return line
        return (LevelPlateaus if levels else Plateau)(patience, tolerance, line=line)

    @property
    def judged_rows(self) -> slice:
        """The rows of the solution's table; rows that do not count there have no weight."""
        if self.fits_parts_together:
            return self._fitted
        return slice(0, len(self.sample)) if self.multipliers_see_held_out else self.parts.choose


def _only(weights: Array, rows: RowIndex | slice) -> Array:
    """The weights of some rows, and 0 for the others."""
    some = np.zeros(len(weights))
    some[rows] = weights[rows]
    return some


def _width(sample: Sample) -> int:
    """Number of features; scores in their place are one."""
    return int(sample.X.shape[1]) if np.ndim(sample.X) != 1 else 1
