"""The command line: arguments only. Every command is one function that hands its arguments to the package.

``equirate-lab reproduce`` runs the paper's experiments, ``equirate-lab bench`` the benchmarks,
``equirate-lab coverage`` measures how often bounds hold, ``equirate-lab confidence`` how often what is certified does,
``equirate-lab monitor`` how often monitors raise false alarms and how soon true ones,
``equirate-lab multiclass`` what is gained with several classes,
``equirate-lab truth`` how far from the optimum classifiers end, ``equirate-lab held-out`` what they keep on new rows,
``equirate-lab faults`` how folders withstand kills and concurrent runs, ``equirate-lab export`` compares ONNX models
with Python, and ``equirate-lab datasets`` lists the data sets.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import equirate as eq

if TYPE_CHECKING:
    from .experiments import Job, Watch

app = typer.Typer(
    name="equirate-lab",
    help="The laboratory beside equirate: the paper's experiments, and benchmarks against other libraries.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class Which(StrEnum):
    """The experiments by name."""

    kld = "kld"
    fmeasure = "fmeasure"
    table1 = "table1"
    multiclass = "multiclass"
    all = "all"


class Part(StrEnum):
    """The parts of the benchmarks."""

    grid = "grid"
    odds = "odds"
    cooper = "cooper"
    products = "products"
    growth = "growth"
    fits = "fits"
    thresholds = "thresholds"
    boosted = "boosted"
    networks = "networks"
    scaling = "scaling"
    cluster = "cluster"
    torch = "torch"
    machines = "machines"
    trees = "trees"
    all = "all"


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"equirate {eq.__version__}")
        raise typer.Exit


@app.callback()
def laboratory(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The laboratory beside equirate: the paper's experiments, and benchmarks against other libraries."""


@app.command()
def reproduce(
    experiment: Annotated[Which, typer.Argument(help="Which of the paper's experiments.")] = Which.all,
    dataset: Annotated[
        list[str] | None, typer.Option(help="A data set; may be repeated. By default all that are to be had.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How many random splits: by default 5, and 2 with --quick.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=10, help="Rounds of each game instead of the paper's 5,000.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few rounds, step sizes and splits: minutes instead of hours.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="How many splits to work on side by side.")] = 1,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the data sets that are not bundled (or EQUIRATE_DATA).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results go; a run that was interrupted goes on there.")] = Path(
        "results"
    ),
    docs: Annotated[Path | None, typer.Option(help="A page to write the tables into, between its marks.")] = None,
) -> None:
    """Run the paper's experiments and show our numbers beside the printed ones.

    multiclass is the H-mean task of another paper, on files of the data folder; all leaves it out.
    """
    if experiment is Which.multiclass:
        _published(dataset, seeds or (2 if quick else 10), data_dir, out, docs)
        return
    from . import datasets, experiments
    from .experiments.files import fill
    from .experiments.progress import watching

    _check_page(docs)
    settings = experiments.QUICK if quick else experiments.PRINTED
    if rounds is not None:
        settings = settings.lasting(rounds)
    wanted = _known(dataset or [], datasets.names())
    directory = None if data_dir is None else str(data_dir)
    absent = experiments.missing(wanted or datasets.names(), directory)
    if absent and wanted:
        _fail("\n".join(absent.values()))
    for name in absent:
        typer.echo(
            f"Left out: {name}, whose file is not here; `equirate-lab datasets` says where it comes from.", err=True
        )
    present = [name for name in wanted or datasets.names() if name not in absent]
    asked = experiments.chosen(experiment.value)
    splits = range(seeds or (2 if quick else 5))
    planned = experiments.plan(asked, present, splits, settings, out, directory, everywhere=bool(wanted))
    try:
        with watching(planned) as watch:
            _run(planned, watch, jobs)
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. What is done is in {out}; the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    results = experiments.Results(out)
    now = results.of_jobs(planned)
    experiments.show(experiments.make_tables(now), sys.stdout)
    for line in now.errors():
        typer.echo(f"Not computed: {line}", err=True)
    made = experiments.make_tables(results)
    places = [*results.save(), experiments.write_markdown(made, out / "tables.md")]
    if docs is not None:
        fill(docs, experiments.as_markdown(made))
        places.append(docs)
    typer.echo(f"\nEverything in {out}, also of earlier runs: " + ", ".join(map(str, places)))
    typer.echo(f"The page, with plots: {experiments.write_page(results, out / 'index.html').resolve()}")


def _published(names: list[str] | None, splits: int, data_dir: Path | None, out: Path, docs: Path | None) -> None:
    """Fit the H-mean task with several classes, and show our numbers beside the printed ones."""
    from dataclasses import asdict

    from . import multiclass
    from .experiments import as_markdown, show
    from .experiments.files import fill, write_json

    _check_page(docs, "published")
    wanted = _known(names or list(multiclass.PUBLISHED), multiclass.PUBLISHED)
    directory = None if data_dir is None else str(data_dir)
    absent = [why for name in wanted if (why := multiclass.missing(name, directory))]
    if absent:
        _fail("\n".join(absent))
    found = multiclass.reproduced(wanted, splits, directory, tell=lambda line: typer.echo(line, err=True))
    write_json(out / "multiclass.json", [asdict(each) for each in found])
    made = [multiclass.published_table(found, directory)]
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made), "published")


