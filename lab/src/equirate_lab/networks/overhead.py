"""Time over plain cross-entropy training, beside cooper and fairret, of a two-layer network of width 64 on Adult.

Everybody trains the same network on the same rows and batch size with Adam, under (but for plain training) one
constraint: the true positive rate of women at most 0.02 below that of men. Times are the processor's, of the whole
run: with equirate they include the exact passes. Repetitions take turns. equirate plays twice: with all rows to train
on, as the others, and as `RateClassifier` does, with a quarter of them held out, for as many steps of the optimiser.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import equirate as eq
from equirate import datasets
from equirate.torch import TorchModel

from ..benchmarks.environments import RIVALS, Environments, Rival, UnavailableError
from ..experiments.tables import Table
from .lines import Lines, Result
from .plan import Plan

MARGIN = 0.02
WOMEN = eq.attr("women") == 1
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(WOMEN) >= eq.tpr(~WOMEN) - MARGIN])
HELD_OUT = "equirate, held-out rows"
SIDES = ("cross-entropy", "equirate", HELD_OUT, "cooper", "fairret")
NETWORKS = {name: Rival(name, RIVALS[name].title, RIVALS[name].requirements, "run_networks.py") for name in SIDES[3:]}
Part = tuple[Any, Any, Any]


def network(width: int) -> torch.nn.Module:
    """Two hidden layers of 64."""
    layers = torch.nn.Linear(width, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU()
    return torch.nn.Sequential(*layers, torch.nn.Linear(64, 1))


def measure(plan: Plan, lines: Lines, folder: Path) -> None:
    """Every side and batch size, in turns."""
    train, test = parts(plan)
    environments = Environments(folder / "environments", 1, lines.tell)
    few: Part = tuple(array[:512] for array in train)
    _equirate(few, few, 64, 1, 0)  # what is imported late is imported now
    for repetition in range(plan.repetitions):
        for size, epochs in plan.timed_epochs:
            for side in SIDES[:: -1 if repetition % 2 else 1]:
                what = {"part": "overhead", "side": side, "batch": size, "epochs": epochs, "repetition": repetition}
                given = (train, test, size, epochs, repetition)
                work = partial(_rival, environments, side) if side in NETWORKS else partial(_own, side)
                lines.once({**what, "rows": len(train[0])}, partial(work, *given))


def parts(plan: Plan) -> tuple[Part, Part]:
    """Adult's own training and test rows: features, labels, who is a woman."""
    data = datasets.load("adult")
    X, women = data.features.to_numpy(dtype=np.float32), data.protected_rows.astype(int)
    assert data.split is not None  # Adult has one
    rows = [np.flatnonzero(data.split == name)[: plan.text_rows] for name in ("train", "test")]
    first, second = ((X[index], data.label[index], women[index]) for index in rows)
    return first, second


def _own(side: str, train: Part, test: Part, size: int, epochs: int, seed: int) -> Result:
    torch.manual_seed(seed)
    if side in ("equirate", HELD_OUT):
        return _equirate(train, test, size, epochs, seed, 0.25 if side == HELD_OUT else 0.0)
    X, y = torch.from_numpy(train[0]), torch.from_numpy(train[1]).float()
    module = network(X.shape[1])
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
    begin = time.process_time()
    for _ in range(epochs):
        for index in torch.split(torch.randperm(len(X)), size):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(module(X[index])[:, 0], y[index])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    seconds = time.process_time() - begin
    with torch.no_grad():
        train_decided, decided = ((module(torch.from_numpy(part[0]))[:, 0] > 0).numpy() for part in (train, test))
    return {"seconds": seconds, **_quality(decided, test), "train_gap": _quality(train_decided, train)["gap"]}


def _equirate(train: Part, test: Part, size: int, epochs: int, seed: int, held_out: float = 0.0) -> Result:
    apart = np.random.default_rng([seed, 5]).random(len(train[0])) < held_out
    rows, others = ((train[0][part], train[1][part], train[2][part]) for part in (~apart, apart))
    model = TorchModel(
        partial(network, train[0].shape[1]), batch_size=size, epochs=round(epochs * len(train[0]) / len(rows[0]))
    )
    referee = (*others[:2], {"women": others[2]}) if held_out else None
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        solution = eq.solve(
            PROBLEM, rows[0], rows[1], attributes={"women": rows[2]}, model=model, seeds=[seed], referee=referee
        )
    seconds = time.process_time() - begin
    mixture = solution.polish()
    chosen = others if held_out else rows
    gap = _quality(mixture.positive_probability(chosen[0]), chosen)["gap"]
    return {"seconds": seconds, **_quality(mixture.positive_probability(test[0]), test), "train_gap": gap}


def _rival(environments: Environments, side: str, train: Part, test: Part, size: int, epochs: int, seed: int) -> Result:
    job = {"rival": side, "margin": MARGIN}
    arrays = dict(zip(("X", "y", "group"), train, strict=True)) | {"X_test": test[0]}
    try:
        with environments.start(NETWORKS[side], job, arrays) as process:
            seconds = process.ask(do="train", batch=size, epochs=epochs, seed=seed)["seconds"]
            decided = process.arrays("decided")["decided"]
    except UnavailableError as error:
        return {"skipped": str(error)}
    return {"seconds": seconds, **_quality(decided, test)}


def _quality(predicted: Any, test: Part) -> Result:
    given, women = (test[1], predicted.astype(float)), {"women": test[2]}
    gap = eq.tpr(~WOMEN) - eq.tpr(WOMEN)
    return {"error": eq.error_rate().evaluate(*given), "gap": gap.evaluate(*given, attributes=women)}


def make_tables(lines: Lines) -> list[Table]:
    """Times as multiples of plain training's, and quality."""
    found: dict[tuple[int, str], list[Result]] = {}
    for what, result in lines.of("overhead"):
        if "skipped" not in result:
            found.setdefault((what["batch"], what["side"]), []).append(result)
    rows = []
    for (size, side), results in sorted(found.items(), key=lambda item: (-item[0][0], SIDES.index(item[0][1]))):
        plain = found.get((size, SIDES[0]), [])
        seconds, reference = (min((float(one["seconds"]) for one in some), default=np.nan) for some in (results, plain))
        error, gap = (float(np.mean([one[name] for one in results])) for name in ("error", "gap"))
        seen = [one["train_gap"] for one in results if "train_gap" in one]
        cells = (f"{seconds:.2f} s", f"{seconds / reference:.2f}", f"{error:.4f}")
        known = f"{float(np.mean(seen)):+.4f}" if seen else ""
        rows.append((str(size), side, str(len(results)), *cells, known, f"{gap:+.4f}"))
    note = (
        "A two-layer network of width 64 on Adult's training file; the true positive rate of women at most 0.02 below "
        "that of men was asked for. Processor time of the whole run, exact passes included: the least of the "
        "repetitions, and that over plain training's. Error on the test file, and the difference of true positive "
        "rates on the rows that it was judged by when training (those held out, where some are) and on the test file, "
        "means of the repetitions."
    )
    header = ("batch", "side", "repetitions", "time", "over plain", "error", "difference seen", "difference, test")
    return [Table("Overhead", note, header, tuple(rows))]
