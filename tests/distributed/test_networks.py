"""Networks over processes: the same global batches and steps give the same scores."""

from __future__ import annotations

import numpy as np
import pytest

import equirate as eq

torch = pytest.importorskip("torch", reason="the extra distributed is not installed")

N = 600
rng = np.random.default_rng(2)
X = rng.normal(size=(N, 3)).astype(np.float32)
GROUP = np.sort(np.where(rng.random(N) < 0.3, "a", "b"))
Y = (X[:, 0] * X[:, 1] + 0.3 * (GROUP == "a") + 0.3 * rng.normal(size=N) > 0.1).astype(int)
PROBLEM = eq.Problem(eq.minimize(eq.error_rate()), eq.demographic_parity("group", tolerance=0.05))


def network():
    return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


@pytest.mark.parametrize("referee", [False, True], ids=["one set", "two sets"])
def test_networks_come_to_the_same_scores(together, referee):
    from equirate.torch import TorchModel

    def run(size):
        def work(rank):
            part = slice(rank * N // size, (rank + 1) * N // size)
            torch.manual_seed(rank)  # modules are made anew by each process, from other numbers
            model = TorchModel(network, learning_rate=0.01, batch_size=16, epochs=3)
            given = X[part], Y[part], {"group": GROUP[part]}
            options = {"referee": given} if referee else {}
            solution = eq.solve(PROBLEM, *given, model=model, **options)
            return solution, solution.members().scores(X)

        found = together(size, work)
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return found

    ((one, scores),) = run(1)
    for other, found in run(3):
        np.testing.assert_allclose(found, scores, atol=1e-4)
        np.testing.assert_allclose(other.rates, one.rates, atol=2 / N)
