"""The experiments by name: which methods each runs, what it measures, and which columns its tables show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from . import methods, paper, problems
from .methods import Method
from .paper import Pair
from .problems import Measures


@dataclass(frozen=True)
class Column:
    """A column of a table: the name that methods give it, and its heading."""

    name: str
    heading: str


@dataclass(frozen=True)
class TableSpec:
    """A table of an experiment; ``printed`` holds the paper's values by data set and column, if it has this table."""

    title: str
    columns: tuple[Column, ...]
    printed: dict[str, dict[str, Pair]]


@dataclass(frozen=True)
class Experiment:
    """Methods to run on every split, and the tables made of them.

    Attributes
    ----------
    methods
        By name; each makes one or several columns.
    once
        Methods that run for the first seed only: they are there to be drawn.
    legacy
        Whether parts need an older model's predictions.
    only
        Data sets it runs on if none are named; empty for all.
    rounds
        The setting that says how many rounds its games last.
    """

    name: str
    title: str
    measures: Measures
    methods: dict[str, Method]
    tables: tuple[TableSpec, ...]
    once: frozenset[str] = frozenset()
    legacy: bool = False
    only: tuple[str, ...] = ()
    rounds: str = "rounds"


def _columns(**headings: str) -> tuple[Column, ...]:
    return tuple(Column(name, heading) for name, heading in headings.items())


_BEYOND = _columns(
    net="net bounds",
    polish="polished",
    polish_both="polished on both",
    two_sets="two data sets",
    rate_classifier="RateClassifier",
    postprocess="post-processing",
)

KLD = Experiment(
    "kld",
    "KL divergence of predicted proportions, error at most 1.1 times UncError's",
    problems.KLD,
    {
        "unc_error": methods.unc_error,
        "post_shift": methods.post_shift,
        "spade_plus": methods.spade_plus,
        "coco": methods.coco,
        "algorithm2": methods.algorithm2,
        "polish": methods.kld_polish,
        "rate_classifier": methods.kld_defaults,
        "two_sets": methods.kld_two_sets,
        "postprocess": methods.kld_postprocess,
        "frontier": methods.kld_frontier,
    },
    (
        TableSpec(
            "Table 5",
            _columns(
                unc_error="UncError",
                post_shift="PostShift",
                spade_plus="SPADE+",
                coco="COCO",
                alg2_stochastic="Alg. 2 stoch.",
                alg2_deterministic="Alg. 2 determ.",
            ),
            paper.KLD,
        ),
        TableSpec(
            "Table 6, without shrinking",
            _columns(spade_plus_average="SPADE+", coco_weights="COCO", alg2_uniform="Alg. 2"),
            paper.KLD_UNSHRUNK,
        ),
        TableSpec("Beyond the paper, KL divergence", _BEYOND, {}),
    ),
    once=frozenset({"frontier"}),
)

FMEASURE = Experiment(
    "fmeasure",
    "F-measure, the protected group's at most 0.01 below the others'",
    problems.FMEASURE,
    {
        "unc_error": methods.unc_error,
        "unc_f1": methods.unc_f1,
        "algorithm3": methods.algorithm3,
        "algorithm4": methods.algorithm4,
        "polish": methods.fmeasure_polish,
        "rate_classifier": methods.fmeasure_defaults,
        "two_sets": methods.fmeasure_two_sets,
        "postprocess": methods.fmeasure_postprocess,
        "frontier": methods.fmeasure_frontier,
    },
    (
        TableSpec(
            "Table 7",
            _columns(
                unc_error="UncError",
                unc_f1="UncF1",
                alg3_stochastic="Alg. 3 stoch.",
                alg3_deterministic="Alg. 3 determ.",
                alg4_stochastic="Alg. 4 stoch.",
                alg4_deterministic="Alg. 4 determ.",
            ),
            paper.FMEASURE,
        ),
        TableSpec("Beyond the paper, F-measure", _BEYOND, {}),
    ),
    once=frozenset({"frontier"}),
)

_CONVEX = _columns(
    unc_error="UncError",
    frank_wolfe="Frank-Wolfe",
    spade="SPADE",
    nemsis="NEMSIS",
    oracle="Algorithm 1",
    surrogate="Algorithm 2",
)
_RATIOS = _columns(
    unc_error="UncError",
    alg3_stochastic="Alg. 3 stoch.",
    alg3_polish="Alg. 3 polished",
    alg4_stochastic="Alg. 4 stoch.",
    alg4_polish="Alg. 4 polished",
)


def _table1(name: str, row: problems.Row) -> Experiment:
    trained = methods.table1_ratios if row.ratios else methods.table1_convex
    columns = _RATIOS[: 3 if row.legacy else None] if row.ratios else _CONVEX
    return Experiment(
        name,
        f"{row.title}: {' '.join(repr(row.problem).split())}",
        row.measures,
        {"baseline": partial(methods.table1_baseline, row=row), "trained": partial(trained, row=row)},
        (TableSpec(f"Table 1, {row.title}", columns, {}),),
        legacy=row.legacy,
        only=("compas", "crime", "adult"),
        rounds="frontier_rounds",
    )


TABLE1 = tuple(_table1(name, row) for name, row in problems.TABLE1.items())
EXPERIMENTS: dict[str, Experiment] = {e.name: e for e in (KLD, FMEASURE, *TABLE1)}
CHOICES: dict[str, tuple[Experiment, ...]] = {
    "kld": (KLD,),
    "fmeasure": (FMEASURE,),
    "table1": TABLE1,
    "all": (KLD, FMEASURE, *TABLE1),
}
"""What can be asked for by name."""


def chosen(name: str) -> Sequence[Experiment]:
    """The experiments behind a name.

    Examples
    --------
    >>> [experiment.name for experiment in chosen("table1")]
    ['g_mean', 'h_mean', 'q_mean', 'predictive_parity', 'f1_parity', 'churn']
    >>> chosen("kdl")
    Traceback (most recent call last):
    ...
    ValueError: there is no experiment 'kdl'; there are 'kld', 'fmeasure', 'table1', 'all'
    """
    if name not in CHOICES:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(map(repr, CHOICES))}")
    return CHOICES[name]
