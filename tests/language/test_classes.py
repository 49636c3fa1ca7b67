"""Rates, averages and parities of more than two classes, against plain numpy and scikit-learn."""

import itertools
import math
import pickle

import numpy as np
import pytest
from sklearn import metrics

import equirate as eq
from equirate.data.examples import Examples
from equirate.data.kinds import KINDS
from equirate.problem.canonical import canonicalize
from equirate.problem.table import make_table
from equirate.problem.written import as_text

CLASSES = ("a", "b", "c", "d")
WOMEN = eq.attr("sex") == "F"


def data(seed: int, n: int = 300, classes: tuple = CLASSES) -> dict:
    rng = np.random.default_rng(seed)
    y, old, p = rng.choice(classes, n), rng.choice(classes, n), rng.choice(classes, n)
    p = np.where(rng.random(n) < 0.5, y, p)
    pmf = 0.5 * (p[:, None] == np.array(classes)) + 0.5 * rng.dirichlet(np.ones(len(classes)), n)
    return {"y": y, "old": old, "p": p, "pmf": pmf, "w": rng.exponential(size=n), "sex": rng.choice(["F", "M"], n)}


def expected_rates(
    d: dict, pmf: np.ndarray, where: np.ndarray, classes: tuple, true: object, predicted: object
) -> dict:
    """Every kind of rate by a loop over examples."""
    top: dict = {}
    conditional = dict.fromkeys(("tpr", "fnr", "fpr", "tnr", "confusion_row"), 0.0)
    weight, of_class, of_rest = 0.0, 0.0, 0.0
    for y, b, w, row in zip(d["y"][where], d["old"][where], d["w"][where], pmf[where], strict=True):
        weight += w
        of_class += w * (y == true)
        of_rest += w * (y != true)
        for a, chance in zip(classes, row, strict=True):
            u, v, each = y == true, a == true, w * chance
            for name, event in {
                "positive_rate": v,
                "negative_rate": not v,
                "tp": u and v,
                "fp": not u and v,
                "tn": not u and not v,
                "fn": u and not v,
                "base_rate": u,
                "accuracy": a == y,
                "error_rate": a != y,
                "wins": a != b and a == y,
                "losses": a != b and a != y,
                "churn": a != b,
                "confusion": u and a == predicted,
            }.items():
                top[name] = top.get(name, 0.0) + each * event
            conditional["tpr"] += each * (u and v)
            conditional["fnr"] += each * (u and not v)
            conditional["fpr"] += each * (not u and v)
            conditional["tnr"] += each * (not u and not v)
            conditional["confusion_row"] += each * (u and a == predicted)
    among = {"tpr": of_class, "fnr": of_class, "fpr": of_rest, "tnr": of_rest, "confusion_row": of_class}
    found = {name: value / weight for name, value in top.items()}
    found |= {name: value / among[name] for name, value in conditional.items()}
    return found | {"recall": found["tpr"]}


def made(name: str, label: object, slice_: object, predicted: object) -> eq.Expression:
    if name.startswith("confusion"):
        return eq.confusion(label, predicted, slice_, given="true" if name.endswith("row") else None)
    function = getattr(eq, name)
    if name in ("wins", "losses", "churn"):
        return function("old", slice_)
    return function(slice_) if name in ("accuracy", "error_rate") else function(slice_, label=label)


@pytest.mark.parametrize("seed", range(3))
def test_every_rate_is_that_of_a_loop_over_examples(seed: int) -> None:
    d = data(seed, 120)
    true, predicted = CLASSES[seed], CLASSES[(seed + 1) % 4]
    for slice_, where in ((None, d["sex"] != ""), (WOMEN, d["sex"] == "F")):
        expected = expected_rates(d, d["pmf"], where, CLASSES, true, predicted)
        assert set(KINDS) < set(expected)
        for name, value in expected.items():
            expr = made(name, true, slice_, predicted)
            attributes = {"sex": d["sex"], "old": d["old"]}
            found = expr.evaluate(d["y"], d["pmf"], attributes=attributes, sample_weight=d["w"])
            assert found == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("n_classes", [3, 5, 17, 200])
