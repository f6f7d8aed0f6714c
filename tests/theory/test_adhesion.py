"""Adhesion: numbers of the theories of all models, impacts, bridges that are drawn out, particles that hang."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.cases import Grains, quad, simulate, state_of
from helpers.sticky import ADHESION, MODULUS, sticky_case, sticky_law
from pdem.contact.law.contact_law import PartUse, Recipe
from pdem.contact.law.contact_spring import ContactSpring
from pdem.contact.law.kinds import liquid_bridge
from pdem.contact.law.kinds.hertz import HERTZ
from pdem.contact.law.kinds.linear import LINEAR
from pdem.contact.law.models import PARTS
from pdem.contact.law.parts import MaterialProperties
from pdem.containers.meshes.mesh import Mesh

pytestmark = pytest.mark.shares_law("sticky")

SOFT = MaterialProperties(1000.0, 2.0 * MODULUS, 0.0)
R = 5e-4
W = 0.1
"""Effective radius [m] and work of adhesion [J/m2]."""


def spring_of(name, **changes):
    """Return the contact of two particles of effective modulus `MODULUS` with one of the models of adhesion."""
    table = {**ADHESION[name], **changes}
    part = PARTS["adhesion"][table["model"]]
    keys = {"restitution": 1.0, "friction": 0.5}
    adhesion = PartUse(part, {**{key.name: key.default for key in part.keys}, **table})
    return ContactSpring(Recipe(PartUse(HERTZ, keys), adhesion=adhesion, keys=keys), SOFT, SOFT)


def bridge(**changes):
    keys = dict.fromkeys(liquid_bridge.VOLUMES) | {"surface_tension": 0.07, "contact_angle": 30.0, **changes}
    values = liquid_bridge.LIQUID_BRIDGE.values(SimpleNamespace(keys=keys))
    return SimpleNamespace(**dict(zip(liquid_bridge.LIQUID_BRIDGE.coefficients, values, strict=True)))


@pytest.mark.parametrize("name", ADHESION)
def test_the_force_is_the_slope_of_the_energy(name):
    spring = spring_of(name)
    gap = spring.gap(R)
    scale = spring.resting_overlap(R)
    assert spring.sticking_energy(0.0, R) == pytest.approx(0.0, abs=1e-9 * scale)
    for overlap in np.concatenate((np.linspace(-0.98, -0.02, 9) * gap, np.linspace(0.03, 3.0, 9) * scale)):
        if overlap == 0.0:
            continue
        h = 1e-4 * max(abs(overlap), 0.01 * scale)
        slope = (spring.sticking_energy(overlap + h, R) - spring.sticking_energy(overlap - h, R)) / (2.0 * h)
        most = abs(spring.sticking_force(0.5 * scale, R))
        assert spring.sticking_force(overlap, R) == pytest.approx(slope, rel=1e-5, abs=1e-5 * most)


def test_points_of_dmt():
    """F = -2 pi w R at the touch, equilibrium at (3 pi w sqrt(R) / (2 E))^(2/3)."""
    spring = spring_of("dmt")
    assert spring.sticking_force(0.0, R) == pytest.approx(-3.1415927e-4, rel=1e-7)
    assert spring.resting_overlap(R) == pytest.approx(1.0355016e-6, rel=1e-7)
    assert spring.gap(R) == 0.0
    assert spring.adhesive_stiffness(R) == pytest.approx(2.0 * MODULUS * math.sqrt(R * 1.0355016e-6), rel=1e-7)


@pytest.mark.parametrize(("area", "factor"), [("lens", 1.0), ("double", 2.0)])
def test_points_of_a_pull_by_area(area, factor):
    k = 2e5
    spring = spring_of("linear", area=area)
    assert spring.resting_overlap(R) == pytest.approx(factor**2 * (3.0 * math.pi * k / (2.0 * MODULUS)) ** 2 * R)
    at = factor**2 * math.pi**2 * k**2 * R / MODULUS**2
    least = -(factor**3) * 2.0 / 3.0 * math.pi**3 * k**3 * R**2 / MODULUS**2
    assert spring.sticking_force(at, R) == pytest.approx(least, rel=1e-12)
    for other in (0.9 * at, 1.1 * at):
        assert spring.sticking_force(other, R) > least


@pytest.mark.parametrize("relative", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("angle", [0.0, 40.0, 89.0])
def test_points_of_a_bridge(relative, angle):
    """The force at the touch and at rupture, Lian's distance, and the work to draw it out, by quadrature."""
    c = bridge(contact_angle=angle, relative_volume=relative)
    volume, theta = relative * (2.0 * R) ** 3, math.radians(angle)
    most = 2.0 * math.pi * 2.0 * R * 0.07 * math.cos(theta)
    rupture = (1.0 + 0.5 * theta) * volume ** (1.0 / 3.0)
    assert liquid_bridge.gap(R, c) == pytest.approx(rupture, rel=1e-14)
    assert liquid_bridge.elastic(0.0, R, c, 0.0, 0.0) == pytest.approx((-most, 0.0, most), rel=1e-14)
    s = rupture * math.sqrt(2.0 * R / volume)
    force, _, held = liquid_bridge.elastic(-rupture, R, c, 0.0, 1.0)
    assert -force == held == pytest.approx(most / (1.0 + 1.05 * s + 2.5 * s * s), rel=1e-13)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    at = 0.5 * rupture * (1.0 + nodes)
    work = sum(
        0.5 * rupture * w * -liquid_bridge.elastic(-x, R, c, 0.0, 0.0)[0] for x, w in zip(at, weights, strict=True)
    )
    assert liquid_bridge.energy(-rupture, R, c, 0.0) == pytest.approx(work, rel=1e-9)
    limit = 0.826273 * most * math.sqrt(volume / (2.0 * R))
    assert liquid_bridge.energy(-1e6 * R, R, c, 0.0) == pytest.approx(limit, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "pull"),
    [
        ("dmt", lambda overlap: 2.0 * math.pi * W * R),
        ("linear", lambda overlap: 2.0 * math.pi * 2e5 * R * overlap),
        ("wet", lambda overlap: 4.0 * math.pi * R * 0.07 * math.cos(math.radians(30.0))),
    ],
)
def test_on_linear_springs(name, pull):
    """They rest where spring and pull balance, and a bridge that is drawn out has no stiffness to damp."""
    k = 1e4
    part = PARTS["adhesion"][ADHESION[name]["model"]]
    keys = {"restitution": 1.0, "friction": 0.5, "normal_stiffness": k}
    use = PartUse(part, {key.name: key.default for key in part.keys} | ADHESION[name])
    spring = ContactSpring(Recipe(PartUse(LINEAR, keys), adhesion=use, keys=keys), SOFT, SOFT)
    for overlap in (1e-9, 1e-6, 1e-4):
        assert spring.sticking_force(overlap, R) == pytest.approx(k * overlap - pull(overlap), rel=1e-12)
    if name == "linear":
        assert spring.resting_overlap(R) < 1e-12 * R
    else:
        assert spring.resting_overlap(R) == pytest.approx(pull(0.0) / k, rel=1e-9)
    assert spring.adhesive_stiffness(R) in (0.0, k)
    if name == "wet":
        _, factor, _ = part.elastic(-1e-6, R, spring._coefficients_of(use), 0.0, 1.0)
        assert factor == 0.0


