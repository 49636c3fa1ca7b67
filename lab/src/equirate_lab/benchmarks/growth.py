"""Growth: how time and memory grow with rows, slices, configurations and iterates; predicting; the oracle.

In: one size. Out: the point of a curve. Data are made up, but for the iterates, which are of the paper's problems on
COMPAS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.models import LinearMembers

from .against_tfco import EXPERIMENTS
from .ground import OURS, Comparison, Ground, Measured
from .made_up import GROUP, made_up
from .timing import alone, interleaved, per_round, seconds

PRODUCT = "one matrix product"
_FIRST = eq.attr(GROUP) == 0


def by_rows(ground: Ground, size: int) -> Measured:
    """A round, and the peak of memory, with so many rows."""
    settings = ground.settings
    lasting = (5, 15) if size >= 1_000_000 else (settings.short, settings.long)
    ground.tell(f"{size:,} rows, in a process of its own")
    job = {"rows": size, "columns": settings.columns, "short": lasting[0], "long": lasting[1]}
    answer = alone({**job, "repetitions": settings.slow_repetitions}, settings.cores)
    return Measured(
        (Comparison("a round", "ms", {OURS: [1e3 * s for s in answer["seconds"]]}, "one configuration"),),
        facts={
            "memory of X, MB": answer["data"] / 1e6,
            "peak beyond the data, MB": answer["beyond"] / 1e6,
            "peak beyond the data / X": answer["beyond"] / answer["data"],
        },
    )


def by_slices(ground: Ground, size: int) -> Measured:
    """A round with so many groups, each of whose positive rates is held near the others'."""
    settings = ground.settings
    X, y, group = made_up(settings.slice_rows, settings.columns, groups=size)
    problem = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity(eq.attr(GROUP), tolerance=0.05))
    return _round(ground, problem, X, y, group, "one configuration", theta_step=0.01, lambda_step=0.01)


def by_configurations(ground: Ground, size: int) -> Measured:
    """A round with so many configurations side by side, on as many rows and features as Adult has."""
    X, y, group = made_up(21_708, 122)
    steps = list(np.geomspace(0.001, 0.1, size))
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(_FIRST) >= eq.tpr(~_FIRST) - 0.02])
    return _round(ground, problem, X, y, group, "", theta_step=steps, lambda_step=0.01)


def _round(ground: Ground, problem: eq.Problem, X: Any, y: Any, group: Any, note: str, **options: Any) -> Measured:
    settings = ground.settings

    def play(rounds: int) -> None:
        ground.solve(problem, X, y, attributes={GROUP: group}, n_rounds=rounds, **options)

    samples = interleaved(
        {OURS: lambda: 1e3 * per_round(play, settings.short, settings.long)}, settings.repetitions, ground.tell
    )
    return Measured((Comparison("a round", "ms", samples, note),))


def by_iterates(ground: Ground, experiment: str, size: int) -> Measured:
    """Shrink, polish, judge on the validation part and choose there, with so many recorded iterates."""
    settings, played, bench = ground.settings, EXPERIMENTS[experiment], ground.bench("compas")
    count = len(settings.steps) ** 2
    solution = bench.solve(
        played.problem(bench),
        played.algorithm,
        n_rounds=size // count,
        record_every=1,
        theta_step=settings.steps,
        lambda_step=settings.steps,
    )
    part = bench.validation

    def fresh() -> eq.Solution:
        return replace(solution)  # without what the solution has worked out already

    def judged() -> eq.Solution:
        return solution.on(part.X, part.y, attributes=part.attributes)

    work: dict[str, Callable[[], Any]] = {
        "shrink": lambda: fresh().shrink(),
        "polish": lambda: fresh().polish(),
        "judge on validation rows": judged,
        "shrink every configuration": lambda: [fresh().shrink(c) for c in range(count)],
    }
    comparisons = []
    for what, call in work.items():
        samples = interleaved({OURS: partial(seconds, call)}, settings.slow_repetitions, ground.tell)
        comparisons.append(Comparison(what, "s", samples))
    return Measured(tuple(comparisons), facts={"iterates": len(solution.columns)})


def by_plug_in(ground: Ground, size: int) -> Measured:
    """A round of the oracle algorithm on a plug-in of logistic regression."""
    settings = ground.settings
    X, y, group = made_up(size, settings.columns)
    model = eq.models.PlugIn(_Fixed(X[:1000], y[:1000]), group_aware=True)
    problem = eq.Problem(eq.maximize(eq.g_mean()), [eq.tpr(_FIRST) >= eq.tpr(~_FIRST) - 0.02])
    long = 3 * settings.short if size >= 1_000_000 else settings.long
    options = {"algorithm": "oracle", "model": model, "lambda_step": 0.01}

    def play(rounds: int) -> None:
        ground.solve(problem, X, y, attributes={GROUP: group}, n_rounds=rounds, **options)

    sample = {OURS: lambda: 1e3 * per_round(play, settings.short, long)}
    samples = interleaved(sample, settings.slow_repetitions, ground.tell)
    return Measured((Comparison("a round", "ms", samples, "one configuration"),))


class _Fixed:
    """Logistic regression that was trained once: what is timed is the game, not the fit."""

    def __init__(self, X: Any, y: Any) -> None:
        self.model = LogisticRegression(max_iter=1000).fit(X, y)

    def __sklearn_clone__(self) -> _Fixed:
        return self

    def fit(self, X: Any, y: Any, **_: Any) -> _Fixed:
        """Do nothing."""
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of labels 0 and 1."""
        return self.model.predict_proba(X)


def predicting(ground: Ground, members: int) -> Measured:
    """A sparse mixture on many rows, against one product of the features with as many columns."""
    settings = ground.settings
    X, _, _ = made_up(settings.predict_rows, settings.predict_columns)
    W = np.random.default_rng(1).normal(size=(settings.predict_columns + 1, members)).astype(np.float32)
    mixture = eq.Classifier(LinearMembers(W), np.full(members, 1 / members))
    plain = np.ascontiguousarray(W[:-1])
    samples = interleaved(
        {
            OURS: lambda: seconds(lambda: mixture.positive_probability(X)),
            "predict": lambda: seconds(lambda: mixture.predict(X)),
            PRODUCT: lambda: seconds(lambda: X @ plain),
        },
        settings.repetitions,
        ground.tell,
    )
    note = f"{settings.predict_rows:,} × {settings.predict_columns}, {members} members"
    return Measured(
        (
            Comparison("probabilities", "s", {OURS: samples[OURS], PRODUCT: samples[PRODUCT]}, note),
            Comparison("predictions", "s", {OURS: samples["predict"], PRODUCT: samples[PRODUCT]}, note),
        )
    )
