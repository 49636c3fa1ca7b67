"""A monitor's file: the same monitor comes back, kills lose nothing, and strangers' files are refused."""

import contextlib
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import equirate as eq

WOMEN = eq.attr("sex") == "F"


def monitor(n: int = 5000) -> eq.Monitor:
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.4
    predicted = np.where(rng.random(n) < 0.8, y, ~y)
    constraints = [eq.accuracy() >= 0.9, eq.f1(WOMEN) >= eq.f1(~WOMEN) - 0.2, eq.positive_rate() <= 0.7]
    people = {"sex": np.where(rng.random(n) < 0.3, "F", "M")}
    return eq.Monitor(constraints, 0.9).update(predicted, y, attributes=people)


def test_the_same_monitor_comes_back(tmp_path: Path) -> None:
    first, path = monitor(), tmp_path / "state.json"
    first.save(path)
    second = eq.Monitor.load(path)
    assert second.status() == first.status()
    assert second.alarms == first.alarms
    assert (second.rows, second.confidence, second.labels) == (first.rows, first.confidence, first.labels)
    second.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    for each in (first, second):
        each.update([1, 0, 1], [1, 1, 0], attributes={"sex": ["F", "M", "F"]})
    assert second.status() == first.status()
    assert path.stat().st_size < 60_000


def test_functions_of_ones_own_cannot_be_saved(tmp_path: Path) -> None:
    box = eq.black_box(lambda rate: rate**2, eq.fpr(), increasing=True)
    with pytest.raises(eq.FileError, match="cannot be saved as text"):
        eq.Monitor(box <= 0.1).save(tmp_path / "state.json")


def test_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    monitor().save(path)
    path.write_bytes(path.read_bytes().replace(b'"rows": 5000', b'"rows": 5001', 1))
    with pytest.raises(eq.FileError, match=r"cannot open the monitor .*: it is damaged: the checksum does not fit"):
        eq.Monitor.load(path)
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(eq.FileError, match="is not JSON"):
        eq.Monitor.load(path)


def forged(path: Path, change: Any) -> None:
    """A file with other content and the checksum that fits it."""
    import hashlib

    from equirate._core.plain import to_text

    whole = json.loads(path.read_text("ascii"))
    change(whole["content"])
    whole["sha256"] = hashlib.sha256(to_text(whole["content"])).hexdigest()
    path.write_bytes(to_text(whole))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["followers"][0]["counts"].append([0, 0]), "counts of 2 proportions"),
        (lambda c: c["followers"][0]["counts"].__setitem__(0, [6000, 5000]), "more successes than trials"),
        (lambda c: c["followers"][0].__setitem__("rows", 10), "more trials than rows"),
        (lambda c: c["followers"][2]["starts"][1].__setitem__("counts", [[0, 1000]]), "do not rise from 0"),
        (lambda c: c["followers"][2]["starts"].pop(0), "do not rise from 0"),
        (lambda c: c["followers"][2]["starts"][0].__setitem__("number", 7), "do not rise from 0"),
        (lambda c: c["followers"][0]["alarm"].__setitem__("rows", 10**9), "a row that was not counted"),
        (lambda c: c["followers"][0].__setitem__("constraint", "__import__('os')"), "there is no function"),
        (lambda c: c["followers"][0].__setitem__("constraint", "f1()"), "is not"),
        (lambda c: c["followers"][0].__setitem__("constraint", "demographic_parity(a, tolerance=0.1)"), "is not one"),
        (lambda c: c["followers"][0]["counts"].__setitem__(0, [-1, 5]), "must be a whole number"),
        (lambda c: c["followers"][0]["counts"].__setitem__(0, [0.5, 5]), "must be a whole number"),
        (lambda c: c.__setitem__("confidence", 0.2), "must be a finite number from 0.5"),
        (lambda c: c.__setitem__("more", 1), "does not know"),
        (lambda c: c.__setitem__("followers", []), "must be a list of 1 to"),
        (lambda c: c.__setitem__("sources", [{"name": "a"}]), "has no"),
    ],
)
def test_files_of_strangers_are_data(tmp_path: Path, change: Any, message: str) -> None:
    path = tmp_path / "state.json"
    monitor().save(path)
    forged(path, change)
    with pytest.raises(eq.FileError, match=message):
        eq.Monitor.load(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"format": "equirate monitor"}', b"\xff\x00", b"[" * 99])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.json").write_bytes(content)
    with pytest.raises(eq.FileError, match="cannot open the monitor"):
        eq.Monitor.load(tmp_path / "state.json")


def test_newer_files_and_folders_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    monitor().save(path)
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(eq.FileError, match="upgrade equirate"):
        eq.Monitor.load(path)
    with pytest.raises(eq.FileError, match="it is a folder"):
        eq.Monitor.load(tmp_path)
    with pytest.raises(eq.FileError, match="there is no such file"):
        eq.Monitor.load(tmp_path / "none.json")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_damage_is_a_file_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("state") / "state.json"
    eq.Monitor(eq.f1(WOMEN) >= 0.5).update([0, 1], [0, 1], attributes={"sex": ["F", "F"]}).save(path)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[place]))
    path.write_bytes(bytes(content))
    with contextlib.suppress(eq.FileError):  # a blank more or less changes nothing
        eq.Monitor.load(path)


SCRIPT = """
import sys
import numpy as np
import equirate as eq
monitor = eq.Monitor.load(sys.argv[1])
while True:
    rng = np.random.default_rng(monitor.rows)
    y = rng.random(50) < 0.4
    monitor.update(np.where(rng.random(50) < 0.8, y, ~y), y)
    monitor.save(sys.argv[1])
"""


@pytest.mark.slow
def test_kills_in_the_middle_of_updates_lose_nothing(tmp_path: Path) -> None:
    """The laboratory has 20 of them."""
    path, dice = tmp_path / "state.json", random.Random(0)
    eq.Monitor([eq.accuracy() >= 0.7, eq.positive_rate() <= 0.6]).save(path)
    for _ in range(3):
        before = eq.Monitor.load(path).rows
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)])
        while eq.Monitor.load(path).rows == before:
            time.sleep(0.01)
        time.sleep(dice.uniform(0.0, 0.05))
        process.kill()
        process.wait()
    found = eq.Monitor.load(path)
    assert found.rows % 50 == 0
    plain = eq.Monitor(found.constraints)
    while plain.rows < found.rows:
        rng = np.random.default_rng(plain.rows)
        y = rng.random(50) < 0.4
        plain.update(np.where(rng.random(50) < 0.8, y, ~y), y)
    assert plain.status() == found.status()
