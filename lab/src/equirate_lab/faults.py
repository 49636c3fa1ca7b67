"""Faults caused on purpose: two runs into one folder, kills while a folder is published, fits in several threads.

In: how many of each. Out: a `Count` for each, of what went as it should and of what did not. A run is the command
``equirate fit`` in a forked process, on a small table that is made up here. Two runs with different seeds are the
reference: a folder is whole where it holds the same bytes as one of them.
"""

from __future__ import annotations

import io
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import equirate as eq

ROWS = 300
SEEDS = (0, 1)
Files = dict[str, bytes]


@dataclass
class Count:
    """What was tried, and how often it came to what."""

    name: str
    tried: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, outcome: str, good: bool, about: str = "") -> None:
        """Count one outcome."""
        self.tried += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if not good:
            self.wrong.append(f"{outcome} {about}".strip())

    def __str__(self) -> str:
        parts = ", ".join(f"{outcome} {number:,}" for outcome, number in sorted(self.outcomes.items()))
        return f"{self.name}: {self.tried:,}; wrong {len(self.wrong):,} ({parts})"


# -- runs -----------------------------------------------------------------------------------------


class Ground:
    """A table, the command, and what two runs of it write."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data, self.out = folder, folder / "people.csv", folder / "model"
        self.data.write_text(_table(), "utf-8")
        (script,) = entry_points(group="console_scripts", name="equirate")
        self.main: Callable[[list[str]], int] = script.load()
        self.whole: dict[int, Files] = {}
        for seed in SEEDS:  # in this process, so that those that are forked have everything loaded
            reference = folder / f"reference-{seed}"
            with redirect_stdout(io.StringIO()):
                code = self.main([*self.arguments(seed, reference), "-q"])
            if code not in (0, 3):
                raise RuntimeError(f"equirate fit failed with seed {seed}")
            self.whole[seed] = files(reference)

    def arguments(self, seed: int, out: Path) -> list[str]:
        """The command line of a run."""
        asked = ["--label", "hired", "--positive", "yes", "--attributes", "sex", "--maximize", "f1()"]
        asked += ["--subject-to", "positive_rate(sex == 'F') >= 0.1", "--rounds", "5", "--seed", str(seed)]
        return ["fit", str(self.data), *asked, "--out", str(out), "--force"]

    def start(self, seed: int, before: Callable[[], None] = lambda: None) -> int:
        """Start a run in a process of its own."""
        return self.process(self.arguments(seed, self.out), f"{seed}.log", before)

    def process(self, arguments: list[str], log: str, before: Callable[[], None] = lambda: None) -> int:
        """Start a command in a process of its own, whose output goes to a file."""
        child = os.fork()
        if child:
            return child
        try:
            target = os.open(self.folder / log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(target, 1)
            os.dup2(target, 2)
            sys.stdout = sys.stderr = open(2, "w", 1, "utf-8", closefd=False)  # noqa: SIM115  (whatever they were before)
            before()
            code = self.main(arguments)
        except BaseException as error:  # the parent must hear of it
            print(repr(error), file=sys.stderr, flush=True)
            code = 1
        os._exit(code)

    def wait(self, child: int) -> int:
        """The exit code of a process; minus the signal of one that was killed."""
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def run_in(self) -> int | None:
        """Whose run the folder holds, whole; None for anything else."""
        found = files(self.out)
        return next((seed for seed, whole in self.whole.items() if found == whole), None)

    def put(self, seed: int) -> None:
        """Begin with a run in the folder."""
        if self.wait(self.start(seed)) not in (0, 3) or self.run_in() != seed:
            raise RuntimeError((self.folder / f"{seed}.log").read_text("utf-8"))


def files(folder: Path) -> Files:
    """Everything that a folder holds."""
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}


def _table() -> str:
    rng = np.random.default_rng(0)
    sex, score = rng.choice(["F", "M"], ROWS), rng.normal(size=ROWS)
    hired = np.where(score + 0.5 * rng.normal(size=ROWS) > 0.2, "yes", "no")
    return "score,sex,hired\n" + "".join(f"{a:.4f},{b},{c}\n" for a, b, c in zip(score, sex, hired, strict=True))


@contextmanager
def reading(ground: Ground, count: Count) -> Iterator[None]:
    """Judge the model in the folder over and over meanwhile, and count how often it is refused."""
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            code = ground.wait(ground.process(["evaluate", str(ground.out), str(ground.data), "-q"], "reader.log"))
            said = (ground.folder / "reader.log").read_text("utf-8")
            count.add("read" if code in (0, 3) else "refused", code in (0, 3), said)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


# -- the faults -----------------------------------------------------------------------------------


def overlapping(ground: Ground, pairs: int, rng: random.Random) -> Count:
    """Start two runs into one folder, the second while the first works: one whole run is there, and nobody lies."""
    count = Count("overlapping pairs of runs")
    for _ in range(pairs):
        first = ground.start(0)
        time.sleep(rng.uniform(0, 0.5))
        second = ground.start(1)
        codes = {0: ground.wait(first), 1: ground.wait(second)}
        done = [seed for seed, code in codes.items() if code in (0, 3)]
        refused = [seed for seed, code in codes.items() if code == 2]
        named = all("is being written by process" in (ground.folder / f"{seed}.log").read_text() for seed in refused)
        good = ground.run_in() in done and len(done) + len(refused) == 2 and named
        count.add("one refused" if refused else "one after the other", good, f"{codes}, {ground.run_in()}")
    return count


def kills(ground: Ground, number: int, rng: random.Random) -> Count:
    """Kill a run that replaces another at some access to a file: the one or the other is there, whole."""
    count = Count("kills while a folder is replaced")
    points = _accesses(ground)
    for _ in range(number):
        old, at = ground.run_in(), rng.randint(1, points)
        code = ground.wait(ground.start(1 - (old or 0), before=partial(kill_at, at)))
        now = ground.run_in()
        outcome = "neither" if now is None else "the old run" if now == old else "the new run"
        count.add(outcome if code == -signal.SIGKILL else "not killed", now is not None, f"at {at}: {code}")
    return count


def _accesses(ground: Ground) -> int:
    """How often a run touches files from the moment on that it has a folder to write into."""
    log = ground.folder / "accesses"

    def count() -> None:
        number = [0]

        def seen() -> None:
            number[0] += 1
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT)
            os.pwrite(descriptor, f"{number[0]:8d}".encode(), 0)
            os.close(descriptor)

        on_access(seen, log.name)

    ground.wait(ground.start(1, before=count))
    return int(log.read_text("utf-8"))


def kill_at(number: int) -> None:
    """Kill this process at an access to a file, counted from the first folder that it makes."""
    left = [number]

    def seen() -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    on_access(seen)


_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate")


def on_access(call: Callable[[], None], besides: str = "?") -> None:
    """Call something whenever this process is about to open or change a file that a run writes."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _CHANGES and event not in ("open", "shutil.rmtree"):
            return
        names = [os.fspath(each) for each in arguments[:2] if isinstance(each, (str, bytes, os.PathLike))]
        if any(".equirate-" in str(name) and besides not in str(name) for name in names):
            call()

    sys.addaudithook(hook)


