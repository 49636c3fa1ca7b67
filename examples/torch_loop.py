"""A training loop of one's own: any module, any optimiser, rates instead of a loss."""

import numpy as np
import torch

import equirate as eq
from equirate.torch import RateGame

rng = np.random.default_rng(0)
torch.manual_seed(0)
X = torch.from_numpy(rng.normal(size=(2000, 5)).astype(np.float32))
sex = rng.choice(["Female", "Male"], size=2000)
y = (X[:, 0] ** 2 + X[:, 1] + torch.from_numpy(0.7 * (sex == "Male") + rng.normal(size=2000)) > 1).int()

women = eq.attr("sex") == "Female"
problem = eq.Problem(eq.maximize(eq.f1()), [eq.recall(women) >= eq.recall(~women) - 0.02])
# Rates have the denominators of all rows, whatever a batch has; a quarter of them is judged on, and not trained on.
game = RateGame(problem, y, attributes={"sex": sex}, held_out=0.25)

module = torch.nn.Sequential(torch.nn.Linear(5, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
for _ in range(10):
    for index in torch.randperm(2000).split(64):
        loss = game(module(X[index]), index)  # add other losses, or accumulate gradients, as with any loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        game.step()  # the multipliers move every few batches
    game.snapshot(module)

classifier = game.finish(module, X)  # the best mixture of the snapshots, by exact rates of the held-out rows
print(game.status)
print(classifier.evaluate(problem, X, y, attributes={"sex": sex}))
