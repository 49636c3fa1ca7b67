"""Named metrics, defined by rates and functions of them.

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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from .._core.choices import Average
from ..data.slices import Attribute, Slice
from .curvature import REALS, Interval
from .expressions import Expression, expression, number
from .functions import black_box, geo_mean, harmonic_mean, kl, norm, positive, ratio
from .nodes import Keyword, Named, call_text
from .over_classes import DEFINITIONS, averaged, label_given, over_classes
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


def _over_classes(of_two: Expression, name: str, *arguments: Any, within: Interval = REALS) -> Expression:
    """A metric over all classes, with its definition for two."""
    return over_classes(call_text(name, *arguments), name, *arguments, definition=of_two, within=within)


def _label(label: Any, name: str) -> tuple[Any, tuple[Keyword, ...]]:
    """A class by value, and how it is written."""
    known = label_given(label, name)
    return known, () if known is None else (Keyword("label", known),)


# -- sums of rates --------------------------------------------------------------------------------


@_metric
def balanced_accuracy(slice: Slice | None = None) -> Expression:
    """Balanced accuracy within a slice: (tpr + tnr) / 2, the mean recall of all classes. Affine.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "balanced_accuracy")
    return _over_classes((tpr(s) + tnr(s)) / 2, "balanced_accuracy", s)


@_metric
def informedness(slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
    """Informedness (Youden's J) within a slice: tpr + tnr - 1. Affine.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.
    label
        The class that counts as 1, the others together being 0; None for the positive one of two.
    average
        Mean over all classes, instead of ``label``: ``"macro"`` or ``"weighted"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "informedness")
    if average is not None:
        return averaged("informedness", average, s, label)
    k, shown = _label(label, "informedness")
    return _named(tpr(s, label=k) - fpr(s, label=k), "informedness", s, *shown)


@_metric
def cost(
    slice: Slice | None = None,
    *,
    fp: float | None = None,
    fn: float | None = None,
    matrix: Sequence[Sequence[float]] | None = None,
    labels: Sequence[Any] | None = None,
) -> Expression:
    """Average cost of an example within a slice, given what mistakes cost. Affine.

    Parameters
    ----------
    slice
        No slice means everybody.
    fp, fn
        Cost of one false positive and of one false negative, with two classes.
    matrix, labels
        Costs of any classes: ``matrix[i][j]`` is what it costs to predict ``labels[j]`` where ``labels[i]`` is true.

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> cost(fp=1, fn=5)
    cost(fp=1, fn=5)
    >>> cost(fp=1, fn=5).evaluate([0, 1, 1, 0], [1, 1, 0, 0])
    1.5
    """
    s = slice_given(slice, "cost")
    if matrix is not None:
        if fp is not None or fn is not None:
            raise TypeError("cost takes fp= and fn=, or matrix= and labels=, not both")
        return _cost_matrix(s, matrix, labels)
    if fp is None or fn is None:
        raise TypeError("cost needs fp= and fn=, or matrix= and labels=")
    prices = {name: number(value, f"a number for {name} of cost") for name, value in (("fp", fp), ("fn", fn))}
    if min(prices.values()) < 0 or not any(prices.values()):
        raise TypeError(f"the costs fp and fn must not be negative, and not both 0; got {fp!r} and {fn!r}")
    definition = prices["fp"] * LINEAR["fp"](s) + prices["fn"] * LINEAR["fn"](s)
    return _named(definition, "cost", s, *(Keyword(name, expression(value)) for name, value in prices.items()))


def _cost_matrix(s: Slice, matrix: Any, labels: Any) -> Expression:
    known = [] if labels is None else [label_given(label, "cost") for label in labels]
    rows = tuple(tuple(number(price, "a number in the matrix of cost") for price in row) for row in matrix)
    if len(known) < 2 or len(set(known)) != len(known):
        raise TypeError("cost(matrix=...) needs labels=[...]: each class once, in the order of rows and columns")
    if len(rows) != len(known) or any(len(row) != len(known) for row in rows):
        raise TypeError(f"the matrix of cost must have a row and a column for each of {len(known)} labels")
    if min(map(min, rows)) < 0 or not any(map(any, rows)):
        raise TypeError("the costs in a matrix must not be negative, and not all 0")
    text = call_text("cost", s, Keyword("matrix", [list(row) for row in rows]), Keyword("labels", known))
    return over_classes(text, "cost", rows, tuple(known), s, definition=DEFINITIONS["cost"](known, rows, known, s))


# -- ratios ---------------------------------------------------------------------------------------


@_metric
def precision(slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
    """P[label 1 | predicted 1] within a slice: tp / positive_rate.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.
    label
        The class that counts as 1, the others together being 0; None for the positive one of two.
    average
        Mean over all classes, instead of ``label``: ``"macro"``, ``"weighted"`` or ``"micro"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "precision")
    if average is not None:
        return averaged("precision", average, s, label)
    k, shown = _label(label, "precision")
    return _named(tp(s, label=k) / positive_rate(s, label=k), "precision", s, *shown)


