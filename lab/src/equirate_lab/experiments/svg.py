"""Small plots as inline SVG: points with error bars, and lines. Colours come from the page's style sheet.

In: series of numbers. Out: one ``<svg>`` element as text. A series has a role, which is a class of the style sheet and
gives its colour, and may have a mark, a letter or two that tell its points from others of that role.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 14, 46


@dataclass(frozen=True)
class Series:
    """Points to draw: joined by a line or not, with error bars or not, filled or hollow, with a letter or not."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    role: str = "ours"
    mark: str = ""
    line: bool = False
    hollow: bool = False
    x_error: Sequence[float] = ()
    y_error: Sequence[float] = ()


def plot(
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    title: str,
    *,
    x_line: float | None = None,
) -> str:
    """Draw series in one frame; ``x_line`` marks a limit on the x axis."""
    drawn = [_finite(s) for s in series]
    xs = [x for s in drawn for x in _reach(s.x, s.x_error)] + ([] if x_line is None else [x_line])
    ys = [y for s in drawn for y in _reach(s.y, s.y_error)]
    if not ys:
        return f"<p>{html.escape(title)}: nothing to draw.</p>"
    x_low, x_high, x_ticks = _scale(xs)
    y_low, y_high, y_ticks = _scale(ys)

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = (x - x_low) / (x_high - x_low), (y - y_low) / (y_high - y_low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">']
    parts.append(f"<title>{html.escape(title)}</title>")
    for tick in x_ticks:
        x, y = at(tick, y_low)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{_number(tick)}</text>')
    for tick in y_ticks:
        x, y = at(x_low, tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    if x_line is not None:
        x, y = at(x_line, y_low)
        parts.append(f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{y:.1f}"/>')
    for s in drawn:
        parts += _series(s, at)
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    parts.append(
        f'<text class="label" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(x_label)}</text>'
    )
    parts.append(
        f'<text class="label" transform="translate(13 {TOP + (HEIGHT - TOP - BOTTOM) / 2}) rotate(-90)" '
        f'text-anchor="middle">{html.escape(y_label)}</text></svg>'
    )
    return "".join(parts)


def _series(s: Series, place: Callable[[float, float], tuple[float, float]]) -> list[str]:
    points = [place(x, y) for x, y in zip(s.x, s.y, strict=True)]
    parts = []
    if s.line and len(points) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="{s.role}" points="{path}"/>')
        if len(points) > 20:
            return parts
    for k, (x, y) in enumerate(points):
        if s.x_error:
            (x1, _), (x2, _) = place(s.x[k] - s.x_error[k], s.y[k]), place(s.x[k] + s.x_error[k], s.y[k])
            parts.append(f'<line class="bar {s.role}" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        if s.y_error:
            (_, y1), (_, y2) = place(s.x[k], s.y[k] - s.y_error[k]), place(s.x[k], s.y[k] + s.y_error[k])
            parts.append(f'<line class="bar {s.role}" x1="{x:.1f}" x2="{x:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>')
        hint = html.escape(f"{s.name}: {s.y[k]:.4g} ({s.x[k]:.4g})")
        parts.append(
            f'<g><title>{hint}</title><circle class="{_kind(s)}" cx="{x:.1f}" cy="{y:.1f}" r="{7.5 if s.mark else 4}"/>'
        )
        if s.mark:
            letter = html.escape(s.mark)
            parts.append(f'<text class="{_kind(s)}" x="{x:.1f}" y="{y + 3.4:.1f}" text-anchor="middle">{letter}</text>')
        parts.append("</g>")
    return parts


def legend(series: Sequence[Series]) -> str:
    """Name every series once: the same points, with the same letters, and their names."""
    names = {s.name: s for s in series}
    entries = "".join(
        f'<li><svg viewBox="0 0 18 18" aria-hidden="true"><circle class="{_kind(s)}" cx="9" cy="9" r="7.5"/>'
        f'<text class="{_kind(s)}" x="9" y="12.4" text-anchor="middle">{html.escape(s.mark)}</text></svg>'
        f"{html.escape(name)}</li>"
        for name, s in names.items()
    )
    return f'<ul class="legend">{entries}</ul>'


def _reach(values: Sequence[float], errors: Sequence[float]) -> list[float]:
    """The values, and the ends of their error bars."""
    ends = [value + sign * error for value, error in zip(values, errors, strict=False) for sign in (-1, 1)]
    return [*values, *ends]  # there may be no errors at all


def _kind(s: Series) -> str:
    """The classes of a point."""
    return f"{'hollow' if s.hollow else 'dot'} {s.role}"


def _finite(s: Series) -> Series:
    kept = [k for k in range(len(s.x)) if math.isfinite(s.x[k]) and math.isfinite(s.y[k])]

    def of(values: Sequence[float]) -> list[float]:
        return [values[k] if math.isfinite(values[k]) else 0.0 for k in kept] if values else []

    return replace(s, x=of(s.x), y=of(s.y), x_error=of(s.x_error), y_error=of(s.y_error))


def _scale(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """Limits with a little room, and round ticks inside them."""
    low, high = min(values), max(values)
    room = 0.07 * (high - low) or 0.07 * abs(high) or 0.5
    low, high = low - room, high + room
    step = 10.0 ** math.floor(math.log10((high - low) / 3))
    step *= next((factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6), 10)
    first = math.ceil(low / step)
    return low, high, [k * step for k in range(first, math.floor(high / step) + 1)]


def _number(value: float) -> str:
    text = f"{value:.6g}"
    return "0" if text == "-0" else text
