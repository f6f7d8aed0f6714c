"""Runs that are replayed on other numbers of ranks: the digests say that they are the same motion."""

from __future__ import annotations

import pytest
from rank_cases import CLOUD, communicator

import pdem
from decomposition.mpi import patient_barrier
from pdem.foundation.errors import InputError


@pytest.mark.ranks(1, 3, timeout=300)
def test_a_run_is_replayed_on_other_ranks(ranks, shared_path):
    """A run on all ranks is replayed on all and on one, from a checkpoint and from the begin."""
    comm = communicator()
    case = pdem.Case.from_text(CLOUD)
    for setting in (f"output.folder={shared_path / 'run'}", "time.end=6e-3", "output.checkpoint_every=2e-3"):
        case.override(setting)
    pdem.Simulation(case, comm).run()
    done = pdem.replay(shared_path / "run", 2.5e-3, 3.5e-3, output=shared_path / "again", comm=comm)
    assert done.proved, str(done)
    assert (done.started, done.same) == (100, (200,))
    with pytest.raises(InputError, match=r"reaches from 0 to 0\.006 s"):
        pdem.replay(shared_path / "run", 2.5e-3, 3.5, output=shared_path / "none", comm=comm)
    if comm.rank == 0:
        assert pdem.replay(shared_path / "run", 1e-3, 3e-3, output=shared_path / "alone").same == (100, 200)
    patient_barrier(comm)
