"""From a Dask cluster: one long task on each worker holds its rows, and the tasks talk to each other by gloo.

In: a client, an estimator, and a Dask data frame or Parquet files that the workers reach. Out: the estimator, fitted as
if all rows had been here. A task graph for every round would cost more than the rounds, so Dask only places the rows,
starts the tasks and says which worker was lost. State is left with the scheduler every few seconds; with ``restarts``
the tasks begin again with the same shares of the rows, on the workers that there are then, and go on from there.
"""

from __future__ import annotations

import os
import secrets
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from .._core.errors import DataError, EquirateError, EquirateWarning, ProcessError
from .._core.peers import among
from ..data.sample import Given
from ..estimators.rate_classifier import RateClassifier
from .checkpoints import Folder
from .extra import needed
from .gloo import TIMEOUT, GlooPeers
from .parquet import Group, ParquetRows, share

Fitted = tuple[RateClassifier, list[tuple[type[Warning], str]]]
"""An estimator, and the warnings that its fit gave."""
PATIENCE = 60.0
"""Seconds to wait for the workers that a restart needs."""
POLL = 0.5
EVERY = 5.0
_STORES: dict[str, Any] = {}
"""The stores that this process keeps for others, by the name of the fit."""


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
        A Dask data frame, the path of Parquet files that all workers reach, or a `ParquetRows`.
    label, attributes, features, sample_weight
        Its columns, as in `ParquetRows`; by default every column that is not named otherwise is a feature.
    restarts
        How often to go on from the last checkpoint after a worker was lost.
    timeout
        Seconds that the workers wait for each other.
    checkpoints
        A folder that the workers share; by default the scheduler keeps the checkpoints.
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
    columns = Columns(label, attributes, features, sample_weight)
    name = secrets.token_hex(8)
    workers = _workers(client, 1)
    shards = _shards(client, data, columns, len(workers))
    place = Folder(checkpoints) if checkpoints is not None else InScheduler(name)
    settings = {"timeout": timeout, "place": place, "every": every}
    for attempt in range(restarts + 1):
        try:
            fitted, told = _attempt(client, estimator, shards, f"{name}-{attempt}", settings)
            break
        except ProcessError:
            if attempt == restarts:
                raise
    estimator.__dict__.update(fitted.__dict__)
    for category, text in told:
        warnings.warn(text, category, stacklevel=2)
    return estimator


class Columns:
    """Which columns of a table are what."""

    def __init__(
        self, label: str | None, attributes: Sequence[str], features: Sequence[str] | None, sample_weight: str | None
    ) -> None:
        self.label, self.sample_weight = label, sample_weight
        self.attributes = [attributes] if isinstance(attributes, str) else list(attributes)
        self.features = None if features is None else list(features)

    def check(self, names: Sequence[str]) -> None:
        """Refuse what the table does not have."""
        named = [self.label, *self.attributes, *(self.features or ()), self.sample_weight]
        absent = [repr(name) for name in named if name is not None and name not in names]
        if self.label is None or absent:
            missing = "name the label" if self.label is None else f"there is no column {', '.join(absent)}"
            raise DataError(f"{missing}; the columns are {', '.join(map(repr, names))}")

    def given(self, frame: Any) -> Given:
        """The parts of a frame."""
        named = [self.label, *self.attributes, self.sample_weight]
        chosen = self.features or [name for name in frame.columns if name not in named]
        weights = None if self.sample_weight is None else frame[self.sample_weight].to_numpy()
        attributes = frame[self.attributes].reset_index(drop=True) if self.attributes else None
        X = frame[chosen].reset_index(drop=True)
        return Given(X, frame[self.label].reset_index(drop=True), attributes, weights)


class InScheduler:
    """Checkpoints with the scheduler, which outlives the workers."""

    def __init__(self, name: str) -> None:
        self.name = name

    def put(self, name: str, content: bytes) -> None:
        """Leave bytes under a name."""
        needed("distributed").get_client().set_metadata(["equirate", self.name, name], content)

    def get(self, name: str) -> bytes | None:
        """What was left, if anything."""
        found = needed("distributed").get_client().get_metadata(["equirate", self.name, name], default=None)
        return None if found is None else bytes(found)


# -- on the client -----------------------------------------------------------------------------------


def _shards(client: Any, data: Any, columns: Columns, size: int) -> list[Any]:
    """What each task is given: Parquet rows, of which it finds its own, or a list of partitions and their columns."""
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
    lengths = client.gather(client.map(len, partitions))
    groups = [Group("", k, length) for k, length in enumerate(lengths) if length]
    if not groups:
        raise DataError("the data frame has no rows")
    size = min(size, len(groups))
    return [(columns, [partitions[group.number] for group in share(groups, k, size)]) for k in range(size)]


