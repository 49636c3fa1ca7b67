"""Which run a file is of: every file of a model's folder carries the run's id.

The id is a hash of what the run wrote, so that equal runs write equal bytes. JSON files have it as ``"run"``, a TOML
file in a comment, a page as ``<meta name="equirate-run">``, and a text as its last line; the classifier's file is named
by its hash in ``model.json``. An edited file keeps its id; a file of another run has another one.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from .._core.errors import FileError

CLASSIFIER, DESCRIPTION, SUMMARY, OPTIONS = "model.equirate", "model.json", "summary.json", "problem.toml"
PAGE, TEXT = "report.html", "report.txt"
REPORTS = (PAGE, TEXT)
RUN = (CLASSIFIER, DESCRIPTION, SUMMARY, OPTIONS, *REPORTS)
"""The files of a run of ``fit``."""

_CHARSET = '<meta charset="utf-8">'
_MARKS = {
    OPTIONS: re.compile(r"^# equirate run ([0-9a-f]{16})$", re.MULTILINE),
    PAGE: re.compile(r'<meta name="equirate-run" content="([0-9a-f]{16})">'),
    TEXT: re.compile(r"^equirate run ([0-9a-f]{16})$", re.MULTILINE),
}


def id_of(*contents: bytes) -> str:
    """The id of a run that wrote these bytes.

    Examples
    --------
    >>> id_of(b"a model", b"its options")
    '971b238449061e85'
    """
    digest = hashlib.sha256()
    for content in contents:
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()[:16]


def stamped(name: str, text: str, run: str) -> str:
    """The text of a file with the id of its run."""
    if name == OPTIONS:
        return f"# equirate run {run}\n{text}"
    if name == PAGE:
        return text.replace(_CHARSET, f'{_CHARSET}\n<meta name="equirate-run" content="{run}">', 1)
    return f"{text}\nequirate run {run}\n"


def refuse_mixed(folder: Path, run: str) -> None:
    """Refuse a folder with a file of another run than its model; files may be absent."""
    for name in (SUMMARY, OPTIONS, *REPORTS):
        other_run = _run_of(folder / name)
        if other_run is not None and other_run != run:
            other = f"run {other_run}" if other_run else "no run that is known"
            raise FileError(
                f"the folder holds files of two runs: {name} is of {other}, {DESCRIPTION} of run {run}: fit again with "
                "--force, or remove the file that does not belong there"
            )


def _run_of(path: Path) -> str | None:
    """The run id in a file: empty if it has none, None if there is no file."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    if path.suffix == ".json":
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError):
            raise FileError(f"{path.name} is damaged or cut short: it is not JSON") from None
        run = plain.get("run") if isinstance(plain, dict) else None
        return run if isinstance(run, str) else ""
    match = _MARKS[path.name].search(text)
    return match[1] if match else ""
