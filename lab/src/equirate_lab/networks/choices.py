"""What earns its place: remembered predictions, rare rows in every batch, averaged parameters, how often to step."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..experiments.tables import Table
from .grounds import ground, problem
from .lines import Lines, Result
from .plan import Plan
from .quality import RATES, fitted

CHOICES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no remembering: an exact pass every epoch": {"remember": False, "every": "epoch"},
    "no remembering: an exact pass every 8 batches": {"remember": False, "every": 8},
    "multipliers every batch": {"every": 1},
    "multipliers every epoch": {"every": "epoch"},
    "plain batches (rare=0)": {"rare": 0},
    "plain batches, no remembering": {"rare": 0, "remember": False, "every": "epoch"},
    "parameters averaged over 0.1 epochs": {"averaging": 0.1},
    "parameters averaged over 1 epoch": {"averaging": 1.0},
}


def measure(plan: Plan, lines: Lines, folder: Path) -> None:
    """The error problem on Adult, rare group of 0.8 %, batches of 64, with one setting changed at a time."""
    dataset, share, size = plan.datasets[0], plan.shares[0], 64
    epochs = dict(plan.epochs)[size]
    for seed in plan.seeds:
        for name, settings in CHOICES.items():
            what = {"part": "choices", "choice": name, "data": dataset, "seed": seed, "rows": plan.rows}
            lines.once(
                {**what, "epochs": epochs}, partial(_trained, dataset, share, plan.rows, seed, size, epochs, settings)
            )


def _trained(
    dataset: str, share: float, rows: int, seed: int, size: int, epochs: int, settings: dict[str, Any]
) -> Result:
    here = ground(dataset, share, rows, seed)
    return fitted(
        here,
        problem("error", here.limit),
        seed,
        batch_size=size,
        epochs=epochs,
        learning_rate=RATES[size],
        **settings,
    )


def make_tables(lines: Lines) -> list[Table]:
    """Means over the seeds."""
    rows = []
    for name in CHOICES:
        results = [result for what, result in lines.of("choices") if what["choice"] == name]
        if results:
            train, test = (np.mean([result[part] for result in results], axis=0) for part in ("train", "test"))
            spread = np.std([result["test"][0] for result in results])
            seconds = np.median([result["elapsed"] for result in results])
            cells = (f"{train[0]:.4f} ({train[1]:.4f})", f"{test[0]:.4f} ± {spread:.4f} ({test[1]:.4f})")
            rows.append((name, str(len(results)), *cells, f"{seconds:.1f} s"))
    note = (
        "Adult, the error with parity for a group of 0.8 % within 0.01 and equal opportunity for women within 0.02; "
        "batches of 64. Means over seeds of error (largest violation); the time is the median of whole runs, on a busy "
        "machine."
    )
    return [Table("What earns its place", note, ("choice", "seeds", "training rows", "test rows", "time"), tuple(rows))]
