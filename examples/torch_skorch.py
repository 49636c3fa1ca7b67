"""`RateGame` inside a skorch network: the targets are row numbers, the loss is the game's."""

import numpy as np
import skorch
import torch

import equirate as eq
from equirate.torch import RateGame

rng = np.random.default_rng(0)
torch.manual_seed(0)
X = rng.normal(size=(1000, 5)).astype(np.float32)
group = rng.choice(["a", "b"], size=1000)
y = (X[:, 0] + X[:, 1] + 0.5 * (group == "a") + 0.5 * rng.normal(size=1000) > 0.5).astype(int)

a = eq.attr("group") == "a"
problem = eq.Problem(eq.minimize(eq.error_rate()), [abs(eq.positive_rate(a) - eq.positive_rate(~a)) <= 0.03])
game = RateGame(problem, y, attributes={"group": group}, held_out=0.25)  # judged on rows that it is not trained on


class Rates(torch.nn.Module):
    """The game as a criterion."""

    def forward(self, scores, index):
        """The loss of a batch."""
        return game(scores, index)


class Play(skorch.callbacks.Callback):
    """Lets the multipliers move after every batch, and records the module after every epoch."""

    def on_batch_end(self, net, training=False, **_):
        """A batch is done."""
        if training:
            game.step()

    def on_epoch_end(self, net, **_):
        """An epoch is done."""
        game.snapshot(net.module_)


net = skorch.NeuralNet(
    lambda: torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)),
    criterion=Rates,
    optimizer=torch.optim.Adam,
    lr=0.01,
    batch_size=64,
    max_epochs=10,
    iterator_train__shuffle=True,
    train_split=None,
    callbacks=[Play()],
    verbose=0,
)
net.fit(X, np.arange(len(X)))  # row numbers in the place of labels
classifier = game.finish(net.module_, X)
print(game.status)
print(classifier.evaluate(problem, X, y, attributes={"group": group}))
