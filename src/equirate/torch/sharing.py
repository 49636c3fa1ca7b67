"""Networks whose rows several processes share: all draw the same batches, and train on their own rows of them.

In: the cells of this process's rows, batches of row numbers, gradients of a batch. Out: the cells of all rows, the rows
of a batch that this process has, summed gradients. The gradient of a batch is then the same as in a single process,
whoever has its rows. (Averages over equal shares of a batch, as DistributedDataParallel takes them, would not: rows are
weighed by their cells, and a process may have none of a batch.)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from .._core.peers import ALONE, Peers
from ..data.cells import Cells
from .network import Network

Index = NDArray[np.int64]


def of_all_rows(cells: Cells) -> Cells:
    """The same cells with the rows of all processes, those of process 0 first."""
    shared = cells.shared
    if shared.size == 1:
        return cells
    of, weights = zip(*shared.gather((cells.index, cells.weights)), strict=True)
    return replace(cells, index=np.concatenate(of), weights=np.concatenate(weights), shared=ALONE)


class ProcessShare:
    """The rows of this process among all."""

    def __init__(self, shared: Peers, count: int) -> None:
        self.shared, self.count = shared, count
        self.first, self.total = shared.places(count)

    def local(self, rows: Index) -> Index:
        """The given rows that this process has, as positions among its own rows."""
        if self.shared.size == 1:
            return rows
        return rows[(rows >= self.first) & (rows < self.first + self.count)] - self.first

    def part(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values of this process's rows."""
        return values[self.first : self.first + self.count]

    def synchronise(self, networks: list[Network]) -> None:
        """Start from the parameters of process 0: each process makes its own module."""
        if self.shared.size == 1:
            return
        for network in networks:
            network.module.load_state_dict(self.shared.first(network.module.state_dict()))

    def add(self, network: Network) -> None:
        """Sum the gradients over the processes."""
        if self.shared.size == 1:
            return
        trained = [p for p in network.module.parameters() if p.requires_grad]
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        added = self.shared.add(*(gradient.detach().double().cpu().numpy() for gradient in gradients))
        for parameter, gradient in zip(trained, added, strict=True):
            parameter.grad = torch.from_numpy(np.array(gradient)).to(parameter.device, parameter.dtype)
