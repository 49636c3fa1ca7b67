"""A report as a model card: Markdown with the YAML header that model hubs read.

In: a `Report`. Out: text with the problem, the data, what was asked and achieved, rates of each group with intervals,
the certificate, how decisions are drawn and the versions. Intended use and limits are left to be filled in.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import words
from .facts import SHOWN
from .words import number, share, signed

if TYPE_CHECKING:
    from .report import Report

TO_FILL_IN = "*To be filled in.*"
DRAWS = "decisions are drawn"
"""The fact of a report's origin that describes how decisions are drawn."""


def card(report: Report, name: str, data: str, license_: str | None) -> str:
    """The whole card."""
    blocks = [
        _header(report, name, data, license_),
        f"# {name}",
        " ".join(part for part in (report.verdict, words.price(report), words.caution(report)) if part),
        "## Problem",
        f"```text\n{report.problem}\n```\n\nThe positive label is `{report.positive_label}`.",
        "## Data",
        _data(report, data),
        "## Asked and achieved",
        *_achieved(report),
        *_groups(report),
        "## Certificate",
        _certificate(report),
        "## How decisions are drawn",
        _draws(report),
        "## Intended use",
        TO_FILL_IN + " For which decisions, on whom, and by whom the classifier is to be used; what it is not for.",
        "## Limits",
        "\n".join([*(f"- {note}" for note in report.notes), f"- {TO_FILL_IN}"]),
        "## Versions",
        _versions(report),
    ]
    return "\n\n".join(blocks) + "\n"


# -- the header -----------------------------------------------------------------------------------


def _header(report: Report, name: str, data: str, license_: str | None) -> str:
    """YAML; texts are written as JSON strings, which YAML reads too."""
    last, part = report.last, list(report.parts)[-1]
    metrics = [(report.objective, last.objective)]
    metrics += [(f"violation of {each.constraint}", each.violation) for each in last.constraints]
    lines = ["---"]
    lines += [f"license: {json.dumps(license_)}"] if license_ else []
    lines += [
        "library_name: equirate",
        "pipeline_tag: tabular-classification",
        "tags:",
        *(f"- {tag}" for tag in ("equirate", "tabular-classification", "fairness", "constrained-classification")),
        "model-index:",
        f"- name: {_text(name)}",
        "  results:",
        "  - task:",
        "      type: tabular-classification",
        "    dataset:",
        f"      name: {_text(f'{data}, {part} part')}",
        f"      type: {_text(re.sub(r'[^a-z0-9_-]+', '-', data.lower()).strip('-') or 'table')}",
        "    metrics:",
    ]
    for metric, value in metrics:
        if math.isfinite(value):
            lines += [
                f"    - type: {_text(_kind(metric))}",
                f"      name: {_text(metric)}",
                f"      value: {value:.6g}",
            ]
    return "\n".join([*lines, "---"])


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _kind(metric: str) -> str:
    """Hubs know metrics by short names: that of the function, where there is only one."""
    match = re.fullmatch(r"([a-z_0-9]+)\(\)", metric)
    return match[1] if match else "custom"


# -- the sections ---------------------------------------------------------------------------------


def _data(report: Report, data: str) -> str:
    rows = [["part", "examples", "labelled positive"]]
    for part, evaluation in report.parts.items():
        everybody = evaluation.slices[0] if evaluation.slices else None
        rows.append([part, f"{everybody.examples:,}", share(everybody.labelled)] if everybody else [part, "", ""])
    return f"{data}.\n\n{_table(rows)}"


def _achieved(report: Report) -> list[str]:
    last = report.last
    interval = f"{last.confidence:.0%} interval"
    first = [["asked", "achieved", interval]]
    first.append([_code(report.problem.splitlines()[0]), number(last.objective), _interval(last.low, last.high)])
    if not last.constraints:
        return [_table(first)]
    rows = [["asked", "achieved", "violation", f"{last.confidence:.0%} bounds", "verdict"]]
    for each in last.constraints:
        sides = f"{number(each.left)} {each.symbol} {number(each.right)}"
        bounds = f"[{signed(each.low)}, {signed(each.high)}]"
        rows.append([_code(each.constraint), sides, signed(each.violation), bounds, each.verdict])
    about = "A violation is positive where the constraint is broken."
    return [_table(first), _table(rows), about]


def _groups(report: Report) -> list[str]:
    """Every shown rate of every group, with intervals; without data to measure on, shares alone."""
    last = report.last
    if not report.rates:
        rows = [["group", "examples", "labelled positive", "predicted positive"]]
        rows += [[_code(s.slice), f"{s.examples:,}", share(s.labelled), share(s.predicted)] for s in last.slices]
        return ["### By group", _table(rows)]
    sizes = {each.slice: f"{each.examples:,}" for each in last.slices}
    rows = [["group", "examples", *(shown.short for shown in SHOWN)]]
    for group in dict.fromkeys(rate.slice for rate in report.rates):
        own = {rate.rate: rate for rate in report.rates if rate.slice == group}
        cells = [f"{number(own[s.name].value)} {_interval(own[s.name].low, own[s.name].high)}" for s in SHOWN]
        rows.append([_code(group), sizes.get(group, ""), *cells])
    return ["### By group", _table(rows)]


def _certificate(report: Report) -> str:
    certification = report.certification
    if certification is None:
        return "There is no confidence level: nothing is certified."
    method = f"Method: {certification.method}. {certification.meaning}"
    return "\n\n".join([*words.certificate(report), method, *(f"- {reason}" for reason in certification.reasons)])


def _draws(report: Report) -> str:
    origin = report.origin
    if origin is None:
        return TO_FILL_IN
    members = ", ".join(f"{member.weight:.4g}" for member in origin.members)
    how = origin.facts.get(DRAWS, "")
    undecided = report.last.undecided
    depends = f" The decision of {undecided:.1%} of the examples depends on the draw." if undecided > 0 else ""
    count = len(origin.members)
    mixture = "One classifier decides." if count == 1 else f"A mixture of {count} classifiers, with weights {members}."
    return f"{mixture} Decisions are drawn {how}.{depends}" if how else f"{mixture}{depends}"


def _versions(report: Report) -> str:
    if report.origin is None:
        return TO_FILL_IN
    rows = [["package", "version"], *([package, version] for package, version in report.origin.versions.items())]
    return f"{_table(rows)}\n\n```python\n{report.origin.estimator}\n```"


def _interval(low: float, high: float) -> str:
    return f"[{number(low)}, {number(high)}]"


def _code(text: str) -> str:
    return f"`{text}`"


def _table(rows: Sequence[Sequence[Any]]) -> str:
    """A table of Markdown; bars inside a cell are escaped."""
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])
