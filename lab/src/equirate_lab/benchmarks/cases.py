"""The measurements by name, and what each depends on.

In: `Settings`. Out: `Case`s, in the order they are run. A case is one result file; everything that is compared with
each other is in one case, so that it is measured in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from . import growth
from .against_cooper import COOPER, opportunity
from .against_fairlearn import FAIRLEARN, odds
from .against_tfco import EXPERIMENTS, TFCO, grid
from .case import Case
from .ground import Measured
from .limits import products
from .planned import comparisons
from .settings import Settings, Sizes

COMPARED = ("fits", "thresholds", "boosted", "networks", "scaling", "cluster")
"""Parts at equal quality on new rows, with a page of their own."""
PARTS = ("grid", "odds", "cooper", "products", "growth", *COMPARED)
TITLES = {"compas": "COMPAS", "adult": "Adult"}
STYLES = {"rates": "TFCO, its own rates", "matrices": "TFCO, rates as matrix products by hand"}
"""Two ways to write the same problem in TFCO."""


def cases(settings: Settings, parts: Iterable[str] = PARTS) -> list[Case]:
    """List the measurements of some parts."""
    wanted = set(parts)
    unknown = wanted - set(PARTS)
    if unknown:
        raise ValueError(f"there is no part {min(unknown)!r}; there are {', '.join(PARTS)}")
    return [case for case in _all(settings) if case.part in wanted]


_ROUNDS = ("steps", "record_every", "short", "long", "repetitions")


def _all(settings: Settings) -> Iterable[Case]:
    for dataset in settings.datasets:
        for name, played in EXPERIMENTS.items():
            for style in STYLES:
                yield Case(
                    "grid",
                    f"{name}-{dataset}-{style}",
                    f"{played.title}, {TITLES[dataset]}; {STYLES[style]}",
                    partial(grid, experiment=name, dataset=dataset, style=style),
                    (*_ROUNDS, "grid_repetitions", "rounds"),
                    TFCO,
                )
    for solver in settings.solvers:
        yield Case(
            "odds",
            solver,
            f"Equalized odds, Adult; fairlearn on logistic regression ({solver})",
            partial(odds, solver=solver),
            ("slow_repetitions",),
            FAIRLEARN,
        )
    for dataset in settings.datasets:
        yield Case(
            "cooper",
            dataset,
            f"One equal-opportunity constraint, {TITLES[dataset]}; cooper",
            partial(opportunity, dataset=dataset),
            (*_ROUNDS, "slow_repetitions", "cooper_steps", "cooper_rounds", "most_rounds"),
            COOPER,
        )
    for dataset in settings.datasets:
        for name, played in EXPERIMENTS.items():
            yield Case(
                "products",
                f"{name}-{dataset}",
                f"{played.title}, {TITLES[dataset]}; X @ W and X.T @ G alone",
                partial(products, experiment=name, dataset=dataset),
                _ROUNDS,
            )
    yield from _growth(settings)
    yield from comparisons(settings)


def _growth(settings: Settings) -> Iterable[Case]:
    rounds = ("short", "long", "repetitions")
    curves: list[tuple[str, Sizes, Callable[..., Measured], tuple[str, ...]]] = [
        ("rows", settings.rows, growth.by_rows, ("columns", "short", "long", "slow_repetitions")),
        ("slices", settings.slices, growth.by_slices, ("columns", "slice_rows", *rounds)),
        ("configurations", settings.configurations, growth.by_configurations, rounds),
        ("rows, oracle on a plug-in", settings.plug_in_rows, growth.by_plug_in, ("columns", "short", "long")),
        *(
            (
                f"iterates, {played.title}",
                settings.iterates,
                partial(growth.by_iterates, experiment=name),
                ("steps", "slow_repetitions"),
            )
            for name, played in EXPERIMENTS.items()
        ),
    ]
    for curve, sizes, measure, depends in curves:
        file = "".join(letter if letter.isalnum() else "-" for letter in curve.lower()).replace("--", "-")
        for size in sizes:
            yield Case(
                "growth",
                f"{file}-{size}",
                f"{size:,} {curve}",
                partial(measure, size=size),
                depends,
                curve=curve,
                x=float(size),
            )
    yield Case(
        "growth",
        "predicting",
        f"A mixture predicts {settings.predict_rows:,} rows; one matrix product",
        partial(growth.predicting, members=3),
        ("predict_rows", "predict_columns", "repetitions"),
    )
