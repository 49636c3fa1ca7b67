"""Definitions of metrics over all classes, and the metrics that exist for several classes only.

In: classes by value, a slice. Out: expressions of rates with ``label=``. `over_classes` finds them by name; the
public functions are in `CLASS_METRICS`.

Examples
--------
>>> import equirate as eq
>>> eq.macro_f1().evaluate(["a", "b", "c", "c"], ["a", "b", "c", "b"])
0.7777777777777777
>>> eq.worst_recall().evaluate(["a", "b", "c", "c"], ["a", "b", "c", "b"])
0.5
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.errors import DataError
from ..data.labels import Classes, code_of, listed_values
from ..data.slices import Slice
from .class_refusals import AVERAGED
from .expressions import Constant, Expression, expression
from .functions import ATOMIC, XLogX, ratio
from .metrics import METRICS
from .nodes import Keyword, call_text
from .over_classes import DEFINITIONS, over_classes
from .rates import LINEAR, accuracy, base_rate, coverage, recall, slice_given

_FALLING = ("fnr", "fpr")  # rates whose largest value is the worst
_MICRO = {
    **dict.fromkeys(("recall", "tpr", "precision", "f1", "f_score"), "accuracy"),
    "jaccard": "jaccard",
}
"""Micro averages if every example has one label and one prediction."""
_FLOOR_OF_CHANCE = 1e-6  # the error rate of chance is at least the share of the labels other than the most frequent


def _definition(function: Callable[..., Expression]) -> Callable[..., Expression]:
    DEFINITIONS[function.__name__.strip("_")] = function
    return function


def _of_class(name: str, slice_: Slice, label: Any, *first: Any) -> Expression:
    function = LINEAR.get(name) or METRICS[name]
    return function(*first, slice_, label=label)


def _total(parts: list[Expression]) -> Expression:
    return sum(parts[1:], start=parts[0])


@_definition
def _average(classes: Classes, name: str, average: str, slice_: Slice, *first: Any) -> Expression:
    if average == "micro":
        if name not in _MICRO:
            raise TypeError(f"average='micro' is for {', '.join(_MICRO)}; of {name} take 'macro' or 'weighted'")
        right = accuracy(slice_)
        return right if _MICRO[name] == "accuracy" else right / (2 - right)
    each = [_of_class(name, slice_, label, *first) for label in classes]
    if average == "macro":
        return _total(each) / len(classes)
    return _total([base_rate(slice_, label=label) * one for label, one in zip(classes, each, strict=True)])


@_definition
def _worst(classes: Classes, name: str, slice_: Slice, *first: Any) -> Expression:
    return ATOMIC["max" if name in _FALLING else "min"](*(_of_class(name, slice_, k, *first) for k in classes))


@_definition
def _balanced_accuracy(classes: Classes, slice_: Slice) -> Expression:
    return _average(classes, "recall", "macro", slice_)


@_definition
def _g_mean(classes: Classes, slice_: Slice) -> Expression:
    return ATOMIC["geo_mean"](*(recall(slice_, label=label) for label in classes))


@_definition
def _h_mean(classes: Classes, slice_: Slice) -> Expression:
    return ATOMIC["harmonic_mean"](*(recall(slice_, label=label) for label in classes))


@_definition
def _q_mean(classes: Classes, slice_: Slice) -> Expression:
    missed = [LINEAR["fnr"](slice_, label=label) for label in classes]
    return 1 - ATOMIC["norm"](*missed) / math.sqrt(len(classes))


@_definition
def _kappa(classes: Classes, slice_: Slice) -> Expression:
    chance = _total([base_rate(slice_, label=label) * coverage(label, slice_) for label in classes])
    beyond = _total([base_rate(slice_, label=k) * LINEAR["negative_rate"](slice_, label=k) for k in classes])
    return ratio(accuracy(slice_) - chance, beyond, floor=_FLOOR_OF_CHANCE)  # 1 - chance, which is not negative


@_definition
def _kl_divergence(classes: Classes, slice_: Slice, prior: tuple[tuple[Any, float], ...] | None) -> Expression:
    shares: dict[Any, Expression] = {label: base_rate(label=label) for label in classes}
    if prior is not None:
        for label, _ in prior:
            code_of(label, classes, "prior of kl_divergence")
        given = dict(prior)
        missing = [label for label in classes if label not in given]
        if missing:
            raise DataError(f"prior of kl_divergence needs a share for every class; it lacks {listed_values(missing)}")
        shares = {label: expression(given[label]) for label in classes}
    kept = [(p, coverage(label, slice_)) for label, p in shares.items() if not _is_zero(p)]
    return _total([XLogX(p) - p * ATOMIC["log"](q) for p, q in kept])


def _is_zero(part: Expression) -> bool:
    return isinstance(part, Constant) and part.number == 0


@_definition
def _cost(classes: Classes, matrix: tuple[tuple[float, ...], ...], labels: Classes, slice_: Slice) -> Expression:
    missing = [label for label in classes if label not in labels] if len(classes) > 2 else []
    if missing:
        raise DataError(f"cost(matrix=...) has no row for {listed_values(missing)}: name every class of y in labels=")
    from .rates import confusion

    parts = [
        price * confusion(true, predicted, slice_)
        for true, row in zip(labels, matrix, strict=True)
        for predicted, price in zip(labels, row, strict=True)
        if price
    ]
    return _total(parts)


# -- public ---------------------------------------------------------------------------------------


def macro_f1(slice: Slice | None = None) -> Expression:
    """Mean F-measure of the classes, within a slice: the same as f1(average="macro"). A sum of ratios.

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
    >>> macro_f1()
    macro_f1()
    """
    s = slice_given(slice, "macro_f1")
    return over_classes(call_text("macro_f1", s), "average", "f1", "macro", s)


def worst_recall(slice: Slice | None = None) -> Expression:
    """Smallest recall of any class, within a slice. Concave: a score to maximise, or to bound from below.

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
    >>> worst_recall().curvature.value
    'concave'
    """
    s = slice_given(slice, "worst_recall")
    return over_classes(call_text("worst_recall", s), "worst", "recall", s)


def worst(rate: str, slice: Slice | None = None, *, beta: float | None = None) -> Expression:
    """Worst value of a rate over the classes, within a slice: the smallest, of fnr and fpr the largest.

    Parameters
    ----------
    rate
        Name of a rate or metric of one class, such as ``"precision"``.
    slice
        No slice means everybody.
    beta
        That of ``"f_score"``.

    Returns
    -------
    Expression
        Combine it with others, or compare it.

    Examples
    --------
    >>> worst("precision")
    worst('precision')
    """
    if rate not in AVERAGED:
        raise TypeError(f"worst takes the name of a rate of one class: {', '.join(AVERAGED)}; got {rate!r}")
    if (rate == "f_score") != (beta is not None):
        raise TypeError("beta goes with worst('f_score', beta=...), and with nothing else")
    s = slice_given(slice, "worst")
    more = () if beta is None else (Keyword("beta", beta),)
    return over_classes(call_text("worst", rate, s, *more), "worst", rate, s, *(() if beta is None else (beta,)))


CLASS_METRICS: dict[str, Callable[..., Expression]] = {
    "macro_f1": macro_f1,
    "worst_recall": worst_recall,
    "worst": worst,
}
"""Every metric of this module that users call, by its name."""
