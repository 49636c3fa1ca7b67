import html
import json
import re
import sys
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

import equirate as eq
from equirate.data.examples import Examples
from equirate.estimators.frontier import Frontier, signed_violation
from equirate.game.classifiers import Classifier
from equirate.judge.certify import estimate
from equirate.judge.evaluation import ConstraintValue, Evaluation, SliceSize
from equirate.models.linear_members import LinearMembers
from equirate.reports import words
from equirate.reports.facts import SHOWN, Baseline, Change, changes, rates_by_slice
from equirate.reports.report import Report
from equirate.reports.text import WIDTH, aligned

mpl.use("Agg")

Array = NDArray[np.float64]
A, B = eq.attr("g") == "a", eq.attr("g") == "<b>&"
PROBLEM = eq.Problem(eq.maximize(eq.f1()), [eq.tpr(A) >= eq.tpr(B) - 0.02, eq.positive_rate() <= 0.25])


def drawn(seed: int = 0, n: int = 300) -> tuple[Examples, Array]:
    rng = np.random.default_rng(seed)
    y, g = rng.integers(0, 2, n), np.where(rng.random(n) < 0.4, "a", "<b>&")
    return Examples.of(y, {"g": g}, rng.random(n)), np.clip(0.4 * y + 0.6 * rng.random(n), 0, 1)


def evaluated(problem: eq.Problem = PROBLEM, seed: int = 0) -> Evaluation:
    return Evaluation.of(problem, *drawn(seed))


# -- numbers --------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_expressions() -> None:
    examples, predictions = drawn()
    found = Evaluation.of(PROBLEM, examples, predictions, 0.9)
    data: Any = {"y_true": examples.labels, "y_pred": predictions}
    data |= {"attributes": examples.columns, "sample_weight": examples.weights}
    assert found.objective == pytest.approx(eq.f1().evaluate(**data), rel=1e-12)
    assert (found.low, found.high) == pytest.approx(estimate(eq.f1(), examples, predictions).interval(0.9), rel=1e-12)
    assert found.confidence == 0.9
    assert found.positive_rate == pytest.approx(eq.positive_rate().evaluate(**data))
    for row, constraint in zip(found.constraints, PROBLEM.constraints, strict=True):
        assert row.constraint == repr(constraint)
        assert row.violation == pytest.approx(constraint.evaluate(**data), abs=1e-12)  # type: ignore[union-attr]
        assert row.left == pytest.approx(constraint.left.evaluate(**data), abs=1e-12)  # type: ignore[union-attr]
        assert row.right == pytest.approx(constraint.right.evaluate(**data), abs=1e-12)  # type: ignore[union-attr]
        assert row.low < row.violation < row.high
        assert row.verdict in ("pass", "fail", "cannot tell")
    assert found.violation == max(0.0, *(row.violation for row in found.constraints))


def test_sizes_of_slices() -> None:
    examples, predictions = drawn()
    sizes = {size.slice: size for size in evaluated().slices}
    assert list(sizes) == ["everybody", repr(A), repr(B)]
    for slice_, name in ((None, "everybody"), (A, repr(A)), (B, repr(B))):
        inside = examples.mask(slice_) if slice_ is not None else np.ones(len(examples), dtype=bool)
        assert sizes[name].examples == inside.sum()
        assert sizes[name].positives == examples.labels[inside].sum()
        assert sizes[name].predicted == pytest.approx(
            eq.positive_rate(slice_).evaluate(
                examples.labels, predictions, attributes=examples.columns, sample_weight=examples.weights
            )
        )
    assert sizes[repr(A)].examples + sizes[repr(B)].examples == sizes["everybody"].examples


def test_a_dict_of_plain_numbers_for_json() -> None:
    found = evaluated().to_dict()
    back = json.loads(json.dumps(found, allow_nan=False))
    assert back["objective"] == found["objective"]
    assert back["constraints"][1]["constraint"] == "positive_rate() <= 0.25"
    assert back["violation"] == evaluated().violation
    assert json.loads(json.dumps(evaluated(eq.Problem(eq.minimize(eq.log_loss()))).to_dict()))["violation"] == 0


def test_families_are_written_out() -> None:
    problem = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity(eq.attr("g"), tolerance=0.1))
    found = evaluated(problem)
    assert len(found.constraints) == 1
    assert found.constraints[0].constraint.startswith("abs(positive_rate(g == ")