@app.command("multiclass")
def several_classes(
    dataset: Annotated[
        list[str] | None, typer.Option(help="A data set; may be repeated. By default all that are to be had.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="linear or trees; may be repeated. By default both.")] = None,
    problem: Annotated[
        list[str] | None, typer.Option(help="Begin of a problem's name; may be repeated. By default all.")
    ] = None,
    splits: Annotated[int, typer.Option(min=0, help="How many random splits; 0 for the proofs alone.")] = 5,
    seconds: Annotated[float, typer.Option(min=0, help="Seconds of each proof; 0 for none.")] = 10.0,
    times: Annotated[bool, typer.Option(help="Time whole fits of made-up rows.")] = False,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the data sets that are not bundled (or EQUIRATE_DATA).")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="A JSON file for every number; fits that it has are not made again.")
    ] = Path("build/multiclass.json"),
    docs: Annotated[Path | None, typer.Option(help="A page to write the tables into, between its marks.")] = None,
) -> None:
    """Compare classifiers of several classes with simpler rules on new rows, and prove macro-F1 over columns."""
    from dataclasses import asdict

    from . import multiclass as measured
    from .experiments import as_markdown, show
    from .experiments.files import fill, read_json, write_json

    _check_page(docs)
    directory = None if data_dir is None else str(data_dir)
    wanted = _known(dataset or [], measured.NAMES)
    absent = {name: why for name in wanted or measured.NAMES if (why := measured.missing(name, directory))}
    if absent and wanted:
        _fail("\n".join(absent.values()))
    names = [name for name in wanted or measured.NAMES if name not in absent]
    problems = [each for each in measured.PROBLEMS if not problem or each.name.startswith(tuple(problem))]

    def tell(line: str) -> None:
        typer.echo(line, err=True)

    made = [measured.proven_table(measured.proven(names, seconds, directory, tell))] if seconds else []
    if splits:
        done = [measured.Measured(**each) for each in read_json(out) or []]

        def keep(made: Sequence[Any]) -> None:
            write_json(out, [asdict(each) for each in made])

        models = model or ("linear", "trees")
        found = measured.compared(names, splits, models, problems, directory, tell, done, keep)
        chance = measured.chance_table(measured.by_chance(names, splits, directory))
        made = [*measured.comparison_tables(found), chance, *made]
    if times:
        made.append(measured.times_table(measured.timed()))
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made))


