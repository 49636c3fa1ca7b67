"""Explain an expression: in words, what kind of function it is, and which algorithm solves it.

In: text of the language of rates. Out: an `TextExplanation`: words, curvature, range, the direction in which every rate
moves it, and the algorithm that ``"auto"`` takes, or the refusal with its rewrite. No data are needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._core.cached import cached_property
from .._core.errors import DisciplineError
from ..data.slices import EVERYBODY, Attribute, CombinedSlice, Comparison, Complement, Membership, Slice
from ..game.automatic import automatic
from ..language.curvature import Curvature, Interval
from ..language.expressions import Call, Constant, Constraint, Expression, Negative, Product, Quotient, Sum
from ..language.nodes import BlackBox, Loss, Named, Rate
from ..language.over_classes import OverClasses
from ..language.parity import ConstraintFamily
from ..problem.hints import call_hint
from ..problem.problem import Objective, Problem, maximize, minimize
from ..problem.text import parse

_RATES = {
    "positive_rate": "the share predicted positive",
    "negative_rate": "the share predicted negative",
    "accuracy": "the share predicted rightly",
    "error_rate": "the share predicted wrongly",
    "tpr": "the share of actual positives that are predicted positive",
    "recall": "the share of actual positives that are predicted positive",
    "fnr": "the share of actual positives that are predicted negative",
    "fpr": "the share of actual negatives that are predicted positive",
    "tnr": "the share of actual negatives that are predicted negative",
    "tp": "the share who are positive and predicted so",
    "fp": "the share who are negative and predicted positive",
    "tn": "the share who are negative and predicted so",
    "fn": "the share who are positive and predicted negative",
    "base_rate": "the share who are positive",
    "wins": "the share decided otherwise than by {baseline}, and rightly",
    "losses": "the share decided otherwise than by {baseline}, and wrongly",
    "churn": "the share decided otherwise than by {baseline}",
    "log_loss": "the logistic loss of the scores",
    "hinge_loss": "the hinge loss of the scores",
    "precision": "the share of predicted positives that are actual positives",
    "npv": "the share of predicted negatives that are actual negatives",
    "f1": "the F1 score (the harmonic mean of precision and recall)",
    "f_score": "the F score",
    "balanced_accuracy": "the mean of the shares of actual positives and negatives that are predicted rightly",
    "informedness": "the share of actual positives predicted positive less that of actual negatives",
    "markedness": "the share of actual positives among predicted positives less that among predicted negatives",
    "matthews": "the Matthews correlation of predictions and labels",
    "kappa": "Cohen's kappa of predictions and labels",
    "lift": "the share of actual positives among predicted positives over that among everybody",
    "cost": "the cost of wrong predictions",
    "coverage": "the share predicted as",
    "macro_f1": "the mean F1 score of the classes",
    "worst_recall": "the smallest share, over all classes, of a class that is predicted rightly",
    "jaccard": "the Jaccard index of predicted and actual positives",
    "win_loss_ratio": "the ratio of wins to losses",
    "g_mean": "the geometric mean of the shares of actual positives and negatives that are predicted rightly",
    "h_mean": "the harmonic mean of the shares of actual positives and negatives that are predicted rightly",
    "q_mean": "one minus the quadratic mean of the two kinds of error",
    "kl": "the KL divergence of a share from the share that it is to be",
    "kl_divergence": "the KL divergence of the predicted shares from the actual ones",
}
_ATOMS = {
    "log": "the logarithm of {}",
    "sqrt": "the square root of {}",
    "square": "the square of {}",
    "inv": "one over {}",
    "abs": "the absolute value of {}",
    "max": "the largest of {}",
    "min": "the smallest of {}",
    "norm": "the Euclidean norm of {}",
    "geo_mean": "the geometric mean of {}",
    "harmonic_mean": "the harmonic mean of {}",
}
_COMPARED = {
    "==": "is",
    "!=": "is not",
    "<": "is below",
    "<=": "is at most",
    ">": "is above",
    ">=": "is at least",
}
_CURVATURE = {
    Curvature.CONSTANT: "constant: no prediction changes it",
    Curvature.AFFINE: "affine: a weighted sum of rates",
    Curvature.CONVEX: "convex: it can be minimised, or bounded from above",
    Curvature.CONCAVE: "concave: it can be maximised, or bounded from below",
    Curvature.RATIO: "a ratio, or a sum of ratios, of weighted sums of rates: no guarantee of the global optimum",
    Curvature.UNKNOWN: "unknown: neither convex, concave nor a ratio",
}


@dataclass(frozen=True)
class TextExplanation:
    """What a text of the language means, and how it would be solved."""

    text: str
    what: str
    words: str
    curvature: str = ""
    range: str = ""
    directions: dict[str, str] = field(default_factory=dict)
    algorithms: dict[str, str] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)

    @property
    def possible(self) -> bool:
        """Whether it can be used in a problem."""
        return bool(self.algorithms) or not self.refusals

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {**self.__dict__, "possible": self.possible}

    def __str__(self) -> str:
        rows = [(self.what, self.text), ("in words", self.words)]
        rows += [(name, text) for name, text in (("curvature", self.curvature), ("range", self.range)) if text]
        rows += [("moves", f"{word} with {rate}") for rate, word in self.directions.items()]
        rows += [(use, f"by {name}") for use, name in self.algorithms.items()]
        rows += [(use, f"refused: {text}") for use, text in self.refusals.items()]
        width = max(len(name) for name, _ in rows) + 2
        indented = ((name, value.replace("\n", "\n" + " " * width)) for name, value in rows)
        return "\n".join(f"{name:<{width}}{value}" for name, value in indented)


def explain(text: str) -> TextExplanation:
    """Explain an expression, a constraint, an objective, a ready-made constraint or a slice.

    Examples
    --------
    >>> print(explain("precision(sex == 'Female') >= 0.8"))
    constraint  precision(sex == 'Female') >= 0.8
    in words    the share of predicted positives that are actual positives, among those whose sex is 'Female', is at
                least 0.8
    curvature   a bound on a ratio, which is affine once multiplied through
    range       [0, 1] on the left, 0.8 on the right
    moves       rises with tp(sex == 'Female')
    moves       falls with positive_rate(sex == 'Female')
    kept        by column_generation
    """
    parsed = parse(text)
    shown = ", ".join(map(repr, parsed)) if isinstance(parsed, list) else repr(parsed)
    if isinstance(parsed, (Slice, Attribute)):
        meaning = (
            _slice(parsed) if isinstance(parsed, Slice) else f"the column {parsed.name!r}: compare it to make a slice"
        )
        hint = call_hint(parsed.attributes if isinstance(parsed, Slice) else [parsed.name])
        return TextExplanation(shown, "slice" if isinstance(parsed, Slice) else "attribute", f"{meaning}{hint}")
    if isinstance(parsed, list):
        meaning = "; ".join(map(_constraint, parsed))
        uses = _uses({"kept": lambda: Problem(minimize(_ERROR), parsed)})
        kind = Problem(minimize(_ERROR), parsed).curvature if not uses[1] else Curvature.UNKNOWN
        return TextExplanation(shown, "constraints", meaning, _CURVATURE[kind], "", {}, *uses)
    if isinstance(parsed, Constraint):
        both = parsed.left.curvature + parsed.right.curvature
        ranges = f"{_range(parsed.left.interval)} on the left, {_range(parsed.right.interval)} on the right"
        uses = _uses({"kept": lambda: Problem(minimize(_ERROR), [parsed])})
        curvature, moved = _CURVATURE[both], directions(parsed.left - parsed.right)
        if both is Curvature.RATIO and not uses[1] and Problem(minimize(_ERROR), [parsed]).curvature is not both:
            curvature = "a bound on a ratio, which is affine once multiplied through"
        return TextExplanation(shown, "constraint", _constraint(parsed), curvature, ranges, moved, *uses)
    if isinstance(parsed, Objective):
        verb = "make {} as large as possible" if parsed.sense == "maximize" else "make {} as small as possible"
        uses = _uses({"solved": lambda: Problem(parsed)})
        return _of_expression(shown, "objective", verb.format(words(parsed.expr)), parsed.expr, uses)
    uses = _uses({"maximised": lambda: Problem(maximize(parsed)), "minimised": lambda: Problem(minimize(parsed))})
    return _of_expression(shown, "expression", words(parsed).rstrip(","), parsed, uses)


_ERROR = parse("error_rate()")
Uses = tuple[dict[str, str], dict[str, str]]


def _of_expression(shown: str, what: str, meaning: str, expr: Expression, uses: Uses) -> TextExplanation:
    curvature, range_ = _CURVATURE[expr.curvature], _range(expr.interval)
    return TextExplanation(shown, what, meaning, curvature, range_, directions(expr), *uses)


def _uses(problems: dict[str, Any]) -> Uses:
    """For each use, the algorithms that ``"auto"`` takes, or the refusal."""
    by: dict[str, str] = {}
    refused: dict[str, str] = {}
    for use, problem in problems.items():
        try:
            built = problem()
        except DisciplineError as error:
            refused[use] = str(error)
        else:
            name = automatic(built)
            by[use] = f"{name} (linear), no loss of scores with trees or thresholds" if built.losses() else name
    return by, refused


# -- words ----------------------------------------------------------------------------------------


def words(expr: Expression) -> str:
    """An expression in words.

    Examples
    --------
    >>> import equirate as eq
    >>> words(eq.positive_rate(eq.attr("age") >= 65) - 0.5 * eq.error_rate())
    'the share predicted positive, among those whose age is at least 65, minus 0.5 times the share predicted wrongly'
    """
    if isinstance(expr, Constant):
        return repr(expr)
    if isinstance(expr, Rate):
        return _measured(_rate(expr), expr.slice)
    if isinstance(expr, Loss):
        return _measured(_RATES[expr.name], expr.slice)
    if isinstance(expr, Named):
        slices = {rate.slice for rate in expr.rates()}
        known = _named(expr)
        return _measured(known, slices.pop()) if known and len(slices) == 1 else known or words(expr.definition)
    if isinstance(expr, Sum):
        parts = [(" plus " if sign > 0 else " minus ") + words(part) for sign, part in expr.parts]
        first = parts[0].removeprefix(" plus ").replace(" minus ", "minus ", 1)
        return first + "".join(parts[1:])
    if isinstance(expr, Negative):
        return f"minus {words(expr.part)}"
    if isinstance(expr, Product):
        return f"{words(expr.left)} times {words(expr.right)}"
    if isinstance(expr, Quotient):
        return f"{words(expr.left)} divided by {words(expr.right)}"
    if isinstance(expr, Call):
        inside = " and ".join(map(words, expr.arguments))
        return _ATOMS.get(expr.atom.name, f"{expr.atom.name} of {{}}").format(inside)
    if isinstance(expr, BlackBox):
        return f"a function of your own of {' and '.join(map(words, expr.arguments))}"
    return repr(expr)


def _rate(rate: Rate) -> str:
    """A linear rate, of a class where it names one."""
    if rate.kind.name == "confusion" and rate.label is not None:
        if rate.kind.labels == (1,):
            return f"the share of those labelled {rate.label!r} who are predicted as {rate.predicted!r}"
        return f"the share who are labelled {rate.label!r} and predicted as {rate.predicted!r}"
    meaning = _RATES.get(rate.kind.name, rate.kind.name).format(baseline=rate.baseline)
    return meaning if rate.label is None else f"{meaning} (positive: {rate.label!r}, negative: every other class)"


_AVERAGES = {
    "average='macro'": "the mean, over all classes one by one, of {}",
    "average='weighted'": "the mean, over all classes one by one and weighted by their sizes, of {}",
    "average='micro'": "over all decisions together, {}",
}


def _named(expr: Named) -> str | None:
    """A metric by its name, with its class or its average over classes; None where the name is not known."""
    name, _, arguments = expr.name.partition("(")
    if name == "worst":
        inner = arguments.split("'")[1]
        return f"the worst value, over all classes one by one, of {_RATES.get(inner, inner)}"
    known = _RATES.get(name)
    labels = {rate.label for rate in expr.rates() if rate.label is not None}
    if known and name == "coverage" and len(labels) == 1:
        return f"{known} {labels.pop()!r}"
    average = next((template for written, template in _AVERAGES.items() if written in arguments), None)
    if known and average:
        return average.format(known)
    if known and f"label={next(iter(labels), None)!r}" in arguments and len(labels) == 1:
        return f"{known} (positive: {labels.pop()!r}, negative: every other class)"
    return known


def _measured(meaning: str, slice_: Slice) -> str:
    return meaning if slice_ == EVERYBODY else f"{meaning}, among {_slice(slice_)},"


def _slice(slice_: Slice) -> str:
    if isinstance(slice_, Comparison):
        return f"those whose {slice_.attribute} {_COMPARED[slice_.symbol]} {slice_.value!r}"
    if isinstance(slice_, Membership):
        return f"those whose {slice_.attribute} is one of {', '.join(map(repr, slice_.values))}"
    if isinstance(slice_, Complement):
        return f"all but {_slice(slice_.part)}"
    if isinstance(slice_, CombinedSlice):
        return (" and " if slice_.symbol == "&" else " or ").join(map(_slice, slice_.parts))
    return "everybody"


def _constraint(constraint: Constraint | ConstraintFamily) -> str:
    if isinstance(constraint, ConstraintFamily):
        rates = " and ".join(words(metric(EVERYBODY)) for metric in constraint.metrics)
        against = {"rest": "each against the rest", "pairs": "each against each", "overall": "each against everybody"}
        over = f"the values of {', '.join(constraint.attributes)}, {against[constraint.compare]}"
        return f"{rates} may differ by at most {constraint.tolerance:g} between {over}"
    side = "is at most" if constraint.symbol == "<=" else "is at least"
    return f"{words(constraint.left)} {side} {words(constraint.right)}".rstrip(",")


def _range(interval: Interval) -> str:
    return f"{interval.lo:g}" if interval.lo == interval.hi else str(interval)


# -- directions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moves:
    """Whether something can rise, and whether it can fall, as a rate rises."""

    up: bool = False
    down: bool = False

    def __or__(self, other: _Moves) -> _Moves:
        return _Moves(self.up or other.up, self.down or other.down)

    def __neg__(self) -> _Moves:
        return _Moves(self.down, self.up)

    def times(self, factor: Interval) -> _Moves:
        """The same, times a factor of which the range is known."""
        rising = self if factor.hi > 0 else _Moves()
        return rising | (-self if factor.lo < 0 else _Moves())

    @cached_property
    def word(self) -> str:
        return {(True, False): "rises", (False, True): "falls", (True, True): "rises or falls"}[self.up, self.down]


def directions(expr: Expression) -> dict[str, str]:
    """For every rate in an expression, whether the expression rises or falls with it, the others being fixed.

    Examples
    --------
    >>> import equirate as eq
    >>> directions(eq.f1() - eq.fpr())
    {'tp()': 'rises', 'fp()': 'falls', 'fn()': 'falls', 'fpr()': 'falls'}
    """
    moves_by_rate: dict[str, _Moves] = {}
    for text, rate in _written_rates(expr):
        moves = _moves(expr, rate)
        if rate.curvature is not Curvature.CONSTANT and (moves.up or moves.down):
            moves_by_rate[text] = moves_by_rate.get(text, _Moves()) | moves
    return {text: moves.word for text, moves in moves_by_rate.items()}


def _written_rates(expr: Expression) -> Iterator[tuple[str, Rate]]:
    """The rates in an expression, and how they are shown: those of a metric over all classes name no class."""
    if isinstance(expr, Rate):
        yield repr(expr), expr
    for child in expr.children:
        for text, rate in _written_rates(child):
            each = _LABEL.sub("label=...) of each class", text) if isinstance(expr, OverClasses) else text
            yield each, rate


_LABEL = re.compile(r"label=[01]\)$")  # the two classes that stand for those of the data


def _moves(expr: Expression, rate: Rate) -> _Moves:
    if isinstance(expr, Rate):
        return _Moves(up=expr.key == rate.key)
    if isinstance(expr, Named):
        return _moves(expr.definition, rate)
    if isinstance(expr, Negative):
        return -_moves(expr.part, rate)
    if isinstance(expr, Sum):
        total = _Moves()
        for sign, part in expr.parts:
            total |= _moves(part, rate) if sign > 0 else -_moves(part, rate)
        return total
    if isinstance(expr, Product):
        left, right = expr.left, expr.right
        return _moves(left, rate).times(right.interval) | _moves(right, rate).times(left.interval)
    if isinstance(expr, Quotient):
        return _moves_of_ratio(expr, rate)
    total = _Moves()
    senses: tuple[Any, ...] = ()
    if isinstance(expr, Call):
        senses = expr.monotonicity
    elif isinstance(expr, BlackBox):
        senses = tuple(1 if up else -1 for up in expr.increasing)
    else:  # nothing is known of it
        senses = (0,) * len(expr.children)
    for part, sense in zip(expr.children, senses, strict=True):
        total |= _moves(part, rate).times(Interval(sense, sense) if sense else Interval(-1, 1))
    return total


def _moves_of_ratio(expr: Quotient, rate: Rate) -> _Moves:
    """The sign of a quotient's derivative is that of a' b - a b', which is affine where a and b are."""
    if Curvature.CONSTANT in (expr.left.curvature, expr.right.curvature) or not _affine(expr):
        return _moves(expr.left, rate) | -_moves(expr.right, rate).times(expr.left.interval)
    top, bottom = (_coefficient(side, rate) for side in (expr.left, expr.right))
    slope = (top * expr.right - bottom * expr.left).interval
    return _Moves(slope.hi > 1e-12, slope.lo < -1e-12)


def _affine(expr: Quotient) -> bool:
    return all(side.curvature is Curvature.AFFINE for side in (expr.left, expr.right))


def _coefficient(expr: Expression, rate: Rate) -> float:
    """The factor of a rate in an affine expression; half of its range where only that is known."""
    factors = [factor.interval for factor, term in expr.terms() if term is not None and term.key == rate.key]
    return sum((factor.lo + factor.hi) / 2 for factor in factors)
