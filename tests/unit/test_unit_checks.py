"""Mistakes of units and forgotten gravity before a run; plausible cases are not warned of."""

# ruff: noqa: E501 -- tables of one line each

from __future__ import annotations

import numpy as np
import pytest

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.preflight.estimates.lengths import length_text
from pdem.preflight.preflight import preflight
from pdem.preflight.unit_checks import material_unit_warnings, radius_unit_warnings

BOX = """
time = {{end = {end}}}
domain = {{lower = [-{half}, -{half}, 0], upper = [{half}, {half}, {height}], gravity = [0, 0, -9.81]}}
materials.grain = {{density = {density}, youngs_modulus = {modulus}, poisson_ratio = 0.25}}
materials.steel = {{}}
interactions.default = {{friction = 0.5, restitution = 0.4}}
[[particles]]
material = "grain"
radius = {radius}
fill = {{count = {count}, lower = [-{inner}, -{inner}, {low}], upper = [{inner}, {inner}, {high}]}}
[[walls]]
shape = "box"
lower = [-{half}, -{half}, 0]
upper = [{half}, {half}, {height}]
material = "steel"
"""


def box(half=0.1, height=0.3, radius=0.005, end=1.0, modulus=5e6, density=2500.0, count=100):
    """Return a box of grains."""
    inner, low, high = 0.9 * half, 0.04 * height, 0.9 * height
    return BOX.format(**locals())


def findings(text, *settings):
    case = Case.from_text(text)
    for one in settings:
        case.override(one)
    meshes = read_walls(case)
    return preflight(case, initial_particles(case, meshes), meshes)


def warned(text, *settings):
    """Return the warnings and errors but those of the processes of this machine."""
    return [str(one) for one in findings(text, *settings) if one.level != "info" and one.subject != "processes"]


def test_a_sound_case_is_not_warned_of():
    assert warned(box()) == []


def test_sizes_are_told_in_the_units_in_which_people_think():
    (one,) = (one for one in findings(box()) if one.subject == "sizes")
    assert (one.level, one.message) == ("info", "diameters of 10 mm in a box of 200 mm x 200 mm x 300 mm")
    assert [length_text(size) for size in (2e-5, 9.5e-4, 1e-3, 0.25, 1.0, 40.0, 2500.0)] == [
        "20 um", "950 um", "1 mm", "250 mm", "1 m", "40 m", "2.5 km",
    ]  # fmt: skip


