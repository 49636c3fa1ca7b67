"""What predicting costs: a mixture beside its distinct ensembles, each gone down once.

In: fitted estimators of trees. Out: lines of ``predicting.jsonl``, one for each way to train, and a table.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import equirate as eq
from equirate.boosting import BoostedTrees, default_trees
from equirate.models import Oracle

from ..experiments.tables import Table
from .data import halves
from .methods import TREES

REPEATS = 3
WAYS: dict[str, str] = {
    "trees": 'equirate, model="trees"',
    "oracle": "equirate, LightGBM as oracle",
    "boosted": "equirate, BoostedTrees",
}


def models() -> dict[str, Any]:
    """The three ways to train trees."""
    from lightgbm import LGBMClassifier

    return {
        "trees": default_trees(n_jobs=1),
        "oracle": Oracle(LGBMClassifier(**TREES), fits=4),
        "boosted": BoostedTrees(n_jobs=1),
    }


def ensembles(members: Any) -> list[Any]:
    """The distinct ensembles of members: what has to be gone down at least once."""
    if hasattr(members, "forest"):
        return [members.forest]
    holders = [members] if hasattr(members, "posterior") else [each.classifier for each in members.fitted]
    learned: list[Any] = []
    for each in holders:  # a plug-in rule has two classifiers
        learned += [each.posterior.label, each.posterior.groups] if hasattr(each, "posterior") else [each]
    found = {id(each.forest): each.forest for each in learned if hasattr(each, "forest")}
    return list(found.values())


def measure(folder: Path, more: bool, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure on Adult what is not in the file yet, if there is to be more; return all lines."""
    path = folder / "predicting.jsonl"
    lines = [json.loads(text) for text in path.read_text("utf-8").splitlines()] if path.exists() else []
    if not more:
        return lines
    parts = halves("adult", "sex", 0, None)
    for name, model in models().items():
        if name in {line["method"] for line in lines}:
            continue
        tell(f"predicting, {name}")
        asked = eq.minimize(eq.error_rate()), [eq.demographic_parity("group", tolerance=0.05, compare="pairs")]
        clf = eq.RateClassifier(*asked, model=model, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clf.fit(parts.train_X, parts.train_y, sensitive_features={"group": parts.train_group})
        members = clf.classifier_.members
        forests = ensembles(members)
        mixture = partial(clf.predict_pmf, parts.test_X)
        apart = partial(_gone_down, forests, parts.test_X)
        line = {"method": name, "members": len(members), "trees": sum(len(each.roots) for each in forests)}
        seconds = dict(zip(("mixture", "ensembles"), fastest(mixture, apart), strict=True))
        lines.append({**line, "rows": len(parts.test_y), **seconds})
        with path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(lines[-1]) + "\n")
    return lines


def _gone_down(forests: Sequence[Any], X: Any) -> None:
    for each in forests:
        each.scores(X)


def fastest(*calls: Callable[[], Any]) -> list[float]:
    """Processor time of calls, the least of a few, in turn."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(REPEATS):
        for own, call in zip(seconds, calls, strict=True):
            begin = time.process_time()
            call()
            own.append(time.process_time() - begin)
    return [min(own) for own in seconds]


def table(lines: Sequence[dict[str, Any]]) -> Table:
    """Time of a mixture and of its ensembles."""
    rows = [
        (
            *(WAYS[line["method"]], str(line["members"]), str(line["trees"]), f"{line['mixture']:.2f}"),
            *(f"{line['ensembles']:.2f}", f"{line['mixture'] / line['ensembles']:.2f}"),
        )
        for line in lines
    ]
    rows_said = f"{lines[0]['rows']:,}" if lines else "no"
    note = (
        f"Processor time of `predict_pmf` on {rows_said} rows of Adult beside that of going down each distinct "
        f"ensemble once, with the same pass; the least of {REPEATS}."
    )
    header = ("model", "members", "trees", "mixture, s", "its ensembles, s", "ratio")
    return Table("Predicting", note, header, tuple(rows))
