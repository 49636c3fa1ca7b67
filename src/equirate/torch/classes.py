"""Networks for more than two classes: plug-in rules on softmax probabilities of rows that were not trained on.

In: a `TorchModel` whose module has a score for each class. Out: `NetworkPlugIn`, which trains the network by
cross-entropy without each fold and on all rows; rules and offsets are those of `models.class_plug_in`. Where the
problem has groups that are not looked up, a network with one more linear layer estimates them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from torch.func import functional_call

from .._core.errors import AlgorithmError, DataError, FileError
from .._core.rules import TEXT, Fields, ListOf, OneOf, Whole, maybe
from .._core.seeds import stream
from ..data.cells import Cells
from ..data.labels import MAX_CLASSES
from ..data.sample import Sample, count_rows
from ..models.capabilities import Capabilities
from ..models.class_plug_in import ClassPlugIn
from ..models.class_rules import ClassPlugInMembers
from ..models.cross_fitting import CrossFit, Fill, Fold, Trainer, parts_of, unequal_weights
from ..models.posterior import Posterior, Signatures
from .inputs import Inputs, Loaded, as_rows, device_of, dtype_of, embeds, input_count, inputs_of
from .learner import default_optimizer
from .members import DTYPES, MOST_PARAMETERS, TorchMembers, made_by, scored
from .model import TorchModel
from .network import Network
from .sampling import Batches
from .snapshots import copied

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def of_torch(model: TorchModel, n_classes: int) -> NetworkPlugIn:
    """Plug-in rules on the network's probabilities; refuses settings of the game of two classes."""
    for name in ("logit_adjusted", "checkpoint"):
        if getattr(model, name):
            raise AlgorithmError(f"{name} of TorchModel is for two classes, and y has {n_classes}: leave it out")
    return NetworkPlugIn(model, group_estimator=model)


@dataclass(frozen=True, eq=False)
class NetworkPlugIn(ClassPlugIn):
    """Plug-in rules on the softmax probabilities of a network; ``estimator`` is a `TorchModel`."""

    @property
    def capabilities(self) -> Capabilities:
        """First parameters, batches and dropout are drawn."""
        return replace(super().capabilities, random=True)

    def _features(self, sample: Sample, cells: Cells) -> Any:
        self.estimator.refuse_without_module()
        return sample.X

    def _filling(self, estimator: Any, X: Any, cells: Cells, fold: Fold, seed: int, labels: Fill | None = None) -> Fill:
        folds, unused = parts_of(fold)
        scores = None if labels is None else cells.n_classes
        trainer = NetworkTrainer(estimator, X, cells, folds, unused, seed, scores)
        return CrossFit(trainer, unequal_weights(cells))

    def _posterior(self, label: Any, groups: Any, signatures: Signatures, X: Any, n_classes: int) -> Posterior:
        return NetworkPosterior(label, groups, signatures, None, n_classes)


class NetworkTrainer(Trainer):
    """Trains networks by cross-entropy; with ``scores``, those for groups, with a linear layer on that many scores."""

    def __init__(
        self,
        setting: TorchModel,
        X: Any,
        cells: Cells,
        folds: Sequence[Index],
        rest: Index,
        seed: int,
        scores: int | None = None,
    ) -> None:
        super().__init__(setting, X, folds, rest)
        self.setting, self.cells, self.seed, self.scores = setting, cells, seed, scores
        module = made_by(setting.module, seed)
        self.device = device_of(module, setting.device)
        self.inputs = _inputs(X, module, self.device)
        if isinstance(self.inputs, Loaded):
            raise AlgorithmError(
                "networks of more than two classes are trained on folds of the rows, which a DataLoader does not give: "
                "give its Dataset, or arrays"
            )

    def _train(
        self, target: NDArray[Any], weights: Array | None, classes: int, fold: int | None
    ) -> tuple[Any, list[Array]]:
        train, tests = self.rows_without(fold)
        w = np.zeros(len(target))
        w[train] = 1.0 if weights is None else weights[train]
        seed = self.seed if fold is None else self.seed + 1 + fold
        model = self._fitted(target, w, classes, seed)
        return model, [model.chances(self.inputs, test) for test in tests]

    def _fitted(self, target: NDArray[Any], weights: Array, classes: int, seed: int) -> NetworkProbabilities:
        """Train on the rows with positive weight."""
        setting = self.setting
        strata = setting.strata(self.cells.weighing(weights))
        epochs, round_batches = setting.epoch_count(strata), setting.batches(strata)
        share = (weights * strata.factors(len(weights)) / weights.sum()).astype(np.float32)
        keep = (
            None if not setting.averaging else math.exp(-round_batches / max(setting.averaging * strata.batches, 1e-9))
        )
        amp = setting.amp if isinstance(setting.amp, torch.dtype) else torch.bfloat16 if setting.amp else None
        module = made_by(setting.module, self.seed)
        batches = Batches(strata, stream("batches", seed))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream("network", seed).integers(2**62)))
            module = module if self.scores is None else with_layer(module, self.scores, classes)
            optimizer = setting.optimizer or default_optimizer(setting.learning_rate)
            network = Network(module, optimizer, setting.scheduler, self.device, amp, setting.compiled, keep, classes)
            for step in range(1, epochs * strata.batches + 1):
                rows = batches.take()
                scores = network.forward(self.inputs.take(rows), len(rows))
                shown = scores.detach().float().cpu().numpy()
                if not np.isfinite(shown).all():
                    raise AlgorithmError(
                        f"the network's scores became NaN or infinite at step {step} (epoch "
                        f"{(step - 1) // strata.batches + 1}): take a smaller learning rate, scale the features, or "
                        "clip the gradients in the optimiser"
                    )
                slope = softmax(shown, axis=1)
                slope[np.arange(len(rows)), target[rows]] -= 1.0
                network.backward(scores, slope * share[rows, None])
                network.move()
                if step % round_batches == 0:
                    network.end_round()
                if step % strata.batches == 0:
                    network.end_epoch()
        members = TorchMembers(network.module.eval(), (copied(network.shown()),), str(self.device))
        return NetworkProbabilities(members, classes)