def test_the_table_measures_as_evaluate_does(n_classes: int) -> None:
    classes = tuple(range(10, 10 + n_classes))
    d = data(1, max(300, 3 * n_classes), classes)
    d["y"][: 2 * n_classes] = classes * 2
    d["sex"][: 2 * n_classes] = np.repeat(["F", "M"], n_classes)
    examples = Examples.of(d["y"], {"sex": d["sex"], "old": d["old"]}, d["w"], classes=classes)
    kinds = [name for name in KINDS if name != "base_rate"]
    rates = [made(name, k, s, None) for name in kinds for k in (10, 12) for s in (None, WOMEN)]
    rates += [eq.confusion(10, 12), eq.confusion(12, 10, WOMEN, given="true")]
    problem = eq.Problem(eq.minimize(sum(rates[1:], start=rates[0]))).expanded(examples)
    table = make_table(canonicalize(problem), examples)
    assert table.rate_matrix.shape[1] == (n_classes - 1) * len(table.cells)
    found = table.rates(table.cells.expected_counts(d["pmf"])[:, None])[:, 0]
    expected = [rate.measured(examples, d["pmf"]) for rate in table.program.rates]
    assert found == pytest.approx(expected, abs=1e-12)
    codes = np.searchsorted(classes, d["p"])
    counted = table.rates(table.cells.counts(codes[:, None]))[:, 0]
    hard = (d["p"][:, None] == np.array(classes)).astype(float)
    assert counted == pytest.approx([rate.measured(examples, hard) for rate in table.program.rates], abs=1e-12)


def test_reach_gives_every_cell_to_its_best_answer() -> None:
    classes = ("a", "b", "c")
    examples = Examples.of(["a", "b", "c", "c"], classes=classes)
    expr = eq.coverage("a") + 2 * eq.confusion("c", "b") - eq.coverage("c")
    problem = eq.Problem(eq.minimize(expr)).expanded(examples)
    table = make_table(canonicalize(problem), examples)
    values = [
        expr.evaluate(["a", "b", "c", "c"], answers, classes=classes) for answers in itertools.product("abc", repeat=4)
    ]
    low, high = table.reach(np.array([0]))
    assert (low[0], high[0]) == pytest.approx((min(values), max(values)))


def test_averages_are_scikit_learns() -> None:
    d = data(5)
    y, p, w = d["y"], d["p"], d["w"]
    for average in ("macro", "micro", "weighted"):
        for name, function in (
            ("recall", metrics.recall_score),
            ("precision", metrics.precision_score),
            ("f1", metrics.f1_score),
            ("jaccard", metrics.jaccard_score),
        ):
            found = getattr(eq, name)(average=average).evaluate(y, p, sample_weight=w)
            assert found == pytest.approx(function(y, p, average=average, sample_weight=w), abs=1e-12), (name, average)
        found = eq.f_score(2, average=average).evaluate(y, p, sample_weight=w)
        assert found == pytest.approx(metrics.fbeta_score(y, p, beta=2, average=average, sample_weight=w), abs=1e-12)
    assert eq.kappa().evaluate(y, p, sample_weight=w) == pytest.approx(metrics.cohen_kappa_score(y, p, sample_weight=w))
    balanced = metrics.balanced_accuracy_score(y, p, sample_weight=w)
    assert eq.balanced_accuracy().evaluate(y, p, sample_weight=w) == pytest.approx(balanced)
    assert eq.macro_f1().evaluate(y, p) == pytest.approx(metrics.f1_score(y, p, average="macro"))


