"""How much is measured: the whole suite, and a short one that shows that everything works."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from typing import Any

Sizes = tuple[int, ...]
Steps = tuple[float, ...]


@dataclass(frozen=True)
class Settings:
    """Settings of a run; part of every result file, and a result is used again only for equal settings.

    Attributes
    ----------
    threads
        Threads that every side may use; 0 for all cores. With two, some rivals were slower than with one.
    repetitions, slow_repetitions, grid_repetitions
        Of a few hundred rounds, of what takes longer, and of the paper's whole grid.
    rounds, record_every, steps
        The paper's grid.
    short, long
        Rounds of the two plays whose difference is the time of a round.
    datasets
        Data sets of the grid, of cooper and of the bare products.
    solvers
        fairlearn's logistic regressions.
    cooper_steps, cooper_rounds
        The grid against cooper.
    most_rounds
        Rounds after which equirate gives up reaching what a rival reached.
    rows, columns
        Growth with the number of rows.
    slices, slice_rows, configurations, iterates, plug_in_rows
        Growth with the numbers of slices, configurations and recorded iterates, and the oracle's with rows.
    predict_rows, predict_columns
        Size of the data that a mixture predicts.
    """

    threads: int = 1
    repetitions: int = 9
    slow_repetitions: int = 3
    grid_repetitions: int = 1
    rounds: int = 5000
    record_every: int = 10
    steps: Steps = (0.001, 0.01, 0.1, 1.0)
    short: int = 50
    long: int = 350
    datasets: tuple[str, ...] = ("compas", "adult")
    solvers: tuple[str, ...] = ("liblinear", "lbfgs")
    cooper_steps: Steps = (0.01, 0.1)
    cooper_rounds: int = 1000
    most_rounds: int = 5000
    rows: Sizes = (10_000, 100_000, 1_000_000, 10_000_000)
    columns: int = 30
    slices: Sizes = (2, 8, 32, 128, 512)
    slice_rows: int = 100_000
    configurations: Sizes = (1, 2, 4, 8, 16, 32, 64)
    iterates: Sizes = (500, 1000, 2000, 4000, 8000)
    plug_in_rows: Sizes = (1_000, 10_000, 100_000, 1_000_000)
    predict_rows: int = 1_000_000
    predict_columns: int = 100

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as they come back from JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def of(self, *names: str) -> dict[str, Any]:
        """Some of the values: what a measurement depends on."""
        plain = self.as_dict()
        return {name: plain[name] for name in ("threads", *names)}

    @property
    def cores(self) -> int:
        """Threads that every side may use."""
        if self.threads:
            return self.threads
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


FULL = Settings()
"""Everything."""

QUICK = replace(
    FULL,
    repetitions=3,
    slow_repetitions=1,
    rounds=60,
    steps=(0.01, 0.1),
    short=20,
    long=60,
    datasets=("compas",),
    solvers=("liblinear",),
    cooper_rounds=100,
    most_rounds=400,
    rows=(10_000, 100_000),
    slices=(2, 8, 32),
    slice_rows=20_000,
    configurations=(1, 4, 16),
    iterates=(200, 400),
    plug_in_rows=(1_000, 10_000),
    predict_rows=100_000,
)
"""A smoke run of about a minute, after the rivals are installed."""
