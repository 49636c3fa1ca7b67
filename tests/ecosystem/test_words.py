"""What is said in words: which label is positive, what a fitted estimator has reached, limits, and progress."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equirate as eq
from equirate.data.examples import Examples
from equirate.game import progress
from equirate.game.progress import Log, Notebook, ProgressLine, Terminal
from equirate.judge.certify import certify

N = 200
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + RNG.normal(size=N) > 0.3).astype(int)
NAMES = np.where(Y == 1, "default", "paid")
F1 = eq.maximize(eq.f1())
SMALL: dict[str, Any] = {"random_state": 0}


# -- the positive label ------------------------------------------------------------------------------


def test_text_labels_say_which_one_was_taken_as_positive(tmp_path: Any) -> None:
    clf = eq.RateClassifier(F1, **SMALL).fit(X, NAMES)
    said = "the positive label is 'paid'; pos_label= chooses the other"
    assert clf.status_.positive_label == "'paid'"
    assert said in str(clf.status_)
    assert said in repr(clf)
    assert "The positive label is 'paid'." in str(clf.report(X, NAMES))
    assert "The positive label is &#x27;paid&#x27;." in clf.report()._repr_html_()
    clf.save(tmp_path / "model")
    assert eq.load(tmp_path / "model").status_ == clf.status_
    post = eq.RatePostprocessor(LogisticRegression(), F1, cv=2, random_state=0).fit(X, NAMES)
    assert said in str(post.status_)
    assert said in repr(post)
    post.save(tmp_path / "thresholds")
    assert eq.load(tmp_path / "thresholds").status_ == post.status_


def test_labels_that_say_it_themselves_are_not_explained() -> None:
    told = eq.RateClassifier(F1, pos_label="default", **SMALL).fit(X, NAMES)
    assert "positive label" not in str(told.status_)
    assert "The positive label is 'default'." in str(told.report(X, NAMES))
    for labels in (Y, Y == 1, np.where(Y == 1, 7.0, 3.0)):
        clf = eq.RateClassifier(F1, **SMALL).fit(X, labels)
        assert "positive label" not in str(clf.status_)
        assert "positive label is" not in str(clf.report(X, labels))


# -- a fitted estimator prints what it has reached -----------------------------------------------------


def test_a_fitted_estimator_prints_what_was_reached() -> None:
    clf = eq.RateClassifier(F1, [eq.positive_rate() <= 0.4], **SMALL)
    plain = repr(clf)
    clf.fit(X, Y)
    assert repr(clf) == str(clf) == "\n  # ".join([plain, *clf.status_.summary()])
    assert f"constraints met; objective {clf.status_.objective:.6g}" in repr(clf)
    assert repr(clone(clf)) == plain
    assert "# constraints" not in repr(make_pipeline(StandardScaler(), clf))


# -- constraints at their limit --------------------------------------------------------------------------


def test_a_violation_of_rounding_holds_at_its_limit() -> None:
    """0.1 + 0.2 is above 0.3: everybody is decided alike, so there is no chance in it."""
    y = np.arange(100) % 2
    problem = eq.Problem(F1, [eq.positive_rate() <= 0.3 - 1e-12])
    found = eq.report(np.full(100, 0.3), None, y, problem=problem)
    assert 0 < found.last.constraints[0].violation < 1e-11
    assert found.verdict.startswith("The constraint holds, at its limit, on the 100 examples given")
    assert "missed by 0.0000" not in str(found)
    assert "broken" not in found.verdict
    (judged,) = certify([problem.constraints[0]], Examples.of(y), np.full(100, 0.3), 0.95)
    assert judged.verdict != "fail"
    broken = eq.report(np.full(100, 0.31), None, y, problem=problem)
    assert broken.last.constraints[0].verdict in ("fail", "cannot tell")
    assert "at its limit" not in broken.verdict


# -- progress ----------------------------------------------------------------------------------------


def moment(round: int, n_rounds: int = 1000) -> Any:
    return SimpleNamespace(
        round=round, n_rounds=n_rounds, active=[0], objective=np.array([0.5]), violation=np.array([0.0])
    )


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    return found


def test_the_time_left_is_told_only_when_it_was_measured(clock: Clock, capsys: Any) -> None:
    """The first round takes half a second of preparing; the other 999 take 4 ms each."""
    line = ProgressLine("maximize")
    clock.now += 0.5
    line(moment(1))
    told = []
    for k in range(2, 1001):
        clock.now += 0.004
        left = line.seconds_left(moment(k), clock.now)
        if left is not None:
            told.append((left, 0.004 * (1000 - k)))
    assert len(told) > 700
    np.testing.assert_allclose(*np.array(told).T, rtol=1e-6, atol=1e-6)
    assert "to go" not in capsys.readouterr().err


def test_off_a_terminal_there_are_few_lines(clock: Clock, capsys: Any) -> None:
    line = ProgressLine("maximize")
    for k in range(1, 1001):  # a thousand seconds
        clock.now += 1.0
        line(moment(k))
    line.end()
    err = capsys.readouterr().err
    assert "\r" not in err
    assert 8 <= len(err.splitlines()) <= 12  # one for each doubling of the time
    assert err.splitlines()[-1].startswith("round 1000/1000")
    line.end()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_one_line_is_written_over(clock: Clock, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "writer", Terminal)
    line = ProgressLine("maximize")
    for k in range(1, 6):
        clock.now += 1.0
        line(moment(k))
    line.end()
    err = capsys.readouterr().err
    assert err.count("\r") == 5
    assert err.count("\n") == 1


def test_in_a_notebook_one_output_is_updated(clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    shown, updated = [], []
    handle = SimpleNamespace(update=lambda data, raw: updated.append(data["text/plain"]))
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel="a kernel")  # type: ignore[attr-defined]
    display.display = lambda data, raw, display_id: shown.append(data["text/plain"]) or handle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert isinstance(progress.writer(), Notebook)
    line = ProgressLine("maximize")
    for k in range(1, 5):
        clock.now += 1.0
        line(moment(k))
    line.end()
    assert (len(shown), len(updated)) == (1, 3)
    assert capsys.readouterr().err == ""
    ipython.get_ipython = lambda: None  # type: ignore[attr-defined]
    assert isinstance(progress.writer(), Log)
