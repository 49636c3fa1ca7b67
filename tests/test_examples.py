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
    data = [names[name][names["train"]] for name in ("X", "y")]
    assert objective > 0.8 * plain.evaluate(eq.f1(), *data)
    for classifier, binding in ((names["classifier"], True), (plain, False)):
        people = {"sex": names["sex"][names["train"]]}
        violations = classifier.evaluate(names["problem"], *data, attributes=people)["violations"]
        assert all(abs(v) < 1e-3 if binding else v > 0.01 for v in violations)  # each constraint costs something


def test_the_readme_shows_the_quickstart() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks[0] == (ROOT / "examples" / "quickstart.py").read_text("utf-8")


@pytest.mark.slow
def test_the_estimator_of_the_readme_meets_its_constraints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = {"eq": eq}
    exec(re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)[1], names)
    assert names["clf"].status_.feasible
    assert "recall(sex == 'Female') >= 0.3" in capsys.readouterr().out
    assert (tmp_path / "model.equirate").exists()


def test_what_the_pages_name_exists() -> None:
    page = (ROOT / "docs" / "constraints.md").read_text("utf-8").split("## What can be solved")[1]
    rows = [line.split("|")[2] for line in page.splitlines() if line.startswith("| ") and "`" in line]
    names = {name for row in rows for code in re.findall(r"`([^`]+)`", row) for name in re.findall(r"[a-z]\w*", code)}
    words = {"beta", "old", "a", "b", "floor", "p", "rate", "function", "rates", "increasing", "tolerance"}
    assert len(names) > 40
    assert sorted(name for name in names - words if not hasattr(eq, name)) == []
    choosing = (ROOT / "docs" / "choosing.md").read_text("utf-8")
    algorithms = re.findall(r"^\| `(\w+)` \|", choosing, flags=re.MULTILINE)
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::equirate.NotSolvedWarning")  # so few rows may not do
def test_the_demonstration_tells_one_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("vl_convert")
    demo = runpy.run_path(str(ROOT / "examples" / "demo.py"))
    page = tmp_path / "new" / "report.html"
    assert demo["main"](["--rows", "6000", "--out", str(page)]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 40
    assert max(map(len, shown.splitlines())) <= max(100, len(str(page)) + 3)
    for number in range(1, 8):
        assert f"\n{number}. " in shown
    assert demo["level_to_train_for"](2000, 1000) == pytest.approx(1 - 2 * 3.57e-5, abs=1e-6)
    assert str(page) in shown
    assert "For one offer to a man there were 0." in " ".join(shown.split())
    costs = re.search(
        r"(\S+) points of accuracy: (\S+) for the promise .*, (\S+) for being this sure", " ".join(shown.split())
    )
    assert costs is None or float(costs[1]) == pytest.approx(float(costs[2]) + float(costs[3]), abs=0.11)
    assert "four-fifths" in page.read_text("utf-8")
    assert not [name for name in demo["people"](300)[0] if "sex" in name.lower()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::equirate.EquirateWarning")
def test_the_promise_of_the_demonstration_is_kept_in_nine_of_ten_seeds() -> None:
    pytest.importorskip("pandas")
    demo = runpy.run_path(str(ROOT / "examples" / "demo.py"))
    kept = 0
    for seed in range(10):
        X, X_test, y, y_test, who, who_test = demo["people"](None, seed)
        clf = demo["kept"](X, y, who, demo["level_to_train_for"](len(y), len(y_test)), seed)
        kept += clf.certify(X_test, y_test, sensitive_features=who_test).verdict == "pass"
    assert kept >= 9


def test_the_makefile_runs_the_demonstration() -> None:
    assert "examples/demo.py $(ARGS)" in (ROOT / "Makefile").read_text("utf-8")


def test_from_frame_to_file_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    runpy.run_path(str(ROOT / "examples" / "from_frame_to_file.py"))
    shown = capsys.readouterr().out
    assert "maximize f1()" in shown
    assert "loaded: True" in shown
    guide = (ROOT / "docs" / "guide.md").read_text("utf-8")
    printed = next(block for block in re.findall(r"```text\n(.*?)```", guide, flags=re.DOTALL) if "maximize" in block)

    def without_last_digits(text: str) -> list[str]:
        numbers = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}", text)
        return re.sub(r"[-=]{3,}|\s+", " ", numbers).split()

    assert without_last_digits(shown.split("\nloaded")[0]) == without_last_digits(printed)


def test_the_guide_shows_the_example() -> None:
    guide = (ROOT / "docs" / "guide.md").read_text("utf-8")
    source = (ROOT / "examples" / "from_frame_to_file.py").read_text("utf-8")
    call = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)[0].split("\n\n", 1)[1]
    assert call in source
