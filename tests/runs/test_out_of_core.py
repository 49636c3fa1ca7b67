"""Parquet files that do not fit into memory: the same model as from memory, with the features in mapped files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import pyarrow as pa
import pyarrow.parquet as parquet

from equirate.cli import main
from equirate.data.mapped import is_mapped
from equirate.runs import checking, out_of_core, preparing
from equirate.tables.encoder import Encoder
from equirate.tables.reading import open_source
from equirate.tables.streaming import learnt_from

ROWS = 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files with several row groups each: numbers, dates as text, categories, missing values, no label."""
    rng = np.random.default_rng(0)
    score, group = rng.normal(size=ROWS), rng.choice(["a", "b"], ROWS)
    label = score + 0.3 * (group == "a") + rng.normal(size=ROWS) > 0.4
    days = (np.datetime64("2020-01-01") + rng.integers(0, 900, ROWS)).astype(str)
    table = pa.table(
        {
            "score": pa.array(score, mask=rng.random(ROWS) < 0.05),
            "opened": [f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in days],
            "school": pa.array(rng.choice(["x", "y", "z"], ROWS), mask=rng.random(ROWS) < 0.1),
            "constant": [1.0] * ROWS,
            "count": rng.poisson(4, ROWS),
            "group": group,
            "label": pa.array(label.astype(int), mask=np.arange(ROWS) % 97 == 5),
        }
    )
    path = tmp_path_factory.mktemp("large") / "parts"
    path.mkdir()
    for k in range(3):
        parquet.write_table(table.slice(1000 * k, 1000), path / f"{k}.parquet", row_group_size=300)
    return path


FIT = (
    *("--label", "label", "--attributes", "group", "--date", "opened", "--drop-unlabelled"),
    *("--minimize", "error_rate()", "--rounds", "40"),
    *("--subject-to", "positive_rate(group == 'a') <= positive_rate(group == 'b') + 0.1"),
)


def test_the_same_model_as_from_memory(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["fit", str(folder), *FIT, "--out", str(tmp_path / "memory"), "-q"]) in (0, 3)
    parts: list[Any] = []
    kept = preparing.encoded

    def seen(*arguments: Any) -> Any:
        encoder, features = kept(*arguments)
        parts.extend(features)
        return encoder, features

    monkeypatch.setattr(out_of_core, "free_memory", lambda: 1000)
    monkeypatch.setattr(checking, "LOOKED_AT", 500)
    monkeypatch.setattr(preparing, "encoded", seen)
    assert main(["fit", str(folder), *FIT, "--out", str(tmp_path / "files"), "-q"]) in (0, 3)
    assert [is_mapped(part) for part in parts] == [True, True]
    one, other = (json.loads((tmp_path / name / "summary.json").read_text("utf-8")) for name in ("memory", "files"))
    assert other["rows"] == one["rows"] == {"train": 2227, "test": 742}
    assert other["features"] == one["features"]
    assert other["columns"] == one["columns"]
    # The rows are in another order, so that sums are rounded otherwise.
    assert other["test"]["objective"] == pytest.approx(one["test"]["objective"], abs=0.02)
    decided = []
    for name in ("memory", "files"):
        out = tmp_path / f"{name}.parquet"
        assert main(["predict", str(tmp_path / name), str(folder), "--probability", "--out", str(out), "-q"]) == 0
        decided.append(parquet.read_table(out)["probability"].to_numpy())
    assert np.abs(decided[0] - decided[1]).mean() < 0.05


def test_a_label_with_several_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    y = rng.choice(3, 900, p=[0.5, 0.3, 0.2])
    features = dict(zip("abc", (rng.normal(size=(900, 3)) + 2 * np.eye(3)[y]).T, strict=True))
    table = pa.table({**features, "sex": rng.choice(["f", "m"], 900), "animal": np.array(["bird", "cat", "dog"])[y]})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=200)
    asked = ("--label", "animal", "--attributes", "sex", "--maximize", "accuracy()")
    asked = (*asked, "--subject-to", "recall(label='dog') >= 0.6")
    summaries = []
    for name in ("memory", "files"):
        assert main(["fit", str(tmp_path / "rows.parquet"), *asked, "--out", str(tmp_path / name), "-q"]) in (0, 3)
        summaries.append(json.loads((tmp_path / name / "summary.json").read_text("utf-8")))
        monkeypatch.setattr(out_of_core, "free_memory", lambda: 1000)
    one, other = summaries
    assert other["rows"] == one["rows"]
    assert other["test"]["objective"] == pytest.approx(one["test"]["objective"], abs=0.02)


def test_it_says_so_and_other_models_refuse(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(out_of_core, "free_memory", lambda: 1000)
    assert main(["fit", str(folder), *FIT, "--model", "trees", "--out", str(tmp_path / "trees"), "-q"]) == 2
    assert "does not fit into memory" in capsys.readouterr().err
    assert main(["fit", str(folder), *FIT, "--out", str(tmp_path / "model")]) in (0, 3)
    assert "more than is free" in capsys.readouterr().err


def test_tables_that_fit_are_read_into_memory(folder: Path) -> None:
    source = open_source(folder)
    assert not out_of_core.is_too_large(source, source.names)
    assert out_of_core.needed_memory(source, source.names) > ROWS * len(source.names) * 4
    free = out_of_core.free_memory()
    assert free is None or free > 2**20


def test_an_encoder_learnt_in_batches_is_that_of_the_whole(folder: Path) -> None:
    source = open_source(folder)
    names = ["score", "school", "constant", "count", "group"]
    rows = np.flatnonzero(np.random.default_rng(1).random(ROWS) < 0.6)
    found = learnt_from(source.batches(names, {}), names, rows)
    whole = Encoder.learnt(source.table(names, {}), names, rows)
    assert found.features == whole.features
    for one, other in zip(found.plain(), whole.plain(), strict=True):
        assert one.keys() == other.keys()
        for key, value in one.items():
            assert value == (pytest.approx(other[key], rel=1e-12) if isinstance(value, float) else other[key])
