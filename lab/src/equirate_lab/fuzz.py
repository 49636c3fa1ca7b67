"""Forged model files and texts, by the thousand or by the million, under a limit on memory.

In: a count and a seed. Out: what `equirate.load` and `equirate.parse` said. Only errors of the package may be raised,
nothing may be caught by `load`'s last resort, no more than 256 MiB may be taken, and what does load must be what the
file says: its weights a distribution, its predictions those that follow from the arrays in the file. Run it with
``python -m equirate_lab.fuzz --count 1000000``.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import equirate as eq

from .forging import Array, Arrays, Forger, Manifest, forged_text, unpacked

ROOM = 2**28
"""Bytes that may be taken beyond what importing took."""
ROWS = np.random.default_rng(5).normal(size=(40, 3))
GROUPS = np.array(["a", "b"] * 20)


# -- models to begin with -------------------------------------------------------------------------


def models() -> dict[str, tuple[Manifest, Arrays]]:
    """Small models of every kind that is saved, as manifests and arrays."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    from equirate.boosting import BoostedTrees
    from equirate.models import Linear, PlugIn

    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(120, 3)), rng.choice(["a", "b"], 120)
    y = (X[:, 0] + (group == "a") + rng.normal(size=120) > 0.5).astype(int)
    people = {"group": group}
    error, parity = eq.minimize(eq.error_rate()), eq.demographic_parity("group", tolerance=0.05)
    few: dict[str, Any] = {"n_rounds": 8, "theta_step": 0.1, "lambda_step": (0.03, 0.1), "random_state": 0}
    limit = [eq.positive_rate(eq.attr("group") == "a") <= 0.3, eq.f1() >= 0.2]
    made: dict[str, Any] = {
        "mixture": eq.RateClassifier(error, parity, **few),
        "deterministic": eq.RateClassifier(
            eq.maximize(eq.f1()), limit, output="deterministic", model=Linear(intercept=False), pos_label=0, **few
        ),
        "hashed": eq.RateClassifier(error, limit, output="hashed", **few),
        "oracle": eq.RateClassifier(error, parity, model=LogisticRegression(), **few),
        "plug-in": eq.RateClassifier(error, parity, model=PlugIn(), **few),
        "trees": eq.RateClassifier(error, parity, model=BoostedTrees(num_leaves=4), **few),
        "oracle of trees": eq.RateClassifier(error, parity, model=HistGradientBoostingClassifier(max_iter=3), **few),
        "plug-in of trees": eq.RateClassifier(
            error, parity, model=PlugIn(HistGradientBoostingClassifier(max_iter=3)), **few
        ),
        "scores": eq.RatePostprocessor(None, error, parity, n_rounds=20, random_state=0),
        "groups": eq.RatePostprocessor(None, error, parity, groups="group", pos_label=0, n_rounds=20),
    }
    found = {}
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        for name, estimator in made.items():
            given = X[:, 0] if isinstance(estimator, eq.RatePostprocessor) else X
            path = Path(folder) / name
            estimator.fit(given, y, sensitive_features=people).save(path)
            manifest, arrays = unpacked(path.read_bytes())
            del arrays["sha256"]
            found[name] = manifest, arrays
    return found


# -- what must hold -------------------------------------------------------------------------------


def judge(estimator: Any, content: bytes) -> str | None:
    """What is wrong with an estimator that was loaded; None if it is what its file says."""
    manifest, arrays = unpacked(content)
    classifier = estimator.classifier_
    weights = classifier.weights
    if not (np.isfinite(weights).all() and (weights >= 0).all() and abs(weights.sum() - 1) <= 1e-9):
        return "the weights are not a distribution"
    output = estimator.get_params().get("output", "stochastic")
    name = "deterministic" if output == "deterministic" else "stochastic"
    if not np.array_equal(arrays[f"{name}.weights"], weights):
        return "the weights are not those of the file"
    if estimator.classes_.tolist() != manifest["classes"]["values"]:
        return "the labels are not those of the file"
    if list(estimator.notes_) != manifest["notes"]:
        return "the notes are not those of the file"
    decided = _decided(manifest, arrays, name)
    positive = manifest["settings"].get("pos_label")
    column = 1 if positive is None or positive == manifest["classes"]["values"][1] else 0
    given: Any = ROWS
    people = None
    if isinstance(estimator, eq.RatePostprocessor):
        given, people = ROWS[:, 0], {"group": GROUPS}
    try:
        pmf = estimator.predict_pmf(given, sensitive_features=people)
        labels = estimator.predict(given, sensitive_features=people)
        str(estimator.report()), repr(estimator.status_), repr(estimator.problem_)
    except eq.EquirateError:
        return None  # such as groups that do not cover these rows
    if decided is not None and not np.allclose(pmf[:, column], decided @ weights, atol=1e-9):
        return "the predictions do not follow from the arrays"
    if not set(np.asarray(labels).tolist()) <= set(manifest["classes"]["values"]):
        return "labels are predicted that the file does not have"
    return None


