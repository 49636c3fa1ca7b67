"""Progress on one line of standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from .column_generation import Generation
from .loop import Moment


class ProgressLine:
    """Progress on one line of standard error: the best mixture so far where it is known, or this round's best iterate.

    ``mixture``, the objective (as the user wrote it) and the violation of the best mixture of what was recorded, is
    set by whoever computes it.
    """

    def __init__(self, sense: str) -> None:
        self.sign = -1.0 if sense == "maximize" else 1.0
        self.start, self.last, self.width = time.monotonic(), -np.inf, 0
        self.mixture: tuple[float, float] | None = None
        self.ended = False

    def __call__(self, moment: Moment) -> None:
        """Show where the game stands, a few times a second."""
        now = time.monotonic()
        if not len(moment.active) or (now - self.last < 0.2 and moment.round < moment.n_rounds):
            return
        self.last = now
        what = "best mixture so far"
        if self.mixture is not None:
            objective, violation = self.mixture
        else:
            what = "best iterate of this round"
            best = int(np.lexsort((self.sign * moment.objective, moment.violation))[0])
            objective, violation = float(moment.objective[best]), float(moment.violation[best])
        left = (now - self.start) / moment.round * (moment.n_rounds - moment.round)
        self._show(
            f"round {moment.round}/{moment.n_rounds}  {what}: objective {objective:.4f}, violation {violation:.4f}",
            f", {left:.0f} s to go at most" if left >= 1 else "",
        )

    def watch(self, generations: Sequence[Generation]) -> None:
        """Show where column generation stands, a few times a second."""
        now = time.monotonic()
        if now - self.last < 0.2:
            return
        self.last = now
        self._show(standing(generations[0]))

    def _show(self, text: str, left: str = "") -> None:
        line = f"{text}  {time.monotonic() - self.start:.0f} s{left}"
        self.ended = False
        self.width = max(self.width, len(line))  # a shorter line covers the one before
        print(f"\r{line:<{self.width}} ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """End the line, if one was begun since the last end."""
        if not self.ended:
            print(file=sys.stderr)
        self.ended = True


def standing(generation: Generation) -> str:
    """Where column generation stands: passes, columns, and the best mixture of these."""
    stage = generation.stages[-1]
    gap = "" if stage.bound is None else f", at most {abs(stage.objective - stage.bound):.1g} from the best of these"
    return (
        f"pass {len(generation.stages) - 1}  {stage.columns} columns, best mixture: objective "
        f"{stage.objective:.4f}, violation {stage.violation:.4f}{gap}"
    )
