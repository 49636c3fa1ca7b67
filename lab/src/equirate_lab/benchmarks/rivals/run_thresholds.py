"""Thresholds by group on given scores: error-parity and OxonFair; each run by its own interpreter.

Request: ``{"method": "error_parity", "kind": "odds", "level": 0.05}`` chooses thresholds on the training rows and
stores the probability of predicting 1 of each test row in ``METHOD.npz``. The answer has the seconds of processor time
that choosing took, or the reason why it failed. Both the time and the memory of an answer are limited by the job.
"""

import resource
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

DRAWS = 20
"""The mean of so many random predictions stands for the probability of predicting 1."""


def error_parity(data: dict[str, Any], kind: str, level: float) -> Any:
    """A randomised threshold for each group by linear programming."""
    from error_parity import RelaxedThresholdOptimizer  # type: ignore[import-not-found,unused-ignore]

    names = {"dp": "demographic_parity", "tpr": "true_positive_rate_parity", "odds": "equalized_odds"}
    chosen = RelaxedThresholdOptimizer(
        predictor=lambda scores: np.asarray(scores)[:, 0],
        constraint=names[kind],
        tolerance=level,
        false_pos_cost=1,
        false_neg_cost=1,
        seed=0,
    )
    chosen.fit(X=data["train_X"], y=data["train_y"], group=data["train_group"])
    return lambda: np.mean([chosen.predict(data["test_X"], group=data["test_group"]) for _ in range(DRAWS)], axis=0)


def oxonfair(data: dict[str, Any], kind: str, level: float) -> Any:
    """A threshold for each group by search on a grid."""
    import oxonfair as ox  # type: ignore[import-not-found,unused-ignore]

    measures = {
        "dp": ox.group_metrics.demographic_parity,
        "tpr": ox.group_metrics.equal_opportunity,
        "odds": ox.group_metrics.equalized_odds,
    }

    def scored(part: str) -> dict[str, Any]:
        scores = data[f"{part}_X"][:, 0]
        both = np.stack([1 - scores, scores], axis=1)
        return {"target": data[f"{part}_y"], "data": both, "groups": data[f"{part}_group"]}

    fair = ox.FairPredictor(None, scored("train"))
    fair.fit(ox.group_metrics.accuracy, measures[kind], level)
    return lambda: fair.predict(scored("test"))


METHODS = {"error_parity": error_parity, "oxonfair": oxonfair}


def prepare(job: dict[str, Any], data: dict[str, Any], folder: Path) -> Any:
    """Return what answers requests."""
    warnings.simplefilter("ignore")

    def stop(*_: Any) -> None:
        raise TimeoutError(f"not done after {job['limit']} s of processor time")

    signal.signal(signal.SIGPROF, stop)

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        begin = time.process_time()
        most = int(job["memory"]) * 10**9
        before = resource.getrlimit(resource.RLIMIT_AS)
        signal.setitimer(signal.ITIMER_PROF, job["limit"])
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
        try:
            decide = METHODS[request["method"]](data, request["kind"], float(request["level"]))
            seconds = time.process_time() - begin
        except MemoryError:
            return {"error": f"needs more than {job['memory']} GB"}
        except Exception as error:  # a rival that fails is reported as such
            return {"error": f"{type(error).__name__}: {error}"[:200]}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            resource.setrlimit(resource.RLIMIT_AS, before)
        np.savez(folder / f"{request['method']}.npz", test=np.asarray(decide(), dtype=float))
        return {"seconds": seconds}

    return answer


if __name__ == "__main__":
    from serve import serve  # type: ignore[import-not-found,unused-ignore]

    serve(prepare)
