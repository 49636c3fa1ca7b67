"""Boosted trees on five data sets beside fairlearn's reductions, and with groups beside thresholds and perpetual.

In: a data set and a kind of constraint. Out: processor time and quality on test rows of ``model="trees"``, without the
group when predicting (beside fairlearn's reductions on LightGBM) and with it (beside error-parity, fairlearn's
`ThresholdOptimizer` and perpetual's `FairClassifier`). Every sample is a new split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equirate as eq

from ..trees.data import Halves
from .answers import Answer
from .environments import UnavailableError
from .ground import OURS, Comparison, Ground, Measured
from .reading import Point, difference
from .sources import adult, prepared
from .timing import by_default, cpu_seconds
from .whole_fits import LEVEL, PARITY, fit, mean_point, tested

DATA = {
    "adult": "Adult",
    "compas": "COMPAS",
    "crime": "Communities & Crime",
    "law_school": "Law School",
    "business": "Business",
}
BLIND, AWARE = (
    {"reductions": "fairlearn_trees"},
    {
        "error_parity": "error_parity",
        "threshold_optimizer": "fairlearn_trees",
        "perpetual": "perpetual",
    },
)
"""Methods that predict without the group and with it, each with its environment."""
TITLES = {
    "reductions": "fairlearn, ExponentiatedGradient on LightGBM",
    "error_parity": "error-parity on LightGBM",
    "threshold_optimizer": "fairlearn, ThresholdOptimizer on LightGBM",
    "perpetual": "perpetual, FairClassifier",
}
LEVELS = (0.005, 0.025, 0.05, 0.12, 0.3)
"""The last is as wide as the gaps of rivals without a tolerance on few rows."""
STRENGTH = 1.0
"""perpetual has no tolerance; this is its default strength of the penalty."""
WARM = 300
"""Rows of the fits that only load code."""
ENOUGH = 60.0
"""Seconds of processor time after which a rival is not asked for more splits."""
LIMIT = 60.0
"""Seconds of processor time that a rival may take for one split; what it has answered before stays."""


def trees(kind: str, level: float, aware: bool) -> eq.RateClassifier:
    """``model="trees"`` on one thread."""
    from equirate.boosting import default_trees

    constraints = PARITY[kind]("group", tolerance=level, compare="pairs")
    groups: dict[str, Any] = {"groups": "group"} if aware else {}
    return eq.RateClassifier(
        eq.minimize(eq.error_rate()), constraints, model=default_trees(n_jobs=1), random_state=0, **groups
    )


def beside_trees(ground: Ground, data: str, kind: str, repetitions: int) -> Measured:
    """Time every side on several splits, in turns."""
    sides = Sides(ground, kind)
    with by_default():
        for seed in range(repetitions):
            ground.tell(f"{data}, split {seed + 1} of {repetitions}")
            parts = adult(seed) if data == "adult" else prepared(data, seed)
            for aware, rivals in ((False, BLIND), (True, AWARE)):
                sides.ours(parts, aware)
                for method, environment in rivals.items():
                    sides.rival(parts, method, environment)
    return sides.measured(len(parts.train_y), len(parts.test_y))


class Sides:
    """What was measured so far: seconds and points by side."""

    def __init__(self, ground: Ground, kind: str) -> None:
        self.ground, self.kind = ground, kind
        self.seconds: dict[str, list[float]] = {}
        self.points: dict[str, list[Point]] = {}
        self.curves: dict[bool, list[Sequence[Point]]] = {False: [], True: []}
        self.left_out: dict[str, str] = {}
        self.kept: dict[str, int] = {}

    def ours(self, parts: Halves, aware: bool) -> None:
        """Our fit at the level asked for, and our curve."""
        train = parts.train_X, parts.train_y, parts.train_group
        tests = {"sensitive_features": {"group": parts.test_group}} if aware else {}
        name = _ours(aware)
        if name not in self.seconds:
            fit(trees(self.kind, LEVEL, aware), *(each[:WARM] for each in train))
        curve = []
        for level in LEVELS:
            models: list[Any] = []
            model = trees(self.kind, level, aware)
            taken = cpu_seconds(lambda model=model, models=models: models.append(fit(model, *train)))  # type: ignore[misc]
            curve.append(tested(self.kind, parts, models[0].predict_pmf(parts.test_X, **tests)[:, 1]))
            if level == LEVEL:
                self.seconds.setdefault(name, []).append(taken)
                self.points.setdefault(name, []).append(curve[-1])
        self.curves[aware].append(curve)

    def rival(self, parts: Halves, method: str, environment: str) -> None:
        """A rival's fit; one that cannot be measured is noted and not asked again, nor is one that took enough."""
        if method in self.left_out or sum(self.seconds.get(method, ())) >= ENOUGH:
            return
        try:
            level = STRENGTH if method == "perpetual" else LEVEL
            request = {"method": method, "kind": self.kind, "level": level}
            answer = self.ground.asked(environment, parts.arrays(), request, warm=WARM, most=LIMIT)
        except UnavailableError as error:
            answer = Answer({"error": str(error)}, {})
        if "error" in answer.said:
            self.left_out[method] = answer.said["error"]
            return
        self.seconds.setdefault(method, []).append(answer.seconds)
        self.kept[method] = self.kept.get(method, 0) + answer.kept
        self.points.setdefault(method, []).append(tested(self.kind, parts, answer.arrays["test"]))

    def measured(self, rows: int, test_rows: int) -> Measured:
        """Comparisons of every rival that answered."""
        facts: dict[str, Any] = {"kind": self.kind, "left out": self.left_out, "kept": self.kept}
        compared = []
        for aware, rivals in ((False, BLIND), (True, AWARE)):
            facts[_ours(aware)] = mean_point(self.points[_ours(aware)])
            for method in rivals:
                if method in self.seconds:
                    note = f"{rows:,} rows, {'with' if aware else 'without'} the group when predicting"
                    samples = {OURS: self.seconds[_ours(aware)], method: self.seconds[method]}
                    compared.append(Comparison("whole fit of trees", "s", samples, note))
                    read = self.points[method]
                    apart = difference(self.curves[aware][: len(read)], read, test_rows)
                    facts[method] = mean_point(self.points[method]) | {"difference": apart.as_dict()}
        return Measured(tuple(compared), facts=facts)


def _ours(aware: bool) -> str:
    return "equirate, groups" if aware else OURS
