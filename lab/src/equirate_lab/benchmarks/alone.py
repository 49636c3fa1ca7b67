"""A measurement in a process of its own, so that its memory is its own: ``python -m ...benchmarks.alone JOB``.

In: a job as JSON, such as ``{"rows": 1000, "columns": 30, "short": 5, "long": 15, "repetitions": 3}``, or one of
`scaling_job`. Out: one line of JSON with the seconds of a round (or of a fit), and the memory that it took beyond the
data. `growth` and `scaling` start it.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import equirate as eq

from .made_up import GROUP, made_up
from .scaling_job import measured
from .timing import peak_memory, per_round

FIRST = eq.attr(GROUP) == 0


def rows(job: dict[str, Any]) -> dict[str, Any]:
    """Time a round with so many rows, one configuration, and measure the peak of memory.

    Making the data takes some megabytes for a while, which hide as much of what solving takes: all, if data are few.
    """
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.tpr(FIRST) >= eq.tpr(~FIRST) - 0.02])

    def solve(X: Any, y: Any, group: Any, n_rounds: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.EquirateWarning)
            eq.solve(problem, X, y, attributes={GROUP: group}, n_rounds=n_rounds, theta_step=0.01, lambda_step=0.01)

    solve(*made_up(1000, job["columns"]), 20)  # what is loaded at first use is not counted
    X, y, group = made_up(job["rows"], job["columns"])

    def play(n_rounds: int) -> None:
        solve(X, y, group, n_rounds)

    before = peak_memory()
    play(job["short"])
    beyond = peak_memory() - before
    samples = [per_round(play, job["short"], job["long"]) for _ in range(job["repetitions"])]
    return {"seconds": samples, "data": X.nbytes, "beyond": beyond}


def main() -> None:
    """Answer the job given as the only argument."""
    job = json.loads(sys.argv[1])
    print(json.dumps(measured(job) if "by" in job else rows(job)))


if __name__ == "__main__":
    main()