def _run(jobs: Sequence[Job], watch: Watch, processes: int) -> None:
    """Run jobs side by side or, where processes cannot be started, one after the other."""
    from . import experiments

    try:
        experiments.run(jobs, watch, processes)
    except (OSError, RuntimeError) as error:
        if processes <= 1:
            raise
        typer.echo(f"Going on with one process ({error}).", err=True)
        experiments.run(jobs, lambda done: None if done.cached else watch(done))


@app.command("datasets")
def list_datasets(
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the data sets that are not bundled (or EQUIRATE_DATA).")
    ] = None,
) -> None:
    """List the data sets: size, protected group, whether it is here, licence and source."""
    from . import datasets, experiments
    from .experiments.paper import DATASETS
    from .experiments.tables import aligned

    absent = experiments.missing(datasets.names(), None if data_dir is None else str(data_dir))
    rows = [["data set", "rows", "features", "positive", "protected", "Table 4", "here"]]
    table = datasets.describe()
    for row in table.to_dict("records"):
        printed = DATASETS[row["name"]]
        here = "bundled" if row["bundled"] else "no" if row["name"] in absent else "yes"
        size = f"{printed.instances:,} x {printed.features}"
        values = [f"{row['rows']:,}", str(row["features"]), f"{row['positive_rate']:.1%}", row["protected"], size, here]
        rows.append([row["name"], *values])
    typer.echo(aligned(rows))
    for row in table.to_dict("records"):
        typer.echo(f"\n{row['name']}\n  source: {row['source']}\n  licence: {row['licence']}")


