"""What the measured processes do: ``python -m equirate_lab.machines.jobs NAME JOB``, by hand or under torchrun.

In: the name of a job, and its settings as JSON, among them ``out``, a file for the answer. Out: that file, as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq
import equirate.distributed as eqd

STEPS = (0.003, 0.01, 0.03, 0.1)
"""For the model and for the multipliers: sixteen configurations, as `RateClassifier` has them."""
PARITY = eq.demographic_parity("group", tolerance=0.02)
PROBLEM = eq.Problem(eq.maximize(eq.f1()), PARITY)
CELLS = 4
EVERY = 5
"""Rounds from one time that is taken to the next."""
MANY = 1 << 17
"""Doubles of a long message, by which bytes are told from messages."""


def table(rows: int, columns: int, seed: int) -> tuple[Any, Any, Any]:
    """Features in single precision, labels and groups."""
    rng = np.random.default_rng([7, seed])
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    group = rng.random(rows) < 0.4
    score = X[:, : min(columns, 8)].sum(axis=1) / 2 + 0.4 * group + rng.standard_normal(rows, dtype=np.float32)
    return X, (score > 0.5).astype(np.int8), np.where(group, "a", "b")


def played(*given: Any, attributes: Any = None, rounds: int, every: int = EVERY) -> dict[str, float]:
    """Seconds of a round: by the clock, without the time in which others had the cores, and of this process's own."""
    clock, free, own = [], [], []

    def told(moment: Any) -> None:
        clock.append(time.perf_counter())
        free.append(clock[-1] - _waited())
        own.append(time.process_time())

    eq.solve(
        PROBLEM,
        *given,
        attributes=attributes,
        n_rounds=rounds,
        record_every=every,
        theta_step=STEPS,
        lambda_step=STEPS,
        progress=told,
    )
    times = {"clock": clock, "free": free, "own": own}
    return {name: float(np.median(np.diff(each) / every)) for name, each in times.items()}


