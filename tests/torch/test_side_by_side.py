"""Networks of several folds are one classifier, which is saved and gets its module back."""

import numpy as np
import torch

import equirate as eq
from equirate.models.side_by_side import concatenate_members
from equirate.torch import save
from equirate.torch.members import TorchMembers


def network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Linear(3, 1)


def test_networks_of_folds_are_read_back(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    folds = [TorchMembers(network(), (network(seed).state_dict(),)) for seed in (1, 2)]
    mixture = eq.Classifier(
        concatenate_members(folds), np.array([0.25, 0.75]), eq.Problem(eq.minimize(eq.error_rate()))
    )
    save(mixture, tmp_path / "model")
    back = eq.load(tmp_path / "model", module=network)
    np.testing.assert_array_equal(back.positive_probability(X), mixture.positive_probability(X))
