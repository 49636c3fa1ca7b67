r"""Linear classifiers of several classes by descent on cross-entropy: further columns beside plug-in rules.

In: features, and costs of answers by cell. Out: families of linear classifiers whose costs are small. With
:math:`g_{ia}` the gain of answer a on row i over its most expensive answer, a regression minimises
:math:`-\sum_i \sum_a g_{ia} \log p_a(x_i)`, a convex bound on the costs. Where probabilities are not linear in the
features, as is common for rare classes, plug-in rules estimate them badly for some costs, and such a regression fits
where the costs are.

A regression costs as much as the probabilities themselves, so there is one only for prices at which plug-in rules gain
nothing. Offsets of its scores are searched as those of plug-in rules are (`class_offsets`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.cells import Cells
from ..data.mapped import zeros_beside
from ..mixtures import Source
from .class_offsets import cheapest_offsets
from .class_oracle import ClassScoredMembers, LinearScores, answer_counts
from .class_rules import ClassPlugInLearner
from .contract import Choice, Learner
from .cross_fitting import Certain, Fold, fill_by_fold
from .members import Members
from .messages import Family
from .multinomial import Multinomial
from .oracle_members import Fitted
from .oracle_pool import add_direction
from .posterior import GivenProbabilities, Posterior
from .rows import Rows
from .side_by_side import SideBySide, of_two_kinds
from .sklearn_classifiers import Logistic

Array = NDArray[np.float64]
Index = NDArray[np.intp]
FITS = 4
"""Largest number of regressions to costs."""
_GAIN = 1e-4
"""A plug-in rule gains nothing if it costs less than every known classifier by no more than this."""
_SAME = 1 - 1e-3
"""Cosine from which on two cost vectors are treated as the same."""


@dataclass(frozen=True, eq=False)
class Descents:
    """Regressions to costs on one table of features.

    ``fold`` has the fold of each row: where there are several, each row is scored by a regression without its fold.
    """

    setting: Multinomial
    X: Any
    fold: Fold

    def fit(self, price: Array, cells: Cells, numbers: Index | slice) -> Fitted:
        """Fit to the cost of each answer in each cell (cells, classes), on the rows ``numbers`` of the table."""
        gains = price.max(axis=1, keepdims=True) - price
        size = gains.sum(axis=1)
        shares = gains / np.where(size > 0, size, 1.0)[:, None]
        kind, weights = np.zeros(len(self.fold), dtype=np.int32), np.zeros(len(self.fold))
        kind[numbers], weights[numbers] = cells.index, cells.weights * size[cells.index]
        total = cells.shared.total(np.array([cells.weights.sum(), weights.sum()]))
        weights *= total[0] / total[1]  # the penalty counts as much as that of the labels' regression
        n_classes = len(shares.T)
        scores = zeros_beside(self.X, (len(self.fold), n_classes))

        def fit(weights: Array) -> LinearScores:
            fitted = self.setting.fit(self.X, kind, weights, n_classes, cells.shared, shares)
            return _linear(fitted, int(self.X.shape[1]), n_classes)

        scorer = fill_by_fold(fit, LinearScores.__call__, self.X, self.fold, weights, cells.shared, scores)
        return Fitted(scorer, scores)


def _linear(fitted: Logistic | Certain, width: int, n_classes: int) -> LinearScores:
    """Scores of all classes, from a regression of those that some row gains from."""
    if isinstance(fitted, Certain):
        return LinearScores.of_seen(fitted.classes_, np.zeros((1, width)), np.zeros(1), n_classes)
    # Of two classes there is one score, half of which counts for the second class and half against the first.
    share = 0.5 if len(fitted.classes_) == 2 else 1.0
    return LinearScores.of_seen(fitted.classes_, share * fitted.coef_, share * fitted.intercept_, n_classes)


class DescendingLearner(ClassPlugInLearner):
    """Plug-in rules, and regressions to costs at which they gain nothing.

    ``numbers`` are the rows of this learner in the table of the regressions.
    """

    def __init__(
        self,
        posterior: Posterior | GivenProbabilities,
        probabilities: Array,
        rows: Rows,
        descents: Descents,
        numbers: Index | slice,
        remembered: bool,
    ) -> None:
        super().__init__(posterior, probabilities, rows)
        self.descents, self.numbers, self.remembered = descents, numbers, remembered
        self.fitted: list[Fitted] = []
        self.directions: list[Array] = []
        self.known: list[Any] = []

    def families(self) -> list[Family]:
        """Those of the plug-in rules."""
        families = super().families()
        self.known += [family.sums for family in families]
        return families

    def respond(self, costs: Array) -> list[Family]:
        """Answers of the plug-in rules and, once they gain nothing at the first costs, of regressions to them."""
        families = super().respond(costs)
        first, answers = costs[:, 0], self._by_answer(costs)[:, :, 0]
        least = min((float((first @ sums).min()) for sums in self.known), default=np.inf)
        stalled = float((first @ families[0].sums).min()) >= least - _GAIN
        rules = []
        may_fit = stalled and len(self.fitted) < FITS and first.any()
        if may_fit and add_direction(first, self.directions, _SAME):
            self.fitted.append(self.descents.fit(answers.T, self.rows.trained, self.numbers))
            rules.append((self.fitted[-1], np.zeros(self.n_classes)))
        if self.fitted:
            price = self.searched.price(answers)
            for each in self.fitted:
                own = np.ascontiguousarray(each.scores[self.numbers][self.searched.rows])
                scores = np.concatenate(self.rows.trained.shared.gather(own))  # of all processes
                rules.append((each, cheapest_offsets(-scores, price)))
            families.append(Family(answer_counts(rules, self.numbers, self.rows.cells), Source.REFINED, rules))
        self.known += [family.sums for family in families]
        return families

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Rules beside regressions, where there are any."""

        def regressions(some: Sequence[Choice]) -> Members:
            return ClassScoredMembers.of([snapshots[t][c] for t, c in some], self.remembered)

        rules = partial(super().members, snapshots)
        return of_two_kinds(chosen, lambda choice: not isinstance(snapshots[choice[0]], list), rules, regressions)

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """As plug-in rules are measured; regressions by their scores."""
        rules, others = super().measurer(rows), Learner.measurer(self, rows)

        def sums(members: Members) -> Array:
            return others(members) if isinstance(members, SideBySide | ClassScoredMembers) else rules(members)

        return sums
