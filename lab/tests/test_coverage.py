"""The laboratory of bounds, in short: few samples of the cases that used to fail, and the page."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from equirate_lab import cli, coverage
from equirate_lab.coverage.cases import CASES, PLANS
from equirate_lab.coverage.runner import coverage as covered
from typer.testing import CliRunner


def test_there_are_29_cases_of_every_kind() -> None:
    assert len(CASES) == len({case.name for case in CASES}) == 29
    kinds = {"rates", "rates at 0 and 1", "differences", "ratios", "F1", "KL", "mixtures", "weights", "clusters"}
    assert {case.kind for case in CASES} == kinds


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_truths_are_those_of_large_samples(case: coverage.Case) -> None:
    rng = np.random.default_rng(0)
    few = case.population
    times = 400_000 // few.n
    large = replace(few, n=few.n * times, group=few.group * times)
    sample = large.draw(rng)
    sample.pop("clusters", None)
    assert case.expr.evaluate(**sample) == pytest.approx(few.truth(case.expr), abs=0.025)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["parity, 50 of 1,000", "KL 0.04, 50 of 300", "fpr 0.02, n = 70", "parity, 40 clusters of 4"]
)
def test_bounds_hold_in_cases_that_are_hard(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    found = covered(case, 300, np.random.default_rng(3))
    # At 95 % a share of 300 has a standard deviation of 1.3 %.
    assert min(found.above, found.below) >= 0.925


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table -->\n<!-- /table -->\nafter\n")
    short = coverage.run(20, 0, CASES[:2], PLANS[:1])
    monkeypatch.setattr(coverage, "run", lambda *arguments, **options: short)
    result = CliRunner().invoke(cli.app, ["coverage", "--samples", "20", "--docs", str(page)])
    assert result.exit_code == 0, result.output
    assert "rate 0.5, n = 1,000" in result.output
    text = page.read_text()
    assert text.startswith("before")
    assert "| recall >= c, 90 with the label |" in text
    assert [one.name for one in short.covered] == [case.name for case in CASES[:2]]
