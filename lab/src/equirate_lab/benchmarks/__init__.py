"""The benchmarks: speed and quality beside TFCO, fairlearn, cooper and the bare matrix products; growth.

In: which parts, `Settings`, folders. Out: a result file per measurement, all of them as ``results.json``, tables and
plots. ``equirate-lab bench`` calls `bench`.

The modules, in the order they build on each other: `timing` (repetitions in turns, medians), `settings`,
`provenance` (which code was measured), `environments` (the rivals' own), `rivals` (their scripts), `answers` (of slow
rivals, kept), `judging` (one way to choose and to measure for everybody), `ground` (what a measurement gets),
`against_tfco`, `against_fairlearn`, `against_cooper`, `limits` and `growth` (what is measured), `cases` (all of it by
name), `runner` (files), `progress`, `tables` and `plot`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..experiments.files import check_page, fill, read_json, write_json, write_text
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


RESULTS, RIVALS = "results.json", "rivals.json"
"""Files of every sample: of the parts that stand in ``performance.md``, and of those in ``rivals.md``."""
LOST = "lost"
"""The name of the first place for tables in the page of rivals."""
SHARED = (
    "The machine was shared with other work: what counts are ratios of processor time, both sides in turns in one run; "
    "times by the clock say little."
)


def all_tables(results: Sequence[dict[str, Any]]) -> list[Table]:
    """Make every table that there are results for."""
    others = [cell for cell in results if cell["part"] not in COMPARED]
    compared = [cell for cell in results if cell["part"] in COMPARED]
    lost, short = standing.first_tables(compared, others)
    first = lost, growing.goals(compared), short
    rest = [*standing.make_tables(compared), *growing.make_tables(compared), *make_tables(others)]
    return [table for table in (*first, *rest) if table.rows]


def bench(
    parts: Sequence[str] = PARTS,
    cache: Path = Path("build/bench"),
    *,
    settings: Settings = FULL,
    again: bool = False,
    only: Sequence[str] = (),
    stale: bool = False,
    before: Path | None = None,
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
    stale
        Measure again what other code of equirate measured.
    before
        Folder of results that were published before: what is not measured here is taken from there.
    watch
        Called after every measurement.
    tell
        Called with a line about what is going on.
    """
    results = cache / ("results" if settings.rounds == FULL.rounds else "quick")
    chosen = [case for case in cases(settings, parts) if not only or case.name.startswith(tuple(only))]
    run(chosen, Ground(settings, cache, results, tell), watch, again, stale)
    files = [] if before is None else [read_json(before / name) or [] for name in (RESULTS, RIVALS)]
    return gathered(cases(settings), settings, results, [cell for cells in files for cell in cells])


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
        files = (RESULTS, "tables.md", "ratios.svg", "growth.svg")
        contents = ("", as_markdown(others) + "\n", bars(rows_of(others)), curves(others))
        write_json(out / files[0], others)
        written += _written(out, dict(zip(files[1:], contents[1:], strict=True)), [out / files[0]])
        if page is not None:
            fill(page, as_markdown(others))
            written.append(page)
    if compared:
        trees = None if rivals is None else rivals.with_name("trees.md")
        first, text = first_markdown(compared, others, trees), standing_markdown(compared)
        write_json(out / RIVALS, compared)
        made = {"rivals.md": f"{first}\n\n{text}\n", "scaling.svg": picture(compared)}
        written += _written(out, made, [out / RIVALS])
        if rivals is not None:
            fill(rivals, first, LOST)
            fill(rivals, text)
            written.append(rivals)
    return written


def _written(out: Path, contents: dict[str, str], before: list[Path]) -> list[Path]:
    for name, text in contents.items():
        write_text(out / name, text)
    return [*before, *(out / name for name in contents)]


def first_markdown(
    cells: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]] = (), trees: Path | None = None
) -> str:
    """What a reader looks for first: what is lost, what of growth is not reached, all comparisons in short."""
    lost, short = standing.first_tables(cells, others, trees)
    return "\n\n".join(table.markdown() for table in (lost, growing.goals(cells), short) if table.rows)


def standing_markdown(cells: Sequence[dict[str, Any]]) -> str:
    """The tables of the single comparisons at equal quality, and where they were measured."""
    made = [standing.origins(cells), *standing.make_tables(cells), *growing.make_tables(cells)]
    blocks = [table.markdown() for table in made]
    return "\n\n".join([*blocks, f"{machine_line(cells)} {SHARED}"])
