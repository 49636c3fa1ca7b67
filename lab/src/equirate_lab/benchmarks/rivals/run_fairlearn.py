"""Equalized odds by fairlearn's ``ExponentiatedGradient`` on logistic regression; run by the interpreter that has it.

Request: ``{"do": "fit", "solver": "liblinear"}`` fits on the training rows and gives the seconds of ``fit`` alone,
and stores the probability of predicting 1 of each part's rows in ``SOLVER.npz``. Everything is left as fairlearn has
it, but for the tolerance of the job and enough iterations for the solver to converge.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np


def prepare(job: dict[str, Any], data: dict[str, Any], folder: Path) -> Any:
    """Load the library and return what answers requests."""
    from fairlearn.reductions import (  # type: ignore[import-not-found,unused-ignore]
        EqualizedOdds,
        ExponentiatedGradient,
    )
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped,unused-ignore]

    X, y, group = (data[f"train_{name}"] for name in ("X", "y", "group"))
    limits = threadpool_limits(int(job["threads"]))

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        assert limits is not None  # holds as long as the answers are given
        model = ExponentiatedGradient(
            LogisticRegression(solver=request["solver"], max_iter=1000),
            EqualizedOdds(difference_bound=job["tolerance"]),
            eps=job["tolerance"],
        )
        np.random.seed(0)  # noqa: NPY002  # what liblinear draws from
        begin = time.perf_counter()
        model.fit(X, y, sensitive_features=group)
        seconds = time.perf_counter() - begin
        parts = {part: model._pmf_predict(data[f"{part}_X"])[:, 1] for part in ("train", "validation", "test")}
        np.savez(folder / f"{request['solver']}.npz", **parts)
        return {"seconds": seconds, "calls": int(model.n_oracle_calls_), "members": int((model.weights_ > 0).sum())}

    return answer


if __name__ == "__main__":
    from serve import serve  # type: ignore[import-not-found,unused-ignore]

    serve(prepare)
