"""The truths themselves, and a tenth of the problems held against them."""

import json
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cvxpy")

from equirate_lab import cli, truth
from equirate_lab.truth import ClassCase, branching, class_cases, programmes
from equirate_lab.truth.classes import TEMPLATES as CLASS_TEMPLATES
from equirate_lab.truth.counted import Counted, Curve, Posed
from equirate_lab.truth.grounds import Ground, grounds, half_planes, one_feature, one_hot, two_features
from equirate_lab.truth.problems import INFEASIBLE, TEMPLATES, Case, cases
from equirate_lab.truth.runner import CLASSIFIER, POLISHED, Found, Reached
from equirate_lab.truth.tables import CLOSE, KEPT
from typer.testing import CliRunner

import equirate as eq

CASES = cases()
SMALL = (one_hot(1, 5), one_feature(0, 120), two_features(0, 80))
TENTH = CASES[7::10]


def once(kinds: Sequence[Ground] = SMALL) -> list[Case]:
    """Every template, on small grounds in turn."""
    return [Case(template, kinds[k % len(kinds)], template.levels[0]) for k, template in enumerate(TEMPLATES)]


def test_there_are_enough_problems_of_every_family_on_every_kind_of_data() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 200
    assert {(case.template.family, case.ground.kind) for case in CASES} == {
        (family, ground.kind) for family in truth.FAMILIES for ground in SMALL
    }
    assert len(TENTH) == len(CASES) // 10


@pytest.mark.parametrize("case", once(), ids=lambda case: case.template.name)
def test_both_languages_say_the_same(case: Case) -> None:
    ground, problem = case.ground, case.written()
    predicted = np.random.default_rng(0).random(len(ground.y))
    cells = [(ground.group == g) & (ground.y == label) for g in (0, 1) for label in (0, 1)]
    shares = np.array([predicted[cell].sum() for cell in cells]) / len(ground.y)
    given = (ground.y, predicted)
    assert problem.objective.expr.evaluate(*given, attributes=ground.attributes) == pytest.approx(
        case.posed.objective.value(shares), abs=1e-12
    )
    violations = [
        c.evaluate(*given, attributes=ground.attributes) for c in problem.constraints if isinstance(c, eq.Constraint)
    ]
    assert max(violations, default=0.0) == pytest.approx(case.posed.violation(shares), abs=1e-12)


CLASS_CASES = class_cases((3, 6))


@pytest.mark.parametrize("case", CLASS_CASES[: len(CLASS_TEMPLATES)], ids=lambda case: case.template.name)
def test_both_languages_say_the_same_of_several_classes(case: ClassCase) -> None:
    ground, problem = case.ground, case.written()
    decided = ground.decided[:, 0]
    shares = case.shares(np.eye(ground.classes)[decided])
    given = (ground.y, decided)
    assert problem.objective.expr.evaluate(*given, attributes=ground.attributes) == pytest.approx(
        case.posed.objective.value(shares), abs=1e-12
    )
    violations = [
        c.evaluate(*given, attributes=ground.attributes) for c in problem.constraints if isinstance(c, eq.Constraint)
    ]
    assert max(violations, default=0.0) == pytest.approx(case.posed.violation(shares), abs=1e-12)


@pytest.mark.parametrize("case", CLASS_CASES[: len(CLASS_TEMPLATES)], ids=lambda case: case.template.name)
def test_no_mixture_of_listed_classifiers_beats_the_truth(case: ClassCase) -> None:
    found, rng = case.truth(), np.random.default_rng(1)
    assert (found.value is None) == (case.template.family == "several classes, infeasible")
    for _ in range(300):
        shares = case.ground.reach.draw(rng)
        if case.posed.violation(shares) <= 0:
            assert found.value is not None
            assert case.posed.sign * (case.posed.objective.value(shares) - found.value) >= -1e-6


def test_a_grid_and_branch_and_bound_agree_on_macro_f1() -> None:
    case = next(each for each in CLASS_CASES if each.template.name == "macro-F1")
    grid, bounded = case.truth(), branching.branch_and_bound(case.posed, case.ground.reach)
    assert grid.value == pytest.approx(bounded.value, abs=bounded.gap + 1e-7)


# -- what can be reached --------------------------------------------------------------------------


