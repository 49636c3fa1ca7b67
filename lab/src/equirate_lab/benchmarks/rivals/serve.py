"""The other end of `equirate_lab.benchmarks.environments`: a rival's script answers requests, one line of JSON each.

In: a folder with ``job.json`` and ``data.npz`` as the only argument, and requests on standard input. Out: an answer to
each on standard output. Whatever the rival prints goes to standard error. Arrays travel through files in the folder.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Data = dict[str, Any]
Answer = Callable[[dict[str, Any]], dict[str, Any]]


Prepare = Callable[[dict[str, Any], Data, Path], Any]


def over_grid(prepare: Prepare) -> Prepare:
    """For a rival that plays one configuration at a time: time the middle one, or play all and store what was recorded.

    ``prepare`` returns a function of a configuration and a number of rounds: seconds, and the recorded weights.
    """

    def prepared(job: dict[str, Any], data: Data, folder: Path) -> Answer:
        play = prepare(job, data, folder)
        grid = [(theta, lam) for theta in job["steps"] for lam in job["steps"]]

        def answer(request: dict[str, Any]) -> dict[str, Any]:
            if request["do"] == "time":
                return {"seconds": play(grid[len(grid) // 2], int(request["rounds"]))[0]}
            played = [play(configuration, int(request["rounds"])) for configuration in grid]
            np.savez(folder / "grid.npz", weights=np.moveaxis(np.array([found for _, found in played]), 0, 2))
            return {"seconds": sum(seconds for seconds, _ in played)}

        return answer

    return prepared


def serve(prepare: Prepare) -> None:
    """Prepare the job of the folder, say so, and answer until there is nothing more to read."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library that prints must not be taken for an answer
    folder = Path(sys.argv[1])
    data = _read(folder)
    answer = prepare(json.loads((folder / "job.json").read_text("utf-8")), data, folder)
    _reply(replies, {"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        if request.pop("fresh", False):  # other rows for the same process
            data.clear()
            data.update(_read(folder))
        _reply(replies, answer(request))


def _read(folder: Path) -> Data:
    with np.load(folder / "data.npz") as stored:
        return {name: stored[name] for name in stored.files}


def _reply(stream: Any, value: dict[str, Any]) -> None:
    stream.write(json.dumps(value) + "\n")
    stream.flush()
