r"""Boosted trees as gradient descent in function space: every round adds a tree to each configuration's ensemble.

The tree is the Newton step of the surrogate Lagrangian at the current scores: its leaves are
:math:`-\sum g_i / (\sum h_i + \lambda)` with the slope g and the curvature bound h of the costs of this round
(`Asked.slope`, `Asked.curvature`), which the library regularises as it does its own losses. All configurations start
from one unconstrained ensemble, whose log-odds minimise the log loss of the labels. Every prefix of an ensemble is an
iterate, and members that are prefixes of the same ensemble share its trees when predicting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core.choices import Library, SurrogateName
from .._core.errors import AlgorithmError, DataError
from ..models.capabilities import Capabilities, Defaults
from ..models.contract import Array, Choice, Learner, Model
from ..models.forest_members import ForestMembers, Piece
from ..models.forests import Forest
from ..models.members import Members
from ..models.messages import Asked, Seen
from ..models.rows import Rows
from ..players.steps import StepRule
from ..players.surrogates import LOGISTIC, Surrogate, surrogate_named
from .libraries import Bins, Grower, bins_of, check_library, plain_settings

ROUNDS, BEGIN = 150, 100
STEP, PRICE_STEP = 0.3, 0.003
"""Learning rate of the trees; step size of the multipliers, which overshoot with larger steps."""
DIVERGED_LOG_ODDS = 1e6
"""Log-odds beyond which an ensemble has diverged."""
FLOOR = 1e-2
"""Smallest curvature of a row, relative to its cost: with scores far from 0 it almost vanishes, and steps explode."""


@dataclass(frozen=True, eq=False, init=False)
class BoostedTrees(Model):
    """Ensembles of trees, one tree per round.

    Parameters
    ----------
    library
        ``"lightgbm"`` or ``"xgboost"`` (the extra ``boosting``).
    begin
        Trees of the unconstrained ensemble that every configuration starts from; 0 to start from scores of 0.
    surrogate
        The surrogate of the predictions: ``"logistic"``, ``"sigmoid"`` or ``"hinge"``.
    **settings
        Settings of the trees in the library's own names: ``num_leaves``, ``max_depth``, ``min_child_samples``,
        ``reg_lambda``, ``subsample``, ``monotone_constraints``, ``categorical_feature``, ``n_jobs``, ``random_state``
        and others. The step size is the game's (``theta_step``); ``learning_rate`` is that of the unconstrained
        ensemble.

    Examples
    --------
    >>> import numpy as np, equirate as eq
    >>> from equirate.boosting import BoostedTrees
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=600) > 0).astype(int)
    >>> problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate() <= 0.4])
    >>> solution = eq.solve(problem, X, y, model=BoostedTrees(n_jobs=1), n_rounds=40, theta_step=0.1, lambda_step=0.1)
    >>> solution.status.feasible
    True
    """

    library: Library = "lightgbm"
    begin: int = BEGIN
    surrogate: SurrogateName | Surrogate = LOGISTIC
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        library: Library = "lightgbm",
        *,
        begin: int = BEGIN,
        surrogate: SurrogateName | Surrogate = "logistic",
        **settings: Any,
    ) -> None:
        check_library(library)
        if isinstance(begin, bool) or not isinstance(begin, (int, np.integer)) or begin < 0:
            raise AlgorithmError(f"begin must be a number of trees, at least 0; got {begin!r}")
        for name, value in (("library", library), ("begin", int(begin)), ("settings", settings)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "surrogate", surrogate_named(surrogate).name)

    def plain(self) -> dict[str, Any]:
        """All settings as one mapping, for files.

        Returns
        -------
        dict
            Settings that JSON can hold.
        """
        own = {"library": self.library, "begin": self.begin, "surrogate": self.surrogate}
        return {**plain_settings(self.settings), **own}

    @classmethod
    def from_plain(cls, settings: dict[str, Any]) -> BoostedTrees:
        """Restore a model from its settings.

        Parameters
        ----------
        settings
            The mapping that `plain` returned.

        Returns
        -------
        BoostedTrees
            The model with these settings.
        """
        return cls(**settings)

    def __repr__(self) -> str:
        shown = [repr(self.library), f"begin={self.begin}", *(f"{k}={v!r}" for k, v in self.settings.items())]
        return f"BoostedTrees({', '.join(shown)})"

    @property
    def capabilities(self) -> Capabilities:
        """A tree is a gradient step. Trees fit their training rows closely, so multipliers see held-out rows."""
        return Capabilities(descends=True, missing_values=True, held_out_prices=True)

    def with_categories(self, columns: tuple[int, ...]) -> BoostedTrees:
        """A copy that treats some columns as categorical, unless the settings already name categorical columns.

        Parameters
        ----------
        columns
            Positions of the columns that hold category codes.

        Returns
        -------
        BoostedTrees
            A model with this setting; the model itself is not changed.
        """
        settings = {"categorical_feature": list(columns), **self.settings}
        return BoostedTrees(self.library, begin=self.begin, surrogate=self.surrogate, **settings)

    @property
    def defaults(self) -> Defaults:
        """Few rounds, every second one recorded: a tree is more than a step of a linear model."""
        return Defaults(ROUNDS, STEP, PRICE_STEP, record_every=2)

    def bind(self, rows: Rows, count: int, step: StepRule[Any], seeds: Sequence[int]) -> Learner:
        """Bin the features and train the initial ensemble, once for all configurations.

        Parameters
        ----------
        rows
            The rows to train and to measure on.
        count
            Number of configurations.
        step
            The step rule of the parameters; not used, because a tree is the step.
        seeds
            One seed per configuration; not used.

        Returns
        -------
        Learner
            The ensembles of all configurations.
        """
        X = rows.X.tocsr() if hasattr(rows.X, "tocsr") else np.asarray(rows.X, dtype=float)
        if X.ndim != 2:
            raise DataError(f"the features must be a table; got shape {X.shape}")
        bins = bins_of(self.library, X, self.settings)
        trained = rows.trained
        base, scores = Forest.constant(np.zeros(1), bins.width, self.library == "xgboost"), np.zeros(len(rows))
        if self.begin:
            labels = trained.labels[trained.index]
            weights = None if trained.unweighted else trained.weights
            base, test_scores = bins.fit(labels, weights, 2, {**self.settings, "n_estimators": self.begin}, [bins])
            scores = test_scores[0][:, 0]
        return BoostedLearner(self, rows, bins, base, scores, count)


@dataclass(eq=False)
class Ensemble:
    """The trees of one configuration that were added to the initial ensemble."""

    number: int
    grower: Grower | None = None
    grown: Forest | None = None

    @property
    def trees(self) -> int:
        """Number of trees that were added."""
        return 0 if self.grower is None else self.grower.trees

    def forest(self) -> Forest:
        """The trees that were added; there must be some."""
        assert self.grower is not None
        if self.grown is None or len(self.grown.roots) != self.trees:
            self.grown = self.grower.forest()
        return self.grown


class BoostedLearner(Learner):
    """Scores of all rows and configurations, and the ensembles that they come from."""

    def __init__(self, setting: BoostedTrees, rows: Rows, bins: Bins, base: Forest, begin: Array, count: int) -> None:
        self.setting, self.rows, self.bins, self.base = setting, rows, bins, base
        self.begin = begin
        self.scores = np.repeat(begin[:, None], count, axis=1)
        self.ensembles = [Ensemble(k) for k in range(count)]
        self.every = list(self.ensembles)
        self.steps: list[tuple[Array, Array]] = []
        self.surrogate = surrogate_named(setting.surrogate)

    def answer(self, asked: Asked) -> Seen:
        """Store slope and curvature at the scores; for a best response, train a new ensemble."""
        asked = replace(asked, surrogate=self.surrogate)
        (batch,) = self.rows.batches()
        if asked.respond:
            self._respond(asked.costs)
            return asked.seen(batch, self.scores)
        slope, curvature = asked.slope(batch, self.scores), asked.curvature(batch, self.scores)
        least = FLOOR * np.abs(self.rows.trained.spread(np.abs(asked.up) + np.abs(asked.down)))
        curvature = np.maximum(curvature, least)
        size = curvature.sum(axis=0)
        scale = np.where(size > 0, len(self.rows) / np.maximum(size, 1e-300), 0.0)  # of the size of a library's own
        self.steps = [(g * s, h * s) for g, h, s in zip(slope.T, curvature.T, scale, strict=True)]
        return asked.seen(batch, self.scores)

    def _respond(self, costs: Array) -> None:
        spread = self.rows.trained.spread(costs)
        for c, cost in enumerate(spread.T):
            ensemble = Ensemble(len(self.every))
            self.every.append(ensemble)
            self.ensembles[c] = ensemble
            size = np.abs(cost)
            if not size.any():
                self.scores[:, c] = self.begin
                continue
            ensemble.grower = self.bins.grower(self.setting.settings, 0.3, self.begin)
            for _ in range(max(self.setting.begin // 2, 10)):
                chance = 1 / (1 + np.exp(-np.clip(ensemble.grower.scores, -30, 30)))
                weight = size * len(size) / size.sum()
                curvature = weight * np.maximum(chance * (1 - chance), FLOOR)
                ensemble.grower.grow(weight * (chance - (cost < 0)), curvature)
            self.scores[:, c] = ensemble.grower.scores

    def advance(self, rate: Array) -> None:
        """Add a tree to each ensemble."""
        for c, (ensemble, step) in enumerate(zip(self.ensembles, self.steps, strict=True)):
            if not all(np.isfinite(part).all() for part in step):
                self.scores[:, c] = np.nan
                continue
            if ensemble.grower is None:
                ensemble.grower = self.bins.grower(self.setting.settings, float(rate[c]), self.begin)
            ensemble.grower.grow(*step)
            self.scores[:, c] = ensemble.grower.scores

    def snapshot(self) -> list[Piece]:
        """Number of the ensemble of each configuration, and number of its trees so far."""
        return [(ensemble.number, ensemble.trees) for ensemble in self.ensembles]

    def keep(self, columns: NDArray[np.intp]) -> None:
        """Drop the other configurations."""
        self.ensembles, self.scores = [self.ensembles[c] for c in columns], self.scores[:, columns]

    def finite(self) -> NDArray[np.bool_]:
        """Which ensembles have not diverged."""
        with np.errstate(invalid="ignore"):
            return np.asarray((np.abs(self.scores) < DIVERGED_LOG_ODDS).all(axis=0))

    def members(self, snapshots: Sequence[Any], chosen: Sequence[Choice]) -> Members:
        """Prefixes of the ensembles, which share the initial ensemble."""
        pieces = [snapshots[t][c] for t, c in chosen]
        forests = {number: self.every[number].forest() for number in {number for number, count in pieces if count}}
        return ForestMembers.of_prefixes(forests, pieces, np.zeros(len(pieces)), self.base)
