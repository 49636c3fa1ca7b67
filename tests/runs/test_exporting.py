"""Models behind the command line's encoder: exported with it, and explained in the columns of the table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import pyarrow as pa

from equirate.cli import main
from equirate.explanations import Explanations
from equirate.runs.folders import open_model
from equirate.runs.models import needs_dense
from equirate.runs.reasons import in_columns

FIT = (
    *("--label", "hired", "--positive", "yes", "--attributes", "sex", "--rounds", "30", "--quiet"),
    *("--minimize", "error_rate()", "--subject-to", "positive_rate(sex == 'F') >= positive_rate(sex == 'M') - 0.03"),
)
MODELS = ("linear", "thresholds", "trees")


def lines(count: int, seed: int, odd: bool = False) -> str:
    """Numbers and text with missing values, a date and a truth value; ``odd`` has values never seen, and extremes."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], count)
    score, school = rng.normal(size=count), rng.choice(["A", "B", "C, D", "é"], count)
    hired = score + 0.7 * (school == "A") + 0.5 * (sex == "M") + 0.5 * rng.normal(size=count) > 0.5
    found = ["score,school,when,union,sex,hired"]
    for k in range(count):
        value = "" if k % 9 == 4 else repr(float(score[k]) * (1e300 if odd and k % 13 == 2 else 1))
        text = "" if k % 11 == 3 else "never seen" if odd and k % 7 == 1 else school[k]
        day, union = f"2020-{1 + k % 12:02}-{1 + k % 28:02}", "true" if k % 3 else "false"
        found.append(f'{value},"{text}",{day},{union},{sex[k]},{"yes" if hired[k] else "no"}')
    return "\n".join(found) + "\n"


@pytest.fixture(scope="module", params=MODELS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder, with the table that it was fitted on, and another one."""
    there: Path = tmp_path_factory.mktemp("model")
    (there / "people.csv").write_text(lines(700, 0), "utf-8")
    (there / "new.csv").write_text(lines(300, 1, odd=True), "utf-8")
    code = main(["fit", str(there / "people.csv"), *FIT, "--model", request.param, "--out", str(there / "model")])
    assert code in (0, 3)
    return there


def predicted(folder: Path, *options: str) -> list[dict[str, str]]:
    out = folder / "decided.csv"
    assert (
        main(["predict", str(folder / "model"), str(folder / "new.csv"), "--out", str(out), "--quiet", *options]) == 0
    )
    with open(out, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def columns(path: Path) -> dict[str, list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_the_export_takes_the_columns_of_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    assert main(["export", str(folder / "model"), "--onnx", "--check", str(folder / "new.csv"), "--quiet"]) == 0
    assert "the same decisions as Python in all of 2,300 checked rows" in capsys.readouterr().out
    opened = onnxruntime.InferenceSession(folder / "model" / "model.onnx", providers=["CPUExecutionProvider"])
    assert [each.name for each in opened.get_inputs()] == ["score", "school", "when", "union"]
    given = columns(folder / "new.csv")
    days = (np.array(given["when"], dtype="M8[D]") - np.datetime64("1970-01-01")).astype(float)
    inputs: dict[str, Any] = {
        "score": np.array([float(value or "nan") for value in given["score"]]),
        "school": np.array(given["school"], dtype=object),
        "when": days,
        "union": (np.array(given["union"]) == "true").astype(float),
    }
    pmf = opened.run(["pmf"], {name: values[:, None] for name, values in inputs.items()})[0]
    expected = [float(row["probability"]) for row in predicted(folder, "--probability")]
    assert np.allclose(pmf[:, 1], expected, rtol=0, atol=1e-12)
    assert len(set(np.round(expected, 6))) > 1


def explained(folder: Path) -> tuple[Any, Explanations]:
    """The features of the new table, and their explanations in its columns."""
    from equirate.tables.reading import open_source

    model = open_model(folder / "model")
    table = open_source(folder / "new.csv").table(list(model.encoder.names), dict(model.encoder.kinds))
    X = model.encoder.features_of(table, None, needs_dense(model.trained.kind))
    return X, in_columns(model, {name: table[name] for name in table.column_names}, X)


def test_reasons_are_in_the_columns_of_the_table(folder: Path) -> None:
    model, (X, found) = open_model(folder / "model"), explained(folder)
    assert found.names == ("score", "school", "when", "union")
    members = model.trained.classifier.members
    assert ((found.contributions.scores > 0) == members.decide(X)).all()
    if model.trained.kind == "linear":  # the sum over a column's features of value times weight, written out
        W, dense = members.with_intercept.astype(float), np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        ends = np.cumsum([0, *(len(column.features) for column in model.encoder.columns)])
        for k in range(4):
            part = slice(ends[k], ends[k + 1])
            assert np.allclose(found.contributions.features[:, :, k], dense[:, part] @ W[:-1][part], atol=1e-6)
    if model.trained.kind == "thresholds":
        score = model.trained.estimator.decision_function(X)
        assert np.allclose(found.contributions.scores, score[:, None] - members.cuts)


def test_predict_writes_reasons(folder: Path) -> None:
    rows, plain = predicted(folder, "--reasons", "--keep", "school"), predicted(folder)
    assert list(rows[0]) == ["school", "prediction", "probability", "chance", "changed", "reasons"]
    assert [row["prediction"] for row in rows] == [row["prediction"] for row in plain]
    found = explained(folder)[1]
    for k in (0, 3, 4, 150):
        assert rows[k]["reasons"] == str(found[k])
        assert rows[k]["reasons"].startswith(f"Decided '{rows[k]['prediction']}'.")
        assert float(rows[k]["chance"]) == pytest.approx(found.chance[k])
        assert rows[k]["changed"] == str(bool(found.changed[k])).lower()
    assert any("school = A" in row["reasons"] for row in rows)
    assert any("score = missing" in row["reasons"] for row in rows)


def test_reasons_by_key(folder: Path) -> None:
    rows, plain = predicted(folder, "--reasons", "--key", "when"), predicted(folder, "--key", "when")
    assert [row["prediction"] for row in rows] == [row["prediction"] for row in plain]
    assert all(row["reasons"].startswith(f"Decided '{row['prediction']}'.") for row in rows)


def test_many_rows_are_explained_in_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = predicted(folder, "--reasons")
    monkeypatch.setattr("equirate.runs.reasons._MOST", 200)
    assert predicted(folder, "--reasons") == whole


def test_what_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = str(folder / "model")
    assert main(["export", model]) == 2
    assert "--onnx writes an ONNX model" in capsys.readouterr().err
    assert main(["predict", model, str(folder / "new.csv"), "--reasons", "--keep", "reasons"]) == 2
    capsys.readouterr()
    assert main(["export", model, "--onnx", "--out", str(tmp_path / "no" / "model.onnx"), "--quiet"]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_an_empty_text_that_is_a_value_is_refused() -> None:
    from equirate._core.errors import EquirateError
    from equirate.export.columns import TextColumn

    with pytest.raises(EquirateError, match="'school' holds the empty text as a value"):
        TextColumn("school", ("", "A"), False)


def test_the_types_of_written_reasons(folder: Path) -> None:
    out = folder / "decided.parquet"
    command = ["predict", str(folder / "model"), str(folder / "new.csv"), "--reasons", "--out", str(out), "--quiet"]
    assert main(command) == 0
    import pyarrow.parquet as parquet

    schema = parquet.read_schema(out)
    assert schema.field("changed").type == pa.bool_()
    assert schema.field("chance").type == pa.float64()
