"""Gathering result files: in a directory that `runner` wrote to, out every number, and means and spreads over seeds."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import read_json, write_json, write_text
from .paper import DATASETS
from .runner import Job

FIELDS = ("experiment", "dataset", "seed", "method", "column", "part", "objective", "constraint", "seconds", "rounds")


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over seeds of A and B; the deviation of one value is 0.

    Examples
    --------
    >>> spread = Spread.of([(0.1, 1.0), (0.3, 1.1)])
    >>> spread.mean, spread.deviation
    ('0.200 (1.05)', '0.141 (0.07)')
    """

    objective: float
    objective_spread: float
    constraint: float
    constraint_spread: float
    count: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, float]]) -> Spread:
        """Summarise the pairs of several seeds."""
        a, b = zip(*pairs, strict=True)
        return cls(*_mean_and_spread(a), *_mean_and_spread(b), len(a))

    @property
    def mean(self) -> str:
        """The means, as the paper prints a pair."""
        return pair(self.objective, self.constraint)

    @property
    def deviation(self) -> str:
        """The standard deviations; empty for one seed."""
        return pair(self.objective_spread, self.constraint_spread) if self.count > 1 else ""


def _mean_and_spread(values: tuple[float, ...]) -> tuple[float, float]:
    if any(math.isinf(value) or math.isnan(value) for value in values):
        return math.nan if any(map(math.isnan, values)) else math.inf, math.nan
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def pair(objective: float, constraint: float) -> str:
    """A (B) as the paper prints it.

    Examples
    --------
    >>> pair(0.1234, -0.001)
    '0.123 (0.00)'
    """
    return f"{_rounded(objective, 3)} ({_rounded(constraint, 2)})"


def _rounded(value: float, digits: int) -> str:
    """Round without a negative zero; what is not a number (the spread of an infinite value) is a dash."""
    return "–" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"


class Results:
    """All result files of a directory.

    Parameters
    ----------
    out
        The directory.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        found = (read_json(path) for path in sorted((out / "cells").glob("*/*/*/*.json")))
        self.cells: list[dict[str, Any]] = [cell for cell in found if isinstance(cell, dict) and "values" in cell]

    def of_jobs(self, jobs: Iterable[Job]) -> Results:
        """Only what some jobs are about, whenever it was computed: the directory may hold other experiments too."""
        wanted = {(name, job.dataset) for job in jobs for name in job.experiments}
        some = copy(self)
        some.cells = [cell for cell in self.cells if (cell["experiment"], cell["dataset"]) in wanted]
        return some

    def datasets(self, experiment: str) -> list[str]:
        """Data sets that an experiment has results for, in the order of Table 4."""
        there = {cell["dataset"] for cell in self.cells if cell["experiment"] == experiment}
        return [name for name in DATASETS if name in there]

    def of(self, experiment: str, dataset: str) -> list[dict[str, Any]]:
        """The cells of an experiment on a data set."""
        return [cell for cell in self.cells if (cell["experiment"], cell["dataset"]) == (experiment, dataset)]

    def spread(self, experiment: str, dataset: str, column: str, part: str = "test") -> Spread | None:
        """Mean and spread over the seeds that there are."""
        pairs = [
            (float(cell["values"][column][part][0]), float(cell["values"][column][part][1]))
            for cell in self.of(experiment, dataset)
            if column in cell["values"]
        ]
        return Spread.of(pairs) if pairs else None

    def curves(self, experiment: str, dataset: str, method: str) -> dict[str, Any] | None:
        """The cell of a method for the smallest seed, if it has curves."""
        cells = [cell for cell in self.of(experiment, dataset) if cell["method"] == method and cell.get("curves")]
        return min(cells, key=lambda cell: int(cell["seed"]), default=None)

    def errors(self) -> list[str]:
        """What went wrong, one line per method that failed."""
        return [
            f"{cell['experiment']} {cell['dataset']} seed {cell['seed']} {cell['method']}: {cell['error']}"
            for cell in self.cells
            if cell.get("error")
        ]

    def seconds(self) -> float:
        """Time that the methods took, added up."""
        return sum(float(cell["seconds"]) for cell in self.cells)

    def rows(self) -> list[dict[str, Any]]:
        """Every number, one row per column and part."""
        return [
            {
                **{name: cell[name] for name in ("experiment", "dataset", "seed", "method", "seconds")},
                "column": column,
                "part": part,
                "objective": values[0],
                "constraint": values[1],
                "rounds": cell["settings"]["rounds"],
            }
            for cell in self.cells
            for column, parts in cell["values"].items()
            for part, values in parts.items()
        ]

    def save(self) -> list[Path]:
        """Write every number as ``results.csv`` and everything as ``results.json``; return where."""
        text = io.StringIO()
        writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows())
        paths = [self.out / "results.csv", self.out / "results.json"]
        write_text(paths[0], text.getvalue())
        write_json(paths[1], self.cells)
        return paths
