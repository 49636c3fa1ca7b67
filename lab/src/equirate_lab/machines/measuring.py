"""Starting the measured processes, and collecting what they say.

In: settings and a folder. Out: one dict of results, kept as ``machines.json`` in that folder; a part that is there is
not measured again unless asked for.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..experiments.files import read_json, write_json

PARTS = ("rounds", "files", "kills", "dask")
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    rows: tuple[int, ...] = (100_000, 1_000_000)
    """Rows of all processes together."""
    processes: tuple[int, ...] = (1, 2, 4)
    columns: int = 30
    rounds: int = 40
    repetitions: int = 200
    small_file: int = 3_000_000
    """Rows of the file whose rounds are timed against memory."""
    big_file: int = 30_000_000
    """Rows of the file that is fitted; 0 for none."""
    file_rounds: int = 6
    kills: int = 10
    kill_rows: int = 8000
    kill_rounds: int = 400

    @classmethod
    def quick(cls) -> Settings:
        """A smoke run."""
        return cls((4000,), (1, 2), 5, 20, 20, 20_000, 0, 10, 1, 4000, 60)


def measure(
    folder: Path,
    settings: Settings,
    parts: Sequence[str] = PARTS,
    *,
    again: bool = False,
    tell: Tell = lambda line: None,
) -> dict[str, Any]:
    """Measure what is missing, and return every result there is."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "machines.json"
    results: dict[str, Any] = read_json(kept) or {}
    for part in parts:
        if again or part not in results:
            results[part] = globals()[f"_{part}"](folder, settings, tell)
            write_json(kept, {**(read_json(kept) or {}), part: results[part]})
    return results


def alone(name: str, job: dict[str, Any], folder: Path, processes: int = 0, restarts: int = 0) -> dict[str, Any] | None:
    """Run a job in a process of its own, or in several under torchrun; None where it did not come to an answer."""
    out = folder / "answer.json"
    out.unlink(missing_ok=True)
    start = [sys.executable, "-m"]
    if processes:
        start += [
            "torch.distributed.run",
            "--standalone",
            f"--nproc-per-node={processes}",
            f"--max-restarts={restarts}",
            "-m",
        ]
    command = [*start, "equirate_lab.machines.jobs", name, json.dumps({**job, "out": str(out)})]
    with open(folder / "log.txt", "w") as log:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(command, stdout=log, stderr=log, env=environment, check=False)
    answer: dict[str, Any] | None = read_json(out)
    return answer


def _rounds(folder: Path, settings: Settings, tell: Tell) -> list[dict[str, Any]]:
    found = []
    for rows in settings.rows:
        for processes in settings.processes:
            tell(f"{rows:,} rows, {processes} processes")
            job = {"rows": rows, "columns": settings.columns, "rounds": settings.rounds}
            answer = alone("a_round", {**job, "repetitions": settings.repetitions}, folder, processes)
            if answer is not None:
                found.append({"rows": rows, "processes": processes, **answer})
    return found


def _files(folder: Path, settings: Settings, tell: Tell) -> list[dict[str, Any]]:
    found = []
    both = (("from_file", False), ("from_memory", False), ("from_file", True))
    for rows, jobs in ((settings.small_file, both), (settings.big_file, both[2:])):
        if not rows:
            continue
        path = folder / f"{rows}.parquet"
        tell(f"a file of {rows:,} rows")
        job = {"path": str(path), "scratch": str(folder), "columns": settings.columns}
        job.update(rounds=settings.file_rounds, every=2)
        try:
            alone("write", {**job, "rows": rows}, folder)
            for name, fit in jobs:
                tell(f"{name.replace('_', ' ')}, {rows:,} rows, {'fit' if fit else 'rounds'}")
                answer = alone(name, {**job, "fit": fit}, folder)
                if answer is not None:
                    found.append({"rows": rows, "from": name.split("_")[1], "fit": fit, **answer})
        finally:
            path.unlink(missing_ok=True)
    return found


def _kills(folder: Path, settings: Settings, tell: Tell) -> dict[str, Any]:
    """Fits under torchrun in which a process is killed at a random moment, with and without a restart."""
    job = {"rows": settings.kill_rows, "columns": 8, "rounds": settings.kill_rounds}
    tell("a fit that nobody kills")
    whole = alone("fitted", job, folder, 2)
    if whole is None:
        return {}
    again = alone("fitted", job, folder, 2)
    rng, found = random.Random(1), []
    for k in range(settings.kills):
        job.update(victim=rng.randrange(2), after=rng.uniform(0.0, 1.0) * whole["seconds"])
        tell(f"kill {k + 1} of {settings.kills}, process {job['victim']}, after {job['after']:.1f} s")
        begun = time.monotonic()
        ended = alone("fitted", job, folder, 2)
        seconds = time.monotonic() - begun
        named = f"rank      : {job['victim']} " in (folder / "log.txt").read_text() or ended is not None
        restarted = alone("fitted", job, folder, 2, restarts=1)
        found.append(
            {
                "after": job["after"],
                "ended": seconds,
                "finished": ended is not None,
                "named": named,
                "same": restarted is not None and restarted["digest"] == whole["digest"],
            }
        )
    return {"seconds": whole["seconds"], "twice": bool(again and again["digest"] == whole["digest"]), "kills": found}


def _dask(folder: Path, settings: Settings, tell: Tell) -> dict[str, Any]:
    """The same on a local Dask cluster of two workers."""
    import pandas as pd

    import equirate as eq
    import equirate.distributed as eqd

    from .jobs import digest, estimator, table

    dd, distributed = (importlib.import_module(name) for name in ("dask.dataframe", "distributed"))  # without types
    X, y, group = table(settings.kill_rows, 8, 0)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcdefgh")).assign(group=group, y=y), npartitions=4)
    rng, found = random.Random(2), []
    started = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with started as cluster, distributed.Client(cluster) as client:

        def fit(restarts: int) -> str:
            made = estimator(settings.kill_rounds)
            fitted = eqd.fit(client, made, frame, label="y", attributes=["group"], restarts=restarts, every=0.2)
            return digest(fitted)

        tell("a fit on Dask that nobody kills")
        fit(0)  # workers load what they need
        begun = time.monotonic()
        whole = fit(0)
        lasted = time.monotonic() - begun
        for k in range(settings.kills):
            row: dict[str, Any] = {"after": rng.uniform(0.0, 1.0) * lasted}
            victim = rng.randrange(2)
            for restarts in (0, 2):
                client.wait_for_workers(2, timeout=120)
                time.sleep(1.0)
                pid = sorted(client.run(os.getpid).items())[victim][1]
                timer = threading.Timer(row["after"], os.kill, (pid, 9))
                tell(f"kill {k + 1} of {settings.kills} on Dask, after {row['after']:.1f} s, {restarts} restarts")
                begun = time.monotonic()
                timer.start()
                try:
                    row["same" if restarts else "finished"] = fit(restarts) == whole
                except eq.EquirateError as error:
                    row["same" if restarts else "finished"] = False
                    row["told" if restarts else "named"] = str(error)
                row["again" if restarts else "ended"] = time.monotonic() - begun
                timer.join()
            found.append(row)
    return {"seconds": lasted, "kills": found}
