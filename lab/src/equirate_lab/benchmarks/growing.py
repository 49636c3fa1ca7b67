"""Tables and the picture of growth, and of the cluster that is simulated.

In: results as `runner` gathers them. Out: `Table`s, and one picture of all slopes as SVG.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..experiments.tables import ABSENT, Table
from .ground import OURS
from .plot import panels
from .scaling import curves, slope
from .timing import spread

Cell = dict[str, Any]
MEMORY = "equirate, memory"
FROM = 100_000
"""Rows from which the slope must stay near 1."""


def make_tables(cells: Sequence[Cell]) -> list[Table]:
    """Make every table that there are results for."""
    made = [slopes(cells), points(cells), *cluster(cells)]
    return [table for table in made if table.rows]


GOALS = {"slope": 1.05, "memory": 1.2, "groups": 2.0}
"""Slope in rows, memory beyond X in multiples of X, and how many times as long the most groups may take as two."""


def goals(cells: Sequence[Cell]) -> Table:
    """What is asked of growth, beside what was measured."""
    times = {curve.partition(",")[0]: found for (curve, side), found in curves(cells).items() if side == OURS}
    rows = []
    late = [point for point in times.get("rows", ()) if point[0] >= FROM]
    if len(late) > 1:
        steepest = max(slope(*zip(*pair, strict=True)) for pair in pairwise(late))
        for what, found in (("all sizes", slope(*zip(*late, strict=True))), ("the steepest of two sizes", steepest)):
            asked = f"slope of time in rows, from {FROM:,} on, {what}"
            rows.append((asked, f"at most {GOALS['slope']}", f"{found:.2f}", "slope"))
    memory = [
        (cell["x"], cell["facts"]["peak beyond the data / X"])
        for cell in cells
        if cell["part"] == "scaling" and cell["curve"].startswith("rows") and not cell.get("skipped")
    ]
    if memory:
        size, found = max(memory)
        what = f"memory beyond the data, in multiples of X in float32, {size:,.0f} rows"
        rows.append((what, f"at most {GOALS['memory']}", f"{found:.2f}", "memory"))
    if len(times.get("groups", ())) > 1:
        (few, short), *_, (many, long) = times["groups"]
        what = f"time with {many:,.0f} groups over that with {few:,.0f}"
        rows.append((what, f"nearly free, read as at most {GOALS['groups']:g}", f"{long / short:.1f}", "groups"))
    judged = [(*row[:3], "yes" if float(row[2]) <= GOALS[row[3]] else "no") for row in rows]
    judged.sort(key=lambda row: row[-1] == "yes")
    note = "What was asked for before it was measured; what is not reached first."
    return Table("Goals of growth", note, ("what", "asked for", "measured", "reached"), tuple(judged))


def slopes(cells: Sequence[Cell]) -> Table:
    """The slope of every curve."""
    rows = []
    held = {(curve, MEMORY): found for curve, found in memory(cells).items()}
    for (curve, side), found in (curves(cells) | held).items():
        sizes, times = zip(*found, strict=True)
        late = [point for point in found if point[0] >= FROM] if curve.startswith("rows") else []
        powers = [_slope(part) for part in (found, found[-2:], late)]
        rows.append(
            (curve, side, f"{sizes[0]:,.0f} to {sizes[-1]:,.0f}", f"{times[0]:.3g} to {times[-1]:.3g}", *powers)
        )
    note = (
        "The power of the size that processor time (in seconds) or memory beyond the data (in MB) grows with, by least "
        f"squares over all sizes, between the last two, and from {FROM:,} rows on."
    )
    header = ("by", "what", "sizes", "from and to", "slope", "last two", "from 100,000 rows")
    return Table("Slopes", note, header, tuple(rows))


def memory(cells: Sequence[Cell]) -> dict[str, list[tuple[float, float]]]:
    """Megabytes beyond the data by size, for every curve; at least one, because the system counts in pages."""
    found: dict[str, list[tuple[float, float]]] = {}
    for cell in cells:
        if cell["part"] == "scaling" and not cell.get("skipped"):
            beyond = max(cell["facts"]["peak beyond the data, MB"], 1.0)
            found.setdefault(cell["curve"], []).append((cell["x"], beyond))
    return {curve: sorted(points) for curve, points in found.items()}


def _slope(found: Sequence[tuple[float, float]]) -> str:
    """The slope of some points as text; none for fewer than two."""
    return f"{round(slope(*zip(*found, strict=True)), 2) + 0.0:.2f}" if len(found) > 1 else ABSENT  # no -0.00


def points(cells: Sequence[Cell]) -> Table:
    """Time and memory at every size."""
    rows = []
    for cell in cells:
        if cell["part"] != "scaling":
            continue
        for comparison in cell["comparisons"]:
            samples = comparison["samples"]
            theirs = _quartiles(samples["fairlearn"]) if "fairlearn" in samples else ABSENT
            count = ", ".join(str(len(each)) for each in samples.values())
            facts = cell["facts"]
            memory = f"{facts['peak beyond the data, MB']:.0f}", f"{facts['peak beyond the data / X']:.2f}"
            size = f"{cell['x']:,.0f}"
            rows.append(
                (
                    cell["curve"],
                    size,
                    _quartiles(samples[OURS]),
                    theirs,
                    *memory,
                    count,
                )
            )
    note = (
        "100,000 × 30 dense float32 where rows and features do not grow, 20,000 rows with 20 entries each where "
        "features do; demographic parity. Memory is the peak of a process of its own beyond what it held with the "
        "data, in MB and in multiples of X; below some 50 MB it is mostly Python's. fairlearn takes dense features and "
        "a fit for each level."
    )
    header = ("by", "size", "equirate, s", "fairlearn, s", "beyond the data, MB", "over X", "repetitions")
    return Table("Time and memory", note, header, tuple(rows))


def _quartiles(samples: Sequence[float]) -> str:
    found = spread(samples)
    return f"{found.median:.3g} [{found.low:.3g}, {found.high:.3g}]"


def cluster(cells: Sequence[Cell]) -> list[Table]:
    """Real processes beside the formula, and what it foretells."""
    found = next((cell["facts"] for cell in cells if cell["part"] == "cluster" and not cell.get("skipped")), None)
    if found is None:
        return []
    costs = found["costs"]
    checked = [
        (
            f"{each['rows']:,}",
            str(each["processes"]),
            f"{each['own']:.2f}",
            f"{each['foretold']:.2f}",
            f"{each['own'] / each['foretold'] - 1:+.0%}",
            f"{each['clock']:.2f}",
            str(each["passes"]),
            str(each["messages"]),
            f"{each['bytes'] / 1e6:.2f}",
        )
        for each in found["checked"]
    ]
    foretold = [
        (
            f"{each['rows']:.0e}".replace("e+", " × 10^").replace("^0", "^"),
            str(each["processes"]),
            f"{each['work']:.3g}",
            f"{each['messages']:.3g}",
            f"{each['messages'] / (each['work'] + each['messages']):.1%}",
            f"{each['gigabytes']:.3g}",
            _bandwidth(each["bandwidth"], each["processes"]),
        )
        for each in found["foretold"]
    ]
    note = (
        f"Whole fits of 30 features under parity. Measured: {1e6 * costs['row']:.2f} µs a row and {costs['fixed']:.2f} "
        "s whatever the rows. Own is the processor time of one process, beside the formula; the formula has seen the "
        "fits of two processes with the fewest and the most rows. By the clock two cores were shared with others."
    )
    header = ("rows", "processes", "own, s", "formula, s", "apart", "clock, s", "passes", "messages", "MB sent")
    told = (
        "The same formula. Messages go around a ring in steps of 50 µs at 10 Gbit/s, which is taken, not measured; "
        "seconds of work and of messages, the messages' share, gigabytes of float32 features a process, and "
        "the Mbit/s that keep messages below a tenth of the fit. One thread a process."
    )
    named = ("rows", "processes", "work, s", "messages, s", "share", "GB each", "Mbit/s needed")
    return [
        Table("A fit over real processes", note, header, tuple(checked)),
        Table("A cluster that is simulated", told, named, tuple(foretold)),
    ]


def _bandwidth(value: float | None, processes: int) -> str:
    if processes == 1:
        return ABSENT
    return "steps alone take longer" if value is None else f"{8e-6 * value:.3g}"


def picture(cells: Sequence[Cell]) -> str:
    """All slopes in one picture: a panel of time and one of memory for each size that grows."""
    lines: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for (curve, side), found in curves(cells).items():
        lines.setdefault(curve, {})[side] = found
    units = dict.fromkeys(lines, "s")
    for curve, found in memory(cells).items():
        name = f"{curve.partition(',')[0]}, memory beyond the data"
        lines[name], units[name] = {OURS: found}, "MB"
    return panels(lines, units)
