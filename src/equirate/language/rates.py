"""The catalogue: every rate, ratio, score and atom that users write, as functions that make expressions.

Linear rates come from the table in `kinds`, atoms from the table in `atoms`; what is defined here are the
metrics with a name of their own. Each function takes an optional slice; no slice means everybody.

Examples
--------
>>> from equirate import attr
>>> women = attr("sex") == "Female"
>>> precision(women) >= precision(~women) - 0.02
precision(sex == 'Female') >= precision(~(sex == 'Female')) - 0.02
>>> f1().curvature.value, g_mean().curvature.value, kl_divergence().curvature.value
('ratio', 'concave', 'convex')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .._core.errors import DisciplineError
from ..data.kinds import KINDS
from ..data.slices import EVERYBODY, Attribute, Slice
from . import atoms
from .arithmetic import Call, Operand, Quotient, expression, number
from .atoms import NONNEGATIVE, Atom
from .curvature import UNIT, Curvature, Interval
from .expressions import Expression
from .measuring import Measure, Value
from .nodes import BlackBox, Loss, Named, Rate, call_text


class SliceRate(Protocol):
    """A rate of a slice."""

    def __call__(self, slice: Slice | None = None) -> Expression:
        """Make the expression."""


class BaselineRate(Protocol):
    """A rate of a slice, against another model."""

    def __call__(self, baseline: str | Attribute, slice: Slice | None = None) -> Expression:
        """Make the expression."""


# -- linear rates ---------------------------------------------------------------------------------


def _slice(value: Slice | None, caller: str) -> Slice:
    if value is None:
        return EVERYBODY
    if isinstance(value, Slice):
        return value
    if isinstance(value, Attribute):
        raise TypeError(f"{caller}({value!r}) needs a slice, not an attribute: compare it, as in {value!r} == 'value'")
    raise TypeError(f"the slice of {caller} must be made with attr(...) and a comparison; got {value!r}")


def _linear(name: str) -> SliceRate:
    kind = KINDS[name]

    def rate(slice: Slice | None = None) -> Expression:
        return Rate(kind, _slice(slice, name))

    rate.__name__ = rate.__qualname__ = name
    rate.__doc__ = f"""{kind.summary}, within a slice. Linear in the predictions.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.{name}(eq.attr("age") < 30)
    {name}(age < 30)
    """
    return rate


def _baseline(name: str) -> BaselineRate:
    kind = KINDS[name]

    def rate(baseline: str | Attribute, slice: Slice | None = None) -> Expression:
        return Rate(kind, _slice(slice, name), column_name(baseline, name))

    rate.__name__ = rate.__qualname__ = name
    rate.__doc__ = f"""{kind.summary}, within a slice. Linear in the predictions.

    ``baseline`` names the attribute that holds the other model's 0/1 predictions.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.{name}("old_model", eq.attr("age") < 30)
    {name}('old_model', age < 30)
    """
    return rate


def column_name(baseline: str | Attribute, caller: str) -> str:
    """Return the name of the attribute that holds a baseline's predictions."""
    name = baseline.name if isinstance(baseline, Attribute) else baseline
    if not isinstance(name, str):
        raise TypeError(f"the baseline of {caller} is the name of an attribute with 0/1 predictions; got {baseline!r}")
    return name


positive_rate = _linear("positive_rate")
negative_rate = _linear("negative_rate")
accuracy = _linear("accuracy")
error_rate = _linear("error_rate")
tpr = recall = _linear("tpr")
fnr = _linear("fnr")
fpr = _linear("fpr")
tnr = _linear("tnr")
tp = _linear("tp")
fp = _linear("fp")
tn = _linear("tn")
fn = _linear("fn")
base_rate = _linear("base_rate")
wins = _baseline("wins")
losses = _baseline("losses")
churn = _baseline("churn")


# -- ratios ---------------------------------------------------------------------------------------


def _named(definition: Expression, name: str, *arguments: Any) -> Expression:
    return Named(call_text(name, *arguments), definition)


def ratio(numerator: Any, denominator: Any, *, floor: float | None = None) -> Expression:
    """Numerator over denominator, both affine; ``floor`` promises that the denominator is at least that large.

    ``a / b`` is the same without a promise. A ratio that is not bounded (its denominator can reach 0 while its
    numerator does not) needs the promise before it can be trained for.

    Examples
    --------
    >>> ratio(tpr(), fpr(), floor=0.01)
    ratio(tpr(), fpr(), floor=0.01)
    """
    top, bottom = expression(numerator), expression(denominator)
    return top / bottom if floor is None else Quotient(top, bottom, _positive(floor, "the floor of a ratio"))


