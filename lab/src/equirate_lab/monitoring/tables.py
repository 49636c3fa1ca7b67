"""What was measured, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..experiments.tables import Table
from .problems import PROBLEMS
from .runner import METHODS, Plan

ABSENT = "–"


def make_tables(
    results: Mapping[str, Any], plan: Plan, widths: Mapping[str, Sequence[float]] | None = None
) -> list[Table]:
    """False alarms, rows until the alarm from the first row on and after many good ones, and widths of bounds."""
    kinds = {problem.name: problem.kind for problem in PROBLEMS}
    rows = []
    for name, kind in kinds.items():
        found = results.get(f"{name}/boundary/Monitor")
        if found:
            share = sum(rows is not None for rows in found) / len(found)
            rows.append((name, kind, f"{len(found):,}", f"{share:.2%}"))
    alarms = Table(
        "False alarms at the boundary",
        f"Streams of {plan.rows:,} rows whose violation is exactly 0, looked at after every {plan.day} rows: the share "
        "that ever raises an alarm, which may be 5 %.",
        ("problem", "what it is", "streams", "alarms"),
        tuple(rows),
    )
    first = Table(
        "Rows until the alarm, broken from the first row on",
        f"Median over at most {_streams(results)} streams of up to {plan.most:,} rows, by how far the limit is "
        "overstepped; in brackets the share without an alarm, where there are any. A dash where a method does not "
        "apply, or was not measured.",
        ("problem", "by", *METHODS),
        tuple(_delays(results, plan, "", 0)),
    )
    later = Table(
        f"Rows until the alarm after {plan.before:,} good rows",
        f"The same where the first {plan.before:,} rows keep the limit with {-plan.room:g} to spare, counted from the "
        "move on. An alarm before the move is counted with those without an alarm.",
        ("problem", "by", *METHODS),
        tuple(_delays(results, plan, " later", plan.before)),
    )
    wide = Table(
        "Width of the bounds",
        "Width of a monitor's bounds, which hold at all times, over that of `eq.certify` at 97.5 % on each side, for "
        "one look at the same rows; two groups of the same size.",
        ("constraint", "1,000 rows", "10,000 rows", "100,000 rows"),
        tuple((name, *(f"{width:.2f}" for width in found)) for name, found in (widths or {}).items()),
    )
    return [table for table in (alarms, first, later, wide) if table.rows]


def _streams(results: Mapping[str, Any]) -> str:
    """How many streams each method had."""
    numbers = {}
    for method in METHODS:
        found = [len(v) for key, v in results.items() if key.endswith(f"/{method}") and "/boundary/" not in key]
        numbers[method] = max(found, default=0)
    return ", ".join(f"{number} ({method})" for method, number in numbers.items() if number)


def _delays(results: Mapping[str, Any], plan: Plan, suffix: str, before: int) -> list[tuple[str, ...]]:
    rows = []
    for problem in PROBLEMS:
        for move in plan.moves:
            key = f"{problem.name}/{move}{suffix}"
            cells = [_delay(results.get(f"{key}/{method}"), before) for method in METHODS]
            if set(cells) != {ABSENT}:
                rows.append((problem.name, f"{move:g}", *cells))
    return rows


def _delay(found: Sequence[int | None] | None, before: int) -> str:
    if not found:
        return ABSENT
    waits = [rows - before if rows is not None and rows > before else np.inf for rows in found]
    median, never = float(np.median(waits)), sum(np.isinf(waits)) / len(waits)
    shown = f"{median:,.0f}" if np.isfinite(median) else "none"
    return f"{shown} ({never:.0%})" if never else shown
