"""The output folder of a command, which appears complete or not at all.

In: the folder that the user named. Out: a context with a new folder to write into, which replaces the named one by one
rename when everything is written. A lock beside it names the process that writes, so that a second one fails at once;
nothing is left after a failure.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .._core.atomic import mark
from .._core.atomic_folders import complete, publish, recover
from .._core.errors import FileError
from .._core.locks import LockedError, locked
from .identity import DESCRIPTION, REPORTS

_FORMER = ".part"  # what earlier versions wrote into


@contextmanager
def output_folder(path: Path, force: bool, replaced: Sequence[str] = REPORTS) -> Iterator[Path]:
    """A folder to write into, which takes the place of ``path`` when everything is written.

    Parameters
    ----------
    path
        The folder that the user named; links are followed.
    force
        Replace a folder that is not empty.
    replaced
        The files that a run of this command writes: those of an earlier run go. Any other file in the folder stays.
    """
    target = Path(os.path.realpath(path))
    _refuse(path, target, force, replaced)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(f"{mark(target)}.lock")) as alone:
            if alone:
                recover(target)
            _refuse(path, target, force, replaced)  # again: another process may have written before the lock was held
            part = target.with_name(f"{mark(target)}-{secrets.token_hex(8)}.run")
            part.mkdir()
            try:
                yield part
                complete(part)
                _published(part, target, path, replaced)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    except LockedError as error:
        raise FileError(f"the folder {path} is being written by {error}: wait for it, or give another one") from None
    except OSError as error:
        raise FileError(f"cannot write to {path}: {error.strerror or error}") from None


def _refuse(path: Path, target: Path, force: bool, replaced: Sequence[str]) -> None:
    """Refuse a folder that cannot be replaced, before anything is computed."""
    if not target.exists():
        return
    if not target.is_dir():
        raise FileError(f"{path} is a file: --out names a folder")
    try:
        names = {each.name for each in target.iterdir()} - {_FORMER}
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    if names and not force:
        raise FileError(f"the folder {path} is not empty: give another one, or --force to replace what is there")
    if DESCRIPTION in names and DESCRIPTION not in replaced and set(replaced) & set(REPORTS):
        raise FileError(f"the folder {path} holds a model, with the report of its own run: give another folder")
    why = "it is a mount point" if os.path.ismount(target) else "it is, or holds, the current folder"
    if os.path.ismount(target) or target in (current := _current_folder(), *current.parents):
        raise FileError(f"the folder {path} cannot be replaced in one step, because {why}: name a new folder inside it")


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed
        return Path(os.sep)


def _published(part: Path, target: Path, path: Path, replaced: Sequence[str]) -> None:
    try:
        publish(part, target, (*replaced, _FORMER))
    except OSError as error:
        kept = target.with_name(f"{target.name}-{secrets.token_hex(4)}")
        os.rename(part, kept)  # keep results that took long to compute
        raise FileError(f"cannot replace {path}: {error.strerror or error}; what was written is in {kept}") from None
