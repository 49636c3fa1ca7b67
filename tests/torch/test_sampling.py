"""Batches: rare cells in every one, and weights that keep sums unbiased."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import equirate as eq
from equirate._core.seeds import stream
from equirate.data.cells import Cells
from equirate.torch import StratifiedSampler
from equirate.torch.sampling import BatchDraws, Batches, Strata


def cells_of(of, weights=None):
    of = np.asarray(of, dtype=np.int32)
    weights = np.ones(len(of)) if weights is None else np.asarray(weights, dtype=float)
    count = int(of.max()) + 1
    return Cells(of, weights, np.bincount(of, weights, count), np.zeros(count, np.int8), {}, {})


def test_rare_cells_are_in_every_batch_and_a_cycle_of_batches_has_the_sum_of_all_rows():
    of = np.repeat([0, 1], [960, 40])  # 40 rows in batches of 25: one is expected, so the cell is rare
    strata = Strata.of(cells_of(of), 25, 5)
    assert (strata.rare_rows, strata.common_rows) == (5, 20)
    values, factors = np.random.default_rng(0).normal(size=1000), strata.factors(1000)
    batches = Batches(strata, stream("batches", 0))
    taken = [batches.take() for _ in range(48)]  # 48 batches use up the common rows once and the rare ones six times
    for rows in taken:
        assert len(np.unique(rows)) == 25
        assert (of[rows] == 1).sum() == 5
    means = [values[rows] @ factors[rows] for rows in taken]
    assert np.mean(means) == pytest.approx(values.sum())


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    batch=st.integers(1, 70),
    least=st.integers(0, 5),
    seed=st.integers(0, 5),
)
def test_whatever_the_cells_no_row_comes_twice_in_a_batch_and_factors_add_up(sizes, batch, least, seed):
    of = np.repeat(np.arange(len(sizes)), sizes)
    weights = np.random.default_rng(seed).integers(0, 2, len(of))
    weights[0] = 1
    strata = Strata.of(cells_of(of, weights), batch, least)
    trained = int((weights > 0).sum())
    assert 1 <= strata.size <= min(batch, trained)
    assert len(strata.rare) + len(strata.common) == trained
    batches, factors = Batches(strata, stream("batches", seed)), strata.factors(len(of))
    seen = np.zeros(len(of), dtype=int)
    for _ in range(strata.batches):
        rows = batches.take()
        assert len(np.unique(rows)) == len(rows) == strata.size
        assert factors[rows].sum() == pytest.approx(trained)
        seen[rows] += 1
    assert (seen[strata.common] >= 1).all()  # an epoch
    assert not seen[weights == 0].any()


def test_every_row_of_a_stratum_is_drawn_equally_often():
    draws = BatchDraws(np.arange(7), stream("batches", 1))
    counts = np.bincount(np.concatenate([draws.take(3) for _ in range(700)]), minlength=7)
    assert counts.min() >= 295  # 300 each, but for the ends of permutations
    assert counts.max() <= 305


def test_a_stream_goes_on_where_its_state_was_taken():
    strata = Strata.of(cells_of(np.repeat([0, 1], [90, 6])), 10, 2)
    one, other = (Batches(strata, stream("batches", seed)) for seed in (3, 4))
    for _ in range(13):
        one.take()
    other.resume(one.state())
    for _ in range(20):
        np.testing.assert_array_equal(one.take(), other.take())


def test_a_full_batch_has_no_strata():
    strata = Strata.of(cells_of(np.repeat([0, 1], [90, 1])), 91, 4)
    assert (strata.rare_rows, strata.common_rows, strata.batches) == (0, 91, 1)
    np.testing.assert_array_equal(strata.factors(91), 1.0)


def test_the_sampler_takes_cells_and_knows_its_place():
    sampler = StratifiedSampler(["a"] * 95 + ["b"] * 5, 20, least=2)
    assert len(sampler) == len(list(sampler)) == 6
    state = sampler.state_dict()
    after = list(sampler)
    sampler.load_state_dict(state)
    assert list(sampler) == after


def test_bad_sizes_are_refused():
    with pytest.raises(eq.AlgorithmError, match="batch_size must be a whole number"):
        StratifiedSampler([0, 1], 0)
    with pytest.raises(eq.DataError, match="one number per row"):
        StratifiedSampler([[0, 1]], 1)