def test_a_loss_has_no_value_on_predictions() -> None:
    found = evaluated(eq.Problem(eq.minimize(eq.log_loss() + eq.fpr()), [eq.fpr() <= 0.3]))
    assert np.isnan([found.objective, found.low, found.high]).all()
    assert np.isfinite(found.constraints[0].violation)
    assert "[–, –]" in str(Report("minimize log_loss() + fpr()", {"test": found}))


# -- for a person ---------------------------------------------------------------------------------


def report(notes: tuple[str, ...] = ()) -> Report:
    return Report(repr(PROBLEM), {"train": evaluated(seed=1), "test": evaluated(seed=2)}, notes)


def numbers(found: Report) -> list[str]:
    wanted = [f"{part.objective:.4f}" for part in found.parts.values()]
    wanted += [f"{found.last.low:.4f}", f"{found.last.high:.4f}"]
    for part in found.parts.values():
        wanted += [f"{row.violation:+.4f}" for row in part.constraints]
    for row in found.last.constraints:
        wanted += [f"{row.low:+.4f}", f"{row.high:+.4f}", f"{row.left:.4f}", f"{row.right:.4f}", row.verdict]
    for size in found.last.slices:
        wanted += [f"{size.examples:,}", f"{size.labelled:.1%}", f"{size.predicted:.1%}"]
    return wanted


def test_text_and_html_hold_every_number() -> None:
    found = report(("a note",))
    text, page = str(found), found._repr_html_()
    for number in numbers(found):
        assert number in text
        assert number in page
    for shown in (
        "maximize f1()",
        *(row.constraint for row in found.last.constraints),
        "train",
        "test",
        "95% interval",
    ):
        assert shown in text
        assert html.escape(shown) in page
    assert "! a note" in text
    assert "a note" in page
    assert repr(found) == text


def test_html_is_escaped_and_well_formed() -> None:
    page = report(("<script>alert(1)</script>",))._repr_html_()
    assert "<b>" not in page
    assert "<script>" not in page
    assert "&lt;b&gt;&amp;" in page
    for tag in ("div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"):
        assert len(re.findall(f"<{tag}[ >]", page)) == page.count(f"</{tag}>")


def test_columns_are_aligned() -> None:
    table = aligned([["name", "value", "more"], ["a", "1", "22"], ["longer", "333", "4"]])
    assert table.splitlines() == [
        "name    value  more",
        "-------------------",
        "a           1    22",
        "longer    333     4",
    ]
    rules = [line for line in str(report()).splitlines() if set(line) == {"-"}]
    assert len(rules) == 3


LONG = "a column whose name is long enough to leave the page all by itself, and then some more words"


@settings(max_examples=60)
@given(
    violation=st.floats(-1e7, 1e7) | st.sampled_from([0.0, float("nan"), float("inf"), -99.9999]),
    verdict=st.sampled_from(list(words.VERDICT_WORDS)),
    name=st.sampled_from(["g", LONG, "x" * 300]),
    label=st.sampled_from(["1", "'>50K'", "'" + "y" * 80 + "'"]),
)
def test_text_fits_100_columns(violation: float, verdict: str, name: str, label: str) -> None:
    row = ConstraintValue(f"tpr({name} == 'a') >= 0.5", violation, ">=", 0.5, violation, violation, violation, verdict)
    size = SliceSize(f"{name} == 'a'", 1_000_000, 500_000, 0.5, 0.5)
    everybody = SliceSize("everybody", 2_000_000, 500_000, 0.5, 0.5)
    part = Evaluation(violation, violation, violation, (row, row, row), (everybody, size), 0.5, 0.95)
    beside = Baseline("the same without constraints", "A note. " * 30, part, (), (Change("everybody", 9, 1, 1, 1, 1),))
    parts = {"train": part, "validation": part, "test": part}
    found = Report(f"maximize f1({name} == 'a')", parts, ("note " * 50,), label, baseline=beside)
    assert max(map(len, str(found).splitlines())) <= WIDTH


def test_no_constraints_and_one_part() -> None:
    problem = eq.Problem(eq.minimize(eq.error_rate()))
    text = str(Report(repr(problem), {"test": evaluated(problem)}))
    assert "violation" not in text
    assert "there are no constraints" in text
    assert "minimize error_rate()" in text
    assert evaluated(problem).violation == 0


