"""`Report`: what was asked, what was achieved, on which data, and how sure we are.

In: an `Evaluation` for each of one or several parts of the data and, where they are known, the rates of every slice, a
baseline, a frontier and where the classifier comes from. Out: the same for a person: text in a terminal, a table in a
notebook, a page to show, a data frame, or plain data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .._core.errors import EquirateError
from .._core.frames import json_ready, make_frame
from ..judge.certification_record import Certification
from ..judge.evaluation import Evaluation
from . import notebook, text, words
from .facts import Baseline, GameCourse, Origin, Point, RateValue


@dataclass(frozen=True)
class Report:
    """What was asked and what was achieved, part by part.

    Prints as text of at most 100 columns and shows as tables in a notebook; `to_html` writes a page, `to_frame` and
    `to_dict` give the numbers. It holds numbers and text only, none of the data.

    Attributes
    ----------
    problem
        The problem as text.
    parts
        An `Evaluation` for each part of the data; the last one is the one that matters most.
    notes
        Remarks for the reader.
    positive_label
        The label that counts as positive.
    rates
        Every shown rate of every slice, on the last part.
    baseline
        Another classifier on the last part, so that the price of the constraints is seen.
    frontier
        Points of a trade-off frontier, measured on the last part.
    course
        Objective and violation over the rounds of training.
    origin
        The mixture, the data, the versions and how to make it again.
    certification
        With a confidence level: how the classifier was tested, what that means, what it costs, or why it failed.
    uncovered
        Groups that constraints leave out, a sentence for each constraint.
    """

    problem: str
    parts: Mapping[str, Evaluation]
    notes: Sequence[str] = ()
    positive_label: str = "1"
    rates: tuple[RateValue, ...] = ()
    baseline: Baseline | None = None
    frontier: tuple[Point, ...] = ()
    course: GameCourse | None = None
    origin: Origin | None = None
    certification: Certification | None = None
    uncovered: tuple[str, ...] = ()

    @property
    def last(self) -> Evaluation:
        """The part that matters most: the last one given."""
        return list(self.parts.values())[-1]

    @property
    def maximising(self) -> bool:
        """Whether more of the objective is better."""
        return self.problem.startswith("maximize")

    @property
    def objective(self) -> str:
        """The objective as text, without ``minimize`` or ``maximize``."""
        return self.problem.splitlines()[0].split(" ", 1)[-1]

    @property
    def verdict(self) -> str:
        """One sentence: what holds, on which data, how sure."""
        return words.verdict(self)

    def __str__(self) -> str:
        return text.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Tables for a notebook."""
        return notebook.tables(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON; NaN and infinity, which JSON lacks, become None."""
        plain: dict[str, Any] = json_ready(asdict(self))
        outcome = words.outcome(self.last)
        sentences = {"sentence": self.verdict, "price": words.price(self), "affected": words.affected(self)}
        sentences["certificate"] = " ".join(words.certificate(self))
        return {"verdict": None if outcome == "none" else outcome, **sentences, **plain}

    def to_frame(self) -> Any:
        """Every objective, constraint and rate as a row of a data frame: pandas, or polars or pyarrow without it.

        The columns are ``classifier``, ``part``, ``kind`` (objective, constraint or rate), ``name``, ``slice``,
        ``value`` (of a constraint: its signed violation, positive where broken) with ``low`` and ``high``, and for
        constraints the two sides ``left`` and ``right`` and the ``verdict``.
        """
        rows = [row for part, evaluation in self.parts.items() for row in _rows("this", part, evaluation)]
        name = list(self.parts)[-1]
        rows += [_rate("this", name, rate) for rate in self.rates]
        if self.baseline is not None:
            rows += _rows(self.baseline.name, name, self.baseline.evaluation)
            rows += [_rate(self.baseline.name, name, rate) for rate in self.baseline.rates]
        columns = {key: [row[key] for row in rows] for key in _ROW}
        return make_frame(columns)

    def to_html(self, path: str | os.PathLike[str], *, title: str | None = None, command: str | None = None) -> None:
        """Write one self-contained page: it opens anywhere, needs no network, and the same report gives the same bytes.

        Parameters
        ----------
        path
            The file to write.
        title
            The page's title; by default it names the objective.
        command
            What makes this report again, where that is a command; by default the estimator as it is written.

        Examples
        --------
        >>> import equirate as eq
        >>> clf = eq.RateClassifier(eq.maximize(eq.f1()), [eq.positive_rate() <= 0.2])  # doctest: +SKIP
        >>> clf.fit(X, y).report(X_test, y_test).to_html("report.html")  # doctest: +SKIP
        """
        from .page import page

        _write(path, page(self, title, command))

    def to_card(
        self,
        path: str | os.PathLike[str],
        *,
        name: str = "equirate classifier",
        data: str = "a table of one's own",
        license: str | None = None,
    ) -> None:
        """Write a model card: Markdown with the YAML header that model hubs read, as ``README.md``.

        It has the problem, the data, what was asked and achieved with intervals for each group, the certificate and
        its method, how decisions are drawn, and the versions. Intended use and limits are to be filled in by hand.

        Parameters
        ----------
        path
            The file to write.
        name, data
            What the model and the data are called.
        license
            The model's licence, as the hub names it.
        """
        from .card import card

        _write(path, card(self, name, data, license))


def _write(path: str | os.PathLike[str], text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise EquirateError(f"the report cannot be written to {os.fspath(path)}: {error.strerror}") from error


_ROW = ("classifier", "part", "kind", "name", "slice", "value", "low", "high", "left", "right", "verdict")


def _rows(classifier: str, part: str, evaluation: Evaluation) -> list[dict[str, Any]]:
    empty: dict[str, Any] = {"classifier": classifier, "part": part, "slice": None}
    objective = {"kind": "objective", "name": "objective", "value": evaluation.objective, "low": evaluation.low}
    rows = [{**empty, **objective, "high": evaluation.high, "left": None, "right": None, "verdict": None}]
    for c in evaluation.constraints:
        sides = {"left": c.left, "right": c.right, "verdict": c.verdict}
        rows.append(
            {**empty, "kind": "constraint", "name": c.constraint, "value": c.violation, "low": c.low, "high": c.high}
            | sides
        )
    return rows


def _rate(classifier: str, part: str, rate: RateValue) -> dict[str, Any]:
    names = {"classifier": classifier, "part": part, "kind": "rate", "name": rate.rate, "slice": rate.slice}
    values = {"value": rate.value, "low": rate.low, "high": rate.high}
    return {**names, **values, "left": None, "right": None, "verdict": None}
