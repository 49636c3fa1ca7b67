"""The bench: one split of one data set, and the models that several methods share, trained once.

In: a `Split` and `Settings`. Out: UncError, its error on every part, and the logistic regression under PostShift and
COCO; kept in files so that an interrupted run does not train them again. Methods get a bench and nothing else.
"""

from __future__ import annotations

import json
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq
from equirate.models import LinearMembers

from .files import write_json
from .settings import Settings
from .splits import Part, Split

Array = NDArray[np.float64]


class Bench:
    """What every method of an experiment works on.

    Parameters
    ----------
    split
        The data.
    settings
        Rounds and steps.
    store
        A directory to keep the shared models in, or None.
    """

    def __init__(self, split: Split, settings: Settings, store: Path | None = None) -> None:
        self.split, self.settings, self.store = split, settings, store
        self.train, self.validation, self.test = split.train, split.validation, split.test

    @cached_property
    def both(self) -> Part:
        """Training and validation rows together."""
        return self.train.joined(self.validation)

    def with_legacy(self) -> Bench:
        """The same with an older model's predictions as the attribute "legacy": trained on a tenth of the rows."""
        few = slice(None, max(50, len(self.train) // 10))
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000))
        model.fit(self.train.X[few], self.train.y[few])
        parts = (part.having(legacy=model.predict(part.X)) for part in self.split.parts.values())
        return Bench(Split(self.split.dataset, self.split.seed, *parts), self.settings, self.store)

    @cached_property
    def unc_error(self) -> eq.Classifier:
        """UncError: hinge loss, Adam, the step chosen on validation."""
        return self._kept("unc_error", "hinge_loss")

    @cached_property
    def logistic(self) -> eq.Classifier:
        """Logistic regression by the same optimiser."""
        return self._kept("logistic", "log_loss")

    def error(self, part: Part) -> float:
        """UncError's error on a part."""
        return float(eq.error_rate().evaluate(part.y, self.unc_error.positive_probability(part.X)))

    def solve(self, problem: eq.Problem, algorithm: Any, *, net: bool = False, **options: Any) -> eq.Solution:
        """Play a game on the training part. Unlike `equirate.solve`, an interrupted game is not a result.

        Each rate is bounded by itself, as the paper has it, unless ``net`` asks for the algorithm's own bounds.
        """
        options = {
            "bounds": None if net else "row",
            "n_rounds": self.settings.rounds,
            "record_every": self.settings.record_every,
            **options,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.EquirateWarning)  # the tables say what was reached
            solution = eq.solve(
                problem, self.train.X, self.train.y, attributes=self.train.attributes, algorithm=algorithm, **options
            )
        if solution.interrupted:
            raise KeyboardInterrupt
        return solution

    def _kept(self, name: str, loss: Literal["log_loss", "hinge_loss"]) -> eq.Classifier:
        path = None if self.store is None else self.store / f"{name}.json"
        settings = [self.settings.baseline_rounds, list(self.settings.baseline_steps)]
        if path is not None and path.exists():
            found = json.loads(path.read_text("utf-8"))
            if found["settings"] == settings:
                W = np.array(found["weights"], dtype=np.float32)[:, None]
                return eq.Classifier(LinearMembers(W), np.ones(1), None, name)
        made = eq.baselines.unconstrained(
            self.train.X,
            self.train.y,
            loss=loss,
            n_rounds=self.settings.baseline_rounds,
            steps=self.settings.baseline_steps,
            validation=(self.validation.X, self.validation.y),
        )
        assert isinstance(made.members, LinearMembers)  # a linear model was asked for
        if path is not None:
            write_json(path, {"settings": settings, "weights": made.members.W[:, 0].tolist()})
        return made
