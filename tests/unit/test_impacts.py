"""Impacts that are expected: how far particles fall, how deep they go; beds at rest; what stiffness costs."""

# ruff: noqa: E501 -- tables of one line each

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.contact.law.restitution import damping_factor
from pdem.preflight.estimates.beds import bed_depth
from pdem.preflight.estimates.impacts import expected_impact, impact_overlap
from pdem.preflight.population import Population
from pdem.preflight.preflight import preflight

BASE = """
time = {end = 10.0}
domain = {lower = [-0.5, -0.5, -1], upper = [0.5, 0.5, 1], gravity = [0, 0, -9.81]}
materials.grain = {density = 2500.0, youngs_modulus = 1e7, poisson_ratio = 0.25}
materials.steel = {}
interactions.default = {friction = 0.5, restitution = 0.4}
"""
ONE = '[[particles]]\nmaterial = "grain"\nradius = 0.01\npositions = [[0, 0, 0.5]]\n'
FLOOR = '[[walls]]\nname = "floor"\nshape = "plane"\nnormal = [0, 0, 1]\nmaterial = "steel"\n'
TABLE = '[[walls]]\nname = "table"\nshape = "box"\nlower = [-0.1, -0.1, 0.18]\nupper = [0.1, 0.1, 0.2]\nmaterial = "steel"\n'
DRUM = (
    '[[walls]]\nname = "drum"\nshape = "cylinder"\naxis = [0, 1, 0]\nradius = 0.3\nlength = 0.4\nmaterial = "steel"\n'
)
FEED = (
    '[[insertions]]\nname = "feed"\nmaterial = "grain"\nradius = 0.01\ncount = 30\n'
    'face = {shape = "disc", centre = [0, 0, 0.6], normal = [0, 0, -1], radius = 0.05}\nvelocity = 2.0\n'
)


def impact(*parts, settings=()):
    """Return the impact that is expected of a case."""
    case = Case.from_text("".join((BASE, *parts)))
    for one in settings:
        case.override(one)
    meshes = read_walls(case)
    return expected_impact(case, Population(initial_particles(case, meshes)), meshes)


def fall(height, speed=0.0):
    return pytest.approx(math.sqrt(speed**2 + 2.0 * 9.81 * height), rel=1e-6)


def test_a_fall_ends_at_the_wall_below_and_not_at_the_end_of_the_domain():
    found = impact(ONE, FLOOR)
    assert found.speed == fall(0.49)
    assert found.text == "a fall of 0.49 m onto wall floor"
    assert impact(ONE, FLOOR, settings=["walls[0].point=[0, 0, -0.5]"]).speed == fall(0.99)
    assert impact(ONE, FLOOR, settings=["particles[0].positions=[[0, 0, 0.01]]"]).speed == 0.0


def test_a_table_is_met_first_and_left_over_its_edge():
    found = impact(ONE, FLOOR, TABLE)
    assert found.speed == fall(0.29)
    assert found.text == "a fall of 0.29 m onto wall table"
    low = impact(ONE, FLOOR, TABLE, settings=["particles[0].positions=[[0, 0, 0.25]]"])
    assert low.text.startswith("a drop of 0.2 m from wall table to wall floor")
    assert low.speed == fall(0.2)


def test_a_sphere_does_not_fall_through_a_hole_that_is_narrower():
    hole = '[[walls]]\nname = "{0}"\nshape = "box"\nlower = [{1}, -0.1, 0.0]\nupper = [{2}, 0.1, 0.1]\nmaterial = "steel"\n'
    slit = hole.format("left", -0.2, -0.004) + hole.format("right", 0.004, 0.2)
    floor = FLOOR.replace("normal =", "point = [0, 0, -0.5]\nnormal =")
    wide = hole.format("left", -0.2, -0.02) + hole.format("right", 0.02, 0.2)
    assert impact(ONE, slit).speed == fall(0.39)  # the edge of the slit, 4 mm beside the centre
    assert impact(ONE, wide, floor).speed == fall(0.99)


@pytest.mark.parametrize("gravity", [[0, 0, -9.81], [0, 0, 9.81], [0, -9.81, 0], [9.81, 0, 0]])
def test_any_direction_of_gravity(gravity):
    down = np.array(gravity) / 9.81
    settings = [
        "domain.lower=[-1, -1, -1]", "domain.upper=[1, 1, 1]", f"domain.gravity={gravity}",
        f"particles[0].positions=[{(-0.4 * down).tolist()}]", f"walls[0].normal={gravity}",
        f"walls[0].point={(0.3 * down).tolist()}",
    ]  # fmt: skip
    assert impact(ONE, FLOOR, settings=settings).speed == fall(0.69)


def test_what_comes_in_falls_from_its_face_with_its_velocity():
    found = impact(FEED, FLOOR)
    # the highest point of a layer behind the face
    assert math.sqrt(2.0**2 + 2.0 * 9.81 * 0.6) <= found.speed < math.sqrt(2.0**2 + 2.0 * 9.81 * 0.66)
    assert found.text.startswith("insertion feed and a fall of 0.6")


