"""From problems to rows, atoms and slacks; and the identities that ratios rest on."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import equirate as eq
from equirate.data.examples import Examples
from equirate.language.atoms import LOG, SQUARE
from equirate.language.expressions import Call
from equirate.players.slack import BestSlack
from equirate.problem.canonical import RATIO_FLOOR, RatioForm, Role, canonicalize, convex_form, ratio_form
from equirate.problem.table import make_table

A, B = eq.attr("group") == "a", eq.attr("group") == "b"
FOURTH = replace(
    SQUARE,
    name="fourth",
    value=lambda x: x[0] ** 4,
    gradient=lambda x: 4 * x**3,
    response=None,
    summary="Fourth power.",
)


def rows(problem, form=RatioForm.SLACK):
    return canonicalize(problem, form)


def test_linear_parts_never_get_a_slack():
    program = rows(eq.Problem(eq.minimize(eq.error_rate() + 2 * eq.fpr(A)), [abs(eq.tpr(A) - eq.tpr(B)) <= 0.1]))
    assert not program.slacks
    assert [row.role for row in program.rows] == [Role.OBJECTIVE, Role.CONSTRAINT, Role.CONSTRAINT]
    assert [part for part, _ in program.parts] == [0, 0]  # both halves of the absolute value
    assert program.n_multipliers == 3


@pytest.mark.parametrize(
    ("objective", "senses"),
    [
        (eq.minimize(eq.kl_divergence()), [-1, -1]),
        (eq.maximize(eq.g_mean()), [-1, -1]),
        (eq.maximize(eq.h_mean()), [-1, -1]),
        (eq.maximize(eq.q_mean()), [1, 1]),
        (eq.minimize(eq.square(eq.fpr())), [1]),
        (eq.minimize(eq.square(eq.tpr() - 1)), [-1]),  # never positive, so the square decreases
        (eq.minimize(eq.square(eq.tpr(A) - eq.tpr(B))), [1, 1, 1]),  # max(x, -x) inside, then the square
        (eq.minimize(eq.inv(eq.tpr())), [-1]),
        (eq.minimize(eq.max(eq.fpr(), eq.fnr())), [1, 1]),
        (eq.maximize(eq.min(eq.tpr(), eq.tnr())), [-1, -1]),
        (eq.maximize(eq.sqrt(eq.min(eq.tpr(), eq.tnr()))), [-1, -1, -1]),
        (eq.maximize(eq.f1()), [-1, 1]),
        (eq.minimize(eq.fp() / (eq.fp() + eq.tn() + eq.fn())), [1, -1]),
        (eq.minimize(eq.black_box(lambda a, b: a - b, eq.fpr(), eq.tpr(), increasing=[True, False])), [1, -1]),
        (eq.maximize(eq.black_box(lambda a: a, eq.tpr(), increasing=True)), [-1]),
    ],
    ids=lambda v: repr(v),
)
def test_the_sense_of_every_slack_is_the_direction_of_its_atom(objective, senses):
    assert [slack.sense for slack in rows(eq.Problem(objective)).slacks] == senses


def test_the_same_atom_twice_is_one_atom():
    program = rows(
        eq.Problem(eq.minimize(eq.kl_divergence(A)), [2 * eq.kl_divergence(A) <= 0.1, eq.kl_divergence(B) <= 1])
    )
    assert len(program.atoms) == 4
    assert len(program.slacks) == 4


def test_a_bound_on_one_ratio_is_multiplied_through():
    program = rows(eq.Problem(eq.minimize(eq.error_rate()), [eq.precision(A) >= 0.8]))
    assert not program.atoms
    assert program.scales[0] is not None
    # precision's own rates are still there for the report
    assert {rate.kind.name for rate in program.rates} == {"error_rate", "tp", "positive_rate"}


def test_an_absolute_value_inside_a_smooth_even_atom_is_smooth():
    x = eq.tpr(A) - eq.tpr(B)
    fourth = Call(FOURTH, (x,))
    for smooth in (eq.square(x), eq.norm(x, eq.fpr(A) - eq.fpr(B)), eq.square(abs(x)), eq.square(x) + fourth):
        assert rows(eq.Problem(eq.minimize(smooth))).kinked() == []
    for kinked in (abs(x), fourth + abs(x), eq.square(eq.max(eq.fpr(), eq.fnr())), eq.max(eq.fpr(), eq.fnr())):
        assert rows(eq.Problem(eq.minimize(kinked))).kinked()
    cornered = Call(replace(FOURTH, name="cornered", smooth=False), (x,))
    assert rows(eq.Problem(eq.minimize(cornered))).kinked()
    assert eq.algorithms.frank_wolfe.refusal(rows(eq.Problem(eq.minimize(fourth)))) is None


def test_the_least_value_of_a_slack():
    least = [
        s.least for s in rows(eq.Problem(eq.minimize(eq.square(eq.tpr(A) - eq.tpr(B)) - eq.sqrt(eq.tpr())))).slacks
    ]
    assert least == [-1.0, -1.0, 0.0, 1e-9]  # x and -x, |x|, and the root's floor
    ratio = rows(eq.Problem(eq.maximize(eq.precision())))
    assert [s.least for s in ratio.slacks] == [0.0, RATIO_FLOOR]
    promised = rows(eq.Problem(eq.maximize(eq.ratio(eq.tpr(), eq.fpr(), floor=0.2))))
    assert [s.least for s in promised.slacks] == [0.0, 0.2]


def test_families_must_be_written_out_first():
    problem = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity(eq.attr("group"), tolerance=0.1))
    with pytest.raises(TypeError, match="expanded"):
        canonicalize(problem)


def test_biconvex_needs_shares():
    problem = eq.Problem(eq.maximize(eq.win_loss_ratio("old")))
    assert rows(problem).has_ratios
    with pytest.raises(eq.AlgorithmError, match=r"0 <= numerator <= denominator.*slack_ratios"):
        rows(problem, RatioForm.BICONVEX)


def test_every_biconvex_ratio_has_the_row_of_its_own_denominator():
    A, B = eq.attr("group") == "a", eq.attr("group") == "b"
    problem = eq.Problem(eq.maximize(eq.f1()), [eq.precision(A) >= eq.precision(B) - 0.1, eq.f1(A) >= eq.f1(B)])
    program = rows(problem, RatioForm.BICONVEX)
    directs = [atom.direct for atom in program.atoms]
    assert sorted(directs) == list(range(program.n_multipliers, len(program.rows)))
    for atom in program.atoms:
        denominator = atom.text.split(" / ")[1].removeprefix("(").removesuffix(")")
        assert program.rows[atom.direct].role is Role.DIRECT
        assert program.rows[atom.direct].text.strip("()") == denominator.strip("()")


def test_convex_forms_are_made_once():
    assert convex_form(LOG) is convex_form(LOG)
    assert ratio_form(1) is ratio_form(1) is not ratio_form(-1)


shares = st.floats(0.02, 1).flatmap(lambda d: st.tuples(st.floats(0, d), st.just(d)))


@given(shares, st.floats(0, 10))
def test_a_ratio_is_a_minimum_over_u(pair, other):
    N, D = pair

    def plus(u):
        return u**2 * D - 2 * u * np.sqrt(D - N) + 1

    def minus(u):
        return u**2 * D - 2 * u * np.sqrt(N)

    assert plus(np.sqrt(D - N) / D) == pytest.approx(N / D, abs=1e-9)
    assert plus(other) >= N / D - 1e-9
    assert minus(np.sqrt(N) / D) == pytest.approx(-N / D, abs=1e-9)
    assert minus(other) >= -N / D - 1e-9


@pytest.mark.parametrize("objective", [eq.maximize(eq.f1()), eq.minimize(eq.fp() / (eq.fp() + eq.tn() + eq.fn()))])
def test_the_biconvex_atom_is_the_ratio_at_the_best_u_and_slack(objective):
    rng = np.random.default_rng(0)
    y, predicted = rng.integers(0, 2, 50), rng.random((50, 4)) < 0.6
    table = make_table(canonicalize(eq.Problem(objective), RatioForm.BICONVEX), Examples.of(y))
    all_rows = table.rows(table.cells.sums(predicted))
    (group,) = table.groups
    under = -all_rows[table.couplings]  # the argument of the root, D - N or N, whose sense is -1
    D = all_rows[group.direct]
    expected = [objective.minimised.evaluate(y, predicted[:, c]) for c in range(4)]
    np.testing.assert_allclose(table.atom_values(under, np.sqrt(under) / D, all_rows)[0], expected, atol=1e-9)
    assert (table.atom_values(under, np.sqrt(under) / D + 0.1, all_rows)[0] > expected).all()
    # The best response is xi = (u lambda_0 / lambda_m)^2.
    player = BestSlack()
    state = player.start(table, 4)
    state.u[:] = [0.2, 0.4, 0.6, 0.8]
    lam = np.array([[1.0, 1.0, 0.5, 0.5], [1.0, 2.0, 3.0, 4.0]])
    xi = player.answer(state, table, lam).xi
    np.testing.assert_allclose(xi, np.clip((state.u * lam[0] / lam[1]) ** 2, table.lo[:, None], table.hi[:, None]))
    # The denominator is charged w u^2.
    np.testing.assert_allclose(player.direct(state, table, lam), lam[0] * state.u**2)
