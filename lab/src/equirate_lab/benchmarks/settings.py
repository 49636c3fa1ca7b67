"""How much is measured: the whole suite, and a short one that shows that everything works."""

from __future__ import annotations

import json
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
    fit_repetitions, most_rows
        Samples of each comparison of whole fits, and rows of the largest table.
    threshold_groups
        Numbers of groups that thresholds are chosen for.
    tree_data, tree_splits
        Data sets of boosted trees, and random splits of each.
    network_epochs
        Epochs of networks.
    cluster_rows, cluster_processes
        Of the fits over real processes.
    scaling, scaling_repetitions
        Sizes by which whole fits grow, and fits at each.
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
    fit_repetitions: int = 5
    most_rows: int = 1_000_000
    threshold_groups: Sizes = (2, 3, 4, 6, 8)
    tree_data: tuple[str, ...] = ("compas", "law_school", "crime", "business", "adult")
    tree_splits: int = 5
    network_epochs: int = 20
    cluster_rows: Sizes = (200_000, 1_000_000, 4_000_000)
    cluster_processes: Sizes = (1, 2, 4)
    scaling: tuple[tuple[str, Sizes], ...] = (
        ("rows", (1_000, 10_000, 100_000, 1_000_000, 10_000_000)),
        ("features", (10, 100, 1_000, 10_000, 100_000)),
        ("levels", (1, 3, 10, 30, 100)),
        ("constraints", (1, 10, 100, 1_000)),
        ("groups", (2, 8, 32, 128, 1_000)),
    )
    scaling_repetitions: int = 5

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as they come back from JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def of(self, *names: str) -> dict[str, Any]:
        """Some of the values: what a measurement depends on."""
        plain = self.as_dict()
        return {name: plain[name] for name in ("threads", *names)}

    def repeated(self, most: int | None) -> Settings:
        """The same with so many repetitions of whole fits at most.

        Examples
        --------
        >>> Settings().repeated(2).fit_repetitions, Settings().repeated(None).fit_repetitions
        (2, 5)
        """
        if most is None:
            return self
        return replace(
            self,
            fit_repetitions=min(most, self.fit_repetitions),
            slow_repetitions=min(most, self.slow_repetitions),
            tree_splits=min(most, self.tree_splits),
            scaling_repetitions=min(most, self.scaling_repetitions),
        )

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
    fit_repetitions=1,
    most_rows=3000,
    threshold_groups=(2,),
    tree_data=("compas",),
    tree_splits=1,
    network_epochs=2,
    cluster_rows=(4_000, 20_000),
    cluster_processes=(1, 2),
    scaling=(("rows", (1_000, 10_000)), ("levels", (1, 3))),
    scaling_repetitions=1,
)
"""A smoke run of about a minute, after the rivals are installed."""
