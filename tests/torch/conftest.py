"""One thread and one seed for each test, so that runs repeat themselves bit by bit."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def seeded():
    """Networks that a test makes without a seed are the same whatever ran before it."""
    torch.manual_seed(0)
