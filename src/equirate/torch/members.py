"""Networks as members of a mixture: one architecture, several sets of parameters.

In: a module (or its constructor) and state dicts. Out: `TorchMembers`, which decide, and write themselves as plain
arrays. A file holds tensors and their names, never code: the constructor is passed when it is loaded.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch.func import functional_call

from .._core.errors import AlgorithmError, DataError, FileError
from .._core.rules import TEXT, ArrayOf, Fields, ListOf, OneOf, Rule
from ..data.sample import count_rows
from ..models.members import Members, Written
from .inputs import (
    as_rows,
    called,
    class_scores,
    device_of,
    dtype_of,
    embeds,
    input_count,
    inputs_of,
    one_score,
)
from .snapshots import Snapshot, State

Scores = NDArray[Any]
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    )
}
"""Types of parameters that files hold; half precision is written in single, which loses nothing."""
MOST_PARAMETERS = 3000
BLOCK = 8192
"""Rows that are scored at once."""


@dataclass(frozen=True, eq=False)
class TorchMembers(Members):
    """Networks of one architecture.

    Parameters
    ----------
    module
        The architecture: a module whose own parameters do not matter, or None for members from a file that have no
        module yet (`completed`).
    states
        A state dict for each classifier, or its location: (snapshot, position).
    device
        Where scores are computed.
    block
        Rows that are scored at once.
    """

    module: torch.nn.Module | None
    states: tuple[State | tuple[Snapshot, int], ...]
    device: str = "cpu"
    block: int = BLOCK
    settings_rule: ClassVar[Rule] = Fields(
        {"names": ListOf(TEXT, MOST_PARAMETERS, 1), "types": ListOf(OneOf(tuple(DTYPES)), MOST_PARAMETERS, 1)}
    )
    array_rules: ClassVar[Mapping[str, Rule]] = {}
    nested: ClassVar[str] = "state."

    def __len__(self) -> int:
        """Count the networks."""
        return len(self.states)

    def state(self, k: int) -> State:
        """The parameters of a network.

        Parameters
        ----------
        k
            Position of a network.

        Returns
        -------
        dict
            Its state dict.
        """
        state = self.states[k]
        return state if isinstance(state, dict) else state[0].states()[state[1]]

    def scores(self, X: Any, *, attributes: Any = None) -> Scores:
        """Scores of new examples (examples, networks).

        Parameters
        ----------
        X
            Inputs.
        attributes
            Not used.

        Returns
        -------
        numpy.ndarray
            (examples, networks).
        """
        X = as_rows(X)
        module, n = self.known_module(), count_rows(X)
        device, dtype = torch.device(self.device), dtype_of(module)
        inputs = inputs_of(X, n, device, dtype, embeds(module), input_count(module))
        scores = np.empty((n, len(self)), dtype=np.float64 if dtype == torch.float64 else np.float32)
        rows = np.arange(n)
        for k in range(len(self)):
            state = {name: tensor.to(device) for name, tensor in self.state(k).items()}

            def answer(*args: Any, state: State = state, **named: Any) -> Any:
                return functional_call(module, state, args, named)

            scores[:, k] = scored(answer, inputs, rows, self.block, device)
        if not np.isfinite(scores).all():
            raise DataError("the network's scores of these examples are NaN or infinite")
        return scores

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Predict 1 where the score is above 0.

        Parameters
        ----------
        X
            Inputs.
        attributes
            Not used.

        Returns
        -------
        numpy.ndarray of bool
            (examples, networks).
        """
        return np.asarray(self.scores(X) > 0)

    def take(self, indices: Sequence[int]) -> Members:
        """Select networks.

        Parameters
        ----------
        indices
            Positions of networks.

        Returns
        -------
        TorchMembers
            These networks, in this order.
        """
        return replace(self, states=tuple(self.states[k] for k in indices))

    def completed(self, module: Any) -> Members:
        """Add the module, or its constructor, to members that were read from a file.

        Parameters
        ----------
        module
            The module, or a function without arguments that makes it.

        Returns
        -------
        TorchMembers
            Members that can decide.
        """
        if module is None:
            raise FileError(
                "it holds a network, of which files have the tensors only: hand its constructor back, "
                "equirate.load(path, module=...), a function (or class) without arguments that makes the module"
            )
        built = made_by(module)
        shapes = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in built.state_dict().items()}
        for k in range(len(self)):
            written = {name: (tuple(tensor.shape), tensor.dtype) for name, tensor in self.state(k).items()}
            wrong = [name for name in {**shapes, **written} if shapes.get(name) != written.get(name)]
            if wrong:
                raise FileError(
                    f"the module is not the one that was saved: its {wrong[0]!r} is {_kind(shapes.get(wrong[0]))}, in "
                    f"the file {_kind(written.get(wrong[0]))}"
                )
        return replace(self, module=built.eval())

    def known_module(self) -> torch.nn.Module:
        """The architecture; refuses members from a file that have none.

        Returns
        -------
        torch.nn.Module
            The module, whose own parameters do not matter.
        """
        if self.module is None:
            raise AlgorithmError("this network has no module: load its file with equirate.load(path, module=...)")
        return self.module

    def plain(self, width: int) -> Written:
        """Write the parameters, one array for each name.

        Parameters
        ----------
        width
            Not used.

        Returns
        -------
        Written
            Kind, settings and arrays.
        """
        states = [self.state(k) for k in range(len(self))]
        names = list(states[0])
        types = [str(states[0][name].dtype).removeprefix("torch.") for name in names]
        strange = [kind for kind in types if kind not in DTYPES]
        if strange:
            raise FileError(f"parameters of the type {strange[0]} cannot be saved")
        arrays = {
            f"{self.nested}{number}": np.stack([_numpy(state[name]) for state in states])
            for number, name in enumerate(names)
        }
        return Written("torch", {"names": names, "types": types}, arrays)

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Read the parameters; `completed` adds the module.

        Parameters
        ----------
        settings
            Settings that `plain` wrote.
        arrays
            Arrays that `plain` wrote.

        Returns
        -------
        TorchMembers
            The networks.
        """
        names, types = settings["names"], settings["types"]
        keys = [f"{cls.nested}{number}" for number in range(len(names))]
        if len(types) != len(names) or len(set(names)) != len(names) or set(arrays) != set(keys):
            raise FileError("the names, types and tensors of a network do not fit together")
        counts = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
        if len(counts) != 1 or not min(counts):
            raise FileError("the tensors of a network are not of the same number of networks")
        for place in keys:
            ArrayOf("fiub", None).check(arrays[place], f"the array {place!r} of the network")
        states = []
        for k in range(counts.pop()):
            read = {
                name: torch.from_numpy(np.array(arrays[place][k])).to(DTYPES[kind])
                for name, place, kind in zip(names, keys, types, strict=True)
            }
            states.append(read)
        return cls(None, tuple(states))


def scored(
    answer: Any, inputs: Any, rows: Any, block: int, device: torch.device, classes: int | None = None
) -> NDArray[Any]:
    """Scores of rows by a module (or a function like one), without gradients; in the order of ``rows``.

    One per row, or one for each of ``classes``.
    """
    scores = np.empty(inputs.n if classes is None else (inputs.n, classes), dtype=np.float64)
    with torch.inference_mode():
        for batch, index in inputs.blocks(rows, block):
            output = called(answer, batch)
            if classes is None:
                scores[index] = one_score(output, len(index), device).float().cpu().numpy()
            else:
                scores[index] = class_scores(output, len(index), classes, device).double().cpu().numpy()
    return scores[rows] if len(rows) < inputs.n else scores


def made_by(module: Any, seed: int | None = None) -> torch.nn.Module:
    """A new module: a copy, or the result of a constructor (with a seed for its random numbers)."""
    if isinstance(module, torch.nn.Module):
        return copy.deepcopy(module)
    if not callable(module):
        raise AlgorithmError(
            f"the module must be a torch.nn.Module, or a function without arguments that makes one; got {module!r}"
        )
    make: Callable[[], Any] = module
    with torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed % 2**63)  # torch takes no larger ones
        result = make()
    if not isinstance(result, torch.nn.Module):
        raise AlgorithmError(f"the module's constructor made a {type(result).__name__}, not a torch.nn.Module")
    return result


def members_of(module: torch.nn.Module, states: Sequence[Any], device: Any = None) -> TorchMembers:
    """Members with a module's architecture."""
    place = device_of(module, device)
    return TorchMembers(copy.deepcopy(module).eval(), tuple(states), str(place))


def _numpy(tensor: torch.Tensor) -> NDArray[Any]:
    stored = tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
    return np.asarray(stored.cpu().numpy())


def _kind(parameter: tuple[tuple[int, ...], torch.dtype] | None) -> str:
    return "missing" if parameter is None else f"{str(parameter[1]).removeprefix('torch.')} of shape {parameter[0]}"