@_metric
def npv(slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
    """P[label 0 | predicted 0] within a slice (negative predictive value): tn / negative_rate.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.
    label
        The class that counts as 1, the others together being 0; None for the positive one of two.
    average
        Mean over all classes, instead of ``label``: ``"macro"`` or ``"weighted"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "npv")
    if average is not None:
        return averaged("npv", average, s, label)
    k, shown = _label(label, "npv")
    return _named(tn(s, label=k) / negative_rate(s, label=k), "npv", s, *shown)


@_metric
def f1(slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
    """F-measure within a slice: 2 tp / (2 tp + fp + fn).

    Parameters
    ----------
    slice
        Part of the data; None for everybody.
    label
        The class that counts as 1, the others together being 0; None for the positive one of two.
    average
        Mean over all classes, instead of ``label``: ``"macro"``, ``"weighted"`` or ``"micro"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "f1")
    if average is not None:
        return averaged("f1", average, s, label)
    k, shown = _label(label, "f1")
    right, wrong = tp(s, label=k), fp(s, label=k)
    return _named((2 * right) / (2 * right + wrong + fn(s, label=k)), "f1", s, *shown)


@_metric
def f_score(
    beta: float, slice: Slice | None = None, *, label: Any = None, average: Average | None = None
) -> Expression:
    """F-score that weighs recall ``beta`` times as much as precision.

    Parameters
    ----------
    beta
        Weight of recall, relative to precision.
    slice
        Part of the data; None for everybody.
    label
        The class that counts as 1, the others together being 0; None for the positive one of two.
    average
        Mean over all classes, instead of ``label``: ``"macro"``, ``"weighted"`` or ``"micro"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    beta = positive(beta, "beta, the first argument of f_score")
    s, b = slice_given(slice, "f_score"), beta**2
    if average is not None:
        return averaged("f_score", average, s, label, beta)
    k, shown = _label(label, "f_score")
    right, missed = tp(s, label=k), fn(s, label=k)
    definition = ((1 + b) * right) / ((1 + b) * right + b * missed + fp(s, label=k))
    return _named(definition, "f_score", beta, s, *shown)


@_metric
def jaccard(slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
    """Intersection over union of predicted and true positives: tp / (tp + fp + fn).

    Parameters
    ----------
    slice
        Part of the data; None for everybody.
    label
        The class that counts as 1, the others together being 0; None for the positive one of two.
    average
        Mean over all classes, instead of ``label``: ``"macro"``, ``"weighted"`` or ``"micro"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "jaccard")
    if average is not None:
        return averaged("jaccard", average, s, label)
    k, shown = _label(label, "jaccard")
    right = tp(s, label=k)
    return _named(right / (right + fp(s, label=k) + fn(s, label=k)), "jaccard", s, *shown)


@_metric
def markedness(slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
    """Markedness within a slice: precision + npv - 1. A sum of two ratios.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.
    label
        The class that counts as 1, the others together being 0; None for the positive one of two.
    average
        Mean over all classes, instead of ``label``: ``"macro"`` or ``"weighted"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "markedness")
    if average is not None:
        return averaged("markedness", average, s, label)
    k, shown = _label(label, "markedness")
    return _named(precision(s, label=k) + npv(s, label=k) - 1, "markedness", s, *shown)


@_metric
def lift(slice: Slice | None = None, *, label: Any = None, average: Average | None = None) -> Expression:
    """How many times as frequent label 1 is among those predicted 1 as in the whole slice: precision / base_rate.

    A ratio.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.
    label
        The class that counts as 1, the others together being 0; None for the positive one of two.
    average
        Mean over all classes, instead of ``label``: ``"macro"`` or ``"weighted"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "lift")
    if average is not None:
        return averaged("lift", average, s, label)
    k, shown = _label(label, "lift")
    return _named(precision(s, label=k) / base_rate(s, label=k), "lift", s, *shown)


