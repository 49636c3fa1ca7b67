"""The contract between the game and a model: costs per cell go in, sums over cells come back.

A `Model` is a frozen setting. `Model.bind` joins it with `Rows` and returns a `Learner`, which holds the parameters of
all configurations side by side. Each round the game asks (`Asked`: costs per cell) and the learner answers (`Seen`:
sums over cells). No array with one entry per example crosses the border, and everything that does *adds up* over
batches, blocks of rows and shards. Snapshots of a learner are turned into `Members`, which decide on new data.

Counts are (cell, answer): with two answers there is one count a cell, the weighted sum of the predictions of 1. With
K answers there are K - 1; nothing here depends on how many counts there are.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._core.errors import AlgorithmError, FileError
from .._core.peers import Peers, peers
from .._core.rules import Fields, Rule, check_arrays
from ..data.cells import Cells
from ..data.sample import Sample, taken
from ..mixtures import Source
from ..players.losses import LOSSES, signs
from ..players.steps import StepRule
from ..players.surrogates import HINGE, Surrogate
from .contributions import Contributions

Array = NDArray[np.float64]
Scores = NDArray[Any]
Choice = tuple[int, int]
"""A recorded iterate: (index of the snapshot, configuration)."""
Index = NDArray[np.intp] | slice


class Seen(NamedTuple):
    """What is seen of the predictions on some rows; parts add up (`plus`) to what is seen on all of them."""

    sums: Array
    """(counts, configurations): weighted sums of the predictions."""
    bounds: tuple[Array, Array] | None = None
    """The same of the upper and of the lower surrogate bounds, where they were asked for."""
    losses: Array | None = None
    """(losses, counts, configurations): weighted sums of the ordinary losses, where they were asked for."""

    def parts(self) -> list[Array]:
        """The arrays that are there, to be added up elsewhere."""
        return [self.sums, *(self.bounds or ()), *([] if self.losses is None else [self.losses])]

    def of_parts(self, parts: Sequence[Array]) -> Seen:
        """The same with other arrays, in the order of `parts`."""
        rest = list(parts[1:])
        bounds = None if self.bounds is None else (rest.pop(0), rest.pop(0))
        return Seen(parts[0], bounds, rest.pop(0) if rest else None)

    def plus(self, other: Seen) -> Seen:
        """The two together."""
        return self.of_parts([a + b for a, b in zip(self.parts(), other.parts(), strict=True)])


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of the rows: features, and the cells with the weights to measure with and to train with."""

    X: Any
    _: KW_ONLY
    cells: Cells
    trained: Cells
    rows: Index


@dataclass(frozen=True, eq=False)
class Rows:
    """The examples that a model is trained and measured on: the only thing that knows how many there are, and where.

    ``cells`` have the weights that rates are measured with, ``trained`` (the same cells) those that the model is
    trained with; they differ in a game on two data sets, where each has weight 0 where the other counts. Where several
    processes share the rows, these are the ones that are here, and ``reduce`` adds up over all processes.
    """

    sample: Sample
    cells: Cells
    trained: Cells
    shared: Peers = field(default_factory=peers, repr=False)
    """The processes that had a part of the rows when these were put together."""
    _blocks: dict[int, list[Batch]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, sample: Sample, cells: Cells) -> Rows:
        """Rows that are trained on and measured alike."""
        return cls(sample, cells, cells)

    @property
    def X(self) -> Any:  # noqa: N802  # features are called that everywhere
        """Features of all rows here."""
        return self.sample.X

    def __len__(self) -> int:
        """Count the rows here."""
        return len(self.sample)

    def batches(self, size: int | None = None, rng: np.random.Generator | None = None) -> Iterator[Batch]:
        """All rows in batches: in order and the same ones every time, or shuffled by ``rng``."""
        n = len(self)
        size = n if size is None else size
        if rng is None:
            yield from self._in_order(max(size, 1))
            return
        order = rng.permutation(n)
        for start in range(0, n, size):
            yield self.batch(order[start : start + size])

    def batch(self, rows: Index) -> Batch:
        """Some of the rows."""
        cells = self.cells.take(rows)
        trained = cells if self.trained is self.cells else self.trained.take(rows)
        return Batch(taken(self.X, rows), cells=cells, trained=trained, rows=rows)

    def _in_order(self, size: int) -> list[Batch]:
        if size not in self._blocks:
            self._blocks.clear()  # the number of configurations only falls: older cuts are done with
            n = len(self)
            self._blocks[size] = [self.batch(slice(a, min(a + size, n))) for a in range(0, n, size)]
        return self._blocks[size]

    def reduce(self, *parts: Array) -> tuple[Array, ...]:
        """Add parts up over all processes, in one call: what is seen and the slope of a round go together."""
        return self.shared.add(*parts)


