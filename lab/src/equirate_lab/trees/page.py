"""Tables and plots of the measurements: error at given gaps, the gap achieved beside the one asked for, and time.

In: lines of `runner`. Out: Markdown and SVG. Every number says over how many splits it is a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..benchmarks.plot import COLOURS, FAINT, INK, _line, _svg, _text
from ..experiments.tables import Table
from .methods import METHODS
from .runner import Line

GAPS = (0.03, 0.05, 0.1)
DATA = {"acs": "ACSIncome", "adult": "Adult", "compas": "COMPAS", "law_school": "Law School"}
CENSUS = ("acs", "adult")
KINDS = {
    "dp": "demographic parity",
    "tpr": "equal opportunity",
    "odds": "equalized odds",
    "f1": "F1 parity",
    "precision": "a precision of 0.8 less the level in each group",
    "kl": "KL divergence of each group's predicted share",
}
ABSENT = "–"
GROUPED = {"race": "four race groups, all pairs", "sex": "women and men", "group": "protected group and others"}
CURVED = ("dp", "tpr", "odds")
"""Kinds whose level is a gap between groups."""


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
    """A table for each problem on census data: what is asked, what is achieved, and the error at given gaps."""
    made = []
    for (data, attribute, kind), found in grouped(lines):
        if data not in CENSUS:
            continue
        rows = []
        for name, method in METHODS.items():
            own = [line for line in found if line["method"] == name]
            if own:
                rows.append(_row(method.title, own, found, kind, method.aware))
        header: tuple[str, ...] = ("method", "told the group", "splits")
        header += tuple(f"error at gap ≤ {gap}" for gap in GAPS) if kind in CURVED else ()
        header += ("asked: achieved (error)", "CPU s")
        note = (
            "Means over the splits. The error at a gap is read off the curve of mean error over mean gap, level by "
            "level, that ends at the unconstrained classifier; ± is the standard error (leaving out a split at a time)."
        )
        made.append(Table(f"{DATA[data]}: {KINDS[kind]}, {GROUPED[attribute]}", note, header, tuple(rows)))
    return made


def curve(own: Sequence[Line], found: Sequence[Line], splits: Sequence[int]) -> list[tuple[float, float]]:
    """Mean gap and mean error of each level that all splits have, and of the unconstrained classifier."""
    points = []
    free = [line for line in found if line["method"] == "lightgbm"]
    for some in (*(_at(own, level) for level in sorted({line["level"] for line in own})), free):
        chosen = [line for line in some if line["split"] in splits]
        if {line["split"] for line in chosen} == set(splits):
            points.append((float(np.mean([p["gap"] for p in chosen])), float(np.mean([p["error"] for p in chosen]))))
    return points


def _at(lines: Sequence[Line], level: float) -> list[Line]:
    return [line for line in lines if line["level"] == level]


def _splits(lines: Sequence[Line]) -> list[int]:
    """The splits of the level that has most; levels that lack one of them are no part of the curve."""
    found = [{int(line["split"]) for line in _at(lines, level)} for level in sorted({line["level"] for line in lines})]
    most = max(len(splits) for splits in found)
    return sorted(next(splits for splits in found if len(splits) == most))


def read_off(own: Sequence[Line], found: Sequence[Line], splits: Sequence[int], gap: float) -> float:
    """Error of a method at a gap, over some splits; NaN where its curve does not reach so far."""
    points = curve(own, found, splits)
    return at_gap(points, gap) if points else float("nan")


def jackknife(value: Callable[[Sequence[int]], float], splits: Sequence[int]) -> tuple[float, float]:
    """A number over some splits, and its standard error by leaving out one at a time (NaN for fewer than two).

    Examples
    --------
    >>> mean, error = jackknife(lambda some: float(np.mean(some)), [1, 2, 3])
    >>> mean, round(error, 4), round(float(np.std([1, 2, 3], ddof=1) / np.sqrt(3)), 4)
    (2.0, 0.5774, 0.5774)
    """
    count = len(splits)
    if count < 2:
        return value(splits), float("nan")
    parts = np.array([value([s for s in splits if s != out]) for out in splits])
    return value(splits), float(np.sqrt((count - 1) / count * ((parts - parts.mean()) ** 2).sum()))


def _said(value: float, error: float, form: str = ".4f") -> str:
    if not np.isfinite(value):
        return ABSENT
    return f"{value:{form}}" + (f" ± {error:.4f}" if np.isfinite(error) else "")


def _row(title: str, own: Sequence[Line], found: Sequence[Line], kind: str, aware: bool) -> tuple[str, ...]:
    splits, whole = sorted({line["split"] for line in own}), _splits(own)
    cells = [title, "yes" if aware else "no", str(len(splits))]
    if kind in CURVED:
        free = own[0]["method"] == "lightgbm"
        several = len({line["level"] for line in own}) > 1  # one point and the unconstrained one are no curve
        for gap in GAPS:
            shown = several and not free and whole
            cells.append(_said(*jackknife(partial(read_off, own, found, gap=gap), whole)) if shown else ABSENT)
    said = []
    for level in sorted({line["level"] for line in own}):
        some = _at(own, level)
        achieved, error = (np.mean([line[name] for line in some]) for name in ("gap", "error"))
        more = f" ± {_error([line['gap'] for line in some]):.3f}" if len(some) > 1 else ""
        said.append(f"{level:g}: {achieved:.3f}{more} ({error:.4f})")
    cells += ["; ".join(said), f"{np.mean([line['seconds'] for line in own]):.1f}"]
    return tuple(cells)


def _error(values: Sequence[float]) -> float:
    """Standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


RIVALS = ("oracle", "boosted", "fairgbm", "reductions")
"""What is blind, too."""


