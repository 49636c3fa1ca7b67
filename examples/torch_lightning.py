"""`RateGame` inside a LightningModule: batches are (inputs, row numbers)."""

import lightning
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

import equirate as eq
from equirate.torch import RateGame

rng = np.random.default_rng(0)
torch.manual_seed(0)
X = torch.from_numpy(rng.normal(size=(2000, 5)).astype(np.float32))
group = np.where(rng.random(2000) < 0.04, "rare", "other")
y = (X[:, 0].numpy() + 0.5 * (group == "rare") + 0.5 * rng.normal(size=2000) > 0.5).astype(int)

rare = eq.attr("group") == "rare"
problem = eq.Problem(eq.maximize(eq.g_mean()), [eq.positive_rate(rare) <= eq.positive_rate(~rare) + 0.1])
game = RateGame(problem, y, attributes={"group": group})  # a quarter of the rows is held out, to judge on


class Network(lightning.LightningModule):
    """A module whose loss is the game's."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

    def forward(self, inputs):
        """One score per example."""
        return self.layers(inputs)

    def training_step(self, batch, number):
        """The loss of a batch."""
        inputs, index = batch
        return game(self(inputs), index)

    def on_train_batch_end(self, *_):
        """After the optimiser's step."""
        game.step()

    def on_train_epoch_end(self):
        """Record the layers."""
        game.snapshot(self.layers)

    def configure_optimizers(self):
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=0.01)


rows = TensorDataset(X, torch.arange(len(X)))
loader = DataLoader(rows, batch_sampler=game.sampler(64))  # rare rows in every batch
network = Network()
trainer = lightning.Trainer(
    max_epochs=6, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False, use_distributed_sampler=False,
)  # fmt: skip
trainer.fit(network, loader)
classifier = game.finish(network.layers, X)
print(game.status)
print(classifier.evaluate(problem, X, y, attributes={"group": group}))
