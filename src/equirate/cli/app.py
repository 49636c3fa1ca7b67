"""The commands and their arguments. Each passes them to `runs`, prints the outcome, and returns the exit code.

0: done; 3: a constraint is broken on held-out data or raised an alarm, or the requested confidence was not certified;
2: bad input, in one line; 130: interrupted, with the result so far saved.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import equirate as eq

from .._core.errors import EquirateError
from . import streams
from .refusals import interrupted, refused, shown_error

if TYPE_CHECKING:
    from .shown import Shown

app = typer.Typer(
    name="equirate",
    help="Classifiers for the metric you are judged by, under the constraints you are held to.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but the result.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Write into a folder that is not empty.")]
Label = Annotated[str | None, typer.Option(help="Column of the label.")]
Positive = Annotated[
    str | None,
    typer.Option(
        help='What is positive: a value, all others being negative, or a bound as in ">= 150"; 1 and true. A label '
        "with more than two values has a class for each without this option."
    ),
]
Attributes = Annotated[
    list[str] | None, typer.Option(help="Columns that slices may name and that are not features: a,b or repeated.")
]
Also = Annotated[list[str] | None, typer.Option(help="An attribute that is a feature too.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Columns that are not used at all.")]
Missing = Annotated[list[str] | None, typer.Option(help="Text that means a missing value, besides NA, null, ...")]
Category = Annotated[list[str] | None, typer.Option(help="Columns that hold categories, such as codes of digits.")]
Date = Annotated[
    list[str] | None, typer.Option(help="Columns of text that hold dates: NAME, or NAME=FORMAT as in opened=%d.%m.%Y.")
]
Number = Annotated[list[str] | None, typer.Option(help="Columns of text that hold numbers such as 12% or 1.234,5.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign of a CSV file: . or ,")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a CSV file; recognised if not given.")]
DropUnlabelled = Annotated[bool, typer.Option("--drop-unlabelled", help="Leave out rows without a label.")]
DropRagged = Annotated[
    bool, typer.Option("--drop-ragged", help="Leave out lines of a CSV file with more or fewer values than its header.")
]
MissingAttributes = Annotated[
    str | None, typer.Option(help="Empty cells of attributes: group (a group of their own), refuse or drop.")
]
Algorithm = Annotated[
    str | None,
    typer.Option(help="An algorithm by name, such as surrogate, SPADE+ or Frank-Wolfe."),
]
Maximize = Annotated[str | None, typer.Option(help='What to maximise, as in "f1()".')]
Minimize = Annotated[str | None, typer.Option(help='What to minimise, as in "error_rate()".')]
SubjectTo = Annotated[list[str] | None, typer.Option(help='A constraint, as in "fpr() <= 0.1"; may be repeated.')]
Split = Annotated[float | None, typer.Option(help="Share of the rows to judge on (0.25), drawn at random.")]
TimeColumn = Annotated[str | None, typer.Option(help="Judge on the latest rows by this column instead.")]
Test = Annotated[str | None, typer.Option(help="Judge on the rows of this file instead.")]
Weight = Annotated[str | None, typer.Option(help="Column of the rows' weights.")]
Cluster = Annotated[
    str | None, typer.Option(help="Column that says whose row it is: a person's rows stay together and count as one.")
]
ModelName = Annotated[str | None, typer.Option("--model", help="linear, trees or thresholds.")]
Output = Annotated[str | None, typer.Option(help="hashed (a mixture, each row always decided alike) or deterministic.")]
Confidence = Annotated[float | None, typer.Option(help="Keep a margin: constraints hold on new data, as in 0.95.")]
Rounds = Annotated[int | None, typer.Option(help="Passes over the data at most; rounds, where a game is played.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the split and of all draws; 0 if not given.")]
Config = Annotated[Path | None, typer.Option(help="TOML file of options; the command line overrides it.")]
SaveConfig = Annotated[Path | None, typer.Option(help="Write the options to this TOML file.")]


def _version(asked: bool) -> None:
    if asked:
        streams.write(f"equirate {eq.__version__}\n")
        raise typer.Exit


@app.callback()
def equirate(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Classifiers for the metric you are judged by, under the constraints you are held to."""


