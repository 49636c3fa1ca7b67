"""`RateGame`: the game for a custom training loop.

In: a problem, labels and attributes; then, batch by batch, the scores of a module and the row numbers of the batch.
Out: a loss to call ``backward`` on, and at the end a mixture over snapshots of the module. Slacks and multipliers are
played here, every few batches; module, optimisers and data are the user's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from .._core.choices import AlgorithmName, Bounds, SurrogateName
from .._core.errors import AlgorithmError, DataError
from ..data.cells import Cells
from ..data.examples import Examples
from ..data.labels import many_classes
from ..data.sample import Sample
from ..data.splits import measurable, split_by_cell
from ..game.algorithms import Algorithm, choose
from ..game.classifiers import Classifier
from ..game.loop import Game, Turn
from ..game.options import Options, Steps
from ..game.solution import Play, Solution, Status
from ..game.status import MIXTURE
from ..game.theory import damped_steps
from ..models.capabilities import Pace
from ..models.contract import Array, Choice, Learner
from ..models.members import Members
from ..models.messages import Seen
from ..models.rows import Batch, Rows
from ..players.surrogates import Surrogate
from ..problem.canonical import canonicalize
from ..problem.problem import Objective, Problem
from ..problem.table import make_cells, make_table
from ..training.parts import MIN_EXAMPLES_PER_RATE
from .adjusting import adjusted, partners
from .inputs import as_rows, checked_index, device_of
from .keeping import play_state, restore_play
from .ledger import Ledger
from .members import members_of
from .model import DAMPING, LAMBDA_REACH, PATIENCE, UNITS
from .sampling import StratifiedSampler, check_size
from .snapshots import Shelf, Snapshot, copied, in_memory

TRAINED_ON = (
    "the constraints were judged on rows that the module was trained on, and may be kept less well on others: give "
    "held_out= rows to judge them on, which it is then not trained on"
)
REMEMBERED = (
    "the rates are of remembered predictions, each as old as the last batch with its row: give finish the inputs X for "
    "exact ones"
)
MOST_BATCHES, PER_PASS = 8, 8
"""Largest number of batches between steps of the multipliers, and smallest number of steps per pass."""
LAMBDA_STEP = 0.5
HELD_OUT = 0.25
"""Share of the rows that is held out by default, as in `RateClassifier`."""


class RateGame:
    """The game of slacks and multipliers for a custom training loop.

    The loss of a batch is an unbiased estimate of the Lagrangian (in surrogate rates) of the whole data set: rates have
    the data set's denominators, so a group that is missing from a batch changes nothing, and nothing becomes NaN.

    Parameters
    ----------
    problem
        An objective, or a `Problem` with constraints.
    y, attributes, sample_weight
        Labels (0/1), attributes that slices name, and weights, of all rows.
    algorithm
        ``"auto"``, ``"surrogate"``, ``"linearized"``, ``"slack_ratios"``, ``"biconvex"`` or ``"proxy_lagrangian"``.
    lambda_step
        How far a violation of 1 moves its multiplier in one pass over the rows; each step takes its share. About 10
        over the number of epochs does well.
    every
        Batches from one step of the multipliers to the next; by default an eighth of a pass, but at most 8 batches.
    surrogate, bounds, radius
        As in `equirate.solve`.
    held_out
        Rows (a mask, row numbers, or a share such as 0.25, stratified) that the module is not trained on and that the
        multipliers see instead of the others: the game on two data sets, for modules that fit their training data. Pass
        their batches to the game like any other, or give their scores to `measure`. ``"auto"`` is a quarter of the
        rows, where enough are left behind every rate; None trains on all rows. `status` says which rows it speaks of.
    logit_adjusted
        Shift scores by costs instead of weighing examples by them; see `TorchModel`.
    memory, folder
        Where snapshots are kept; see `TorchModel`.
    tolerance
        Largest violation that counts as met.

    Examples
    --------
    >>> import numpy as np, torch, equirate as eq
    >>> from equirate.torch import RateGame
    >>> rng = np.random.default_rng(0)
    >>> X = torch.from_numpy(rng.normal(size=(300, 2)).astype(np.float32))
    >>> y = (X[:, 0] + X[:, 1] > 0.5).int()
    >>> game = RateGame(eq.Problem(eq.maximize(eq.tpr()), [eq.positive_rate() <= 0.2]), y)
    >>> _ = torch.manual_seed(0)
    >>> module = torch.nn.Linear(2, 1)
    >>> optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    >>> for epoch in range(60):
    ...     for index in torch.randperm(300).split(50):
    ...         loss = game(module(X[index])[:, 0], index)
    ...         optimizer.zero_grad()
    ...         loss.backward()
    ...         optimizer.step()
    ...         game.step()
    ...     if epoch >= 10:
    ...         game.snapshot(module)
    >>> classifier = game.finish(module, X)
    >>> game.status.feasible, game.status.speaks_of
    (True, 'the mixture: expected rates over its draws, on 75 held-out rows')
    """

    def __init__(
        self,
        problem: Problem | Objective,
        y: ArrayLike,
        *,
        attributes: Any = None,
        sample_weight: ArrayLike | None = None,
        algorithm: AlgorithmName | Algorithm = "auto",
        lambda_step: Steps = LAMBDA_STEP,
        every: int | None = None,
        surrogate: SurrogateName | Surrogate | None = None,
        bounds: Bounds | None = None,
        radius: float | None = None,
        held_out: ArrayLike | float | Literal["auto"] | None = "auto",
        logit_adjusted: bool = False,
        memory: float = 500e6,
        folder: Any = None,
        tolerance: float = 1e-3,
    ) -> None:
        problem = Problem(problem) if isinstance(problem, Objective) else problem
        if not isinstance(problem, Problem):
            raise TypeError(f"RateGame takes a Problem or an objective made with minimize or maximize; got {problem!r}")
        if every is not None:
            check_size(every, "every")
        self.every, self.n_rows = every, 0
        options = Options(
            algorithm=algorithm,
            lambda_step=lambda_step,
            step_rule="plain",
            surrogate=surrogate,
            bounds=bounds,
            radius=radius,
            tolerance=tolerance,
            n_rounds=1,
        )
        classes = many_classes(_array(y))
        if classes is not None:
            raise DataError(
                f"RateGame is for two classes, and y has {len(classes)}: give the module to equirate.solve or "
                "RateClassifier, which make a plug-in of it"
            )
        examples = Examples.of(_array(y), attributes, sample_weight, two_classes=True)
        self.n_rows = len(examples)
        self.problem = problem.expanded(examples)
        chosen = _checked(choose(algorithm, self.problem, True, batches=True))
        program = canonicalize(self.problem, chosen.form)
        chosen.check(program)
        cells = make_cells(program, examples)
        measured, trained = _split_weights(examples, cells, self.problem, held_out)
        self.held_out = measured is not trained
        self.everybody = cells
        self.cells = cells.weighing(measured)
        self.trained = cells.weighing(trained)
        examples = replace(examples, weights=measured)
        self.table = make_table(program, examples, self.cells)
        training = self.table
        if self.held_out:
            training = make_table(program, replace(examples, weights=trained), self.trained)
        chosen = options.set_players(chosen, _no_theory)
        grid = options.configurations(chosen, program.n_constraints, _no_step, _no_step, own_steps=True)
        if len(grid) != 1:
            raise AlgorithmError(f"RateGame trains one module: lambda_step must be one number; got {lambda_step!r}")
        self.configurations = tuple(grid)
        damping = DAMPING / (every or MOST_BATCHES)
        passes = LAMBDA_REACH / max(grid[0]["lambda_step"], 1e-9)  # as many as the step is for
        pace = Pace(damping=damping, units=UNITS, patience=max(damping, PATIENCE * passes * PER_PASS))
        steps = damped_steps(self.table, pace, chosen.multipliers.learns_couplings)
        self.algorithm = replace(chosen, multipliers=chosen.multipliers.stepping(steps))
        self.rules = options.rules(grid, 1, 1, program.n_constraints, self.held_out)
        self.tolerance = options.checked_tolerance()
        self.shelf = Shelf(memory, folder)
        self.ledger = Ledger(self.cells, 1)
        self.user_module = _UserModule(self)
        self.game = Game(self.table, training, self.user_module, self.algorithm, self.rules)
        self.pairs = partners(self.trained) if logit_adjusted else None
        self.factors: Array | None = None
        self.batch_size = 0
        self.count = int((trained > 0).sum())
        self.rounds = self.batches = self.since = self.rows_since = 0
        self.status: Status | None = None
        """The status; set by `finish`."""
        self._begin()

    # -- a batch --------------------------------------------------------------------------------------

    def __call__(self, scores: torch.Tensor, index: Any) -> torch.Tensor:
        """The loss of a batch: the surrogate Lagrangian, whose mean over batches is that of all rows.

        Parameters
        ----------
        scores
            Of shape (batch,) or (batch, 1), with gradients.
        index
            Row numbers of ``y``, one for each score.

        Returns
        -------
        torch.Tensor
            One number. Add other losses to it, or divide it where gradients are accumulated, as with any loss.
        """
        rows, shown = self._checked_batch(scores, index)
        weights = self.trained.weights[rows] * self._factor(rows)
        batch = Batch(None, cells=self.cells, trained=replace(self.trained.batch(rows), weights=weights), rows=rows)
        slope = self.asked.slope(batch, shown[:, None])[:, 0]
        value = float(self.asked.value(batch, shown[:, None])[0])
        self._remember(rows, shown)
        self.batches += 1
        self.since += 1
        self.rows_since += int(np.count_nonzero(self.trained.weights[rows]))
        flat = scores.reshape(len(rows))
        linear = (flat * torch.from_numpy(slope).to(flat.device, flat.dtype)).sum()
        return linear + (value - linear.detach())  # the value is the Lagrangian's, the gradient its slope

    def measure(self, scores: torch.Tensor, index: Any) -> None:
        """Remember predictions without training on them: those of held-out rows, or of a whole pass.

        Parameters
        ----------
        scores
            Of shape (batch,) or (batch, 1).
        index
            Row numbers of ``y``, one for each score.
        """
        rows, shown = self._checked_batch(scores, index)
        self._remember(rows, shown)

    def step(self) -> None:
        """End a batch (after the optimiser's step): the multipliers move, if their step is due."""
        due = self.since >= (self.every or MOST_BATCHES) if self.every else (
            self.since >= MOST_BATCHES or self.rows_since * PER_PASS >= self.count
        )  # fmt: skip
        if not self.since or not due:
            return
        share = min(self.rows_since / max(self.count, 1), 1.0)
        self.game.lambda_rate, self.game.slack_rate = share * self.rules.lambda_rate, share * self.rules.slack_rate
        self.rounds += 1
        self.game.end(self.turn, Seen(self.ledger.estimate()), self.rounds, recorded=False)
        self.since = self.rows_since = 0
        self._begin()

    def sampler(self, batch_size: int, least: int = 4, seed: int = 0) -> StratifiedSampler:
        """A batch sampler for a ``DataLoader`` that puts rare cells into every batch; the loss uses its weights.

        Parameters
        ----------
        batch_size
            Rows of a batch.
        least
            A cell is rare where a batch is expected to have fewer of its rows; about so many of each are put into
            every batch.
        seed
            Seed of the order.

        Returns
        -------
        StratifiedSampler
            For the ``batch_sampler`` of a ``DataLoader``.
        """
        sampler = StratifiedSampler.of_cells(self.everybody, batch_size, least, seed)
        self.factors, self.batch_size = sampler.weights, sampler.strata.size
        return sampler

    @property
    def multipliers(self) -> dict[str, float]:
        """The multiplier of each constraint (and of each part of one that was split), by its text."""
        lam = self.game.multipliers.lam[self.table.constraints, 0]
        return {f"{j}: {part!r}": float(value) for j, ((_, part), value) in enumerate(
            zip(self.table.program.parts, lam, strict=True)
        )}  # fmt: skip

    def _begin(self) -> None:
        self.turn: Turn = self.game.begin(recorded=False)
        self.asked = adjusted(self.turn.asked, self.trained, self.pairs)

    def _checked_batch(self, scores: Any, index: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        rows = checked_index(index, self.n_rows)
        if not isinstance(scores, torch.Tensor) or tuple(scores.shape) not in ((len(rows),), (len(rows), 1)):
            shape = tuple(scores.shape) if isinstance(scores, torch.Tensor) else type(scores).__name__
            raise DataError(
                f"scores must have one number for each of the {len(rows)} rows of index, shape ({len(rows)},) or "
                f"({len(rows)}, 1); got {shape}"
            )
        if scores.device.type == "meta":
            raise AlgorithmError("the scores are on the device 'meta', which holds no numbers: move the module")
        shown = scores.detach().reshape(len(rows)).float().cpu().numpy()
        if not np.isfinite(shown.sum(dtype=np.float64)):
            wrong = rows[~np.isfinite(shown)]
            raise AlgorithmError(
                f"the scores became NaN or infinite at batch {self.batches + 1} (row {int(wrong[0])}): take a smaller "
                "learning rate, or clip the gradients; load the last checkpoint to go on"
            )
        return rows, shown

    def _factor(self, rows: NDArray[np.int64]) -> Any:
        """Number of rows that each row of the batch represents."""
        if self.factors is None:
            return self.count / max(int(np.count_nonzero(self.trained.weights[rows])), 1)
        return self.factors[rows] * (self.batch_size / max(len(rows), 1))

    def _remember(self, rows: NDArray[np.int64], shown: NDArray[Any]) -> None:
        self.ledger.note(rows)
        self.ledger.remember(0, rows, shown > 0)

    # -- snapshots and the end ------------------------------------------------------------------------

    def snapshot(self, module: torch.nn.Module) -> None:
        """Record the module as it is: a candidate for the mixture.

        Parameters
        ----------
        module
            The module; its parameters are copied.
        """
        self.user_module.states = [module.state_dict()]
        self._record()

    def _record(self) -> None:
        turn, seen = self.turn, Seen(self.ledger.estimate())
        rows = self.table.rows(seen.sums, None)
        value = (turn.lam * self.game.residual_of(rows, turn.xi)).sum(0)
        self.game.remember(max(self.rounds, 1), seen, turn.lam, turn.xi, value)
        record = self.game.record
        record.played = max(self.rounds, 1)
        record.losses[-1] = np.full((len(self.problem.losses()), 1), np.nan)

    def finish(self, module: torch.nn.Module, X: Any = None) -> Classifier:
        """The best mixture of the snapshots and the module as it is now.

        Parameters
        ----------
        module
            The module that was trained.
        X
            The inputs of all rows (array, tensor, ``Dataset`` or ``DataLoader`` of (inputs, index); for a module with
            several inputs, a tuple of arrays or tensors, or a ``Dataset`` of tuples): rates are then measured exactly.
            Without, they are those of the remembered predictions, and `status` says so.

        Returns
        -------
        Classifier
            The mixture; its ``notes`` have the status.
        """
        self.snapshot(module)
        self.user_module.module = module
        if X is None:
            self._refuse_unseen()
        solution = self.solution
        if X is not None:
            solution = solution.on_sample(Sample(as_rows(X), self.table.examples), self.cells)
        status = solution.status
        rows = int((self.cells.weights > 0).sum())
        seen = "held-out rows" if self.held_out else "rows that the module was trained on"
        status = replace(status, speaks_of=f"{MIXTURE}, on {rows:,} {seen}")
        if not self.held_out:
            status = replace(status, advice=(*status.advice, TRAINED_ON))
        if X is None:
            status = replace(status, advice=(*status.advice, REMEMBERED))
        self.status = status
        mixture = solution.polish()
        return replace(mixture, notes={**mixture.notes, "status": status})

    def _refuse_unseen(self) -> None:
        unseen = self.ledger.unseen()
        if len(unseen):
            listed = ", ".join(map(str, unseen[:5])) + (", ..." if len(unseen) > 5 else "")
            raise DataError(
                f"{len(unseen)} of {self.n_rows} rows were never seen (rows {listed}), so their rates are not known: "
                "give finish the inputs X, or feed all rows (a loader with drop_last=True may leave some out)"
            )
        if self.problem.losses():
            raise DataError(
                f"the objective has {self.problem.losses()[0]!r}, which remembered predictions do not tell: give "
                "finish the inputs X"
            )

    @property
    def solution(self) -> Solution:
        """The recorded iterates, as `equirate.solve` returns them; rates are those of remembered predictions."""
        play = Play(self.table, self.game.record, self.rules, self.configurations)
        return Solution.of_play(play, self.algorithm, self.user_module, self.tolerance)

    # -- checkpoints ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Players, remembered predictions and snapshots, as tensors and plain data.

        Returns
        -------
        dict
            For `load_state_dict`, or for `save_checkpoint`.
        """
        turn = self.turn
        return {
            "play": play_state(self.game),
            "turn": [torch.from_numpy(np.array(part)) for part in (turn.lam, turn.xi, turn.full)],
            "ledger": self.ledger.state(),
            "snapshots": [[copied(state) for state in s.states()] for s in self.game.record.snapshots],
            "counts": [self.rounds, self.batches, self.since, self.rows_since],
            "rows": self.n_rows,
            "problem": repr(self.problem),
            "trained": self._trained_rows,
        }

    @property
    def _trained_rows(self) -> str:
        """A hash of which rows are trained on."""
        return hashlib.sha256(np.packbits(self.trained.weights > 0).tobytes()).hexdigest()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state that `state_dict` returned, with the same problem and rows.

        Parameters
        ----------
        state
            What `state_dict` returned.
        """
        if state["rows"] != self.n_rows or state["problem"] != repr(self.problem):
            raise DataError(
                f"the state is of another game: {state['rows']} rows and\n{state['problem']}\ninstead of "
                f"{self.n_rows} rows and\n{self.problem!r}"
            )
        if state.get("trained", self._trained_rows) != self._trained_rows:
            raise DataError(
                "the state is of a game that held out other rows: give the same held_out=, and the same rows"
            )
        restore_play(self.game, state["play"])
        self.game.record.snapshots = [in_memory([copied(one) for one in states]) for states in state["snapshots"]]
        lam, xi, full = (part.numpy().copy() for part in state["turn"])
        self.turn = Turn(lam, xi, full, self.game.request(full, False))
        self.asked = adjusted(self.turn.asked, self.trained, self.pairs)
        self.ledger.resume(state["ledger"])
        self.rounds, self.batches, self.since, self.rows_since = state["counts"]


class _UserModule(Learner):
    """The user's module as a learner of the game."""

    def __init__(self, game: RateGame) -> None:
        self.shelf = game.shelf
        self.states: Sequence[Any] = ()
        self.module: torch.nn.Module | None = None

    def advance(self, rate: Array) -> None:
        """The user's optimiser has moved already."""

    def snapshot(self) -> Snapshot:
        """Copy the module's parameters."""
        snapshot = self.shelf.put(self.states)
        self.budget = self.shelf.budget(snapshot.nbytes)
        return snapshot

    def finite(self) -> NDArray[np.bool_]:
        """Always: scores that are not finite are refused in each batch."""
        return np.ones(1, dtype=bool)

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """The recorded modules."""
        if self.module is None:
            raise AlgorithmError("the architecture is not known before finish(module): members are made there")
        return members_of(self.module, [(snapshots[t], c) for t, c in chosen], device_of(self.module))

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """Score the rows and add up."""
        return lambda members: rows.cells.sums(members.decide(rows.X))


def _array(y: Any) -> Any:
    return y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else y


def _checked(algorithm: Algorithm) -> Algorithm:
    if algorithm.responds or algorithm.multipliers.sees_bounds:
        raise AlgorithmError(
            f"{algorithm.name} needs a best response, or surrogate rates of all rows, every round: use surrogate, "
            "linearized, slack_ratios, biconvex or proxy_lagrangian with a training loop of one's own"
        )
    return algorithm


def _split_weights(examples: Examples, cells: Cells, problem: Problem, held_out: Any) -> tuple[Array, Array]:
    """Weights to measure with and to train with."""
    if held_out is None:
        return examples.weights, examples.weights
    if isinstance(held_out, str):
        if held_out != "auto":
            raise DataError(f'held_out is "auto", a share of the rows, some of the rows, or None; got {held_out!r}')
        parts = split_by_cell(cells, (1 - HELD_OUT, HELD_OUT), 0)
        if not all(measurable(problem.rates(), cells.batch(part), MIN_EXAMPLES_PER_RATE) for part in parts):
            return examples.weights, examples.weights
        held_out = parts[1]
    value = np.asarray(_array(held_out))
    mask = np.zeros(len(examples), dtype=bool)
    if value.ndim == 0 and value.dtype.kind == "f":
        share = float(value)
        if not 0 < share < 1:
            raise DataError(f"held_out is a share of the rows between 0 and 1, or some of the rows; got {share:g}")
        parts = split_by_cell(cells, (1 - share, share), 0)
        if not all(measurable(problem.rates(), cells.batch(part)) for part in parts):
            raise DataError("there are too few rows behind some rate to hold a share out: name the rows in held_out")
        mask[parts[1]] = True
    elif value.dtype == bool and value.shape == mask.shape:
        mask = value
    else:
        mask[checked_index(value, len(examples))] = True
    if mask.all() or not mask.any():
        raise DataError("held_out must be some of the rows, and not all: the others are trained on")
    return np.where(mask, examples.weights, 0.0), np.where(mask, 0.0, examples.weights)


def _no_theory(algorithm: Algorithm) -> float:
    raise AlgorithmError('radius="theory" is for equirate.solve: give a number')


def _no_step() -> float:
    raise AlgorithmError('lambda_step="theory" is for equirate.solve: give a number')
