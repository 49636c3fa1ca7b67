"""The command line from end to end, in a temporary directory: files, exit codes, the same bytes for the same seed."""

import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import equirate as eq
from equirate.cli import main
from equirate.tables.reading import open_source

FIT = (
    *("--label", "hired", "--positive", "yes", "--attributes", "sex,region", "--ignore", "id"),
    *("--maximize", "f1()", "--subject-to", "positive_rate(sex == 'F') >= positive_rate(sex == 'M') - 0.1"),
    *("--rounds", "60"),
)


def fit(data: Path, out: Path, *more: str) -> int:
    return main(["fit", str(data), *FIT, "--out", str(out), "--quiet", *more])


def summary(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text("utf-8"))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def column(path: Path, name: str) -> list[Any]:
    found: list[Any] = open_source(path).table([name], {})[name].to_pylist()
    return found


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"equirate {eq.__version__}\n"
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("fit", "evaluate", "predict", "frontier", "audit", "explain"))


def test_the_console_script() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"]["equirate"] == "equirate.cli:main"


HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
for name in {hidden!r}:
    sys.modules.pop(name, None)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {hidden!r} else found(name, package)
from equirate.cli import main
sys.exit(main({arguments!r}))
"""


@pytest.mark.parametrize("hidden", [("pyarrow",), ("typer", "rich", "pyarrow")])
def test_after_a_plain_install_the_extra_is_named_in_one_line(hidden: tuple[str, ...]) -> None:
    code = HIDING.format(hidden=hidden, arguments=["--version"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    said = f"equirate: the command line needs {', '.join(hidden)}: pip install 'equirate[cli]'\n"
    assert done.stderr == said


def test_explain_needs_no_extra() -> None:
    code = HIDING.format(hidden=("typer", "rich", "pyarrow"), arguments=["explain", "f1()"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "in words    the F1 score" in done.stdout


def test_fit_writes_model_summary_and_report(fitted: Path) -> None:
    found = summary(fitted)
    assert found["code"] == 0
    assert found["rows"] == {"train": 900, "test": 300}
    assert {role["column"]: role["role"] for role in found["columns"]} == {
        **{"id": "ignored", "score": "feature", "age": "feature", "school": "feature", "when": "feature"},
        **{"sex": "attribute", "region": "attribute", "hired": "label", "weight": "feature"},
    }
    assert "score is missing" in found["features"]
    assert not any("sex" in name for name in found["features"])
    assert len(found["test"]["constraints"]) == 1
    names = {path.name for path in fitted.iterdir()}
    assert {"model.equirate", "model.json", "summary.json", "problem.toml"} < names
    assert names & {"report.txt", "report.html"}
    assert eq.load(fitted / "model.equirate").pos_label == "yes"


def test_the_same_seed_gives_the_same_files(people: Path, fitted: Path, tmp_path: Path) -> None:
    assert fit(people, tmp_path / "again") == 0
    assert files(tmp_path / "again") == files(fitted)
    assert fit(people, tmp_path / "other", "--seed", "1") in (0, 3)
    assert files(tmp_path / "other")["model.equirate"] != files(fitted)["model.equirate"]


def test_config_round_trip(people: Path, fitted: Path, tmp_path: Path) -> None:
    config = tmp_path / "problem.toml"
    assert fit(people, tmp_path / "first", "--save-config", str(config)) == 0
    mark, _, options = (fitted / "problem.toml").read_text("utf-8").partition("\n")
    assert config.read_text("utf-8") == options
    assert mark == f"# equirate run {summary(fitted)['run']}"
    assert main(["fit", "--config", str(config), "--out", str(tmp_path / "second"), "--quiet"]) == 0
    assert files(tmp_path / "second") == files(fitted)


def test_the_command_line_goes_before_the_config(fitted: Path, tmp_path: Path) -> None:
    config, saved = fitted / "problem.toml", tmp_path / "saved.toml"
    given = ["--minimize", "error_rate()", "--subject-to", "fpr() <= 0.3", "--seed", "5"]
    more = ["--out", str(tmp_path / "model"), "--save-config", str(saved), "--quiet"]
    assert main(["fit", "--config", str(config), *given, *more]) in (0, 3)
    found = tomllib.loads(saved.read_text("utf-8"))
    assert (found["minimize"], found["subject-to"], found["seed"]) == ("error_rate()", ["fpr() <= 0.3"], 5)
    assert "maximize" not in found
    assert found["label"] == "hired"


def test_progress_is_on_stderr_and_results_on_stdout(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(people), *FIT, "--out", str(tmp_path / "a")]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(("The constraint holds", "Of 1 constraint"))
    assert "school" in shown.err
    assert "3 values, one feature each" in shown.err
    assert main(["fit", str(people), *FIT, "--out", str(tmp_path / "b"), "--json", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out) == summary(tmp_path / "a")
    assert shown.err == ""


def test_evaluate_says_what_fit_said(
    people: Path, fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(fitted), str(people), "--json", "--quiet", "--out", str(tmp_path / "report")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 1200
    clf = eq.load(fitted / "model.equirate")
    assert [row["constraint"] for row in found["test"]["constraints"]] == [repr(c) for c in clf.problem_.constraints]
    decided = tmp_path / "decided.parquet"
    assert main(["predict", str(fitted), str(people), "--out", str(decided), "--probability", "--quiet"]) == 0
    y = np.array(column(people, "hired")) == "yes"
    people_ = {"sex": np.array(column(people, "sex"))}
    p = np.array(column(decided, "probability"))
    assert found["test"]["objective"] == pytest.approx(eq.f1().evaluate(y, p, attributes=people_), abs=1e-12)
    assert found["test"]["constraints"][0]["violation"] == pytest.approx(
        clf.problem_.constraints[0].evaluate(y, p, attributes=people_), abs=1e-12
    )
    assert list((tmp_path / "report").iterdir())


@pytest.mark.parametrize("model", ["trees", "thresholds"])
def test_the_other_models_are_saved_as_plain_data_and_decide_alike(people: Path, tmp_path: Path, model: str) -> None:
    out = tmp_path / "model"
    assert main(["fit", str(people), *FIT, "--rounds", "6", "--model", model, "--out", str(out), "-q"]) in (0, 3)
    assert fit(people, tmp_path / "again", "--rounds", "6", "--model", model) in (0, 3)
    assert files(out) == files(tmp_path / "again")
    assert main(["evaluate", str(out), str(people), "-q"]) in (0, 3)
    decided = tmp_path / "decided.csv"
    assert main(["predict", str(out), str(people), "--out", str(decided), "--keep", "id", "-q"]) == 0
    assert set(column(decided, "prediction")) == {"yes", "no"}
    right = np.mean(np.array(column(decided, "prediction")) == np.array(column(people, "hired")))
    assert right > 0.7


def test_predictions_do_not_depend_on_order_columns_or_format(fitted: Path, people: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    source = open_source(people)
    table = source.table(source.names, {})
    back = pa.table({name: table[name] for name in reversed(table.schema.names)}).take(list(range(1199, -1, -1)))
    parquet.write_table(back, tmp_path / "back.parquet")
    assert main(["predict", str(fitted), str(people), "--keep", "id", "--out", str(tmp_path / "a.csv"), "-q"]) == 0
    back_too = ["predict", str(fitted), str(tmp_path / "back.parquet"), "--keep", "id"]
    assert main([*back_too, "--out", str(tmp_path / "b.feather"), "-q"]) == 0
    decided = [
        dict(zip(column(p, "id"), column(p, "prediction"), strict=True))
        for p in (tmp_path / "a.csv", tmp_path / "b.feather")
    ]
    assert decided[0] == decided[1]
    assert len(decided[0]) == 1200


def test_a_key_is_passed_on(fitted: Path, people: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    assert main(["predict", str(fitted), str(people), "--key", "id", "--out", str(out), "-q"]) == 0
    assert column(out, "id") == column(people, "id")


def test_splits_by_time_and_by_file(people: Path, tmp_path: Path) -> None:
    time_ = fit(people, tmp_path / "time", "--time-column", "when", "--split", "0.2")
    assert time_ in (0, 3)
    assert summary(tmp_path / "time")["rows"] == {"train": 960, "test": 240}
    assert "when" not in summary(tmp_path / "time")["features"]
    assert fit(people, tmp_path / "file", "--test", str(people), "--weight", "weight") in (0, 3)
    assert summary(tmp_path / "file")["rows"] == {"train": 1200, "test": 1200}
    assert "weight" not in summary(tmp_path / "file")["features"]


def test_an_attribute_can_be_a_feature_too(people: Path, tmp_path: Path) -> None:
    assert fit(people, tmp_path / "model", "--also-feature", "sex") in (0, 3)
    found = summary(tmp_path / "model")
    assert {"sex=F", "sex=M"} < set(found["features"])
    assert next(role["role"] for role in found["columns"] if role["column"] == "sex") == "attribute and feature"


def test_a_broken_constraint_is_exit_code_3(fitted: Path, people: Path, tmp_path: Path) -> None:
    worse = tmp_path / "worse.csv"  # the women's scores are gone: their predictions and the men's now differ
    lines = people.read_text("utf-8").splitlines()
    changed = [re.sub(r"^(p\d+),[^,]*,(.*,F,)", r"\1,-3,\2", line) for line in lines]
    worse.write_text("\n".join(changed) + "\n", "utf-8")
    assert main(["evaluate", str(fitted), str(worse), "--quiet"]) == 3


def test_notes_of_a_fit_are_in_words_of_the_command_line(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit(people, tmp_path / "model", "--subject-to", "positive_rate() >= 0.9", "--subject-to", "fpr() <= 0.01")
    shown = capsys.readouterr().out
    assert "! the constraints are not met: largest violation 0." in shown
    assert "status_" not in shown


def test_rows_that_are_left_out_and_rates_without_rows_are_said(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(people, tmp_path / "model", "--drop-unlabelled") == 0
    header, *lines = people.read_text("utf-8").splitlines()
    women = [line for line in lines if ",F," in line and line.count(",no,") and "A" not in line][:3]
    few = tmp_path / "few.csv"
    few.write_text("\n".join([header, *women, women[0].replace(",no,", ",,")]) + "\n", "utf-8")
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["evaluate", str(tmp_path / "model"), str(few)]) == 0
    shown = capsys.readouterr()
    assert "! 1 rows without a label (hired) are left out" in shown.err
    assert "! f1() is 0/0 here and counts as 0" in shown.err
    assert ".py" not in shown.err
    assert "no rows behind one of its rates" in shown.out


def test_evaluate_says_that_rows_were_trained_on(
    fitted: Path, people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(fitted), str(people)]) == 0
    assert "! most of these rows were trained on" in capsys.readouterr().err


def test_a_confidence_that_cannot_be_certified_is_exit_code_3(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near = ("--subject-to", "abs(positive_rate(sex == 'F') - positive_rate(sex == 'M')) <= 0.0001")
    assert fit(people, tmp_path / "model", *near, "--confidence", "0.95") == 3
    assert summary(tmp_path / "model")["certified"] is False
    assert capsys.readouterr().out.startswith("Not certified at 95%, by the cross test on 900 rows")


def test_after_a_confidence_the_first_line_says_certified(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit(people, tmp_path / "model", "--subject-to", "positive_rate() <= 0.9", "--confidence", "0.9") == 0
    shown = capsys.readouterr().out.splitlines()[0]
    tested = "the cross test on 900 rows, each decided by a mixture that had not seen it"
    assert shown == f"Certified at 90%, by {tested}: every constraint passed."


def test_frontier(people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["frontier", str(people), *FIT, "--levels", "0,0.1", "--out", str(tmp_path / "out"), "--json", "-q"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert [point["level"] for point in found["points"]] == [0.0, 0.1]
    assert found == json.loads((tmp_path / "out" / "frontier.json").read_text("utf-8"))
    pytest.importorskip("vl_convert")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert '<input type="range" id="at" min="0" max="1"' in page
    assert found["provenance"]["data"] == hashlib.sha256(people.read_bytes()).hexdigest()
    for value in found["provenance"].values():
        assert value in page


def test_page_certificate_and_file_say_where_they_come_from(people: Path, fitted: Path, tmp_path: Path) -> None:
    said = summary(fitted)["provenance"]
    assert said["date"] == "2023-11-14T22:13:20+00:00"
    assert said["version"] == eq.__version__
    assert said["data"] == hashlib.sha256(people.read_bytes()).hexdigest()
    clf = eq.load(fitted / "model.equirate")
    assert asdict(clf.provenance_) == said
    from equirate.storage.provenance import model_digest

    assert model_digest(clf.classifier_) == said["model"]
    if (fitted / "report.html").exists():
        page = (fitted / "report.html").read_text("utf-8")
        for value in (said["date"], said["model"], said["data"], f"equirate {said['version']}"):
            assert value in page
        assert "\"1: positive_rate(sex == 'F')" in page  # a chart names its constraints


def test_an_algorithm_by_the_papers_name(people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "model"
    less = ("--maximize", "accuracy()", "--algorithm", "Algorithm 2")
    assert fit(people, out, *less) in (0, 3)
    assert summary(out)["options"]["algorithm"] == "Algorithm 2"
    assert eq.load(out / "model.equirate").algorithm == "surrogate"
    assert fit(people, tmp_path / "none", "--algorithm", "SPADEE") == 2
    assert "there is no --algorithm 'SPADEE'; did you mean 'spade'?" in capsys.readouterr().err
    assert fit(people, tmp_path / "none", "--algorithm", "SPADE") == 2  # solves problems without constraints
    assert fit(people, tmp_path / "none", "--algorithm", "COCO", "--model", "thresholds") == 2
    assert "thresholds have their own algorithm" in capsys.readouterr().err


def test_a_model_keeps_what_was_said_of_its_rows(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [line.split(",") for line in people.read_text("utf-8").splitlines()[:401]]
    for k, part in enumerate(parts[1:]):
        part[5] = "" if k % 20 == 0 else part[5]  # sex
        part[7] = "" if k % 25 == 1 else part[7]  # hired
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(",".join(part) for part in parts) + "\n", "utf-8")
    more = ("--drop-unlabelled", "--missing-attributes", "drop")
    assert fit(path, tmp_path / "model", *more) in (0, 3)
    assert sum(summary(tmp_path / "model")["rows"].values()) == 400 - 20 - 16
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "model"), str(path), "--json", "-q"]) in (0, 3)
    assert json.loads(capsys.readouterr().out)["rows"] == 400 - 20 - 16


def test_audit(people: Path, fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", str(people), "--label", "hired", "--positive", "yes", "--attributes", "sex,region"]
    assert main([*arguments, "--prediction", "score", "--threshold", "0.5", "--missing", "nothing", "-q"]) == 2
    assert "missing in 24 rows" in capsys.readouterr().err
    assert main([*arguments, "--prediction", "age", "--threshold", "40", "--json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["looked_at"] == len(found["findings"]) == 7 * (1 + 3 + 6)
    assert main([*arguments, "--prediction", "age", "--threshold", "40", "--smallest", "150", "-q"]) == 0
    assert "left out, with fewer than 150 examples" in capsys.readouterr().out


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "f1() >= 0.8"]) == 0
    assert "in words    the F1 score" in capsys.readouterr().out
    assert main(["explain", "maximize(tpr() * tnr())"]) == 2
    assert "Write geo_mean(tpr(), tnr())" in capsys.readouterr().out
    assert main(["explain", "f1()", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["possible"] is True


def test_a_caret_points_at_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "f1() + precison()"]) == 2
    said = "equirate: there is no function 'precison'; did you mean 'precision'?\n  f1() + precison()\n         ^\n"
    assert capsys.readouterr().err == said


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "equirate.cli", *arguments]


def test_as_a_process_and_into_a_closed_pipe(fitted: Path, people: Path) -> None:
    with subprocess.Popen(command("predict", str(fitted), str(people), "-q"), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b'"prediction"\n'
        process.stdout.close()
        assert process.wait() == 0


def wait_for(process: "subprocess.Popen[bytes]", seen: Sequence[bytes]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if any(word in line for word in seen):
            return


NEVER_ENDING = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts jobs in the background ignores it
import equirate.cli.shown
from equirate.cli import main
from equirate.game import column_generation

equirate.cli.shown._PAUSE = 0
column_generation.PATIENCE = 10**9
sys.exit(main({arguments!r}))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals as shells send them")
def test_interrupted_fit_saves_what_was_reached(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    arguments = ["fit", str(people), *FIT, "--rounds", "100000000", "--out", str(out)]
    code = NEVER_ENDING.format(arguments=arguments)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        end = threading.Timer(120, process.kill)  # also if it says nothing
        end.start()
        try:
            wait_for(process, [b"pass"])
            process.send_signal(signal.SIGINT)
            _, said = process.communicate()
        finally:
            end.cancel()
        assert process.returncode == 130, said.decode()
    assert summary(out)["code"] == 130
    assert any("interrupted" in note for note in summary(out)["notes"])
    assert main(["evaluate", str(out), str(people), "-q"]) in (0, 3)


def test_interrupted_before_anything_was_reached(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("equirate.runs.fitting.train", interrupt)
    assert fit(people, tmp_path / "model") == 130
    assert capsys.readouterr().err == "equirate: interrupted: nothing was reached yet\n"
    assert not (tmp_path / "model").exists()


def test_interrupted_predict_keeps_what_was_decided(
    fitted: Path, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from equirate.runs import judging

    whole = judging._decided

    def one_batch(*arguments: Any) -> Any:
        yield from whole(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(judging, "_decided", one_batch)
    assert main(["predict", str(fitted), str(people), "--out", str(tmp_path / "a.csv"), "-q"]) == 130
    assert len(column(tmp_path / "a.csv", "prediction")) == 1200


def test_force_replaces_a_model(people: Path, fitted: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    out.mkdir()
    (out / "report.html").write_text("old", "utf-8")
    (out / "mine.txt").write_text("mine", "utf-8")
    assert fit(people, out) == 2
    assert fit(people, out, "--force") == 0
    assert files(out) == {**files(fitted), "mine.txt": b"mine"}


@pytest.mark.parametrize("terminal", [True, False])
def test_passes_over_the_data_are_shown(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    from rich.console import Console

    from equirate.cli import shown
    from equirate.game.column_generation import Pass

    monkeypatch.setattr(shown, "_PAUSE", 0)
    written = io.StringIO()
    line = shown.Rounds("maximize", Console(file=written, force_terminal=terminal, width=120))
    stages = [Pass(2, 0.5, 0.02, 0.51, np.ones(2), 7)] * 3
    line.watch([SimpleNamespace(stages=stages)])
    line.end()
    said = "pass 2  7 columns, best mixture: objective 0.5000, violation 0.0200, at most 0.01 from the best of these"
    assert said in written.getvalue()
    line.end()  # once more does nothing
    assert written.getvalue().count(said) >= 1


@pytest.mark.parametrize("where", ["evaluate", "report"])
def test_interrupted_while_judging_saves_the_model(
    where: str, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "model"
    with monkeypatch.context() as patched:
        patched.setattr(f"equirate.runs.models.Trained.{where}", interrupt)
        assert fit(people, out) == 130
    shown = capsys.readouterr().out
    assert "interrupted while judging: the model is complete" in shown
    assert str(out) in shown
    found = summary(out)
    assert found["code"] == 130
    assert (found["test"] is None) == (where == "evaluate")
    assert not list(out.glob("report.*"))
    assert main(["evaluate", str(out), str(people), "-q"]) in (0, 3)
