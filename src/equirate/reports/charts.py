"""The charts of a report's page, as Vega-Lite specifications made with altair.

In: a `Report`. Out: specifications as plain data, one per chart, each with a sentence for readers who cannot see it.
Colours are CSS variables of the page, so that a chart follows the light, dark and print styles. Names from the data are
values of fixed fields, never parts of a specification. The parameter ``at`` is the point of the frontier that the
reader has selected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .facts import SHOWN, RateName, RateValue
from .words import number, share, signed

if TYPE_CHECKING:
    from .report import Report

NEEDED = "the page needs jinja2, altair and vl-convert-python: pip install 'equirate[report]'"
OURS, BASELINE, MOVED = "this classifier", "baseline", "at the slider"
_BAND = 26
_LINES = 4000
"""Most points in a chart of the rounds; with many configurations, some rounds are left out."""


@dataclass(frozen=True)
class Chart:
    """A specification, its heading, and its description in words."""

    key: str
    title: str
    words: str
    spec: dict[str, Any]


def altair() -> Any:
    """The charting library; an error says what to install."""
    try:
        import altair as alt
    except ImportError:
        raise ImportError(NEEDED) from None
    return alt


def configured(chart: Any) -> dict[str, Any]:
    """A chart with the page's look, as plain data."""
    font = "system-ui, sans-serif"
    axis = {"labelColor": "var(--soft)", "titleColor": "var(--soft)", "gridColor": "var(--rule)", "labelFontSize": 12}
    axis |= {"domain": False, "ticks": False, "labelPadding": 6, "titleFontWeight": "normal", "titleFontSize": 12}
    config = {
        "aria": False,  # the page has a description in words
        "background": "transparent",
        "font": font,
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"labelLimit": 150, "grid": False},
        "rule": {"color": "var(--soft)"},
    }
    spec: dict[str, Any] = chart.configure(**config).to_dict()
    return spec


# -- violations ------------------------------------------------------------------------------------


def violations(report: Report) -> Chart:
    """Every constraint's signed violation with its bounds, beside the baseline's; right of 0 it is broken."""
    alt = altair()
    rows, values = [], []
    sides = [(OURS, report.last)] + ([] if report.baseline is None else [(BASELINE, report.baseline.evaluation)])
    for who, evaluation in sides:
        for k, c in enumerate(evaluation.constraints, start=1):
            row = {"name": f"{k}: {c.constraint}", "text": c.constraint, "who": who, "value": c.violation}
            rows.append(_finite(row | {"low": c.low, "high": c.high, "shown": signed(c.violation)}))
            if who == OURS:
                values.append(
                    f"constraint {k}, {c.constraint}, {signed(c.violation)}, from {signed(c.low)} to {signed(c.high)}"
                )
    chart = _dots(rows, "name", "text", alt.Axis(format="+.2~f", tickCount=5), True, above=True)
    return Chart("violations", "Violations", f"Violation with bounds, {OURS}: {'; '.join(values)}.", configured(chart))


# -- rates -----------------------------------------------------------------------------------------


def rates(report: Report) -> Iterator[Chart]:
    """A chart for each rate: every slice, with intervals; the baseline's and the slider's beside it."""
    for shown in SHOWN:
        ours = [rate for rate in report.rates if rate.rate == shown.name]
        if not ours:
            continue
        rows = [_rate(rate, OURS) for rate in ours]
        if report.baseline is not None:
            rows += [_rate(rate, BASELINE) for rate in report.baseline.rates if rate.rate == shown.name]
        moved = [
            _rate(rate, MOVED) | {"point": k}
            for k, point in enumerate(report.frontier)
            for rate in point.rates
            if rate.rate == shown.name
        ]
        labelled = _labelled(report) if shown.name == "positive_rate" else []
        chart = _dots(rows, "slice", "slice", altair().Axis(format=".0%", tickCount=5), False, moved, labelled)
        yield Chart(f"rate-{shown.name}", shown.short, _in_words(shown, ours), configured(chart))


def _in_words(shown: RateName, ours: Sequence[RateValue]) -> str:
    values = "; ".join(f"{r.slice} {share(r.value)} ({share(r.low)} to {share(r.high)})" for r in ours)
    return f"{shown.short.capitalize()} by group, {OURS}: {values}."


