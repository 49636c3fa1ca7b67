"""Checkpoints: a run that was killed ends as if it had never stopped; what does not fit is refused."""

import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

import equirate as eq
from equirate.torch import TorchModel
from equirate.torch.keeping import read_tensors

rng = np.random.default_rng(2)
X = rng.normal(size=(300, 2)).astype(np.float32)
Y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int)
PROBLEM = eq.Problem(eq.maximize(eq.g_mean()), [eq.positive_rate() <= 0.4])


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))


def run(folder, X=X, problem=PROBLEM, progress=None, **settings):
    model = TorchModel(network, **{"batch_size": 32, "epochs": 5, "checkpoint": folder, **settings})
    return eq.solve(problem, X, Y, model=model, progress=progress)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="lives are forked")
def test_killed_at_twenty_random_moments_and_resumed_it_is_the_same_classifier(tmp_path):
    command = [sys.executable, str(Path(__file__).parent / "killed.py"), "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.split() == ["same", "20"], done.stderr[-3000:]
    assert not list(tmp_path.glob("equirate-*"))  # networks that were not kept yet were in the folder of the checkpoint


class StopError(Exception):
    pass


def stopping_at(number):
    """A progress callback that fails at the number-th recorded round."""
    seen = []

    def progress(moment):
        seen.append(moment.round)
        if len(seen) == number:
            raise StopError

    return progress


def temporary(folder):
    gc.collect()
    return [*folder.rglob("equirate-*"), *folder.rglob("unkept-*")]


@pytest.mark.parametrize("kept", [False, True])
def test_no_temporary_folder_is_left_after_a_run_or_a_failure(tmp_path, monkeypatch, kept):
    system, checkpoint = tmp_path / "tmp", tmp_path / "checkpoint" if kept else None
    system.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(system))
    solution = run(checkpoint, memory=1000)
    (folder,) = temporary(tmp_path)
    assert folder.parent == (checkpoint or system)
    assert len(list(folder.iterdir())) == len(solution.record.snapshots) > 0
    del solution
    assert not temporary(tmp_path)
    with pytest.raises(StopError):
        run(tmp_path / "another" if kept else None, memory=1000, progress=stopping_at(3))
    assert not temporary(tmp_path)


def test_a_temporary_folder_of_a_killed_process_is_removed(tmp_path):
    left = tmp_path / "unkept-left"
    left.mkdir()
    (left / "snapshot-000001.safetensors").write_bytes(b"of a process that was killed")
    run(tmp_path)
    assert not left.exists()


def test_a_run_goes_on_and_one_that_is_over_is_not_played_again(tmp_path):
    whole = run(None)
    with pytest.raises(StopError):
        run(tmp_path, progress=stopping_at(4))
    rounds = []
    resumed = run(tmp_path, progress=lambda moment: rounds.append(moment.round))
    assert rounds[0] == resumed.record.rounds[3]  # the first three were kept
    np.testing.assert_array_equal(resumed.columns.rates, whole.columns.rates)
    np.testing.assert_array_equal(resumed.record.stacked("multipliers"), whole.record.stacked("multipliers"))
    rounds.clear()
    again = run(tmp_path, progress=lambda moment: rounds.append(moment.round))
    assert not rounds
    np.testing.assert_array_equal(again.columns.rates, whole.columns.rates)
    np.testing.assert_array_equal(again.polish().positive_probability(X), whole.polish().positive_probability(X))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"X": X + 1}, "features"),
        ({"problem": eq.Problem(eq.maximize(eq.g_mean()), [eq.positive_rate() <= 0.3])}, "problem"),
        ({"batch_size": 16}, "settings"),
        ({"optimizer": lambda p: torch.optim.SGD(p, lr=0.1)}, "settings"),
    ],
    ids=["features", "problem", "batch", "optimizer"],
)
def test_the_checkpoint_of_another_run_is_refused(tmp_path, change, what):
    with pytest.raises(StopError):
        run(tmp_path, progress=stopping_at(3))
    with pytest.raises(eq.FileError, match=f"another run .*{what}.*give another folder, or remove it"):
        run(tmp_path, **change)


def test_a_file_that_is_no_checkpoint_is_refused_and_executes_nothing(tmp_path):
    (tmp_path / "state.pt").write_bytes(b"nonsense")
    with pytest.raises(eq.FileError, match="cannot be read"):
        run(tmp_path)
    torch.save({"f": os.system}, tmp_path / "state.pt")
    with pytest.raises(eq.FileError, match="cannot be read"):
        read_tensors(tmp_path / "state.pt")
    torch.save({"version": 99}, tmp_path / "state.pt")
    with pytest.raises(eq.FileError, match="no checkpoint of this version"):
        run(tmp_path)


def test_a_loader_has_no_place_to_go_on_from(tmp_path):
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.from_numpy(X), torch.arange(300)), 32)
    with pytest.raises(eq.AlgorithmError, match="whose own place is not known"):
        run(tmp_path, X=loader)
