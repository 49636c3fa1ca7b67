"""Comparisons at equal quality: how they are read, what is lost, and that every measurement runs. Nothing is timed."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")

from equirate_lab import benchmarks
from equirate_lab.benchmarks import (
    answers,
    boosted,
    cluster,
    elsewhere,
    environments,
    growing,
    planned,
    reading,
    reasons,
    scaling,
    scaling_job,
    sources,
    standing,
    thresholds,
    whole_fits,
)
from equirate_lab.benchmarks.environments import RIVALS, Environments
from equirate_lab.benchmarks.reading import Point
from equirate_lab.trees.data import Halves

import equirate as eq

TINY = replace(
    benchmarks.QUICK,
    fit_repetitions=1,
    slow_repetitions=1,
    most_rows=600,
    threshold_groups=(2,),
    tree_data=("compas",),
    network_epochs=1,
    scaling=(("rows", (500, 1000)),),
    cluster_rows=(400, 800),
    cluster_processes=(1, 2),
)

# -- reading at the rival's gap -------------------------------------------------------------------


def test_error_and_gap_are_those_of_the_library() -> None:
    rng = np.random.default_rng(0)
    y, group, decided = rng.integers(0, 2, 300), rng.integers(0, 3, 300), rng.random(300)
    found = reading.point("odds", y, group, decided)
    attributes = {"group": group}
    assert found.error == pytest.approx(eq.error_rate().evaluate(y, decided))
    slices = [eq.attr("group") == value for value in range(3)]
    gaps = []
    for rate in (eq.tpr, eq.fpr):
        rates = [rate(each).evaluate(y, decided, attributes=attributes) for each in slices]
        gaps.append(max(rates) - min(rates))
    assert found.gap == pytest.approx(max(gaps))


def test_errors_are_read_between_levels() -> None:
    curve = [Point(0.18, 0.06), Point(0.20, 0.02)]  # in any order
    assert reading.error_at(curve, 0.03) == pytest.approx(0.195)
    assert reading.error_at(curve, 0.5) == 0.18
    assert np.isnan(reading.error_at(curve, 0.019))


def test_a_difference_says_how_many_samples_could_be_read() -> None:
    curve = [Point(0.20, 0.02), Point(0.18, 0.06)]
    theirs = [Point(0.19, 0.04), Point(0.18, 0.04), Point(0.1, 0.01)]
    found = reading.difference([curve] * 3, theirs, 1000)
    assert (found.read, found.samples) == (2, 3)
    assert found.mean == pytest.approx(0.005)
    assert found.deviation == pytest.approx(0.005)
    assert found.level
    one = reading.difference([curve], theirs[1:2], 10_000)
    assert one.deviation == pytest.approx((0.18 * 0.82 / 10_000) ** 0.5)
    assert not one.level
    assert not reading.difference([curve], theirs[2:], 1000).level  # a gap that was never reached


# -- data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sources.KINDS)
def test_made_up_tables_are_new_for_every_seed(kind: str) -> None:
    shape = sources.Shape(kind, 200, 8)
    first, again, other = (sources.table(shape, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[1], other[1])
    assert set(np.unique(first[2])) == {0, 1}


def test_splits_have_no_row_in_common() -> None:
    rows = np.arange(90)[:, None], np.zeros(90), np.zeros(90)
    parts = sources._split(rows, 0, 60)
    assert len(parts.train_y) == 60
    assert not set(parts.train_X[:, 0]) & set(parts.test_X[:, 0])
    assert len(parts.test_y) == 30


def test_pairs_of_groups() -> None:
    found = scaling_job.pairs(1000)
    assert len({str(each) for each in found}) == 1000


# -- slopes and the cluster -----------------------------------------------------------------------


def test_slopes_are_powers() -> None:
    sizes = [10, 100, 1000]
    assert scaling.slope(sizes, [5 * size**1.5 for size in sizes]) == pytest.approx(1.5)


def test_costs_of_a_cluster_are_found_from_fits_of_few_processes() -> None:
    true = cluster.FitCosts(0.4, 2e-6, 50, 10**6)
    fits = [
        {"rows": rows, "processes": number, "own": true.work(rows, number), "messages": 50, "bytes": 10**6}
        for rows in (10**5, 10**6)
        for number in (1, 2, 4)
    ]
    found = cluster.costs_of(fits)
    assert found.row == pytest.approx(true.row)
    assert found.fixed == pytest.approx(true.fixed)
    assert (found.messages, found.bytes_) == (50, 10**6)
    assert all(found.work(each["rows"], int(each["processes"])) == pytest.approx(each["own"]) for each in fits)


def test_the_network_that_is_needed_keeps_messages_below_a_tenth() -> None:
    costs = cluster.FitCosts(0.4, 2e-6, 50, 10**6)
    needed = costs.bandwidth(10**9, 16)
    assert needed is not None
    talk = costs.talk(16, bandwidth=needed)
    assert talk / (talk + costs.work(10**9, 16)) == pytest.approx(0.1)


# -- tables ---------------------------------------------------------------------------------------

MACHINE = {"processor": "P", "cores": 2, "threads": 1, "system": "S", "python": "3", "numpy": "2", "compiled": True}


def compared(ours: float, theirs: float, apart: float, **changes: Any) -> dict[str, Any]:
    difference = {"mean": apart, "deviation": 0.001, "read": 3, "samples": 3, "level": apart <= 0.001}
    facts = {"fairlearn": {"error": 0.2, "gap": 0.05, "difference": difference}, "multiples": 3.0}
    samples = {"equirate": [ours] * 3, "fairlearn": [theirs] * 3}
    return {
        "part": "fits",
        "name": f"{ours}-{theirs}",
        "title": f"fit {ours}",
        "curve": "",
        "x": 0.0,
        "comparisons": [{"what": "whole fit", "unit": "s", "samples": samples, "note": ""}],
        "quality": {},
        "facts": facts,
        "machine": MACHINE,
        **changes,
    }


def grown(size: float) -> dict[str, Any]:
    facts = {"memory of X, MB": 1.0, "peak beyond the data, MB": 2.0, "peak beyond the data / X": 2.0}
    samples = {"equirate": [size / 1e6] * 3, "fairlearn": [size / 1e4] * 3}
    comparison = {"what": "whole fit", "unit": "s", "samples": samples, "note": ""}
    return compared(
        1, 1, 0, part="scaling", curve="rows, whole fit", x=size, comparisons=[comparison], facts=facts, name=f"{size}"
    )


def test_what_is_lost_stands_first_with_a_reason() -> None:
    cells = [compared(1.0, 10.0, -0.01), compared(2.0, 1.0, 0.0), compared(0.5, 5.0, 0.004)]
    lost = standing.first_tables(cells)[0]
    assert lost.title == "What is lost"
    assert [(row[0], row[2], row[3]) for row in lost.rows] == [
        ("time", "1 of 3", "fit 2.0"),
        ("errors", "1 of 3", "fit 0.5"),
    ]
    assert lost.rows[1][4:6] == ("0.2040 (+0.0040 ± 0.0010)", "0.2000")
    assert all(row[-1] and row[-2] for row in lost.rows)
    short = standing.summary(cells).rows[0]
    assert short[2:] == ("3", "10.0", "0.5 to 10", "1", "1", "+0.0040")


def test_a_rival_that_failed_is_listed_with_the_reason() -> None:
    cells = [compared(1.0, 2.0, 0.0), compared(1, 1, 0, comparisons=[], facts={}, skipped="needs more than 8 GB")]
    table = next(table for table in standing.make_tables(cells) if table.title == "Whole fits of linear models")
    assert table.rows[-1][-1] == "needs more than 8 GB"


def test_slopes_and_the_picture() -> None:
    import xml.etree.ElementTree as ET

    cells = [grown(size) for size in (1e3, 1e4, 1e5, 1e6)]
    (ours, theirs, memory), _ = growing.slopes(cells).rows, growing.points(cells)
    assert ours[-3:] == ("1.00", "1.00", "1.00")
    assert memory[1:] == ("equirate, memory", "1,000 to 1,000,000", "2 to 2", "0.00", "0.00", "0.00")
    assert theirs[1] == "fairlearn"
    assert ET.fromstring(growing.picture(cells)).tag.endswith("svg")


def test_pages_and_files_of_other_parts_are_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "rivals.md"
    page.write_text("<!-- lost -->\n<!-- /lost -->\n<!-- table -->\n<!-- /table -->\n", "utf-8")
    paths = benchmarks.published([compared(1.0, 10.0, 0.0), grown(1e3), grown(1e4)], tmp_path / "out", None, page)
    assert {path.name for path in paths} == {"rivals.json", "rivals.md", "scaling.svg"}
    text = page.read_text("utf-8")
    assert "shared with other work" in text
    assert text.index("Goals of growth") < text.index("All comparisons in short") < text.index("What was measured")
    assert len(json.loads((tmp_path / "out" / "rivals.json").read_text("utf-8"))) == 3


def test_goals_that_are_not_reached_stand_first() -> None:
    table = growing.goals([grown(size) for size in (1e5, 1e6)])
    assert [row[2:] for row in table.rows] == [("2.00", "no"), ("1.00", "yes"), ("1.00", "yes")]
    assert growing.goals([]).rows == ()


def test_the_code_that_was_measured_is_named() -> None:
    cells = [compared(1.0, 2.0, 0.0, code={"commit": "abcdef0"}, date="2026-01-01"), compared(1.0, 2.0, 0.0)]
    assert standing.origins(cells).rows == (("fits", "2", "commit abcdef0, commit unknown", "2026-01-01, –"),)


TREES_PAGE = """
### Beside each other

