"""Data sets with a rare group, and problems about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import equirate as eq
from equirate import datasets

RARE, WOMEN = eq.attr("rare") == 1, eq.attr("women") == 1
GROUPS = {0.008: "race == 'Other'", 0.001: "native_country == 'Greece'"}
"""Adult's groups by their share."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Training and test rows: (features, labels, attributes)."""

    train: tuple[Any, Any, dict[str, Any]]
    test: tuple[Any, Any, dict[str, Any]]
    limit: float
    """The error that the KL divergence's constraint allows: about 1.1 times an unconstrained network's."""

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self.train[0].shape[1])


@cache
def _adult() -> Any:
    return datasets.load("adult")


def ground(dataset: str, share: float, rows: int, seed: int) -> Ground:
    """Rows of a data set, split at random by a seed; ``share`` is the rare group's."""
    X, y, rare, women, limit = _people(share) if dataset == "adult" else _made_up(share, 2 * rows, seed)
    order = np.random.default_rng([seed, 7]).permutation(len(y))
    parts = order[:rows], order[rows : 2 * rows]

    def part(index: NDArray[np.intp]) -> tuple[Any, Any, dict[str, Any]]:
        return X[index], y[index], {"rare": rare[index], "women": women[index]}

    return Ground(part(parts[0]), part(parts[1]), limit)


def _people(share: float) -> tuple[Any, Any, Any, Any, float]:
    data = _adult()
    X = data.features.to_numpy(dtype=np.float32)
    rare = data.attributes["race"] == "Other" if share > 0.004 else data.features["native_country=Greece"] == 1
    return X, data.label, rare.to_numpy().astype(int), data.protected_rows.astype(int), 0.155


def _made_up(share: float, n: int, seed: int) -> tuple[Any, Any, Any, Any, float]:
    """Ten features; the label is not linear in them, and both groups have other base rates."""
    rng = np.random.default_rng([seed, 11])
    rare, women = (rng.random(n) < share).astype(int), rng.integers(0, 2, n)
    X = rng.normal(size=(n, 10))
    X[:, 1] += 0.8 * women
    X[:, 9] = rare + 0.3 * rng.normal(size=n)
    score = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 * women + 1.5 * rare
    y = (score + rng.logistic(scale=0.6, size=n) > 1.2).astype(int)
    return X.astype(np.float32), y, rare, women, 0.25


def problem(name: str, limit: float) -> eq.Problem:
    """The problems by name: error, G-mean, KL divergence and F-measure, each with the rare group in it."""
    near = abs(eq.positive_rate(RARE) - eq.positive_rate(~RARE))
    if name == "error":
        return eq.Problem(eq.minimize(eq.error_rate()), [near <= 0.01, eq.tpr(WOMEN) >= eq.tpr(~WOMEN) - 0.02])
    if name == "g_mean":
        return eq.Problem(eq.maximize(eq.g_mean()), [near <= 0.02])
    if name == "kl":
        objective = eq.minimize(eq.kl_divergence(RARE) + eq.kl_divergence(~RARE))
        return eq.Problem(objective, [eq.error_rate() <= limit])
    return eq.Problem(eq.maximize(eq.f1()), [eq.f1(RARE) >= eq.f1(~RARE) - 0.05, eq.f1(WOMEN) >= eq.f1(~WOMEN) - 0.02])


def two_layers(width: int, hidden: int = 32) -> Any:
    """A constructor of a network with one hidden layer."""

    def made() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1))

    return made


def judged(classifier: eq.Classifier, problem: eq.Problem, ground: Ground) -> dict[str, list[float]]:
    """Objective, largest violation (at least 0) and error on training and test rows."""
    found = {}
    for name, (X, y, attributes) in (("train", ground.train), ("test", ground.test)):
        values = classifier.evaluate(problem, X, y, attributes=attributes)
        error = classifier.evaluate(eq.error_rate(), X, y, attributes=attributes)
        found[name] = [float(values["objective"]), max(0.0, *map(float, values["violations"])), float(error)]
    return found
