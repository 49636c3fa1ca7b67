"""Settings and fixtures shared by all tests."""

import os
from pathlib import Path

# Before anything imports matplotlib: tests draw to files, never to a screen.
os.environ.setdefault("MPLBACKEND", "agg")

import pytest
from hypothesis import HealthCheck, settings

# Nothing may fail for the speed of the machine: no deadline for an example, no complaint of slow generation.
settings.register_profile("equirate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# In continuous integration the examples are also the same in every run.
settings.register_profile("equirate-ci", settings.get_profile("equirate"), derandomize=True, database=None)
settings.load_profile("equirate-ci" if os.environ.get("CI") else "equirate")

ROOT = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the directory of the public data sets, or skip the test if there is none."""
    configured = os.environ.get("EQUIRATE_DATA")
    path = Path(configured) if configured else ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no data directory at {path}: set EQUIRATE_DATA to one")
    return path
