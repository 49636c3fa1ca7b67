"""The contract between the game and a model.

A `Model` is a frozen setting. `Model.bind` takes `Rows` and returns a `Learner`, which holds the parameters of all
configurations side by side and answers the game's messages (`messages`). Snapshots of a learner are turned into
`Members`, which decide on new data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError
from .._core.peers import Peers
from ..data.cells import Cells
from ..data.sample import Sample
from ..mixtures import Source
from ..players.steps import StepRule
from .capabilities import STEPS, Capabilities, Defaults, Pace
from .members import Members
from .messages import Asked, Family, Seen
from .rows import Rows

if TYPE_CHECKING:
    from .linear import Linear

Array = NDArray[np.float64]
Choice = tuple[int, int]
"""A recorded iterate: (index of the snapshot, configuration)."""


class Checkpointer(Protocol):
    """Writes checkpoints of a game, so that it can be continued after a crash; ``game`` is the loop's `Game`."""

    def resume(self, game: Any, progress: Any) -> int:
        """Restore the last checkpoint, and return its round; 0 where there is none."""
        ...

    def save(self, game: Any, progress: Any, t: int, last: bool) -> None:
        """Write a checkpoint after round ``t``, if it is time to."""
        ...


class Learner:
    """A model on some rows: the parameters of all configurations, side by side."""

    budget: float = np.inf
    """Bytes that the snapshots of a run may take."""
    can_start: bool = False
    """Whether a later game can start from its snapshots (`start_from`)."""
    keeper: Checkpointer | None = None
    """Writes checkpoints, where the model was asked to."""
    alike: bool = True
    """Whether all processes that share the rows have the same state, so that one of them can write it for all."""

    def expecting(self, rounds: int) -> AbstractContextManager[None]:
        """A context for a game of ``rounds`` rounds, for learners that prepare for the amount of work.

        Parameters
        ----------
        rounds
            Number of rounds of the game.

        Returns
        -------
        context manager
            Active during the game.
        """
        return nullcontext()

    def answer(self, asked: Asked) -> Seen:
        """Best-respond, or compute the gradient that `advance` will use; return the sums of the predictions.

        Parameters
        ----------
        asked
            What the game asks in this round.

        Returns
        -------
        Seen
            Sums over the rows, of the predictions and of the other quantities requested.
        """
        raise NotImplementedError

    def advance(self, rate: Array) -> None:
        """Take a step against the gradient of the last `answer`, with one step size per configuration.

        Parameters
        ----------
        rate
            One step size per configuration.
        """
        raise AlgorithmError(f"{type(self).__name__} does not descend")

    def snapshot(self) -> Any:
        """Return a copy of the parameters, for features as given.

        Returns
        -------
        object
            For `members`, `average` and `start_from`.
        """
        raise NotImplementedError

    def start_from(self, snapshot: Any) -> None:
        """Start from a snapshot of an earlier game.

        Parameters
        ----------
        snapshot
            What `snapshot` returned.
        """
        raise AlgorithmError(f"{type(self).__name__} cannot continue an earlier play: only linear models can")

    def about(self) -> str:
        """A text that identifies the model and its data: only a state with the same text can be resumed.

        Returns
        -------
        str
            The text.
        """
        return type(self).__name__

    def state(self) -> Any:
        """Everything that the next round depends on.

        Returns
        -------
        object
            For `resume`.
        """
        return self.snapshot()

    def resume(self, state: Any) -> None:
        """Continue exactly where `state` was taken.

        Parameters
        ----------
        state
            What `state` returned.
        """
        raise AlgorithmError(f"{type(self).__name__} cannot be resumed")

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop all configurations but these.

        Parameters
        ----------
        columns
            Positions of the configurations to keep.
        """
        raise NotImplementedError

    def finite(self) -> NDArray[np.bool_]:
        """Which configurations have finite parameters.

        Returns
        -------
        numpy.ndarray of bool
            One value per configuration.
        """
        raise NotImplementedError

    def every_sum(self) -> Array | None:
        """Sums of all classifiers of the model (counts, classifiers), where they are few enough to list; else None.

        Returns
        -------
        numpy.ndarray or None
            The sums.
        """
        return None

    def every_snapshot(self, chosen: NDArray[np.intp]) -> Any:
        """Some of the classifiers of `every_sum`, as a snapshot.

        Parameters
        ----------
        chosen
            Positions of classifiers in `every_sum`.

        Returns
        -------
        object
            A snapshot, for `members`.
        """
        raise AlgorithmError(f"{type(self).__name__} does not list its classifiers")

    def families(self) -> list[Family]:
        """Classifiers to begin with, before any costs are known: all of them, where they can be listed.

        Returns
        -------
        list of Family
            Classifiers with their sums.
        """
        sums = self.every_sum()
        if sums is None:
            return []
        return [Family(sums, Source.LISTED, self.every_snapshot(np.arange(sums.shape[1])))]

    def respond(self, costs: Array) -> list[Family]:
        """Best responses to costs (counts, responses); none where `families` has all classifiers already.

        Parameters
        ----------
        costs
            Cost of predicting 1 in each cell, (counts, responses).

        Returns
        -------
        list of Family
            Classifiers with their sums.
        """
        if self.every_sum() is not None:
            return []
        nothing = np.zeros_like(costs)
        seen = self.answer(Asked(True, np.maximum(costs, nothing), np.minimum(costs, nothing)))
        return [Family(seen.sums, Source.PRICED, self.snapshot())]

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Classifiers of recorded iterates.

        Parameters
        ----------
        snapshots
            What `snapshot` returned in each recorded round.
        chosen
            The iterates, each as (position of the snapshot, configuration).

        Returns
        -------
        Members
            The classifiers, in the order of ``chosen``.
        """
        raise NotImplementedError

    def average(self, snapshots: Sequence[Any], chosen: Sequence[Choice], weights: Array) -> Members:
        """The classifier with averaged parameters, for models whose parameters can be averaged.

        Parameters
        ----------
        snapshots
            What `snapshot` returned in each recorded round.
        chosen
            The iterates, each as (position of the snapshot, configuration).
        weights
            One weight per iterate; they add up to 1.

        Returns
        -------
        Members
            One classifier.
        """
        raise AlgorithmError(
            f"classifiers of a {type(self).__name__} have no parameters to average: use uniform(), shrink() or polish()"
        )

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """A function that returns the sums of members' decisions on other rows, over all processes.

        Parameters
        ----------
        rows
            The rows to measure on.

        Returns
        -------
        callable
            From members to sums (counts, classifiers).
        """
        columns = rows.sample.examples.columns
        return lambda members: rows.cells.sums(members.decide(rows.X, attributes=columns))


