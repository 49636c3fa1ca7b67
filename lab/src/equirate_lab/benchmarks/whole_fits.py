"""Whole fits beside fairlearn and beside plain logistic regression, at equal quality on new rows.

In: a source of data, a kind of constraint. Out: seconds of processor time of `RateClassifier` with its defaults, of
fairlearn's `ExponentiatedGradient` on scikit-learn's `LogisticRegression`, and of one `LogisticRegression`; all in one
run, in turns, on one thread. Every repetition is another sample of the data. `reading` says how quality is compared.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

import equirate as eq

from ..trees.data import Halves
from .ground import OURS, Comparison, Ground, Measured
from .reading import Point, difference, point
from .timing import by_default, cpu_seconds, limited_to, spread

REDUCTIONS = "reductions"
LOGISTIC = "logistic regression"
LEVEL = 0.05
"""The tolerance that is timed."""
LEVELS = (0.005, 0.02, 0.035, 0.05, 0.075, 0.1)
"""Tolerances at which our curve is drawn."""
WARM = 400
"""Rows of the fits that only load code."""
PARITY = {"dp": eq.demographic_parity, "odds": eq.equalized_odds, "tpr": eq.equal_opportunity}


def classifier(kind: str, level: float, **options: Any) -> eq.RateClassifier:
    """The smallest error with each group's rates near everybody's, as fairlearn states it."""
    constraints = PARITY[kind]("group", tolerance=level, compare="overall")
    return eq.RateClassifier(eq.minimize(eq.error_rate()), constraints, random_state=0, **options)


def fit(model: Any, X: Any, y: Any, group: Any) -> Any:
    """Fit without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, sensitive_features={"group": group})


def tested(kind: str, parts: Halves, decided: Any) -> Point:
    """Error and gap on the test rows."""
    return point(kind, parts.test_y, parts.test_group, np.asarray(decided))


def curve(kind: str, parts: Halves, make: Callable[[float], Any], levels: Sequence[float] = LEVELS) -> list[Point]:
    """Our points on the test rows, one fit for each level."""
    found = []
    for level in levels:
        model = fit(make(level), parts.train_X, parts.train_y, parts.train_group)
        found.append(tested(kind, parts, model.predict_pmf(parts.test_X)[:, 1]))
    return found


def beside_fairlearn(
    ground: Ground,
    source: Callable[[int], Halves],
    kind: str,
    repetitions: int,
    rivals: Sequence[str] = ("fairlearn",),
    rival_repetitions: int | None = None,
) -> Measured:
    """Time whole fits on several samples, ours and the rivals' in turns."""
    samples: dict[str, list[float]] = {OURS: [], LOGISTIC: [], **{name: [] for name in rivals}}
    curves: list[list[Point]] = []
    points: dict[str, list[Point]] = {name: [] for name in rivals}
    ours: list[Point] = []
    calls: dict[str, int] = {}
    kept: dict[str, int] = {}
    with by_default():
        for seed in range(repetitions):
            parts = source(seed)
            train = parts.train_X, parts.train_y, parts.train_group
            if not seed:
                fit(classifier(kind, LEVEL), *(each[:WARM] for each in train))
            made: list[Any] = []

            def us(parts: Halves = parts, made: list[Any] = made) -> float:
                train = parts.train_X, parts.train_y, parts.train_group
                return cpu_seconds(lambda: made.append(fit(classifier(kind, LEVEL), *train)))

            ground.tell(f"sample {seed + 1} of {repetitions}: equirate and logistic regression")
            asked = seed < (repetitions if rival_repetitions is None else rival_repetitions)
            first = us()
            if asked:
                for name in rivals:
                    ground.tell(f"sample {seed + 1} of {repetitions}: {name}")
                    request = {"method": name, "kind": kind, "level": LEVEL}
                    answer = ground.asked(REDUCTIONS, parts.arrays(), request, warm=WARM)
                    samples[name].append(answer.seconds)
                    kept[name] = kept.get(name, 0) + answer.kept
                    calls[name] = int(answer.said["calls"])
                    points[name].append(tested(kind, parts, answer.arrays["test"]))
                second = us()  # once before and once after the rivals
                curves.append(curve(kind, parts, lambda level: classifier(kind, level)))
            else:
                second = us()
            samples[OURS].append((first + second) / 2)
            samples[LOGISTIC].append(logistic_seconds(parts))
            ours.append(tested(kind, parts, made[0].predict_pmf(parts.test_X)[:, 1]))
    size = f"{len(parts.train_y):,} rows, {parts.train_X.shape[1]:,} features"
    compared = [Comparison("whole fit", "s", {OURS: samples[OURS], name: samples[name]}, size) for name in rivals]
    compared.append(
        Comparison("whole fit, in logistic regressions", "s", {OURS: samples[OURS], LOGISTIC: samples[LOGISTIC]}, size)
    )
    facts: dict[str, Any] = {
        "kind": kind,
        "equirate": mean_point(ours),
        "multiples": spread(np.divide(samples[OURS], samples[LOGISTIC]).tolist()).median,
        "calls": calls,
        "kept": kept,
    }
    for name in rivals:
        apart = difference(curves, points[name], len(parts.test_y))
        facts[name] = mean_point(points[name]) | {"difference": apart.as_dict()}
    return Measured(tuple(compared), facts=facts)


