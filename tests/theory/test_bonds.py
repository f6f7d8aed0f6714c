"""Bonds in simulations: energy, momentum, what a break does, contacts of bonded spheres, restarts."""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.bonded_blocks import CASE, RADIUS, bonded_case, lattice

pytestmark = pytest.mark.shares_law("bonds")

MASS = 4.0 / 3.0 * np.pi * 2500.0 * RADIUS**3
INERTIA = 0.4 * MASS * RADIUS**2


def by_id(run):
    own = run.gather()
    order = np.argsort(own["id"])
    return {name: own[name][order] for name in own}


def chain(count, **given):
    particles = lattice((count, 1, 1), **given)
    particles["id"] = np.arange(count)
    return particles


def bonds_of(run):
    (feature,) = (one for one in run.system.features if one.name == "bonds")
    return feature.evaluation.table


def test_a_spinning_bent_chain_keeps_energy_and_angular_momentum():
    """Energy errors fall with the square of the step, and do not drift."""
    errors = []
    for step in (1e-6, 5e-7):
        particles = chain(6)
        x = particles["position"][:, 0]
        particles["velocity"][:, 1] = 300.0 * x + 2e5 * x * x
        particles["velocity"][:, 1] -= particles["velocity"][:, 1].mean()
        particles["angular_velocity"][:] = [200.0, -100.0, 400.0]
        run = pdem.Simulation(bonded_case("", step=step), particles=particles)
        first, worst = run.energies(), 0.0

        def angular_momentum(run=run):
            own = by_id(run)
            return (MASS * np.cross(own["position"], own["velocity"]) + INERTIA * own["angular_velocity"]).sum(axis=0)

        begin, stored = angular_momentum(), 0.0
        for _ in range(40):
            run.advance(round(5e-5 / step))
            energies = run.energies()
            worst = max(worst, abs(run.measures().balance - run.first_balance))
            stored = max(stored, energies["bond_energy"])
        assert stored > 0.05 * first["translation"]
        assert energies["elastic"] == 0.0
        errors.append(worst / (first["translation"] + first["rotation"]))
        np.testing.assert_allclose(angular_momentum(), begin, rtol=1e-9, atol=1e-9 * np.abs(begin).max())
        norms = (by_id(run)["orientation"] ** 2).sum(axis=1)
        np.testing.assert_allclose(norms, 1.0, rtol=1e-14)
    assert errors[0] < 2e-2
    assert errors[1] < 0.35 * errors[0]


def test_damping_takes_out_what_it_says():
    particles = chain(5)
    particles["velocity"][:, 0] = [-0.02, 0.01, 0.0, -0.01, 0.02]
    particles["angular_velocity"][:, 1] = [10.0, -20.0, 5.0, 0.0, 5.0]
    residuals = []
    for step in (2e-7, 1e-7):
        run = pdem.Simulation(bonded_case("damping_ratio = 0.1", step=step), particles=particles)
        first = run.energies()
        run.advance(round(2e-4 / step))
        last, begin = run.energies(), first["translation"] + first["rotation"]
        assert last["bond_damping"] > 0.3 * begin
        residuals.append(abs(run.measures().balance - run.first_balance) / begin)
    assert residuals[0] < 1e-4
    assert residuals[1] < 0.3 * residuals[0]


def test_a_chain_that_breaks_in_one_bond_loses_its_share_of_the_energy():
    """All bonds of a chain that is stretched are alike; the weak one has 1/N of the energy as it breaks."""
    count, strain = 8, 1e-3
    particles = chain(count + 1)
    stress = 1e7 * strain
    run = pdem.Simulation(bonded_case("", step=1e-7), particles=particles)
    table = bonds_of(run)
    run.particles.position[:, 0] *= 1.0 + strain
    weak = 3
    table.columns["strength"][weak, 0] = 0.9 * stress
    run.advance(1)
    energies, area = run.energies(), np.pi * RADIUS**2
    one = 0.5 * stress * strain * area * 2.0 * RADIUS
    assert energies["bond_fracture"] == pytest.approx(one, rel=1e-6)
    assert energies["bond_energy"] == pytest.approx((count - 1) * one, rel=1e-6)
    assert len(table) == count - 1
    (feature,) = (each for each in run.system.features if each.name == "bonds")
    events = feature.broken.collected(run.system.exchange)
    assert events["step"].tolist() == [1]
    assert (events["lower"].tolist(), events["higher"].tolist()) == ([3], [4])
    assert events["mode"].tolist() == [1]
    np.testing.assert_allclose(events["position"], [[-RADIUS * (1.0 + strain), 0.0, 0.0]], atol=1e-9)
    assert events["energy"][0] == energies["bond_fracture"]


