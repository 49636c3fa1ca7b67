"""The rivals' own virtual environments: made here, with fixed versions, and spoken to line by line.

In: the name of a rival and a folder. Out: `Process`, a running script of `equirate_lab.benchmarks.rivals` that answers
requests. A rival that cannot be installed or does not answer raises `UnavailableError` with the reason, and its
comparisons are left out.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..experiments.files import write_json
from .timing import thread_variables

SCRIPTS = Path(__file__).parent / "rivals"
Python = tuple[int, int]


class UnavailableError(Exception):
    """A rival cannot be measured here; the message says why."""


@dataclass(frozen=True)
class Rival:
    """A library to compare with: what to install, which script to run, which versions of Python can."""

    name: str
    title: str
    requirements: tuple[str, ...]
    script: str
    newest: Python = (3, 13)
    oldest: Python = (3, 11)


RIVALS = {
    rival.name: rival
    for rival in (
        Rival(
            "tfco",
            "TensorFlow Constrained Optimization 0.2",
            ("tensorflow-cpu==2.15.1", "tensorflow-constrained-optimization==0.2", "numpy==1.26.4"),
            "run_tfco.py",
            newest=(3, 11),
            oldest=(3, 9),
        ),
        Rival(
            "fairlearn",
            "fairlearn 0.15.0",
            ("fairlearn==0.15.0", "scikit-learn==1.9.1", "scipy==1.17.1", "numpy==2.4.6", "pandas==3.1.1"),
            "run_fairlearn.py",
        ),
        Rival(
            "reductions",
            "fairlearn 0.15.0, and column generation with adaptive sampling",
            ("fairlearn==0.15.0", "scikit-learn==1.9.1", "scipy==1.17.1", "numpy==2.4.6", "pandas==3.1.1"),
            "run_reductions.py",
        ),
        Rival(
            "fairlearn_trees",
            "fairlearn 0.15.0 on LightGBM",
            (
                "fairlearn==0.15.0",
                "lightgbm==4.7.0",
                "scikit-learn==1.9.1",
                "scipy==1.17.1",
                "numpy==2.4.6",
                "pandas==3.1.1",
            ),
            "run_trees.py",
        ),
        Rival(
            "error_parity",
            "error-parity 0.3.12 on LightGBM",
            ("error-parity==0.3.12", "lightgbm==4.7.0", "scikit-learn==1.6.1", "numpy==1.26.4", "pandas==2.2.3"),
            "run_trees.py",
        ),
        Rival(
            "oxonfair",
            "OxonFair 0.3 on LightGBM",
            ("oxonfair==0.3", "lightgbm==4.7.0", "scikit-learn==1.6.1", "numpy==1.26.4", "pandas==2.2.3"),
            "run_trees.py",
        ),
        Rival(
            "fairgbm",
            "FairGBM 0.9.14",
            ("fairgbm==0.9.14", "scikit-learn==1.5.2", "numpy==1.26.4", "scipy==1.13.1", "pandas==2.2.3"),
            "run_trees.py",
            newest=(3, 11),
        ),
        Rival(
            "error_parity_thresholds",
            "error-parity 0.3.12",
            ("error-parity==0.3.12", "scikit-learn==1.6.1", "numpy==1.26.4", "pandas==2.2.3"),
            "run_thresholds.py",
        ),
        Rival(
            "oxonfair_thresholds",
            "OxonFair 0.3",
            ("oxonfair==0.3", "scikit-learn==1.6.1", "numpy==1.26.4", "pandas==2.2.3"),
            "run_thresholds.py",
        ),
        Rival(
            "perpetual",
            "perpetual 2.3.0",
            ("perpetual==2.3.0", "scikit-learn==1.9.1", "numpy==2.4.6"),
            "run_trees.py",
        ),
        Rival("cooper", "cooper 1.0.1", ("cooper-optim==1.0.1", "torch==2.13.0", "numpy==2.4.6"), "run_cooper.py"),
        Rival("fairret", "fairret 0.1.3", ("fairret==0.1.3", "torch==2.13.0", "numpy==2.4.6"), "run_networks.py"),
    )
}
"""PyTorch's version is exact: without one, a build for graphics cards of several gigabytes may come."""


def interpreter_for(rival: Rival) -> str:
    """A Python that the rival supports: this one, or another that is installed."""
    if rival.oldest <= sys.version_info[:2] <= rival.newest:
        return sys.executable
    major, lowest = rival.oldest
    for minor in range(rival.newest[1], lowest - 1, -1):
        found = shutil.which(f"python{major}.{minor}")
        if found:
            return found
    supported = " to ".join(".".join(map(str, version)) for version in (rival.oldest, rival.newest))
    raise UnavailableError(f"{rival.title} needs Python {supported}, which is not here")


