"""Cells, matrices and boxes against exact evaluation."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import equirate as eq
from equirate.data.cells import Cells
from equirate.data.examples import Examples
from equirate.problem import table as table_module
from equirate.problem.canonical import RatioForm, canonicalize
from equirate.problem.table import make_table

N = 70
rng = np.random.default_rng(5)
Y = (rng.random(N) < 0.4).astype(int)
COLUMNS = {
    "group": rng.choice(["a", "b", "c"], N),
    "age": rng.integers(18, 80, N),
    "old": rng.integers(0, 2, N),
}
WEIGHT = rng.uniform(0, 3, N) * (rng.random(N) < 0.9)
A, YOUNG = eq.attr("group") == "a", eq.attr("age") < 40
EXAMPLES = Examples.of(Y, COLUMNS, WEIGHT)
RATES = [
    f(s)
    for s in (None, A, YOUNG, A & YOUNG, A | ~YOUNG, eq.attr("group").isin(["b", "c"]))
    for f in (
        eq.positive_rate,
        eq.negative_rate,
        eq.accuracy,
        eq.error_rate,
        eq.tpr,
        eq.fnr,
        eq.fpr,
        eq.tnr,
        eq.tp,
        eq.fp,
        eq.tn,
        eq.fn,
    )
] + [f("old", s) for f in (eq.wins, eq.losses, eq.churn) for s in (None, A, YOUNG)]
EVERYTHING = eq.Problem(
    eq.minimize(sum(0.1 * (k % 5 - 2) * rate for k, rate in enumerate(RATES)) + eq.kl_divergence(A)),
    [
        eq.precision(A) >= 0.3,
        eq.g_mean(YOUNG) >= 0.5,
        eq.f1() >= eq.f1(A) - 0.1,
        eq.square(eq.tpr(A) - eq.tpr(YOUNG)) + eq.churn("old") <= 0.2,
        eq.base_rate() * eq.fpr(A) <= 0.1,
        eq.sqrt(eq.tpr(A) + eq.min(eq.tpr(), eq.tnr(A))) >= 0.1,
        eq.npv(A) >= 0.3,
    ],
)
TABLE = make_table(canonicalize(EVERYTHING), EXAMPLES)
predictions_like = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed))


def sums(predictions):
    return TABLE.cells.sums(np.asarray(predictions).reshape(N, -1))


@settings(max_examples=8)  # each tries every rate
@given(predictions_like, st.booleans())
def test_rates_from_cells_equal_evaluation(source, soft):
    p = source.random((N, 2)) if soft else source.random((N, 2)) < source.random()
    found = TABLE.rates(sums(p))
    for k, rate in enumerate(TABLE.program.rates):
        for c in range(2):
            assert found[k, c] == pytest.approx(
                rate.evaluate(Y, p[:, c], attributes=COLUMNS, sample_weight=WEIGHT), abs=1e-12
            )


def test_every_rate_of_the_catalogue_is_in_that_problem():
    assert {rate.key for rate in RATES} <= {rate.key for rate in TABLE.program.rates}


@settings(max_examples=10)  # each tries every row
@given(predictions_like)
def test_rows_are_the_canonical_expressions_evaluated(source):
    p = source.random(N) < source.random()
    rows = TABLE.rows(sums(p))[:, 0]
    given_rates = dict(zip((r.key for r in TABLE.program.rates), TABLE.rates(sums(p))[:, 0], strict=True))

    def number(expr):
        return float(expr.evaluate(Y, p, attributes=COLUMNS, sample_weight=WEIGHT))

    for r, row in enumerate(TABLE.program.rows):
        linear = sum(number(f) * given_rates[TABLE.program.rates[k].key] for k, f in row.linear)
        assert rows[r] == pytest.approx(TABLE.sense[r] * (linear + sum(map(number, row.constant))), abs=1e-12)
    np.testing.assert_allclose(TABLE.rows_constant + TABLE.rows_of_rates @ TABLE.rates(sums(p))[:, 0], rows, atol=1e-12)
    # A row with its atoms at their own arguments is the user's residual.
    xi, _, left = TABLE.arguments(rows[:, None])
    assert not left.any()
    if (xi[:, 0] > TABLE.lo + 1e-6).all():
        whole = rows[: 1 + TABLE.program.n_constraints] + (TABLE.atom_weights @ TABLE.atom_values(xi))[: 1 + 7, 0]
        assert whole[0] == pytest.approx(
            EVERYTHING.objective.expr.evaluate(Y, p, attributes=COLUMNS, sample_weight=WEIGHT)
        )
        for j in (1, 2, 3, 4, 5):  # constraints 0 and 6 were multiplied through by their denominators
            assert whole[1 + j] == pytest.approx(
                EVERYTHING.constraints[j].evaluate(Y, p, attributes=COLUMNS, sample_weight=WEIGHT), abs=1e-9
            )
        scale = TABLE.scale[1][0] + (TABLE.scale[0] @ sums(p))[0, 0]
        assert whole[1] == pytest.approx(
            scale * EVERYTHING.constraints[0].evaluate(Y, p, attributes=COLUMNS, sample_weight=WEIGHT)
        )


def test_coefficients_are_the_gradient_of_rows():
    q = sums(rng.random((N, 3)))
    multipliers = rng.uniform(0, 2, (len(TABLE.program.rows), 3))
    levels = rng.uniform(-0.3, 0.3, (7, 3))
    for level in (None, levels):
        gradient = TABLE.coefficients(multipliers, level)
        base = (multipliers * TABLE.rows(q, level)).sum(0)
        for cell in range(len(TABLE.cells)):
            moved = q.copy()
            moved[cell] += 1.0  # rows are affine, so one large step is exact
            np.testing.assert_allclose(
                (multipliers * TABLE.rows(moved, level)).sum(0) - base, gradient[cell], atol=1e-10
            )
        up, down = TABLE.split_coefficients(multipliers, level)
        assert (up >= 0).all()
        assert (down <= 0).all()
        np.testing.assert_allclose(up + down, gradient, atol=1e-12)


def test_levels_are_the_constraint_rewritten():
    """``levels`` shift bounds in the user's terms, also where a ratio was multiplied through."""
    constraints = [eq.precision(A) >= 0.3, eq.fpr() <= 0.2, eq.kl_divergence(A) <= 0.1, 2 * eq.tpr(A) >= 1.1]
    shifted = [eq.precision(A) >= 0.25, eq.fpr() <= 0.25, eq.kl_divergence(A) <= 0.15, 2 * eq.tpr(A) >= 1.05]
    one = make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate()), constraints)), EXAMPLES)
    other = make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate()), shifted)), EXAMPLES)
    q = one.cells.sums(rng.random((N, 3)) < 0.5)
    levels = np.full((4, 3), 0.05)
    np.testing.assert_allclose(one.rows(q, levels), other.rows(q), atol=1e-12)
    multipliers = rng.uniform(0, 2, (len(one.program.rows), 3))
    np.testing.assert_allclose(one.coefficients(multipliers, levels), other.coefficients(multipliers), atol=1e-12)


