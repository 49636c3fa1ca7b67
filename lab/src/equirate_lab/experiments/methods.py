"""The methods: one function per group of columns that come from one training run.

In: a `Bench`. Out: `Made`, the classifiers by column and, for some, curves to draw. Everything is trained on the
training part and chosen with the validation part. Nobody looks at the test part.

"As printed" means, like the authors' released code: the mixture of each configuration is made on the training part,
and the configuration is then chosen on the validation part by the ranking heuristic of Cotter et al. (2019).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq
from equirate.models import LinearMembers

from . import problems
from .bench import Bench
from .problems import GROUP, OTHERS
from .splits import PROTECTED, Part

Array = NDArray[np.float64]
Predictor = Callable[[Part], Array]
"""Each row's probability of being predicted 1."""
Curves = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """Classifiers by column, and curves to draw."""

    columns: dict[str, Predictor]
    curves: Curves = field(default_factory=dict)


Method = Callable[[Bench], Made]


def predictor(classifier: eq.Classifier) -> Predictor:
    """A classifier as a predictor."""
    return lambda part: classifier.positive_probability(part.X, attributes=part.attributes)


def as_printed(
    bench: Bench, problem: eq.Problem, solution: eq.Solution, make: Callable[[int], eq.Classifier]
) -> tuple[eq.Classifier, int]:
    """Make a classifier of every configuration, and choose one on the validation part by the ranking heuristic.

    A configuration all of whose iterates have an infinite objective (a group without positives) has no shrunk mixture
    and is passed over.
    """
    made = {}
    for c in np.unique(solution.columns.configuration).tolist():
        with suppress(ValueError):
            made[c] = make(c)
    if not made:
        raise eq.AlgorithmError("no iterate of any configuration has a finite objective")
    best = list(made)[by_ranks(list(made.values()), problem, bench.validation)]
    return made[best], best


def by_ranks(classifiers: Sequence[eq.Classifier], problem: eq.Problem, part: Part) -> int:
    """Which classifier the paper's ranking heuristic takes on a part."""
    found = [classifier.evaluate(problem, part.X, part.y, attributes=part.attributes) for classifier in classifiers]
    sign = -1.0 if problem.objective.sense == "maximize" else 1.0
    objective = sign * np.array([values["objective"] for values in found])
    return eq.mixtures.best_index(objective, np.array([values["violations"] for values in found]).T)


# -- the baselines --------------------------------------------------------------------------------


def unc_error(bench: Bench) -> Made:
    """UncError."""
    return Made({"unc_error": predictor(bench.unc_error)})


def unc_f1(bench: Bench) -> Made:
    """UncF1: UncError's scores with the threshold that is best for F on the training part."""
    members, part = bench.unc_error.members, bench.train
    assert isinstance(members, LinearMembers)  # made by the bench
    cut = eq.baselines.best_f1_threshold(members.scores(part.X)[:, 0], part.y)
    W = members.W.copy()
    W[-1] -= np.float32(cut)
    return Made({"unc_f1": predictor(eq.Classifier(LinearMembers(W), np.ones(1)))})


def post_shift(bench: Bench) -> Made:
    """PostShift: a threshold per group on logistic regression, set on the validation part as the authors' code does."""
    members, part = bench.logistic.members, bench.validation
    assert isinstance(members, LinearMembers)  # made by the bench
    scores = members.scores(part.X)[:, 0]
    protected = part.attributes[PROTECTED] == 1
    share = 1 - part.y.mean()
    cuts = {
        slice_: float(np.quantile(scores[rows], share)) for slice_, rows in ((GROUP, protected), (OTHERS, ~protected))
    }
    return Made({"post_shift": predictor(eq.Classifier(eq.baselines.group_thresholds(members, cuts), np.ones(1)))})


# -- KL divergence, Tables 5 and 6 ----------------------------------------------------------------


def kld_problem(bench: Bench, part: Part | None = None) -> eq.Problem:
    """The first experiment's problem, its limit being 1.1 times UncError's error on a part (training, by default)."""
    return problems.kld(problems.EXCESS * bench.error(bench.train if part is None else part))


