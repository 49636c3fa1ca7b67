"""Two plots as SVG files of their own: ratios as bars, growth as lines; all axes are logarithmic.

In: rows of ratios, and results of growth. Out: SVG as text, readable on light and dark pages.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from .ground import OURS
from .tables import Row
from .timing import spread

COLOURS = ("#3b6fb6", "#c2571a", "#3a8f4d", "#8a4fae", "#a8862b", "#4b8f9c")
INK, FAINT = "#777777", "#77777755"
_LINE = 22


def bars(rows: Sequence[Row]) -> str:
    """Ratios as bars from 1: to the right, equirate took less time; whiskers are quartiles."""
    left, width, top = 680, 1120, 44
    height = top + _LINE * len(rows) + 34
    lowest = min([0.5, *(row.ratio.low for row in rows)])
    highest = max([2.0, *(row.ratio.high for row in rows)])
    low, high = math.log10(lowest) - 0.05, math.log10(highest) + 0.05

    def across(value: float) -> float:
        return left + (math.log10(max(value, lowest)) - low) / (high - low) * (width - left - 70)

    parts = [_text(left - 8, 20, "the other's time / equirate's", "end")]
    for tick in _ticks(low, high):
        x = across(tick)
        parts.append(_line(x, top - 8, x, height - 26, INK if tick == 1 else FAINT))
        parts.append(_text(x, height - 10, f"{tick:g}×", "middle"))
    for k, row in enumerate(rows):
        y = top + _LINE * k + _LINE / 2
        start, end = sorted((across(1.0), across(row.ratio.median)))
        colour = COLOURS[0] if row.ratio.median >= 1 else COLOURS[1]
        parts.append(_text(left - 8, y + 4, f"{row.title}: {row.what}", "end"))
        parts.append(
            f'<rect x="{start:.1f}" y="{y - 7:.1f}" width="{max(end - start, 1):.1f}" height="14" fill="{colour}"/>'
        )
        parts.append(_line(across(row.ratio.low), y, across(row.ratio.high), y, INK, 2))
        parts.append(_text(max(end, across(row.ratio.high)) + 6, y + 4, f"{row.ratio.median:.3g}×"))
    return _svg(width, height, "Ratios of times", parts)


def curves(cells: Sequence[dict[str, Any]]) -> str:
    """Time against size, a panel for each curve."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    units: dict[str, str] = {}
    for cell in cells:
        for comparison in cell["comparisons"] if cell["curve"] else ():
            lines = found.setdefault(cell["curve"], {})
            point = (cell["x"], spread(comparison["samples"][OURS]).median)
            lines.setdefault(comparison["what"], []).append(point)
            units[cell["curve"]] = comparison["unit"]
    return panels(found, units)


def panels(found: dict[str, dict[str, list[tuple[float, float]]]], units: dict[str, str]) -> str:
    """Lines of points by name, in a panel for each curve, three beside each other."""
    side, parts = 320, []
    for k, (name, lines) in enumerate(found.items()):
        parts += _panel(name, lines, units[name], (k % 3) * side, (k // 3) * side, side)
    return _svg(3 * side, max(1, math.ceil(len(found) / 3)) * side, "Growth", parts)


def _panel(
    name: str, lines: dict[str, list[tuple[float, float]]], unit: str, x0: float, y0: float, side: float
) -> list[str]:
    xs = [math.log10(x) for points in lines.values() for x, _ in points]
    ys = [math.log10(max(y, 1e-9)) for points in lines.values() for _, y in points]
    x_low, x_high, y_low, y_high = min(xs) - 0.1, max(xs) + 0.1, min(ys) - 0.3, max(ys) + 0.3
    y_high += 0.35 * (y_high - y_low) if len(lines) > 1 else 0.0  # room for names

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = (math.log10(x) - x_low) / (x_high - x_low), (math.log10(max(y, 1e-9)) - y_low) / (y_high - y_low)
        return x0 + 56 + across * (side - 76), y0 + side - 44 - up * (side - 84)

    parts = [_text(x0 + side / 2, y0 + 20, f"{unit} by {name}", "middle")]
    for tick in _ticks(x_low, x_high):
        x, y = at(tick, 10**y_low)
        parts += [_line(x, y, x, y0 + 40, FAINT), _text(x, y + 16, f"{tick:,.6g}", "middle")]
    for tick in _ticks(y_low, y_high):
        x, y = at(10**x_low, tick)
        parts += [_line(x, y, x0 + side - 20, y, FAINT), _text(x - 5, y + 4, f"{tick:.4g}", "end")]
    for k, (what, points) in enumerate(lines.items()):
        colour = COLOURS[k % len(COLOURS)]
        places = [at(*point) for point in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places]
        if len(lines) > 1:
            parts.append(_text(x0 + 62, y0 + 52 + 14 * k, what, colour=colour))
    return parts


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten between two logarithms, with 2 and 5 in between where there is room.

    Examples
    --------
    >>> _ticks(-0.4, 1.1)
    [0.5, 1.0, 2.0, 5.0, 10.0]
    >>> _ticks(0.5, 4.2)
    [10.0, 100.0, 1000.0, 10000.0]
    """
    factors = (1, 2, 5) if high - low < 2 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    found = [round(factor * 10.0**power, 12) for power in powers for factor in factors]
    return [tick for tick in found if low <= math.log10(tick) <= high]


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="12" role="img"><title>{html.escape(title)}</title>'
    )
    return head + "\n".join(parts) + "</svg>\n"


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{html.escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width:g}"/>'