def test_a_drum_that_turns_lifts_to_its_top():
    inside = ["particles[0].positions=[[0, 0, -0.28]]"]
    assert impact(ONE, DRUM, settings=inside).speed == pytest.approx(0.0, abs=0.5)
    turning = [*inside, "walls[0].rotation={rate=1.0, axis=[0, 1, 0]}"]
    found = impact(ONE, DRUM, settings=turning)
    assert found.speed == pytest.approx(math.sqrt(2.0 * 9.81 * 2.0 * math.hypot(0.3, 0.0)), rel=0.02)
    assert found.text.endswith("from the top to the bottom of the turn of wall drum")
    upright = [
        *inside,
        "walls[0].axis=[0, 0, 1]",
        "walls[0].length=0.6",
        "walls[0].rotation={rate=1.0, axis=[0, 0, 1]}",
    ]
    assert impact(ONE, DRUM, settings=upright).speed < 0.6


def test_speeds_of_particles_and_walls():
    still = "domain.gravity=[0, 0, 0]"
    assert impact(ONE, settings=[still]).speed == 0.0
    assert impact(ONE, FLOOR, settings=[still, "particles[0].velocity=[3, 0, 4]"]).speed == 5.0
    pair = ONE + ONE.replace("0.5]]", "0.7]]")
    towards = [still, "particles[0].velocity=[0, 0, 1]", "particles[1].velocity=[0, 0, -2]"]
    assert impact(pair, settings=towards).speed == 3.0
    assert (
        impact(pair, settings=[still, "particles[0].velocity=[1, 0, 0]", "particles[1].velocity=[1, 0, 0]"]).speed
        == 0.0
    )
    turning = [still, "walls[0].rotation={rate=10.0, axis=[0, 1, 0]}"]
    # the blade is nearer to its axis than the corners of the domain
    assert impact(ONE, DRUM, settings=turning).speed == pytest.approx(10.0 * 0.3, rel=1e-6)


def test_a_fall_lasts_no_longer_than_the_run():
    assert impact(ONE, FLOOR, settings=["time.end=0.01"]).speed == pytest.approx(0.0981)


def test_grains_fall_onto_those_that_have_settled():
    fill = '[[particles]]\nmaterial = "grain"\nradius = 0.01\nfill = {{arrangement = "{}", lower = [-0.1, -0.1, 0], upper = [0.1, 0.1, 0.4]{}}}\n'
    dense = impact(fill.format("hexagonal", ", gap = 0.0"), FLOOR)
    loose = impact(fill.format("random", ", volume_fraction = 0.1"), FLOOR)
    assert dense.speed < 1.2 < 2.0 < loose.speed < math.sqrt(2.0 * 9.81 * 0.4)


def test_without_a_wall_below_nothing_is_met():
    assert impact(ONE).speed == 0.0
    beside = FLOOR.replace('shape = "plane"', 'shape = "plane"\nsize = 0.1\npoint = [0.4, 0.4, 0.0]')
    assert impact(ONE, beside).speed == 0.0


def test_where_gravity_changes_all_of_the_domain_counts():
    stages = '[[stages]]\nname = "a"\nend = 1.0\n[[stages]]\nname = "b"\ngravity = [0, 9.81, 0]\n'
    found = impact(ONE, FLOOR, stages)
    assert found.speed == pytest.approx(math.sqrt(2.0 * 9.81 * (2.0 + 1.0)))


def reached(restitution, hertzian, speed, mass, stiffness):
    """Return the largest overlap of an impact with damping, by integration."""
    gamma = damping_factor(restitution, hertzian)

    def motion(_, state):
        overlap, velocity = max(state[0], 0.0), state[1]
        force, slope = stiffness * overlap, stiffness
        if hertzian:
            force, slope = stiffness * overlap**1.5, 1.5 * stiffness * math.sqrt(overlap)
        return velocity, -(force + 2.0 * gamma * math.sqrt(mass * slope) * velocity) / mass

    def turns(_, state):
        return state[1]

    turns.terminal, turns.direction = True, -1.0
    path = solve_ivp(motion, (0.0, 1.0), (0.0, speed), events=turns, rtol=1e-10, atol=1e-16, method="DOP853")
    return path.y[0, -1]


@pytest.mark.parametrize("restitution", [1.0, 0.9, 0.4, 0.1])
@pytest.mark.parametrize("law", ["hertz-mindlin", "linear"])
def test_damping_makes_impacts_less_deep(restitution, law):
    """The overlap is that of an undamped impact at sqrt(e) of the speed."""
    case = Case.from_text(BASE + ONE)
    stiffness = ', law = "linear", normal_stiffness = 1e5' if law == "linear" else ""
    case.override(f"interactions.default={{friction = 0.5, restitution = {restitution}{stiffness}}}")
    mass, radius, speed = 0.01, 0.005, 1.5
    modulus = 0.5 * 1e7 / (1.0 - 0.25**2)
    spring = 1e5 if law == "linear" else 4.0 / 3.0 * modulus * math.sqrt(radius)
    found = impact_overlap(case, ("grain", "grain"), mass, radius, speed)
    assert found == pytest.approx(reached(restitution, law != "linear", speed, mass, spring), rel=1e-6)


