"""One story in half a minute: ``python examples/demo.py`` (or ``make demo``).

A plain classifier, the promise that it breaks, a margin chosen before training, the same data with equirate, what it
costs, a page to show, and the promise kept on people held out. Every number is computed while you watch.
"""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import NormalDist
from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq
from equirate.datasets import load

WOMEN, MEN = eq.attr("sex") == "Female", eq.attr("sex") == "Male"
FOUR_FIFTHS = eq.positive_rate(WOMEN) >= 0.8 * eq.positive_rate(MEN)
FOUND = eq.recall() >= 0.6
PROMISE = [FOUR_FIFTHS, FOUND]  # and six in ten of those who earn more get an offer, so that nobody levels down
SURE = 0.95
"""Confidence with which people held out are to show each constraint kept, and the chance that they do."""
LEVELS = (-0.02, 0.0, 0.02, 0.05, 0.08, 0.12)
"""By how much the constraints are loosened along the frontier."""
RATES = {
    "right": eq.accuracy(),
    "of the women": eq.positive_rate(WOMEN),
    "of the men": eq.positive_rate(MEN),
}


@contextmanager
def step(words: str) -> Iterator[None]:
    """Show what is being done, and how long it took."""
    print(words, end=" ", flush=True)
    start = time.monotonic()
    yield
    print(f"{time.monotonic() - start:.1f} s")


def people(rows: int | None, seed: int = 0) -> list[Any]:
    """Features without sex, labels and attributes of the Adult data, one half to train and one to judge on."""
    data = load("adult")
    features = data.features[[name for name in data.features if not str(name).startswith("sex=")]]
    parts = (features, data.label, data.attributes)
    if rows is not None:
        parts = tuple(part[:rows] for part in parts)
    return list(train_test_split(*parts, test_size=1 / 2, random_state=seed))


def level_to_train_for(train: int, test: int) -> float:
    """The confidence to ask of the training, so that people held out show the promise kept with a chance of `SURE`.

    Rows repeat in census data, so the fit tests its constraints on half of the training part. At a level with the
    quantile z, it stays z standard errors of that half away from every limit. The test part then passes where that
    covers its own bound, and the chance by which the two differ.
    """
    wider = math.sqrt(train / 2 / test)  # standard errors of the test part, in those of that half
    z = NormalDist().inv_cdf(SURE) * (wider + math.sqrt(1 + wider**2))
    return 1 - len(PROMISE) * (1 - NormalDist().cdf(z))


def kept(X: Any, y: Any, who: Any, level: float, seed: int) -> eq.RateClassifier:
    """The most accurate classifier that keeps the promise with a margin."""
    clf = eq.RateClassifier(eq.maximize(eq.accuracy()), PROMISE, confidence=level, random_state=seed)
    return clf.fit(X, y, sensitive_features=who)


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python examples/demo.py", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/demo/report.html"), help="the page (%(default)s)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--rows", type=int, help="take only so many people")
    parser.add_argument("--seed", type=int, default=0, help="who is held out, and all that is drawn (%(default)s)")
    options = parser.parse_args(arguments)

    X, X_test, y, y_test, who, who_test = people(options.rows, options.seed)
    _say(
        f"Census data of {len(y) + len(y_test):,} people. Say that an offer goes to those who are predicted to earn "
        "more than 50,000 a year. Sex is not among the features, though others, such as 'relationship', tell much of "
        f"it. {len(y_test):,} people are held out: every number below is about them."
    )

    with step("\n1. A plain classifier: logistic regression ..."):
        plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    before = {name: rate.evaluate(y_test, plain.predict(X_test), attributes=who_test) for name, rate in RATES.items()}
    print(f"   {_shown(before)}")

    print("\n2. The promise that it breaks: the four-fifths rule")
    needed = 0.8 * before["of the men"]
    _say(
        f"Women should get offers at no less than four fifths of the rate of men, {needed:.1%} here. "
        f"They get {before['of the women']:.1%}.",
        "   ",
    )

    level = level_to_train_for(len(y), len(y_test))
    print("\n3. A margin, chosen before anything is trained")
    _say(
        f"At the limit itself, people held out would say 'too close to call'. For them to say 'kept' at {SURE:.0%} "
        f"confidence, with a chance of {SURE:.0%}, the training is asked for a confidence of {100 * level:.5g}%.",
        "   ",
    )

    with step("\n4. The same data with equirate ..."):
        clf = kept(X, y, who, level, options.seed)
    print(textwrap.indent(repr(clf.problem_), "   "))
    report = clf.report(X_test, y_test, sensitive_features=who_test, baseline={"logistic regression": plain})
    after = {name: rate.evaluate(y_test, clf.predict(X_test), attributes=who_test) for name, rate in RATES.items()}
    print(f"   {_shown(after)}")

    print("\n5. What it costs")
    changed = report.baseline.changes[0]
    price, split = 100 * (before["right"] - after["right"]), ""
    if "plain" in clf.outputs_:  # the classifier without a margin, which the fit keeps beside one that is certified
        right = eq.accuracy().evaluate(y_test, clf.outputs_["plain"].classifier.predict(X_test))
        sure = 100 * (right - after["right"])
        split = f": {price - sure:.1f} for the promise without a margin, {sure:.1f} for being this sure of it"
    _say(
        f"{price:.1f} points of accuracy{split}. {changed.differ:,.0f} decisions differ: "
        f"{changed.gained:,.0f} people get an offer who did not, {changed.lost:,.0f} no longer do.",
        "   ",
    )

    with step("\n6. The whole trade-off from one more run, and the page ..."):
        frontier = clf.frontier(X, y, sensitive_features=who, levels=LEVELS)
        report = clf.report(
            X_test,
            y_test,
            sensitive_features=who_test,
            baseline={"logistic regression": plain},
            frontier=frontier,
        )
        options.out.parent.mkdir(parents=True, exist_ok=True)
        report.to_html(options.out, title="The four-fifths rule on census data", command="python examples/demo.py")
    print(f"   {options.out.resolve()}")

    certificates = clf.certify(X_test, y_test, sensitive_features=who_test, confidence=SURE)
    print(f"\n7. The promise: {'kept' if certificates.verdict == 'pass' else certificates.verdict}")
    for certificate in certificates:
        high = certificate.high
        sure = f"at least {-high:.4f} to spare" if high <= 0 else f"perhaps missed by {high:.4f}"
        print(f"   {certificate.verdict}: {certificate.constraint}\n         {sure}, at {SURE:.0%} confidence")
    _say(f"{report.verdict} {_conclusion(before, after)}")
    print("Next: README.md for your own data; `equirate-lab reproduce --quick` for the paper's experiments.")
    if options.open:
        webbrowser.open(options.out.resolve().as_uri())
    return 0


def _shown(rates: dict[str, float]) -> str:
    women, men = rates["of the women"], rates["of the men"]
    return f"right for {rates['right']:.1%}; offers to {women:.1%} of the women and {men:.1%} of the men"


def _conclusion(before: dict[str, float], after: dict[str, float]) -> str:
    shares = [rates["of the women"] / rates["of the men"] for rates in (before, after)]
    return (
        f"For one offer to a man there were {shares[0]:.2f} to a woman, and now there are {shares[1]:.2f}; "
        f"accuracy went from {before['right']:.1%} to {after['right']:.1%}."
    )


def _say(text: str, indent: str = "") -> None:
    print(textwrap.fill(text, 100, initial_indent=indent, subsequent_indent=indent))


if __name__ == "__main__":
    sys.exit(main())
