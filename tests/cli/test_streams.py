"""Standard input and output as shells give them: pipes, closed, full, ASCII; and a narrow terminal."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from rich.console import Console

from equirate.cli import main
from equirate.cli.shown import Rounds, Shown
from equirate.game.progress import Terminal
from equirate.tables.reading import open_source

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals as shells send them")
COMMAND = f"{sys.executable} -m equirate.cli"


def shell(script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a script in bash, whose exit code is that of equirate where it is the first of a pipe."""
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


# -- input ----------------------------------------------------------------------------------------


def test_a_table_is_read_from_standard_input(
    people: Path, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided = []
    for name, data in (("file", str(people)), ("dash", "-")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(people.read_bytes())))
        assert main(["predict", str(fitted), data, "--keep", "id", "--out", str(tmp_path / f"{name}.csv"), "-q"]) == 0
        decided.append((tmp_path / f"{name}.csv").read_bytes())
    assert decided[0] == decided[1]


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_is_read_once(tmp_path: Path, people: Path, packed: bool) -> None:
    pipe, content = tmp_path / "pipe", people.read_bytes()
    if packed:
        import gzip

        content = gzip.compress(content)
    os.mkfifo(pipe)
    with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write({content!r})"]) as process:
        source = open_source(pipe)
        process.wait()
    assert source.path == pipe
    whole = open_source(people)
    assert source.table(["score", "sex"], {}).equals(whole.table(["score", "sex"], {}))
    assert sum(batch.num_rows for batch in source.batches(["sex"], {})) == 1200
    kept = Path(source.spool.name)
    assert kept.exists()
    del source
    assert not kept.exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "standard input is empty"), (b"\x7fELF\x00\x00", "standard input is not a table"), (None, "is closed")],
)
def test_what_is_wrong_with_standard_input_is_said_of_it(
    content: bytes | None, says: str, monkeypatch: pytest.MonkeyPatch, fitted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None if content is None else io.TextIOWrapper(io.BytesIO(content)))
    assert main(["evaluate", str(fitted), "-", "-q"]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


# -- output ---------------------------------------------------------------------------------------


def test_a_reader_who_has_enough_is_no_error() -> None:
    done = shell(f"{COMMAND} explain 'f1()' | true; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, "")
    done = shell(f"{COMMAND} --help | true; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("arguments", ["explain 'f1()'", "--version", "--help"])
def test_a_full_disk_is_one_line(arguments: str) -> None:
    done = shell(f"{COMMAND} {arguments} > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "equirate: cannot write to standard output: No space left on device\n"


def test_closed_streams_are_no_tracebacks(people: Path, fitted: Path) -> None:
    done = shell(f"{COMMAND} explain 'f1()' >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert shell(f"{COMMAND} explain 'f1(' 2>&-").returncode == 2
    done = shell(f"{COMMAND} predict {fitted} {people} >&- <&-")
    assert done.returncode == 2
    assert done.stderr == "equirate: cannot write to standard output: it is closed; name a file with --out\n"


def test_letters_that_the_output_does_not_have_are_escaped() -> None:
    ascii_ = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    text = "fpr(sex == 'käse') <= 0.1"
    done = shell(f'{COMMAND} explain "{text}"', **ascii_)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"k\xe4se" in done.stdout
    done = shell(f'{COMMAND} explain "{text}" --json', **ascii_)
    assert "käse" in json.dumps(json.loads(done.stdout), ensure_ascii=False)
    done = shell(f"{COMMAND} explain \"fpr(sex == 'käse') <=\"", **ascii_)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


# -- the end of the process -----------------------------------------------------------------------


def test_the_process_ends_without_finalising_python(tmp_path: Path) -> None:
    """Arrow's threads abort a process that finalises Python while they free a block of a table."""
    table = tmp_path / "header.csv"
    table.write_text("a,b\n")
    code = (
        "import atexit, sys, equirate.cli\n"
        "class Late:\n"
        "    def __del__(self): print('finalised', flush=True)\n"
        "late = Late()\n"
        "atexit.register(print, 'exit function')\n"
        f"sys.argv = ['equirate', 'audit', {str(table)!r}, '--label', 'a', '--prediction', 'b', '--attributes', 'a',"
        " '-q']\n"
        "sys.exit(equirate.cli.main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "exit function\n")
    assert done.stderr.count("\n") == 1
    assert "has a header but no rows" in done.stderr


@pytest.mark.slow
def test_a_header_alone_is_refused_every_time(people: Path, fitted: Path, tmp_path: Path) -> None:
    table = tmp_path / "header.csv"
    table.write_text(people.read_text().partition("\n")[0] + "\n")
    command = [sys.executable, "-m", "equirate.cli", "predict", str(fitted), str(table), "--quiet"]
    for _ in range(15):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, f"equirate: {table} has a header but no rows\n")


# -- a narrow terminal ----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [30, 40, 50, 60, 79, 80, 120])
def test_progress_takes_one_line(width: int) -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=width, color_system=None)
    rounds = Rounds("minimize", console)
    rounds.mixture = (0.1234, 0.0123)
    moment: Any = type("Moment", (), {"round": 1234, "n_rounds": 10000})()
    rounds(moment)
    assert rounds._bar is not None
    lines = console.render_lines(rounds._bar.get_renderable(), pad=False)
    rounds.end()
    shown = ["".join(part.text for part in line).rstrip() for line in lines]
    assert len([line for line in shown if line]) == 1
    assert "1234/10000" in shown[0]
    assert "…" not in shown[0]
    assert len(shown[0]) <= width


@pytest.mark.parametrize("width", [30, 40, 79, 120])
def test_stages_and_passes_take_one_line(width: int) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    stage: Any = SimpleNamespace(columns=345, objective=0.1234, violation=0.0123, bound=0.12)
    rounds = Rounds("minimize", console)
    rounds.watch([cast(Any, SimpleNamespace(stages=[stage] * 120))])
    shown = Shown(quiet=False)
    shown.console = console
    shown.stage("Reading a file whose name is long: " + "x" * 200)
    for status, start in ((rounds._status, "pass 119"), (shown._status, "Reading")):
        assert status is not None
        lines = ["".join(part.text for part in line).rstrip() for line in console.render_lines(status.renderable)]
        assert len([line for line in lines if line]) == 1
        assert start in lines[0]
        assert len(lines[0]) <= width
    rounds.end()
    shown.done()


def test_a_line_of_progress_is_cut_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    Terminal().show("x" * 100)
    assert len(capsys.readouterr().err.lstrip("\r")) < 40
