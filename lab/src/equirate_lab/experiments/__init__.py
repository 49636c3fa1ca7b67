"""The paper's experiments: its Tables 4 to 7 on real data, over seeds, beside the printed numbers.

In: the name of an experiment, data sets and seeds. Out: a directory with a result file per method and split, every
number as CSV and JSON, and one HTML page. ``equirate-lab reproduce`` is this from a terminal, and with ``--quick`` it
takes `QUICK`.

The modules, in the order they build on each other: `paper` (printed numbers), `splits` (data), `problems`,
`settings`, `bench` (shared models), `methods` (one function per group of columns), `catalogue` (experiments by name),
`runner` (files, processes), `results` (means and spreads), `takeaway`, `tables`, `svg` and
`page`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import datasets as _datasets
from .catalogue import CHOICES, EXPERIMENTS, Experiment, chosen
from .page import write_page
from .results import Results
from .runner import Done, Job, Watch, missing, plan, run
from .settings import PRINTED, QUICK, Settings
from .tables import Table, as_markdown, make_tables, show, write_markdown

__all__ = [
    "CHOICES",
    "EXPERIMENTS",
    "PRINTED",
    "QUICK",
    "Done",
    "Experiment",
    "Job",
    "Results",
    "Settings",
    "Table",
    "Watch",
    "as_markdown",
    "chosen",
    "make_tables",
    "missing",
    "plan",
    "reproduce",
    "run",
    "show",
    "write_markdown",
    "write_page",
]


def reproduce(
    name: str = "all",
    datasets: Sequence[str] = (),
    seeds: int = 5,
    out: Path = Path("results"),
    *,
    settings: Settings = PRINTED,
    data_dir: str | None = None,
    processes: int = 1,
    watch: Watch | None = None,
) -> Results:
    """Run experiments, or go on with them, and gather what there is.

    Parameters
    ----------
    name
        ``"kld"``, ``"fmeasure"``, ``"table1"`` or ``"all"``.
    datasets
        Names of data sets; by default all that are to be had here.
    seeds
        How many seeds, counted from 0.
    out
        Directory of the results. Result files that are there already are used again.
    settings
        Rounds and steps.
    data_dir
        Where the data sets lie that are not bundled.
    processes
        How many splits to work on side by side.
    watch
        Called after every method.

    Returns
    -------
    Results
        Everything in ``out``, also of earlier runs; saved there as ``results.csv`` and ``results.json``.
    """
    experiments = chosen(name)
    if seeds < 1:
        raise ValueError(f"the number of seeds must be at least 1; got {seeds}")
    absent = missing(_datasets.names(), data_dir)
    wanted = list(datasets) or [known for known in _datasets.names() if known not in absent]
    for dataset in wanted:
        if dataset not in _datasets.names():
            raise ValueError(f"there is no data set {dataset!r}; there are {', '.join(_datasets.names())}")
        if dataset in absent:
            raise _datasets.MissingDataError(absent[dataset])
    jobs = plan(experiments, wanted, range(seeds), settings, out, data_dir, everywhere=False)
    run(jobs, watch, processes)
    results = Results(out)
    results.save()
    return results
