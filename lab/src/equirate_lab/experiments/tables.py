"""Tables with the paper's value beside ours: in `Results`, out `Table`s, shown in a terminal, as Markdown or HTML."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from equirate.report.text import aligned

from .catalogue import EXPERIMENTS, Experiment, TableSpec
from .files import write_text
from .paper import DATASETS
from .results import Results, pair

ABSENT = "–"
DEVIATION, PRINTED = "  ±", "  as printed"


@dataclass(frozen=True)
class Table:
    """A table of text.

    Every data set has a row of our means, a row of standard deviations if there are several seeds, and where the paper
    has one a row of its values. The names of the second and third begin with a blank.
    """

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        note = textwrap.fill(self.note, 110)
        return f"{self.title}\n{note}\n\n{aligned([list(self.header), *map(list, self.rows)])}"

    def markdown(self) -> str:
        """The same for a page of documentation."""
        lines = [f"### {self.title}", "", self.note, "", _pipes(self.header)]
        lines.append("|" + "---|" * len(self.header))
        return "\n".join([*lines, *map(_pipes, self.rows)])


def _pipes(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def make_tables(results: Results, part: str = "test", only: Collection[str] | None = None) -> list[Table]:
    """Make every table that there are results for, or those of some experiments by name."""
    made = []
    for experiment in EXPERIMENTS.values():
        if only is not None and experiment.name not in only:
            continue
        datasets = results.datasets(experiment.name)
        made += [_table(results, experiment, spec, datasets, part) for spec in experiment.tables]
    return [table for table in made if table.rows]


def _table(results: Results, experiment: Experiment, spec: TableSpec, datasets: Sequence[str], part: str) -> Table:
    rows: list[tuple[str, ...]] = []
    for dataset in datasets:
        found = [results.spread(experiment.name, dataset, column.name, part) for column in spec.columns]
        if not any(found):
            continue
        title = DATASETS[dataset].title + (" (stand-in)" if dataset == "business" else "")
        cells = [ABSENT if spread is None else spread.mean for spread in found]
        rows.append((title, _sizes(results, experiment, dataset), *cells))
        if any(spread.deviation for spread in found if spread is not None):
            rows.append((DEVIATION, "", *("" if spread is None else spread.deviation for spread in found)))
        if dataset in spec.printed:
            printed = spec.printed[dataset]
            rows.append((PRINTED, "", *(pair(*printed[column.name]) for column in spec.columns)))
    measures = experiment.measures
    note = (
        f"{experiment.title}. A (B) on the {part} part: A is {measures.objective} "
        f"({'higher' if measures.maximise else 'lower'} is better), B is {measures.constraint} "
        f"(at most {measures.limit:g} was asked for); mean, and standard deviation (±) over seeds."
    )
    return Table(
        spec.title, note, ("data set", "seeds × rounds", *(column.heading for column in spec.columns)), tuple(rows)
    )


def _sizes(results: Results, experiment: Experiment, dataset: str) -> str:
    cells = results.of(experiment.name, dataset)
    rounds = sorted({int(cell["settings"][experiment.rounds]) for cell in cells})
    return f"{len({cell['seed'] for cell in cells})} × {'/'.join(f'{number:,}' for number in rounds)}"


def write_markdown(made: Sequence[Table], path: Path) -> Path:
    """Write tables as Markdown and return where."""
    write_text(path, as_markdown(made) + "\n")
    return path


def as_markdown(made: Sequence[Table]) -> str:
    """All tables as Markdown."""
    return "\n\n".join(table.markdown() for table in made)


def show(made: Sequence[Table], file: TextIO | None = None) -> None:
    """Print tables: with rich where it is installed and the output is a terminal, as plain text otherwise."""
    stream = file or sys.stdout
    try:
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        Console = None  # type: ignore[assignment,misc]
    if Console is None or not stream.isatty():
        print("\n\n".join(map(str, made)), file=stream)
        return
    console = Console(file=stream)
    for table in made:
        shown = RichTable(title=table.title, caption=table.note, title_justify="left", caption_justify="left")
        for k, name in enumerate(table.header):
            shown.add_column(name, justify="left" if k == 0 else "right")
        for row in table.rows:
            shown.add_row(*row, style="dim" if row[0].startswith(" ") else None)
        console.print(shown)
        console.print()
