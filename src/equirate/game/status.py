"""`Status`: the values that were reached, what is proven about them, its warnings, and how it prints.

In: the numbers of a `Solution`. Out: `Status`, to be printed or read by programs.
"""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS, EVERYTHING = "these columns", "all classifiers of this model"
"""The classifiers whose mixtures a bound holds for."""


def in_words(over: str) -> str:
    """The same for messages to users, who would take columns for those of a table."""
    return over.replace(COLUMNS, "the classifiers found")


SERVED = "the decisions that predict(X) returns, equal rows decided alike"
MIXTURE = "the mixture: expected rates over its draws"
"""The classifier that the numbers of a status describe."""
UNSEEN = "for rows that the classifiers were not fitted to; on training rows predict differs"
"""Added to this where classifiers were fitted without the row that they decide."""
HELD_OUT = "on rows that were held out of training"
"""Added to this where the mixture was chosen on other rows than it was trained on."""


IN_PYTHON = "; see report() and status_"
"""The end of a warning, for those who fit in Python."""


@dataclass(frozen=True)
class Status:
    """The values that were reached, and what is proven about them.

    Parameters
    ----------
    objective, violation
        Of the best mixture of the iterates on the data they were trained on, as the user wrote them.
    feasible
        Whether the largest violation is at most ``tolerance``.
    tolerance
        Largest violation that counts as met.
    smallest_violation
        The smallest violation of any mixture of the iterates; for ratios and black boxes, the smallest that was found.
    bound
        No mixture that meets the constraints has a better objective than this; in the user's own sense. None if no
        bound is proven (black boxes) or the constraints are not met.
    bound_over
        The classifiers whose mixtures the bound holds for: ``"all classifiers of this model"`` if the model's answers
        are exact on the data that it is judged on, else ``"these columns"``, the classifiers found. For ratios, only
        mixtures whose denominators are not below their floor (0.001, or the one given in `ratio`).
    gap
        Distance of the objective from the bound; None without one.
    lambda_regret, theta_regret
        Average regret of the players over the rounds played by the best configuration, on the training data;
        ``theta_regret`` is against the recorded iterates (a lower estimate), or against all classifiers of a finite
        list (exact). None if the record does not contain it.
    rounds
        Rounds of a game that were played, or passes over the data that answered prices.
    interrupted
        Whether Ctrl-C ended the run.
    diverged
        Configurations of a game whose parameters became infinite or NaN.
    left_domain
        Configurations of a game whose rates left the domain of a function.
    advice
        What to try if this is not good enough.
    conflict
        A minimal set of constraints that cannot be met together; empty if they are met, or if none is known.
    smallest_tolerance
        How much each constraint of ``conflict`` must be loosened, in its own units, so that all of them can be met.
    conflict_over
        The classifiers whose mixtures this holds for, as in ``bound_over``; the constant classifiers count as columns.
    certified
        Whether every constraint passed its test at the requested confidence; None if none was requested.
    certificate
        The method, the number of rows, and what the result means; empty if no confidence was requested.
    positive_label
        The label that an estimator took as the positive one, if labels are text and ``pos_label`` was not given; else
        empty.
    speaks_of
        The classifier that the numbers describe: the decisions of ``predict``, or the mixture; empty for a single
        classifier.
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
        messages = []
        if not self.feasible:
            messages.append(f"the constraints are not met: largest violation {self.violation:.4g}{IN_PYTHON}")
        if self.certified is False:
            messages += [line for line in self.advice if line.startswith("not certified")][:1]
        return messages

    def summary(self) -> list[str]:
        """The values that were reached, one line for each fact, without advice.

        Returns
        -------
        list of str
            One line for each fact.
        """
        head = "constraints met" if self.feasible else f"constraints NOT met (largest violation {self.violation:.4g})"
        if self.certified is not None:
            head = f"{'certified' if self.certified else 'NOT certified'}; {head}"
        lines = [
            f"{head}; objective {self.objective:.6g} after {self.rounds} {'round' if self.rounds == 1 else 'rounds'}"
        ]
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
