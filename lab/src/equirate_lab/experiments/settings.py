"""How long and with which steps the methods run: the paper's settings as printed, and a short version."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

Steps = tuple[float, ...]


@dataclass(frozen=True)
class Settings:
    """Settings of a run; part of every result file, and a result is used again only for equal settings.

    Attributes
    ----------
    rounds, record_every, steps
        Of Algorithms 2 to 4: rounds, how often an iterate is recorded, and the grid for both step sizes.
    spade_steps
        The grid of SPADE+.
    baseline_rounds, baseline_steps
        Of UncError and logistic regression.
    coco_runs, coco_inner
        Outer and inner iterations of COCO.
    our_steps
        The grid of the columns beyond the paper.
    frontier_rounds
        Rounds of the trade-off frontier, and of the other rows of Table 1.
    classifier_rounds
        Rounds of `RateClassifier`; None for its own default.
    """

    rounds: int = 5000
    record_every: int = 10
    steps: Steps = (0.001, 0.01, 0.1, 1.0)
    spade_steps: Steps = (0.001, 0.01, 0.1, 1.0, 10.0)
    baseline_rounds: int = 2500
    baseline_steps: Steps = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
    coco_runs: int = 500
    coco_inner: int = 10
    our_steps: Steps = (0.003, 0.01, 0.03, 0.1)
    frontier_rounds: int = 1000
    classifier_rounds: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as they come back from JSON; what is left to others' defaults is left out."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}

    def lasting(self, rounds: int) -> Settings:
        """The same with fewer or more rounds; the baselines keep half as many, COCO as many oracle calls.

        Examples
        --------
        >>> Settings().lasting(1000).baseline_rounds
        500
        """
        return replace(
            self,
            rounds=rounds,
            baseline_rounds=max(1, rounds // 2),
            coco_runs=max(1, rounds // self.coco_inner),
            frontier_rounds=min(self.frontier_rounds, rounds),
        )


PRINTED = Settings()
"""As in the paper."""

QUICK = replace(
    PRINTED.lasting(700),
    steps=(0.01, 0.1, 1.0),
    spade_steps=(0.01, 0.1, 1.0),
    baseline_steps=(0.01, 0.05, 0.1, 0.5),
    our_steps=(0.01, 0.03, 0.1),
    frontier_rounds=200,
    classifier_rounds=300,
)
"""For a first look: real, but short."""
