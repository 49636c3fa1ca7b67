"""What the README shows is what runs."""

import re
import runpy
from pathlib import Path

import pytest

import equirate as eq

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_quickstart_runs_and_keeps_its_constraints(capsys: pytest.CaptureFixture[str]) -> None:
    names = runpy.run_path(str(ROOT / "examples" / "quickstart.py"))
    shown = capsys.readouterr().out
    assert shown.startswith("constraints met; objective")
    solution, classifier = names["solution"], names["classifier"]
    objective, violation = solution.value_of(classifier)
    assert violation <= 1e-6
    plain = eq.baselines.unc_f1(names["X"][names["train"]], names["y"][names["train"]], n_rounds=300)
    assert objective > 0.8 * plain.evaluate(eq.f1(), names["X"][names["train"]], names["y"][names["train"]])


def test_the_readme_shows_the_quickstart() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks[0] == (ROOT / "examples" / "quickstart.py").read_text("utf-8")


def test_what_the_readme_names_exists() -> None:
    table = README.split("## What can be written")[1].split("## The algorithms")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ") and "`" in line]
    names = {name for row in rows for code in re.findall(r"`([^`]+)`", row) for name in re.findall(r"[a-z]\w*", code)}
    words = {"beta", "old", "a", "b", "floor", "p", "rate", "function", "rates", "increasing", "tolerance"}
    assert sorted(name for name in names - words if not hasattr(eq, name)) == []
    algorithms = re.findall(r"^\| `(\w+)` \|", README, flags=re.MULTILINE)
    assert sorted(algorithms) == sorted(eq.algorithms.ALGORITHMS)


def test_the_three_problems_run(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    main = runpy.run_path(str(ROOT / "examples" / "three_problems.py"))["main"]
    main(["--rounds", "40", "--data", "compas"])
    shown = capsys.readouterr().out
    assert shown.count("polished mixture  ") == 3
    assert shown.count("Achieved by the polished mixture") == 3
    assert "nan" not in shown
    assert "Where to go next" in shown


def test_from_frame_to_file_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    runpy.run_path(str(ROOT / "examples" / "from_frame_to_file.py"))
    shown = capsys.readouterr().out
    assert "maximize f1()" in shown
    assert "loaded: True" in shown


def test_the_guide_shows_the_example() -> None:
    guide = (ROOT / "docs" / "guide.md").read_text("utf-8")
    source = (ROOT / "examples" / "from_frame_to_file.py").read_text("utf-8")
    call = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)[0].split("\n\n", 1)[1]
    assert call in source