def test_means_and_divergences_over_all_classes() -> None:
    d = data(6)
    y, p = d["y"], d["p"]
    recalls = metrics.recall_score(y, p, average=None)
    precisions = metrics.precision_score(y, p, average=None)
    shares = np.array([(p == k).mean() for k in CLASSES])
    prior = np.array([(y == k).mean() for k in CLASSES])
    for expr, value in (
        (eq.g_mean(), np.prod(recalls) ** (1 / 4)),
        (eq.h_mean(), 4 / (1 / recalls).sum()),
        (eq.q_mean(), 1 - math.sqrt(((1 - recalls) ** 2).mean())),
        (eq.worst_recall(), recalls.min()),
        (eq.worst("precision"), precisions.min()),
        (eq.worst("fnr"), (1 - recalls).max()),
        (eq.worst("f_score", beta=2), metrics.fbeta_score(y, p, beta=2, average=None).min()),
        (eq.kl_divergence(), (prior * np.log(prior / shares)).sum()),
        (eq.kl_divergence(prior=dict.fromkeys(CLASSES, 0.25)), (0.25 * np.log(0.25 / shares)).sum()),
        (eq.coverage("b"), shares[1]),
    ):
        assert expr.evaluate(y, p) == pytest.approx(value, abs=1e-12), expr
    matrix = np.arange(16).reshape(4, 4).tolist()
    found = eq.cost(matrix=matrix, labels=list(CLASSES)).evaluate(y, p)
    assert found == pytest.approx((metrics.confusion_matrix(y, p) * matrix).sum() / len(y))


UNARY = (
    "recall",
    "tpr",
    "fnr",
    "fpr",
    "tnr",
    "precision",
    "npv",
    "f1",
    "jaccard",
    "informedness",
    "markedness",
    "lift",
)


@pytest.mark.parametrize("name", [*UNARY, "positive_rate", "negative_rate", "tp", "fp", "tn", "fn", "base_rate"])
def test_two_classes_with_a_label_are_the_binary_form_digit_by_digit(name: str) -> None:
    rng = np.random.default_rng(3)
    y, p, w = rng.integers(0, 2, 200), rng.random(200), rng.exponential(size=200)
    function = getattr(eq, name)
    plain = function().evaluate(y, p, sample_weight=w)
    assert function(label=1).evaluate(y, p, sample_weight=w) == plain
    signs = np.where(y == 1, 1, -1)
    assert function(label=1).evaluate(signs, p, sample_weight=w) == plain
    words = np.where(y == 1, "yes", "no")
    pmf = np.stack([1 - p, p], axis=1)
    assert function(label="yes").evaluate(words, pmf, sample_weight=w) == pytest.approx(plain, abs=1e-12)
    other = function().evaluate(1 - y, 1 - p, sample_weight=w)
    assert function(label=0).evaluate(y, p, sample_weight=w) == pytest.approx(other, abs=1e-12)


def test_two_classes_with_labels_make_the_same_table() -> None:
    rng = np.random.default_rng(4)
    examples = Examples.of(rng.integers(0, 2, 100), {"sex": rng.choice(["F", "M"], 100)})
    plain = eq.Problem(eq.minimize(eq.error_rate()), [eq.tnr(WOMEN) >= 0.3, eq.f1() >= 0.4])
    named = eq.Problem(eq.minimize(eq.error_rate()), [eq.recall(WOMEN, label=0) >= 0.3, eq.f1(label=1) >= 0.4])
    one, two = (make_table(canonicalize(each.expanded(examples)), examples) for each in (plain, named))
    assert np.array_equal(one.matrix, two.matrix)
    assert np.array_equal(one.offset, two.offset)
    assert repr(named.expanded(examples)) == repr(named)


