"""Equalized odds on Adult against fairlearn: how long until the error and the violation are as small as fairlearn's.

fairlearn's classifier sets the target on the training rows. `RateClassifier` is asked for the violation that fairlearn
reached, with ever more passes over the data, until its error is at most fairlearn's; that fit is then timed.
"""

from __future__ import annotations

import warnings
from typing import Any

import equirate as eq

from ..experiments.problems import GROUP, OTHERS
from ..experiments.splits import PROTECTED, Part
from .ground import OURS, Comparison, Ground, Measured, Quality
from .judging import Pair, fewest, ladder, pair
from .timing import interleaved, seconds

FAIRLEARN = "fairlearn"
DEFAULTS = "equirate, defaults"
TOLERANCE = 0.01
MOST = 60
"""Passes over the data at most, as by default."""


def equal_odds(tolerance: float) -> eq.Problem:
    """The smallest error such that each group's rates lie within a tolerance of everybody's, as fairlearn has it."""
    return eq.Problem(
        eq.minimize(eq.error_rate()), eq.equalized_odds([GROUP, OTHERS], tolerance=tolerance, compare="overall")
    )


def fitted(problem: eq.Problem, part: Part, passes: int | None = None) -> eq.RateClassifier:
    """A `RateClassifier` on a part: as it comes, or with so many passes over the data."""
    options: dict[str, Any] = {} if passes is None else {"n_rounds": passes}
    model = eq.RateClassifier(problem.objective, list(problem.constraints), random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        return model.fit(part.X, part.y, sensitive_features=part.attributes)


def odds(ground: Ground, solver: str) -> Measured:
    """Measure against fairlearn on logistic regression by one solver."""
    settings, split = ground.settings, ground.bench("adult").split
    measure, train = equal_odds(0.0), split.train
    arrays = {
        f"{name}_{what}": value
        for name, part in split.parts.items()
        for what, value in (("X", part.X), ("y", part.y), ("group", part.attributes[PROTECTED]))
    }
    with ground.rival(FAIRLEARN, {"tolerance": TOLERANCE, "solver": solver}, arrays) as rival:
        ground.tell("fairlearn sets the target")
        told = rival.ask(do="fit", solver=solver)
        theirs = rival.arrays(solver)
        target = pair(measure, theirs["train"], train)
        problem = equal_odds(target[1])

        def attempt(passes: int) -> Pair:
            ground.tell(f"reaching fairlearn's error, {passes} passes")
            return pair(measure, fitted(problem, train, passes).predict_pmf(train.X)[:, 1], train)

        enough = fewest(ladder(2, MOST), attempt, target)
        models: dict[str, eq.RateClassifier] = {}

        def fit(side: str, wanted: eq.Problem, passes: int | None = None) -> None:
            models[side] = fitted(wanted, train, passes)

        sides = {
            DEFAULTS: lambda: seconds(lambda: fit(DEFAULTS, equal_odds(TOLERANCE))),
            FAIRLEARN: lambda: float(rival.ask(do="fit", solver=solver)["seconds"]),
        }
        if enough is not None:
            sides[OURS] = lambda: seconds(lambda: fit(OURS, problem, enough))
        samples = interleaved(sides, settings.slow_repetitions, ground.tell, warm=False)
    quality: Quality = {FAIRLEARN: {name: list(pair(measure, theirs[name], p)) for name, p in split.parts.items()}}
    for side, model in models.items():
        quality[side] = {
            name: list(pair(measure, model.predict_pmf(part.X)[:, 1], part)) for name, part in split.parts.items()
        }
    comparisons = [
        Comparison("fit with the defaults", "s", {OURS: samples[DEFAULTS], FAIRLEARN: samples[FAIRLEARN]}),
    ]
    if enough is not None:
        both = {OURS: samples[OURS], FAIRLEARN: samples[FAIRLEARN]}
        comparisons.insert(0, Comparison("fit to fairlearn's quality", "s", both, f"{enough} passes"))
    return Measured(
        tuple(comparisons),
        quality,
        ("error", f"difference from everybody's rates (at most {TOLERANCE:g} asked for)"),
        {"passes": enough, "target": list(target), "calls": told["calls"], "members": told["members"]},
    )
