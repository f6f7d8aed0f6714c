"""Rigid clusters against closed forms: tops, impacts, rods that fall, conservation, and one sphere as a cluster."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import pdem
from helpers.clusters import (
    DENSITY,
    ONE,
    PAIR,
    RADIUS,
    ROD,
    SMOOTH,
    STIFFNESS,
    TETRAPOD,
    cluster,
    floor,
    inertia_of,
    simulate,
    spin_of,
    turned,
)
from pdem.contact.law.restitution import damping_factor, rebound

TOP = {"spheres": ONE, "mass_properties": {"volume": 1e-6, "inertia": [1e-6, 2e-6, 3e-6, 0.0, 0.0, 0.0]}}
"""A body with the moments 1, 2, 3 along the axes."""


def free_top(step, spin):
    return simulate([cluster("top", (0, 0, 0), angular_velocity=spin)], {"top": TOP}, step=step)


def error_of_top(step):
    """Return how far the spin of a top is from w(t) = (cn, sn, dn)(t | m = 1/3) at t = 3.5, in its own axes."""
    run = free_top(step, [1.0, 0.0, 1.0])
    run.advance(round(3.5 / step))
    w, x, y, z = run.clusters.orientation[0]
    from scipy.spatial.transform import Rotation

    own = Rotation.from_quat([x, y, z, w]).inv().apply(spin_of(run)[0])
    sn, cn, dn, _ = ellipj(3.5, 1.0 / 3.0)
    return float(np.abs(own - (cn, sn, dn)).max())


def test_a_free_top_turns_as_jacobis_functions_say_and_errors_are_of_second_order():
    assert 4.0 * ellipk(1.0 / 3.0) == pytest.approx(6.935667541)
    coarse, fine = error_of_top(0.02), error_of_top(0.01)
    assert fine < 1e-4
    assert coarse / fine == pytest.approx(4.0, rel=0.1)


def test_a_free_top_keeps_its_momentum_to_the_bit_and_its_energy_in_bounds():
    run = free_top(0.05, [0.01, 1.0, 0.01])  # about the middle axis: it flips over and over
    before, energy = run.clusters.angular_momentum.copy(), run.energies()["rotation"]
    seen = []
    for _ in range(60):
        run.advance(50)
        seen.append(run.energies()["rotation"] / energy - 1.0)
        assert run.clusters.angular_momentum.tobytes() == before.tobytes()
    assert spin_of(run)[0] @ before[0] == pytest.approx(2.0 * energy, rel=1e-3)
    early, late = np.abs(seen[:20]).max(), np.abs(seen[-20:]).max()
    assert late < 1.2 * early + 1e-12
    assert late < 1e-3


def test_a_cluster_of_one_sphere_moves_as_the_sphere():
    """It hits a rough floor with spin; both are in one run, far from each other."""
    motion = {"velocity": [0.3, 0.0, -1.0], "angular_velocity": [5.0, -40.0, 3.0]}
    sphere = {"material": "grain", "radius": RADIUS, "positions": [[0.1, 0.0, 1.2e-3]], **motion}
    run = simulate(
        [cluster("one", (0.0, 0.0, 1.2e-3), **motion), sphere], {"one": ONE}, law={"friction": 0.5, "restitution": 0.5},
        walls=(floor(),), gravity=(0.0, 0.0, -9.81),
    )  # fmt: skip
    run.advance(4000)
    own = run.particles
    order = np.argsort(own.id)
    one, other = (own.position[order][k] - (0.1 * k, 0.0, 0.0) for k in (0, 1))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    for name in ("velocity", "angular_velocity"):
        np.testing.assert_allclose(own[name][order][0], own[name][order][1], rtol=1e-10)
    assert own.velocity[0, 2] > 0.0
    assert run.clusters.scale[0] == 1.0


@pytest.mark.parametrize("restitution", [1.0, 0.6])
@pytest.mark.parametrize("angle", [35.0, 70.0])
def test_the_end_of_a_rod_bounces_with_the_mass_that_it_shows(restitution, angle):
    """J = (1 + e) v / (1 / M + (r x n) . I^-1 . (r x n)), and the restitution is that of the law."""
    low = 4.0 * RADIUS * math.sin(math.radians(angle)) + RADIUS
    run = simulate(
        [cluster("rod", (0.0, 0.0, low + 1e-6), orientation=turned((0, 1, 0), angle), velocity=[0.0, 0.0, -0.05])],
        {"rod": ROD}, law={"restitution": restitution, "normal_stiffness": 100.0 * STIFFNESS}, walls=(floor(),),
        step=2e-8,
    )  # fmt: skip
    mass, inertia = inertia_of(run)
    end = run.particles.position[np.argmin(run.particles.position[:, 2])] - run.clusters.position[0]
    arm = np.cross(end - (0.0, 0.0, RADIUS), (0.0, 0.0, 1.0))
    shown = 1.0 / mass[0] + arm @ np.linalg.solve(inertia[0], arm)
    run.advance(4000)
    assert run.system.contacts.walls.count == 0
    impulse = (1.0 + restitution) * 0.05 / shown
    np.testing.assert_allclose(run.clusters.velocity[0], (0.0, 0.0, impulse / mass[0] - 0.05), atol=2e-5)
    np.testing.assert_allclose(spin_of(run)[0], np.linalg.solve(inertia[0], arm) * impulse, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("shape", ["pair", "tetrapod"])
def test_several_contacts_at_once_are_damped_as_the_documentation_says(shape):
    """N contacts, each with the coefficient 2 zeta sqrt(k m), m what its sphere shows alone: zeta sqrt(N m / M)."""
    shapes = {"pair": PAIR, "tetrapod": [one for one in TETRAPOD if one[2] < 0.0] + [[0.0, 0.0, 1e-3, 5e-4]]}
    run = simulate(
        [cluster(shape, (0.0, 0.0, 2.5 * RADIUS), velocity=[0.0, 0.0, -0.1])], shapes, law={"restitution": 0.5},
        walls=(floor(),), step=2e-7,
    )  # fmt: skip
    lowest = run.particles.position[:, 2].min()
    run.clusters.position[:, 2] += RADIUS + 1e-7 - lowest
    mass, inertia = inertia_of(run)
    feet = run.particles.position[run.particles.position[:, 2] < lowest + 1e-9] - run.clusters.position[0]
    arms = np.cross(feet, (0.0, 0.0, 1.0))
    shown = 1.0 / (1.0 / mass[0] + np.einsum("ni,ni->n", arms, np.linalg.solve(inertia[0], arms.T).T))
    gamma = damping_factor(0.5, hertzian=False) * np.sqrt(shown / mass[0]).sum() / math.sqrt(len(feet))
    run.advance(15000)
    assert run.system.contacts.walls.count == 0
    assert run.clusters.velocity[0, 2] / 0.1 == pytest.approx(rebound(gamma, hertzian=False), abs=2e-3)


def test_a_rod_slides_down_on_a_smooth_floor():
    """Its centre falls vertically, and 2 M g a (cos t0 - cos t) = (I + M a^2 sin^2 t) w^2; t from the vertical."""
    half, start = 4.0 * RADIUS, math.radians(20.0)
    run = simulate(
        [cluster("rod", (0.0, 0.0, half * math.cos(start) + RADIUS), orientation=turned((0, 1, 0), 90.0 - 20.0))],
        {"rod": ROD}, law={"normal_stiffness": 100.0 * STIFFNESS}, walls=(floor(),), gravity=(0.0, 0.0, -9.81),
        step=5e-7,
    )  # fmt: skip
    mass, inertia = inertia_of(run)
    across = inertia[0, 1, 1]
    for _ in range(4):
        run.advance(8000)
        height = run.clusters.position[0, 2] - RADIUS
        tilt, spin = math.acos(height / half), np.linalg.norm(spin_of(run)[0])
        fallen = 2.0 * mass[0] * 9.81 * half * (math.cos(start) - math.cos(tilt))
        assert spin**2 * (across + mass[0] * (half * math.sin(tilt)) ** 2) == pytest.approx(fallen, rel=0.01)
        assert abs(run.clusters.velocity[0, 0]) < 1e-12
    assert math.degrees(tilt) > 30.0


@pytest.mark.parametrize("slope", [20.0, 33.0])
def test_a_flat_cluster_slides_where_the_slope_is_steeper_than_friction(slope):
    """tan 26.6 = 0.5; above it slides with g (sin a - 0.5 cos a). It lies on four spheres, wide and low."""
    plate = [[x, y, 0.0, RADIUS] for x in (-2e-3, 0.0, 2e-3) for y in (-2e-3, 0.0, 2e-3)]
    angle = math.radians(slope)
    pull = (9.81 * math.sin(angle), 0.0, -9.81 * math.cos(angle))
    run = simulate(
        [cluster("plate", (0.0, 0.0, RADIUS))], {"plate": plate}, law={"friction": 0.5, "restitution": 0.3},
        walls=(floor(),), gravity=pull, step=1e-6,
    )  # fmt: skip
    run.advance(10000)
    speed = run.clusters.velocity[0, 0]
    run.advance(10000)
    gain = (run.clusters.velocity[0, 0] - speed) / 1e-2
    expected = max(0.0, 9.81 * (math.sin(angle) - 0.5 * math.cos(angle)))
    assert gain == pytest.approx(expected, abs=0.02)


def total_momenta(run):
    """Return momentum and angular momentum about the origin of all clusters."""
    mass, _ = inertia_of(run)
    table = run.clusters
    push = mass[:, None] * table.velocity
    return push.sum(axis=0), (np.cross(table.position, push) + table.angular_momentum).sum(axis=0)


def crowd(law, seed=1):
    """Return clusters of three kinds and sizes that fly towards each other."""
    rng = np.random.default_rng(seed)
    groups = []
    for k in range(24):
        place = 0.012 * (np.array(np.unravel_index(k, (3, 4, 2))) - (1.0, 1.5, 0.5))
        groups.append(cluster(
            ("rod", "pair", "tetrapod")[k % 3], place, orientation={"random": k}, radius=float(rng.uniform(1e-3, 2e-3)),
            velocity=(-20.0 * place + rng.uniform(-0.1, 0.1, 3)).tolist(),
            angular_velocity=rng.uniform(-50.0, 50.0, 3).tolist(),
        ))  # fmt: skip
    return simulate(groups, {"rod": ROD, "pair": PAIR, "tetrapod": TETRAPOD}, law=law, step=1e-6)


def test_rough_clusters_in_space_keep_momentum_and_angular_momentum():
    run = crowd({"friction": 0.5, "restitution": 0.5})
    before, scale = total_momenta(run), inertia_of(run)[0].sum()
    run.advance(60000)
    assert run.energies()["sliding"] > 0.0
    after = total_momenta(run)
    np.testing.assert_allclose(after[0], before[0], atol=1e-12 * scale)
    np.testing.assert_allclose(after[1], before[1], atol=1e-12 * scale * 0.02)
    assert abs(run.energies()["residual"]) < 2e-3 * run.energies()["normal_damping"]


def test_smooth_clusters_in_space_keep_their_energy():
    run = crowd(SMOOTH)
    before = run.measures().kinetic
    run.advance(60000)
    energies = run.energies()
    assert energies["rotation"] > 0.0
    stored = sum(energies[name] for name in ("translation", "rotation", "elastic"))
    assert stored == pytest.approx(before, rel=1e-4)
    assert abs(energies["residual"]) < 1e-4 * before


def test_members_of_one_cluster_never_meet():
    run = simulate([cluster("rod", (0, 0, 0)), cluster("rod", (0, 0, 0.1))], {"rod": ROD})
    run.advance(10)
    assert run.system.contacts.pairs.candidates == 0
    assert run.energies()["translation"] == 0.0


def test_a_cluster_hits_a_free_body_as_two_bodies_do():
    """Centrally and without loss: velocities are exchanged by their masses."""
    plate = {"name": "plate", "shape": "box", "lower": [-0.01, -0.01, -0.002], "upper": [0.01, 0.01, 0.0],
             "body": {"mass": 2e-5, "centre": [0, 0, -0.001], "inertia": [1e-9, 1e-9, 1e-9]}}  # fmt: skip
    upright = [[0.0, 0.0, 1e-3 * k, RADIUS] for k in (-1, 0, 1)]
    run = simulate(
        [cluster("rod", (0.0, 0.0, 2e-3 + 1e-6), velocity=[0.0, 0.0, -0.1])], {"rod": upright}, walls=(plate,),
        step=2e-7,
    )  # fmt: skip
    mass = inertia_of(run)[0][0]
    run.advance(20000)
    body = run.driven_walls()["plate"]
    assert run.system.contacts.walls.count == 0
    assert run.clusters.velocity[0, 2] == pytest.approx(-0.1 * (mass - 2e-5) / (mass + 2e-5), abs=1e-4)
    assert body["velocity_z"] == pytest.approx(-0.2 * mass / (mass + 2e-5), abs=1e-4)


def test_own_forces_act_on_a_cluster_as_on_a_sphere_of_its_volume_and_mass():
    """A drag of Stokes: v = g t1 (1 - exp(-t / t1)), t1 = M / (6 pi mu r); and a spring at its centre."""
    radius = (0.75 / math.pi * simulate([cluster("rod", (0, 0, 0))], {"rod": ROD}).clusters.shapes.volume[0]) ** (1 / 3)
    drag = 1e-3
    drag_force = {"kind": "drag", "viscosity": drag / (6.0 * math.pi * radius)}
    given = [cluster("rod", (0.0, 0.0, 0.5), orientation=turned((0, 1, 0), 30.0))]
    run = simulate(given, {"rod": ROD}, gravity=(0, 0, -9.81), step=1e-5, forces=[drag_force])
    mass = inertia_of(run)[0][0]
    run.advance(5000)
    time = mass / drag
    assert run.clusters.velocity[0, 2] == pytest.approx(-9.81 * time * (1.0 - math.exp(-0.05 / time)), rel=1e-6)
    assert spin_of(run)[0] == pytest.approx(0.0, abs=1e-15)
    assert abs(run.energies()["residual"]) < 1e-4 * abs(run.energies()["own_forces"])


def test_a_cluster_leaves_the_box_as_a_whole_when_its_centre_does():
    domain = {"lower": [-0.01] * 3, "upper": [0.01] * 3, "outside": "remove"}
    run = simulate(
        [cluster("rod", (0.0, 0.0, 0.0), velocity=[1.0, 0.0, 0.0]), cluster("rod", (0.0, 0.005, 0.0))], {"rod": ROD},
        step=1e-5, domain=domain,
    )  # fmt: skip
    run.advance(900)
    assert len(run.particles) == 18  # four of its spheres are outside, its centre is not
    detections = run.system.lists.detections
    run.advance(200)
    assert len(run.particles) == 9
    assert len(run.clusters) == 1
    assert run.system.lists.detections - detections < 20
    mass = DENSITY * run.clusters.shapes.volume[0]
    assert run.energies()["outflow"] == pytest.approx(0.5 * mass, rel=1e-12)


def test_density_times_volume_of_the_union_is_the_mass():
    run = simulate([cluster("pair", (0, 0, 0), velocity=[1.0, 0.0, 0.0])], {"pair": PAIR})
    assert isinstance(run, pdem.Simulation)
    assert run.energies()["translation"] == pytest.approx(0.5 * DENSITY * 8.0 / 3.0 * math.pi * RADIUS**3, rel=1e-12)