def test_long_texts_are_folded_and_stay_whole() -> None:
    many = eq.attr("g").isin([f"value number {k}" for k in range(40)] + ["a"])
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(many) >= 0.1, eq.fpr(A) <= 0.5])
    found = evaluated(problem)
    text = str(Report(repr(problem), {"train": found, "test": found}))
    assert max(map(len, text.splitlines())) <= WIDTH
    squeezed = re.sub(r"\s+", "", text)
    for value in (f"valuenumber{k}'" for k in range(40)):
        assert value in squeezed
    for row in found.constraints:
        line = next(line for line in text.splitlines() if f"{row.violation:+.4f}" in line)
        assert f"{row.left:.4f} {row.symbol} {row.right:.4f}" in line


def test_values_that_are_not_finite() -> None:
    examples, _ = drawn()
    problem = eq.Problem(eq.minimize(eq.kl_divergence()), [eq.kl_divergence(A) <= 0.1])
    found = Evaluation.of(problem, examples, np.zeros(len(examples)))
    assert found.objective == np.inf
    assert found.constraints[0].verdict == "cannot tell"
    text = str(Report(repr(problem), {"test": found}))
    assert "inf" in text
    assert "nan" not in text


# -- what it says, and what else it holds ----------------------------------------------------------


def judged(*rows: tuple[float, str]) -> Report:
    """A report with constraints of these violations and verdicts."""
    constraints = tuple(
        ConstraintValue(f"fpr() <= 0.{k}", 0.1, "<=", 0.2, violation, violation - 0.01, violation + 0.01, verdict)
        for k, (violation, verdict) in enumerate(rows)
    )
    part = Evaluation(0.7, 0.6, 0.8, constraints, (SliceSize("everybody", 1200, 300, 0.2, 0.25),), 0.2, 0.9)
    return Report("maximize f1()", {"train": part, "test": part})


PASS, FAIL, UNSURE, ABSENT = (-0.1, "pass"), (0.05, "fail"), (-0.001, "cannot tell"), (float("nan"), "not measured")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "f1() is 0.7000 on the 1,200 examples given; there are no constraints."),
        ([PASS], "The constraint holds on the 1,200 examples given, at 90% confidence."),
        ([FAIL], "The constraint is broken on .*: by 0.0500, and by 0.0400 or more at 90% confidence."),
        ([UNSURE], "The constraint holds on .*, but they are too few .* at 90% confidence it may be missed by 0.0090."),
        ([(0.001, "cannot tell")], "The constraint is missed by 0.0010 on .* may be missed by 0.0110."),
        ([(1e-12, "cannot tell")], "The constraint holds, at its limit, on .* it may be missed by 0.0100."),
        ([(-1e-12, "cannot tell")], "The constraint holds, at its limit, on .* it may be missed by 0.0100."),
        ([ABSENT], "The constraint cannot be measured on .*: one of its rates has no examples there."),
        ([PASS, PASS], "Both constraints hold on .*, each at 90% confidence."),
        ([PASS, PASS, PASS], "All 3 constraints hold on .*, each at 90% confidence."),
        ([UNSURE, UNSURE], "Both constraints are too close to call on .*"),
        (
            [FAIL, PASS, UNSURE],
            "Of 3 constraints, 1 is broken .by 0.0500., 1 is too close .* and 1 holds on .*",
        ),
        ([ABSENT, ABSENT], "Of 2 constraints, 2 cannot be measured, for want of examples on .*"),
    ],
)
def test_the_verdict_is_one_sentence(rows: list[tuple[float, str]], said: str) -> None:
    found = judged(*rows)
    assert re.fullmatch(said.replace("()", r"\(\)"), found.verdict)
    assert str(found).startswith(found.verdict[:40])


def test_a_constraint_that_was_not_measured_is_not_said_to_be_kept() -> None:
    for rows, said in (
        ([ABSENT], "has 0.7000."),
        ([ABSENT, PASS], "keeps every constraint that can be measured here."),
    ):
        found = judged(*rows)
        shown = " ".join(str(replace(found, baseline=Baseline("logistic", "", found.last))).split())
        assert said in shown
        assert "keeps every constraint here" not in shown
        assert "nan" not in shown