def spade_plus(bench: Bench) -> Made:
    """SPADE+, shrunk (Table 5) and with averaged parameters (Table 6)."""
    steps, problem = bench.settings.spade_steps, kld_problem(bench)
    solution = bench.solve(problem, "spade_plus", theta_step=steps, lambda_step=steps)
    shrunk, _ = as_printed(bench, problem, solution, solution.shrink)
    average, _ = as_printed(bench, problem, solution, solution.average)
    return Made({"spade_plus": predictor(shrunk), "spade_plus_average": predictor(average)})


class Logits(BaseEstimator):
    """A linear classifier that is trained already, with class probabilities, for the plug-in to take as it is."""

    def __init__(self, members: LinearMembers) -> None:
        self.members = members

    def __sklearn_clone__(self) -> Logits:
        return self

    def fit(self, X: Any, y: Any, **_: Any) -> Logits:
        """Do nothing: it is trained."""
        return self

    def predict_proba(self, X: Any) -> Array:
        """Probability of labels 0 and 1."""
        positive = 1 / (1 + np.exp(-np.clip(self.members.scores(X)[:, 0].astype(float), -500, 500)))
        return np.stack([1 - positive, positive], axis=1)


def coco(bench: Bench) -> Made:
    """COCO on a plug-in of logistic regression, shrunk (Table 5) and with its own weights (Table 6)."""
    settings, problem = bench.settings, kld_problem(bench)
    members = bench.logistic.members
    assert isinstance(members, LinearMembers)  # made by the bench
    multipliers = eq.algorithms.OuterAscent(inner=settings.coco_inner, growing=False)  # as the paper has it
    solution = bench.solve(
        problem,
        replace(eq.algorithms.coco, multipliers=multipliers),
        model=eq.models.PlugIn(Logits(members), group_aware=True),
        n_rounds=settings.coco_runs * settings.coco_inner,
        record_every=1,
        lambda_step=settings.baseline_steps,
    )
    shrunk, _ = as_printed(bench, problem, solution, solution.shrink)
    weighted, _ = as_printed(bench, problem, solution, solution.uniform)
    return Made({"coco": predictor(shrunk), "coco_weights": predictor(weighted)})


def algorithm2(bench: Bench) -> Made:
    """Algorithm 2 as printed: shrunk, best iterate (Table 5) and uniform (Table 6)."""
    steps, problem = bench.settings.steps, kld_problem(bench)
    solution = bench.solve(problem, "surrogate", theta_step=steps, lambda_step=steps)
    shrunk, configuration = as_printed(bench, problem, solution, solution.shrink)
    best, _ = as_printed(bench, problem, solution, solution.best)
    uniform, _ = as_printed(bench, problem, solution, solution.uniform)
    columns = {"alg2_stochastic": shrunk, "alg2_deterministic": best, "alg2_uniform": uniform}
    return Made({name: predictor(c) for name, c in columns.items()}, convergence(solution, configuration))


def kld_polish(bench: Bench) -> Made:
    """Algorithm 2 with net bounds: as printed otherwise, and the best mixture of all iterates of all configurations.

    The mixture is made on the validation part (``polish``), or on training and validation rows together
    (``polish_both``): steadier with few validation rows, but partial to what fits the training rows too well. The error
    limit is 1.1 times UncError's error on the same rows.
    """
    steps, problem = bench.settings.our_steps, kld_problem(bench)
    solution = bench.solve(problem, "surrogate", net=True, theta_step=steps, lambda_step=steps)
    shrunk, _ = as_printed(bench, problem, solution, solution.shrink)
    columns = {"net": predictor(shrunk)}
    for name, part in (("polish", bench.validation), ("polish_both", bench.both)):
        judged = solution.on(part.X, part.y, attributes=part.attributes).for_problem(kld_problem(bench, part))
        columns[name] = predictor(judged.polish())
    return Made(columns)


def kld_defaults(bench: Bench) -> Made:
    """What `RateClassifier` gives with its defaults on the training and validation rows."""
    return rate_classifier(bench, kld_problem(bench, bench.validation))


def kld_two_sets(bench: Bench) -> Made:
    """`RateClassifier` with multipliers that see the held-out part."""
    return rate_classifier(bench, kld_problem(bench, bench.validation), column="two_sets", two_sets=True)


def kld_postprocess(bench: Bench) -> Made:
    """Mixtures of thresholds per group on logistic regression, for the problem itself."""
    return postprocess(bench, kld_problem(bench, bench.validation))