@dataclass(frozen=True, eq=False)
class Asked:
    """What the game wants of the model this round: arrays are (counts, configurations), nothing is per example.

    A model that responds minimises ``costs`` times the weighted predictions; one that descends takes the slope of the
    upper bound that replaces each prediction by an upper bound where its cost is positive (``up``) and a lower one
    where it is negative (``down``), plus the ordinary losses.
    """

    respond: bool
    up: Array
    down: Array
    surrogate: Surrogate = HINGE
    losses: Mapping[str, Array] = field(default_factory=dict)
    """Coefficients (counts, configurations) of each ordinary loss in the objective."""
    bounded: bool = False
    """Whether the sums of the surrogate bounds are wanted."""
    recorded: bool = False
    """Whether this round is recorded, so that the sums of the ordinary losses are wanted."""

    @cached_property
    def costs(self) -> Array:
        """What an oracle minimises."""
        return self.up + self.down

    @cached_property
    def net(self) -> bool:
        """Whether no cell has a cost on both bounds."""
        return bool(((self.up == 0) | (self.down == 0)).all())

    def slope(self, batch: Batch, scores: Scores) -> Scores:
        """Gradient with respect to the scores (rows of the batch, configurations)."""
        cells, dtype = batch.trained, scores.dtype
        if self.net:
            slope = self.surrogate.net_slope(scores, np.take(self.costs.astype(dtype), cells.of, axis=0))
        else:
            slope = np.take(self.up.astype(dtype), cells.of, axis=0) * self.surrogate.upper_slope(scores)
            slope += np.take(self.down.astype(dtype), cells.of, axis=0) * self.surrogate.lower_slope(scores)
        for name, coefficient in self.losses.items():
            slope += coefficient.astype(dtype)[cells.of] * LOSSES[name].slope(scores, _signs(cells, dtype))
        return _weighed(slope, cells)

    def curvature(self, batch: Batch, scores: Scores) -> Scores:
        """Bound on the second derivatives with respect to the scores, for learners that take Newton steps."""
        cells, dtype = batch.trained, scores.dtype
        curvature = np.take((self.up - self.down).astype(dtype), cells.of, axis=0) * self.surrogate.curvature(scores)
        for name, coefficient in self.losses.items():
            curvature += np.abs(coefficient.astype(dtype))[cells.of] * LOSSES[name].curvature(scores)
        return _weighed(curvature, cells)

    def value(self, batch: Batch, scores: Scores) -> Array:
        """What the slope is the gradient of, added up over the batch: one number per configuration."""
        cells, dtype = batch.trained, scores.dtype
        up, down = (np.take(part.astype(dtype), cells.of, axis=0) for part in (self.up, self.down))
        value = up * self.surrogate.upper(scores) + down * self.surrogate.lower(scores)
        for name, coefficient in self.losses.items():
            value += coefficient.astype(dtype)[cells.of] * LOSSES[name].value(scores, _signs(cells, dtype))
        return np.asarray(_weighed(value, cells).sum(axis=0), dtype=float)

    def column(self, c: int) -> Asked:
        """What one configuration is asked."""
        losses = {name: coefficient[:, [c]] for name, coefficient in self.losses.items()}
        return replace(self, up=self.up[:, [c]], down=self.down[:, [c]], losses=losses)

    def seen(self, batch: Batch, scores: Scores) -> Seen:
        """Sums over the cells of a batch, of everything that is wanted."""
        add = batch.cells.sums
        bounds = (add(self.surrogate.upper(scores)), add(self.surrogate.lower(scores))) if self.bounded else None
        losses = None
        if self.losses and self.recorded:
            sign = _signs(batch.cells, scores.dtype)
            losses = np.stack([add(LOSSES[name].value(scores, sign)) for name in self.losses])
        return Seen(add(scores > 0), bounds, losses)


def _signs(cells: Cells, dtype: Any) -> Scores:
    return signs(cells.labels[cells.of], dtype)


