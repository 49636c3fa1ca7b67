"""What the processes of a test do, started by torchrun or by hand: one fit, and what it came to as a file.

``python job.py FOLDER VICTIM ROUND``: the process VICTIM kills itself in that round of the first attempt.
"""

import hashlib
import json
import os
import signal
import sys

import numpy as np

import equirate as eq
from equirate.game import loop

N, ROUNDS = 1200, 120
rng = np.random.default_rng(11)
X = rng.normal(size=(N, 4))
GROUP = np.where(rng.random(N) < 0.4, "a", "b")
Y = (X[:, 0] + 0.5 * (GROUP == "a") + 0.6 * rng.normal(size=N) > 0.3).astype(int)


def estimator():
    constraints = eq.demographic_parity("group", tolerance=0.05)
    return eq.RateClassifier(
        eq.maximize(eq.f1()), constraints, algorithm="slack_ratios", n_rounds=ROUNDS, random_state=0, patience=3
    )


def fitted(rank, size):
    part = slice(rank * N // size, (rank + 1) * N // size)
    return estimator().fit(X[part], Y[part], sensitive_features={"group": GROUP[part]})


def digest(own):
    return hashlib.sha256(own.members_.W.tobytes() + own.weights_.tobytes()).hexdigest()


def main(folder, victim, fatal):
    from equirate.distributed import torchrun

    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    torchrun.EVERY, played, play = 0.0, [], loop.Game.round

    def counted(game, t, recorded):
        played.append(t)
        if (attempt, rank, t) == (0, victim, fatal):
            os.kill(os.getpid(), signal.SIGKILL)
        play(game, t, recorded)

    loop.Game.round = counted
    own = fitted(rank, size)
    told = {"digest": digest(own), "first": played[0], "attempt": attempt}
    with open(os.path.join(folder, f"{rank}.json"), "w") as file:
        json.dump(told, file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
