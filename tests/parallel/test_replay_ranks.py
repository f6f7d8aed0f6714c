"""Runs that are replayed on other numbers of ranks: the digests say that they are the same motion."""

from __future__ import annotations

import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.everything import case_in
from helpers.rank_cases import CLOUD, communicator
from pdem.foundation.errors import BlowUpError, InputError


@pytest.mark.ranks(3, slow=(1,), timeout=300)
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
    signed = pdem.attest(shared_path / "run", intervals=9, comm=comm)
    assert signed.attested, str(signed)
    assert pdem.verify_attestation(signed.path, comm=comm).verified
    if comm.rank == 0:
        assert pdem.replay(shared_path / "run", 1e-3, 3e-3, output=shared_path / "alone").same == (100, 200)
        assert pdem.verify_attestation(signed.path, intervals=9, threads=1).verified
    patient_barrier(comm)


@pytest.mark.ranks(slow=(2,), timeout=600)
def test_events_and_a_blow_up_are_replayed_on_other_ranks(ranks, shared_path):
    """A run with everything is replayed on all ranks, over the end of a stage, and on one; so is one that blows up."""
    comm = communicator()
    case = case_in(shared_path / "run", "time.end=0.009", "output.checkpoint_every=0.002")
    pdem.Simulation(case, comm).run()
    done = pdem.replay(shared_path / "run", 0.0035, 0.0045, output=shared_path / "again", comm=comm)
    assert done.proved, str(done)
    assert done.same == (200, 300)
    if comm.rank == 0:
        alone = pdem.replay(shared_path / "run", 0.0075, 0.0085, output=shared_path / "alone")
        assert alone.same == (300, 400, 450)
    pdem.Simulation(case_in(shared_path / "b", "time.end=0.003", "interactions.grain-steel.friction=0.4"), comm).run()
    differs = pdem.first_difference(shared_path / "run", shared_path / "b", comm=comm)
    assert (differs.kind, differs.before) == ("motion", differs.step - 1)
    assert differs.contact.a["coefficient tangential.friction"] == 0.5
    assert pdem.forgetting(shared_path / "b", size=1e-9, end=0.002, comm=comm).largest[-1] > 0.0
    if comm.rank == 0:
        alone = pdem.first_difference(shared_path / "run", shared_path / "b")
        assert list(alone.contact.lines()) == list(differs.contact.lines())
        assert alone.entry == differs.entry
    weak = case_in(shared_path / "weak", "limits.largest_overlap=0.2", "output.checkpoint_every=0.001")
    with pytest.raises(BlowUpError) as first:
        pdem.Simulation(weak, comm).run()
    found = pdem.replay_blow_up(shared_path / "weak", output=shared_path / "shown", comm=comm)
    assert str(first.value).split("; the last good")[0].split(": ", 1)[1][:20] in found.message
    if comm.rank == 0:
        shares = [row["share"] for row in found.history.rows]
        assert shares[-2] <= 0.2 < shares[-1]
        assert found.history.rows[-1]["step"] == found.step
    patient_barrier(comm)
