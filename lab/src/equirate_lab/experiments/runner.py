"""Running experiments: data sets, seeds and methods; one result file each, so that a run can be continued.

In: which experiments, data sets and seeds, `Settings`, a directory. Out: ``cells/EXPERIMENT/DATASET/SEED/METHOD.json``
under that directory, each with the numbers of one method on one split. A file that is there and was made with the
same settings is not made again. Ctrl-C loses at most the methods that were running. `tables` and `page` read the files.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equirate as eq

from ..datasets import MissingDataError, require_files
from .bench import Bench
from .catalogue import EXPERIMENTS, Experiment
from .files import read_json, write_json
from .settings import PRINTED, Settings
from .splits import make_split


@dataclass(frozen=True)
class Job:
    """All methods of some experiments on one split."""

    dataset: str
    seed: int
    experiments: tuple[str, ...]
    settings: Settings
    out: Path
    data_dir: str | None = None

    def cells(self) -> list[tuple[str, str]]:
        """The (experiment, method) pairs to run."""
        return [
            (name, method)
            for name in self.experiments
            for method in EXPERIMENTS[name].methods
            if self.seed == 0 or method not in EXPERIMENTS[name].once
        ]

    def path(self, experiment: str, method: str) -> Path:
        """The result file of a method."""
        return self.out / "cells" / experiment / self.dataset / str(self.seed) / f"{method}.json"


@dataclass(frozen=True)
class Done:
    """One method is done: what a progress callback is told."""

    dataset: str
    seed: int
    experiment: str
    method: str
    seconds: float
    cached: bool
    error: str | None = None

    def __str__(self) -> str:
        return f"{self.experiment} {self.dataset} seed {self.seed} {self.method}"


Watch = Callable[[Done], None]


def plan(
    experiments: Iterable[Experiment],
    datasets: Sequence[str],
    seeds: Iterable[int],
    settings: Settings = PRINTED,
    out: Path = Path("results"),
    data_dir: str | None = None,
    everywhere: bool = True,
) -> list[Job]:
    """List the jobs, seed by seed. ``everywhere``: run small experiments on all data sets, not just on their own."""
    experiments = list(experiments)
    jobs = []
    for seed in seeds:
        for dataset in datasets:
            names = tuple(e.name for e in experiments if everywhere or not e.only or dataset in e.only)
            if names:
                jobs.append(Job(dataset, seed, names, settings, out, data_dir))
    return jobs


def run(jobs: Sequence[Job], watch: Watch | None = None, processes: int = 1) -> None:
    """Run jobs, several at a time if ``processes`` says so; ``watch`` is called after every method."""
    tell = watch or (lambda done: None)
    if processes <= 1 or len(jobs) <= 1:
        for job in jobs:
            run_job(job, tell)
    else:
        _run_beside(jobs, tell, min(processes, len(jobs)))


def run_job(job: Job, watch: Watch) -> None:
    """Run what is missing of a job in this process."""
    bench: Bench | None = None
    legacy: Bench | None = None
    for name, method in job.cells():
        settings = job.settings.as_dict()
        path = job.path(name, method)
        found = read_json(path)
        if found is not None and found.get("settings") == settings and not found.get("error"):
            watch(Done(job.dataset, job.seed, name, method, float(found["seconds"]), True))
            continue
        if bench is None:
            store = job.out / "models" / job.dataset / str(job.seed)
            bench = Bench(make_split(job.dataset, job.seed, job.data_dir), job.settings, store)
        experiment = EXPERIMENTS[name]
        if experiment.legacy and legacy is None:
            legacy = bench.with_legacy()
        ground = legacy if experiment.legacy and legacy is not None else bench
        start = time.monotonic()
        cell: dict[str, Any] = {"experiment": name, "dataset": job.dataset, "seed": job.seed, "method": method}
        try:
            cell |= measured(experiment, method, ground)
        except eq.EquirateError as problem:  # one method that fails does not end the others
            cell |= {"values": {}, "curves": {}, "error": f"{type(problem).__name__}: {problem}"}
        cell |= {"settings": settings, "seconds": round(time.monotonic() - start, 2), "version": eq.__version__}
        write_json(path, cell)
        watch(Done(job.dataset, job.seed, name, method, cell["seconds"], False, cell.get("error")))


def measured(experiment: Experiment, method: str, bench: Bench) -> dict[str, Any]:
    """Run a method and measure every column on every part: ``values[column][part] = [A, B]``."""
    made = experiment.methods[method](bench)
    values: dict[str, dict[str, list[float]]] = {}
    for column, predict in made.columns.items():
        values[column] = {}
        for name, part in bench.split.parts.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", eq.UndefinedRateWarning)  # 0/0 counts as 0
                values[column][name] = list(experiment.measures.value(predict(part), part, bench.error(part)))
    rows = {name: len(part) for name, part in bench.split.parts.items()}
    return {"values": values, "curves": made.curves, "rows": rows}


def missing(datasets: Iterable[str], data_dir: str | None = None) -> dict[str, str]:
    """Say which data sets are not to be had here, and why."""
    found = {}
    for name in datasets:
        try:
            require_files(name, data_dir=data_dir)
        except MissingDataError as error:
            found[name] = str(error)
    return found


# -- several processes ----------------------------------------------------------------------------


def _run_beside(jobs: Sequence[Job], watch: Watch, processes: int) -> None:
    context = multiprocessing.get_context("spawn")
    waiting: Any = context.Queue()
    told: Any = context.Queue()
    for job in jobs:
        waiting.put(job)
    for _ in range(processes):
        waiting.put(None)
    workers = [context.Process(target=_work, args=(waiting, told), daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    try:
        _listen(workers, told, watch)
    finally:
        for worker in workers:
            worker.terminate()  # files are written whole, so nothing is left half done
            worker.join()


def _listen(workers: Sequence[Any], told: Any, watch: Watch) -> None:
    ended = 0
    while ended < len(workers):
        try:
            message = told.get(timeout=0.5)
        except queue.Empty:
            dead = [worker for worker in workers if worker.exitcode not in (None, 0)]
            if dead:
                raise RuntimeError(
                    f"a worker process died (exit code {dead[0].exitcode}); run again to go on"
                ) from None
            continue
        if message is None:
            ended += 1
        elif isinstance(message, BaseException):
            raise message
        else:
            watch(message)


def _work(waiting: Any, told: Any) -> None:
    """Do jobs from a queue, on one thread: two processes are faster than two threads on small matrices."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends us
    try:
        with threadpool_limits(1):
            while (job := waiting.get()) is not None:
                run_job(job, told.put)
        told.put(None)
    except Exception as error:
        told.put(RuntimeError(f"{type(error).__name__}: {error}"))
