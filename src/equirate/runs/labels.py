"""The label of a table: which of its values are positive, or which classes it has.

In: the column of the label, and what the user calls positive: one of two values, one value against the rest, or a bound
such as ``>= 150``; without it, each of three or more values is a class. Out: `Labels`, which a model keeps, and which
gives the codes of any table's rows.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as compute
from numpy.typing import NDArray

from .._core.errors import DataError
from ..tables.findings import as_plain_numbers
from ..tables.kinds import text_of

VALUES, REST, BOUND, CLASSES = "values", "rest", "bound", "classes"
"""Rules: two values, one value against all others, a bound on numbers, a class for every value."""
RULES = (VALUES, REST, BOUND, CLASSES)
MOST_CLASSES = 100
"""Most values that become classes: a label with more is more likely a number, or a name."""
_OPPOSITE = {">=": "<", ">": "<=", "<=": ">", "<": ">="}
_COMPARE: dict[str, Callable[[Any, float], Any]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}
_BOUND = re.compile(r"\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True)
class Labels:
    """The label's column, its positive and negative values or its classes, and the rule that separates them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> bound = Labels.of("days", ">= 150", pa.array(["12", "150", "200"]))
    >>> bound.positive, bound.negative, bound.positives(pa.array([149.0, 151.0])).tolist()
    ('>= 150', '< 150', [False, True])
    >>> several = Labels.of("animal", "", pa.array(["cat", "dog", "bird"]))
    >>> several.classes, several.codes(pa.array(["dog", "bird"])).tolist()
    (('bird', 'cat', 'dog'), [2, 0])
    """

    column: str
    positive: str
    negative: str
    rule: str = VALUES
    classes: tuple[str, ...] = ()
    """All classes, sorted, where there are more than two."""

    @property
    def values(self) -> tuple[str, ...]:
        """All classes; of two, the positive one is the second."""
        return self.classes or (self.negative, self.positive)

    def plain(self) -> dict[str, Any]:
        """What a model's folder keeps."""
        kept = {"column": self.column, "positive": self.positive, "negative": self.negative, "rule": self.rule}
        return {**kept, "classes": list(self.classes)} if self.classes else kept

    @classmethod
    def of(cls, name: str, wanted: str, column: Any, decimal: str = ".") -> Labels:
        """Read a label's column; ``wanted`` is what counts as positive, or empty."""
        codes, values = text_of(column)
        if (codes < 0).any():
            missing = int((codes < 0).sum())
            raise DataError(
                f"the label {name!r} is missing in {missing:,} rows: fill it, or leave them out with --drop-unlabelled"
            )
        bound = bound_of(wanted, values)
        if bound is not None:
            symbol, number = bound
            labels = cls(name, f"{symbol} {number:g}", f"{_OPPOSITE[symbol]} {number:g}", BOUND)
            labels.positives(column, decimal)
            return labels
        values = [values[k] for k in np.argsort(-np.bincount(codes, minlength=len(values)), kind="stable")]
        values = distinct(values)
        shown = shown_values(sorted(values))
        if len(values) < 2:
            raise DataError(f"the label {name!r} has {len(values)} value, {shown}: a classifier needs two")
        if wanted:
            matching = [value for value in values if same(value, wanted)]
            positive = wanted if wanted in values else next(iter(matching), None)
            if positive is None:
                raise DataError(f"--positive is {wanted!r}, but the label {name!r} holds {shown}")
        elif len(values) > MOST_CLASSES:
            raise DataError(
                f"the label {name!r} has {len(values):,} values, {shown}: as classes there may be {MOST_CLASSES}. Say "
                'which one is positive with --positive; all others are then negative. For numbers: --positive ">= ..."'
            )
        elif len(values) > 2:
            return cls(name, "", "", CLASSES, tuple(sorted(values)))
        else:
            positive = next((value for value in values if value.strip().casefold() in ("1", "true")), None)
            if positive is None:
                raise DataError(f"the label {name!r} holds {shown}: say which one is positive with --positive")
        if len(values) > 2:
            return cls(name, positive, f"not {positive}", REST)
        return cls(name, positive, next(value for value in values if value != positive))

    def codes(self, column: Any, decimal: str = ".") -> NDArray[Any]:
        """The class of every row by its place in `values`; of two classes, whether it is positive."""
        if not self.classes:
            return self.positives(column, decimal)
        indices, values = text_of(column)
        if (indices < 0).any():
            raise DataError(
                f"the label {self.column!r} is missing in {int((indices < 0).sum()):,} rows: fill it, or leave those "
                "rows out"
            )
        return np.array([self._code_of(value) for value in values], dtype=np.int64)[indices]

    def _code_of(self, value: str) -> int:
        if value in self.classes:
            return self.classes.index(value)
        matching = [k for k, each in enumerate(self.classes) if same(value, each)]
        if not matching:
            raise DataError(
                f"the label {self.column!r} holds {value!r}, which was not in training: there it held "
                f"{shown_values(self.classes)}"
            )
        return matching[0]

    def positives(self, column: Any, decimal: str = ".") -> NDArray[np.bool_]:
        """Which rows of a column are positive; refuses missing values, and values that are neither."""
        codes, values = text_of(column)
        if (codes < 0).any():
            raise DataError(
                f"the label {self.column!r} is missing in {int((codes < 0).sum()):,} rows: fill it, or leave those "
                "rows out"
            )
        if self.rule == BOUND:
            return self._beyond(column, decimal)
        return np.array([self._is_positive(value) for value in values], dtype=bool)[codes]

    def _is_positive(self, value: str) -> bool:
        if value in (self.positive, self.negative):  # 'a' and 'A' may be the two labels
            return value == self.positive
        if same(value, self.positive) or self.rule == REST:
            return same(value, self.positive)
        if not same(value, self.negative):
            raise DataError(
                f"the label {self.column!r} holds {value!r}, which was not in training: there it held "
                f"{self.negative!r} and {self.positive!r}"
            )
        return False

    def _beyond(self, column: Any, decimal: str) -> NDArray[np.bool_]:
        symbol, _, number = self.positive.partition(" ")
        values = as_plain_numbers(self.column, column, decimal)
        if values is None:
            wrong = next(value for value in text_of(column)[1] if not _is_number(value))
            raise DataError(f"--positive is {self.positive!r}, but the label {self.column!r} holds {wrong!r}")
        if compute.any(compute.is_nan(values)).as_py():
            raise DataError(f"the label {self.column!r} holds NaN: give --drop-unlabelled")
        return np.asarray(_COMPARE[symbol](values.to_numpy(), float(number)))

    def named(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Labels as values of the table."""
        if self.classes:
            return np.asarray(np.array(self.classes)[codes])
        return np.where(codes, np.array(self.positive), np.array(self.negative))


def bound_of(wanted: str, values: Sequence[str]) -> tuple[str, float] | None:
    """Symbol and number of a bound such as ``>= 150``; None for a value, such as ``>50K`` or a ``<5`` that is one."""
    match = _BOUND.fullmatch(wanted)
    if match is None or wanted in values:
        return None
    return match[1], float(match[2])


def distinct(values: Sequence[str]) -> list[str]:
    """The values that differ; where there are more than two, those that differ in case or spaces alone are one."""
    if len(values) <= 2:
        return list(values)
    first: dict[str, str] = {}
    for value in values:
        first.setdefault(value.strip().casefold(), value)
    return list(first.values()) if len(first) > 1 else list(values)


def same(value: str, other: str) -> bool:
    """Whether two labels are the same: as text but for case and spaces around it, or as numbers."""
    if value.strip().casefold() == other.strip().casefold():
        return True
    try:
        return float(value) == float(other)
    except ValueError:
        return False


def shown_values(values: Sequence[str], most: int = 5) -> str:
    """Some values, for a message."""
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
