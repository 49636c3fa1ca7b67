"""A folder is published in one step; what else was in the old one is carried over."""

import os
from pathlib import Path

import pytest

from equirate._core import atomic_folders as publishing


def folder(path: Path, **contents: str) -> Path:
    path.mkdir()
    for name, content in contents.items():
        (path / name).write_text(content, "utf-8")
    return path


def contents(path: Path) -> dict[str, str]:
    return {str(each.relative_to(path)): each.read_text("utf-8") for each in path.rglob("*") if each.is_file()}


@pytest.fixture(params=["exchanged", "renamed twice"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "renamed twice":
        monkeypatch.setattr(publishing, "_exchanging", lambda: None)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_the_new_folder_takes_the_place_of_the_old(tmp_path: Path) -> None:
    target = folder(tmp_path / "target", a="old", b="old", mine="mine")
    (target / "more").mkdir()
    (target / "more" / "file").write_text("mine too", "utf-8")
    (target / "link").symlink_to("mine")
    target.chmod(0o750)
    file = (target / "mine").stat().st_ino
    publishing.publish(folder(tmp_path / "part", a="new"), target, ("a", "b"))
    assert contents(target) == {"a": "new", "mine": "mine", "link": "mine", os.path.join("more", "file"): "mine too"}
    assert (target / "link").is_symlink()
    assert (target / "mine").stat().st_ino == file
    assert target.stat().st_mode & 0o777 == 0o750
    assert os.listdir(tmp_path) == ["target"]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("there", [True, False])
def test_an_empty_place_is_taken(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "target").mkdir()
    publishing.publish(folder(tmp_path / "part", a="new"), tmp_path / "target")
    assert contents(tmp_path / "target") == {"a": "new"}
    assert os.listdir(tmp_path) == ["target"]


def test_a_folder_set_aside_by_a_killed_process_is_put_back(tmp_path: Path) -> None:
    target = tmp_path / "target"
    folder(publishing.set_aside(target), a="old")
    folder(tmp_path / f"{publishing.mark(target)}-0123.run", a="half")
    folder(tmp_path / f"{publishing.mark(tmp_path / 'other')}-0123.run", a="half")
    publishing.recover(target)
    assert contents(target) == {"a": "old"}
    assert len(os.listdir(tmp_path)) == 2  # the other target's is not touched


def test_the_old_folder_comes_back_where_the_second_rename_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "_exchanging", lambda: None)
    target, part, rename = folder(tmp_path / "target", a="old"), folder(tmp_path / "part", a="new"), os.rename

    def busy(source: Path, destination: Path) -> None:
        if source == part:
            raise OSError(16, "Device or resource busy")
        rename(source, destination)

    monkeypatch.setattr(os, "rename", busy)
    with pytest.raises(OSError, match="busy"):
        publishing.publish(part, target)
    assert contents(target) == {"a": "old"}
