"""Starting under mpirun, compiling first on one rank of a node, failing together."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from mpi4py import MPI

from decomposition import mpi
from decomposition.mpi import describe, node_first, patient_barrier, warm_up
from pdem.case.model import Case
from pdem.engine.ranks import stop_if_signalled
from pdem.foundation.errors import Interrupted, LaunchError
from pdem.foundation.signals import SignalFlag
from pdem.foundation.version import VERSION
from pdem.output.provenance import provenance
from pdem.run.same_on_ranks import check_same

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


@pytest.mark.ranks(4)
def test_ranks_that_wait_give_up_their_core_where_there_are_more_of_them(communicator):
    """MPICH says nothing where it does not heed that it shall: the ranks would be right, and ten times as slow."""
    if not describe(communicator).crowded:
        pytest.skip("there is a core for every rank")
    ours, sums, count = np.ones(4), np.empty(4), 40
    communicator.Allreduce(ours, sums)
    busy = time.process_time()
    for _ in range(count):
        communicator.Allreduce(ours, sums)
    busy = communicator.allreduce(time.process_time() - busy)
    assert busy / count < 4e-3, "ranks keep cores busy while they wait for each other: 0.3 ms if not, 16 ms if so"


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
    monkeypatch.setattr("pdem.numerics.cache.cache_directory", lambda: shared_path)
    calls, announcements = [], []
    for expected in (True, False):
        cold = warm_up(communicator, lambda: calls.append(1), "a", lambda: announcements.append(1))
        assert cold is expected
        communicator.Barrier()
    assert len(calls) == 1  # of one process: the cache is complete then
    assert len(announcements) == (1 if communicator.rank == 0 else 0)
    assert warm_up(communicator, lambda: None, "another") is True


def test_a_warm_up_that_is_stopped_is_not_marked(communicator, shared_path, ranks, monkeypatch):
    """One rank is told to stop while the first of the node compiles; those that wait do not begin."""
    monkeypatch.setattr("pdem.numerics.cache.cache_directory", lambda: shared_path)
    calls, flag = [], SignalFlag()

    def compile_until_stopped():
        calls.append(1)
        flag.requested = 10 if communicator.rank == 0 else 0

    assert warm_up(communicator, compile_until_stopped, "a", is_stopped=lambda: flag.requested)
    assert len(calls) == (1 if communicator.rank == 0 else 0)
    assert not list(shared_path.iterdir())
    with pytest.raises(Interrupted, match="signal SIGUSR1 before the first step"):
        stop_if_signalled(communicator, flag)


CASE = """
[time]
step = 1e-5
end = {end}
[domain]
lower = [0.0, 0.0, 0.0]
upper = [1.0, 1.0, 1.0]
[output]
folder = "out"
"""


def test_ranks_that_would_run_something_else_are_refused(communicator, ranks):
    last = communicator.rank == ranks - 1
    check_same(communicator, Case.from_text(CASE.format(end=1.0)))
    if ranks == 1:
        return
    with pytest.raises(
        LaunchError, match=rf"^1 of {ranks} ranks .* rank {ranks - 1} has time\.end = 2.0, and rank 0 1.0"
    ):
        check_same(communicator, Case.from_text(CASE.format(end=2.0 if last else 1.0)))
    older = {**provenance(), "pdem": "0.0"} if last else provenance()
    with pytest.raises(LaunchError, match=rf"rank {ranks - 1} has pdem 0\.0 .*, and rank 0 pdem {VERSION}"):
        check_same(communicator, Case.from_text(CASE.format(end=1.0)), older)
    changed = {**provenance(), "sources": "0" * 16} if last else provenance()
    with pytest.raises(LaunchError, match=rf"rank {ranks - 1} has pdem .*sources 0{{16}}\).*load the same"):
        check_same(communicator, Case.from_text(CASE.format(end=1.0)), changed)


def test_ranks_with_other_settings_are_warned_of(communicator, ranks):
    case = Case.from_text(CASE.format(end=1.0))
    assert check_same(communicator, case) == ""
    abacus = {**provenance(), "processor": "abacus"} if communicator.rank == ranks - 1 else provenance()
    assert check_same(communicator, case, abacus) == "", "bits do not depend on the processor"
    other = {**provenance(), "kernel_settings": "opt 0"} if communicator.rank == ranks - 1 else provenance()
    text = check_same(communicator, case, other)
    assert bool(text) == (communicator.rank == 0 and ranks > 1)
    if text:
        assert text.startswith(f"1 of {ranks} ranks differ from rank 0, rank {ranks - 1} in numba's settings ")
        assert "(there opt 0)" in text


def test_threads_need_an_mpi_that_was_started_with_them(communicator, ranks, monkeypatch):
    single = SimpleNamespace(
        COMM_TYPE_SHARED=MPI.COMM_TYPE_SHARED,
        THREAD_FUNNELED=MPI.THREAD_FUNNELED,
        Query_thread=lambda: MPI.THREAD_SINGLE,
    )
    monkeypatch.setattr(mpi, "load_mpi", lambda: single)
    assert mpi.describe(communicator, 1).threads == 1
    with pytest.raises(LaunchError, match="2 threads per rank, but this MPI library was started without thread"):
        mpi.describe(communicator, 2)
