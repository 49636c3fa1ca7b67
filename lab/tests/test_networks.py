"""The measurements of networks run at a small size, are kept line by line, and become tables."""

from dataclasses import replace

import pytest
import torch
from equirate_lab import networks
from equirate_lab.networks.lines import Lines

SMALL = replace(networks.QUICK, rows=400, epochs=((0, 3), (64, 2)), problems=("error",))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
def test_quality_and_choices_are_measured_once_and_shown(tmp_path):
    told = []
    lines = networks.run(["quality", "choices", "interpolating", "killing"], tmp_path, SMALL, tell=told.append)
    assert len(told) == 2 + 9 + 6 + 1
    titles = [table.title for table in networks.make_tables(lines)]
    assert titles == [
        "Batches beside the full batch",
        "What earns its place",
        "Networks that fit their training data",
        "Killed and resumed",
    ]
    again = networks.run(["quality", "choices", "interpolating", "killing"], tmp_path, SMALL, tell=told.append)
    assert len(told) == 18  # nothing is measured twice
    assert [str(table) for table in networks.make_tables(again)] == [
        str(table) for table in networks.make_tables(lines)
    ]


def test_a_line_that_was_cut_short_is_measured_again(tmp_path):
    path = tmp_path / "lines.jsonl"
    lines = Lines(path)
    lines.once({"part": "a"}, lambda: {"x": 1})
    path.write_text(path.read_text("utf-8") + '[{"part": "b"', "utf-8")
    assert [result["x"] for _, result in Lines(path).of("a")] == [1]
