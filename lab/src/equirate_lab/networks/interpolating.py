"""Networks that fit their training data: where multipliers look, and what costs do to the loss.

Two hundred rows in sixty dimensions, which a network fits. Recall of at least 0.85 is asked for, with as few false
alarms as possible, on new rows. Multipliers that look at the training rows see nothing to do; those that look at
held-out rows do (the game on two data sets), and what they ask for is done by weights or by shifts. With 200 held-out
rows, some 60 of them positive, recall on those is not recall on new rows; with 2,000 it nearly is.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import torch

import equirate as eq
from equirate.torch import TorchModel

from ..experiments.tables import Table
from .lines import Lines, Result
from .plan import Plan

PROBLEM = eq.Problem(eq.minimize(eq.fpr()), [eq.tpr() >= 0.85])
WAYS = {
    "multipliers on training rows, weights": (0, False),
    "multipliers on training rows, shifts": (0, True),
    "multipliers on 200 held-out rows, weights": (200, False),
    "multipliers on 200 held-out rows, shifts": (200, True),
    "multipliers on 2,000 held-out rows, weights": (2000, False),
    "multipliers on 2,000 held-out rows, shifts": (2000, True),
}
ROWS, MOST_HELD, WIDTH = 200, 2000, 60


def measure(plan: Plan, lines: Lines, folder: Path) -> None:
    """Every way, several seeds."""
    epochs = 20 if plan.quick else 1000
    for seed in plan.seeds:
        for way, (apart, shifts) in WAYS.items():
            what = {"part": "interpolating", "way": way, "seed": seed, "epochs": epochs}
            lines.once(what, partial(_trained, apart, shifts, seed, epochs))


def _trained(apart: int, shifts: bool, seed: int, epochs: int) -> Result:
    rng = np.random.default_rng([seed, 3])
    y = (rng.random(ROWS + MOST_HELD + 4000) < 0.3).astype(int)
    X = (rng.normal(size=(len(y), WIDTH)) + 0.15 * (2 * y[:, None] - 1)).astype(np.float32)
    train, held, new = slice(0, ROWS), slice(ROWS, ROWS + apart), slice(ROWS + MOST_HELD, None)

    def network() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(WIDTH, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

    model = TorchModel(
        network,
        optimizer=lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.3),
        batch_size=None,
        epochs=epochs,
        logit_adjusted=shifts,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        solution = eq.solve(
            PROBLEM, X[train], y[train], model=model, seeds=[seed], surrogate="logistic",
            referee=(X[held], y[held]) if apart else None,
        )  # fmt: skip
    last = solution.members([len(solution.columns) - 1]).decide(X)[:, 0]
    mixture = solution.polish().positive_probability(X)
    seen = held if apart else train
    return {
        "fits": float((last[train] == y[train]).mean()),
        "last": [float(last[new][y[new] == label].mean()) for label in (1, 0)],
        "mixture": [float(mixture[new][y[new] == label].mean()) for label in (1, 0)],
        "seen": [float(mixture[seen][y[seen] == label].mean()) for label in (1, 0)],
    }


def make_tables(lines: Lines) -> list[Table]:
    """Means over the seeds."""
    rows = []
    for way in WAYS:
        results = [result for what, result in lines.of("interpolating") if what["way"] == way]
        if results:
            pairs = [np.mean([result[name] for result in results], axis=0) for name in ("last", "seen", "mixture")]
            fits = np.mean([result["fits"] for result in results])
            rows.append((way, str(len(results)), f"{fits:.3f}", *(f"{tpr:.3f} / {fpr:.3f}" for tpr, fpr in pairs)))
    note = (
        "A network on 200 rows in 60 dimensions: accuracy of the last network on its training rows, and recall / false "
        "positive rate of the last network on new rows, and of the mixture on the rows that it was chosen on and on "
        "new ones. A recall of at least 0.85 was asked for."
    )
    header = ("way", "seeds", "fits", "last network, new rows", "mixture, where chosen", "mixture, new rows")
    return [Table("Networks that fit their training data", note, header, tuple(rows))]
