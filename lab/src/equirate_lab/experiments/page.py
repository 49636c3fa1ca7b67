"""One self-contained HTML page: what it comes to, trade-offs, tables, frontiers, convergence. No script, no network.

In: `Results`. Out: a file that opens anywhere, light or dark as the reader's system is, also on a phone. What a user
gets by default is the one colour that stands out; the other methods are told apart by letters, named in one legend for
each experiment.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import equirate as eq

from .catalogue import FMEASURE, KLD, Column, Experiment
from .files import write_text
from .paper import DATASETS
from .results import Results
from .svg import Series, legend, plot
from .tables import Table, make_tables
from .takeaway import DEFAULT, RIVALS, takeaways

ROLES = ("default", "ours", "rival")
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --back: #f6f7f9; --card: #fff; --rule: #dde2e8;
  --default: #0b63a5; --ours: #57606a; --rival: #9a3412; --tint: #e8f1fa; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e8ebef; --soft: #a9b2bc; --back: #0f1216; --card: #181c22; --rule: #303842;
  --default: #6cb6ff; --ours: #a9b2bc; --rival: #ffab70; --tint: #16283a; } }
@media print { :root { --back: #fff; --card: #fff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.2rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.3rem, 4vw, 1.7rem); line-height: 1.2; }
h2 { font-size: 1.25rem; margin-top: 2.4rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
figure h3 { margin-top: 0; }
p, .note { max-width: 60rem; }
.note { color: var(--soft); }
section { margin-bottom: 1.6rem; }
.takeaway { background: var(--tint); border: 1px solid var(--default); border-radius: 12px; padding: .8rem 1.1rem; }
.takeaway p { font-size: 1.05rem; margin: .5rem 0; }
.scroll { overflow-x: auto; border: 1px solid var(--rule); border-radius: 8px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .88rem; }
th, td { padding: .35rem .7rem; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--card); font-weight: 500; }
thead th { border-bottom: 1px solid var(--rule); }
th.default, td.default { background: var(--tint); font-weight: 650; }
tr.more td, tr.more th { color: var(--soft); }
tbody tr:not(.more) > * { border-top: 1px solid var(--rule); }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .8rem; border: 1px solid var(--rule); border-radius: 8px; background: var(--card);
  min-width: 0; }
svg.plot { width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg text.dot { fill: var(--card); font-weight: 600; font-size: 10px; pointer-events: none; }
.grid { stroke: var(--rule); stroke-width: 1; }
.limit { stroke: var(--ink); stroke-dasharray: 4 4; }
polyline { fill: none; stroke-width: 2; }
.bar { stroke-width: 1.2; opacity: .6; }
.hollow { fill: var(--card); stroke-width: 1.6; }
svg text.hollow { stroke: none; font-size: 10px; pointer-events: none; }
.legend { list-style: none; margin: .4rem 0 1rem; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem;
  font-size: .88rem; }
.legend svg { width: 18px; height: 18px; margin-right: .35rem; vertical-align: -4px; }
details { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; padding: .3rem 0; }
@media (max-width: 44rem) { svg text { font-size: 14px; } .legend { font-size: .84rem; } }
:focus-visible { outline: 3px solid var(--default); outline-offset: 2px; }
""" + "".join(
    f"polyline.{role}, .bar.{role}, circle.hollow.{role} {{ stroke: var(--{role}); }} "
    f"circle.dot.{role} {{ fill: var(--{role}); }} text.hollow.{role} {{ fill: var(--{role}); }}\n"
    for role in ROLES
)
"""The style sheet: a colour for each role, once for light and once for dark."""


def write_page(results: Results, path: Path) -> Path:
    """Write the page and return where it is."""
    write_text(path, page(results))
    return path


def page(results: Results) -> str:
    """Make the page."""
    body = [
        "<header><h1>Generalised rate metrics: the paper's experiments, reproduced</h1></header><main>",
        _takeaways(results),
        f'<p class="note">equirate {eq.__version__}. Ours beside the values that Narasimhan, Cotter and Gupta (2019) '
        "print; every number is on test rows that nothing was trained or chosen on. Business is a public stand-in for "
        "proprietary data, so its printed values are for other rows.</p>",
        *(_plots(results, experiment) for experiment in (KLD, FMEASURE)),
        _tables(make_tables(results)),
        _errors(results),
        "</main>",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>equirate: reproduction</title>'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body>{"".join(body)}</body></html>\n'
    )


def _takeaways(results: Results) -> str:
    found = takeaways(results)
    told = "".join(f"<p><strong>{html.escape(t.title)}.</strong> {html.escape(t.text)}</p>" for t in found)
    return f'<section class="takeaway" aria-label="What it comes to">{told}</section>' if found else ""


# -- tables ---------------------------------------------------------------------------------------


def _tables(made: list[Table]) -> str:
    if not made:
        return ""
    shown = "".join(
        f"<details{' open' if k == 0 else ''}><summary>{html.escape(table.title)}</summary>{_table(table)}</details>"
        for k, table in enumerate(made)
    )
    return f"<section><h2>Tables</h2>{shown}</section>"


