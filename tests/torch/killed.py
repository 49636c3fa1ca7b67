"""Trains with a checkpoint and is killed at random moments; run by test_keeping in a process of its own.

A child is forked for every life: it counts the calls of functions and kills itself at one drawn at random, be it in the
middle of a step, or of a file. Prints one line: whether everything recorded is as in a run left alone, and
how many times it was killed.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import equirate as eq
from equirate.torch import TorchModel

torch.set_num_threads(1)
rng = np.random.default_rng(0)
X = rng.normal(size=(96, 3)).astype(np.float32)
GROUP = np.where(rng.random(96) < 0.3, "a", "b")
Y = (X[:, 0] + 0.5 * (GROUP == "a") + 0.5 * rng.normal(size=96) > 0.4).astype(int)
A = eq.attr("group") == "a"
MEMORY = 1000  # recorded networks go to disk


def network():
    torch.manual_seed(5)
    layers = torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1)
    return torch.nn.Sequential(*layers)


def fitted(folder):
    model = TorchModel(
        network, learning_rate=0.02, scheduler=lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5),
        batch_size=16, epochs=2, every=2, averaging=0.5, checkpoint=folder, memory=MEMORY,
    )  # fmt: skip
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate(A) <= eq.positive_rate(~A) + 0.05])
    return eq.solve(problem, X, Y, attributes={"group": GROUP}, model=model)


def told(solution, path):
    states = [snapshot.states()[0]["0.weight"].numpy() for snapshot in solution.record.snapshots]
    np.savez(path, s=np.array(states), r=solution.record.stacked("rates"), m=solution.record.stacked("multipliers"))


def life(folder, result, moment):
    """Live until a call is made, or until the end; whether the end came."""
    child = os.fork()
    if child == 0:
        count = 0

        def counted(frame, event, argument):
            nonlocal count
            count += 1
            if count == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(counted)
        solution = fitted(folder)
        sys.setprofile(None)
        told(solution, result)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"a life ended by itself: {status}")
    return os.WIFEXITED(status)


def main():
    draws = np.random.default_rng(int(sys.argv[1]))
    with tempfile.TemporaryDirectory() as place:
        alone, resumed = Path(place, "alone.npz"), Path(place, "resumed.npz")
        calls = 0

        def counted(frame, event, argument):
            nonlocal calls
            calls += 1

        told(fitted(None), alone)
        for _ in range(2):  # what keeping and resuming import is imported before anybody is forked
            fitted(Path(place, "warm"))
        sys.setprofile(counted)
        fitted(Path(place, "counted"))
        sys.setprofile(None)
        kills = 0
        while kills < 20:
            folder = Path(place, f"run-{kills}")
            while kills < 20 and not life(folder, resumed, int(draws.integers(1, calls))):
                kills += 1
            if not resumed.exists():
                life(folder, resumed, 10**12)
            with np.load(alone) as one, np.load(resumed) as other:
                if not all(np.array_equal(one[name], other[name]) for name in one.files):
                    print("differs", kills)
                    return
            resumed.unlink()
        print("same", kills)


if __name__ == "__main__":
    main()