def test_the_balance_closes_through_breaks():
    """The energy at each break is that of the step: what does not close falls with the square of the step."""
    rng = np.random.default_rng(1)
    particles = lattice((4, 3, 3))
    particles["velocity"][:] = rng.normal(0.0, 0.6, (36, 3))
    residuals = []
    for step in (2e-7, 1e-7):
        keys = 'tensile_strength = 2e5\nshear_strength = 3e5\ncontact = "never"'
        run = pdem.Simulation(bonded_case(keys, step=step), particles=particles)
        run.advance(round(3e-4 / step))
        energies = run.energies()
        assert energies["bond_fracture"] > 0.02 * energies["translation"]
        assert 10 < len(bonds_of(run)) < 70
        assert energies["elastic"] == 0.0
        residuals.append(abs(run.measures().balance - run.first_balance) / energies["bond_fracture"])
    assert residuals[0] < 1e-3
    assert residuals[1] < 0.3 * residuals[0]


@pytest.mark.parametrize("contact", ["after-break", "always", "never"])
def test_contacts_of_bonded_spheres(contact):
    """Pressed together while bonded, then broken; contacts act from the next step on, or never."""
    particles = chain(3)
    run = pdem.Simulation(bonded_case(f'contact = "{contact}"', step=2e-7, gap=1e-5), particles=particles)
    run.particles.position[:, 0] *= 0.99
    run.particles.velocity[:] = 0.0
    run.advance(1)
    assert run.measures().pair_contacts == (2 if contact == "always" else 0)
    assert run.energies()["bond_energy"] > 0.0
    table = bonds_of(run)
    table.columns["strength"][0, 1] = 1e-30
    run.particles.velocity[0, 1] = 1e-3
    run.advance(1)
    assert len(table) == 1
    detections = run.system.lists.detections
    run.advance(1)
    assert run.measures().pair_contacts == {"after-break": 1, "always": 2, "never": 0}[contact]
    assert run.system.lists.detections == detections + (contact == "after-break")
    run.advance(300)
    assert len(bonds_of(run)) == 1


def broken_pair(scale, modulus=1e7, step=2e-7, overlap=4e-5):
    """Return a run of two spheres, bonded with an overlap and scaled in distance, whose bond breaks by shear."""
    particles = chain(2)
    particles["position"][:, 0] *= (2.0 * RADIUS - overlap) / (2.0 * RADIUS)
    text = CASE.format(step=step, gap=2e-4, more="", periodic="false")
    text = text.replace(
        "youngs_modulus = 1e7\npoisson_ratio = 0.25", f"youngs_modulus = {modulus}\npoisson_ratio = 0.25"
    )
    run = pdem.Simulation(pdem.Case.from_text(text), particles=particles)
    run.particles.position[:, 0] *= scale
    bonds_of(run).columns["strength"][0, 1] = 1e-30
    run.particles.velocity[0, 1] = 1e-6
    run.advance(1)
    assert len(bonds_of(run)) == 0
    return run


def test_spheres_bonded_with_an_overlap_do_not_push_after_the_break():
    """The overlap at which they were bonded is without force, and all of the energy of the bond is fracture energy."""
    run = broken_pair(1.0)
    fracture = run.energies()["bond_fracture"]
    assert 0.0 <= fracture < 1e-16
    run.advance(500)
    assert run.measures().pair_contacts == 1
    assert run.energies()["elastic"] < 1e-18
    assert run.energies()["translation"] < 1e-17, "as it was given"