def test_the_verdict_on_data_that_were_seen_says_so() -> None:
    part = judged(PASS).last
    found = Report("maximize f1()", {"train": part, "validation": part})
    assert "held-out" not in found.verdict
    assert "give report() held-out data" in str(found)
    assert "give report() held-out data" not in str(judged(PASS))


@pytest.mark.parametrize(
    ("sense", "theirs", "said"),
    [
        ("maximize", 0.75, "That costs 0.0500 of f1(): 0.7000; logistic has 0.7500"),
        ("maximize", 0.65, "It even gains 0.0500 of f1(): 0.7000; logistic has 0.6500"),
        ("minimize", 0.65, "That costs 0.0500 of f1()"),
        ("maximize", 0.7, "That costs nothing in f1()"),
    ],
)
@pytest.mark.parametrize(("row", "kept"), [(FAIL, "but breaks the constraint"), (PASS, "keeps every constraint")])
def test_the_price(sense: str, theirs: float, said: str, row: tuple[float, str], kept: str) -> None:
    other = replace(judged(row).last, objective=theirs)
    price = words.price(replace(judged(PASS), problem=f"{sense} f1()", baseline=Baseline("logistic", "", other)))
    assert price.startswith(said)
    assert kept in price
    assert words.price(judged(PASS)) == ""


def test_rates_by_slice_are_those_of_the_language() -> None:
    examples, predictions = drawn()
    found = {(rate.rate, rate.slice): rate for rate in rates_by_slice(PROBLEM, examples, predictions, 0.9)}
    assert len(found) == 3 * len(SHOWN)
    for shown in SHOWN:
        for slice_, name in ((None, "everybody"), (A, repr(A)), (B, repr(B))):
            rate, wanted = found[shown.name, name], getattr(eq, shown.name)(slice_)
            assert rate.value == pytest.approx(
                wanted.evaluate(
                    examples.labels, predictions, attributes=examples.columns, sample_weight=examples.weights
                )
            )
            assert (rate.low, rate.high) == pytest.approx(estimate(wanted, examples, predictions).interval(0.9))


def test_rates_of_nobody_are_not_numbers() -> None:
    examples = Examples.of(np.array([0, 1, 0, 0]), {"g": np.array(["a", "a", "<b>&", "<b>&"])})
    found = {(r.rate, r.slice): r.value for r in rates_by_slice(PROBLEM, examples, np.array([0.0, 1, 0, 0]), 0.9)}
    assert np.isnan(found["tpr", repr(B)])
    assert np.isnan(found["precision", repr(B)])  # nobody is predicted positive there
    assert found["tpr", repr(A)] == 1


@given(st.integers(0, 50))
def test_changes_add_up(seed: int) -> None:
    examples, p = drawn(seed, 60)
    b = np.random.default_rng(seed + 1).random(60).round()
    found = {change.slice: change for change in changes(PROBLEM, examples, p, b)}
    everybody = found["everybody"]
    assert everybody.examples == 60
    assert everybody.differ == pytest.approx(np.abs(p - b).sum())  # the baseline decides by 0 and 1
    assert everybody.gained - everybody.lost == pytest.approx((p - b).sum())
    right = everybody.gained_right + everybody.lost_right  # what the error falls by, and rises by otherwise
    error = [np.abs(each - examples.labels).sum() for each in (p, b)]
    assert error[1] - error[0] == pytest.approx(right - (everybody.differ - right))
    for name in ("gained", "gained_right", "lost", "lost_right"):
        parts = getattr(found[repr(A)], name) + getattr(found[repr(B)], name)
        assert getattr(everybody, name) == pytest.approx(parts)


def full() -> Report:
    examples, predictions = drawn(2)
    other = (predictions > 0.5).astype(float)
    beside = Baseline(
        "<i>other</i>",
        "",
        Evaluation.of(PROBLEM, examples, other),
        rates_by_slice(PROBLEM, examples, other, 0.95),
        changes(PROBLEM, examples, predictions, other),
    )
    rates = rates_by_slice(PROBLEM, examples, predictions, 0.95)
    return replace(report(("note",)), rates=rates, baseline=beside)