class WithLayer(torch.nn.Module):
    """A module with one more linear layer."""

    def __init__(self, module: torch.nn.Module, layer: torch.nn.Linear) -> None:
        super().__init__()
        self.module, self.layer = module, layer

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The layer of the module's scores."""
        return self.layer(self.module(*inputs, **named))


def with_layer(module: torch.nn.Module, scores: int, classes: int) -> WithLayer:
    """A module with ``scores`` outputs, followed by a linear layer with one output per class."""
    return WithLayer(module, torch.nn.Linear(scores, classes, dtype=dtype_of(module)))


@dataclass(frozen=True, eq=False)
class NetworkProbabilities:
    """A trained network that gives softmax probabilities; ``members`` hold its parameters only."""

    members: TorchMembers
    count: int

    @property
    def classes_(self) -> NDArray[Any]:
        """All classes, 0, 1, ..."""
        return np.arange(self.count)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class."""
        X = as_rows(X)
        inputs = _inputs(X, self.members.known_module(), torch.device(self.members.device))
        return self.chances(inputs, np.arange(inputs.n))

    def chances(self, inputs: Inputs, rows: Index) -> Array:
        """Probability of each class for the given rows."""
        if not len(rows):
            return np.zeros((0, self.count))
        device, module = torch.device(self.members.device), self.members.known_module()
        state = {name: tensor.to(device) for name, tensor in self.members.state(0).items()}

        def answer(*args: Any, **named: Any) -> Any:
            return functional_call(module, state, args, named)

        scores = scored(answer, inputs, rows, self.members.block, device, self.count)
        if not np.isfinite(scores).all():
            raise DataError("the network's scores of these examples are NaN or infinite")
        return np.asarray(softmax(scores, axis=1))


def _inputs(X: Any, module: torch.nn.Module, device: torch.device) -> Inputs:
    inner = module.module if isinstance(module, WithLayer) else module
    return inputs_of(X, count_rows(X), device, dtype_of(inner), embeds(inner), input_count(inner))


@dataclass(frozen=True, eq=False)
class NetworkPosterior(Posterior):
    """Networks for the label and, where it is not known, for the signature; any number of inputs will do."""

    kind = "class_torch"

    def completed(self, module: Any) -> Posterior:
        """Add the module, or its constructor, to networks that were read from a file."""
        label, groups = self.label, self.groups
        label = replace(label, members=label.members.completed(module))
        if groups is not None:
            with_groups = groups.members.completed(lambda: with_layer(made_by(module), self.n_classes, groups.count))
            groups = replace(groups, members=with_groups)
        return replace(self, label=label, groups=groups)

    def plain(self, width: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The parameters of the networks, and their signatures as plain data."""
        settings, arrays = self.signatures.plain()
        settings |= {"classes": self.n_classes, "groups_names": None, "groups_types": None}
        for name, network in (("label", self.label), ("groups", self.groups)):
            if network is not None:
                written = network.members.plain(width)
                settings |= {f"{name}_{key}": value for key, value in written.settings.items()}
                arrays |= {f"learner.{name}.{key}": array for key, array in written.arrays.items()}
        return settings, arrays

    @classmethod
    def _read_learner(cls, name: str, settings: dict[str, Any], arrays: dict[str, NDArray[Any]], classes: int) -> Any:
        """A network without its module, which `completed` adds."""
        written = {key: settings[f"{name}_{key}"] for key in ("names", "types")}
        if None in written.values():
            return None
        members: Any = TorchMembers.from_plain(written, arrays)
        if len(members) != 1:
            raise FileError(f"a plug-in has {len(members)} networks where there is one")
        return NetworkProbabilities(members, classes)


_NAMES, _TYPES = ListOf(TEXT, MOST_PARAMETERS, 1), ListOf(OneOf(tuple(DTYPES)), MOST_PARAMETERS, 1)


@dataclass(frozen=True, eq=False)
class NetworkPlugInMembers(ClassPlugInMembers):
    """Plug-in rules on the probabilities of networks, read from a file with tensors and costs, and no code."""

    settings_rule = Fields(
        {
            "label_names": _NAMES,
            "label_types": _TYPES,
            "groups_names": maybe(_NAMES),
            "groups_types": maybe(_TYPES),
            "slices": ListOf(maybe(TEXT), 1000),
            "baselines": ListOf(TEXT, 1000),
            "classes": Whole(3, MAX_CLASSES),
        }
    )
    posterior_type = NetworkPosterior
