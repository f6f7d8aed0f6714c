"""Ends of contacts are the same on any ranks and after restarts on others."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import DRUM, communicator, compare, compare_restart, divided
from pdem.case.example_meshes.mixer import drum
from pdem.features.contact_ends.feature import EndedContacts

COUNTED = DRUM.replace('folder = "unused"', 'folder = "unused"\ncontact_ends = true')


def ends(run):
    """Return the columns of the series, and the list of ends, on rank 0."""
    return run.system.features.get(EndedContacts).values(run.system), run.ended_contacts()


@pytest.mark.ranks(1, 2, 3, 4, timeout=400)
def test_ends_in_a_drum(ranks):
    comm, case = communicator(), divided(COUNTED, "bisection" if ranks % 2 else "slabs", "always")
    runs = [pdem.Simulation(case, comm, meshes=[drum()])]
    if comm.rank == 0:
        runs.append(pdem.Simulation(case, None, meshes=[drum()]))
    found = []
    for run in runs:
        run.ended_contacts()
        run.advance(150)
        run.remove([7, 20])
        run.advance(150)
        found.append(ends(run))
    patient_barrier(comm)
    if comm.rank == 0:
        (values, events), (expected, listed) = found
        assert values == expected
        assert values["pairs_separated"] > 10
        assert values["wall_contacts_separated"] > 10
        assert sum(values.values()) == len(events["first"])
        for name, column in listed.items():
            np.testing.assert_array_equal(events[name], column)


@pytest.mark.ranks(2, 3, timeout=400)
def test_counts_go_on_on_another_number_of_ranks(ranks):
    states = compare_restart(divided(COUNTED, "slabs"), 150, 100, meshes=[drum()])
    if states is not None:
        assert 0 < states[0]["contact_ends"]["counts"].sum() < states[1]["contact_ends"]["counts"].sum()


@pytest.mark.ranks(2, timeout=400)
def test_bits_stay(ranks):
    compare(divided(COUNTED, "slabs"), 100, meshes=[drum()])