def limits(lines: Sequence[Line]) -> Table:
    """What was to be shown: differences of errors at the same gap, over the splits that both methods have."""
    rows = []
    for (data, attribute, kind), found in grouped(lines):
        if data not in CENSUS or kind not in CURVED:
            continue
        place = f"{DATA[data]}, {attribute}, {KINDS[kind]}"
        pairs = [("trees_aware", "error_parity"), ("trees", "trees_aware"), *(("trees", name) for name in RIVALS)]
        for one, other in pairs:
            first, second = ([line for line in found if line["method"] == name] for name in (one, other))
            if not first or not second:
                continue
            splits = sorted(set(_splits(first)) & set(_splits(second)))
            if splits:
                cells = [_difference(first, second, found, splits, gap) for gap in GAPS]
                if len({line["level"] for line in second}) == 1:  # between it and the unconstrained one is no curve
                    cells = [ABSENT] * len(GAPS)
                own_gap = _where_it_is(first, second, found, splits)
                rows.append((place, f"{_short(one)} less {_short(other)}", str(len(splits)), *cells, own_gap))
    note = (
        "Differences of errors at the same gap on test rows, over the splits that both have: below 0, the first has "
        "fewer errors. ± is the standard error. The last column compares at the gap that the second achieved itself "
        "when it was asked for 0.05."
    )
    header = ("problem", "difference", "splits", *(f"at {gap}" for gap in GAPS), "at the second's own gap")
    return Table("Beside each other", note, header, tuple(rows))


def _difference(
    first: Sequence[Line], second: Sequence[Line], found: Sequence[Line], splits: Sequence[int], gap: float
) -> str:
    def value(some: Sequence[int]) -> float:
        return read_off(first, found, some, gap) - read_off(second, found, some, gap)

    return _said(*jackknife(value, splits), form="+.4f")


def _where_it_is(
    first: Sequence[Line], second: Sequence[Line], found: Sequence[Line], splits: Sequence[int], level: float = 0.05
) -> str:
    def value(some: Sequence[int]) -> float:
        chosen = [line for line in _at(second, level) if line["split"] in some]
        if not chosen:
            return float("nan")
        gap, error = (float(np.mean([line[name] for line in chosen])) for name in ("gap", "error"))
        return read_off(first, found, some, gap) - error

    return _said(*jackknife(value, splits), form="+.4f")


def _short(name: str) -> str:
    return {"trees": "blind", "trees_aware": "aware", "error_parity": "error-parity", "reductions": "fairlearn"}.get(
        name, METHODS[name].title.removeprefix("equirate, ")
    )


def generalises(lines: Sequence[Line]) -> Table:
    """Whether constraints hold on new rows: trees beside the linear model, asked for the same on the same splits."""
    rows = []
    for (data, attribute, kind), found in grouped(lines):
        if kind not in ("dp", "tpr"):
            continue
        own = {
            name: {(line["split"], line["level"]): line for line in found if line["method"] == name}
            for name in ("linear", "trees")
        }
        for level in sorted({key[1] for key in own["linear"]}):
            both = sorted(key for key in own["linear"].keys() & own["trees"].keys() if key[1] == level)
            if len(both) < 2:
                continue
            beyond = {name: [max(own[name][key]["gap"] - level, 0.0) for key in both] for name in own}
            cells = [_said(float(np.mean(some)), _error(some)) for some in beyond.values()]
            apart = np.subtract(beyond["trees"], beyond["linear"]).tolist()
            errors = [f"{np.mean([own[name][key]['error'] for key in both]):.4f}" for name in own]
            difference = _said(float(np.mean(apart)), _error(apart), "+.4f")
            place = (f"{DATA[data]}, {attribute}, {KINDS[kind]}", f"{level:g}", str(len(both)))
            rows.append((*place, *cells, difference, *errors))
    note = (
        "How far the gap on test rows is beyond what was asked for (0 where it is not), means over the splits with "
        "standard errors, and the difference split by split."
    )
    header = ("problem", "asked", "splits", "linear", "trees", "trees less linear", "error, linear", "error, trees")
    return Table("On new rows", note, header, tuple(rows))


def curves(lines: Sequence[Line]) -> str:
    """Error against the gap achieved on test rows: a panel for each problem, a line for each method."""
    panels = [(place, found) for place, found in grouped(lines) if place[2] in CURVED and place[0] in CENSUS]
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
    fits: dict[tuple[Any, ...], list[float]] = {}
    for line in lines:
        if line["method"] == "lightgbm":
            fits.setdefault((line["data"], line["attribute"], line["split"]), []).append(line["seconds"])
    plain = {place: float(np.mean(seconds)) for place, seconds in fits.items()}

    def ratios_of(name: str, affine: bool) -> list[str]:
        cells = []
        for data in CENSUS:
            ratios = [
                line["seconds"] / plain[place]
                for line in lines
                if line["method"] == name
                and line["data"] == data
                and (place := (data, line["attribute"], line["split"])) in plain
                and np.isfinite(line["seconds"])
                and (line["kind"] in CURVED) == affine
            ]
            cells.append(f"{np.median(ratios):.2f} ({len(ratios)} fits)" if ratios else ABSENT)
        return cells

    rows = []
    for name, method in METHODS.items():
        cells = [*ratios_of(name, affine=True), *ratios_of(name, affine=False)]
        if set(cells) != {ABSENT}:
            rows.append((method.title, *cells))
    note = (
        "How many times the processor time of one `LGBMClassifier` fit of 100 trees on the same rows; medians over all "
        "fits. Parity of rates is affine; F1 parity, precision and KL are not."
    )
    names = [f"{DATA[data]}, {kind}" for kind in ("affine", "ratios and KL") for data in CENSUS]
    return Table("Processor time", note, ("method", *names), tuple(rows))
