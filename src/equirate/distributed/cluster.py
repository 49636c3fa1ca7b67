"""Fit on a Dask cluster: one long task on each worker holds its rows, and the tasks communicate by gloo.

In: a client, an estimator, and a Dask data frame or Parquet files that all workers can read. Out: the estimator, fitted
as if on all rows in one process. A task graph for every round would cost more than the rounds, so Dask only distributes
the rows, starts the tasks and reports lost workers. Checkpoints are stored on the scheduler every few seconds; with
``restarts`` the tasks start again with the same shares of the rows, on the workers that are then available (a worker
with enough threads takes several tasks), and continue from the last checkpoint.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from sklearn.base import clone

from .._core.errors import DataError, EquirateError, EquirateWarning, ProcessError
from .._core.peers import among
from .._core.warning import warn
from ..data.sample import Given
from ..estimators.rate_classifier import RateClassifier
from ..storage.checkpoints import Folder
from .extra import needed
from .gloo import TIMEOUT, GlooPeers
from .parquet import Group, ParquetRows, share

FitResult = tuple[RateClassifier, list[tuple[type[Warning], str]]]
"""A fitted estimator, and the warnings of its fit."""
PATIENCE = 60.0
"""Seconds to wait for replacements of lost workers before the remaining workers take over their rows."""
GRACE = 10.0
"""Seconds that the other tasks have to end after one has failed."""
REACHING = 10.0
"""Timeout in seconds for connecting to the store."""
LOOKING = 2.0
"""Seconds between two checks of a task whether the fit was cancelled."""
POLL = 0.1
CHECKPOINTS = "checkpoints"
OVER = {"finished", "error", "cancelled"}
"""Final states of Dask's futures."""
EVERY = 5.0


def fit(
    client: Any,
    estimator: RateClassifier,
    data: Any,
    *,
    label: str | None = None,
    attributes: Sequence[str] = (),
    features: Sequence[str] | None = None,
    sample_weight: str | None = None,
    restarts: int = 0,
    timeout: float = TIMEOUT,
    checkpoints: str | os.PathLike[str] | None = None,
    every: float = EVERY,
) -> RateClassifier:
    """Fit an estimator on the workers of a Dask cluster.

    Parameters
    ----------
    client
        A `distributed.Client`.
    estimator
        A `RateClassifier`, with a linear model.
    data
        A Dask data frame, the path of Parquet files that all workers can read, or a `ParquetRows`.
    label, attributes, features, sample_weight
        Its columns, as in `ParquetRows`; by default all remaining columns are features.
    restarts
        How often to continue from the last checkpoint after a worker was lost.
    timeout
        Seconds that the workers wait for each other.
    checkpoints
        A folder that all workers can write to; by default checkpoints are stored on the scheduler.
    every
        Seconds between checkpoints.

    Returns
    -------
    RateClassifier
        The estimator that was given, fitted.
    """
    needed("distributed")
    if not isinstance(estimator, RateClassifier):
        raise EquirateError(f"equirate.distributed.fit takes a RateClassifier; got a {type(estimator).__name__}")
    if getattr(client, "asynchronous", False):
        raise EquirateError("equirate.distributed.fit takes a Client that is not asynchronous")
    columns = FrameColumns(label, attributes, features, sample_weight)
    name = secrets.token_hex(8)
    workers = _workers(client, 1)
    shards = _shards(client, data, columns, len(workers))
    place = Folder(checkpoints) if checkpoints is not None else InScheduler(name)
    settings = {"timeout": timeout, "place": place, "every": every}
    try:
        fitted, caught = _restarted(client, estimator, shards, name, settings, restarts)
    finally:
        with suppress(OSError):
            Board(client, name).put(CHECKPOINTS, {})  # they are no longer needed
    given = estimator.get_params(deep=False)
    estimator.__dict__.update({key: value for key, value in fitted.__dict__.items() if key not in given})
    for category, text in caught:
        warn(text, category)
    return estimator


class FrameColumns:
    """Which columns of a data frame are label, attributes, features and weights."""

    def __init__(
        self, label: str | None, attributes: Sequence[str], features: Sequence[str] | None, sample_weight: str | None
    ) -> None:
        self.label, self.sample_weight = label, sample_weight
        self.attributes = [attributes] if isinstance(attributes, str) else list(attributes)
        self.features = None if features is None else list(features)

    def check(self, names: Sequence[str]) -> None:
        """Raise an error if a column is missing or no label is named."""
        named = [self.label, *self.attributes, *(self.features or ()), self.sample_weight]
        absent = [repr(name) for name in named if name is not None and name not in names]
        if self.label is None or absent:
            missing = "name the label" if self.label is None else f"there is no column {', '.join(absent)}"
            raise DataError(f"{missing}; the columns are {', '.join(map(repr, names))}")

    def given(self, frame: Any) -> Given:
        """Features, labels, attributes and weights of a frame."""
        named = [self.label, *self.attributes, self.sample_weight]
        chosen = self.features or [name for name in frame.columns if name not in named]
        weights = None if self.sample_weight is None else frame[self.sample_weight].to_numpy()
        attributes = frame[self.attributes].reset_index(drop=True) if self.attributes else None
        X = frame[chosen].reset_index(drop=True)
        return Given(X, frame[self.label].reset_index(drop=True), attributes, weights)