def _rate(rate: RateValue, who: str) -> dict[str, Any]:
    row = {"slice": rate.slice, "who": who, "value": rate.value, "low": rate.low, "high": rate.high}
    return _finite(row | {"shown": f"{share(rate.value)} [{share(rate.low)}, {share(rate.high)}]"})


def _labelled(report: Report) -> list[dict[str, Any]]:
    sizes = report.last.slices
    return [
        _finite({"slice": size.slice, "value": size.labelled, "shown": f"{share(size.labelled)} by the labels"})
        for size in sizes
    ]


def _dots(
    rows: list[dict[str, Any]],
    by: str,
    name: str,
    axis: Any,
    zero: bool,
    moved: Sequence[dict[str, Any]] = (),
    labelled: Sequence[dict[str, Any]] = (),
    above: bool = False,
) -> Any:
    """Dots with intervals on one line per name: ours above, the baseline below; long names are above their line."""
    alt = altair()
    sides = sorted({row["who"] for row in rows}, key=[OURS, BASELINE].index)
    scale = alt.Scale(domain=[OURS, BASELINE, MOVED], range=["var(--ours)", "var(--beside)", "var(--moved)"])
    y = alt.Y(f"{by}:N", sort=None, axis=None if above else alt.Axis(title=None))
    offset = alt.YOffset("who:N", scale=alt.Scale(domain=sides, paddingOuter=0.8))
    x = alt.X("value:Q", scale=alt.Scale(zero=False, nice=True, padding=12), axis=axis, title=None)
    tooltip = [alt.Tooltip(f"{name}:N", title=by), alt.Tooltip("who:N", title="of"), alt.Tooltip("shown:N", title="is")]
    color = alt.Color("who:N", scale=scale, legend=None)
    base = alt.Chart(alt.Data(values=rows))
    layers = []
    if zero:
        mark = alt.Chart(alt.Data(values=[{"x": 0}])).mark_rule(color="var(--ink)", strokeDash=[4, 3])
        layers.append(mark.encode(x=alt.X("x:Q", title=None)))
    bars = base.mark_rule(strokeWidth=2, opacity=0.55)
    layers.append(bars.encode(x=alt.X("low:Q", title=None), x2="high:Q", y=y, yOffset=offset, color=color))
    if labelled:
        ticks = alt.Chart(alt.Data(values=list(labelled)))
        tips = [alt.Tooltip("slice:N"), alt.Tooltip("shown:N", title="is")]
        layers.append(ticks.mark_tick(color="var(--ink)", thickness=2, size=_BAND * 0.8).encode(x=x, y=y, tooltip=tips))
    points = base.mark_point(filled=True, size=90, opacity=1)
    shape = alt.Shape("who:N", scale=alt.Scale(domain=[OURS, BASELINE], range=["circle", "square"]), legend=None)
    layers.append(points.encode(x=x, y=y, yOffset=offset, color=color, shape=shape, tooltip=tooltip))
    if moved:
        ring = alt.Chart(alt.Data(values=list(moved))).transform_filter("datum.point === at")
        ring = ring.mark_point(
            filled=False, shape="diamond", size=170, strokeWidth=2.5, color="var(--moved)", opacity=1
        )
        layers.append(ring.encode(x=x, y=y, tooltip=tooltip))
    if above:
        text = alt.Chart(alt.Data(values=[{by: name} for name in dict.fromkeys(row[by] for row in rows)]))
        place = {"align": "left", "baseline": "bottom", "dx": 2, "dy": -_BAND * 0.35}
        text = text.mark_text(**place, limit=alt.ExprRef("width"), color="var(--ink)")
        layers.append(text.encode(x=alt.value(0), y=y, text=f"{by}:N"))
    height = _BAND * ((1.4 if len(sides) > 1 else 1.0) + above) * len({row[by] for row in rows})
    chart = alt.layer(*layers).properties(width="container", height=round(height))
    return chart.add_params(alt.param(name="at", value=0)) if moved else chart


# -- frontier --------------------------------------------------------------------------------------