def _waited() -> float:
    """Seconds that this thread was ready to work and had no core, where the system tells; waiting for a disk is not."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def a_round(job: dict[str, Any]) -> dict[str, Any] | None:
    """A round of this process's share of the rows, and an all-reduce of what a round sends."""
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    X, y, group = table(job["rows"] // size, job["columns"], rank)
    found: dict[str, Any] = played(X, y, attributes={"group": group}, rounds=job["rounds"])
    numbers = (job["columns"] + 1 + CELLS) * len(STEPS) ** 2
    found.update(bytes=8 * numbers, reduces=_reduced((1, numbers, MANY), job["repetitions"]) if size > 1 else [])
    return found if rank == 0 else None


def _reduced(sizes: tuple[int, ...], repetitions: int) -> list[tuple[int, float]]:
    """Bytes, and the median seconds of gloo's all-reduce of them, for some numbers of doubles."""
    import torch
    import torch.distributed

    torch.distributed.init_process_group("gloo")
    found = []
    for numbers in sizes:
        buffer, samples = torch.ones(numbers, dtype=torch.float64), []
        for _ in range(repetitions):
            torch.distributed.barrier()
            begun = time.perf_counter()
            torch.distributed.all_reduce(buffer)
            samples.append(time.perf_counter() - begun)
            buffer.fill_(1.0)
        found.append((8 * numbers, statistics.median(samples)))
    torch.distributed.destroy_process_group()
    return found


# -- Parquet files -----------------------------------------------------------------------------------


def write(job: dict[str, Any]) -> dict[str, Any]:
    """Write a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{k}" for k in range(job["columns"])]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("group", pa.string()), ("y", pa.int8())])
    with pq.ParquetWriter(job["path"], schema, compression="none", use_dictionary=["group"]) as file:
        for k, first in enumerate(range(0, job["rows"], 500_000)):
            X, y, group = table(min(500_000, job["rows"] - first), job["columns"], k)
            file.write_table(pa.table({**dict(zip(names, X.T, strict=True)), "group": group, "y": y}, schema=schema))
    return {"bytes": os.path.getsize(job["path"])}


def from_file(job: dict[str, Any]) -> dict[str, Any]:
    """Rounds on the rows of a file, and the peak of anonymous memory; a whole fit where that is asked for."""
    rows = eqd.ParquetRows(job["path"], label="y", attributes=["group"], scratch=job["scratch"])

    def work() -> dict[str, Any]:
        if not job["fit"]:
            return dict(played(rows, rounds=job["rounds"], every=job["every"]))
        begun = time.process_time()
        classifier = eq.RateClassifier(PROBLEM.objective, PARITY, random_state=0).fit(rows)
        status = classifier.status_
        return {"objective": status.objective, "passes": status.rounds, "fit_own": time.process_time() - begun}

    return _watched(work)


def from_memory(job: dict[str, Any]) -> dict[str, Any]:
    """The same rounds with all rows in memory."""
    import pyarrow.parquet as pq

    file = pq.read_table(job["path"])
    names = [f"x{k}" for k in range(job["columns"])]
    X = np.empty((file.num_rows, len(names)), np.float32)
    for k, name in enumerate(names):
        X[:, k] = file.column(name).to_numpy()
    y, group = (file.column(name).to_numpy() for name in ("y", "group"))
    del file
    return _watched(
        lambda: dict(played(X, y, attributes={"group": group.astype(str)}, rounds=job["rounds"], every=job["every"]))
    )


def _watched(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do something, and add its seconds and the peak of anonymous memory to what it found."""
    done, peak = threading.Event(), [0]

    def watch() -> None:
        while not done.wait(0.02):
            lines = Path("/proc/self/status").read_text().splitlines()
            peak[0] = max(peak[0], next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")))

    thread = threading.Thread(target=watch)
    thread.start()
    begun = time.perf_counter()
    try:
        found = work()
    finally:
        done.set()
        thread.join()
    return {**found, "seconds": time.perf_counter() - begun, "anonymous": 1024 * peak[0]}


# -- processes that are killed -----------------------------------------------------------------------


def fitted(job: dict[str, Any]) -> dict[str, Any] | None:
    """A fit, in which one process is killed some time after it began, on the first attempt."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    X, y, group = table(job["rows"] // size, job["columns"], rank)
    begun = time.perf_counter()
    if os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0" and rank == job.get("victim"):
        killer = threading.Timer(job["after"], _die, (Path(job["out"]).with_name("killed.json"),))
        killer.daemon = True  # a fit that was faster than the kill is over
        killer.start()
    with eqd.processes(every=0.2):
        classifier = estimator(job["rounds"]).fit(X, y, sensitive_features={"group": group})
    return {"digest": digest(classifier), "seconds": time.perf_counter() - begun} if rank == 0 else None


def _die(note: Path) -> None:
    """End this process as kill -9 does, and leave a note of when that was."""
    note.write_text(json.dumps({"at": time.time()}))
    os.kill(os.getpid(), 9)


def estimator(rounds: int) -> eq.RateClassifier:
    """What is fitted: all rounds are played, so that there is something to be killed in."""
    return eq.RateClassifier(
        PROBLEM.objective, PARITY, algorithm="surrogate", n_rounds=rounds, patience=None, random_state=0
    )


def digest(classifier: eq.RateClassifier) -> str:
    """All bits of a classifier."""
    content = classifier.members_.W.tobytes() + classifier.weights_.tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


# -- whole fits --------------------------------------------------------------------------------------


def a_fit(job: dict[str, Any]) -> dict[str, Any] | None:
    """Whole fits of this process's share of the rows: processor time, seconds by the clock, passes and messages."""
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    sent = _counting()
    given = table(job["rows"] // size, job["columns"], rank)
    own, clock = [], []
    for repetition in range(-1, job["repetitions"]):
        X, y, group = given if repetition >= 0 else (part[:1000] for part in given)
        sent.clear()
        begun = time.process_time(), time.perf_counter()
        objective = eq.minimize(eq.error_rate())
        classifier = eq.RateClassifier(objective, PARITY, random_state=0).fit(X, y, sensitive_features={"group": group})
        if repetition >= 0:
            own.append(time.process_time() - begun[0])
            clock.append(time.perf_counter() - begun[1])
    found = {"own": statistics.median(own), "samples": own, "clock": statistics.median(clock)}
    found |= {"messages": len(sent), "bytes": sum(sent), "passes": int(classifier.n_rounds_)}
    return found if rank == 0 else None


def _counting() -> list[int]:
    """The bytes of every all-reduce from now on, by a group of processes that counts them."""
    try:
        import torch.distributed as together
    except ImportError:  # one process sends nothing
        return []
    sent: list[int] = []

    plain: Any = together.ProcessGroupGloo

    def allreduce(self: Any, tensors: Any, *options: Any) -> Any:
        sent.append(sum(each.numel() * each.element_size() for each in tensors))
        return plain.allreduce(self, tensors, *options)

    setattr(together, "ProcessGroupGloo", type("Counting", (plain,), {"allreduce": allreduce}))  # noqa: B010
    return sent


JOBS = {job.__name__: job for job in (a_round, write, from_file, from_memory, fitted, a_fit)}


def main() -> None:
    """Do the job that the arguments name."""
    job = json.loads(sys.argv[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        found = JOBS[sys.argv[1]](job)
    if found is not None:
        Path(job["out"]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
