"""A file of results, one line of JSON for each: added to as they come, so that nothing is lost or measured twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import equirate as eq

Result = dict[str, Any]


class Lines:
    """Results by what was measured.

    Parameters
    ----------
    path
        The file.
    tell
        Called with a line about each result.
    again
        Measure everything again; what is there is not read.
    """

    def __init__(self, path: Path, tell: Callable[[str], None] = lambda line: None, again: bool = False) -> None:
        self.path, self.tell = path, tell
        self.found: dict[str, tuple[Result, Result]] = {}
        if path.exists() and not again:
            for line in path.read_text("utf-8").splitlines():
                self._add(*_parsed(line))

    def _add(self, what: Result | None, result: Result) -> None:
        if what is not None:
            self.found[_key(what)] = (what, result)

    def once(self, what: Mapping[str, Any], measure: Callable[[], Result]) -> None:
        """Measure, unless it was measured before."""
        what = {**what, "version": eq.__version__}
        if _key(what) in self.found:
            return
        start = time.monotonic()
        result = measure()
        result["elapsed"] = round(time.monotonic() - start, 2)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([what, result]) + "\n")
        self._add(dict(what), result)
        self.tell(f"{', '.join(f'{k} {v}' for k, v in what.items() if k != 'version')}: {result}")

    def of(self, part: str) -> Iterator[tuple[Result, Result]]:
        """What was measured of a part, and the results."""
        for what, result in self.found.values():
            if what["part"] == part:
                yield what, result


def _key(what: Mapping[str, Any]) -> str:
    return json.dumps(what, sort_keys=True)


def _parsed(line: str) -> tuple[Result | None, Result]:
    try:
        what, result = json.loads(line)
    except ValueError:  # the process ended while it was written
        return None, {}
    return what, result
