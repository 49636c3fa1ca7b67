"""Notes on groups: those that a parity leaves out, and small ones that it includes at a high price.

In: the problem as the user wrote it, the examples, and the columns. Out: sentences. `fit` puts them into the status,
from which notes, report, page, certificate and file take them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._core.errors import EquirateError
from .._core.listing import listed
from ..data.examples import Examples
from ..data.groups import Groups
from ..game.solution import Solution, Status
from ..judge.audit import SMALLEST
from ..judge.certification_record import Certification
from ..language.nodes import Rate
from ..language.parity import ConstraintFamily
from ..problem.problem import Problem
from .choice import Outcome

MIN_PRICE_NAMED = 0.01
"""Small groups are named if they cost more of the objective than this. Rates are read to the percent."""


def left_out(asked: Problem, examples: Examples) -> tuple[str, ...]:
    """A sentence for each parity that leaves groups out: which, and how few rows they have."""
    sentences = []
    for family in (part for part in asked.constraints if isinstance(part, ConstraintFamily) and part.min_support):
        sets = [family.attributes] if family.intersect else [(name,) for name in family.attributes]
        for names in sets:
            groups = Groups.of(names, examples)
            few = np.flatnonzero(groups.support(family.min_support < 1) < family.min_support)
            if len(few):
                counts = [f"{groups.slice(int(k))!r} ({int(groups.counts[k]):,})" for k in few]
                sentences.append(f"{_limit(len(few), family.min_support)} not covered: {listed(counts)}")
    return tuple(dict.fromkeys(sentences))


def _limit(count: int, support: float) -> str:
    noun = "1 group" if count == 1 else f"{count:,} groups"
    below = f"less than {support:.2%} of the weight" if support < 1 else f"fewer than {support:,.0f} rows"
    return f"{noun} with {below} {'is' if count == 1 else 'are'}"


def costly(asked: Problem, solution: Solution) -> tuple[str, ...]:
    """A sentence on groups with few rows whose constraints cost much of the objective; none where they do not.

    The price is how much better the best mixture of the same columns is without the constraints of these groups.
    """
    problem = solution.problem
    if not any(isinstance(part, ConstraintFamily) for part in asked.constraints) or not solution.status.feasible:
        return ()
    cells = solution.judge.cells
    counts = cells.sizes(positive=True)

    def rows(rate: Rate) -> int:
        return int(counts[cells.behind(rate)].sum())

    small: dict[str, int] = {}
    others = []
    for constraint in problem.plain_constraints:
        few = {repr(rate): number for rate in constraint.rates() if (number := rows(rate)) < SMALLEST}
        small |= few
        others += [] if few else [constraint]
    if not small:
        return ()
    try:
        without = solution.for_problem(Problem(problem.objective, others)).status
    except EquirateError:  # rates that the columns do not have
        return ()
    price = solution.sign * (solution.status.objective - without.objective)
    if not price > MIN_PRICE_NAMED:
        return ()
    shown = listed([f"{name} has {count} {'row' if count == 1 else 'rows'}" for name, count in small.items()])
    return (
        f"small groups cost {price:.2g} of {problem.objective.expr!r} ({solution.status.objective:.3g}; without their "
        f"constraints {without.objective:.3g}): {shown} behind it. min_support={SMALLEST} leaves such groups out",
    )


def with_notes(outcome: Outcome, uncovered: tuple[str, ...], prices: tuple[str, ...]) -> Outcome:
    """The outcome with these notes in its statuses and its certificate."""
    notes = (*uncovered, *prices)
    if not notes:
        return outcome
    statuses = {name: _noted(status, notes, uncovered) for name, status in outcome.statuses.items()}
    certification = outcome.certification
    if certification is not None:
        certification = replace(certification, uncovered=uncovered)
    return replace(outcome, statuses=statuses, certification=certification)


def _noted(status: Status, notes: tuple[str, ...], uncovered: tuple[str, ...]) -> Status:
    certificate = f"{status.certificate} {Certification.uncovering(uncovered)}" if status.certified else ""
    return replace(status, advice=(*status.advice, *notes), certificate=certificate.strip() or status.certificate)