@pytest.mark.parametrize("form", RatioForm)
def test_sparse_and_dense_matrices_agree(monkeypatch, form):
    dense = make_table(canonicalize(EVERYTHING, form), EXAMPLES)
    assert isinstance(dense.matrix, np.ndarray)
    monkeypatch.setattr(table_module, "compact", sp.csr_array)
    sparse = make_table(canonicalize(EVERYTHING, form), EXAMPLES)
    assert sp.issparse(sparse.matrix)
    np.testing.assert_array_equal(sparse.atom_matrix.toarray(), dense.atom_matrix)
    if form is RatioForm.SLACK:
        rows = dense.rows(dense.cells.sums(rng.random((N, 3)) < 0.5))
        np.testing.assert_allclose(sparse.arguments(rows)[0], dense.arguments(rows)[0])
    q = dense.cells.sums(rng.random((N, 3)))
    low = dense.cells.sums(rng.random((N, 3)) - 1)
    multipliers = rng.uniform(0, 2, (len(dense.program.rows), 3))
    for levels in (None, rng.uniform(-0.3, 0.3, (7, 3))):
        pairs = [
            (t.rates(q), t.rows(q, levels), t.bounded_rows(q, low, levels), t.coefficients(multipliers, levels),
             *t.split_coefficients(multipliers, levels), *t.reach(np.arange(3)), t.lo, t.hi)
            for t in (dense, sparse)
        ]  # fmt: skip
        for one, other in zip(*pairs, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("compare", ["rest", "overall"])
@pytest.mark.parametrize("classes", [2, 3])
def test_matrices_grow_with_the_groups_alone(compare, classes):
    """The rate of everybody but a group fills a row of the matrix, but not of its factors."""
    source, entries = np.random.default_rng(2), []
    for groups in (150, 300):
        n = 12 * groups
        y, group = np.arange(n) % classes, np.arange(n) // 12
        examples = Examples.of(
            y, {"g": np.char.mod("g%d", group)}, source.uniform(0.5, 2, n), classes=tuple(range(classes))
        )
        asked = eq.Problem(eq.minimize(eq.error_rate()), eq.equalized_odds("g", tolerance=0.1, compare=compare))
        table = make_table(canonicalize(asked.expanded(examples)), examples)
        assert len(table.rate_factors) == (2 if compare == "rest" else 1)
        entries.append(sum(factor.nnz for factor in table.rate_factors) + table.rows_of_rates.nnz)
        p = source.random(n) if classes == 2 else source.dirichlet(np.ones(classes), n)
        q = table.cells.sums(p[:, None]) if classes == 2 else table.cells.expected_counts(p)[:, None]
        expected = [rate.measured(examples, p) for rate in table.program.rates]
        np.testing.assert_allclose(table.rates(q)[:, 0], expected, atol=1e-12)
        np.testing.assert_allclose(table.rate_matrix @ q[:, 0] + table.rate_offset, expected, atol=1e-12)
        np.testing.assert_allclose(table.rows(q)[:, 0], table.offset + table.matrix @ q[:, 0], atol=1e-12)
        prices = source.random((len(table.program.rows), 2))
        np.testing.assert_allclose(table.coefficients(prices), table.matrix.T @ prices, atol=1e-12)
    assert entries[1] < 2.1 * entries[0]


def test_thousands_of_overlapping_slices():
    n = 400
    source = np.random.default_rng(1)
    bits = {f"g{k}": source.integers(0, 4, n) for k in range(1500)}
    y = source.integers(0, 2, n)
    slices = [eq.attr(f"g{k}") == v for k in range(1500) for v in (0, 1)]
    problem = eq.Problem(eq.minimize(eq.error_rate()), [eq.positive_rate(s) <= 0.9 for s in slices])
    table = make_table(canonicalize(problem), Examples.of(y, bits))
    assert len(table.cells) <= n
    assert table.program.n_constraints == 3000
    p = source.random(n) < 0.5
    rows = table.rows(table.cells.sums(p[:, None]))
    for k in range(0, 3000, 397):
        inside = bits[f"g{k // 2}"] == k % 2
        assert rows[1 + k, 0] == pytest.approx(p[inside].mean() - 0.9)


def test_cells_share_label_slices_and_baselines():
    cells = Cells.of_examples(EXAMPLES, [A, YOUNG], ["old"])
    assert len(cells) <= 16
    np.testing.assert_array_equal(cells.labels[cells.index], Y)
    np.testing.assert_array_equal(cells.members[A][cells.index], COLUMNS["group"] == "a")
    np.testing.assert_array_equal(cells.baselines["old"][cells.index], COLUMNS["old"])
    np.testing.assert_allclose(cells.totals, np.bincount(cells.index, WEIGHT))
    values = rng.normal(size=(N, 2))
    by_hand = np.stack([np.bincount(cells.index, WEIGHT * values[:, c]) for c in range(2)], axis=1)
    np.testing.assert_allclose(cells.sums(values), by_hand)
    k = rng.normal(size=(len(cells), 2))
    np.testing.assert_allclose((cells.spread(k) * values).sum(0), (k * cells.sums(values)).sum(0))


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (eq.tpr(eq.attr("group") == "nobody"), "tpr cannot be measured: the slice group == 'nobody' holds no example"),
        (eq.fpr(eq.attr("age") > 200), "fpr cannot be measured: the slice age > 200 holds no example with label 0"),
    ],
)
def test_an_empty_slice_is_refused_by_name(rate, message):
    with pytest.raises(eq.DataError, match=message):
        make_table(canonicalize(eq.Problem(eq.minimize(eq.error_rate()), [rate <= 0.1])), EXAMPLES)


