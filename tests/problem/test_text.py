import contextlib
import os
import random
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import equirate as eq
from equirate.data.kinds import KINDS
from equirate.data.slices import Slice
from equirate.language.atoms import ATOMS as DECLARED
from equirate.language.metrics import METRICS as NAMED
from equirate.problem.text import ParseError, parse, parse_constraints, parse_expression, parse_objective

WOMEN = eq.attr("sex") == "Female"
SLICES = [
    WOMEN,
    ~WOMEN,
    eq.attr("age") >= 65,
    eq.attr("age") < -3,
    eq.attr("age") != 1.5e-7,
    eq.attr("member") == True,  # noqa: E712
    eq.attr("race").isin(["Black", 'it\'s "quoted"', "back\\slash", "line\nbreak", "née", "\ud800"]),
    eq.attr("code").isin([1, -2, 3.5, False]),
    eq.attr("code").isin([]),
    eq.attr("two words") == "a",
    eq.attr("class") == "a",
    eq.attr("None") == "a",
    eq.attr("größe") > 1,
    eq.attr("\u017ftraße") > 1,  # Python reads this name as another one
    eq.attr("precision") == 1,
    eq.attr("attr") == 1,
    eq.attr("__class__") == "x",
    WOMEN & (eq.attr("age") < 30),
    WOMEN & (eq.attr("age") < 30) & ~(eq.attr("race") == "White"),
    WOMEN & ((eq.attr("age") < 30) | (eq.attr("age") > 60)),
    (WOMEN & (eq.attr("age") < 30)) | (eq.attr("age") > 60),
    ~(WOMEN | (eq.attr("age") > 60)),
]
RATES = [getattr(eq, name) for name, kind in KINDS.items() if not kind.compares]
METRICS = [
    metric(s)
    for s in (None, WOMEN)
    for metric in (
        *(*RATES, eq.log_loss, eq.hinge_loss),
        *(NAMED[name] for name in NAMED if name not in ("f_score", "win_loss_ratio", "cost")),
        *(partial(getattr(eq, name), "old model") for name, kind in KINDS.items() if kind.compares),
        *(lambda s: eq.win_loss_ratio("old", s), lambda s: eq.win_loss_ratio("old", s, floor=0.01)),
        *(lambda s: eq.f_score(2, s), lambda s: eq.f_score(0.5, s), lambda s: eq.cost(s, fp=2, fn=0.5)),
        *(lambda s: eq.kl_divergence(s, prior=0.3), lambda s: eq.kl_divergence(s, prior=eq.base_rate(WOMEN))),
    )
]
ATOMS = [
    *(getattr(eq, name)(*[eq.tpr(WOMEN), 1 - eq.fpr(), eq.tnr()][: atom.arity]) for name, atom in DECLARED.items()),
    eq.kl(0.3, eq.positive_rate()),
    eq.kl(eq.base_rate(), eq.positive_rate(WOMEN)),
    eq.ratio(eq.tpr(), eq.fpr(), floor=0.01),
    eq.tpr() / (eq.fpr() + 0.5),
]
PARITIES = [
    part
    for over in (eq.attr("race"), [eq.attr("race"), eq.attr("sex")], WOMEN, [WOMEN, eq.attr("age") < 30])
    for compare in ("rest", "pairs", "overall")
    for make in (
        *(eq.demographic_parity, eq.equal_opportunity, eq.equalized_odds, eq.predictive_parity, eq.f1_parity),
        lambda *a, **k: eq.churn_difference("old", *a, **k),
    )
    for part in make(over, tolerance=0.05, compare=compare)
] + eq.demographic_parity([eq.attr("two words"), eq.attr("b")], tolerance=1, intersect=True, min_support=20)


def same(a: object, b: object) -> bool:
    if isinstance(a, Slice):
        return a == b and repr(a) == repr(b)
    return repr(a) == repr(b) and getattr(a, "key", repr(a)) == getattr(b, "key", repr(b))


@pytest.mark.parametrize("written", [*SLICES, *METRICS, *ATOMS], ids=ascii)
def test_repr_parses_back(written: object) -> None:
    assert same(parse(repr(written)), written)


@pytest.mark.parametrize("written", SLICES, ids=ascii)
def test_a_slice_parses_back_inside_a_rate(written: Slice) -> None:
    assert same(parse(repr(eq.tpr(written))), eq.tpr(written))
    assert same(parse(repr(eq.precision(written) >= 0.5)), eq.precision(written) >= 0.5)


