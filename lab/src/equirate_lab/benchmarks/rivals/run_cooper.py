"""The smallest error under one equal-opportunity constraint in cooper; run by the interpreter that has it and PyTorch.

A linear model on all rows at once. The loss is the hinge bound of the error; the constraint is the hinge bound of how
far the protected group's true positive rate lies below the others', and cooper's multiplier is updated by the true
value (``strict_violation``). Model and multiplier are moved by Adam, at the same time (``SimultaneousOptimizer``).

Requests are those of ``run_tfco.py``.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np


def prepare(job: dict[str, Any], data: dict[str, Any], folder: Path) -> Any:
    """Put the data into tensors and return what plays one configuration."""
    import cooper  # type: ignore[import-not-found,unused-ignore]
    import torch

    torch.set_num_threads(int(job["threads"]))
    X, y = torch.from_numpy(data["X"]), torch.from_numpy(data["y"]).bool()
    group = torch.from_numpy(data["group"]).bool()
    sign = torch.where(y, 1.0, -1.0)
    ours, others = ((y & mask).float() / (y & mask).sum() for mask in (group, ~group))

    class Problem(cooper.ConstrainedMinimizationProblem):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.opportunity = cooper.Constraint(
                multiplier=cooper.multipliers.DenseMultiplier(num_constraints=1),
                constraint_type=cooper.ConstraintType.INEQUALITY,
                formulation_type=cooper.formulations.Lagrangian,
            )

        def compute_cmp_state(self, model: Any) -> Any:
            scores = model(X)[:, 0]
            loss = torch.relu(1 - sign * scores).mean()
            above, below = torch.relu(1 + scores), 1 - torch.relu(1 - scores)
            bound = others @ above - ours @ below - job["margin"]
            with torch.no_grad():
                exact = (others - ours) @ (scores > 0).float() - job["margin"]
            state = cooper.ConstraintState(violation=bound[None], strict_violation=exact[None])
            return cooper.CMPState(loss=loss, observed_constraints={self.opportunity: state})

    def play(configuration: tuple[float, float], rounds: int) -> tuple[float, list[Any]]:
        model = torch.nn.Linear(X.shape[1], 1)
        torch.nn.init.zeros_(model.weight)
        torch.nn.init.zeros_(model.bias)
        problem = Problem()
        optimizer = cooper.optim.SimultaneousOptimizer(
            cmp=problem,
            primal_optimizers=torch.optim.Adam(model.parameters(), lr=configuration[0]),
            dual_optimizers=torch.optim.Adam(problem.dual_parameters(), lr=configuration[1], maximize=True),
        )
        found = []
        begin = time.perf_counter()
        for t in range(1, rounds + 1):
            if t % job["record_every"] == 0:  # an iterate is what the round began with
                found.append(np.append(model.weight.detach().numpy()[0], model.bias.item()))
            optimizer.roll(compute_cmp_state_kwargs={"model": model})
        return time.perf_counter() - begin, found

    return play


if __name__ == "__main__":
    from serve import over_grid, serve  # type: ignore[import-not-found,unused-ignore]

    serve(over_grid(prepare))
