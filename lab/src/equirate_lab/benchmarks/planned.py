"""The comparisons at equal quality as cases: whole fits, thresholds, boosted trees, networks, scaling and clusters.

In: `Settings`. Out: `Case`s, one result file each.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import equirate as eq

from . import boosted, cluster, networks, scaling, sources, thresholds, whole_fits
from .case import Case
from .reading import GAPS
from .settings import Settings
from .sources import Shape

MILLION = 1_000_000
SHAPES = (
    Shape("dense", 600, 6),
    Shape("heavy", 3000, 12),
    Shape("onehot", 3000, 20),
    Shape("rare", 20_000, 25),
    Shape("dense", 100_000, 30),
)
LARGE = Shape("dense", MILLION, 30)
BOTH = ("fairlearn", "sampled")
"""fairlearn, and column generation with adaptive sampling."""
RATIO = eq.Problem(eq.maximize(eq.f1()), eq.demographic_parity("group", tolerance=0.05))
ODDS = eq.Problem(eq.minimize(eq.error_rate()), eq.equalized_odds("group", tolerance=0.05))


def comparisons(settings: Settings) -> Iterator[Case]:
    """All of them, in the order they are run."""
    yield from _fits(settings)
    yield from _thresholds(settings)
    yield from _boosted(settings)
    yield from _networks(settings)
    yield from _scaling(settings)
    yield from _cluster(settings)


def _fits(settings: Settings) -> Iterator[Case]:
    repeated, most = settings.fit_repetitions, settings.most_rows
    for shape in SHAPES:
        if shape.rows <= most:
            source = partial(sources.made_up_halves, shape)
            rivals = BOTH if shape.rows >= 20_000 else BOTH[:1]
            for kind, title in GAPS.items():
                measure = partial(
                    whole_fits.beside_fairlearn, source=source, kind=kind, repetitions=repeated, rivals=rivals
                )
                name = f"{shape.kind}-{shape.rows}-{kind}"
                yield Case("fits", name, f"{shape.title}; {title}", measure, DEPENDS, whole_fits.REDUCTIONS)
    if most >= LARGE.rows:
        measure = partial(
            whole_fits.beside_fairlearn,
            source=partial(sources.made_up_halves, LARGE),
            kind="dp",
            repetitions=min(repeated, 3),
            rival_repetitions=1,
        )
        title = f"{LARGE.title}; {GAPS['dp']}"
        yield Case("fits", f"dense-{LARGE.rows}-dp", title, measure, DEPENDS, whole_fits.REDUCTIONS)
    yield from _regressions(settings)
    for public, rows, title in (("adult", 32_561, "Adult"), ("acs_income", 100_000, "ACSIncome, 100,000 rows")):
        if rows <= most:
            for kind, constraint in GAPS.items():
                measure = partial(
                    whole_fits.beside_fairlearn,
                    source=getattr(sources, public),
                    kind=kind,
                    repetitions=repeated,
                    rivals=BOTH,
                    rival_repetitions=min(repeated, 3),
                )
                name, line = f"{public}-{kind}", f"{title}; {constraint}"
                yield Case("fits", name, line, measure, DEPENDS, whole_fits.REDUCTIONS)


def _regressions(settings: Settings) -> Iterator[Case]:
    """Fits in multiples of a logistic regression, and two threads beside one."""
    repeated, most = settings.fit_repetitions, settings.most_rows
    for shape in (Shape("dense", 20_000, 30), SHAPES[-1], LARGE):
        if shape.rows <= most:
            source = partial(sources.made_up_halves, shape)
            times = repeated if shape.rows < MILLION else min(repeated, 3)
            ratio = partial(whole_fits.in_regressions, source=source, problem=RATIO, repetitions=times)
            yield Case("fits", f"ratio-{shape.rows}", f"{shape.title}; F1 under demographic parity", ratio, DEPENDS)
            affine = partial(whole_fits.in_regressions, source=source, problem=ODDS, repetitions=times)
            yield Case("fits", f"affine-{shape.rows}", f"{shape.title}; error under equalized odds", affine, DEPENDS)
    for shape in (SHAPES[-1], LARGE):
        if shape.rows <= most:
            source = partial(sources.made_up_halves, shape)
            measure = partial(whole_fits.two_threads, source=source, kind="dp", repetitions=min(repeated, 3))
            title = f"{shape.title}; two threads beside one"
            yield Case("fits", f"threads-{shape.rows}", title, measure, DEPENDS)
    if most >= 40_000:
        text = partial(
            whole_fits.in_regressions, source=sources.text_halves, problem=ODDS, repetitions=min(repeated, 3)
        )
        title = "Sparse text, 40,000 × 16,384; equalized odds"
        yield Case("fits", "text", title, text, DEPENDS)


def _thresholds(settings: Settings) -> Iterator[Case]:
    for kind in ("dp", "odds"):
        for groups in settings.threshold_groups:
            for rival in thresholds.RIVALS_OF_THRESHOLDS:
                measure = partial(
                    thresholds.beside,
                    rival=rival,
                    kind=kind,
                    groups=groups,
                    repetitions=settings.fit_repetitions,
                )
                title = f"Thresholds for {groups} groups, {GAPS[kind]}; {rival.replace('_', '-')}"
                name = f"{rival}-{kind}-{groups}"
                yield Case("thresholds", name, title, measure, DEPENDS, f"{rival}_thresholds")


def _boosted(settings: Settings) -> Iterator[Case]:
    for kind in ("dp", "odds"):
        for data in settings.tree_data:
            measure = partial(boosted.beside_trees, data=data, kind=kind, repetitions=settings.tree_splits)
            title = f"Boosted trees, {boosted.DATA[data]}; {GAPS[kind]}"
            yield Case("boosted", f"{data}-{kind}", title, measure, ("tree_splits",))


def _networks(settings: Settings) -> Iterator[Case]:
    for rival in ("cooper", "fairret"):
        repeated = min(settings.fit_repetitions, 3)
        measure = partial(networks.beside_networks, rival=rival, repetitions=repeated, epochs=settings.network_epochs)
        title = f"A network on Adult, equal opportunity; {rival}"
        yield Case("networks", rival, title, measure, (*DEPENDS, "network_epochs"), rival)


def _scaling(settings: Settings) -> Iterator[Case]:
    for by, sizes in settings.scaling:
        for size in sizes:
            measure = partial(scaling.grown, by=by, size=size, repetitions=settings.scaling_repetitions)
            name, title = f"{by}-{size}", f"{size:,} {by}; whole fit"
            depends, curve = ("scaling_repetitions",), f"{by}, whole fit"
            yield Case("scaling", name, title, measure, depends, whole_fits.REDUCTIONS, curve, float(size))


def _cluster(settings: Settings) -> Iterator[Case]:
    measure = partial(
        cluster.simulated,
        rows=settings.cluster_rows,
        processes=settings.cluster_processes,
        repetitions=settings.slow_repetitions,
    )
    title = "A fit over processes, and over a cluster that is simulated"
    yield Case("cluster", "fits", title, measure, ("slow_repetitions", "cluster_rows", "cluster_processes"))


DEPENDS = ("fit_repetitions",)