| problem | difference | splits | at 0.1 | at the second's own gap |
|---|---|---|---|---|
| Adult, sex, odds | blind less FairGBM | 5 | +0.1 | +0.0006 ± 0.0004 |
| Adult, race, odds | blind less FairGBM | 5 | – | -0.2000 ± 0.1000 |
| Adult, race, odds | blind less fairlearn | 5 | – | +0.3 ± 0.1 |

### Processor time

| method | ACSIncome, affine | Adult, ratios |
|---|---|---|
| equirate, model="trees" | 2.50 (120 fits) | 2.40 (15 fits) |
| FairGBM | 1.50 (80 fits) | – |
"""


def test_rivals_of_other_pages_are_listed_too(tmp_path: Path) -> None:
    page = tmp_path / "trees.md"
    page.write_text(TREES_PAGE, "utf-8")
    samples = {"equirate": [2.0], "bare products": [1.0]}
    comparison = {"what": "a round", "unit": "ms", "samples": samples, "note": ""}
    product = compared(1, 1, 0, part="products", title="COMPAS", comparisons=[comparison])
    lost = elsewhere.losses([product], page)
    assert [row[:6] for row in lost] == [
        ("time", "the matrix products of a round, alone", "1 of 1", "COMPAS", "2 ms", "1 ms"),
        ("time", "FairGBM on trees, blind", "1 of 1", "ACSIncome", "2.50 plain fits", "1.50 plain fits"),
        ("errors", "FairGBM on trees, blind", "1 of 2", "Adult, sex, odds", "+0.0006 ± 0.0004", "0"),
    ]
    assert all(reasons.UNKNOWN[0] not in row for row in lost)
    assert elsewhere.summary([product], page)[1][2:] == ("2", "0.6", "0.6 to 0.6", "1 of 1 data sets", "1", "+0.0006")
    assert elsewhere.summary([], tmp_path / "none.md") == []


def test_every_published_loss_has_a_reason() -> None:
    published = Path(__file__).parents[1] / "benchmarks" / "rivals.json"
    if not published.exists():
        pytest.skip("nothing is published")
    cells = json.loads(published.read_text("utf-8"))
    for each in standing.standings(cells):
        for what, lost in (("time", each.slower), ("errors", each.worse)):
            assert not lost or reasons.reason(each.part, each.rival, what) != reasons.UNKNOWN, (each.title, what)


# -- cases and running ----------------------------------------------------------------------------


def test_cases_have_names_of_their_own() -> None:
    every = list(planned.comparisons(benchmarks.FULL))
    assert len({(case.part, case.name) for case in every}) == len(every)
    known = benchmarks.FULL.as_dict()
    assert all(name in known for case in every for name in case.depends)
    assert {case.rival for case in every if case.rival} <= set(RIVALS)
    fewer = benchmarks.FULL.repeated(2)
    assert (fewer.fit_repetitions, fewer.slow_repetitions, fewer.scaling_repetitions) == (2, 2, 2)


def test_answers_of_slow_rivals_are_kept(tmp_path: Path) -> None:
    kept = answers.Answers(tmp_path, "P, 1 threads")
    rival, rows = RIVALS["reductions"], answers.fingerprint({"y": np.ones(3)})
    asked: list[float] = []

    def answer(seconds: float) -> Any:
        def ask() -> tuple[dict[str, Any], dict[str, Any]]:
            asked.append(seconds)
            return {"seconds": seconds}, {"test": np.full(2, seconds)}

        return ask

    request = {"method": "fairlearn"}
    path = kept.path(rival, rows, request, 0)
    assert not kept.get(path, answer(3.0)).kept
    again = kept.get(path, answer(4.0))
    assert (again.kept, again.seconds, again.arrays["test"].tolist()) == (True, 3.0, [3.0, 3.0])
    others = [
        kept.path(replace(rival, requirements=("fairlearn==1",)), rows, request, 0),
        kept.path(rival, answers.fingerprint({"y": np.zeros(3)}), request, 0),
        kept.path(rival, rows, {"method": "sampled"}, 0),
        kept.path(rival, rows, request, 1),
        replace(kept, machine="Q").path(rival, rows, request, 0),
    ]
    assert len({path, *others}) == 6
    for _ in range(2):  # a fast one takes turns with us every time
        assert not kept.get(others[0], answer(0.1)).kept
    assert asked == [3.0, 0.1, 0.1]


FAKE = f"""
import sys
sys.path.insert(0, {str(environments.SCRIPTS)!r})
from serve import serve
import numpy as np

