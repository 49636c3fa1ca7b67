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


def networks(count):
    """One for each process, from other numbers; not made by the threads, which have one generator together."""
    found = []
    for seed in range(count):
        torch.manual_seed(seed)
        found.append(torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)))
    return found


@pytest.mark.parametrize("referee", [False, True], ids=["one set", "two sets"])
def test_networks_come_to_the_same_scores(together, referee):
    from equirate.torch import TorchModel

    def run(size):
        made = networks(size)

        def work(rank):
            part = slice(rank * N // size, (rank + 1) * N // size)
            model = TorchModel(made[rank], learning_rate=0.01, batch_size=16, epochs=3)
            given = X[part], Y[part], {"group": GROUP[part]}
            options = {"referee": given} if referee else {}
            solution = eq.solve(PROBLEM, *given[:2], attributes=given[2], model=model, **options)
            return solution, solution.members().scores(X)

        found = together(size, work)
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return found

    ((one, scores),) = run(1)
    for other, found in run(3):
        np.testing.assert_allclose(found, scores, atol=1e-4)
        np.testing.assert_allclose(other.columns.rates, one.columns.rates, atol=2 / N)


class StopError(Exception):
    pass


def kept(together, folder, stop=None):
    """Two processes with checkpoints; they stop at the recorded round of that number."""
    from equirate.torch import TorchModel

    made = networks(2)

    def work(rank):
        part, seen = slice(rank * N // 2, (rank + 1) * N // 2), []

        def progress(moment):
            seen.append(moment.round)
            if len(seen) == stop:
                raise StopError

        model = TorchModel(made[rank], learning_rate=0.01, batch_size=16, epochs=3, checkpoint=folder)
        given = X[part], Y[part], {"group": GROUP[part]}
        solution = eq.solve(PROBLEM, *given[:2], attributes=given[2], model=model, record_every=4, progress=progress)
        return seen, solution.columns.rates, solution.members().scores(X)

    return together(2, work)


def test_networks_go_on_from_the_last_round_that_all_have_kept(together, tmp_path):
    whole, _ = kept(together, None)
    assert len(whole[0]) > 5
    for error in kept(together, tmp_path, stop=4):
        assert isinstance(error, (StopError, eq.ProcessError))
    states = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.pt"))
    assert states == [f"process-{k}-of-2/{name}.pt" for k in (0, 1) for name in ("before", "state")]
    (tmp_path / "process-1-of-2" / "state.pt").unlink()  # as if it had been killed before it wrote the last one
    for seen, rates, scores in kept(together, tmp_path):
        assert seen[0] == whole[0][2]
        np.testing.assert_array_equal(rates, whole[1])
        np.testing.assert_array_equal(scores, whole[2])


def test_a_network_has_a_folder_of_its_own(tmp_path):
    from equirate.distributed import processes
    from equirate.torch import TorchModel

    with (
        processes(checkpoints=tmp_path),
        pytest.raises(eq.AlgorithmError, match=r"a network keeps itself: .*TorchModel\(checkpoint="),
    ):
        eq.solve(PROBLEM, X, Y, attributes={"group": GROUP}, model=TorchModel(networks(1)[0], epochs=1))
