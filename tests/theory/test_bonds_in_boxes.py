"""Bonds in boxes that deform: moduli of lattices, the work of the box, images across tilted sides, stress as a target.

The sums of contacts are 0 in these cases unless bonds break: bonded spheres have no contact.
"""

from __future__ import annotations

import numpy as np
import pytest

import pdem
from helpers.bonded_boxes import FACES, SIMPLE, SPACING, boxed_case, lattice_in_box, stress_of_bonds, table_of
from helpers.cases import state_of
from pdem.engine.box.stress import measured_stress
from pdem.foundation.errors import BlowUpError, CaseError

pytestmark = pytest.mark.shares_law("bonds")

STRAIN, STEP = 1e-6, 1e-6
LATTICES = {"simple": (SIMPLE, (3, 3, 3)), "faces": (FACES, (2, 2, 2))}
KINDS = {
    "springs": 'section = "springs"', "beams": 'beam_theory = "timoshenko"',
    "slender": 'beam_theory = "euler-bernoulli"',
}  # fmt: skip
REST = '[[stages]]\nname = "strain"\nend = {}\n[[stages]]\nname = "rest"\nend = 1.0\ndeformation = {{}}'
MIXED = """[domain.deformation]
x = {strain_rate = -200.0}
y = {strain_rate = 50.0}
z = {strain_rate = 100.0}
shear = {velocity_along = "y", gradient_along = "x", rate = 400.0}"""
ROUND = 2e-4
"""Time of runs with this deformation [s]."""


def strained(lattice, kind, deformation, *, steps=20, rest=0, more=""):
    """Return stress over strain (3, 3) [Pa], the mean of both directions of the strain, and the stiffness of a bond.

    `deformation` has a place for the rate. The box rests for some steps after it.
    """
    sites, cells = LATTICES[lattice]
    particles, sides = lattice_in_box(cells, sites)
    found = []
    for sign in (1.0, -1.0):
        text = f"[domain.deformation]\n{deformation.format(sign * STRAIN / (steps * STEP))}\n"
        text += REST.format(steps * STEP) if rest else ""
        run = pdem.Simulation(boxed_case(text, f"{KINDS[kind]}\n{more}", sides=sides, step=STEP), particles=particles)
        run.advance(steps + rest)
        found.append(stress_of_bonds(run) / (sign * STRAIN))
    return 0.5 * (found[0] + found[1]), table_of(run).columns["stiffness"][0]


def moduli(lattice, normal, shear):
    """Return C11, C12 and C44 of a lattice of bonds [Pa]."""
    if lattice == "simple":
        return normal / SPACING, 0.0, 0.5 * shear / SPACING
    first = np.sqrt(2.0) * (normal + shear) / SPACING
    return first, np.sqrt(0.5) * (normal - shear) / SPACING, 0.5 * first


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lattice", LATTICES)
def test_a_stretched_lattice_has_the_moduli_of_its_bonds(lattice, kind):
    """Along one axis: E = k_n / l of a simple cubic lattice; C11 and C12 of a face-centred one."""
    stress, (normal, shear, *_) = strained(lattice, kind, "x = {{strain_rate = {}}}")
    first, second, _ = moduli(lattice, normal, shear)
    np.testing.assert_allclose(stress, -np.diag([first, second, second]), rtol=0.0, atol=1e-6 * first)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lattice", LATTICES)
def test_a_sheared_lattice_has_the_moduli_of_its_bonds(lattice, kind):
    """G = k_s / (2 l) of a simple cubic lattice, C11 / 2 of a face-centred one, once the spheres have turned."""
    text = 'shear = {{velocity_along = "z", gradient_along = "x", rate = {}}}'
    stress, (normal, shear, *_) = strained(lattice, kind, text, rest=1500, more="damping_ratio = 0.5")
    *_, modulus = moduli(lattice, normal, shear)
    wanted = np.zeros((3, 3))
    wanted[0, 2] = wanted[2, 0] = -modulus
    np.testing.assert_allclose(stress, wanted, rtol=0.0, atol=1e-6 * modulus)


