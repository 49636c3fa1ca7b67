"""What is refused before any training: the part to blame, the rule, and that the advice works."""

import contextlib
import re

import numpy as np
import pytest

import equirate as eq
from equirate.language.atoms import Atom
from equirate.language.curvature import REALS, Monotonicity, Shape
from equirate.language.expressions import Call
from equirate.problem.canonical import canonicalize

WOMEN = eq.attr("sex") == "F"
T, N, F, M = eq.tpr(), eq.tnr(), eq.fpr(), eq.fnr()
P, Q = eq.precision(WOMEN), eq.precision(~WOMEN)


def square_plus(x):
    return x**2


def subject_to(*constraints) -> eq.Problem:
    return eq.Problem(eq.minimize(eq.error_rate()), list(constraints))


WIGGLE = Call(
    Atom(
        "wiggle",
        Shape.CONVEX,
        lambda x: np.exp(x[0]) + np.exp(-2 * x[0]),
        lambda x: np.exp(x) - 2 * np.exp(-2 * x),
        lambda arguments: (Monotonicity.NONE,) * len(arguments),
        domain=REALS,
    ),
    (T - F,),
)

OBJECTIVES = [  # (written, smallest offending part, rule, advice, rewrite that follows the advice)
    (
        eq.maximize(T * N),
        "tpr() * tnr()",
        "a product of two rates has unknown curvature",
        "Write geo_mean(tpr(), tnr()): concave, and it ranks classifiers the same way.",
        lambda: eq.maximize(eq.geo_mean(T, N)),
    ),
    (
        eq.maximize(0.5 * T + T * N * eq.accuracy()),
        "tpr() * tnr() * accuracy()",
        "is a product of expressions that all depend on the predictions",
        "Write geo_mean(tpr(), tnr(), accuracy())",
        lambda: eq.maximize(0.5 * T + eq.geo_mean(T, N, eq.accuracy())),
    ),
    (
        eq.maximize((1 - F) * T),
        "(1 - fpr()) * tpr()",
        "is a product of expressions",
        "Write geo_mean(1 - fpr(), tpr())",
        lambda: eq.maximize(eq.geo_mean(1 - F, T)),
    ),
    (
        eq.minimize(F * M),
        "fpr() * fnr()",
        "a product of two rates has unknown curvature",
        "Write norm(fpr(), fnr()): convex",
        lambda: eq.minimize(eq.norm(F, M)),
    ),
    (
        eq.minimize(eq.error_rate() + (T - N) * (T - N)),
        "(tpr() - tnr()) * (tpr() - tnr())",
        "is a product of expressions",
        "Write square(tpr() - tnr()).",
        lambda: eq.minimize(eq.error_rate() + eq.square(T - N)),
    ),
    (
        eq.maximize(eq.f1() * T),
        "f1() * tpr()",
        "is a product of expressions",
        "Write geo_mean(f1(), tpr()): it ranks classifiers the same way.",
        lambda: eq.maximize(eq.geo_mean(eq.f1(), T)),
    ),
    (
        eq.maximize((T - F) * N),
        "(tpr() - fpr()) * tnr()",
        "is a product of expressions",
        "Multiply by constants only; a weighted sum often serves as well.",
        lambda: eq.maximize(T - F + 0.5 * N),
    ),
    (
        eq.minimize(eq.square(T * N)),
        "square(tpr() * tnr())",
        "a product of two rates",
        "Write norm(tpr(), tnr()): convex",
        lambda: eq.minimize(eq.square(eq.norm(T, N))),
    ),
    (
        eq.maximize(eq.square(eq.square(T))),
        "square(square(tpr()))",
        "is convex, and enters with the wrong sign",
        "Use tpr() in its place: affine, and it moves in the same direction.",
        lambda: eq.maximize(T),
    ),
    (
        eq.maximize(eq.max(eq.inv(F), T)),
        "max(inv(fpr()), tpr())",
        "is convex, and enters with the wrong sign",
        "Use -fpr() + tpr() in its place: affine",
        lambda: eq.maximize(-F + T),
    ),
    (
        eq.minimize(eq.sqrt(eq.f1(WOMEN)) + eq.sqrt(eq.f1(~WOMEN))),
        "sqrt(f1(sex == 'F'))",
        "sqrt(f1(sex == 'F')) is concave, and enters with the wrong sign",
        "Use f1(sex == 'F') in its place: it moves in the same direction.",
        lambda: eq.minimize(eq.f1(WOMEN) + eq.f1(~WOMEN)),
    ),
    (
        eq.maximize(eq.max(P, Q)),
        "max(precision",
        "is convex, and enters with the wrong sign",
        "Use precision(sex == 'F') + precision(~(sex == 'F')) in its place: it moves in the same direction.",
        lambda: eq.maximize(P + Q),
    ),
    (
        eq.maximize(abs(P - Q)),
        "abs(precision",
        "is convex, and enters with the wrong sign",
        "can only be minimised: write minimize(abs(precision(sex == 'F') - precision(~(sex == 'F')))).",
        lambda: eq.minimize(abs(P - Q)),
    ),
    (
        eq.maximize(eq.log(P - Q)),
        "precision",
        "log needs an argument in [0, inf], but precision(sex == 'F') - precision(~(sex == 'F')) has the range [-1, 1]",
        "Shift it, as in log(2 + precision(sex == 'F') - precision(~(sex == 'F')))",
        lambda: eq.maximize(eq.log(2 + P - Q)),
    ),
    (
        eq.maximize(eq.log(eq.ratio(T - F, N, floor=0.1))),
        "ratio(tpr() - fpr(), tnr(), floor=0.1)",
        "has the range [-inf, inf]",
        "Use a rate that cannot be negative, such as tpr().",
        lambda: eq.maximize(eq.log(T)),
    ),
    (
        eq.minimize(eq.max(P + eq.sqrt(T), F)),
        "sqrt(tpr()) is concave there",
        "mixes parts that max does not go with",
        "Inside max, add rates and ratios, such as tpr().",
        lambda: eq.minimize(eq.max(P + T, F)),
    ),
    (
        eq.maximize(eq.square(T)),
        "square(tpr())",
        "is convex, and enters with the wrong sign",
        "Use tpr() in its place",
        lambda: eq.maximize(T),
    ),
    (
        eq.maximize(T - eq.sqrt(F)),
        "sqrt(fpr())",
        "is concave, and enters with the wrong sign",
        "Use fpr() in its place",
        lambda: eq.maximize(T - F),
    ),
    (
        eq.maximize(eq.inv(F)),
        "inv(fpr())",
        "is convex, and enters with the wrong sign",
        "Use -fpr() in its place",
        lambda: eq.maximize(-F),
    ),
    (
        eq.maximize(eq.max(T, N)),
        "max(tpr(), tnr())",
        "is convex, and enters with the wrong sign",
        "Use tpr() + tnr() in its place",
        lambda: eq.maximize(T + N),
    ),
    (
        eq.minimize(eq.geo_mean(F, M)),
        "geo_mean(fpr(), fnr())",
        "is concave, and enters with the wrong sign",
        "Use fpr() + fnr() in its place",
        lambda: eq.minimize(F + M),
    ),
    (
        eq.maximize(eq.kl_divergence()),
        "kl_divergence()",
        "kl_divergence() is convex, and enters with the wrong sign",
        "A convex function can only be minimised: write minimize(kl_divergence()).",
        lambda: eq.minimize(eq.kl_divergence()),
    ),
    (
        eq.minimize(eq.error_rate() + eq.g_mean()),
        "g_mean()",
        "g_mean() is concave, and enters with the wrong sign",
        "A concave function can only be maximised: write maximize(g_mean()).",
        lambda: eq.maximize(eq.g_mean()),
    ),
    (
        eq.maximize(abs(T - N)),
        "abs(tpr() - tnr())",
        "is convex, and enters with the wrong sign",
        "can only be minimised: write minimize(abs(tpr() - tnr())).",
        lambda: eq.minimize(abs(T - N)),
    ),
    (
        eq.maximize(T / F),
        "tpr() / fpr()",
        "grows without bound as fpr() approaches 0",
        "Otherwise give a floor of the denominator: ratio(tpr(), fpr(), floor=0.01).",
        lambda: eq.maximize(eq.ratio(T, F, floor=0.01)),
    ),
    (
        eq.maximize(T / (T - F)),
        "tpr() - fpr()",
        "the denominator tpr() - fpr() has the range [-1, 1]",
        "or a shifted one, such as 2 + tpr() - fpr().",
        lambda: eq.maximize(T / (2 + T - F)),
    ),
    (
        eq.maximize(eq.log(T - F)),
        "tpr() - fpr()",
        "log needs an argument in [0, inf], but tpr() - fpr() has the range [-1, 1]",
        "Shift it, as in log(2 + tpr() - fpr())",
        lambda: eq.maximize(eq.log(2 + T - F)),
    ),
    (
        eq.minimize(eq.square(eq.sqrt(T))),
        "square",
        "square of a concave expression has unknown curvature",
        "Give square affine arguments, such as tpr().",
        lambda: eq.minimize(eq.square(T)),
    ),
    (
        eq.minimize(eq.square(eq.square(T) - eq.square(N))),
        "square(tpr()) - square(tnr())",
        "square(tpr()) - square(tnr()) mixes parts that square does not go with: square(tpr()) is convex there",
        "Inside square, add rates and ratios, such as tpr().",
        lambda: eq.minimize(eq.square(T - N)),
    ),
    (
        eq.maximize(eq.precision() / T),
        "precision() / tpr()",
        "divides ratio by affine; a ratio needs affine parts",
        "Divide rates and sums of rates only",
        lambda: eq.maximize(eq.tp() / eq.positive_rate()),
    ),
    (
        eq.maximize(T + eq.log_loss()),
        "log_loss()",
        "log_loss() enters so that a larger loss is better",
        "Subtract it: maximize(... - log_loss()).",
        lambda: eq.maximize(T - eq.log_loss()),
    ),
    (
        eq.minimize(eq.error_rate() - eq.hinge_loss()),
        "hinge_loss()",
        "hinge_loss() enters so that a larger loss is better",
        "Add it: minimize(... + hinge_loss()).",
        lambda: eq.minimize(eq.error_rate() + eq.hinge_loss()),
    ),
    (
        eq.minimize(eq.square(eq.log_loss())),
        "log_loss()",
        "log_loss() is a loss of the scores and is inside square",
        "Add log_loss() as it is.",
        lambda: eq.minimize(eq.log_loss()),
    ),
    (
        eq.minimize(eq.square(eq.black_box(square_plus, F, increasing=True))),
        "black box",
        "square of a black box has unknown curvature",
        "Put square into the black box's function.",
        lambda: eq.minimize(eq.black_box(lambda x: square_plus(x) ** 2, F, increasing=True)),
    ),
    (
        eq.minimize((eq.base_rate(WOMEN) - eq.base_rate()) * eq.square(T - N)),
        "square(tpr() - tnr())",
        "the sign of the factor of square(tpr() - tnr()) is not known",
        "Use a factor of known sign.",
        lambda: eq.minimize(eq.base_rate(WOMEN) * eq.square(T - N)),
    ),
    (
        eq.minimize(WIGGLE),
        "tpr() - fpr()",
        "wiggle neither rises nor falls over [-1, 1], the range of tpr() - fpr()",
        "Use an atom that moves in one direction there",
        lambda: eq.minimize(eq.square(T - F)),
    ),
]


