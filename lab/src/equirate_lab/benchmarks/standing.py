"""Where equirate stands beside its rivals: tables of the comparisons at equal quality, and what it loses first.

In: results as `runner` gathers them. Out: `Table`s for ``lab/results/rivals.md``. A comparison is lost where the median
ratio of times is below 1, or where our error at the rival's own gap is more than one standard error above the rival's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..experiments.tables import ABSENT, Table
from . import elsewhere
from .boosted import TITLES
from .ground import OURS
from .reasons import reason
from .timing import Spread, ratio, spread
from .whole_fits import LOGISTIC

Cell = dict[str, Any]
NAMES = {
    **TITLES,
    "fairlearn": "fairlearn, ExponentiatedGradient on logistic regression",
    "sampled": "column generation with adaptive sampling, by its description",
    "error_parity": "error-parity",
    "oxonfair": "OxonFair",
    "cooper": "cooper",
    "fairret": "fairret",
}
AT_GAP = ("fits", "thresholds", "boosted", "networks")
"""Parts whose comparisons are read at the rival's own gap."""


@dataclass(frozen=True)
class Standing:
    """One comparison: times of both sides, their ratio, and our error less the rival's at its gap."""

    part: str
    name: str
    title: str
    rival: str
    ours: Spread
    theirs: Spread
    ratio: Spread
    error: float
    gap: float
    apart: float
    deviation: float
    read: int
    samples: int

    @property
    def slower(self) -> bool:
        """Whether the rival takes less time."""
        return self.ratio.median < 1

    @property
    def worse(self) -> bool:
        """Whether the rival makes fewer errors at its gap, by more than one standard error."""
        return self.read > 0 and self.apart > self.deviation

    @property
    def difference(self) -> str:
        """The difference of errors as text."""
        return f"{self.apart:+.4f} ± {self.deviation:.4f}" if self.read else "not read"


def standings(cells: Sequence[Cell]) -> list[Standing]:
    """Every comparison at a rival's own gap."""
    return [each for cell in cells if cell["part"] in AT_GAP for each in _of(cell)]


def _of(cell: Cell) -> Iterator[Standing]:
    for comparison in cell["comparisons"]:
        for rival, theirs in comparison["samples"].items():
            read = cell["facts"].get(rival)
            if rival == OURS or not isinstance(read, dict) or "difference" not in read:
                continue
            ours, apart = comparison["samples"][OURS], read["difference"]
            yield Standing(
                cell["part"],
                cell["name"],
                cell["title"],
                rival,
                spread(ours),
                spread(theirs),
                ratio(theirs, ours[: len(theirs)]),
                read["error"],
                read["gap"],
                apart["mean"],
                apart["deviation"],
                apart["read"],
                apart["samples"],
            )


def first_tables(cells: Sequence[Cell], others: Sequence[Cell] = (), trees: Path | None = None) -> tuple[Table, Table]:
    """What is lost, and all comparisons in short; with those of other pages."""
    return losses(cells, elsewhere.losses(others, trees)), summary(cells, elsewhere.summary(others, trees))


def make_tables(cells: Sequence[Cell]) -> list[Table]:
    """Make every table of single comparisons that there are results for."""
    made = [*(_compared(cells, part) for part in AT_GAP), regressions(cells)]
    return [table for table in made if table.rows]


def origins(cells: Sequence[Cell]) -> Table:
    """Which commit each part was measured at, and when."""
    parts: dict[str, list[Cell]] = {}
    for cell in cells:
        parts.setdefault(cell["part"], []).append(cell)
    rows = []
    for part, found in parts.items():
        commits = dict.fromkeys(f"commit {cell.get('code', {}).get('commit', 'unknown')}" for cell in found)
        days = dict.fromkeys(cell.get("date", ABSENT) for cell in found)
        rows.append((part, str(len(found)), ", ".join(commits), ", ".join(days)))
    note = "Each part of the command, its result files, and the last commit that had changed the library."
    return Table("What was measured", note, ("part", "measurements", "library", "on"), tuple(rows))


def losses(cells: Sequence[Cell], more: Sequence[tuple[str, ...]] = ()) -> Table:
    """What is lost by rival, the worst case of each, and the reason; with rows of other pages."""
    groups: dict[tuple[str, str, str], list[Standing]] = {}
    every: dict[tuple[str, str], int] = {}
    for each in standings(cells):
        every[each.part, each.rival] = every.get((each.part, each.rival), 0) + 1
        for what, lost in (("time", each.slower), ("errors", each.worse)):
            if lost:
                groups.setdefault((what, each.part, each.rival), []).append(each)
    rows: list[tuple[str, ...]] = []
    for (what, part, rival), found in groups.items():
        timed = what == "time"
        worst = min(found, key=lambda each: each.ratio.median) if timed else max(found, key=lambda each: each.apart)
        if timed:
            numbers = f"{worst.ours.median:.3g} s", f"{worst.theirs.median:.3g} s"
        else:
            numbers = f"{worst.error + worst.apart:.4f} ({worst.difference})", f"{worst.error:.4f}"
        count = f"{len(found)} of {every[part, rival]}"
        rows.append((what, NAMES[rival], count, worst.title, *numbers, *reason(part, rival, what)))
    note = (
        "By rival: in how many comparisons it takes less processor time, or makes fewer errors on new rows at its own "
        "gap by more than one standard error; the worst of them; why, and whether that can be mended. The other tables "
        "have all comparisons."
    )
    header = ("lost in", "to", "comparisons", "the worst", "equirate", "rival", "why", "can it be mended")
    return Table("What is lost", note, header, tuple(sorted([*rows, *more], key=lambda row: row[0] != "time")))


