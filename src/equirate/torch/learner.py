"""The networks of a run with their rows: the learner of the game, which trains on batches.

A round is `answer`, which returns sums of the predictions and stores the request, and `advance`, which takes the
optimisers' steps on the batches of the round. The sums are those of the latest predictions of all rows (`Ledger`); in a
recorded round all rows are scored, and the sums are exact.

`step` is one batch: forward, slope, backward, gradients of several processes added up, move. All processes draw the
same batches of all rows and train on those rows of a batch that are theirs (`sharing`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from .._core.seeds import stream
from ..models.contract import Array, Choice, Learner
from ..models.members import Members
from ..models.messages import Asked, Seen
from ..models.rows import Batch, Rows
from .adjusting import adjusted, partners
from .inputs import Loaded, device_of, dtype_of, embeds, input_count, inputs_of
from .keeping import NetworkCheckpoints
from .ledger import Ledger
from .members import BLOCK, TorchMembers, made_by, members_of
from .network import Network
from .sampling import Batches, Strata
from .sharing import ProcessShare, of_all_rows
from .snapshots import Shelf, Snapshot, size_of

if TYPE_CHECKING:
    from .model import TorchModel

Index = NDArray[np.int64]


class TorchLearner(Learner):
    """One network per configuration; all of them are trained on the same batches."""

    alike = False

    def __init__(self, setting: TorchModel, rows: Rows, seeds: Sequence[int]) -> None:
        self.setting, self.rows = setting, rows
        modules = [made_by(setting.module, seed) for seed in seeds]
        self.device = device_of(modules[0], setting.device)
        self.inputs = inputs_of(
            rows.X, len(rows), self.device, dtype_of(modules[0]), embeds(modules[0]), input_count(modules[0])
        )
        self.share = ProcessShare(rows.shared, len(rows))
        if rows.shared.size > 1 and isinstance(self.inputs, Loaded):
            raise AlgorithmError("networks whose rows several processes share take arrays, not a DataLoader")
        if rows.shared.keeps and setting.checkpoint is None:
            raise AlgorithmError(
                "a network keeps itself: give its folder as TorchModel(checkpoint=...), not as "
                "processes(checkpoints=...)"
            )
        self.strata = setting.strata(rows.trained)
        self.every = setting.batches(self.strata)
        self.feed = self._feed(seeds[0])
        drawn = not isinstance(self.inputs, Loaded)
        factors = self.share.part(self.strata.factors(self.share.total)) if drawn else self._loaded_factors()
        self.trained = rows.trained.weighing(rows.trained.weights * factors)
        """Cells with the weight of each row times the rows that it stands for in a batch."""
        self.weights = self.trained.weights.astype(np.float32)
        self.measured = np.flatnonzero(rows.cells.weights > 0)
        self.held_out = Batches(self._held_out_strata(), stream("batches", seeds[0] + 1)) if self._two_sets else None
        epoch = self.strata.batches / self.every
        keep = None if not setting.averaging else math.exp(-1 / max(setting.averaging * epoch, 1e-9))
        optimizer = setting.optimizer or default_optimizer(setting.learning_rate)
        amp = setting.amp if isinstance(setting.amp, torch.dtype) else torch.bfloat16 if setting.amp else None
        self.networks = [
            Network(module, optimizer, setting.scheduler, self.device, amp, setting.compiled, keep)
            for module in modules
        ]
        self.module = self.networks[0].module
        """A module with the architecture of all networks, which may all be dropped when they have converged."""
        self.share.synchronise(self.networks)
        self.ledger = Ledger(rows.cells, len(modules))
        self.keeper: NetworkCheckpoints | None = None
        if setting.checkpoint is not None:
            self.keeper = NetworkCheckpoints(setting.checkpoint, self)
        self.shelf = Shelf(setting.memory, setting.folder, None if self.keeper is None else self.keeper.folder)
        self.budget = self.shelf.budget(len(modules) * size_of(modules[0].state_dict()))
        self.steps = 0
        self.asked: list[Asked] = []
        self.costs: list[NDArray[np.float32] | None] = []
        self.pairs = partners(rows.trained) if setting.logit_adjusted else None
        self._random = torch.Generator().manual_seed(int(stream("network", seeds[0]).integers(2**62))).get_state()
        self.failed = ""

    # -- a round --------------------------------------------------------------------------------------

    def answer(self, asked: Asked) -> Seen:
        """Store the request, and return the sums: exact in a recorded round, else of the latest predictions."""
        if not self.ledger.complete or not self.setting.remember:
            self._score_rows(averaged=False)
        self.asked = [adjusted(asked.column(c), self.rows.trained, self.pairs) for c in range(len(self.networks))]
        self.costs = [_costs(one) for one in self.asked]
        if asked.respond:
            for _ in range(max(self.strata.batches // self.every, 1)):
                self.advance(np.ones(len(self.networks)))
        if not (asked.recorded or asked.bounded or asked.respond):
            (sums,) = self.rows.reduce(self.ledger.estimate())
            return Seen(sums)
        scores = self._score_rows(averaged=asked.recorded)
        seen = asked.seen(Batch(None, cells=self.rows.cells, trained=self.rows.trained, rows=slice(None)), scores)
        return seen.of_parts(self.rows.reduce(*seen.parts()))

    def advance(self, rate: Array) -> None:
        """Train on the batches of a round; the steps are the optimisers' own."""
        with self._own_random():
            for _ in range(self.every):
                self.step(*next(self.feed))
                if self.steps % self.strata.batches == 0:
                    for network in self.networks:
                        network.end_epoch()
            if self.held_out is not None and self.setting.remember:
                self._measure_held_out(self.held_out)
        for network in self.networks:
            network.end_round()

    def step(self, inputs: Any, index: Index) -> None:
        """One batch: forward, slope, backward, move, and store the predictions."""
        self.steps += 1
        for c, network in enumerate(self.networks):
            if not network.finite:
                continue
            scores = network.forward(inputs, len(index)) if len(index) else None
            shown = np.zeros(0, np.float32) if scores is None else scores.detach().float().cpu().numpy()
            if self.rows.shared.some(not np.isfinite(shown.sum())):
                self._stopped(c)
                continue
            if scores is None:  # this process has no row of the batch
                network.optimizer.zero_grad(set_to_none=True)
            else:
                network.backward(scores, self._slope(c, shown, index))
            self.share.add(network)
            network.move()
            if self.setting.remember:
                self.ledger.remember(c, index, shown > 0)

    def _slope(self, c: int, scores: NDArray[np.float32], index: Index) -> NDArray[Any]:
        """Gradient with respect to the scores of a batch: `Asked.slope`, shorter where net costs are all it needs."""
        asked, costs = self.asked[c], self.costs[c]
        if costs is None:
            batch = Batch(None, cells=self.rows.cells, trained=self.trained.batch(index), rows=index)
            return asked.slope(batch, scores[:, None])[:, 0]
        cost = costs.take(self.trained.index.take(index))
        cost *= self.weights.take(index)
        return asked.surrogate.net_slope(scores, cost)

    def _stopped(self, c: int) -> None:
        """A network's scores are NaN: continue with the others; if there are none, raise an error."""
        self.networks[c].finite = False
        epoch = (self.steps - 1) // self.strata.batches + 1
        self.failed = f"step {self.steps} (epoch {epoch})"
        if any(network.finite for network in self.networks):
            return
        checkpoint = "" if self.keeper is None else f"; {self.keeper.describe()}"
        raise AlgorithmError(
            f"the network's scores became NaN or infinite at {self.failed}: take a smaller learning rate, scale the "
            f"features, or clip the gradients in the optimiser{checkpoint}"
        )

    # -- measuring ------------------------------------------------------------------------------------

    def _score_rows(self, averaged: bool) -> NDArray[np.float64]:
        """Score all rows that count exactly: (rows, configurations); others keep 0."""
        scores = np.zeros((len(self.rows), len(self.networks)))
        average = averaged and bool(self.setting.averaging)
        for c, network in enumerate(self.networks):
            scores[self.measured, c] = network.measure(self.inputs, self.measured, BLOCK, average)
        if not average or not self.ledger.complete:
            self.ledger.replace(scores > 0)
        return scores

    def _measure_held_out(self, batches: Batches) -> None:
        """Score rows that are not trained on: as many batches of them as were trained on in this round, at once."""
        rows = self.share.local(np.concatenate([batches.take() for _ in range(self.every)]))
        for c, network in enumerate(self.networks):
            scores = network.measure(self.inputs, rows, BLOCK, averaged=False)
            self.ledger.remember(c, rows, scores > 0)

    # -- batches --------------------------------------------------------------------------------------

    @property
    def _two_sets(self) -> bool:
        """Whether rows are measured that are not trained on."""
        return self.rows.shared.some(((self.rows.trained.weights == 0) & (self.rows.cells.weights > 0)).any())

    def _held_out_strata(self) -> Strata:
        """Strata of the rows that are only measured: one pass over them takes as long as one over the training rows."""
        held = of_all_rows(
            self.rows.cells.weighing(np.where(self.rows.trained.weights > 0, 0.0, self.rows.cells.weights))
        )
        size = math.ceil(int((held.weights > 0).sum()) / self.strata.batches)
        return Strata.of(held, size, 0)

    def _feed(self, seed: int) -> Iterator[tuple[Any, Index]]:
        if isinstance(self.inputs, Loaded):
            if self.setting.checkpoint is not None:
                raise AlgorithmError(
                    "a checkpoint needs arrays or a Dataset in the place of a DataLoader, whose own place is not known"
                )
            self.batches = None
            return self._loaded(self.inputs)
        self.batches = Batches(self.strata, stream("batches", seed))
        return self._drawn(self.batches)

    def _drawn(self, batches: Batches) -> Iterator[tuple[Any, Index]]:
        while True:
            rows = self.share.local(batches.take())
            yield self.inputs.take(rows) if len(rows) else None, rows

    def _loaded(self, inputs: Loaded) -> Iterator[tuple[Any, Index]]:
        while True:
            empty = True
            for batch, rows in inputs.batches():
                empty = False
                yield batch, rows
            if empty:
                raise AlgorithmError(
                    "the loader gave no batch: it must be one that can be gone through again and again"
                )

    def _loaded_factors(self) -> Array:
        """Number of rows that each row of a loader's batch represents."""
        loader: Any = self.inputs.loader  # type: ignore[attr-defined]  # these inputs are a loader's
        return np.full(len(self.rows), len(self.rows) / (loader.batch_size or self.strata.size))

    # -- other methods of the contract ------------------------------------------------------------------

    @contextmanager
    def _own_random(self) -> Iterator[None]:
        """Dropout draws from the run's own generator, so that runs are reproducible and torch's state is unchanged."""
        outside = torch.get_rng_state()
        torch.set_rng_state(self._random)
        try:
            yield
        finally:
            self._random = torch.get_rng_state()
            torch.set_rng_state(outside)

    def snapshot(self) -> Snapshot:
        """Copy the parameters that decide."""
        return self.shelf.put([network.shown() for network in self.networks])

    def start_from(self, snapshot: Snapshot) -> None:
        """Load the parameters of a snapshot."""
        states = snapshot.states()
        if len(states) != len(self.networks):
            raise AlgorithmError(
                f"cannot continue: the earlier play has {len(states)} networks, this one {len(self.networks)}"
            )
        for network, state in zip(self.networks, states, strict=True):
            network.module.load_state_dict(state)

    def state(self) -> dict[str, Any]:
        """Networks, optimisers, ledger, batches and random numbers."""
        return {
            "networks": [network.state() for network in self.networks],
            "ledger": self.ledger.state(),
            "batches": None if self.batches is None else self.batches.state(),
            "apart": None if self.held_out is None else self.held_out.state(),
            "random": self._random.clone(),
            "steps": self.steps,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Restore everything."""
        for network, part in zip(self.networks, state["networks"], strict=True):
            network.resume(part)
        self.ledger.resume(state["ledger"])
        for stream_, part in ((self.batches, state["batches"]), (self.held_out, state["apart"])):
            if stream_ is not None:
                stream_.resume(part)
        self._random, self.steps = state["random"].clone(), state["steps"]

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other networks."""
        self.networks = [self.networks[c] for c in columns]
        self.ledger.keep(columns)

    def finite(self) -> NDArray[np.bool_]:
        """Networks whose scores and parameters are finite."""
        return np.array([network.finite and _is_finite(network) for network in self.networks], dtype=bool)

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """The recorded networks."""
        return self._members([(snapshots[t], c) for t, c in chosen])

    def average(self, snapshots: Sequence[Any], chosen: Sequence[Choice], weights: Array) -> Members:
        """The network with averaged parameters, which makes sense if all are from one run."""
        states = [snapshots[t].states()[c] for t, c in chosen]
        mean = {
            name: sum((w * state[name].double() for w, state in zip(weights, states, strict=True)), torch.zeros(())).to(
                tensor.dtype
            )
            if tensor.is_floating_point()
            else tensor
            for name, tensor in states[-1].items()
        }
        return self._members([mean])

    def _members(self, states: Sequence[Any]) -> TorchMembers:
        return members_of(self.module, states, self.device)

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """Score the rows and sum over cells."""
        return lambda members: rows.cells.sums(members.decide(rows.X))


def default_optimizer(rate: float) -> Callable[[Any], Any]:
    """Adam."""
    return lambda parameters: torch.optim.Adam(parameters, lr=rate)


def _costs(asked: Asked) -> NDArray[np.float32] | None:
    """Costs per cell of one configuration, where the slope depends on nothing else."""
    if type(asked) is not Asked or not asked.net or asked.losses:
        return None
    return asked.costs[:, 0].astype(np.float32)


def _is_finite(network: Network) -> bool:
    return all(bool(torch.isfinite(p).all()) for p in network.module.parameters())