def kld_frontier(bench: Bench) -> Made:
    """The whole trade-off between error and fairness from one batched run."""
    excesses = (1.0, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5)
    error = bench.error(bench.train)
    levels = [(excess - problems.EXCESS) * error for excess in excesses]
    limits = [problems.kld(excess * bench.error(bench.both)) for excess in excesses]
    return frontier(bench, kld_problem(bench), excesses, levels, limits)


# -- F-measure, Table 7 ---------------------------------------------------------------------------


def _ratios(bench: Bench, algorithm: str, name: str) -> Made:
    steps, problem = bench.settings.steps, problems.fmeasure()
    solution = bench.solve(problem, algorithm, theta_step=steps, lambda_step=steps)
    shrunk, configuration = as_printed(bench, problem, solution, solution.shrink)
    best, _ = as_printed(bench, problem, solution, solution.best)
    columns = {f"{name}_stochastic": predictor(shrunk), f"{name}_deterministic": predictor(best)}
    return Made(columns, convergence(solution, configuration))


def algorithm3(bench: Bench) -> Made:
    """Algorithm 3 as printed: shrunk, and best iterate."""
    return _ratios(bench, "slack_ratios", "alg3")


def algorithm4(bench: Bench) -> Made:
    """Algorithm 4 as printed: shrunk, and best iterate."""
    return _ratios(bench, "biconvex", "alg4")


def fmeasure_polish(bench: Bench) -> Made:
    """Algorithm 3 with net bounds: as printed otherwise, and the best mixtures as in `kld_polish`."""
    steps, problem = bench.settings.our_steps, problems.fmeasure()
    solution = bench.solve(problem, "slack_ratios", net=True, theta_step=steps, lambda_step=steps)
    shrunk, _ = as_printed(bench, problem, solution, solution.shrink)
    columns = {"net": predictor(shrunk)}
    for name, part in (("polish", bench.validation), ("polish_both", bench.both)):
        columns[name] = predictor(solution.on(part.X, part.y, attributes=part.attributes).polish())
    return Made(columns)


def fmeasure_defaults(bench: Bench) -> Made:
    """What `RateClassifier` gives with its defaults on the training and validation rows."""
    return rate_classifier(bench, problems.fmeasure())


def fmeasure_two_sets(bench: Bench) -> Made:
    """`RateClassifier` with multipliers that see the held-out part."""
    return rate_classifier(bench, problems.fmeasure(), column="two_sets", two_sets=True)


def fmeasure_postprocess(bench: Bench) -> Made:
    """Mixtures of thresholds per group on logistic regression, for the problem itself."""
    return postprocess(bench, problems.fmeasure())


