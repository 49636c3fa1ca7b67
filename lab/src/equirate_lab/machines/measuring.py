"""Starting the measured processes, and collecting what they say.

In: settings and a folder. Out: rows of results by part, kept as ``machines.json`` in that folder; what is there is not
measured again unless asked for.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import multiprocessing.forkserver
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import equirate as eq
import equirate.distributed as eqd

from ..experiments.files import read_json, write_json

PARTS = ("rounds", "files", "kills", "dask")
MANY_ROWS = 5_000_000
"""From here on fewer rounds tell as much."""
MOST = 3
"""Kills that are tried for each that comes before the fit is over."""
Tell = Callable[[str], None]
Results = dict[str, list[dict[str, Any]]]
"""Rows by part."""


@dataclass(frozen=True)
class Settings:
    """How much to measure."""

    rows: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    """Rows of all processes together."""
    processes: tuple[int, ...] = (1, 2, 4)
    columns: int = 30
    rounds: int = 40
    few_rounds: int = 15
    repetitions: int = 200
    small_file: int = 3_000_000
    """Rows of the file whose rounds are timed against memory."""
    big_file: int = 30_000_000
    """Rows of the file that is fitted, and whose rounds are timed; 0 for none."""
    file_rounds: int = 6
    kills: int = 10
    """That come before the fit is over."""
    kill_rows: int = 8000
    kill_rounds: int = 400

    @classmethod
    def quick(cls) -> Settings:
        """A smoke run."""
        return cls((4000,), (1, 2), 5, 20, 20, 20, 20_000, 0, 10, 1, 4000, 60)


def measure(
    folder: Path,
    settings: Settings,
    parts: Sequence[str] = PARTS,
    *,
    again: bool = False,
    tell: Tell = lambda line: None,
) -> Results:
    """Measure what is missing, and return every result there is."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = Kept(folder / "machines.json", tell)
    for part in parts:
        if again:
            kept.forget(part)
        globals()[f"_{part}"](folder, settings, kept)
    return kept.results


class Kept:
    """Rows of results by part, in a file: what is there is not measured again."""

    def __init__(self, path: Path, tell: Tell) -> None:
        self.path, self.tell = path, tell
        self.results: Results = read_json(path) or {}

    def forget(self, part: str) -> None:
        """Measure a part anew."""
        self.results.pop(part, None)

    def row(self, part: str, work: Callable[[], dict[str, Any] | None], **key: Any) -> dict[str, Any] | None:
        """The row with this key, or what ``work`` finds; nothing is kept of work without an answer."""
        rows = self.results.setdefault(part, [])
        for row in rows:
            if all(row.get(name) == value for name, value in key.items()):
                return row
        self.tell(f"{part}: {', '.join(f'{name} {value}' for name, value in key.items())}")
        answer = work()
        if answer is None:
            self.tell("  came to no answer")
            return None
        rows.append({**key, **answer})
        write_json(self.path, self.results)
        return rows[-1]


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


def _rounds(folder: Path, settings: Settings, kept: Kept) -> None:
    for rows in settings.rows:
        rounds = settings.rounds if rows < MANY_ROWS else settings.few_rounds
        for processes in settings.processes:
            job = {"rows": rows, "columns": settings.columns, "rounds": rounds, "repetitions": settings.repetitions}
            kept.row("rounds", partial(alone, "a_round", job, folder, processes), rows=rows, processes=processes)


def _files(folder: Path, settings: Settings, kept: Kept) -> None:
    small, big = settings.small_file, settings.big_file
    jobs = ((small, "memory", False), (small, "file", False), (big, "file", False), (big, "file", True))
    try:
        for rows, source, fit in jobs:
            if rows:
                work = partial(_from, folder, settings, rows, source, fit)
                kept.row("files", work, rows=rows, source=source, fit=fit)
    finally:
        for rows in (small, big):
            _path(folder, rows).unlink(missing_ok=True)


def _path(folder: Path, rows: int) -> Path:
    return folder / f"{rows}.parquet"


def _from(folder: Path, settings: Settings, rows: int, source: str, fit: bool) -> dict[str, Any] | None:
    path = _path(folder, rows)
    job = {"path": str(path), "scratch": str(folder), "columns": settings.columns}
    if not path.exists():
        alone("write", {**job, "rows": rows}, folder)
    return alone(f"from_{source}", {**job, "fit": fit, "rounds": settings.file_rounds, "every": 2}, folder)


