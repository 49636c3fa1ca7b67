"""Processes that share rows, as threads of one process: each with a context, a rank and gloo connections of its own."""

from __future__ import annotations

import threading

import pytest

from equirate._core.peers import among


@pytest.fixture
def together():
    """Run a function of the rank on so many ranks; returns what each returned, or the error that it ended with."""
    distributed = pytest.importorskip("torch.distributed", reason="the extra distributed is not installed")
    from equirate.distributed.gloo import GlooPeers

    def run(size, work, timeout=20, **settings):
        store, found = distributed.HashStore(), [None] * size

        def one(rank):
            shared = GlooPeers(store, rank, size, timeout=timeout, **settings)
            try:
                with among(shared):
                    found[rank] = work(rank)
            except BaseException as error:
                found[rank] = error
            finally:
                shared.close()

        threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert not any(thread.is_alive() for thread in threads), "a process hangs"
        return found

    return run
