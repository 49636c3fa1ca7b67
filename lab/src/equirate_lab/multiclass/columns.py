"""Macro-F1 over many columns: how far the proof of the best mixture gets.

In: data sets. Out: `Proven`: value, bound and seconds. The columns are plug-in rules on the probabilities of one
multinomial logistic regression: the class with the largest log-probability plus an offset, drawn anew for every column.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .data import load

COLUMNS = 160
SECONDS = 10.0


@dataclass(frozen=True)
class Proven:
    """The best mixture of the columns of a data set."""

    data: str
    classes: int
    value: float
    gap: float | None
    seconds: float


def proven(
    names: Sequence[str],
    seconds: float = SECONDS,
    data_dir: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Proven]:
    """Find and prove the best mixture of each data set's columns."""
    made = []
    for name in names:
        made.append(_of_data(name, seconds, data_dir))
        tell(str(made[-1]))
    return made


def _of_data(name: str, seconds: float, data_dir: str | None) -> Proven:
    rows = load(name, data_dir)
    columns = rules(rows.X, rows.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        solution = eq.solve(eq.Problem(eq.maximize(eq.macro_f1())), rows.X, rows.y, model=list(columns.T))
        begin = time.perf_counter()
        notes: Any = solution.polish(gap=1e-3, time_limit=seconds).notes
        took = time.perf_counter() - begin
    value = notes["bound"] - notes["gap"]
    return Proven(name, rows.n_classes, value, notes["gap"], took)


def rules(X: NDArray[Any], y: NDArray[Any], count: int = COLUMNS, seed: int = 0) -> NDArray[np.int64]:
    """(rows, columns): the classes that plug-in rules with random offsets decide for."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rng, scaled = np.random.default_rng(seed), StandardScaler().fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = LogisticRegression(max_iter=300).fit(scaled, y)
    logits = np.log(np.maximum(fitted.predict_proba(scaled), 1e-12))
    prior = np.bincount(y) / len(y)
    decided = []
    for _ in range(count):
        offsets = -rng.random() * np.log(prior) + rng.choice([0.1, 0.4, 1.0]) * rng.normal(size=len(prior))
        decided.append((logits + offsets).argmax(axis=1))
    return np.stack(decided, axis=1)
