"""
Your own training loop
======================

:class:`~equirate.torch.RateGame` is a loss for a PyTorch loop. It keeps the denominators of all rows, so a batch
without a group is no problem. Here a small network maximises F1 under a constraint on recall.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import equirate as eq
from equirate.torch import RateGame

torch.set_num_threads(1)
rng = np.random.default_rng(0)
torch.manual_seed(0)
n = 4000
sex = rng.choice(["women", "men"], n)
X = torch.from_numpy(rng.normal(size=(n, 5)).astype(np.float32))
y = (X[:, 0] ** 2 + X[:, 1] + torch.from_numpy(0.9 * (sex == "men") + rng.normal(size=n)) > 1).int()
people = {"sex": sex}
women = eq.attr("sex") == "women"
gap = eq.recall(~women) - eq.recall(women)
problem = eq.Problem(eq.maximize(eq.f1()), [abs(gap) <= 0.02])

# %%
# The loop
# --------
# ``game(scores, index)`` is an ordinary loss, and ``game.step()`` moves the multipliers.
module = torch.nn.Sequential(torch.nn.Linear(5, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
game = RateGame(problem, y, attributes=people, held_out=0.25)
course = []
for _epoch in range(15):
    for index in torch.randperm(n).split(64):
        loss = game(module(X[index]), index)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        game.step()
    game.snapshot(module)
    with torch.no_grad():
        decided = (module(X)[:, 0] > 0).int().numpy()
    course.append((eq.f1().evaluate(y.numpy(), decided), gap.evaluate(y.numpy(), decided, attributes=people)))

classifier = game.finish(module, X)  # the best mixture of the snapshots
print(game.status)

# %%
# The network after each epoch, and the mixture at the end
# --------------------------------------------------------
f1, gaps = np.array(course).T
p = classifier.positive_probability(X)
fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.4))
final = (eq.f1().evaluate(y.numpy(), p), gap.evaluate(y.numpy(), p, attributes=people))
for ax, values, last, title in zip(axes, (f1, gaps), final, ("F1", "recall of men less that of women"), strict=True):
    ax.plot(np.arange(1, len(values) + 1), values, "o-", label="network after the epoch")
    ax.axhline(last, color="tab:green", label="mixture of the snapshots")
    ax.set(xlabel="epoch", title=title)
axes[1].axhline(0.02, color="tab:red", linestyle=":", label="asked for: within 0.02")
axes[1].axhline(-0.02, color="tab:red", linestyle=":")
axes[1].legend()