def prepare(job, data, folder):
    def answer(request):
        if request.get("do") == "train":
            np.savez(folder / "decided.npz", decided=np.zeros(len(data["X_test"])))
        elif request["method"] == "perpetual":
            return {{"error": "ValueError: not today"}}
        else:
            np.savez(folder / (request["method"] + ".npz"), test=data["test_y"] * 1.0)
        return {{"seconds": 1.0, "calls": len(data.get("train_y", ()))}}
    return answer

serve(prepare)
"""
"""Stands in for every rival: predictions that are always right."""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "fake.py"
    script.write_text(FAKE, "utf-8")
    for name, rival in RIVALS.items():
        monkeypatch.setitem(RIVALS, name, replace(rival, script=str(script)))
    monkeypatch.setattr(Environments, "python", lambda self, rival: Path(sys.executable))


def halves(seed: int) -> Halves:
    shape = sources.Shape("dense", 300, 4)
    return Halves(*sources.table(shape, seed), *sources.table(shape, 99))


@pytest.mark.slow
def test_a_rival_that_stays_open_gets_new_rows(fake: None, tmp_path: Path) -> None:
    ground = benchmarks.Ground(TINY, tmp_path, tmp_path)
    first = ground.given("reductions", {}, {"train_y": np.ones(3), "test_y": np.ones(3)})
    assert first.ask(method="fairlearn")["calls"] == 3
    second = ground.given("reductions", {}, {"train_y": np.ones(5), "test_y": np.ones(2)})
    assert second is first
    assert second.ask(method="fairlearn")["calls"] == 5
    assert second.arrays("fairlearn")["test"].shape == (2,)
    ground.close()
    assert first.process.poll() is not None


@pytest.mark.slow
def test_whole_fits_are_compared(fake: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_fits, "LEVELS", (0.05, 0.1))
    ground = benchmarks.Ground(TINY, tmp_path, tmp_path)
    found = whole_fits.beside_fairlearn(ground, halves, "dp", 2, ("fairlearn", "sampled"), rival_repetitions=1)
    ground.close()
    assert [len(each.samples[whole_fits.OURS]) for each in found.comparisons] == [2, 2, 2]
    assert found.facts["fairlearn"]["error"] == 0
    assert found.facts["fairlearn"]["difference"]["samples"] == 1
    json.dumps(found.as_dict())


@pytest.mark.slow
def test_thresholds_for_three_groups(fake: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "LEVELS", (0.05,))
    monkeypatch.setattr(thresholds, "ROWS", 600)
    monkeypatch.setattr(thresholds, "TEST_ROWS", 600)
    ground = benchmarks.Ground(TINY, tmp_path, tmp_path)
    found = thresholds.beside(ground, "error_parity", "dp", 3, 1)
    ground.close()
    assert found.facts["equirate"]["error"] > 0


@pytest.mark.slow
def test_trees_say_which_rival_failed(fake: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(boosted, "LEVELS", (0.05,))
    monkeypatch.setattr(boosted, "prepared", lambda data, seed: halves(seed))
    ground = benchmarks.Ground(TINY, tmp_path, tmp_path)
    found = boosted.beside_trees(ground, "compas", "dp", 1)
    ground.close()
    assert found.facts["left out"] == {"perpetual": "ValueError: not today"}
    assert len(found.comparisons) == 3


@pytest.mark.slow
def test_growth_of_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling_job, "ROWS", 400)
    monkeypatch.setattr(scaling_job, "SPARSE_ROWS", 400)
    for by, size in (("rows", 400), ("features", 50), ("groups", 4), ("constraints", 3), ("levels", 2)):
        found = scaling_job.measured({"by": by, "size": size, "repetitions": 3, "enough": 0.0})
        assert len(found["seconds"]) == 1  # the first was enough
        assert found["data"] > 0


def test_some_measurements_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(benchmarks, "run", lambda chosen, *_: asked.extend(case.name for case in chosen))
    benchmarks.bench(("fits",), tmp_path, settings=TINY, only=["dense-600-d"])
    assert asked == ["dense-600-dp"]
    benchmarks.bench((), tmp_path, settings=TINY)  # nothing is measured, what is there is shown
    assert asked == ["dense-600-dp"]
