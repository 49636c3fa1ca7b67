"""An explanation of one row in words.

In: an `Explanation`. Out: a few sentences: what was decided, how much was chance, the largest reasons for and against,
and whether the constraints changed the decision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .explanations import Explanation, Reason


def sentence(explanation: Explanation, most: int = 3) -> str:
    """The decision in words.

    Examples
    --------
    >>> from equirate.explanations import Explanation, MemberDecision, Reason
    >>> reasons = (Reason("income", 52, 1.25), Reason("debt", 0.4, -0.5))
    >>> members = (MemberDecision(0.7, "yes", 0.25, True), MemberDecision(0.3, "no", -0.1, False))
    >>> pmf = {"no": 0.3, "yes": 0.7}
    >>> print(sentence(Explanation("yes", pmf, 0.3, members, 0.25, -0.5, reasons, 1.0, False, "yes")))
    Decided 'yes'. Another draw would have decided 'no' with probability 0.3. For it: income = 52 (+1.25). Against it:
    debt = 0.4 (-0.5). The decision would be the same without the constraints.
    """
    parts = [
        f"Decided {explanation.label!r}.",
        _chance(explanation),
        *_reasons(explanation, most),
        _changed(explanation),
    ]
    return " ".join(part for part in parts if part)


def _chance(explanation: Explanation) -> str:
    if len(explanation.members) == 1:
        return ""
    if not explanation.chance:
        every = "Both" if len(explanation.members) == 2 else f"All {len(explanation.members)}"
        return f"{every} members agree: nothing was left to chance."
    others = {label: p for label, p in explanation.pmf.items() if p and label != explanation.label}
    if len(others) > 1:
        each = ", ".join(f"{label!r} {p:.3g}" for label, p in others.items())
        return f"Another draw would have decided otherwise with probability {explanation.chance:.3g}: {each}."
    return f"Another draw would have decided {next(iter(others))!r} with probability {explanation.chance:.3g}."


def _reasons(explanation: Explanation, most: int) -> list[str]:
    if explanation.score is None:
        return ["These classifiers have no contributions of features."]
    sign = 1 if explanation.label == explanation.positive else -1
    nonzero = [reason for reason in explanation.reasons if reason.contribution]
    for_it = [reason for reason in nonzero if sign * reason.contribution > 0][:most]
    against = [reason for reason in nonzero if sign * reason.contribution < 0][:most]
    return [
        f"{word}: {', '.join(map(_reason, chosen))}."
        for word, chosen in (("For it", for_it), ("Against it", against))
        if chosen
    ]


def _reason(reason: Reason) -> str:
    if math.isinf(reason.contribution):
        return f"{reason.feature} (decisive)"
    amount = f"({reason.contribution:+.3g})"
    if reason.value is None and reason.feature.startswith("estimated"):
        return f"{reason.feature} {amount}"
    return f"{reason.feature} = {_shown(reason.value)} {amount}"


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _changed(explanation: Explanation) -> str:
    if explanation.changed is None:
        return ""
    if not explanation.changed:
        return "The decision would be the same without the constraints."
    return f"Without the constraints the decision would be {explanation.without!r}."
