"""What is impossible by the ranges of rates is refused; what some predictions keep never is."""

import itertools
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import equirate as eq
from equirate.problem.possible import check_possible

A = eq.attr("group") == "a"
T, F, N, P = eq.tpr(), eq.fpr(), eq.tnr(), eq.positive_rate()


def subject_to(*constraints) -> eq.Problem:
    return eq.Problem(eq.minimize(eq.error_rate()), list(constraints))


ALONE = [  # (constraint, reason, what to ask for instead)
    (eq.recall() >= 1.2, "recall() lies in [0, 1]", eq.recall() >= 1),
    (eq.fpr(A) <= -0.1, "fpr(group == 'a') lies in [0, 1]", eq.fpr(A) <= 0),
    (eq.tpr(A) + eq.tnr(A) >= 2.5, "tpr(group == 'a') + tnr(group == 'a') lies in [0, 2]", eq.tpr(A) + eq.tnr(A) >= 2),
    (eq.precision() >= 1.01, "precision() lies in [0, 1]", eq.precision() >= 1),
    (eq.kl_divergence() <= -0.01, "kl_divergence() lies in [0, inf]", eq.kl_divergence() <= 0),
    (abs(T - F) <= -0.1, "abs(tpr() - fpr()) lies in [0, 1]", abs(T - F) <= 0),
    (eq.g_mean() >= 1.1, "g_mean() lies in [0, 1]", eq.g_mean() >= 1),
    (eq.matthews() >= 1.5, "matthews() lies in [-1, 1]", eq.matthews() >= 1),
    (eq.min(T, 2 * N) >= 1.5, "min(tpr(), 2 * tnr()) lies in [0, 1]", eq.min(T, 2 * N) >= 1),
    (T >= F + 1.5, "tpr() lies in [0, 1] and fpr() + 1.5 lies in [1.5, 2.5]", None),
    (eq.tp() >= eq.base_rate() + 0.1, "tp() - (base_rate() + 0.1) lies in [-1.1, -0.1]", None),
    (eq.tp() + eq.fp() >= P + 0.2, "tp() + fp() - (positive_rate() + 0.2) lies in [-0.2, -0.2]", None),
]


@pytest.mark.parametrize(("constraint", "reason", "instead"), ALONE, ids=[repr(c[0]) for c in ALONE])
def test_a_constraint_outside_the_range_is_refused(constraint, reason: str, instead) -> None:
    with pytest.raises(eq.InfeasibleError) as refusal:
        subject_to(P <= 0.5, constraint)
    heading, shown, why, advice = str(refusal.value).split("\n")
    assert heading == "no classifier can keep this constraint."
    assert shown == f"  {constraint!r}"
    assert why == f"  └─ {reason}"
    if instead is None:
        assert advice == "  Ask for less."
    else:
        assert advice == f"  Ask for less: {instead!r}."
        subject_to(instead)


TOGETHER = [
    (F <= 0.1, F >= 0.2),
    (F <= 0.1, N <= 0.8),
    (eq.f1() >= 0.9, eq.f1() <= 0.8),
    (eq.tp() + eq.fp() >= 0.5, P <= 0.4),
    (abs(P - eq.positive_rate(A)) <= 0.05, P >= 0.6, eq.positive_rate(A) <= 0.1),
]


@pytest.mark.parametrize("constraints", TOGETHER, ids=repr)
def test_constraints_that_contradict_each_other_are_refused(constraints) -> None:
    others = [eq.accuracy() >= 0.3, eq.tpr(A) >= 0.2]
    with pytest.raises(eq.InfeasibleError, match="contradict each other") as refusal:
        subject_to(others[0], *constraints, others[1])
    assert all(f"  {constraint!r}\n" in str(refusal.value) for constraint in constraints)
    assert not any(repr(other) in str(refusal.value) for other in others)
    for fewer in itertools.combinations(constraints, len(constraints) - 1):
        subject_to(*others, *fewer)


def test_it_is_a_refusal_like_the_others() -> None:
    assert issubclass(eq.InfeasibleError, eq.DisciplineError)
    with pytest.raises(ValueError, match=re.escape("recall() lies in [0, 1]")):
        eq.Problem(eq.maximize(eq.f1()), [eq.recall() >= 1.2])


@pytest.mark.parametrize(
    "constraints",
    [
        (eq.recall() >= 1,),
        (F <= 0, F >= 0),
        (F <= 0.1, F >= 0.1 + 1e-12),
        (P >= 0.6, eq.positive_rate(A) <= 0.1),
        (eq.ratio(T, F, floor=0.1) >= 20,),
        (eq.win_loss_ratio("old") >= 5, eq.losses("old") >= 0.1),
        (T >= 1, F <= 0, eq.accuracy() <= 0.4, eq.base_rate() <= P),
    ],
)
def test_what_may_be_kept_is_not_refused(constraints) -> None:
    subject_to(*constraints)


RATES = [eq.tpr, eq.fpr, eq.tp, eq.fn, eq.positive_rate, eq.accuracy, eq.base_rate, eq.fnr]
OTHERS = [eq.precision, eq.f1, eq.kappa, eq.markedness, eq.lift, eq.g_mean, eq.kl_divergence, eq.q_mean, eq.matthews]


def expressions() -> st.SearchStrategy[eq.Expression]:
    rate = st.tuples(st.sampled_from(RATES), st.sampled_from([None, A, ~A])).map(lambda p: p[0](p[1]))
    other = st.tuples(st.sampled_from(OTHERS), st.sampled_from([None, A])).map(lambda p: p[0](p[1]))
    numbers = st.sampled_from([-2.0, -1.0, 0.5, 1.0, 3.0])
    term = st.tuples(numbers, st.one_of(rate, rate, other)).map(lambda p: p[0] * p[1])
    scaled = st.tuples(rate, numbers).map(lambda p: eq.base_rate(A) * p[0] + p[1])
    return st.lists(st.one_of(rate, term, scaled, rate.map(eq.sqrt), rate.map(abs)), min_size=1, max_size=3).map(sum)


@given(st.lists(st.tuples(expressions(), st.booleans(), st.floats(0, 0.2)), min_size=1, max_size=5), st.integers(0, 99))
@settings(max_examples=150)
def test_whatever_some_predictions_keep_is_never_refused(drawn, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 30))
    y, group = rng.integers(0, 2, n), rng.choice(["a", "b"], n)
    y[:4], group[:4] = [0, 1, 0, 1], ["a", "a", "b", "b"]
    answers = [rng.random(n), rng.integers(0, 2, n), y, 1 - y, np.zeros(n), np.ones(n)]
    p = answers[int(rng.integers(len(answers)))]
    kept = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.UndefinedRateWarning)
        for expr, below, slack in drawn:
            if expr.curvature == "constant":
                continue
            value = expr.evaluate(y, p, attributes={"group": group})
            if np.isfinite(value):
                kept.append(expr <= value + slack if below else expr >= value - slack)
    check_possible(kept)


def test_percent_is_told_from_a_share() -> None:
    with pytest.raises(eq.InfeasibleError, match=r"recall\(\) >= 1\. A rate is a share: for 80% write 0\.8\.$"):
        subject_to(eq.recall() >= 80)
