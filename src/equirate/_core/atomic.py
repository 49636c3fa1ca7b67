"""Writing a file atomically.

In: a path and the bytes in parts. Out: a file that has either its old content or the new one, whenever the process or
the machine stops. The bytes go to a temporary file in the same folder, which then replaces the old one. The temporary
file is locked while it is written; one without a lock was left by a process that was killed, and the next write to the
same path removes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from .errors import FileError

Bytes = bytes | memoryview
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFSOCK: "a socket",
}


def write_whole(path: str | os.PathLike[str], parts: Iterable[Bytes]) -> None:
    """Write a file atomically. Links are followed; an existing file keeps its permissions."""
    try:
        target = Path(os.path.realpath(os.fspath(path)))
        old = _existing(target)
        sweep(target)
        _write(target, parts, old)
    except (OSError, ValueError, TypeError) as error:  # a null byte in the name, or a name that is not text
        reason = str(error) if isinstance(error, FileError) else getattr(error, "strerror", None) or error
        raise FileError(f"cannot save to {path}: {reason}") from None


def kind_of(mode: int) -> str | None:
    """What a path is, from its mode, if it is not a regular file; None for a regular file."""
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "not a file")


def _existing(target: Path) -> os.stat_result | None:
    if not target.parent.is_dir():
        raise FileError(f"the folder {target.parent} does not exist")
    try:
        old = target.stat()
    except FileNotFoundError:
        return None
    kind = kind_of(old.st_mode)
    if kind is not None:
        raise FileError(f"it is {kind}, not a file")
    if not os.access(target, os.W_OK):
        raise FileError("the file that is there is write-protected")
    return old


def _write(target: Path, parts: Iterable[Bytes], old: os.stat_result | None) -> None:
    temporary, descriptor = locked_file(target, 0o666 if old is None else 0o600)
    try:
        with open(descriptor, "wb") as stream:
            for part in parts:
                stream.write(part)
            stream.flush()
            if old is not None:
                _keep_permissions(descriptor, old)
            os.fsync(descriptor)
            if sys.platform == "win32":  # an open file cannot be renamed there
                stream.close()
            os.replace(temporary, target)  # still locked
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(target.parent)


def locked_file(target: Path, mode: int) -> tuple[Path, int]:
    """A new, locked file beside the target, and its descriptor; closing that releases the lock."""
    while True:
        temporary = target.parent / f"{mark(target)}-{secrets.token_hex(8)}.part"
        descriptor = os.open(temporary, _WRITE, mode)
        try:
            _lock(descriptor, wait=True)
            if temporary.exists():  # otherwise it was swept before it was locked: try again
                return temporary, descriptor
        except BaseException:
            os.close(descriptor)
            temporary.unlink(missing_ok=True)
            raise
        os.close(descriptor)


def mark(target: Path) -> str:
    """Prefix of the names of the target's temporary files; short, however long its own name is."""
    return f".equirate-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}"


def sweep(target: Path) -> None:
    """Remove temporary files of processes that were killed."""
    for left in target.parent.glob(f"{mark(target)}-*.part"):
        with contextlib.suppress(OSError):
            descriptor = os.open(left, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0))
            try:
                _lock(descriptor, wait=False)  # fails if another process is writing it
                if sys.platform != "win32":
                    left.unlink(missing_ok=True)  # before another process can lock it
            finally:
                os.close(descriptor)
            left.unlink(missing_ok=True)


if sys.platform == "win32":  # an open file cannot be removed there, which serves as a lock

    def _lock(descriptor: int, wait: bool) -> None:
        """Nothing to do."""

else:
    import fcntl

    def _lock(descriptor: int, wait: bool) -> None:
        """Lock until the file is closed or the process ends."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            if not wait:  # file systems without locks can be written to, but nothing is swept there
                raise


def _keep_permissions(descriptor: int, old: os.stat_result) -> None:
    if sys.platform == "win32":
        return
    mode, new = stat.S_IMODE(old.st_mode), os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:
            mode &= ~stat.S_IRWXG  # they were meant for another group
    os.fchmod(descriptor, mode)


def sync_folder(folder: Path) -> None:
    """Make a new name durable; some systems cannot, and the content is safe either way."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
