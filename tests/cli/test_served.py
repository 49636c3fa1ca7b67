"""Tables of categories and several rows per person on the command line: numbers are those of the decisions file."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from equirate.cli import main
from equirate.tables.reading import open_source


def write(path: Path, columns: dict[str, Any]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def admissions(rows: int = 3000, seed: int = 0) -> dict[str, Any]:
    """Department and test grade, by which applicants of two sexes differ; twelve rows that differ from each other."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], rows)
    department = np.where(
        sex == "F", rng.choice(list("abcd"), rows, p=(0.1, 0.2, 0.3, 0.4)), rng.choice(list("abcd"), rows)
    )
    grade = rng.choice(["low", "mid", "top"], rows)
    chance = {"a": 0.7, "b": 0.5, "c": 0.3, "d": 0.15}
    bonus = {"low": -0.1, "mid": 0.0, "top": 0.15}
    p = np.array([chance[d] + bonus[g] for d, g in zip(department, grade, strict=True)])
    admitted = np.where(rng.random(rows) < p, "yes", "no")
    return {"sex": sex, "department": department, "grade": grade, "admitted": admitted}


OPTIONS = (
    *("--label", "admitted", "--positive", "yes", "--attributes", "sex", "--quiet"),
    *("--minimize", "error_rate()", "--subject-to", "demographic_parity(sex, tolerance=0.05)"),
)


@pytest.mark.parametrize("confidence", [(), ("--confidence", "0.95")])
def test_the_summary_is_true_of_the_decisions_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], confidence: tuple[str, ...]
) -> None:
    data = write(tmp_path / "admissions.csv", admissions())
    new = write(tmp_path / "new.csv", admissions(8000, 1))
    code = main(["fit", str(data), *OPTIONS, *confidence, "--out", str(tmp_path / "model")])
    summary = json.loads((tmp_path / "model" / "summary.json").read_text("utf-8"))
    capsys.readouterr()
    main(["evaluate", str(tmp_path / "model"), str(new), "--json", "--quiet"])
    judged = json.loads(capsys.readouterr().out)
    main(["predict", str(tmp_path / "model"), str(new), "--out", str(tmp_path / "decisions.csv"), "--quiet"])
    decided = np.array(open_source(tmp_path / "decisions.csv").table(["prediction"], {})["prediction"].to_pylist())
    sex = np.asarray(admissions(8000, 1)["sex"])
    gap = abs((decided[sex == "F"] == "yes").mean() - (decided[sex == "M"] == "yes").mean())
    assert judged["test"]["constraints"][0]["left"] == pytest.approx(gap)
    if code == 0 and confidence:
        assert summary["certified"]
        assert gap <= 0.05 + 0.03  # 8,000 rows vary by less


def test_a_person_is_on_one_side(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(200), 6)
    own = rng.normal(size=200)[person]
    label = np.where(own + 0.3 * rng.normal(size=len(own)) > 0, "yes", "no")
    columns = {
        "person": person,
        "x": (own + 0.01 * rng.normal(size=len(own))).round(6),
        "sex": rng.choice(["F", "M"], len(own)),
    }
    data = write(tmp_path / "visits.csv", {**columns, "admitted": label})
    main(["fit", str(data), *OPTIONS, "--cluster", "person", "--out", str(tmp_path / "model")])
    alone = main(["fit", str(data), *OPTIONS, "--ignore", "person", "--out", str(tmp_path / "other")])
    assert alone in (0, 3)
    summaries = [json.loads((tmp_path / name / "summary.json").read_text("utf-8")) for name in ("model", "other")]
    roles = {role["column"]: role["role"] for role in summaries[0]["columns"]}
    assert roles["person"] == "cluster"
    assert "person" not in summaries[0]["features"]
    assert summaries[0]["rows"]["test"] % 6 == 0  # whole people
    widths = [one["test"]["constraints"][0]["high"] - one["test"]["constraints"][0]["violation"] for one in summaries]
    assert widths[0] != pytest.approx(widths[1])