def _table(table: Table) -> str:
    default = [heading == _heading(DEFAULT) for heading in table.header]
    marked = [' class="default"' if each else "" for each in default]
    head = "".join(f'<th scope="col"{m}>{html.escape(cell)}</th>' for cell, m in zip(table.header, marked, strict=True))
    rows = "".join(
        f"<tr{' class=more' if row[0].startswith(' ') else ''}>"
        f'<th scope="row">{html.escape(row[0].strip())}</th>'
        + "".join(f"<td{m}>{html.escape(cell.strip())}</td>" for cell, m in zip(row[1:], marked[1:], strict=True))
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<p class="note">{html.escape(table.note)}</p><div class="scroll" tabindex="0" role="region" '
        f'aria-label="{html.escape(table.title)}"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _heading(column: str) -> str:
    return next(c.heading for spec in KLD.tables for c in spec.columns if c.name == column)


def _errors(results: Results) -> str:
    found = results.errors()
    items = "".join(f"<li>{html.escape(error)}</li>" for error in found)
    return f"<section><h2>Not computed</h2><ul>{items}</ul></section>" if found else ""


# -- plots ----------------------------------------------------------------------------------------


def _plots(results: Results, experiment: Experiment) -> str:
    datasets = results.datasets(experiment.name)
    tradeoffs = [figure for dataset in datasets for figure in _tradeoff(results, experiment, dataset)]
    frontiers = [figure for dataset in datasets for figure in _frontier(results, experiment, dataset)]
    courses = [figure for dataset in datasets for figure in _convergence(results, experiment, dataset)]
    parts = []
    if tradeoffs:
        better = "higher" if experiment.measures.maximise else "lower"
        parts.append(
            f'<p class="note">Left of the dashed line the limit is kept; {better} is better. Filled: ours, with '
            f"standard deviations; hollow: as printed.</p>{_legend(results, experiment, datasets)}{_grid(tradeoffs)}"
        )
    if frontiers:
        parts.append(
            "<h3>Frontier</h3><p class='note'>One batched run for many limits, first seed: the strong line is the test "
            f"part, the other two are the training and the validation part.</p>{_grid(frontiers)}"
        )
    if courses:
        parts.append(
            f"<details><summary>How the games went</summary><p class='note'>One run of the chosen configuration, first "
            f"seed: the strong line is {html.escape(experiment.measures.objective)}, the other the violation. Single "
            f"iterates and multipliers swing for ever; what settles is their mixture.</p>{_grid(courses)}</details>"
        )
    return f"<section><h2>{html.escape(experiment.title)}</h2>{''.join(parts)}</section>" if parts else ""


def _grid(figures: list[str]) -> str:
    return f'<div class="plots">{"".join(figures)}</div>'


def _figure(title: str, drawing: str) -> str:
    return f"<figure><h3>{html.escape(title)}</h3>{drawing}</figure>"


def _columns(experiment: Experiment) -> Iterator[tuple[Column, Series]]:
    """The columns that are drawn, each with its role and its letter; the default comes last, above the others."""
    columns = list(chain(*(spec.columns for spec in (experiment.tables[0], experiment.tables[-1]))))
    for column, letter in sorted(zip(columns, ascii_lowercase, strict=False), key=lambda pair: pair[0].name == DEFAULT):
        role = "default" if column.name == DEFAULT else "rival" if column.name in RIVALS else "ours"
        yield column, Series(column.heading, [0.0], [0.0], role, letter)


def _legend(results: Results, experiment: Experiment, datasets: list[str]) -> str:
    """Every method that is drawn somewhere, once; the default first."""
    name = experiment.name
    there = [s for c, s in _columns(experiment) if any(results.spread(name, d, c.name) for d in datasets)]
    return legend(sorted(there, key=lambda s: (ROLES.index(s.role), s.mark)))


def _tradeoff(results: Results, experiment: Experiment, dataset: str) -> list[str]:
    series = []
    printed = experiment.tables[0].printed.get(dataset, {})
    for column, like in _columns(experiment):
        spread = results.spread(experiment.name, dataset, column.name)
        if spread is None:
            continue
        if column.name in printed:
            a, b = printed[column.name]
            series.append(Series(f"{column.heading}, printed", [b], [a], like.role, like.mark, hollow=True))
        series.append(
            replace(
                like,
                x=[spread.constraint],
                y=[spread.objective],
                x_error=[spread.constraint_spread],
                y_error=[spread.objective_spread],
            )
        )
    if not series:
        return []
    measures, title = experiment.measures, DATASETS[dataset].title
    return [_figure(title, plot(series, measures.constraint, measures.objective, title, x_line=measures.limit))]


def _convergence(results: Results, experiment: Experiment, dataset: str) -> list[str]:
    figures = []
    for method, heading in (
        ("algorithm2", "Algorithm 2"),
        ("algorithm3", "Algorithm 3"),
        ("algorithm4", "Algorithm 4"),
    ):
        cell = results.curves(experiment.name, dataset, method)
        if cell is None:
            continue
        curves: dict[str, Any] = cell["curves"]
        rounds, title = curves["round"], f"{DATASETS[dataset].title}, {heading}"
        values = [
            Series("violation", rounds, curves["violation"], "rival", line=True),
            Series(experiment.measures.objective, rounds, curves["objective"], "default", line=True),
        ]
        multipliers = [
            Series(f"λ{k + 1}", rounds, course, "ours", line=True) for k, course in enumerate(curves["multipliers"])
        ]
        figures.append(_figure(title, plot(values, "round", "value", title)))
        figures.append(
            _figure(f"{title}: multipliers", plot(multipliers, "round", "multiplier", f"{title}: multipliers"))
        )
    return figures


def _frontier(results: Results, experiment: Experiment, dataset: str) -> list[str]:
    cell = results.curves(experiment.name, dataset, "frontier")
    if cell is None:
        return []
    series = []
    for part, role in (("train", "ours"), ("validation", "ours"), ("test", "default")):
        points = [cell["values"][f"frontier_{k}"][part] for k in range(len(cell["curves"]["levels"]))]
        points.sort(key=lambda point: float(point[1]))
        series.append(Series(part, [p[1] for p in points], [p[0] for p in points], role, line=True))
    measures, title = experiment.measures, DATASETS[dataset].title
    return [_figure(title, plot(series, measures.constraint, measures.objective, title, x_line=measures.limit))]
