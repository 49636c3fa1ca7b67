"""Messy tables: at most two commands each, the second one as the first one proposes it."""

import importlib.util
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from equirate.cli import main

from .messy import MESSY, Messy, bank, delimited, people


def proposed(said: str, tried: list[str]) -> list[str]:
    """The command that a refusal proposes: a whole one, or the options that mend the one thing that is wrong."""
    whole = re.search(r"^  equirate (fit .*)$", said, re.MULTILINE)
    if whole is not None:
        return shlex.split(whole[1])
    options = re.search(r"\((--.*)\)\n$", said)
    assert options is not None, said
    return [*tried, *shlex.split(options[1])]


def fitted(messy: Messy, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    """Fit with what the user knows, and where that is refused as proposed; returns the number of commands."""
    path = folder / messy.name
    path.write_bytes(messy.content())
    tried = ["fit", str(path), *messy.options, "--minimize", "error_rate()", "--out", str(folder / "model")]
    tried += ["--model", "thresholds"]  # the quickest: reading is what is tested
    for commands in (1, 2):
        capsys.readouterr()
        code = main(tried)
        said = capsys.readouterr().err
        if code != 2:
            assert code in (0, 3), said
            return commands, json.loads((folder / "model" / "summary.json").read_text("utf-8"))
        if commands == 1:
            tried = proposed(said, tried)
    raise AssertionError(said)


@pytest.mark.parametrize("messy", MESSY, ids=[messy.name for messy in MESSY])
def test_at_most_two_commands(messy: Messy, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands, summary = fitted(messy, tmp_path, capsys)
    assert commands <= 2
    roles = {role["column"]: role for role in summary["columns"]}
    assert {name: roles[name]["kind"] for name in messy.kinds} == messy.kinds
    assert {name for name, role in roles.items() if role["role"] == "ignored"} == set(messy.ignored)
    # The model reads such a file again as it was read.
    decided = tmp_path / "decided.csv"
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / messy.name), "--out", str(decided), "-q"]) == 0


@pytest.mark.parametrize("messy", MESSY, ids=[messy.name for messy in MESSY])
def test_check_proposes_what_fit_does(messy: Messy, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / messy.name
    path.write_bytes(messy.content())
    more = ["--minimize", "error_rate()"]
    code = main(["check", str(path), *messy.options, *more, "--json", "-q"])
    found = json.loads(capsys.readouterr().out)
    assert code == (2 if any(each["stops"] for each in found["findings"]) else 0)
    assert [name for name in messy.ignored if name not in found["command"]] == []
    words = shlex.split(found["command"])
    assert words[:3] == ["equirate", "fit", str(path)]
    again = ["check", *words[2 : words.index("--out")], "-q"]
    assert main(again) == 0, capsys.readouterr().out


def test_every_command_reads_a_file_as_fit_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Decimal commas, signs for missing values and dates are known to the model, whichever command it is given to."""
    messy = MESSY[0]
    assert messy.content is bank
    fitted(messy, tmp_path, capsys)
    model, data, mixed = str(tmp_path / "model"), str(tmp_path / messy.name), str(tmp_path / "mixed")
    limit = ("--subject-to", "positive_rate() <= 0.6", "--out", mixed)
    commands = [
        ("evaluate", model, data),
        ("monitor", model, data, "--state", str(tmp_path / "state.json"), "--floor", "0.1"),
        ("recertify", model, data),
        ("recertify", model, data, *limit),
        ("evaluate", mixed, data),
        ("predict", mixed, data, "--out", str(tmp_path / "mixed.csv")),
    ]
    if importlib.util.find_spec("onnxruntime"):
        commands.append(("export", model, "--onnx", "--check", data))
    for command in commands:
        assert main([*command, "--quiet"]) in (0, 3), (command, capsys.readouterr().err)


def test_rows_without_an_attribute_are_left_out_of_a_monitor_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    rng, score, group, label = people(9)
    shown = np.where(rng.random(len(group)) < 0.1, "", group)
    table.write_text(delimited({"score": score.round(3), "sex": shown, "hired": label.astype(int)}, ","), "utf-8")
    fit = ("fit", str(table), "--label", "hired", "--attributes", "sex", "--missing-attributes", "drop")
    wanted = ("--maximize", "f1()", "--subject-to", "positive_rate(sex == 'a') <= 0.9")
    assert main([*fit, *wanted, "--out", str(tmp_path / "model"), "-q"]) == 0
    capsys.readouterr()
    state = str(tmp_path / "state.json")
    assert main(["monitor", str(tmp_path / "model"), str(table), "--state", state, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["total"] == int((shown != "").sum())


def test_a_name_with_spaces_around_it_and_three_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What check proposes can be pasted: the name as it stands, and an objective over all classes."""
    rng, score, group, _ = people(11)
    columns = {
        " claim ": [f'"{amount:,}"' for amount in rng.integers(1200, 90_000, len(score))],
        "score": score.round(3),
        "group": group,
        "grade": np.where(score > 60, "good", np.where(score > 42, "fair", "poor")),
    }
    path = tmp_path / "grades.csv"
    path.write_text(delimited(columns, ","), "utf-8")
    assert main(["check", str(path), "--label", "grade", "--attributes", "group", "-q"]) == 2
    command = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert command[:2] == ["equirate", "fit"]
    assert main([*command[1:-1], str(tmp_path / "model"), "-q"]) == 0, capsys.readouterr().err
    assert {" claim ", "macro_f1()"} <= set(command)


def test_an_audit_leaves_out_rows_as_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, score, group, label = people(12)
    columns = {
        "risk": [f"{value:.2f}".replace(".", ",") for value in score],
        "sex": group,
        "paid": ["" if k % 30 == 7 else int(yes) for k, yes in enumerate(label)],
    }
    path = tmp_path / "scores.csv"
    path.write_text(delimited(columns, ";"), "utf-8")
    arguments = ["audit", str(path), "--label", "paid", "--prediction", "risk", "--threshold", "50", "-q", "--json"]
    arguments += ["--attributes", "sex", "--decimal", ","]
    assert main(arguments) == 2
    assert "--drop-unlabelled" in capsys.readouterr().err
    assert main([*arguments, "--drop-unlabelled"]) == 0
    found = json.loads(capsys.readouterr().out)
    there = np.array([text != "" for text in columns["paid"]])
    assert found["examples"] == there.sum()
    assert found["overall"]["positive_rate"]["value"] == pytest.approx((score.round(2) >= 50)[there].mean())


def test_a_header_with_a_name_twice_takes_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng, score, group, label = people(13)
    columns = [score.round(3), group, rng.normal(size=len(score)).round(3), label.astype(int)]
    path = tmp_path / "twice.csv"
    lines = ["score,group,score,hired", *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    path.write_text("\n".join(lines), "utf-8")
    options = ["--label", "hired", "--attributes", "group", "--minimize", "error_rate()"]
    assert main(["check", str(path), *options, "-q"]) == 0
    said = capsys.readouterr().out
    assert "the name 'score' is there more than once: another column of that name is read as 'score.1'" in said
    assert "--ignore score.1" in said
    assert main(["fit", str(path), *options, "--out", str(tmp_path / "model"), "-q"]) == 0
    roles = json.loads((tmp_path / "model" / "summary.json").read_text("utf-8"))["columns"]
    assert [role["column"] for role in roles if role["role"] == "feature"] == ["score", "score.1"]
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "model"), str(path), "--keep", "score.1", "-q"]) == 0
    kept = [float(line.split(",")[0]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert kept == columns[2].tolist()
