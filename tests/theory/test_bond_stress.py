"""Bonds in the stress of samples and regions, and in continuum fields, beside values by hand."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.bonded_blocks import RADIUS, bonded_case, lattice

pytestmark = pytest.mark.shares_law("bonds")

YOUNG, AREA, SIDE = 1e7, np.pi * RADIUS**2, 0.04
WHOLE = {"lower": [-0.02] * 3, "upper": [0.02] * 3}


def pair(strain, *, at=0.0, periodic="false", more="", direction=(1.0, 0.0, 0.0)):
    """Return a simulation of two bonded spheres that are stretched along a direction, the middle of the bond at x."""
    particles = lattice((2, 1, 1))
    along = np.asarray(direction) / np.linalg.norm(direction)
    half = RADIUS * np.array([-1.0, 1.0])[:, None] * along
    particles["id"], particles["position"] = np.arange(2), half
    case = bonded_case(more, periodic=periodic, step=1e-7)
    run = pdem.Simulation(case, particles=particles)
    moved = half[run.particles.id] * (1.0 + strain)
    moved[:, 0] += at
    run.particles.position[:] = (moved + 0.02) % SIDE - 0.02 if periodic == "true" else moved
    run.rebuild_lists()
    return run


@pytest.mark.parametrize("strain", [1e-3, -2e-3])
@pytest.mark.parametrize("direction", [(1.0, 0.0, 0.0), (0.3, -0.4, 0.5)])
def test_a_stretched_pair_has_the_stress_of_its_force(strain, direction):
    """Stress times volume is minus the force times the length: pressure is positive."""
    run = pair(strain, direction=direction)
    n = np.asarray(direction) / np.linalg.norm(direction)
    length, force = 2.0 * RADIUS * (1.0 + strain), -YOUNG * AREA * strain
    expected = force * length * np.outer(n, n) / SIDE**3
    found = run.stress()
    np.testing.assert_allclose(found.contact, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    assert found.pressure == pytest.approx(np.trace(expected) / 3.0, rel=1e-9)
    assert found.coordination == 0.0
    assert np.isnan(found.fabric).all()
    bonds = run.bonds
    np.testing.assert_allclose(bonds["force"], [force * n], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(bonds["normal_force"], force, rtol=1e-9)
    np.testing.assert_allclose(bonds["tensile_stress"], -force / AREA, rtol=1e-9)
    np.testing.assert_allclose(bonds["length"], length, rtol=1e-12)


def test_a_region_has_the_share_of_a_bond_inside_also_across_a_periodic_side():
    run = pair(1e-3, at=0.02 - 0.5 * RADIUS, periodic="true")
    whole = run.stress(WHOLE).contact[0, 0] * SIDE**3
    assert whole == pytest.approx(-YOUNG * AREA * 1e-3 * 2.002e-3, rel=1e-9)
    left = {"lower": [-0.02] * 3, "upper": [0.0, 0.02, 0.02]}
    share = (1.001 - 0.5) / 2.002  # the part of the bond beyond the side
    assert run.stress(left).contact[0, 0] * 0.5 * SIDE**3 == pytest.approx(share * whole, rel=1e-9)


def test_contacts_and_bonds_of_a_pair_add_up():
    """Pressed together with a contact beside the bond."""
    run = pair(-1e-3, more='contact = "always"')
    run.advance(1)
    contacts, bonds = run.contacts(), run.bonds
    assert len(contacts["first"]) == 1
    assert contacts["normal_force"][0] > 0.0
    assert bonds["normal_force"][0] == pytest.approx(YOUNG * AREA * 1e-3, rel=0.01)
    total = contacts["normal_force"][0] + bonds["normal_force"][0]
    stress = run.stress()
    assert stress.contact[0, 0] * SIDE**3 == pytest.approx(total * bonds["length"][0], rel=1e-12)
    assert stress.coordination == 1.0


def test_a_measurement_changes_nothing():
    """Stress and bonds at any time leave the energies of later steps, and the motion, as they are."""
    particles = lattice((4, 3, 3))
    particles["velocity"][:] = np.random.default_rng(1).normal(0.0, 0.3, (36, 3))
    runs = [pdem.Simulation(bonded_case("damping_ratio = 0.1", step=2e-7), particles=particles) for _ in range(2)]
    for _ in range(5):
        for run in runs:
            run.advance(7)
        runs[0].stress()
        assert len(runs[0].bonds["ids"]) == 75
    assert runs[0].energies() == runs[1].energies()
    for name in ("position", "velocity", "orientation"):
        np.testing.assert_array_equal(runs[0].particles[name], runs[1].particles[name])


def test_forces_of_bonds_and_contacts_are_the_forces_on_particles():
    """With stored forces, the sums over a particle's bonds and contacts are its force, with damping."""
    particles = lattice((3, 3, 2), spacing=1.99e-3)
    particles["velocity"][:] = np.random.default_rng(3).normal(0.0, 0.2, (18, 3))
    keys = 'damping_ratio = 0.3\ncontact = "always"'
    case = bonded_case(keys, step=2e-7).changed(["output.stress=true", "output.series_every=2e-6", "time.end=2e-5"])
    run = pdem.Simulation(case, particles=particles)
    run.advance(10)
    own, bonds, contacts = run.gather(), run.bonds, run.contacts()
    force = np.zeros((18, 3))
    for first, second, each in (
        (bonds["ids"][:, 0], bonds["ids"][:, 1], bonds["force"]),
        (contacts["first"], contacts["second"], contacts["force"]),
    ):
        np.add.at(force, first, -each)
        np.add.at(force, second, each)
    assert len(contacts["first"]) > 10
    np.testing.assert_allclose(force[own["id"]], own["force"], rtol=0.0, atol=1e-10 * np.abs(own["force"]).max())


@pytest.mark.parametrize("by", [None, "material"])
def test_continuum_fields_have_the_stress_of_bonds(by):
    """Sums of the stress over the cells equal the sum over contacts and bonds."""
    particles = lattice((4, 3, 3), seed=4, shake=2e-5)
    run = pdem.Simulation(bonded_case('contact = "always"', step=2e-7), particles=particles)
    run.particles.position[:] *= [1.002, 0.999, 1.001]
    run.rebuild_lists()
    fields = run.coarse_grain(cells=(8, 8, 8), width=2e-3, by=by)
    total = fields.contact_stress.reshape(-1, 3, 3).mean(axis=0)
    whole = run.stress().contact
    assert np.abs(whole).max() > 1.0
    np.testing.assert_allclose(total, whole, rtol=1e-6, atol=1e-6 * np.abs(whole).max())
