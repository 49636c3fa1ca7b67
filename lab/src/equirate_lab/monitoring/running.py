"""A million rows, how wide bounds are that hold at all times, and updates that are killed in the middle."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import equirate as eq

from .problems import PROBLEMS, WOMEN

_SCRIPT = """
import sys
import numpy as np
import equirate as eq
path, total, day = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
women = eq.attr("sex") == "F"
try:
    monitor = eq.Monitor.load(path)
except eq.FileError:
    monitor = eq.Monitor([eq.positive_rate() <= 0.5, eq.recall(women) >= eq.recall(~women) - 0.1])
while monitor.rows < total:
    rng = np.random.default_rng(monitor.rows)  # the rows that come next, whoever counts them
    y, sex = rng.random(day) < 0.4, np.where(rng.random(day) < 0.3, "F", "M")
    monitor.update(np.where(rng.random(day) < 0.8, y, ~y), y, attributes={"sex": sex})
    monitor.save(path)
print(monitor)
"""


def speed(rows: int = 1_000_000, day: int = 1000) -> float:
    """Seconds of one core to count so many rows for the six problems, a thousand at a time, and to say the verdicts."""
    stream = PROBLEMS[0].draw(np.random.default_rng(0), rows, -0.05)
    monitor = eq.Monitor([problem.constraint for problem in PROBLEMS])
    began = time.process_time()
    for start in range(0, rows, day):
        part = stream.take(slice(start, start + day))
        monitor.update(part.predicted, part.label, attributes={"sex": part.sex})
    monitor.status()
    return time.process_time() - began


WIDTHS = {
    "positive_rate() <= 0.4": eq.positive_rate() <= 0.4,
    "parity of positive rates": eq.positive_rate(WOMEN) >= eq.positive_rate(~WOMEN) - 0.05,
    "parity of precisions": eq.precision(WOMEN) >= eq.precision(~WOMEN) - 0.05,
    "ratio of positive rates": eq.positive_rate(WOMEN) / eq.positive_rate(~WOMEN) >= 0.8,
    "parity of F1": eq.f1(WOMEN) >= eq.f1(~WOMEN) - 0.05,
    "G-mean": eq.g_mean() >= 0.6,
    "cost(fp=1, fn=5)": eq.cost(fp=1, fn=5) <= 1,
    "a group against everybody": eq.positive_rate(WOMEN) <= eq.positive_rate() + 0.05,
}


def widths(sizes: tuple[int, ...] = (1000, 10_000, 100_000)) -> dict[str, list[float]]:
    """Width of the bounds of a monitor over that of two-sided 95 % bounds of `equirate.certify`, on the same rows."""
    found: dict[str, list[float]] = {name: [] for name in WIDTHS}
    for size in sizes:
        rng = np.random.default_rng(0)
        sex, y = np.where(rng.random(size) < 0.5, "F", "M"), rng.random(size) < 0.4
        predicted = np.where(y, rng.random(size) < 0.7, rng.random(size) < 0.2)
        for name, constraint in WIDTHS.items():
            (always,) = eq.Monitor(constraint).update(predicted, y, attributes={"sex": sex}).status()
            (once,) = eq.certify(constraint, y, predicted, attributes={"sex": sex}, confidence=0.975)
            found[name].append((always.upper - always.lower) / (once.high - once.low))
    return found


def killed(folder: Path, kills: int = 20, rows: int = 400_000, day: int = 100) -> dict[str, int | bool]:
    """Kill a process that counts and saves, again and again; in the end the counts are those of one that was not."""
    folder.mkdir(parents=True, exist_ok=True)
    plain, struck = folder / "plain.json", folder / "killed.json"
    for path in (plain, struck):
        path.unlink(missing_ok=True)
    dice, damaged, done = random.Random(0), 0, 0
    while done < kills:
        process = subprocess.Popen(_command(struck, rows, day), stdout=subprocess.DEVNULL)
        before = _rows(struck)
        while _rows(struck) == before and process.poll() is None:  # it has begun to count
            time.sleep(0.005)
        time.sleep(dice.uniform(0.0, 0.1))
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        done += 1
        damaged += _rows(struck) is None
    total = (_rows(struck) or 0) + 50 * day
    said = [
        subprocess.run(_command(path, total, day), capture_output=True, text=True, check=True).stdout
        for path in (struck, plain)
    ]
    return {"kills": done, "damaged": damaged, "rows": total, "same": said[0] == said[1]}


def _command(path: Path, rows: int, day: int) -> list[str]:
    return [sys.executable, "-c", _SCRIPT, str(path), str(rows), str(day)]


def _rows(path: Path) -> int | None:
    try:
        return eq.Monitor.load(path).rows
    except eq.FileError:
        return None
