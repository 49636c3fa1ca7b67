"""Hints for texts of the language that people write by habit: ``race = 'Black'``, ``80%``, ``auc()``, ``a and b``.

In: what was written. Out: what to write instead, for the end of an error message; empty if there is no hint.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..data.slices import Attribute, Slice
from ..language.catalogue import CATALOGUE

_STRING = re.compile(r"'[^']*'|\"[^\"]*\"")
_BRACKETS = re.compile(r"\[[^\]]*\]")
_SPACED = re.compile(
    r"(?:`([^`]+)`|(?<![\w.])((?!(?:and|or|not|is|in|for|if)\b)[^\W\d]\w*(?: +(?!(?:and|or|not|is)\b)\w+)+)\b(?! *\())"
    r"(?:\s*([<>=!]=?)\s*('+|[\w.]+))?"
)
"""A name of several words, or in backticks, and what it is compared with; strings are blanked."""
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])(\d+),(\d+)(?![\w.,])")
_SWAPPED = re.compile(r"=[<>]")
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
    near = difflib.get_close_matches(name.casefold(), list(known), 1)
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
    if _SWAPPED.search(text):
        return ": at most is <=, and at least is >="
    hint = spaces_hint(text) or comma_hint(text)
    if hint:
        return hint
    return ": attributes are compared with ==, as in race == 'Black'" if _ONE_EQUALS.search(text) else ""


def spaces_hint(text: str) -> str:
    """What to write for a name with spaces, or in backticks.

    Examples
    --------
    >>> spaces_hint("tpr(Sex of applicant = 'female') >= 0.5")
    ": write attr('Sex of applicant') == 'female'"
    """
    bare = _STRING.sub(lambda string: "'" * len(string[0]), text)
    match = _SPACED.search(bare)
    if match is None:
        return ""
    name, symbol = match[1] or match[2], "==" if match[3] == "=" else match[3]
    return f": write attr({name!r})" + (f" {symbol} {text[match.start(4) : match.end()]}" if symbol else "")


def comma_hint(text: str) -> str:
    """What to write for a number with a decimal comma.

    Examples
    --------
    >>> comma_hint("f1() >= 0,3")
    ': with a decimal point, 0.3'
    """
    match = _DECIMAL_COMMA.search(_BRACKETS.sub("", _STRING.sub("", text)))
    return "" if match is None else f": with a decimal point, {match[1]}.{match[2]}"


SYMBOLS: dict[type[ast.cmpop], str] = {
    **{ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Is: "==", ast.IsNot: "!="},
}
MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}


def compared(left: ast.expr, operation: ast.cmpop, right: ast.expr) -> str:
    """A comparison of Python as the language has it, with a number on the right.

    Examples
    --------
    >>> for text in ("30 <= age", "sex is 'F'", "sex not in ['F', 'M']"):
    ...     node = ast.parse(text, mode="eval").body
    ...     print(compared(node.left, node.ops[0], node.comparators[0]))
    age >= 30
    sex == 'F'
    ~sex.isin(['F', 'M'])
    """
    ours, theirs = ast.unparse(left), ast.unparse(right)
    if isinstance(operation, (ast.In, ast.NotIn)):
        return f"{'~' * isinstance(operation, ast.NotIn)}{ours}.isin({theirs})"
    symbol = SYMBOLS[type(operation)]
    if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
        ours, symbol, theirs = theirs, MIRRORED.get(symbol, symbol), ours
    return f"{ours} {symbol} {theirs}"


def call_hint(named: Iterable[str]) -> str:
    """What to write where attributes have names of functions.

    Examples
    --------
    >>> call_hint(["recall"]), call_hint(["sex"])
    ('; did you mean recall()?', '')
    """
    return next((f"; did you mean {name}()?" for name in sorted(named) if name in CATALOGUE), "")


def given_hint(given: Any) -> str:
    """What to do with text, or a slice, that is given instead of constraints or an objective."""
    if isinstance(given, str):
        return "; text is read by eq.parse"
    if isinstance(given, Slice):
        return call_hint(given.attributes) or "; this is a slice, for use in a rate: tpr(...)"
    return ""


def equals_hint(function: Callable[..., Any], option: str, value: Any) -> str:
    """What to write for a slice with one equals sign, which reads as an option that the function does not have."""
    parameters = inspect.signature(function).parameters
    if option in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return ""
    if not isinstance(value, (str, int, float, Attribute)):
        return ""
    text = value.name if isinstance(value, Attribute) else value
    return f"there is no option {option!r}: attributes are compared with two equals signs, as in {option} == {text!r}"
