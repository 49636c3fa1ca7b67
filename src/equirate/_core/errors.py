"""Every error and warning that equirate raises on purpose.

All errors are ``ValueError``s, so code that guards a fit with ``except ValueError`` keeps working.
A message names the thing in the user's own notation, then the rule, then the fix.
"""

from __future__ import annotations


class EquirateError(ValueError):
    """Base class of the errors of this package."""


class DisciplineError(EquirateError):
    """A problem that no algorithm here can solve as it is written."""


class InfeasibleError(DisciplineError):
    """Constraints that no classifier can keep, whatever the data."""


class DataError(EquirateError):
    """Data that does not fit the problem: wrong lengths, missing values, empty slices, and so on."""


class TableError(DataError):
    """A table about which several things must be decided; the message has a line for each."""


class AlgorithmError(EquirateError):
    """An algorithm, a model or a step rule that does not fit the problem or each other."""


class ParseError(EquirateError):
    """Text that is not in the language of rates.

    Parameters
    ----------
    message
        The whole message.
    reason
        What is wrong, without the text.
    text
        What was read; empty where that is not known.
    column
        Where in the text the smallest offending part begins, from 0; None where that is not known.
    """

    def __init__(self, message: str, reason: str = "", text: str = "", column: int | None = None) -> None:
        super().__init__(message)
        self.reason, self.text, self.column = reason or message, text, column


class FileError(EquirateError):
    """A file that cannot be written, or that is not what it claims to be."""


class ProcessError(EquirateError):
    """A process cannot do its part of a fit: one that shares the rows does not answer, died, or was forked."""


class EquirateWarning(UserWarning):
    """Base class of the warnings of this package."""


class NotSolvedWarning(EquirateWarning):
    """The run ended without a solution: infeasible, diverged, interrupted, out of domain."""


class UndefinedRateWarning(EquirateWarning):
    """A ratio was 0/0 on the data at hand and was counted as 0."""


for _public in [each for each in list(globals().values()) if isinstance(each, type)]:
    _public.__module__ = "equirate"  # where users find them, and what a traceback shows
