"""Monitors of more than two classes: rates as the language has them, bounds that hold, files."""

from pathlib import Path

import numpy as np
import pytest

import equirate as eq
from equirate.monitoring.residuals import form_of

NAMES = ("cat", "cow", "dog")
SEX = eq.attr("sex")
CONSTRAINTS = [
    eq.recall(label="cow") >= 0.7,
    eq.fpr(label="cat") <= 0.2,
    eq.precision(label="dog") >= 0.8,
    eq.f1(label="dog") >= 0.6,
    eq.confusion("cow", "dog") <= 0.1,
    eq.confusion("cow", "dog", given="true") <= 0.2,
    eq.coverage("cat") <= 0.6,
    eq.error_rate() <= 0.25,
    eq.worst_recall() >= 0.75,
    eq.worst("precision") >= 0.6,
    eq.macro_f1() >= 0.7,
    eq.recall(average="macro") >= 0.7,
    eq.precision(average="macro") >= 0.7,
    eq.g_mean() >= 0.7,
    eq.churn("old") <= 0.3,
    eq.wins("old") <= 0.3,
    eq.losses("old") <= 0.3,
    eq.recall(SEX == "F", label="cow") >= eq.recall(SEX == "M", label="cow") - 0.1,
    eq.recall(SEX == "F", label="cow") >= eq.recall(label="cow") - 0.1,
    eq.coverage("cow", SEX == "F") / eq.coverage("cow", SEX == "M") >= 0.8,
]


