"""Tables of coverage and of power, for a terminal and for a page."""

from __future__ import annotations

import math

from ..experiments.tables import Table
from .runner import Results


def make_tables(results: Results) -> list[Table]:
    """One table of coverage, one of power."""
    rows = [
        (
            one.name,
            one.kind,
            f"{one.above:.1%}",
            f"{one.below:.1%}",
            _number(one.reach_above),
            _number(one.reach_below),
        )
        for one in results.covered
    ]
    least = min((min(one.above, one.below) for one in results.covered), default=math.nan)
    covered = Table(
        "Coverage of one-sided 95 % bounds",
        f"{results.samples:,} samples of each case, seed {results.seed}: the share whose upper (lower) bound is not "
        f"below (above) the truth; the smallest is {least:.1%}. Reach is the mean distance of the bound from the "
        "truth, over 1.645 standard deviations of the value: 1 is what a normal variable with known variance has.",
        ("case", "kind", "upper", "lower", "reach, upper", "reach, lower"),
        tuple(rows),
    )
    kept = Table(
        "What `power` foretells",
        f"The margin said to be certified at 95 % with a chance of 80 %, and the share of {results.samples // 2:,} "
        "samples that passed where the truth keeps just that margin.",
        ("constraint", "margin", "passed"),
        tuple((one.name, f"{one.margin:.4f}", f"{one.passed:.1%}") for one in results.kept),
    )
    return [table for table in (covered, kept) if table.rows]


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"