def mean_point(points: Sequence[Point]) -> dict[str, float]:
    """Mean error and gap."""
    return {name: float(np.mean([asdict(each)[name] for each in points])) for name in ("error", "gap")}


def logistic_seconds(parts: Halves) -> float:
    """Processor time of scikit-learn's logistic regression as it comes."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cpu_seconds(lambda: LogisticRegression().fit(parts.train_X, parts.train_y))


def in_regressions(ground: Ground, source: Callable[[int], Halves], problem: eq.Problem, repetitions: int) -> Measured:
    """A whole fit of any problem in multiples of one logistic regression; where fairlearn has no such problem."""
    samples: dict[str, list[float]] = {OURS: [], LOGISTIC: []}
    errors, passes = [], []
    with by_default():
        for seed in range(repetitions):
            parts = source(seed)
            train = parts.train_X, parts.train_y, parts.train_group
            made: list[Any] = []

            def us(train: Any = train, made: list[Any] = made) -> float:
                model = eq.RateClassifier(problem.objective, list(problem.constraints), random_state=0)
                return cpu_seconds(lambda: made.append(fit(model, *train)))

            if not seed:
                us(tuple(each[:WARM] for each in train), [])
            ground.tell(f"sample {seed + 1} of {repetitions}")
            first, logistic, second = us(), logistic_seconds(parts), us()
            samples[OURS].append((first + second) / 2)
            samples[LOGISTIC].append(logistic)
            decided = made[0].predict_pmf(parts.test_X)[:, 1]
            errors.append(tested("odds", parts, decided).error)
            passes.append(int(made[0].n_rounds_))
    size = f"{len(parts.train_y):,} rows, {parts.train_X.shape[1]:,} features"
    facts = {
        "error": float(np.mean(errors)),
        "predicting nobody": float(parts.test_y.mean()),
        "passes": passes,
        "multiples": spread(np.divide(samples[OURS], samples[LOGISTIC]).tolist()).median,
    }
    return Measured((Comparison("whole fit, in logistic regressions", "s", samples, size),), facts=facts)


def two_threads(ground: Ground, source: Callable[[int], Halves], kind: str, repetitions: int) -> Measured:
    """Seconds by the clock of a whole fit on one thread and on two, in turns; others use the machine too."""
    parts = source(0)
    train = parts.train_X, parts.train_y, parts.train_group
    one, two = "one thread", "two threads"
    samples: dict[str, list[float]] = {one: [], two: []}
    with by_default():
        fit(classifier(kind, LEVEL), *(each[:WARM] for each in train))
        for k in range(repetitions):
            for name in (one, two)[:: -1 if k % 2 else 1]:
                ground.tell(f"{name}, repetition {k + 1} of {repetitions}")
                with limited_to(1 if name == one else 2), by_default():
                    begin = time.perf_counter()
                    fit(classifier(kind, LEVEL), *train)
                    samples[name].append(time.perf_counter() - begin)
    return Measured(
        (Comparison("whole fit by the clock", "s", {OURS: samples[two], one: samples[one]}, "two threads beside one"),),
        facts={"load": list(_load())},
    )


def _load() -> tuple[float, ...]:
    """How many processes wanted a core of late, where the system says."""
    import os

    return os.getloadavg() if hasattr(os, "getloadavg") else ()