@app.command()
def bench(
    part: Annotated[
        Part,
        typer.Argument(
            help="grid: the paper's, beside TFCO; odds: beside fairlearn; cooper; products: bare matrix products; "
            "growth: rows, slices, configurations, iterates; fits: whole fits beside fairlearn; thresholds, boosted, "
            "networks: beside other libraries; scaling: how fits grow; cluster: over processes. By themselves only: "
            "trees, boosted trees on census data; machines, several processes, Parquet files and kills; torch, "
            "networks on batches.",
        ),
    ] = Part.all,
    quick: Annotated[
        bool, typer.Option("--quick", help="A smoke run: small sizes, about a minute once the rivals are installed.")
    ] = False,
    threads: Annotated[int, typer.Option(min=0, help="Threads for every side; 0 for all cores.")] = 1,
    repetitions: Annotated[
        int | None,
        typer.Option(min=1, help="fits, thresholds, boosted, networks, scaling, cluster: repetitions at most."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure again what is measured already.")] = False,
    stale: Annotated[
        bool,
        typer.Option("--stale", help="Measure again what other code of equirate measured; goes on where it was."),
    ] = False,
    show_only: Annotated[
        bool, typer.Option("--show-only", help="Measure nothing: tables and plots of what is measured already.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Beginning of a measurement's name, such as adult; may be repeated. By default all."),
    ] = None,
    cache: Annotated[
        Path,
        typer.Option(help="Where the rivals are installed and results are kept; an interrupted run goes on there."),
    ] = Path("build/bench"),
    out: Annotated[
        Path | None, typer.Option(help="Where results.json, tables and plots go; by default into the cache.")
    ] = None,
    docs: Annotated[Path | None, typer.Option(help="A page to write the tables into, between its marks.")] = None,
    rivals: Annotated[
        Path | None, typer.Option(help="A page for the comparisons at equal quality, between its marks.")
    ] = None,
    rows: Annotated[int | None, typer.Option(min=0, help="machines: rows of the big file; 0 for none.")] = None,
    splits: Annotated[
        int, typer.Option(min=0, help="trees: random splits; 0 (torch, too) shows what is measured already.")
    ] = 5,
    method: Annotated[
        list[str] | None, typer.Option(help="trees: a method, torch: a part; may be repeated. By default all.")
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="trees: acs, adult, compas or law_school; may be repeated.")
    ] = None,
    attribute: Annotated[list[str] | None, typer.Option(help="trees: race, sex or group; may be repeated.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="trees: dp, tpr, odds, f1, precision or kl; may be repeated.")
    ] = None,
    level: Annotated[list[float] | None, typer.Option(help="trees: a level asked for; may be repeated.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="trees: folder of acs_income.parquet.")] = None,
) -> None:
    """Measure speed and quality beside other libraries, each installed in an environment of its own."""
    if part is Part.trees:
        asked = {"methods": method, "data": dataset, "attributes": attribute, "kinds": kind, "levels": level}
        given = {name: tuple(values) for name, values in asked.items() if values}
        _bench_trees({**given, "splits": splits, **({"rows": 3000} if quick else {})}, cache, data_dir, docs)
        return
    from dataclasses import replace

    from . import benchmarks
    from .benchmarks.progress import watching
    from .experiments import show

    _check_page(docs)
    _check_page(rivals)
    if part is Part.torch:
        _bench_networks(tuple(method or ()) if splits else None, quick, again, cache, docs)
        return
    if part is Part.machines:
        _machines(quick, again, rows, cache / ("machines-quick" if quick else "machines"), docs)
        return
    settings = replace(benchmarks.QUICK if quick else benchmarks.FULL, threads=threads).repeated(repetitions)
    parts = () if show_only else benchmarks.PARTS if part is Part.all else (part.value,)
    try:
        with watching() as (watch, tell):
            results = benchmarks.bench(
                parts,
                cache,
                settings=settings,
                again=again,
                only=only or (),
                stale=stale,
                before=None if quick else out,
                watch=watch,
                tell=tell,
            )
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. What is done is in {cache}; the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    show(benchmarks.all_tables(results), sys.stdout)
    for line in benchmarks.skipped_lines(results):
        typer.echo(f"Left out: {line}", err=True)
    places = benchmarks.published(results, out or cache / ("quick" if quick else "results"), docs, rivals)
    typer.echo("\nEvery sample, the tables and the plots: " + ", ".join(map(str, places)))


def _bench_networks(wanted: tuple[str, ...] | None, quick: bool, again: bool, cache: Path, docs: Path | None) -> None:
    """Networks on batches: some parts, all of them (none named), or what is measured already (None)."""
    from . import networks
    from .experiments import as_markdown, show
    from .experiments.files import fill

    plan = networks.QUICK if quick else networks.FULL
    parts = () if wanted is None else wanted or networks.PARTS
    for name in set(parts) - set(networks.PARTS):
        raise typer.BadParameter(f"there is no part {name!r}; there are {', '.join(networks.PARTS)}")
    try:
        lines = networks.run(parts, cache, plan, again, tell=lambda line: typer.echo(line, err=True))
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. What is done is in {cache}; the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    made = networks.make_tables(lines)
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made))


def _bench_trees(plan: dict[str, Any], cache: Path, data_dir: Path | None, docs: Path | None) -> None:
    from .experiments import show
    from .experiments.files import fill, write_text
    from .trees import page, predicting
    from .trees.runner import Plan, run

    _check_page(docs)
    tell = partial(typer.echo, err=True)
    try:
        lines = run(Plan(**plan), cache / "trees", data_dir, tell)
        predicted = predicting.measure(cache / "trees", bool(plan["splits"]), tell)
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. What is done is in {cache}; the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    compared = [page.limits(lines), page.generalises(lines), page.cost(lines), predicting.table(predicted)]
    made = [*(table for table in compared if table.rows), *page.tables(lines)]
    show(made, sys.stdout)
    for line in page.failed(lines):
        typer.echo(f"Failed: {line}", err=True)
    if docs is not None:
        picture = docs.with_name("trees.svg")
        write_text(picture, page.curves(lines))
        text = "\n\n".join(table.markdown() for table in made)
        fill(docs, f"![Error against the gap achieved on test rows]({picture.name})\n\n{text}")


@app.command("export")
def export_(
    rows: Annotated[int, typer.Option(min=100, help="Rows to compare for each kind of classifier.")] = 100_000,
    train: Annotated[int, typer.Option(min=100, help="Rows to train on.")] = 5000,
    kind: Annotated[
        list[str] | None, typer.Option(help="Begin of a kind's name; may be repeated. By default all.")
    ] = None,
    docs: Annotated[Path | None, typer.Option(help="A page to write the table into, between its marks.")] = None,
) -> None:
    """Compare ONNX exports with Python: decisions on hard rows, size, and the time of one row."""
    from . import export as measured
    from .experiments import as_markdown, show
    from .experiments.files import fill

    _check_page(docs)
    chosen = [each for each in measured.KINDS if not kind or each.name.startswith(tuple(kind))]
    found = measured.run(rows, train, chosen, lambda line: typer.echo(line, err=True))
    made = [measured.make_table(found)]
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made))
    if any(each.different for each in found):
        raise typer.Exit(1)