def findings(*parts, settings=()):
    case = Case.from_text("".join((BASE, *parts)))
    for one in settings:
        case.override(one)
    meshes = read_walls(case)
    found = preflight(case, initial_particles(case, meshes), meshes)
    return [one for one in found if one.subject == "stiffness"]


BED = (
    '[[particles]]\nmaterial = "grain"\nradius = 0.01\n'
    'fill = {arrangement = "hexagonal", gap = 0.0, jitter = 0.0, lower = [-0.2, -0.2, 0.0], upper = [0.2, 0.2, 0.3]}\n'
)


def test_the_bed_at_rest_is_as_deep_as_its_solid_volume_makes_it():
    case = Case.from_text(BASE + BED + FLOOR)
    particles = Population(initial_particles(case, read_walls(case)))
    solid = particles.count * 4.0 / 3.0 * math.pi * 0.01**3
    depth = bed_depth(case, particles, np.array([0.0, 0.0, -9.81]))
    assert depth == pytest.approx(solid / 0.6 / 0.4**2, rel=0.15)
    tilted = bed_depth(case, particles, np.array([0.0, 9.81, 0.0]))
    assert tilted == pytest.approx(solid / 0.6 / (0.4 * 0.3), rel=0.15)


def test_overlaps_at_rest_follow_from_the_weight_of_a_column():
    """Hertz, under the weight of as many grains as there are layers."""
    (_, at_rest) = findings(BED, FLOOR)
    assert at_rest.level == "info"
    depth = float(at_rest.message.partition("a bed of ")[2].partition(" m")[0])
    weight = 2500.0 * math.pi / 6.0 * 0.02**3 * 9.81 * depth / 0.02
    modulus = 0.5 * 1e7 / (1.0 - 0.25**2)
    overlap = (3.0 * weight / (4.0 * modulus * math.sqrt(0.005))) ** (2.0 / 3.0) / 0.01
    told = float(at_rest.message.partition("of about ")[2].partition(" %")[0]) / 100.0
    assert told == pytest.approx(overlap, rel=0.05)
    assert told > 0.01
    assert "the stiffness makes them 1 %, with " in at_rest.message


@pytest.mark.parametrize(
    ("modulus", "level", "text"),
    [
        (1e9, "info", "below 1 % bulk results hardly depend on the stiffness"),
        (1e7, "info", "bulk results depend on it a little"),
        (1.5e5, "warning", "check the unit of youngs_modulus and of lengths"),
    ],
)
def test_soft_beds_are_judged(modulus, level, text):
    found = findings(
        BED, FLOOR, settings=[f"materials.grain.youngs_modulus={modulus}", "materials.grain.density=1000.0"]
    )
    (one,) = (one for one in found if "at rest" in one.message)
    assert (one.level, text in one.message) == (level, True), one.message


def test_what_stone_costs():
    *_, cost = findings(BED, FLOOR, settings=["materials.grain.youngs_modulus=7e10"])
    assert cost.level == "info"
    assert cost.message.startswith("materials.grain.youngs_modulus = ")
    assert "in place of 7e10 Pa would make the run " in cost.message
    softer = cost.message.partition(" = ")[2].partition(" Pa")[0]
    gain = float(cost.message.partition("make the run ")[2].partition(" times")[0])
    case = Case.from_text(BASE + BED + FLOOR)
    case.override("materials.grain.youngs_modulus=7e10")
    before = case.resolved_step()
    case.override(f"materials.grain.youngs_modulus={softer}")
    assert case.resolved_step() / before == pytest.approx(gain, rel=0.06)
    assert gain > 10.0
    deepest = float(cost.message.partition("overlap by ")[2].partition(" %")[0])
    (told, *_) = findings(BED, FLOOR, settings=[f"materials.grain.youngs_modulus={softer}"])
    assert f"overlaps by {deepest:.2g}" in told.message or deepest == pytest.approx(
        float(told.message.partition("overlaps by ")[2].partition(" %")[0]), rel=0.05
    )
    assert deepest <= 5.0


def test_nothing_is_suggested_where_stiffness_has_other_reasons():
    stone = "materials.grain.youngs_modulus=7e10"
    adhesion = 'interactions.default={friction=0.5, restitution=0.4, adhesion={model="jkr", work_of_adhesion=0.05}}'
    assert not any("in place of" in one.message for one in findings(BED, FLOOR, settings=[stone, adhesion]))
    servo = "walls[0].servo={axis=[0, 0, 1], force=-10.0, largest_rate=0.1}"
    assert not any("in place of" in one.message for one in findings(BED, FLOOR, settings=[stone, servo]))
    assert not any("in place of" in one.message for one in findings(ONE, FLOOR, settings=[stone]))  # a single sphere
    assert not any("in place of" in one.message for one in findings(BED, FLOOR))
