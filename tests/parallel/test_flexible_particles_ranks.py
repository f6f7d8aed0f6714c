"""Flexible particles fall into a box and come in with the same bits on any number of ranks, and after restarts."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import communicator, require_same_bits, state
from helpers.straws import DOCUMENT, MORE, SPHERES, straw_case

WEAK = {**DOCUMENT["bonds"]["stem"], "shear_strength": 2e5}
WEAK["tensile_strength"] = {"distribution": "weibull", "mean": 1e5, "modulus": 3.0}
ROD = {"spheres": [[0.0, 0.0, 0.0, 0.002], [0.002, 0.0, 0.0, 0.002]]}
STEPS = 700


def case_of(method):
    """Return a case of straws that break, at the start and later, beside rigid clusters that come in as well."""
    rods = {**MORE, "name": "rods", "shape": "rod", "count_rate": 500.0}
    return straw_case(
        bonds={"stem": WEAK}, shapes={**DOCUMENT["shapes"], "rod": ROD}, insertions=[{**MORE, "every": 1e-3}, rods],
        decomposition={"method": method, "balance": "always"},
    )  # fmt: skip


@pytest.mark.ranks(1, 2, 3, 4, timeout=500)
def test_same_bits_with_insertions_and_breaks(ranks):
    comm, case = communicator(), case_of("bisection" if ranks % 2 else "slabs")
    shared = pdem.Simulation(case, comm)
    shared.advance(2 * STEPS)
    found, energies = state(shared), shared.energies()
    assert ranks == 1 or comm.allreduce(shared.particles.ghosts) > 0
    if comm.rank == 0:
        alone = pdem.Simulation(case)
        alone.advance(2 * STEPS)
        expected = state(alone)
        require_same_bits(found, expected)
        assert energies == alone.energies()
        came = alone.insertions["more"].count
        assert came > 3
        bonds, broken = expected["bonds"], expected["broken_bonds"]
        assert len(bonds["lower"]) + len(broken["lower"]) == (SPHERES - 1) * (12 + came)
        assert len(broken["lower"]) > 3
        number = np.zeros(int(expected["particles"]["id"].max()) + 1, np.int64)
        number[expected["particles"]["id"]] = expected["particles"]["flexible"]
        assert (number[bonds["lower"]] == number[bonds["higher"]]).all()
        assert (number[bonds["lower"]] > 0).all()
        assert abs(energies["residual"]) < 1e-3 * energies["translation"]
    patient_barrier(comm)


@pytest.mark.ranks(1, 2, 3, 4, timeout=500)
def test_restarts_between_insertions(ranks):
    """From several ranks to one, and from one to several."""
    comm, case = communicator(), case_of("bisection")
    shared = pdem.Simulation(case, comm)
    shared.advance(STEPS)
    middle, energies = state(shared), shared.energies()
    again = pdem.Simulation(case, comm, state=middle)
    assert {**again.energies(), "residual": 0.0} == {**energies, "residual": 0.0}
    for run in (shared, again):
        run.advance(STEPS)
    ends = state(shared), state(again)
    if comm.rank == 0:
        require_same_bits(*ends)
        assert len(middle["bonds"]["lower"]) + len(middle["broken_bonds"]["lower"]) > 48
        assert len(middle["particles"]["id"]) < len(ends[0]["particles"]["id"])
        alone = pdem.Simulation(case, None, state=middle)
        require_same_bits(state(alone), middle)
        alone.advance(STEPS)
        require_same_bits(state(alone), ends[0])
    patient_barrier(comm)
