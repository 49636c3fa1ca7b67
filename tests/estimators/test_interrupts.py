"""Ctrl-C and refused fits: an interrupt is raised again, what was found is kept, a fitted estimator stays as it was.

Interrupts are raised where a signal would raise them: in a progress line, in a test, in the choice of a mixture.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import check_is_fitted

import equirate as eq
from equirate.certification import folds, holdout, outcome
from equirate.game import infeasible, linear_engine
from equirate.game.column_generation import Generation
from equirate.game.progress import ProgressLine
from equirate.selection import choice

rng = np.random.default_rng(0)
N = 600
GROUP = rng.choice(["a", "b"], N)
X = rng.normal(size=(N, 3))
X[:, 1] += GROUP == "a"
Y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=N) > 0.8, "yes", "no")
PEOPLE = {"group": GROUP}
A, B = eq.attr("group") == "a", eq.attr("group") == "b"
LOOSE = [eq.positive_rate(A) - eq.positive_rate(B) <= 0.9]
KEPT = "what was found is in its attribute resume_"


class Interrupting(ProgressLine):
    """A progress line at which somebody presses Ctrl-C."""

    def __init__(self, at: int = 30) -> None:
        super().__init__("minimize")
        self.at = at

    def __deepcopy__(self, memo: dict[int, Any]) -> Interrupting:
        return self

    def __call__(self, moment: Any) -> None:
        if moment.round >= self.at:
            raise KeyboardInterrupt

    def watch(self, generations: Any) -> None:
        raise KeyboardInterrupt


def classifier(**options: Any) -> eq.RateClassifier:
    return eq.RateClassifier(eq.minimize(eq.error_rate()), LOOSE, **{"n_rounds": 100, "random_state": 0, **options})


def postprocessor(**options: Any) -> eq.RatePostprocessor:
    return eq.RatePostprocessor(
        LogisticRegression(), eq.minimize(eq.error_rate()), LOOSE, n_rounds=20, random_state=0, **options
    )


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture(params=["classifier", "postprocessor"])
def make(request: pytest.FixtureRequest) -> Any:
    return {"classifier": classifier, "postprocessor": postprocessor}[request.param]


# -- raised ---------------------------------------------------------------------------------------


def test_an_interrupt_is_raised_again_and_what_was_found_is_kept() -> None:
    clf = classifier(verbose=Interrupting())
    with pytest.warns(eq.NotSolvedWarning, match=KEPT), pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y, sensitive_features=PEOPLE)
    with pytest.raises(Exception, match="not fitted"):
        clf.predict(X)
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(clf)
    found = clf.resume_
    assert found.status_.interrupted
    assert np.mean(found.predict(X) == Y) > 0.7
    assert not hasattr(found, "resume_")
    assert not hasattr(clone(clf), "resume_")


def test_what_was_found_can_be_gone_on_with() -> None:
    clf = classifier(verbose=Interrupting(), theta_step=0.1, lambda_step=0.1)
    with pytest.warns(eq.NotSolvedWarning, match=KEPT), pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y, sensitive_features=PEOPLE)
    more = clf.resume_.set_params(warm_start=True, verbose=False).fit(X, Y, sensitive_features=PEOPLE)
    assert not more.status_.interrupted
    clf.set_params(verbose=False).fit(X, Y, sensitive_features=PEOPLE)
    assert not hasattr(clf, "resume_")


def test_a_search_ends_at_an_interrupt() -> None:
    fits = []

    class Counting(Interrupting):
        def watch(self, generations: Any) -> None:
            if not fits or fits[-1] is not generations[0].table.examples:
                fits.append(generations[0].table.examples)
            if len(fits) == 2:
                raise KeyboardInterrupt

    search = GridSearchCV(
        eq.RateClassifier(eq.minimize(eq.error_rate()), verbose=Counting()),
        {"validation": [0.2, 0.3, 0.4]},
        cv=2,
    )
    with pytest.warns(eq.NotSolvedWarning, match=KEPT), pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert len(fits) == 2


def test_before_anything_is_found_an_interrupt_is_only_raised(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = make()
    monkeypatch.setattr("equirate.estimators.rate_classifier.Training.of", interrupt)
    monkeypatch.setattr("equirate.estimators.postprocessor.out_of_fold", interrupt)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y, sensitive_features=PEOPLE)
    assert not hasattr(estimator, "resume_")


def once(real: Any) -> Any:
    """The first call is interrupted when it is done, as late as can be."""
    left = [1]

    def called(*arguments: Any, **options: Any) -> Any:
        found = real(*arguments, **options)
        if left[0]:
            left[0] = 0
            raise KeyboardInterrupt
        return found

    return called


def test_an_interrupt_after_the_play_keeps_what_was_found(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "outcome_of", once(choice.outcome_of))
    estimator = make()
    with pytest.warns(eq.NotSolvedWarning, match=KEPT), pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y, sensitive_features=PEOPLE)
    assert estimator.resume_.status_.interrupted
    assert np.mean(estimator.resume_.predict(X) == Y) > 0.7


def test_an_interrupt_between_two_passes_keeps_what_was_found(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Generation, "ask", interrupt)
    estimator = make()
    with pytest.warns(eq.NotSolvedWarning, match=KEPT), pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y, sensitive_features=PEOPLE)
    assert estimator.resume_.status_.interrupted
    assert np.mean(estimator.resume_.predict(X) == Y) > 0.7


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_interrupt_while_directions_are_refined_is_not_lost(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The held-out quarter is asked by refining a generation of its own, once or twice; then that of all rows."""
    real, calls = linear_engine.refine, []

    def refine(*arguments: Any) -> None:
        calls.append(arguments)
        real(*arguments)
        if len(calls) == after + 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(linear_engine, "refine", refine)
    monkeypatch.setattr(linear_engine, "_value_on", lambda *_: -float(len(calls)))  # the larger set is always better
    clf = classifier()
    with pytest.warns(eq.NotSolvedWarning, match=KEPT), pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y, sensitive_features=PEOPLE)
    assert len(calls) == after + 1
    assert clf.resume_.status_.interrupted
    assert np.mean(clf.resume_.predict(X) == Y) > 0.7