def test_the_frame_holds_every_number() -> None:
    found = full()
    frame = found.to_frame()
    assert type(frame).__module__.startswith("pandas")
    assert len(frame) == 3 * (1 + 2) + 2 * 3 * len(SHOWN)
    rows = frame[(frame["part"] == "test") & (frame["classifier"] == "this")]
    assert rows[rows["kind"] == "objective"]["value"].item() == found.last.objective
    constraints = rows[rows["kind"] == "constraint"]
    assert constraints["name"].tolist() == [c.constraint for c in found.last.constraints]
    assert constraints["verdict"].tolist() == [c.verdict for c in found.last.constraints]
    assert constraints["value"].tolist() == [c.violation for c in found.last.constraints]
    assert rows[rows["kind"] == "rate"]["value"].tolist() == [rate.value for rate in found.rates]


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Hide packages, also those that were imported already."""
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def test_frames_of_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas")
    assert type(full().to_frame()).__module__.startswith("polars")


def test_a_missing_frame_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas", "polars", "pyarrow")
    with pytest.raises(ImportError, match=r"pip install 'equirate\[data\]'"):
        full().to_frame()


def test_a_dict_for_json() -> None:
    found = full()
    back = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert back["sentence"] == found.verdict
    assert back["verdict"] == words.outcome(found.last)
    assert back["parts"]["test"]["objective"] == found.last.objective
    assert back["baseline"]["changes"][0]["slice"] == "everybody"
    nothing = replace(found.last, objective=float("nan"), low=-np.inf, high=np.inf)
    part = Report("minimize log_loss()", {"test": nothing}).to_dict()["parts"]["test"]
    assert (part["objective"], part["low"], part["high"]) == (None, None, None)


# -- frontier -------------------------------------------------------------------------------------

LEVELS = (-0.1, 0.0, 0.1)


def frontier(problem: eq.Problem = PROBLEM) -> Frontier:
    classifier = Classifier(LinearMembers(np.ones((2, 1))), np.ones(1))
    parts = {name: [evaluated(problem, 10 * p + k) for k in range(3)] for p, name in enumerate(("train", "test"))}
    return Frontier(LEVELS, parts, (classifier,) * 3, repr(problem.objective))


def test_the_table_of_a_frontier() -> None:
    found = frontier()
    rows = found.table()
    assert [row["level"] for row in rows] == list(LEVELS)
    for k, row in enumerate(rows):
        for part in ("train", "test"):
            evaluation = found.parts[part][k]
            assert row[f"objective_{part}"] == evaluation.objective
            assert row[f"violation_{part}"] == max(c.violation for c in evaluation.constraints)
    json.dumps(rows)


def test_the_text_of_a_frontier() -> None:
    found = frontier()
    text = str(found)
    assert repr(found) == text
    assert text.startswith("maximize(f1())\n")
    lines = text.splitlines()
    assert len(lines) == 1 + 2 + len(LEVELS) + 1
    assert lines[-1] == "numbers are of the mixture: expected rates over its draws"
    for row, line in zip(found.table(), lines[3:-1], strict=True):
        assert line.split() == [f"{row['level']:+.4g}", *(f"{v:.4f}" for k, v in row.items() if k != "level")]


@pytest.mark.parametrize(
    "problem",
    [
        PROBLEM,
        eq.Problem(eq.minimize(eq.error_rate())),
        eq.Problem(eq.minimize(eq.log_loss()), [eq.fpr() <= 0.2]),
        eq.Problem(eq.minimize(eq.kl_divergence()), [eq.kl_divergence(A) <= 0.1]),
    ],
    ids=["usual", "no constraints", "loss", "kl"],
)
def test_the_plot_of_a_frontier(problem: eq.Problem) -> None:
    import matplotlib.pyplot as plt

    found = frontier(problem)
    axes = found.plot()
    assert axes.get_ylabel() == found.objective
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["train", "test"]
    drawn_points = [line.get_xdata() for line in axes.get_lines() if len(line.get_xdata()) == 3]
    wanted = [signed_violation(e) for e in found.parts["test"]]
    assert any(np.allclose(points, wanted) for points in drawn_points)
    axes.figure.canvas.draw()
    assert found.plot(axes) is axes
    plt.close("all")


def test_a_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "matplotlib")
    with pytest.raises(ImportError, match=r"pip install 'equirate\[plot\]'"):
        frontier().plot()


def test_the_signed_violation_is_negative_with_room_to_spare() -> None:
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 1.5, eq.fpr() <= 1.2])
    assert signed_violation(evaluated(problem)) < -0.2
    assert signed_violation(evaluated(eq.Problem(eq.minimize(eq.error_rate())))) == 0
