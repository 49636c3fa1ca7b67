"""The experiments: printed numbers, splits, result files, going on after an interrupt, tables, plots and the page."""

import csv
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import equirate as eq

pytest.importorskip("pandas")

from equirate_lab import experiments
from equirate_lab.experiments import (
    bench as bench_module,
    catalogue,
    methods,
    page,
    paper,
    problems,
    runner,
    svg,
    tables,
    takeaway,
)
from equirate_lab.experiments.bench import Bench
from equirate_lab.experiments.results import Results, Spread, pair
from equirate_lab.experiments.settings import PRINTED, QUICK, Settings
from equirate_lab.experiments.splits import Part, Split, make_split, rows_of

TINY = Settings(
    rounds=30,
    record_every=5,
    steps=(0.1,),
    spade_steps=(0.1,),
    baseline_rounds=60,
    baseline_steps=(0.1,),
    coco_runs=10,
    coco_inner=4,
    our_steps=(0.03, 0.1),
    frontier_rounds=20,
    classifier_rounds=40,
)


def synthetic(seed: int = 0, n: int = 450) -> Split:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    protected = (rng.random(n) < 0.4).astype(np.int64)
    y = (X[:, 0] - 0.7 * protected + 0.7 * rng.normal(size=n) > 0).astype(np.int64)
    parts = [Part(X[rows], y[rows], {"protected": protected[rows]}) for rows in rows_of(n, seed)]
    return Split("compas", seed, *parts)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(synthetic(), TINY)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data and experiments small enough to run in a moment."""
    monkeypatch.setattr(runner, "make_split", lambda name, seed, data_dir: replace(synthetic(seed), dataset=name))
    few = {name: catalogue.KLD.methods[name] for name in ("unc_error", "algorithm2", "frontier")}
    monkeypatch.setitem(catalogue.EXPERIMENTS, "kld", replace(catalogue.KLD, methods=few))


def jobs(out: Path, seeds: int = 2, settings: Settings = TINY) -> list[runner.Job]:
    return runner.plan([catalogue.KLD], ["compas"], range(seeds), settings, out)


# -- the printed numbers --------------------------------------------------------------------------


def test_table_4() -> None:
    assert [(row.instances, row.features) for row in paper.DATASETS.values()] == [
        (4073, 31), (1495, 135), (15388, 36), (32561, 122), (95692, 100), (11560, 36),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("table", "dataset", "column", "printed"),
    [
        (paper.KLD, "compas", "unc_error", (0.115, 1.00)),
        (paper.KLD, "compas", "coco", (0.043, 1.01)),
        (paper.KLD, "crime", "alg2_stochastic", (0.094, 1.11)),
        (paper.KLD, "crime", "post_shift", (0.005, 1.40)),
        (paper.KLD, "law_school", "spade_plus", (0.040, 1.09)),
        (paper.KLD, "adult", "alg2_deterministic", (0.014, 1.10)),
        (paper.KLD, "wiki_toxicity", "alg2_deterministic", (0.127, 1.18)),
        (paper.KLD, "business", "coco", (0.004, 1.04)),
        (paper.KLD_UNSHRUNK, "law_school", "spade_plus_average", (0.296, 1.01)),
        (paper.KLD_UNSHRUNK, "adult", "coco_weights", (0.003, 1.31)),
        (paper.KLD_UNSHRUNK, "wiki_toxicity", "alg2_uniform", (0.098, 1.30)),
        (paper.FMEASURE, "compas", "unc_f1", (0.671, 0.11)),
        (paper.FMEASURE, "crime", "alg4_deterministic", (0.671, 0.13)),
        (paper.FMEASURE, "law_school", "alg4_stochastic", (0.911, 0.01)),
        (paper.FMEASURE, "adult", "alg3_stochastic", (0.655, 0.04)),
        (paper.FMEASURE, "wiki_toxicity", "alg3_deterministic", (0.892, 0.10)),
        (paper.FMEASURE, "business", "alg4_deterministic", (0.754, -0.06)),
    ],
)
def test_printed_values(table: dict, dataset: str, column: str, printed: tuple[float, float]) -> None:
    assert table[dataset][column] == printed


@pytest.mark.parametrize("table", [paper.KLD, paper.KLD_UNSHRUNK, paper.FMEASURE])
def test_printed_tables_are_complete(table: dict) -> None:
    assert list(table) == list(paper.DATASETS)
    assert len({tuple(row) for row in table.values()}) == 1


def test_every_printed_column_is_a_column_of_ours() -> None:
    for experiment in catalogue.EXPERIMENTS.values():
        for spec in experiment.tables:
            for row in spec.printed.values():
                assert set(row) == {column.name for column in spec.columns}


# -- data -----------------------------------------------------------------------------------------


def test_split_is_four_two_three_without_overlap() -> None:
    parts = rows_of(900, seed=3)
    assert [len(part) for part in parts] == [400, 200, 300]
    assert sorted(np.concatenate(parts)) == list(range(900))
    assert all((a == b).all() for a, b in zip(parts, rows_of(900, seed=3), strict=True))
    assert (parts[0] != rows_of(900, seed=4)[0]).any()


@pytest.mark.parametrize(("name", "features"), [("compas", 31), ("crime", 135)])
def test_bundled_data_sets(name: str, features: int) -> None:
    split = make_split(name, seed=1)
    assert split.train.X.shape[1] == features
    assert split.train.X.dtype == np.float32
    assert set(np.unique(split.test.attributes["protected"])) == {0, 1}
    assert len(split.train.joined(split.validation)) == len(split.train) + len(split.validation)


def test_part_can_have_more_attributes() -> None:
    part = synthetic().test
    assert set(part.having(legacy=part.y).attributes) == {"protected", "legacy"}
    assert set(part.attributes) == {"protected"}


# -- problems and methods -------------------------------------------------------------------------


def test_measures_are_those_of_the_paper() -> None:
    y = np.array([1, 0, 1, 0, 1, 0, 1, 0])
    part = Part(np.zeros((8, 1), np.float32), y, {"protected": np.array([1, 1, 1, 1, 0, 0, 0, 0])})
    predictions = np.array([1, 0, 0, 0, 1, 0, 1, 0.0])
    p, q = 0.5, 0.25  # base rate, and positives predicted among the protected; among the others 0.5
    divergence = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    assert problems.KLD.value(predictions, part, 0.25) == pytest.approx((divergence, 0.125 / 0.25))
    f_all, f_protected, f_others = 6 / 7, 2 / 3, 1.0
    assert problems.FMEASURE.value(predictions, part, 1.0) == pytest.approx((f_all, f_others - f_protected - 0.01))


CELLS = [(e.name, method) for e in catalogue.EXPERIMENTS.values() for method in e.methods]


@pytest.mark.parametrize(("name", "method"), CELLS, ids=[f"{e}-{m}" for e, m in CELLS])
def test_every_method_makes_its_columns(bench: Bench, name: str, method: str) -> None:
    experiment = catalogue.EXPERIMENTS[name]
    ground = bench.with_legacy() if experiment.legacy else bench
    cell = runner.measured(experiment, method, ground)
    assert cell["values"]
    for parts in cell["values"].values():
        assert set(parts) == {"train", "validation", "test"}
        assert all(len(values) == 2 and not np.isnan(values).any() for values in parts.values())
    json.dumps(cell)


def test_tables_show_what_methods_make(bench: Bench) -> None:
    for name in ("kld", "fmeasure"):
        experiment = catalogue.EXPERIMENTS[name]
        wanted = {column.name for spec in experiment.tables for column in spec.columns}
        cheap = [m for m in experiment.methods if m not in ("rate_classifier", "two_sets", "postprocess", "frontier")]
        made = {column for method in cheap for column in experiment.methods[method](bench).columns}
        assert made <= wanted
        assert wanted - made <= {"rate_classifier", "two_sets", "postprocess"}


def test_post_shift_evens_out_the_groups_on_validation(bench: Bench) -> None:
    part = bench.validation
    predictions = methods.post_shift(bench).columns["post_shift"](part)
    protected = part.attributes["protected"] == 1
    for rows in (protected, ~protected):
        assert predictions[rows].mean() == pytest.approx(part.y.mean(), abs=0.02)


def test_unc_f1_has_the_best_threshold_on_training_rows(bench: Bench) -> None:
    part, f1 = bench.train, eq.f1()
    tuned = f1.evaluate(part.y, methods.unc_f1(bench).columns["unc_f1"](part))
    assert tuned >= f1.evaluate(part.y, bench.unc_error.positive_probability(part.X))


def test_the_error_limit_is_kept_on_training_rows(bench: Bench) -> None:
    values = runner.measured(catalogue.KLD, "polish", bench)["values"]["polish"]
    assert (
        values["train"][0] < problems.KLD.value(bench.unc_error.positive_probability(bench.train.X), bench.train, 1)[0]
    )


def test_an_interrupted_game_is_not_a_result(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = SimpleNamespace(interrupted=True)
    monkeypatch.setattr(bench_module.eq, "solve", lambda *_, **__: stopped)
    with pytest.raises(KeyboardInterrupt):
        bench.solve(problems.fmeasure(), "slack_ratios")


@pytest.mark.parametrize("method", [methods.fmeasure_defaults, methods.fmeasure_postprocess])
def test_an_interrupted_fit_is_not_a_result(
    bench: Bench, method: methods.Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped:
        status_ = SimpleNamespace(interrupted=True)

        def fit(self, *_: object, **__: object) -> None:
            pass

    monkeypatch.setattr(eq, "RateClassifier", lambda *_, **__: Stopped())
    monkeypatch.setattr(eq, "RatePostprocessor", lambda *_, **__: Stopped())
    with pytest.raises(KeyboardInterrupt):
        method(bench)


def test_shared_models_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Bench(synthetic(), TINY, tmp_path).unc_error
    monkeypatch.setattr(eq.baselines, "unconstrained", lambda *_, **__: pytest.fail("trained again"))
    second = Bench(synthetic(), TINY, tmp_path).unc_error
    X = synthetic().test.X
    assert (first.predict(X) == second.predict(X)).all()


def test_settings() -> None:
    assert (PRINTED.rounds, PRINTED.record_every, PRINTED.baseline_rounds) == (5000, 10, 2500)
    assert (PRINTED.coco_runs, PRINTED.coco_inner) == (500, 10)
    assert PRINTED.steps == (0.001, 0.01, 0.1, 1.0)
    assert PRINTED.lasting(5000) == PRINTED
    assert QUICK.rounds < 1000
    assert json.loads(json.dumps(TINY.as_dict())) == TINY.as_dict()


def test_chosen() -> None:
    assert len(experiments.chosen("all")) == 8
    with pytest.raises(ValueError, match="no experiment 'F'"):
        experiments.chosen("F")


# -- running --------------------------------------------------------------------------------------


def test_result_files(tmp_path: Path, small: None) -> None:
    told: list[runner.Done] = []
    runner.run(jobs(tmp_path), told.append)
    files = {str(p.relative_to(tmp_path / "cells")) for p in (tmp_path / "cells").rglob("*.json")}
    assert files == {
        "kld/compas/0/unc_error.json", "kld/compas/0/algorithm2.json", "kld/compas/0/frontier.json",
        "kld/compas/1/unc_error.json", "kld/compas/1/algorithm2.json",
    }  # fmt: skip
    assert [done.cached for done in told] == [False] * 5
    cell = json.loads((tmp_path / "cells/kld/compas/1/algorithm2.json").read_text())
    assert set(cell["values"]) == {"alg2_stochastic", "alg2_deterministic", "alg2_uniform"}
    assert cell["settings"]["rounds"] == 30
    assert cell["rows"] == {"train": 200, "validation": 100, "test": 150}
    assert cell["seed"] == 1
    assert len(cell["curves"]["round"]) == len(cell["curves"]["objective"]) == 6


def test_a_second_run_keeps_what_is_there(tmp_path: Path, small: None) -> None:
    runner.run(jobs(tmp_path))
    broken = tmp_path / "cells/kld/compas/0/algorithm2.json"
    broken.write_text('{"values": ')
    told: list[runner.Done] = []
    runner.run(jobs(tmp_path), told.append)
    assert [done.method for done in told if not done.cached] == ["algorithm2"]
    told.clear()
    runner.run(jobs(tmp_path, settings=TINY.lasting(20)), told.append)
    assert not any(done.cached for done in told)


def test_an_interrupted_run_goes_on(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(bench: Bench) -> methods.Made:
        raise KeyboardInterrupt

    whole = catalogue.EXPERIMENTS["kld"]
    with monkeypatch.context() as patch:
        patch.setitem(catalogue.EXPERIMENTS, "kld", replace(whole, methods={**whole.methods, "algorithm2": interrupt}))
        with pytest.raises(KeyboardInterrupt):
            runner.run(jobs(tmp_path))
    assert [path.stem for path in (tmp_path / "cells").rglob("*.json")] == ["unc_error"]
    told: list[runner.Done] = []
    runner.run(jobs(tmp_path), told.append)
    assert [done.cached for done in told] == [True, False, False, False, False]


def test_a_method_that_fails_is_told_and_tried_again(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(bench: Bench) -> methods.Made:
        raise eq.AlgorithmError("every configuration diverged")

    whole = catalogue.EXPERIMENTS["kld"]
    with monkeypatch.context() as patch:
        patch.setitem(catalogue.EXPERIMENTS, "kld", replace(whole, methods={**whole.methods, "algorithm2": fail}))
        runner.run(jobs(tmp_path, seeds=1))
    assert Results(tmp_path).errors() == ["kld compas seed 0 algorithm2: AlgorithmError: every configuration diverged"]
    assert "every configuration diverged" in page.page(Results(tmp_path))
    runner.run(jobs(tmp_path, seeds=1))
    assert not Results(tmp_path).errors()


@pytest.mark.slow
def test_two_processes(tmp_path: Path) -> None:
    told: list[runner.Done] = []
    planned = runner.plan(catalogue.chosen("table1")[:1], ["compas"], range(2), TINY, tmp_path)
    runner.run(planned, told.append, processes=2)
    assert sorted((done.seed, done.method) for done in told) == [
        (0, "baseline"), (0, "trained"), (1, "baseline"), (1, "trained"),
    ]  # fmt: skip
    missing = [replace(job, dataset="law_school", data_dir=str(tmp_path)) for job in planned]
    with pytest.raises(RuntimeError, match="law_school"):
        runner.run(missing, processes=2)


def test_small_experiments_stay_on_their_own_data_sets(tmp_path: Path) -> None:
    assert runner.plan(catalogue.TABLE1, ["law_school"], [0], TINY, tmp_path, everywhere=False) == []
    assert len(runner.plan(catalogue.TABLE1, ["law_school", "compas"], [0], TINY, tmp_path)) == 2


def test_missing_data(tmp_path: Path) -> None:
    found = runner.missing(["compas", "law_school"], str(tmp_path))
    assert list(found) == ["law_school"]
    assert "law_school.csv.gz" in found["law_school"]


def test_reproduce(tmp_path: Path, small: None) -> None:
    results = experiments.reproduce("kld", ["compas"], 1, tmp_path, settings=TINY)
    assert results.datasets("kld") == ["compas"]
    assert (tmp_path / "results.csv").exists()
    with pytest.raises(ValueError, match="no data set 'compass'"):
        experiments.reproduce("kld", ["compass"], 1, tmp_path)
    with pytest.raises(ValueError, match="at least 1"):
        experiments.reproduce("kld", ["compas"], 0, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"law_school\.csv\.gz"):
        experiments.reproduce("kld", ["law_school"], 1, tmp_path, data_dir=str(tmp_path))


# -- results and tables ---------------------------------------------------------------------------


def known(out: Path) -> Results:
    """Write result files with known numbers."""
    for seed, (a, b) in enumerate([(0.10, 1.0), (0.20, 1.1), (0.30, 1.2)]):
        cell = {
            "experiment": "kld",
            "dataset": "compas",
            "seed": seed,
            "method": "algorithm2",
            "settings": {"rounds": 5000},
            "seconds": 1.5,
            "values": {"alg2_stochastic": {"test": [a, b], "train": [0.0, 1.0]}},
            "curves": {
                "round": [10, 20, 30],
                "objective": [0.3, 0.2, float("inf")],
                "violation": [0.1, 0.0, 0.0],
                "multipliers": [[0.1, 0.2, 0.3]],
            },
        }
        path = out / "cells" / "kld" / "compas" / str(seed) / "algorithm2.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(cell))
    return Results(out)


def test_spread() -> None:
    spread = Spread.of([(0.1, 1.0), (0.2, 1.1), (0.3, 1.2)])
    assert (spread.objective, spread.objective_spread) == pytest.approx((0.2, 0.1))
    assert (spread.constraint, spread.constraint_spread, spread.count) == pytest.approx((1.1, 0.1, 3))
    assert Spread.of([(0.1, 0.0)]).deviation == ""
    assert math.isinf(Spread.of([(math.inf, 1.0), (0.1, 1.0)]).objective)
    assert Spread.of([(math.inf, 1.0), (0.1, 1.0)]).deviation == "– (0.00)"
    assert pair(0.0004, -0.0004) == "0.000 (0.00)"
    assert pair(math.inf, 1.0) == "inf (1.00)"


def test_table_values_from_known_inputs(tmp_path: Path) -> None:
    table = tables.make_tables(known(tmp_path))[0]
    assert table.title == "Table 5"
    place = table.header.index("Alg. 2 stoch.")
    ours, deviation, printed = table.rows
    assert (ours[0], ours[1], ours[place]) == ("COMPAS", "3 × 5,000", "0.200 (1.10)")
    assert (deviation[0].strip(), deviation[place]) == ("±", "0.100 (0.10)")
    assert printed[place] == "0.000 (1.03)"
    assert ours[table.header.index("COCO")] == tables.ABSENT
    assert "| COMPAS | 3 × 5,000 |" in table.markdown()
    assert "0.200 (1.10)" in str(table)


def test_every_number_is_saved(tmp_path: Path) -> None:
    results = known(tmp_path)
    with results.save()[0].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert rows[0] == {
        "experiment": "kld", "dataset": "compas", "seed": "0", "method": "algorithm2", "column": "alg2_stochastic",
        "part": "test", "objective": "0.1", "constraint": "1.0", "seconds": "1.5", "rounds": "5000",
    }  # fmt: skip
    assert len(json.loads((tmp_path / "results.json").read_text())) == 3
    assert results.seconds() == 4.5


def test_show_prints_plain_text_where_there_is_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables.show(tables.make_tables(known(tmp_path)))
    assert "as printed" in capsys.readouterr().out


def test_show_uses_rich_in_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    path = tmp_path / "shown.txt"
    with path.open("w") as file:
        monkeypatch.setenv("COLUMNS", "160")
        tables.show(
            tables.make_tables(known(tmp_path)),
            SimpleNamespace(write=file.write, flush=file.flush, isatty=lambda: True),
        )
    assert "0.200 (1.10)" in path.read_text()


# -- plots and the page ---------------------------------------------------------------------------


def test_scale_has_round_ticks_inside() -> None:
    low, high, ticks = svg._scale([0.0, 1.0])
    assert low < 0 < 1 < high
    assert all(low <= tick <= high for tick in ticks)
    assert 3 <= len(ticks) <= 7
    assert len(svg._scale([2.0])[2]) >= 2


def test_plot_leaves_out_what_is_not_finite() -> None:
    drawn = svg.plot([svg.Series("a < b", [0, 1, 2], [0.5, math.nan, 1.0])], "x", "y", "title")
    assert drawn.count("<circle") == 2
    assert "a &lt; b" in drawn
    assert "nan" not in drawn
    assert "nothing to draw" in svg.plot([], "x", "y", "title")


class Tags(HTMLParser):
    """Tags that are opened, and whether all are closed again."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_whole_and_needs_nothing_else(tmp_path: Path, small: None) -> None:
    runner.run(jobs(tmp_path))
    text = page.write_page(Results(tmp_path), tmp_path / "index.html").read_text("utf-8")
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert tags.seen.count("table") == 2
    assert tags.seen.count("figure") == 4  # trade-off, frontier, convergence, multipliers
    assert text.count('class="legend"') == 1
    assert "script" not in tags.seen
    assert not re.search(r"https?://|@import|url\(", text)
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1100, False), (390, False), (390, True)])
def test_page_in_a_browser(width: int, dark: bool, tmp_path: Path, browser: Any) -> None:
    for column, pairs in {"rate_classifier": [(0.1, 1.0)], "unc_error": [(0.3, 1.0)]}.items():
        made_up(tmp_path, "adult", column, pairs)
    known(tmp_path)
    path = page.write_page(Results(tmp_path), tmp_path / "index.html")
    browser.open(path, width, dark)
    assert browser.logs("browser") == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    assert browser.outside() == []
    assert browser.findings() == []
    shown = browser.run("return document.querySelector('.takeaway').getBoundingClientRect().top")
    assert shown < 250  # first of all


