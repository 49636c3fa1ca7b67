"""The benchmarks: what becomes of samples, files and pages, and that every measurement runs. Nothing here is timed."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pandas")

from equirate_lab import benchmarks, experiments
from equirate_lab.benchmarks import (
    against_tfco,
    alone,
    environments,
    ground,
    growth,
    judging,
    plot,
    provenance,
    runner,
    tables,
    timing,
)
from equirate_lab.benchmarks.environments import RIVALS, Environments, Rival, UnavailableError
from equirate_lab.experiments import methods, problems
from equirate_lab.experiments.bench import Bench
from equirate_lab.experiments.splits import Part, Split, make_split

import equirate as eq

TINY = replace(
    benchmarks.QUICK,
    threads=1,
    repetitions=2,
    slow_repetitions=1,
    rounds=20,
    record_every=5,
    short=5,
    long=10,
    cooper_rounds=30,
    most_rounds=25,
    rows=(200,),
    slices=(2, 3),
    slice_rows=300,
    configurations=(1, 2),
    iterates=(20,),
    plug_in_rows=(200,),
    predict_rows=200,
    predict_columns=4,
)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A play is never made longer, however short it was."""
    monkeypatch.setattr(timing, "LONGEST", 0)


# -- samples --------------------------------------------------------------------------------------


def test_spread_and_ratio() -> None:
    assert timing.spread([4.0]) == timing.Spread(4.0, 4.0, 4.0, 1)
    assert timing.ratio([4.0, 9.0], [2.0, 3.0]).median == 2.5
    assert timing.ratio([4.0, 9.0, 8.0], [2.0]) == timing.Spread(4.0, 4.0, 4.0, 1)  # not as many: medians alone
    with pytest.raises(ValueError, match="no samples"):
        timing.spread([])


def test_sides_take_turns() -> None:
    said: list[str] = []
    sides = {name: lambda name=name: said.append(name) or 1.0 for name in ("a", "b", "c")}
    assert timing.interleaved(sides, 2) == {"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [1.0, 1.0]}
    assert "".join(said) == "cba" + "abc" + "cba"  # the first turn warms up
    said.clear()
    timing.interleaved(sides, 1, warm=False)
    assert said == ["a", "b", "c"]


def test_a_round_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "LONGEST", 1000)
    clock = [0.0]

    def play(rounds: int) -> None:
        clock[0] += 0.5 + 0.001 * rounds  # half a second to set up

    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])
    assert timing.per_round(play, 10, 30) == pytest.approx(0.001)
    assert timing.per_round(play, 10, 11) == pytest.approx(0.001)  # made longer until it can be told


