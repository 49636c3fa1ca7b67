"""A test on rows that are kept for it: ``confidence_method="holdout"``, and cross-fitting where rows repeat.

In: a `Training` with a test part, and its plain solution. Out: a `MethodResult`. `outcome` calls this; `methods`
describes the methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.errors import EquirateError
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.labels import one_hot
from ..game.solution import Solution
from ..judge.exact import Decisions
from ..problem.problem import Problem
from ..selection.salts import Served, best_salt
from ..training.draws import Draws
from ..training.training import Training
from .fixed_sequence import run_sequence
from .folds import excess_on_unseen_rows
from .margins import MARGIN_TOLERANCE, FoldMixtures
from .methods import TIGHTENING, MethodResult, constraint_test_of, feasible_margins, thinned, too_few

Array = NDArray[np.float64]

_TIGHTER = 3
"""Mixtures that are tried for each share where rows repeat, each with a margin for the violation of the best salt."""


def refuse_inexact(problem: Problem, examples: Examples, cells: Cells) -> None:
    """Raise an error before training if the strict method has no exact bounds for the problem."""
    if examples.shared.size > 1:
        raise EquirateError(
            'confidence_method="holdout" counts the rows of one process: over several, use confidence_method="cross"'
        )
    try:
        Decisions.check(examples)
        many = len(examples.classes) > 2
        decided = one_hot(np.zeros_like(examples.labels), len(examples.classes)) if many else np.zeros(len(examples))
        for part in (part for constraint in problem.plain_constraints for part in constraint.split()):
            Decisions.of(list(part.rates()), examples, decided, 0, cells).estimate(part.residual).upper(0.9)
    except EquirateError as error:
        raise EquirateError(
            f'confidence_method="holdout" tests by exact counts, which is not possible here ({error}); '
            'use confidence_method="cross"'
        ) from None


def hold_out(training: Training, solution: Solution, method: str) -> MethodResult:
    """Run the fixed sequence on the test rows; where rows repeat, with the decisions that are served."""
    test, constraint_test, plain = training.parts.test, constraint_test_of(training, method), solution.polish()
    if test is None:
        return too_few(constraint_test, plain)
    rows, inside = (np.arange(len(training.sample))[part] for part in (test, training.parts.choose))
    some_rows, size = thinned(constraint_test, inside, plain), constraint_test.count(rows)
    over_normal = constraint_test.excess_over_normal(*some_rows, size)
    excess = np.zeros_like(over_normal)
    if training.fits_parts_together:
        tight = feasible_margins(training.problem, TIGHTENING * (constraint_test.reach(*some_rows, size) + over_normal))
        if not training.mixes_on_held_out:
            excess = excess_on_unseen_rows(training)
        solution = training.solve_on_training([np.zeros(len(tight)), -tight])[1]
    where: dict[str, Any] = {"inside": inside, "test": rows, "size": size, "over_normal": over_normal}
    if training.draws is None:
        part = FoldMixtures(constraint_test, solution, **where)
    else:
        part = ServedMixtures(constraint_test, solution, draws=training.draws, judged=training.judged_rows, **where)
    return run_sequence(constraint_test, [part], excess)


class ServedMixtures(FoldMixtures):
    """Mixtures for data in which rows repeat: each decides as it is served, with its best salt.

    Salts are chosen on the rows that mixtures are chosen on, never on those of the test.
    """

    def __init__(self, *arguments: Any, draws: Draws, judged: slice, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.draws, self.judged = draws, judged
        self._salts: dict[bytes, int] = {}

    def _served(self, mu: Array, margins: Array | float) -> Served:
        sample, draws = self.constraint_test.sample.take(self.judged), self.draws.take(self.judged)
        served = best_salt(self.solution, self.classifier(mu), sample, draws, margins)
        self._salts[mu.tobytes()] = served.salt
        return served

    def salt_of(self, mu: Array) -> int:
        """The salt that a mixture is served with."""
        if mu.tobytes() not in self._salts:
            self._served(mu, 0.0)
        return self._salts[mu.tobytes()]

    def mixture(self, share: float, more: Array | float = 0.0) -> Array | None:
        """The best mixture with a share of the margin that some salt keeps; None where none does."""
        tighter = more
        for _ in range(_TIGHTER):
            mu = super().mixture(share, tighter)
            if mu is None:
                return None
            served = self._served(mu, self.margins(share, more).at(mu))
            if served.violation <= MARGIN_TOLERANCE:
                return mu
            tighter = tighter + served.violation
        return None

    def probability(self, mu: Array) -> Array:
        """The served decisions on the rows of the test, 0 or 1."""
        sample = self.constraint_test.sample.take(self.test)
        return self.draws.take(self.test).decisions(self.classifier(mu), sample, self.salt_of(mu))