def _weighed(values: Scores, cells: Cells) -> Scores:
    if not cells.unweighted:
        values *= cells.weights.astype(values.dtype)[:, None]
    return values


KINDS = {
    "linear": ("equirate.models.linear", "LinearMembers"),
    "thresholds": ("equirate.models.thresholds", "ThresholdMembers"),
    "posterior": ("equirate.models.plug_in", "PlugInMembers"),
    "forests": ("equirate.models.forest_members", "ForestMembers"),
    "side_by_side": ("equirate.models.side_by_side", "SideBySide"),
    "derandomised": ("equirate.models.derandomised", "Derandomised"),
    "torch": ("equirate.torch.members", "TorchMembers"),
}
"""Kinds of members in files: the module, imported only when a file asks for it, and the class that reads it."""


class Written(NamedTuple):
    """Members as plain data: their kind, settings that JSON can hold, and arrays."""

    kind: str
    settings: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Members:
    """Several deterministic classifiers that decide together, and write and read themselves as plain data."""

    needs_attributes = False
    settings_rule: ClassVar[Rule] = Fields({})
    array_rules: ClassVar[Mapping[str, Rule]] = {}
    """What the settings and the arrays in a file must be; `read` checks that first."""
    nested: ClassVar[str] = ""
    """Begin of the names of arrays that belong to members inside these, which check them themselves."""

    @property
    def width(self) -> int | None:
        """How many features they want; None where any number will do."""
        return None

    def __len__(self) -> int:
        """Count the classifiers."""
        raise NotImplementedError

    def decide(self, X: Any, *, attributes: Any = None) -> NDArray[np.bool_]:
        """Return the 0/1 decisions, (examples, classifiers)."""
        raise NotImplementedError

    def scores(self, X: Any, *, attributes: Any = None) -> Scores:
        """Return real-valued scores (examples, classifiers), where there are any."""
        raise AlgorithmError("these classifiers decide without a score")

    @property
    def has_scores(self) -> bool:
        """Whether `scores` gives scores."""
        return type(self).scores is not Members.scores

    def split_counts(self) -> Array | None:
        """How often trees split by each feature; None for members that are no trees."""
        return None

    def __getitem__(self, index: int | slice) -> Members:
        """One of the classifiers as members of their own, or several by a slice."""
        if isinstance(index, slice):
            return self.take(range(*index.indices(len(self))))
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} members; asked for number {index}")
        return self.take([place])

    def __iter__(self) -> Iterator[Members]:
        return (self[k] for k in range(len(self)))

    def mean_score(self, X: Any, *, weights: Array, attributes: Any = None) -> Array:
        """Weighted mean of the scores, where there are any: one number per example, whatever the other examples."""
        return np.asarray(self.scores(X, attributes=attributes) @ weights, dtype=float)

    def contributions(self, X: Any, *, attributes: Any = None) -> Contributions | None:
        """What each feature adds to the scores; None where the classifiers cannot tell."""
        return None

    def take(self, indices: Sequence[int]) -> Members:
        """Return some of the classifiers."""
        raise NotImplementedError

    def completed(self, module: Any) -> Members:
        """The same with what no file holds: the constructor of a network's module; others need nothing."""
        return self

    def plain(self, width: int) -> Written:
        """Write themselves, for data with so many features; those that only pickle could keep refuse."""
        raise FileError(f"{type(self).__name__} cannot be saved without pickle")

    @classmethod
    def from_plain(cls, settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Members:
        """Make members of settings and arrays that passed the rules; refuses those that do not fit together."""
        raise NotImplementedError

    @staticmethod
    def read(written: Written) -> Members:
        """Read members of any kind of `KINDS` back, which may come from a stranger."""
        if written.kind not in KINDS:
            raise FileError(f"members of the kind {written.kind[:60]!r} are not known to this equirate: upgrade it")
        module, name = KINDS[written.kind]
        try:
            reader: type[Members] = getattr(importlib.import_module(module), name)
        except ImportError as error:
            raise FileError(f"its members are of the kind {written.kind!r}: {error}") from None
        reader.settings_rule.check(written.settings, f"the settings of the {written.kind} members")
        inside = reader.nested
        own = {name: array for name, array in written.arrays.items() if not inside or not name.startswith(inside)}
        check_arrays(reader.array_rules, own, f"the {written.kind} members")
        return reader.from_plain(written.settings, written.arrays)


@dataclass(frozen=True, eq=False)
class Family:
    """Classifiers whose sums are known, such as the thresholds of one score.

    Attributes
    ----------
    sums
        (counts, classifiers): weighted sums of their predictions.
    source
        Where they came from.
    snapshot
        What the learner makes members of, with the classifiers last.
    """

    sums: Array
    source: Source
    snapshot: Any = None


class Pace(NamedTuple):
    """How a model that is fed by batches wants to be played."""

    rounds: int | None = None
    """Rounds of the game, where the model knows by itself how long to train."""
    record_every: int | None = None
    """Rounds from one exact measurement to the next, where nobody says otherwise."""
    share: float = 1.0
    """Share of the examples that the model sees in a round: steps of slacks and multipliers are multiplied by it."""
    lambda_step: float | None = None
    """A step of the multipliers, for all the examples, where nobody says otherwise."""
    damping: float | None = None
    """Rounds that a change of a violation counts for, where nobody says otherwise how multipliers step."""
    units: float = 1.0
    """Steps of a constraint in its own unit, over those of couplings, with such steps."""
    patience: float = math.inf
    """Rounds in which a violation keeps its sign until such steps are e times as long."""


class Keeper(Protocol):
    """Keeps a play on disk, so that one that was killed can go on; ``game`` is the loop's `Game`."""

    def resume(self, game: Any, progress: Any) -> int:
        """Bring a game to where it was kept, and return the round: 0 where nothing was kept."""
        ...

    def keep(self, game: Any, progress: Any, t: int, last: bool) -> None:
        """Round ``t`` was played: keep the game, if it is time to."""
        ...


class Learner:
    """Parameters of all configurations of a model, joined with the rows."""

    width: int | None = None
    """How many features there are, where the model knows."""
    budget: float = np.inf
    """Bytes that the snapshots of a run may take."""
    keeper: Keeper | None = None
    """Keeps the play on disk, where the model is asked to."""
    alike: bool = True
    """Whether the state is the same on every process that shares the rows, so that one can keep it for all."""

    def expecting(self, rounds: int) -> AbstractContextManager[None]:
        """A context to play so many rounds in, for learners that prepare for the amount of work."""
        return nullcontext()

    def answer(self, asked: Asked) -> Seen:
        """Respond, or keep the slope to descend by, and say what is seen of this round's predictions."""
        raise NotImplementedError

    def advance(self, rate: Array) -> None:
        """Move against the slope that the last `answer` kept, with one step size per configuration."""
        raise AlgorithmError(f"{type(self).__name__} does not descend")

    def snapshot(self) -> Any:
        """Return a copy of the parameters, as they decide on features as given."""
        raise NotImplementedError

    def start_from(self, snapshot: Any) -> None:
        """Begin where an earlier play's snapshot was taken, where the model can."""
        raise AlgorithmError(f"{type(self).__name__} cannot continue an earlier play: only linear models can")

    def about(self) -> str:
        """What tells the data behind this learner from others: a state of others is not to go on from."""
        return type(self).__name__

    def state(self) -> Any:
        """Everything that the next round depends on, to go on from exactly here."""
        return self.snapshot()

    def resume(self, state: Any) -> None:
        """Go on exactly where `state` was taken."""
        raise AlgorithmError(f"{type(self).__name__} cannot be resumed")

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop all configurations but these."""
        raise NotImplementedError

    def finite(self) -> NDArray[np.bool_]:
        """Which configurations have finite parameters."""
        raise NotImplementedError

    def every_sum(self) -> Array | None:
        """Sums of every classifier that the model can be (counts, classifiers), where they are few; else None."""
        return None

    def every_snapshot(self, chosen: NDArray[np.intp]) -> Any:
        """Some of the classifiers of `every_sum` side by side, as a snapshot."""
        raise AlgorithmError(f"{type(self).__name__} does not list its classifiers")

    def families(self) -> list[Family]:
        """Classifiers that are known before any costs are: all of them, where they are few."""
        every = self.every_sum()
        if every is None:
            return []
        return [Family(every, Source.LISTED, self.every_snapshot(np.arange(every.shape[1])))]

    def respond(self, costs: Array) -> list[Family]:
        """Best responses to costs (counts, answers); nothing where `families` has every classifier."""
        if self.every_sum() is not None:
            return []
        nothing = np.zeros_like(costs)
        seen = self.answer(Asked(True, np.maximum(costs, nothing), np.minimum(costs, nothing)))
        return [Family(seen.sums, Source.PRICED, self.snapshot())]

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Turn recorded iterates into classifiers."""
        raise NotImplementedError

    def average(self, snapshots: Sequence[Any], chosen: Sequence[Choice], weights: Array) -> Members:
        """Return the one classifier with averaged parameters, where averaging makes sense."""
        raise AlgorithmError(
            f"classifiers of a {type(self).__name__} have no parameters to average: use uniform(), shrink() or polish()"
        )

    def measurer(self, rows: Rows) -> Callable[[Members], Array]:
        """Return a function that gives the sums of the decisions of members on other rows, of all processes."""
        return lambda members: rows.reduce(
            rows.cells.sums(members.decide(rows.X, attributes=rows.sample.examples.columns))
        )[0]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a model has learnt of the features before the play, in which something else takes their place.

    Attributes
    ----------
    model
        What plays.
    X
        What it has in the place of features, one row for each example; said of each row by what has not seen it.
    serve
        Gives members of the play the features back.
    """

    model: Model
    X: Any
    serve: Callable[[Members], Members]


class Usual(NamedTuple):
    """How long and with which steps a model plays where nothing else is said."""

    n_rounds: int
    theta_step: float | Sequence[float]
    lambda_step: float | Sequence[float] | None
    """None for the model's own (`Pace`)."""
    record_every: int | None = None


STEPS = (0.003, 0.01, 0.03, 0.1)
"""Step sizes tried side by side, for the model and for the multipliers, on scaled features."""


def refuse_apart(model: Model) -> None:
    """Refuse a model that must see all rows, where several processes share them."""
    if not model.adds_up:
        trained = getattr(model, "estimator", None)
        one_place(type(model).__name__ + ("" if trained is None else f" of a {type(trained).__name__}"))


def one_place(what: str) -> None:
    """Refuse what must see all rows, where several processes share them."""
    if peers().size > 1:
        raise AlgorithmError(
            f"{what} must see all rows in one place, and here {peers().size} processes share them: take a "
            'RateClassifier with model="linear" or a network, or fit a sample of the rows in one process, inside '
            "equirate.distributed.alone()"
        )


@dataclass(frozen=True)
class Model:
    """A setting of a model. Every model can best-respond."""

    adds_up: ClassVar[bool] = False
    """Whether its learner needs no more than sums over the rows, so that several processes can share them."""

    @property
    def usual(self) -> Usual:
        """Rounds and steps of an estimator that was given none."""
        return Usual(1000, STEPS, STEPS)

    @property
    def takes_missing(self) -> bool:
        """Whether features may be missing."""
        return False

    def with_categories(self, columns: tuple[int, ...]) -> Model | None:
        """The model told that some columns of the features are codes of categories; None where it takes none."""
        return None

    @property
    def most_categories(self) -> int | None:
        """How many different values a column of categories may have; None where it does not matter."""
        return None

    @property
    def wants_referee(self) -> bool:
        """Whether multipliers should see rows that the model is not trained on, unless users say otherwise."""
        return False

    @property
    def draws(self) -> bool:
        """Whether training draws random numbers, so that the seed of an estimator is to be its own."""
        return False

    @property
    def honest(self) -> bool:
        """Whether what is seen of the rows is what would be seen of new ones, however well the model fits its own."""
        return False

    def prepared(self, sample: Sample, cells: Cells, seed: int) -> Prepared | None:
        """Learn from the features before the play, where it does without them; None for a model that needs them."""
        return None

    @property
    def can_descend(self) -> bool:
        """Whether the model can also move against a slope."""
        return False

    @property
    def exact(self) -> bool:
        """Whether a best response is one: only then does the game's Lagrangian bound the optimum."""
        return False

    @property
    def has_own_steps(self) -> bool:
        """Whether the model has an optimiser of its own, so that the game's step size for it is not used."""
        return False

    def pace(self, cells: Cells) -> Pace:
        """How the model wants to be played when it is trained on examples with these cells and weights."""
        return Pace()

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Join with the rows and make the parameters of ``count`` configurations."""
        raise NotImplementedError
