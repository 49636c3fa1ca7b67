"""Measuring: what rates are worth on predictions, and what sums, products, quotients and atoms of them are worth.

In: examples with predictions, or the values of the parts of an expression. Out: a `Measure`, by which every
expression finds its value, and the value of the whole by the conventions that are kept here and nowhere else:

- 0/0 counts as 0, and so does the difference of two infinite numbers, with a warning; x/0 is infinite;
- 0 * inf = 0, so that a term that does not count cannot spoil the rest;
- an atom outside its domain is NaN; what lies outside by rounding only is moved inside.

`expressions` asks for each node; the values are numbers, or arrays when many classifiers are judged at once.
"""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from .._core.errors import UndefinedRateWarning
from ..data.examples import Examples
from .atoms import Atom

Value = Any
"""A number, or an array of numbers: one per classifier when many are judged at once."""

_ROUNDING = 1e-12


class Measurable(Protocol):
    """What has a value only with data: a linear rate or a loss."""

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


def total(values: Sequence[Value], whole: object) -> Value:
    """Add up the values of the parts of ``whole``."""
    if all(isinstance(value, (float, int)) for value in values):  # numbers take numpy ten times as long
        whole_sum = functools.reduce(operator.add, map(float, values))
        if math.isfinite(whole_sum):
            return whole_sum
    with np.errstate(invalid="ignore"):
        added = np.asarray(sum(values[1:], start=values[0]), dtype=float)
    undefined = np.isnan(added)
    if not undefined.any():
        return added[()]
    undefined = undefined & ~np.logical_or.reduce(np.broadcast_arrays(*map(np.isnan, values)))
    return _zero_where(undefined, added, whole, "is the difference of two infinite numbers here")


def product(left: Value, right: Value) -> Value:
    """Multiply."""
    with np.errstate(invalid="ignore"):
        return np.where((left == 0) | (right == 0), 0.0, np.multiply(left, right))[()]


def quotient(top: Value, bottom: Value, whole: object) -> Value:
    """Divide the two sides of ``whole``."""
    top, bottom = np.asarray(top), np.asarray(bottom) + 0.0  # dividing by -0.0 would give the other infinity
    with np.errstate(divide="ignore", invalid="ignore"):
        divided = np.divide(top, bottom)
    return _zero_where((top == 0) & (bottom == 0), divided, whole, "is 0/0 here")


def applied(atom: Atom, arguments: Iterable[Value]) -> Value:
    """Apply an atom."""
    x = np.array(np.broadcast_arrays(*arguments), dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        nearest = np.clip(x, atom.domain.lo, atom.domain.hi) + 0.0  # -0.0 would turn inv over
        x = np.where((x == nearest) | (np.abs(x - nearest) < _ROUNDING), nearest, np.nan)
        return atom.value(x)


def _zero_where(undefined: Any, values: Value, whole: object, what: str) -> Value:
    """Count undefined values as 0 and warn of them; not while many classifiers are judged at once."""
    if np.ndim(undefined) == 0 and undefined:
        warnings.warn(f"{whole!r} {what} and counts as 0", UndefinedRateWarning, stacklevel=4)
    return np.where(undefined, 0.0, values)[()]