_FLOOR_OF_CHANCE = 1e-6  # the error rate of chance is at least the share of the rarer label


@_metric
def kappa(slice: Slice | None = None) -> Expression:
    """Cohen's kappa within a slice: accuracy beyond chance, divided by the largest possible one. A ratio.

    With the share p of label 1 and q of predicted 1 this is 2 (tp - p q) / (p (1 - q) + (1 - p) q).

    Parameters
    ----------
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "kappa")
    p = base_rate(s)
    chance = p * negative_rate(s) + (1 - p) * positive_rate(s)
    definition = ratio(2 * tp(s) - 2 * (p * positive_rate(s)), chance, floor=_FLOOR_OF_CHANCE)
    return _over_classes(definition, "kappa", s, within=_SIGNED)


@_metric
def matthews(slice: Slice | None = None) -> Expression:
    """Matthews correlation of prediction and label within a slice.

    It is neither convex nor concave nor a ratio of affine functions, but with the share of label 1 fixed by the data it
    is a function of two rates, which rises with tpr and falls with fpr: solved as black boxes are.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with others, or compare it.

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

    Parameters
    ----------
    baseline
        The attribute, or its name, that holds the other model's predictions.
    slice
        Part of the data; None for everybody.
    floor
        The smallest share of losses in training.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s, name = slice_given(slice, "win_loss_ratio"), column_name(baseline, "win_loss_ratio")
    definition = ratio(wins(name, s), losses(name, s), floor=floor)
    promise = () if floor == _FLOOR_OF_LOSSES else (Keyword("floor", expression(floor)),)
    return _named(definition, "win_loss_ratio", name, s, *promise)


# -- scores and divergences of Table 1 ------------------------------------------------------------


@_metric
def g_mean(slice: Slice | None = None) -> Expression:
    """G-mean, a score to maximise: sqrt(tpr * tnr), the geometric mean of the recalls of all classes.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "g_mean")
    return _over_classes(geo_mean(tpr(s), tnr(s)), "g_mean", s)


@_metric
def h_mean(slice: Slice | None = None) -> Expression:
    """H-mean, a score to maximise: the harmonic mean of tpr and tnr, the recalls of all classes.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "h_mean")
    return _over_classes(harmonic_mean(tpr(s), tnr(s)), "h_mean", s)


@_metric
def q_mean(slice: Slice | None = None) -> Expression:
    """Q-mean, a score to maximise: 1 - sqrt((fpr^2 + fnr^2) / 2); of more classes, of the fnr of each.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "q_mean")
    return _over_classes(1 - norm(fpr(s), fnr(s)) / math.sqrt(2), "q_mean", s)


@_metric
def kl_divergence(slice: Slice | None = None, prior: Any = None) -> Expression:
    """Divergence of a slice's predicted proportions of the classes from a prior, to minimise.

    Parameters
    ----------
    slice
        Part of the data; None for everybody.
    prior
        The share of positives, a number or a constant expression; by default the base rate of all data. With more
        than two classes, a dict with the share of each.

    Returns
    -------
    Expression
        Combine it with others, or compare it.
    """
    s = slice_given(slice, "kl_divergence")
    if isinstance(prior, Mapping):
        shares = tuple((label_given(k, "kl_divergence"), _share(p)) for k, p in prior.items())
        if abs(sum(p for _, p in shares) - 1) > _ROUNDED:
            raise TypeError(f"the shares in prior of kl_divergence must add up to 1; got {dict(shares)!r}")
        return over_classes(
            call_text("kl_divergence", s, Keyword("prior", dict(shares))),
            "kl_divergence",
            s,
            shares,
            definition=kl(shares[-1][1], positive_rate(s)),
        )
    p = base_rate() if prior is None else expression(prior)
    if prior is None:
        return over_classes(call_text("kl_divergence", s), "kl_divergence", s, None, definition=kl(p, positive_rate(s)))
    return _named(kl(p, positive_rate(s)), "kl_divergence", s, Keyword("prior", p))


_ROUNDED = 1e-6


def _share(value: Any) -> float:
    share = number(value, "a number for a share in prior")
    if not 0 <= share <= 1:
        raise TypeError(f"a share in prior of kl_divergence lies between 0 and 1; got {value!r}")
    return share