@pytest.mark.parametrize(("bad", "part", "rule", "advice", "good"), OBJECTIVES, ids=[repr(c[0]) for c in OBJECTIVES])
def test_refused_objectives(bad, part: str, rule: str, advice: str, good) -> None:
    with pytest.raises(eq.DisciplineError) as refusal:
        eq.Problem(bad)
    heading, whole, reason, last = str(refusal.value).split("\n")
    verb, kind = ("maximise", "concave") if bad.sense == "maximize" else ("minimise", "convex")
    assert heading in (
        f"cannot {verb} this objective: it is not {kind}.",
        "a ratio's denominator can be zero.",
        "a ratio's denominator can be negative.",
        "an atom is used outside its domain.",
    )
    assert whole == f"  {bad.expr!r}"
    assert reason.startswith("  └─ ")
    assert rule in reason
    assert part in reason or part in whole
    assert advice in last
    rewritten = good()
    eq.Problem(*rewritten) if isinstance(rewritten, tuple) else eq.Problem(rewritten)


def test_the_message_of_the_style_guide() -> None:
    with pytest.raises(eq.DisciplineError) as refusal:
        eq.Problem(eq.maximize(eq.tpr() * eq.tnr()))
    assert str(refusal.value) == (
        "cannot maximise this objective: it is not concave.\n"
        "  tpr() * tnr()\n"
        "  └─ a product of two rates has unknown curvature\n"
        "  Write geo_mean(tpr(), tnr()): concave, and it ranks classifiers the same way."
    )