@app.command()
def coverage(
    samples: Annotated[int, typer.Option(min=10, help="Samples of each case.")] = 4000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="How many cases to work on side by side.")] = 1,
    docs: Annotated[Path | None, typer.Option(help="A page to write the tables into, between its marks.")] = None,
) -> None:
    """Measure how often one-sided 95 % bounds hold, and how often what power foretells comes true."""
    from . import coverage as measured
    from .experiments import as_markdown, show
    from .experiments.files import fill

    _check_page(docs)
    results = measured.run(samples, seed, jobs=jobs, tell=lambda line: typer.echo(line, err=True))
    made = measured.make_tables(results)
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made))


@app.command()
def served(
    fits: Annotated[int, typer.Option(min=0, help="Fits of each table; 0: those in the file.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples.")] = 0,
    fresh: Annotated[int, typer.Option(min=1000, help="Fresh rows to judge on.")] = 200_000,
    out: Annotated[Path, typer.Option(help="Where every fit goes; a run that was interrupted goes on there.")] = Path(
        "build/served"
    ),
    docs: Annotated[Path | None, typer.Option(help="A page to write the table into, between its marks.")] = None,
) -> None:
    """Compare what is said of tables of categories, whose rows repeat, with the decisions that are served."""
    from . import served as measured
    from .experiments import as_markdown, show
    from .experiments.files import fill

    _check_page(docs)

    def tell(line: str) -> None:
        typer.echo(line, err=True)

    made = measured.make_tables(measured.run(fits, seed, out, fresh=fresh, tell=tell))
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made))


@app.command()
def confidence(
    samples: Annotated[
        int, typer.Option(min=0, help="Samples of each problem (twice as many for some); 0: those in the files.")
    ] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples.")] = 0,
    problem: Annotated[
        list[str] | None, typer.Option(help="Begin of a problem's name; may be repeated. By default all.")
    ] = None,
    fresh: Annotated[int, typer.Option(min=1000, help="Fresh rows to judge on.")] = 200_000,
    times: Annotated[
        int, typer.Option(min=0, help="How many fits to time of every kind, plain and confident; 0 for none.")
    ] = 3,
    out: Annotated[
        Path, typer.Option(help="Where every sample goes; a run that was interrupted goes on there.")
    ] = Path("build/confidence"),
    docs: Annotated[Path | None, typer.Option(help="A page to write the tables into, between its marks.")] = None,
) -> None:
    """Measure how often what is certified holds on new data, how often that can be had, and at what price."""
    from . import confidence as measured
    from .experiments import as_markdown, show
    from .experiments.files import fill

    _check_page(docs)
    every = (*measured.PROBLEMS, *measured.CLASS_PROBLEMS)
    chosen = [each for each in every if not problem or each.name.startswith(tuple(problem))]
    if not chosen:
        raise typer.BadParameter(
            f"no problem begins with that; there are {'; '.join(each.name for each in every)}",
            param_hint="--problem",
        )

    def tell(line: str) -> None:
        typer.echo(line, err=True)

    results = measured.run(samples, seed, out, chosen, fresh, tell)
    made = measured.make_tables(results, measured.measure(times, tell) if times else ())
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made))