class Board:
    """Short messages between client and tasks of a fit, stored on the scheduler, which outlives the workers."""

    def __init__(self, client: Any, *path: str) -> None:
        self.client, self.path = client, ["equirate", *path]

    def put(self, name: str, value: Any) -> None:
        """Store a message."""
        self.client.set_metadata([*self.path, name], value)

    def get(self, name: str) -> Any:
        """Read a message; None if there is none."""
        return self.client.get_metadata([*self.path, name], default=None)


class InScheduler:
    """Checkpoints stored on the scheduler."""

    def __init__(self, name: str) -> None:
        self.name = name

    def put(self, name: str, content: bytes) -> None:
        """Store bytes under a name."""
        Board(needed("distributed").get_client(), self.name, CHECKPOINTS).put(name, content)

    def get(self, name: str) -> bytes | None:
        """The bytes stored under a name; None if there are none."""
        content = Board(needed("distributed").get_client(), self.name, CHECKPOINTS).get(name)
        return None if content is None else bytes(content)


# -- on the client -----------------------------------------------------------------------------------


def _shards(client: Any, data: Any, columns: FrameColumns, size: int) -> list[Any]:
    """The data of each task: `ParquetRows`, of which it reads its own share, or columns and a list of partitions."""
    if isinstance(data, (str, os.PathLike, ParquetRows)):
        if isinstance(data, ParquetRows):
            rows = data
        else:
            if columns.label is None:
                raise DataError("name the label: fit(client, estimator, path, label=...)")
            rows = ParquetRows(data, columns.label, columns.attributes, columns.features, columns.sample_weight)
        return [rows] * min(size, len(rows.groups()[0]))
    if not hasattr(data, "to_delayed"):
        raise DataError(f"data must be a Dask data frame, a path or ParquetRows; got a {type(data).__name__}")
    columns.check([str(name) for name in data.columns])
    partitions = client.compute(data.to_delayed())
    counted = client.map(len, partitions)
    _waited(client, counted)
    groups = [Group("", k, length) for k, length in enumerate(client.gather(counted)) if length]
    if not groups:
        raise DataError("the data frame has no rows")
    size = min(size, len(groups))
    return [(columns, [partitions[group.number] for group in share(groups, k, size)]) for k in range(size)]


def _workers(client: Any, count: int) -> list[str]:
    """Wait for ``count`` workers and return addresses; if there are too few, one address per thread."""
    until = time.monotonic() + PATIENCE
    while True:
        threads = dict(sorted(client.nthreads().items()))
        if len(threads) >= count:
            return list(threads)
        if time.monotonic() > until:
            break
        time.sleep(POLL)
    shared = [worker for k in range(max(threads.values(), default=0)) for worker in threads if k < threads[worker]]
    if len(shared) < count:
        raise ProcessError(
            f"the fit needs {count} workers (or as many threads of fewer ones), and the cluster has {len(shared)}: add "
            "some"
        )
    return shared


def _waited(client: Any, futures: Sequence[Any]) -> None:
    """Wait for partitions. Dask recomputes lost ones, if there is a worker and their inputs are known."""
    lost_at: float | None = None
    while not (states := {future.status for future in futures}) <= OVER:
        _workers(client, 1)
        lost_at = None if "lost" not in states else lost_at or time.monotonic()
        if lost_at is not None and time.monotonic() - lost_at > PATIENCE:
            break
        time.sleep(POLL)
    failed = next((future.exception() for future in futures if future.status == "error"), None)
    if isinstance(failed, needed("distributed").KilledWorker):
        raise ProcessError(f"workers died again and again over a partition of the frame: {failed}") from failed
    if failed is not None:
        raise failed
    if any(future.status != "finished" for future in futures):
        raise ProcessError("partitions of the frame were lost with their worker, and Dask cannot compute them again")


def _restarted(
    client: Any, estimator: RateClassifier, shards: list[Any], name: str, settings: dict[str, Any], restarts: int
) -> FitResult:
    for attempt in range(restarts):
        with suppress(ProcessError):
            return _attempt(client, estimator, shards, (name, str(attempt)), settings)
    return _attempt(client, estimator, shards, (name, str(restarts)), settings)


def _attempt(
    client: Any, estimator: RateClassifier, shards: list[Any], name: tuple[str, str], settings: dict[str, Any]
) -> FitResult:
    size = len(shards)
    # Lost partitions are recomputed before the tasks start: the tasks would occupy all threads.
    _waited(client, [part for shard in shards if isinstance(shard, tuple) for part in shard[1]])
    workers = _workers(client, size)[:size]
    futures = []
    for rank, (worker, shard) in enumerate(zip(workers, shards, strict=True)):
        columns, parts = shard if isinstance(shard, tuple) else (shard, [])
        task = (rank, size, name, estimator, columns, settings)
        options = {"workers": [worker], "allow_other_workers": False, "pure": False}
        futures.append(client.submit(_task, task, *parts, **options, key=f"equirate-{'-'.join(name)}-{rank}"))
    try:
        return _watched(client, futures, workers)
    finally:
        with suppress(OSError):
            Board(client, *name).put("over", True)  # tasks that still run are to stop
            client.cancel(futures)