@pytest.mark.parametrize("written", PARITIES, ids=repr)
def test_ready_made_constraints_parse_back(written: object) -> None:
    (back,) = parse_constraints(repr(written))
    assert same(back, written)


@pytest.mark.parametrize("sense", [eq.minimize, eq.maximize])
def test_objectives_parse_back(sense: object) -> None:
    written = sense(eq.f1() - 0.1 * eq.churn("old"))  # type: ignore[operator]
    assert same(parse_objective(repr(written)), written)


_rates = st.sampled_from([*METRICS[:18], eq.tpr(SLICES[17]), eq.fpr(SLICES[19])])
_numbers = st.one_of(st.integers(-5, 5), st.floats(-1e3, 1e3, allow_nan=False), st.floats(1e-12, 1e-3))


def _grow(parts: st.SearchStrategy[eq.Expression]) -> st.SearchStrategy[eq.Expression]:
    return st.one_of(
        st.tuples(parts, parts).map(lambda ab: ab[0] + ab[1]),
        st.tuples(parts, parts).map(lambda ab: ab[0] - ab[1]),
        st.tuples(parts, parts).map(lambda ab: ab[0] * ab[1]),
        st.tuples(parts, parts).map(lambda ab: ab[0] / ab[1]),
        st.tuples(_numbers, parts).map(lambda ab: ab[0] * ab[1]),
        st.tuples(parts, _numbers).map(lambda ab: ab[0] - ab[1]),
        st.tuples(_numbers, parts).map(lambda ab: ab[0] - ab[1]),
        parts.map(lambda a: -a),
        parts.map(eq.abs),
        parts.map(eq.sqrt),
        st.lists(parts, min_size=1, max_size=3).map(lambda a: eq.max(*a)),
        st.lists(parts, min_size=1, max_size=3).map(lambda a: eq.norm(*a)),
    )


EXPRESSIONS = st.recursive(_rates, _grow, max_leaves=8)


@settings(max_examples=200)
@given(EXPRESSIONS)
def test_compositions_parse_back(written: eq.Expression) -> None:
    back = parse_expression(repr(written))
    assert repr(back) == repr(written)
    rng = np.random.default_rng(0)
    values: dict[object, np.ndarray] = {}

    def measure(part: object) -> np.ndarray:
        return values.setdefault(part.key, rng.uniform(0.1, 0.9, 3))  # type: ignore[attr-defined]

    with np.errstate(all="ignore"):
        a, b = (np.asarray(e.value(measure), dtype=float) for e in (written, back))
    np.testing.assert_allclose(a, b, rtol=1e-9)


@settings(max_examples=50)
@given(EXPRESSIONS, EXPRESSIONS)
def test_constraints_parse_back(left: eq.Expression, right: eq.Expression) -> None:
    for written in (left + eq.tpr() <= right, left >= right + eq.tpr()):
        (back,) = parse_constraints(repr(written))
        assert repr(back) == repr(written)


def test_long_sums_and_slices_parse_back() -> None:
    total = sum(0.5 * eq.tpr(eq.attr("g") == k) for k in range(300))
    assert same(parse(repr(total)), total)
    union = WOMEN
    for k in range(300):
        union = union | (eq.attr("g") == k)
    assert same(parse(repr(union)), union)


def test_plain_numbers_are_worked_out() -> None:
    assert repr(parse("tpr() <= 2 * 0.05 + 1/4")) == "tpr() <= 0.35"
    assert repr(parse("0.5 <= tpr()")) == "tpr() >= 0.5"
    assert repr(parse("3")) == "3"
    assert repr(parse(" \n f1() \t")) == "f1()"


def test_lists_of_constraints_are_flat() -> None:
    found = parse_constraints("[tpr() >= 0.5, [fpr() <= 0.1], demographic_parity(sex, tolerance=0.1)]")
    assert [repr(part) for part in found] == [
        "tpr() >= 0.5",
        "fpr() <= 0.1",
        "demographic_parity(sex, tolerance=0.1)",
    ]