# -- what it comes to -----------------------------------------------------------------------------


def made_up(out: Path, dataset: str, column: str, pairs: list[tuple[float, float]], experiment: str = "kld") -> None:
    """Write result files of one column, a seed for each pair."""
    for seed, numbers in enumerate(pairs):
        cell = {"experiment": experiment, "dataset": dataset, "seed": seed, "method": column, "seconds": 1.0}
        path = out / "cells" / experiment / dataset / str(seed) / f"{column}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        values = {column: {"test": list(numbers), "train": [0.0, 0.0]}}
        path.write_text(json.dumps({**cell, "settings": {"rounds": 100}, "values": values}))


def test_takeaways_say_what_the_numbers_say(tmp_path: Path) -> None:
    made_up(tmp_path, "compas", "rate_classifier", [(0.01, 1.10), (0.03, 1.12)])
    made_up(tmp_path, "adult", "rate_classifier", [(0.04, 1.02)])
    made_up(tmp_path, "compas", "unc_error", [(0.1, 1.0)])
    made_up(tmp_path, "adult", "unc_error", [(0.2, 1.0)])
    made_up(tmp_path, "compas", "rate_classifier", [(0.7, -0.01)], "fmeasure")
    made_up(tmp_path, "compas", "unc_error", [(0.8, 0.2)], "fmeasure")
    first, second = takeaway.takeaways(Results(tmp_path))
    assert "has a KL divergence of 0.030 on average over 2 data sets; without constraints it is 0.150" in first.text
    assert "the paper prints 0.007 for the stochastic Algorithm 2. " in first.text  # (0.000 + 0.014) / 2
    assert "is kept on test data on 1 of 2; it is missed most on COMPAS, at 1.11." in first.text
    assert "has an F-measure of 0.700 on average over one data set" in second.text
    assert second.text.endswith("is kept on test data on it.")
    assert takeaway.takeaways(Results(tmp_path / "empty")) == []


def test_every_method_has_a_letter_and_the_default_a_colour() -> None:
    for experiment in (catalogue.KLD, catalogue.FMEASURE):
        series = [s for _, s in page._columns(experiment)]
        assert len({s.mark for s in series}) == len(series)
        assert [s.name for s in series if s.role == "default"] == ["RateClassifier"]
        assert series[-1].role == "default"  # drawn above the others
