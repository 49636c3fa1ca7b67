"""A report in a terminal, and the columns of its tables: text of at most 100 columns.

In: a `Report`. Out: its verdict, and tables of the objective, of every constraint and of every slice, aligned.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .._core.percent import percent
from . import words
from .words import number, share, signed

if TYPE_CHECKING:
    from ..judge.evaluation import ClassTable
    from .report import Report

WIDTH = 100
_FORETOLD = "what so many examples can certify with a chance of 80%, at a recall of 0.8 (eq.power takes other rates):"


def text(report: Report) -> str:
    """The report for a terminal: verdict, price, tables, notes."""
    about = (words.price(report), words.affected(report), words.positive(report), words.caution(report))
    certificate = words.certificate(report)  # first, where it was asked for: the verdict is of these rows alone
    sentences = (*certificate[:1], words.verdict(report), *certificate[1:], *about)
    blocks = ["\n".join(textwrap.fill(sentence, WIDTH) for sentence in sentences if sentence)]
    blocks += [
        aligned(objective_rows(report), within=WIDTH),
        *_constraints(report),
        aligned(slice_rows(report), within=WIDTH),
        *_classes(report),
    ]
    if report.baseline is not None and report.baseline.note:
        blocks.append(textwrap.fill(f"baseline: {report.baseline.name}. {report.baseline.note}", WIDTH))
    if report.certification is not None and report.certification.power and not report.certification.certified:
        fold = textwrap.TextWrapper(WIDTH, initial_indent="  ", subsequent_indent="    ")
        lines = [fold.fill(line) for line in report.certification.power]
        blocks.append("\n".join([_FORETOLD, *lines]))
    if report.notes:
        fold = textwrap.TextWrapper(WIDTH, initial_indent="! ", subsequent_indent="  ")
        blocks.append("\n".join(fold.fill(note) for note in report.notes))
    return "\n\n".join(blocks)


def objective_rows(report: Report) -> list[list[str]]:
    """A header, and the objective on every part."""
    last = report.last
    header = ["", *report.parts, f"{percent(last.confidence)} interval"]
    values = [number(part.objective) for part in report.parts.values()]
    row = [report.problem.splitlines()[0], *values, f"[{number(last.low)}, {number(last.high)}]"]
    if report.baseline is not None:
        header.append("baseline")
        row.append(number(report.baseline.evaluation.objective))
    return [header, row]


def _constraints(report: Report) -> list[str]:
    """Every constraint on a line of its own, and its numbers below it."""
    last = report.last
    if not last.constraints:
        return []
    header = ["", *report.parts, *(["baseline"] if report.baseline else [])]
    rows = [[*header, f"{percent(last.confidence)} bounds", "verdict"]]
    for k, row in enumerate(last.constraints):
        cells = [f"  {number(row.left)} {row.symbol} {number(row.right)}"]
        cells += [signed(part.constraints[k].violation) for part in report.parts.values()]
        if report.baseline is not None:
            cells.append(signed(report.baseline.evaluation.constraints[k].violation))
        rows.append([*cells, f"[{signed(row.low)}, {signed(row.high)}]", row.verdict])
    achieved = [row[0] for row in rows[1:]]
    lines = aligned(rows).splitlines()
    if len(lines[1]) > WIDTH:  # the achieved values get a line of their own
        lines = aligned([["  ", *row[1:]] for row in rows]).splitlines()
        lines[2:] = [f"{values}\n{line}" for values, line in zip(achieved, lines[2:], strict=True)]
    folded = [textwrap.fill(row.constraint, WIDTH, subsequent_indent="    ") for row in last.constraints]
    between = [line for pair in zip(folded, lines[2:], strict=True) for line in pair]
    return ["\n".join(["constraint, and its violation: positive where it is broken", *lines[:2], *between])]


def _classes(report: Report) -> list[str]:
    """With more than two classes, a line for each: its size, its rates, and the class it is most mistaken for."""
    tables = getattr(report.last, "classes", ())
    return [aligned(class_rows(tables[0]), within=WIDTH)] if tables else []


def class_rows(table: ClassTable) -> list[list[str]]:
    """A header, and every class of a slice."""
    rows = [["class", "examples", "labelled", "predicted", "recall", "precision", "F1", "most mistaken for"]]
    for k, rates in enumerate(table.rates()):
        others = [(value, j) for j, value in enumerate(table.shares[k]) if j != k]
        most, other = max(others)
        total = sum(table.shares[k])
        mistaken = f"{table.labels[other]} ({share(most / total)})" if most > 0 else ""
        shown = [share(rates[name]) for name in ("labelled", "predicted", "recall", "precision", "f1")]
        rows.append([str(table.labels[k]), f"{table.examples[k]:,}", *shown, mistaken])
    return rows


def slice_rows(report: Report) -> list[list[str]]:
    """A header, and every slice: how many, the share with the positive label, and the share predicted positive."""
    if getattr(report.last, "classes", ()):
        return [["slice", "examples"], *([size.slice, f"{size.examples:,}"] for size in report.last.slices)]
    label = textwrap.shorten(report.positive_label, 12, placeholder="…") or "1"
    rows = [["slice", "examples", f"label {label}", f"predicted {label}"]]
    baseline = [] if report.baseline is None else report.baseline.evaluation.slices
    if baseline:
        rows[0].append("baseline")
    for k, size in enumerate(report.last.slices):
        row = [size.slice, f"{size.examples:,}", share(size.labelled), share(size.predicted)]
        rows.append([*row, share(baseline[k].predicted)] if baseline else row)
    return rows


def aligned(rows: list[list[str]], widest: int = 80, within: int | None = None) -> str:
    """Lay a table out as text: first column left (folded if wide), the others right, a rule below the header.

    The first column is folded to ``widest``, or so that the whole table is at most ``within`` wide.
    """
    widths = [max(len(row[k]) for row in rows) for k in range(1, len(rows[0]))]
    if within is not None:
        widest = max(10, within - sum(widths) - 2 * len(widths))
    folded = []
    for row in rows:
        lead = row[0][: len(row[0]) - len(row[0].lstrip())]
        first = textwrap.wrap(row[0].lstrip(), widest - len(lead), subsequent_indent="    ", break_on_hyphens=False)
        folded.append([lead + (first[0] if first else ""), *row[1:]])
        folded += [[lead + line, *("" for _ in row[1:])] for line in first[1:]]
    widths.insert(0, max(len(row[0]) for row in folded))
    lines = []
    for row in folded:
        cells = [cell.ljust(widths[0]) if k == 0 else cell.rjust(widths[k]) for k, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)