def test_a_slice_without_weight_is_empty():
    with pytest.raises(eq.DataError, match="positive weight"):
        make_table(
            canonicalize(eq.Problem(eq.minimize(eq.fpr(A)))), Examples.of(Y, COLUMNS, (COLUMNS["group"] != "a") * 1.0)
        )


# -- boxes --------------------------------------------------------------------------------------------


def test_boxes_of_affine_arguments_are_attained_and_never_exceeded():
    problem = eq.Problem(
        eq.minimize(eq.square(eq.tpr(A) - eq.fpr(YOUNG)) + eq.kl_divergence(A)),
        [eq.norm(eq.fp(A), eq.churn("old")) <= 1],
    )
    table = make_table(canonicalize(problem), EXAMPLES)
    affine = [s for s, slack in enumerate(table.program.slacks) if not table.program.rows[slack.row].atoms]
    matrix, totals = table.matrix, table.cells.totals
    for s in affine:
        row = table.couplings.start + s
        for sign in (1, -1):
            extreme = np.where(sign * matrix[row] * table.sense[row] > 0, totals, 0.0)[:, None]
            value = table.sense[row] * table.rows(extreme)[row, 0]
            end = table.hi[s] if sign > 0 else table.lo[s]
            assert max(value, table.program.slacks[s].least) == pytest.approx(end, abs=1e-12)


