"""A monitor as a small plain file and back.

In: a `Monitor`. Out: JSON with its constraints as text, its counts, starts, history and alarms, and the SHA-256 of all
that. A file is written atomically, so that a process killed while writing leaves the old one. Reading executes
nothing; a file is not trusted, and inconsistent content is an error.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .._core.atomic import kind_of, write_whole
from .._core.errors import EquirateError, FileError
from .._core.plain import MOST_TEXT, from_text, to_text
from .._core.rules import FLAG, NUMBER, SCALAR, TEXT, Fields, ListOf, Number, OneOf, Text, Whole, maybe
from ..data.labels import MAX_CLASSES
from ..language.expressions import Constraint
from ..problem.text import parse_constraints
from ..problem.written import as_text
from .following import Alarm, Counts, Follower, FollowerStart
from .monitor import Monitor, MonitorSource

FORMAT, VERSION = "equirate monitor", 1
_MOST = 2**53
_ROWS = Whole(0, _MOST)
_COUNTS = ListOf(ListOf(_ROWS, 2, 2), 1000)
_MOMENT = {"rows": _ROWS, "counts": _COUNTS}
_ALARM = Fields({"rows": _ROWS, "since": _ROWS, "estimate": NUMBER, "lower": NUMBER})
_FOLLOWER = Fields(
    {
        "constraint": TEXT,
        "rows": _ROWS,
        "counts": _COUNTS,
        "starts": ListOf(Fields({"number": _ROWS, **_MOMENT}), 1000, 1),
        "history": ListOf(Fields(_MOMENT), 1000),
        "alarm": maybe(_ALARM),
    }
)
_SOURCE = Fields({"name": Text(1000), "sha256": Text(64), "rows": _ROWS, "late": FLAG})
_CONTENT = Fields(
    {
        "confidence": Number(0.5, 1.0),
        "rows": _ROWS,
        "labels": maybe(ListOf(SCALAR, MAX_CLASSES, 2)),
        "fills": FLAG,
        "followers": ListOf(_FOLLOWER, 10_000, 1),
        "model": maybe(Text(64)),
        "sources": ListOf(_SOURCE),
    }
)
_FILE = Fields({"format": OneOf((FORMAT,)), "version": Whole(1), "sha256": Text(64), "content": Fields({})})


def write(monitor: Monitor, path: str | os.PathLike[str]) -> None:
    """Write a monitor; an error for what could not be read back, such as constraints with black boxes."""
    if not monitor.followers:
        raise FileError("nothing was counted yet, so that the groups of ready-made constraints are not known")
    content = {
        "confidence": monitor.confidence,
        "rows": monitor.rows,
        "labels": None if monitor.labels is None else list(monitor.labels),
        "fills": monitor.fills,
        "followers": [_plain(follower) for follower in monitor.followers],
        "model": monitor.model,
        "sources": [asdict(source) for source in monitor.sources],
    }
    _CONTENT.check(content, "the monitor")
    checksum = hashlib.sha256(to_text(content)).hexdigest()
    write_whole(path, [to_text({"format": FORMAT, "version": VERSION, "sha256": checksum, "content": content}), b"\n"])


def _plain(follower: Follower) -> dict[str, Any]:
    alarm = follower.alarm
    starts = [{"number": s.number, "rows": s.rows, "counts": s.counts.tolist()} for s in follower.starts]
    return {
        "constraint": as_text(follower.constraint),
        "rows": follower.rows,
        "counts": follower.counts.tolist(),
        "starts": starts,
        "history": [{"rows": rows, "counts": counts.tolist()} for rows, counts in follower.history],
        "alarm": None
        if alarm is None
        else {name: value for name, value in asdict(alarm).items() if name != "constraint"},
    }


def read(path: str | os.PathLike[str]) -> Monitor:
    """Open a monitor's file; every problem is a `FileError` with the reason."""
    try:
        return _restored(_content(Path(path)))
    except OSError as error:
        reason = str(error) if isinstance(error, FileError) else error.strerror or error
        raise FileError(f"cannot open the monitor {os.fspath(path)}: {reason}") from None
    except (EquirateError, TypeError, ValueError) as error:
        raise FileError(f"cannot open the monitor {os.fspath(path)}: {error}") from None


