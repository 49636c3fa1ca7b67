"""The walk from careful to bold: which candidates are tested, in which order, and what is deployed.

In: a `Trial`, and the `FoldMixtures` whose mixtures decide on the rows of the test: one for every fold, or one alone.
Out: the last candidate that passed, and the uniform mixture of its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..game.classifiers import Classifier
from ..judge.certify import Certificates
from ..models.joined import joined
from ..problem.problem import Problem
from .careful import FoldMixtures
from .trials import Trial

Array = NDArray[np.float64]

SHARES = (1.4, 1.2, 1.1, 0.9, 0.7, 0.45, 0.2, 0.0)
"""Shares of the margin that is expected to pass, most careful first."""
MORE_CAREFUL = (2.5, 1.9, 1.6)
"""Shares that come before these where nothing is learnt on the way."""
FIRST = (1.0, 1.2)
"""Shares of candidates that are not tested, but tell how much less well constraints are kept on other rows."""


@dataclass(frozen=True, eq=False)
class Walked:
    """How far a walk from careful to bold came: the last candidate that passed, if one did."""

    share: float
    mixtures: list[Array]
    probability: Array
    certificates: Certificates


def walk(trial: Trial, parts: Sequence[FoldMixtures]) -> Walked | None:
    """Test ever bolder candidates in a fixed order; the first failure ends the walk.

    Over folds, every candidate tells by how much constraints are kept less well on rows that were not seen, and the
    next one makes up for that; the first is told by some that are not tested. On a test part of its own nothing is
    learnt on the way.
    """
    rows = np.concatenate([part.test for part in parts])
    accepted: Walked | None = None
    missed = np.zeros(len(trial.parts))

    def missed_by(mixtures: Sequence[Array], probability: Array) -> Array:
        kept = np.mean([part.values(mixture) for part, mixture in zip(parts, mixtures, strict=True)], axis=0)
        return np.asarray(np.maximum(trial.values(rows, probability) - kept, 0.0))

    for share in FIRST if len(parts) > 1 else ():
        first = _mixtures(parts, share, missed) or [part.plain for part in parts]
        missed = np.maximum(missed, missed_by(first, tested(parts, first)))
    for share in SHARES if len(parts) > 1 else (*MORE_CAREFUL, *SHARES):
        mixtures = _mixtures(parts, share, missed)
        if mixtures is None:  # so wide a margin leaves no room; decided without looking at the test
            continue
        probability = tested(parts, mixtures)
        certificates = trial.certify(rows, probability)
        if certificates.verdict != "pass":
            break
        accepted = Walked(share, mixtures, probability, certificates)
        if len(parts) > 1:
            missed = missed_by(mixtures, probability)
    return accepted


def _mixtures(parts: Sequence[FoldMixtures], share: float, missed: Array) -> list[Array] | None:
    """The mixture of each part with a margin; None where some part has none."""
    found = []
    for part in parts:
        mixture = part.mixture(share, missed)
        if mixture is None:
            return None
        found.append(mixture)
    return found


def tested(parts: Sequence[FoldMixtures], mixtures: Sequence[Array]) -> Array:
    """Probability of predicting 1 on the rows of every part's test, by its own mixture."""
    return np.concatenate([part.probability(mixture) for part, mixture in zip(parts, mixtures, strict=True)])


def deployed(parts: Sequence[FoldMixtures], mixtures: Sequence[Array], problem: Problem, origin: str) -> Classifier:
    """The uniform mixture of the parts' mixtures."""
    kept = [np.flatnonzero(mixture) for mixture in mixtures]
    members = joined([part.members.take(rows.tolist()) for part, rows in zip(parts, kept, strict=True)])
    weights = np.concatenate([mixture[rows] for mixture, rows in zip(mixtures, kept, strict=True)]) / len(parts)
    return Classifier(members, weights / weights.sum(), problem, origin)