CONSTRAINTS = [
    (
        eq.g_mean() <= 0.5,
        "g_mean() is concave, and enters with the wrong sign",
        "A concave expression can only be bounded with >=",
        eq.g_mean() >= 0.5,
    ),
    (
        eq.kl_divergence() >= 0.5,
        "kl_divergence() is convex, and enters with the wrong sign",
        "A convex expression can only be bounded with <=",
        eq.kl_divergence() <= 0.5,
    ),
    (abs(T - N) >= 0.1, "abs(tpr() - tnr()) is convex", "only be bounded with <=", abs(T - N) <= 0.1),
    (
        eq.max(P, Q) >= 0.5,
        "max(precision(sex == 'F'), precision(~(sex == 'F'))) is convex, and enters with the wrong sign",
        "A convex expression can only be bounded with <=: do that, or bound a rate inside it.",
        eq.max(P, Q) <= 0.5,
    ),
    (
        T * N >= 0.25,
        "a product of two rates has unknown curvature",
        "Write geo_mean(tpr(), tnr()): concave, and it ranks classifiers the same way. Take the same root of the",
        eq.geo_mean(T, N) >= 0.5,
    ),
    (
        eq.log_loss() <= 0.5,
        "log_loss() is a loss of the scores, not a rate",
        "Move it to the objective, with a weight: minimize(... + 0.1 * log_loss()).",
        T <= 0.5,
    ),
    (
        eq.square(eq.log_loss()) <= 0.5,
        "log_loss() is a loss of the scores and is inside square",
        "as it is",
        T <= 0.5,
    ),
    (
        eq.tpr(WOMEN) / T + F <= 2,
        "tpr(sex == 'F') / tpr() grows without bound as tpr() approaches 0",
        "multiply through: tpr(sex == 'F') <= bound * tpr(), which is affine",
        eq.tpr(WOMEN) + F * 0.5 <= 2 * T,
    ),
    (
        T / (T + F - N) + F >= 2,
        "the denominator tpr() + fpr() - tnr() has the range [-1, 2]",
        "such as 2 + tpr() + fpr() - tnr()",
        T / (2 + T + F - N) + F >= 0.2,
    ),
    (
        eq.sqrt(T - F) >= 0.1,
        "sqrt needs an argument in [0, inf]",
        "Shift it, as in sqrt(2 + tpr() - fpr())",
        eq.sqrt(2 + T - F) >= 0.1,
    ),
]