def frontier(report: Report) -> Chart:
    """Objective against the largest violation: the points, this classifier and the baseline."""
    alt = altair()
    points = [
        _finite({"point": k, "x": worst(p.evaluation), "y": p.evaluation.objective, "level": f"{p.level:+.4g}"})
        for k, p in enumerate(report.frontier)
    ]
    marks = [{"who": OURS, "x": worst(report.last), "y": report.last.objective}]
    if report.baseline is not None:
        evaluation = report.baseline.evaluation
        marks.append({"who": BASELINE, "x": worst(evaluation), "y": evaluation.objective})
    marks = [_finite(mark) for mark in marks]
    x = alt.X("x:Q", title=None, axis=alt.Axis(tickCount=6))
    y = alt.Y("y:Q", title=None, scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(grid=True, tickCount=5))
    x.scale = alt.Scale(zero=False, padding=16)
    tips = [alt.Tooltip("x:Q", title="violation", format="+.4f"), alt.Tooltip("y:Q", title="objective", format=".4f")]
    base = alt.Chart(alt.Data(values=points))
    color = alt.Color(
        "who:N", scale=alt.Scale(domain=[OURS, BASELINE], range=["var(--ours)", "var(--beside)"]), legend=None
    )
    shape = alt.Shape("who:N", scale=alt.Scale(domain=[OURS, BASELINE], range=["circle", "square"]), legend=None)
    zero = alt.Chart(alt.Data(values=[{"x": 0}])).mark_rule(color="var(--ink)", strokeDash=[4, 3]).encode(x="x:Q")
    line = base.mark_line(color="var(--soft)", strokeWidth=1.5, order=False).encode(x=x, y=y, order="point:Q")
    dots = base.mark_point(filled=True, size=45, opacity=1, color="var(--soft)")
    own = alt.Chart(alt.Data(values=marks)).mark_point(filled=True, size=160, opacity=1)
    ring = base.transform_filter("datum.point === at")
    ring = ring.mark_point(filled=False, shape="diamond", size=280, strokeWidth=3, color="var(--moved)", opacity=1)
    chart = alt.layer(
        zero,
        line,
        dots.encode(x=x, y=y, tooltip=[alt.Tooltip("level:N"), *tips]),
        own.encode(x=x, y=y, color=color, shape=shape, tooltip=[alt.Tooltip("who:N"), *tips]),
        ring.encode(x=x, y=y),
    ).properties(width="container", height=280)
    chart = chart.add_params(alt.param(name="at", value=0))
    values = "; ".join(
        f"level {p.level:+.4g}: {number(p.evaluation.objective)} at violation {signed(worst(p.evaluation))}"
        for p in report.frontier
    )
    return Chart(
        "frontier",
        "The trade-off",
        f"{report.objective} against the largest violation: {values}.",
        configured(chart),
    )


def worst(evaluation: Any) -> float:
    """Largest signed violation: negative where every constraint holds with room to spare."""
    return max((c.violation for c in evaluation.constraints if not math.isnan(c.violation)), default=0.0)


# -- the game --------------------------------------------------------------------------------------


def course(report: Report) -> Iterator[Chart]:
    """Objective and largest violation over the rounds, a line for each configuration."""
    record = report.course
    if record is None:
        return
    alt = altair()
    for key, title, values in (
        ("objective", report.objective, record.objective),
        ("violation", "largest violation", record.violation),
    ):
        step = max(1, math.ceil(len(values) * len(values[0]) / _LINES))
        rows = [
            {"round": round_, "line": line, "value": float(f"{value:.4g}")}
            for round_, row in list(zip(record.rounds, values, strict=True))[::step]
            for line, value in enumerate(row)
            if math.isfinite(value)
        ]
        chart = alt.Chart(alt.Data(values=rows)).mark_line(opacity=0.5, strokeWidth=1.2, color="var(--ours)")
        y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(grid=True, tickCount=4))
        chart = chart.encode(x=alt.X("round:Q", axis=alt.Axis(grid=False)), y=y, detail="line:N")
        ends = [row["value"] for row in rows if row["round"] == rows[-1]["round"]] or [math.nan]
        text = f"{title} over {record.rounds[-1]:,} rounds; at the end from {number(min(ends))} to {number(max(ends))}."
        yield Chart(f"course-{key}", title, text, configured(chart.properties(width="container", height=160)))


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN and no infinity: such numbers are left out of a chart."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