@pytest.mark.parametrize(
    "text",
    [
        "recall(sex == 'F', label='cat')",
        "f1(average='macro')",
        "f_score(2, sex == 'F', average='weighted')",
        "confusion('cat', 'dog', sex == 'F', given='true')",
        "coverage('cat', sex == 'F')",
        "worst('precision', sex == 'F')",
        "worst('f_score', beta=2)",
        "macro_f1(sex == 'F')",
        "worst_recall()",
        "cost(matrix=[[0, 1], [5, 0]], labels=['a', 'b'])",
        "kl_divergence(prior={'a': 0.5, 'b': 0.5})",
        "tpr(label=-1) - fpr(label=2.5)",
        "recall(label=True)",
    ],
)
def test_text_reads_back(text: str) -> None:
    expr = eq.parse(text)
    assert repr(expr) == text
    assert as_text(expr) == text
    assert repr(pickle.loads(pickle.dumps(expr))) == text


def test_parities_over_every_class() -> None:
    d = data(7)
    examples = Examples.of(d["y"], {"sex": d["sex"]}, classes=CLASSES)

    def written(*constraints: object) -> list[str]:
        return list(map(repr, eq.Problem(eq.minimize(eq.error_rate()), constraints).expanded(examples).constraints))

    assert len(written(eq.demographic_parity("sex", tolerance=0.1))) == 4
    assert written(eq.equal_opportunity("sex", tolerance=0.1, labels=["c"])) == [
        "abs(tpr(sex == 'F', label='c') - tpr(sex == 'M', label='c')) <= 0.1"
    ]
    assert len(written(eq.equalized_odds("sex", tolerance=0.1))) == 8
    assert len(written(eq.equalized_odds("sex", tolerance=0.1, entries=True))) == 16
    assert len(written(eq.predictive_parity([WOMEN, ~WOMEN], tolerance=0.1, labels=["a", "b"]))) == 2
    family = eq.equalized_odds("sex", tolerance=0.1, labels=["a", "b"], entries=True)
    assert repr(eq.parse(repr(family[0]))) == repr(family)
    with pytest.raises(eq.DataError, match="y has 4 classes: write positive_rate"):
        written(eq.demographic_parity([WOMEN, ~WOMEN], tolerance=0.1))
    with pytest.raises(TypeError, match="entries=True is for equalized_odds"):
        eq.demographic_parity("sex", tolerance=0.1, entries=True)


def test_min_support_counts_a_class_within_a_group() -> None:
    y = np.array(["a"] * 40 + ["b"] * 40 + ["c"] * 22)
    sex = np.array(["F", "M"] * 40 + ["F"] * 2 + ["M"] * 20)
    examples = Examples.of(y, {"sex": sex}, classes=("a", "b", "c"))
    family = eq.equal_opportunity("sex", tolerance=0.1, min_support=10)
    with pytest.warns(eq.EquirateWarning, match="'c' in sex == 'F'"):
        found = eq.Problem(eq.minimize(eq.error_rate()), family).expanded(examples).constraints
    assert [constraint.labels for constraint in (c.left for c in found)]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (eq.recall(), r"y has 3 classes: write recall\(label='cat'\), recall\(average='macro'\) or worst_recall\(\)"),
        (eq.precision(), r"write precision\(label='cat'\), precision\(average='macro'\) or worst\('precision'\)"),
        (eq.f_score(2), r"write f_score\(beta, label='cat'\)"),
        (eq.positive_rate(), r"write positive_rate\(label='cat'\), coverage\('cat'\) or confusion"),
        (eq.matthews(), r"matthews\(\) is defined for two classes"),
        (eq.cost(fp=1, fn=2), r"write cost\(matrix="),
        (eq.recall(label="cow"), r"y has no class 'cow'; its classes are 'cat', 'dog', 'owl'"),
        (eq.cost(matrix=[[0, 1], [1, 0]], labels=["cat", "dog"]), "no row for 'owl'"),
        (eq.kl_divergence(prior={"cat": 0.5, "dog": 0.5}), "lacks 'owl'"),
    ],
)
def test_what_needs_a_class_is_refused_with_the_ways_to_write_it(expr: eq.Expression, message: str) -> None:
    examples = Examples.of(["cat", "dog", "owl"], classes=("cat", "dog", "owl"))
    with pytest.raises(eq.DataError, match=message):
        eq.Problem(eq.minimize(eq.error_rate()), [expr <= 0.9]).expanded(examples)
    if "cow" not in repr(expr):
        with pytest.raises(eq.DataError, match=message):
            expr.evaluate(["cat", "dog", "owl"], ["cat", "dog", "dog"])


