"""A report as one self-contained page: text, tables and charts, with every script and style inside.

In: a `Report`. Out: HTML for any browser, in light or dark, on paper and on a phone, without network access.
Every name and value from the data is escaped (by jinja2, and as JSON inside scripts). The same report gives the same
bytes: no time, no random name.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from . import charts, words
from .facts import SHOWN, Point, RateValue
from .text import class_rows

if TYPE_CHECKING:
    from .report import Report

MOST_MOVES = 30
"""Changes from one class to another that are listed."""
MARKS = {"pass": "✓", "fail": "✗", "cannot tell": "?", "not measured": "–", "none": "·"}


def page(report: Report, title: str | None = None, command: str | None = None) -> str:
    """The page, as text."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise ImportError(charts.NEEDED) from None
    bundle = _bundle()
    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        number=words.number, signed=words.signed, share=words.share, people=words.people, island=_island
    )
    drawn = _drawn(report)
    given: dict[str, Any] = {
        "report": report,
        "title": title or "What was asked, and what is kept",
        "kind": f"equirate: {report.problem.splitlines()[0]}",
        "command": command,
        "part": list(report.parts)[-1],
        "words": words,
        "outcome": words.outcome(report.last),
        "marks": MARKS,
        "shown": SHOWN,
        "constraints": _constraints(report),
        "rates": _rates(report),
        "classes": _classes(report),
        "moves": () if report.baseline is None else report.baseline.moves[:MOST_MOVES],
        "charts": drawn,
        "specs": {chart.key: chart.spec for group in drawn.values() for chart in group},
        "points": [_point(report.objective, point) for point in report.frontier],
        "start": _nearest(report),
        "style": Markup(_template("style.css")),
        "script": Markup(_template("page.js")),
        "bundle": Markup(bundle),
    }
    return environment.get_template("page.html").render(**given)


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    alt = charts.altair()
    try:
        import vl_convert
    except ImportError:
        raise ImportError(charts.NEEDED) from None
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    if "</script" in script.lower():
        raise ImportError(
            "this version of vl-convert-python gives a script that is not safe in a page: install another version"
        )
    return script


def _template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text("utf-8")


def _island(value: Any) -> Any:
    """Data as JSON that is safe in a script element: no tag, comment or entity can begin in it."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


# -- what the page shows -------------------------------------------------------------------------


def _drawn(report: Report) -> dict[str, list[charts.Chart]]:
    return {
        "violations": [charts.violations(report)] if report.last.constraints else [],
        "rates": list(charts.rates(report)),
        "frontier": [charts.frontier(report)] if report.frontier else [],
        "course": list(charts.course(report)),
    }


def _constraints(report: Report) -> list[dict[str, Any]]:
    """For every constraint: its text, its verdict on the last part, and a row for each part and the baseline."""
    constraints = []
    for k, last in enumerate(report.last.constraints):
        rows = [(name, part.constraints[k], part.confidence) for name, part in report.parts.items()]
        if report.baseline is not None:
            evaluation = report.baseline.evaluation
            rows.append(
                (f"{report.baseline.name}, {list(report.parts)[-1]}", evaluation.constraints[k], evaluation.confidence)
            )
        constraints.append({"text": last.constraint, "verdict": last.verdict, "rows": rows})
    return constraints


def _rates(report: Report) -> list[dict[str, Any]]:
    """For every slice: each shown rate of this classifier and of the baseline."""
    beside = () if report.baseline is None else report.baseline.rates
    groups = []
    for size in report.last.slices:
        cells = [
            (shown, _find_rate(report.rates, shown.name, size.slice), _find_rate(beside, shown.name, size.slice))
            for shown in SHOWN
        ]
        groups.append({"size": size, "cells": cells})
    return groups if report.rates else []


def _classes(report: Report) -> list[dict[str, Any]]:
    """For every slice, with more than two classes: a line for each class, and the rows of the confusion matrix.

    A row of the matrix has the shares of the examples with that label, and how dark each cell is, from 0 to 100.
    """
    tables = []
    for table in getattr(report.last, "classes", ()):
        header, *lines = class_rows(table)
        matrix = []
        for label, shares in zip(table.labels, table.shares, strict=True):
            total = sum(shares)
            parts = [part / total if total > 0 else math.nan for part in shares]
            cells = [(_percent(part), round(100 * part) if part == part else 0) for part in parts]
            matrix.append((str(label), cells))
        tables.append({"slice": table.slice, "header": header, "lines": lines, "matrix": matrix})
    return tables


def _percent(part: float) -> str:
    """A share in percent, rounded; empty below half a percent, so that large matrices are readable."""
    return f"{100 * part:.0f}" if part >= 0.005 else ""


def _find_rate(rates: tuple[RateValue, ...], name: str, slice_: str) -> RateValue | None:
    return next((rate for rate in rates if rate.rate == name and rate.slice == slice_), None)


def _point(objective: str, point: Point) -> dict[str, Any]:
    """One point of the frontier, as the text that the page shows for it."""
    evaluation = point.evaluation
    verdicts = [
        {"value": words.signed(c.violation), "verdict": c.verdict, "mark": MARKS[c.verdict]}
        for c in evaluation.constraints
    ]
    return {
        "words": f"{f'{point.level:+.4g}' if point.level else '0'}: {objective} {words.number(evaluation.objective)}, "
        f"largest violation {words.signed(charts.worst(evaluation))}",
        "constraints": verdicts,
        "rates": [
            [words.share(rate.value) for rate in point.rates if rate.slice == size.slice] for size in evaluation.slices
        ],
    }


def _nearest(report: Report) -> int:
    """The point of the frontier nearest to the constraints as given: the level nearest to 0."""
    levels = [abs(point.level) for point in report.frontier]
    return levels.index(min(levels)) if levels else 0
