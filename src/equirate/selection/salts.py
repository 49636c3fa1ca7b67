"""The decisions that `predict` returns where rows repeat: a function of the row, chosen by its salt.

In: a mixture, the table that it was chosen on, and the hashes of the rows. Out: the salt whose decisions are best for
the problem, with their objective and violation.

The hashed output decides equal rows alike. Where (nearly) all rows are distinct, its draws average out and the rates
of new rows are those of the mixture. Where rows repeat they do not, and once the salt is drawn the classifier is a
function of the row. So that function is chosen: the best of `SALTS` salts and of a single classifier, on the rows that
the mixture was chosen on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._core.errors import InfeasibleError
from .._core.hashing import row_hashes, salted, uniform
from ..data.sample import Sample
from ..game.classifiers import Classifier
from ..game.infeasible import loosened
from ..game.solution import Solution
from ..game.status import SERVED, Status
from ..models.derandomised import disagree
from ..training.draws import Draws
from .comparison import measured
from .derandomization import agreed_sums

Array = NDArray[np.float64]

_TIGHTER = 3
"""Mixtures with a margin that are tried where no salt of the first satisfies the constraints; each adds the violation
of the best salt before it to the margin."""
_BLOCK = 1 << 22
"""Decisions that are held at once."""
NEEDS_KEY = (
    "rows repeat, and predict(X) decides equal rows alike: predict(X, key=...) with one key per person draws from "
    "the mixture, which meets the constraints with objective {:.4g}"
)
"""Advice where equal rows keep what is served from being as good as the mixture."""


@dataclass(frozen=True, eq=False)
class Served:
    """A classifier with the salt that it draws by, with objective and violation on the rows that it was chosen on.

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
    disputed = np.flatnonzero(disagree(decided))
    fixed = agreed_sums(cells, decided)
    hashes, picked, adder = draws.hashes[disputed], decided[disputed], cells.adder[:, disputed]
    many = cells.n_classes > 2
    if not many:  # one of the rows that are equal and decided alike is enough: decisions out of fold may differ
        alike = salted(hashes, row_hashes(np.packbits(picked, axis=1).astype(float)))
        _, first, place = np.unique(alike, return_index=True, return_inverse=True)
        hashes = hashes[first]
        shape = (len(disputed), len(hashes))
        merge = sp.csr_array((np.ones(len(disputed)), (np.arange(len(disputed)), place.reshape(-1))), shape=shape)
        picked, adder = picked[first], adder @ merge
    salts = np.array(draws.salts, dtype=np.uint64)
    step = max(_BLOCK // max(len(hashes), 1), 1)
    sums = []
    for start in range(0, len(salts), step):
        block = salts[start : start + step]
        member = mixture.drawn(uniform(salted(hashes[:, None], block)))
        answers = np.take_along_axis(picked, member, axis=1)
        sums.append(cells.batch(disputed).partial_counts(answers) if many else adder @ answers.astype(float))
    drawn = cells.shared.total(np.concatenate(sums, axis=1))
    objective, violation = _values(solution, fixed + drawn, margins)
    k = int(np.lexsort((objective, np.maximum(violation, solution.tolerance)))[0])
    return Served(mixture, draws.salts[k], float(objective[k]), float(violation[k]))


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
    """The classifier to serve where rows repeat, and its status: a mixture with its best salt, or a single one."""
    candidates = [best_salt(solution, mixture, sample, draws)]
    margin, possible = 0.0, measured(solution, mixture, sample)[1] <= solution.tolerance
    for _ in range(_TIGHTER if possible else 0):  # if no mixture satisfies the constraints, no salt does
        if candidates[-1].violation <= solution.tolerance:
            break
        margin += candidates[-1].violation
        try:
            tighter = solution.for_problem(loosened(solution.problem, -margin)).polish()
        except InfeasibleError:
            break
        candidates.append(best_salt(solution, replace(tighter, problem=solution.problem), sample, draws))
    candidates.append(best_salt(solution, single, sample, draws))
    best = min(candidates, key=lambda one: one.cost(solution.tolerance))
    return best, _status(solution, mixture, best, sample)


def _status(solution: Solution, mixture: Classifier, served: Served, sample: Sample) -> Status:
    """The status of the decisions that are served, with advice if the mixture, drawn by keys, does better."""
    feasible = served.violation <= solution.tolerance
    drawn, missed = measured(solution, mixture, sample)
    objective = drawn if solution.problem.losses() else solution.sign * served.objective
    advice = solution.status.advice
    worse = solution.sign * (objective - drawn) > solution.tolerance
    if missed <= solution.tolerance and (worse or not feasible):
        advice = (*advice, NEEDS_KEY.format(drawn))
    return replace(
        solution.status,
        objective=objective,
        violation=max(served.violation, 0.0),
        feasible=feasible,
        smallest_violation=min(solution.status.smallest_violation, max(served.violation, 0.0)),
        bound=None,  # the proven bound is for mixtures
        bound_over=None,
        gap=None,
        advice=advice,
        speaks_of=SERVED,
    )
