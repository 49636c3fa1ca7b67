"""Violations as functions of proportions: the same value as the language's, and bounds over the region."""

import numpy as np
import pytest

import equirate as eq
from equirate.data.examples import Examples
from equirate.monitoring.forms import Affine, Form, General, Nested, Share
from equirate.monitoring.martingales import log_wealth
from equirate.monitoring.proportions import Proportion, classes, disjoint
from equirate.monitoring.residuals import form_of

WOMEN, OLD = eq.attr("sex") == "F", eq.attr("age") >= 60
CONSTRAINTS = {
    "rate": (eq.positive_rate() <= 0.3, Affine, 1),
    "other side": (eq.negative_rate() >= 0.3, Affine, 1),
    "difference": (eq.positive_rate(WOMEN) >= eq.positive_rate(~WOMEN) - 0.02, Affine, 2),
    "abs": (abs(eq.tpr(WOMEN) - eq.tpr(~WOMEN)) <= 0.05, Affine, 2),
    "precision": (eq.precision() >= 0.8, Affine, 1),
    "precision parity": (eq.precision(WOMEN) - eq.precision(~WOMEN) <= 0.02, Affine, 2),
    "accuracy": (eq.tp() + eq.tn() >= 0.7, Affine, 1),
    "cost": (eq.cost(fp=1, fn=5) <= 0.3, Affine, 2),
    "group and all": (eq.positive_rate(WOMEN) <= eq.positive_rate() + 0.02, Nested, 3),
    "all and group": (abs(2 * eq.tpr() - 1.5 * eq.tpr(WOMEN)) <= 0.6, Nested, 3),
    "group's precision": (eq.precision(WOMEN) >= eq.precision() - 0.02, Nested, 3),
    "overlap": (eq.positive_rate(WOMEN) <= eq.positive_rate(OLD) + 0.02, Affine, 2),
    "balanced": (eq.balanced_accuracy() >= 0.7, Affine, 2),
    "baseline": (eq.wins("old") >= eq.losses("old"), Affine, 2),
    "churn": (eq.churn("old") <= 0.2, Affine, 1),
    "jaccard": (eq.jaccard() >= 0.4, Affine, 1),
    "four fifths": (eq.positive_rate(WOMEN) / eq.positive_rate(~WOMEN) >= 0.8, Share, 2),
    "f1": (eq.f1() >= 0.6, General, 1),
    "f1 parity": (eq.f1(WOMEN) >= eq.f1(~WOMEN) - 0.02, General, 2),
    "win-loss": (eq.win_loss_ratio("old") >= 1, General, 1),
    "g_mean": (eq.g_mean() >= 0.7, General, 2),
    "q_mean": (eq.q_mean(OLD) >= 0.5, General, 2),
    "kl": (eq.kl_divergence(prior=0.3) <= 0.01, General, 1),
    "kl of the data": (eq.kl_divergence() <= 0.01, General, 2),
    "lift": (eq.lift() >= 2, General, 2),
    "kappa": (eq.kappa() >= 0.3, General, 3),
    "black box": (eq.black_box(lambda a, b: a**2 + b, eq.fpr(), eq.fnr(), increasing=True) <= 0.5, General, 2),
}


def sample(n: int = 400, seed: int = 0) -> tuple[Examples, np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.4).astype(np.int8)
    people = {
        "sex": np.where(rng.random(n) < 0.4, "F", "M"),
        "age": rng.integers(20, 90, n),
        "old": (rng.random(n) < 0.2 + 0.5 * label).astype(np.int8),
    }
    predicted = (rng.random(n) < 0.2 + 0.5 * label).astype(np.int8)
    return Examples.of(label, people), predicted, people


