"""The laboratory of monitors, in short: populations at the boundary, a few streams, and the page."""

from pathlib import Path

import numpy as np
import pytest
from equirate_lab import cli, monitoring
from equirate_lab.monitoring.problems import PROBLEMS, Problem
from equirate_lab.monitoring.runner import METHODS, Plan, applies
from typer.testing import CliRunner

FEWER = {"all so far": 1, "day by day": 1, "MAPIE": 0}
SHORT = Plan(streams=4, rows=1000, moved=2, most=2000, moves=(0.1,), before=1000, fewer=FEWER)


def test_there_are_six_problems() -> None:
    assert len({problem.name for problem in PROBLEMS}) == 6


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
@pytest.mark.parametrize("violation", [-0.02, 0.0, 0.1])
def test_the_violation_is_as_it_was_set(problem: Problem, violation: float) -> None:
    rows = problem.draw(np.random.default_rng(0), 200_000, violation)
    found = problem.constraint.evaluate(rows.label, rows.predicted, attributes={"sex": rows.sex})
    assert found == pytest.approx(violation, abs=0.012)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_large_moves_are_found_by_every_method_that_applies(problem: Problem) -> None:
    rows = problem.draw(np.random.default_rng(1), 4000, 0.1)
    for name, method in METHODS.items():
        if applies(name, problem) and name not in ("day by day", "MAPIE"):
            found = method(problem, rows, 200)
            assert found is not None
            assert found <= 4000


def test_mapie_finds_a_large_move() -> None:
    pytest.importorskip("mapie")
    rows = PROBLEMS[3].draw(np.random.default_rng(1), 3000, 0.1)
    assert METHODS["MAPIE"](PROBLEMS[3], rows, 200) is not None


def test_runs_go_on_and_are_the_same(tmp_path: Path) -> None:
    out, lines = tmp_path / "results.json", list[str]()
    first = monitoring.run(SHORT, out, PROBLEMS[:1], lines.append)
    said = len(lines)
    assert monitoring.run(SHORT, out, PROBLEMS[:1], lines.append) == first
    assert len(lines) == said  # nothing was measured again
    assert monitoring.run(SHORT, tmp_path / "again.json", PROBLEMS[:1]) == first
    tables = monitoring.make_tables(first, SHORT)
    assert tables[0].title == "False alarms at the boundary"
    assert len(tables) == 3


def test_the_command(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- table -->\n<!-- /table -->\n", "utf-8")
    options = ["--streams", "2", "--moved", "0", "--rows", "2000", "--kills", "0", "--problem", "rate"]
    places = ["--out", str(tmp_path / "results.json"), "--docs", str(page)]
    found = CliRunner().invoke(cli.app, ["monitor", *options, *places])
    assert found.exit_code == 0, found.output
    assert "2,000 rows for six constraints" in found.output
    assert "| rate | positive_rate() <= 0.4 | 2 |" in page.read_text("utf-8")


def test_bounds_for_all_times_are_wider_than_those_for_one_look() -> None:
    found = monitoring.widths((1000,))
    assert len(found) == 8
    assert all(1.4 < width < 5 for (width,) in found.values())


@pytest.mark.slow
def test_kills(tmp_path: Path) -> None:
    found = monitoring.killed(tmp_path, kills=2, rows=100_000)
    assert found["kills"] == 2
    assert found["damaged"] == 0
    assert found["same"] is True
