"""Rivals whose tables are on other pages, in short: TFCO, cooper, bare products, and FairGBM on trees.

In: results of the parts of ``performance.md``, and the page ``trees.md``. Out: rows for the two tables that begin
``rivals.md``: what is lost, and all comparisons in short. Errors are compared on the other pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..experiments.tables import ABSENT
from .reasons import reason
from .tables import Row, rows_of
from .timing import spread

NAMES = {
    ("grid", "rates"): "TensorFlow Constrained Optimization, its own rates; the paper's grid",
    ("grid", "matrices"): "TensorFlow Constrained Optimization, matrix products by hand; the paper's grid",
    ("odds", "fairlearn"): "fairlearn to its own quality on training rows",
    ("cooper", "cooper"): "cooper, a linear model to its own quality",
    ("products", "bare products"): "the matrix products of a round, alone",
    ("growth", "one matrix product"): "one matrix product with as many columns; predicting",
}
WHOLE = ("the whole grid", "fit to fairlearn's quality", "fit to cooper's quality")
FAIRGBM = "FairGBM on trees, blind"


def _grouped(cells: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[Row]]:
    """Whole fits by part and rival, and what has no whole fit."""
    found: dict[tuple[str, str], list[Row]] = {}
    for cell in cells:
        rows = rows_of([cell])
        whole = [row for row in rows if row.what in WHOLE] or rows
        for row in whole if cell["part"] not in ("grid", "odds", "cooper") or whole != rows else ():
            style = "matrices" if cell["name"].endswith("matrices") else "rates"
            found.setdefault((cell["part"], style if cell["part"] == "grid" else row.other), []).append(row)
    return {key: rows for key, rows in found.items() if key in NAMES}


def summary(cells: Sequence[dict[str, Any]], trees: Path | None = None) -> list[tuple[str, ...]]:
    """Rows of all comparisons in short."""
    rows: list[tuple[str, ...]] = []
    for (part, other), found in _grouped(cells).items():
        ratios = sorted(row.ratio.median for row in found)
        slower = str(sum(value < 1 for value in ratios))
        line = part, NAMES[part, other], str(len(found)), f"{spread(ratios).median:.1f}"
        rows.append((*line, f"{ratios[0]:.2g} to {ratios[-1]:.2g}", slower, ABSENT, ABSENT))
    times, apart = fairgbm(trees)
    if times and apart:
        ratios = sorted(theirs / ours for _, ours, theirs in times)
        worse = [mean for _, mean, deviation in apart if mean > deviation]
        line = "trees", FAIRGBM, str(len(apart)), f"{spread(ratios).median:.1f}"
        slower = f"{sum(value < 1 for value in ratios)} of {len(ratios)} data sets"
        most = f"{max(mean for _, mean, _ in apart):+.4f}"
        rows.append((*line, f"{ratios[0]:.2g} to {ratios[-1]:.2g}", slower, str(len(worse)), most))
    return rows


def losses(cells: Sequence[dict[str, Any]], trees: Path | None = None) -> list[tuple[str, ...]]:
    """Rows of what is lost; times first."""
    rows: list[tuple[str, ...]] = []
    for (part, other), found in _grouped(cells).items():
        slower = [row for row in found if row.ratio.median < 1]
        if slower:
            worst = min(slower, key=lambda row: row.ratio.median)
            numbers = [f"{side.median:.3g} {worst.unit}" for side in (worst.ours, worst.theirs)]
            line = "time", NAMES[part, other], f"{len(slower)} of {len(found)}", worst.title
            rows.append((*line, *numbers, *reason(part, other, "time")))
    times, apart = fairgbm(trees)
    late = [each for each in times if each[1] > each[2]]
    if late:
        data, ours, theirs = min(late, key=lambda each: each[2] / each[1])
        line = "time", FAIRGBM, f"{len(late)} of {len(times)}", data
        numbers = [f"{value:.2f} plain fits" for value in (ours, theirs)]
        rows.append((*line, *numbers, *reason("trees", "fairgbm", "time")))
    worse = [each for each in apart if each[1] > each[2]]
    if worse:
        problem, mean, deviation = max(worse, key=lambda each: each[1])
        line = "errors", FAIRGBM, f"{len(worse)} of {len(apart)}", problem
        rows.append((*line, f"{mean:+.4f} ± {deviation:.4f}", "0", *reason("trees", "fairgbm", "errors")))
    return rows


def fairgbm(page: Path | None) -> tuple[list[tuple[str, float, float]], list[tuple[str, float, float]]]:
    """What the page of trees says about FairGBM: times by data set (ours, theirs), differences of errors by problem."""
    if page is None or not page.exists():
        return [], []
    text = page.read_text("utf-8")
    header, *lines = _rows(text, "Processor time")
    by_method = {line[0]: line[1:] for line in lines}
    times = [
        (name.partition(",")[0], _number(ours), _number(theirs))
        for name, ours, theirs in zip(
            header[1:], by_method['equirate, model="trees"'], by_method["FairGBM"], strict=True
        )
        if theirs != ABSENT
    ]
    apart = []
    for line in _rows(text, "Beside each other")[1:]:
        if line[1] == "blind less FairGBM" and "±" in line[-1]:
            mean, deviation = line[-1].split("±")
            apart.append((line[0], float(mean), float(deviation)))
    return times, apart


def _rows(text: str, heading: str) -> list[list[str]]:
    section = re.search(rf"^### {re.escape(heading)}\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    lines = [line for line in section[1].splitlines() if line.startswith("|")] if section else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return cells[:1] + cells[2:]


def _number(text: str) -> float:
    return float(text.split()[0])
