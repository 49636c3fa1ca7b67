"""One equal-opportunity constraint against cooper: the time of a round, quality, and the time to the same quality.

Both get standardised features, start from zero and take the same steps of Adam. cooper's iterates are chosen among as
the paper does. The target is what that choice reaches on the training rows; cooper's time is that of the fewest
rounds after which the choice is already as good.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import equirate as eq

from ..experiments.problems import GROUP, OTHERS
from ..experiments.splits import PROTECTED, Part, Split
from .against_fairlearn import fitted
from .environments import Process
from .ground import OURS, Comparison, Ground, Measured, Quality
from .judging import Pair, chosen, fewest, ladder, pair
from .timing import interleaved, per_round, seconds

COOPER = "cooper"
MARGIN = 0.02


def equal_chances(margin: float) -> eq.Problem:
    """The smallest error such that the protected group's true positive rate is at most a margin below the others'."""
    return eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(GROUP) >= eq.tpr(OTHERS) - margin])


def standardised(split: Split) -> Split:
    """The split with features of mean 0 and deviation 1 on the training rows."""
    mean, deviation = split.train.X.mean(axis=0), split.train.X.std(axis=0)
    deviation[deviation == 0] = 1.0
    parts = (Part((part.X - mean) / deviation, part.y, part.attributes) for part in split.parts.values())
    return Split(split.dataset, split.seed, *parts)


def opportunity(ground: Ground, dataset: str) -> Measured:
    """Measure against cooper on one data set."""
    settings, split = ground.settings, standardised(ground.bench(dataset).split)
    train, problem, measure = split.train, equal_chances(MARGIN), equal_chances(0.0)
    every, count = settings.record_every, len(settings.cooper_steps) ** 2
    job = {"dataset": dataset, "margin": MARGIN, "steps": list(settings.cooper_steps), "record_every": every}
    group = train.attributes[PROTECTED] == 1
    with ground.rival(COOPER, job, {"X": train.X, "y": train.y, "group": group}) as rival:
        comparisons = _rounds(ground, rival, problem, train)
        ground.tell("cooper sets the target")
        rival.ask(do="grid", rounds=settings.cooper_rounds)
        weights = rival.arrays("grid")["weights"]

        def after(rounds: int) -> Pair:
            return pair(
                measure, chosen(problem, weights[: rounds // every], split).positive_probability(train.X), train
            )

        theirs = chosen(problem, weights, split)
        target = pair(measure, theirs.positive_probability(train.X), train)
        rungs = [rounds for rounds in ladder(25, settings.cooper_rounds) if rounds >= every]
        needed = fewest(rungs, after, target) or settings.cooper_rounds
        goal = equal_chances(target[1])

        def attempt(rounds: int) -> Pair:
            ground.tell(f"reaching cooper's error, {rounds} rounds")
            return pair(measure, fitted(goal, train, rounds).predict_pmf(train.X)[:, 1], train)

        enough = fewest(ladder(25, settings.most_rounds), attempt, target)
        if enough is not None:
            sides = {
                OURS: lambda: seconds(lambda: fitted(goal, train, enough)),
                COOPER: lambda: float(rival.ask(do="grid", rounds=needed)["seconds"]),
            }
            reached = interleaved(sides, settings.slow_repetitions, ground.tell, warm=False)
            note = f"{enough} rounds; cooper: {count} configurations of {needed} rounds"
            comparisons.append(Comparison("fit to cooper's quality", "s", reached, note))
    ours = fitted(goal, train, enough)
    quality: Quality = {
        OURS: {name: list(pair(measure, ours.predict_pmf(p.X)[:, 1], p)) for name, p in split.parts.items()},
        COOPER: {name: list(pair(measure, theirs.positive_probability(p.X), p)) for name, p in split.parts.items()},
    }
    return Measured(
        tuple(comparisons),
        quality,
        ("error", f"difference of true positive rates (at most {MARGIN:g} asked for)"),
        {"rows": len(train), "features": train.X.shape[1], "rounds": enough, "rounds of cooper": needed},
    )


def _rounds(ground: Ground, rival: Process, problem: eq.Problem, train: Part) -> list[Comparison]:
    """A round of one configuration alone, and of one among several that are played side by side."""
    settings, count = ground.settings, len(ground.settings.cooper_steps) ** 2

    def play(steps: Any, rounds: int) -> None:
        options = {"n_rounds": rounds, "record_every": settings.record_every, "bounds": "row"}
        ground.solve(
            problem, train.X, train.y, attributes=train.attributes, theta_step=steps, lambda_step=steps, **options
        )

    lasting = (settings.short, settings.long)
    sides = {
        OURS: lambda: 1e3 * per_round(partial(play, settings.cooper_steps[0]), *lasting),
        "several": lambda: 1e3 * per_round(partial(play, settings.cooper_steps), *lasting) / count,
        COOPER: lambda: 1e3 * rival.ask(do="time", rounds=settings.long)["seconds"] / settings.long,
    }
    samples = interleaved(sides, settings.repetitions, ground.tell)
    theirs = samples[COOPER]
    return [
        Comparison("a round", "ms", {OURS: samples[OURS], COOPER: theirs}),
        Comparison(
            "a round of one configuration",
            "ms",
            {OURS: samples["several"], COOPER: theirs},
            f"{count} configurations",
        ),
    ]