@pytest.mark.parametrize("lattice", LATTICES)
def test_the_box_measures_the_stiffness_and_damping_of_bonds(lattice):
    """Against a strain along one axis: C11, and the same sum of dashpots in the place of springs."""
    sites, cells = LATTICES[lattice]
    particles, sides = lattice_in_box(cells, sites)
    text = "[domain.deformation]\nx = {stress = 0.0}\nlargest_rate = 1.0"
    run = pdem.Simulation(boxed_case(text, "damping_ratio = 0.3", sides=sides), particles=particles)
    measured, columns = measured_stress(run.system), table_of(run).columns
    assert measured.modulus == pytest.approx(moduli(lattice, *columns["stiffness"][0, :2])[0], rel=1e-9)
    assert measured.viscosity == pytest.approx(moduli(lattice, *columns["damping"][0, :2])[0], rel=1e-9)


def deformed(step, more="", *, shift=(0.0, 0.0, 0.0), speed=0.3, deformation=MIXED):
    """Return a shaken block that fills a box after a deformation, all spheres displaced by the same vector."""
    particles, sides = lattice_in_box((4, 4, 4), seed=3, shake=2e-5, speed=speed)
    particles["position"] = (particles["position"] + shift) % sides
    case = boxed_case(deformation, more, sides=sides, step=step, gap=2e-4)
    run = pdem.Simulation(case, particles=particles)
    run.advance(round(ROUND / step))
    return run


def test_the_work_of_the_box_is_the_energy_of_bonds():
    """Compressed, stretched and sheared by 0.08: the error falls with the square of the step."""
    errors = []
    for step in (4e-7, 2e-7):
        energies = deformed(step).energies()
        assert energies["box_work"] > 0.9 * energies["bond_energy"] > 0.0
        assert energies["elastic"] == energies["bond_damping"] == 0.0
        errors.append(abs(energies["residual"]) / energies["box_work"])
    assert errors[0] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)


def test_the_balance_closes_with_damping_and_breaks():
    """A sudden rate costs a part of the damping of one step; contacts begin where bonds have broken."""
    step = 1e-7
    energies = deformed(step, "damping_ratio = 0.1").energies()
    assert energies["bond_damping"] > 0.03 * energies["box_work"]
    assert abs(energies["residual"]) < 0.5 * step / ROUND * energies["bond_damping"]
    run = deformed(step, "tensile_strength = 4e5\nshear_strength = 4e5")
    energies = run.energies()
    assert len(table_of(run)) < 0.8 * 192
    assert energies["bond_fracture"] > 0.1 * energies["box_work"]
    assert energies["elastic"] > 0.0
    assert abs(energies["residual"]) < 1e-5 * energies["box_work"]
    assert np.isfinite(run.bonds["broken_at"]).sum() == 192 - len(table_of(run))


@pytest.mark.parametrize("more", ["damping_ratio = 0.1", "tensile_strength = 4e5\nshear_strength = 4e5"])
def test_the_place_of_the_sides_has_no_meaning(more):
    """All spheres displaced: bonds cross the tilted side that were inside, with the velocity of their images."""
    runs = [deformed(2e-7, more, shift=shift) for shift in ((0.0, 0.0, 0.0), (0.0031, -0.0012, 0.0045))]
    first, second = (table_of(run) for run in runs)
    assert first.lower.tolist() == second.lower.tolist()
    assert first.higher.tolist() == second.higher.tolist()
    crossing = [np.abs(table.shift).max(axis=1) > 0.0 for table in (first, second)]
    assert (crossing[0] != crossing[1]).any()
    drifts = [np.abs(table.drift).max(axis=1) > 0.0 for table in (first, second)]
    assert [one.tolist() for one in drifts] == [one.tolist() for one in crossing]
    for name in ("branch", "energy", "force"):
        columns = first.columns[name], second.columns[name]
        np.testing.assert_allclose(*columns, rtol=0.0, atol=1e-7 * np.abs(columns[0]).max())
    np.testing.assert_allclose(runs[0].energies()["box_work"], runs[1].energies()["box_work"], rtol=1e-8)


