"""A million rows, and updates that are killed in the middle."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import equirate as eq

from .problems import PROBLEMS

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
    """Seconds to count so many rows, a thousand at a time, for the six problems together, and to say the verdicts."""
    stream = PROBLEMS[0].draw(np.random.default_rng(0), rows, -0.05)
    monitor = eq.Monitor([problem.constraint for problem in PROBLEMS])
    began = time.perf_counter()
    for start in range(0, rows, day):
        part = stream.take(slice(start, start + day))
        monitor.update(part.predicted, part.label, attributes={"sex": part.sex})
    monitor.status()
    return time.perf_counter() - began


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