ATTACKS = [
    "__import__('os').system('touch {marker}')",
    "().__class__.__bases__[0].__subclasses__()",
    "tpr.__globals__",
    "tpr().__class__",
    "sex.__class__",
    "sex.name",
    "(sex == 'a').mask",
    "sex.isin.__self__",
    "getattr(tpr, '__globals__')",
    "eval('1')",
    "exec('1')",
    "open('/etc/passwd')",
    "breakpoint()",
    "lambda: 1",
    "(lambda: tpr())()",
    "[tpr() for _ in sex]",
    "{x for x in sex}",
    "{1: 2}",
    "{1, 2}",
    "(x for x in sex)",
    "(x := tpr())",
    "f'{tpr()}'",
    "f'{__import__(\"os\")}' == sex",
    "tpr(*[1])",
    "tpr(**{'slice': 1})",
    "max(*sex)",
    "[*sex]",
    "tpr(slice=sex == 1, slice=sex == 2)",
    "tpr(self=1)",
    "tpr(kind=1)",
    "attr(name='a', other=1)",
    "sex.isin(values=['a'])",
    "sex.isin(['a'], ['b'])",
    "sex.isin([['a', ['b']]])",
    "sex.isin([[[[[]]]]])",
    "sex.isin('abc')",
    "sex.isin(7)",
    "sex.isin(tpr())",
    "sex.isin([None])",
    "sex.isin([tpr()])",
    "sex.isin([age])",
    "sex.isin(['a'] * 1000000000)",
    "'abc'.isin(['a'])",
    "tpr().isin([1])",
    "tpr() if sex else fpr()",
    "tpr() and fpr()",
    "not tpr()",
    "tpr() == 0.5",
    "tpr() != 0.5",
    "tpr() < 0.5",
    "tpr() is None",
    "'a' in sex",
    "sex in ['a']",
    "0.1 <= tpr() <= 0.5",
    "sex[0]",
    "sex[0:1]",
    "sex @ sex",
    "tpr() ** 2",
    "tpr() // 2",
    "tpr() % 2",
    "9 ** 9 ** 9",
    "9 << 999999999",
    "'a' * 10 ** 9",
    "'a' * 1000000000",
    "['a'] * 1000000000",
    "[tpr()] + [fpr()]",
    "'a' + 'b'",
    "'%1000000000d' % 1",
    "1e999",
    "-1e999 <= tpr()",
    "1" * 4400,
    "0x" + "f" * 5000,
    "9" * 4000 + " * " + "9" * 4000,
    "1e308 * 10",
    "tpr() * (1e308 * 10)",
    "sex == " + "9" * 400,
    "1 / 0",
    "tpr() / 0",
    "tpr() / (1 - 1)",
    "1j",
    "tpr() + 1j",
    "b'abc'",
    "sex == b'abc'",
    "...",
    "sex == ...",
    "None",
    "True",
    "True + True",
    "-True",
    "'text'",
    "[]  + 1",
    "[1, 2]",
    "()[0]",
    "~tpr()",
    "~5",
    "-sex",
    "-(sex == 1)",
    "+'a'",
    "sex & tpr()",
    "sex & (age == 1)",
    "5 & 3",
    "sex == age",
    "sex == tpr()",
    "sex == (tpr() <= 0.5)",
    "sex == minimize(tpr())",
    "sex == None",
    "sex == [1]",
    "(sex == 1) == tpr()",
    "'a' == tpr()",
    "tpr() != 'a'",
    "(tpr() <= 0.5) <= tpr()",
    "1 <= 2",
    "tpr() <= fpr",
    "f1 + 1",
    "minimize()",
    "minimize(f1)",
    "minimize(minimize(f1()))",
    "maximize(tpr(), fpr())",
    "f_score()",
    "f_score('a')",
    "f_score(0)",
    "f_score(1e200)",
    "kl(tpr(), fpr())",
    "kl(2, fpr())",
    "log()",
    "log(1, 2)",
    "max()",
    "max([tpr()])",
    "wins()",
    "wins(5)",
    "attr(5)",
    "attr('')",
    "tpr(5)",
    "tpr('Female')",
    "tpr(sex)",
    "tpr(tpr())",
    "tpr(sex == 1, age == 2)",
    "ratio(tpr(), fpr(), floor=0)",
    "demographic_parity()",
    "demographic_parity(sex)",
    "demographic_parity(sex, tolerance=-1)",
    "demographic_parity(sex, tolerance=tpr())",
    "demographic_parity(sex, tolerance=0.1, compare='x')",
    "demographic_parity(5, tolerance=0.1)",
    "demographic_parity([], tolerance=0.1)",
    "demographic_parity(sex, tolerance=0.1) + 1",
    "black_box(tpr, fpr())",
    "no_such_function()",
    "tpr()()",
    "tpr() fpr()",
    "tpr(); fpr()",
    "import os",
    "tpr(\n",
    "tpr() # comment \n fpr()",
    "yield 1",
    "(yield)",
    "await tpr()",
    "print(1)",
    "\x00",
    "tpr()\x00",
    "sex == '\x00",
    "\ud800",
    "\ufeff\ufeff",
    "\U0001d42d\U0001d429\U0001d42b()()",
    "",
    "   ",
    "\\",
    "'" * 3,
    "a" * 30_000,
    "(" * 5_000,
    "(" * 90 + "tpr()" + ")" * 90 + "!",
    "-" * 5_000 + "1",
    "~" * 200 + "(sex == 1)",
    "abs(" * 150 + "tpr()" + ")" * 150,
    "[" * 80 + "]" * 80,
    "*".join(["tpr()"] * 2_000),
    "tpr()" + "/2" * 5_000,
    "not " * 3_000 + "1",
]


