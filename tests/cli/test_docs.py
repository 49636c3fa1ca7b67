"""The commands that the documentation shows run as they stand, on a part of the table that they name."""

import gzip
import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from equirate import datasets
from equirate.cli import main

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "command-line.md").read_text("utf-8")
COMMANDS = re.findall(r"^\$ equirate (.*)$", PAGE, re.MULTILINE)


def test_every_command_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundled = Path(datasets.__file__).parent / "files" / "adult.csv.gz"
    lines = gzip.decompress(bundled.read_bytes()).decode().splitlines()
    (tmp_path / "adult.csv.gz").write_bytes(gzip.compress("\n".join([lines[0], *lines[1:40_000:10]]).encode()))
    monkeypatch.chdir(tmp_path)
    assert {command.split()[0] for command in COMMANDS} == {
        *("explain", "check", "fit", "evaluate", "predict", "export", "frontier", "audit", "monitor", "recertify"),
    }
    for command in COMMANDS:
        short = ["--rounds", "60"] if command.startswith(("fit", "frontier")) else []
        assert main([*shlex.split(command), *short]) in (0, 3), (command, capsys.readouterr().err)
    assert "differences between a group and everybody else" in capsys.readouterr().out


def test_the_page_names_every_option_of_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "--help"]) == 0
    shown = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help"}
    missing = {option for option in shown if option not in PAGE}
    assert not missing
