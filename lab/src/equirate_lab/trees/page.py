"""Tables and plots of the measurements: error at given gaps, the gap achieved beside the one asked for, and time.

In: lines of `runner`. Out: Markdown and SVG. Every number says over how many splits it is a mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..benchmarks.plot import COLOURS, FAINT, INK, _line, _svg, _text
from ..experiments.tables import Table
from .methods import METHODS
from .runner import Line

GAPS = (0.03, 0.05, 0.1)
DATA = {"acs": "ACSIncome", "adult": "Adult"}
KINDS = {
    "dp": "demographic parity",
    "tpr": "equal opportunity",
    "odds": "equalized odds",
    "f1": "F1 parity",
    "precision": "a precision of 0.8 less the level in each group",
    "kl": "KL divergence of each group's predicted share",
}
ABSENT = "–"
GROUPED = {"race": "four race groups, all pairs", "sex": "women and men"}


def grouped(lines: Sequence[Line]) -> Iterator[tuple[tuple[str, str, str], list[Line]]]:
    """Lines of each problem, in the order of the tables; those of rivals that failed are left out."""
    for data in DATA:
        for attribute in GROUPED:
            for kind in KINDS:
                place = data, attribute, kind
                found = [
                    line
                    for line in lines
                    if (line["data"], line["attribute"], line["kind"]) == place and np.isfinite(line["error"])
                ]
                if found:
                    yield place, found


def at_gap(points: Sequence[tuple[float, float]], gap: float) -> float:
    """Error at a gap on the lower edge of a trade-off curve, between its points; NaN outside of them.

    Examples
    --------
    >>> round(at_gap([(0.02, 0.21), (0.06, 0.19)], 0.04), 4)
    0.2
    >>> at_gap([(0.05, 0.2)], 0.03)
    nan
    """
    edge: list[tuple[float, float]] = []
    for x, y in sorted(points):  # a larger gap counts only where it buys a smaller error
        if not edge or y < edge[-1][1]:
            edge.append((x, y))
    xs, ys = zip(*edge, strict=True)
    if gap < xs[0]:
        return float("nan")
    return float(np.interp(gap, xs, ys))


def tables(lines: Sequence[Line]) -> list[Table]:
    """A table for each problem: what is asked of each method, what it achieves, and the error at given gaps."""
    made = []
    for (data, attribute, kind), found in grouped(lines):
        free = {line["split"]: (line["gap"], line["error"]) for line in lines if _is_free(line, data, attribute, kind)}
        rows = []
        for name, method in METHODS.items():
            own = [line for line in found if line["method"] == name]
            if own:
                rows.append(_row(method.title, own, free, kind, method.aware))
        header: tuple[str, ...] = ("method", "told the group", "splits")
        header += tuple(f"error at gap ≤ {gap}" for gap in GAPS) if kind in ("dp", "tpr", "odds") else ()
        header += ("asked: achieved (error)", "CPU s")
        note = "Means over the splits; the error at a gap is that of the lower edge of each split's curve."
        made.append(Table(f"{DATA[data]}: {KINDS[kind]}, {GROUPED[attribute]}", note, header, tuple(rows)))
    return made


def _is_free(line: Line, data: str, attribute: str, kind: str) -> bool:
    return (line["data"], line["attribute"], line["kind"], line["method"]) == (data, attribute, kind, "lightgbm")


def _row(
    title: str, own: Sequence[Line], free: dict[int, tuple[float, float]], kind: str, aware: bool
) -> tuple[str, ...]:
    splits = sorted({line["split"] for line in own})
    cells = [title, "yes" if aware else "no", str(len(splits))]
    if kind in ("dp", "tpr", "odds"):
        for gap in GAPS:
            values = []
            for split in splits:
                points = [(line["gap"], line["error"]) for line in own if line["split"] == split]
                points += [free[split]] if split in free and len(points) > 1 else []
                values.append(at_gap(points, gap))
            known = [value for value in values if np.isfinite(value)]
            cells.append(f"{np.mean(known):.4f}" if len(known) == len(splits) else ABSENT)
    said = []
    for level in sorted({line["level"] for line in own}):
        some = [line for line in own if line["level"] == level]
        achieved, error = (np.mean([line[name] for line in some]) for name in ("gap", "error"))
        spread = np.std([line["gap"] for line in some]) / max(np.sqrt(len(some)), 1)
        more = f" ± {spread:.3f}" if len(some) > 1 else ""
        said.append(f"{level:g}: {achieved:.3f}{more} ({error:.4f})")
    cells += ["; ".join(said), f"{np.mean([line['seconds'] for line in own]):.1f}"]
    return tuple(cells)


def curves(lines: Sequence[Line]) -> str:
    """Error against the gap achieved on test rows: a panel for each problem, a line for each method."""
    panels = [(place, found) for place, found in grouped(lines) if place[2] in ("dp", "tpr", "odds")]
    side, parts = 380, []
    for k, (place, found) in enumerate(panels):
        parts += _panel(place, found, (k % 2) * side, (k // 2) * side, side)
    names = list(METHODS)
    below = (len(panels) + 1) // 2 * side
    for k, name in enumerate(names):
        x, y = 20 + (k % 2) * side, below + 20 + 18 * (k // 2)
        parts.append(_text(x, y, METHODS[name].title, colour=_colour(name)))
    return _svg(2 * side, below + 30 + 18 * ((len(names) + 1) // 2), "Error against gap", parts)


def _colour(name: str) -> str:
    colours = (*COLOURS, "#c23b6b", "#5b7f2b", "#444444", "#7a5230", "#2f6f8f")
    return colours[list(METHODS).index(name) % len(colours)]


def _panel(place: tuple[str, str, str], found: Sequence[Line], x0: float, y0: float, side: float) -> list[str]:
    means: dict[str, list[tuple[float, float]]] = {}
    for name in METHODS:
        levels = sorted({line["level"] for line in found if line["method"] == name})
        for level in levels:
            some = [line for line in found if line["method"] == name and line["level"] == level]
            point = tuple(float(np.mean([line[key] for line in some])) for key in ("gap", "error"))
            means.setdefault(name, []).append((point[0], point[1]))
    every = [point for points in means.values() for point in points]
    xs, ys = zip(*every, strict=True)
    (x_low, x_high), (y_low, y_high) = (
        (min(values) - 0.02 * (max(values) - min(values) + 1e-9), max(values) * 1.02) for values in (xs, ys)
    )

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = (x - x_low) / (x_high - x_low), (y - y_low) / (y_high - y_low)
        return x0 + 58 + across * (side - 78), y0 + side - 44 - up * (side - 90)

    data, attribute, kind = place
    parts = [_text(x0 + side / 2, y0 + 20, f"{DATA[data]}, {attribute}: {KINDS[kind]}", "middle")]
    for tick in np.linspace(x_low, x_high, 5):
        x, y = at(float(tick), y_low)
        parts += [_line(x, y, x, y0 + 46, FAINT), _text(x, y + 16, f"{tick:.2f}", "middle")]
    for tick in np.linspace(y_low, y_high, 5):
        x, y = at(x_low, float(tick))
        parts += [_line(x, y, x0 + side - 20, y, FAINT), _text(x - 5, y + 4, f"{tick:.3f}", "end")]
    for name, points in means.items():
        places = [at(*point) for point in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dashes = ' stroke-dasharray="5 3"' if METHODS[name].aware else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_colour(name)}" stroke-width="2"{dashes}/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_colour(name)}"/>' for x, y in places]
    parts.append(_text(x0 + side / 2, y0 + side - 10, "gap on test rows", "middle", INK))
    return parts


def failed(lines: Sequence[Line]) -> list[str]:
    """What could not be measured."""
    return sorted(
        {
            f"{METHODS[line['method']].title}: {DATA[line['data']]}, {KINDS[line['kind']]}"
            for line in lines
            if not np.isfinite(line["error"])
        }
    )


def cost(lines: Sequence[Line]) -> Table:
    """Processor time of every method beside that of one plain fit of LightGBM on the same rows."""
    plain: dict[tuple[Any, ...], float] = {}
    for line in lines:
        if line["method"] == "lightgbm":
            plain[line["data"], line["attribute"], line["split"]] = line["seconds"]
    rows = []
    for name, method in METHODS.items():
        cells = [method.title]
        for data in DATA:
            ratios = [
                line["seconds"] / plain[place]
                for line in lines
                if line["method"] == name
                and line["data"] == data
                and (place := (data, line["attribute"], line["split"])) in plain
                and np.isfinite(line["seconds"])
            ]
            cells.append(f"{np.median(ratios):.1f} ({len(ratios)} fits)" if ratios else ABSENT)
        rows.append(tuple(cells))
    note = "How many times the processor time of one `LGBMClassifier` fit of 100 trees; medians over all fits."
    return Table("Processor time", note, ("method", *DATA.values()), tuple(rows))