def test_a_given_volume_is_that_of_every_bridge():
    given, relative = bridge(volume=1e-12), bridge(relative_volume=1e-12 / (2.0 * R) ** 3)
    for overlap in (1e-6, -1e-6, -1e-4):
        expected = pytest.approx(liquid_bridge.elastic(overlap, R, given, 0.0, 1.0), rel=1e-13)
        assert liquid_bridge.elastic(overlap, R, relative, 0.0, 1.0) == expected
    assert liquid_bridge.gap(0.3 * R, given) == liquid_bridge.gap(R, given)


def test_the_arc_tangent_is_right_to_the_last_digits():
    for value in np.linspace(0.0, 3.0, 400):
        assert liquid_bridge.arc_tangent(value) == pytest.approx(math.atan(value), rel=1e-15, abs=1e-17)


@pytest.mark.parametrize("name", ADHESION)
def test_friction_sees_no_less_than_nothing(name):
    """The load is the elastic force; for elastic spheres that pull each other it is that of Thornton."""
    spring = spring_of(name)
    use = spring._recipe.adhesion
    c = spring._coefficients_of(use)
    for overlap in np.linspace(-spring.gap(R), 3.0 * spring.resting_overlap(R), 21):
        dry = HERTZ.elastic(max(overlap, 0.0), R, spring.coefficients)
        force, _, held = use.part.elastic(overlap, R, c, *dry)
        expected = force + 3.0 * math.pi * W * R if name == "jkr" else dry[0]
        assert force + held == pytest.approx(expected, rel=1e-12, abs=1e-18)
        assert force + held >= -1e-18


