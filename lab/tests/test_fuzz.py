"""Forged files and texts: only errors of the package, little memory, and nothing that loads and is not what it says."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from equirate_lab import forging, fuzz

import equirate as eq

COUNT = 5_000


@pytest.fixture(scope="module")
def sources() -> dict[str, tuple[forging.Manifest, forging.Arrays]]:
    return fuzz.models()


@pytest.mark.slow
def test_forged_files_and_texts_are_refused_or_what_they_say() -> None:
    """In a process of its own, which may not take more than 256 MiB beyond what importing took."""
    command = [sys.executable, "-m", "equirate_lab.fuzz", "--count", str(COUNT), "--seed", "1", "--share", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 faults" in done.stdout
    files, loaded = int(done.stdout.split()[0]), int(done.stdout.split("(")[1].split()[0])
    assert files > COUNT / 3
    assert loaded > COUNT / 50, "a forger whose files are all refused shows nothing"


def test_the_layout_written_a_second_time_is_the_same(sources, tmp_path: Path) -> None:
    for name, (manifest, arrays) in sources.items():
        path = tmp_path / name
        path.write_bytes(forging.packed(manifest, arrays))
        loaded = eq.load(path)
        assert fuzz.judge(loaded, path.read_bytes()) is None


def test_the_judge_finds_what_is_wrong(sources, tmp_path: Path) -> None:
    manifest, arrays = sources["mixture"]
    path = tmp_path / "model"
    path.write_bytes(forging.packed(manifest, arrays))
    loaded = eq.load(path)
    other = {**arrays, "stochastic.members.coefficients": -arrays["stochastic.members.coefficients"]}
    assert "do not follow" in str(fuzz.judge(loaded, forging.packed(manifest, other)))
    noted = {**manifest, "notes": ["another"]}
    assert "notes" in str(fuzz.judge(loaded, forging.packed(noted, arrays)))
    weights = loaded.weights_.copy()
    loaded.weights_[:] = 2.0
    assert "not a distribution" in str(fuzz.judge(loaded, path.read_bytes()))
    loaded.weights_[:] = weights[::-1]
    assert len(set(weights)) < 2 or "not those of the file" in str(fuzz.judge(loaded, path.read_bytes()))


def test_faults_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(path: object) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr(eq, "load", fail)
    tally = fuzz.fuzz(20, keep=tmp_path)
    assert len(tally.faults) == tally.files > 0
    assert "OverflowError" in tally.faults[0]
    assert len(list(tmp_path.iterdir())) == tally.files
    monkeypatch.undo()
    monkeypatch.setattr(eq, "parse", fail)
    monkeypatch.setattr(fuzz, "limit_memory", lambda: None)
    assert fuzz.main(["--count", "20"]) == 1
    assert "parse raised OverflowError" in capsys.readouterr().out


def test_forgers_repeat_themselves(sources) -> None:
    made = [[forging.Forger(sources, Random(4)).file() for _ in range(1)] for _ in range(2)]
    assert made[0] == made[1]
    rng = Random(0)
    assert all(isinstance(json.dumps(forging.forge(sources["mixture"][0], rng, 3)), str) for _ in range(50))
    assert all(
        isinstance(a, np.ndarray) for _ in range(50) for a in forging.forge_arrays(sources["mixture"][1], rng).values()
    )