def _positive(value: float, what: str) -> float:
    found = number(value, f"a number for {what}")
    if found <= 0:
        raise TypeError(f"{what} must be positive; got {value!r}")
    return found


def precision(slice: Slice | None = None) -> Expression:
    """P[label 1 | predicted 1] within a slice: tp / positive_rate."""
    s = _slice(slice, "precision")
    return _named(tp(s) / positive_rate(s), "precision", s)


def npv(slice: Slice | None = None) -> Expression:
    """P[label 0 | predicted 0] within a slice (negative predictive value): tn / negative_rate."""
    s = _slice(slice, "npv")
    return _named(tn(s) / negative_rate(s), "npv", s)


def f1(slice: Slice | None = None) -> Expression:
    """F-measure within a slice: 2 tp / (2 tp + fp + fn)."""
    s = _slice(slice, "f1")
    return _named((2 * tp(s)) / (2 * tp(s) + fp(s) + fn(s)), "f1", s)


def f_score(beta: float, slice: Slice | None = None) -> Expression:
    """F-score that weighs recall ``beta`` times as much as precision."""
    beta = _positive(beta, "beta, the first argument of f_score")
    s, b = _slice(slice, "f_score"), beta**2
    return _named(((1 + b) * tp(s)) / ((1 + b) * tp(s) + b * fn(s) + fp(s)), "f_score", beta, s)


def jaccard(slice: Slice | None = None) -> Expression:
    """Intersection over union of predicted and true positives: tp / (tp + fp + fn)."""
    s = _slice(slice, "jaccard")
    return _named(tp(s) / (tp(s) + fp(s) + fn(s)), "jaccard", s)


_FLOOR_OF_LOSSES = 1e-3


def win_loss_ratio(
    baseline: str | Attribute, slice: Slice | None = None, *, floor: float = _FLOOR_OF_LOSSES
) -> Expression:
    """Wins over losses against another model: above 1, the changes are for the better.

    While training, losses below ``floor`` count as ``floor``; evaluation is exact.
    """
    s, name = _slice(slice, "win_loss_ratio"), column_name(baseline, "win_loss_ratio")
    definition = ratio(wins(name, s), losses(name, s), floor=floor)
    promise = () if floor == _FLOOR_OF_LOSSES else (_Keyword("floor", expression(floor)),)
    return _named(definition, "win_loss_ratio", name, s, *promise)


@dataclass(frozen=True, repr=False)
class _Keyword:
    """An argument that is written with its name."""

    name: str
    value: Any

    def __repr__(self) -> str:
        return f"{self.name}={self.value!r}"


# -- atoms ----------------------------------------------------------------------------------------


def _atom(atom: Atom, summary: str) -> Callable[..., Expression]:
    def call(*arguments: Any) -> Expression:
        return Call(atom, tuple(map(expression, arguments)))

    call.__name__ = call.__qualname__ = atom.name
    example = ", ".join(["eq.tpr()", "eq.tnr()"][: atom.arity])
    call.__doc__ = f"""{summary} {atom.shape.value.value.capitalize()}.

    Examples
    --------
    >>> import equirate as eq
    >>> eq.{atom.name}({example})
    {atom.name}({example.replace("eq.", "")})
    """
    return call


log = _atom(atoms.LOG, "Natural logarithm of a non-negative expression.")
sqrt = _atom(atoms.SQRT, "Square root of a non-negative expression.")
square = _atom(atoms.SQUARE, "Square.")
inv = _atom(atoms.INV, "One over a non-negative expression.")
abs = _atom(atoms.ABS, "Absolute value; the built-in abs does the same.")
max = _atom(atoms.MAX, "Largest of several expressions.")
min = _atom(atoms.MIN, "Smallest of several expressions.")
norm = _atom(atoms.NORM, "Euclidean norm of several expressions.")
geo_mean = _atom(atoms.GEO_MEAN, "Geometric mean of non-negative expressions.")
harmonic_mean = _atom(atoms.HARMONIC_MEAN, "Harmonic mean of non-negative expressions.")


def kl(p: Any, expr: Any) -> Expression:
    """Kullback-Leibler divergence of the coin with probability ``expr`` from the coin with probability ``p``.

    ``p log(p / expr) + (1 - p) log((1 - p) / (1 - expr))``, convex in ``expr``; ``p`` is a number or a constant
    such as ``base_rate()``. (Table 1 of the paper prints p for the second factor; it is 1 - p.)

    Examples
    --------
    >>> kl(0.3, positive_rate())
    kl(0.3, positive_rate())
    >>> round(kl(0.5, positive_rate()).evaluate([0, 1], [0.5, 0.5]), 12)
    0.0
    """
    p, expr = expression(p), expression(expr)
    if p.curvature is not Curvature.CONSTANT:
        raise DisciplineError(
            f"kl(p, expr) needs a constant first argument, not {p!r}: give a number or base_rate(slice)"
        )
    for what, part in (("first", p), ("second", expr)):
        if part.interval not in UNIT:
            raise DisciplineError(
                f"the {what} argument of kl must lie in [0, 1]; {part!r} has the range {part.interval}: use a rate"
            )
    terms = [
        -(weight * log(side)) + _XLogX(weight)
        for weight, side in ((p, expr), (1 - p, 1 - expr))
        if not (weight.interval.lo == weight.interval.hi == 0)
    ]
    return Named(call_text("kl", p, expr), sum(terms[1:], start=terms[0]), within=NONNEGATIVE)


