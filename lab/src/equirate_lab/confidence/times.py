"""How long a confident fit takes beside a plain one: seconds of the processor, default settings, a linear model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import equirate as eq
from equirate import datasets

from .problems import ERROR, G, Population

ROWS = 3000


@dataclass(frozen=True)
class Timed:
    """Seconds of the plain fit and of both methods of confidence, the best of some."""

    name: str
    plain: float
    cross: float
    holdout: float


def measure(repeats: int = 3, tell: Callable[[str], None] = print) -> list[Timed]:
    """Time parity, equal opportunity and precision parity on made-up rows, and parity on Adult."""
    made = Population(ROWS, 1000).draw(np.random.default_rng(0))
    cases: list[tuple[str, Any, tuple[Any, ...]]] = [
        (f"{name}, {ROWS:,} made-up rows", abs(rate(G) - rate(~G)) <= 0.1, (made.X, made.y, {"g": made.g}))
        for name, rate in (("parity", eq.positive_rate), ("equal opportunity", eq.recall), ("precision", eq.precision))
    ]
    adult = datasets.load("adult")
    inside = eq.attr(adult.protected.attribute) == adult.protected.value
    gap = abs(eq.positive_rate(inside) - eq.positive_rate(~inside)) <= 0.05
    data = (adult.features.to_numpy(float), adult.label, adult.attributes)
    cases.append((f"parity, Adult, {len(adult.label):,} rows", gap, data))
    found = []
    for name, constraint, data in cases:
        seconds = [_seconds(constraint, data, method, repeats) for method in ("", "cross", "holdout")]
        found.append(Timed(name, *seconds))
        tell(f"{name}: {found[-1].cross / found[-1].plain:.2f} times a plain fit")
    return found


def _seconds(constraint: Any, data: tuple[Any, ...], method: str, repeats: int) -> float:
    options: dict[str, Any] = {"confidence": 0.95, "confidence_method": method} if method else {}
    times = []
    for _ in range(repeats):
        estimator = eq.RateClassifier(ERROR, [constraint], random_state=0, **options)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.NotSolvedWarning)
            estimator.fit(*data[:2], sensitive_features=data[2])
        times.append(time.process_time() - began)
    return min(times)
