"""Starting under mpirun, compiling first on one rank of a node, failing together."""

from __future__ import annotations

import pytest

from decomposition.mpi import describe, node_first, patient_barrier, warm_up

pytestmark = pytest.mark.ranks(1, 2, 4)


def test_describes_node_and_shares_its_cores(communicator, ranks):
    world = describe(communicator)
    assert (world.size, world.node_size) == (ranks, ranks)
    assert world.rank == world.node_rank == communicator.rank
    assert world.threads == 1  # what the environment of the tests asks for


def test_cores_are_divided_by_ranks(communicator, ranks, monkeypatch):
    for name in ("PDEM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"):
        monkeypatch.delenv(name, raising=False)
    world = describe(communicator)
    assert world.threads == max(1, world.cores // ranks)


def test_node_first_lets_others_wait(communicator, shared_path):
    def write_or_find():
        found = {path.name for path in shared_path.iterdir()}
        (shared_path / str(communicator.rank)).touch()
        seen.append(found)

    seen = []
    patient_barrier(communicator)
    node_first(communicator, write_or_find)
    assert len(seen) == 1
    assert ("0" in seen[0]) == (communicator.rank != 0)


def test_warm_up_is_announced_once_then_marked(communicator, shared_path, monkeypatch):
    monkeypatch.setattr("pdem.foundation.cache.cache_directory", lambda: shared_path)
    calls, announcements = [], []
    for expected in (True, False):
        cold = warm_up(communicator, lambda: calls.append(1), "a", lambda: announcements.append(1))
        assert cold is expected
        communicator.Barrier()
    assert len(calls) == 2
    assert len(announcements) == (1 if communicator.rank == 0 else 0)
    assert warm_up(communicator, lambda: None, "another") is True
