"""What is compared: ours on the library's public names, and the rivals, each in an environment of its own.

In: `Halves`, a kind of constraint and the levels asked for. Out: for each level the probability of predicting 1 of each
test row, and the seconds of processor time that training took.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .data import Halves

Found = tuple[float, NDArray[Any], float]
"""A level, probabilities of predicting 1 on test rows, and seconds."""
TREES: dict[str, Any] = {"n_estimators": 100, "n_jobs": 1, "verbose": -1, "random_state": 0}

PARITY = {"dp": eq.demographic_parity, "tpr": eq.equal_opportunity, "odds": eq.equalized_odds, "f1": eq.f1_parity}


def constraint(kind: str, level: float, groups: Sequence[int]) -> list[Any]:
    """The constraint over all pairs of groups, or a floor for each."""
    if kind == "precision":  # a floor in each group: the level is how far below 0.8
        return [eq.precision(eq.attr("group") == g) >= 0.8 - level for g in groups]
    if kind == "kl":
        return [eq.kl_divergence(eq.attr("group") == g) <= level for g in groups]
    return [PARITY[kind]("group", tolerance=level, compare="pairs")]


@dataclass(frozen=True)
class Method:
    """A way to train: its name, whether it is told the group when predicting, and which kinds it can be asked for."""

    name: str
    title: str
    aware: bool
    kinds: tuple[str, ...] = ("dp", "tpr", "odds")
    rival: str | None = None
    levels: tuple[float, ...] = (0.01, 0.03, 0.05, 0.1, 0.15)


EVERYTHING = ("dp", "tpr", "odds", "f1", "precision", "kl")
FEW = (0.03, 0.05, 0.1)
ONE = (0.05,)
METHODS = {
    method.name: method
    for method in (
        Method("lightgbm", "LightGBM, unconstrained", False, levels=(0.0,)),
        Method("trees", 'equirate, model="trees"', False, EVERYTHING),
        Method("trees_aware", 'equirate, model="trees", groups=...', True, EVERYTHING),
        Method("linear", "equirate, linear", False, EVERYTHING),
        Method("oracle", "equirate, LightGBM as oracle", False, levels=FEW),
        Method("boosted", "equirate, BoostedTrees", False, (*EVERYTHING,), levels=FEW),
        Method("post", "equirate, RatePostprocessor, a threshold a group", True),
        Method("error_parity", "error-parity", True, rival="error_parity"),
        Method("oxonfair", "OxonFair", True, rival="oxonfair", levels=FEW),
        Method("fairgbm", "FairGBM", False, ("tpr", "odds"), rival="fairgbm"),
        Method(
            "reductions", "fairlearn, ExponentiatedGradient on LightGBM", False, rival="fairlearn_trees", levels=FEW
        ),
    )
}


def ours(method: Method, kind: str, levels: Sequence[float], parts: Halves) -> Iterator[Found]:
    """Train one of ours, once for every level."""
    from lightgbm import LGBMClassifier

    from equirate.boosting import BoostedTrees, default_trees

    if method.name == "lightgbm":
        begin = time.process_time()
        model: Any = LGBMClassifier(**TREES).fit(parts.train_X, parts.train_y)
        seconds = time.process_time() - begin
        yield 0.0, (model.predict_proba(parts.test_X)[:, 1] > 0.5).astype(float), seconds
        return
    groups = np.unique(parts.train_group).tolist()
    people, tested = {"group": parts.train_group}, {"group": parts.test_group}
    for level in levels:
        asked = eq.minimize(eq.error_rate()), constraint(kind, level, groups)
        models: dict[str, Any] = {
            "trees": lambda: default_trees(n_jobs=1),
            "trees_aware": lambda: default_trees(n_jobs=1),
            "oracle": lambda: LGBMClassifier(**TREES),
            "boosted": lambda: BoostedTrees(n_jobs=1),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.process_time()
            if method.name == "post":
                post = eq.RatePostprocessor(LGBMClassifier(**TREES), *asked, groups="group", cv=2, random_state=0)
                post.fit(parts.train_X, parts.train_y, sensitive_features=people)
                seconds = time.process_time() - begin
                decided = post.predict_pmf(parts.test_X, sensitive_features=tested)[:, 1]
            else:
                given = {"model": models[method.name]()} if method.name in models else {}
                given |= {"groups": "group"} if method.aware else {}
                clf = eq.RateClassifier(*asked, random_state=0, **given)
                clf.fit(parts.train_X, parts.train_y, sensitive_features=people)
                seconds = time.process_time() - begin
                decided = clf.predict_pmf(parts.test_X, sensitive_features=tested if method.aware else None)[:, 1]
        yield level, decided, seconds


def achieved(kind: str, parts: Halves, decided: NDArray[Any]) -> tuple[float, float]:
    """Error and the largest violation measure on test rows: a gap between two groups, or what the level bounds."""
    y, group = parts.test_y, parts.test_group
    error = float(np.where(y == 1, 1 - decided, decided).mean())
    values = np.unique(group)

    def rates(chosen: NDArray[np.bool_]) -> list[float]:
        return [float(decided[chosen & (group == g)].mean()) for g in values]

    def gap(found: Sequence[float]) -> float:
        return max(found) - min(found)

    if kind == "dp":
        return error, gap(rates(np.ones(len(y), dtype=bool)))
    if kind == "tpr":
        return error, gap(rates(y == 1))
    if kind == "odds":
        return error, max(gap(rates(y == 1)), gap(rates(y == 0)))
    examples: dict[str, Any] = {"attributes": {"group": group}}
    if kind == "f1":
        return error, gap([float(eq.f1(eq.attr("group") == g).evaluate(y, decided, **examples)) for g in values])
    if kind == "precision":
        found = [float(eq.precision(eq.attr("group") == g).evaluate(y, decided, **examples)) for g in values]
        return error, 0.8 - min(found)
    return error, max(float(eq.kl_divergence(eq.attr("group") == g).evaluate(y, decided, **examples)) for g in values)
