"""Networks whose rows several processes share: all draw the same batches of all rows, and train on those they have.

In: the cells of the rows that are here, batches with numbers of all rows, gradients of a batch. Out: the cells of all
rows, the rows of a batch that are here, gradients added up. A batch then gives the gradient that it gives in one place,
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

    def here(self, rows: Index) -> Index:
        """Those of some rows, by number, that are here, by place."""
        if self.shared.size == 1:
            return rows
        return rows[(rows >= self.first) & (rows < self.first + self.count)] - self.first

    def part(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What belongs to the rows here of one value for each row."""
        return values[self.first : self.first + self.count]

    def alike(self, networks: list[Network]) -> None:
        """Begin with the parameters that process 0 has: a module is made by each process for itself."""
        if self.shared.size == 1:
            return
        for network in networks:
            network.module.load_state_dict(self.shared.first(network.module.state_dict()))

    def add(self, network: Network) -> None:
        """Add the gradients up."""
        if self.shared.size == 1:
            return
        trained = [p for p in network.module.parameters() if p.requires_grad]
        own = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        added = self.shared.add(*(gradient.detach().double().cpu().numpy() for gradient in own))
        for parameter, gradient in zip(trained, added, strict=True):
            parameter.grad = torch.from_numpy(np.array(gradient)).to(parameter.device, parameter.dtype)
