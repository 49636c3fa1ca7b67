"""Files are written whole or not at all: whatever fails, and whenever the process is killed."""

import fcntl
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equirate as eq
from equirate._core import atomic
from equirate._core.atomic import write_whole


def refused(path: Any, *parts: bytes) -> str:
    with pytest.raises(eq.FileError, match="cannot save to") as caught:
        write_whole(path, parts or [b"new"])
    return str(caught.value)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.write_bytes(b"old")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_parts_are_written_one_after_the_other(tmp_path: Path) -> None:
    write_whole(str(tmp_path / "model"), [b"a", memoryview(b"bc"), b""])
    assert (tmp_path / "model").read_bytes() == b"abc"
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o700])
def test_an_existing_file_keeps_its_permissions(old: Path, mode: int) -> None:
    old.chmod(mode)
    write_whole(old, [b"new"])
    assert old.read_bytes() == b"new"
    assert stat.S_IMODE(old.stat().st_mode) == mode


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_follows_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "model", [b"new"])
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o666 & ~mask


def test_a_group_that_cannot_be_kept_gets_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old.chmod(0o664)
    facts = list(old.stat())
    facts[5] += 1  # the group

    def deny(*arguments: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(atomic, "_existing", lambda target: os.stat_result(facts))
    monkeypatch.setattr(os, "fchown", deny)
    write_whole(old, [b"new"])
    assert stat.S_IMODE(old.stat().st_mode) == 0o604


def test_links_are_followed(tmp_path: Path, old: Path) -> None:
    other = tmp_path / "folder"
    other.mkdir()
    link, second, dangling = other / "link", other / "second", other / "dangling"
    link.symlink_to(old)
    second.symlink_to("link")
    dangling.symlink_to(tmp_path / "to be")
    write_whole(second, [b"new"])
    assert old.read_bytes() == b"new"
    assert link.is_symlink()
    assert second.is_symlink()
    write_whole(dangling, [b"newer"])
    assert dangling.is_symlink()
    assert (tmp_path / "to be").read_bytes() == b"newer"
    assert names(other) == ["dangling", "link", "second"]
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "symbolic links" in refused(tmp_path / "a")


def test_what_is_not_a_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "it is a pipe (FIFO)" in refused(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    assert "it is a device" in refused(tmp_path / "link")
    assert "it is a device" in refused("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert "it is a folder" in refused(tmp_path)
    assert "does not exist" in refused(tmp_path / "missing" / "file")
    assert "name too long" in refused(tmp_path / ("n" * 5000)).lower()
    assert "null" in refused(f"{tmp_path}/a\0b")
    assert "3" in refused(3)
    assert names(tmp_path) == ["link", "pipe"]


def test_the_longest_name_is_written(tmp_path: Path) -> None:
    write_whole(tmp_path / ("n" * 255), [b"new"])
    assert names(tmp_path) == ["n" * 255]


def test_write_protection_is_respected(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may always write
    assert "write-protected" in refused(old)
    assert old.read_bytes() == b"old"


@pytest.mark.parametrize("failing", ["replace", "fsync", "open", "fchmod"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    old: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    assert "No space left" in refused(old)
    monkeypatch.undo()
    assert old.read_bytes() == b"old"
    assert names(old.parent) == ["model"]


def test_an_interruption_leaves_the_old_file_and_nothing_else(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(old, [b"new"])
    assert old.read_bytes() == b"old"
    assert names(old.parent) == ["model"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(old: Path) -> None:
    """A limit on the size of files fails in the middle of a write, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))
    try:
        message = refused(old, *[bytes(2**18)] * 8)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "too large" in message
    assert old.read_bytes() == b"old"
    assert names(old.parent) == ["model"]


def test_what_a_killed_process_left_is_swept_and_what_others_write_is_not(old: Path) -> None:
    left = old.parent / f"{atomic.mark(old)}-0123.part"
    other = old.parent / f"{atomic.mark(old.parent / 'other')}-0123.part"
    left.write_bytes(b"half")
    other.write_bytes(b"of another file")
    with open(left, "rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_whole(old, [b"new"])
        assert left.exists()
    write_whole(old, [b"newer"])
    assert names(old.parent) == sorted(["model", other.name])


def test_a_file_that_is_swept_before_it_is_locked_is_made_anew(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, swept = atomic._lock, []

    def late(descriptor: int, wait: bool) -> None:
        if not swept:
            swept.extend(old.parent.glob("*.part"))
            for path in old.parent.glob("*.part"):
                path.unlink()
        lock(descriptor, wait)

    monkeypatch.setattr(atomic, "_lock", late)
    write_whole(old, [b"new"])
    assert len(swept) == 1
    assert old.read_bytes() == b"new"
    assert names(old.parent) == ["model"]


KILLED = """
import os, random, signal, sys, time
import equirate as eq

folder, *sources = sys.argv[1:]
models, path = [eq.load(source) for source in sources], os.path.join(folder, "model")
contents = []
for model in models:
    model.save(path)
    contents.append(open(path, "rb").read())
assert contents[0] != contents[1]
rng, litter, found = random.Random(0), 0, set()
for _ in range(50):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            for model in models:
                model.save(path)
                os.write(write, b".")
    os.read(read, 1)  # it is at work
    time.sleep(rng.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read), os.close(write)
    content = open(path, "rb").read()
    assert content in contents, "neither the old file nor the new one"
    found.add(contents.index(content))
    litter += len(os.listdir(folder)) - 1
models[0].save(path)
print(litter, len(found), os.listdir(folder))
"""


@pytest.mark.slow
def test_killed_at_any_moment_there_is_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    sources, folder = [str(tmp_path / name) for name in ("one", "other")], tmp_path / "folder"
    for source, limit in zip(sources, (0.2, 0.3), strict=True):
        clf = eq.RateClassifier(eq.minimize(eq.error_rate()), [eq.fpr() <= limit], random_state=0).fit(X, y)
        clf.save(source)
    folder.mkdir()
    command = [sys.executable, "-c", KILLED, str(folder), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    litter, found, left = done.stdout.split(maxsplit=2)
    assert int(litter) > 0, "no process was killed while it wrote"
    assert int(found) == 2
    assert left.strip() == "['model']"
