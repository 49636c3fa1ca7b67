"""What a report says in words: the verdict, the price, who is affected.

In: a `Report`. Out: sentences and numbers as text. The terminal, the notebook and the page say the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._core.percent import percent
from ..judge.evaluation import ConstraintValue, Evaluation

if TYPE_CHECKING:
    from .report import Report

SEEN = ("train", "validation")
"""Parts that were used in training or selection: a verdict on them is no certificate."""
VERDICT_WORDS = {
    "pass": "holds",
    "fail": "broken",
    "cannot tell": "cannot tell",
    "not measured": "not measured",
}
"""Verdicts in a word or two."""


LIMIT = 5e-5
"""Violations up to this size show as 0.0000: a constraint that is kept up to rounding holds, at its limit."""


def number(value: float) -> str:
    """A number with four decimals, or three digits where it is large; a dash where there is none."""
    if math.isnan(value):
        return "–"
    return f"{value:.4f}" if not abs(value) >= 100 else f"{value:.3g}"


def signed(value: float) -> str:
    """The same with its sign."""
    if math.isnan(value):
        return "–"
    return f"{value:+.4f}" if not abs(value) >= 100 else f"{value:+.3g}"


def share(value: float) -> str:
    """A share of one as a percentage; a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.1%}"


def people(value: float) -> str:
    """A number of examples, expected or counted."""
    return f"{value:,.0f}"


def outcome(evaluation: Evaluation) -> str:
    """The verdict on all constraints together: the worst of them, or ``"none"`` without constraints."""
    verdicts = {row.verdict for row in evaluation.constraints}
    return next((v for v in ("fail", "not measured", "cannot tell", "pass") if v in verdicts), "none")


def verdict(report: Report) -> str:
    """One sentence: what holds, on which data, how sure, and which groups no constraint is about."""
    return "; ".join([_verdict(report).removesuffix("."), *report.uncovered]) + "."


def _verdict(report: Report) -> str:
    rows, where, sure = report.last.constraints, _where(report), f"{percent(report.last.confidence)} confidence"
    if not rows:
        return f"{report.objective} is {number(report.last.objective)} {where}; there are no constraints."
    if len(rows) == 1:
        return _one_constraint(rows[0], where, sure)
    counts = {name: sum(row.verdict == name for row in rows) for name in VERDICT_WORDS}
    if counts["pass"] == len(rows):
        return f"{'Both' if len(rows) == 2 else f'All {len(rows)}'} constraints hold {where}, each at {sure}."
    if counts["cannot tell"] == len(rows):
        return (
            f"{'Both' if len(rows) == 2 else f'All {len(rows)}'} constraints are too close to call {where}, at {sure}."
        )
    worst = max((row.violation for row in rows if not math.isnan(row.violation)), default=math.nan)
    most = "by" if counts["fail"] == 1 else "the worst by"
    parts = [
        counts["fail"] and f"{counts['fail']} {_is_or_are(counts['fail'])} broken ({most} {number(worst)})",
        counts["cannot tell"] and f"{counts['cannot tell']} {_is_or_are(counts['cannot tell'])} too close to call",
        counts["not measured"] and f"{counts['not measured']} cannot be measured, for want of examples",
        counts["pass"] and f"{counts['pass']} {'holds' if counts['pass'] == 1 else 'hold'}",
    ]
    return f"Of {len(rows)} constraints, {listed([part for part in parts if part])} {where}, each at {sure}."


def _one_constraint(row: ConstraintValue, where: str, sure: str) -> str:
    if row.verdict == "pass":
        return f"The constraint holds {where}, at {sure}."
    if row.verdict == "fail":
        return (
            f"The constraint is broken {where}: by {number(row.violation)}, and by {number(row.low)} or more at {sure}."
        )
    if row.verdict == "not measured":
        return f"The constraint cannot be measured {where}: one of its rates has no examples there."
    kept = "holds" if row.violation <= 0 else f"is missed by {number(row.violation)}"
    if abs(row.violation) <= LIMIT:
        kept = "holds, at its limit,"
        if row.high <= LIMIT:  # the value is certain
            return f"The constraint {kept} {where}."
    unsure = f"but they are too few to be sure: at {sure} it may be missed by {number(row.high)}"
    return f"The constraint {kept} {where}, {unsure}."


