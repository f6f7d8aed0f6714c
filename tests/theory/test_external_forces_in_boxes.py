"""Forces and drags given for each particle in a box that deforms, and for the spheres of clusters."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import clusters
from helpers.cases import GRAIN
from helpers.moving_boxes import MIXED, ROUGH, SHEAR, R, gas, moving_case
from pdem.foundation.errors import InputError
from pdem.run.simulation import Simulation

MASS = GRAIN["density"] * 4.0 / 3.0 * np.pi * R**3
ARRAY = {"forces": [{"kind": "array"}]}


def box(folder, deformation, forces, speed=0.3):
    return Simulation(moving_case(folder, gas(3, speed=speed), deformation, law=ROUGH, more=forces), threads=1)


@pytest.mark.parametrize("deformation", [{"shear": SHEAR}, MIXED])
def test_a_drag_takes_particles_along_with_the_box(tmp_path, deformation):
    """It acts on velocities relative to the flow of the box: the energy of these, and no other, is lost to it."""
    run = box(tmp_path, deformation, ARRAY)
    before = run.energies()
    run.set_external_force((0.0, 0.0, 0.0), MASS / 1e-3)
    run.advance(100)  # 2 ms, two times of relaxation
    after = run.energies()
    assert after["translation"] < 0.05 * before["translation"]
    assert after["own_forces"] < -0.5 * before["translation"]
    assert abs(after["residual"]) < 1e-3 * before["translation"]
    centre, flow = run.system.box.moving.centre, run.system.box.moving.gradient_at(run.step)
    left = run.particles.velocity - (run.particles.position - centre) @ flow.T
    assert np.sqrt((left**2).mean()) < 0.25 * 0.3


@pytest.mark.parametrize("deformation", [{"shear": SHEAR}, MIXED])
def test_a_fluid_moves_relative_to_the_box(tmp_path, deformation):
    """All particles reach the velocity of the fluid beside that of the box, which shears by little meanwhile."""
    run, fluid = box(tmp_path, deformation, ARRAY, speed=0.0), np.array([0.05, -0.02, 0.03])
    run.set_external_force((0.0, 0.0, 0.0), MASS / 2e-5, fluid)
    run.advance(30)
    centre, flow = run.system.box.moving.centre, run.system.box.moving.gradient_at(run.step)
    relative = run.particles.velocity - (run.particles.position - centre) @ flow.T
    np.testing.assert_allclose(relative, np.broadcast_to(fluid, relative.shape), atol=4e-3)


def test_an_array_of_equal_forces_is_a_uniform_force(tmp_path):
    """With the same work, between collisions as well."""
    force = [0.2, -0.1, 0.3]
    runs = [box(tmp_path, MIXED, one) for one in (ARRAY, {"forces": [{"kind": "uniform", "force": force}]})]
    runs[0].set_external_force(force)
    for run in runs:
        run.advance(200)
    (one, other), (found, expected) = [run.gather() for run in runs], [run.energies() for run in runs]
    np.testing.assert_allclose(one["position"], other["position"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(one["velocity"], other["velocity"], rtol=0, atol=1e-6)
    assert found["own_forces"] == pytest.approx(expected["own_forces"], rel=1e-6)
    assert abs(found["own_forces"]) > 1e-3 * found["translation"]


def test_spheres_of_clusters_refuse_forces_that_would_do_nothing():
    """Zeros are taken, and forces on the sphere beside them."""
    groups = [
        clusters.cluster("rod", (0.0, 0.0, 0.0)),
        {"material": "grain", "radius": 1e-3, "positions": [[0, 0, 0.1]]},
    ]
    run = clusters.simulate(groups, {"rod": clusters.ROD}, forces=[{"kind": "array"}])
    single = int(run.particles.id[run.particles.cluster == 0][0])
    member = int(run.particles.id[run.particles.cluster != 0].min())
    run.set_external_force((1e-6, 0.0, 0.0), ids=[single])
    for given in ({"force": (1e-6, 0.0, 0.0)}, {"force": (0.0, 0.0, 0.0), "drag": 1e-3}):
        with pytest.raises(
            InputError, match=f"particle {member} belongs to a cluster, which external forces do not act"
        ):
            run.set_external_force(**given, ids=[member, single])
    run.set_external_force((0.0, 0.0, 0.0), ids=[member])
    run.advance(50)
    velocity = run.particles.velocity
    assert velocity[run.particles.id == single, 0] > 0.0
    assert not velocity[run.particles.cluster != 0].any()
