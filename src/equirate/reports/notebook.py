"""A report in a notebook: its verdict and its tables as HTML, with inline style and no script.

In: a `Report`. Out: HTML with every name and value from the data escaped.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from . import words
from .text import objective_rows, slice_rows
from .words import number, signed

if TYPE_CHECKING:
    from .report import Report

STYLE = """
.equirate-report { font: 14px/1.5 system-ui, sans-serif; max-width: 60rem; }
.equirate-report .verdict { font-size: 1.15em; font-weight: 600; border-left: .3em solid #8d8d8d; padding-left: .7em; }
.equirate-report .verdict.pass { border-color: #2b9a66; }
.equirate-report .verdict.fail { border-color: #dc3e42; }
.equirate-report table { border-collapse: collapse; margin: .8em 0; font-variant-numeric: tabular-nums; }
.equirate-report th, .equirate-report td { padding: .25em .8em; text-align: right; border: 0;
  border-bottom: 1px solid rgba(128, 128, 128, .35); }
.equirate-report th:first-child, .equirate-report td:first-child { text-align: left; overflow-wrap: anywhere; }
"""


def tables(report: Report) -> str:
    """Verdict, price, and the tables of objective, constraints and slices."""
    kind = words.outcome(report.last).replace(" ", "-")
    about = (words.price(report), words.affected(report), words.positive(report), words.caution(report))
    sentences = (*words.certificate(report), *about)
    paragraphs = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in sentences if sentence)
    shown = [objective_rows(report), _constraints(report), slice_rows(report)]
    html_tables = "".join(_table(rows) for rows in shown if len(rows) > 1)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in report.notes)
    return (
        f'<div class="equirate-report"><style>{STYLE}</style>'
        f'<p class="verdict {kind}">{html.escape(words.verdict(report))}</p>{paragraphs}{html_tables}'
        + (f"<ul>{notes}</ul>" if notes else "")
        + "</div>"
    )


def _constraints(report: Report) -> list[list[str]]:
    name, last = list(report.parts)[-1], report.last
    bounds = f"{last.confidence:.0%} bounds"
    head = ["asked", f"achieved, {name}", *(f"violation, {part}" for part in report.parts), bounds, "verdict"]
    rows = [head if report.baseline is None else [*head, report.baseline.name]]
    for k, row in enumerate(last.constraints):
        violations = [signed(part.constraints[k].violation) for part in report.parts.values()]
        achieved = f"{number(row.left)} {row.symbol} {number(row.right)}"
        cells = [row.constraint, achieved, *violations, f"[{signed(row.low)}, {signed(row.high)}]", row.verdict]
        if report.baseline is not None:
            cells.append(signed(report.baseline.evaluation.constraints[k].violation))
        rows.append(cells)
    return rows


def _table(rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