def summary(cells: Sequence[Cell], more: Sequence[tuple[str, ...]] = ()) -> Table:
    """Counts by rival; with rows of other pages."""
    groups: dict[tuple[str, str], list[Standing]] = {}
    for each in standings(cells):
        groups.setdefault((each.part, each.rival), []).append(each)
    rows = []
    for (part, rival), found in groups.items():
        ratios = sorted(each.ratio.median for each in found)
        rows.append(
            (
                part,
                NAMES[rival],
                str(len(found)),
                f"{spread(ratios).median:.1f}",
                f"{ratios[0]:.2g} to {ratios[-1]:.2g}",
                str(sum(each.slower for each in found)),
                str(sum(each.worse for each in found)),
                f"{max(each.apart for each in found):+.4f}",
            )
        )
    note = (
        "The rival's processor time over ours: median and range over the comparisons. Then in how many equirate is "
        "slower, in how many it makes more errors at the rival's gap (by more than one standard error), and by how "
        "much at most. The parts grid, odds, cooper, products and growth are in performance.md, trees in trees.md."
    )
    header = ("part", "rival", "comparisons", "times", "range", "slower", "more errors", "worst difference")
    return Table("All comparisons in short", note, header, (*rows, *more))


CAPTIONS = {
    "fits": "Whole fits of linear models",
    "thresholds": "Thresholds on given scores",
    "boosted": "Boosted trees",
    "networks": "Networks",
}


def _compared(cells: Sequence[Cell], part: str) -> Table:
    rows = []
    for each in standings(cells):
        if each.part == part:
            times = [f"{side.median:.3g} [{side.low:.3g}, {side.high:.3g}]" for side in (each.ours, each.theirs)]
            quotient = f"{each.ratio.median:.1f} [{each.ratio.low:.1f}, {each.ratio.high:.1f}]"
            gaps = f"{each.error:.4f} ({each.gap:.4f})"
            count = f"{each.ours.count}, {each.theirs.count}"
            rows.append(
                (
                    each.title,
                    NAMES[each.rival],
                    *times,
                    quotient,
                    gaps,
                    each.difference,
                    f"{each.read}/{each.samples}",
                    count,
                )
            )
    left = [
        (cell["title"], *[ABSENT] * 7, cell["skipped"])
        for cell in cells
        if cell["part"] == part and cell.get("skipped")
    ]
    failed = [
        (f"{cell['title']}; {NAMES[rival]}", *[ABSENT] * 7, why)
        for cell in cells
        if cell["part"] == part
        for rival, why in cell["facts"].get("left out", {}).items()
    ]
    note = (
        "Seconds of processor time, median [quartiles]; the rival's over ours; the rival's error (gap between groups) "
        "on test rows; our error less the rival's at that gap, mean ± standard error, and in how many samples it could "
        "be read, because our levels reach down to that gap; repetitions of ours and theirs, or why there are none."
    )
    header = (
        "comparison",
        "rival",
        "equirate, s",
        "rival, s",
        "times",
        "rival's error (gap)",
        "our error less it",
        "read",
        "repetitions",
    )
    return Table(CAPTIONS[part], note, header, (*rows, *left, *failed))


def regressions(cells: Sequence[Cell]) -> Table:
    """Whole fits in logistic regressions, and two threads beside one."""
    rows = []
    for cell in cells:
        for comparison in cell["comparisons"] if cell["part"] == "fits" else ():
            samples = comparison["samples"]
            facts = cell["facts"]
            error = facts.get("error", facts.get(OURS, {}).get("error") if OURS in facts else None)
            shown = ABSENT if error is None else f"{error:.4f}"
            if LOGISTIC in samples:
                ours, one, many = samples[OURS], samples[LOGISTIC], ratio(samples[OURS], samples[LOGISTIC])
                what = "logistic regressions"
            elif "one thread" in samples:
                ours, one = samples[OURS], samples["one thread"]
                many, what = ratio(one, ours), "times faster by the clock than one thread"
            else:
                continue
            numbers = f"{many.median:.2g} [{many.low:.2g}, {many.high:.2g}] {what}"
            rows.append((cell["title"], f"{spread(ours).median:.3g}", f"{spread(one).median:.3g}", numbers, shown))
    note = (
        "Seconds of a whole fit, and of one LogisticRegression() of scikit-learn on the same rows (processor time), or "
        "of the same fit on one thread (by the clock, on a machine that others used); error on test rows."
    )
    header = ("fit", "equirate, s", "beside, s", "that is", "error")
    return Table("In logistic regressions", note, header, tuple(rows))