@app.command()
def monitor(
    streams: Annotated[int, typer.Option(min=0, help="Streams at the boundary of each problem.")] = 2000,
    moved: Annotated[int, typer.Option(min=0, help="Streams for each size of the move.")] = 100,
    problem: Annotated[list[str] | None, typer.Option(help="A problem; may be repeated. By default all.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the streams.")] = 0,
    rows: Annotated[int, typer.Option(min=0, help="Rows to be timed; 0 for none.")] = 1_000_000,
    kills: Annotated[int, typer.Option(min=0, help="How often to kill an update; 0 for never.")] = 20,
    out: Annotated[
        Path, typer.Option(help="Where every stream goes; a run that was interrupted goes on there.")
    ] = Path("build/monitor.json"),
    docs: Annotated[Path | None, typer.Option(help="A page to write the tables into, between its marks.")] = None,
) -> None:
    """Measure how often monitors raise false alarms, how soon true ones, how fast they are, and what a kill loses."""
    from . import monitoring as measured
    from .experiments import as_markdown, show
    from .experiments.files import fill

    _check_page(docs)
    chosen = [each for each in measured.PROBLEMS if not problem or each.name in problem]
    if not chosen:
        raise typer.BadParameter(
            f"there is no such problem; there are {', '.join(each.name for each in measured.PROBLEMS)}",
            param_hint="--problem",
        )

    def tell(line: str) -> None:
        typer.echo(line, err=True)

    plan = measured.Plan(streams=streams, moved=moved, seed=seed)
    try:
        results = measured.run(plan, out, chosen, tell)
    except KeyboardInterrupt:
        typer.echo(f"\nInterrupted. What is done is in {out}; the same command goes on from there.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    made = measured.make_tables(results, plan, measured.widths() if rows else None)
    show(made, sys.stdout)
    if rows:
        typer.echo(f"{rows:,} rows for six constraints: {measured.speed(rows):.1f} s of one core")
    if kills:
        typer.echo(f"killed: {measured.killed(out.with_suffix('.killed'), kills)}")
    if docs is not None:
        fill(docs, as_markdown(made))


@app.command()
def truth(
    family: Annotated[
        list[str] | None, typer.Option(help="A family of problems; may be repeated. By default all.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many problems to work on side by side.")] = 1,
    out: Annotated[Path, typer.Option(help="A JSON file for the numbers of every problem.")] = Path("build/truth.json"),
    go_on: Annotated[
        bool, typer.Option("--go-on", help="Keep what the file has already: for the same version, interrupted.")
    ] = False,
    docs: Annotated[Path | None, typer.Option(help="A page to write the tables into, between its marks.")] = None,
) -> None:
    """Measure how far from the optimum classifiers end, on problems whose optimum is known."""
    from dataclasses import asdict

    from . import truth as measured
    from .experiments import as_markdown, show
    from .experiments.files import fill, read_json, write_json

    _check_page(docs, "truth")
    for name in family or ():
        known = (*measured.FAMILIES, *measured.CLASS_FAMILIES)
        if name not in known:
            raise typer.BadParameter(
                f"there is no family {name!r}; there are {', '.join(known)}", param_hint="--family"
            )
    chosen = [case for case in measured.every_case() if not family or case.template.family in family]
    kept = [measured.Found.of(one) for one in (read_json(out) or ())] if go_on else []
    names = {case.name for case in chosen}
    done = [one for one in kept if one.name in names]

    def tell(one: measured.Found) -> None:
        done.append(one)
        write_json(out, [asdict(each) for each in done])
        typer.echo(str(one), err=True)

    found = measured.run(chosen, jobs=jobs, tell=tell, known=done.copy())
    write_json(out, [asdict(one) for one in found])
    made = measured.make_tables(found)
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made), "truth")


