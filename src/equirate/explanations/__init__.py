"""Why rows are decided as they are: probabilities, members, contributions of features, and the constraints' part.

`explanations` has `Explanations` (all rows) and `Explanation` (one row), `sentences` the words for one row. The
estimators' ``explain`` makes them.
"""

from .explanations import (
    ClassExplanation,
    ClassExplanations,
    Explanation,
    Explanations,
    MemberDecision,
    Reason,
)

__all__ = ["ClassExplanation", "ClassExplanations", "Explanation", "Explanations", "MemberDecision", "Reason"]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)
