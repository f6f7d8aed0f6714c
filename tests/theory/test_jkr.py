"""Adhesion after Johnson, Kendall and Roberts: numbers of the theory, impacts, pulling apart, particles and walls."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.cases import Grains, quad, simulate, state_of
from helpers.sticky import with_all_models
from pdem.contact.law.kinds import jkr
from pdem.contact.law.parts import MaterialProperties, Pair

pytestmark = pytest.mark.shares_law("sticky")

E, W = 1e7, 0.1
"""Effective modulus [Pa], work of adhesion [J/m2]."""

SOFT = {"density": 1000.0, "youngs_modulus": 2.0 * E, "poisson_ratio": 0.0}
HALF = {"density": 1000.0, "youngs_modulus": E, "poisson_ratio": 0.0}
"""Two of the first, or one of the second and a rigid wall, have the effective modulus E."""


def law(work=W, detach="displacement", **others):
    return {
        "friction": 0.5, "restitution": 1.0, "rolling": {"model": "spring", "friction": 0.2}, **others,
        "adhesion": {"model": "jkr", "work_of_adhesion": work, "detach": detach},
    }  # fmt: skip


def coefficients(detach="displacement"):
    soft = MaterialProperties(1000.0, 2.0 * E, 0.0)
    values = jkr.JKR.values(Pair(soft, soft, {"work_of_adhesion": W, "detach": detach}))
    return SimpleNamespace(modulus=2.0 * E, **dict(zip(jkr.JKR.coefficients, values, strict=True)))


def units(radius):
    """Return the largest pull and distance of the theory, and the energy that is their product."""
    pull = 1.5 * math.pi * W * radius
    distance = 0.75 * (math.pi**2 * W**2 * radius / E**2) ** (1.0 / 3.0)
    return pull, distance, pull * distance


@pytest.mark.parametrize("radius", [1e-6, 5e-4, 0.3])
def test_the_force_is_the_parametric_curve_of_the_theory(radius):
    """F/F_c = 4 s^3 - 4 s^(3/2), overlap/delta_c = 6^(1/3) (2 s^2 - 4/3 s^(1/2)), s = a/a0."""
    pull, distance, energy = units(radius)
    c = coefficients()
    for s in np.geomspace(0.304, 30.0, 60):
        overlap = distance * 6.0 ** (1 / 3) * (2.0 * s**2 - 4.0 / 3.0 * s**0.5)
        force, contact_radius, most = jkr.elastic(overlap, radius, c, 0.0, 0.0)
        assert force == pytest.approx(pull * (4.0 * s**3 - 4.0 * s**1.5), rel=1e-11, abs=1e-10 * pull)
        assert contact_radius == pytest.approx(s * (9.0 * math.pi * W * radius**2 / (2.0 * E)) ** (1 / 3), rel=1e-11)
        assert most == pytest.approx(2.0 * pull, rel=1e-13)
        shape = 6.0 ** (1 / 3) * (3.2 * s**5 - 16.0 / 3.0 * s**3.5 + 4.0 / 3.0 * s**2)
        assert jkr.energy(overlap, radius, c, 0.0) == pytest.approx(
            energy * (shape + 0.8466138944), rel=1e-9, abs=1e-9 * energy
        )


def test_points_of_the_theory():
    c, radius = coefficients(), 5e-4
    pull, distance, energy = units(radius)
    assert pull == pytest.approx(2.3561945e-4)
    assert distance == pytest.approx(5.9267669e-7)
    at = lambda overlap: jkr.elastic(overlap, radius, c, 0.0, 0.0)[0]  # noqa: E731
    assert at(7.1797668e-7) == pytest.approx(0.0, abs=1e-7 * pull)
    assert at(0.0) == pytest.approx(-8.0 / 9.0 * pull)
    assert at(-jkr.LARGEST_PULL * distance) == pytest.approx(-pull)
    assert at(-distance) == pytest.approx(-5.0 / 9.0 * pull)
    assert jkr.energy(-distance, radius, c, 0.0) == pytest.approx(0.935502777 * energy, rel=1e-8)
    assert jkr.gap(radius, c) == pytest.approx(distance)
    assert jkr.gap(radius, coefficients("force")) == pytest.approx(0.4807498568 * distance)
    step = 1e-11
    stiffness = (at(7.1797668e-7 + step) - at(7.1797668e-7 - step)) / (2.0 * step)
    assert stiffness == pytest.approx(jkr.stiffness(radius, c), rel=1e-6)


def test_without_adhesion_it_is_hertz():
    soft = MaterialProperties(1000.0, 2.0 * E, 0.0)
    values = jkr.JKR.values(Pair(soft, soft, {"work_of_adhesion": 1e-18, "detach": "displacement"}))
    c = SimpleNamespace(modulus=2.0 * E, **dict(zip(jkr.JKR.coefficients, values, strict=True)))
    force, contact_radius, _ = jkr.elastic(1e-6, 1e-3, c, 0.0, 0.0)
    assert force == pytest.approx(4.0 / 3.0 * E * math.sqrt(1e-3) * 1e-6**1.5, rel=1e-7)
    assert contact_radius == pytest.approx(math.sqrt(1e-9), rel=1e-7)


def test_cube_roots_are_right_to_the_last_digits():
    for value in np.geomspace(1e-12, 1e6, 200):
        assert jkr.cube_root(value) == pytest.approx(value ** (1.0 / 3.0), rel=4e-16)


def sticking_speed(mass, radius):
    return math.sqrt(14.184392 / mass) * (W**5 * radius**4 / E**2) ** (1.0 / 6.0)


def meeting(folder, wall, factor, detach="displacement", **options):
    """Return two spheres, or a sphere and a wall, that meet at a factor times the sticking speed; and that speed."""
    radius = 1e-3
    effective = radius if wall else 0.5 * radius
    mass = 1000.0 * 4.0 / 3.0 * math.pi * radius**3 * (1.0 if wall else 0.5)
    speed = factor * sticking_speed(mass, effective)
    apart = 0.3 * units(effective)[1]
    step = 0.01 * units(effective)[1] / speed
    options |= with_all_models({"grain": HALF if wall else SOFT, "steel": {}})
    if wall:
        grains = Grains([[0.0, 0.0, radius + apart]], radius, (0.0, 0.0, -speed))
        options["walls"] = ({"mesh": quad(0.1)},)
    else:
        place = [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0 * radius + apart]]
        grains = Grains(place, radius, [[0.0, 0.0, 0.5 * speed], [0.0, 0.0, -0.5 * speed]])
    run = simulate(
        folder, grains, law=law(detach=detach), step=step, lower=(-0.1,) * 3, upper=(0.1,) * 3,
        **options,
    )  # fmt: skip
    return run, speed


def relative_speed(run):
    velocity = run.gather()["velocity"][:, 2]
    return velocity[0] if len(velocity) == 1 else velocity[1] - velocity[0]


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
@pytest.mark.parametrize("factor", [1.1, 1.5, 4.0])
def test_a_rebound_loses_what_the_theory_says(tmp_path, wall, factor):
    """e = sqrt(1 - (v_s / v)^2) without damping; what is lost is called adhesion."""
    run, speed = meeting(tmp_path, wall, factor)
    run.advance(6000)
    assert run.measures().pair_contacts + run.measures().wall_contacts == 0
    assert relative_speed(run) / speed == pytest.approx(math.sqrt(1.0 - 1.0 / factor**2), rel=0.02)
    energies = run.energies()
    unit = units(1e-3 if wall else 5e-4)[2]
    assert energies["adhesion"] == pytest.approx(0.9355 * unit, rel=0.02)
    assert abs(energies["residual"]) < 0.02 * energies["adhesion"]


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
def test_below_the_sticking_speed_it_sticks(tmp_path, wall):
    run, _ = meeting(tmp_path, wall, 0.97)
    run.advance(8000)
    measured = run.measures()
    assert measured.pair_contacts + measured.wall_contacts == 1
    assert abs(run.energies()["residual"]) < 0.01 * units(1e-3 if wall else 5e-4)[2]  # of the first touch, a step late


def test_detachment_by_force_loses_half(tmp_path):
    run, _ = meeting(tmp_path, False, 1.5, detach="force")
    run.advance(6000)
    assert run.energies()["adhesion"] == pytest.approx(0.4620 * units(5e-4)[2], rel=0.02)


def test_spheres_that_have_not_touched_do_not_pull(tmp_path):
    radius, distance = 1e-3, units(5e-4)[1]
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, 0.0], [0.0, 0.0, 2.0 * radius + 0.1 * distance]], radius), law=law(),
        step=1e-6, **with_all_models({"grain": SOFT, "steel": {}}),
    )  # fmt: skip
    run.advance(200)
    assert not run.gather()["velocity"].any()


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
def test_a_stretched_contact_lasts_over_lists_and_a_restart(tmp_path, wall):
    """With lists made in every step, and from a state taken while the bodies do not touch."""
    runs = {}
    for skin in (0.0, 0.5):
        run, _ = meeting(tmp_path, wall, 1.2, detection={"skin": skin})
        overlap, steps = 1.0, 0
        while overlap > -0.5 * units(1e-3 if wall else 5e-4)[1]:
            run.advance(10)
            steps += 10
            place = run.gather()["position"][:, 2]
            overlap = 1e-3 - place[0] if wall else 2e-3 - (place[1] - place[0])
            assert steps < 5000
        measured = run.measures()
        assert measured.pair_contacts + measured.wall_contacts == 1
        runs[skin] = run
    states = {skin: state_of(run) for skin, run in runs.items()}
    np.testing.assert_array_equal(*(state["particles"]["velocity"] for state in states.values()))
    again, _ = meeting(tmp_path, wall, 1.2, detection={"skin": 0.0}, state=states[0.5])
    again.advance(50)
    runs[0.0].advance(50)
    assert again.gather()["velocity"].tobytes() == runs[0.0].gather()["velocity"].tobytes()


@pytest.mark.parametrize("share", [0.98, 1.04])
def test_a_sphere_under_a_plate_falls_when_it_is_too_heavy(tmp_path, share):
    """It weighs a share of the largest pull, 1.5 pi w R."""
    radius = 1e-3
    mass = 1000.0 * 4.0 / 3.0 * math.pi * radius**3
    gravity = share * units(radius)[0] / mass
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, 1e-9 - radius]], radius), law=law(restitution=0.3),
        gravity=(0.0, 0.0, -0.2 * gravity), walls=({"mesh": quad(0.1)},), step=2e-7, lower=(-0.1,) * 3,
        upper=(0.1,) * 3, **with_all_models({"grain": HALF, "steel": {}}),
    )  # fmt: skip
    run.advance(100)  # it touches, and hangs by a little
    for part in np.linspace(0.2, 1.0, 40):
        run.system.constants.gravity[2] = -part * gravity
        run.advance(150)
    run.advance(8000)
    assert run.measures().wall_contacts == (1 if share < 1.0 else 0)