def test_compressed_spheres_stay_supported_after_the_break():
    """The soft contact acts from the overlap at bonding on, and its energy comes out of the energy of the bond."""
    scale, overlap, modulus = 0.99, 4e-5, 1e5
    run = broken_pair(scale, modulus)
    depth = (1.0 - scale) * (2.0 * RADIUS - overlap)
    effective = 0.5 * modulus / (1.0 - 0.25**2)
    elastic = 8.0 / 15.0 * effective * np.sqrt(0.5 * RADIUS) * depth**2.5
    stored = 0.5 * 1e7 * np.pi * RADIUS**2 / (2.0 * RADIUS - overlap) * depth**2
    assert run.energies()["bond_fracture"] == pytest.approx(stored - elastic, rel=1e-3)
    before = run.measures().balance
    assert run.energies()["elastic"] == pytest.approx(elastic, rel=1e-3)
    run.advance(1)
    assert run.energies()["elastic"] == pytest.approx(elastic, rel=0.02)
    run.advance(3000)
    assert run.energies()["translation"] > 0.2 * elastic
    assert abs(run.measures().balance - before) < 0.02 * elastic


@pytest.mark.parametrize("modulus", [1e5, 1e7, 1e9])
@pytest.mark.parametrize("scale", [0.97, 0.999, 1.0, 1.005, 1.03])
def test_no_break_makes_energy(scale, modulus):
    """Fracture energy is never negative, the motion gains no energy but what the bond had, whatever is stiffer."""
    run = broken_pair(scale, modulus, step=2e-8)
    energies = run.energies()
    whole = energies["bond_fracture"]
    assert whole >= 0.0
    before = run.measures().balance
    run.advance(1)
    elastic = run.energies()["elastic"]
    if scale >= 1.0:
        assert elastic < 1e-16
    else:
        assert elastic > 0.0
    run.advance(2000)
    stored = 0.5 * 1e7 * np.pi * RADIUS**2 / (2.0 * RADIUS) * (2.0 * RADIUS * (1.0 - scale)) ** 2
    assert run.energies()["translation"] <= 1.05 * stored + 1e-16
    assert abs(run.measures().balance - before) <= 0.02 * stored + 1e-16


def test_spheres_that_return_after_a_break_touch_at_their_smallest_overlap():
    """The reference overlap has decreased with the overlap: after they have been apart it is 0."""
    for speed, touching in ((0.02, True), (-0.02, False)):
        run = broken_pair(1.0, step=1e-6)
        run.particles.velocity[:] = [[speed, 0.0, 0.0], [-speed, 0.0, 0.0]]
        run.advance(200 if touching else 2000)
        assert run.measures().pair_contacts == int(touching)
        if not touching:
            run.particles.velocity[:] *= -1.0
            run.advance(1050)
            distance = abs(np.diff(run.particles.position[:, 0])[0])
            (reference,) = run.gather_contacts()[0]["reference_overlap"]
            assert distance < 2.0 * RADIUS
            assert reference == 0.0
        assert run.energies()["elastic"] > 0.0


def test_a_bond_that_spans_half_of_the_box_stops_the_run():
    particles = chain(2)
    run = pdem.Simulation(bonded_case(periodic="true", step=1e-6), particles=particles)
    run.particles.position[:, 0] = [-0.0097, 0.0097]
    run.rebuild_lists()
    run.particles.velocity[:, 0] = [-200.0, 200.0]
    with pytest.raises(pdem.BlowUpError, match=r"a bond of particle 0 .* is as long as half of a periodic side"):
        run.advance(3)


