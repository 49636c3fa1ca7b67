"""Processes of their own: killed, they end the others with a message; restarted, they come to the same bits."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import equirate as eq

JOB = Path(__file__).with_name("job.py")
HANGS = 900
"""Seconds after which a process hangs, however slow or busy the machine is."""
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("COV")},
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join([str(Path(eq.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the extra distributed is not installed"),
]


def test_a_restarted_job_comes_to_the_same_bits(together, tmp_path):
    spec = importlib.util.spec_from_file_location("job", JOB)
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    expected = {job.digest(own) for own in together(2, lambda rank: job.fitted(rank, 2))}
    assert len(expected) == 1
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"]
    done = subprocess.run(
        [*command, str(JOB), str(tmp_path), "1", "45"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for rank in (0, 1):
        told = json.loads((tmp_path / f"{rank}.json").read_text())
        assert told["attempt"] == 1
        assert told["first"] == 41  # the last recorded round before the kill was 40
        assert {told["digest"]} == expected


LEFT = """
import os, sys
import equirate as eq
import job
if os.environ["RANK"] == "1":
    sys.exit()
job.fitted(int(os.environ["RANK"]), 2)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells whether a process has ended")
def test_a_process_that_ends_before_the_fit_is_named(tmp_path):
    """It ends well, so that torchrun sees nothing wrong with it."""
    (tmp_path / "left.py").write_text(LEFT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(JOB.parent), ENVIRONMENT["PYTHONPATH"]])}
    begun = time.monotonic()
    done = subprocess.run(
        [*command, str(tmp_path / "left.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 1
    assert "ProcessError: process 1 died or ended before the others" in done.stderr
    assert time.monotonic() - begun < 240  # nobody waited for the timeout of 300 s


def test_the_death_of_a_process_is_told_by_the_others(tmp_path):
    """Started by hand, so that nobody but the survivors tells."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = {**ENVIRONMENT, "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    common["TORCHELASTIC_RUN_ID"] = "by hand"
    jobs = [
        subprocess.Popen(
            [sys.executable, str(JOB), str(tmp_path), "2", "20"],
            env={**common, "RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    try:
        assert jobs[2].wait(timeout=HANGS) == -9
        died = time.monotonic()
        for rank in (0, 1):
            told = jobs[rank].communicate(timeout=HANGS)[1]
            assert jobs[rank].returncode == 1
            assert f"ProcessError: process 2 (pid {jobs[2].pid} on " in told
            assert "died or ended before the others" in told
        assert time.monotonic() - died < 60
    finally:
        for job in jobs:
            job.kill()
            job.wait()
            job.stderr.close()
