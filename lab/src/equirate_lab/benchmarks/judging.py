"""Judging: one way to choose and to measure classifiers, whoever has trained them.

In: the weights of recorded linear iterates, or probabilities of predicting 1. Out: the paper's choice among the
iterates, and objective and constraint on every part of a split, by equirate's own expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq
from equirate.models import LinearMembers

from ..experiments.methods import by_ranks
from ..experiments.splits import PROTECTED, Part, Split

Array = NDArray[np.float64]
Pair = tuple[float, float]
_BLOCK = 512
ROUNDING = 1e-6
"""Violations that differ by less count as equal."""


def recorded_weights(solution: eq.Solution) -> NDArray[Any]:
    """Weights of every iterate of a linear run: (recorded rounds, features and intercept, configurations).

    Iterates of configurations that were dropped are NaN.
    """
    members = solution.members()
    assert isinstance(members, LinearMembers)  # a linear model was asked for
    found = np.full((len(solution.record.rounds), members.W.shape[0], len(solution.configurations)), np.nan)
    columns = solution.columns
    found[columns.handle[:, 0], :, columns.configuration] = members.W.T
    return found


def iterate_values(problem: eq.Problem, part: Part, W: NDArray[Any]) -> tuple[Array, Array]:
    """Minimised objective (iterates,) and signed violations (constraints, iterates) of linear classifiers' columns.

    The problem slices by the protected group alone. Examples that agree in label and group are then one example with
    their number as its weight, and the share of them that is predicted 1 as its prediction: the rates are the same.
    """
    kinds, of, sizes = np.unique(
        np.stack([part.y, part.attributes[PROTECTED]], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    belongs = (of.reshape(-1)[:, None] == np.arange(len(kinds))).astype(np.float32)
    blocks = [W[:, start : start + _BLOCK] for start in range(0, W.shape[1], _BLOCK)]
    counts = np.concatenate([LinearMembers(block).decide(part.X).T @ belongs for block in blocks])
    differing, back = np.unique(counts, axis=0, return_inverse=True)  # late iterates often agree
    shares = differing / sizes
    parts = [piece for c in problem.constraints if isinstance(c, eq.Constraint) for piece in c.split()]

    def values(what: Any) -> Array:
        found = [
            what.evaluate(kinds[:, 0], share, attributes={PROTECTED: kinds[:, 1]}, sample_weight=sizes)
            for share in shares
        ]
        return np.array(found)[back.reshape(-1)]

    sign = -1.0 if problem.objective.sense == "maximize" else 1.0
    return sign * values(problem.objective.expr), np.stack([values(piece) for piece in parts])


def chosen(problem: eq.Problem, weights: NDArray[Any], split: Split) -> eq.Classifier:
    """The paper's choice among the iterates of a grid.

    The mixture of each configuration is shrunk on the training part, and one configuration is chosen on the validation
    part by ranks.
    """
    T, d, C = weights.shape
    columns = np.moveaxis(weights, 1, 0).reshape(d, T * C).astype(np.float32)
    finite = np.isfinite(columns).all(axis=0)
    objective, violations = iterate_values(problem, split.train, np.where(finite, columns, 0.0))
    objective = np.where(finite, objective, np.inf)
    mixtures = []
    for c in range(C):
        mine = np.arange(c, T * C, C)
        if not np.isfinite(objective[mine]).any():
            continue  # every iterate predicts alike, or the configuration diverged
        shares = eq.mixtures.shrink_weights(objective[mine], violations[:, mine]).weights
        kept = np.flatnonzero(shares > 0)
        share = shares[kept] / shares[kept].sum()
        mixtures.append(eq.Classifier(LinearMembers(columns[:, mine[kept]]), share, problem, "shrink"))
    if not mixtures:
        raise eq.AlgorithmError("no iterate of any configuration has a finite objective")
    return mixtures[by_ranks(mixtures, problem, split.validation)]


def pair(problem: eq.Problem, probabilities: Any, part: Part) -> Pair:
    """Objective and largest signed violation of predictions on a part."""
    given = (part.y, np.clip(probabilities, 0.0, 1.0))  # a sum of shares may be above 1 by rounding
    violations = [
        c.evaluate(*given, attributes=part.attributes) for c in problem.constraints if isinstance(c, eq.Constraint)
    ]
    return float(problem.objective.expr.evaluate(*given, attributes=part.attributes)), float(
        max(violations, default=0.0)
    )


def reaches(found: Pair, target: Pair) -> bool:
    """Whether a minimised objective and a violation are both at least as good as a target.

    Examples
    --------
    >>> reaches((0.1, -0.01), (0.1, 0.0)), reaches((0.1, 0.02), (0.2, 0.0))
    (True, False)
    """
    return found[0] <= target[0] and found[1] <= target[1] + ROUNDING


def ladder(first: int, last: int) -> list[int]:
    """Numbers of rounds to try: each about 1.41 times the one before.

    Examples
    --------
    >>> ladder(25, 150)
    [25, 35, 50, 71, 100, 141]
    """
    found, k = [], 0
    while (rounds := round(first * 2 ** (k / 2))) <= last:
        found.append(rounds)
        k += 1
    return found


def fewest(rounds: Sequence[int], attempt: Callable[[int], Pair], target: Pair) -> int | None:
    """The first of some numbers of rounds whose result reaches a target; None if none does."""
    return next((number for number in rounds if reaches(attempt(number), target)), None)
