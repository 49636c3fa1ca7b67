"""The limit: the two matrix products of a round by themselves, against a whole round.

A round of a linear model is ``X @ W`` (scores), ``X.T @ G`` (gradient) and what lies between. A round can take less
than the two only where the features are not multiplied as they stand: zeros left out, equal rows merged.
"""

from __future__ import annotations

import numpy as np

from .against_tfco import EXPERIMENTS
from .ground import OURS, Comparison, Ground, Measured
from .timing import interleaved, per_round, seconds

PRODUCTS = "bare products"


def products(ground: Ground, experiment: str, dataset: str) -> Measured:
    """Measure a round of the grid against its bare products."""
    settings, played, bench = ground.settings, EXPERIMENTS[experiment], ground.bench(dataset)
    problem, X = played.problem(bench), bench.train.X
    count = len(settings.steps) ** 2
    rng = np.random.default_rng(0)
    W = rng.normal(size=(X.shape[1], count)).astype(np.float32)
    G = rng.normal(size=(len(X), count)).astype(np.float32)
    scores, gradient = np.empty_like(G), np.empty_like(W)

    def multiply() -> None:
        for _ in range(settings.long):
            np.matmul(X, W, out=scores)
            np.matmul(X.T, G, out=gradient)

    def play(rounds: int) -> None:
        bench.solve(
            problem,
            played.algorithm,
            n_rounds=rounds,
            record_every=settings.record_every,
            theta_step=settings.steps,
            lambda_step=settings.steps,
        )

    samples = interleaved(
        {
            OURS: lambda: 1e3 * per_round(play, settings.short, settings.long),
            PRODUCTS: lambda: 1e3 * seconds(multiply) / settings.long,
        },
        settings.repetitions,
        ground.tell,
    )
    return Measured(
        (Comparison("a round", "ms", samples, f"{count} configurations"),),
        facts={"rows": len(X), "features": X.shape[1], "configurations": count},
    )
