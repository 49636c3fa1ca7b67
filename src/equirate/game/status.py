"""What a run has reached, and how sure we are.

In: the numbers of a `Solution`. Out: `Status`, for people and for programs.
"""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS, EVERYTHING = "these columns", "all classifiers of this model"
"""What a bound is over."""


def in_words(over: str) -> str:
    """What a bound is over, for a reader, to whom columns are those of a table."""
    return over.replace(COLUMNS, "the classifiers found")


SERVED = "the decisions that predict(X) returns, equal rows decided alike"
MIXTURE = "the mixture: expected rates over its draws"
"""What the numbers of a status are about."""
UNSEEN = "for rows that the classifiers were not fitted to; on training rows predict differs"
"""Added to what the numbers are about where classifiers were fitted without the row that they decide."""


@dataclass(frozen=True)
class Status:
    """What was reached and how sure we are.

    Parameters
    ----------
    objective, violation
        Of the best mixture of the iterates on the data they were trained on, in the user's own terms.
    feasible
        Whether the largest violation is at most ``tolerance``.
    tolerance
        Largest violation that counts as met.
    smallest_violation
        The smallest that any mixture of the iterates has; for ratios and black boxes, the smallest that was found.
    bound
        No mixture that meets the constraints has a better objective than this; in the user's own sense. None where
        nothing is proven (black boxes) or the constraints are not met.
    bound_over
        Mixtures of what: ``"all classifiers of this model"`` where the model's answers are exact on the data that
        it is judged on, else ``"these columns"``, the classifiers found. Ratios count from the smallest denominator
        on that their slacks take (0.001, or what the user promised).
    gap
        How far the objective is from the bound; None without one.
    lambda_regret, theta_regret
        Average regret of the players over the rounds played by the best configuration, on the training data;
        ``theta_regret`` is against the recorded iterates (a lower estimate), or against all classifiers of a finite
        list (exact). None where the record does not tell.
    rounds
        Rounds of a game that were played, or passes over the data.
    interrupted
        Whether Ctrl-C ended the run.
    diverged
        Configurations of a game whose parameters became infinite or NaN.
    left_domain
        Configurations of a game whose rates left the domain of a function.
    advice
        What to try if this is not good enough.
    conflict
        A smallest set of constraints that cannot be met together; empty where they are met, or nothing is known.
    smallest_tolerance
        The smallest number by which each of these, loosened in its own units, makes them possible together.
    conflict_over
        Mixtures of what that is known of, as in ``bound_over``; the two classifiers that say the same to everybody
        are counted among the columns.
    certified
        Whether every constraint passed its test at the confidence asked for; None if none was asked for.
    certificate
        By which method, on how many rows, and what that means; empty if none was asked for.
    positive_label
        The label that an estimator took as the positive one, where labels are text and ``pos_label`` was not
        given; else empty.
    speaks_of
        What the numbers are about: the decisions that are served, or the mixture; empty for a single classifier.
    """

    objective: float
    violation: float
    feasible: bool
    tolerance: float
    smallest_violation: float
    bound: float | None
    bound_over: str | None
    gap: float | None
    lambda_regret: float | None
    theta_regret: float | None
    rounds: int
    interrupted: bool
    diverged: tuple[int, ...]
    left_domain: tuple[int, ...]
    advice: tuple[str, ...]
    conflict: tuple[str, ...] = ()
    smallest_tolerance: float | None = None
    conflict_over: str | None = None
    certified: bool | None = None
    certificate: str = ""
    positive_label: str = ""
    speaks_of: str = ""

    def warnings(self) -> list[str]:
        """Warnings for the user who fits.

        Returns
        -------
        list of str
            One text for each warning.
        """
        found = []
        if not self.feasible:
            found.append(
                f"the constraints are not met: largest violation {self.violation:.4g}; see report() and status_"
            )
        if self.certified is False:
            found += [line for line in self.advice if line.startswith("not certified")][:1]
        return found

    def summary(self) -> list[str]:
        """What was reached, a line for each fact, without advice.

        Returns
        -------
        list of str
            One line for each fact.
        """
        head = "constraints met" if self.feasible else f"constraints NOT met (largest violation {self.violation:.4g})"
        if self.certified is not None:
            head = f"{'certified' if self.certified else 'NOT certified'}; {head}"
        lines = [f"{head}; objective {self.objective:.6g} after {self.rounds} rounds"]
        if self.gap is not None and self.bound_over is not None:
            best = f"the best that any mixture of {in_words(self.bound_over)} can do"
            lines.append(f"within {max(0.0, self.gap):.2g} of {best}")
        if self.speaks_of:
            lines.append(f"numbers are of {self.speaks_of}")
        if self.certificate:
            lines.append(self.certificate)
        if self.positive_label:
            lines.append(f"the positive label is {self.positive_label}; pos_label= chooses the other")
        if self.interrupted:
            lines.append("interrupted: this is what was reached so far")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.summary() + [f"- {line}" for line in self.advice])
