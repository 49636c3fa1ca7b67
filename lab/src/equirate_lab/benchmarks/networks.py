"""Networks beside cooper and fairret: the same network, batches and epochs on Adult, at equal quality on test rows.

In: a rival. Out: processor time of training, and error and gap of true positive rates on test rows. Every sample has
another split and other first weights. equirate trains at a few margins and is read at the rival's own gap.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import equirate as eq

from ..trees.data import Halves
from .environments import RIVALS, UnavailableError
from .ground import OURS, Comparison, Ground, Measured
from .reading import Point, difference
from .sources import adult
from .timing import cpu_seconds
from .whole_fits import mean_point, tested

MARGIN = 0.02
MARGINS = (-0.02, 0.0, 0.02, 0.05, 0.1)
BATCH, EPOCHS = 512, 20
GROUP = eq.attr("group") == 1


def trained(parts: Halves, margin: float, seed: int, epochs: int) -> Any:
    """Our mixture: the group's true positive rate at most a margin below the others'."""
    import torch

    from equirate.torch import TorchModel

    from ..networks.overhead import network

    torch.manual_seed(seed)
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(GROUP) >= eq.tpr(~GROUP) - margin])
    model = TorchModel(partial(network, parts.train_X.shape[1]), batch_size=BATCH, epochs=epochs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        solution = eq.solve(
            problem, parts.train_X, parts.train_y, attributes={"group": parts.train_group}, model=model, seeds=[seed]
        )
        return solution.polish()


def beside_networks(ground: Ground, rival: str, repetitions: int, epochs: int = EPOCHS) -> Measured:
    """Train both sides on several splits, in turns."""
    try:
        import torch
    except ImportError:
        raise UnavailableError("PyTorch is not here: pip install 'equirate[torch]'") from None
    torch.set_num_threads(1)
    samples: dict[str, list[float]] = {OURS: [], rival: []}
    points: list[Point] = []
    ours: list[Point] = []
    curves = []
    program = replace(RIVALS[rival], script="run_networks.py")
    for seed in range(repetitions):
        parts = _single(adult(seed))
        if not seed:
            trained(_few(parts), MARGIN, seed, 1)
        ground.tell(f"{rival}, sample {seed + 1} of {repetitions}")
        arrays = {"X": parts.train_X, "y": parts.train_y, "group": parts.train_group, "X_test": parts.test_X}
        with ground.environments.start(program, {"rival": rival, "margin": MARGIN}, arrays) as process:
            process.ask(do="train", batch=BATCH, epochs=1, seed=seed)
            answer = process.ask(do="train", batch=BATCH, epochs=epochs, seed=seed)
            samples[rival].append(float(answer["seconds"]))
            points.append(tested("tpr", parts, process.arrays("decided")["decided"].astype(float)))
        curve = []
        for margin in MARGINS:
            made: list[Any] = []
            work = partial(trained, parts, margin, seed, epochs)
            taken = cpu_seconds(lambda work=work, made=made: made.append(work()))  # type: ignore[misc]
            curve.append(tested("tpr", parts, made[0].positive_probability(parts.test_X)))
            if margin == MARGIN:
                samples[OURS].append(taken)
                ours.append(curve[-1])
        curves.append(curve)
    facts: dict[str, Any] = {"kind": "tpr", OURS: mean_point(ours)}
    apart = difference(curves, points, len(parts.test_y))
    facts[rival] = mean_point(points) | {"difference": apart.as_dict()}
    note = f"two layers of 64, batches of {BATCH}, {epochs} epochs"
    return Measured((Comparison("training a network", "s", samples, note),), facts=facts)


def _single(parts: Halves) -> Halves:
    """Features in single precision."""
    return replace(parts, train_X=parts.train_X.astype(np.float32), test_X=parts.test_X.astype(np.float32))


def _few(parts: Halves) -> Halves:
    return replace(parts, train_X=parts.train_X[:512], train_y=parts.train_y[:512], train_group=parts.train_group[:512])
