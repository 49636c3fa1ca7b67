"""The command line: arguments, refusals, and what is printed."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")
pytest.importorskip("typer")

from equirate_lab import cli
from equirate_lab.experiments import catalogue, methods, runner
from typer.testing import CliRunner

import equirate as eq

RUN = CliRunner()


@pytest.fixture
def one_method(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {"unc_error": methods.unc_error}
    monkeypatch.setitem(catalogue.EXPERIMENTS, "kld", replace(catalogue.KLD, methods=few))


def test_console_script() -> None:
    project = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
    module, function = project["scripts"]["equirate-lab"].split(":")
    assert module == cli.__name__
    assert callable(getattr(cli, function))


def test_version_and_help() -> None:
    assert RUN.invoke(cli.app, ["--version"]).output.strip() == f"equirate {eq.__version__}"
    shown = RUN.invoke(cli.app, ["--help"]).output
    assert "reproduce" in shown
    assert "bench" in shown
    assert "datasets" in shown


def test_datasets(tmp_path: Path) -> None:
    result = RUN.invoke(cli.app, ["datasets", "--data-dir", str(tmp_path)])
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.output.splitlines()[2:8]}
    assert "6,172" in lines["compas"]
    assert lines["compas"].endswith("bundled")
    assert "4,073 x 31" in lines["compas"]
    assert lines["law_school"].endswith("no")
    assert "licence:" in result.output


def test_reproduce(tmp_path: Path, one_method: None) -> None:
    arguments = ["reproduce", "kld", "--quick", "--rounds", "20", "--dataset", "compas", "--seeds", "1"]
    result = RUN.invoke(cli.app, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "Table 5" in result.output
    assert "0.115 (1.00)" in result.output  # as printed
    assert "index.html" in result.output
    for name in ("index.html", "results.csv", "results.json", "tables.md"):
        assert (tmp_path / name).exists()
    again = RUN.invoke(cli.app, [*arguments, "--out", str(tmp_path)])
    assert "kept from before" in again.stderr


def test_tables_of_earlier_runs_are_not_shown_again(tmp_path: Path, one_method: None) -> None:
    again = ["reproduce", "--quick", "--rounds", "20", "--seeds", "1", "--out", str(tmp_path)]
    assert "COMPAS" in RUN.invoke(cli.app, [*again, "kld", "--dataset", "compas"]).stdout
    shown = RUN.invoke(cli.app, [*again, "kld", "--dataset", "crime"])
    assert "Crime" in shown.stdout
    assert "COMPAS" not in shown.stdout
    assert "COMPAS" in (tmp_path / "tables.md").read_text("utf-8")  # the files have everything


def test_only_the_tables_asked_for_are_shown(tmp_path: Path, one_method: None) -> None:
    common = ["--quick", "--rounds", "20", "--dataset", "compas", "--seeds", "1", "--out", str(tmp_path)]
    RUN.invoke(cli.app, ["reproduce", "kld", *common])
    result = RUN.invoke(cli.app, ["reproduce", "table1", *common])
    assert "Table 1, G-mean" in result.output
    assert "Table 5" not in result.output
    assert "Table 5" in (tmp_path / "tables.md").read_text("utf-8")  # what was computed before stays


def test_going_on_where_processes_cannot_be_started(
    tmp_path: Path, one_method: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("no semaphores here")

    monkeypatch.setattr(runner, "_run_beside", broken)
    arguments = ["reproduce", "kld", "--quick", "--rounds", "20", "--dataset", "compas", "--jobs", "2"]
    result = RUN.invoke(cli.app, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "no semaphores here" in result.stderr
    assert "2 ×" in result.output  # two splits, without being told


def test_interrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_job", interrupt)
    result = RUN.invoke(cli.app, ["reproduce", "kld", "--dataset", "compas", "--seeds", "1", "--out", str(tmp_path)])
    assert result.exit_code == cli.INTERRUPTED
    assert "the same command goes on" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["reproduce", "kdl"], 2, "kld"),
        (["reproduce", "kld", "--dataset", "compass"], 2, "no data set 'compass'"),
        (["reproduce", "kld", "--seeds", "0"], 2, "seeds"),
        (["reproduce", "kld", "--rounds", "0"], 2, "rounds"),
        (["reproduce", "kld", "--jobs", "none"], 2, "jobs"),
        (["reproduce", "kld", "--dataset", "law_school"], 1, "law_school.csv.gz"),
        (["reproduce-all"], 2, "reproduce-all"),
        (["bench", "speed"], 2, "products"),
        (["bench", "products", "--threads", "-1"], 2, "threads"),
        (["bench", "products", "--docs", "no-such-page.md"], 2, "no-such-page.md"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIRATE_DATA", str(tmp_path))
    result = RUN.invoke(cli.app, arguments)
    assert result.exit_code == code
    assert says in result.stderr


def test_data_sets_that_are_not_here_are_left_out(
    tmp_path: Path, one_method: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIRATE_DATA", str(tmp_path))
    planned: list[runner.Job] = []
    monkeypatch.setattr("equirate_lab.experiments.run", lambda jobs, *_: planned.extend(jobs))
    result = RUN.invoke(cli.app, ["reproduce", "kld", "--seeds", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert [job.dataset for job in planned] == ["compas", "crime", "adult"]
    assert "Left out: law_school" in result.stderr


def _made_up(*_: object, **__: object) -> list[dict[str, Any]]:
    machine = {"processor": "P", "cores": 2, "threads": 1, "system": "S", "python": "3", "numpy": "2", "compiled": True}
    comparison = {"what": "a round", "unit": "ms", "samples": {"equirate": [1.0], "bare products": [0.5]}, "note": ""}
    found = {
        "name": "products-a",
        "part": "products",
        "title": "A",
        "curve": "",
        "x": 0.0,
        "quality": {},
        "facts": {},
        "machine": machine,
    }
    return [{**found, "comparisons": [comparison]}, {**found, "comparisons": [], "skipped": "no network"}]


def test_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equirate_lab.benchmarks.bench", _made_up)
    page = tmp_path / "page.md"
    page.write_text("<!-- table --><!-- /table -->", "utf-8")
    result = RUN.invoke(cli.app, ["bench", "products", "--quick", "--out", str(tmp_path), "--docs", str(page)])
    assert result.exit_code == 0, result.output
    assert "0.5 [0.5, 0.5]" in result.stdout
    assert "Left out: A: no network" in result.stderr
    assert "0.5 [0.5, 0.5]" in page.read_text("utf-8")
    for name in ("results.json", "tables.md", "ratios.svg", "growth.svg"):
        assert (tmp_path / name).exists()


def test_bench_page_without_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equirate_lab.benchmarks.bench", _made_up)
    page = tmp_path / "page.md"
    page.write_text("words", "utf-8")
    result = RUN.invoke(cli.app, ["bench", "products", "--out", str(tmp_path), "--docs", str(page)])
    assert result.exit_code == 2
    assert "no place for the tables" in " ".join(result.stderr.split())
    assert page.read_text("utf-8") == "words"


def test_bench_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("equirate_lab.benchmarks.runner.limited_to", interrupt)
    result = RUN.invoke(cli.app, ["bench", "products", "--quick", "--cache", str(tmp_path)])
    assert result.exit_code == cli.INTERRUPTED
    assert "the same command goes on" in result.stderr