@dataclass(frozen=True, eq=False, repr=False)
class _XLogX(Operand):
    """x log x of a constant, with its limit 0 at x = 0."""

    part: Expression

    @cached_property
    def curvature(self) -> Curvature:
        """Constant, like its part."""
        return Curvature.CONSTANT

    @cached_property
    def interval(self) -> Interval:
        """Range over [0, 1]."""
        return Interval(-1 / math.e, 0.0)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The one part."""
        return (self.part,)

    def value(self, measure: Measure) -> Value:
        """Return x log x."""
        x = self.part.value(measure)
        return np.where(np.asarray(x) > 0, x * np.log(np.maximum(x, 1e-300)), 0.0)[()]

    def __repr__(self) -> str:
        return f"xlogx({self.part!r})"


def black_box(function: Callable[..., Any], *rates: Any, increasing: bool | Sequence[bool]) -> Expression:
    """Any function of one to three rates, known only through its values and its direction in each.

    Parameters
    ----------
    function
        Called with numpy arrays, one per rate; returns an array. It is to be minimised or bounded above where it
        stands with a plus sign.
    rates
        Affine expressions.
    increasing
        Whether the function increases with each rate; one value, or one per rate.

    Examples
    --------
    >>> black_box(lambda fpr, fnr: fpr**2 + 3 * fnr, fpr(), fnr(), increasing=True).curvature.value
    'unknown'
    """
    arguments = tuple(map(expression, rates))
    if not callable(function):
        raise TypeError(f"black_box takes a function first; got {function!r}")
    if not 1 <= len(arguments) <= 3:
        raise TypeError(
            f"black_box takes one to three rates, because the slack player searches a grid; got {len(arguments)}"
        )
    for argument in arguments:
        if argument.curvature is not Curvature.AFFINE:
            raise DisciplineError(f"black_box takes affine expressions; {argument!r} is {argument.curvature.value}")
    directions = (increasing,) * len(arguments) if isinstance(increasing, bool) else tuple(map(bool, increasing))
    if len(directions) != len(arguments):
        raise TypeError(f"increasing has {len(directions)} entries for {len(arguments)} rates")
    return BlackBox(function, arguments, directions)


# -- scores and divergences of Table 1 ------------------------------------------------------------


def g_mean(slice: Slice | None = None) -> Expression:
    """G-mean, a score to maximise: sqrt(tpr * tnr)."""
    s = _slice(slice, "g_mean")
    return _named(geo_mean(tpr(s), tnr(s)), "g_mean", s)


def h_mean(slice: Slice | None = None) -> Expression:
    """H-mean, a score to maximise: the harmonic mean of tpr and tnr."""
    s = _slice(slice, "h_mean")
    return _named(harmonic_mean(tpr(s), tnr(s)), "h_mean", s)


def q_mean(slice: Slice | None = None) -> Expression:
    """Q-mean, a score to maximise: 1 - sqrt((fpr^2 + fnr^2) / 2)."""
    s = _slice(slice, "q_mean")
    return _named(1 - norm(fpr(s), fnr(s)) / math.sqrt(2), "q_mean", s)


def kl_divergence(slice: Slice | None = None, prior: Any = None) -> Expression:
    """Divergence of a slice's predicted proportion of positives from a prior, to minimise.

    ``prior`` is a number or a constant expression and defaults to the overall base rate of the data.
    """
    s = _slice(slice, "kl_divergence")
    p = base_rate() if prior is None else expression(prior)
    shown = () if prior is None else (_Keyword("prior", p),)
    return _named(kl(p, positive_rate(s)), "kl_divergence", s, *shown)


# -- ordinary losses ------------------------------------------------------------------------------


def log_loss(slice: Slice | None = None) -> Expression:
    """Average logistic loss of the scores: a term of the objective."""
    return Loss("log_loss", _slice(slice, "log_loss"))


def hinge_loss(slice: Slice | None = None) -> Expression:
    """Average hinge loss of the scores: a term of the objective."""
    return Loss("hinge_loss", _slice(slice, "hinge_loss"))
