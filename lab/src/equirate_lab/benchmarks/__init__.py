"""The benchmarks: speed and quality beside TFCO, fairlearn, cooper and the bare matrix products; growth.

In: which parts, `Settings`, folders. Out: a result file per measurement, all of them as ``results.json``, tables and
plots. ``equirate-lab bench`` calls `bench`.

The modules, in the order they build on each other: `timing` (repetitions in turns, medians), `settings`,
`environments` (the rivals' own), `rivals` (their scripts), `judging` (one way to choose and to measure for
everybody), `ground` (what a measurement gets), `against_tfco`, `against_fairlearn`, `against_cooper`, `limits` and
`growth` (what is measured), `cases` (all of it by name), `runner` (files), `progress`, `tables` and `plot`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..experiments.files import check_page, fill, write_json, write_text
from .cases import PARTS, Case, cases
from .ground import Ground
from .plot import bars, curves
from .runner import Done, Watch, gathered, run
from .settings import FULL, QUICK, Settings
from .tables import as_markdown, make_tables, rows_of, skipped_lines

__all__ = [
    "FULL",
    "PARTS",
    "QUICK",
    "Case",
    "Done",
    "Settings",
    "Watch",
    "bench",
    "cases",
    "check_page",
    "fill",
    "gathered",
    "make_tables",
    "published",
    "skipped_lines",
]


def bench(
    parts: Sequence[str] = PARTS,
    cache: Path = Path("build/bench"),
    *,
    settings: Settings = FULL,
    again: bool = False,
    watch: Watch = lambda done: None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """Measure what is missing of some parts, and return every result that there is.

    Parameters
    ----------
    parts
        Of `PARTS`.
    cache
        Folder of the rivals' environments and of the results; short runs keep theirs apart.
    settings
        How much to measure.
    again
        Measure everything again, also what is there.
    watch
        Called after every measurement.
    tell
        Called with a line about what is going on.
    """
    results = cache / ("results" if settings.rounds == FULL.rounds else "quick")
    run(cases(settings, parts), Ground(settings, cache, results, tell), watch, again)
    return gathered(cases(settings), settings, results)


def published(results: Sequence[dict[str, Any]], out: Path, page: Path | None = None) -> list[Path]:
    """Write results, tables and plots into a folder, and the tables into a page; return what was written."""
    paths = [out / name for name in ("results.json", "tables.md", "ratios.svg", "growth.svg")]
    write_json(paths[0], list(results))
    write_text(paths[1], as_markdown(results) + "\n")
    write_text(paths[2], bars(rows_of(results)))
    write_text(paths[3], curves(results))
    if page is not None:
        fill(page, as_markdown(results))
        paths.append(page)
    return paths
