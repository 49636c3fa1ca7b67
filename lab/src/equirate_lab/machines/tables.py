"""Tables of what was measured, for a terminal and for ``docs/scale.md``."""

from __future__ import annotations

import statistics
from typing import Any

from ..experiments.tables import Table
from .model import Costs

BILLION = (1_000_000_000, 64, 16)
"""Rows, machines, and threads of each."""


def make_tables(results: dict[str, Any]) -> list[Table]:
    """What there is."""
    made = []
    rounds = results.get("rounds") or []
    if rounds:
        made.append(_rounds(rounds))
        costs = Costs.of(rounds)
        if costs is not None:
            made.append(_foretold(costs, rounds[0]["bytes"]))
    if results.get("files"):
        made.append(_files(results["files"]))
    faults = [(name, results[key]) for name, key in (("torchrun", "kills"), ("Dask", "dask")) if results.get(key)]
    if faults:
        made.append(_faults(faults))
    return made


def _rounds(rounds: list[dict[str, Any]]) -> Table:
    costs = Costs.of(rounds)
    rows = []
    for each in rounds:
        share = each["rows"] // each["processes"]
        foretold = None if costs is None else costs.fixed + costs.row * share
        rows.append(
            (
                f"{each['rows']:,}",
                str(each["processes"]),
                f"{1e3 * each['own']:.2f}",
                "–" if foretold is None else f"{1e3 * foretold:.2f}",
                f"{1e3 * each['clock']:.2f}",
                f"{each['bytes']:,}" if each["processes"] > 1 else "0",
                f"{1e3 * each['reduce']:.2f}" if each["processes"] > 1 else "–",
            )
        )
    return Table(
        "A round over processes of one machine",
        "30 features in single precision, 16 configurations, one thread a process, made-up rows. Milliseconds: own is "
        "the time that one process worked, model what the formula says of it, clock what a round took by the clock "
        "(on two cores, which others used too), all-reduce the median of gloo's by itself, between the same processes.",
        ("rows in all", "processes", "own, ms", "model, ms", "clock, ms", "bytes a round", "all-reduce, ms"),
        tuple(rows),
    )


def _foretold(costs: Costs, bytes_: int) -> Table:
    rows = []
    for count, processes, threads in (
        (10_000_000, 1, 1),
        (10_000_000, 4, 1),
        (100_000_000, 16, 16),
        BILLION,
    ):
        reduce, whole = costs.reduce(bytes_, processes), costs.a_round(count, bytes_, processes, threads)
        rows.append(
            (
                f"{count:,}",
                str(processes),
                str(threads),
                f"{whole:.3g}",
                f"{1e3 * reduce:.2f}",
                f"{reduce / whole:.1%}",
                f"{1000 * whole / 60:.3g}",
            )
        )
    return Table(
        "What the formula foretells",
        f"A row costs {1e9 * costs.row:.0f} ns for 16 configurations and 30 features, a round "
        f"{1e3 * costs.fixed:.2f} ms beside its rows, a message {1e6 * costs.message:.0f} µs and a byte "
        f"{1e9 * costs.byte:.0f} ns: the last two are those of a usual network of 10 Gbit/s, not measured here.",
        ("rows in all", "processes", "threads each", "a round, s", "all-reduce, ms", "share", "1,000 rounds, min"),
        tuple(rows),
    )


def _files(files: list[dict[str, Any]]) -> Table:
    rows = [
        (
            f"{each['rows']:,}",
            each["from"],
            "a whole fit" if each["fit"] else "rounds",
            "–" if each["fit"] else f"{1e9 * each['own'] / each['rows']:.0f}",
            "–" if each["fit"] else f"{1e9 * each['clock'] / each['rows']:.0f}",
            f"{each['anonymous'] / 2**30:.2f}",
            f"{each['seconds']:.0f}",
        )
        for each in files
    ]
    return Table(
        "Rows of Parquet files",
        "30 columns of float32, 16 configurations, one thread, one process. Nanoseconds of a row in a round (own time, "
        "and by the clock), the peak of anonymous memory (RssAnon), and the seconds of everything.",
        ("rows", "from", "what", "own, ns", "clock, ns", "anonymous, GiB", "seconds"),
        tuple(rows),
    )


def _faults(faults: list[tuple[str, dict[str, Any]]]) -> Table:
    rows = []
    for name, found in faults:
        kills = found["kills"]
        ended = [each["ended"] - min(each["after"], each["ended"]) for each in kills if not each["finished"]]
        rows.append(
            (
                name,
                str(len(kills)),
                f"{len(ended)}",
                f"{sum(bool(each.get('named')) for each in kills if not each['finished'])}",
                f"{max(ended):.0f}" if ended else "–",
                f"{statistics.median(ended):.0f}" if ended else "–",
                f"{sum(each['same'] for each in kills)} of {len(kills)}",
            )
        )
    return Table(
        "Processes killed at random moments",
        "Two processes; one is sent SIGKILL at a random moment of the fit. Without restarts: how many jobs it ended, "
        "in how many the message named it, and the seconds from the kill to the end (torchrun: from the start of the "
        "launcher, less the moment of the kill in the fit). With restarts: how many came to the same classifier as "
        "without the kill, to the last bit.",
        ("by", "kills", "ended", "named", "slowest end, s", "median, s", "same after a restart"),
        tuple(rows),
    )
