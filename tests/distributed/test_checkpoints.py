"""Checkpoints of processes: small, plain, whole or refused; from them a fit goes on to the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import equirate as eq
from equirate.storage.checkpoints import Folder, packed, unpacked

N = 600
rng = np.random.default_rng(4)
X = rng.normal(size=(N, 4))
GROUP = np.where(rng.random(N) < 0.4, "a", "b")
Y = (X[:, 0] + 0.5 * (GROUP == "a") + 0.6 * rng.normal(size=N) > 0.3).astype(int)
PROBLEM = eq.Problem(eq.maximize(eq.f1()), eq.demographic_parity("group", tolerance=0.05))


class StopError(Exception):
    pass


def solved(together, size=2, stop=None, problem=PROBLEM, levels=None, **settings):
    """What each process came to: the rounds that it recorded in this life, and all weights."""

    def work(rank):
        part, seen = slice(rank * N // size, (rank + 1) * N // size), []

        def progress(moment):
            seen.append(moment.round)
            if len(seen) == stop:
                raise StopError

        options = {"attributes": {"group": GROUP[part]}, "algorithm": "slack_ratios", "n_rounds": 60, "record_every": 5}
        solution = eq.solve(problem, X[part], Y[part], progress=progress, levels=levels, **options)
        return seen, solution.members().W, solution.record.stacked("multipliers")

    return together(size, work, **settings)


@pytest.mark.parametrize(("size", "levels"), [(1, None), (2, None), (2, [0.0, 0.1])], ids=["one", "two", "levels"])
def test_a_fit_goes_on_to_the_same_bits(together, tmp_path, size, levels):
    kept = {"place": Folder(tmp_path), "every": 0.0}
    whole, *_ = solved(together, size, levels=levels)
    for error in solved(together, size, stop=7, levels=levels, **kept):
        assert isinstance(error, (StopError, eq.ProcessError))
    for seen, weights, multipliers in solved(together, size, levels=levels, **kept):
        assert seen[0] == 35  # the round in which it stopped was not kept
        np.testing.assert_array_equal(weights, whole[1])
        np.testing.assert_array_equal(multipliers, whole[2])
    (head,) = tmp_path.glob("*head.checkpoint")
    assert head.stat().st_size < 32_768


def test_a_checkpoint_of_another_problem_is_not_taken(together, tmp_path):
    kept = {"place": Folder(tmp_path), "every": 0.0}
    solved(together, stop=7, **kept)
    for seen, *_ in solved(together, problem=eq.Problem(eq.maximize(eq.f1())), **kept):
        assert seen[0] == 5


@pytest.mark.parametrize(
    "spoil",
    [lambda content: content[: len(content) // 2], lambda content: content[:-40] + b"x" + content[-39:], lambda _: b""],
    ids=["cut", "changed", "empty"],
)
def test_a_damaged_checkpoint_is_refused_on_every_process(together, tmp_path, spoil):
    kept = {"place": Folder(tmp_path), "every": 0.0}
    solved(together, stop=7, **kept)
    (head,) = tmp_path.glob("*head.checkpoint")
    head.write_bytes(spoil(head.read_bytes()))
    for error in solved(together, **kept):
        with pytest.raises(eq.FileError, match=r"fit-1-play-1-head is no checkpoint: .*Remove it to begin anew"):
            raise error


def test_what_is_no_plain_data_is_refused(tmp_path):
    from equirate.distributed import processes

    tree = DecisionTreeClassifier(max_depth=2)
    with processes(checkpoints=tmp_path, every=0.0), pytest.raises(eq.FileError, match="without checkpoints"):
        eq.solve(eq.minimize(eq.error_rate()), X, Y, model=tree, algorithm="oracle", n_rounds=5, record_every=1)
    assert not list(tmp_path.iterdir())


def test_arrays_of_one_shape_are_kept_as_one():
    arrays = [np.full((2, 3), float(k)) for k in range(5000)] + [np.zeros(1, np.float32), np.ones(2, bool)]
    value = {"many": arrays, "none": None, "nan": float("nan"), "empty": [], "mixed": [1, arrays[0]]}
    back = unpacked(packed(value), "a test")
    np.testing.assert_equal(back, value)
    assert [part.dtype for part in back["many"][-2:]] == [np.float32, bool]
