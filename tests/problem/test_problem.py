"""Problems: what is accepted, and problems as values."""

# ruff: noqa: SIM300  (comparisons are what is tested, either way round)

import copy
import pickle

import numpy as np
import pytest

import equirate as eq

WOMEN = eq.attr("sex") == "F"
T, N, F, M = eq.tpr(), eq.tnr(), eq.fpr(), eq.fnr()
P, Q = eq.precision(WOMEN), eq.precision(~WOMEN)


def square_plus(x):
    return x**2


def subject_to(*constraints) -> eq.Problem:
    return eq.Problem(eq.minimize(eq.error_rate()), list(constraints))


# -- accepted -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "curvature"),
    [
        (lambda: eq.Problem(eq.minimize(eq.error_rate())), "affine"),
        (lambda: subject_to(eq.positive_rate() <= 0.25), "affine"),
        (lambda: subject_to(eq.precision() >= 0.8), "affine"),
        (lambda: subject_to(0.8 <= eq.precision()), "affine"),
        (lambda: subject_to(1 - eq.precision() <= 0.2), "affine"),
        (lambda: subject_to(2 * eq.f1() >= 1), "affine"),
        (lambda: subject_to(eq.f1() >= eq.base_rate()), "affine"),
        (lambda: subject_to(eq.tpr(WOMEN) / eq.tpr(~WOMEN) >= 0.8), "affine"),
        (lambda: subject_to(eq.win_loss_ratio("old") >= 2), "affine"),
        (lambda: subject_to(abs(eq.precision() - 0.8) <= 0.1), "affine"),
        (lambda: subject_to(eq.max(eq.precision(), eq.npv()) <= 0.9), "affine"),
        (lambda: subject_to(abs(T - N) <= 0.1), "affine"),
        (lambda: subject_to(eq.equalized_odds(eq.attr("race"), tolerance=0.1)), "affine"),
        (lambda: subject_to(eq.kl_divergence() <= 0.1), "convex"),
        (lambda: subject_to(eq.g_mean() >= 0.5), "convex"),
        (lambda: subject_to(eq.square(T - N) <= 0.1), "convex"),
        (lambda: eq.Problem(eq.maximize(eq.g_mean())), "convex"),
        (lambda: eq.Problem(eq.maximize(eq.h_mean() + eq.q_mean())), "convex"),
        (lambda: eq.Problem(eq.minimize(eq.kl_divergence())), "convex"),
        (lambda: eq.Problem(eq.minimize(abs(T - N) + eq.max(F, M))), "convex"),
        (lambda: eq.Problem(eq.maximize(eq.min(T, N))), "convex"),
        (lambda: eq.Problem(eq.minimize(eq.log_loss() + 0.1 * F)), "convex"),
        (lambda: eq.Problem(eq.maximize(T - eq.log_loss())), "convex"),
        (lambda: eq.Problem(eq.minimize(eq.square(eq.kl_divergence()))), "convex"),
        (lambda: eq.Problem(eq.minimize(eq.inv(eq.sqrt(T)))), "convex"),
        (lambda: eq.Problem(eq.maximize(eq.f1())), "ratio"),
        (lambda: eq.Problem(eq.minimize(eq.f1())), "ratio"),
        (lambda: eq.Problem(eq.maximize(eq.f1() + eq.g_mean())), "ratio"),
        (lambda: eq.Problem(eq.maximize(20 * eq.precision() / 0.001)), "ratio"),
        (lambda: eq.Problem(eq.maximize(20 * eq.tp() / eq.positive_rate())), "ratio"),
        (lambda: subject_to(abs(P - Q) <= 0.1), "ratio"),
        (lambda: subject_to(P >= Q - 0.02), "ratio"),
        (lambda: subject_to(eq.precision() >= T), "ratio"),
        (lambda: subject_to(eq.predictive_parity(eq.attr("race"), tolerance=0.1)), "ratio"),
        (lambda: eq.Problem(eq.minimize(eq.black_box(square_plus, F, increasing=True))), "unknown"),
        (lambda: eq.Problem(eq.maximize(T + 0 * eq.square(T))), "affine"),
        (lambda: eq.Problem(eq.minimize(eq.sqrt(1 - 0.3 * F - 0.6 * M - 0.1 * T) * -1)), "convex"),
    ],
)
def test_accepted(problem, curvature: str) -> None:
    assert problem().curvature == curvature


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: eq.Problem(eq.f1()), r"must be made with minimize\(...\) or maximize\(...\); got f1\(\)"),
        (lambda: eq.Problem(eq.minimize(T), [True]), "True or False, not a constraint"),
        (lambda: eq.Problem(eq.minimize(T), [np.bool_(False)]), "True or False, not a constraint"),
        (lambda: eq.Problem(eq.minimize(T), True), "True or False, not a constraint"),
        (lambda: eq.Problem(eq.minimize(T), [T]), r"constraints are made with <= or >=.*got tpr\(\)"),
        (lambda: eq.Problem(eq.minimize(T), ["tpr() <= 1"]), "constraints are made with <= or >="),
        (lambda: eq.Problem(eq.minimize(T), [None]), "got None"),
        (lambda: eq.minimize(eq.tpr), r"call it, as in tpr\(\)"),
        (lambda: eq.minimize("tpr()"), "expected a rate expression or a number, not str"),
        (lambda: eq.minimize(T <= 1), "is a constraint and cannot be part of an expression"),
        (lambda: eq.minimize(eq.maximize(T)), "not Objective"),
    ],
)
def test_wrong_types(make, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


# -- as values ------------------------------------------------------------------------------------


def test_constraints_may_be_nested_or_single() -> None:
    a, b = T >= 0.5, N >= 0.5
    for given in ([a, b], (a, b), [a, [b]], iter([a, b]), (c for c in (a, b))):
        assert eq.Problem(eq.minimize(F), given).constraints == (a, b)
    assert eq.Problem(eq.minimize(F), a).constraints == (a,)
    assert eq.Problem(eq.minimize(F)).constraints == ()


@pytest.mark.parametrize(
    "problem",
    [
        eq.Problem(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.25, abs(T - N) <= 0.1]),
        eq.Problem(eq.minimize(eq.kl_divergence() + eq.log_loss()), eq.equalized_odds(eq.attr("race"), tolerance=0.1)),
        eq.Problem(eq.maximize(eq.g_mean())),
    ],
    ids=repr,
)
def test_problems_are_values(problem: eq.Problem) -> None:
    for again in (copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
        assert again == problem
        assert hash(again) == hash(problem)
        assert again.key == problem.key
        assert repr(again) == repr(problem)
        assert again.curvature is problem.curvature
    assert problem != eq.Problem(eq.minimize(F))
    assert problem != "a problem"
    with pytest.raises(AttributeError):
        problem.objective = eq.minimize(F)


def test_repr() -> None:
    problem = eq.Problem(eq.maximize(eq.f1()), [eq.precision(WOMEN) >= eq.precision(~WOMEN) - 0.02, F <= 0.25])
    assert repr(problem) == (
        "maximize f1()\nsubject to\n  precision(sex == 'F') >= precision(~(sex == 'F')) - 0.02\n  fpr() <= 0.25"
    )


def test_rates_and_losses_are_listed_once() -> None:
    problem = eq.Problem(eq.minimize(F + 2 * F + eq.log_loss() + eq.log_loss()), [F <= 0.5, eq.precision() >= 0.5])
    assert [repr(rate) for rate in problem.rates()] == ["fpr()", "tp()", "positive_rate()"]
    assert [repr(loss) for loss in problem.losses()] == ["log_loss()"]
