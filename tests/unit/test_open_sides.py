"""Particles with no wall below them are reported before a run, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.containers.meshes.closed_surfaces import crossings_upwards
from pdem.preflight.preflight import preflight

BASE = """
time = {end = 1.0}
domain = {lower = [0, 0, 0], upper = [1, 1, 1], gravity = [0, 0, -9.81]}
materials.grain = {density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}
materials.steel = {}
interactions.grain-grain = {friction = 0.5, restitution = 0.4}
interactions.grain-steel = {friction = 0.5, restitution = 0.4}
[[particles]]
material = "grain"
radius = 0.05
positions = [[0.5, 0.5, 0.5], [0.65, 0.5, 0.5], [0.5, 0.8, 0.3]]
"""
FLOOR = '[[walls]]\nname = "floor"\nshape = "plane"\npoint = [0, 0, 0.1]\nnormal = [0, 0, 1]\nmaterial = "steel"\n'
PIPE = """[[walls]]
name = "pipe"
shape = "box"
lower = [0.1, 0.1, 0.1]
upper = [0.9, 0.9, 0.9]
open = ["-z", "+z"]
material = "steel"
"""
STAGES = """[[stages]]
name = "filling"
end = 0.5
[[stages]]
name = "discharge"
walls = {floor = {remove = true}}
"""
INLET = """[[insertions]]
name = "inlet"
material = "grain"
radius = 0.02
face = {shape = "disc", centre = [0.5, 0.5, 0.9], normal = [0, 0, -1], radius = 0.1}
velocity = 1.0
count_rate = 10.0
"""


def plate(name: str, lower: float, upper: float) -> str:
    """Return a wall at z = 0.1 from `lower` to `upper` along x [m]."""
    corners = f"lower = [{lower}, 0, 0.05]\nupper = [{upper}, 1, 0.1]\n"
    return f'[[walls]]\nname = "{name}"\nshape = "box"\n{corners}material = "steel"\n'


def warnings(text: str, *overrides: str) -> list[str]:
    case = Case.from_text(BASE + text)
    for assignment in overrides:
        case.override(assignment)
    meshes = read_walls(case)
    return [one.message for one in preflight(case, initial_particles(case), meshes) if one.subject == "domain"]


def test_a_cluster_is_one_particle() -> None:
    (line,) = warnings(
        "[shapes.pair]\nspheres = [[0, 0, 0, 0.02], [0.02, 0, 0, 0.02]]\n"
        '[[particles]]\nmaterial = "grain"\nshape = "pair"\npositions = [[0.3, 0.3, 0.8], [0.6, 0.6, 0.8]]\n'
    )
    assert line.startswith("no wall is below 5 of 5 particles")


def test_without_a_wall_below_all_particles_are_lost() -> None:
    (line,) = warnings("")
    assert line.startswith("no wall is below 3 of 3 particles (the first is particle 0): they fall through")
    assert "open side -z" in line
    assert line.endswith('and are removed; add a wall below, or say that they leave: domain.outside = "remove"')
    (line,) = warnings("", 'domain.outside="keep"')
    assert 'and on, since domain.outside = "keep"' in line
    (line,) = warnings("", "domain.gravity=[0, 9.81, 0]")
    assert "open side +y" in line


@pytest.mark.parametrize(
    ("walls", "overrides"),
    [
        (FLOOR, []),
        ("", ['domain.outside="remove"']),
        ("", ["domain.gravity=[0, 0, 0]"]),
        ("", ["domain.periodic=[false, false, true]"]),
        (FLOOR, ["domain.periodic=[true, false, false]", "domain.gravity=[9.0, 0, -4.0]"]),
        (plate("left", 0.0, 0.48) + plate("right", 0.52, 1.0), []),  # a slit narrower than the grain above it
        (PIPE.replace('"-z", ', ""), []),
        (FLOOR + INLET, []),
        (plate("right", 0.4, 1.0) + INLET, []),
        (PIPE + INLET, ["particles=[]", "insertions[0].velocity=[1.0, 0.0, -1.0]"]),  # thrown: lands beside
    ],
)
def test_no_false_alarms(walls: str, overrides: list[str]) -> None:
    assert warnings(walls, *overrides) == []


def test_a_wall_beside_or_above_does_not_help() -> None:
    assert len(warnings(PIPE)) == 1
    assert len(warnings(FLOOR, "walls[0].point=[0, 0, 0.9]")) == 1
    (line,) = warnings(plate("left", 0.0, 0.6))
    assert "below 1 of 3 particles (the first is particle 1)" in line


def test_a_floor_that_a_stage_removes_is_missed_then() -> None:
    (line,) = warnings(FLOOR + STAGES)
    assert "3 of 3 particles in stage discharge (" in line
    text = FLOOR + STAGES.replace("walls = {floor = {remove = true}}", "gravity = [9.81, 0, 0]")
    (line,) = warnings(text)
    assert "in stage discharge" in line
    assert "side +x" in line


def test_an_inlet_above_nothing_is_named() -> None:
    (line,) = warnings(plate("right", 0.6, 1.0) + INLET, "particles=[]")
    assert line.startswith("no wall is below the middle of insertion inlet: they fall through the open side -z")


def test_rays_meet_the_triangles_above_them() -> None:
    random = np.random.default_rng(3)
    vertices, points = random.random((60, 3)), random.random((40, 3))
    triangles = np.arange(60).reshape(-1, 3)
    parts = crossings_upwards(vertices, triangles, points)
    found = {(int(a), int(b)) for one in parts for a, b in zip(*one, strict=True)}
    wanted = set()
    for number, (a, b, c) in enumerate(vertices[triangles]):
        for row, point in enumerate(points):
            share = np.linalg.solve(np.column_stack((b - a, c - a, [0.0, 0.0, -1.0])), point - a)
            if share[0] > 0 and share[1] > 0 and share[0] + share[1] < 1 and share[2] > 0:
                wanted.add((number, row))
    assert found == wanted
    assert wanted
