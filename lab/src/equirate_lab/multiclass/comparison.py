"""What equirate gains over the largest probability, and over one tuned shift of the classes' prior.

In: data sets, splits, a kind of model. Out: `Measured`: for each problem and way of deciding, score and largest
violation on new rows. The probabilities of the two rules are those of a logistic regression, or of boosted trees with
equirate's settings, fitted on the same rows as equirate's. The shift adds ``t`` times the logarithm of the inverse
prior to the log-probabilities; ``t`` is the best of a grid on held-out rows: by the smallest violation, then by the
score.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq

from .data import Rows, load, split

Array = NDArray[Any]
ARGMAX, SHIFT, OURS = "argmax", "tuned shift", "equirate"
WAYS = (ARGMAX, SHIFT, OURS)
SHIFTS = np.linspace(-0.5, 2.0, 26)
"""Exponents of the inverse prior: 0 is argmax, 1 a uniform prior."""


@dataclass(frozen=True)
class Problem:
    """A problem for any number of classes, and how decisions are judged."""

    name: str
    objective: Callable[[], Any]
    constraints: Callable[[Sequence[int], Array], list[Any]]
    score: Callable[[Rows, Array], float]
    violation: Callable[[Rows, Array, Array], float]
    by_group: bool = False
    smaller: bool = False
    """Whether a smaller score is better."""


def _nothing(classes: Sequence[int], prior: Array) -> list[Any]:
    return []


def _no_violation(rows: Rows, pmf: Array, prior: Array) -> float:
    return 0.0


def _truth(rows: Rows, pmf: Array) -> Array:
    return np.asarray(rows.y[:, None] == np.arange(pmf.shape[1]))


def _recalls(rows: Rows, pmf: Array) -> Array:
    truth = _truth(rows, pmf)
    return np.asarray((pmf * truth).sum(axis=0) / truth.sum(axis=0))


def _macro_f1(rows: Rows, pmf: Array) -> float:
    truth = _truth(rows, pmf)
    return float(np.mean(2 * (pmf * truth).sum(axis=0) / (pmf.sum(axis=0) + truth.sum(axis=0))))


def _worst_recall(rows: Rows, pmf: Array) -> float:
    return float(_recalls(rows, pmf).min())


def _h_mean(rows: Rows, pmf: Array) -> float:
    recalls = _recalls(rows, pmf)
    return float(len(recalls) / np.sum(1 / recalls)) if recalls.min() > 0 else 0.0


def _error(rows: Rows, pmf: Array) -> float:
    return float(1 - (pmf * _truth(rows, pmf)).sum() / len(pmf))


def _kl(rows: Rows, pmf: Array) -> float:
    """Divergence of the predicted shares from those of the labels; shares count from half a row on."""
    p, q = _truth(rows, pmf).mean(axis=0), np.maximum(pmf.mean(axis=0), 0.5 / len(pmf))
    return float(np.sum(p * np.log(p / q)))


COVERAGE = 0.1
"""By which part of its share of the labels a class's share of the predictions may differ."""
PARITY = 0.03


def _coverage(classes: Sequence[int], prior: Array) -> list[Any]:
    return [eq.abs(eq.coverage(k) - float(prior[k])) <= COVERAGE * float(prior[k]) for k in classes]


def _coverage_violation(rows: Rows, pmf: Array, prior: Array) -> float:
    return float(max(0.0, np.max(np.abs(pmf.mean(axis=0) - prior) - COVERAGE * prior)))


def _parity(classes: Sequence[int], prior: Array) -> list[Any]:
    return list(eq.demographic_parity("group", tolerance=PARITY))


def _parity_violation(rows: Rows, pmf: Array, prior: Array) -> float:
    """Each group against the rest, which with two groups is the other one."""
    shares = [pmf[rows.group == g].mean(axis=0) for g in (0, 1)]
    return float(max(0.0, np.max(np.abs(shares[0] - shares[1])) - PARITY))