@dataclass(frozen=True)
class Environments:
    """The environments in a folder, each made when it is first asked for."""

    folder: Path
    threads: int = 1
    tell: Callable[[str], None] = lambda text: None

    def python(self, rival: Rival) -> Path:
        """The interpreter of a rival's environment; makes it if it is not there or has other versions."""
        place = self.folder / rival.name
        python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        stamp = place / "requirements.txt"
        wanted = "\n".join(rival.requirements) + "\n"
        if python.exists() and stamp.exists() and stamp.read_text("utf-8") == wanted:
            return python
        self.tell(f"installing {rival.title} into {place}")
        log = self.folder / f"{rival.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *rival.requirements]
        for command in ([interpreter_for(rival), "-m", "venv", "--clear", str(place)], pip):
            _run(command, log, rival)
        stamp.write_text(wanted, "utf-8")
        return python

    def start(self, rival: Rival, job: Mapping[str, Any], arrays: Mapping[str, Any]) -> Process:
        """Start the rival's script on a job; use it in a ``with`` statement."""
        python = self.python(rival)
        known = json.dumps(job, sort_keys=True)
        folder = self.folder / "jobs" / f"{rival.name}-{hashlib.sha256(known.encode()).hexdigest()[:12]}"
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "job.json", {**job, "threads": self.threads})
        np.savez(folder / "data.npz", **arrays)
        return Process(rival, python, folder, self.threads)


def _run(command: list[str], log: Path, rival: Rival) -> None:
    with log.open("w", encoding="utf-8") as stream:
        try:
            code = subprocess.run(command, stdout=stream, stderr=subprocess.STDOUT, check=False).returncode
        except OSError as error:
            raise UnavailableError(f"{rival.title} cannot be installed: {error}") from None
    if code:
        lines = [line for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines or ["nothing was said"]
        raise UnavailableError(f"{rival.title} cannot be installed: {errors[-1].strip()} ({log} has the rest)")


class Process:
    """A rival at work: `ask` sends a request and waits for the answer."""

    def __init__(self, rival: Rival, python: Path, folder: Path, threads: int) -> None:
        self.rival, self.folder, self._fresh = rival, folder, False
        self.warmed: set[str] = set()
        self.most = math.inf
        self.errors = (folder / "errors.log").open("w", encoding="utf-8")
        environment = {**os.environ, **thread_variables(threads)}
        environment.pop("PYTHONPATH", None)
        self.process = subprocess.Popen(
            [str(python), str(SCRIPTS / rival.script), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Process:
        try:
            self._answer()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def give(self, arrays: Mapping[str, Any]) -> None:
        """Replace the rows that the rival works on: the next request is about these."""
        np.savez(self.folder / "data.npz", **arrays)
        self._fresh = True

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer."""
        if self._fresh:
            request, self._fresh = {**request, "fresh": True}, False
        assert self.process.stdin is not None  # opened as a pipe
        with suppress(BrokenPipeError):  # the answer says why
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        return self._answer()

    def limit(self, seconds: float) -> None:
        """End the process if it works for more than so many seconds from now on, where the system can do that."""
        import resource

        self.most = seconds
        with suppress(AttributeError, OSError):  # Linux has both
            fields = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
            used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            hard = resource.prlimit(self.process.pid, resource.RLIMIT_CPU)[1]
            resource.prlimit(self.process.pid, resource.RLIMIT_CPU, (math.ceil(used + seconds), hard))

    def arrays(self, name: str) -> dict[str, Any]:
        """Arrays that the rival has written."""
        with np.load(self.folder / f"{name}.npz") as stored:
            return {key: stored[key] for key in stored.files}

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            with suppress(BrokenPipeError):  # a request that nobody was there to read
                if stream is not None:
                    stream.close()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None  # opened as a pipe
        line = self.process.stdout.readline()
        if not line and self.process.wait() == -getattr(signal, "SIGXCPU", 0) != 0:
            raise UnavailableError(f"{self.rival.title} was not done after {self.most:g} s of processor time")
        if not line:
            said = (self.folder / "errors.log").read_text("utf-8", errors="replace").strip().splitlines()
            raise UnavailableError(f"{self.rival.title} stopped: {said[-1] if said else 'it said nothing'}")
        answer: dict[str, Any] = json.loads(line)
        return answer
