"""Walls that are wrong in every way: the error or warning names wall, facet and numbers, and says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from helpers.cases import box
from pdem.case.groups.initial import initial_particles
from pdem.case.model import Case
from pdem.case.wall_files import read_walls
from pdem.containers.meshes.closed_surfaces import inside_closed_pieces
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import MeshError
from pdem.preflight.preflight import preflight

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """
time = {{end = 1.0}}
domain = {{lower = [-1, -1, -1], upper = [2, 2, 2]}}
materials.grain = {{density = 1000.0, youngs_modulus = 1e7, poisson_ratio = 0.2}}
materials.steel = {{}}
interactions.grain-grain = {{friction = 0.5, restitution = 0.4}}
interactions.grain-steel = {{friction = 0.5, restitution = 0.4}}
[[particles]]
material = "grain"
radius = 0.05
positions = {positions}
velocity = [0.0, 0.0, 0.1]
[[walls]]
mesh = "wall.obj"
material = "steel"
{keys}
"""
SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 {}\nv 0 1 0\nv 3 0 0\nv 4 0 0\nv 3 1 0\nf 5 6 7\nf 1 2 3 4\n"
CONCAVE = "v 0 0 0\nv 1 0 0\nv 0.2 0.2 0\nv 0 1 0\nf 1 2 3 4\n"
GRAINS = "[[0.5, 0.5, 0.5], [0.7, 0.5, 0.5], [0.3, 0.5, 0.5]]"


def case_of(folder: Path, mesh: str, keys: str = "", positions: str = GRAINS) -> Case:
    (folder / "wall.obj").write_text(mesh)
    (folder / "case.toml").write_text(TEXT.format(positions=positions, keys=keys))
    return Case.read(folder / "case.toml")


def warnings_of(case: Case, meshes: list[Mesh] | None = None) -> list[str]:
    meshes = read_walls(case) if meshes is None else meshes
    found = preflight(case, initial_particles(case, meshes), meshes)
    return [str(one) for one in found if one.level != "info"]


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        (SQUARE.format(0.1), ["facet 1 (of 2", "not planar", "0.0", "split_facets = true"]),
        (CONCAVE, ["facet 0 (of 1", "not convex (it has 4 sides)", "split_facets = true"]),
        ("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", ["all 1 facets are degenerate", "no area", "check its export"]),
        ("v 0 0 0\nv 1 0 0\nv 0 nan 0\nf 1 2 3\n", ["vertex 2 of facet 0", "nan", "repair the file"]),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", ["line 4: vertex 9", "the file has 3 vertices"]),
    ],
)
def test_a_bad_facet_is_refused_by_wall_facet_and_numbers(tmp_path: Path, mesh: str, words: list[str]) -> None:
    with pytest.raises(MeshError) as error:
        read_walls(case_of(tmp_path, mesh))
    for word in ['walls[0].mesh = "wall.obj"', *words]:
        assert word in str(error.value)


@pytest.mark.parametrize("mesh", [SQUARE.format(0.1), CONCAVE])
def test_splitting_is_an_option_of_the_wall(tmp_path: Path, mesh: str) -> None:
    case = case_of(tmp_path, mesh, "split_facets = true")
    (wall,) = read_walls(case)
    assert wall.largest_order == 3
    assert wall.origin.split_facets == 1
    assert any("1 facets were not planar or not convex and have been cut" in line for line in warnings_of(case))


def polygon(generator: np.random.Generator, sides: int) -> np.ndarray:
    """Return a star-shaped polygon, hardly ever convex."""
    angle = 2 * np.pi * (np.arange(sides) + generator.uniform(0, 0.8, sides)) / sides
    reach = generator.uniform(0.3, 1.0, sides)
    return np.column_stack((reach * np.cos(angle), reach * np.sin(angle)))


def shoelace(points: np.ndarray) -> float:
    x, y = points.T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


@pytest.mark.parametrize("seed", range(30))
def test_triangles_cover_what_the_polygon_covered(seed: int) -> None:
    generator = np.random.default_rng(seed)
    outline = polygon(generator, 4 + seed)
    turn = np.linalg.qr(generator.normal(size=(3, 3)))[0]
    vertices = np.column_stack((outline, np.zeros(len(outline)))) @ turn.T
    mesh = Mesh(vertices, [list(range(len(outline)))], split_facets=True)
    if mesh.origin.split_facets:
        assert mesh.facet_count == len(outline) - 2
    assert mesh.facet_areas.sum() == pytest.approx(shoelace(outline))
    assert np.abs(mesh.facet_normals @ mesh.facet_normals[0] - 1.0).max() < 1e-9  # none is turned over
    assert mesh.report().inconsistent_edges == 0
    assert mesh.report().open_edges == len(outline)


def test_bent_quads_take_the_shorter_diagonal_and_keep_their_places() -> None:
    vertices = [[0, 0, 0], [1, 0, 0.1], [1.5, 1, 0], [0, 1, 0.1], [-1, 0, 0], [-1, 1, 0.1]]
    mesh = Mesh(vertices, [[4, 0, 3, 5], [0, 1, 2, 3], [4, 0, 1]], split_facets=True)
    loops = [sorted(mesh.loop(f).tolist()) for f in range(mesh.facet_count)]
    assert loops[0] == [0, 3, 4, 5]
    assert sorted(loops[1:3]) == [[0, 1, 3], [1, 2, 3]]
    assert loops[3] == [0, 1, 4]
    crossed = [[0, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1.5, 0]]
    with pytest.raises(MeshError, match="facet 0"):
        Mesh(crossed, [[0, 1, 2, 3]], split_facets=True)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_mixed_up_units_are_noticed(tmp_path: Path, factor: float) -> None:
    vessel = box([0, 0, 0], [1, 1, 1])
    vessel.write(tmp_path / "vessel.obj")
    case = case_of(tmp_path, (tmp_path / "vessel.obj").read_text(), f"scale = {factor}")
    (line,) = [line for line in warnings_of(case) if line.startswith("warning: wall wall: it is")]
    assert "radii 0.05 to 0.05 m; check the unit: if wall.obj is in " in line
    assert line.endswith(f"in {'m' if factor < 1.0 else 'mm'}, scale = 1 (a key of [[walls]])")
    case.override("walls[0].scale=1.0")
    assert warnings_of(case) == []


def test_particles_behind_a_closed_wall_are_named(tmp_path: Path) -> None:
    places = "[[0.5, 0.5, 0.5], [1.5, 1.4, 1.2], [0.3, 0.5, 0.5]]"
    case = case_of(tmp_path, SQUARE.format(0), positions=places)
    (line,) = warnings_of(case, [box([0, 0, 0], [1, 1, 1])])
    assert line.startswith("warning: wall wall: the centres of 1 of 3 particles are outside its closed surface")
    assert "particle 1 at (1.5, 1.4, 1.2) m, all others inside" in line
    (line,) = warnings_of(case, [box([1, 1, 1], [1.8, 1.8, 1.8])])
    assert "1 of 3 particles are inside its closed surface" in line
    assert warnings_of(case, [box([0, 0, 0], [1.9, 1.9, 1.9])]) == []
    lid_off = box([0, 0, 0], [1, 1, 1])
    assert warnings_of(case, [Mesh(lid_off.vertices, [lid_off.loop(f) for f in range(5)])]) == []


def test_sides_of_closed_pieces_are_right_on_edges_too() -> None:
    generator = np.random.default_rng(2)
    one, other = box([0, 0, 0], [1, 1, 1]), box([0.25, 0.25, 0.25], [0.75, 0.75, 0.75])
    straight = np.stack(np.meshgrid(*[[-0.5, 0.5, 1.5]] * 3), -1).reshape(-1, 3)
    points = np.concatenate((generator.uniform(-0.5, 1.5, (500, 3)), straight))
    both = Mesh(
        np.concatenate((one.vertices, other.vertices)),
        np.concatenate((one.facet_vertices, 8 + other.facet_vertices)).reshape(-1, 4),
    )
    found = inside_closed_pieces(points, both)
    assert list(found) == [0, 6]
    for inside, (low, high) in zip(found.values(), ((0, 1), (0.25, 0.75)), strict=True):
        np.testing.assert_array_equal(inside, ((points > low) & (points < high)).all(axis=1))


def test_doubtful_meshes_name_their_first_facets(tmp_path: Path) -> None:
    block = box([0, 0, 0], [1, 1, 1])
    loops = [block.loop(f).tolist() for f in range(6)]
    case = case_of(tmp_path, SQUARE.format(0))
    text = "\n".join(warnings_of(case, [Mesh(block.vertices, [loops[0][::-1], *loops[1:], loops[2]])]))
    assert "normals disagree across" in text
    assert "1 facets repeat others (first: facets 2 and 6)" in text
    sheet = [[-0.5, 0.5, 0.5], [1.5, 0.5, 0.5], [1.5, 1.5, 0.5], [-0.5, 1.5, 0.5]]
    cut = Mesh(np.concatenate((block.vertices, sheet)), [*loops, [8, 9, 10, 11]])
    (line,) = (one for one in warnings_of(case, [cut]) if "cut each other" in one)
    assert "3 pairs of facets cut each other (first: facets 0 and 6)" in line
    hanging = Mesh([[0, 0, 0], [2, 0, 0], [0, 1, 0], [1, 0, 0], [1.5, -1, 0]], [[0, 1, 2], [1, 3, 4]])
    (line,) = (one for one in warnings_of(case, [hanging]) if "hang" in one)
    assert "1 vertices hang within the edge of another facet (first: vertex 3)" in line
    assert 'walls = "signed"' in line


def test_a_wall_takes_one_group_of_its_file(tmp_path: Path) -> None:
    text = SQUARE.format(0).replace("f 5", "g lid\nf 5").replace("f 1", "g floor\nf 1")
    case = case_of(tmp_path, text, 'group = "floor"')
    assert case.walls[0].name == "floor"
    (mesh,) = read_walls(case)
    assert (mesh.facet_count, mesh.vertex_count) == (1, 4)
    case.override('walls[0].group="flour"')
    with pytest.raises(MeshError, match=r"walls\[0\].*no group 'flour'; give one of 'lid', 'floor'"):
        read_walls(case)
