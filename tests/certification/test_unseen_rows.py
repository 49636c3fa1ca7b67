"""What is certified is tested on rows that nothing was trained on: labels that features say nothing about tell."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import equirate as eq

N = 300
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 8)).astype(np.float32), RNG.integers(0, 2, N)


def boosted() -> dict[str, Any]:
    pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    from equirate.boosting import BoostedTrees

    return {"model": BoostedTrees(begin=10, n_jobs=1), "n_rounds": 10}


def network(**settings: Any) -> dict[str, Any]:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from equirate.torch import TorchModel

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 200), torch.nn.ReLU(), torch.nn.Linear(200, 1))
    return {"model": TorchModel(module, learning_rate=0.05, batch_size=64), **settings}


MODELS: dict[str, Callable[[], dict[str, Any]]] = {
    "linear": dict,
    "plug-in": lambda: {"model": eq.models.PlugIn(LogisticRegression())},
    "game on two sets": lambda: {"algorithm": "surrogate", "two_sets": True, "validation": 0.4, "n_rounds": 30},
    "boosted trees": boosted,
    "network": lambda: network(n_rounds=20),
    "network that ends early, nothing held out": lambda: network(n_rounds=40, validation=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_noise_is_not_certified(name: str) -> None:
    settings = MODELS[name]()
    wanted = eq.accuracy() >= 0.55
    clf = eq.RateClassifier(eq.maximize(eq.recall()), [wanted], confidence=0.9, random_state=0, **settings)
    with pytest.warns(eq.NotSolvedWarning):
        clf.fit(X, Y)
    assert clf.status_.certified is False
    assert clf.certification_.constraints[0].left == pytest.approx(0.5, abs=0.09)  # three standard errors
