"""Many steps in one kernel on several ranks, which agree and send ghosts in it: the same bits, errors, signals."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import pdem
from decomposition.compiled_messages import TESTALL, CompiledMessages
from helpers.rank_cases import CLOUD, DRUM, communicator, compare, require_same_bits, state
from pdem.case.example_meshes.mixer import drum
from pdem.contact.pairs.history_kernels import CHUNKS
from pdem.contact.steps import PARTS
from pdem.containers.exchange import AGREED, FAILURE, calls_without
from pdem.engine import contact_forces, same_lists
from pdem.engine.tuning.chunk_tuner import ChunkTuner

_MOTION = "rotation = {rate = 12.0, axis = [1.0, 0.0, 0.0]}\ntranslation = {velocity = [0.2, 0.0, 0.0]}\n"
AT_REST = DRUM.replace(_MOTION, "")


@pytest.fixture
def kernels(monkeypatch):
    """Steps that were taken by each kernel in which ranks agreed."""
    taken, take = [], contact_forces.ContactSteps.take

    def counted(self, most, **options):
        steps = take(self, most, **options)
        if self._ranks.agree:
            taken.append(steps)
        return steps

    monkeypatch.setattr(contact_forces.ContactSteps, "take", counted)
    return taken


@pytest.mark.ranks(2, 3, slow=(8,), timeout=240)
@pytest.mark.parametrize("walled", [False, True], ids=["cloud", "drum"])
def test_kernels_in_which_ranks_agree_give_the_bits_of_one_rank(ranks, kernels, walled):
    if walled:
        simulation = compare(pdem.Case.from_text(AT_REST), 600, meshes=[drum()])
        assert simulation.energies()["sliding"] > 0.01
    else:
        compare(pdem.Case.from_text(CLOUD), 300)
    assert max(kernels) > 4
    assert sum(kernels) > 150


@pytest.mark.ranks(3, timeout=240)
def test_ranks_that_leave_the_kernel_at_different_steps_stay_together(ranks, kernels, monkeypatch):
    monkeypatch.setattr(same_lists, "LONGEST", 2e-4 * communicator().rank)
    compare(pdem.Case.from_text(AT_REST), 300, meshes=[drum()])
    assert len(kernels) > 4


@pytest.mark.ranks(2, 3, timeout=240)
@pytest.mark.parametrize("text", [AT_REST, DRUM], ids=["rest", "turning"])
def test_one_rank_may_take_single_steps_while_others_are_in_a_kernel(ranks, kernels, monkeypatch, text):
    if communicator().rank == 1:
        monkeypatch.setattr(same_lists, "acts_alone", lambda system: False)
    compare(pdem.Case.from_text(text), 200, meshes=[drum()])
    assert bool(kernels) == (communicator().rank != 1)


@pytest.mark.ranks(2, slow=(8,), timeout=240)
def test_walls_move_between_steps_of_a_kernel_in_which_ranks_agree(ranks, kernels):
    compare(pdem.Case.from_text(DRUM), 400, meshes=[drum()])
    assert max(kernels) > 4
    assert sum(kernels) > 150


@pytest.mark.ranks(2, timeout=240)
def test_python_does_the_same_where_mpi_has_no_addresses(ranks, kernels, monkeypatch):
    case = pdem.Case.from_text(AT_REST)
    compiled = pdem.Simulation(case, communicator(), meshes=[drum()])
    compiled.advance(200)
    assert kernels
    kernels.clear()
    monkeypatch.setattr(CompiledMessages, "are_possible", False)
    by_python = pdem.Simulation(case, communicator(), meshes=[drum()])
    by_python.advance(200)
    assert not kernels
    found, expected = state(by_python), state(compiled)
    if communicator().rank == 0:
        require_same_bits(found, expected)


@pytest.mark.ranks(2, 3, timeout=240)
def test_messages_get_on_while_contacts_are_evaluated(ranks, kernels, monkeypatch):
    """MPI is asked for sends and receives before each of several parts of the contacts, and once more for sends."""
    asked, connect = [], CompiledMessages.__init__

    def watched(self, *arguments):
        connect(self, *arguments)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *4 * [ctypes.c_int64])
        test = kind(int(self._handles[TESTALL]))
        self.watch = kind(lambda *given: asked.append(given[0]) or test(*given))
        self._handles[TESTALL] = ctypes.cast(self.watch, ctypes.c_void_p).value

    monkeypatch.setattr(CompiledMessages, "__init__", watched)
    monkeypatch.setattr(ChunkTuner, "chunk", CHUNKS[0])
    text = CLOUD.replace("max = 0.012", "max = 0.004").replace("0.25, seed", "0.3, seed")
    shared = compare(pdem.Case.from_text(text), 60)
    parts = (len(asked) / sum(kernels) - 1.0) / 2.0
    assert shared.system.contacts.pairs.storage.inner_number >= 4
    assert 2.0 <= parts <= PARTS


@pytest.mark.ranks(3, timeout=240)
def test_a_signal_to_one_rank_stops_all_at_the_same_step(ranks, kernels, monkeypatch):
    monkeypatch.setattr(same_lists, "LONGEST", 1e-4)
    simulation = pdem.Simulation(pdem.Case.from_text(AT_REST), communicator(), meshes=[drum()])
    told = communicator().rank == 1
    simulation.system.progress.stop_when(lambda: 15 if told and simulation.step >= 20 else 0)
    assert simulation.advance(2000) == 15
    assert 20 <= simulation.step < 500
    assert len(set(communicator().allgather(simulation.step))) == 1


@pytest.mark.ranks(2, timeout=240)
def test_a_blow_up_on_one_rank_is_told_by_all(ranks, kernels):
    text = CLOUD.split("[[particles]]")[0].replace("gravity = [0.3, 0.0, -2.0]", "gravity = [0.0, 0.0, 0.0]")
    for positions, speed in (("[0.02, 0.04, 0.04], [0.1, 0.04, 0.046]", 0.0), ("[0.1, 0.04, 0.04]", 1.0)):
        text += f'[[particles]]\nmaterial = "glass"\nradius = 0.002\npositions = [{positions}]\n'
        text += f"velocity = [0.0, 0.0, {speed}]\n"
    text = text.replace("youngs_modulus = 1e7", "youngs_modulus = 1e4").replace("step = 2e-5", "step = 2e-6")
    text += "[output]\nfolder = 'unused'\n[limits]\nlargest_overlap = 0.1\n"
    simulation = pdem.Simulation(pdem.Case.from_text(text), communicator())
    with pytest.raises(pdem.PdemError, match="particle") as caught:
        simulation.advance(20000)
    assert len(set(communicator().allgather(str(caught.value)))) == 1
    assert sum(kernels) > 20


@pytest.mark.ranks(2, timeout=60)
def test_an_error_of_mpi_is_raised(ranks):
    simulation = pdem.Simulation(pdem.Case.from_text(CLOUD), communicator())
    system = simulation.system
    calls = system.exchange.calls(system.contacts.pairs.rows_to_share(system.particles))
    system.exchange.check_calls(calls.status)
    calls.status[FAILURE, 0] = 5
    with pytest.raises(Exception, match="ommunicator"):
        system.exchange.check_calls(calls.status)


def test_one_rank_has_nobody_to_agree_with():
    calls = calls_without()
    assert not any(calls[:5])
    assert np.all(calls.status[AGREED] == 0)
