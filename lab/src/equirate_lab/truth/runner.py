"""Fitting what is to be judged, and holding it against the truth.

In: `Case`s. Out: a `Found` for each: the truth, and what `RateClassifier` with its defaults and ``solve().polish()``
have on the very data that they were given. `run` calls this for ``equirate-lab truth``.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import equirate as eq

from .classes import ClassCase, class_cases
from .problems import Case, cases

AnyCase = Case | ClassCase

CLASSIFIER, POLISHED = "RateClassifier()", "solve().polish()"
EVERYTHING = "all classifiers of this model"
"""What `equirate.Status.bound_over` says of bounds that no classifier can beat."""


@dataclass(frozen=True)
class Reached:
    """What one way of fitting has: objective and largest violation on the data, and what it says of itself."""

    objective: float
    violation: float
    said_feasible: bool
    bound: float | None
    bound_over: str | None
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Found:
    """A case, its truth, and what was reached by each way of fitting."""

    name: str
    family: str
    kind: str
    sense: str
    truth: float | None
    method: str
    slack: float
    """How far the truth may be from its own bound."""
    reached: dict[str, Reached]

    def gap(self, way: str) -> float:
        """How much worse than the truth, at least 0: what breaks a constraint may well be better than the truth."""
        if self.truth is None:
            return math.nan
        worse = (self.truth - self.reached[way].objective) * (1 if self.sense == "maximize" else -1)
        return max(0.0, worse) if math.isfinite(worse) else math.inf

    def wrong(self, way: str, tolerance: float = 2e-3) -> str:
        """What a status says that is not so; empty where it is right.

        A bound over all classifiers that the truth beats is wrong, and so is a verdict that the violation contradicts.
        """
        one = self.reached[way]
        if one.error:
            return one.error
        if one.said_feasible and one.violation > tolerance:
            return f"said to be feasible, but violated by {one.violation:.4f}"
        if not one.said_feasible and self.truth is not None:
            return f"said to be infeasible (violation {one.violation:.4f}), but it is not"
        if one.bound is not None and one.bound_over == EVERYTHING and self.truth is not None:
            beaten = (self.truth - one.bound) * (1 if self.sense == "maximize" else -1)
            if beaten > 1e-3 + self.slack:
                return f"a bound of {one.bound:.4f} over all classifiers, where {self.truth:.4f} is to be had"
        return ""

    def __str__(self) -> str:
        said = [f"{way} {self.gap(way):.4f}, violation {one.violation:.4f}" for way, one in self.reached.items()]
        wrong = [self.wrong(way) for way in self.reached if self.wrong(way)]
        best = "infeasible" if self.truth is None else f"{self.truth:.4f}"
        return f"{self.name}: {best}; gaps: {'; '.join([*said, *wrong])}"

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Found:
        """Make one of what `asdict` made."""
        return cls(**{**stored, "reached": {way: Reached(**one) for way, one in stored["reached"].items()}})


def every_case() -> list[AnyCase]:
    """All problems, of two classes and of more."""
    return [*cases(), *class_cases()]


def judged(case: AnyCase, ways: Sequence[str] | None = None) -> Found:
    """Compute the truth of a case, and fit in some ways: by default both, and of a list `POLISHED` alone.

    `RateClassifier` chooses from a list on held-out rows, so that its aim is another than the optimum on all rows.
    """
    truth, fits = case.truth(), {CLASSIFIER: _classified, POLISHED: _polished}
    chosen = ways or ((POLISHED,) if isinstance(case, ClassCase) else (CLASSIFIER, POLISHED))
    reached = {way: _timed(fits[way], case) for way in chosen}
    template = case.template
    return Found(
        case.name, template.family, case.ground.kind, case.posed.sense, truth.value, truth.method, truth.gap, reached
    )


def run(
    chosen: Sequence[AnyCase] | None = None,
    jobs: int = 1,
    tell: Callable[[Found], None] = lambda found: None,
    known: Sequence[Found] = (),
) -> list[Found]:
    """Judge cases, several side by side where asked for; those that are ``known`` already are not judged again."""
    asked = every_case() if chosen is None else list(chosen)
    found = {one.name: one for one in known}
    due = [case for case in asked if case.name not in found]
    for one in map(judged, due) if jobs == 1 else _beside(due, jobs):
        found[one.name] = one
        tell(one)
    return [found[case.name] for case in asked]


def _beside(due: Sequence[AnyCase], jobs: int) -> Iterator[Found]:
    """Judge cases side by side, in any order."""
    with ProcessPoolExecutor(jobs) as pool:
        for done in as_completed([pool.submit(_judged, case.name) for case in due]):
            yield done.result()


def _judged(name: str) -> Found:
    """Judge a case by its name: cases hold functions, which do not travel to another process."""
    if not _KNOWN:
        _KNOWN.update({case.name: case for case in every_case()})
    return judged(_KNOWN[name])


_KNOWN: dict[str, AnyCase] = {}


def _timed(fit: Callable[[AnyCase], dict[str, Any]], case: AnyCase) -> Reached:
    start = time.process_time()
    try:
        with _quiet():
            made = fit(case)
    except eq.InfeasibleError as error:
        made = {"objective": math.nan, "violation": math.inf, "said_feasible": False, "error": ""}
        made |= {"bound": None, "bound_over": None, "error": "" if case.truth().value is None else str(error)}
    except eq.EquirateError as error:
        made = {"objective": math.nan, "violation": math.inf, "said_feasible": True, "bound": None, "bound_over": None}
        made["error"] = f"{type(error).__name__}: {error}"
    return Reached(**made, seconds=time.process_time() - start)


@contextmanager
def _quiet() -> Iterator[None]:
    """What is not solved is in the status; the warning would say it again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        yield


def _classified(case: AnyCase) -> dict[str, Any]:
    problem, ground = case.written(), case.ground
    clf = eq.RateClassifier(
        problem.objective, problem.constraints, model=case.model, output="stochastic", random_state=0
    )
    clf.fit(ground.X, ground.y, sensitive_features=ground.attributes)
    return {**_values(case, clf.predict_pmf(ground.X)), **_said(clf.status_)}


def _polished(case: AnyCase) -> dict[str, Any]:
    ground = case.ground
    solution = eq.solve(case.written(), ground.X, ground.y, attributes=ground.attributes, model=case.model)
    return {**_values(case, solution.polish().predict_pmf(ground.X)), **_said(solution.status)}


def _values(case: AnyCase, pmf: Any) -> dict[str, Any]:
    """Objective and violation, by the truth's own counting."""
    shares = case.shares(pmf)
    return {
        "objective": float(case.posed.objective.value(shares)),
        "violation": max(0.0, float(case.posed.violation(shares))),
    }


def _said(status: eq.Status) -> dict[str, Any]:
    return {"said_feasible": status.feasible, "bound": status.bound, "bound_over": status.bound_over}
