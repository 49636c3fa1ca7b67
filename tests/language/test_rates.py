"""Every named metric against an independent computation, and against scikit-learn where it has one."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn import metrics

import equirate as eq
from equirate.data.kinds import KINDS
from equirate.language.atoms import ATOMS
from equirate.language.catalogue import CATALOGUE
from equirate.language.expressions import Quotient
from equirate.language.metrics import METRICS

WOMEN, YOUNG = eq.attr("sex") == "F", eq.attr("age") < 40
SLICES = {None: None, "women": WOMEN, "others": ~WOMEN, "young women": WOMEN & YOUNG, "either": WOMEN | YOUNG}


@dataclass(frozen=True)
class Sample:
    y: np.ndarray
    p: np.ndarray
    w: np.ndarray
    old: np.ndarray
    masks: dict

    @property
    def attributes(self) -> dict:
        return {"sex": self.sex, "age": self.age, "old": self.old}

    sex: np.ndarray = None
    age: np.ndarray = None

    def of(self, expr: eq.Expression, p=None) -> float:
        return expr.evaluate(self.y, self.p if p is None else p, attributes=self.attributes, sample_weight=self.w)


def sample(seed: int, hard: bool = False) -> Sample:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 120))
    sex, age = rng.choice(["F", "M"], n), rng.integers(20, 60, n)
    # Every combination of slice, label, baseline and prediction occurs, so that nothing is 0/0.
    corner = np.array([(s, a, y, b, q) for s in "FM" for a in (30, 50) for y in (0, 1) for b in (0, 1) for q in (0, 1)])
    sex[:32], age[:32] = corner[:, 0], corner[:, 1].astype(int)
    y, old = rng.integers(0, 2, n), rng.integers(0, 2, n)
    y[:32], old[:32] = corner[:, 2].astype(int), corner[:, 3].astype(int)
    p = rng.random(n).round(rng.integers(0, 3)) if not hard else rng.integers(0, 2, n).astype(float)
    p[:32] = corner[:, 4].astype(float)
    w = rng.exponential(size=n)
    f, young = sex == "F", age < 40
    masks = {None: f | True, "women": f, "others": ~f, "young women": f & young, "either": f | young}
    return Sample(y, p, w, old, masks, sex, age)


def mean(x: np.ndarray, w: np.ndarray, where: np.ndarray) -> float:
    return float((x * w)[where].sum() / w[where].sum())


def linear(d: Sample, m: np.ndarray) -> dict[str, float]:
    y, p, w, b = d.y, d.p, d.w, d.old
    differs = np.where(b == 1, 1 - p, p)
    right = np.where(y == 1, p, 1 - p)
    return {
        "positive_rate": mean(p, w, m),
        "negative_rate": mean(1 - p, w, m),
        "accuracy": mean(right, w, m),
        "error_rate": mean(1 - right, w, m),
        "tpr": mean(p, w, m & (y == 1)),
        "recall": mean(p, w, m & (y == 1)),
        "fnr": mean(1 - p, w, m & (y == 1)),
        "fpr": mean(p, w, m & (y == 0)),
        "tnr": mean(1 - p, w, m & (y == 0)),
        "tp": mean(p * (y == 1), w, m),
        "fp": mean(p * (y == 0), w, m),
        "tn": mean((1 - p) * (y == 0), w, m),
        "fn": mean((1 - p) * (y == 1), w, m),
        "base_rate": mean(y, w, m),
        "wins": mean(differs * (y != b), w, m),
        "losses": mean(differs * (y == b), w, m),
        "churn": mean(differs, w, m),
    }


def derived(r: dict[str, float], overall: dict[str, float]) -> dict[str, float]:
    prior, q = overall["base_rate"], r["positive_rate"]
    chance = q * r["base_rate"] + (1 - q) * (1 - r["base_rate"])
    margins = math.sqrt(q * (1 - q) * r["base_rate"] * (1 - r["base_rate"]))

    def divergence(a: float) -> float:
        return a * math.log(a / q) + (1 - a) * math.log((1 - a) / (1 - q))

    def f(beta: float) -> float:
        precision, recall = r["tp"] / (r["tp"] + r["fp"]), r["tpr"]
        return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)

    return {
        "precision": r["tp"] / (r["tp"] + r["fp"]),
        "npv": r["tn"] / (r["tn"] + r["fn"]),
        "f1": f(1),
        "f_half": f(0.5),
        "f_3": f(3),
        "jaccard": r["tp"] / (r["tp"] + r["fp"] + r["fn"]),
        "balanced_accuracy": (r["tpr"] + 1 - r["fpr"]) / 2,
        "informedness": r["tpr"] - r["fpr"],
        "markedness": r["tp"] / (r["tp"] + r["fp"]) + r["tn"] / (r["tn"] + r["fn"]) - 1,
        "lift": r["tp"] / q / r["base_rate"],
        "kappa": (r["accuracy"] - chance) / (1 - chance),
        "matthews": (r["tp"] * r["tn"] - r["fp"] * r["fn"]) / margins,
        "cost": 2 * r["fp"] + 0.5 * r["fn"],
        "win_loss_ratio": r["wins"] / r["losses"],
        "g_mean": math.sqrt(r["tpr"] * r["tnr"]),
        "h_mean": 2 / (1 / r["tpr"] + 1 / r["tnr"]),
        "q_mean": 1 - math.sqrt((r["fpr"] ** 2 + r["fnr"] ** 2) / 2),
        "kl_divergence": divergence(prior),
        "kl_divergence_prior": divergence(0.3),
        "kl_divergence_own": divergence(r["base_rate"]),
        "log": math.log(r["tpr"]),
        "sqrt": math.sqrt(r["fpr"]),
        "square": (r["tpr"] - r["fpr"]) ** 2,
        "inv": 1 / r["tpr"],
        "abs": abs(r["fpr"] - r["tpr"]),
        "max": max(r["fpr"], r["tpr"], 0.5),
        "min": min(r["fpr"], r["tpr"], 0.5),
        "norm": math.sqrt(r["fpr"] ** 2 + r["fnr"] ** 2 + r["tp"] ** 2),
        "geo_mean": (r["tpr"] * r["tnr"] * r["accuracy"]) ** (1 / 3),
        "harmonic_mean": 3 / (1 / r["tpr"] + 1 / r["tnr"] + 1 / r["accuracy"]),
        "black_box": r["fpr"] ** 2 + 3 * r["fnr"],
        "mixture of all": 0.5 * r["tpr"] - (r["fpr"] - 2) / 4 + r["tp"] / 0.5 - -r["fn"] + 1 / (1 + r["tp"]),
    }


def called(name: str) -> Callable[..., eq.Expression]:
    """A function of the catalogue as a function of the slice alone."""
    against = (name in KINDS and KINDS[name].compares) or name == "win_loss_ratio"
    return (lambda s: getattr(eq, name)("old", s)) if against else getattr(eq, name)


EXPRESSIONS: dict[str, Callable] = {
    **{name: called(name) for name in [*KINDS, *METRICS] if name not in ("f_score", "cost")},
    "cost": lambda s: eq.cost(s, fp=2, fn=0.5),
    "f_half": lambda s: eq.f_score(0.5, s),
    "f_3": lambda s: eq.f_score(np.int64(3), s),
    "kl_divergence_prior": lambda s: eq.kl_divergence(s, prior=np.float64(0.3)),
    "kl_divergence_own": lambda s: eq.kl_divergence(s, prior=eq.base_rate(s)),
    "log": lambda s: eq.log(eq.tpr(s)),
    "sqrt": lambda s: eq.sqrt(eq.fpr(s)),
    "square": lambda s: eq.square(eq.tpr(s) - eq.fpr(s)),
    "inv": lambda s: eq.inv(eq.tpr(s)),
    "abs": lambda s: abs(eq.fpr(s) - eq.tpr(s)),
    "max": lambda s: eq.max(eq.fpr(s), eq.tpr(s), 0.5),
    "min": lambda s: eq.min(eq.fpr(s), eq.tpr(s), 0.5),
    "norm": lambda s: eq.norm(eq.fpr(s), eq.fnr(s), eq.tp(s)),
    "geo_mean": lambda s: eq.geo_mean(eq.tpr(s), eq.tnr(s), eq.accuracy(s)),
    "harmonic_mean": lambda s: eq.harmonic_mean(eq.tpr(s), eq.tnr(s), eq.accuracy(s)),
    "black_box": lambda s: eq.black_box(lambda a, b: a**2 + 3 * b, eq.fpr(s), eq.fnr(s), increasing=True),
    "mixture of all": lambda s: 0.5 * eq.tpr(s) - (eq.fpr(s) - 2) / 4 + eq.tp(s) / 0.5 - -eq.fn(s) + 1 / (1 + eq.tp(s)),
}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=5)  # each tries every metric on every slice
def test_every_metric_on_every_slice(seed: int) -> None:
    d = sample(seed)
    overall = linear(d, d.masks[None])
    for where, slice_ in SLICES.items():
        rates = linear(d, d.masks[where])
        for name, expected in {**rates, **derived(rates, overall)}.items():
            assert d.of(EXPRESSIONS[name](slice_)) == pytest.approx(expected, rel=1e-9, abs=1e-12), (name, where)


def test_the_test_covers_every_function() -> None:
    """What a rate, a metric or an atom should be worth is said in `linear` or `derived`: the one list to add to."""
    d = sample(0)
    rates = linear(d, d.masks[None])
    assert set(EXPRESSIONS) == set(rates) | set(derived(rates, rates))
    assert set(ATOMS) <= set(EXPRESSIONS)
    of_classes = {"confusion", "coverage", "macro_f1", "worst", "worst_recall"}  # in test_classes.py
    assert set(CATALOGUE) - set(EXPRESSIONS) - of_classes == {"f_score", "ratio", "kl", "log_loss", "hinge_loss"}


def test_another_name_is_the_same_rate() -> None:
    assert repr(eq.recall(WOMEN) - eq.tpr(WOMEN)) == "recall(sex == 'F') - tpr(sex == 'F')"
    assert eq.recall(WOMEN).key == eq.tpr(WOMEN).key
    assert eq.f1().key != eq.jaccard().key
    assert len({make().key for name in KINDS if not KINDS[name].compares for make in [getattr(eq, name)]}) == 13


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_against_scikit_learn(seed: int) -> None:
    d = sample(seed, hard=True)
    y, p, w = d.y, d.p.astype(int), d.w
    for ours, theirs in (
        (eq.precision(), metrics.precision_score(y, p, sample_weight=w)),
        (eq.npv(), metrics.precision_score(1 - y, 1 - p, sample_weight=w)),
        (eq.recall(), metrics.recall_score(y, p, sample_weight=w)),
        (eq.f1(), metrics.f1_score(y, p, sample_weight=w)),
        (eq.f_score(0.5), metrics.fbeta_score(y, p, beta=0.5, sample_weight=w)),
        (eq.f_score(2), metrics.fbeta_score(y, p, beta=2, sample_weight=w)),
        (eq.jaccard(), metrics.jaccard_score(y, p, sample_weight=w)),
        (eq.accuracy(), metrics.accuracy_score(y, p, sample_weight=w)),
        (eq.error_rate(), metrics.zero_one_loss(y, p, sample_weight=w)),
        (eq.balanced_accuracy(), metrics.balanced_accuracy_score(y, p, sample_weight=w)),
        (eq.informedness(), metrics.balanced_accuracy_score(y, p, sample_weight=w, adjusted=True)),
        (eq.markedness(), metrics.balanced_accuracy_score(p, y, sample_weight=w, adjusted=True)),
        (eq.matthews(), metrics.matthews_corrcoef(y, p, sample_weight=w)),
        (eq.kappa(), metrics.cohen_kappa_score(y, p, sample_weight=w)),
        (eq.lift(), metrics.precision_score(y, p, sample_weight=w) / np.average(y, weights=w)),
        (eq.cost(fp=1, fn=1), metrics.zero_one_loss(y, p, sample_weight=w)),
        (eq.churn("old"), metrics.zero_one_loss(d.old, p, sample_weight=w)),
    ):
        assert d.of(ours) == pytest.approx(theirs, rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
@settings(max_examples=20)
def test_a_mixture_has_the_mixture_of_the_rates(seed: int, share: float) -> None:
    a, b = sample(seed), sample(seed)
    other = np.random.default_rng(seed).random(len(a.y))
    for name in linear(a, a.masks[None]):
        expr = EXPRESSIONS[name](WOMEN)
        mixed = a.of(expr, share * a.p + (1 - share) * other)
        assert mixed == pytest.approx(share * b.of(expr) + (1 - share) * b.of(expr, other), abs=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_weights_are_repetitions(seed: int) -> None:
    d = sample(seed)
    counts = np.random.default_rng(seed).integers(1, 4, len(d.y))
    again = {name: np.repeat(column, counts) for name, column in d.attributes.items()}
    for make in EXPRESSIONS.values():
        expr = make(WOMEN)
        weighted = expr.evaluate(d.y, d.p, attributes=d.attributes, sample_weight=counts)
        repeated = expr.evaluate(np.repeat(d.y, counts), np.repeat(d.p, counts), attributes=again)
        assert weighted == pytest.approx(repeated, rel=1e-9, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["any", "none", "all", "right", "wrong"]))
@settings(max_examples=6)  # likewise
def test_values_lie_in_the_claimed_range(seed: int, extreme: str) -> None:
    d = sample(seed)
    p = {"any": d.p, "none": 0 * d.p, "all": 0 * d.p + 1, "right": d.y, "wrong": 1 - d.y}[extreme]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.UndefinedRateWarning)
        for name, make in EXPRESSIONS.items():
            for slice_ in SLICES.values():
                expr = make(slice_)
                value = d.of(expr, p)
                assert expr.interval.lo - 1e-12 <= value <= expr.interval.hi + 1e-12, (name, expr.interval, value)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_claimed_shares(seed: int) -> None:
    d = sample(seed)
    rng = np.random.default_rng(seed)
    parts = [eq.tp, eq.fp, eq.tn, eq.fn, eq.positive_rate, eq.accuracy, eq.tpr, eq.base_rate]
    for _ in range(10):
        top = sum(float(c) * f(WOMEN) for c, f in zip(rng.integers(0, 3, 2), rng.choice(parts, 2), strict=True))
        bottom = top + sum(
            float(c) * f(WOMEN) for c, f in zip(rng.integers(-1, 3, 2), rng.choice(parts, 2), strict=True)
        )
        share = Quotient(top, bottom)
        if share.is_share:
            numerator, denominator = d.of(top), d.of(bottom)
            assert -1e-12 <= numerator <= denominator + 1e-12


@pytest.mark.parametrize(
    ("expr", "share"),
    [
        (eq.precision(), True),
        (eq.npv(WOMEN), True),
        (eq.f1(), True),
        (eq.f_score(0.3), True),
        (eq.jaccard(), True),
        ((2 * eq.tp()) / (eq.base_rate() + eq.positive_rate()), True),
        ((eq.base_rate() - eq.tp()) / eq.negative_rate(), True),
        ((eq.positive_rate() - eq.base_rate() + eq.fn()) / eq.positive_rate(), True),
        (eq.tp() / eq.fp(), False),
        (eq.tp() / eq.positive_rate(WOMEN), False),
        (eq.tpr(WOMEN) / eq.tpr(), False),
        (eq.win_loss_ratio("old"), False),
        (-1 * eq.tp() / eq.positive_rate(), False),
    ],
)
def test_which_ratios_are_known_to_be_shares(expr, share: bool) -> None:
    definition = getattr(expr, "definition", expr)
    assert definition.is_share is share
    assert not share or (expr.interval.lo, expr.interval.hi) == (0, 1)


# -- the edges ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [eq.precision, eq.f1, eq.jaccard])
def test_zero_over_zero_counts_as_zero_and_warns(make) -> None:
    y, p = ([0, 0, 1], [0, 0, 0]) if make is eq.precision else ([0, 0, 0], [0, 0, 0])
    with pytest.warns(eq.UndefinedRateWarning, match=rf"^{make.__name__}\(\) is 0/0 here and counts as 0$"):
        assert make().evaluate(y, p) == 0
    assert make().evaluate([0, 1, 1], [0, 1, 1]) == 1


def test_infinite_values_are_said_and_compared() -> None:
    y, old = np.array([0, 1, 0, 1]), np.array([0, 0, 0, 0])
    attributes = {"old": old, "sex": ["F", "F", "M", "M"]}
    assert eq.win_loss_ratio("old").evaluate(y, y, attributes=attributes) == math.inf
    difference = eq.win_loss_ratio("old", WOMEN) - eq.win_loss_ratio("old", ~WOMEN)
    with pytest.warns(eq.UndefinedRateWarning, match="difference of two infinite numbers"):
        assert difference.evaluate(y, y, attributes=attributes) == 0


def test_divergence_at_the_edges() -> None:
    assert eq.kl(0, eq.positive_rate()).evaluate([0, 1], [0, 0]) == 0
    assert eq.kl(1, eq.positive_rate()).evaluate([0, 1], [1, 1]) == 0
    assert eq.kl(0.5, eq.positive_rate()).evaluate([0, 1], [0, 0]) == math.inf
    assert eq.kl_divergence().evaluate([1, 1], [1, 1]) == 0
    assert eq.kl_divergence().evaluate([0, 1], [0.5, 0.5]) == pytest.approx(0, abs=1e-15)
    assert eq.square(eq.kl_divergence()).curvature == "convex"


@pytest.mark.parametrize(
    ("name", "curvature"),
    [
        ("balanced_accuracy", "affine"),
        ("informedness", "affine"),
        ("cost", "affine"),
        ("markedness", "ratio"),
        ("lift", "ratio"),
        ("kappa", "ratio"),
        ("matthews", "unknown"),
    ],
)
def test_each_metric_says_its_class(name: str, curvature: str) -> None:
    metric = EXPRESSIONS[name](WOMEN)
    assert metric.curvature == curvature
    assert eq.Problem(eq.minimize(metric) if name == "cost" else eq.maximize(metric)).curvature == curvature


def test_correlation_where_nothing_changes() -> None:
    assert eq.matthews().evaluate([0, 1, 1], [1, 1, 1]) == 0
    assert eq.matthews().evaluate([1, 1, 0], [0, 0, 0]) == 0
    assert eq.matthews().evaluate([1, 1, 0], [0, 0, 1]) == pytest.approx(-1)


@given(st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_correlation_rises_with_tpr_and_falls_with_fpr(p: float, a: float, b: float, c: float, d: float) -> None:
    """What the black box claims."""
    function = eq.matthews().definition.function
    low, high = function(min(a, b), max(c, d), p), function(max(a, b), min(c, d), p)
    assert low <= high + 1e-9


def test_definitions() -> None:
    assert eq.precision().key == (eq.tp() / eq.positive_rate()).key
    assert eq.g_mean().key == eq.geo_mean(eq.tpr(), eq.tnr()).key


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: eq.tpr("women"), TypeError, r"the slice of tpr must be made with attr\(...\)"),
        (lambda: eq.tpr(eq.attr("sex")), TypeError, r"tpr\(sex\) needs a slice.*sex == 'value'"),
        (lambda: eq.precision(True), TypeError, "the slice of precision"),
        (lambda: eq.f_score(WOMEN), TypeError, "beta, the first argument of f_score"),
        (lambda: eq.f_score(0), TypeError, "must be positive; got 0"),
        (lambda: eq.f_score(math.inf), TypeError, "beta"),
        (lambda: eq.f_score(True), TypeError, "beta"),
        (lambda: eq.churn(WOMEN), TypeError, "the baseline of churn is the name of an attribute"),
        (lambda: eq.win_loss_ratio(3), TypeError, "the baseline of win_loss_ratio"),
        (lambda: eq.ratio(eq.tp(), eq.fp(), floor=0), TypeError, "floor of a ratio must be positive"),
        (lambda: eq.ratio(eq.tp(), eq.fp(), floor=-1), TypeError, "floor of a ratio"),
        (lambda: eq.ratio(eq.tp(), 0), ZeroDivisionError, r"tp\(\) / 0"),
        (lambda: eq.cost(fp=-1, fn=1), TypeError, "must not be negative, and not both 0; got -1 and 1"),
        (lambda: eq.cost(fp=0, fn=0), TypeError, "not both 0"),
        (lambda: eq.cost(fp=eq.tpr(), fn=0), TypeError, "a number for fp of cost"),
        (lambda: eq.log(), TypeError, "log takes 1 argument; got 0"),
        (lambda: eq.log(eq.tpr(), 2), TypeError, "log takes 1 argument; got 2"),
        (lambda: eq.max(), TypeError, "max takes at least one argument"),
        (lambda: eq.max([eq.tpr(), eq.tnr()]), TypeError, r"not list .*unpack it, as in max\(\*rates\)"),
        (lambda: eq.log(eq.tpr), TypeError, r"call it, as in tpr\(\)"),
        (lambda: eq.kl(eq.tpr(), eq.tpr()), eq.DisciplineError, "constant first argument, not tpr()"),
        (lambda: eq.kl(1.5, eq.tpr()), eq.DisciplineError, "first argument of kl must lie in \\[0, 1\\]"),
        (lambda: eq.kl(0.5, 2 * eq.tpr()), eq.DisciplineError, r"second argument.*2 \* tpr\(\) has the range \[0, 2\]"),
        (lambda: eq.kl_divergence(prior=eq.tpr()), eq.DisciplineError, "constant first argument"),
        (lambda: eq.kl_divergence(prior=-0.1), eq.DisciplineError, "must lie in"),
        (lambda: eq.black_box(3, eq.tpr(), increasing=True), TypeError, "takes a function first"),
        (lambda: eq.black_box(max, increasing=True), TypeError, "one to three rates"),
        (lambda: eq.black_box(max, *[eq.tpr()] * 4, increasing=True), TypeError, "one to three rates.*got 4"),
        (lambda: eq.black_box(max, eq.f1(), increasing=True), eq.DisciplineError, r"f1\(\) is ratio"),
        (lambda: eq.black_box(max, eq.tpr(), increasing=[True, False]), TypeError, "2 entries for 1 rates"),
        (lambda: eq.log_loss().evaluate([0, 1], [0, 1]), TypeError, r"log_loss\(\) is a function of scores"),
    ],
)
def test_refusals(make, error, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("name", [n for n in eq.__all__ if callable(getattr(eq, n)) and n.islower()])
def test_public_functions_say_what_they_are(name: str) -> None:
    function = getattr(eq, name)
    assert function.__doc__
    assert function.__name__ == name
