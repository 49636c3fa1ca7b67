"""`TorchModel`: the setting of a network as a model of the game."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .._core.errors import AlgorithmError
from .._core.rules import FLAG, Either, Fields, Number, OneOf, Rule, Whole, maybe
from ..data.cells import Cells
from ..models.capabilities import Capabilities, Defaults, Pace
from ..models.contract import Learner, Model
from ..models.rows import Rows
from ..players.steps import StepRule
from .learner import TorchLearner
from .sampling import Strata, check_size
from .sharing import of_all_rows

LEAST_STEPS = 2000
"""Smallest number of steps of the optimiser, if the number of epochs is not given."""
EPOCHS = 20
STEPS_BETWEEN_PASSES = 250
"""Steps of the optimiser from one exact pass to the next, where an epoch has fewer."""
EPOCHS_BETWEEN_PASSES = 4
"""Largest number of epochs between exact passes: a pass costs as much as a quarter of an epoch."""
FEWEST_STEPS = 10
"""Smallest number of steps between exact passes."""
LAMBDA_REACH = 10.0
"""How far a violation of 1 would move its multiplier in a whole run, where ``lambda_step`` is not given."""
UNITS, FOLLOWED = 10.0, 1000
"""Steps of a constraint in its own unit over those of couplings, in runs of at least so many steps of the optimiser;
in shorter ones fewer, because a network needs steps to follow."""
DAMPING = 160
"""Steps of the optimiser for which a change of a violation counts: about as many as a network needs to follow."""
PATIENCE = 0.1
"""Share of a run in which a violation keeps its sign until its multiplier moves e times as fast; at least `DAMPING`."""


@dataclass(frozen=True, eq=False)
class TorchModel(Model):
    """A PyTorch network as a model: any module with one score per example, or one for each of several classes.

    A round of the game is a few batches: the multipliers see the latest prediction of every row, and move once. Every
    so often all rows are scored, and the network is recorded with exact rates; the mixture consists of recorded
    networks. In a `equirate.RateClassifier` the multipliers see the held-out rows, and its ``random_state`` is the seed
    of batches and dropout, and of the first parameters where ``module`` is a function.

    With more than two classes no game is played: the network is trained by cross-entropy, without each of 5 folds (2
    from 20,000 rows on) and on all rows, and the softmax probabilities of rows that it was not trained on are those of
    a plug-in rule. Where the problem has groups, a network with a linear layer on top of the module estimates them.
    ``every``, ``remember``, ``memory`` and ``folder`` are then not used.

    Parameters
    ----------
    module
        The module, which is copied and never changed, or a function without arguments that makes one (then each of
        ``seeds`` has its own first parameters). It takes a batch of inputs and gives one score per example, of shape
        (batch,) or (batch, 1); the prediction is 1 where the score is above 0. With K > 2 classes it gives K scores per
        example, of shape (batch, K), in the order of the sorted labels.
    optimizer
        From parameters to a ``torch.optim`` optimiser, such as ``lambda p: torch.optim.SGD(p, lr=0.1)``. By default
        Adam with ``learning_rate``. The steps are the optimiser's: ``theta_step`` is not used.
    learning_rate
        Of the default optimiser.
    scheduler
        From an optimiser to a schedule of its learning rate, which takes a step at the end of every epoch.
    batch_size
        Rows of a batch; None for all rows at once.
    epochs
        Passes over the rows. By default 20, or as many as make 2,000 steps. This, and not ``n_rounds``, says how long.
    every
        Batches in a round, after which slacks and multipliers take a step; ``"epoch"`` for one step an epoch. By
        default an eighth of an epoch, but at most 8. The multipliers' step (``lambda_step``, by default 10 over the
        epochs) is for a whole epoch, and each round takes its share of it, so that the batch size does not change how
        fast they move.
    rare
        A cell (label and groups) is rare where a batch is expected to have fewer of its rows; about so many of each
        are put into every batch, up to a quarter of it, with weights that keep the gradient unbiased. 0 for plain
        batches.
    averaging
        Record the parameters' average over so many epochs (with weights that fade) in the place of the parameters; 0
        for no average.
    remember
        Let the multipliers see the latest prediction of every row (a byte each). If False they see nothing but exact
        passes, and move only then.
    device
        Where to train; by default where the module is.
    amp
        Score in lower precision: True for bfloat16, or a ``torch.dtype``.
    compiled
        Train the module compiled by ``torch.compile``: True, a backend, or a dict of its options.
    logit_adjusted
        Shift scores by costs instead of weighing examples by them (Narasimhan and Menon 2021), for networks that fit
        their training data whatever the weights: use it with held-out rows for the multipliers (``referee`` in
        `equirate.solve`; `equirate.RateClassifier` holds rows out by itself).
    checkpoint
        A folder for checkpoints; the same call with the same data continues from there, wherever it was stopped.
    memory, folder
        Bytes of memory that recorded networks may take, and where they go if 16 of them would take more: by default a
        temporary folder, inside that of the checkpoints if there is one.

    Examples
    --------
    >>> import numpy as np, torch, equirate as eq
    >>> from equirate.torch import TorchModel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2)).astype(np.float32)
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> def network():
    ...     return torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    >>> problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.3])
    >>> model = TorchModel(network, learning_rate=0.01, batch_size=64, epochs=100)
    >>> solution = eq.solve(problem, X, y, model=model)
    >>> solution.status.feasible
    True
    """

    module: Any
    optimizer: Callable[[Any], Any] | None = None
    learning_rate: float = 1e-3
    scheduler: Callable[[Any], Any] | None = None
    batch_size: int | None = 256
    epochs: int | None = None
    every: int | str | None = None
    rare: int = 4
    averaging: float = 0.0
    remember: bool = True
    device: str | torch.device | None = None
    amp: bool | torch.dtype = False
    compiled: bool | str | dict[str, Any] = False
    logit_adjusted: bool = False
    checkpoint: str | os.PathLike[str] | None = None
    memory: float = 500e6
    folder: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.module is not None and not isinstance(self.module, torch.nn.Module) and not callable(self.module):
            raise AlgorithmError(
                "the module of TorchModel must be a torch.nn.Module, or a function without arguments that makes one; "
                f"got {self.module!r}"
            )
        for name in ("batch_size", "epochs"):
            if getattr(self, name) is not None:
                check_size(getattr(self, name), f"{name} of TorchModel")
        if self.every is not None and self.every != "epoch":
            check_size(self.every, "every of TorchModel")
        if not self.learning_rate > 0 or not self.averaging >= 0 or not self.rare >= 0:
            raise AlgorithmError(
                "learning_rate must be positive, averaging and rare must not be negative; got "
                f"{self.learning_rate!r}, {self.averaging!r} and {self.rare!r}"
            )

    @property
    def capabilities(self) -> Capabilities:
        """Its optimiser takes the steps. A network soon keeps constraints on its training rows, and not on others."""
        return Capabilities(descends=True, own_steps=True, shares_rows=True, held_out_prices=True, random=True)

    @property
    def defaults(self) -> Defaults:
        """Its own steps, and epochs in place of rounds (`pace`)."""
        return Defaults(1000, 0.1, None)

    def strata(self, cells: Cells) -> Strata:
        """How batches are made of rows with these cells.

        Parameters
        ----------
        cells
            The cells of the rows to train on.

        Returns
        -------
        Strata
            Rare and common rows, and how many of each are in a batch.
        """
        cells = of_all_rows(cells)
        size = len(cells.index) if self.batch_size is None else self.batch_size
        return Strata.of(cells, size, self.rare)

    def batches(self, strata: Strata) -> int:
        """Batches in a round.

        Parameters
        ----------
        strata
            What `strata` returned.

        Returns
        -------
        int
            Number of batches.
        """
        if self.every == "epoch":
            return strata.batches
        if self.every is not None:
            return int(self.every)
        if not self.remember:
            return max(strata.batches, STEPS_BETWEEN_PASSES)
        return min(max(strata.batches // 8, 1), 8)

    def epoch_count(self, strata: Strata) -> int:
        """Passes over the rows: as given, or enough for the steps that a network needs.

        Parameters
        ----------
        strata
            What `strata` returned.

        Returns
        -------
        int
            Number of epochs.
        """
        return self.epochs or max(EPOCHS, math.ceil(LEAST_STEPS / strata.batches))

    def pace(self, cells: Cells) -> Pace:
        """Rounds from epochs; an exact pass every epoch, or every few where epochs are short.

        Parameters
        ----------
        cells
            The cells of the rows to train on.

        Returns
        -------
        Pace
            Rounds and steps.
        """
        strata = self.strata(cells)
        round_batches = self.batches(strata)
        epochs = self.epoch_count(strata)
        rounds = max(math.ceil(epochs * strata.batches / round_batches), 1)
        steps = max(
            strata.batches, min(STEPS_BETWEEN_PASSES, max(EPOCHS_BETWEEN_PASSES * strata.batches, FEWEST_STEPS))
        )
        recorded = min(max(math.ceil(steps / round_batches), 1), max(rounds // 10, 1))
        share = min(round_batches / strata.batches, 1.0)
        units = UNITS * min(max(epochs * strata.batches / FOLLOWED, 0.2), 1.0)
        damping = max(DAMPING / round_batches, 1.0)
        return Pace(rounds, recorded, share, LAMBDA_REACH / epochs, damping, units, max(damping, PATIENCE * rounds))

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Make the networks.

        Parameters
        ----------
        rows
            The rows to train and to measure on.
        count
            Number of configurations.
        step
            Not used: the optimiser takes the steps.
        seeds
            One seed per configuration.

        Returns
        -------
        Learner
            The networks of all configurations.
        """
        self.refuse_without_module()
        return TorchLearner(self, rows, seeds)

    def refuse_without_module(self) -> None:
        """Refuse to train a model that was read from a file."""
        if self.module is None:
            raise AlgorithmError(
                "this TorchModel was read from a file, which holds neither module nor optimiser: set "
                "model=TorchModel(module, ...) to fit again"
            )

    # -- files ---------------------------------------------------------------------------------------

    def plain(self) -> dict[str, Any]:
        """The settings that are numbers and words; module, optimiser and schedule are the user's code.

        Returns
        -------
        dict
            Settings that JSON can hold.
        """
        settings = {name: getattr(self, name) for name in PLAIN}
        settings["device"] = None if self.device is None else str(self.device)
        settings["amp"] = str(self.amp).removeprefix("torch.") if isinstance(self.amp, torch.dtype) else self.amp
        settings["compiled"] = bool(self.compiled)
        return settings

    @classmethod
    def read(cls, settings: dict[str, Any]) -> TorchModel:
        """Make a model of settings from a file; it decides, but cannot be trained before it has a module.

        Parameters
        ----------
        settings
            What `plain` returned.

        Returns
        -------
        TorchModel
            A model without a module.
        """
        PLAIN_RULE.check(settings, "the settings of the network")
        amp = settings["amp"]
        return cls(None, **{**settings, "amp": getattr(torch, amp) if isinstance(amp, str) else amp})


_PRECISIONS = OneOf(("bfloat16", "float16"))
PLAIN: dict[str, Rule] = {
    "learning_rate": Number(0),
    "batch_size": maybe(Whole(1)),
    "epochs": maybe(Whole(1)),
    "every": maybe(Either((Whole(1), OneOf(("epoch",))))),
    "rare": Whole(0),
    "averaging": Number(0),
    "remember": FLAG,
    "device": maybe(OneOf(("cpu", "cuda", "mps", "xpu"))),
    "amp": Either((FLAG, _PRECISIONS)),
    "compiled": FLAG,
    "logit_adjusted": FLAG,
    "memory": Number(0),
}
PLAIN_RULE = Fields(PLAIN)
"""Settings that files hold."""
