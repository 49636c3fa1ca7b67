"""Tables of what was measured, for a terminal and for ``lab/results/scale.md``."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

from ..experiments.tables import Table
from .model import Costs

NETWORK = (5e-5, 8e-10)
"""Seconds of a message and of a byte in a usual network of 10 Gbit/s: not measured here."""
FORETOLD = ((10_000_000, 1, 1), (10_000_000, 4, 1), (100_000_000, 16, 16), (1_000_000_000, 64, 16))
"""Rows in all, machines, and threads of each."""


def make_tables(results: dict[str, list[dict[str, Any]]]) -> list[Table]:
    """What there is."""
    made = []
    rounds = results.get("rounds") or []
    if rounds:
        costs = Costs.of(rounds)
        made.append(_rounds(rounds, costs))
        if costs is not None:
            made.append(_foretold(costs, rounds[0]["bytes"]))
    if results.get("files"):
        made.append(_files(results["files"]))
    faults = [(name, results[key]) for name, key in (("torchrun", "kills"), ("Dask", "dask")) if results.get(key)]
    if faults:
        made.append(_faults(faults))
    return made


def _rounds(rounds: list[dict[str, Any]], costs: Costs | None) -> Table:
    rows = []
    for each in rounds:
        count, processes, bytes_ = each["rows"], each["processes"], each["bytes"]
        reduce = dict(map(tuple, each["reduces"])).get(bytes_, 0.0)
        alone = processes == 1
        rows.append(
            (
                f"{count:,}",
                str(processes),
                f"{1e3 * each['own']:.1f}",
                "–" if costs is None else f"{1e3 * (costs.fixed + costs.row * count / processes):.1f}",
                f"{1e3 * each['clock']:.0f}",
                "–" if alone else f"{1e3 * reduce:.2f}",
                "–" if alone or costs is None else f"{1e3 * costs.reduce(bytes_, processes):.2f}",
                "–" if alone else f"{reduce / (each['own'] + reduce):.1%}",
            )
        )
    return Table(
        "A round over processes of one machine",
        "30 features in single precision, 16 configurations, one thread a process, made-up rows; "
        f"{rounds[0]['bytes']:,} bytes are added up in a round. Milliseconds: own is the time that one "
        "process worked, clock what a round took on two cores that others used at the same time, all-reduce the "
        "median of gloo's by itself between the same processes, each beside what the formula says. The "
        "share is the all-reduce's of own time and all-reduce. Four processes on two cores also wait for their turn.",
        ("rows in all", "processes", "own", "model", "clock", "all-reduce", "model", "share"),
        tuple(rows),
    )


def _foretold(costs: Costs, bytes_: int) -> Table:
    rows = []
    usual = replace(costs, message=NETWORK[0], byte=NETWORK[1])
    for count, processes, threads in FORETOLD:
        times = []
        for each in (usual, costs):
            whole, reduce = each.a_round(count, bytes_, processes, threads), each.reduce(bytes_, processes)
            times += [f"{1e3 * whole:.0f}", f"{1e3 * reduce:.1f}", f"{reduce / whole:.0%}", f"{1000 * whole / 60:.2g}"]
        rows.append((f"{count:,}", str(processes), str(threads), *times))
    return Table(
        "What the formula foretells",
        f"Measured here: a row costs {1e9 * costs.row:.0f} ns for 16 configurations and 30 features, a round "
        f"{1e3 * costs.fixed:.1f} ms beside its rows, a message between two processes {1e6 * costs.message:.0f} µs and "
        f"a byte {1e9 * costs.byte:.1f} ns. A usual network of 10 Gbit/s is taken to need {1e6 * NETWORK[0]:.0f} µs "
        f"and {1e9 * NETWORK[1]:.1f} ns; threads are taken to share the rows evenly. Milliseconds of a round and "
        "of its all-reduce, its share, and minutes of 1,000 rounds: in such a network, and with messages "
        "as slow as here.",
        (
            "rows in all",
            "machines",
            "threads each",
            "round",
            "all-reduce",
            "share",
            "1,000 rounds, min",
            "round, as here",
            "all-reduce",
            "share",
            "1,000 rounds, min",
        ),
        tuple(rows),
    )


def _files(files: list[dict[str, Any]]) -> Table:
    rows = []
    memory = next((each for each in files if each["source"] == "memory" and not each["fit"]), None)
    for each in sorted(files, key=lambda each: (each["rows"], each["source"] != "memory", each["fit"])):
        times = ["–"] * 4
        if not each["fit"]:
            times = [f"{1e9 * each[name] / each['rows']:.0f}" for name in ("own", "free", "clock")]
            times.append(
                "–" if memory is None else f"{each['free'] / each['rows'] / memory['free'] * memory['rows']:.2f}"
            )
        else:
            times[0] = f"{1e9 * each['fit_own'] / each['rows']:.0f}"
        what = f"a whole fit, {each['passes']} passes" if each["fit"] else "rounds"
        size, seconds = f"{each['anonymous'] / 1e9:.2f}", f"{each['seconds']:.0f}"
        rows.append((f"{each['rows']:,}", each["source"], what, *times, size, seconds))
    return Table(
        "Rows of Parquet files",
        "30 columns of float32, 16 configurations, one thread, one process. Nanoseconds of a row in a round: own time; "
        "free, by the clock without the time in which others had the cores, but with that in which the process waited "
        "for the disk; and by the clock. Times memory compares free. Then the peak of anonymous memory (RssAnon, in "
        "GB), and the seconds of everything by the clock. Of a whole fit by the default engine, own time of a row is "
        "that of everything: passes, choosing and judging.",
        ("rows", "from", "what", "own", "free", "clock", "times memory", "anonymous, GB", "seconds"),
        tuple(rows),
    )


def _faults(faults: list[tuple[str, list[dict[str, Any]]]]) -> Table:
    rows = []
    for name, found in faults:
        kills = [each for each in found if each["kill"]]
        ended = [each for each in kills if not each["finished"]]
        seconds = [each["ended"] for each in ended]
        rows.append(
            (
                name,
                str(len(kills)),
                str(len(ended)),
                str(sum(bool(each["named"]) for each in ended)),
                f"{max(seconds):.1f}" if seconds else "–",
                f"{statistics.median(seconds):.1f}" if seconds else "–",
                f"{sum(each['same'] for each in kills)} of {len(kills)}",
            )
        )
    return Table(
        "Processes killed at random moments",
        "Two processes; one is sent SIGKILL at a random moment of the fit. Without restarts: how many fits that ended "
        "(the others were over before the kill), in how many the message named the process, and the seconds from the "
        "kill to the end. With restarts: how many came to the same classifier as without the kill, to the last bit.",
        ("by", "kills", "ended", "named", "slowest end, s", "median, s", "same after a restart"),
        tuple(rows),
    )
