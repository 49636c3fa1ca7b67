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
from ..experiments.tables import Table
from . import growing, standing
from .case import Case
from .cases import COMPARED, PARTS, cases
from .ground import Ground
from .growing import picture
from .plot import bars, curves
from .runner import Done, Watch, gathered, run
from .settings import FULL, QUICK, Settings
from .tables import as_markdown, machine_line, make_tables, rows_of, skipped_lines

__all__ = [
    "COMPARED",
    "FULL",
    "PARTS",
    "QUICK",
    "Case",
    "Done",
    "Ground",
    "Settings",
    "Watch",
    "all_tables",
    "bench",
    "cases",
    "check_page",
    "fill",
    "gathered",
    "make_tables",
    "published",
    "skipped_lines",
]


SHARED = (
    "The machine was shared with other work: what counts are ratios of processor time, both sides in turns in one run; "
    "times by the clock say little."
)


def all_tables(results: Sequence[dict[str, Any]]) -> list[Table]:
    """Make every table that there are results for."""
    others = [cell for cell in results if cell["part"] not in COMPARED]
    compared = [cell for cell in results if cell["part"] in COMPARED]
    return [*standing.make_tables(compared), *growing.make_tables(compared), *make_tables(others)]


def bench(
    parts: Sequence[str] = PARTS,
    cache: Path = Path("build/bench"),
    *,
    settings: Settings = FULL,
    again: bool = False,
    only: Sequence[str] = (),
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
    only
        Beginnings of names: of these measurements alone.
    watch
        Called after every measurement.
    tell
        Called with a line about what is going on.
    """
    results = cache / ("results" if settings.rounds == FULL.rounds else "quick")
    chosen = [case for case in cases(settings, parts) if not only or case.name.startswith(tuple(only))]
    run(chosen, Ground(settings, cache, results, tell), watch, again)
    return gathered(cases(settings), settings, results)


def published(
    results: Sequence[dict[str, Any]], out: Path, page: Path | None = None, rivals: Path | None = None
) -> list[Path]:
    """Write results, tables and plots into a folder, and the tables into pages; return what was written.

    Parts at equal quality have files and a page of their own. Files of parts without results are left as they are.
    """
    others = [cell for cell in results if cell["part"] not in COMPARED]
    compared = [cell for cell in results if cell["part"] in COMPARED]
    written = []
    if others:
        files = ("results.json", "tables.md", "ratios.svg", "growth.svg")
        contents = ("", as_markdown(others) + "\n", bars(rows_of(others)), curves(others))
        write_json(out / files[0], others)
        written += _written(out, dict(zip(files[1:], contents[1:], strict=True)), [out / files[0]])
        if page is not None:
            fill(page, as_markdown(others))
            written.append(page)
    if compared:
        text = standing_markdown(compared)
        write_json(out / "rivals.json", compared)
        made = {"rivals.md": text + "\n", "scaling.svg": picture(compared)}
        written += _written(out, made, [out / "rivals.json"])
        if rivals is not None:
            fill(rivals, text)
            written.append(rivals)
    return written


def _written(out: Path, contents: dict[str, str], before: list[Path]) -> list[Path]:
    for name, text in contents.items():
        write_text(out / name, text)
    return [*before, *(out / name for name in contents)]


def standing_markdown(cells: Sequence[dict[str, Any]]) -> str:
    """The tables of the comparisons at equal quality, what is lost first, and where they were measured."""
    made = [*standing.make_tables(cells), *growing.make_tables(cells)]
    blocks = [table.markdown() for table in made]
    return "\n\n".join([*blocks, f"{machine_line(cells)} {SHARED}"])