def test_threads_are_limited_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.delenv("EQUIRATE_KERNELS", raising=False)
    with timing.limited_to(3):
        assert (os.environ["OMP_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("3", "3")
        assert os.environ["EQUIRATE_KERNELS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ
    assert "EQUIRATE_KERNELS" not in os.environ
    monkeypatch.setenv("EQUIRATE_KERNELS", "0")
    with timing.limited_to(3):
        assert os.environ["EQUIRATE_KERNELS"] == "0"


# -- judging --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(make_split("compas", 0), experiments.QUICK.lasting(60))


@pytest.mark.parametrize("name", ["kld", "fmeasure"])
def test_the_choice_is_the_paper_s(bench: Bench, name: str) -> None:
    played = against_tfco.EXPERIMENTS[name]
    problem = played.problem(bench)
    steps = (0.01, 0.1)
    solution = bench.solve(problem, played.algorithm, theta_step=steps, lambda_step=steps)
    expected, _ = methods.as_printed(bench, problem, solution, solution.shrink)
    found = judging.chosen(problem, judging.recorded_weights(solution), bench.split)
    X = bench.test.X
    np.testing.assert_allclose(found.positive_probability(X), expected.positive_probability(X), atol=1e-6)


def test_iterates_that_diverged_are_not_chosen(bench: Bench) -> None:
    weights = np.full((3, bench.train.X.shape[1] + 1, 2), np.nan)
    problem = problems.fmeasure()
    with pytest.raises(eq.AlgorithmError, match="finite"):
        judging.chosen(problem, weights, bench.split)
    weights[:, :, 1] = np.random.default_rng(0).normal(size=weights.shape[:2])
    assert len(judging.chosen(problem, weights, bench.split).weights) <= 2


def test_pair_takes_rounding_off(bench: Bench) -> None:
    part = bench.test
    error, violation = judging.pair(eq.Problem(eq.minimize(eq.error_rate())), np.full(len(part), 1 + 1e-12), part)
    assert error == pytest.approx(1 - part.y.mean())
    assert violation == 0.0


def test_fewest_rounds() -> None:
    tried: list[int] = []

    def attempt(rounds: int) -> tuple[float, float]:
        tried.append(rounds)
        return 1 / rounds, 0.0

    assert judging.fewest(judging.ladder(25, 1000), attempt, (0.015, 0.0)) == 71
    assert tried == [25, 35, 50, 71]
    assert judging.fewest([1, 2], attempt, (0.015, 0.0)) is None


# -- tables, plots, pages -------------------------------------------------------------------------


def cell(**changes: Any) -> dict[str, Any]:
    machine = {"processor": "P", "cores": 2, "threads": 2, "system": "S", "python": "3", "numpy": "2", "compiled": True}
    samples = {"equirate": [1.0, 2.0, 3.0], "tfco": [10.0, 20.0, 30.0]}
    return {
        "part": "grid",
        "name": "n",
        "title": "Title",
        "rival": "tfco",
        "curve": "",
        "x": 0.0,
        "comparisons": [{"what": "a round", "unit": "ms", "samples": samples, "note": "16 configurations"}],
        "quality": {"tfco": {part: [0.5, -0.01] for part in ("train", "validation", "test")}},
        "measures": ["error", "violation"],
        "facts": {},
        "machine": machine,
        **changes,
    }


def point(x: float) -> dict[str, Any]:
    comparison = {"what": "a round", "unit": "ms", "samples": {"equirate": [x / 100]}, "note": ""}
    return cell(curve="rows", x=x, comparisons=[comparison], quality={}, facts={"peak beyond the data / X": 0.25})


def test_tables() -> None:
    ratios, quality, grown = benchmarks.make_tables([cell(), point(100.0), point(1000.0)])
    assert ratios.rows == (
        ("Title", "a round (16 configurations)", "2 [1.5, 2.5] ms", "20 [15, 25] ms", "10 [10, 10]", "3"),
    )
    assert quality.rows == (("Title", "error (violation)", "tfco", *["0.5000 (-0.0100)"] * 3),)
    assert grown.rows[1] == ("rows", "1,000", "a round", "10 [10, 10] ms", "peak beyond the data / X 0.25")
    assert benchmarks.make_tables([]) == []


def test_plots_are_whole() -> None:
    import xml.etree.ElementTree as ET

    rows = tables.rows_of([cell(), cell(title="A < B")])
    for text in (plot.bars(rows), plot.bars([]), plot.curves([point(100.0), point(1000.0)]), plot.curves([cell()])):
        assert ET.fromstring(text).tag.endswith("svg")
    assert "10×" in plot.bars(rows)


def test_published(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before\n<!-- table -->\nold\n<!-- /table -->\nafter\n", "utf-8")
    results = [cell(), cell(title="Other", comparisons=[], quality={}, skipped="no network")]
    for _ in range(2):  # the second time replaces the first
        paths = benchmarks.published(results, tmp_path / "out", page)
    text = page.read_text("utf-8")
    assert text.startswith("Before\n<!-- table -->\n\nMeasured on: P, 2 cores")
    assert text.endswith("- Other: no network\n\n<!-- /table -->\nafter\n")
    assert text.count("### Ratios") == 1
    assert "old" not in text
    assert all(path.exists() for path in paths)
    assert json.loads(paths[0].read_text("utf-8")) == results


def test_page_without_a_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- table -->", "utf-8")
    with pytest.raises(ValueError, match="no place for the tables"):
        benchmarks.fill(page, "text")


# -- environments ---------------------------------------------------------------------------------

LIBRARY = Rival("library", "a library 1.0", ("library==1.0",), "run_library.py")


def test_requirements_are_exact() -> None:
    for rival in RIVALS.values():
        assert all("==" in requirement for requirement in rival.requirements)
        assert (environments.SCRIPTS / rival.script).is_file()
    assert "torch==2.13.0" in RIVALS["cooper"].requirements


def test_no_python_for_a_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    old = replace(LIBRARY, oldest=(3, 5), newest=(3, 6))
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    with pytest.raises(UnavailableError, match=r"needs Python 3\.5 to 3\.6, which is not here"):
        environments.interpreter_for(old)
    monkeypatch.setattr(environments.shutil, "which", lambda name: f"/bin/{name}" if name == "python3.5" else None)
    assert environments.interpreter_for(old) == "/bin/python3.5"
    assert environments.interpreter_for(LIBRARY) == sys.executable


def test_installation_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(command: list[str], stdout: Any, **_: Any) -> subprocess.CompletedProcess[str]:
        stdout.write("Looking\nERROR: No matching distribution found for library==1.0\nnotice\n")
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(environments.subprocess, "run", refuse)
    with pytest.raises(
        UnavailableError, match=r"a library 1\.0 cannot be installed: ERROR: No matching .*library\.log"
    ):
        Environments(tmp_path).python(LIBRARY)
    monkeypatch.undo()
    monkeypatch.setattr(environments, "interpreter_for", lambda rival: str(tmp_path / "nothing"))
    with pytest.raises(UnavailableError, match="cannot be installed"):
        Environments(tmp_path).python(LIBRARY)


def test_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def install(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        (tmp_path / "library" / "bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / "library" / "bin" / "python").touch()
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(environments.subprocess, "run", install)
    monkeypatch.setattr(environments.os, "name", "posix")
    place = Environments(tmp_path)
    place.python(LIBRARY)
    place.python(LIBRARY)
    assert [command[2] for command in commands] == ["venv", "pip"]
    assert commands[1][-1] == "library==1.0"
    place.python(replace(LIBRARY, requirements=("library==2.0",)))  # other versions: made again
    assert len(commands) == 4


FAKE = f"""
import sys
sys.path.insert(0, {str(environments.SCRIPTS)!r})
from serve import serve
import numpy as np

def prepare(job, data, folder):
    print("noise")
    def answer(request):
        if request["do"] == "stop":
            raise SystemExit("out of memory")
        if request["do"] == "grid":
            shape = (request["rounds"] // job["record_every"], data["X"].shape[1] + 1, len(job["steps"]) ** 2)
            np.savez(folder / "grid.npz", weights=np.random.default_rng(0).normal(size=shape))
        if request["do"] == "fit":
            np.savez(folder / "liblinear.npz", **{{p: data[p + "_y"] * 1.0 for p in ("train", "validation", "test")}})
        return {{"seconds": 1.0, "calls": 1, "members": 1}}
    return answer

serve(prepare)
"""
"""Stands in for every rival: random weights, or predictions that are always right."""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rival:
    script = tmp_path / "fake.py"
    script.write_text(FAKE, "utf-8")
    rival = replace(LIBRARY, script=str(script))
    for name in RIVALS:
        monkeypatch.setitem(RIVALS, name, replace(rival, name=name))
    monkeypatch.setattr(Environments, "python", lambda self, rival: Path(sys.executable))
    return rival


def test_rival_answers(fake: Rival, tmp_path: Path) -> None:
    with Environments(tmp_path).start(fake, {"record_every": 1, "steps": [1]}, {"X": np.ones((2, 3))}) as process:
        assert process.ask(do="grid", rounds=5)["seconds"] == 1.0
        assert process.arrays("grid")["weights"].shape == (5, 4, 1)
        with pytest.raises(UnavailableError, match=r"a library 1\.0 stopped: out of memory"):
            process.ask(do="stop")
        with pytest.raises(UnavailableError, match="stopped"):
            process.ask(do="time")
    assert process.process.poll() is not None


def test_rival_that_takes_too_long(fake: Rival, tmp_path: Path) -> None:
    pytest.importorskip("resource")
    if not hasattr(os, "pidfd_open"):  # Linux
        pytest.skip("needs Linux: the processor time of another process is limited there")
    text = Path(fake.script).read_text("utf-8").replace('        if request["do"] == "stop"', LOOP)
    Path(fake.script).write_text(text, "utf-8")
    with Environments(tmp_path).start(fake, {"record_every": 1, "steps": [1]}, {"X": np.ones((2, 3))}) as process:
        process.limit(1)
        assert process.ask(do="grid", rounds=5)["seconds"] == 1.0
        with pytest.raises(UnavailableError, match=r"a library 1\.0 was not done after 1 s of processor time"):
            process.ask(do="loop")


LOOP = """        while request["do"] == "loop":
            pass
        if request["do"] == "stop\""""


def test_rival_that_cannot_start(fake: Rival, tmp_path: Path) -> None:
    Path(fake.script).write_text("import no_such_library", "utf-8")
    with (
        pytest.raises(UnavailableError, match="No module named 'no_such_library'"),
        Environments(tmp_path).start(fake, {}, {"X": np.ones(1)}),
    ):
        pass


# -- running --------------------------------------------------------------------------------------


def counted(name: str, counts: dict[str, int], problem: Exception | None = None) -> benchmarks.Case:
    def measure(_: ground.Ground) -> ground.Measured:
        counts[name] = counts.get(name, 0) + 1
        if problem is not None:
            raise problem
        return ground.Measured((ground.Comparison("a round", "ms", {"equirate": [1.0]}),))

    return benchmarks.Case("products", name, name.title(), measure, ("long",))


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    counts: dict[str, int] = {}
    ready, broken = counted("ready", counts), counted("broken", counts, UnavailableError("no network"))
    stopped = counted("stopped", counts, KeyboardInterrupt())  # type: ignore[arg-type]
    done: list[benchmarks.Done] = []
    here = ground.Ground(TINY, tmp_path, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        runner.run([ready, broken, stopped], here, done.append)
    assert [str(d).split(": ", 2)[2].replace("0.0 s", "measured") for d in done] == [
        "measured",
        "left out: no network",
    ]
    runner.run([ready, broken], here, done.append)
    assert counts == {"ready": 1, "broken": 2, "stopped": 1}  # what is missing is tried again
    assert done[2].cached
    found = runner.gathered([ready, broken, stopped], TINY, tmp_path)
    assert [cell.get("skipped") for cell in found] == [None, "no network"]
    assert tables.skipped_lines(found) == ["Broken: no network"]
    assert runner.gathered([ready], replace(TINY, long=11), tmp_path) == []
    runner.run([ready], ground.Ground(replace(TINY, long=11), tmp_path, tmp_path))
    runner.run([ready], here, again=True)
    assert counts["ready"] == 3  # other settings, and when asked to


def test_results_of_other_code_are_measured_again_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: dict[str, int] = {}
    ready, here = counted("ready", counts), ground.Ground(TINY, tmp_path, tmp_path)
    for _ in range(2):
        runner.run([ready], here, stale=True)
    assert counts == {"ready": 1}
    monkeypatch.setattr(runner, "code", lambda: {"commit": "1234567", "files": "other"})
    runner.run([ready], here)
    assert counts == {"ready": 1}
    for _ in range(2):  # goes on where it was
        runner.run([ready], here, stale=True)
    assert counts == {"ready": 2}
    assert runner.gathered([ready], TINY, tmp_path)[0]["code"]["commit"] == "1234567"


def test_what_is_not_measured_here_stays_as_it_was_published(tmp_path: Path) -> None:
    ready, other = counted("ready", {}), counted("other", {})
    before = [cell(part="products", name=name, title="old") for name in ("ready", "other", "gone")]
    runner.run([ready], ground.Ground(TINY, tmp_path, tmp_path))
    found = runner.gathered([ready, other], TINY, tmp_path, before)
    assert [each["title"] for each in found] == ["Ready", "old"]


def test_code_is_told_apart_by_its_files(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", "utf-8")
    first = provenance.fingerprint(tmp_path)
    (tmp_path / "notes.md").write_text("text\n", "utf-8")
    assert provenance.fingerprint(tmp_path) == first
    (tmp_path / "a.py").write_text("x = 2\n", "utf-8")
    assert provenance.fingerprint(tmp_path) != first
    assert provenance.commit(tmp_path) == "unknown"


def test_names() -> None:
    every = benchmarks.cases(benchmarks.FULL)
    assert {case.part for case in every} == set(benchmarks.PARTS)
    assert len({(case.part, case.name) for case in every}) == len(every)
    known = benchmarks.FULL.as_dict()
    assert all(name in known for case in every for name in case.depends)
    with pytest.raises(ValueError, match="no part 'speed'"):
        benchmarks.cases(benchmarks.FULL, ["speed"])


def test_settings() -> None:
    assert json.loads(json.dumps(benchmarks.FULL.as_dict())) == benchmarks.FULL.as_dict()
    assert benchmarks.FULL.cores >= 1
    assert TINY.cores == 1


@pytest.mark.slow
def test_every_part_runs(fake: Rival, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def few(name: str, seed: int) -> Split:
        split = make_split(name, seed)
        parts = (
            Part(p.X[:400], p.y[:400], {"protected": p.attributes["protected"][:400]}) for p in split.parts.values()
        )
        return Split(name, seed, *parts)

    monkeypatch.setattr(ground, "make_split", few)
    monkeypatch.setattr(growth, "alone", lambda job, threads: alone.rows(dict(job)))  # a process would take seconds
    monkeypatch.setattr(experiments, "QUICK", experiments.QUICK.lasting(20))
    settings = replace(TINY, steps=(0.01, 0.1))
    parts = [part for part in benchmarks.PARTS if part not in benchmarks.COMPARED]
    results = benchmarks.bench(parts, cache=tmp_path, settings=settings)
    assert tables.skipped_lines(results) == []
    assert len(results) == len(benchmarks.cases(settings, parts))
    assert {row.other for row in tables.rows_of(results)} >= {"tfco", "fairlearn", "cooper", "bare products"}
    for result in results:
        for parts in result["quality"].values():
            assert set(parts) == {"train", "validation", "test"}
    assert not [p for p in tmp_path.rglob("*.json") if "NaN" in p.read_text("utf-8")]
    benchmarks.published(results, tmp_path / "out")


@pytest.mark.slow
def test_alone() -> None:
    answer = timing.alone({"rows": 100, "columns": 3, "short": 2, "long": 4, "repetitions": 1}, 1)
    assert answer["data"] == 1200
    assert answer["beyond"] >= 0
    with pytest.raises(RuntimeError, match="failed"):
        timing.alone({}, 1)


def test_peak_memory_never_falls() -> None:
    before = timing.peak_memory()
    assert timing.peak_memory() >= before > 0
