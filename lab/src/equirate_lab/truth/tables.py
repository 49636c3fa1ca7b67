"""Tables of gaps: by family and kind of data, and the worst problems one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from ..experiments.tables import Table
from .classes import FAMILIES as OF_CLASSES
from .problems import FAMILIES
from .runner import CLASSIFIER, POLISHED, Found, every_case

WAYS = (CLASSIFIER, POLISHED)
_NONE = "–"
WORST = 12
"""How many problems are listed."""
CLOSE, FAR, KEPT = 0.005, 0.02, 0.002
"""What is asked for: nine gaps of ten, every gap, and every violation at most this."""


def make_tables(found: Sequence[Found]) -> list[Table]:
    """Gaps by family and data, what infeasible problems are said to be, and the worst problems."""
    solvable = [one for one in found if one.truth is not None]
    return [table for table in (_gaps(solvable, len(found)), _infeasible(found), _worst(solvable)) if table.rows]


def _gaps(found: Sequence[Found], known: int) -> Table:
    rows = []
    for (family, kind), group in groupby(sorted(found, key=_place), key=lambda one: (one.family, one.kind)):
        rows.append((family, kind, *_cells(list(group))))
    if found:
        rows.append(("all", "", *_cells(found)))
    slack = max((one.slack for one in found), default=0.0)
    note = (
        f"{known} of {len(every_case())} problems were measured, and some mixture solves {len(found)} of them. Gap to "
        f"the optimum on the data given to `fit`, in units of the objective: median / 90 % / worst. Violation: "
        "the largest. Statuses: how many say what is not so. "
        f"Truths are had by some mixture, and no mixture is better by more than {slack:.1g}. "
        + " ".join(map(_verdict, _shares(found)))
    )
    header = ["problems", "data", "n"]
    for way in WAYS:
        header += [f"`{way}`: gap", "violation", "wrong statuses"]
    return Table("Gaps to the optimum", note, tuple(header), tuple(rows))


def _place(one: Found) -> tuple[int, str]:
    return (*FAMILIES, *OF_CLASSES).index(one.family), one.kind


def _cells(group: Sequence[Found]) -> list[str]:
    cells = [str(len(group))]
    for way in WAYS:
        measured = [one for one in group if way in one.reached]
        if not measured:
            cells += [_NONE] * 3
            continue
        gaps = [one.gap(way) for one in measured]
        low, high = np.quantile(gaps, [0.5, 0.9])
        cells.append(" / ".join(_number(value) for value in (low, high, max(gaps))))
        cells.append(_number(max(one.reached[way].violation for one in measured)))
        cells.append(str(sum(bool(one.wrong(way)) for one in measured)))
    return cells


def _shares(found: Sequence[Found]) -> list[tuple[str, float, float, int]]:
    """By way: the share of gaps that are close, the worst gap, and how many violations are not small."""
    made = []
    for way in WAYS:
        measured = [one for one in found if way in one.reached]
        if not measured:
            continue
        gaps = np.array([one.gap(way) for one in measured])
        broken = sum(one.reached[way].violation > KEPT for one in measured)
        made.append((way, float((gaps <= CLOSE).mean()), float(gaps.max()), broken))
    return made


def _verdict(share: tuple[str, float, float, int]) -> str:
    way, close, worst, broken = share
    return (
        f"`{way}`: {close:.1%} of gaps at most {CLOSE:g} (90 % are asked for), the worst {_number(worst)} (at most "
        f"{FAR:g} is), violations above {KEPT:g} in {broken} (none is)."
    )


def _infeasible(found: Sequence[Found]) -> Table:
    rows = []
    none = sorted((one for one in found if one.truth is None), key=_place)
    for kind, group in groupby(sorted(none, key=lambda one: one.kind), key=lambda one: one.kind):
        known = list(group)
        said = [
            str(sum(not one.reached[way].said_feasible for one in known)) if way in known[0].reached else _NONE
            for way in WAYS
        ]
        rows.append((kind, str(len(known)), *said))
    note = "Problems that no mixture of any linear classifiers solves, and how many of them are said to be such."
    return Table("Infeasible problems", note, ("data", "n", *(f"`{way}`" for way in WAYS)), tuple(rows))


def _worst(found: Sequence[Found]) -> Table:
    found = [one for one in found if CLASSIFIER in one.reached]

    def badness(one: Found) -> float:
        reached = one.reached[CLASSIFIER]
        return max(one.gap(CLASSIFIER) / FAR, reached.violation / KEPT, float(bool(one.wrong(CLASSIFIER))))

    rows = []
    for one in sorted(found, key=badness, reverse=True)[:WORST]:
        reached = one.reached[CLASSIFIER]
        values = (one.truth, reached.objective, one.gap(CLASSIFIER), reached.violation)
        rows.append((one.name, *map(_number, values), one.wrong(CLASSIFIER) or _NONE))
    note = f"The {len(rows)} worst of `{CLASSIFIER}`, by gap, violation and status."
    return Table("The worst", note, ("problem", "optimum", "reached", "gap", "violation", "status"), tuple(rows))


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return _NONE
    return "0" if abs(value) < 5e-5 else f"{value:.4f}".lstrip("0") if value < 1 else f"{value:.4f}"
