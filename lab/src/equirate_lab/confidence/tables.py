"""Tables of claims kept and broken, for a terminal and for a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom

from ..experiments.tables import Table
from .runner import FRESH, METHODS, Results
from .times import Timed

ABSENT = "–"


def make_tables(results: Results, timed: Sequence[Timed] = ()) -> list[Table]:
    """One table of claims, one of everything together, one of times."""
    header = ("problem", "samples", "needs", *(f"{m}: {what}" for m in METHODS[1:] for what in _WHAT), "plain: broken")
    rows = [_row(name, samples, results.needed[name]) for name, samples in results.samples.items()]
    claims = Table(
        "Claims, and what became of them",
        f"At 95 %; judged on {FRESH:,} fresh rows. Claimed: the share of samples whose fit says that it is certified. "
        "Broken: how many of those break a constraint. Given up: by how much the objective on fresh rows is worse than "
        "that of the plain fit of the same sample, on average over what is claimed; in brackets over the samples that "
        "both methods claim. Needs: the margin that certification needs by `eq.power` (80 %), over the one there is; "
        "a dash where nothing says how much there is. Plain: all samples whose plain fit meets the constraints on its "
        "own data.",
        header,
        tuple(rows),
    )
    return [claims, _together(results), *([_times(timed)] if timed else [])]


def _times(timed: Sequence[Timed]) -> Table:
    rows = [
        (
            one.name,
            f"{one.plain:.2f}",
            f"{one.cross:.2f} ({one.cross / one.plain:.1f})",
            f"{one.holdout:.2f} ({one.holdout / one.plain:.1f})",
        )
        for one in timed
    ]
    return Table(
        "Times",
        "Seconds of one core, default settings, a linear model; in brackets beside the plain fit.",
        ("fit", "plain", "cross", "holdout"),
        tuple(rows),
    )


_WHAT = ("claimed", "broken", "given up")


def _row(name: str, samples: Sequence[dict[str, Any]], needed: float) -> tuple[str, ...]:
    both = [one for one in samples if all(m in one and one[m]["claims"] for m in METHODS[1:])]
    cells = [name, str(len(samples)), ABSENT if math.isnan(needed) else f"{needed:.2f}"]
    for method in METHODS[1:]:
        there = [one for one in samples if method in one]
        claimed = [one for one in there if one[method]["claims"]]
        if not there:
            cells += [ABSENT, ABSENT, ABSENT]
            continue
        broken = sum(one[method]["violation"] > 0 for one in claimed)
        beside = f" ({_given_up(both, method):.4f})" if both else ""
        price = f"{_given_up(claimed, method):.4f}{beside}" if claimed else ABSENT
        cells += [f"{len(claimed) / len(there):.0%}", f"{broken} of {len(claimed)}", price]
    plain = [one["plain"] for one in samples if one["plain"]["claims"]]
    return (*cells, f"{sum(one['violation'] > 0 for one in plain)} of {len(plain)}")


def _given_up(samples: Sequence[dict[str, Any]], method: str) -> float:
    """How much worse than the plain fit's the objective is; it is minimised, or its name says that it is not."""
    return float(np.mean([one["sign"] * (one[method]["objective"] - one["plain"]["objective"]) for one in samples]))


def _together(results: Results) -> Table:
    rows = []
    for method in METHODS:
        claimed = [one[method] for samples in results.samples.values() for one in samples if method in one]
        claimed = [one for one in claimed if one["claims"]]
        broken = sum(one["violation"] > 0 for one in claimed)
        share = broken / len(claimed) if claimed else math.nan
        worst = max((_share(samples, method) for samples in results.samples.values()), default=math.nan)
        rows.append((method, f"{len(claimed):,}", f"{broken:,}", f"{share:.1%}", f"{worst:.1%}"))
    most = max((len(samples) for samples in results.samples.values()), default=0)
    limit = int(binom.ppf(0.95, max(most, 1), 0.05)) / max(most, 1)
    return Table(
        "All problems together",
        f"Of {most} claims that are each broken with a chance of 5 %, up to {limit:.1%} are broken in 95 of 100 runs.",
        ("method", "claims", "broken", "share", "worst problem"),
        tuple(rows),
    )


def _share(samples: Sequence[dict[str, Any]], method: str) -> float:
    claimed = [one[method] for one in samples if method in one and one[method]["claims"]]
    return sum(one["violation"] > 0 for one in claimed) / len(claimed) if claimed else 0.0
