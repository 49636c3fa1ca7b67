"""Networks: what training on batches costs and how good it is, with the tables that lab/results/torch.md shows.

In: which parts, and how much (`Plan`). Out: one line of JSON for every run, so that a run that was interrupted goes on
where it was, and tables. ``equirate-lab bench torch`` calls `run`.

The modules: `grounds` (data sets and problems), `quality` (batch sizes beside the full batch), `choices` (what earns
its place: remembering, rare rows, averages), `overhead` (time beside plain training, cooper and fairret), `text` (Wiki
Toxicity from raw text), `interpolating` (networks that fit their training data), `killing` (checkpoints), `plan` and
`lines` (the file).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..experiments.tables import Table
from . import choices, interpolating, killing, overhead, quality, text
from .lines import Lines
from .plan import FULL, QUICK, Plan

__all__ = ["FULL", "PARTS", "QUICK", "Lines", "Plan", "make_tables", "run"]

_MODULES = {
    "overhead": overhead,
    "quality": quality,
    "choices": choices,
    "interpolating": interpolating,
    "text": text,
    "killing": killing,
}
PARTS = tuple(_MODULES)


def run(
    parts: Sequence[str],
    folder: Path,
    plan: Plan = FULL,
    again: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Lines:
    """Measure what is missing of some parts."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    lines = Lines(folder / ("networks-quick.jsonl" if plan.quick else "networks.jsonl"), tell, again)
    try:
        for part in parts:
            _MODULES[part].measure(plan, lines, folder)
    finally:
        torch.set_num_threads(before)
    return lines


def make_tables(lines: Lines) -> list[Table]:
    """Everything that was measured so far."""
    return [table for part in PARTS for table in _MODULES[part].make_tables(lines) if table.rows]
