"""What `predict` returns where rows repeat: one function of the row, chosen by its salt.

In: a mixture, the table that it was chosen on, and the hashes of the rows. Out: the salt whose decisions are best for
the problem, and what these decisions come to.

The hashed output decides equal rows alike. Where (nearly) all rows are distinct, its draws average out and the rates
of new rows are those of the mixture. Where rows repeat they do not, and once the salt is drawn the classifier is a
function of the row. So that function is chosen: the best of `SALTS` salts and of a single classifier, on the rows that
the mixture was chosen on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import InfeasibleError
from .._core.hashing import Hashes, feature_hashes, salted, uniform
from .._core.peers import peers
from .._core.seeds import stream
from ..data.cells import Cells
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..game.infeasible import loosened
from ..game.solution import Solution
from ..game.status import SERVED, Status
from ..judge.spread import labelled
from ..problem.problem import Problem
from .choosing import measured

Array = NDArray[np.float64]
Rows = NDArray[np.intp] | slice

REPEATED = 0.01
"""Mean number of other rows that equal a row, from which on rows repeat.

The variance over salts of a rate, as served on new rows, is at most this share of its sampling variance below it."""
SALTS = 256
"""Salts to choose among: the best is better than 99 % of all draws, and keeps several constraints at their limits."""
_TIGHTER = 3
"""Mixtures with a margin that are tried where no salt of the first keeps the constraints; each makes up for what the
best salt before it missed."""
_BLOCK = 1 << 22
"""Decisions that are held at once."""


def hashes_of(X: Any) -> Hashes | None:
    """The hash of each row that the hashed output draws by, before the salt; None for what is no table of numbers."""
    if sp.issparse(X):
        return feature_hashes(X)
    if not isinstance(X, np.ndarray) or X.ndim > 2 or X.dtype.kind not in "biuf":
        return None
    return feature_hashes(X.reshape(len(X), -1))


def rows_repeat(hashes: Hashes, groups: Iterable[NDArray[np.bool_]] = (), copies: Array | None = None) -> bool:
    """Whether rows repeat among all of them, or within one of some groups of rows.

    ``copies`` are how many rows each stands for; by default one.

    Examples
    --------
    >>> rows_repeat(np.arange(1000, dtype=np.uint64)), rows_repeat(np.arange(1000, dtype=np.uint64) % 5)
    (False, True)
    """
    copies = np.ones(len(hashes)) if copies is None else copies
    _, place = np.unique(hashes, return_inverse=True)
    place = place.reshape(-1)
    if _equal_others(place, copies, float(copies.sum())) >= REPEATED:
        return True
    twice = np.flatnonzero(np.bincount(place, weights=copies)[place] > 1)
    return any(
        _equal_others(place[there], copies[there], float(copies[inside].sum())) >= REPEATED
        for inside in groups
        for there in [twice[inside[twice]]]
    )


def _equal_others(place: NDArray[np.intp], copies: Array, rows: float) -> float:
    """Mean number of other rows that equal a row."""
    counts = np.bincount(place, weights=copies) if len(place) else np.zeros(1)
    return float((counts * np.maximum(counts - 1, 0.0)).sum()) / max(rows, 1.0)


@dataclass(frozen=True, eq=False)
class Draws:
    """The hashes of rows that repeat, and the salts to choose among; the first is the one that rows draw by else."""

    hashes: Hashes
    salts: tuple[int, ...]

    @classmethod
    def of(
        cls, hashes: Hashes | None, problem: Problem, cells: Cells, seed: int | None, counted: bool = False
    ) -> Draws | None:
        """The draws of some rows; None where they are distinct, or several processes share them.

        With ``counted``, a weight that is a whole number stands for as many copies of its row.
        """
        if hashes is None or peers().size > 1:
            return None
        there = cells.weights > 0
        behind = {(rate.slice, rate.kind): rate for rate in problem.rates()}.values()
        masks = (cells.members[rate.slice] & labelled(cells.labels, rate.kind) for rate in behind)
        weights = cells.weights[there]
        copies = weights if counted and bool((weights == np.floor(weights)).all()) else None
        if not rows_repeat(hashes[there], (mask[cells.of[there]] for mask in masks), copies):
            return None
        return cls(hashes, tuple(map(int, stream("salt", seed).integers(2**63, size=SALTS))))

    def take(self, rows: Rows) -> Draws:
        """The draws of some of the rows."""
        return replace(self, hashes=self.hashes[rows])

    def decisions(self, classifier: Classifier, sample: Sample, salt: int) -> Array:
        """What a classifier decides with a salt, 0 or 1, row by row."""
        decided = classifier.members.decide(sample.X, attributes=sample.examples.columns)
        return classifier.pick(decided, uniform(salted(self.hashes, salt))).astype(float)


@dataclass(frozen=True, eq=False)
class Served:
    """A classifier with the salt that it draws by, and what its decisions come to on the rows that it was chosen on.

    ``objective`` is minimised; ``violation`` is the largest, signed.
    """

    classifier: Classifier
    salt: int
    objective: float
    violation: float

    def cost(self, tolerance: float) -> tuple[float, float]:
        """Smaller is better: constraints first, then the objective."""
        return max(self.violation, tolerance), self.objective


def best_salt(
    solution: Solution, mixture: Classifier, sample: Sample, draws: Draws, margins: Array | float = 0.0
) -> Served:
    """The salt whose decisions keep the constraints, with margins, and have the best objective.

    ``sample`` and ``draws`` are of the rows of the solution's table.
    """
    cells = solution.judge.cells
    decided = mixture.members.decide(sample.X, attributes=sample.examples.columns)
    apart = np.flatnonzero(decided.any(axis=1) & ~decided.all(axis=1))
    if not len(apart):
        return _alone(solution, mixture, sample, draws, margins)
    fixed = cells.sums(np.asarray(decided.all(axis=1))[:, None])
    hashes, picked, adder = draws.hashes[apart], decided[apart], cells.adder[:, apart]
    if not mixture.members.needs_attributes:  # equal rows are decided alike: one of each will do
        hashes, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        together = sp.csr_array((np.ones(len(apart)), (np.arange(len(apart)), place.reshape(-1))))
        picked, adder = picked[first], adder @ together
    salts = np.array(draws.salts, dtype=np.uint64)
    step = max(_BLOCK // max(len(hashes), 1), 1)
    sums = []
    for start in range(0, len(salts), step):
        some = salts[start : start + step]
        member = mixture.drawn(uniform(salted(hashes[:, None], some)))
        sums.append(adder @ np.take_along_axis(picked, member, axis=1).astype(float))
    objective, violation = _values(solution, fixed + np.concatenate(sums, axis=1), margins)
    k = int(np.lexsort((objective, np.maximum(violation, solution.tolerance)))[0])
    return Served(mixture, draws.salts[k], float(objective[k]), float(violation[k]))


def with_salt(solution: Solution, served: Served, sample: Sample, draws: Draws) -> Served:
    """The same classifier with the same salt, for another problem."""
    return best_salt(solution, served.classifier, sample, replace(draws, salts=(served.salt,)))


def _alone(
    solution: Solution, single: Classifier, sample: Sample, draws: Draws, margins: Array | float = 0.0
) -> Served:
    decided = single.members.decide(sample.X, attributes=sample.examples.columns)
    objective, violation = _values(solution, solution.judge.cells.sums(decided), margins)
    return Served(single, draws.salts[0], float(objective[0]), float(violation[0]))


def _values(solution: Solution, sums: Array, margins: Array | float) -> tuple[Array, Array]:
    """Minimised objective and largest signed violation of decisions; losses are no function of decisions."""
    objective, violations = solution.values(solution.judge.rates(sums))
    if solution.problem.losses():
        objective = np.zeros(sums.shape[1])
    short = violations + np.reshape(margins, (-1, 1)) if len(violations) else np.zeros((1, sums.shape[1]))
    return np.nan_to_num(np.asarray(objective), nan=np.inf), np.nan_to_num(short, nan=np.inf).max(axis=0)


def chosen_to_serve(
    solution: Solution, mixture: Classifier, single: Classifier, sample: Sample, draws: Draws
) -> tuple[Served, Status]:
    """What serves rows that repeat, and its status: the mixture with its best salt, with a margin, or a single one."""
    found = [best_salt(solution, mixture, sample, draws)]
    margin, possible = 0.0, measured(solution, mixture, sample)[1] <= solution.tolerance
    for _ in range(_TIGHTER if possible else 0):  # what no mixture keeps, no salt does
        if found[-1].violation <= solution.tolerance:
            break
        margin += 1.5 * found[-1].violation
        try:
            tighter = solution.for_problem(loosened(solution.problem, -margin)).polish()
        except InfeasibleError:
            break
        found.append(best_salt(solution, replace(tighter, problem=solution.problem), sample, draws))
    found.append(_alone(solution, single, sample, draws))
    best = min(found, key=lambda one: one.cost(solution.tolerance))
    return best, _status(solution, mixture, best, sample)


def _status(solution: Solution, mixture: Classifier, served: Served, sample: Sample) -> Status:
    """The status of the decisions that are served; says where the mixture, drawn by keys, does better."""
    feasible = served.violation <= solution.tolerance
    drawn, missed = measured(solution, mixture, sample)
    objective = drawn if solution.problem.losses() else solution.sign * served.objective
    advice = solution.status.advice
    worse = solution.sign * (objective - drawn) > solution.tolerance
    if missed <= solution.tolerance and (worse or not feasible):
        advice = (*advice, needs_key(drawn))
    return replace(
        solution.status,
        objective=objective,
        violation=max(served.violation, 0.0),
        feasible=feasible,
        bound=None,  # what was proven is about mixtures
        bound_over=None,
        gap=None,
        advice=advice,
        speaks_of=SERVED,
    )


def needs_key(objective: float) -> str:
    """Advice where people with equal rows have to be told apart for the mixture to keep what it promises."""
    return (
        "rows repeat, and predict(X) decides equal rows alike: predict(X, key=...) with one key per person draws from "
        f"the mixture, which meets the constraints with objective {objective:.4g}"
    )
