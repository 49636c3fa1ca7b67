"""A small table in a file, and a model that was fitted on it once."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROWS = 1200
FIT = (
    *("--label", "hired", "--positive", "yes", "--attributes", "sex,region", "--ignore", "id"),
    *("--maximize", "f1()", "--subject-to", "positive_rate(sex == 'F') >= positive_rate(sex == 'M') - 0.1"),
    *("--rounds", "60"),
)


def rows(count: int = ROWS, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    sex, region = rng.choice(["F", "M"], count), rng.choice(["north", "south", "west"], count)
    score, age = rng.normal(size=count), rng.integers(20, 60, count)
    school = rng.choice(["A", "B", "C"], count)
    hired = score + 0.5 * (school == "A") + 0.4 * (sex == "M") + 0.5 * rng.normal(size=count) > 0.6
    when = np.datetime64("2020-01-01") + np.arange(count)
    lines = ["id,score,age,school,when,sex,region,hired,weight"]
    for k in range(count):
        shown = "" if k % 50 == 7 else f"{score[k]:.4f}"
        answer = "yes" if hired[k] else "no"
        lines.append(f"p{k},{shown},{age[k]},{school[k]},{when[k]},{sex[k]},{region[k]},{answer},{1 + k % 3}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    path.write_text(rows(), "utf-8")
    return path


@pytest.fixture(scope="session")
def fitted(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder; not to be changed."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("typer")
    from equirate.cli import main

    out = tmp_path_factory.mktemp("fitted") / "model"
    assert main(["fit", str(people), *FIT, "--out", str(out), "--quiet"]) == 0
    return out


@pytest.fixture
def copied(fitted: Path, tmp_path: Path) -> Callable[[], Path]:
    """Makes a copy of the model's folder, to be damaged."""

    def copy() -> Path:
        shutil.copytree(fitted, tmp_path / "copied")
        return tmp_path / "copied"

    return copy
