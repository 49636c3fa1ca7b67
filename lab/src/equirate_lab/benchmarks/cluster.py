"""A cluster that is not here: the time of a whole fit on billions of rows, from what was measured on one machine.

In: fits of 1, 2 and 4 real processes, with the messages that they sent. Out: `FitCosts`, and what they foretell. A fit
over P processes takes each of them its share of the rows, a part that does not depend on the rows, and its messages. An
all-reduce goes around a ring: 2 (P - 1) steps, each of bytes / P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..machines.measuring import alone
from .environments import UnavailableError
from .ground import OURS, Comparison, Ground, Measured

COLUMNS = 30
LATENCY, BANDWIDTH = 5e-5, 10e9 / 8
"""Seconds of a step, and bytes a second, of a network of 10 Gbit/s: taken, not measured."""
ROWS = (10**9, 10**10)
PROCESSES = (1, 4, 16, 64, 256)
SHARE = 0.1
"""The network suffices where messages take at most this share of the fit."""


@dataclass(frozen=True)
class FitCosts:
    """Seconds of processor time of a whole fit.

    Attributes
    ----------
    fixed
        Whatever the number of rows, with the work for messages.
    row
        For a row.
    messages, bytes_
        All-reduces of a fit, and what they add up.
    """

    fixed: float
    row: float
    messages: int
    bytes_: int

    def work(self, rows: float, processes: int) -> float:
        """Seconds that one process works.

        Examples
        --------
        >>> FitCosts(0.5, 1e-6, 100, 10**6).work(10**6, 2)
        1.0
        """
        return self.fixed + self.row * rows / processes

    def talk(self, processes: int, latency: float = LATENCY, bandwidth: float = BANDWIDTH) -> float:
        """Seconds of all messages.

        Examples
        --------
        >>> FitCosts(0.5, 1e-6, 100, 10**6).talk(1)
        0.0
        >>> round(FitCosts(0.5, 1e-6, 100, 10**6).talk(2, 1e-4, 1e9), 4)
        0.021
        """
        steps = 2 * (processes - 1)
        return steps * (self.messages * latency + self.bytes_ / processes / bandwidth)

    def bandwidth(self, rows: float, processes: int, share: float = SHARE) -> float | None:
        """Bytes a second that keep the messages below a share of the fit; None if the steps alone take longer.

        Examples
        --------
        >>> costs = FitCosts(0.5, 1e-6, 100, 10**6)
        >>> costs.bandwidth(10**3, 256) is None
        True
        """
        allowed = share / (1 - share) * self.work(rows, processes)
        left = allowed - self.talk(processes, bandwidth=float("inf"))
        return 2 * (processes - 1) * self.bytes_ / processes / left if left > 0 else None


def costs_of(found: Sequence[dict[str, Any]]) -> FitCosts:
    """Fit the costs to measured fits of two processes with the fewest and the most rows: these share rows.

    The others, of one process and of four, check them.
    """
    two = [each for each in found if each["processes"] == 2]
    first, last = (chosen(two, key=lambda each: int(each["rows"])) for chosen in (min, max))
    row = max((last["own"] - first["own"]) / (last["rows"] / 2 - first["rows"] / 2), 0.0)
    fixed = max(first["own"] - row * first["rows"] / 2, 0.0)
    return FitCosts(fixed, row, int(last["messages"]), int(last["bytes"]))


def simulated(ground: Ground, rows: Sequence[int], processes: Sequence[int], repetitions: int) -> Measured:
    """Measure fits over real processes, and foretell those of a cluster."""
    found = []
    with TemporaryDirectory() as folder:
        for count in rows:
            for number in processes:
                ground.tell(f"{count:,} rows, {number} processes")
                job = {"rows": count, "columns": COLUMNS, "repetitions": repetitions}
                answer = alone("a_fit", job, Path(folder), number)
                if answer is None:
                    raise UnavailableError(f"a fit over {number} processes came to no answer: it needs torch")
                found.append({"rows": count, "processes": number, **answer})
    costs = costs_of(found)
    foretold = [
        {
            "rows": count,
            "processes": number,
            "work": costs.work(count, number),
            "messages": costs.talk(number),
            "gigabytes": 4e-9 * COLUMNS * count / number,
            "bandwidth": costs.bandwidth(count, number),
        }
        for count in ROWS
        for number in PROCESSES
    ]
    checked = [{**each, "foretold": costs.work(each["rows"], each["processes"])} for each in found]
    samples = [each["samples"] for each in found if each["processes"] == 1][-1]
    return Measured(
        (Comparison("whole fit in one process", "s", {OURS: samples}, f"{max(rows):,} rows"),),
        facts={"costs": dict(costs.__dict__), "checked": checked, "foretold": foretold},
    )
