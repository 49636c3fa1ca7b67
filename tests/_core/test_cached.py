"""Cached properties that threads compute at the same time."""

import threading
from dataclasses import dataclass

import equirate as eq
from equirate._core.cached import cached_property


def test_a_value_is_computed_once_also_for_frozen_objects():
    computed = []

    @dataclass(frozen=True)
    class Square:
        side: int

        @cached_property
        def area(self):
            computed.append(self.side)
            return self.side**2

    one, other = Square(3), Square(4)
    assert [one.area, one.area, other.area] == [9, 9, 16]
    assert computed == [3, 4]
    assert Square.area.func(one) == 9


def test_threads_that_need_two_properties_in_opposite_orders_do_not_wait_for_each_other():
    """One thread is inside `first`, the other inside `second` of another object, and then each needs the other."""
    both_inside = threading.Barrier(2, timeout=10)

    class Pair:
        other = None

        @cached_property
        def first(self):
            if self.other is None:
                return 1
            both_inside.wait()
            return self.other.second + 1

        @cached_property
        def second(self):
            if self.other is None:
                return 10
            both_inside.wait()
            return self.other.first + 10

    one, two, plain = Pair(), Pair(), Pair()
    one.other = two.other = plain
    results = {}
    threads = [
        threading.Thread(target=lambda: results.update(first=one.first), daemon=True),
        threading.Thread(target=lambda: results.update(second=two.second), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert results == {"first": 11, "second": 11}


def test_expressions_are_asked_in_threads():
    results = []

    def ask():
        for k in range(50):
            rates = [eq.tpr(eq.attr("g") == value) for value in range(3)]
            expression = eq.max(*(rate * (1 + k) for rate in rates)) - eq.min(*rates) / 2
            results.append((expression.interval, expression.curvature))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(results) == 400