def _workers(client: Any, count: int) -> list[str]:
    """Addresses of the workers, once there are so many."""
    until = time.monotonic() + PATIENCE
    while True:
        found = sorted(client.nthreads())
        if len(found) >= count:
            return found
        if time.monotonic() > until:
            raise ProcessError(f"the cluster has {len(found)} workers, and {count} are needed: add some")
        time.sleep(POLL)


def _attempt(client: Any, estimator: RateClassifier, shards: list[Any], name: str, settings: dict[str, Any]) -> Fitted:
    size = len(shards)
    workers = _workers(client, size)[:size]
    host = urlsplit(workers[0]).hostname or "localhost"
    try:
        port = client.run(_keep_store, name, workers=workers[:1])[workers[0]]
    except (OSError, KeyError) as error:
        raise ProcessError(f"the worker {workers[0]} was lost before the fit began") from error
    futures = []
    for rank, (worker, shard) in enumerate(zip(workers, shards, strict=True)):
        columns, parts = shard if isinstance(shard, tuple) else (shard, [])
        task = (rank, size, (host, port), name, estimator, columns, settings)
        options = {"workers": [worker], "allow_other_workers": False, "pure": False, "key": f"equirate-{name}-{rank}"}
        futures.append(client.submit(_task, task, *parts, **options))
    try:
        return _watched(client, futures, workers)
    finally:
        client.cancel(futures)
        with suppress(OSError):  # whoever still waits for the others in the store is woken; so it is where that died
            client.run(_forget_store, workers=workers[:1], on_error="ignore")


def _watched(client: Any, futures: list[Any], workers: list[str]) -> Fitted:
    """Wait for all tasks; a worker that is lost, or a task that fails, ends the others."""
    failed_at: float | None = None
    while True:
        states = [future.status for future in futures]
        if all(state == "finished" for state in states):
            fitted: Fitted = futures[0].result()
            return fitted
        here = client.nthreads()
        lost = [f"process {k} (worker {worker})" for k, worker in enumerate(workers) if worker not in here]
        broken = any(state in ("error", "cancelled", "lost") for state in states) or lost
        if broken and failed_at is None:
            failed_at = time.monotonic()
        # The others are given a moment: the first error to arrive need not be the one that began it.
        if failed_at is not None and (lost or time.monotonic() - failed_at > 2.0):
            if lost:
                raise ProcessError(
                    f"{' and '.join(lost)} died, so the fit ends here; restarts=1 would go on without loss"
                )
            raise _worst([future.exception() for future in futures if future.status == "error"])
        time.sleep(POLL / 5)


def _worst(errors: list[BaseException]) -> BaseException:
    """The error that began it, rather than those that only tell of it."""
    own = [error for error in errors if not isinstance(error, ProcessError) and "(on process " not in str(error)]
    return (own or errors or [ProcessError("the tasks of the fit were cancelled")])[0]


# -- on the workers ------------------------------------------------------------------------------------


def _keep_store(name: str) -> int:
    """Open the store in which the processes of a fit meet; the process keeps one at a time."""
    _STORES.clear()
    distributed = needed("torch.distributed")
    store = distributed.TCPStore("0.0.0.0", 0, None, True, wait_for_workers=False)
    _STORES[name] = store
    return int(store.port)


@contextmanager
def _caught(rank: int) -> Iterator[list[Any]]:
    """The warnings of the fit, which process 0 takes back to where the fit was asked for."""
    if rank:  # what the others would say is the same
        yield []
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", EquirateWarning)
        yield caught


def _forget_store() -> None:
    _STORES.clear()


def _task(task: tuple[Any, ...], *parts: Any) -> Fitted | None:
    """One process of the fit."""
    rank, size, (host, port), name, estimator, columns, settings = task
    distributed = needed("torch.distributed")
    store = distributed.TCPStore(host, port, None, False, wait_for_workers=False)
    shared = GlooPeers(store, rank, size, name=name, **settings)
    try:
        with among(shared), _caught(rank) as caught:
            if isinstance(columns, ParquetRows):
                estimator.fit(columns)
            else:
                estimator.fit(*columns.given(needed("pandas").concat(parts))[:4])
        told = list(dict.fromkeys((each.category, str(each.message)) for each in caught))
        return (estimator, told) if rank == 0 else None
    finally:
        shared.close()