def test_every_half_plane_is_known() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    known = {tuple(row) for row in half_planes(X)}
    assert len(known) == 12 * 11 + 2
    for _ in range(300):
        direction = rng.normal(size=2)
        assert tuple(X @ direction > rng.normal()) in known


@pytest.mark.parametrize("ground", grounds(), ids=lambda ground: f"{ground.kind}, {ground.name}")
def test_no_classifier_is_beyond_reach(ground: Ground) -> None:
    """Shares of random linear classifiers, in random directions, are not beyond the support of the polytope."""
    rng = np.random.default_rng(0)
    cells = np.array([(ground.group == g) & (ground.y == label) for g in (0, 1) for label in (0, 1)])
    directions = rng.normal(size=(50, 4))
    support = np.array([ground.reach.support(direction) for direction in directions])
    for _ in range(50):
        scores = ground.X @ rng.normal(size=ground.X.shape[1]) + rng.normal()
        shares = cells @ (scores > 0).astype(float) / len(ground.y)
        assert np.all(directions @ shares <= support + 1e-12)
    assert np.all(directions @ ground.reach.draw(rng) <= support + 1e-12)


# -- the truths -----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", once(), ids=lambda case: case.template.name)
def test_truths_are_had_and_nothing_that_can_be_reached_is_better(case: Case) -> None:
    found, posed, reach = case.truth(), case.posed, case.ground.reach
    assert (found.value is None) == (case.template.family == INFEASIBLE)
    if found.value is not None:
        assert found.shares is not None
        assert posed.violation(found.shares) <= 1e-6
        assert posed.objective.value(found.shares) == pytest.approx(found.value, abs=1e-9)
    rng = np.random.default_rng(1)
    reached = [reach.draw(rng) for _ in range(300)]
    if not reach.mixed:  # most buckets decided, as in good mixtures
        chances = np.clip(rng.normal(0.5, 2.0, size=(300, reach.width)), 0, 1)
        reached += [reach.generators @ chance for chance in chances]
    floors = programmes.floors(posed)
    for shares in reached:
        if posed.violation(shares) <= 0 and all(part.value(shares) <= 0 for part in floors):
            assert found.value is not None
            assert posed.sign * (posed.objective.value(shares) - found.value) >= -found.gap - 1e-6


def second(posed: Posed, reach: object, method: str) -> list[programmes.Truth]:
    """The truth by other methods than the one that was taken."""
    others = {
        "linear programme": [programmes.convex],
        "Charnes-Cooper": [programmes.dinkelbach],
        "bisection of levels": [branching.branch_and_bound],
        "branch and bound": [partial(branching.enumerated, fine=8, passes=1)],
        "cvxpy": [programmes.descent],
        "enumeration of a rate": [programmes.descent],
    }
    return [other(posed, reach) for other in others[method]]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("case", once([one_hot(2, 8), one_hot(0, 5)]), ids=lambda case: case.template.name)
def test_two_methods_agree(case: Case) -> None:
    found, posed = case.truth(), case.posed
    curves = [term for _, term in posed.objective.terms if isinstance(term, Curve)]
    if curves and curves[0].name == "increasing":
        posed = Posed(posed.sense, curves[0].parts[0], posed.constraints)
        found = programmes.best(posed, case.ground.reach)
    if found.method == "bisection of levels" and not any(True for _ in posed.objective.ratios()):
        found = programmes.Truth(found.value, "linear programme", found.shares)  # of rates alone: convex
    for other in second(posed, case.ground.reach, found.method):
        if other.value is None and other.method == "enumeration":
            continue  # a grid may miss what is thin
        assert (found.value is None) == (other.value is None)
        if found.value is not None and other.value is not None:
            worse = posed.sign * (other.value - found.value)
            # What is enumerated on a coarse grid is had, and comes close; the others are exact.
            assert -found.gap - 1e-5 <= worse <= (0.1 if other.method == "enumeration" else 2e-4 + found.gap)


def test_branch_and_bound_on_one_ratio_is_charnes_cooper() -> None:
    ground = SMALL[2]
    L = Counted(ground.reach.totals)
    posed = Posed("maximize", L.f1() + L.constant(0.0), ((L.precision(), ">=", 0.5),))
    exact = programmes.charnes_cooper(posed, ground.reach)
    assert branching.branch_and_bound(posed, ground.reach).value == pytest.approx(exact.value, abs=2e-4)


