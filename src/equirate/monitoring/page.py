"""The bounds over time as one self-contained page: HTML and SVG, without scripts.

In: a `Monitor`. Out: a file for any browser, light or dark, without network access. Every name and value
from the data is escaped. The same monitor gives the same bytes.
"""

from __future__ import annotations

import math
import os
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from .._core.atomic import write_whole
from .following import Alarm, ConstraintStatus, Follower

if TYPE_CHECKING:
    from .monitor import Monitor

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720, 190, 64, 26, 8
_CLASSES = {"kept": "pass", "broken": "fail", "cannot tell": "cannot-tell"}
_MARKS = {"kept": "✓", "broken": "✗", "cannot tell": "?"}
_STYLE = """
svg { display: block; width: 100%; height: auto; margin: .4rem 0; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
.band { fill: var(--ours); opacity: .18; }
.line { fill: none; stroke: var(--ours); stroke-width: 2; }
.zero { stroke: var(--ink); stroke-dasharray: 4 3; }
.grid { stroke: var(--rule); }
.alarm { stroke: var(--fail); stroke-width: 2; }
"""

Point = tuple[int, float, float, float]
"""Rows, estimate, lower and upper bound."""


def write_page(monitor: Monitor, path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Write the page atomically, and return its path."""
    write_whole(path, [page(monitor, title).encode()])
    return Path(path)


def page(monitor: Monitor, title: str | None = None) -> str:
    """The page as text."""
    statuses, followers = monitor.status(), monitor.followers
    heading = escape(title or "Are the constraints still kept?")
    style = (files("equirate.reports") / "templates" / "style.css").read_text("utf-8")
    worst = next(
        (v for v in ("broken", "cannot tell") if v in {s.verdict for s in statuses}),
        "kept" if statuses else "cannot tell",
    )
    charts = "\n".join(_constraint(status, follower) for status, follower in zip(statuses, followers, strict=True))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>{heading}</title>
<link rel="icon" href="data:,">
<style>
{style}{_STYLE}</style>
</head>
<body>
<header>
<p class="kind">equirate monitor</p>
<h1>{heading}</h1>
</header>
<main>
<section class="verdict {_CLASSES[worst]}" aria-label="Verdict">
<p class="sentence"><span class="mark-of" aria-hidden="true">{_MARKS[worst]}</span>{escape(sentence(monitor))}</p>
<p>With {monitor.confidence:.0%} confidence all bounds below hold at all times together, however often one looks. A
violation is signed: negative is room to spare.</p>
{"".join(f"<p>{escape(_sentence(alarm))}</p>" for alarm in monitor.alarms)}
</section>
<section aria-labelledby="followed">
<h2 id="followed">Violation and its bounds, by rows counted</h2>
{charts}
</section>
</main>
</body>
</html>
"""


def sentence(monitor: Monitor) -> str:
    """The verdict on all constraints in one sentence.

    Examples
    --------
    >>> import equirate as eq
    >>> sentence(eq.Monitor(eq.positive_rate() <= 0.3))
    'After 0 rows: 1 constraint cannot be decided yet.'
    """
    verdicts = [status.verdict for status in monitor.status()]
    if not verdicts:
        return "Nothing was counted yet."
    words = {"broken": "broken", "kept": "kept", "cannot tell": "cannot be decided yet"}
    counts = [(verdicts.count(verdict), word) for verdict, word in words.items() if verdict in verdicts]
    parts = [_part(count, word, first=not k) for k, (count, word) in enumerate(counts)]
    return f"After {monitor.rows:,} rows: {', '.join(parts)}."


def _part(count: int, word: str, first: bool) -> str:
    verb = "" if word.startswith("cannot") else "is " if count == 1 else "are "
    noun = f" constraint{'s' * (count > 1)}" if first else ""
    return f"{count}{noun} {verb}{word}"


def _sentence(alarm: Alarm) -> str:
    text = str(alarm)
    return text[0].upper() + text[1:] + "."


def _constraint(status: ConstraintStatus, follower: Follower) -> str:
    points = [(rows, *follower.bounds(counts)) for rows, counts in follower.history]
    shown = [point for point in points if all(map(math.isfinite, point))]
    badge = f'<span class="badge {_CLASSES[status.verdict]}"><span aria-hidden="true">{_MARKS[status.verdict]}</span> '
    return f"""<div class="card">
<h3><code>{escape(status.constraint)}</code></h3>
<p>{badge}{status.verdict}</span> {status.numbers}</p>
{_svg(shown, follower, f"{status.constraint}: {status.numbers}") if len(shown) > 1 else ""}
</div>"""


def _svg(points: list[Point], follower: Follower, words: str) -> str:
    """Estimate as a line, bounds as a band, the limit at 0, and the alarm."""
    low, high = _range(points)
    last = points[-1][0]

    def x(rows: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - 8) * rows / last, 1)

    def y(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * share, 1)

    above = [f"{x(rows)},{y(upper)}" for rows, _, _, upper in points]
    below = [f"{x(rows)},{y(lower)}" for rows, _, lower, _ in reversed(points)]
    line = " ".join(f"{x(rows)},{y(estimate)}" for rows, estimate, _, _ in points)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(words, quote=True)}">',
        *(_tick(value, y(value)) for value in _ticks(low, high)),
        f'<line class="zero" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y(0)}" y2="{y(0)}"/>',
        f'<polygon class="band" points="{" ".join([*above, *below])}"/>',
        f'<polyline class="line" points="{line}"/>',
    ]
    if follower.alarm is not None:
        place = x(min(follower.alarm.rows, last))
        parts.append(f'<line class="alarm" x1="{place}" x2="{place}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>')
        end = place > _WIDTH - 90
        anchor, at = ("end", place - 5) if end else ("start", place + 5)
        parts.append(f'<text x="{at}" y="{_TOP + 12}" text-anchor="{anchor}">alarm</text>')
    for rows in (0, last // 2, last):
        anchor = "start" if rows == 0 else "end" if rows == last else "middle"
        parts.append(f'<text x="{x(rows)}" y="{_HEIGHT - 8}" text-anchor="{anchor}">{rows:,}</text>')
    return "\n".join([*parts, "</svg>"])


def _tick(value: float, place: float) -> str:
    grid = f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{place}" y2="{place}"/>'
    shown = f"{value:+.3g}" if value else "0"
    return f'{grid}<text x="{_LEFT - 8}" y="{place + 4}" text-anchor="end">{shown}</text>'


def _range(points: list[Point]) -> tuple[float, float]:
    """The range to show: the estimates, 0, and the bounds up to three times the width of the last ones."""
    later = points[len(points) // 5 :]
    _, estimate, lower, upper = points[-1]
    reach = 3 * max(upper - lower, 1e-3)
    low = min(0.0, max(min(point[2] for point in later), estimate - reach))
    high = max(0.0, min(max(point[3] for point in later), estimate + reach))
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers in a range."""
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step = next(step * k for k in (0.5, 1, 2, 5) if (high - low) / (step * k) <= 5)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
