"""The classifiers that are exported: each is a function from training data to a fitted estimator.

In: `People`, made-up rows with numbers, missing values and a column of text. Out: fitted estimators of every kind, by
name, and which features each takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import equirate as eq
from equirate.boosting import BoostedTrees, default_trees
from equirate.models import PlugIn

WIDTH = 8
COLOURS = tuple(f"colour {k}" for k in range(40))


@dataclass(frozen=True, eq=False)
class People:
    """Rows: numbers, a text, whether they are women, and labels."""

    numbers: NDArray[np.float64]
    colour: NDArray[Any]
    sex: NDArray[Any]
    label: NDArray[Any]

    @classmethod
    def drawn(cls, count: int, seed: int) -> People:
        """Draw so many rows."""
        rng = np.random.default_rng(seed)
        sex, numbers = rng.choice(["F", "M"], count), rng.normal(size=(count, WIDTH))
        numbers[:, :2] += 0.8 * (sex == "M")[:, None]  # so that the constraint binds, and mixtures come out
        colour = rng.integers(len(COLOURS), size=count)
        score = numbers[:, 0] + numbers[:, 1] + numbers[:, 2] * numbers[:, 3] + 0.8 * (colour % 3 == 0)
        label = np.where(score + rng.normal(size=count) > 0.8, "yes", "no")
        return cls(numbers, np.array(COLOURS)[colour], sex, label)

    def with_missing(self) -> NDArray[np.float64]:
        """The numbers, a tenth of them missing."""
        return np.where(np.random.default_rng(0).random(self.numbers.shape) < 0.1, np.nan, self.numbers)

    def frame(self) -> pd.DataFrame:
        """The numbers, some missing, and the text."""
        found = pd.DataFrame(self.with_missing(), columns=[f"x{k}" for k in range(WIDTH)])
        return found.assign(colour=self.colour)


@dataclass(frozen=True)
class Kind:
    """A kind of classifier: how it is made, and what it takes."""

    name: str
    make: Callable[[Any, Any], Any]
    features: Callable[[People], Any] = lambda people: people.numbers

    def fitted(self, people: People) -> Any:
        """Fit it to a constraint that binds."""
        women = eq.attr("sex") == "F"
        gap = abs(eq.positive_rate(women) - eq.positive_rate(~women)) <= 0.02
        estimator = self.make(eq.minimize(eq.error_rate()), [gap])
        return estimator.fit(self.features(people), people.label, sensitive_features={"sex": people.sex})


def _classifier(**options: Any) -> Callable[[Any, Any], Any]:
    return lambda objective, constraints: eq.RateClassifier(objective, constraints, random_state=0, **options)


def _thresholds(estimator: Any) -> Callable[[Any, Any], Any]:
    return lambda objective, constraints: eq.RatePostprocessor(estimator, objective, constraints, random_state=0)


KINDS = (
    Kind("linear, a mixture", _classifier(n_rounds=300)),
    Kind("linear, deterministic", _classifier(n_rounds=300, output="deterministic")),
    Kind("thresholds on a given score", _thresholds(None), lambda people: people.numbers[:, :1]),
    Kind("thresholds on logistic regression", _thresholds(LogisticRegression())),
    Kind(
        "thresholds on HistGradientBoosting",
        _thresholds(HistGradientBoostingClassifier(max_iter=50, random_state=0)),
        People.with_missing,
    ),
    Kind("plug-in on logistic regression", _classifier(model=PlugIn(LogisticRegression()))),
    Kind("plug-in on LightGBM", _classifier(model=default_trees("lightgbm")), People.with_missing),
    Kind("plug-in on XGBoost", _classifier(model=default_trees("xgboost")), People.with_missing),
    Kind("plug-in on LightGBM, categories", _classifier(model=default_trees("lightgbm")), People.frame),
    Kind("plug-in on XGBoost, categories", _classifier(model=default_trees("xgboost")), People.frame),
    Kind(
        "plug-in on LightGBM, deterministic",
        _classifier(model=default_trees("lightgbm"), output="deterministic"),
        People.with_missing,
    ),
    Kind("boosted in function space", _classifier(model=BoostedTrees("lightgbm"), n_rounds=40), People.with_missing),
)
