"""Bonds over ranks: the same bits while a block breaks, on cuts and across periodic sides, and after restarts."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.bonded_blocks import bonded_case, lattice
from helpers.rank_cases import communicator, require_same_bits, state

STEPS = 250

MORE = """tensile_strength = {distribution = "weibull", mean = 2e5, modulus = 4.0}
shear_strength = 2.5e5
damping_ratio = 0.05
friction_angle = 20
"""


def block(seed=2):
    """Return a block that flies apart: spheres with ids in any order and random velocities."""
    particles = lattice((6, 4, 4), seed=seed, shake=2e-5)
    rng = np.random.default_rng(seed)
    particles["velocity"][:] = rng.normal(0.0, 1.0, (96, 3))
    particles["velocity"][:, 0] += 150.0 * particles["position"][:, 0]
    return particles


def given(case, comm, particles):
    """Return a simulation on all ranks, or alone, of particles that the first rank has."""
    first = comm is None or comm.rank == 0
    return pdem.Simulation(case, comm, particles=particles if first else None)


def case_of(method, contact="after-break", **named):
    more = f'{MORE}contact = "{contact}"\n[decomposition]\nmethod = "{method}"\nbalance = "always"'
    return bonded_case(more, step=5e-7, **named)


@pytest.mark.ranks(1, 2, 3, 4, 8, timeout=500)
@pytest.mark.parametrize("contact", ["after-break", "never"])
def test_same_bits_while_a_block_breaks(ranks, contact):
    """A third of the bonds breaks, also in the same step on several ranks, and fragments touch."""
    comm, case = communicator(), case_of("bisection" if ranks % 2 else "slabs", contact)
    shared = given(case, comm, block())
    before = state(shared)
    shared.advance(STEPS)
    found, energies, measures = state(shared), shared.energies(), shared.measures()
    assert ranks == 1 or comm.allreduce(shared.particles.ghosts) > 0
    if comm.rank == 0:
        alone = given(case, None, block())
        alone.advance(STEPS)
        expected = state(alone)
        require_same_bits(found, expected)
        assert energies == alone.energies()
        assert abs(energies["residual"]) < 5e-3 * energies["bond_damping"]
        assert energies["bond_damping"] > 0.0
        number, events = len(before["bonds"]["lower"]), expected["broken_bonds"]
        left = len(expected["bonds"]["lower"])
        assert 0.15 * number < number - left < 0.85 * number
        assert len(events["step"]) == number - left
        assert np.lexsort((events["higher"], events["lower"], events["step"])).tolist() == [*range(number - left)]
        assert len(np.unique(events["step"])) < len(events["step"])
        assert len(np.unique(events["mode"])) > 1
        apart = expected["broken_pairs"]["lower"]
        assert len(apart) == (number - left if contact == "never" else 0)
        assert (measures.pair_contacts > 0) == (contact == "after-break")
    patient_barrier(comm)


@pytest.mark.ranks(2, 3, timeout=500)
def test_same_bits_across_periodic_sides(ranks):
    """Bonds join images; the block drifts through the side."""
    comm, case = communicator(), case_of("slabs", periodic="true")
    particles = lattice((20, 2, 2), seed=3)
    particles["velocity"][:] = np.random.default_rng(3).normal(0.0, 0.8, (80, 3))
    particles["velocity"][:, 0] += 30.0
    shared = given(case, comm, particles)
    shared.advance(STEPS)
    found = state(shared)
    if comm.rank == 0:
        alone = given(case, None, particles)
        begin = state(alone)
        alone.advance(STEPS)
        require_same_bits(found, state(alone))
        length = begin["bonds"]["length"]
        assert len(length) == 4 * 20 + 4 * 20
        np.testing.assert_allclose(length, 2e-3, rtol=1e-9)
        assert 0 < len(found["broken_bonds"]["step"]) < len(length)
        assert (np.abs(found["broken_bonds"]["position"][:, 0]) <= 0.02).all()
        assert (found["particles"]["image"][:, 0] != 0).any()
    patient_barrier(comm)


@pytest.mark.ranks(1, 2, 3, 4, timeout=500)
def test_restarts_in_the_midst_of_fracture(ranks):
    """From several ranks to one, and from one to several."""
    comm, case = communicator(), case_of("bisection")
    shared = given(case, comm, block())
    shared.advance(STEPS // 2)
    middle, energies = state(shared), shared.energies()
    again = pdem.Simulation(case, comm, state=middle)
    assert {**again.energies(), "residual": 0.0} == {**energies, "residual": 0.0}
    for run in (shared, again):
        run.advance(STEPS // 2)
    ends = state(shared), state(again)
    if comm.rank == 0:
        require_same_bits(*ends)
        assert 0 < len(middle["broken_bonds"]["step"]) < len(ends[0]["broken_bonds"]["step"])
        alone = pdem.Simulation(case, None, state=middle)
        require_same_bits(state(alone), middle)
        alone.advance(STEPS // 2)
        require_same_bits(state(alone), ends[0])
    patient_barrier(comm)


@pytest.mark.ranks(1, 2, 3, timeout=500)
def test_removed_and_inserted_spheres(ranks):
    comm, case = communicator(), case_of("bisection")
    runs = [given(case, comm, block()), *([given(case, None, block())] if comm.rank == 0 else [])]
    ends = []
    for run in runs:
        run.advance(40)
        run.remove(np.arange(0, 96, 7))
        run.insert([[0.0, 0.012, 0.0]], 1e-3, "rock", velocity=[0.0, -20.0, 0.0])
        run.advance(80)
        ends.append((state(run), run.energies()))
    if comm.rank == 0:
        require_same_bits(ends[0][0], ends[1][0])
        assert ends[0][1] == ends[1][1]
        assert not np.isin(ends[0][0]["bonds"]["lower"], np.arange(0, 96, 7)).any()
    patient_barrier(comm)


@pytest.mark.ranks(1, 2, 3, 4, timeout=500)
def test_bonds_of_a_stage_have_the_same_bits(ranks):
    """Turning and touching spheres are bonded at the beginning of a stage, also across cuts and after a restart."""
    more = f"""{MORE}stage = "cement"
[[stages]]
name = "fall"
end = 3e-5
[[stages]]
name = "cement"
[decomposition]
method = "{"bisection" if ranks % 2 else "slabs"}"
balance = "always"
"""
    comm, case = communicator(), bonded_case(more, step=5e-7)
    particles = block()
    particles["angular_velocity"][:] = particles["velocity"] * 300.0
    shared = given(case, comm, particles)
    shared.advance(30)
    middle = comm.bcast(state(shared))
    shared.advance(100)
    found, energies = state(shared), shared.energies()
    again = pdem.Simulation(case, comm if ranks % 2 else None, state=middle)
    again.advance(100)
    ended = state(again)
    if comm.rank == 0:
        alone = given(case, None, particles)
        alone.advance(130)
        expected = state(alone)
        require_same_bits(found, expected)
        require_same_bits(ended, expected)
        assert energies == alone.energies()
        assert energies["stages"] > 0.0
        assert len(found["bonds"]["lower"]) > 50
    patient_barrier(comm)
