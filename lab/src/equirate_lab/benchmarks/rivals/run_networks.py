"""A two-layer network on batches under one equal-opportunity constraint, in cooper or in fairret.

Run by the interpreter that has the rival and PyTorch. cooper: cross-entropy, with the hinge bound of how far the true
positive rate of the group lies below the others' on the batch, and its multiplier updated by the batch's own rate.
fairret: cross-entropy plus the norm loss of the true positive rates on the batch. The request ``{"do": "train",
"batch": ..., "epochs": ..., "seed": ...}`` answers the processor's seconds, and writes decisions on the test rows.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np


def prepare(job: dict[str, Any], data: dict[str, Any], folder: Path) -> Any:
    """Put the data into tensors and return what answers requests."""
    import torch

    torch.set_num_threads(1)
    X, y, group = (torch.from_numpy(data[name]) for name in ("X", "y", "group"))
    labels, women = y.float(), group.bool()
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    make = _cooper if job["rival"] == "cooper" else _fairret

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        torch.manual_seed(request["seed"])
        layers = torch.nn.Linear(X.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU()
        model = torch.nn.Sequential(*layers, torch.nn.Linear(64, 1))
        step = make(torch, model, job["margin"], bce)
        begin = time.process_time()
        for _ in range(request["epochs"]):
            for index in torch.split(torch.randperm(len(X)), request["batch"]):
                step(X[index], labels[index], women[index])
        seconds = time.process_time() - begin
        with torch.no_grad():
            decided = model(torch.from_numpy(data["X_test"]))[:, 0] > 0
        np.savez(folder / "decided.npz", decided=decided.numpy())
        return {"seconds": seconds}

    return answer


def _fairret(torch: Any, model: Any, margin: float, bce: Any) -> Any:
    from fairret.loss import NormLoss  # type: ignore[import-not-found,unused-ignore]
    from fairret.statistic import TruePositiveRate  # type: ignore[import-not-found,unused-ignore]

    penalty = NormLoss(TruePositiveRate())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step(inputs: Any, labels: Any, women: Any) -> None:
        scores = model(inputs)
        sensitive = torch.stack([women, ~women], dim=1).float()
        loss = bce(scores[:, 0], labels) + penalty(scores, sensitive, labels[:, None])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _cooper(torch: Any, model: Any, margin: float, bce: Any) -> Any:
    import cooper  # type: ignore[import-not-found,unused-ignore]

    class Problem(cooper.ConstrainedMinimizationProblem):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.opportunity = cooper.Constraint(
                multiplier=cooper.multipliers.DenseMultiplier(num_constraints=1),
                constraint_type=cooper.ConstraintType.INEQUALITY,
                formulation_type=cooper.formulations.Lagrangian,
            )

        def compute_cmp_state(self, inputs: Any, labels: Any, women: Any) -> Any:
            scores = model(inputs)[:, 0]
            ours, others = labels * women, labels * ~women
            shares = [part / part.sum().clamp(min=1) for part in (ours, others)]
            bound = shares[1] @ torch.relu(1 + scores) - shares[0] @ (1 - torch.relu(1 - scores)) - margin
            with torch.no_grad():
                exact = (shares[1] - shares[0]) @ (scores > 0).float() - margin
            state = cooper.ConstraintState(violation=bound[None], strict_violation=exact[None])
            return cooper.CMPState(loss=bce(scores, labels), observed_constraints={self.opportunity: state})

    problem = Problem()
    optimizer = cooper.optim.SimultaneousOptimizer(
        cmp=problem,
        primal_optimizers=torch.optim.Adam(model.parameters(), lr=1e-3),
        dual_optimizers=torch.optim.SGD(problem.dual_parameters(), lr=1e-2, maximize=True),
    )

    def step(inputs: Any, labels: Any, women: Any) -> None:
        optimizer.roll(compute_cmp_state_kwargs={"inputs": inputs, "labels": labels, "women": women})

    return step


if __name__ == "__main__":
    from serve import serve  # type: ignore[import-not-found,unused-ignore]

    serve(prepare)
