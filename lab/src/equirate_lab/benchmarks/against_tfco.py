"""The paper's grid against TFCO: sixteen configurations side by side here, one after the other there.

In: an experiment and a data set. Out: the time of a round and of the whole grid, and objective and constraint of both
sides' classifiers, chosen in the same way on the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equirate as eq

from ..experiments import problems
from ..experiments.bench import Bench
from ..experiments.methods import kld_problem
from ..experiments.problems import Measures
from ..experiments.splits import PROTECTED
from .ground import OURS, Comparison, Ground, Measured, Quality
from .judging import chosen, recorded_weights
from .timing import interleaved, per_round, seconds

TFCO = "tfco"
POLISHED = "equirate, net bounds, polished"


@dataclass(frozen=True)
class Played:
    """An experiment of the paper: its problem, the algorithm that plays it, and what is reported."""

    title: str
    algorithm: str
    measures: Measures
    problem: Callable[..., eq.Problem]
    """Of a `Bench`, and of the part that mixtures are made on, by default the training part."""


EXPERIMENTS = {
    "kld": Played("KL divergence, Algorithm 2", "surrogate", problems.KLD, kld_problem),
    "fmeasure": Played("F-measure, Algorithm 3", "slack_ratios", problems.FMEASURE, lambda *_: problems.fmeasure()),
}


def grid(ground: Ground, experiment: str, dataset: str, style: str) -> Measured:
    """Measure one experiment on one data set."""
    settings, played, bench = ground.settings, EXPERIMENTS[experiment], ground.bench(dataset)
    problem, train = played.problem(bench), bench.train
    count = len(settings.steps) ** 2
    last: dict[str, Any] = {}

    def play(rounds: int, net: bool = False) -> None:
        last["solution"] = bench.solve(
            problem,
            played.algorithm,
            net=net,
            n_rounds=rounds,
            record_every=settings.record_every,
            theta_step=settings.steps,
            lambda_step=settings.steps,
        )

    job = {
        "problem": experiment,
        "style": style,
        "dataset": dataset,
        "steps": list(settings.steps),
        "record_every": settings.record_every,
        "limit": problems.EXCESS * bench.error(train),
        "margin": problems.F_MARGIN,
    }
    arrays = {"X": train.X, "y": train.y, "group": train.attributes[PROTECTED] == 1}
    with ground.rival(TFCO, job, arrays) as tfco:
        rounds = interleaved(
            {
                OURS: lambda: 1e3 * per_round(play, settings.short, settings.long) / count,
                TFCO: lambda: 1e3 * tfco.ask(do="time", rounds=settings.long)["seconds"] / settings.long,
            },
            settings.repetitions,
            ground.tell,
        )
        whole = interleaved(
            {
                OURS: lambda: seconds(lambda: play(settings.rounds)),
                TFCO: lambda: float(tfco.ask(do="grid", rounds=settings.rounds)["seconds"]),
            },
            settings.grid_repetitions,
            ground.tell,
            warm=False,
        )
        theirs = tfco.arrays("grid")["weights"]
    ground.tell("choosing among the iterates")
    classifiers = {
        OURS: chosen(problem, recorded_weights(last["solution"]), bench.split),
        TFCO: chosen(problem, theirs, bench.split),
    }
    start = time.perf_counter()
    play(settings.rounds, net=True)
    classifiers[POLISHED] = _polished(bench, played, last["solution"])
    took = time.perf_counter() - start
    quality: Quality = {
        side: {
            name: list(played.measures.value(classifier.positive_probability(part.X), part, bench.error(part)))
            for name, part in bench.split.parts.items()
        }
        for side, classifier in classifiers.items()
    }
    return Measured(
        (
            Comparison("a round of one configuration", "ms", rounds, f"{count} configurations"),
            Comparison("the whole grid", "s", whole, f"{count} configurations, {settings.rounds:,} rounds"),
        ),
        quality,
        (played.measures.objective, f"{played.measures.constraint} (at most {played.measures.limit:g})"),
        {"rows": len(train), "features": train.X.shape[1], "style": style, "seconds of net bounds and polishing": took},
    )


def _polished(bench: Bench, played: Played, solution: eq.Solution) -> eq.Classifier:
    """The best mixture of the iterates on training and validation rows together."""
    part = bench.both
    return solution.on(part.X, part.y, attributes=part.attributes).for_problem(played.problem(bench, part)).polish()