@app.command()
def fit(
    data: Annotated[str | None, typer.Argument(help="CSV, Parquet or Feather, or a folder of Parquet.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for model, summary and report.")] = None,
    label: Label = None,
    positive: Positive = None,
    attributes: Attributes = None,
    also_feature: Also = None,
    ignore: Ignore = None,
    missing: Missing = None,
    category: Category = None,
    date: Date = None,
    number: Number = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    drop_unlabelled: DropUnlabelled = False,
    drop_ragged: DropRagged = False,
    missing_attributes: MissingAttributes = None,
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    split: Split = None,
    time_column: TimeColumn = None,
    test: Test = None,
    weight: Weight = None,
    cluster: Cluster = None,
    model: ModelName = None,
    algorithm: Algorithm = None,
    output: Output = None,
    confidence: Confidence = None,
    rounds: Rounds = None,
    seed: Seed = None,
    config: Config = None,
    save_config: SaveConfig = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train on a table, judge on rows held out, and write model, report and summary into a folder."""
    from ..runs import fitting

    settings = _settings(locals())
    if out is None:
        raise EquirateError("there is no place for the model: name a folder with --out")
    return _report(lambda shown: fitting.fit(settings, out, shown, force), json, quiet)


@app.command()
def check(
    data: Annotated[str | None, typer.Argument(help="CSV, Parquet or Feather, or a folder of Parquet.")] = None,
    label: Label = None,
    positive: Positive = None,
    attributes: Attributes = None,
    also_feature: Also = None,
    ignore: Ignore = None,
    missing: Missing = None,
    category: Category = None,
    date: Date = None,
    number: Number = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    drop_unlabelled: DropUnlabelled = False,
    drop_ragged: DropRagged = False,
    missing_attributes: MissingAttributes = None,
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    time_column: TimeColumn = None,
    weight: Weight = None,
    cluster: Cluster = None,
    config: Config = None,
    save_config: SaveConfig = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Check a table before training: all problems at once, with the options that solve them."""
    from ..runs import examining

    settings = _settings(locals())
    return _report(lambda shown: examining.check_table(settings, shown), json, quiet)


@app.command()
def frontier(
    data: Annotated[str | None, typer.Argument(help="CSV, Parquet or Feather, or a folder of Parquet.")] = None,
    levels: Annotated[
        str, typer.Option(help="How far the constraints may be overstepped, in their own units; 0 is as written.")
    ] = "0,0.01,0.02,0.05,0.1",
    out: Annotated[Path | None, typer.Option(help="Folder for the page and frontier.json.")] = None,
    label: Label = None,
    positive: Positive = None,
    attributes: Attributes = None,
    also_feature: Also = None,
    ignore: Ignore = None,
    missing: Missing = None,
    category: Category = None,
    date: Date = None,
    number: Number = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    drop_unlabelled: DropUnlabelled = False,
    drop_ragged: DropRagged = False,
    missing_attributes: MissingAttributes = None,
    maximize: Maximize = None,
    minimize: Minimize = None,
    subject_to: SubjectTo = None,
    split: Split = None,
    time_column: TimeColumn = None,
    test: Test = None,
    weight: Weight = None,
    cluster: Cluster = None,
    algorithm: Algorithm = None,
    rounds: Rounds = None,
    seed: Seed = None,
    config: Config = None,
    save_config: SaveConfig = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Train once for many levels of the constraints: what each of them costs, with a page to move along them."""
    from ..runs import frontiers

    settings = _settings(locals())
    try:
        steps = [float(level) for level in levels.split(",")]
    except ValueError:
        raise EquirateError(f"--levels must be numbers with commas between them; got {levels!r}") from None
    return _report(lambda shown: frontiers.frontier(settings, steps, out, shown, force), json, quiet)


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="Folder that fit has written.")],
    data: Annotated[Path, typer.Argument(help="Rows to judge on.")],
    confidence: Annotated[float, typer.Option(help="Confidence of intervals and verdicts.")] = 0.95,
    out: Annotated[Path | None, typer.Option(help="Folder for a report.")] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Judge a model on a new file: what was asked, what is achieved, and how sure that is."""
    from ..runs import judging

    return _report(lambda shown: judging.evaluate(model, data, confidence, out, shown, force), json, quiet)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="Folder that fit has written.")],
    data: Annotated[Path, typer.Argument(help="Rows to decide on, however many.")],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .csv (.gz, .bz2, .xz, .zst), .parquet or .feather; else standard output."),
    ] = None,
    key: Annotated[str | None, typer.Option(help="Column that says who a row is about: one key, one decision.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Columns to copy beside the predictions.")] = None,
    probability: Annotated[
        bool, typer.Option("--probability", help="Add the probability of a positive decision, or of each class.")
    ] = False,
    reasons: Annotated[
        bool,
        typer.Option(
            "--reasons", help="Add why: probability, what was chance, what the constraints changed, a sentence."
        ),
    ] = False,
    quiet: Quiet = False,
) -> int:
    """Decide on every row of a file, in constant memory."""
    from ..runs import judging

    how = judging.Predicting(key or "", _listed(keep), probability or reasons, reasons)
    if out is None and streams.is_closed():
        raise EquirateError(f"cannot write to standard output: {streams.CLOSED}; name a file with --out")
    shown = _shown(quiet)
    try:
        rows = judging.predict(model, data, out, how, shown)
    except KeyboardInterrupt:
        return interrupted("" if out is None or not out.exists() else f": what was decided so far is in {out}")
    except BrokenPipeError:
        streams.silence()
        return 0
    finally:
        shown.done()
    if out is not None and not quiet:
        streams.write(f"{rows:,} rows decided: {out}\n")
    return 0


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="Folder that fit has written.")],
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Write an ONNX model, for services that are not Python.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="File to write; by default model.onnx in the folder.")] = None,
    check: Annotated[Path | None, typer.Option(help="Table on whose rows the decisions are compared, too.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Write a model for services that are not Python, if it decides every checked row as Python does."""
    from ..runs import exporting

    if not onnx:
        raise EquirateError("export to what? --onnx writes an ONNX model")
    return _report(lambda shown: exporting.export(model, out, check, shown), json, quiet)


@app.command()
def audit(
    data: Annotated[Path, typer.Argument(help="Table with labels, predictions and attributes.")],
    label: Annotated[str, typer.Option(help="Column of the label.")],
    prediction: Annotated[str, typer.Option(help="Column of predictions of any model, or of scores with --threshold.")],
    attributes: Annotated[list[str], typer.Option(help="Columns whose values make the groups: a,b or repeated.")],
    positive: Positive = None,
    threshold: Annotated[float | None, typer.Option(help="Scores of at least this much are positive.")] = None,
    weight: Weight = None,
    confidence: Annotated[float, typer.Option(help="With which all intervals hold at once.")] = 0.95,
    smallest: Annotated[int, typer.Option(min=1, help="Fewest examples behind a rate.")] = 30,
    top: Annotated[int, typer.Option(min=1, help="How many differences to show.")] = 20,
    missing: Missing = None,
    decimal: Decimal = None,
    drop_unlabelled: DropUnlabelled = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare every rate between groups, and pairs of groups, in predictions of any model."""
    from ..runs import judging

    how = judging.Auditing(
        label,
        prediction,
        _listed(attributes),
        positive or "",
        threshold,
        weight or "",
        confidence,
        smallest,
        tuple(missing or ()),
        decimal or ".",
        drop_unlabelled,
    )
    return _report(lambda shown: judging.audited(data, how, shown, top), json, quiet)


@app.command()
def monitor(
    model: Annotated[Path, typer.Argument(help="Folder that fit has written.")],
    data: Annotated[Path, typer.Argument(help="New rows in the order of their decisions: a file or a folder.")],
    state: Annotated[Path, typer.Option(help="File that keeps the counts; it is begun where there is none.")],
    late: Annotated[
        bool, typer.Option("--late", help="These rows were counted before; their labels have come now.")
    ] = False,
    prediction: Annotated[
        str | None, typer.Option(help="Column of the decisions as they were served; else the model decides again.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Column that says who a row is about, as in predict.")] = None,
    confidence: Annotated[float | None, typer.Option(help="Of all bounds at all times together (0.95).")] = None,
    floor: Annotated[float | None, typer.Option(help="Follow the objective, too: the value that it must keep.")] = None,
    page: Annotated[
        Path | None, typer.Option(help="Page with the bounds over time; by default beside the state, as .html.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Follow a model's constraints on rows that arrive: kept, broken (exit code 3) or cannot tell yet."""
    from ..runs import monitoring

    how = monitoring.MonitoringOptions(state, confidence, floor, late, prediction or "", key or "", page)
    return _report(lambda shown: monitoring.monitor(model, data, how, shown), json, quiet)


@app.command()
def recertify(
    model: Annotated[Path, typer.Argument(help="Folder that fit has written.")],
    data: Annotated[Path, typer.Argument(help="Rows that the model has not seen.")],
    subject_to: Annotated[
        list[str] | None, typer.Option(help="A changed constraint; may be repeated. The members are mixed anew.")
    ] = None,
    split: Annotated[float, typer.Option(help="With --subject-to: share of the rows to certify on.")] = 0.5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that split.")] = 0,
    confidence: Annotated[float, typer.Option(help="Confidence of intervals and verdicts.")] = 0.95,
    out: Annotated[Path | None, typer.Option(help="Folder for the model and its certificate.")] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Certify a model again on new rows, or a new mixture of its members for changed limits, without training."""
    from ..runs import renewing

    how = renewing.Renewing(confidence, tuple(subject_to or ()), split, seed)
    return _report(lambda shown: renewing.recertify(model, data, how, out, shown, force), json, quiet)


@app.command()
def explain(
    expression: Annotated[str, typer.Argument(help="An expression, a constraint, an objective or a slice.")],
    json: Json = False,
) -> int:
    """Explain an expression: in words, what kind of function it is, and which algorithm solves it."""
    from .explaining import explain as explained

    return explained(expression, json)


def _settings(options: dict[str, Any]) -> Any:
    """The options of a command and of its configuration, checked; written to a file with --save-config."""
    from dataclasses import fields

    from .._core.atomic import write_whole
    from ..runs import settings as file

    names = {field.name for field in fields(file.RunSettings)}
    given = {name: value for name, value in options.items() if name in names}
    for name in ("attributes", "also_feature", "ignore", "category", "date", "number"):
        given[name] = _listed(given[name])
    for name in ("drop_unlabelled", "drop_ragged"):
        given[name] = given[name] or None
    settings = file.RunSettings.of(given, {} if options["config"] is None else file.read(options["config"]))
    path: Path | None = options["save_config"]
    if path is not None:
        write_whole(path, [settings.as_toml().encode()])
    return settings


def _shown(quiet: bool) -> Shown:
    from .shown import Shown

    return Shown(quiet)


def _listed(given: Sequence[str] | None) -> tuple[str, ...]:
    """Names from repeated options or separated by commas; a name with a comma in it is in double quotes."""
    names = [name for each in given or () for name in _names_in(each)]
    return tuple(dict.fromkeys(name for name in names if name.strip()))


def _names_in(text: str) -> list[str]:
    """The names in one option: a single one, or one in quotes, may begin or end with a space, as in a sloppy header."""
    if "=%" in text or not set(text) & set(',"'):
        return [text]
    if '"' in text:
        return next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in text.split(",")]


def _report(run: Any, json: bool, quiet: bool) -> int:
    """Call ``run``, print its outcome and return its exit code."""
    from ..runs.jsons import as_json

    shown = _shown(quiet)
    try:
        with shown.warnings_as_notes():
            outcome = run(shown)
    except KeyboardInterrupt:
        return interrupted(": nothing was reached yet")
    finally:
        shown.done()
    streams.write(streams.as_text(outcome.summary, as_json) if json else f"{outcome.text}\n")
    return int(outcome.code)


_USAGE: type[Exception] = next(k for k in typer.BadParameter.__mro__ if k.__name__ == "ClickException")


def run(arguments: list[str]) -> int:
    """Run a command; errors in the input are printed to standard error, with exit code 2."""
    try:
        code = app(arguments or ["--help"], prog_name="equirate", standalone_mode=False)
        streams.write("")  # flush what typer has printed, such as help, while errors can be reported
    except EquirateError as error:
        return refused(shown_error(error))
    except _USAGE as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        return refused(" ".join(message.split()))
    except (KeyboardInterrupt, typer.Abort):
        return interrupted()
    except MemoryError:
        return refused("there is not enough memory for this table")
    except (BrokenPipeError, SystemExit):  # typer exits where help goes to a pipe without a reader
        streams.silence()
        return 0
    except OSError as error:  # errors of tables and models are raised as EquirateError where they occur
        streams.silence()
        where = error.filename or "cannot write to standard output"
        return refused(f"{where}: {error.strerror or error}")
    return code if isinstance(code, int) else 0
