"""Running measurements: one result file each, so that a run that was interrupted goes on where it was.

In: `Case`s and a `Ground`. Out: ``cells/PART/NAME.json`` in the folder of the results. A file that is there and
was measured with the same settings and version is not measured again, unless asked for: all of them, or those that
other code measured. What cannot be measured here says why.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq

from ..experiments.files import read_json, write_json
from .case import Case
from .environments import RIVALS, UnavailableError
from .ground import Ground
from .provenance import code, processor
from .settings import Settings
from .timing import COMPILED, limited_to


@dataclass(frozen=True)
class Done:
    """One measurement is done: what a progress callback is told."""

    case: Case
    number: int
    total: int
    seconds: float
    cached: bool = False
    skipped: str | None = None

    def __str__(self) -> str:
        what = "kept from before" if self.cached else f"{self.seconds:.1f} s"
        return f"[{self.number}/{self.total}] {self.case.part}: {self.case.title}: " + (
            f"left out: {self.skipped}" if self.skipped else what
        )


Watch = Callable[[Done], None]


def path_of(case: Case, folder: Path) -> Path:
    """The result file of a measurement."""
    return folder / "cells" / case.part / f"{case.name}.json"


def run(
    chosen: Sequence[Case],
    ground: Ground,
    watch: Watch = lambda done: None,
    again: bool = False,
    stale: bool = False,
) -> None:
    """Measure what is missing; with ``stale`` also what other code of equirate measured, with ``again`` everything."""
    try:
        with limited_to(ground.settings.cores):
            for number, case in enumerate(chosen, 1):
                _run_one(case, number, len(chosen), ground, watch, again, stale)
    finally:
        ground.close()


def _run_one(case: Case, number: int, total: int, ground: Ground, watch: Watch, again: bool, stale: bool) -> None:
    start = time.monotonic()
    known = depended_on(case, ground.settings)
    path = path_of(case, ground.results)
    found = None if again else read_json(path)
    if found is not None and stale and found.get("code", {}).get("files") != code()["files"]:
        found = None
    if found is not None and found.get("settings") == known and not found.get("skipped"):
        watch(Done(case, number, total, float(found["seconds"]), cached=True))
        return
    cell: dict[str, Any] = case.describe()
    try:
        cell |= case.measure(ground).as_dict()
    except (UnavailableError, eq.EquirateError) as problem:  # one that fails does not end the others
        cell |= {"comparisons": [], "quality": {}, "facts": {}, "skipped": str(problem)}
    cell |= {"settings": known, "seconds": round(time.monotonic() - start, 2), "machine": machine(ground)}
    cell |= {"code": code(), "date": date.today().isoformat()}
    write_json(path, cell)
    watch(Done(case, number, total, cell["seconds"], skipped=cell.get("skipped")))


def depended_on(case: Case, settings: Settings) -> dict[str, Any]:
    """What a measurement depends on: settings and versions. A result with other values is not used."""
    return settings.of(*case.depends) | {
        "version": eq.__version__,
        "compiled": compiled(),
        "requirements": [] if case.rival is None else list(RIVALS[case.rival].requirements),
    }


def machine(ground: Ground) -> dict[str, Any]:
    """What the numbers depend on: processor, cores, threads, versions."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": ground.settings.cores,
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "compiled": compiled(),
    }


def compiled() -> bool:
    """Whether equirate has a compiler to use."""
    return os.environ.get(COMPILED) != "0" and find_spec("numba") is not None


def gathered(
    chosen: Sequence[Case], settings: Settings, folder: Path, before: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """The results in a folder that were measured with these settings, in the order of their cases.

    What is not there is taken from results that were published before, if they have it.
    """
    published = {(cell["part"], cell["name"]): cell for cell in before}
    found = []
    for case in chosen:
        cell = read_json(path_of(case, folder))
        if cell is None or cell["settings"] != depended_on(case, settings):
            cell = published.get((case.part, case.name))
        if cell is not None:
            found.append(cell)
    return found