@pytest.mark.parametrize("end", [0.5, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("modulus", [5e6, 1e7])
def test_all_lengths_in_millimetres(end, modulus):
    lines = warned(box(100.0, 300.0, 5.0, end=end, modulus=modulus))
    (line,) = (line for line in lines if line.startswith("warning: units: "))
    assert "particles are up to 10 m in diameter" in line
    assert "all lengths are in m; are yours in mm?" in line
    assert "a radius of 5 mm is 0.005" in line


def test_lengths_in_millimetres_with_the_modulus_of_stone():
    (line, *_) = warned(box(100.0, 300.0, 5.0, end=2.0, modulus=7e10))
    assert "all lengths are in m; are yours in mm?" in line


@pytest.mark.parametrize("radius", [5e-6, 5e-7])
def test_a_radius_that_is_dust(radius):
    lines = warned(box(radius=radius), "time.step=1e-12")
    (line,) = (line for line in lines if "units" in line)
    assert "check the unit of the radius (m; 5 mm is 0.005)" in line


def test_a_radius_of_an_insertion_that_is_dust():
    feed = """
[[insertions]]
name = "feed"
material = "grain"
radius = 5e-6
count = 100
face = {shape = "disc", centre = [0, 0, 0.25], normal = [0, 0, -1], radius = 0.08}
velocity = 0.5
"""
    lines = warned(box() + feed, "particles[0].fill.count=30", "time.step=1e-12")
    assert any("particles of insertion feed of 10 um diameter at most are spread over 160 mm" in one for one in lines)


@pytest.mark.parametrize(
    ("change", "texts"),
    [
        ("materials.grain.youngs_modulus=70", ["in GPa or MPa?", "as 70 GPa it is 7e10", "as 70 MPa it is 7e7"]),
        ("materials.grain.youngs_modulus=0.07", ["in GPa or MPa?", "as 0.07 GPa it is 7e7"]),
        ("materials.grain.youngs_modulus=70000", ["as dense as this one", "as 70000 MPa it is 7e10"]),
        ("materials.grain.youngs_modulus=210000", ["as 210000 MPa it is 2.1e11"]),
        ("materials.grain.youngs_modulus=7e13", ["is above all materials", "in another unit?"]),
        ("materials.grain.density=2.5", ["is it in g/cm3?", "as 2.5 g/cm3 it is 2500"]),
        ("materials.grain.density=7.85", ["as 7.85 g/cm3 it is 7850"]),
        ("materials.grain.density=2.5e-3", ["as 0.0025 g/mm3 it is 2500"]),
        ("materials.grain.density=2.5e-6", ["as 2.5e-06 kg/mm3 it is 2500"]),
        ("materials.grain.density=7.85e-9", ["as 7.85e-09 t/mm3 it is 7850"]),
        ("materials.grain.density=2.5e6", ["as 2.5e+06 g/m3 it is 2500"]),
        ("interactions.default.friction=30", ["is it an angle? Give its tangent: 0.577 for 30 degrees"]),
        ("materials.grain={density=2500.0, youngs_modulus=5e6, poisson_ratio=0.25, friction=25}", ["0.466 for 25 degrees"]),
        (
            'interactions.default={friction=0.5, restitution=0.4, adhesion={model="liquid-bridge", '
            "surface_tension=72, contact_angle=0, volume=1e-12}}",
            ["surface_tension = 72 N/m is more than any liquid has; in mN/m it is 0.072"],
        ),
        ("domain.gravity=[0, 0, -981]", ["looks like cm/s2"]),
        ("domain.gravity=[0, 0, -9810]", ["looks like mm/s2"]),
        ("domain.gravity=[0, 0, -32.2]", ["looks like ft/s2"]),
        ("domain.gravity=[0, 0, -386]", ["looks like in/s2"]),
        ("domain.gravity=[0, 0, -0.00981]", ["looks like km/s2"]),
        ("particles[0].velocity=[0, 0, -500]", ["particles[0].velocity of 500 m/s", "in mm/s it is 0.5 m/s"]),
        ("walls[0].swing={amplitude=30, frequency=1.0, axis=[0, 0, 1]}", ["walls[0].swing.amplitude", "{degrees = 30}"]),
        ("particles[0].radius=5", ["more than the domain's side of 0.2 m", "(m, not mm)"]),
    ],
)  # fmt: skip
def test_units_of_single_keys(change, texts):
    case = Case.from_text(box())
    case.override(change)
    radius = case.particles[0].radius
    found = [*material_unit_warnings(case), *radius_unit_warnings(case, np.array([radius, radius]))]
    assert [one.level for one in found] == ["warning"]
    assert all(text in found[0].message for text in texts), found[0].message


PLAUSIBLE = {
    "powder of 20 um": box(1e-3, 2e-3, 1e-5, end=0.01, modulus=1e7),
    "powder of 20 um, stiff": box(1e-3, 2e-3, 1e-5, end=1e-3, modulus=7e10),
    "boulders of 1 m": box(10.0, 20.0, 0.5, end=5.0, modulus=5e10, density=2700.0),
    "boulders of 1 m, soft": box(10.0, 20.0, 0.5, end=10.0, modulus=1e8, density=2700.0),
    "boulders of 2 m in a shaft": box(10.0, 60.0, 1.0, end=10.0, modulus=1e9, density=2700.0, count=40),
    "pebble bed": box(0.6, 3.0, 0.03, end=3.0, modulus=1e9, density=1750.0, count=300),
    "polystyrene": box(0.1, 0.3, 0.002, modulus=1e6, density=25.0),
    "gel": box(0.1, 0.3, 0.005, modulus=1e5, density=1000.0, end=2.0),
    "steel balls": box(0.1, 0.3, 0.01, modulus=2.1e11, density=7850.0, count=30),
    "tungsten": box(0.02, 0.05, 0.001, modulus=4e11, density=19300.0),
    "grain silo of 20 m": box(3.0, 20.0, 0.1, end=5.0, modulus=1e8, density=1300.0),
}
NO_GRAVITY = {
    "ice floes": (
        box(500.0, 1000.0, 25.0, end=600.0, modulus=6e9, density=910.0, count=60).replace('shape = "box"', 'shape = "plane"\nnormal = [0, 1, 0]\npoint = [0, 0, 500]').replace(
            "lower = [-500.0, -500.0, 0]\nupper = [500.0, 500.0, 1000.0]\n", ""),
        ["domain.gravity=[0, 0, 0]", "particles[0].velocity={random=0.5}"],
    ),
    "rubble in orbit": (
        box(100.0, 200.0, 5.0, end=1000.0, modulus=1e8, density=2000.0, count=60),
        ["domain.gravity=[0, 0, -1e-4]"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAUSIBLE)
def test_plausible_cases_are_not_warned_of(name):
    assert warned(PLAUSIBLE[name]) == []


@pytest.mark.parametrize("name", NO_GRAVITY)
def test_plausible_cases_without_the_gravity_of_the_earth(name):
    text, settings = NO_GRAVITY[name]
    assert [line for line in warned(text, *settings) if "units" in line or "gravity" in line] == []


@pytest.mark.parametrize("gravity", [50.0 * 9.81, 3000.0])
def test_a_centrifuge_is_not_warned_of(gravity):
    assert not any("units" in one for one in warned(box(radius=0.0005, count=50), f"domain.gravity=[0, 0, {-gravity}]"))


@pytest.mark.parametrize("rate", ["{rpm = 20}", "2.0943951023931953", "-2.0943951023931953"])
def test_how_fast_a_wall_turns_is_told(rate):
    found = [str(one) for one in findings(box(), f"walls[0].rotation={{rate = {rate}, axis = [0, 0, 1]}}")]
    sign = "-" if "-" in rate else ""
    assert f"info: wall box: turns at {sign}2.094 rad/s, {sign}20 revolutions per minute" in found


REST_SPEED = "domain.gravity=[0, 0, 0]"


def test_gravity_that_was_forgotten():
    text = box().replace(", gravity = [0, 0, -9.81]", "")
    (line,) = warned(text)
    assert line == (
        "warning: gravity: nothing moves: no gravity, no initial velocity, no wall that moves; "
        "domain.gravity = [0, 0, -9.81] is that of the earth"
    )


def test_gravity_that_was_forgotten_of_an_insertion_at_rest():
    feed = (
        '[[insertions]]\nname = "feed"\nmaterial = "grain"\nradius = 0.005\ncount = 30\nevery = 0.1\n'
        "region = {lower = [-0.05, -0.05, 0.1], upper = [0.05, 0.05, 0.2]}\n"
    )
    lines = warned(box() + feed, REST_SPEED, "particles=[]")
    assert any("nothing moves: no gravity, no velocity of what comes in, no wall that moves" in one for one in lines)


@pytest.mark.parametrize(
    "moves",
    [
        "particles[0].velocity=[0, 0, -0.1]",
        "particles[0].velocity={random = 0.1}",
        "particles[0].angular_velocity=[0, 0, 1]",
        "walls[0].rotation={rate = 1.0, axis = [0, 0, 1]}",
        "walls[0].translation={velocity = [0, 0, 0.1]}",
        "walls[0].surface={velocity = [0.1, 0, 0]}",
        "walls[0].servo={axis = [0, 0, 1], force = 1.0, largest_rate = 0.1}",
        'forces=[{kind = "uniform", acceleration = [0, 0, -9.81]}]',
        'stages=[{name = "a", end = 0.5}, {name = "b", gravity = [0, 0, -9.81]}]',
        'interactions.default={friction = 0.5, restitution = 0.4, adhesion = {model = "jkr", work_of_adhesion = 0.05}}',
        "particles=[{material = 'grain', radius = 0.01, positions = [[0, 0, 0.1], [0.0199, 0, 0.1]]}]",
        "particles=[{material = 'grain', radius = 0.01, positions = [[0, 0, 0.00999]]}]",
    ],
)
def test_what_moves_without_gravity_is_no_mistake(moves):
    found = findings(box(), REST_SPEED, moves)
    assert not any("nothing moves" in one.message for one in found)
    if "stages" not in moves:
        assert any(one.subject == "gravity" and one.level == "info" for one in found)
