"""Peers over torch.distributed: sums and small messages between processes by gloo, and errors when a process is lost.

In: a store that all processes can reach, a rank, and the number of processes. Out: `GlooPeers`. The arrays of one call
are packed into one buffer of doubles and added up in one all-reduce, which gives every process the same bits. The
processes use connections of their own: a user's process groups are not touched.

An error on one process ends the fit on all. The process that fails writes its error to the store and closes its
connections, so that processes that wait for it wake up at once and can report the cause. The heartbeat of a process
that was killed stops in the store, which shows the others which one it was. Before they connect, the processes wait for
each other in the store, where each sees which have arrived, which have stopped, and (if the launcher knows) which have
ended.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import platform
import socket
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import errors
from .._core.errors import EquirateError, ProcessError
from .._core.peers import Peers
from ..storage.checkpoints import Checkpoints, Folder, Place
from .extra import needed

TIMEOUT = 300.0
"""Seconds that a process waits for the others: more than the slowest may need for a round."""
BEAT = 0.5
"""Seconds between heartbeats."""
SILENT = 5.0
"""Seconds without a heartbeat after which a process that broke its connections counts as dead."""
CONNECTING = 30.0
"""Timeout in seconds for the connections, once all processes have arrived."""
LOOKING = 1.0
"""Seconds between two checks of which processes have arrived, stopped or ended."""
_VERSIONS = ("equirate", "numpy", "scipy", "torch")


class GlooPeers(Peers):
    """The processes that share the rows of a fit, reached through a store and gloo.

    Parameters
    ----------
    store
        A ``torch.distributed`` store that all processes can reach.
    rank, size
        Rank of this process, and number of processes.
    timeout
        Seconds to wait for the others.
    place
        Where rank 0 stores checkpoints; None for no checkpoints.
    name
        Distinguishes these peers from others that use the same store, such as those before a restart.
    ended
        The ranks of processes that are known to have ended.
    """

    wide = True

    def __init__(
        self,
        store: Any,
        rank: int,
        size: int,
        *,
        timeout: float = TIMEOUT,
        place: Place | None = None,
        every: float = 5.0,
        name: str = "",
        ended: Callable[[], Iterable[int]] = tuple,
    ) -> None:
        self.rank, self.size, self.timeout, self.ended = rank, size, timeout, ended
        self.place, self.every, self.name = place, every, name
        self.keeps = isinstance(place, Folder)
        self.store, self.group = store, None
        self.meetings = self.fits = self.plays = 0
        self.named = [f"process {k}" for k in range(size)]
        self._lost: BaseException | None = None
        self._given_up = False
        self._beating: threading.Event | None = None

    # -- connections -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Connect unless already connected, and check that all processes have the same versions."""
        self.fits, self.plays, self._lost = self.fits + 1, 0, None
        if self.size == 1 or self.group is not None:
            return
        distributed = needed("torch.distributed")
        self._beat()
        try:
            self._meet()
            store = distributed.PrefixStore(self._key("gloo"), self.store)
            patience = timedelta(seconds=min(CONNECTING, self.timeout))
            group = distributed.ProcessGroupGloo(store, self.rank, self.size, patience)
            group.set_timeout(timedelta(seconds=self.timeout))
            self.group = group
        except RuntimeError as error:
            raise self._missed(error) from error
        self.named = self.gather(f"process {self.rank} (pid {os.getpid()} on {socket.gethostname()})")
        known = ", ".join(f"{name} {version(name)}" for name in _VERSIONS)
        self.agree("versions", f"{known}, Python {platform.python_version()}")

    def _meet(self) -> None:
        """Wait until all processes have arrived; raise an error if one has failed, stopped or ended."""
        others = [k for k in range(self.size) if k != self.rank]
        keys = [self._key(f"beat/{k}") for k in others]
        begun = looked = time.monotonic()
        beats: dict[int, tuple[str | None, float]] = {}
        while not self.store.check(keys):
            time.sleep(BEAT / 10)
            self._go_on()
            now = time.monotonic()
            if now - looked < LOOKING:
                continue
            looked = now
            beats = {k: _since(beats.get(k), self._read(f"beat/{k}"), now) for k in others}
            silent = [k for k, (beat, since) in beats.items() if beat is not None and now - since > SILENT]
            absent = [k for k, (beat, _) in beats.items() if beat is None]
            self._lost = self._failed(others)
            if self._lost is None and (silent or set(absent) & set(self.ended())):
                self._lost = self._died(silent or sorted(set(absent) & set(self.ended())))
            elif self._lost is None and now - begun > self.timeout:
                self._lost = self._away(absent)
            if self._lost is not None:
                raise self._lost

    def end(self) -> None:
        """Wait until all processes have reached the end."""
        self.add(np.zeros(1))

    def add(self, *parts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Add up all parts in one all-reduce."""
        if self.size == 1:
            return parts
        buffer = np.concatenate([np.asarray(part, dtype=float).reshape(-1) for part in parts])
        tensor = needed("torch").from_numpy(buffer)
        self._collective(lambda group: group.allreduce([tensor]))
        ends = np.cumsum([0, *(part.size for part in parts)])
        return tuple(
            buffer[a:b].reshape(part.shape).astype(part.dtype, copy=False)
            for part, a, b in zip(parts, ends, ends[1:], strict=False)
        )

    def gather(self, value: Any) -> list[Any]:
        """Small values of all processes, by rank; pickle is safe, because they come from processes of the same fit."""
        if self.size == 1:
            return [value]
        message = np.frombuffer(pickle.dumps(value), np.uint8)
        (sizes,) = self.add(np.where(np.arange(self.size) == self.rank, len(message), 0))
        torch, longest = needed("torch"), int(sizes.max())
        padded = np.zeros(longest, np.uint8)
        padded[: len(message)] = message
        every = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.size)]
        self._collective(lambda group: group.allgather([every], [torch.from_numpy(padded)]))
        return [pickle.loads(part.numpy()[:size].tobytes()) for part, size in zip(every, sizes.tolist(), strict=True)]

    def checkpoints(self, about: Callable[[], str]) -> Checkpoints | None:
        """Checkpoints of the next play of this fit."""
        self.plays += 1
        if self.place is None:
            return None
        return Checkpoints(self.place, f"fit {self.fits} play {self.plays}", about(), self, self.every)

    def close(self) -> None:
        """Close the connections."""
        if self.group is not None:
            self._leave()

    def abandon(self) -> None:
        """Break the connections from another thread: the fit in this process ends with an error."""
        self._given_up = True
        group = self.group
        if group is not None:
            with contextlib.suppress(RuntimeError):
                group.abort()

    def _go_on(self) -> None:
        if self._given_up:
            self._lost = ProcessError("the fit was given up where it was asked for")
            raise self._lost

    def _collective(self, call: Callable[[Any], Any]) -> None:
        self._go_on()
        if self.group is None:
            raise self._missed(RuntimeError("the connections are closed"))
        try:
            call(self.group).wait()
        except RuntimeError as error:
            self._go_on()  # the fit was cancelled meanwhile: that is the reason to report
            raise self._missed(error) from error

    # -- errors ----------------------------------------------------------------------------------

    def explained(self, error: BaseException) -> BaseException:
        """Report an error to the others and disconnect; the next fit opens new connections."""
        if self.size > 1:
            secondary = error is self._lost
            report = {"kind": type(error).__name__, "text": str(error), "secondary": secondary}
            with contextlib.suppress(RuntimeError):
                self.store.set(self._key(f"failed/{self.rank}"), json.dumps(report))
            self._leave()
        return error

    def _leave(self) -> None:
        if self._beating is not None:
            self._beating.set()
        group, self.group, self._beating = self.group, None, None
        self.meetings += 1
        if group is not None:
            with contextlib.suppress(RuntimeError):
                group.abort()

    def _missed(self, error: Exception) -> BaseException:
        """Find out why a message did not arrive: an error on another process, its death, or a timeout."""
        try:
            self._lost = self._reason(error)
        except RuntimeError:
            self._lost = ProcessError(
                "the store in which the processes meet does not answer: the process or the launcher that kept it died"
            )
        return self._lost

    def _reason(self, error: Exception) -> BaseException:
        others = [k for k in range(self.size) if k != self.rank]
        before, until = {k: self._read(f"beat/{k}") for k in others}, time.monotonic() + SILENT
        while time.monotonic() < until:
            failed = self._failed(others)
            if failed is not None:
                return failed
            time.sleep(BEAT / 5)
        silent = [k for k in others if self._read(f"failed/{k}") is None and self._read(f"beat/{k}") == before[k]]
        return self._died(silent) if silent else self._late(error)

    def _failed(self, others: list[int]) -> BaseException | None:
        """The error of another process, if one failed by itself and not because of others."""
        for k in others:
            text = self._read(f"failed/{k}")
            if text is not None and not (report := json.loads(text))["secondary"]:
                return mirrored(self.named[k], report["kind"], report["text"])
        return None

    def _died(self, who: list[int]) -> ProcessError:
        gone = " and ".join(self.named[k] for k in who)
        return ProcessError(
            f"{gone} died or ended before the others: its rows are missing, so the fit ends here. Start it again: with "
            "torchrun --max-restarts, or with checkpoints in a folder, it goes on where it was. (What one process does "
            "alone belongs inside equirate.distributed.alone().)"
        )

    def _away(self, who: list[int]) -> ProcessError:
        absent = " and ".join(self.named[k] for k in who)
        return ProcessError(
            f"{absent} did not come to the fit within {self.timeout:g} s: all processes call it, with rows of their "
            "own. Either it ended before, or it is still on its way: a longer timeout waits longer"
        )

    def _late(self, error: Exception) -> ProcessError:
        return ProcessError(
            f"the others did not come to the same place within {self.timeout:g} s: all processes call fit (and "
            "whatever else counts all rows), and what one of them does alone belongs inside "
            f"equirate.distributed.alone(); slow ones need a longer timeout ({str(error).splitlines()[0]})"
        )

    # -- the store -------------------------------------------------------------------------------

    def _key(self, name: str) -> str:
        return f"equirate/{self.name}/{self.meetings}/{name}"

    def _read(self, name: str) -> str | None:
        """Read from the store without waiting; None if there is nothing."""
        key = self._key(name)
        return self.store.get(key).decode() if self.store.check([key]) else None

    def _beat(self) -> None:
        """Start the heartbeat, which shows the others that this process is alive while it computes."""
        stop, key = threading.Event(), self._key(f"beat/{self.rank}")
        store = self.store.clone() if hasattr(self.store, "clone") else self.store

        def beat() -> None:
            count = 0
            with contextlib.suppress(RuntimeError):  # the store is gone
                while not stop.wait(BEAT if count else 0):
                    count += 1
                    store.set(key, str(count))

        self._beating = stop
        threading.Thread(target=beat, name="equirate-heartbeat", daemon=True).start()
        atexit.register(self.close)


def _since(before: tuple[str | None, float] | None, beat: str | None, now: float) -> tuple[str | None, float]:
    """The last heartbeat, and the time since when it has not changed."""
    return before if before is not None and before[0] == beat else (beat, now)


def mirrored(who: str, kind: str, text: str) -> EquirateError:
    """The error of another process, to be raised on this one."""
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, EquirateError) and known is not errors.ParseError:
        return known(f"{text} (on {who})")
    return ProcessError(f"{who} failed with {kind}: {text}")