@pytest.mark.parametrize(("bad", "rule", "advice", "good"), CONSTRAINTS, ids=[repr(c[0]) for c in CONSTRAINTS])
def test_refused_constraints(bad, rule: str, advice: str, good) -> None:
    with pytest.raises(eq.DisciplineError) as refusal:
        subject_to(bad)
    heading, whole, reason, last = str(refusal.value).split("\n")
    assert re.match(r"cannot keep this constraint: .* <= 0 is not convex\.|a ratio's|an atom is used", heading)
    assert whole == f"  {bad!r}"
    assert rule in reason
    assert advice in last
    subject_to(good)


@pytest.mark.parametrize("expr", [eq.base_rate(), 0 * T, 0.5, eq.log(eq.base_rate())])
def test_constant_objectives(expr) -> None:
    with pytest.raises(eq.DisciplineError, match="does not depend on any prediction"):
        eq.Problem(eq.minimize(expr))


ACCEPTED = [
    eq.maximize(eq.min(P, Q)),
    eq.minimize(eq.max(1 - P, F, 1 - eq.f1())),
    eq.minimize(abs(P - Q)),
    eq.minimize(eq.error_rate() + abs(P - Q)),
    eq.maximize(eq.sqrt(eq.f1(WOMEN)) + eq.sqrt(eq.f1(~WOMEN))),
    eq.maximize(eq.log(eq.precision())),
    eq.maximize(eq.log(eq.ratio(T, F, floor=0.01))),
    eq.minimize(eq.inv(eq.precision())),
    eq.maximize(eq.geo_mean(eq.precision(), T)),
    eq.maximize(eq.harmonic_mean(P, Q, T)),
    eq.minimize(eq.square(P - Q) + eq.norm(P - Q, T - N)),
    eq.minimize(eq.max(eq.kl_divergence() - eq.f1(), 0.1)),
    eq.maximize(eq.min(P, eq.min(Q, eq.g_mean()))),
]


