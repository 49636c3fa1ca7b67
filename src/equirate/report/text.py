"""Reports: what was asked, what was achieved, on which data, and how sure we are.

In: an `Evaluation` (numbers) for each of one or several parts of the data. Out: `Report`, the same for a person:
aligned text in a terminal, a table in a notebook.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..judge.evaluation import Evaluation


@dataclass(frozen=True)
class Report:
    """What was asked and what was achieved, part by part. Prints as text; shows as a table in a notebook."""

    problem: str
    parts: Mapping[str, Evaluation]
    notes: Sequence[str] = ()
    positive_label: str = "1"

    @property
    def last(self) -> Evaluation:
        """The part that matters most: the last one given."""
        return list(self.parts.values())[-1]

    def _objective_rows(self) -> list[list[str]]:
        rows = [["", *self.parts, f"{self.last.confidence:.0%} interval"]]
        first = self.problem.splitlines()[0]
        values = [_number(part.objective) for part in self.parts.values()]
        rows.append([first, *values, f"[{_number(self.last.low)}, {_number(self.last.high)}]"])
        return rows

    def _constraint_rows(self) -> list[list[str]]:
        name = list(self.parts)[-1]
        header = ["asked", *(f"violation, {part}" for part in self.parts), f"interval, {name}", f"achieved, {name}", ""]
        rows = [header]
        for k, row in enumerate(self.last.constraints):
            violations = [f"{part.constraints[k].violation:+.4f}" for part in self.parts.values()]
            achieved = f"{_number(row.left)} {row.symbol} {_number(row.right)}"
            rows.append([row.constraint, *violations, f"[{row.low:+.4f}, {row.high:+.4f}]", achieved, row.verdict])
        return rows

    def _slice_rows(self) -> list[list[str]]:
        rows = [["slice", "examples", f"label {self.positive_label}", f"predicted {self.positive_label}"]]
        for size in self.last.slices:
            rows.append([size.slice, f"{size.examples:,}", f"{size.positives:,}", f"{size.predicted:.1%}"])
        return rows

    def _tables(self) -> list[list[list[str]]]:
        tables = [self._objective_rows()]
        if self.last.constraints:
            tables.append(self._constraint_rows())
        return [*tables, self._slice_rows()]

    def __str__(self) -> str:
        blocks = [aligned(table) for table in self._tables()]
        if self.notes:
            blocks.append("\n".join(f"! {note}" for note in self.notes))
        return "\n\n".join(blocks)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Tables for a notebook."""
        parts = []
        for table in self._tables():
            head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table[0])
            body = "".join(
                "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table[1:]
            )
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return "<div class='equirate-report'>" + "".join(parts) + (f"<ul>{notes}</ul>" if notes else "") + "</div>"


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1e6 else f"{value:.4g}"


def aligned(rows: list[list[str]], widest: int = 80) -> str:
    """Lay a table out as text: first column left (folded if wide), the others right, a rule below the header."""
    folded = []
    for row in rows:
        first = textwrap.wrap(row[0], widest, subsequent_indent="    ", break_on_hyphens=False) or [""]
        folded.append([first[0], *row[1:]])
        folded += [[line, *("" for _ in row[1:])] for line in first[1:]]
    widths = [max(len(row[k]) for row in folded) for k in range(len(rows[0]))]
    lines = []
    for row in folded:
        cells = [cell.ljust(widths[0]) if k == 0 else cell.rjust(widths[k]) for k, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)
