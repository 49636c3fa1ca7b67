"""Rules for the manifest of a saved estimator: names, types and limits of every field.

In: the class of an estimator. Out: the rule of its manifest, applied before a file is written and when one is read. A
setting that an estimator has and `_SETTINGS` has not must be one plain value. To save one more fitted attribute, add a
line to `OPTIONAL`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from .._core.provenance import Provenance
from .._core.records import record
from .._core.rules import (
    COUNT,
    FLAG,
    NUMBER,
    SCALAR,
    TEXT,
    Either,
    Fields,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Rule,
    Text,
    Whole,
    maybe,
)
from ..data.labels import MAX_CLASSES
from ..game.algorithms import ALGORITHMS
from ..game.solution import Status
from ..judge.certification_record import Certification
from ..judge.evaluation import ClassEvaluation

MOST_CONSTRAINTS, MOST_GROUPS, MOST_MEMBERS, MOST_FEATURES = 4096, 1000, 100_000, 10_000_000
MOST_LANGUAGE = 2**19
"""Characters of all constraints together."""
WEIGHT_SUM_TOLERANCE = 1e-9
"""How far the weights of a mixture may be from a sum of one."""


_CONSTRAINTS = ListOf(TEXT, MOST_CONSTRAINTS)
_STEPS = Either((NUMBER, ListOf(NUMBER, 1000, 1)))
_VALUES = ListOf(SCALAR, 100_000)
_SETTINGS: dict[str, Rule] = {
    "objective": TEXT,
    "constraints": _CONSTRAINTS,
    "groups": maybe(ListOf(TEXT, MOST_GROUPS)),
    "estimator": maybe(MapOf(MapOf(SCALAR), 1)),
    "cv": Either((NUMBER, OneOf(("prefit",)))),
    "refit": FLAG,
    "n_jobs": maybe(Whole(-(2**31), 2**31)),
    "model": Either((TEXT, MapOf(MapOf(Either((SCALAR, _VALUES, MapOf(MapOf(Either((SCALAR, _VALUES))))))), 1))),
    "algorithm": OneOf(("auto", *ALGORITHMS)),
    "output": OneOf(("stochastic", "deterministic", "hashed")),
    "missing": OneOf(("refuse", "group")),
    "theta_step": maybe(_STEPS),
    "lambda_step": maybe(_STEPS),
    "n_rounds": maybe(COUNT),
    "validation": NUMBER,
    "tolerance": NUMBER,
    "confidence": maybe(Number(0, 1)),
    "confidence_method": OneOf(("cross", "holdout")),
    "two_sets": FLAG,
    "scale": FLAG,
    "on_interrupt": OneOf(("raise", "keep")),
    "warm_start": FLAG,
    "verbose": Either((FLAG, COUNT)),
    "patience": maybe(COUNT),
    "random_state": maybe(Whole(0, 2**256)),
    "pos_label": SCALAR,
}
"""Settings by name; those that are not here have one plain value."""
OPTIONAL: dict[str, tuple[str, Rule]] = {
    "categories": ("categories_", MapOf(ListOf(TEXT, 100_000), 10_000)),
    "repeats": ("repeats_", FLAG),
    "uncovered": ("uncovered_", ListOf(TEXT, 1000)),
    "score_notes": ("score_notes_", ListOf(TEXT, 1000)),
    "certification": ("certification_", record(Certification)),
    "provenance": ("provenance_", record(Provenance)),
}
"""Fitted attributes that not every estimator has: name in the manifest, attribute, rule."""
OUTPUT = Fields({"kind": Text(100), "settings": MapOf(Either((SCALAR, ListOf(maybe(TEXT))))), "origin": Text(100)})
PROBLEM = Fields({"objective": TEXT, "constraints": _CONSTRAINTS})
_FEATURES = Fields({"count": Whole(1, MOST_FEATURES), "names": maybe(ListOf(TEXT, MOST_FEATURES))})
_STATUS, _EVALUATION = record(Status), record(ClassEvaluation)
_OUTPUTS, _BESIDE = ("stochastic", "deterministic"), ("unconstrained", "plain", "served")
_COMMON: dict[str, Rule] = {
    "kind": Text(100),
    "problem": PROBLEM,
    "classes": Fields({"values": ListOf(Either((FLAG, NUMBER, TEXT)), MAX_CLASSES, 2), "dtype": Text(10)}),
    "notes": ListOf(TEXT, 1000),
    "salt": Whole(0, 2**63),
    "outputs": Fields(dict.fromkeys(_OUTPUTS, OUTPUT), dict.fromkeys(_BESIDE, OUTPUT)),
    "statuses": Fields(dict.fromkeys(_OUTPUTS, _STATUS), {"served": _STATUS}),
    "evaluations": Fields(
        dict.fromkeys(_OUTPUTS, MapOf(_EVALUATION, 20)), dict.fromkeys(_BESIDE, MapOf(_EVALUATION, 20))
    ),
    "configurations": ListOf(MapOf(Either((Number(finite=False), TEXT)), 20), 10_000),
    "margin": NUMBER,
    "n_rounds": COUNT,
}


@cache
def manifest_rule(kind: Callable[..., Any]) -> Fields:
    """The rule of a manifest, with the settings that the estimator has today."""
    names = inspect.signature(kind).parameters
    settings = {name: _SETTINGS.get(name, SCALAR) for name in names}
    always = [name for name, part in names.items() if part.default is part.empty]
    needed = {name: settings.pop(name) for name in (*always, "constraints")}
    optional: dict[str, Rule] = {name: rule for name, (_, rule) in OPTIONAL.items()}
    features: dict[str, Rule] = {"features": _FEATURES}
    if "model" in names:
        return Fields({**_COMMON, **features, "settings": Fields(needed, settings)}, optional)
    settings["output"] = OneOf(("stochastic", "hashed"))  # thresholds have no output of one member
    return Fields({**_COMMON, "settings": Fields(needed, settings)}, {**optional, **features})