def rows(n: int = 3000, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    p = np.where(rng.random(n) < 0.2, (y + 1) % 3, y)
    old = np.where(rng.random(n) < 0.2, (y + 2) % 3, y)
    names = np.array(NAMES)
    return names[y], names[p], {"sex": rng.choice(["F", "M"], n), "old": names[old]}


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_estimates_are_the_violations_of_the_language(constraint: eq.Constraint) -> None:
    y, p, attributes = rows()
    (line,) = eq.Monitor(constraint, classes=NAMES).update(p, y, attributes=attributes).status()
    written = constraint.in_classes(NAMES)
    expected = max(part.residual.evaluate(y, p, attributes=attributes, classes=NAMES) for part in written.split())
    assert line.estimate == pytest.approx(expected, abs=1e-9)
    assert line.lower <= line.estimate <= line.upper
    assert np.isfinite([line.lower, line.upper]).all()


def test_one_class_is_followed_as_one_label_against_the_other() -> None:
    y, p, attributes = rows()
    for name in ("recall", "precision", "f1", "positive_rate", "fpr"):
        one = eq.Monitor(getattr(eq, name)(SEX == "F", label="cow") >= 0.5, classes=NAMES)
        two = eq.Monitor(getattr(eq, name)(SEX == "F") >= 0.5)
        (first,) = one.update(p, y, attributes=attributes).status()
        (second,) = two.update(p == "cow", y == "cow", attributes=attributes).status()
        expected = pytest.approx((second.estimate, second.lower, second.upper), abs=1e-9)
        assert (first.estimate, first.lower, first.upper) == expected
        assert first.verdict == second.verdict


def test_rates_of_different_classes_share_a_region() -> None:
    macro = (eq.recall(average="macro") >= 0.7).in_classes(NAMES)
    form = form_of(macro.residual, 3)
    assert len(form.proportions) == 3
    assert form.classes == ((0, 1, 2),)  # no row has two labels


def test_labels_that_are_missing_or_late() -> None:
    y, p, _ = rows()
    known = np.where(np.arange(3000) < 1000, y.astype(object), None)
    monitor = eq.Monitor([eq.coverage("cat") <= 0.6, eq.recall(label="cow") >= 0.7], classes=NAMES)
    monitor.update(p, known)
    assert [line.rows for line in monitor.status()] == [3000, 1000]
    monitor.update(p[1000:], y[1000:], late=True)
    assert [line.rows for line in monitor.status()] == [3000, 3000]
    whole = eq.Monitor([eq.coverage("cat") <= 0.6, eq.recall(label="cow") >= 0.7], classes=NAMES).update(p, y)
    assert [str(line) for line in whole.status()] == [str(line) for line in monitor.status()]


def test_a_constraint_that_is_just_kept_hardly_ever_alarms() -> None:
    alarms = 0
    for seed in range(60):
        y, p, _ = rows(1500, seed)  # every recall is 0.8
        monitor = eq.Monitor([eq.worst_recall() >= 0.8, eq.recall(label="dog") >= 0.8], 0.9, classes=NAMES)
        for part in np.array_split(np.arange(1500), 5):
            monitor.update(p[part], y[part])
        alarms += bool(monitor.alarms)
    assert alarms <= 6


def test_fitted_classifiers_and_files(tmp_path: Path) -> None:
    y, _, attributes = rows(600)
    X = np.eye(3)[np.searchsorted(NAMES, y)] + np.random.default_rng(0).normal(size=(600, 3))
    asked = [eq.recall(label="dog") >= 0.6, eq.worst("recall") >= 0.3, *eq.demographic_parity("sex", tolerance=0.1)]
    clf = eq.RateClassifier(eq.maximize(eq.macro_f1()), asked, random_state=0)
    clf.fit(X, y, sensitive_features={"sex": attributes["sex"]})
    monitor = eq.Monitor(clf, floor=0.4)
    monitor.update(clf.predict(X), y, attributes=attributes)
    assert len(monitor.status()) == 2 + 3 + 1
    for line, found in zip(
        monitor.status(), eq.certify(monitor.constraints, y, clf.predict(X), attributes=attributes), strict=True
    ):
        assert line.estimate == pytest.approx(found.violation if found.violation > 0 else line.estimate)
    monitor.save(tmp_path / "state.json")
    again = eq.Monitor.load(tmp_path / "state.json")
    assert again.labels == NAMES
    assert str(again) == str(monitor)
    again.update(clf.predict(X), y, attributes=attributes)
    monitor.update(clf.predict(X), y, attributes=attributes)
    assert str(again) == str(monitor)
    monitor.to_html(tmp_path / "page.html")


def test_a_label_of_two_is_kept_in_files(tmp_path: Path) -> None:
    y, p, _ = rows(800)
    y, p = np.where(y == "cat", "yes", "no"), np.where(p == "cat", "yes", "no")
    monitor = eq.Monitor([eq.recall(label="no") >= 0.8], classes=["no", "yes"]).update(p, y)
    expected = 0.8 - (p[y == "no"] == "no").mean()
    assert monitor.status()[0].estimate == pytest.approx(expected)
    monitor.save(tmp_path / "state.json")
    again = eq.Monitor.load(tmp_path / "state.json").update(p, y)
    assert again.status()[0].estimate == pytest.approx(expected)
    assert str(again) == str(monitor.update(p, y))


def test_baselines_of_many_classes_are_refused_by_number() -> None:
    many = list(range(40))
    assert eq.Monitor(eq.recall(label=7) >= 0.5, classes=many).update(many, many).status()[0].estimate == -0.5
    with pytest.raises(eq.EquirateError, match="up to 30 classes, and there are 40"):
        eq.Monitor(eq.churn("old") <= 0.5, classes=many)


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({}, None, "names a class: give all labels"),
        ({"classes": "cat"}, None, "must be a list of all labels"),
        ({"classes": ["cow"]}, None, "must be a list of all labels"),
        ({"classes": ["cow", "cow", "dog"]}, None, "different labels"),
        ({"classes": ["cat", "dog", "fox"]}, None, "no class 'cow'"),
        ({"classes": NAMES}, ["cat", "fish"], "y_pred has values that are no class: 'fish'"),
    ],
)
def test_refusals(options: dict, given: list | None, message: str) -> None:
    with pytest.raises(eq.DataError, match=message):
        eq.Monitor(eq.recall(label="cow") >= 0.5, **options).update(given, ["cat", "cat"])