class ColumnLearner(Learner):
    """A learner whose state is one array, ``parameters``, with the configurations along its last axis."""

    parameters: NDArray[Any]

    def resume(self, state: NDArray[Any]) -> None:
        """Restore the parameters."""
        self.parameters = state.copy()

    def snapshot(self) -> NDArray[Any]:
        """Copy the parameters."""
        return self.parameters.copy()

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.parameters = self.parameters[..., columns]

    def finite(self) -> NDArray[np.bool_]:
        """Configurations without NaN or infinity."""
        return np.asarray(np.isfinite(self.parameters).all(axis=tuple(range(self.parameters.ndim - 1))))


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model that was fitted before the game, and what replaces the features in the game.

    Attributes
    ----------
    model
        The model of the game.
    X
        Replaces the features in the game: out-of-fold predictions, one row for each example.
    serve
        Turns members of the game into members that take the original features.
    out_of_fold
        Whether the classifiers behind ``X`` were fitted without the row that they predict.
    """

    model: Model
    X: Any
    serve: Callable[[Any], Members]
    out_of_fold: bool = True


def check_shared_rows(model: Model, shared: Peers) -> None:
    """Refuse a model that needs all rows in one process, where several processes share them."""
    if not model.capabilities.shares_rows:
        shared.require_single_process(model.title)


@dataclass(frozen=True)
class Model:
    """The setting of a model. `bind` makes a learner of it, and `capabilities` says what it can do."""

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do and what it needs."""
        return Capabilities()

    @property
    def defaults(self) -> Defaults:
        """Rounds and step sizes of an estimator that was given none."""
        return Defaults(1000, STEPS, STEPS)

    @property
    def title(self) -> str:
        """What messages call the model."""
        return type(self).__name__

    def as_linear(self) -> Linear | None:
        """The linear model that column generation fits by regressions; None for a model that answers by its learner.

        Returns
        -------
        Linear or None
            The linear model.
        """
        return None

    def standardised(self) -> Model:
        """The model that standardises the features.

        Returns
        -------
        Model
            The model itself, where it does not standardise.
        """
        return self

    def with_categories(self, columns: tuple[int, ...]) -> Model | None:
        """The model for features of which some columns are codes of categories; None where it takes none.

        Parameters
        ----------
        columns
            Positions of the columns that are codes of categories.

        Returns
        -------
        Model or None
            A new model.
        """
        return None

    def with_groups(self, names: tuple[str, ...]) -> Model | None:
        """The model that uses these attributes when it predicts; None where it uses none.

        Parameters
        ----------
        names
            Names of attributes.

        Returns
        -------
        Model or None
            A new model.
        """
        return None

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared | None:
        """Fit the model before the game, which then uses its predictions; None for a model that the game fits.

        Parameters
        ----------
        sample
            The rows to fit on.
        cells
            Their cells, with the weights to train with.
        seed
            Seed of the folds.

        Returns
        -------
        Prepared or None
            The model of the game, and what replaces the features.
        """
        return None

    def pace(self, cells: Cells) -> Pace:
        """Rounds and steps that suit training on examples with these cells and weights.

        Parameters
        ----------
        cells
            The cells of the rows to train on.

        Returns
        -------
        Pace
            Rounds and steps.
        """
        return Pace()

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Make a learner on these rows, with parameters for ``count`` configurations.

        Parameters
        ----------
        rows
            The rows to train and to measure on.
        count
            Number of configurations.
        step
            The rule that turns gradients into steps, for models that descend.
        seeds
            One seed per configuration.

        Returns
        -------
        Learner
            The model on these rows.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PreparedModel(Model):
    """The model of a game in which predictions replace the features: a function makes its learner on such rows."""

    learner: Callable[[Rows, int], Learner]

    @property
    def capabilities(self) -> Capabilities:
        """Each row is measured by classifiers that were trained without it, for the classes of the data."""
        return Capabilities(out_of_sample=True, any_classes=True)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Nothing is left to be prepared."""
        return self.learner(rows, count)
