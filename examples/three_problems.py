"""The core at work on real data: ``python examples/three_problems.py``, about half a minute on two cores.

Three problems on two bundled data sets. Each is trained on 4/9 of the rows, the mixture of iterates is chosen on
2/9 and everything is judged on the remaining third. Every number is computed while you watch.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import equirate as eq
from equirate.datasets import load

STEPS = (0.001, 0.01, 0.1, 1.0)
HEADINGS = ("", "objective", "", "violation", "", "")
COLUMNS = ("method", "train", "test", "train", "test", "members")
WIDTHS = (36, 11, 11, 11, 11, 9)
USES = ("to train", "to choose", "to test")
PRECISION = {"compas": 0.65, "adult": 0.75}
"""Smallest precision of the third problem."""


@dataclass(frozen=True)
class Part:
    """Rows of a data set: features, labels and the attributes to slice by."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    people: Any

    def judge(self, classifier: eq.Classifier, problem: eq.Problem) -> tuple[float, float]:
        """Objective and largest violation (0 if there is none) of a classifier on these rows."""
        found = classifier.evaluate(problem, self.X, self.y, attributes=self.people)
        return found["objective"], max(0.0, *found["violations"])


@dataclass(frozen=True)
class Task:
    """One problem, in words and in the language of the package."""

    words: str
    problem: eq.Problem
    baselines: dict[str, eq.Classifier]


def parts(name: str, seed: int = 0) -> list[Part]:
    """Load a data set, split it 4/9 : 2/9 : 1/3 at random, and standardise by the first part."""
    data = load(name)
    order = np.random.default_rng(seed).permutation(data.n_rows)
    rows = np.split(order, [4 * data.n_rows // 9, 6 * data.n_rows // 9])
    X = data.features.to_numpy(dtype=np.float64)
    middle, spread = X[rows[0]].mean(axis=0), X[rows[0]].std(axis=0)
    X = ((X - middle) / np.where(spread > 0, spread, 1.0)).astype(np.float32)  # half the memory, twice the speed
    return [Part(X[part], data.label[part], data.attributes.iloc[part]) for part in rows]


def tasks(train: Part, precision: float) -> Iterator[Task]:
    """The three problems of the demonstration."""
    women = eq.attr("sex") == "Female"
    options: dict[str, Any] = {"n_rounds": 300, "steps": (0.01, 0.03, 0.1)}
    plain = eq.baselines.unc_error(train.X, train.y, **options)
    error = plain.evaluate(eq.error_rate(), train.X, train.y)
    yield Task(
        "Predict as many positives among women and among men as there are in the data (Kullback-Leibler divergence), "
        f"with an error of at most 1.1 times the unconstrained classifier's on the training part ({error:.3f}).",
        eq.Problem(
            eq.minimize(eq.kl_divergence(women) + eq.kl_divergence(~women)),
            [eq.error_rate() <= round(1.1 * error, 4)],
        ),
        {"unconstrained (hinge loss)": plain},
    )
    yield Task(
        "The largest F1 such that the F1 of women is at most 0.01 below that of men.",
        eq.Problem(eq.maximize(eq.f1()), [eq.f1(women) >= eq.f1(~women) - 0.01]),
        {
            "unconstrained (hinge loss)": plain,
            "  with the best threshold for F1": eq.baselines.unc_f1(train.X, train.y, **options),
        },
    )
    yield Task(
        f"The largest recall such that of those predicted positive at least {precision:.0%} are, among women and "
        "among men.",
        eq.Problem(eq.maximize(eq.recall()), [eq.precision(women) >= precision, eq.precision(~women) >= precision]),
        {"unconstrained (hinge loss)": plain},
    )


def solve(task: Task, train: Part, validation: Part, n_rounds: int) -> dict[str, eq.Classifier]:
    """Play the game on the training part and make classifiers of it, chosen on the validation part."""
    solution = eq.solve(
        task.problem,
        train.X,
        train.y,
        attributes=train.people,
        n_rounds=n_rounds,
        theta_step=STEPS,
        lambda_step=STEPS,
        progress=sys.stderr.isatty() or None,
    )
    judged = solution.on(validation.X, validation.y, attributes=validation.people)
    return {
        f"{solution.algorithm.name}: uniform mixture": judged.uniform(),
        f"{solution.algorithm.name}: best iterate": judged.best(),
        f"{solution.algorithm.name}: shrunk mixture": judged.shrink(),
        f"{solution.algorithm.name}: polished mixture": judged.polish(),
    }


def show(task: Task, made: dict[str, eq.Classifier], train: Part, test: Part) -> None:
    """Print the table of a task, and what was asked and achieved."""
    print(_line(HEADINGS))
    print(_line(COLUMNS))
    values: tuple[float, ...] = ()
    for name, classifier in {**task.baselines, **made}.items():
        (a, v), (b, u) = (part.judge(classifier, task.problem) for part in (train, test))
        values = (a, b, v, u)
        print(_line((name, *(f"{value:.4f}" for value in values), str(len(classifier.members)))))
    _, objective, _, violation = values  # the polished mixture's, which comes last
    kept = "every constraint holds" if violation == 0 else f"the constraints are missed by {violation:.4f}"
    best = "lowest" if task.problem.objective.sense == "minimize" else "highest"
    text = f"Achieved by the polished mixture on test: objective {objective:.4f} ({best} is best); {kept}."
    print(_wrapped(text) + "\n")


def _line(cells: Sequence[str]) -> str:
    return cells[0].ljust(WIDTHS[0]) + "".join(map(str.rjust, cells[1:], WIDTHS[1:]))


def _wrapped(text: str) -> str:
    return textwrap.fill(text, sum(WIDTHS))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(prog="python examples/three_problems.py", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000, help="rounds of each game (default: %(default)s)")
    parser.add_argument("--data", nargs="+", choices=("compas", "adult"), default=("compas", "adult"))
    options = parser.parse_args(arguments)
    start = time.monotonic()
    for name in options.data:
        train, validation, test = parts(name)
        sizes = ", ".join(f"{len(part.y):,} {use}" for part, use in zip((train, validation, test), USES, strict=True))
        print(f"{name.upper()}: {load(name).n_features} features; rows: {sizes}\n")
        for number, task in enumerate(tasks(train, PRECISION[name]), start=1):
            asked = textwrap.indent(repr(task.problem), "    ")
            print(f"{_wrapped(f'{name.upper()} {number}. {task.words}')}\n\n{asked}\n", flush=True)
            show(task, solve(task, train, validation, options.rounds), train, test)
    print(f"Done in {time.monotonic() - start:.0f} s.")
    print(
        _wrapped(
            "A violation is the amount by which the worst constraint is broken, 0 if all hold. The classifiers are "
            "made to keep the constraints on the rows to choose; on other rows they are kept up to chance. To be on "
            "the safe side, ask for a little more than you need."
        )
    )
    print(
        "Where to go next: README.md for what can be written; examples/quickstart.py for the smallest program;\n"
        'python -c "import equirate as eq; help(eq.solve)" for every setting.'
    )


if __name__ == "__main__":
    main()
