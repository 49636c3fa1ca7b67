"""Measuring time: interleaved repetitions, medians, spreads and ratios; memory in a process of its own.

In: functions that do one repetition and say how long it took. Out: samples by side. Sides take turns, and the order is
turned round every time, so that a machine that gets slower or faster in between does so for everybody.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Sample = Callable[[], float]
"""One repetition: does the work and returns what it took."""


COMPILED = "EQUIRATE_KERNELS"
"""The variable that says whether compiled passes are used: 0 for never, 1 for always, by the work if it is not set."""
LEAST = 0.02
"""Seconds below which a difference of two times is noise."""
RESOLUTION = 1e-9
"""No time is shorter than this: a difference of two times may come out negative."""
LONGEST = 100_000
"""Rounds beyond which no play is made longer."""


@dataclass(frozen=True)
class Spread:
    """The median of some samples, their quartiles, and how many there are."""

    median: float
    low: float
    high: float
    count: int


def spread(samples: Sequence[float]) -> Spread:
    """Median and quartiles.

    Examples
    --------
    >>> spread([3.0, 1.0, 2.0])
    Spread(median=2.0, low=1.5, high=2.5, count=3)
    """
    if not len(samples):
        raise ValueError("there is no median of no samples")
    low, median, high = np.percentile(np.asarray(samples, dtype=float), [25, 50, 75])
    return Spread(float(median), float(low), float(high), len(samples))


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> Spread:
    """How many times ours goes into theirs, repetition by repetition; medians alone where they are not as many.

    Examples
    --------
    >>> ratio([8.0, 9.0, 10.0], [4.0, 3.0, 5.0])
    Spread(median=2.0, low=2.0, high=2.5, count=3)
    """
    if len(theirs) != len(ours):
        value = spread(theirs).median / spread(ours).median
        return Spread(value, value, value, min(len(theirs), len(ours)))
    return spread([their / our for their, our in zip(theirs, ours, strict=True)])


def interleaved(
    sides: Mapping[str, Sample], repetitions: int, tell: Callable[[str], None] = lambda text: None, warm: bool = True
) -> dict[str, list[float]]:
    """Let the sides take turns; the first turn only warms up, unless ``warm`` is False."""
    samples: dict[str, list[float]] = {name: [] for name in sides}
    for k in range(-1 if warm else 0, repetitions):
        for name in list(sides)[:: -1 if k % 2 else 1]:
            tell(f"{name}, " + ("warming up" if k < 0 else f"repetition {k + 1} of {repetitions}"))
            value = sides[name]()
            if k >= 0:
                samples[name].append(float(value))
    return samples


def seconds(work: Callable[[], Any]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds(work: Callable[[], Any]) -> float:
    """How much processor time of this process a call takes: what others do at the same time matters less."""
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def by_default() -> Iterator[None]:
    """Let the library choose by itself whether passes are compiled, as it does for its users."""
    before = os.environ.pop(COMPILED, None)
    try:
        yield
    finally:
        if before is not None:
            os.environ[COMPILED] = before


def per_round(play: Callable[[int], Any], short: int, long: int, least: float = LEAST) -> float:
    """Seconds of a round: the difference of a long and a short play, so that setting up does not count.

    Where the difference is below ``least`` seconds, too little to tell from noise, the long play is made longer.
    """
    first = seconds(partial(play, short))
    while True:
        beyond = seconds(partial(play, long)) - first
        if beyond >= least or long >= LONGEST:
            return max(beyond, RESOLUTION) / (long - short)
        long *= 4


@contextmanager
def limited_to(number: int) -> Iterator[None]:
    """Let matrix products and compiled passes in this process use so many threads.

    Compiled passes are used (unless the environment says never) whatever the work: a short play stands for a long one.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    wished = {**thread_variables(number), COMPILED: os.environ.get(COMPILED, "1")}
    before = {name: os.environ.get(name) for name in wished}
    os.environ.update(wished)
    try:
        with threadpool_limits(number):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def thread_variables(number: int) -> dict[str, str]:
    """Environment variables that limit the threads of another process."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, str(number))


def alone(job: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Run a job of `equirate_lab.benchmarks.alone` in a new process, on so many threads, and return its answer."""
    environment = {**os.environ, **thread_variables(number)}
    command = [sys.executable, "-m", "equirate_lab.benchmarks.alone", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"the process that measures {job} failed: {done.stderr.strip()[-500:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def peak_memory() -> int:
    """The most memory that this process has held so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says on Linux includes the process that started this one
        for line in status.read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(used) * (1 if sys.platform == "darwin" else 1024)