def counted(form: Form, examples: Examples, predicted: np.ndarray) -> np.ndarray:
    marks = [one.mark(examples, predicted) for one in form.proportions]
    return np.array([[successes.sum(), trials.sum()] for trials, successes in marks], dtype=float).T


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_the_value_is_that_of_the_language(name: str) -> None:
    constraint, kind, number = CONSTRAINTS[name]
    examples, predicted, people = sample()
    forms = [form_of(part.residual) for part in constraint.split()]
    assert {type(form) for form in forms} == {kind}
    assert len({one for form in forms for one in form.proportions}) == number
    values = []
    for form in forms:
        k, n = counted(form, examples, predicted)
        values.append(float(form.value((k / n)[:, None])[0]))
    assert max(values) == pytest.approx(constraint.evaluate(examples.labels, predicted, attributes=people), abs=1e-12)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_bounds_hold_over_the_region(name: str) -> None:
    """No proportions that the evidence leaves have a value beyond the bounds."""
    constraint, alpha = CONSTRAINTS[name][0], 0.05
    form = form_of(constraint.split()[0].residual)
    k, n = counted(form, *sample()[:2])
    lower, upper = (form.bound(k, n, alpha, side) for side in (-1, 1))
    rng = np.random.default_rng(1)
    p = np.clip((k / n)[:, None] + 0.15 * rng.standard_normal((len(k), 4000)), 1e-6, 1 - 1e-6)
    evidence = log_wealth(p, k[:, None], n[:, None])
    parts = form.classes if isinstance(form, (Affine, Share)) else tuple((j,) for j in range(len(k)))
    parts = ((0,), (1, 2)) if isinstance(form, Nested) else parts
    inside = np.all([evidence[list(part)].sum(axis=0) <= np.log(len(parts) / alpha) for part in parts], axis=0)
    values = form.value(p[:, inside])
    if name == "kappa":  # it is known to lie in [-1, 1], where combinations of proportions that cannot be do not
        values = np.clip(values, 0.3 - 1, 0.3 + 1)
    assert inside.sum() > 20
    assert lower - 1e-9 <= values.min()
    assert values.max() <= upper + 1e-9
    if len(k) <= 2 or isinstance(form, Nested):  # and they are nearly reached
        slack = 0.12 * (upper - lower)
        assert values.max() >= upper - slack
        assert values.min() <= lower + slack


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_label_free_rates_are_known_as_such(name: str) -> None:
    constraint, examples = CONSTRAINTS[name][0], sample()
    others = Examples.of(1 - examples[0].labels, examples[2])
    forms = [form_of(part.residual) for part in constraint.split()]
    for one in {one for form in forms for one in form.proportions}:
        same = all(
            (a == b).all()
            for a, b in zip(one.mark(examples[0], examples[1]), one.mark(others, examples[1]), strict=True)
        )
        assert same is not one.needs_label


def test_rates_without_rows_in_common_share_a_region() -> None:
    def parts(constraint: eq.Constraint) -> int:
        form = form_of(constraint.residual)
        assert isinstance(form, Affine)
        return len(form.classes)

    assert parts(eq.positive_rate(WOMEN) <= eq.positive_rate(~WOMEN)) == 1
    assert parts(eq.tpr() - eq.fpr() >= 0.2) == 1  # label 1 and label 0
    assert parts(eq.precision() + eq.npv() >= 1.2) == 1  # predicted 1 and predicted 0
    assert parts(eq.positive_rate(WOMEN) <= eq.positive_rate(OLD)) == 2
    assert parts(eq.precision() + eq.recall() >= 1.2) == 2
    assert parts(eq.positive_rate(eq.attr("age") < 60) <= eq.positive_rate(OLD)) == 1
    assert parts(eq.positive_rate(eq.attr("age") < 61) <= eq.positive_rate(OLD)) == 2


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        (WOMEN, eq.attr("sex") == "M", True),
        (WOMEN, eq.attr("sex") != "F", True),
        (WOMEN, eq.attr("sex").isin(["M", "X"]), True),
        (WOMEN & OLD, ~WOMEN, True),
        (WOMEN & OLD, WOMEN & ~OLD, True),
        (WOMEN, OLD, False),
        (eq.attr("sex") >= "G", WOMEN, True),
        (eq.attr("sex") >= "E", WOMEN, False),
        (eq.attr("age") > 60, eq.attr("age") < 60.5, False),
    ],
)
def test_disjoint_slices(left: eq.Slice, right: eq.Slice, apart: bool) -> None:
    everything = (True,) * 8
    first, second = (Proportion(slice_, None, everything, everything) for slice_ in (left, right))
    assert disjoint(first, second) is apart
    assert len(classes([first, second])) == 2 - apart


@pytest.mark.parametrize(
    "constraint", [eq.matthews() >= 0.3, eq.minimize(eq.log_loss()).expr <= 0.3], ids=["matthews", "loss"]
)
def test_what_cannot_be_bounded_is_refused_by_name(constraint: eq.Constraint) -> None:
    with pytest.raises(eq.EquirateError, match=r"a monitor (cannot bound black_box|follows decisions)"):
        form_of(constraint.residual)
