import builtins
import html
import json
import re
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from numpy.typing import NDArray

import equirate as eq
from equirate.data.examples import Examples
from equirate.estimators.frontier import Frontier, signed_violation
from equirate.game.classifiers import Classifier
from equirate.judge.certify import estimate
from equirate.judge.evaluation import Evaluation
from equirate.models.linear import LinearMembers
from equirate.report.text import Report, aligned

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
    data = (examples.labels, predictions, examples.columns, examples.weights)
    assert found.objective == pytest.approx(eq.f1().evaluate(*data), rel=1e-12)
    assert (found.low, found.high) == estimate(eq.f1(), examples, predictions).interval(0.9)
    assert found.confidence == 0.9
    assert found.positive_rate == pytest.approx(eq.positive_rate().evaluate(*data))
    for row, constraint in zip(found.constraints, PROBLEM.constraints, strict=True):
        assert row.constraint == repr(constraint)
        assert row.violation == constraint.evaluate(*data)  # type: ignore[union-attr]
        assert row.left == constraint.left.evaluate(*data)  # type: ignore[union-attr]
        assert row.right == constraint.right.evaluate(*data)  # type: ignore[union-attr]
        assert row.low < row.violation < row.high
        assert row.verdict in ("pass", "fail", "cannot tell")
    assert found.violation == max(0.0, *(row.violation for row in found.constraints))


def test_constraints_may_have_weights_of_their_own() -> None:
    examples, predictions = drawn()
    equal = Examples.of(examples.labels, examples.columns)
    found = Evaluation.of(PROBLEM, examples, predictions, constraints_on=equal)
    assert found.objective == Evaluation.of(PROBLEM, examples, predictions).objective
    assert found.constraints == Evaluation.of(PROBLEM, equal, predictions).constraints


def test_sizes_of_slices() -> None:
    examples, predictions = drawn()
    sizes = {size.slice: size for size in evaluated().slices}
    assert list(sizes) == ["everybody", repr(A), repr(B)]
    for slice_, name in ((None, "everybody"), (A, repr(A)), (B, repr(B))):
        inside = examples.mask(slice_) if slice_ is not None else np.ones(len(examples), dtype=bool)
        assert sizes[name].examples == inside.sum()
        assert sizes[name].positives == examples.labels[inside].sum()
        assert sizes[name].predicted == pytest.approx(
            eq.positive_rate(slice_).evaluate(examples.labels, predictions, examples.columns, examples.weights)
        )
    assert sizes[repr(A)].examples + sizes[repr(B)].examples == sizes["everybody"].examples


def test_a_dict_of_plain_numbers_for_json() -> None:
    found = evaluated().as_dict()
    back = json.loads(json.dumps(found, allow_nan=False))
    assert back["objective"] == found["objective"]
    assert back["constraints"][1]["constraint"] == "positive_rate() <= 0.25"
    assert back["max_violation"] == evaluated().violation
    assert json.loads(json.dumps(evaluated(eq.Problem(eq.minimize(eq.log_loss()))).as_dict()))["max_violation"] == 0


def test_families_are_written_out() -> None:
    problem = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity(eq.attr("g"), tolerance=0.1))
    found = evaluated(problem)
    assert len(found.constraints) == 1
    assert found.constraints[0].constraint.startswith("abs(positive_rate(g == ")


def test_a_loss_has_no_value_on_predictions() -> None:
    found = evaluated(eq.Problem(eq.minimize(eq.log_loss() + eq.fpr()), [eq.fpr() <= 0.3]))
    assert np.isnan([found.objective, found.low, found.high]).all()
    assert np.isfinite(found.constraints[0].violation)
    assert "nan" in str(Report("minimize log_loss() + fpr()", {"test": found}))


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
        wanted += [f"{size.examples:,}", f"{size.positives:,}", f"{size.predicted:.1%}"]
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
    for tag in ("div", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"):
        assert len(re.findall(f"<{tag}[ >]", page)) == page.count(f"</{tag}>")


def test_columns_are_aligned() -> None:
    for block in str(report()).split("\n\n"):
        header, rule, *rows = block.splitlines()
        assert set(rule) == {"-"}
        assert len(rule) >= max(map(len, [header, *rows]))
    table = aligned([["name", "value", "more"], ["a", "1", "22"], ["longer", "333", "4"]])
    assert table.splitlines() == [
        "name    value  more",
        "-------------------",
        "a           1    22",
        "longer    333     4",
    ]


def test_no_constraints_and_one_part() -> None:
    problem = eq.Problem(eq.minimize(eq.error_rate()))
    text = str(Report(repr(problem), {"test": evaluated(problem)}))
    assert "asked" not in text
    assert "violation" not in text
    assert "minimize error_rate()" in text
    assert evaluated(problem).violation == 0


def test_long_texts_are_folded_and_stay_whole() -> None:
    many = eq.attr("g").isin([f"value number {k}" for k in range(40)] + ["a"])
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(many) >= 0.1, eq.fpr(A) <= 0.5])
    found = evaluated(problem)
    text = str(Report(repr(problem), {"train": found, "test": found}))
    assert max(map(len, text.splitlines())) < 200
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
    assert len(lines) == 1 + 2 + len(LEVELS)
    for row, line in zip(found.table(), lines[3:], strict=True):
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
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'equirate\[plot\]'"):
        frontier().plot()


def test_the_signed_violation_is_negative_with_room_to_spare() -> None:
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 1.5, eq.fpr() <= 1.2])
    assert signed_violation(evaluated(problem)) < -0.2
    assert signed_violation(evaluated(eq.Problem(eq.minimize(eq.error_rate())))) == 0
