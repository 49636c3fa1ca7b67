"""One configuration's network: a module, its optimiser and schedule, and the average of its parameters.

In: inputs and the slope with respect to the scores. Out: scores, gradients, steps. The slope is
computed by the game. `backward` and `move` are separate, so that gradients can be summed over machines in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .inputs import Inputs, called, class_scores, one_score
from .members import scored
from .snapshots import State, copied

Rows = NDArray[np.int64]
Factory = Callable[[Iterable[torch.nn.Parameter]], Any]


class Network:
    """A module in training."""

    def __init__(
        self,
        module: torch.nn.Module,
        optimizer: Factory,
        scheduler: Callable[[Any], Any] | None,
        device: torch.device,
        amp: torch.dtype | None,
        compiled: Any,
        keep: float | None,
        classes: int | None = None,
    ) -> None:
        self.classes = classes
        """Scores per example, one for each class; None for one score."""
        self.module, self.device, self.amp = module.to(device), device, amp
        self.module.train()
        self.optimizer = optimizer([p for p in module.parameters() if p.requires_grad])
        self.scheduler = None if scheduler is None else scheduler(self.optimizer)
        self.scaler = torch.amp.GradScaler(device.type) if amp == torch.float16 else None
        self.run: Any = module
        if compiled:
            options = compiled if isinstance(compiled, dict) else {"backend": compiled} if compiled is not True else {}
            self.run = torch.compile(module, **options)
        self.keep_share = keep
        """Share of the average that stays in every round; None for no average."""
        self.average: State | None = None
        self.finite = True

    def forward(self, inputs: Any, count: int) -> torch.Tensor:
        """Scores with gradients."""
        with self._precision():
            output = called(self.run, inputs)
        if self.classes is None:
            return one_score(output, count, self.device)
        return class_scores(output, count, self.classes, self.device)

    def backward(self, scores: torch.Tensor, slope: NDArray[Any]) -> None:
        """Gradients of the parameters for a slope with respect to the scores."""
        self.optimizer.zero_grad(set_to_none=True)
        gradient = torch.from_numpy(slope).to(scores.device, scores.dtype)
        if self.scaler is None:
            scores.backward(gradient)  # type: ignore[no-untyped-call]
        else:
            self.scaler.scale((scores * gradient).sum()).backward()  # type: ignore[no-untyped-call]

    def move(self) -> None:
        """One step of the optimiser."""
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def gradients(self) -> list[torch.Tensor]:
        """The gradients of the last `backward`, to be added up over machines."""
        return [p.grad for p in self.module.parameters() if p.grad is not None]

    def end_round(self) -> None:
        """Update the average of the parameters."""
        if self.keep_share is None:
            return
        state = self.module.state_dict()
        if self.average is None:
            self.average = {name: tensor.detach().clone() for name, tensor in state.items()}
            return
        names = [name for name, tensor in state.items() if tensor.is_floating_point()]
        torch._foreach_lerp_(
            [self.average[name] for name in names], [state[name] for name in names], 1 - self.keep_share
        )
        for name, tensor in state.items():
            if not tensor.is_floating_point():
                self.average[name].copy_(tensor)

    def end_epoch(self) -> None:
        """One step of the schedule."""
        if self.scheduler is not None:
            self.scheduler.step()

    def shown(self) -> State:
        """The parameters that are recorded: the average where there is one."""
        return self.module.state_dict() if self.average is None else self.average

    def measure(self, inputs: Inputs, rows: Rows, block: int, averaged: bool) -> NDArray[np.float64]:
        """Scores of rows, without gradients and as when predicting."""
        module = self.module
        current = None
        if averaged and self.average is not None:
            current = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
            module.load_state_dict(self.average)
        module.eval()
        try:
            with self._precision():
                return scored(module, inputs, rows, block, self.device)
        finally:
            module.train()
            if current is not None:
                module.load_state_dict(current)

    def _precision(self) -> AbstractContextManager[Any]:
        if self.amp is None:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.amp)

    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on."""
        return {
            "module": copied(self.module.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "scaler": None if self.scaler is None else self.scaler.state_dict(),
            "average": None if self.average is None else copied(self.average),
            "finite": self.finite,
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        if self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])
        average = state["average"]
        self.average = None if average is None else {name: t.to(self.device).clone() for name, t in average.items()}
        self.finite = state["finite"]
