"""One process is its own peer: nothing is sent, nothing is changed."""

import numpy as np
import pytest

from equirate._core.peers import ALONE, Peers, all_processes, among, peers


def test_alone_everything_is_what_it_was():
    array = np.arange(3.0)
    assert ALONE.add(array, array)[1] is array
    assert ALONE.total(array) is array
    assert ALONE.gather("said") == ["said"]
    assert ALONE.first("said") == "said"
    assert ALONE.places(7) == (0, 7)
    assert ALONE.range(1.0, 2.0) == (1.0, 2.0)
    assert ALONE.some(True)
    assert not ALONE.some(False)
    ALONE.agree("the problem", "any")


class Two(Peers):
    """Two processes that have the same."""

    size = 2

    def __init__(self):
        self.told = []

    def add(self, *parts):
        return tuple(2 * part for part in parts)

    def gather(self, value):
        return [value, value]

    def begin(self):
        self.told.append("begin")

    def end(self):
        self.told.append("end")

    def explained(self, error):
        self.told.append(type(error).__name__)
        return RuntimeError("explained") if isinstance(error, KeyError) else error


def test_peers_count_inside_of_joined_only():
    two = Two()
    with among(two):
        assert peers() is ALONE
        with all_processes() as shared:
            assert shared is peers() is two
            assert (shared.total(3), shared.places(5)) == (6, (0, 10))
            np.testing.assert_array_equal(shared.total(np.ones(2)), [2, 2])
            with all_processes():  # is joined already
                assert peers() is two
    with all_processes():
        assert peers() is ALONE
    assert two.told == ["begin", "end"]


def test_errors_are_told_and_explained():
    two = Two()
    for error, raised in ((KeyError("k"), RuntimeError), (ValueError("v"), ValueError)):
        with pytest.raises(raised) as found, among(two), all_processes():
            raise error
        assert found.value is error or found.value.__cause__ is error
        assert peers() is ALONE
    assert two.told == ["begin", "KeyError", "begin", "ValueError"]