@app.command("held-out")
def held_out(
    dataset: Annotated[
        list[str] | None, typer.Option(help="A data set; may be repeated. By default all that are to be had.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="The Python of an environment with another version of equirate.")
    ] = None,
    called: Annotated[str, typer.Option(help="What the tables call that version.")] = "the other version",
    splits: Annotated[int, typer.Option(min=1, help="How many random splits.")] = 5,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the data sets that are not bundled (or EQUIRATE_DATA).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where jobs, results and what the other version answered go.")] = Path(
        "build/held-out"
    ),
    go_on: Annotated[
        bool,
        typer.Option("--go-on", help="Keep what this version has answered too: for the same version, interrupted."),
    ] = False,
    docs: Annotated[Path | None, typer.Option(help="A page to write the tables into, between its marks.")] = None,
) -> None:
    """Measure what classifiers keep on new rows, beside another version and logistic regression; and times."""
    from . import held_out as measured
    from .experiments import as_markdown, show
    from .experiments.files import fill

    _check_page(docs, "held-out")
    directory = None if data_dir is None else str(data_dir)
    wanted = _known(dataset or [], measured.NAMES)
    absent = {name: why for name in wanted or measured.NAMES if (why := measured.missing(name, directory))}
    if absent and wanted:
        _fail("\n".join(absent.values()))
    for name in absent:
        typer.echo(f"Left out: {name}, whose file is not here.", err=True)
    names = tuple(name for name in wanted or measured.NAMES if name not in absent)
    plan = measured.Plan(names, splits, data_dir=directory, go_on=go_on)
    other = None if against is None else str(against)
    results = measured.run(plan, out, other, tell=lambda line: typer.echo(line, err=True))
    made = measured.make_tables(results, called)
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made), "held-out")


@app.command()
def faults(
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of runs into one folder, and of fits in threads.")] = 200,
    kills: Annotated[int, typer.Option(min=1, help="Kills at injected points.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the moments and the points.")] = 0,
) -> None:
    """Cause faults: two runs into one folder, kills while it is replaced, readers meanwhile, fits in threads."""
    from .faults import measure

    found = measure(pairs, kills, seed, tell=typer.echo)
    wrong = [line for count in found for line in count.wrong]
    if wrong:
        _fail("\n".join(wrong))


def _machines(quick: bool, again: bool, rows: int | None, folder: Path, docs: Path | None) -> None:
    """Measure what a fit costs over several processes and from Parquet files, and kill some of its processes."""
    from dataclasses import replace

    from . import machines
    from .experiments import as_markdown, show
    from .experiments.files import fill

    settings = machines.Settings.quick() if quick else machines.Settings()
    settings = settings if rows is None else replace(settings, big_file=rows)
    results = machines.measure(folder, settings, again=again, tell=lambda line: typer.echo(line, err=True))
    made = machines.make_tables(results)
    show(made, sys.stdout)
    if docs is not None:
        fill(docs, as_markdown(made))


def _known(wanted: list[str], names: tuple[str, ...]) -> list[str]:
    for name in wanted:
        if name not in names:
            raise typer.BadParameter(
                f"there is no data set {name!r}; there are {', '.join(names)}", param_hint="--dataset"
            )
    return wanted


def _check_page(docs: Path | None, name: str = "table") -> None:
    """Refuse a page without a place for tables before anything is computed."""
    from .experiments.files import check_page

    if docs is not None:
        try:
            check_page(docs, name)
        except (OSError, ValueError) as error:
            raise typer.BadParameter(str(error), param_hint="--docs") from None


def _fail(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(1)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
