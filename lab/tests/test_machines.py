"""What was measured of many machines becomes tables, and a formula that fits what it was made of."""

import pytest
from equirate_lab.machines import make_tables
from equirate_lab.machines.model import Costs

ROUNDS = [
    {"rows": 1000, "processes": 1, "own": 2e-3, "clock": 3e-3, "bytes": 4480, "reduce": 0.0},
    {"rows": 1_000_000, "processes": 1, "own": 0.1, "clock": 0.11, "bytes": 4480, "reduce": 0.0},
    {"rows": 1_000_000, "processes": 2, "own": 0.051, "clock": 0.06, "bytes": 4480, "reduce": 6e-4},
]


def test_the_formula_gives_back_what_it_was_made_of():
    costs = Costs.of(ROUNDS)
    assert costs.a_round(1000, 4480, 1) == pytest.approx(2e-3)
    assert costs.a_round(1_000_000, 4480, 1) == pytest.approx(0.1)
    assert costs.a_round(1_000_000, 4480, 2) == pytest.approx(costs.fixed + 500_000 * costs.row + costs.reduce(4480, 2))
    rows = costs.worth(4480, 64)
    share = costs.reduce(4480, 64) / costs.a_round(rows, 4480, 64)
    assert share == pytest.approx(0.1, rel=1e-3)
    assert Costs.of(ROUNDS[:1]) is None


def test_tables_tell_what_there_is():
    kills = [
        {"after": 2.0, "ended": 9.0, "finished": False, "named": True, "same": True},
        {"after": 9.0, "ended": 8.0, "finished": True, "named": True, "same": True},
    ]
    files = [
        {"rows": 1000, "from": "file", "fit": False, "own": 1e-4, "clock": 2e-4, "anonymous": 2**30, "seconds": 3.0},
        {"rows": 1000, "from": "file", "fit": True, "objective": 0.5, "anonymous": 2**29, "seconds": 5.0},
    ]
    made = make_tables({"rounds": ROUNDS, "files": files, "kills": {"seconds": 9.0, "twice": True, "kills": kills}})
    assert [len(table.rows) for table in made] == [3, 4, 2, 1]
    assert made[2].rows[0][3:6] == ("100", "200", "1.00")
    assert made[3].rows[0] == ("torchrun", "2", "1", "1", "7", "7", "2 of 2")
    assert make_tables({}) == []
