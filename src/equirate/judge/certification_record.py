"""The record of a certification, as it is printed and saved.

In: numbers of a test. Out: `Certification`, for people, reports and files. `certification.outcome` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._core.percent import percent
from .._core.provenance import Provenance
from .evaluation import ConstraintValue

METHOD_WORDS = {
    "cross": (
        "every row was decided by a mixture that had not seen it, and all rows were tested together by approximate "
        "bounds; what predicts is the uniform mixture of these mixtures. Measured, not proven: see docs/confidence.md"
    ),
    "holdout": (
        "candidates were tested in a fixed order on rows that nothing was trained or chosen on, by exact binomial "
        "bounds on drawn decisions: proven for every number of examples"
    ),
    "split": (
        "candidates were tested in a fixed order on rows that nothing was trained or chosen on, by approximate bounds. "
        "Measured, not proven: see docs/confidence.md"
    ),
}
"""What a certificate of each method means."""
TESTED_ON = {
    "cross": "each decided by a mixture that had not seen it",
    "holdout": "which nothing was trained or chosen on",
    "split": "which nothing was trained or chosen on",
}
"""The rows of the test of each method."""


@dataclass(frozen=True)
class Certification:
    """The test of a classifier at a confidence level.

    Attributes
    ----------
    method
        ``"cross"``, ``"holdout"``, or ``"split"``: what ``"cross"`` becomes where the mixture of the folds is
        not what serves.
    confidence
        The given level, of all constraints together.
    certified
        Whether a classifier passed. Where not, the plain classifier predicts.
    margin
        The share of the expected margin that the classifier keeps; 0 where none passed.
    examples
        How many rows the test had.
    objective, plain_objective
        Of the classifier that passed and of the one without a margin, both on unseen rows: the price. NaN where they
        cannot be measured, or nothing passed.
    constraints
        Each constraint on the rows of the test, for what passed; for the classifier without a margin where none did.
    power
        What can be certified at all with so many examples, whatever the classifier.
    reasons
        Why nothing passed; empty where something did.
    provenance
        Of the classifier that was tested: date, version, and the hashes of model and data.
    speaks_of
        What was tested: the decisions that are served, or the mixture.
    uncovered
        Groups that constraints leave out, in words.
    """

    method: str
    confidence: float
    certified: bool
    margin: float
    examples: int
    objective: float
    plain_objective: float
    constraints: tuple[ConstraintValue, ...]
    power: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    provenance: Provenance | None = None
    speaks_of: str = ""
    uncovered: tuple[str, ...] = ()

    @staticmethod
    def uncovering(uncovered: tuple[str, ...]) -> str:
        """Which groups no constraint is about, as sentences."""
        return " ".join(f"{text}." for text in uncovered)

    @property
    def meaning(self) -> str:
        """What the certificate means, and whether it is proven or measured."""
        return METHOD_WORDS.get(self.method, self.method)

    @property
    def sentence(self) -> str:
        """Whether it is certified, and by which method."""
        level, rows = percent(self.confidence), f"{self.examples:,} rows"
        if not self.certified:
            return f"Not certified at {level} ({self.method}, {rows})."
        of = f" It speaks of {self.speaks_of}." if self.speaks_of else ""
        certified = f"Certified at {level} ({self.method}, {rows}): {self.meaning}.{of}"
        return f"{certified} {self.uncovering(self.uncovered)}".rstrip()

    @property
    def price(self) -> str:
        """What the margin costs; empty if unknown."""
        if not self.certified or self.objective != self.objective or self.plain_objective != self.plain_objective:
            return ""
        return (
            f"The price of the certificate: objective {self.objective:.4f}, where the classifier without a margin has "
            f"{self.plain_objective:.4f} (both on rows that they had not seen)."
        )

    def __str__(self) -> str:
        provenance = "" if self.provenance is None else self.provenance.sentence
        return "\n".join([self.sentence, *filter(None, [self.price, provenance]), *self.reasons])
