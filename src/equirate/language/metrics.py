"""Metrics with a name of their own, defined by rates and functions of them.

In: a slice, perhaps a parameter or two. Out: expressions that print by their name and know their class (``curvature``)
from the definition. `METRICS` holds them by name: a new metric is a function here, marked ``@_metric``.

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..data.slices import Attribute, Slice
from .curvature import REALS, Interval
from .expressions import Expression, expression, number
from .functions import black_box, geo_mean, harmonic_mean, kl, norm, positive, ratio
from .nodes import Named, call_text
from .rates import (
    LINEAR,
    base_rate,
    column_name,
    fn,
    fnr,
    fp,
    fpr,
    losses,
    negative_rate,
    positive_rate,
    slice_given,
    tn,
    tnr,
    tp,
    tpr,
    wins,
)

_SIGNED = Interval(-1.0, 1.0)

Function = TypeVar("Function", bound=Callable[..., Expression])

METRICS: dict[str, Callable[..., Expression]] = {}
"""Every metric of this module by its name."""


def _metric(function: Function) -> Function:
    METRICS[function.__name__] = function
    return function


def _named(definition: Expression, name: str, *arguments: Any, within: Interval = REALS) -> Expression:
    return Named(call_text(name, *arguments), definition, within)


# -- sums of rates --------------------------------------------------------------------------------


@_metric
def balanced_accuracy(slice: Slice | None = None) -> Expression:
    """Balanced accuracy within a slice: (tpr + tnr) / 2. Affine."""
    s = slice_given(slice, "balanced_accuracy")
    return _named((tpr(s) + tnr(s)) / 2, "balanced_accuracy", s)


@_metric
def informedness(slice: Slice | None = None) -> Expression:
    """Informedness (Youden's J) within a slice: tpr + tnr - 1. Affine."""
    s = slice_given(slice, "informedness")
    return _named(tpr(s) - fpr(s), "informedness", s)


@_metric
def cost(slice: Slice | None = None, *, fp: float, fn: float) -> Expression:
    """Average cost of an example within a slice, given what one false positive and one false negative cost. Affine.

    Examples
    --------
    >>> cost(fp=1, fn=5)
    cost(fp=1, fn=5)
    >>> cost(fp=1, fn=5).evaluate([0, 1, 1, 0], [1, 1, 0, 0])
    1.5
    """
    s = slice_given(slice, "cost")
    prices = {name: number(value, f"a number for {name} of cost") for name, value in (("fp", fp), ("fn", fn))}
    if min(prices.values()) < 0 or not any(prices.values()):
        raise TypeError(f"the costs fp and fn must not be negative, and not both 0; got {fp!r} and {fn!r}")
    definition = prices["fp"] * LINEAR["fp"](s) + prices["fn"] * LINEAR["fn"](s)
    return _named(definition, "cost", s, *(_Keyword(name, expression(value)) for name, value in prices.items()))


# -- ratios ---------------------------------------------------------------------------------------


@_metric
def precision(slice: Slice | None = None) -> Expression:
    """P[label 1 | predicted 1] within a slice: tp / positive_rate."""
    s = slice_given(slice, "precision")
    return _named(tp(s) / positive_rate(s), "precision", s)


@_metric
def npv(slice: Slice | None = None) -> Expression:
    """P[label 0 | predicted 0] within a slice (negative predictive value): tn / negative_rate."""
    s = slice_given(slice, "npv")
    return _named(tn(s) / negative_rate(s), "npv", s)


@_metric
def f1(slice: Slice | None = None) -> Expression:
    """F-measure within a slice: 2 tp / (2 tp + fp + fn)."""
    s = slice_given(slice, "f1")
    return _named((2 * tp(s)) / (2 * tp(s) + fp(s) + fn(s)), "f1", s)


@_metric
def f_score(beta: float, slice: Slice | None = None) -> Expression:
    """F-score that weighs recall ``beta`` times as much as precision."""
    beta = positive(beta, "beta, the first argument of f_score")
    s, b = slice_given(slice, "f_score"), beta**2
    return _named(((1 + b) * tp(s)) / ((1 + b) * tp(s) + b * fn(s) + fp(s)), "f_score", beta, s)


@_metric
def jaccard(slice: Slice | None = None) -> Expression:
    """Intersection over union of predicted and true positives: tp / (tp + fp + fn)."""
    s = slice_given(slice, "jaccard")
    return _named(tp(s) / (tp(s) + fp(s) + fn(s)), "jaccard", s)


@_metric
def markedness(slice: Slice | None = None) -> Expression:
    """Markedness within a slice: precision + npv - 1. A sum of two ratios."""
    s = slice_given(slice, "markedness")
    return _named(precision(s) + npv(s) - 1, "markedness", s)


@_metric
def lift(slice: Slice | None = None) -> Expression:
    """How many times as frequent label 1 is among those predicted 1 as in the whole slice: precision / base_rate.

    A ratio.
    """
    s = slice_given(slice, "lift")
    return _named(precision(s) / base_rate(s), "lift", s)


_FLOOR_OF_CHANCE = 1e-6  # chance errs at least as often as the rarer label occurs


@_metric
def kappa(slice: Slice | None = None) -> Expression:
    """Cohen's kappa within a slice: accuracy beyond chance, as a share of what there is beyond chance. A ratio.

    With the share p of label 1 and q of predicted 1 this is 2 (tp - p q) / (p (1 - q) + (1 - p) q).
    """
    s = slice_given(slice, "kappa")
    p = base_rate(s)
    chance = p * negative_rate(s) + (1 - p) * positive_rate(s)
    definition = ratio(2 * tp(s) - 2 * (p * positive_rate(s)), chance, floor=_FLOOR_OF_CHANCE)
    return _named(definition, "kappa", s, within=_SIGNED)


@_metric
def matthews(slice: Slice | None = None) -> Expression:
    """Matthews correlation of prediction and label within a slice.

    It is neither convex nor concave nor a ratio of affine functions, but with the share of label 1 fixed by the data it
    is a function of two rates, which rises with tpr and falls with fpr: solved as black boxes are.

    Examples
    --------
    >>> matthews().curvature.value
    'unknown'
    >>> matthews().evaluate([0, 1, 1, 0], [0, 1, 1, 0])
    1.0
    """
    s = slice_given(slice, "matthews")
    box = black_box(_correlation, tpr(s), fpr(s), base_rate(s), increasing=[True, False, True])
    return _named(box, "matthews", s, within=_SIGNED)


def _correlation(tpr: Any, fpr: Any, p: Any) -> Any:
    """Correlation of label and prediction; 0 where one of them never changes, as in scikit-learn."""
    q = p * tpr + (1 - p) * fpr
    spread = np.sqrt(np.clip(p * (1 - p) * q * (1 - q), 0.0, None))
    covariance = p * (1 - p) * (tpr - fpr)
    return np.divide(covariance, spread, out=np.zeros(np.shape(spread)), where=spread > 0)


_FLOOR_OF_LOSSES = 1e-3


@_metric
def win_loss_ratio(
    baseline: str | Attribute, slice: Slice | None = None, *, floor: float = _FLOOR_OF_LOSSES
) -> Expression:
    """Wins over losses against another model: above 1, the changes are for the better.

    While training, losses below ``floor`` count as ``floor``; evaluation is exact.
    """
    s, name = slice_given(slice, "win_loss_ratio"), column_name(baseline, "win_loss_ratio")
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


# -- scores and divergences of Table 1 ------------------------------------------------------------


@_metric
def g_mean(slice: Slice | None = None) -> Expression:
    """G-mean, a score to maximise: sqrt(tpr * tnr)."""
    s = slice_given(slice, "g_mean")
    return _named(geo_mean(tpr(s), tnr(s)), "g_mean", s)


@_metric
def h_mean(slice: Slice | None = None) -> Expression:
    """H-mean, a score to maximise: the harmonic mean of tpr and tnr."""
    s = slice_given(slice, "h_mean")
    return _named(harmonic_mean(tpr(s), tnr(s)), "h_mean", s)


@_metric
def q_mean(slice: Slice | None = None) -> Expression:
    """Q-mean, a score to maximise: 1 - sqrt((fpr^2 + fnr^2) / 2)."""
    s = slice_given(slice, "q_mean")
    return _named(1 - norm(fpr(s), fnr(s)) / math.sqrt(2), "q_mean", s)


@_metric
def kl_divergence(slice: Slice | None = None, prior: Any = None) -> Expression:
    """Divergence of a slice's predicted proportion of positives from a prior, to minimise.

    ``prior`` is a number or a constant expression and defaults to the overall base rate of the data.
    """
    s = slice_given(slice, "kl_divergence")
    p = base_rate() if prior is None else expression(prior)
    shown = () if prior is None else (_Keyword("prior", p),)
    return _named(kl(p, positive_rate(s)), "kl_divergence", s, *shown)
