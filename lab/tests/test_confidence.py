"""The laboratory of promises, in short: few samples of some problems, files that a run goes on from, and the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from equirate_lab import cli, confidence
from equirate_lab.confidence import runner
from equirate_lab.confidence.problems import CLASS_PROBLEMS, PROBLEMS, Population
from equirate_lab.confidence.times import Timed
from typer.testing import CliRunner

EASY = replace(PROBLEMS[0], name="easy", population=Population(400, 160), samples=1)


def test_there_are_twelve_problems_of_every_size() -> None:
    assert len(PROBLEMS) == len({problem.name for problem in PROBLEMS}) == 12
    sizes = [problem.population for problem in PROBLEMS]
    assert (min(each.n for each in sizes), max(each.n for each in sizes)) == (500, 5000)
    assert (min(each.group for each in sizes), max(each.group for each in sizes)) == (50, 1000)


def test_fresh_rows_judge_as_an_evaluation_does() -> None:
    data = runner.drawn(EASY.population, 1, 5000)
    classifier = runner.fit(EASY, runner.drawn(EASY.population, 2, 400), "plain", 0)
    objective, violation = runner.Fresh(data).judged(EASY, classifier)
    told = classifier.evaluate(data.X, data.y, sensitive_features={"g": data.g})
    assert objective == pytest.approx(told.objective)
    assert violation == pytest.approx(max(row.violation for row in told.constraints))


@pytest.mark.parametrize("problem", CLASS_PROBLEMS[:2], ids=lambda problem: problem.name)
def test_several_classes_are_judged_as_an_evaluation_does(problem: confidence.Problem) -> None:
    data = runner.drawn(problem.population, 1, 3000)
    classifier = runner.fit(problem, runner.drawn(problem.population, 2, 600), "plain", 0)
    objective, violation = runner.Fresh(data).judged(problem, classifier)
    told = classifier.evaluate(data.X, data.y, sensitive_features={"g": data.g})
    assert objective == pytest.approx(told.objective)
    assert violation == pytest.approx(max(row.violation for row in told.constraints))


@pytest.mark.parametrize("problem", [PROBLEMS[0], CLASS_PROBLEMS[0]], ids=lambda problem: problem.name)
def test_expected_labels_have_the_shares_of_many_that_are_drawn(problem: confidence.Problem) -> None:
    population = problem.population
    data = population.draw(np.random.default_rng(0), 40)
    labels, groups = population.expected(), population.groups()
    for k in (0, 1):
        shares = [
            np.bincount(y, minlength=population.classes) / len(y) for y in (labels[groups == k], data.y[data.g == k])
        ]
        np.testing.assert_allclose(*shares, atol=0.01)


def test_a_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    first = confidence.run(2, 3, tmp_path, [EASY], 2000)
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text() + '{"seed": [3, 2], "pla')  # interrupted in the middle of a line
    more = confidence.run(3, 3, tmp_path, [EASY], 2000)
    assert more.samples["easy"][:2] == first.samples["easy"]
    assert [one["seed"] for one in more.samples["easy"]] == [[3, 0], [3, 1], [3, 2]]
    assert confidence.run(0, 3, tmp_path, [EASY], 2000).samples == more.samples
    assert 0 < more.needed["easy"] < 5


def test_claims_that_are_broken_are_counted() -> None:
    def told(k: int) -> dict[str, object]:
        return {"claims": k < 3, "objective": 0.2, "violation": 0.01 * (k == 0), "seconds": 1}

    lines = [{"seed": [0, k], "sign": 1, **{m: told(k) for m in runner.METHODS}} for k in range(4)]
    claims, together = confidence.make_tables(runner.Results({"made up": lines}, {"made up": np.nan}))
    assert claims.rows[0][3:6] == ("75%", "1 of 3", "0.0000 (0.0000)")
    assert together.rows[1][1:4] == ("3", "1", "33.3%")
    assert json.loads(json.dumps(lines)) == lines


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table -->\n<!-- /table -->\nafter\n")
    monkeypatch.setattr(confidence, "measure", lambda *arguments: [Timed("a fit", 1.0, 3.0, 2.0)])
    monkeypatch.setattr(confidence, "PROBLEMS", (EASY,))
    arguments = ["confidence", "--samples", "1", "--fresh", "2000", "--out", str(tmp_path / "out"), "--docs", str(page)]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 0, result.output
    assert "| a fit | 1.00 | 3.00 (3.0) | 2.00 (2.0) |" in page.read_text()
    assert CliRunner().invoke(cli.app, ["confidence", "--problem", "hard"]).exit_code == 2


@pytest.mark.slow
def test_what_is_certified_holds_on_new_data(tmp_path: Path) -> None:
    """The experiment in short: claims are made, and of those up to a tenth of these few are broken."""
    results = confidence.run(12, 17, tmp_path, PROBLEMS[:2], 50_000)
    claims = [one["cross"] for samples in results.samples.values() for one in samples]
    broken = [one for one in claims if one["claims"] and one["violation"] > 0]
    assert sum(one["claims"] for one in claims) >= 0.8 * len(claims)
    assert len(broken) <= 4  # of 24 at 5 %: more would happen in under 1 % of runs
