"""A bed that begins with its contacts: the same bits on all ranks, and refusals on all of them."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import DRUM, communicator, compare, compare_restart, divided
from pdem.case.example_meshes.mixer import drum
from pdem.foundation.errors import InputError
from pdem.run.inputs import alone_on_purpose

AT_REST = DRUM.replace("rotation = {rate = 12.0, axis = [1.0, 0.0, 0.0]}\n", "").replace(
    "translation = {velocity = [0.2, 0.0, 0.0]}\n", ""
)
"""Walls of a new case are where they are at time 0."""


def settled(case):
    """Return the arguments of a simulation that begins with a bed, on rank 0."""
    comm, start = communicator(), {}
    if comm.rank == 0:
        with alone_on_purpose():
            run = pdem.Simulation(case, None, meshes=[drum()])
        run.advance(1500)
        contacts, walls = run.gather_contacts()
        assert min(len(contacts["lower"]), len(walls["id"])) > 10
        start = {"particles": run.gather(), "contacts": contacts, "wall_contacts": walls}
    patient_barrier(comm)
    return start


@pytest.mark.ranks(1, 2, 3, timeout=400)
def test_a_bed_goes_on_with_its_contacts(ranks):
    case = divided(AT_REST, "bisection", "always")
    start = settled(case)
    comm = communicator()
    shared = pdem.Simulation(case, comm, meshes=[drum()], **start)
    found = shared.gather_contacts()
    if comm.rank == 0:
        for old, new in zip((start["contacts"], start["wall_contacts"]), found, strict=True):
            largest = np.abs(old["normal_force"]).max()
            np.testing.assert_allclose(new["tangential_force"], old["tangential_force"], rtol=0, atol=0.05 * largest)
    compare(case, 100, meshes=[drum()], **start)
    compare_restart(case, 60, 60, meshes=[drum()], **start)


@pytest.mark.ranks(1, 2, 3, timeout=400)
def test_contacts_are_refused_on_all_ranks(ranks):
    case = divided(AT_REST, "slabs")
    start, comm = settled(case), communicator()
    for changes in ({"lower": 10**6}, {"higher": 10**6}, {"lower": 0, "higher": 149}):
        given = dict(start)
        if comm.rank == 0:
            given["contacts"] = {name: column[:1].copy() for name, column in start["contacts"].items()}
            for name, number in changes.items():
                given["contacts"][name][0] = number
        with pytest.raises(InputError) as caught:
            pdem.Simulation(case, comm, meshes=[drum()], **given)
        assert len(set(comm.allgather(str(caught.value)))) == 1
