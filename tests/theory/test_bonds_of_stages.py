"""Bonds that are made at the beginning of a stage: without strain, in place of contacts, with closed energies."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.bonded_blocks import CASE, RADIUS, bonded_case, lattice
from pdem.contact.ends import JOINED
from pdem.foundation.errors import CaseError

STAGES = """stage = "cement"
contact = "{contact}"
{more}
[[stages]]
name = "fall"
end = {end}
[[stages]]
name = "cement"
"""


def run_of(particles, contact="after-break", more="", end=1e-4, **named):
    """Return a run whose bonds begin with the second stage."""
    return pdem.Simulation(
        bonded_case(STAGES.format(contact=contact, more=more, end=end), **named), particles=particles
    )


def pressed(overlap=2e-5):
    """Return two spheres that overlap and fly together, so that their contact stores energy."""
    particles = lattice((2, 1, 1), spacing=2.0 * RADIUS - overlap)
    particles["velocity"][:] = [0.3, 0.1, 0.0]
    return particles


def test_bonds_begin_with_their_stage():
    run = run_of(lattice((3, 2, 2), spacing=2.0 * RADIUS + 1e-5))
    run.advance(100)
    assert len(run.bonds["ids"][:, 0]) == 0
    run.advance(1)
    assert len(run.bonds["ids"][:, 0]) == 20
    assert np.abs(run.bonds["energy"]).max() < 1e-20


def test_a_turned_pair_is_bonded_without_strain():
    """The orientations at the beginning of the stage are the rest of the bond: it turns as one body from then on."""
    particles = lattice((2, 1, 1), spacing=2.0 * RADIUS + 1e-5)
    particles["angular_velocity"][:] = [[0.0, 900.0, 0.0], [700.0, 0.0, 300.0]]
    run = run_of(particles, more="damping_ratio = 0.1")
    run.advance(100)
    assert not np.allclose(run.particles.column("orientation")[:2], [1.0, 0.0, 0.0, 0.0], atol=0.02)
    before = run.energies()
    run.advance(1)
    assert np.abs(run.bonds["energy"]).max() < 1e-2 * before["rotation"]
    run.advance(3000)
    after = run.energies()
    assert abs(after["residual"] - before["residual"]) < 5e-3 * before["rotation"]
    assert after["bond_damping"] > 0.1 * before["rotation"]


@pytest.mark.parametrize("contact", ["after-break", "never", "always"])
def test_a_contact_ends_where_a_bond_begins(contact):
    """Its energy goes to the term of stages; with "always" it goes on beside the bond."""
    run = run_of(pressed(), contact, end=1e-6)
    run.advance(1)
    before = run.energies()
    assert before["elastic"] > 0.0
    run.advance(1)
    after = run.energies()
    if contact == "always":
        assert after["stages"] == 0.0
        assert after["elastic"] == pytest.approx(before["elastic"], rel=0.1)
    else:
        assert after["elastic"] == 0.0
        assert after["stages"] == pytest.approx(before["elastic"], rel=1e-9)
    assert abs(after["residual"] - before["residual"]) < 0.05 * before["elastic"]


def test_joined_contacts_are_reported():
    more = STAGES.format(contact="after-break", more="", end=1e-6)
    text = CASE.format(step=1e-6, gap=2e-4, more=more, periodic="false")
    case = pdem.Case.from_text(text.replace("[output]", "[output]\ncontact_ends = true"))
    run = pdem.Simulation(case, particles=pressed())
    run.advance(1)
    run.ended_contacts()
    run.advance(1)
    events = run.ended_contacts()
    assert [events[name].tolist() for name in ("first", "second")] == [[0], [1]]
    assert events["reason"].tolist() == [JOINED]


def test_present_bonds_stay():
    """A second kind joins the pairs that the first kind has left out."""
    more = """
[bonds.glue]
between = "rock-rock"
gap = 5e-4
stage = "cement"
youngs_modulus = 1e6
poisson_ratio = 0.3
[[stages]]
name = "first"
end = 1e-5
[[stages]]
name = "cement"
"""
    particles = lattice((4, 1, 1), spacing=2.0 * RADIUS + 1e-4)
    particles["position"][:, 0] += np.where(particles["position"][:, 0] > 0.0, 2e-4, 0.0)
    run = pdem.Simulation(bonded_case(more), particles=particles)
    run.advance(10)
    first = run.bonds
    assert len(first["ids"][:, 0]) == 2
    run.advance(1)
    both = run.bonds
    assert sorted(both["bond"].tolist()) == ["cement", "cement", "glue"]
    kept = both["bond"] == "cement"
    assert both["ids"][:, 0][kept].tolist() == first["ids"][:, 0].tolist()


def test_a_stage_without_near_spheres_says_so():
    run = run_of(lattice((2, 1, 1), spacing=4.0 * RADIUS), end=1e-5)
    run.advance(10)
    with pytest.raises(CaseError, match=r"bonds.cement.gap: no two spheres .* at the start of stage cement"):
        run.advance(1)


def test_an_unknown_stage_is_a_mistake():
    with pytest.raises(CaseError, match=r'bonds.cement.stage = "cure": is no stage of this case; '):
        bonded_case('stage = "cure"\n')
