"""A label with several values, on the command line: fit, evaluate, predict and what is refused."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from equirate.cli import main

ANIMALS = ("bird", "cat", "dog")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    y = rng.choice(3, 400, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(400, 3)) + 2 * np.eye(3)[y]
    path = tmp_path_factory.mktemp("data") / "animals.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "sex", "animal"])
        writer.writerows([*row.round(4), "fm"[k % 2], ANIMALS[y[k]]] for k, row in enumerate(X))
    return path


@pytest.fixture(scope="module")
def model(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("model") / "model"
    asked = ["--maximize", "accuracy()", "--subject-to", "recall(label='dog') >= 0.5"]
    code = main(["fit", str(table), "--label", "animal", "--attributes", "sex", *asked, "--out", str(out), "--quiet"])
    assert code in (0, 2, 3)
    return out


def test_the_model_keeps_its_classes(model: Path) -> None:
    label = json.loads((model / "model.json").read_text("utf-8"))["label"]
    assert label["classes"] == list(ANIMALS)
    assert label["rule"] == "classes"


def test_evaluate_names_the_class(model: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["evaluate", str(model), str(table), "--quiet"])
    assert "recall(label='dog') >= 0.5" in capsys.readouterr().out


def test_predict_writes_a_class_and_the_probability_of_each(model: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "decided.csv"
    assert main(["predict", str(model), str(table), "--probability", "--out", str(out), "--quiet"]) == 0
    rows = list(csv.DictReader(out.read_text("utf-8").splitlines()))
    assert set(rows[0]) == {"prediction", *(f"probability {name}" for name in ANIMALS)}
    shares = np.array([[float(row[f"probability {name}"]) for name in ANIMALS] for row in rows])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert all(float(row[f"probability {row['prediction']}"]) > 0 for row in rows)
    truth = [row["animal"] for row in csv.DictReader(table.read_text("utf-8").splitlines())]
    assert np.mean([row["prediction"] == label for row, label in zip(rows, truth, strict=True)]) > 0.7


def test_one_class_against_the_rest_is_still_to_be_had(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "dogs"
    given = ["--label", "animal", "--positive", "dog", "--maximize", "f1()", "--out", str(out), "--quiet"]
    main(["fit", str(table), *given])
    assert json.loads((out / "model.json").read_text("utf-8"))["label"] == {
        "column": "animal",
        "positive": "dog",
        "negative": "not dog",
        "rule": "rest",
    }


def test_monitor_follows_classes(model: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    state = tmp_path / "state.json"
    assert main(["monitor", str(model), str(table), "--state", str(state), "--json", "--quiet"]) in (0, 3)
    (line,) = json.loads(capsys.readouterr().out)["constraints"]
    assert line["constraint"] == "recall(label='dog') >= 0.5"
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    out = tmp_path / "decided.csv"
    main(["predict", str(model), str(table), "--out", str(out), "--quiet"])
    said = [row["prediction"] for row in csv.DictReader(out.read_text("utf-8").splitlines())]
    dogs = [p == "dog" for p, row in zip(said, rows, strict=True) if row["animal"] == "dog"]
    assert line["estimate"] == pytest.approx(0.5 - np.mean(dogs))
    assert line["rows"] == 400
    capsys.readouterr()
    given = tmp_path / "given.csv"
    with given.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["animal", "said"])
        writer.writerows([row["animal"] if k % 2 else "", p] for k, (row, p) in enumerate(zip(rows, said, strict=True)))
    main(["monitor", str(model), str(given), "--prediction", "said", "--state", str(state), "--json", "--quiet"])
    (line,) = json.loads(capsys.readouterr().out)["constraints"]
    assert line["rows"] == 600  # half of the labels are missing


def test_audit_compares_each_class_with_the_rest(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    for k, row in enumerate(rows):
        row["said"] = "bird" if row["sex"] == "f" and k % 3 else row["animal"]
    decided = tmp_path / "decided.csv"
    with decided.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    base = ["audit", str(decided), "--label", "animal", "--prediction", "said", "--attributes", "sex", "--quiet"]
    assert main([*base, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    worst = said["findings"][0]
    assert worst["rate"] == "fpr(label='bird')"
    assert worst["clear"]
    assert set(said["overall"]) >= {"error_rate", "precision(label='dog')"}
    errors = [row["said"] != row["animal"] for row in rows]
    assert said["overall"]["error_rate"]["value"] == pytest.approx(np.mean(errors))
    assert main(base) == 0
    assert "tpr(label='cat')" in capsys.readouterr().out
    assert main([*base, "--threshold", "0.5"]) == 2
    assert "--threshold is for two labels" in capsys.readouterr().err
    assert main(["audit", str(decided), "--label", "animal", "--prediction", "sex", "--attributes", "sex", "-q"]) == 2
    assert "which is none of the values of 'animal'" in capsys.readouterr().err
