"""``equirate monitor`` and ``equirate recertify``, on files."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import equirate as eq
from equirate.cli import main

from .conftest import rows

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def days(tmp_path: Path) -> Path:
    folder = tmp_path / "new"
    folder.mkdir()
    for day in range(3):
        (folder / f"day{day}.csv").write_text(rows(600, seed=day + 1), "utf-8")
    return folder


def without(path: Path, column: str, values: str = "") -> str:
    """The file with a column emptied."""
    header, *lines = path.read_text("utf-8").splitlines()
    place = header.split(",").index(column)
    found = [line.split(",") for line in lines]
    return "\n".join([header, *(",".join([*row[:place], values, *row[place + 1 :]]) for row in found)]) + "\n"


def cells(path: Path) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))[1:]


def summary(capsys: Capture, *arguments: object) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = main([*map(str, arguments), "--json", "--quiet"])
    return code, json.loads(capsys.readouterr().out)


# -- monitor --------------------------------------------------------------------------------------


def test_files_are_counted_once(fitted: Path, days: Path, tmp_path: Path, capsys: Capture) -> None:
    state = tmp_path / "state.json"
    code, first = summary(capsys, "monitor", fitted, days, "--state", state, "--floor", "0.5")
    assert (code, first["rows"]) == (0, {"new": 1800, "total": 1800})
    assert [file["name"] for file in first["files"]] == ["day0.csv", "day1.csv", "day2.csv"]
    assert [line["constraint"] for line in first["constraints"]][1] == "f1() >= 0.5"
    assert state.with_suffix(".html").read_text("utf-8").startswith("<!doctype html>")
    code, second = summary(capsys, "monitor", fitted, days, "--state", state)
    assert (code, second["rows"]) == (0, {"new": 0, "total": 1800})
    assert second["constraints"] == first["constraints"]
    (days / "day3.csv").write_text(rows(600, seed=9), "utf-8")
    assert summary(capsys, "monitor", fitted, days, "--state", state)[1]["rows"] == {"new": 600, "total": 2400}


def test_it_is_what_monitor_says_of_the_decisions(fitted: Path, days: Path, tmp_path: Path, capsys: Capture) -> None:
    table, decided = days / "day0.csv", tmp_path / "decided.csv"
    assert main(["predict", str(fitted), str(table), "--keep", "sex,hired", "--out", str(decided), "--quiet"]) == 0
    sex, hired, prediction = map(np.array, zip(*cells(decided), strict=True))
    model = eq.load(fitted / "model.equirate")
    expected = eq.Monitor(model).update(prediction, hired, attributes={"sex": sex}).status()
    _, found = summary(capsys, "monitor", fitted, table, "--state", tmp_path / "a.json")
    assert [line["lower"] for line in found["constraints"]] == [line.lower for line in expected]
    served = ("--prediction", "prediction")
    _, again = summary(capsys, "monitor", fitted, decided, "--state", tmp_path / "b.json", *served)
    assert again["constraints"] == found["constraints"]


def test_an_alarm_is_code_3(fitted: Path, tmp_path: Path, capsys: Capture) -> None:
    served = tmp_path / "served.csv"
    lines = [f"{'F' if k % 2 else 'M'},{'no' if k % 2 else 'yes'}" for k in range(2000)]
    served.write_text("\n".join(["sex,decision", *lines]) + "\n", "utf-8")
    arguments = ["monitor", fitted, served, "--state", tmp_path / "s.json", "--prediction", "decision"]
    code, found = summary(capsys, *arguments)
    assert code == found["code"] == 3
    assert found["alarms"][0]["constraint"] == "positive_rate(sex == 'F') >= positive_rate(sex == 'M') - 0.1"
    assert main([*map(str, arguments), "--quiet"]) == 3  # it stays
    said = capsys.readouterr().out
    assert "After 2,000 rows: 1 constraint is broken." in said
    assert "alarm at row" in said
    assert "1 file counted before, and not again" in said


def test_labels_may_come_late(fitted: Path, days: Path, tmp_path: Path, capsys: Capture) -> None:
    early = tmp_path / "early.csv"
    early.write_text(without(days / "day0.csv", "hired"), "utf-8")
    state = ("--state", tmp_path / "s.json")
    _, first = summary(capsys, "monitor", fitted, early, *state, "--floor", "0.5")
    assert [line["rows"] for line in first["constraints"]] == [600, 0]
    _, second = summary(capsys, "monitor", fitted, days / "day0.csv", *state, "--late")
    assert [line["rows"] for line in second["constraints"]] == [600, 600]
    assert second["rows"]["total"] == 600
    whole = ("--state", tmp_path / "whole.json", "--floor", "0.5")
    assert summary(capsys, "monitor", fitted, days / "day0.csv", *whole)[1]["constraints"] == second["constraints"]


def test_a_state_of_another_model_is_refused(
    fitted: Path, people: Path, days: Path, tmp_path: Path, capsys: Capture
) -> None:
    state = tmp_path / "s.json"
    assert main(["monitor", str(fitted), str(days), "--state", str(state), "--quiet"]) == 0
    changed = str(tmp_path / "changed")
    limit = "positive_rate(sex == 'F') >= positive_rate(sex == 'M') - 0.2"
    assert main(["recertify", str(fitted), str(people), "--subject-to", limit, "--out", changed, "--quiet"]) in (
        0,
        2,
        3,
    )
    capsys.readouterr()
    assert main(["monitor", changed, str(days), "--state", str(state)]) == 2
    assert "is of another model: give a new file with --state" in capsys.readouterr().err
    assert main(["monitor", str(fitted), str(days), "--state", str(state), "--floor", "0.3"]) == 2
    assert "--confidence and --floor belong to a new state" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("sex", "gender", 1), "an attribute names a column 'sex'"),
        (lambda text: text.replace(",yes,", ",maybe,"), "holds 'maybe', which was not in training"),
        (lambda text: text.replace("score", "points", 1), "the model names a column 'score'"),
    ],
)
def test_bad_rows_leave_no_state(
    change: Callable[[str], str], message: str, fitted: Path, days: Path, tmp_path: Path, capsys: Capture
) -> None:
    (days / "day0.csv").write_text(change(rows(50)), "utf-8")
    state = tmp_path / "s.json"
    assert main(["monitor", str(fitted), str(days / "day0.csv"), "--state", str(state), "--quiet"]) == 2
    assert message in capsys.readouterr().err
    assert not state.exists()


def test_a_bad_file_among_others_keeps_what_was_counted(
    fitted: Path, days: Path, tmp_path: Path, capsys: Capture
) -> None:
    (days / "day1.csv").write_text("nothing\n1\n", "utf-8")
    state = tmp_path / "s.json"
    assert main(["monitor", str(fitted), str(days), "--state", str(state), "--quiet"]) == 2
    assert [source.name for source in eq.Monitor.load(state).sources] == ["day0.csv"]
    (days / "day1.csv").write_text(rows(600, seed=2), "utf-8")
    assert summary(capsys, "monitor", fitted, days, "--state", state)[1]["rows"] == {"new": 1200, "total": 1800}


# -- recertify ------------------------------------------------------------------------------------


def test_the_old_certificate_stands_beside_the_new_one(fitted: Path, days: Path, capsys: Capture) -> None:
    code, found = summary(capsys, "recertify", fitted, days / "day0.csv")
    before = json.loads((fitted / "summary.json").read_text("utf-8"))["test"]
    assert found["previous"] == before
    _, evaluated = summary(capsys, "evaluate", fitted, days / "day0.csv")
    assert found["test"] == evaluated["test"]
    assert code == evaluated["code"]
    main(["recertify", str(fitted), str(days / "day0.csv"), "--quiet"])
    said = capsys.readouterr().out
    assert f"before violation {before['constraints'][0]['violation']:+.4f}" in said
    assert f"{before['objective']:.4f} before" in said


def test_a_new_mixture_of_the_old_members(fitted: Path, people: Path, tmp_path: Path, capsys: Capture) -> None:
    out, limit = tmp_path / "renewed", "positive_rate() <= 0.3"
    code, found = summary(capsys, "recertify", fitted, people, "--subject-to", limit, "--out", out)
    assert code in (0, 3)
    assert [row["constraint"] for row in found["test"]["constraints"]] == [limit]
    assert found["rows"] == 600
    assert sum(found["weights"]) == pytest.approx(1)
    assert found["test"]["constraints"][0]["left"] < 0.36
    assert found["test"]["objective"] > 0.5  # not everybody is refused
    _, evaluated = summary(capsys, "evaluate", out, people)
    assert evaluated["test"]["constraints"][0]["left"] < 0.36
    assert main(["predict", str(out), str(people), "--out", str(tmp_path / "decided.csv"), "--quiet"]) == 0
    decided = [row[0] for row in cells(tmp_path / "decided.csv")]
    assert 0.2 < decided.count("yes") / len(decided) < 0.36
    again = summary(capsys, "recertify", out, people, "--subject-to", "positive_rate() <= 0.4")[1]  # and once more
    assert again["previous"] == found["test"]


def test_a_model_as_it_is_can_be_written_with_its_new_certificate(
    fitted: Path, days: Path, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "again"
    summary(capsys, "recertify", fitted, days / "day0.csv", "--out", out)
    assert (out / "model.equirate").read_bytes() == (fitted / "model.equirate").read_bytes()
    assert summary(capsys, "recertify", out, days / "day1.csv")[1]["previous"]["confidence"] == 0.95


def test_limits_that_no_mixture_keeps_are_said(fitted: Path, people: Path, capsys: Capture) -> None:
    strict = ["--subject-to", "precision() >= 0.999", "--subject-to", "recall() >= 0.9"]
    assert main(["recertify", str(fitted), str(people), *strict]) == 3
    assert "no mixture of the members keeps these limits" in " ".join(capsys.readouterr().err.split())


def test_anybodys_summary_is_only_data(copied: Callable[[], Path], days: Path, capsys: Capture) -> None:
    folder = copied()
    for text in (
        "not JSON",
        "[]",
        '{"test": 3}',
        '{"test": {"objective": "x", "constraints": [1, {"constraint": 2}]}}',
    ):
        (folder / "summary.json").write_text(text, "utf-8")
        # a summary that does not belong to the model's run is refused in one line, whatever it holds
        assert main(["recertify", str(folder), str(days / "day0.csv"), "--quiet"]) == 2
        assert "summary.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--subject-to", "positive_rate(age == 3) <= 0.3"), "'age' is a column but no attribute"),
        (("--subject-to", "positive_rate(race == 3) <= 0.3"), "there is no attribute 'race'"),
        (("--subject-to", "positive_rate() <= "), "invalid syntax"),
        (("--split", "2"), "--split is the share of the rows to certify on"),
        (("--confidence", "0.3"), "confidence must lie between 0.5 and 1"),
    ],
)
def test_refusals(options: tuple[str, ...], message: str, fitted: Path, people: Path, capsys: Capture) -> None:
    assert main(["recertify", str(fitted), str(people), *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_several_rows_of_one_person_are_refused(tmp_path: Path, capsys: Capture) -> None:
    table = tmp_path / "people.csv"
    header, *lines = rows(600).splitlines()
    table.write_text(
        "\n".join([f"who,{header}", *(f"w{k // 2},{line}" for k, line in enumerate(lines))]) + "\n", "utf-8"
    )
    told = ["--label", "hired", "--positive", "yes", "--cluster", "who", "--ignore", "id,sex,region,weight"]
    asked = ["--maximize", "f1()", "--subject-to", "positive_rate() <= 0.4"]
    assert main(["fit", str(table), *told, *asked, "--out", str(tmp_path / "model"), "--quiet"]) in (0, 3)
    follow = ["monitor", str(tmp_path / "model"), str(table), "--state", str(tmp_path / "state.json"), "--quiet"]
    capsys.readouterr()
    assert main(follow) == 2
    assert "column 'who': 300 of 300 clusters have several rows" in capsys.readouterr().err
    assert not (tmp_path / "state.json").exists()
    alone = [f"who,{header}", *(f"w{k},{line}" for k, line in enumerate(lines) if k % 2)]
    table.write_text("\n".join(alone) + "\n", "utf-8")
    assert main(follow) == 0


# -- tables as the model was told to read them ----------------------------------------------------


READ = ("--decimal", ",", "--date", "when=%d.%m.%Y", "--missing=-", "--missing-attributes", "drop", "--drop-unlabelled")


def messy(path: Path, count: int, seed: int) -> Path:
    """Rows with decimal commas and German dates; sex, or the label, is ``-`` in some."""
    header, *lines = (line.split(",") for line in rows(count, seed).splitlines())
    for k, row in enumerate(lines):
        row[1] = f'"{row[1].replace(".", ",")}"'
        row[4] = ".".join(reversed(row[4].split("-")))
        row[5] = "-" if k % 20 == 0 else row[5]
        row[7] = "-" if k % 25 == 1 else row[7]
    path.write_text("\n".join(map(",".join, [header, *lines])) + "\n", "utf-8")
    return path


def test_new_tables_are_read_as_the_model_was_told_to(tmp_path: Path, capsys: Capture) -> None:
    model, new = tmp_path / "model", messy(tmp_path / "new.csv", 600, 5)
    told = ["--label", "hired", "--positive", "yes", "--attributes", "sex", "--ignore", "id,region,weight"]
    asked = ["--maximize", "f1()", "--subject-to", "demographic_parity(sex, tolerance=0.2)"]
    data = str(messy(tmp_path / "old.csv", 1200, 0))
    assert main(["fit", data, *told, *asked, *READ, "--out", str(model), "--quiet"]) in (0, 3)
    _, judged = summary(capsys, "evaluate", model, new)
    code, followed = summary(capsys, "monitor", model, new, "--state", tmp_path / "state.json")
    assert code == 0
    assert followed["rows"]["new"] == 600 - 30  # whoever has no sex is left out; a label may come late
    assert [line["estimate"] for line in followed["constraints"]] == pytest.approx(
        [line["violation"] for line in judged["test"]["constraints"]], abs=0.02
    )
    _, again = summary(capsys, "recertify", model, new)
    assert (again["rows"], again["test"]) == (judged["rows"], judged["test"])
    mixed = tmp_path / "mixed"
    limit = ("--subject-to", "demographic_parity(sex, tolerance=0.3)", "--out", mixed)
    assert summary(capsys, "recertify", model, new, *limit)[0] in (0, 3)
    assert main(["evaluate", str(mixed), str(new), "--quiet"]) in (0, 3)  # the new folder is told the same


def test_an_export_is_checked_on_rows_read_as_the_model_was_told_to(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("onnxruntime")
    model, new = tmp_path / "model", messy(tmp_path / "new.csv", 200, 5)
    told = ["--label", "hired", "--positive", "yes", "--attributes", "sex", "--ignore", "id,region,weight"]
    asked = ["--maximize", "f1()", "--subject-to", "positive_rate() <= 0.3"]
    data = str(messy(tmp_path / "old.csv", 600, 0))
    assert main(["fit", data, *told, *asked, *READ, "--out", str(model), "--quiet"]) in (0, 3)
    assert summary(capsys, "export", model, "--onnx", "--check", new)[0] == 0
