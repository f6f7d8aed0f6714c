"""Stress and contacts of rigid clusters: branches lead from their centres, and bits do not depend on ranks."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from decomposition.mpi import patient_barrier
from helpers.rank_cases import CLOUD, communicator, require_same_bits

R, PERIOD = 0.01, 0.12
DUMBBELL = "\n[shapes.dumbbell]\nspheres = [[-0.006, 0.0, 0.0, 0.01], [0.006, 0.0, 0.0, 0.01]]\n"
PARTICLES = """[[particles]]
material = "glass"
radius = {distribution = "power-law", exponent = -3.0, min = 0.002, max = 0.012}
fill = {volume_fraction = 0.25, seed = 7}
velocity = {random = 1.0, seed = 3}
"""
GIVEN = """[[particles]]
material = "glass"
shape = "dumbbell"
orientation = "aligned"
positions = POSITIONS
"""
FILLED = """[[particles]]
material = "glass"
shape = "dumbbell"
radius = 0.006
fill = {count = 120, seed = 7}
velocity = {random = 2.0, seed = 3}
"""
STIFFNESS = 2e3
LINEAR = f'law = "linear"\nnormal_stiffness = {STIFFNESS}\nfriction = 0.5\nrestitution = 0.6\n'  # a law of other tests
FRICTION = (
    CLOUD.replace('[output]\nfolder = "unused"', '[output]\nfolder = "unused"\nstress = true').replace(
        "friction = 0.5\nrestitution = 0.6\nrolling_friction = 0.01\n", LINEAR
    )
    + DUMBBELL
)


@pytest.mark.ranks(1, timeout=300)
def test_two_clusters_across_a_periodic_side_are_as_by_hand(ranks):
    """One contact of two members; its branch leads from centre to centre and is not along its force."""
    way = 1.9 * R * np.array([0.8, 0.6, 0.0])
    first = np.array([PERIOD - 0.004, 0.03, 0.04])
    branch = way + np.array([0.012, 0.0, 0.0])
    second = first + branch - np.array([PERIOD, 0.0, 0.0])
    positions = repr([first.tolist(), second.tolist()])
    text = FRICTION.replace(PARTICLES, GIVEN.replace("POSITIONS", positions)).replace("[0.3, 0.0, -2.0]", "[0, 0, 0]")
    run = pdem.Simulation(pdem.Case.from_text(text), threads=1)
    found = run.stress()
    force = STIFFNESS * 0.1 * R
    expected = force * np.outer(way / (1.9 * R), branch) / (PERIOD * 0.08 * 0.08)
    np.testing.assert_allclose(found.contact, expected, rtol=1e-9, atol=1e-9 * expected.max())
    assert (found.particles, found.coordination) == (2, 1.0)
    left = run.stress({"lower": [0.0] * 3, "upper": [0.5 * PERIOD, 0.08, 0.08]}).contact
    right = run.stress({"lower": [0.5 * PERIOD, 0.0, 0.0], "upper": [PERIOD, 0.08, 0.08]}).contact
    np.testing.assert_allclose(0.5 * (left + right), expected, rtol=1e-9, atol=1e-9 * expected.max())
    np.testing.assert_allclose(right, 2.0 * expected * 0.004 / branch[0], rtol=1e-9, atol=1e-9 * expected.max())


@pytest.mark.ranks(2, timeout=300)
def test_stress_of_clusters_has_the_same_bits(ranks):
    """With forces of the last step, and such as are evaluated anew."""
    case, comm = pdem.Case.from_text(FRICTION.replace(PARTICLES, FILLED)), communicator()

    def looks(run):
        found = []
        for kept in (True, False):
            run.system.contacts.keeps_forces = kept
            run.advance(150)
            numbers = np.concatenate([np.ravel(one).astype(np.float64) for one in run.stress()])
            found.append((numbers, run.contacts()))
        return found

    shared = looks(pdem.Simulation(case, comm))
    if comm.rank == 0:
        alone = looks(pdem.Simulation(case, threads=2))
        for (numbers, contacts), (expected, those) in zip(shared, alone, strict=True):
            require_same_bits({"contacts": contacts}, {"contacts": those})
            assert numbers.tobytes() == expected.tobytes()
        assert sum(len(contacts["first"]) for _, contacts in shared) > 5
    patient_barrier(comm)
