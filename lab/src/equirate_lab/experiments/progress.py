"""Progress of a run on standard error: a bar in a terminal, a line per method elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .runner import Done, Job, Watch


@contextmanager
def watching(jobs: Sequence[Job]) -> Iterator[Watch]:
    """Give a callback that shows how far a run is."""
    total = sum(len(job.cells()) for job in jobs)
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        rich = False
    else:
        rich = sys.stderr.isatty()
    if not rich:
        yield _Lines(total)
        return
    from rich.console import Console

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("starting", total=total)
        yield lambda done: bar.update(task, advance=1, description=str(done))


class _Lines:
    """One line per method."""

    def __init__(self, total: int) -> None:
        self.total, self.count, self.start = total, 0, time.monotonic()

    def __call__(self, done: Done) -> None:
        self.count += 1
        what = "kept from before" if done.cached else f"{done.seconds:.1f} s"
        trouble = f", failed: {done.error}" if done.error else ""
        clock = time.monotonic() - self.start
        print(f"[{self.count}/{self.total}] {clock:6.0f} s  {done}: {what}{trouble}", file=sys.stderr, flush=True)