@pytest.mark.parametrize("objective", ACCEPTED, ids=repr)
def test_atoms_of_ratios_are_accepted(objective) -> None:
    """Slacks between an atom and its ratios make these ratio problems."""
    problem = eq.Problem(objective, [eq.sqrt(eq.f1(WOMEN)) + eq.sqrt(eq.f1(~WOMEN)) >= 0.9])
    assert problem.curvature == "ratio"
    assert eq.algorithms.slack_ratios.refusal(canonicalize(problem)) is None
    with pytest.raises(eq.AlgorithmError, match=r"biconvex cannot play .* inside a function: use slack_ratios"):
        canonicalize(problem, eq.algorithms.biconvex.form)


NESTED = {
    "max": lambda expr: eq.max(expr, P),
    "abs": lambda expr: eq.abs(expr - 0.5),
    "sqrt": eq.sqrt,
    "minus": lambda expr: -expr,
    "times": lambda expr: 0.5 * expr,
    "over": lambda expr: expr / (1 + F),
}


def nested(name: str, depth: int) -> eq.Expression:
    expr = T
    while expr.depth < depth:
        expr = NESTED[name](expr)
    return expr


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_refused_and_what_is_not_can_be_worked_with(name: str) -> None:
    with pytest.raises(eq.DisciplineError, match=r"nested 101 deep, and at most 100 .* arguments at once"):
        nested(name, 3000)
    deepest = nested(name, 98)
    assert repr(deepest)
    assert np.isfinite(deepest.evaluate([0, 1, 1], [0, 1, 0], attributes={"sex": ["F", "F", "M"]}))
    with contextlib.suppress(eq.DisciplineError):  # but no RecursionError
        canonicalize(subject_to(deepest <= 0.9))


def test_many_arguments_and_long_sums_are_not_nested() -> None:
    total = T
    for _ in range(3000):
        total = total + F
    assert total.depth == eq.max(T, *[F] * 3000).depth == 2
