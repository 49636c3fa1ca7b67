"""What is measured on new rows, in short: one small data set, this version against itself, and the tables."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")

from equirate_lab import cli, held_out
from equirate_lab.held_out import people, runner
from equirate_lab.held_out.fitting import PROBLEMS
from equirate_lab.held_out.people import Rows
from typer.testing import CliRunner

import equirate as eq


def made_up(n: int = 240) -> Rows:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2)).astype(np.float32)
    group = (rng.random(n) < 0.4).astype(np.int64)
    return Rows(X, (X[:, 0] + 0.3 * group + rng.normal(size=n) > 0.3).astype(np.int64), group)


def another_python(folder: Path) -> Path:
    """An interpreter that has what this one has, wherever this one has it from."""
    place = folder / "python"
    place.write_text(f"#!/bin/sh\nPYTHONPATH='{os.pathsep.join(sys.path)}' exec '{sys.executable}' \"$@\"\n")
    place.chmod(0o755)
    return place


@pytest.mark.slow
def test_two_versions_are_measured_by_the_same_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "load", lambda name, split, data_dir: (made_up().some(160, split), made_up(80)))
    monkeypatch.setattr(runner, "LEVELS", (0.05, 0.4))
    monkeypatch.setattr(runner, "_levels", lambda fit: {"error, demographic parity": 0.05})
    plan, other = held_out.Plan(("compas",), splits=1), str(another_python(tmp_path))
    results = held_out.run(plan, tmp_path, other)
    assert {one["what"] for one in results} == {"held out", "unconstrained", "monotone"}
    ours, theirs = ([one for one in results if one["version"] == name] for name in (runner.OURS, runner.THEIRS))
    for one, other in zip(ours, theirs, strict=True):
        same = [key for key in one if key not in ("version", "seconds")]
        assert [one[key] for key in same] == [other[key] for key in same]
    started: list[Any] = []
    real = runner.subprocess.run
    monkeypatch.setattr(runner.subprocess, "run", lambda line, **more: started.append(line) or real(line, **more))
    assert {one["what"]: one["rows"] for one in held_out.run(plan, tmp_path, other)}["monotone"] == 160
    assert len(started) == 1  # ours again, the other's kept
    assert "In 1 of 1 rows neither is worse" in held_out.make_tables(results)[0].note


def test_what_another_version_cannot_do_is_said(tmp_path: Path) -> None:
    rows = made_up()
    job = runner.Job("it", ({"kind": "fit", "problem": "none", "level": 0.0},), rows, rows, 0)
    with pytest.raises(RuntimeError, match="the version 'broken' could not do it and the like: KeyError"):
        runner.asked([job], runner.Version("broken", sys.executable, True), tmp_path)


def test_values_are_those_of_the_problem() -> None:
    rows = made_up()
    predicted = np.random.default_rng(1).random(len(rows))
    found = runner.values({"problem": "F1, F1 parity", "level": 0.02}, predicted, rows)
    given = (rows.y, predicted)
    one, other = (
        eq.f1(part).evaluate(*given, attributes=rows.attributes)
        for part in (eq.attr("protected") == 1, eq.attr("protected") != 1)
    )
    assert found["objective"] == pytest.approx(eq.f1().evaluate(*given, attributes=rows.attributes))
    assert found["violation"] == pytest.approx(max(0.0, abs(one - other) - 0.02))


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_problems_can_be_solved(name: str) -> None:
    objective, constraints = PROBLEMS[name](0.3)
    eq.Problem(objective, constraints)


def result(what: str, version: str, split: int = 0, **more: Any) -> dict[str, Any]:
    return {"what": what, "version": version, "split": split, "data": "adult", "rows": 10, **more}


def test_what_is_worse_is_said() -> None:
    results = []
    for split, (now, before) in enumerate([(0.5, 0.6), (0.6, 0.6)]):
        for version, value in (("now", now), ("before", before)):
            both = {"objective_new": value, "violation_new": 0.01}
            results.append(result("held out", version, split, problem="F1, F1 parity", **both))
        results.append(result("unconstrained", "now", split, error=0.2 + split / 100, logistic=0.2))
    results.append(result("monotone", "now", frontier=0.0, fits=0.01))
    results += [
        {"what": "time", "of": of, "version": version, "seconds": seconds}
        for of, version, seconds in (("affine", "now", 3.0), ("affine", "before", 2.0), ("polish", "now", 0.5))
    ]
    text = "\n".join(table.markdown() for table in held_out.make_tables(results))
    assert (
        "In 0 of 1 rows neither is worse. Worse in the mean: Adult, F1, F1 parity: objective -0.0500 ± 0.0500." in text
    )
    assert "| Adult | 10 | 0.2050 | 0.2000 | +0.0050 ± 0.0050 | yes | – |" in text
    assert "| Adult | 0.0000 | 0.0100 | – | – |" in text
    assert "| `RateClassifier` on Adult, affine | 3.00 | 2.00 | 1.50 | 1.3 times |" in text
    assert "| `polish()`, two ratios, 8,000 columns | 0.50 | – | – | 2 s |" in text


def test_acs_income_is_one_hot(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(1, 3, size=90) for name in ("SCHL", "RELP", "COW", "MAR", "SEX", "RAC1P")}
    columns |= {"AGEP": rng.integers(20, 70, size=90), "WKHP": rng.integers(5, 60, size=90)}
    pd.DataFrame({**columns, "PINCP": rng.integers(0, 2, size=90)}).to_parquet(tmp_path / "acs_income.parquet")
    assert people.missing(people.ACS, str(tmp_path)) == ""
    fit, new = people.load(people.ACS, 0, str(tmp_path))
    assert (len(fit), len(new)) == (60, 30)
    assert np.all(fit.X.sum(axis=1) == 8)
    assert fit.X.shape[1] == 6 * 2 + 4 + 4


def test_data_that_are_not_here(tmp_path: Path) -> None:
    arguments = ["held-out", "--data-dir", str(tmp_path), "--dataset", "acs_income"]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 1
    assert "acs_income.parquet" in result.stderr


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [result("monotone", "now", frontier=0.0, fits=0.01)]
    planned: list[held_out.Plan] = []
    monkeypatch.setattr(held_out, "run", lambda plan, *arguments, **options: planned.append(plan) or found)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- held-out -->\n<!-- /held-out -->\n")
    result_ = CliRunner().invoke(cli.app, ["held-out", "--data-dir", str(tmp_path), "--docs", str(page)])
    assert result_.exit_code == 0, result_.output
    assert planned[0].names == ("compas", "crime", "adult")
    assert "Left out: acs_income" in result_.stderr
    assert "| Adult | 0.0000 | 0.0100 | – | – |" in page.read_text()