def threads(pairs: int) -> Count:
    """Fit in two threads at once: BLAS has as many threads afterwards as before."""
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]  # comes with scikit-learn

    def blas() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 4))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0.5).astype(int)

    failed: list[str] = []

    def fit(rounds: int) -> None:
        try:
            eq.solve(eq.minimize(eq.error_rate()), X, y, algorithm="surrogate", n_rounds=rounds)
        except Exception as error:
            failed.append(repr(error))

    before, count = blas(), Count("overlapping pairs of fits in threads")
    with patch.dict(os.environ, {"EQUIRATE_KERNELS": "1"}):  # for whose sake BLAS is kept to one thread
        for k in range(pairs):
            workers = [threading.Thread(target=fit, args=(rounds,)) for rounds in (10 + k % 7, 30)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            outcome = "failed" if failed else "as before" if blas() == before else "changed"
            count.add(outcome, outcome == "as before", f"{before} to {blas()} {failed}")
    return count


def measure(pairs: int, kills_: int, seed: int = 0, tell: Callable[[str], None] = lambda line: None) -> list[Count]:
    """Cause every fault so many times.

    Parameters
    ----------
    pairs
        Pairs of runs into one folder, and of fits in threads.
    kills_
        Kills at injected points.
    seed
        Of the moments and the points.
    tell
        Told of each count when it is complete.
    """
    rng, found = random.Random(seed), []
    # Reports are text: to draw a page takes longer than everything else, and the folder is the same to write.
    no_page = patch.dict(sys.modules, {"altair": None})
    same_date = patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "0"})  # equal runs then write equal bytes
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(), no_page, same_date:
        warnings.simplefilter("ignore")  # of forks beside threads, which is what is tried here
        ground, reads = Ground(Path(name)), Count("reads of a folder that is replaced meanwhile")
        ground.put(0)
        with reading(ground, reads):
            found.append(overlapping(ground, pairs, rng))
        found.append(reads)
        for count in found:
            tell(str(count))
        for last in (partial(kills, ground, kills_, rng), partial(threads, pairs)):
            found.append(last())
            tell(str(found[-1]))
    return found