def _decided(manifest: Manifest, arrays: Arrays, name: str) -> Array | None:
    """Decisions of the members on the rows, from the arrays alone; None where that would repeat the library."""
    own = f"{name}.members."
    if f"{own}roots" in arrays:
        return _walked({key.removeprefix(own): array for key, array in arrays.items() if key.startswith(own)})
    if "stochastic.members.cuts" in arrays:
        cuts = arrays["stochastic.members.cuts"]
        positive = manifest["settings"].get("pos_label")
        sign = 1.0 if positive is None or positive == manifest["classes"]["values"][1] else -1.0
        return (sign * ROWS[:, :1] > cuts) if len(cuts) == 1 else None
    if f"{own}coefficients" not in arrays:
        return None  # plug-in rules, and kinds beside each other
    W = arrays[f"{own}coefficients"].astype(float)
    with np.errstate(all="ignore"):
        scores = ROWS @ W[:3] + (W[3] if len(W) == 4 else 0.0)
    return None if len(W) not in (3, 4) or (np.abs(scores) < 1e-4 * np.abs(W).max(initial=0)).any() else scores > 0


def _walked(trees: Arrays) -> Array | None:
    """Decisions of pieces of forests, a row and a tree at a time; None where a score lies at its cut."""
    if len(trees["words"]):
        return None  # sets of categories
    pieces = np.tile(trees["offset"], (len(ROWS), 1))
    for root, column in zip(trees["roots"], trees["column"], strict=True):
        for i, row in enumerate(ROWS):
            node = root
            while trees["left"][node] != node:
                left = row[trees["feature"][node]] <= trees["threshold"][node]
                node = trees["left" if left else "right"][node]
            pieces[i, column] += trees["value"][node]
    for k, earlier in enumerate(trees["before"]):
        if earlier >= 0:
            pieces[:, k] += pieces[:, earlier]
    scores = pieces[:, trees["place"]] - trees["cuts"]
    with np.errstate(all="ignore"):
        near = np.abs(scores) <= 1e-9 * (1 + np.abs(trees["cuts"]) + np.abs(trees["value"]).sum())
    return None if near.any() or not np.isfinite(scores).all() else scores > 0


# -- the run --------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What happened."""

    files: int = 0
    texts: int = 0
    loaded: int = 0
    parsed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def fault(self, what: str, seed: object, content: bytes | str) -> None:
        """Keep what went wrong, with enough to do it again."""
        shown = content if isinstance(content, str) else f"{len(content)} bytes"
        self.faults.append(f"{what}; {seed}; {shown[:300]!r}")


def fuzz(count: int, seed: int = 0, share: float = 0.7, keep: Path | None = None) -> Tally:
    """Forge and load ``count`` files and texts, of which a share are files; ``keep`` is a folder for what fails."""
    sources, tally = models(), Tally()
    rng = Random(seed)
    forger = Forger(sources, rng)
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / "model"
        for number in range(count):
            if rng.random() < share:
                content = forger.file()
                path.write_bytes(content)
                faults = len(tally.faults)
                _load(path, content, tally, (seed, number))
                if keep is not None and len(tally.faults) > faults:
                    (keep / f"{seed}-{number}").write_bytes(content)
            else:
                _parse(forged_text(rng), tally, (seed, number))
    return tally


def _load(path: Path, content: bytes, tally: Tally, seed: object) -> None:
    tally.files += 1
    start = time.process_time()
    try:
        estimator = eq.load(path)
    except eq.FileError as error:
        tally.reasons[str(error).removeprefix(f"cannot load {path}: ")[:30]] += 1
        if error.__cause__ is not None:
            tally.fault(f"only the last resort refused: {error.__cause__!r}", seed, content)
    except BaseException as error:
        tally.fault(f"load raised {error!r}", seed, content)
    else:
        tally.loaded += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # forged numbers may overflow: only what comes out is judged
                wrong = judge(estimator, content)
        except BaseException:
            wrong = f"what was loaded fails: {traceback.format_exc(limit=-3)}"
        if wrong:
            tally.fault(wrong, seed, content)
    tally.slowest = max(tally.slowest, time.process_time() - start)


def _parse(text: str, tally: Tally, seed: object) -> None:
    tally.texts += 1
    start = time.process_time()
    try:
        eq.parse(text)
        tally.parsed += 1
    except eq.EquirateError:
        pass
    except BaseException as error:
        tally.fault(f"parse raised {error!r}", seed, text)
    tally.slowest = max(tally.slowest, time.process_time() - start)


def limit_memory() -> None:
    """Take no more than `ROOM` from now on."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, resource.RLIM_INFINITY))


def main(arguments: list[str] | None = None) -> int:
    """Run, and tell; the exit code is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.7, help="share of files; the others are texts")
    parser.add_argument("--keep", type=Path, help="folder for files that fail")
    chosen = parser.parse_args(arguments)
    fuzz(200, seed=chosen.seed + 1)  # whatever is imported or compiled late
    limit_memory()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    tally = fuzz(chosen.count, chosen.seed, chosen.share, chosen.keep)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{tally.files} files ({tally.loaded} loaded), {tally.texts} texts ({tally.parsed} parsed) in "
        f"{time.monotonic() - start:.0f} s; {len(tally.faults)} faults; peak {grown:.0f} MiB above the start; "
        f"slowest {tally.slowest:.2f} s; {len(tally.reasons)} reasons"
    )
    for fault in tally.faults[:20]:
        print(fault)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