def fmeasure_frontier(bench: Bench) -> Made:
    """The whole trade-off between F and the gap in F from one batched run."""
    margins = (-0.04, -0.02, 0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
    levels = [margin - problems.F_MARGIN for margin in margins]
    return frontier(bench, problems.fmeasure(), margins, levels, [problems.fmeasure(margin) for margin in margins])


# -- the other rows of Table 1 --------------------------------------------------------------------


def table1_baseline(bench: Bench, row: problems.Row) -> Made:
    """UncError, which does not know of the row's problem."""
    return Made({"unc_error": predictor(bench.unc_error)})


def table1_convex(bench: Bench, row: problems.Row) -> Made:
    """Frank-Wolfe, SPADE, NEMSIS and Algorithms 1 and 2 on an objective, with the output that each theorem is about."""
    steps, rounds, part = bench.settings.our_steps, bench.settings.frontier_rounds, bench.validation
    plug_in = {
        "model": eq.models.PlugIn(LogisticRegression(max_iter=3000)),
        "n_rounds": min(rounds, 300),
        "record_every": 1,
    }
    linear = {"n_rounds": rounds, "theta_step": steps, "lambda_step": steps}
    columns: dict[str, Predictor] = {}
    for name, options in (
        ("frank_wolfe", plug_in),
        ("spade", linear),
        ("nemsis", linear),
        ("oracle", plug_in | {"lambda_step": steps}),
        ("surrogate", linear),
    ):
        solution = bench.solve(row.problem, name, net=True, **options)
        columns[name] = predictor(solution.on(part.X, part.y, attributes=part.attributes).output())
    return Made(columns)


def table1_ratios(bench: Bench, row: problems.Row) -> Made:
    """Algorithm 3 and 4 for a parity of ratios: shrunk as printed, and the best mixture of all iterates.

    Algorithm 4 needs ratios of at most 1, which wins over losses is not: there, Algorithm 3 plays alone.
    """
    steps = bench.settings.our_steps
    columns: dict[str, Predictor] = {}
    algorithms = {"alg3": "slack_ratios"} if row.legacy else {"alg3": "slack_ratios", "alg4": "biconvex"}
    for name, algorithm in algorithms.items():
        options = {"n_rounds": bench.settings.frontier_rounds, "theta_step": steps, "lambda_step": steps}
        solution = bench.solve(row.problem, algorithm, net=True, **options)
        columns[f"{name}_stochastic"] = predictor(as_printed(bench, row.problem, solution, solution.shrink)[0])
        columns[f"{name}_polish"] = predictor(on_both(bench, solution).polish())
    return Made(columns)


# -- shared by several ----------------------------------------------------------------------------


def on_both(bench: Bench, solution: eq.Solution) -> eq.Solution:
    """The iterates, judged on training and validation rows together."""
    return solution.on(bench.both.X, bench.both.y, attributes=bench.both.attributes)


def rate_classifier(bench: Bench, problem: eq.Problem, column: str = "rate_classifier", **options: Any) -> Made:
    """Fit `RateClassifier` on training and validation rows together; it makes its own validation part."""
    rows = bench.both
    if bench.settings.classifier_rounds is not None:
        options["n_rounds"] = bench.settings.classifier_rounds
    fitted = eq.RateClassifier(problem.objective, problem.constraints, random_state=bench.split.seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)  # the tables say what was reached
        fitted.fit(rows.X, rows.y, sensitive_features=rows.attributes)
    _refuse_interrupted(fitted)
    return Made({column: lambda part: np.asarray(fitted.predict_pmf(part.X)[:, 1])})


def postprocess(bench: Bench, problem: eq.Problem) -> Made:
    """Fit `RatePostprocessor` on the validation part, around logistic regression fitted on the training part."""
    base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000)).fit(bench.train.X, bench.train.y)
    fitted = eq.RatePostprocessor(FrozenEstimator(base), problem.objective, problem.constraints, groups=[GROUP])
    part = bench.validation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)  # the tables say what was reached
        fitted.fit(part.X, part.y, sensitive_features=part.attributes)
    _refuse_interrupted(fitted)
    return Made(
        {"postprocess": lambda part: np.asarray(fitted.predict_pmf(part.X, sensitive_features=part.attributes)[:, 1])}
    )


def _refuse_interrupted(fitted: eq.RateClassifier | eq.RatePostprocessor) -> None:
    """Go on with an interrupt that ``fit`` took as the end of the game: half a game is not a result."""
    if fitted.status_.interrupted:
        raise KeyboardInterrupt


def convergence(solution: eq.Solution, configuration: int, points: int = 120) -> Curves:
    """The course of one configuration: objective, violation and multipliers, thinned out."""
    history = solution.history
    rounds = history["round"]
    kept = np.unique(np.linspace(0, len(rounds) - 1, min(points, len(rounds))).astype(int))
    multipliers = history["multipliers"][kept, 1:, configuration]  # the first is the objective's own
    return {
        "round": rounds[kept].tolist(),
        "objective": history["objective"][kept, configuration].tolist(),
        "violation": history["violation"][kept, configuration].tolist(),
        "multipliers": multipliers.T.tolist(),
        "configuration": solution.configurations[configuration],
    }


def frontier(
    bench: Bench,
    problem: eq.Problem,
    values: Iterable[float],
    levels: list[float],
    limits: list[eq.Problem],
) -> Made:
    """Solve for many levels of the constraint at once; make each level's mixture on both parts."""
    steps = bench.settings.our_steps[::2]
    solution = bench.solve(
        problem,
        "auto",
        net=True,
        n_rounds=bench.settings.frontier_rounds,
        theta_step=steps,
        lambda_step=steps,
        levels=levels,
    )
    judged = on_both(bench, solution)
    columns = {f"frontier_{k}": predictor(judged.for_problem(limit).polish()) for k, limit in enumerate(limits)}
    return Made(columns, {"levels": list(values)})
