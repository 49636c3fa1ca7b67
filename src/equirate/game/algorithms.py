"""Table 2 of the paper: every algorithm is three players.

| algorithm        | problem    | slack        | multipliers        | model   | output as its theorem has it |
|------------------|------------|--------------|--------------------|---------|------------------------------|
| frank_wolfe      | P1, smooth | -            | FTL, true          | BR      | uniform mixture              |
| spade            | P1         | BR           | OGD, surrogate     | OGD     | average parameters           |
| nemsis           | P1, smooth | -            | FTL, surrogate     | OGD     | average parameters           |
| oracle           | P1, P2     | BR           | OGD, true          | BR      | uniform mixture              |
| surrogate        | P1, P2     | BR           | OGD, true          | OGD     | uniform mixture              |
| spade_plus       | P2         | BR           | OGD, surrogate     | OGD     | average parameters           |
| coco             | P2, smooth | -            | outer OGD, true    | BR      | its inner weights            |
| slack_ratios     | P3         | OGD          | OGD, true          | OGD     | uniform mixture              |
| biconvex         | P3         | BR, OGD on u | OGD, true          | OGD     | uniform mixture              |
| proxy_lagrangian | P1, P2     | OGD          | swap regret, true  | OGD     | objective's share            |
| linearized       | P1-P3, sm. | -            | gradient now, OGD  | OGD     | uniform mixture              |
| column_generation| P1-P3      | -            | duals of mixtures  | BR      | the best mixture             |

(P1) is a convex objective alone, (P2) has convex constraints, (P3) ratios. Any combination of affine and convex parts
in objective and constraints counts as P2. "True" multipliers see the rates themselves, "surrogate" ones the bounds that
the model is trained on. The proxy-Lagrangian's theorem weights each round by the objective's own multiplier. The last
two rows are not from the paper. In ``linearized``, multipliers take the gradient of every function at the current rates
and learn only those of the constraints: networks then converge for ratios without oscillating, but no theorem proves
it. Column generation solves for the multipliers instead of taking steps: they are the duals of the best mixture so far,
and a model answers them only a few times (`column_generation`). It is what ``"auto"`` means for all models but
networks.

A variant is made by `dataclasses.replace` of an algorithm, for example with other settings of its multipliers:
``replace(coco, multipliers=OuterAscent(inner=20, growing=False))``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from .._core.errors import AlgorithmError, EquirateError
from ..language.curvature import Curvature
from ..players.model import Descend, ModelPlayer, Respond
from ..players.multipliers import (
    Ascent,
    Following,
    FollowTheLeader,
    MasterDuals,
    MultiplierPlayer,
    OuterAscent,
    SwapRegret,
)
from ..players.slack import BestSlack, DescendingSlack, ImpliedSlack, SlackPlayer
from ..problem.canonical import Program, RatioForm, canonicalize
from ..problem.problem import Problem
from .automatic import automatic

__all__ = [  # noqa: RUF022  (in the order of the table)
    "frank_wolfe",
    "spade",
    "nemsis",
    "oracle",
    "surrogate",
    "spade_plus",
    "coco",
    "slack_ratios",
    "biconvex",
    "proxy_lagrangian",
    "linearized",
    "column_generation",
    "ALGORITHMS",
    "Algorithm",
    "Output",
    # multipliers, for variants
    "Ascent",
    "MasterDuals",
    "FollowTheLeader",
    "Following",
    "OuterAscent",
    "SwapRegret",
]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)


class Output(Enum):
    """How the iterates become the classifier that the theorem is about."""

    UNIFORM = "uniform"
    AVERAGE = "average"
    BEST = "best mixture"


@dataclass(frozen=True)
class Algorithm:
    """Three players, the kind of problem they can solve, and the output that the theorem is about.

    Parameters
    ----------
    name
        The name that ``algorithm=`` takes.
    slack, multipliers, model
        The three players.
    constraints
        Whether it solves problems with constraints.
    ratios
        Whether it solves problems with ratios of rates.
    smooth_only
        Whether it needs smooth functions.
    black_boxes
        Whether it solves problems with `black_box` functions.
    output
        The classifier that its theorem is about: the uniform mixture, the average or the best mixture.
    form
        How ratios are written in the game.
    """

    name: str
    slack: SlackPlayer
    multipliers: MultiplierPlayer[Any]
    model: ModelPlayer
    constraints: bool = True
    ratios: bool = False
    smooth_only: bool = False
    black_boxes: bool = True
    output: Output = Output.UNIFORM
    form: RatioForm = RatioForm.SLACK

    @property
    def bounds_optimum(self) -> bool:
        """Whether the Lagrangian bounds the optimum from below where the model answers exactly."""
        return self.responds and self.slack.answers_best and not self.multipliers.plays_objective

    @property
    def responds(self) -> bool:
        """Whether the model best-responds rather than descends."""
        return self.model.responds

    def refusal(self, program: Program) -> str | None:
        """The reason why the algorithm cannot solve a program, or None if it can.

        Parameters
        ----------
        program
            The canonical form of a problem.

        Returns
        -------
        str or None
            The reason, with an algorithm to use instead.
        """
        if program.n_constraints and not self.constraints:
            return (
                f"{self.name} solves problems without constraints; this one has {program.n_constraints}. "
                "Use surrogate, oracle, spade_plus or coco"
            )
        if program.has_ratios and not self.ratios:
            ratio = next(a for a in program.atoms if a.form.name == "ratio" or a.direct is not None)
            return f"{self.name} solves convex problems; {ratio.text} is a ratio. Use slack_ratios or biconvex"
        boxes = [atom for atom in program.atoms if atom.form.grid]
        if boxes and not self.black_boxes:
            return f"{self.name} needs gradients; {boxes[0].text} is a black box. Use surrogate or oracle"
        kinked = program.kinked()
        if kinked and self.smooth_only:
            return f"{self.name} needs smooth functions; {kinked[0].text} is not. Use surrogate or oracle"
        if program.has_losses and self.responds:
            loss = program.rows[0].losses[0][0]
            return f"{self.name} best-responds to rates only and cannot minimise {loss!r}. Use surrogate"
        return None

    def check(self, program: Program) -> None:
        """Raise an error if the algorithm cannot solve a program.

        Parameters
        ----------
        program
            The canonical form of a problem.
        """
        reason = self.refusal(program)
        if reason is not None:
            raise AlgorithmError(reason)

    def __repr__(self) -> str:
        return self.name


_BR, _OGD, _IMPLIED = BestSlack(), DescendingSlack(), ImpliedSlack()
_RESPOND, _DESCEND, _DESCEND_ROWS = Respond(), Descend(), Descend(net=False)

frank_wolfe = Algorithm("frank_wolfe", _IMPLIED, FollowTheLeader(), _RESPOND,
                        constraints=False, smooth_only=True, black_boxes=False)  # fmt: skip
spade = Algorithm("spade", _BR, Ascent(sees_bounds=True), _DESCEND_ROWS, constraints=False, output=Output.AVERAGE)
nemsis = Algorithm("nemsis", _IMPLIED, FollowTheLeader(sees_bounds=True), _DESCEND_ROWS,
                   constraints=False, smooth_only=True, black_boxes=False, output=Output.AVERAGE)  # fmt: skip
oracle = Algorithm("oracle", _BR, Ascent(), _RESPOND)
surrogate = Algorithm("surrogate", _BR, Ascent(), _DESCEND)
spade_plus = Algorithm("spade_plus", _BR, Ascent(sees_bounds=True), _DESCEND_ROWS, output=Output.AVERAGE)
coco = Algorithm("coco", _IMPLIED, OuterAscent(), _RESPOND, smooth_only=True, black_boxes=False)
slack_ratios = Algorithm("slack_ratios", _OGD, Ascent(), _DESCEND, ratios=True, black_boxes=False)
biconvex = Algorithm("biconvex", _BR, Ascent(), _DESCEND, ratios=True, form=RatioForm.BICONVEX)
proxy_lagrangian = Algorithm("proxy_lagrangian", _OGD, SwapRegret(), _DESCEND, black_boxes=False)
linearized = Algorithm("linearized", _IMPLIED, Following(), _DESCEND, ratios=True, smooth_only=True, black_boxes=False)
column_generation = Algorithm("column_generation", _IMPLIED, MasterDuals(), _RESPOND, ratios=True, output=Output.BEST)

ALGORITHMS = {each.name: each for each in tuple(globals().values()) if isinstance(each, Algorithm)}
"""Every algorithm above by its name, in the order of the table."""


def choose(algorithm: Any, problem: Problem, descends: bool, batches: bool = False, steps: bool = False) -> Algorithm:
    """The algorithm for the user's argument ``algorithm``.

    ``"auto"`` is column generation. A network, which is trained on ``batches``, plays a game instead: ``surrogate`` for
    affine and convex problems and for black boxes; for ratios ``linearized`` if it can solve the problem, which is
    better in our experiments (docs/torch.md), else ``slack_ratios``. A model that descends also plays a game if the
    objective has an ordinary loss or if ``steps`` were given.

    A model without gradients best-responds in ``slack_ratios``, ``biconvex`` and ``proxy_lagrangian``; algorithms that
    need gradients raise an error.
    """
    if isinstance(algorithm, Algorithm):
        chosen = algorithm
    elif isinstance(algorithm, str) and algorithm in ALGORITHMS:
        chosen = ALGORITHMS[algorithm]
    elif algorithm == "auto":
        game = batches or (descends and steps)
        chosen = _game(problem) if game else ALGORITHMS[automatic(problem)]
    else:
        names = ", ".join(map(repr, ("auto", *ALGORITHMS)))
        raise AlgorithmError(f"the algorithm must be one of {names}, or an Algorithm; got {algorithm!r}")
    if descends or chosen.responds:
        return chosen
    if chosen.multipliers.sees_bounds or chosen in (surrogate, linearized):
        raise AlgorithmError(
            f"{chosen.name} descends on surrogate rates, which a model without gradients does not have: "
            "use oracle, frank_wolfe, coco, proxy_lagrangian or a ratio algorithm with it, or a linear model"
        )
    return replace(chosen, model=_RESPOND)


def refuse_games(algorithm: Any, n_classes: int) -> None:
    """Raise an error for the games of the paper, which need two classes."""
    name = algorithm.name if isinstance(algorithm, Algorithm) else algorithm
    if name not in ("auto", "column_generation"):
        raise AlgorithmError(
            f'{name!r} is a game of two classes, and y has {n_classes}: leave algorithm at "auto", which generates '
            "columns for any number of classes"
        )


def _game(problem: Problem) -> Algorithm:
    """The game for a model that descends."""
    if problem.curvature is not Curvature.RATIO:
        return surrogate
    try:
        linearized.check(canonicalize(problem))
    except EquirateError:
        return slack_ratios
    return linearized