def loss_of(name, effective):
    """Return what separating two bodies that have touched takes [J]."""
    spring = spring_of(name)
    return spring.sticking_energy(-spring.gap(effective), effective)


def meeting(folder, name, speed, *, wall=False, steps_per=300.0, laws=None, **options):
    """Return two spheres, or a sphere and a wall, that meet at a speed [m/s]; a step is a part of what they rest in."""
    radius = 1e-3
    effective = radius if wall else 0.5 * radius
    rest = spring_of(name).resting_overlap(effective)
    apart, step = 0.3 * rest, rest / speed / steps_per
    options |= sticky_case(wall=wall, **(laws or {}))
    if wall:
        grains = Grains([[0.0, 0.0, radius + apart]], radius, (0.0, 0.0, -speed), material=name)
        options.setdefault("walls", ({"mesh": quad(0.1)},))
    else:
        place = [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0 * radius + apart]]
        grains = Grains(place, radius, [[0.0, 0.0, 0.5 * speed], [0.0, 0.0, -0.5 * speed]], material=name)
    return simulate(folder, grains, step=step, lower=(-0.1,) * 3, upper=(0.1,) * 3, **options)


def mass_of(wall):
    return 1000.0 * 4.0 / 3.0 * math.pi * 1e-9 * (1.0 if wall else 0.5)


def relative_speed(run):
    velocity = run.gather()["velocity"][:, 2]
    return velocity[0] if len(velocity) == 1 else velocity[1] - velocity[0]


def contacts(run):
    measured = run.measures()
    return measured.pair_contacts + measured.wall_contacts


def part(run, most=40000):
    """Let two bodies go on until they have parted."""
    while contacts(run):
        run.advance(500)
        assert run.step < most


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
@pytest.mark.parametrize("factor", [0.97, 1.1, 3.0])
def test_a_bridge_takes_what_the_theory_says(tmp_path, wall, factor):
    """Rebounds at e = sqrt(1 - (v_s / v)^2) above the speed v_s that the bridge takes, no rebound below."""
    loss = loss_of("wet", 1e-3 if wall else 5e-4)
    sticking = math.sqrt(2.0 * loss / mass_of(wall))
    run = meeting(tmp_path, "wet", factor * sticking, wall=wall, steps_per=50.0)
    run.advance(100)
    if factor < 1.0:
        run.advance(40000)
        assert contacts(run) == 1
        assert abs(run.energies()["residual"]) < 0.01 * loss
        return
    part(run)
    expected = math.sqrt(1.0 - 1.0 / factor**2)
    assert relative_speed(run) / (factor * sticking) == pytest.approx(expected, rel=0.02)
    energies = run.energies()
    assert energies["adhesion"] == pytest.approx(loss, rel=0.01)
    assert abs(energies["residual"]) < 0.005 * loss * factor**2


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
@pytest.mark.parametrize("name", ["dmt", "linear"])
def test_what_ends_at_the_touch_loses_nothing(tmp_path, name, wall):
    run = meeting(tmp_path, name, 0.02, wall=wall)
    run.advance(3000)
    assert contacts(run) == 0
    assert relative_speed(run) == pytest.approx(0.02, rel=2e-3)
    energies = run.energies()
    assert energies["adhesion"] == 0.0
    assert abs(energies["residual"]) < 5e-3 * 0.5 * mass_of(wall) * 0.02**2


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
def test_others_do_not_pull_where_some_do(tmp_path, wall):
    """A damped impact of dry particles in a law in which others stick."""
    dry = {key: value for key, value in sticky_law("dmt", restitution=0.3).items() if key != "adhesion"}
    run = meeting(tmp_path, "dmt", 0.05, wall=wall, laws={"dmt": {**sticky_law("dmt"), "restitution": 0.3}})
    lost = run.energies()
    assert lost["normal_damping"] == 0.0
    options = sticky_case(wall=wall, dry=dry)
    grains = Grains([[0.0, 0.0, 1.0001e-3]], 1e-3, (0.0, 0.0, -0.05), material="dry")
    walls = ({"mesh": quad(0.1)},)
    if not wall:
        place = [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0001e-3]]
        grains, walls = Grains(place, 1e-3, [[0.0, 0.0, 0.025], [0.0, 0.0, -0.025]], material="dry"), ()
    run = simulate(tmp_path, grains, step=4e-6, walls=walls, **options)
    run.advance(3000)
    assert contacts(run) == 0
    assert relative_speed(run) == pytest.approx(0.3 * 0.05, rel=0.01)
    assert run.energies()["adhesion"] == 0.0


