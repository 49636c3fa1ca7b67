"""Batches of 512, 64 and 8 beside the full batch of the same network, with rare groups."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq
from equirate.torch import TorchModel

from ..experiments.tables import Table
from .grounds import Ground, ground, judged, problem, two_layers
from .lines import Lines, Result
from .plan import Plan

RATES = {0: 0.01, 512: 3e-3, 64: 1e-3, 8: 1e-3}
"""Learning rates by batch size."""
NAMES = {"error": "error", "g_mean": "G-mean", "kl": "KL divergence", "f1": "F1, parity of F1"}


def measure(plan: Plan, lines: Lines, folder: Path) -> None:
    """Every problem, data set, group and batch size, several seeds."""
    for seed in plan.seeds:
        for share in plan.shares:
            for dataset in plan.datasets:
                for name in plan.problems:
                    for size, epochs in plan.epochs:
                        what = {"part": "quality", "data": dataset, "share": share, "problem": name, "batch": size}
                        what |= {"seed": seed, "rows": plan.rows, "epochs": epochs}
                        given = (dataset, share, plan.rows, seed, name, size, epochs)
                        lines.once(what, partial(trained, *given))


def trained(dataset: str, share: float, rows: int, seed: int, name: str, size: int, epochs: int) -> Result:
    """Train once, and judge the best mixture."""
    here = ground(dataset, share, rows, seed)
    return fitted(
        here, problem(name, here.limit), seed, batch_size=size or None, epochs=epochs, learning_rate=RATES[size]
    )


def fitted(here: Ground, asked: eq.Problem, seed: int, record_every: int | None = None, **settings: Any) -> Result:
    """Train a network with settings, and judge the best mixture of what it recorded."""
    model = TorchModel(two_layers(here.width), **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        X, y, attributes = here.train
        solution = eq.solve(asked, X, y, attributes=attributes, model=model, seeds=[seed], record_every=record_every)
        mixture = solution.polish()
    found: Result = judged(mixture, asked, here)
    return {**found, "members": len(mixture.weights), "iterates": len(solution.columns)}


def make_tables(lines: Lines) -> list[Table]:
    """Means over the seeds, and how far each batch size is from the full batch."""
    cells: dict[tuple[Any, ...], list[Result]] = {}
    for what, result in lines.of("quality"):
        key = (what["data"], what["share"], what["problem"], what["batch"])
        cells.setdefault(key, []).append(result)
    rows = []
    for (dataset, share, name, size), results in sorted(cells.items(), key=lambda item: _order(*item[0])):
        full = cells.get((dataset, share, name, 0), [])
        row = [dataset, f"{share:.1%}", NAMES[name], str(size or "all"), str(len(results))]
        for part in ("train", "test"):
            mean = _mean(results, part)
            row.append(f"{mean[0]:.4f} ({mean[1]:.4f}; {mean[2]:.4f})")
        for part in ("train", "test"):
            apart = _mean(results, part) - _mean(full, part) if size and full else None
            row.append("" if apart is None else f"{apart[0]:+.4f} ({apart[1]:+.4f})")
        rows.append(tuple(row))
    note = (
        "A network with one hidden layer of 32; means over seeds (split, first parameters and batches) of objective "
        "(largest violation, 0 where there is none; error). The last columns are objective (violation) less that of "
        "the full batch: error and KL divergence are the better the smaller, G-mean and F1 the larger. The rare group "
        "has so many of the 16,000 rows; with 0.1 % that is about 16, so on test rows its rates are mostly chance."
    )
    header = (
        *("data", "rare group", "problem", "batch", "seeds", "training rows", "test rows"),
        *("from the full batch, training", "from the full batch, test"),
    )
    return [Table("Batches beside the full batch", note, header, tuple(rows))]


def _mean(results: list[Result], part: str) -> Any:
    return np.mean([result[part] for result in results], axis=0)


def _order(dataset: str, share: float, name: str, size: int) -> tuple[Any, ...]:
    return dataset, -share, list(NAMES).index(name), -size if size else -(10**9)