def _is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"


def price(report: Report) -> str:
    """What the constraints cost in the objective, compared with the baseline; empty without a baseline."""
    if report.baseline is None:
        return ""
    ours, theirs = report.last.objective, report.baseline.evaluation.objective
    if not (math.isfinite(ours) and math.isfinite(theirs)):
        return ""
    better = (ours - theirs) * (1 if report.maximising else -1)
    name, beside = report.objective, f"{report.baseline.name} has {number(theirs)}"
    measured = [row.violation for row in report.baseline.evaluation.constraints if not math.isnan(row.violation)]
    broken = [violation for violation in measured if violation > LIMIT]
    kept = all(row.violation <= LIMIT for row in report.last.constraints)
    breaks = f" and keeps every constraint here{' too' if kept else ''}"
    if len(measured) < len(report.last.constraints):
        breaks = " and keeps every constraint that can be measured here" if measured else ""
    if broken:
        worst = f"{'by' if len(broken) == 1 else 'the worst by'} {number(max(broken))}"
        breaks = f", but breaks {_count_of(len(broken), len(report.last.constraints))} ({worst})"
    if abs(better) < 5e-5:
        return f"That costs nothing in {name}: {number(ours)}; {beside}{breaks}."
    verb = "That costs" if better < 0 else "It even gains"
    return f"{verb} {number(abs(better))} of {name}: {number(ours)}; {beside}{breaks}."


def affected(report: Report) -> str:
    """How many decisions differ from the baseline's; empty if unknown."""
    if report.baseline is None or not report.baseline.changes:
        return ""
    everybody = report.baseline.changes[0]
    return (
        f"{people(everybody.differ)} of {people(everybody.examples)} decisions "
        f"({share(everybody.differ / everybody.examples)}) differ from those of {report.baseline.name}: "
        f"{people(everybody.gained)} become positive, {people(everybody.lost)} no longer are."
    )


def certificate(report: Report) -> tuple[str, ...]:
    """What was certified, by which method, and its price; empty without a confidence level."""
    certification = report.certification
    if certification is None:
        return ()
    provenance = "" if certification.provenance is None else certification.provenance.sentence
    unsure = ""
    if certification.certified and fresh(report) and outcome(report.last) == "cannot tell":
        unsure = (
            f"The certificate is of the {people(certification.examples)} rows of its own test; those of the "
            f"{list(report.parts)[-1]} part alone are too few, or vary too much, to say so again."
        )
    return tuple(part for part in (certification.sentence, unsure, certification.price, provenance) if part)


def positive(report: Report) -> str:
    """Which label is the positive one, where labels are text."""
    text = report.positive_label[:1] in ("'", '"')
    return f"The positive label is {report.positive_label}." if text else ""


def fresh(report: Report) -> bool:
    """Whether the last part is one that nothing was trained or chosen on."""
    return list(report.parts)[-1] not in SEEN


def caution(report: Report) -> str:
    """A warning if the last part was used in training; otherwise empty."""
    if fresh(report):
        return ""
    name = list(report.parts)[-1]
    return f"The {name} part was used to make the classifier: give report() held-out data for a verdict that counts."


def _where(report: Report) -> str:
    name = list(report.parts)[-1]
    examples = report.last.slices[0].examples if report.last.slices else 0
    which = "given" if fresh(report) else f"of the {name} part"
    return f"on the {people(examples)} example{'' if examples == 1 else 's'} {which}"


def _count_of(number: int, count: int) -> str:
    if count == 1:
        return "the constraint"
    return f"{number} of the {count} constraints" if number < count else f"all {count} constraints"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
