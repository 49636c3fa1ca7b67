"""What the experiments come to, in a sentence each: in `Results`, out text that stands first on the page."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from .catalogue import FMEASURE, KLD, Experiment
from .paper import DATASETS
from .results import Results, Spread

DEFAULT = "rate_classifier"
"""The column of what a user gets without setting anything."""
RIVALS = ("unc_error", "post_shift", "spade_plus", "coco", "unc_f1")
"""Columns of methods that are not this package's or this paper's."""
_PRINTED = {
    KLD.name: ("alg2_stochastic", "the stochastic Algorithm 2"),
    FMEASURE.name: ("alg3_stochastic", "the stochastic Algorithm 3"),
}
"""The printed column to compare with, and its name in a sentence."""


@dataclass(frozen=True)
class Takeaway:
    """The sentence of one experiment."""

    title: str
    text: str


def takeaways(results: Results) -> list[Takeaway]:
    """One for each of the paper's experiments that there are results for."""
    found = [_takeaway(results, experiment) for experiment in (KLD, FMEASURE)]
    return [each for each in found if each is not None]


def _takeaway(results: Results, experiment: Experiment) -> Takeaway | None:
    measures, name = experiment.measures, experiment.name
    pairs = {
        dataset: (results.spread(name, dataset, DEFAULT), results.spread(name, dataset, "unc_error"))
        for dataset in results.datasets(name)
    }
    both = {
        dataset: (ours, plain) for dataset, (ours, plain) in pairs.items() if ours is not None and plain is not None
    }
    if not both:
        return None
    spreads = [ours for ours, _ in both.values()]
    ours, plain = (statistics.fmean(pair[k].objective for pair in both.values()) for k in (0, 1))
    text = (
        f"With its defaults, RateClassifier has {_article(measures.objective)} of {ours:.3f} on average over "
        f"{_many(len(both))}; without constraints it is {plain:.3f}"
    )
    column, heading = _PRINTED[name]
    printed = [experiment.tables[0].printed.get(dataset, {}).get(column) for dataset in both]
    known = [pair[0] for pair in printed if pair is not None]
    if len(known) == len(both):
        text += f", and the paper prints {statistics.fmean(known):.3f} for {heading}"
    return Takeaway(experiment.title, f"{text}. {_kept(experiment, dict(zip(both, spreads, strict=True)))}")


def _kept(experiment: Experiment, spreads: dict[str, Spread]) -> str:
    """How often the limit is kept, to the two digits that the paper prints, and where it is missed most."""
    measures = experiment.measures
    missed = {name: spread for name, spread in spreads.items() if round(spread.constraint, 2) > measures.limit}
    asked = f"The limit ({measures.constraint} at most {measures.limit:g}) is kept on test data"
    if not missed:
        return f"{asked} on {'it' if len(spreads) == 1 else 'each of them'}."
    name, worst = max(missed.items(), key=lambda item: item[1].constraint)
    return (
        f"{asked} on {len(spreads) - len(missed)} of {len(spreads)}; "
        f"it is missed most on {DATASETS[name].title}, at {worst.constraint:.2f}."
    )


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeioF' else 'a'} {name}"


def _many(count: int) -> str:
    return "one data set" if count == 1 else f"{count} data sets"
