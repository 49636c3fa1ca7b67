"""Fixed-sequence testing: candidates with ever smaller margins, tested in a fixed order until one fails.

In: a `ConstraintTest`, and the `FoldMixtures` whose mixtures decide on the rows of the test: one for each fold, or a
single one. Out: a `MethodResult` with the last candidate that passed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..game.classifiers import Classifier
from ..models.side_by_side import concatenate_members
from .constraint_test import ConstraintTest
from .margins import FoldMixtures
from .methods import MethodResult, Passed

Array = NDArray[np.float64]

SHARES = (1.4, 1.2, 1.1, 0.9, 0.7, 0.45, 0.2, 0.0)
"""Shares of the margin that is expected to pass, the widest margin first."""
WIDER_SHARES = (2.5, 2.2, 2.0, 1.8, 1.7, 1.6, 1.5)
"""Shares that are tested before `SHARES` on a test part, where candidates do not depend on earlier results."""
UNTESTED_SHARES = (1.0, 1.2)
"""Shares of candidates that are not tested: they measure how much larger violations are on unseen rows."""


def run_sequence(
    constraint_test: ConstraintTest, parts: Sequence[FoldMixtures], excess: Array | float = 0.0
) -> MethodResult:
    """Test candidates with ever smaller margins, and stop at the first failure.

    Every margin is widened by ``excess``: how much larger violations are on rows that were not trained on. With folds
    it is measured, before the first test on candidates that are not tested, and then on each candidate for the next
    one. With a separate test part, candidates must not depend on the test, so ``excess`` stays as given.
    """
    rows = np.concatenate([part.test for part in parts])
    without_margin = _probability(parts, [part.plain for part in parts])
    passed: Passed | None = None

    def excess_violation(mixtures: Sequence[Array], probability: Array) -> Array:
        kept = np.mean([part.values(mixture) for part, mixture in zip(parts, mixtures, strict=True)], axis=0)
        return np.asarray(np.maximum(constraint_test.values(rows, probability) - kept, 0.0))

    for share in UNTESTED_SHARES if len(parts) > 1 else ():
        first = _mixtures(parts, share, excess) or [part.plain for part in parts]
        excess = np.maximum(excess, excess_violation(first, _probability(parts, first)))
    for share in SHARES if len(parts) > 1 else (*WIDER_SHARES, *SHARES):
        mixtures = _mixtures(parts, share, excess)
        if mixtures is None:  # no mixture has so wide a margin; this does not depend on the test rows
            continue
        probability = _probability(parts, mixtures)
        certificates = constraint_test.certify(rows, probability)
        if certificates.verdict != "pass":
            break
        mixture, salt = _uniform_mixture(constraint_test, parts, mixtures), parts[0].salt_of(mixtures[0])
        passed = Passed(share, mixture, salt, probability, certificates)
        if len(parts) > 1:
            excess = excess_violation(mixtures, probability)
    return MethodResult(constraint_test, rows, without_margin, passed)


def _mixtures(parts: Sequence[FoldMixtures], share: float, excess: Array | float) -> list[Array] | None:
    """The mixture of each part with a margin; None if some part has none."""
    mixtures = []
    for part in parts:
        mixture = part.mixture(share, excess)
        if mixture is None:
            return None
        mixtures.append(mixture)
    return mixtures


def _probability(parts: Sequence[FoldMixtures], mixtures: Sequence[Array]) -> Array:
    """Probability of predicting 1 on the rows of every part's test, by its own mixture."""
    return np.concatenate([part.probability(mixture) for part, mixture in zip(parts, mixtures, strict=True)])


def _uniform_mixture(
    constraint_test: ConstraintTest, parts: Sequence[FoldMixtures], mixtures: Sequence[Array]
) -> Classifier:
    """The uniform mixture of the parts' mixtures."""
    classifiers = [part.classifier(mixture) for part, mixture in zip(parts, mixtures, strict=True)]
    members = concatenate_members([classifier.members for classifier in classifiers])
    weights = np.concatenate([classifier.weights for classifier in classifiers]) / len(parts)
    origin = "cross-fitted" if len(parts) > 1 else "held out"
    return Classifier(members, weights / weights.sum(), constraint_test.problem, origin)
