"""A lock file that names its holder.

In: the path of a lock file. Out: a context in which no other process, and no other thread of this one, holds the same
lock. The system releases the lock when the process ends, so a killed process leaves a file behind and no lock.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LONGEST = 200  # bytes of a holder's name that are shown


class LockedError(OSError):
    """The lock is held; the message names the holder."""


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock file, or raise `LockedError` at once.

    Yields whether the lock is real: some network file systems have none, and work goes on without it there.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> with locked(path) as real:
    ...     try:
    ...         with locked(path):
    ...             pass
    ...     except LockedError as error:
    ...         print(str(error).startswith(f"process {os.getpid()} on"))
    True
    """
    descriptor, real = _acquire(path)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, _holder().encode("utf-8", "replace"))
        yield real
    finally:
        if sys.platform == "win32":  # an open file cannot be removed there
            os.close(descriptor)
            with contextlib.suppress(OSError):
                path.unlink()
        else:
            with contextlib.suppress(OSError):
                path.unlink()  # before the lock is released: no process can lock a file that is being removed
            os.close(descriptor)


def _holder() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S %z')}"


def _acquire(path: Path) -> tuple[int, bool]:
    while True:
        descriptor = os.open(path, _OPEN, 0o644)
        try:
            real = _lock(descriptor)
            if _is_at(descriptor, path):  # otherwise its holder removed it in between: try again
                return descriptor, real
        except BlockingIOError:
            holder = os.pread(descriptor, _LONGEST, 0) if hasattr(os, "pread") else b""
            os.close(descriptor)
            raise LockedError(holder.decode("utf-8", "replace").strip() or "another process") from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        """Lock a byte that is never written, or raise BlockingIOError."""
        try:
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None
        os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        """Lock the file, or raise BlockingIOError; False where the file system has no locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            return False
        return True
