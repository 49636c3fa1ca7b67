"""Publishing a folder atomically: it has its old content or the new one, whenever the process or the machine stops.

In: a complete folder, and its target path. Out: the folder at that path, by one rename. An existing folder is exchanged
with it in one step (Linux and macOS); elsewhere the old folder is renamed to `set_aside` first, and a reader that finds
no folder reads that one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from .atomic import mark, sync_folder

_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
"""Errors of systems and file systems that cannot exchange two folders."""


def set_aside(target: Path) -> Path:
    """Path of the old folder between two renames."""
    return target.with_name(f"{mark(target)}.previous")


def recover(target: Path) -> None:
    """Remove files of killed processes, and restore a folder that was set aside. The caller holds the lock."""
    previous = set_aside(target)
    if previous.is_dir() and not target.exists():
        os.rename(previous, target)
    for left in [*target.parent.glob(f"{mark(target)}-*.run"), previous]:
        shutil.rmtree(left, ignore_errors=True)


def complete(part: Path) -> None:
    """Make the files of a new folder durable before it is published."""
    for each in part.iterdir():
        descriptor = os.open(each, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    sync_folder(part)


def publish(part: Path, target: Path, replaced: Iterable[str] = ()) -> None:
    """Move a complete folder to its target.

    Parameters
    ----------
    part
        The new folder, beside the target.
    target
        Its path. An existing folder is removed; its files are carried over, except ``replaced``.
    replaced
        Names that are not carried over.
    """
    if target.is_dir():
        _carry_over(target, part, replaced)
        shutil.copymode(target, part)
        if not _exchange(part, target):
            _replace(part, target)
    else:
        os.rename(part, target)
    shutil.rmtree(part, ignore_errors=True)  # what was there before
    sync_folder(target.parent)


def _carry_over(target: Path, part: Path, without: Iterable[str]) -> None:
    """Copy the other files of the old folder to the new one, by hard links."""
    dropped = {*without, *(each.name for each in part.iterdir())}
    for each in target.iterdir():
        if each.name in dropped:
            continue
        if each.is_symlink():
            os.symlink(os.readlink(each), part / each.name)
        elif each.is_dir():
            shutil.copytree(each, part / each.name, symlinks=True, copy_function=_link)
        else:
            _link(each, part / each.name)


def _replace(part: Path, target: Path) -> None:
    """Two renames, where folders cannot be exchanged."""
    previous = set_aside(target)
    os.rename(target, previous)
    try:
        os.rename(part, target)
    except BaseException:
        os.rename(previous, target)
        raise
    shutil.rmtree(previous, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False if the system cannot."""
    call = _exchanging()
    if call is None or call(os.fsencode(first), os.fsencode(second)) == 0:
        return call is not None
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), str(second))


def _exchanging() -> Callable[[bytes, bytes], int] | None:
    """The system's function that exchanges two paths; None if there is none."""
    try:
        if sys.platform == "linux":
            rename = ctypes.CDLL(None, use_errno=True).renameat2
            at = -100  # AT_FDCWD: paths are relative to the current folder
            return lambda a, b: int(rename(at, a, at, b, 2))  # RENAME_EXCHANGE
        if sys.platform == "darwin":
            rename = ctypes.CDLL(None, use_errno=True).renamex_np
            return lambda a, b: int(rename(a, b, 2))  # RENAME_SWAP
    except (OSError, AttributeError):
        pass
    return None


def _link(source: str | Path, destination: str | Path) -> None:
    """Another name for the same file; a copy where the file system has no links."""
    try:
        os.link(source, destination, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, destination)
