"""A small seeded version of ``equirate-lab served``."""

from pathlib import Path

import pytest
from equirate_lab import served


@pytest.mark.parametrize("table", [served.TABLES[0], served.TABLES[3], served.TABLES[8]], ids=lambda table: table.name)
def test_what_is_said_is_what_is_served(table: served.CategoryTable, tmp_path: Path) -> None:
    results = served.run(2, 0, tmp_path, [table], fresh=20_000)
    for row in results[table.name]:
        plain, sure = row["plain"], row["cross"]
        assert plain["met"] == (plain["own"] <= 1e-3 + 1e-9)
        assert plain["told"] == pytest.approx(plain["own"], abs=1e-9)
        assert sure["told"] == pytest.approx(sure["own"], abs=1e-9)
        if sure["certified"]:
            assert sure["fresh"] <= 0.01  # 20,000 rows vary by less than this
    again = served.run(2, 0, tmp_path, [table], fresh=20_000)
    assert again == results
    (made,) = served.make_tables(results)
    assert made.rows[0][2].startswith("0 of")
    assert made.rows[0][3] == "0"