def _watched(client: Any, futures: list[Any], workers: list[str]) -> FitResult:
    """Wait for process 0, which ends after all others; raise an error if a worker or a task is lost."""
    failed_at: float | None = None
    while True:
        try:
            alive = client.nthreads()
        except OSError as error:
            raise ProcessError(f"the scheduler of the cluster does not answer: {error}") from error
        states = [future.status for future in futures]
        if states[0] == "finished":
            with suppress(TimeoutError):  # the result was lost on the way: check the states again
                fitted: FitResult = futures[0].result(timeout=GRACE)
                return fitted
        lost = [f"process {k} (worker {worker})" for k, worker in enumerate(workers) if worker not in alive]
        if lost:
            raise ProcessError(f"{' and '.join(lost)} died, so the fit ends here; restarts=1 would go on without loss")
        if failed_at is None and any(state in ("error", "cancelled", "lost") for state in states):
            failed_at = time.monotonic()
        # Wait a moment for the other tasks: the first error to arrive need not be the cause.
        if failed_at is not None and ("pending" not in states or time.monotonic() - failed_at > GRACE):
            raise _worst([future.exception(timeout=GRACE) for future in futures if future.status == "error"])
        time.sleep(POLL)


def _worst(errors: list[BaseException]) -> BaseException:
    """The error that caused the failure, rather than those that only report it."""
    own = [error for error in errors if not isinstance(error, ProcessError) and "(on process " not in str(error)]
    return (own or errors or [ProcessError("the tasks of the fit were cancelled")])[0]


# -- on the workers ------------------------------------------------------------------------------------


@contextmanager
def _caught(rank: int) -> Iterator[list[Any]]:
    """Catch the warnings of the fit on process 0, which returns them to the client."""
    if rank:  # the warnings of the other processes are the same
        yield []
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", EquirateWarning)
        yield caught


def _task(task: tuple[Any, ...], *parts: Any) -> FitResult | None:
    """One process of the fit."""
    rank, size, name, estimator, columns, settings = task
    board = Board(needed("distributed").get_client(), *name)
    if board.get(f"begun {rank}"):  # Dask restarts the task of a lost worker, but not the tasks it works with
        raise ProcessError(f"the worker of process {rank} died, and its task cannot be begun again by itself")
    board.put(f"begun {rank}", True)
    shared = GlooPeers(_store(board, rank, settings["timeout"]), rank, size, name="-".join(name), **settings)
    try:
        with among(shared), _stopped(board, shared), _caught(rank) as caught:
            own = clone(estimator)  # tasks in threads of one process share the same object
            if isinstance(columns, ParquetRows):
                own.fit(columns)
            else:
                rows = columns.given(needed("pandas").concat(parts))
                own.fit(rows.X, rows.y, sensitive_features=rows.attributes, sample_weight=rows.sample_weight)
        messages = list(dict.fromkeys((warning.category, str(warning.message)) for warning in caught))
        return (own, messages) if rank == 0 else None
    finally:
        shared.close()


def _store(board: Board, rank: int, timeout: float) -> Any:
    """The store through which the processes connect: process 0 opens it and publishes its address."""
    distributed = needed("torch.distributed")
    if rank == 0:
        store = distributed.TCPStore("0.0.0.0", 0, None, True, wait_for_workers=False)
        host = urlsplit(needed("distributed").get_worker().address).hostname or "localhost"
        board.put("store", [host, int(store.port)])
        return store
    until = time.monotonic() + timeout
    while (place := board.get("store")) is None:
        if board.get("over"):
            raise ProcessError("the fit was given up")
        if time.monotonic() > until:
            raise ProcessError(f"process 0 did not begin within {timeout:g} s: its worker is busy with something else")
        time.sleep(POLL)
    try:
        # If process 0 is gone, this fails at once; TCPStore would retry until its timeout.
        socket.create_connection(tuple(place), REACHING).close()
        return distributed.TCPStore(*place, None, False, wait_for_workers=False, timeout=timedelta(seconds=REACHING))
    except (OSError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise ProcessError(f"process {rank} cannot reach process 0 at {place[0]}:{place[1]}: {reason}") from error


@contextmanager
def _stopped(board: Board, shared: GlooPeers) -> Iterator[None]:
    """Break the connections when the client cancels the fit, so that this task ends too."""
    done = threading.Event()

    def watch() -> None:
        with suppress(OSError, RuntimeError):  # the scheduler is gone, and the client with it
            while not done.wait(LOOKING):
                if board.get("over"):
                    shared.abandon()
                    return

    thread = threading.Thread(target=watch, name="equirate-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
