"""What is said before a run of a box that deforms farther, or to larger stresses, than its grains can follow."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.case.model import Case
from pdem.containers.meshes.mesh import Mesh
from pdem.preflight.deformation_preflight import deformation_findings
from pdem.preflight.population import Population

CASE = """
[time]
step = 1e-6
end = {end}
[domain]
lower = [0.0, 0.0, 0.0]
upper = [0.1, 0.1, {height}]
dimension = {dimension}
periodic = [true, true, {periodic}]
[domain.deformation]
{deformation}
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[interactions.grain-grain]
friction = 0.5
restitution = 0.5
[[particles]]
material = "grain"
radius = 0.01
positions = [[0.02, 0.02, 0.02]]
"""


def warnings(deformation, *, end=0.1, dimension=3, count=100, replace=("", ""), level="warning"):
    """Return the warnings, or errors, for so many grains, which fill 0.42 of the box; of 12 discs 0.38."""
    periodic, height = ("true", 0.1) if dimension == 3 else ("false", 0.02)
    text = CASE.format(deformation=deformation, end=end, dimension=dimension, periodic=periodic, height=height)
    grains = Population({"radius": np.full(count, 0.01), "position": np.full((count, 3), 0.05)})
    found = deformation_findings(Case.from_text(text.replace(*replace)), grains, 1e-6)
    return [one.message for one in found if one.level == level]


def test_a_box_without_grains():
    """It had no radius to go by, and stopped as shorter than two diameters of 2 m."""
    assert not warnings("x = {strain_rate = -7.0}", level="error")
    (text,) = warnings("mean_stress = 100.0", count=0, level="error")
    assert text.startswith("the box deforms, and there are no particles; fill it by [[particles]]")


def test_strains_that_leave_no_room():
    assert not warnings("x = {strain_rate = -7.0}")
    (text,) = warnings("x = {strain_rate = -9.0}")
    assert "solid fraction from 0.419 to 1.03" in text
    assert not warnings("x = {strain_rate = -6.0}\ny = {strain_rate = 6.0}")
    assert not warnings("x = {strain_rate = -9.0}\nz = {stress = 100.0}")
    (text,) = warnings("x = {strain_rate = -9.0}", dimension=2, count=12)
    assert "solid fraction from 0.377 to 0.927" in text


def test_strains_beyond_all_numbers():
    """A rate that was given in wrong units, as one may be."""
    found = warnings("x = {strain_rate = -2e7}\ny = {strain_rate = -2e7}\nz = {strain_rate = -2e7}", end=0.01)
    assert len(found) == 4
    assert "would make the box 3.72e-45 m long along x, less than two of the largest diameters" in found[0]
    assert "would bring the solid fraction" in found[3]


@pytest.mark.parametrize("key", ["x = {{stress = {}}}", "mean_stress = {}"])
def test_stresses_that_no_contacts_bear(key):
    """By Hertz's force at the largest overlap: 12 contacts of a grain, 0.74 of the volume."""
    modulus = 1e7 / (2.0 * (1.0 - 0.25**2))
    force = 4.0 / 3.0 * modulus * np.sqrt(0.005 * 0.005) * 0.005
    borne = 12 * 0.74 * force / (4.0 * np.pi * 0.01**2)
    assert not warnings(key.format(0.99 * borne))
    (text,) = warnings(key.format(1.01 * borne))
    assert f"at most about {borne:.3g} Pa" in text
    assert "limits.largest_overlap (0.5 of the radius)" in text


def test_stresses_of_shear_against_both_senses_count():
    """A shear stress is as large the other way."""
    key = "shear = {{velocity_along = 'x', gradient_along = 'z', stress = {}}}"
    (one,), (other,) = warnings(key.format(1e7)), warnings(key.format(-1e7))
    assert one == other
    assert "limits.largest_overlap" in one


@pytest.mark.parametrize("pressure", ["z = {stress = 100.0}", "mean_stress = 100.0"])
def test_shear_stresses_that_no_flow_bears(pressure):
    shear = "\nshear = {{velocity_along = 'x', gradient_along = 'z', stress = {}}}"
    assert not warnings(pressure + shear.format(-50.0))
    for stress in (120.0, -120.0):
        (text,) = warnings(pressure + shear.format(stress))
        assert f"the shear stress, {stress:.3g}, is larger than the pressure of 100 across the layers" in text
    assert not warnings("x = {stress = 100.0}" + shear.format(120.0))


def test_tensions_that_adhesion_does_not_hold():
    """By the pull-off force of Johnson, Kendall and Roberts: 12 contacts of a grain, 0.74 of the volume."""
    sticky = "restitution = 0.5\nadhesion = {model = 'jkr', work_of_adhesion = 0.5}"
    held = 12 * 0.74 * 1.5 * np.pi * 0.5 * 0.005 / (4.0 * np.pi * 0.01**2)
    for key, limit in (("mean_stress = {}", held), ("y = {{stress = {}}}", 3.0 * held)):
        assert not warnings(key.format(-0.98 * limit), replace=("restitution = 0.5", sticky))
        (text,) = warnings(key.format(-1.02 * limit), replace=("restitution = 0.5", sticky))
        assert "wants a tension that adhesion does not hold: at most about" in text
        assert "by 0.0118 N of a contact" in text


def plate(low, high):
    """Return a level square that reaches so far along x and y."""
    corners = [[x, y, 0.05] for x, y in ((low, low), (high, low), (high, high), (low, high))]
    return Mesh(corners, [[0, 1, 2, 3]])


def test_walls_that_the_box_outgrows():
    """Of 0.1 m; the strain of 0.2 makes 0.122 of it, and what follows brings it back."""
    wall = "[materials.steel]\n[interactions.grain-steel]\nfriction = 0.5\nrestitution = 0.5\n"
    wall += '[[walls]]\nname = "floor"\nshape = "plane"\npoint = [0, 0, 0.05]\nnormal = [0, 0, 1]\nmaterial = "steel"\n'
    text = CASE.replace("[[particles]]", wall + "[[particles]]")
    text = text.format(deformation="x = {strain_rate = 2.0}", end=1.0, dimension=3, periodic="false", height=0.1)
    stages = '[[stages]]\nname = "grow"\nend = 0.1\n'
    stages += '[[stages]]\nname = "back"\ndeformation = {x = {strain_rate = -1.0}}\n'
    case = Case.from_text(text + stages)
    grains = Population({"radius": np.full(1, 0.01), "position": np.full((1, 3), 0.05)})

    def found(mesh):
        return [str(one) for one in deformation_findings(case, grains, 1e-6, [mesh]) if one.level == "warning"]

    (warning,) = found(plate(-0.005, 0.105))
    assert "wall floor: reaches from side to side of the box along x, from -0.005 to 0.105 m" in warning
    assert "until the box grows beyond it, to -0.01107 to 0.1111 m: grains pass beside it" in warning
    assert not found(plate(-0.012, 0.112))
    assert not found(plate(0.02, 0.08)), "it stands inside"