def test_what_scripts_see_of_bonds():
    run = pdem.Simulation(bonded_case(step=1e-7), particles=chain(4))
    run.particles.position[:, 0] *= 1.001
    bonds_of(run).columns["strength"][1, 0] = 1.0
    run.advance(2)
    bonds = run.bonds
    assert bonds["ids"].tolist() == [[0, 1], [1, 2], [2, 3]]
    assert bonds["bond"].tolist() == ["cement"] * 3
    np.testing.assert_array_equal(np.isnan(bonds["broken_at"]), [True, False, True])
    assert bonds["broken_at"][1] == pytest.approx(1e-7)
    np.testing.assert_allclose(bonds["length"][[0, 2]], 2.002e-3, rtol=1e-5)
    np.testing.assert_allclose(bonds["energy"][1], run.energies()["bond_fracture"], rtol=1e-12)
    np.testing.assert_allclose(bonds["energy"][[0, 2]].sum(), run.energies()["bond_energy"], rtol=1e-12)
    plain = pdem.Simulation(pdem.Case.from_text(_without_bonds()), particles=chain(3))
    with pytest.raises(pdem.InputError, match=r"the case has no bonds; give it \[bonds.NAME\]"):
        assert plain.bonds


def test_a_run_writes_its_breaks(tmp_path):
    keys = "tensile_strength = 2e5\nshear_strength = 3e5"
    case = bonded_case(keys, step=5e-7).changed([f'output.folder="{tmp_path / "out"}"', "time.end=1e-4"])
    particles = lattice((4, 3, 3))
    particles["velocity"][:] = np.random.default_rng(1).normal(0.0, 0.8, (36, 3))
    run = pdem.Simulation(case, particles=particles)
    run.run()
    results = pdem.Results(tmp_path / "out")
    breaks, bonds = results.breaks, run.bonds
    broken = ~np.isnan(bonds["broken_at"])
    assert len(breaks.step) == np.count_nonzero(broken) > 3
    order = np.lexsort((breaks.ids[:, 1], breaks.ids[:, 0]))
    assert breaks.ids[order].tolist() == bonds["ids"][broken].tolist()
    np.testing.assert_array_equal(breaks.time[order], bonds["broken_at"][broken])
    np.testing.assert_array_equal(breaks.energy[order], bonds["energy"][broken])
    assert set(breaks.mode) <= {"tension", "shear", "bending", "twist"}
    assert np.lexsort((breaks.ids[:, 1], breaks.ids[:, 0], breaks.step)).tolist() == [*range(len(order))]
    series = results.series
    numbers = sum(series[f"bonds_broken_{mode}"][-1] for mode in ("tension", "shear", "bending", "twist"))
    assert numbers == len(order)
    assert series["bonds"][0] - series["bonds"][-1] == numbers
    assert series["bond_energy"][-1] == run.energies()["bond_energy"]


def test_removal_takes_bonds_along_and_new_spheres_have_none():
    particles = chain(5)
    run = pdem.Simulation(bonded_case("", step=1e-6), particles=particles)
    run.particles.position[:, 0] *= 1.001
    run.advance(1)
    before = run.energies()
    run.remove([2])
    after = run.energies()
    assert len(bonds_of(run)) == 2
    assert after["bond_energy"] == pytest.approx(0.5 * before["bond_energy"], rel=1e-3)
    assert run.measures().balance == pytest.approx(run.first_balance + before["bond_energy"], rel=1e-3)
    run.insert([[0.0, 0.01, 0.0]], RADIUS, "rock")
    run.advance(5)
    assert len(bonds_of(run)) == 2
    assert by_id(run)["orientation"][-1].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_cases_without_bonds_have_no_orientations():
    run = pdem.Simulation(bonded_case(), particles=chain(3))
    assert "orientation" in run.particles.fields
    plain = pdem.Simulation(pdem.Case.from_text(_without_bonds()), particles=chain(3))
    assert "orientation" not in plain.particles.fields
    assert not plain.system.features.forcing
    assert not plain.system.features.drifting
    assert not plain.system.features.pair_tables
    assert "bond_energy" not in plain.energies()


def _without_bonds():
    text = CASE.format(step=1e-6, gap=1e-4, more="", periodic="false")
    begin, rest = text.split("[bonds.cement]")
    return begin + "[output]" + rest.split("[output]")[1]