def _kills(folder: Path, settings: Settings, kept: Kept) -> None:
    """Fits under torchrun in which a process is killed at a random moment, with and without a restart."""
    job = {"rows": settings.kill_rows, "columns": 8, "rounds": settings.kill_rounds}
    whole = kept.row("kills", partial(alone, "fitted", job, folder, 2), kill=0)
    if whole is None:
        return
    rng = random.Random(1)
    for k in range(MOST * settings.kills):
        chosen = {**job, "victim": rng.randrange(2), "after": rng.uniform(0.0, 1.0) * whole["seconds"]}
        kept.row("kills", partial(_killed, folder, chosen, whole["digest"]), kill=k + 1)
        if _hit(kept.results["kills"]) >= settings.kills:
            break


def _killed(folder: Path, job: dict[str, Any], digest: str) -> dict[str, Any]:
    (folder / "killed.json").unlink(missing_ok=True)
    ended = alone("fitted", job, folder, 2)
    log = (folder / "log.txt").read_text()
    at = read_json(folder / "killed.json")  # left by the process right before it was killed
    over = time.time()
    restarted = alone("fitted", job, folder, 2, restarts=1)
    return {
        "after": job["after"],
        "finished": ended is not None,
        "ended": over - at["at"] if at else 0.0,
        "named": f"rank      : {job['victim']} " in log,
        "same": restarted is not None and restarted["digest"] == digest,
    }


def _dask(folder: Path, settings: Settings, kept: Kept) -> None:
    """The same on a local Dask cluster of two workers."""
    import pandas as pd

    from .jobs import digest, estimator, table

    names = ("dask", "dask.dataframe", "distributed")
    dask, dd, distributed = (importlib.import_module(name) for name in names)  # without types
    dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"})  # a machine in use brings them back late
    if "forkserver" in multiprocessing.get_all_start_methods():  # new workers have everything loaded already
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
        loaded = [
            "distributed",
            "pandas",
            "torch.distributed",
            "equirate.distributed",
            "equirate_lab.machines.measuring",
        ]
        multiprocessing.get_context("forkserver").set_forkserver_preload(loaded)
        multiprocessing.forkserver.ensure_running()
    X, y, group = table(settings.kill_rows, 8, 0)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcdefgh")).assign(group=group, y=y), npartitions=4)
    started = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with started as cluster, distributed.Client(cluster) as client:

        def fit(restarts: int) -> str:
            made = estimator(settings.kill_rounds)
            fitted = eqd.fit(client, made, frame, label="y", attributes=["group"], restarts=restarts, every=0.2)
            return digest(fitted)

        def untouched() -> dict[str, Any]:
            fit(0)  # workers load what they need
            begun = time.monotonic()
            return {"digest": fit(0), "seconds": time.monotonic() - begun}

        whole = kept.row("dask", untouched, kill=0)
        if whole is None:
            return
        rng = random.Random(2)
        for k in range(MOST * settings.kills):
            after, victim = rng.uniform(0.0, 1.0) * whole["seconds"], rng.randrange(2)
            kept.row("dask", partial(_killed_on_dask, client, fit, after, victim, whole["digest"]), kill=k + 1)
            if _hit(kept.results["dask"]) >= settings.kills:
                break


def _hit(rows: list[dict[str, Any]]) -> int:
    """How many kills came before the fit was over."""
    return sum(not row.get("finished", True) for row in rows)


def _killed_on_dask(client: Any, fit: Callable[[int], str], after: float, victim: int, digest: str) -> dict[str, Any]:
    row: dict[str, Any] = {"after": after}
    for restarts in (0, 2):
        pid = _pids(client)[victim]
        timer = threading.Timer(after, os.kill, (pid, 9))
        begun = time.monotonic()
        timer.start()
        try:
            found = fit(restarts)
        except eq.EquirateError as error:
            found, row["told"] = "", str(error)
        if restarts:
            row["same"] = found == digest
        else:
            row.update(
                finished=bool(found), ended=time.monotonic() - begun - after, named="process" in row.get("told", "")
            )
        timer.join()
    return row


def _pids(client: Any) -> list[int]:
    """Both workers, once they are there and have loaded what a fit needs, so that a kill falls into the fit."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with suppress(OSError):
            found = client.run(_ready)
            if len(found) == 2:
                return [pid for _, pid in sorted(found.items())]
        time.sleep(0.5)
    raise RuntimeError("the cluster did not come back after a kill")


def _ready() -> int:
    importlib.import_module("torch.distributed")
    return os.getpid()
