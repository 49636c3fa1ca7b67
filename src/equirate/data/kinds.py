"""The linear rates as a table: what each counts, among whom.

A kind says among which labels it is measured (its denominator) and what one example contributes to the
numerator, ``slope * prediction + offset``, given its label y and a baseline model's prediction b. Everything
else about linear rates (the public function, its text, evaluation, ranges, cells, coefficients) is derived from this
table: a new rate is a row here, and a line with what it should be worth in ``tests/language/test_rates.py``. Two rows
that count the same are two names of one rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Contribution = tuple[float, float]
"""(slope, offset): an example contributes slope * prediction + offset."""

_PREDICTED: Contribution = (1.0, 0.0)
_NOT_PREDICTED: Contribution = (-1.0, 1.0)
_NOTHING: Contribution = (0.0, 0.0)
_ONE: Contribution = (0.0, 1.0)


@dataclass(frozen=True)
class RateKind:
    """One kind of linear rate.

    Parameters
    ----------
    name
        Public name.
    labels
        The labels among which it is measured: (0, 1) for everybody, (1,) among positives, (0,) among negatives.
    contributions
        ``contributions[y][b]`` for label y and baseline prediction b.
    compares
        Whether it needs a baseline model.
    summary
        One line for the documentation.
    """

    name: str
    labels: tuple[int, ...]
    contributions: tuple[tuple[Contribution, Contribution], tuple[Contribution, Contribution]]
    compares: bool
    summary: str


def _kind(
    name: str,
    summary: str,
    contribution: Callable[[int, int], Contribution],
    labels: tuple[int, ...] = (0, 1),
    compares: bool = False,
) -> RateKind:
    zero, one = (tuple(contribution(y, b) for b in (0, 1)) for y in (0, 1))
    return RateKind(name, labels, ((zero[0], zero[1]), (one[0], one[1])), compares, summary)


def _when(condition: bool, contribution: Contribution) -> Contribution:
    return contribution if condition else _NOTHING


KINDS = {
    kind.name: kind
    for kind in (
        _kind("positive_rate", "P[predicted 1]", lambda y, b: _PREDICTED),
        _kind("negative_rate", "P[predicted 0]", lambda y, b: _NOT_PREDICTED),
        _kind("accuracy", "P[prediction = label]", lambda y, b: _PREDICTED if y else _NOT_PREDICTED),
        _kind("error_rate", "P[prediction != label]", lambda y, b: _NOT_PREDICTED if y else _PREDICTED),
        _kind("tpr", "P[predicted 1 | label 1]", lambda y, b: _PREDICTED, labels=(1,)),
        _kind("recall", "P[predicted 1 | label 1], the same as tpr", lambda y, b: _PREDICTED, labels=(1,)),
        _kind("fnr", "P[predicted 0 | label 1]", lambda y, b: _NOT_PREDICTED, labels=(1,)),
        _kind("fpr", "P[predicted 1 | label 0]", lambda y, b: _PREDICTED, labels=(0,)),
        _kind("tnr", "P[predicted 0 | label 0]", lambda y, b: _NOT_PREDICTED, labels=(0,)),
        _kind("tp", "P[predicted 1 and label 1]", lambda y, b: _when(y == 1, _PREDICTED)),
        _kind("fp", "P[predicted 1 and label 0]", lambda y, b: _when(y == 0, _PREDICTED)),
        _kind("tn", "P[predicted 0 and label 0]", lambda y, b: _when(y == 0, _NOT_PREDICTED)),
        _kind("fn", "P[predicted 0 and label 1]", lambda y, b: _when(y == 1, _NOT_PREDICTED)),
        _kind("base_rate", "P[label 1], whatever is predicted", lambda y, b: _when(y == 1, _ONE)),
        _kind(
            "wins",
            "P[prediction differs from the baseline and is right]",
            lambda y, b: _when(y != b, _PREDICTED if y else _NOT_PREDICTED),
            compares=True,
        ),
        _kind(
            "losses",
            "P[prediction differs from the baseline and is wrong]",
            lambda y, b: _when(y == b, _NOT_PREDICTED if y else _PREDICTED),
            compares=True,
        ),
        _kind(
            "churn",
            "P[prediction differs from the baseline]",
            lambda y, b: _NOT_PREDICTED if b else _PREDICTED,
            compares=True,
        ),
    )
}
