"""Meshed walls beside other codes, without these: where the mesh is, how it turns, and what cannot be told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.lammps.commands import STYLES, Settings, commands_after
from benchmarks.lammps.problem import problem_of
from benchmarks.lammps.walls import Floor, MeshedWall
from benchmarks.liggghts.commands import MESH, commands_of, write_files
from helpers.peer_starts import FLOOR, SQUARE, TEXT, start
from pdem.benchmark.bladed_drum import BLADES, COUNT, DRUM_RADIUS, LENGTH, bladed_drum
from pdem.benchmark.cases import SkipCase
from pdem.containers.meshes.mesh import Mesh

TILTED = Mesh([[0.03, 0.03, 0.0], [0.07, 0.03, 0.01], [0.07, 0.07, 0.02], [0.03, 0.07, 0.01]], [[0, 1, 2, 3]])
TURNING = "[motions.plate.rotation]\nrate = 2.0\naxis = [0.0, 0.0, 4.0]\ncentre = [0.05, 0.05, 0.0]\n"


def test_the_bladed_drum_is_closed_and_its_blades_share_its_corners():
    case, mesh = bladed_drum()
    assert case.particles[0].fill.count == COUNT
    assert mesh.facet_count == 2472
    radius = np.hypot(mesh.vertices[:, 1], mesh.vertices[:, 2])
    assert radius.max() == pytest.approx(DRUM_RADIUS)
    assert mesh.vertices[:, 0].max() == LENGTH
    shared = np.bincount(np.diff(mesh.edge_facet_start))
    assert shared[1] == BLADES * 12  # the tips of the blades
    assert shared[3] == BLADES * (12 + 2 * 2)  # blades at the wall and at the ends


def test_a_mesh_is_where_the_start_has_it_and_turns_from_there(tmp_path):
    begin = start(TEXT + TURNING + FLOOR + 'on = "plate"\n', [TILTED])
    begin.state = {"particles": begin.particles, "counters": {"step": np.array(250_000)}}
    problem = problem_of(begin)
    angle, middle = 2.0 * 250_000 * 1e-6, np.array([0.05, 0.05, 0.0])
    turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
    expected = (TILTED.vertices - middle) @ turn.T + middle
    assert isinstance(problem.wall, MeshedWall)
    np.testing.assert_allclose(problem.wall.triangles[:, 0], expected[[0, 0]], atol=1e-15)
    write_files(problem, tmp_path)
    found = Mesh.read(tmp_path / MESH)
    corners = found.vertices[[found.loop(facet) for facet in range(2)]]
    np.testing.assert_allclose(corners, problem.wall.triangles, atol=1e-9)
    lines = commands_of(problem, 1e-4, tmp_path)
    assert f"fix mesh all mesh/surface file {tmp_path / MESH} type 2" in lines
    turning = next(line for line in lines if "move/mesh" in line).split()
    assert float(turning[-1]) == pytest.approx(math.pi)  # s for a turn at 2 rad/s
    assert [float(word) for word in turning[turning.index("axis") + 1 : -2]] == [0.0, 0.0, 1.0]


def test_a_mesh_that_rests_gets_no_motion_and_lammps_none_at_all(tmp_path):
    problem = problem_of(start(TEXT + FLOOR, [TILTED]))
    assert not any("move/mesh" in line for line in commands_of(problem, 1e-4, tmp_path))
    with pytest.raises(SkipCase, match="no meshed walls"):
        commands_after(problem, STYLES[0], Settings(1e-4))
    assert isinstance(problem_of(start(TEXT + FLOOR, [SQUARE])).wall, Floor)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (FLOOR + "translation = {velocity = [1.0, 0.0, 0.0]}\n", "at a constant rate"),
        (FLOOR + "surface = {velocity = [1.0, 0.0, 0.0]}\n", "rest or turn"),
    ],
)
def test_other_motions_are_told(given, reason):
    with pytest.raises(SkipCase, match=reason):
        problem_of(start(TEXT + given, [TILTED]))


def test_meshes_across_periodic_sides_are_told():
    beyond = Mesh(TILTED.vertices + np.array([0.05, 0.0, 0.0]), [[0, 1, 2, 3]])
    with pytest.raises(SkipCase, match="across a periodic side"):
        problem_of(start(TEXT + FLOOR, [beyond]))