def test_unusual_labels() -> None:
    with pytest.raises(eq.DataError, match="mixed types"):
        eq.accuracy().evaluate(np.array(["a", 1, "b"], dtype=object), ["a", "a", "b"])
    with pytest.raises(eq.DataError, match="2 missing values"):
        eq.accuracy().evaluate(np.array(["a", None, None, "b"], dtype=object), ["a", "a", "b", "c"])
    with pytest.raises(eq.DataError, match=r"more than 1,000 classes"):
        eq.accuracy().evaluate(np.arange(1500), np.arange(1500))
    with pytest.warns(eq.EquirateWarning, match="has 150 classes"):
        assert eq.accuracy().evaluate(np.arange(150), np.arange(150)) == 1.0
    with pytest.raises(eq.DataError, match="did you mean 1"):
        eq.recall(label="1").evaluate([0, 1, 2], [0, 1, 2], classes=[0, 1, 2])
    assert eq.recall(label=2).evaluate([0, 1, 2], [0, 1, 2]) == 1.0
    assert eq.accuracy().evaluate([0, 1, 1], [0, 1, 2]) == pytest.approx(2 / 3)
    assert eq.accuracy().evaluate([0.0, 1.0, 1.0], [0.0, 1.0, 2.0]) == pytest.approx(2 / 3)


def test_probabilities_need_their_classes() -> None:
    with pytest.raises(eq.DataError, match=r"of shape \(3, 2\).*classes=\[\.\.\.\]"):
        eq.accuracy().evaluate(["a", "b", "b"], np.eye(3))
    assert eq.accuracy().evaluate(["a", "b", "b"], np.eye(3), classes=["a", "b", "c"]) == pytest.approx(2 / 3)
    with pytest.raises(eq.DataError, match="every row at least 0, and together 1"):
        eq.accuracy().evaluate(["a", "b", "c"], np.ones((3, 3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eq.recall(label="a", average="macro"), "not both"),
        (lambda: eq.recall(average="mean"), "must be one of 'macro', 'micro', 'weighted'"),
        (lambda: eq.fpr(average="micro"), "average='micro' is for recall"),
        (lambda: eq.recall(label=eq.attr("cat")), "put text in quotes, as in 'cat'"),
        (lambda: eq.recall(label=["a"]), "text, a number or a boolean"),
        (lambda: eq.recall(label=float("nan")), "cannot be missing"),
        (lambda: eq.worst("accuracy"), "worst takes the name of a rate"),
        (lambda: eq.worst("f_score"), "beta goes with"),
        (lambda: eq.coverage(None), "coverage takes a class"),
        (lambda: eq.confusion("a", None), "confusion takes two classes"),
        (lambda: eq.confusion("a", "b", given="predicted"), "given of confusion"),
        (lambda: eq.cost(), "cost needs fp= and fn=, or matrix= and labels="),
        (lambda: eq.cost(matrix=[[0, 1], [1, 0]]), "needs labels="),
        (lambda: eq.cost(matrix=[[0, 1]], labels=["a", "b"]), "a row and a column"),
        (lambda: eq.cost(matrix=[[0, -1], [1, 0]], labels=["a", "b"]), "must not be negative"),
        (lambda: eq.cost(fp=1, fn=1, matrix=[[0, 1], [1, 0]], labels=["a", "b"]), "not both"),
        (lambda: eq.kl_divergence(prior={"a": 0.5}), "must add up to 1"),
        (lambda: eq.demographic_parity("sex", tolerance=0.1, labels="a"), "a list of classes"),
    ],
)
def test_wrong_arguments(call: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()  # type: ignore[operator]