def test_a_bonded_sample_reaches_the_stresses_of_a_triaxial_test():
    """Bonds alone carry the stress: spheres have no contact."""
    text = (
        "[domain.deformation]\nx = {stress = 2e4}\ny = {stress = 2e4}\nz = {strain_rate = -20.0}\nlargest_rate = 50.0"
    )
    particles, sides = lattice_in_box((4, 4, 4), seed=3, shake=2e-5)
    case = boxed_case(text, "damping_ratio = 0.2", sides=sides, step=5e-7, gap=2e-4)
    run = pdem.Simulation(case, particles=particles)
    run.advance(2000)
    pressure, measured = np.diag(stress_of_bonds(run)), measured_stress(run.system)
    assert run.system.contacts.pairs.count == 0
    assert pressure[:2] == pytest.approx(2e4, rel=3e-3)
    assert pressure[2] == pytest.approx(np.pi / 4.0 * 1e7 * 20.0 * 1e-3, rel=0.1)
    assert measured.stress[:3] == pytest.approx(pressure, rel=1e-6)
    energies = run.energies()
    assert abs(energies["residual"]) < 1e-4 * energies["box_work"]


def test_bonds_carry_tension_and_a_shear_stress():
    """Loose grains can bear neither."""
    text = """[domain.deformation]
y = {stress = -1e4}
shear = {velocity_along = "x", gradient_along = "y", stress = 3e4}
largest_rate = 200.0"""
    run = deformed(5e-7, "damping_ratio = 0.1", speed=0.0, deformation=text)
    run.advance(2600)
    stress = stress_of_bonds(run)
    assert stress[1, 1] == pytest.approx(-1e4, rel=0.02)
    assert 0.5 * (stress[0, 1] + stress[1, 0]) == pytest.approx(-3e4, rel=0.02)


def test_a_bond_as_long_as_half_of_the_present_side_ends_the_run():
    """The bond of a pair keeps its length while the box gets shorter."""
    particles, sides = lattice_in_box((3, 3, 3))
    pair = np.flatnonzero((particles["position"] < [5e-3, 2e-3, 2e-3]).all(axis=1))[:2]
    particles = {name: column[pair] for name, column in particles.items()} | {"id": np.arange(2)}
    case = boxed_case("[domain.deformation]\nx = {strain_rate = -1000.0}", sides=sides)
    run = pdem.Simulation(case, particles=particles)
    with pytest.raises(BlowUpError, match="is as long as half of a periodic side"):
        run.advance(600)
    assert run.system.box.moving.at(run.step).lengths[0] == pytest.approx(2.0 * SPACING / 0.98, rel=0.02)


def continued(deformation):
    """Return a run with bonds from the state of a run without, in a box that has deformed."""
    particles, sides = lattice_in_box((4, 4, 4))
    case = boxed_case(deformation, sides=sides, gap=1e-6)
    loose = case.model_copy(update={"bonds": {}})
    before = pdem.Simulation(loose, particles=particles)
    before.advance(100)
    return pdem.Simulation(case, state=state_of(before))


def test_bonds_that_begin_in_a_deformed_box_join_its_images():
    """The bonds of a lattice that has been compressed before; none of them has a strain."""
    run = continued("[domain.deformation]\nx = {strain_rate = -100.0}")
    table = table_of(run)
    assert len(table) == 3 * 64
    lengths = np.sort(table.columns["length"])
    assert lengths[:64] == pytest.approx(SPACING * np.exp(-100.0 * 100 * STEP), rel=1e-5)
    assert lengths[64:] == pytest.approx(SPACING, rel=1e-9)
    with pytest.raises(CaseError, match="bonds: cannot be made in a box that leans, here by"):
        continued('[domain.deformation]\nshear = {velocity_along = "y", gradient_along = "x", rate = 100.0}')