PROBLEMS = (
    Problem("macro-F1", lambda: eq.maximize(eq.macro_f1()), _nothing, _macro_f1, _no_violation),
    Problem("worst recall", lambda: eq.maximize(eq.worst_recall()), _nothing, _worst_recall, _no_violation),
    Problem("H-mean", lambda: eq.maximize(eq.h_mean()), _nothing, _h_mean, _no_violation),
    Problem("error, coverage", lambda: eq.minimize(eq.error_rate()), _coverage, _error, _coverage_violation,
            smaller=True),
    Problem("KL of proportions", lambda: eq.minimize(eq.kl_divergence()), _nothing, _kl, _no_violation, smaller=True),
    Problem("error, demographic parity", lambda: eq.minimize(eq.error_rate()), _parity, _error, _parity_violation,
            by_group=True, smaller=True),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """A problem on a split of a data set: score and violation on new rows, of each way."""

    data: str
    seed: int
    model: str
    problem: str
    scores: dict[str, float]
    violations: dict[str, float]
    seconds: float

    def gain(self, over: str) -> float:
        """How much better than another way equirate is; positive is better."""
        known = next(each for each in PROBLEMS if each.name == self.problem)
        return (-1.0 if known.smaller else 1.0) * (self.scores[OURS] - self.scores[over])


def compared(
    names: Sequence[str],
    splits: int = 5,
    models: Sequence[str] = ("linear", "trees"),
    problems: Sequence[Problem] = PROBLEMS,
    data_dir: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
    done: Sequence[Measured] = (),
    keep: Callable[[Sequence[Measured]], None] = lambda measured: None,
) -> list[Measured]:
    """Measure every problem on every split, but those that are ``done``; ``keep`` is called after each split."""
    made = list(done)
    for model in models:
        for name in names:
            for seed in range(splits):
                known = {each.problem for each in done if (each.data, each.model, each.seed) == (name, model, seed)}
                wanted = [each for each in problems if each.name not in known]
                now = _of_split(name, seed, model, wanted, data_dir) if wanted else []
                if now:
                    made += now
                    keep(made)
                    gains = ", ".join(f"{m.problem} {m.gain(ARGMAX):+.3f}" for m in now)
                    tell(f"{name}, {model}, split {seed}: {gains}")
    return made


def _of_split(name: str, seed: int, model: str, problems: Sequence[Problem], data_dir: str | None) -> list[Measured]:
    train, test = split(load(name, data_dir), seed)
    problems = [each for each in problems if train.group is not None or not each.by_group]
    if not problems:
        return []
    rules = Rules.of(train, test, model, seed)
    made = []
    for problem in problems:
        begin = time.perf_counter()
        pmf = _ours(problem, train, test, model)
        decided = {ARGMAX: rules.shifted(0.0), SHIFT: rules.tuned(problem), OURS: pmf}
        made.append(
            Measured(
                name,
                seed,
                model,
                problem.name,
                {way: problem.score(test, each) for way, each in decided.items()},
                {way: problem.violation(test, each, rules.prior) for way, each in decided.items()},
                time.perf_counter() - begin,
            )
        )
    return made


def _ours(problem: Problem, train: Rows, test: Rows, model: str) -> Array:
    """The mixture's probabilities of deciding for each class on new rows."""
    prior = np.bincount(train.y) / len(train.y)
    groups = None if train.group is None else {"group": train.group}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.EquirateWarning)
        clf = eq.RateClassifier(
            problem.objective(), problem.constraints(range(len(prior)), prior), model=model, random_state=0
        ).fit(train.X, train.y, sensitive_features=groups)
    return np.asarray(clf.predict_pmf(test.X))


@dataclass(frozen=True, eq=False)
class Rules:
    """Log-probabilities of new rows, and of held-out rows to tune a shift on."""

    prior: Array
    held_out: Rows
    held_out_logits: Array
    logits: Array

    @classmethod
    def of(cls, train: Rows, test: Rows, model: str, seed: int) -> Rules:
        """Fit twice: on all rows, and on those that are not held out."""
        first, second = split(train, seed, share=0.25)
        known = range(train.n_classes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tuning = _log_probabilities(_base(model).fit(first.X, first.y), second.X, known)
            logits = _log_probabilities(_base(model).fit(train.X, train.y), test.X, known)
        return cls(np.bincount(train.y) / len(train.y), second, tuning, logits)

    def shifted(self, t: float, held_out: bool = False) -> Array:
        """Decisions, as indicators, after a shift of the prior."""
        logits = (self.held_out_logits if held_out else self.logits) - t * np.log(self.prior)
        return np.asarray(np.eye(len(self.prior))[logits.argmax(axis=1)])

    def tuned(self, problem: Problem) -> Array:
        """Decisions after the shift that is best on held-out rows: the smallest violation first, then the score."""
        sign = 1.0 if problem.smaller else -1.0

        def badness(t: float) -> tuple[float, float]:
            pmf = self.shifted(t, held_out=True)
            return problem.violation(self.held_out, pmf, self.prior), sign * problem.score(self.held_out, pmf)

        return self.shifted(min(SHIFTS.tolist(), key=badness))


def _base(model: str) -> Any:
    if model == "trees":  # with the settings that model="trees" has for fewer than 10,000 rows
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=40, num_leaves=7, min_child_samples=30, random_state=0, n_jobs=1, verbose=-1)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=500)


def _log_probabilities(fitted: Any, X: Array, classes: Sequence[int]) -> Array:
    logits = np.full((len(X), len(classes)), np.log(1e-12))
    logits[:, fitted.classes_] = np.log(np.maximum(fitted.predict_proba(X), 1e-12))
    return logits
