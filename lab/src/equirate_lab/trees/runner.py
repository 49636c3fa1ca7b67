"""The runs: one line of JSON for every data set, attribute, kind of constraint, method, split and level.

In: which methods, splits and data sets. Out: lines in ``trees.jsonl``; what is there is not measured again, so an
interrupted run goes on where it was. A rival that cannot be installed or fails is written down as such, once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..benchmarks.environments import RIVALS, Environments, UnavailableError
from .data import ATTRIBUTES, ROWS, Halves, halves
from .methods import METHODS, Method, achieved, ours

Line = dict[str, Any]
SMALL = ("lightgbm", "trees", "linear")
"""What is measured on the small tables, where the question is whether constraints hold on new rows."""
KEY = ("data", "attribute", "kind", "method", "split", "level")


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    data: tuple[str, ...] = ("acs", "adult", "compas", "law_school")
    attributes: tuple[str, ...] = ("race", "sex", "group")
    kinds: tuple[str, ...] = ("dp", "tpr", "odds", "f1", "precision", "kl")
    methods: tuple[str, ...] = tuple(METHODS)
    splits: int = 5
    rows: int = ROWS
    levels: tuple[float, ...] | None = None

    def cells(self) -> Iterator[tuple[int, str, str, str, Method]]:
        """Split by split, so that an early end leaves whole splits."""
        places = [(data, each) for data in self.data for each in self.attributes if each in ATTRIBUTES[data]]
        for split in range(self.splits):
            for data, attribute in places:
                for kind in self.kinds:
                    for name in self.methods:
                        small = attribute == "group" and (name not in SMALL or kind not in ("dp", "tpr"))
                        if kind in METHODS[name].kinds and not small:
                            yield split, data, attribute, kind, METHODS[name]


def read(path: Path) -> list[Line]:
    """The lines there are; one that was cut short is left out."""
    lines = []
    for text in path.read_text("utf-8").splitlines() if path.exists() else ():
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue
    return lines


def run(plan: Plan, folder: Path, directory: Path | None, tell: Callable[[str], None]) -> list[Line]:
    """Measure what is not there yet, and return all lines."""
    path = folder / "trees.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    known = {tuple(line[name] for name in KEY) for line in read(path)}
    environments = Environments(folder / "environments", 1, tell)
    gone: dict[str, str] = {}
    for split, data, attribute, kind, method in plan.cells():
        place = {"data": data, "attribute": attribute, "kind": kind, "method": method.name, "split": split}
        levels = _levels(method, plan)
        left = [level for level in levels if tuple({**place, "level": level}[name] for name in KEY) not in known]
        if not left or method.name in gone:
            continue
        tell(", ".join(map(str, place.values())))
        parts = halves(data, attribute, split, directory, plan.rows)
        try:
            for level, error, gap, seconds in _measured(method, kind, left, parts, environments, place):
                with path.open("a", encoding="utf-8") as stream:
                    line = {**place, "level": level, "error": error, "gap": gap, "seconds": seconds, "rows": plan.rows}
                    stream.write(json.dumps(line) + "\n")
        except UnavailableError as error:
            gone[method.name] = str(error)
            tell(f"left out: {error}")
    return read(path)


def _levels(method: Method, plan: Plan) -> Sequence[float]:
    if plan.levels is None or method.name == "lightgbm":
        return method.levels
    return [level for level in plan.levels if level in method.levels] or method.levels[:1]


def _measured(
    method: Method, kind: str, levels: Sequence[float], parts: Halves, environments: Environments, place: Line
) -> Iterator[tuple[float, float, float, float]]:
    if method.rival is None:
        for level, decided, seconds in ours(method, kind, levels, parts):
            yield level, *achieved(kind, parts, decided), seconds
        return
    job = {"trees": {name: value for name, value in place.items() if name != "method"}}
    with environments.start(RIVALS[method.rival], job, parts.arrays()) as process:
        for level in levels:
            answer = process.ask(method=method.name, kind=kind, level=level)
            if "error" in answer:
                yield level, float("nan"), float("nan"), float("nan")
                continue
            decided = process.arrays(method.name)["test"]
            yield level, *achieved(kind, parts, decided), answer["seconds"]
