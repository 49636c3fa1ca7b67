"""What was measured of many machines becomes tables, and a formula that fits what it was made of."""

import pytest
from equirate_lab.machines import make_tables
from equirate_lab.machines.measuring import Kept
from equirate_lab.machines.model import Costs

REDUCES = [[8, 2e-4], [4480, 3e-4], [1_048_576, 1e-3]]
ROUNDS = [
    {"rows": 1000, "processes": 1, "own": 2e-3, "clock": 3e-3, "bytes": 4480, "reduces": []},
    {"rows": 1_000_000, "processes": 1, "own": 0.1, "clock": 0.11, "bytes": 4480, "reduces": []},
    {"rows": 1_000_000, "processes": 2, "own": 0.051, "clock": 0.06, "bytes": 4480, "reduces": REDUCES},
]


def test_the_formula_gives_back_what_it_was_made_of():
    costs = Costs.of(ROUNDS)
    assert costs.a_round(1000, 4480, 1) == pytest.approx(2e-3)
    assert costs.a_round(1_000_000, 4480, 1) == pytest.approx(0.1)
    assert costs.reduce(4480, 2) == pytest.approx(3e-4)
    assert costs.reduce(1_048_576, 2) == pytest.approx(1e-3)
    assert costs.a_round(1_000_000, 4480, 2) == pytest.approx(costs.fixed + 500_000 * costs.row + 3e-4)
    rows = costs.worth(4480, 64)
    share = costs.reduce(4480, 64) / costs.a_round(rows, 4480, 64)
    assert share == pytest.approx(0.1, rel=1e-3)
    assert Costs.of(ROUNDS[:2]) is None


def test_tables_tell_what_there_is():
    kills = [
        {"kill": 0, "seconds": 9.0, "digest": "a"},
        {"kill": 1, "after": 2.0, "ended": 7.0, "finished": False, "named": True, "same": True},
        {"kill": 2, "after": 9.0, "ended": 0.0, "finished": True, "named": False, "same": True},
    ]
    measured = {"rows": 1000, "fit": False, "clock": 3e-4, "anonymous": 10**9, "seconds": 3.0}
    files = [
        {**measured, "source": "memory", "own": 5e-5, "free": 1e-4},
        {**measured, "source": "file", "own": 1e-4, "free": 2e-4},
        {**measured, "source": "file", "fit": True, "passes": 14, "fit_own": 2e-3},
    ]
    made = make_tables({"rounds": ROUNDS, "files": files, "kills": kills})
    assert [len(table.rows) for table in made] == [3, 4, 3, 1]
    assert made[0].rows[2] == ("1,000,000", "2", "51.0", "51.0", "60", "0.30", "0.30", "0.6%")
    assert made[2].rows[1][3:8] == ("100", "200", "300", "2.00", "1.00")
    assert made[2].rows[2][2:5] == ("a whole fit, 14 passes", "2000", "–")
    assert made[3].rows[0] == ("torchrun", "2", "1", "1", "7.0", "7.0", "2 of 2")
    assert make_tables({}) == []


@pytest.mark.slow
def test_what_is_measured_is_not_measured_again(tmp_path):
    calls = []

    def work():
        calls.append(1)
        return {"own": 1.0}

    for _ in range(2):
        row = Kept(tmp_path / "kept.json", print).row("rounds", work, rows=5)
    assert row == {"rows": 5, "own": 1.0}
    assert len(calls) == 1
    kept = Kept(tmp_path / "kept.json", print)
    assert kept.row("rounds", lambda: None, rows=6) is None
    kept.forget("rounds")
    assert kept.row("rounds", work, rows=5) == row
    assert len(calls) == 2
