"""The paper's experiments in short: ``python -m equirate_lab.demo`` (or ``make demo``), about a minute.

Both experiments of the paper on the data sets that come with the package, with few seeds and rounds; tables with the
printed values beside ours, and an HTML page with plots. ``equirate-lab reproduce`` is the whole of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from . import experiments
from .experiments.progress import watching

BUNDLED = ("compas", "crime", "adult")
"""Data sets that need no file beside the package."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m equirate_lab.demo", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="random splits of each data set (default: %(default)s)")
    parser.add_argument("--rounds", type=int, help="rounds of each game")
    parser.add_argument("--dataset", nargs="+", choices=BUNDLED, default=BUNDLED, help="data sets (default: all)")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="splits worked on side by side")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="where results go (default: %(default)s)")
    options = parser.parse_args(arguments)
    settings = experiments.QUICK if options.rounds is None else experiments.QUICK.lasting(options.rounds)
    print(
        "The paper's two experiments, in short: KL-divergence fairness under an error limit, and F-measure under a\n"
        f"limit on the gap between groups, on {', '.join(options.dataset)}; random splits: {options.seeds}, "
        f"rounds: {settings.rounds} instead of 5,000.\n",
        flush=True,
    )
    start = time.monotonic()
    wanted = [*experiments.chosen("kld"), *experiments.chosen("fmeasure")]
    jobs = experiments.plan(wanted, options.dataset, range(options.seeds), settings, options.out)
    try:
        _run(jobs, options.jobs)
    except KeyboardInterrupt:
        print("\nInterrupted; the same command goes on from where it stopped.", file=sys.stderr)
        return 130
    results = experiments.Results(options.out)
    asked = results.of_jobs(jobs)
    experiments.show(experiments.make_tables(asked))
    for line in asked.errors():
        print(f"Not computed: {line}", file=sys.stderr)
    places = [*results.save(), experiments.write_page(results, options.out / "index.html")]
    print(
        f"\nDone in {time.monotonic() - start:.0f} s. "
        "With so few rounds and seeds the numbers are rougher than those of a complete run: see docs/reproduction.md,\n"
        "or run `equirate-lab reproduce`. Methods that were computed before are not computed again.\n"
        f"Every number: {', '.join(map(str, places[:-1]))}\n"
        f"The page, with plots: {places[-1].resolve()}"
    )
    return 0


def _run(jobs: Sequence[experiments.Job], processes: int) -> None:
    """Run the jobs side by side or, where processes cannot be started, one after the other."""
    with watching(jobs) as watch:
        try:
            experiments.run(jobs, watch, processes)
        except (OSError, RuntimeError) as error:
            if processes <= 1:
                raise
            print(f"Going on with one process ({error}).", file=sys.stderr)
            experiments.run(jobs, lambda done: None if done.cached else watch(done))


if __name__ == "__main__":
    sys.exit(main())
