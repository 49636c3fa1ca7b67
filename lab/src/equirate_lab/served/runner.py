"""Fitting tables of categories and judging the decisions that are served; every fit is a line of a file."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import equirate as eq

from ..experiments import Table
from .tables import TABLES, CategoryTable, Drawn

FRESH = 200_000
ROUNDING = 1e-9
METHODS = (("plain", None), ("cross", 0.95))


def run(
    fits: int = 100,
    seed: int = 0,
    out: Path = Path("build/served"),
    tables: Sequence[CategoryTable] = TABLES,
    fresh: int = FRESH,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, list[dict[str, Any]]]:
    """Fit every table as often as is wanted, and go on where an earlier run ended."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"served-{seed}.jsonl"
    known = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    done = {(row["table"], row["fit"]) for row in known}
    judged_on = {table.name: table.draw(fresh, np.random.default_rng([seed, k, 1])) for k, table in enumerate(tables)}
    for fit in range(fits):
        for k, table in enumerate(tables):
            if (table.name, fit) in done:
                continue
            row = {"table": table.name, "fit": fit}
            sample = table.draw(table.rows, np.random.default_rng([seed, k, 2, fit]))
            for name, confidence in METHODS:
                row[name] = fitted(table, sample, judged_on[table.name], confidence, fit)
            known.append(row)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        tell(f"{fit + 1} of {fits} fits")
    return {table.name: [row for row in known if row["table"] == table.name] for table in tables}


def fitted(table: CategoryTable, sample: Drawn, fresh: Drawn, confidence: float | None, seed: int) -> dict[str, Any]:
    """Fit once, and compare what is said with what is served."""
    objective, constraints = table.problem()
    classifier = eq.RateClassifier(objective, constraints, confidence=confidence, random_state=seed)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(sample.X, sample.y, sensitive_features=sample.group)
    seconds = time.perf_counter() - began
    status = classifier.status_
    told = classifier.evaluate(sample.X, sample.y, sensitive_features=sample.group)
    own = violation(classifier.problem_, sample, classifier.predict(sample.X))
    return {
        "met": bool(status.feasible),
        "certified": status.certified,
        "own": own,
        "told": max(row.violation for row in told.constraints),
        "status": status.violation,
        "fresh": violation(classifier.problem_, fresh, classifier.predict(fresh.X)),
        "objective": float(objective.expr.evaluate(fresh.y, classifier.predict(fresh.X), attributes=fresh.group)),
        "seconds": seconds,
    }


def violation(problem: eq.Problem, rows: Drawn, decided: Any) -> float:
    """The largest signed violation of decisions."""
    given = [constraint for constraint in problem.constraints if isinstance(constraint, eq.Constraint)]
    found = [constraint.residual.evaluate(rows.y, decided, attributes=rows.group) for constraint in given]
    return float(max(found))


def make_tables(results: dict[str, list[dict[str, Any]]], tolerance: float = 1e-3) -> list[Table]:
    """One line for each table."""
    rows = []
    for name, fits in results.items():
        plain, sure = [row["plain"] for row in fits], [row["cross"] for row in fits]
        met = [one for one in plain if one["met"]]
        false = sum(one["own"] > tolerance + ROUNDING for one in met)
        differ = sum(abs(one["own"] - one["told"]) > ROUNDING for one in (*plain, *sure))
        claims = [one for one in sure if one["certified"]]
        broken = sum(one["fresh"] > ROUNDING for one in claims)
        missed = sum(one["fresh"] > tolerance for one in met)
        rows.append(
            (
                name,
                str(len(fits)),
                f"{false} of {len(met)}",
                str(differ),
                f"{missed} of {len(met)}",
                f"{broken} of {len(claims)}",
                f"{np.mean([one['seconds'] for one in plain]):.2f}",
                f"{np.mean([one['seconds'] for one in sure]):.2f}",
            )
        )
    header = (
        "table",
        "fits",
        "met, and not so on its rows",
        "`evaluate` differs from `predict`",
        "plain: broken on fresh rows",
        "certified: broken on fresh rows",
        "plain, s",
        "confident, s",
    )
    note = (
        "Tables of categories, judged by what predict returns. Met: status_.feasible of a plain fit. Broken: "
        "on fresh rows, by more than the tolerance of 0.001 for a plain fit, at all for a certified one."
    )
    return [Table("Decisions as they are served", note, header, tuple(rows))]
