"""Progress of a play: one line on a terminal, one output in a notebook, a few lines in a log.

In: states of a play. Out: text on standard error, or an output of the notebook's cell that is updated in place.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .column_generation import Generation
from .loop import Moment

SECONDS_BETWEEN_UPDATES = 0.2
"""Seconds between two updates in place."""
SECONDS_BEFORE_ESTIMATE = 1.0
"""Seconds of rounds after which the remaining time is shown: the first rounds take longer than others."""


class Terminal:
    """One line that is overwritten."""

    width = 0

    def show(self, text: str) -> None:
        """Overwrite the previous line, padded to its width; a long one is cut, as a second line could not be."""
        text = text[: shutil.get_terminal_size().columns - 2]
        self.width = max(self.width, len(text))
        print(f"\r{text:<{self.width}} ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line."""
        print(file=sys.stderr)


class Notebook:
    """One output of the cell, updated in place."""

    handle: Any = None

    def show(self, text: str) -> None:
        """Create the output, or update it."""
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]  # there: it runs the cell

        shown = {"text/plain": text}
        if self.handle is None:
            self.handle = display(shown, raw=True, display_id=True)
        else:
            self.handle.update(shown, raw=True)

    def end(self) -> None:
        """The next line creates a new output."""
        self.handle = None


class Log:
    """Separate lines, if nothing can be overwritten: after 1, 2, 4, 8, ... seconds, and the last one."""

    def __init__(self) -> None:
        self.start, self.pause, self.pending = time.monotonic(), 1.0, ""

    def show(self, text: str) -> None:
        """Write a line if enough time has passed, and store it otherwise."""
        self.pending = text
        if time.monotonic() - self.start >= self.pause:
            self.pause *= 2
            self.end()

    def end(self) -> None:
        """Write the newest line, unless it was written."""
        if self.pending:
            print(self.pending, file=sys.stderr, flush=True)
        self.pending = ""


Writer = Terminal | Notebook | Log
"""Where progress is shown: `show` replaces the line before, and `end` keeps the newest one."""


def writer() -> Writer:
    """The writer for a terminal, a notebook or a log, whichever this runs in."""
    if sys.stderr is not None and sys.stderr.isatty():
        return Terminal()
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return Notebook() if hasattr(shell, "kernel") else Log()


class ProgressLine:
    """Progress in one line: the best mixture so far if it is known, or this round's best iterate.

    ``mixture``, the objective (as the user wrote it) and the violation of the best mixture of the recorded iterates, is
    set by the stopping rule that computes it.
    """

    def __init__(self, sense: str) -> None:
        self.sign = -1.0 if sense == "maximize" else 1.0
        self.start, self.last = time.monotonic(), -np.inf
        self.measured: tuple[float, int] | None = None
        self.mixture: tuple[float, float] | None = None
        self.writer: Writer | None = None

    def __call__(self, moment: Moment) -> None:
        """Show the state of the game, a few times a second."""
        now = time.monotonic()
        left = self.seconds_left(moment, now)
        if not len(moment.active) or (now - self.last < SECONDS_BETWEEN_UPDATES and moment.round < moment.n_rounds):
            return
        self.last = now
        what = "best mixture so far"
        if self.mixture is not None:
            objective, violation = self.mixture
        else:
            what = "best iterate of this round"
            best = int(np.lexsort((self.sign * moment.objective, moment.violation))[0])
            objective, violation = float(moment.objective[best]), float(moment.violation[best])
        self._show(
            f"round {moment.round}/{moment.n_rounds}  {what}: objective {objective:.4f}, violation {violation:.4f}",
            f", {left:.0f} s to go at most" if left is not None and left >= 1 else "",
        )

    def watch(self, generations: Sequence[Generation]) -> None:
        """Show the state of column generation, a few times a second."""
        now = time.monotonic()
        if now - self.last < SECONDS_BETWEEN_UPDATES:
            return
        self.last = now
        self._show(standing(generations[0]))

    def seconds_left(self, moment: Moment, now: float) -> float | None:
        """Estimated seconds until the last round, from the rounds so far; None before there are enough."""
        if self.measured is None or moment.round <= self.measured[1]:  # the first, or a new play
            self.measured = now, moment.round
        began, first = self.measured
        if now - began < SECONDS_BEFORE_ESTIMATE:
            return None
        return (now - began) / (moment.round - first) * (moment.n_rounds - moment.round)

    def _show(self, text: str, left: str = "") -> None:
        if self.writer is None:
            self.writer = writer()
        self.writer.show(f"{text}  {time.monotonic() - self.start:.0f} s{left}")

    def end(self) -> None:
        """End the line, if one was shown since the last call."""
        if self.writer is not None:
            self.writer.end()
        self.writer = None


def standing(generation: Generation) -> str:
    """The state of column generation: passes, columns, and their best mixture."""
    stage = generation.stages[-1]
    gap = "" if stage.bound is None else f", at most {abs(stage.objective - stage.bound):.1g} from the best of these"
    return (
        f"pass {len(generation.stages) - 1}  {stage.columns} columns, best mixture: objective "
        f"{stage.objective:.4f}, violation {stage.violation:.4f}{gap}"
    )
