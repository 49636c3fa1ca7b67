"""A lock file: one holder, who is named, and no lock after the holder's end."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from equirate._core.locks import LockedError, locked

HOLD = """
import sys, time
from pathlib import Path
from equirate._core.locks import locked

with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_holder_is_refused_with_the_name_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(path) as real:
        assert real
        with pytest.raises(LockedError, match=rf"process {os.getpid()} on \S+ since \d{{4}}-"), locked(path):
            pass
    assert not path.exists()
    with locked(path) as real:
        assert real


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match=f"process {process.pid} on"), locked(path):
            pass
        process.kill()
        process.wait()
    assert path.exists()
    with locked(path) as real:
        assert real
    assert not path.exists()


def test_one_of_many_threads_holds_it_at_a_time(tmp_path: Path) -> None:
    path, inside, seen = tmp_path / "lock", [0], []

    def work() -> None:
        for _ in range(200):
            try:
                with locked(path):
                    inside[0] += 1
                    seen.append(inside[0])
                    inside[0] -= 1
            except LockedError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen
    assert set(seen) == {1}


def test_a_file_system_without_locks_can_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def unknown(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unknown)
    with locked(tmp_path / "lock") as real, locked(tmp_path / "lock") as other:
        assert not real
        assert not other
