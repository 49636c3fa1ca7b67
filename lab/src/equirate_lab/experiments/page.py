"""One self-contained HTML page: tables, trade-off per data set, convergence, frontiers. No script, no network.

In: `Results`. Out: a file that opens anywhere, light or dark as the reader's system is, also on a phone.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import equirate as eq

from .catalogue import FMEASURE, KLD, Experiment
from .files import write_text
from .paper import DATASETS
from .results import Results
from .svg import Series, plot
from .tables import Table, make_tables

COLOURS = 12
STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #60646c; --back: #fcfcfd; --card: #fff; --rule: #d9d9e0;
  --s0: #3358d4; --s1: #d6409f; --s2: #208368; --s3: #cc4e00;
  --s4: #6550b9; --s5: #0d74ce; --s6: #978365; --s7: #ce2c31;
  --s8: #5c7c2f; --s9: #00749e; --s10: #8b4a9c; --s11: #60646c; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #edeef0; --soft: #b0b4ba; --back: #111113; --card: #18191b; --rule: #363a3f;
  --s0: #9eb1ff; --s1: #ff8dcc; --s2: #1fd8a4; --s3: #ffa057;
  --s4: #baa7ff; --s5: #70b8ff; --s6: #d8a57c; --s7: #ff9592;
  --s8: #bde56c; --s9: #75c7f0; --s10: #d19dff; --s11: #b0b4ba; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.2rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.25rem; margin-top: 2.2rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
p, .note { color: var(--soft); max-width: 60rem; }
section { margin-bottom: 1.6rem; }
.scroll { overflow-x: auto; border: 1px solid var(--rule); border-radius: 8px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .88rem; }
th, td { padding: .35rem .7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--card); }
thead th { border-bottom: 1px solid var(--rule); }
tr.more td { color: var(--soft); }
tbody tr:not(.more) td { border-top: 1px solid var(--rule); }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .8rem; border: 1px solid var(--rule); border-radius: 8px; background: var(--card); }
svg.plot { width: 100%; height: auto; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.grid { stroke: var(--rule); stroke-width: 1; }
.limit { stroke: var(--ink); stroke-dasharray: 4 4; }
polyline { fill: none; stroke-width: 2; }
.bar { stroke-width: 1.2; opacity: .6; }
.hollow { fill: var(--card); stroke-width: 2; }
.legend { list-style: none; margin: .4rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .1rem .9rem;
  font-size: .78rem; color: var(--soft); }
.legend svg { width: 12px; height: 12px; margin-right: .3rem; }
""" + "".join(
    f"polyline.s{k}, .bar.s{k}, .hollow.s{k} {{ stroke: var(--s{k}); }} .dot.s{k} {{ fill: var(--s{k}); }}\n"
    for k in range(COLOURS)
)
"""The style sheet: colours of the series are variables, once for light and once for dark."""


def write_page(results: Results, path: Path) -> Path:
    """Write the page and return where it is."""
    write_text(path, page(results))
    return path


def page(results: Results) -> str:
    """Make the page."""
    sections = [_table(table) for table in make_tables(results)]
    body = [
        "<h1>Generalised rate metrics: the paper's experiments, reproduced</h1>",
        f"<p>equirate {eq.__version__}. Ours beside the values that Narasimhan, Cotter and Gupta (2019) print; every "
        "number is on test rows that nothing was trained or chosen on. Business is a public stand-in for proprietary "
        "data, so its printed values are for other rows.</p>",
        *(_plots(results, experiment) for experiment in (KLD, FMEASURE)),
        "<h2>Tables</h2>",
        *sections,
        _errors(results),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>equirate: reproduction</title>'
        f'<link rel="icon" href="data:,"><style>{STYLE}</style></head><body>{"".join(body)}</body></html>\n'
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        f"<tr{' class=more' if row[0].startswith(' ') else ''}>"
        + "".join(f"<td>{html.escape(cell.strip())}</td>" for cell in row)
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<section><h3>{html.escape(table.title)}</h3><p class="note">{html.escape(table.note)}</p>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


def _errors(results: Results) -> str:
    found = results.errors()
    items = "".join(f"<li>{html.escape(error)}</li>" for error in found)
    return f"<h2>Not computed</h2><ul>{items}</ul>" if found else ""


# -- plots ----------------------------------------------------------------------------------------


def _plots(results: Results, experiment: Experiment) -> str:
    datasets = results.datasets(experiment.name)
    if not datasets:
        return ""
    figures = {
        "Trade-off": (
            "Filled: ours, with standard deviations; hollow: as printed. The dashed line is the limit.",
            _tradeoff,
        ),
        "Convergence": ("One run of the chosen configuration on the training part, first seed.", _convergence),
        "Frontier": ("One batched run for many limits, first seed.", _frontier),
    }
    parts = [f"<h2>{html.escape(experiment.title)}</h2>"]
    for title, (note, draw) in figures.items():
        drawn = [figure for dataset in datasets for figure in draw(results, experiment, dataset)]
        if drawn:
            parts.append(f'<h3>{title}</h3><p class="note">{note}</p><div class="plots">{"".join(drawn)}</div>')
    return "".join(parts)


def _figure(title: str, drawing: str) -> str:
    return f"<figure><h3>{html.escape(title)}</h3>{drawing}</figure>"


def _tradeoff(results: Results, experiment: Experiment, dataset: str) -> list[str]:
    series, colour = [], 0
    shown = (experiment.tables[0], experiment.tables[-1])
    for spec in shown:
        for column in spec.columns:
            spread = results.spread(experiment.name, dataset, column.name)
            if spread is None:
                continue
            series.append(
                Series(
                    column.heading,
                    [spread.constraint],
                    [spread.objective],
                    colour % COLOURS,
                    x_error=[spread.constraint_spread],
                    y_error=[spread.objective_spread],
                )
            )
            if dataset in spec.printed:
                b, a = spec.printed[dataset][column.name][::-1]
                series.append(Series(f"{column.heading}, printed", [b], [a], colour % COLOURS, hollow=True))
            colour += 1
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
            Series(experiment.measures.objective, rounds, curves["objective"], 0, line=True),
            Series("violation", rounds, curves["violation"], 7, line=True),
        ]
        multipliers = [
            Series(f"λ{k + 1}", rounds, course, k % COLOURS, line=True)
            for k, course in enumerate(curves["multipliers"])
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
    for colour, part in enumerate(("train", "validation", "test")):
        points = [cell["values"][f"frontier_{k}"][part] for k in range(len(cell["curves"]["levels"]))]
        points.sort(key=lambda point: float(point[1]))
        series.append(Series(part, [p[1] for p in points], [p[0] for p in points], colour, line=True))
    measures, title = experiment.measures, DATASETS[dataset].title
    return [_figure(title, plot(series, measures.constraint, measures.objective, title, x_line=measures.limit))]