@pytest.mark.parametrize(("step", "call"), [("begin", 2), ("columns", 1)])
def test_an_interrupt_around_the_passes_over_all_rows_is_not_lost(
    step: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They begin after the held-out rows were asked, and end with columns that are counted again."""
    real, calls = getattr(linear_engine.LinearEngine, step), []

    def interrupted(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == call:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(linear_engine.LinearEngine, step, interrupted)
    clf = classifier()
    with pytest.warns(eq.NotSolvedWarning, match=KEPT), pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y, sensitive_features=PEOPLE)
    assert clf.resume_.status_.interrupted
    assert np.mean(clf.resume_.predict(X) == Y) > 0.7


@pytest.mark.parametrize("model", ["linear", "plug-in"])
@pytest.mark.parametrize("inside", [True, False], ids=["between two passes", "outside of passes"])
def test_an_interrupt_while_reasons_are_searched_is_not_lost(
    model: str, inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where constraints cannot be met, columns are generated for other problems after those of the problem itself."""
    real, searching = infeasible.violation_table, []
    ask = Generation.ask

    def violation_table(*arguments: Any) -> Any:
        searching.append(arguments)
        return real(*arguments) if inside else interrupt()

    def interrupted(generation: Generation) -> Any:
        return interrupt() if searching else ask(generation)

    monkeypatch.setattr(infeasible, "violation_table", violation_table)
    monkeypatch.setattr(Generation, "ask", interrupted)
    chosen = eq.models.PlugIn(LogisticRegression()) if model == "plug-in" else model
    impossible = [eq.precision() >= 0.98, eq.recall() >= 0.98]
    clf = eq.RateClassifier(eq.minimize(eq.error_rate()), impossible, model=chosen, random_state=0)
    with pytest.warns(eq.NotSolvedWarning, match=KEPT), pytest.raises(KeyboardInterrupt):
        clf.fit(X, Y)
    assert searching
    assert clf.resume_.status_.interrupted


# -- kept -----------------------------------------------------------------------------------------


def test_with_keep_the_best_so_far_is_returned() -> None:
    clf = classifier(verbose=Interrupting(), on_interrupt="keep")
    with pytest.warns(eq.NotSolvedWarning, match="status_.interrupted is True"):
        clf.fit(X, Y, sensitive_features=PEOPLE)
    assert clf.status_.interrupted
    assert np.mean(clf.predict(X) == Y) > 0.7
    assert not hasattr(clf, "resume_")


def test_what_to_do_after_an_interrupt_is_checked(make: Any) -> None:
    with pytest.raises(ValueError, match="on_interrupt"):
        make(on_interrupt="go on").fit(X, Y, sensitive_features=PEOPLE)


# -- certificates ---------------------------------------------------------------------------------


@pytest.fixture
def cut_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody presses Ctrl-C while the constraints are tested."""
    for module in (folds, holdout):
        monkeypatch.setattr(module, "run_sequence", interrupt)


@pytest.mark.usefixtures("cut_test")
@pytest.mark.parametrize("method", ["cross", "holdout"])
def test_an_interrupted_test_certifies_nothing(make: Any, method: str) -> None:
    estimator = make(confidence=0.9, confidence_method=method, on_interrupt="keep")
    with pytest.warns(eq.NotSolvedWarning) as said:
        estimator.fit(X, Y, sensitive_features=PEOPLE)
    assert estimator.status_.interrupted
    assert estimator.status_.certified is False
    assert "Certified" not in str(estimator.status_)
    assert outcome.INTERRUPTED in estimator.notes_
    assert any(outcome.INTERRUPTED in str(each.message) for each in said)
    assert "ertified" not in str(estimator.report(X, Y, sensitive_features=PEOPLE)).replace("not certified", "")


@pytest.mark.usefixtures("cut_test")
def test_an_interrupted_test_is_raised_by_default(make: Any) -> None:
    estimator = make(confidence=0.9)
    with pytest.warns(eq.NotSolvedWarning), pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y, sensitive_features=PEOPLE)
    assert estimator.resume_.status_.certified is False


def test_an_interrupted_play_is_not_tested() -> None:
    clf = classifier(confidence=0.9, verbose=Interrupting(), on_interrupt="keep")
    with pytest.warns(eq.NotSolvedWarning):
        clf.fit(X, Y, sensitive_features=PEOPLE)
    assert clf.status_.certified is False
    assert clf.certification_ is None


def test_an_interrupted_frontier_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        classifier(verbose=Interrupting()).frontier(X, Y, sensitive_features=PEOPLE, levels=[0.0, 0.1])


# -- refused fits ---------------------------------------------------------------------------------


def state(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name not in estimator.get_params(deep=False)}


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("three labels", {"y": np.where(X[:, 0] > 1, "maybe", Y)}),
    ("other labels, too few rows", {"y": np.array(["up", "down"] * (N // 2))[:-1]}),
    ("other labels, no attributes", {"y": np.where(Y == "yes", "up", "down"), "sensitive_features": None}),
    ("features not finite", {"X": np.where(X > 2, np.nan, X)}),
    ("more features, one label", {"X": np.hstack([X, X]), "y": np.full(N, "yes")}),
    ("an empty group", {"sensitive_features": {"group": np.where(GROUP == "a", "b", GROUP)}}),
]


@pytest.mark.parametrize("changed", [case[1] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_refused_fit_leaves_a_fitted_estimator_as_it_was(make: Any, changed: dict[str, Any]) -> None:
    estimator = FITTED.setdefault(make.__name__, make().fit(X, Y, sensitive_features=PEOPLE))
    before, decided = state(estimator), estimator.predict(X)
    given = {"X": X, "y": Y, "sensitive_features": PEOPLE, **changed}
    with pytest.raises((ValueError, TypeError)):
        estimator.fit(**given)
    after = state(estimator)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert (estimator.predict(X) == decided).all()


FITTED: dict[str, Any] = {}
