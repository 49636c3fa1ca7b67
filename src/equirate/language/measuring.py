"""Measuring: values of rates on predictions, and of sums, products, quotients and atoms of them.

In: examples with predictions, or the values of the parts of an expression. Out: a `Measure`, which gives an expression
the values of its rates, and the value of the expression. The conventions are in this module alone:

- 0/0 counts as 0, and so does the difference of two infinite numbers, with a warning; x/0 is infinite;
- 0 * inf = 0, so that a term with factor 0 does not make a sum undefined;
- an atom outside its domain is NaN; what lies outside by rounding only is moved inside.

`expressions` calls this for each node; the values are numbers, or arrays for several classifiers at once.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from .._core.errors import UndefinedRateWarning
from .._core.warning import warn
from ..data.examples import Examples
from .atoms import Atom

Value = Any
"""A number, or an array with one number per classifier."""

_ROUNDING = 1e-12


class Measurable(Protocol):
    """A linear rate or a loss: its value depends on data."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Structural identity."""

    def measured(self, examples: Examples, predictions: Any) -> Value:
        """Return the value on predictions."""


Measure = Callable[[Measurable], Value]


def measurer(examples: Examples, predictions: Any, losses: Mapping[tuple[Any, ...], Value] | None = None) -> Measure:
    """Return a function that measures linear rates on predictions, each once; ``losses`` gives losses by key."""
    known: dict[tuple[Any, ...], Value] = dict(losses or {})

    def measure(part: Measurable) -> Value:
        key = part.key
        if key not in known:
            known[key] = part.measured(examples, predictions)
        return known[key]

    return measure


def total(values: Sequence[Value], expr: object) -> Value:
    """Sum of the values of the parts of ``expr``."""
    if all(isinstance(value, (float, int)) for value in values):  # numpy takes ten times as long for plain numbers
        plain = functools.reduce(operator.add, map(float, values))
        if math.isfinite(plain):
            return plain
    with np.errstate(invalid="ignore"):
        added = np.asarray(sum(values[1:], start=values[0]), dtype=float)
    undefined = np.isnan(added)
    if not undefined.any():
        return added[()]
    undefined = undefined & ~np.logical_or.reduce(np.broadcast_arrays(*map(np.isnan, values)))
    return _zero_where(undefined, added, expr, "is the difference of two infinite numbers here")


def product(left: Value, right: Value) -> Value:
    """Multiply."""
    with np.errstate(invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, np.multiply(left, right))[()]


def quotient(top: Value, bottom: Value, expr: object) -> Value:
    """Divide the two sides of ``expr``."""
    top, bottom = np.asarray(top), np.asarray(bottom) + 0.0  # dividing by -0.0 would give the other infinity
    with np.errstate(divide="ignore", invalid="ignore"):
        divided = np.divide(top, bottom)
    return _zero_where((top == 0) & (bottom == 0), divided, expr, "is 0/0 here")


def applied(atom: Atom, arguments: Iterable[Value]) -> Value:
    """Apply an atom."""
    x = np.array(np.broadcast_arrays(*arguments), dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        nearest = np.clip(x, atom.domain.lo, atom.domain.hi) + 0.0  # -0.0 would turn inv over
        x = np.where((x == nearest) | (np.abs(x - nearest) < _ROUNDING), nearest, np.nan)
        return atom.value(x)


def _zero_where(undefined: Any, values: Value, expr: object, problem: str) -> Value:
    """Count undefined values as 0, with a warning unless there are several classifiers."""
    if np.ndim(undefined) == 0 and undefined:
        warn(f"{expr!r} {problem} and counts as 0", UndefinedRateWarning)
    return np.where(undefined, 0.0, values)[()]
