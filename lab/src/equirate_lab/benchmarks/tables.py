"""Tables of results: ratios, quality and growth; shown in a terminal, as Markdown, or written into a page.

In: results as `runner` gathers them. Out: `Table`s. A ratio above 1 means that equirate took less time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..experiments.tables import Table
from .ground import OURS
from .timing import Spread, ratio, spread

Cell = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One comparison with somebody else."""

    part: str
    title: str
    what: str
    unit: str
    other: str
    ours: Spread
    theirs: Spread
    ratio: Spread
    note: str = ""


def rows_of(cells: Sequence[Cell]) -> list[Row]:
    """Every comparison of equirate with somebody else."""
    found = []
    for cell in cells:
        for comparison in cell["comparisons"]:
            samples = comparison["samples"]
            for other in samples:
                if other != OURS and OURS in samples:
                    ours, theirs = samples[OURS], samples[other]
                    found.append(
                        Row(
                            cell["part"],
                            cell["title"],
                            comparison["what"],
                            comparison["unit"],
                            other,
                            spread(ours),
                            spread(theirs),
                            ratio(theirs, ours),
                            comparison["note"],
                        )
                    )
    return found


def make_tables(cells: Sequence[Cell]) -> list[Table]:
    """Make every table that there are results for."""
    made = [_ratios(cells), _quality(cells), _growth(cells)]
    return [table for table in made if table.rows]


def _ratios(cells: Sequence[Cell]) -> Table:
    rows = []
    for row in rows_of(cells):
        what = f"{row.what} ({row.note})" if row.note else row.what
        times = [_with_spread(times, row.unit) for times in (row.ours, row.theirs)]
        rows.append((row.title, what, *times, f"{_three(row.ratio.median)} {_range(row.ratio)}", str(row.ratio.count)))
    note = (
        "Median and quartiles of repetitions that took turns. The ratio is the other's time over ours, repetition by "
        "repetition: above 1, equirate took less."
    )
    header = ("comparison", "measured", "equirate", "other", "ratio", "repetitions")
    return Table("Ratios", note, header, tuple(rows))


def _quality(cells: Sequence[Cell]) -> Table:
    rows = []
    for cell in cells:
        for side, parts in cell["quality"].items():
            pairs = [f"{parts[part][0]:.4f} ({parts[part][1]:+.4f})" for part in ("train", "validation", "test")]
            rows.append((cell["title"], " (".join(cell["measures"]) + ")", side, *pairs))
    note = (
        "Objective (constraint) of the classifiers that were compared, measured by the same code for every side. "
        "Nobody has looked at the test part."
    )
    return Table(
        "Quality", note, ("comparison", "objective (constraint)", "side", "train", "validation", "test"), tuple(rows)
    )


def _growth(cells: Sequence[Cell]) -> Table:
    rows = []
    for cell in cells:
        if not cell["curve"]:
            continue
        facts = [f"{name} {_three(value)}" for name, value in cell["facts"].items() if isinstance(value, float)]
        for comparison in cell["comparisons"]:
            time = _with_spread(spread(comparison["samples"][OURS]), comparison["unit"])
            rows.append((cell["curve"], f"{cell['x']:,.0f}", comparison["what"], time, "; ".join(facts)))
    note = (
        "Median and quartiles; made-up data, but for the iterates. Memory is the peak while solving, beyond the data."
    )
    return Table("Growth", note, ("by", "size", "measured", "time", "memory"), tuple(rows))


def _with_spread(value: Spread, unit: str) -> str:
    return f"{_three(value.median)} {_range(value)} {unit}"


def _range(value: Spread) -> str:
    return f"[{_three(value.low)}, {_three(value.high)}]"


def _three(value: float) -> str:
    """Three digits.

    Examples
    --------
    >>> _three(0.012345), _three(1234.5), _three(0)
    ('0.0123', '1,234', '0')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def machine_line(cells: Sequence[Cell]) -> str:
    """One line on where the numbers come from."""
    machines = {tuple(cell["machine"].items()): cell["machine"] for cell in cells}
    lines = [
        f"{m['processor']}, {m['cores']} cores, {m['threads']} threads; {m['system']}, Python {m['python']}, "
        f"NumPy {m['numpy']}, {'compiled passes' if m['compiled'] else 'no compiled passes'}"
        for m in machines.values()
    ]
    return "Measured on: " + " / ".join(lines) + "."


def skipped_lines(cells: Sequence[Cell]) -> list[str]:
    """What was left out, and why."""
    return [f"{cell['title']}: {cell['skipped']}" for cell in cells if cell.get("skipped")]


def as_markdown(cells: Sequence[Cell]) -> str:
    """All tables, where they come from and what was left out."""
    blocks = [machine_line(cells), *(table.markdown() for table in make_tables(cells))]
    left_out = skipped_lines(cells)
    if left_out:
        blocks.append("Left out:\n\n" + "\n".join(f"- {line}" for line in left_out))
    return "\n\n".join(blocks)