@pytest.mark.parametrize("name", ["dmt", "wet"])
@pytest.mark.parametrize("share", [0.98, 1.03])
def test_a_sphere_under_a_plate_falls_when_it_is_too_heavy(tmp_path, name, share):
    """It weighs a share of the largest pull: 2 pi w R, or 4 pi R sigma cos(theta)."""
    radius = 1e-3
    most = -spring_of(name).sticking_force(0.0, radius)
    assert most == pytest.approx(
        2.0 * math.pi * W * radius if name == "dmt" else 4.0 * math.pi * radius * 0.07 * math.cos(math.radians(30.0))
    )
    gravity = share * most / (1000.0 * 4.0 / 3.0 * math.pi * radius**3)
    options = sticky_case(wall=True, **{name: sticky_law(name, restitution=0.2)})
    run = simulate(
        tmp_path, Grains([[0.0, 0.0, 1e-6 - radius]], radius, material=name), gravity=(0.0, 0.0, -0.2 * gravity),
        walls=({"mesh": quad(0.1)},), step=2e-6, lower=(-0.1,) * 3, upper=(0.1,) * 3, **options,
    )  # fmt: skip
    run.advance(400)
    for part in np.linspace(0.2, 1.0, 40):
        run.system.constants.gravity[2] = -part * gravity
        run.advance(60)
    run.advance(6000)
    assert contacts(run) == (1 if share < 1.0 else 0)


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
def test_a_stretched_bridge_lasts_over_lists_and_a_restart(tmp_path, wall):
    """With lists made in every step, and from a state taken while the bodies do not touch."""
    effective = 1e-3 if wall else 5e-4
    speed = 1.1 * math.sqrt(2.0 * loss_of("wet", effective) / mass_of(wall))
    gap, runs = spring_of("wet").gap(effective), {}
    for skin in (0.0, 0.5):
        run = meeting(tmp_path, "wet", speed, wall=wall, steps_per=50.0, detection={"skin": skin})
        overlap, steps = 1.0, 0
        while overlap > -0.3 * gap:
            run.advance(10)
            steps += 10
            place = run.gather()["position"][:, 2]
            overlap = 1e-3 - place[0] if wall else 2e-3 - (place[1] - place[0])
            assert steps < 8000
        assert contacts(run) == 1
        runs[skin] = run
    states = {skin: state_of(run) for skin, run in runs.items()}
    np.testing.assert_array_equal(*(state["particles"]["velocity"] for state in states.values()))
    again = meeting(tmp_path, "wet", speed, wall=wall, steps_per=50.0, detection={"skin": 0.0}, state=states[0.5])
    again.advance(40)
    runs[0.0].advance(40)
    assert again.gather()["velocity"].tobytes() == runs[0.0].gather()["velocity"].tobytes()


def fan(height=0.0, off=0.0):
    """Return a square of four triangles that meet at a point."""
    corners = [(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1), (off, off)]
    return Mesh([[x, y, height] for x, y in corners], [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])


@pytest.mark.parametrize("name", ADHESION)
def test_adhesion_does_not_see_the_triangulation_of_a_wall(tmp_path, name):
    """A sphere hits a square, four triangles at their common corner, and these at an edge: one contact, one pull."""
    loss = loss_of(name, 1e-3)
    speed = 1.2 * math.sqrt(2.0 * loss / mass_of(True)) if loss > 0.0 else 0.02
    steps = {"wet": 50.0, "jkr": 60.0}.get(name, 100.0)
    reached = []
    for mesh in (quad(0.1), fan(), fan(off=3e-5)):
        run = meeting(tmp_path, name, speed, wall=True, steps_per=steps, walls=({"mesh": mesh},))
        run.advance(int(1.5 * steps))
        assert contacts(run) == 1
        part(run)
        reached.append((relative_speed(run), run.energies()["adhesion"]))
    for other in reached[1:]:
        assert other == pytest.approx(reached[0], rel=1e-9)