def _content(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise FileError("there is no such file")
    kind = kind_of(path.stat().st_mode)
    if kind is not None:
        raise FileError(f"it is {kind}, not a file")
    with open(path, "rb") as stream:
        document = from_text(stream.read(MOST_TEXT + 1).rstrip(b"\n"))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileError("it was not written by a Monitor")
    if isinstance(document.get("version"), int) and document["version"] > VERSION:
        raise FileError(f"it has version {document['version']}; this equirate reads up to {VERSION}: upgrade equirate")
    content = document.pop("content", None)
    _FILE.check({**document, "content": {}}, "the file")
    _CONTENT.check(content, "the monitor")
    if hashlib.sha256(to_text(content)).hexdigest() != document["sha256"]:
        raise FileError("it is damaged: the checksum does not fit")
    checked: dict[str, Any] = content
    return checked


def _restored(content: dict[str, Any]) -> Monitor:
    constraints = [_constraint(each["constraint"]) for each in content["followers"]]
    labels = content["labels"]
    monitor = Monitor(constraints, content["confidence"], classes=labels)
    if labels is not None and list(monitor.labels or ()) != labels:
        raise FileError("the labels are not in their order")
    monitor.rows, monitor.fills = content["rows"], content["fills"]
    monitor.model = content["model"]
    monitor.sources = [MonitorSource(**each) for each in content["sources"]]
    for follower, each in zip(monitor.followers, content["followers"], strict=True):
        _fill(follower, each)
    return monitor


def _constraint(text: str) -> Constraint:
    parsed = parse_constraints(text)
    if len(parsed) != 1 or not isinstance(parsed[0], Constraint):
        raise FileError(f"{text!r} is not one constraint")
    return parsed[0]


def _fill(follower: Follower, content: dict[str, Any]) -> None:
    """Give a follower the counts of a file, which must be possible counts of rows."""
    place = repr(follower.constraint)
    follower.rows = content["rows"]
    follower.counts = _counts(follower, content["counts"], content["rows"])
    follower.starts = [
        FollowerStart(s["number"], s["rows"], _counts(follower, s["counts"], s["rows"])) for s in content["starts"]
    ]
    follower.history = [(h["rows"], _counts(follower, h["counts"], h["rows"])) for h in content["history"]]
    first = follower.starts[0]
    moments = [[(s.rows, s.counts) for s in follower.starts], follower.history]
    if first.number or first.rows or not all(_rises([*part, (follower.rows, follower.counts)]) for part in moments):
        raise FileError(f"the counts of {place} do not rise from 0 row by row")
    numbers = [start.number for start in follower.starts]
    if numbers != sorted(set(numbers)):
        raise FileError(f"the starts of {place} are not in order")
    if content["alarm"] is not None:
        follower.alarm = Alarm(constraint=place, **content["alarm"])
        if follower.alarm.rows > follower.rows:
            raise FileError(f"the alarm of {place} is of a row that was not counted")


def _counts(follower: Follower, given: list[list[int]], rows: int) -> Counts:
    counts = np.array(given, dtype=np.int64).reshape(-1, 2)
    if counts.shape != follower.counts.shape:
        raise FileError(f"there are counts of {len(counts)} proportions for {follower.constraint!r}, which has others")
    if (counts[:, 0] > counts[:, 1]).any() or (counts[:, 1] > rows).any():
        raise FileError(f"there are more successes than trials, or more trials than rows, for {follower.constraint!r}")
    return counts


def _rises(moments: list[tuple[int, Counts]]) -> bool:
    """Whether rows, successes and failures never become fewer."""
    for (rows, counts), (later_rows, later) in pairwise(moments):
        more = later - counts
        if later_rows < rows or (more < 0).any() or (more[:, 0] > more[:, 1]).any():
            return False
        if (more[:, 1] > later_rows - rows).any():
            return False
    return True
