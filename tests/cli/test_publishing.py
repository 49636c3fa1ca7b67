"""A run's folder: published whole, locked while it is written, and refused where it is of two runs."""

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

import equirate as eq
from equirate._core import atomic_folders as publishing
from equirate.cli import main
from equirate.runs.folders import open_model
from equirate.runs.identity import RUN, id_of, refuse_mixed, stamped
from equirate.runs.publishing import output_folder


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


def write(out: Path, content: str, force: bool = True) -> None:
    with output_folder(out, force, RUN) as folder:
        for name in ("model.json", "summary.json"):
            (folder / name).write_text(content, "utf-8")


def whole(out: Path) -> set[str]:
    """The runs whose files are in a folder."""
    return {(out / name).read_text("utf-8") for name in ("model.json", "summary.json")}


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    with output_folder(out, False) as folder:
        (folder / "report.txt").write_text("new", "utf-8")
        assert not out.exists()
    assert names(out) == ["report.txt"]
    assert names(out.parent) == ["b"]


def failing(out: Path, force: bool) -> None:
    with output_folder(out, force, RUN) as folder:
        (folder / "model.json").write_text("half", "utf-8")
        raise OSError(28, "No space left on device")


def test_nothing_is_left_of_a_run_that_failed(tmp_path: Path) -> None:
    with pytest.raises(eq.FileError, match="No space left"):
        failing(tmp_path / "new", force=False)
    assert names(tmp_path) == []
    write(tmp_path / "old", "old")
    with pytest.raises(eq.FileError, match="No space left"):
        failing(tmp_path / "old", force=True)
    assert whole(tmp_path / "old") == {"old"}
    assert names(tmp_path) == ["old"]


def test_a_second_run_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with output_folder(out, False, RUN) as folder:
        (folder / "model.json").write_text("first", "utf-8")
        (folder / "summary.json").write_text("first", "utf-8")
        said = rf"is being written by process {os.getpid()} on \S+ since .*: wait for it, or give another one"
        with pytest.raises(eq.FileError, match=said):
            write(out, "second")
    assert whole(out) == {"first"}


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert whole(tmp_path / "real") == {"new"}


def test_folders_that_cannot_be_replaced_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "below")
    for out in (Path("."), Path("..")):
        with pytest.raises(eq.FileError, match="the current folder: name a new folder inside it"):
            write(out, "new")
    with pytest.raises(eq.FileError, match="mount point"):
        write(Path("/"), "new")
    write(Path("inside"), "new")


def test_a_run_is_not_thrown_away_where_the_folder_cannot_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise OSError(16, "Device or resource busy")

    write(tmp_path / "out", "old")
    monkeypatch.setattr(publishing, "_exchange", busy)
    with pytest.raises(eq.FileError, match=r"cannot replace .*busy; what was written is in") as refusal:
        write(tmp_path / "out", "new")
    assert whole(tmp_path / "out") == {"old"}
    assert whole(Path(str(refusal.value).rpartition(" ")[2])) == {"new"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals as shells send them")
@pytest.mark.parametrize("exchanged", [True, False])
def test_a_run_killed_at_any_point_leaves_one_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanged: bool
) -> None:
    if not exchanged:
        monkeypatch.setattr(publishing, "_exchanging", lambda: None)
    out, points = tmp_path / "out", 0
    write(out, "old")
    while True:
        points += 1
        child = os.fork()
        if not child:
            kill_at(points)
            write(out, f"new {points}")
            os._exit(0)
        killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
        seen = out if out.exists() else publishing.set_aside(out)
        assert whole(seen) <= {"old", f"new {points}"}
        assert len(whole(seen)) == 1
        write(out, "old")
        assert whole(out) == {"old"}
        assert names(tmp_path) == ["out"]
        if not killed:
            break
    assert points > 10


def kill_at(point: int) -> None:
    """Kill this process at the given access to a file or a folder."""
    left = [point]

    def count(event: str, _: object) -> None:
        if event.startswith(("os.", "open", "shutil.")):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


# -- readers --------------------------------------------------------------------------------------


def test_a_reader_sees_one_whole_run_while_others_are_published(tmp_path: Path, fitted: Path) -> None:
    kinds, stop, seen, refused = {}, threading.Event(), set(), []
    for weight in ("", "weight"):  # two runs with equal classifiers and different descriptions
        kinds[weight] = tmp_path / f"run-{weight}"
        shutil.copytree(fitted, kinds[weight])
        run = id_of(weight.encode())
        for name in ("model.json", "summary.json"):
            path = kinds[weight] / name
            path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"run": run, "weight": weight}), "utf-8")
        text = (kinds[weight] / "problem.toml").read_text("utf-8").partition("\n")[2]
        (kinds[weight] / "problem.toml").write_text(stamped("problem.toml", text, run), "utf-8")
        for name in ("report.html", "report.txt"):
            (kinds[weight] / name).unlink(missing_ok=True)
    shutil.copytree(kinds[""], tmp_path / "out")

    def read() -> None:
        while not stop.is_set():
            try:
                seen.add(open_model(tmp_path / "out").weight)
            except eq.FileError as error:
                refused.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    for k in range(20):
        with output_folder(tmp_path / "out", True, RUN) as folder:
            for each in kinds[("", "weight")[k % 2]].iterdir():
                shutil.copy(each, folder)
    stop.set()
    reader.join()
    assert refused == []
    assert seen <= {"", "weight"}


@pytest.mark.parametrize("name", ["summary.json", "problem.toml", "report.html", "report.txt"])
def test_a_folder_of_two_runs_is_refused(
    name: str, people: Path, copied: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, other = copied(), "0123456789abcdef"
    if name == "summary.json":
        plain = json.loads((folder / name).read_text("utf-8"))
        (folder / name).write_text(json.dumps(plain | {"run": other}), "utf-8")
    else:
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(stamped(name, '<meta charset="utf-8">', other), "utf-8")
    assert main(["evaluate", str(folder), str(people), "-q"]) == 2
    said = capsys.readouterr().err
    assert f"the folder holds files of two runs: {name} is of run {other}" in said
    assert said.count("\n") == 1
    (folder / name).write_text("{}", "utf-8")
    assert main(["predict", str(folder), str(people), "-q"]) == 2
    assert "is of no run that is known" in capsys.readouterr().err
    (folder / name).unlink()
    assert open_model(folder).labels.positive == "yes"


def test_every_file_carries_the_id_of_its_run(fitted: Path) -> None:
    run = json.loads((fitted / "model.json").read_text("utf-8"))["run"]
    assert len(run) == 16
    refuse_mixed(fitted, run)
    for name in set(names(fitted)) - {"model.equirate"}:  # its hash is in model.json
        assert run in (fitted / name).read_text("utf-8"), name
        with pytest.raises(eq.FileError, match="files of two runs"):
            refuse_mixed(fitted, "0" * 16)


def test_a_report_does_not_take_the_place_of_a_model(
    copied: Callable[[], Path], people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied()
    assert main(["evaluate", str(folder), str(people), "--out", str(folder), "--force", "-q"]) == 2
    assert "holds a model, with the report of its own run: give another folder" in capsys.readouterr().err