@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: ascii(text[:40]))
def test_everything_else_is_refused_and_nothing_runs(text: str, tmp_path: os.PathLike[str]) -> None:
    marker = os.path.join(tmp_path, "marker")
    with pytest.raises(ParseError):
        parse(text.replace("{marker}", marker))
    assert not os.path.exists(marker)


@pytest.mark.parametrize("value", [None, 5, b"tpr()", ["tpr()"], eq.tpr()])
def test_what_is_not_text_is_refused(value: object) -> None:
    with pytest.raises(ParseError):
        parse(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["tpr", "\uff54\uff50\uff52", "sex == 1", "tpr() <= 0.5", "[tpr() <= 0.5]"])
def test_what_is_asked_for_is_checked(text: str) -> None:
    for wrong in (parse_expression, parse_objective):
        with pytest.raises(ParseError, match="is not an"):
            wrong(text)
    with pytest.raises(ParseError, match="is not a constraint"):
        parse_constraints("minimize(tpr())")


def test_messages_name_the_fix() -> None:
    for text, hint in (
        ("f1 >= 0.8", r"f1 is a function: write f1\(\)"),
        ("tpr(sex)", "compare it"),
        ("tpr() == 0.5", "abs"),
        ("sex == 1 & age == 2", "parentheses|one comparison"),
        ("square(tpr)", r"write tpr\(\)"),
        ("foo()", "no function 'foo'"),
    ):
        with pytest.raises(ParseError, match=hint):
            parse_constraints(text)


@settings(max_examples=400)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ParseError):
        repr(parse(text))


VALID = [*map(repr, [*SLICES, *METRICS, *ATOMS, *PARITIES]), "maximize(f1() - 0.1 * churn('old'))"]
TOKENS = [
    *("(", ")", "[", "]", "*", "**", "-", "~", "&", "|", "==", "<=", "0", "1e309", "'", '"', ".", ",", "=", ":=", "\\"),
    *(" if ", " for ", "tpr", "sex", "None", "lambda:", "{", "}", "\x00", "é", "max", "isin", "f'", "b'", "not ", "@"),
]


@settings(max_examples=500)
@given(st.sampled_from(VALID), st.randoms(use_true_random=False), st.integers(1, 4))
def test_mutated_text_is_read_or_refused(text: str, rng: random.Random, times: int) -> None:
    for _ in range(times):
        i = rng.randrange(len(text) + 1)
        j = min(len(text), i + rng.randrange(6))
        other = rng.choice(VALID)
        k = rng.randrange(len(other))
        text = text[:i] + rng.choice([rng.choice(TOKENS), "", other[k : k + rng.randrange(12)]]) + text[j:]
    with contextlib.suppress(ParseError):
        repr(parse(text))


@pytest.mark.parametrize("text", ["+".join(["tpr()"] * 1_500), "max(" + ",".join(["tpr()"] * 3_000) + ")"])
def test_long_texts_are_read(text: str) -> None:
    assert len(list(parse_expression(text).rates())) in (1_500, 3_000)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("precison(sex == 'F') >= 0.2", 0, "there is no function 'precison'; did you mean 'precision'?"),
        ("  f1() + fooo()", 7, "there is no function 'fooo'"),
        ("f1(é == 'x') + fooo()", 15, "there is no function 'fooo'"),
        ("f1() >= 0.2 +", 13, "invalid syntax"),
        ("f1() >= 0.1 & tpr()", 8, "& and | bind more tightly"),
        ("(f1() +\n fooo())", 9, "there is no function 'fooo'"),
    ],
)
def test_a_refusal_knows_its_place(text: str, column: int, says: str) -> None:
    with pytest.raises(eq.ParseError) as refusal:
        eq.parse(text)
    assert refusal.value.column == column
    assert refusal.value.text == text.strip()
    assert refusal.value.reason.startswith(says)
    assert refusal.value.reason in str(refusal.value)
