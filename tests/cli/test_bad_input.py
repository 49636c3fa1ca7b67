"""Bad input: each is one line on standard error, without a traceback, with exit code 2, and leaves nothing behind."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import pyarrow as pa
import pyarrow.parquet as parquet

from equirate.cli import main

Files = Callable[[str, bytes], Path]
HEADER = "id,score,school,sex,hired\n"


def table(count: int = 80, **changed: list[str]) -> bytes:
    columns = {
        "id": [str(k) for k in range(count)],
        "score": [str(k % 7) for k in range(count)],
        "school": ["ABC"[k % 3] for k in range(count)],
        "sex": ["FM"[k % 2] for k in range(count)],
        "hired": ["yes" if k % 4 else "no" for k in range(count)],
    } | changed
    rows = zip(*columns.values(), strict=True)
    return (",".join(columns) + "\n" + "".join(",".join(row) + "\n" for row in rows)).encode()


def cut_parquet(path: Path) -> None:
    parquet.write_table(pa.table({name: ["a", "b"] * 500 for name in HEADER.strip().split(",")}), path)
    path.write_bytes(path.read_bytes()[:-300])


BASE = {
    "--label": "hired",
    "--positive": "yes",
    "--attributes": "sex",
    "--ignore": "id",
    "--maximize": "f1()",
    "--subject-to": "fpr() <= 0.3",
}
ROWS = 80

DATA: list[tuple[str, bytes | None, str]] = [
    ("missing file", None, "there is no file"),
    ("not a table", b"\x7fELF\x00\x00\x00\x00", "is not a table"),
    ("prose", b"Once upon a time\nthere was, it is said, a king.\n", "names a column 'hired' that"),
    ("missing column", table().replace(b"hired", b"hires"), "did you mean 'hires'?"),
    (
        "other labels",
        table(hired=["ja", "nein", "maybe", "no"] * 20),
        "but the label 'hired' holds",
    ),
    ("one label", table(hired=["yes"] * ROWS), "has 1 value, 'yes'"),
    ("label missing", table(hired=["yes", "no", "", ""] * 20), "is missing in 40 rows (--drop-unlabelled)"),
    ("attribute with one value", table(sex=["F"] * ROWS), "column 'sex': the attribute has one value only, 'F'"),
    (
        "too many strings",
        table(100_000, school=[f"s{k}" for k in range(100_000)]),
        "100,000 distinct values in",
    ),
    ("zero rows", HEADER.encode(), "no rows"),
    ("empty", b"", "is empty"),
    ("ragged", table() + b"1,2\n", f"the first is line {ROWS + 2} ('1,2') (--drop-ragged)"),
    (
        "text among numbers",
        table(score=[*(f"{k / 7:.3f}" for k in range(ROWS - 1)), "abc"]),
        "column 'score': numbers, but for 'abc' in 1 rows (--missing abc)",
    ),
    ("a number of 400 digits", table(score=[str(10**400), *"12345678" * 9, *"1234567"]), "infinite"),
    ("cut gzip", gzip.compress(table())[:-30], "cut short"),
]


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str], says: str, lines: int = 1) -> None:
    capsys.readouterr()
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("equirate: ")
    assert shown.err.count("\n") == lines, shown.err
    assert says in shown.err
    assert "Traceback" not in shown.err


def arguments(data: Path, out: Path, **changed: str) -> list[str]:
    options = BASE | {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
    given = [part for name, value in options.items() if value for part in (name, value)]
    rounds = [] if "rounds" in changed else ["--rounds", "20"]
    return ["fit", str(data), *given, "--out", str(out), *rounds, "--quiet"]


@pytest.mark.parametrize(("content", "says"), [case[1:] for case in DATA], ids=[case[0] for case in DATA])
def test_data(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, says: str) -> None:
    data, out = tmp_path / "data.csv", tmp_path / "out"
    if content is not None:
        data.write_bytes(content)
    refused(capsys, arguments(data, out), says)
    assert not out.exists()


def test_check_points_at_a_text_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_bytes(table())
    asked = ["--label", "hired", "--subject-to", "tpr(the sex == 'F') >= 0.5"]
    refused(capsys, ["check", str(tmp_path / "data.csv"), *asked], "write attr('the sex') == 'F'", 3)


def test_a_parquet_file_cut_in_the_middle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut_parquet(tmp_path / "cut.parquet")
    refused(capsys, arguments(tmp_path / "cut.parquet", tmp_path / "out"), "cut short")


OPTIONS: list[tuple[str, dict[str, str], str, int]] = [
    ("no label", {"label": ""}, "name its column with --label", 1),
    ("no objective", {"maximize": ""}, "give --maximize or --minimize", 1),
    ("both objectives", {"minimize": "error_rate()"}, "not both", 1),
    ("positive", {"positive": "oui"}, "--positive is 'oui', but the label 'hired' holds 'no', 'yes'", 1),
    ("unknown function", {"maximize": "precison()"}, "no function 'precison'; did you mean 'precision'?", 3),
    (
        "unknown attribute",
        {"subject_to": "fpr(sx == 'F') <= 0.2"},
        "there is no attribute 'sx'; did you mean 'sex'?",
        3,
    ),
    ("a column, no attribute", {"subject_to": "fpr(school == 'A') <= 0.2"}, "add it to --attributes", 3),
    ("not allowed", {"maximize": "tpr() * tnr()"}, "Write geo_mean(tpr(), tnr())", 4),
    (
        "impossible",
        {"subject_to": "tpr() >= 90"},
        "\n  Ask for less: tpr() >= 1. A rate is a share: for 90% write 0.9",
        4,
    ),
    ("not a constraint", {"subject_to": "fpr()"}, "is not a constraint", 1),
    ("empty slice", {"subject_to": "fpr(sex == 'X') <= 0.2"}, "the attribute 'sex' has no value 'X'", 1),
    ("attribute", {"attributes": "sexx"}, "did you mean 'sex'?", 1),
    ("ignore", {"ignore": "idd"}, "--ignore names a column 'idd'", 1),
    ("two roles", {"ignore": "hired"}, "is named by --label and by --ignore", 1),
    ("label as feature", {"also_feature": "hired"}, "cannot be a feature", 1),
    ("nothing left", {"ignore": "id,score,school"}, "no column is left to predict from", 1),
    ("split", {"split": "1.5"}, "--split is the share", 1),
    ("split text", {"split": "half"}, "split", 1),
    ("confidence", {"confidence": "1.5"}, "confidence must lie between", 1),
    ("model", {"model": "forest"}, "--model must be one of linear, trees, thresholds", 1),
    ("seed", {"seed": "-1"}, "--seed must not be negative", 1),
    ("a large seed", {"seed": str(10**400)}, "seed must be at most", 1),
    ("no rounds", {"rounds": "0"}, "--rounds must be at least 1; got 0", 1),
    ("rounds", {"rounds": "-3"}, "--rounds must be at least 1; got -3", 1),
    ("a large bound", {"subject_to": f"fpr() <= {10**400}"}, "a number is too large", 3),
    ("weight", {"weight": "school"}, "does not hold numbers", 1),
    ("time", {"time_column": "when"}, "names a column 'when'", 1),
    ("test file", {"test": "no.csv"}, "there is no file no.csv", 1),
    ("test and time", {"test": "a.csv", "time_column": "score"}, "not both", 1),
    ("config", {"config": "no.toml"}, "cannot read no.toml", 1),
    ("unknown option", {"labels": "hired"}, "No such option", 1),
]


@pytest.mark.parametrize(
    ("changed", "says", "lines"), [case[1:] for case in OPTIONS], ids=[case[0] for case in OPTIONS]
)
def test_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, str], says: str, lines: int
) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes(table())
    refused(capsys, arguments(data, tmp_path / "out", **changed), says, lines)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("label = ", "is not TOML"),
        ("lable = 'hired'", "there is no option 'lable'; did you mean 'label'?"),
        ("label = 3", "label must be text"),
        ("attributes = [1]", "attributes must be a list of texts"),
        ("split = 'half'", "split must be a number"),
        ("seed = 1.5", "seed must be a whole number"),
        ("rounds = 0", "--rounds must be at least 1; got 0"),
        (f"split = {10**400}", "split must be a number"),
        (f"rounds = {10**400}", "rounds must be at most"),
    ],
)
def test_configs(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str) -> None:
    (tmp_path / "a.toml").write_text(text, "utf-8")
    refused(capsys, ["fit", "data.csv", "--config", str(tmp_path / "a.toml"), "--out", str(tmp_path / "out")], says)


# -- places to write to ---------------------------------------------------------------------------


def test_an_output_folder_that_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_bytes(table())
    refused(capsys, arguments(tmp_path / "data.csv", tmp_path), "is not empty: give another one, or --force")
    refused(capsys, arguments(tmp_path / "data.csv", tmp_path / "data.csv"), "is a file: --out names a folder")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_an_output_folder_that_is_not_writable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_bytes(table())
    (tmp_path / "closed").mkdir(mode=0o500)
    refused(capsys, arguments(tmp_path / "data.csv", tmp_path / "closed" / "out"), "Permission denied")


def test_an_output_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_bytes(table())
    refused(capsys, arguments(tmp_path / "data.csv", tmp_path / "data.csv" / "out"), "cannot write to")


def test_a_disk_that_is_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "data.csv").write_bytes(table())
    monkeypatch.setattr(os, "fsync", full)
    refused(capsys, arguments(tmp_path / "data.csv", tmp_path / "out"), "No space left on device")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_predictions_to_a_full_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fitted: Path, people: Path
) -> None:
    (tmp_path / "full.csv").symlink_to("/dev/full")
    refused(capsys, ["predict", str(fitted), str(people), "--out", str(tmp_path / "full.csv"), "-q"], "No space left")


# -- models ---------------------------------------------------------------------------------------


def rewritten(folder: Path, **changed: object) -> None:
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changed), "utf-8")


def wide(folder: Path) -> None:
    path = folder / "model.json"
    plain = json.loads(path.read_text("utf-8"))
    next(column for column in plain["columns"] if "mean" in column)["mean"] = 10**400
    path.write_text(json.dumps(plain), "utf-8")


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


MODELS: list[tuple[str, Callable[[Path], object], str]] = [
    ("no description", lambda folder: (folder / "model.json").unlink(), "No such file"),
    ("cut description", lambda folder: halved(folder / "model.json"), "it is not JSON"),
    ("no JSON at all", lambda folder: (folder / "model.json").write_bytes(b"\xff\xfe"), "it is not JSON"),
    ("deep JSON", lambda folder: (folder / "model.json").write_text("[" * 100_000, "utf-8"), "it is not JSON"),
    ("other JSON", lambda folder: (folder / "model.json").write_text("{}", "utf-8"), "was not written by equirate fit"),
    ("newer", lambda folder: rewritten(folder, version=3), "this equirate reads version 2: upgrade equirate"),
    ("older", lambda folder: rewritten(folder, version=1), "this equirate reads version 2: fit the model again"),
    ("no version", lambda folder: rewritten(folder, version=True), "has no version"),
    ("other kind", lambda folder: rewritten(folder, kind="forest"), "there is no kind of model 'forest'"),
    ("a mean of 400 digits", lambda folder: wide(folder), "cannot be opened"),
    ("no columns", lambda folder: rewritten(folder, columns=[]), "cannot be opened"),
    ("other label", lambda folder: rewritten(folder, label={"column": "a"}), "cannot be opened"),
    ("other attributes", lambda folder: rewritten(folder, attributes={"sex": "spline"}), "cannot be opened"),
    ("cut classifier", lambda folder: halved(folder / "model.equirate"), "is not the file that was saved with it"),
    ("no classifier", lambda folder: (folder / "model.equirate").unlink(), "cannot be opened"),
]


@pytest.mark.parametrize(("damage", "says"), [case[1:] for case in MODELS], ids=[case[0] for case in MODELS])
def test_models(
    people: Path,
    copied: Callable[[], Path],
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
    says: str,
) -> None:
    folder = copied()
    damage(folder)
    refused(capsys, ["evaluate", str(folder), str(people), "-q"], says)
    refused(capsys, ["predict", str(folder), str(people), "-q"], says)


NEW: list[tuple[str, Callable[[str], str], str]] = [
    ("a feature is missing", lambda text: text.replace("score", "points", 1), "names a column 'score'"),
    ("an attribute is missing", lambda text: text.replace("sex", "gender", 1), "names a column 'sex'"),
    ("the label is missing", lambda text: text.replace("hired", "taken", 1), "names a column 'hired'"),
    ("another label", lambda text: text.replace("yes", "maybe"), "holds 'maybe', which was not in training"),
    ("text for numbers", lambda text: text.replace("p3,", "p3,x"), "column 'score' holds 'x"),
    (
        "no date",
        lambda text: text.replace("2020-01-0", "2020-99-0"),
        "column 'when' holds '2020-99-01', which is no date",
    ),
    ("zero rows", lambda text: text.partition("\n")[0] + "\n", "no rows"),
]


@pytest.mark.parametrize(("change", "says"), [case[1:] for case in NEW], ids=[case[0] for case in NEW])
def test_new_files(
    tmp_path: Path,
    people: Path,
    fitted: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[str], str],
    says: str,
) -> None:
    new = tmp_path / "new.csv"
    new.write_text(change(people.read_text("utf-8")), "utf-8")
    refused(capsys, ["evaluate", str(fitted), str(new), "-q"], says)


def test_a_model_that_is_not_there(tmp_path: Path, people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, ["evaluate", str(tmp_path / "no"), str(people), "-q"], "there is no model folder")
    refused(capsys, ["predict", str(people), str(people), "-q"], "is a file, not a model folder")


AUDITS: list[tuple[str, list[str], str]] = [
    ("scores", ["--prediction", "score"], "for scores, give --threshold"),
    ("text", ["--prediction", "school", "--threshold", "0.5"], "--threshold needs scores"),
    ("no column", ["--prediction", "p"], "--prediction names a column 'p'"),
    ("confidence", ["--prediction", "hired", "--confidence", "2"], "confidence must lie between"),
    ("too many groups", ["--prediction", "hired", "--attributes", "id"], "group them first"),
]


@pytest.mark.parametrize(("more", "says"), [case[1:] for case in AUDITS], ids=[case[0] for case in AUDITS])
def test_audits(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], says: str) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes(table(300, id=[f"p{k}" for k in range(300)]))
    base = ["audit", str(data), "--label", "hired", "--positive", "yes", "--attributes", "sex", "-q"]
    refused(capsys, [*base, *more], says)
