"""kill -9 at random moments of a run with a checkpoint: what the resumed run ends with, beside one left alone.

A life is a forked process that fits; it is killed after a random time, and the next life goes on in the same folder.
When a life comes to its end, everything that it recorded is compared with the run left alone, bit by bit.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq
from equirate.torch import TorchModel

from ..experiments.tables import Table
from .grounds import ground, problem, two_layers
from .lines import Lines, Result
from .plan import Plan

KILLS, ROWS = 20, 1500


def measure(plan: Plan, lines: Lines, folder: Path) -> None:
    """Kill one run after the other, until there were enough kills."""
    kills, rows = (2, 400) if plan.quick else (KILLS, ROWS)
    lines.once({"part": "killing", "kills": kills, "rows": rows}, partial(_killed, kills, rows))


def _fitted(rows: int, folder: Path | None) -> eq.Solution:
    here = ground("synthetic", 0.008, rows, 0)
    model = TorchModel(two_layers(here.width), batch_size=64, epochs=10, averaging=0.2, checkpoint=folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        X, y, attributes = here.train
        return eq.solve(problem("f1", here.limit), X, y, attributes=attributes, model=model, record_every=4)


def _told(solution: eq.Solution) -> dict[str, Any]:
    X, _, _ = ground("synthetic", 0.008, 1000, 1).train
    decided = solution.members().decide(X)
    return {
        "rates": solution.record.stacked("rates"),
        "multipliers": solution.record.stacked("multipliers"),
        "decided": decided,
    }


def _life(rows: int, folder: Path, result: Path, seconds: float) -> bool:
    """Fit, unless killed before; whether the end came."""
    child = os.fork()
    if child == 0:
        try:
            np.savez(result, **_told(_fitted(rows, folder)))
        except BaseException:  # whatever it is, the parent must hear of it
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if status:
                raise RuntimeError(f"a life ended by itself: {status}")
            return True
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status == 0


def _killed(kills: int, rows: int) -> Result:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        folder, result = Path(place), Path(place, "resumed.npz")
        _fitted(rows, folder / "warm")  # what keeping imports is imported before anybody is forked
        start = time.monotonic()
        alone = _told(_fitted(rows, None))
        length = time.monotonic() - start
        done = runs = same = 0
        while done < kills:
            runs += 1
            while not _life(rows, folder / f"run-{runs}", result, rng.uniform(0, length) if done < kills else np.inf):
                done += 1
            with np.load(result) as found:
                same += all(np.array_equal(found[name], alone[name]) for name in alone)
            result.unlink()
    return {"kills": done, "runs": runs, "same": same, "length": round(length, 2)}


def make_tables(lines: Lines) -> list[Table]:
    """One row."""
    rows = [
        (str(what["rows"]), str(result["kills"]), str(result["runs"]), str(result["same"]))
        for what, result in lines.of("killing")
    ]
    note = (
        "Runs with a checkpoint, F1 with parity on the synthetic data, killed with kill -9 at random moments and "
        "resumed until they came to their end; those that ended with the rates, multipliers and decisions of a run "
        "left alone, bit by bit."
    )
    return [Table("Killed and resumed", note, ("rows", "kills", "runs", "the same"), tuple(rows))]