@given(predictions_like)
def test_no_argument_ever_leaves_its_box(source):
    p = source.random((N, 3)) < source.random(3)
    rows = TABLE.rows(sums(p))
    values = np.zeros((len(TABLE.program.atoms), 3))
    for group in TABLE.groups:  # inner atoms first
        index = TABLE.couplings.start + group.slacks
        signed = rows[index] + np.einsum("ksa,ac->ksc", TABLE.atom_weights[index], values)
        raw = TABLE.sense[index][..., None] * signed
        least = np.array([[TABLE.program.slacks[s].least for s in line] for line in group.slacks])[..., None]
        assert (np.maximum(raw, least) >= TABLE.lo[group.slacks][..., None] - 1e-12).all()
        assert (raw <= TABLE.hi[group.slacks][..., None] + 1e-12).all()
        values[group.atoms] = group.form.value(np.maximum(raw, TABLE.lo[group.slacks][..., None]))


def test_atoms_of_many_arguments_inside_another_have_a_box():
    groups = np.arange(N) % 25
    every = [eq.fpr(eq.attr("g") == k) for k in range(25) if (Y[groups == k] == 0).any()]
    problem = eq.Problem(eq.minimize(eq.square(eq.max(*every))))
    table = make_table(canonicalize(problem), Examples.of(Y, {"g": groups}))
    assert table.lo[-1] == 0
    assert table.hi[-1] == 1


def test_atoms_are_grouped_by_form_and_depth():
    kinds = [(group.form.name, group.slacks.shape) for group in TABLE.groups]
    # Two logarithms, one geometric mean, two ratios with opposite signs, |x| = max(x, -x), min; then square, sqrt.
    assert sorted(kinds[:-2]) == sorted(
        [("log", (1, 2)), ("geo_mean", (2, 1)), ("ratio", (2, 1)), ("ratio", (2, 1)), ("max", (2, 1)), ("min", (2, 1))]
    )
    assert sorted(kinds[-2:]) == [("sqrt", (1, 1)), ("square", (1, 1))]
    assert sorted(np.concatenate([group.atoms for group in TABLE.groups])) == list(range(len(TABLE.program.atoms)))
    assert (TABLE.atom_weights >= 0).all()
    assert TABLE.nonlinear.tolist() == [False, True, True, True, False, True, False]


def test_a_constant_that_the_data_make_infinite_is_refused():
    problem = eq.Problem(eq.minimize(eq.error_rate() + eq.fpr() / eq.base_rate(A)))
    labels = np.where(COLUMNS["group"] == "a", 0, 1)
    with pytest.raises(eq.DataError, match="constant"):
        make_table(canonicalize(problem), Examples.of(labels, COLUMNS))
