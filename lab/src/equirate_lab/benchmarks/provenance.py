"""Which code was measured, and where: the commit of the library, a fingerprint of its files, the processor.

Out: `code`, which every result file keeps. Results of other code are told apart by the fingerprint, because a commit
may change documents alone.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import cache
from pathlib import Path

import equirate

PACKAGE = Path(equirate.__file__).parent


@cache
def code() -> dict[str, str]:
    """The last commit that changed the library, with a plus sign if its files differ from it, and a fingerprint.

    Examples
    --------
    >>> sorted(code())
    ['commit', 'files']
    """
    return {"commit": commit(PACKAGE), "files": fingerprint(PACKAGE)}


def fingerprint(folder: Path) -> str:
    """A hash of all Python files below a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]


def commit(folder: Path) -> str:
    """The last commit that changed a folder; ``unknown`` outside of a checkout."""
    last = _git(folder, "log", "-1", "--abbrev=7", "--format=%h", "--", ".")
    changed = _git(folder, "status", "--porcelain", "--", ".")
    return f"{last}{'+' if changed else ''}" if last else "unknown"


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
