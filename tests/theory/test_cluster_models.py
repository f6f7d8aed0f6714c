"""Rigid clusters with adhesion, liquid, rolling and twisting resistance, and beneath a servo wall."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from helpers.clusters import DENSITY, ONE, PAIR, RADIUS, ROD, STIFFNESS, TETRAPOD, cluster, floor, inertia_of, simulate

pytestmark = pytest.mark.shares_law("sticky clusters")

ROUGH = {
    "friction": 0.5, "restitution": 0.5, "rolling": {"model": "spring", "friction": 0.2},
    "twisting": {"model": "marshall", "damping": 0.1},
}  # fmt: skip
STICKY = {**ROUGH, "adhesion": {"model": "jkr", "work_of_adhesion": 0.5}}
WET = {
    **ROUGH,
    "adhesion": {"model": "liquid-bridge", "surface_tension": 0.07, "contact_angle": 30.0, "carried_volume": 0.03},
}
GRAIN = {"density": DENSITY, "youngs_modulus": 1e7, "poisson_ratio": 0.2}
LAWS = {
    "materials": {"sticky": GRAIN, "wet": GRAIN, "steel": {}},
    "interactions": {
        f"{name}-{other}": law for name, law in (("sticky", STICKY), ("wet", WET)) for other in (name, "steel")
    }
    | {"sticky-wet": ROUGH, "steel-steel": ROUGH},
}


def total_liquid(run):
    return sum(map(Fraction, run.gather()["liquid"].tolist()))


@pytest.mark.slow  # as the next one by its kernels: bridges, JKR, springs and Marshall's torque with clusters
@pytest.mark.parametrize("material", ["sticky", "wet"])
def test_a_cluster_of_one_sphere_sticks_and_rolls_as_the_sphere(material):
    """It comes down on a floor with spin about all axes; both are in one run, far from each other."""
    motion = {"velocity": [0.1, 0.0, -0.05], "angular_velocity": [5.0, 150.0, 90.0], "material": material}
    motion |= {"liquid": 0.01} if material == "wet" else {}
    sphere = {"radius": RADIUS, "positions": [[0.1, 0.0, 1.001e-3]], **motion}
    groups = [cluster("one", (0.0, 0.0, 1.001e-3), **motion), sphere]
    run = simulate(groups, {"one": ONE}, walls=(floor(),), gravity=(0.0, 0.0, -9.81), step=2e-6, **LAWS)
    before = run.measures().kinetic
    run.advance(6000)
    own, energies = run.gather(), run.energies()
    moved = own["position"] - ((0.0, 0.0, 0.0), (0.1, 0.0, 0.0))
    np.testing.assert_allclose(moved[0], moved[1], rtol=1e-8, atol=1e-11)
    for name in ("velocity", "angular_velocity", "liquid"):
        np.testing.assert_allclose(own[name][0], own[name][1], rtol=1e-7, atol=1e-9)
    assert run.system.contacts.walls.count == 2
    assert energies["rolling"] > 0.0
    assert abs(own["angular_velocity"][0, 2]) < 89.0
    assert abs(energies["residual"]) < 1e-2 * before


def momenta(run):
    """Return momentum and angular momentum about the origin of all clusters."""
    mass, _ = inertia_of(run)
    table = run.clusters
    push = mass[:, None] * table.velocity
    return push.sum(axis=0), (np.cross(table.position, push) + table.angular_momentum).sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("material", ["sticky", "wet"])
def test_clusters_that_stick_keep_momentum_angular_momentum_and_liquid(material):
    rng = np.random.default_rng(3)
    groups = []
    for k in range(18):
        place = 0.012 * (np.array(np.unravel_index(k, (3, 3, 2))) - (1.0, 1.0, 0.5))
        groups.append(cluster(
            ("rod", "pair", "tetrapod")[k % 3], place, orientation={"random": k}, material=material,
            velocity=(-25.0 * place + rng.uniform(-0.1, 0.1, 3)).tolist(),
            angular_velocity=rng.uniform(-50.0, 50.0, 3).tolist(),
            **({"liquid": 0.02} if material == "wet" else {}),
        ))  # fmt: skip
    run = simulate(groups, {"rod": ROD, "pair": PAIR, "tetrapod": TETRAPOD}, step=5e-6, **LAWS)
    kinetic = run.measures().kinetic
    before, liquid, scale = momenta(run), total_liquid(run), inertia_of(run)[0].sum()
    run.advance(9000)
    assert run.measures().pair_contacts > 2
    energies = run.energies()
    assert energies["rolling"] > 0.0
    after = momenta(run)
    np.testing.assert_allclose(after[0], before[0], atol=1e-12 * scale)
    np.testing.assert_allclose(after[1], before[1], atol=1e-12 * scale * 0.02)
    assert abs(energies["residual"]) < 1e-2 * kinetic
    assert total_liquid(run) == liquid
    assert (liquid > 0) == (material == "wet")


def test_a_piston_presses_four_spheres_of_a_cluster_at_once():
    """Each takes a quarter of the load, above and below, also beside the middle of the piston."""
    load, gap = 0.4, 1e-4
    square = [[x, y, 0.0, RADIUS] for x in (-RADIUS, RADIUS) for y in (-RADIUS, RADIUS)]
    piston = {
        "name": "piston", "shape": "plane", "point": [0.0, 0.0, 2.0 * RADIUS + gap], "normal": [0.0, 0.0, -1.0],
        "servo": {"axis": [0.0, 0.0, -1.0], "force": -load, "largest_rate": 0.05},
    }  # fmt: skip
    run = simulate(
        [cluster("square", (0.01, 0.02, RADIUS))], {"square": square}, law={"friction": 0.5, "restitution": 0.5},
        walls=(floor(), piston), step=1e-6,
    )  # fmt: skip
    run.advance(12000)
    seen = run.driven_walls()["piston"]
    overlap = load / (4.0 * STIFFNESS)
    assert run.system.contacts.walls.count == 8
    assert seen["load"] == pytest.approx(-load, rel=1e-5)
    assert seen["travel"] == pytest.approx(gap + 2.0 * overlap, rel=1e-5)
    assert run.wall_loads()["floor"]["force"][2] == pytest.approx(-load, rel=1e-5)
    assert run.clusters.position[0, 2] == pytest.approx(RADIUS - overlap, rel=1e-7)
    np.testing.assert_allclose(run.clusters.orientation[0, 1:3], 0.0, atol=1e-9)
