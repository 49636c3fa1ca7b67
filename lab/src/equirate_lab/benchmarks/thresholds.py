"""Thresholds on given scores: `RatePostprocessor` beside error-parity and OxonFair, by the number of groups.

In: a number of groups. Out: processor time of choosing thresholds on 20,000 rows, and quality on 50,000 new ones. All
sides get the same scores and may use the group. A rival that fails, or exceeds the limits, is reported with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from ..trees.data import Halves
from .environments import UnavailableError
from .ground import OURS, Comparison, Ground, Measured
from .reading import Point, difference
from .timing import by_default, cpu_seconds
from .whole_fits import LEVEL, LEVELS, PARITY, WARM, fit, mean_point, tested

RIVALS_OF_THRESHOLDS = ("error_parity", "oxonfair")
ROWS, TEST_ROWS = 20_000, 50_000
LIMIT, MEMORY = 180, 8
"""Seconds of processor time, and gigabytes, that a rival may take."""


def scored(rows: int, groups: int, seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Scores in one column, labels and groups: scores are calibrated, and groups have other base rates.

    Examples
    --------
    >>> scores, y, group = scored(1000, 3, 0)
    >>> scores.shape, sorted(set(group.tolist())), bool(abs(scores.mean() - y.mean()) < 0.05)
    ((1000, 1), [0, 1, 2], True)
    """
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, size=rows, p=1 / np.arange(1, groups + 1) / (1 / np.arange(1, groups + 1)).sum())
    shift = np.linspace(-0.8, 0.8, groups)
    margin = 1.6 * rng.normal(size=rows) + shift[group] - 0.5
    scores = 1 / (1 + np.exp(-margin))
    return scores[:, None], (rng.random(rows) < scores).astype(int), group


def postprocessor(kind: str, level: float) -> eq.RatePostprocessor:
    """Thresholds by group on scores that are given."""
    constraints = PARITY[kind]("group", tolerance=level, compare="pairs")
    return eq.RatePostprocessor(None, eq.minimize(eq.error_rate()), constraints, groups="group", random_state=0)


def beside(ground: Ground, rival: str, kind: str, groups: int, repetitions: int) -> Measured:
    """Time both sides in turns."""
    samples: dict[str, list[float]] = {OURS: [], rival: []}
    points: dict[str, list[Point]] = {OURS: [], rival: []}
    curves = []
    with by_default():
        for seed in range(repetitions):
            parts = Halves(*scored(ROWS, groups, seed), *scored(TEST_ROWS, groups, 10_000))
            train = parts.train_X, parts.train_y, parts.train_group
            if not seed:
                fit(postprocessor(kind, LEVEL), *(each[:WARM] for each in train))
            ground.tell(f"{rival}, {groups} groups, sample {seed + 1} of {repetitions}")
            process = ground.given(f"{rival}_thresholds", {"limit": LIMIT, "memory": MEMORY}, parts.arrays())
            answer = process.ask(method=rival, kind=kind, level=LEVEL)
            if not seed and "error" not in answer:  # the first loads what is loaded at first use
                answer = process.ask(method=rival, kind=kind, level=LEVEL)
            if "error" in answer:
                raise UnavailableError(f"{rival} with {groups} groups: {answer['error']}")
            samples[rival].append(float(answer["seconds"]))
            points[rival].append(tested(kind, parts, process.arrays(rival)["test"]))
            samples[OURS].append(cpu_seconds(lambda train=train: fit(postprocessor(kind, LEVEL), *train)))  # type: ignore[misc]
            people = {"group": parts.test_group}
            fitted = [(level, fit(postprocessor(kind, level), *train)) for level in LEVELS]
            curve = [
                tested(kind, parts, model.predict_pmf(parts.test_X, sensitive_features=people)[:, 1])
                for _, model in fitted
            ]
            curves.append(curve)
            points[OURS].append(curve[LEVELS.index(LEVEL)])
    facts: dict[str, Any] = {"kind": kind, "groups": groups, OURS: mean_point(points[OURS])}
    apart = difference(curves, points[rival], TEST_ROWS)
    facts[rival] = mean_point(points[rival]) | {"difference": apart.as_dict()}
    note = f"{ROWS:,} scores, {groups} groups"
    return Measured((Comparison("choosing thresholds", "s", samples, note),), facts=facts)
