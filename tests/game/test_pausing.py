"""Pausing: states of players become plain data and come back; what cannot is refused."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import equirate as eq
from equirate.game.pausing import packed, unpacked
from equirate.mixtures import Cut
from equirate.players.steps import AdamState, StepState

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | arrays(float, (2,)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers() | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(PLAIN)
def test_plain_data_comes_back(value):
    np.testing.assert_equal(unpacked(packed(value), None), value)


def test_states_come_back_by_a_state_of_the_same_player():
    state = AdamState(3, np.arange(2.0), np.ones(2))
    back = unpacked(packed(state), AdamState(0, np.zeros(0), np.zeros(0)))
    assert type(back) is AdamState
    assert back.t == 3
    np.testing.assert_array_equal(back.m, state.m)
    assert back.m is not state.m
    (cut,) = unpacked(packed([Cut(np.ones(2), 0.5)]), None)
    assert (type(cut), cut.limit) == (Cut, 0.5)


def test_states_of_other_players_are_refused():
    with pytest.raises(eq.FileError, match="other players"):
        unpacked(packed(StepState(3)), AdamState(0, np.zeros(0), np.zeros(0)))


@pytest.mark.parametrize("value", [{1, 2}, object(), np.array([None]), len])
def test_what_a_checkpoint_cannot_keep_is_refused(value):
    with pytest.raises(eq.FileError, match="cannot keep"):
        packed([value])