# -- what is judged -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tenth() -> list[Found]:
    return [truth.judged(case, [CLASSIFIER]) for case in TENTH]


@pytest.mark.slow
def test_a_tenth_is_close_to_the_optimum(tenth: list[Found]) -> None:
    known = [one for one in tenth if one.truth is not None]
    exact = np.array([one.gap(CLASSIFIER) for one in known if one.kind != "two features"])
    assert exact.max() <= 1e-4  # costs are answered exactly
    gaps = np.array([one.gap(CLASSIFIER) for one in known])  # otherwise the aim is new rows: columns are regressions
    assert np.median(gaps) <= 1e-3
    assert np.mean(gaps <= CLOSE) >= 0.7
    assert gaps.max() <= 0.08


@pytest.mark.slow
def test_a_tenth_keeps_its_constraints_or_says_so(tenth: list[Found]) -> None:
    for one in tenth:
        reached = one.reached[CLASSIFIER]
        assert reached.said_feasible == (one.truth is not None), str(one)
        assert one.truth is None or reached.violation <= KEPT, str(one)
        assert one.wrong(CLASSIFIER) == "", str(one)
    assert any(one.truth is None for one in tenth)


# -- tables ---------------------------------------------------------------------------------------


def made_up(objective: float, truth: float | None = 0.5, **said: object) -> Found:
    one = {"violation": 0.0, "said_feasible": True, "bound": None, "bound_over": None, "seconds": 0.1, **said}
    ways = {way: Reached(objective=objective, **one) for way in (CLASSIFIER, POLISHED)}  # type: ignore[arg-type]
    return Found(f"p{objective}{truth}", "linear", "one-hot", "maximize", truth, "linear programme", 0.0, ways)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (made_up(0.4), ""),
        (made_up(0.4, violation=0.01), "said to be feasible"),
        (made_up(0.4, said_feasible=False), "said to be infeasible"),
        (made_up(0.4, None, said_feasible=False), ""),
        (made_up(0.4, None, violation=0.1), "said to be feasible"),
        (made_up(0.4, bound=0.45, bound_over="all classifiers of this model"), "a bound of 0.45"),
        (made_up(0.4, bound=0.45, bound_over="these columns"), ""),
        (made_up(0.4, error="DataError: no"), "DataError"),
    ],
)
def test_wrong_statuses(found: Found, says: str) -> None:
    said = found.wrong(CLASSIFIER)
    assert said.startswith(says)
    assert bool(said) == bool(says)


def test_gaps_are_in_the_sense_of_the_problem() -> None:
    assert made_up(0.4).gap(CLASSIFIER) == pytest.approx(0.1)
    assert made_up(0.6).gap(CLASSIFIER) == 0.0
    assert made_up(float("nan")).gap(CLASSIFIER) == float("inf")


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [made_up(0.4), made_up(0.5), made_up(0.2, None, said_feasible=False)]
    monkeypatch.setattr(truth, "run", lambda *arguments, **options: found)
    page, numbers = tmp_path / "page.md", tmp_path / "numbers.json"
    page.write_text("before\n<!-- truth -->\n<!-- /truth -->\nafter\n<!-- table -->\n")
    result = CliRunner().invoke(cli.app, ["truth", "--docs", str(page), "--out", str(numbers)])
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "| linear | one-hot | 2 | .0500 / .0900 / .1000 |" in text
    assert "50.0% of gaps at most 0.005" in text
    assert text.endswith("after\n<!-- table -->\n")
    assert [Found.of(one) for one in json.loads(numbers.read_text())] == found


@pytest.mark.slow
def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    chosen = CASES[:2]
    first = truth.run(chosen[:1])
    judged: list[Found] = []
    both = truth.run(chosen, tell=judged.append, known=first)
    assert [one.name for one in both] == [case.name for case in chosen]
    assert [one.name for one in judged] == [chosen[1].name]
    assert both[0] is first[0]


def test_no_such_family() -> None:
    result = CliRunner().invoke(cli.app, ["truth", "--family", "cubic"])
    assert result.exit_code == 2
    assert "there is no family 'cubic'" in " ".join(result.output.split())


@pytest.mark.slow
def test_cases_travel_by_name() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [one.name for one in truth.run(CASES[:2], jobs=2)] == [case.name for case in CASES[:2]]
