"""Hints for texts of the language that people write by habit: ``race = 'Black'``, ``80%``, ``auc()``.

In: what was written. Out: what to write instead, for the end of an error message; empty if there is no hint.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..data.slices import Attribute

_PERCENT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*%")
_ONE_EQUALS = re.compile(r"(?<![<>=!])=(?!=)")
_SCORES = (
    "is a function of scores, and constraints here are on decisions: balanced_accuracy() or g_mean() rank decisions, "
    "and log_loss() trains scores"
)
_CALLED = {
    **dict.fromkeys(("auc", "roc_auc", "roc_auc_score", "auroc", "average_precision", "gini"), _SCORES),
    **dict.fromkeys(("sensitivity", "hit_rate", "true_positive_rate", "recall_score"), "is recall() here"),
    **dict.fromkeys(("specificity", "true_negative_rate", "selectivity"), "is tnr() here"),
    **dict.fromkeys(("ppv", "precision_score", "positive_predictive_value"), "is precision() here"),
    **dict.fromkeys(("selection_rate", "acceptance_rate"), "is positive_rate() here"),
    **dict.fromkeys(("mcc", "matthews_corrcoef", "phi"), "is matthews() here"),
    **dict.fromkeys(("fdr", "false_discovery_rate"), "is 1 - precision() here"),
    **dict.fromkeys(("for_", "false_omission_rate"), "is 1 - npv() here"),
    **dict.fromkeys(("f2", "fbeta", "fbeta_score"), "is f_score(beta) here, as in f_score(2)"),
    "disparate_impact": "is a ratio of rates here: positive_rate(sex == 'F') >= 0.8 * positive_rate(sex == 'M')",
}
"""Names of other libraries: how equirate calls the same metric, or why it has none."""


def function_hint(name: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown function.

    Examples
    --------
    >>> function_hint("precison", ["precision", "f1"]), function_hint("mcc", [])
    ("; did you mean 'precision'?", ': mcc() is matthews() here')
    """
    if name.casefold() in _CALLED:
        return f": {name}() {_CALLED[name.casefold()]}"
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def percent_hint(text: str) -> str:
    """What to write for a share in percent.

    Examples
    --------
    >>> percent_hint("f1() >= 80%")
    ': write 0.8 for 80%'
    """
    match = _PERCENT.search(text)
    return "" if match is None else f": write {float(match[1]) / 100:g} for {match[0]}"


def syntax_hint(text: str) -> str:
    """What to write instead of a text with a syntax error."""
    if _PERCENT.search(text):
        return percent_hint(text)
    return ": attributes are compared with ==, as in race == 'Black'" if _ONE_EQUALS.search(text) else ""


def equals_hint(function: Callable[..., Any], option: str, value: Any) -> str:
    """What to write for a slice with one equals sign, which reads as an option that the function does not have."""
    parameters = inspect.signature(function).parameters
    if option in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return ""
    if not isinstance(value, (str, int, float, Attribute)):
        return ""
    text = value.name if isinstance(value, Attribute) else value
    return f"there is no option {option!r}: attributes are compared with two equals signs, as in {option} == {text!r}"
