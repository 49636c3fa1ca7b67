"""One story in half a minute: ``python examples/demo.py`` (or ``make demo``).

A plain classifier, the promise that it breaks, the same data with equirate, what is kept and what it costs, the
certificate on people held out, and a page to show. Every number is computed while you watch.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
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
LEVELS = (-0.02, 0.0, 0.02, 0.05, 0.08, 0.12)
"""By how much the constraints are loosened along the frontier."""


@contextmanager
def step(words: str) -> Iterator[None]:
    """Show what is being done, and how long it took."""
    print(words, end=" ", flush=True)
    start = time.monotonic()
    yield
    print(f"{time.monotonic() - start:.1f} s")


def people(rows: int | None) -> list[Any]:
    """Features without sex, labels and attributes of the Adult data, two thirds to train and one to judge on."""
    data = load("adult")
    features = data.features[[name for name in data.features if not str(name).startswith("sex=")]]
    parts = (features, data.label, data.attributes)
    if rows is not None:
        parts = tuple(part[:rows] for part in parts)
    return list(train_test_split(*parts, test_size=1 / 3, random_state=0))


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python examples/demo.py", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/demo/report.html"), help="the page (%(default)s)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--rounds", type=int, default=60, help="passes over the data at most (%(default)s)")
    parser.add_argument("--rows", type=int, help="take only so many people")
    options = parser.parse_args(arguments)

    X, X_test, y, y_test, who, who_test = people(options.rows)
    _say(
        f"Census data of {len(y) + len(y_test):,} people. Say that an offer goes to those who are predicted to earn "
        "more than 50,000 a year. Sex is not among the features, though others, such as 'relationship', tell much of "
        f"it. {len(y_test):,} people are held out: every number below is about them."
    )

    with step("\n1. A plain classifier: logistic regression ..."):
        plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    before = {name: rate.evaluate(y_test, plain.predict(X_test), who_test) for name, rate in RATES.items()}
    print(f"   {_shown(before)}")

    print("\n2. The promise that it breaks: the four-fifths rule")
    needed = 0.8 * before["of the men"]
    _say(
        f"Women should get offers at no less than four fifths of the rate of men, {needed:.1%} here. "
        f"They get {before['of the women']:.1%}.",
        "   ",
    )

    with step("\n3. The same data with equirate ..."):
        clf = eq.RateClassifier(
            eq.maximize(eq.accuracy()),
            [FOUR_FIFTHS, FOUND],  # and six in ten of those who earn more get an offer, so that nobody levels down
            confidence=0.95,
            validation=0.4,
            n_rounds=options.rounds,
            random_state=0,
        ).fit(X, y, sensitive_features=who)
    print(textwrap.indent(repr(clf.problem_), "   "))
    report = clf.report(X_test, y_test, sensitive_features=who_test, baseline={"logistic regression": plain})
    after = {name: rate.evaluate(y_test, clf.predict_pmf(X_test)[:, 1], who_test) for name, rate in RATES.items()}
    print(f"   {_shown(after)}")

    print("\n4. What is kept: the certificate, by people that nothing was trained or chosen on")
    for certificate in clf.certify(X_test, y_test, sensitive_features=who_test):
        high = certificate.high
        sure = f"at least {-high:.4f} to spare" if high <= 0 else f"perhaps missed by {high:.4f}"
        print(f"   {certificate.verdict}: {certificate.constraint}\n         {sure}, at 95% confidence")

    print("\n5. What it costs")
    changed = report.baseline.changes[0]
    _say(
        f"{100 * (before['right'] - after['right']):.1f} points of accuracy. {changed.differ:,.0f} decisions differ: "
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
    print(f"   {options.out.resolve()}\n")
    _say(f"{report.verdict} {_conclusion(before, after)}")
    print("Next: README.md for your own data; `equirate-lab reproduce --quick` for the paper's experiments.")
    if options.open:
        webbrowser.open(options.out.resolve().as_uri())
    return 0


RATES = {
    "right": eq.accuracy(),
    "of the women": eq.positive_rate(WOMEN),
    "of the men": eq.positive_rate(MEN),
}


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
