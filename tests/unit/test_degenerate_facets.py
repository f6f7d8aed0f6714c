"""Facets without an area, of which users' files are full: dropped and counted; refused where a hole would be left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import meshio
import numpy as np
import pytest

from helpers.cases import Grains, box, simulate
from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.containers.meshes.solid import solid_of
from pdem.containers.meshes.surface import surface_of
from pdem.foundation.errors import MeshError
from pdem.preflight.population import Population
from pdem.preflight.wall_checks import mesh_warnings, side_warnings

if TYPE_CHECKING:
    from pathlib import Path

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
CUBE = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
        [1, 5, 7], [1, 7, 3]]  # fmt: skip
BAD = {
    "one corner": [5, 5, 5],
    "two corners": [2, 7, 7],
    "there and back": [0, 6, 0],
    "needle along an edge": [0, 8, 1],
}
POINTS = np.vstack((CORNERS, [[0.0, 0.0, 0.5]]))  # the last is half way from 0 to 1
ARRAYS = (
    "vertices", "facet_start", "facet_vertices", "facet_edges", "edges", "facet_normals", "facet_areas",
)  # fmt: skip


def with_bad(bad, places=(0, 5, 13)):
    """Return the loops of a cube with bad ones in between, and where the good ones are."""
    loops, good = list(CUBE), list(range(len(CUBE)))
    for place in places:
        loops.insert(place, bad)
        good = [number + (number >= place) for number in good]
    return loops, good


def assert_same(one: Mesh, other: Mesh, names=ARRAYS) -> None:
    for name in names:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


@pytest.mark.parametrize("name", BAD)
def test_facets_without_area_are_dropped_and_counted_and_nothing_else_changes(name):
    loops, good = with_bad(BAD[name])
    mesh, clean = Mesh(POINTS, loops), Mesh(POINTS, CUBE)
    assert_same(mesh, clean)
    assert mesh.facet_numbers.tolist() == good
    assert clean.facet_numbers.tolist() == list(range(12))
    report = mesh.report()
    assert (report.dropped_facets, report.first["dropped_facets"]) == (3, (0,))
    assert "3 facets without three distinct corners or without area, left out" in report.lines()
    (said,) = [text for text in mesh_warnings(report) if "no area" in text]
    assert said.startswith("3 facets have fewer than three distinct corners or no area (first: facet 0 of the file)")
    assert not [text for text in mesh_warnings(clean.report()) if "no area" in text]
    assert report.closed


def test_quads_that_collapse_are_triangles_or_go():
    loops = [[0, 1, 3, 3], [0, 3, 2, 0], [0, 1, 0, 3], [5, 5, 7, 7], *CUBE[2:]]
    mesh, clean = Mesh(CORNERS, loops), Mesh(CORNERS, CUBE)
    assert_same(mesh, clean)
    assert mesh.facet_numbers.tolist() == [0, 1, *range(4, 14)]
    assert mesh.report().collapsed_edges > 0


def write_stl(path, points, loops):
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join("vertex {:.9g} {:.9g} {:.9g}\n".format(*points[k]) for k in loop)
        + "endloop\nendfacet\n"
        for loop in loops
    )
    path.write_text(f"solid cube\n{facets}endsolid cube\n")


def write_binary_stl(path, points, loops):
    record = np.zeros(len(loops), np.dtype([("n", "<f4", 3), ("c", "<f4", (3, 3)), ("a", "<u2")]))
    record["c"] = points[np.array(loops)]
    path.write_bytes(bytes(80) + np.array(len(loops), "<u4").tobytes() + record.tobytes())


def write_obj(path, points, loops):
    lines = ["v {} {} {}".format(*point) for point in points]
    path.write_text("\n".join(lines + ["f " + " ".join(str(k + 1) for k in loop) for loop in loops]))


def by_meshio(path, points, loops):
    meshio.write_points_cells(path, points, [("triangle", np.array(loops))])


FORMATS = {
    "text.stl": write_stl, "binary.stl": write_binary_stl, "cube.obj": write_obj, "cube.ply": by_meshio,
    "cube.vtk": by_meshio, "cube.vtu": by_meshio,
    "cube.msh": lambda path, points, loops: meshio.write_points_cells(
        path, points, [("triangle", np.array(loops))], file_format="gmsh22"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_all_formats_alike(tmp_path: Path, name: str) -> None:
    loops = [[5, 5, 5], *CUBE[:4], [2, 7, 7], [0, 8, 1], *CUBE[4:]]
    FORMATS[name](tmp_path / name, POINTS, loops)
    (tmp_path / "clean").mkdir()
    FORMATS[name](tmp_path / "clean" / name, POINTS, CUBE)
    mesh, clean = Mesh.read(tmp_path / name), Mesh.read(tmp_path / "clean" / name)
    assert mesh.origin.dropped_facets == (0, 5, 6)
    assert mesh.facet_numbers.tolist() == [1, 2, 3, 4, *range(7, 15)]
    one, other = (m.vertices[m.facet_vertices] for m in (mesh, clean))
    np.testing.assert_array_equal(np.sort(one.reshape(-1, 9), axis=1), np.sort(other.reshape(-1, 9), axis=1))
    assert mesh.facet_areas.tobytes() == clean.facet_areas.tobytes()


def test_a_needle_over_a_hanging_node_closes_nothing():
    """Above the needle 0, 8, 1 the edge is cut in two, below it is whole: without the needle node 8 hangs."""
    cut = [[0, 8, 3], [8, 1, 3], *CUBE[1:]]
    closed, clean = Mesh(POINTS, [*cut, [0, 1, 8]]), Mesh(POINTS, cut)
    assert_same(closed, clean)
    report = closed.report()
    assert (report.dropped_facets, report.hanging_nodes, report.open_edges) == (1, 1, 3)
    surface = surface_of(closed).mesh
    assert surface.facet_side.all()  # closed by the node that is joined
    assert solid_of(closed).volume == pytest.approx(1.0, rel=1e-15)


def test_a_facet_whose_parts_cancel_is_no_line_and_is_refused():
    bow = [[0, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    with pytest.raises(MeshError, match=r"facet 2 \(of 3, .*crosses itself.*would leave a hole: repair it"):
        Mesh(bow, [[0, 1, 4], [0, 0, 4], [0, 1, 2, 3]])


def test_messages_about_other_facets_name_the_given_number():
    points = [[0, 0, 0], [1, 0, 0], [1, 1, 0.1], [0, 1, 0], [0.2, 0.2, 0]]
    with pytest.raises(MeshError, match=r"facet 2 \(of 3, counted from 0\) is not planar"):
        Mesh(points, [[0, 0, 1], [1, 1, 2], [0, 1, 2, 3]])
    with pytest.raises(MeshError, match=r"facet 1 \(of 2, counted from 0\) is not convex"):
        Mesh(points, [[0, 0, 1], [0, 1, 4, 3]])
    split = Mesh(points, [[0, 0, 1], [0, 1, 2, 3], [2, 2, 2], [0, 1, 4]], split_facets=True)
    assert split.facet_numbers.tolist() == [1, 1, 3]
    assert split.origin.dropped_facets == (0, 2)
    as_many = Mesh(points, [[0, 0, 1], [0, 1, 2, 3]], split_facets=True)
    assert as_many.facet_numbers.tolist() == [1, 1]


def test_joined_walls_remember_what_was_dropped():
    loops, _ = with_bad(BAD["two corners"])
    assert join_meshes([Mesh(POINTS, loops), Mesh(POINTS, CUBE)]).origin.dropped_facets == (0, 5, 13)


@pytest.mark.parametrize("method", ["h2", "signed"])
def test_particles_do_not_notice(tmp_path, method):
    """Spheres roll over the cube, whose file is bad or not: the same bits, and the same loads by facet."""
    results = []
    for loops in (CUBE, with_bad(BAD["needle along an edge"])[0]):
        places = np.stack(np.meshgrid(*[np.linspace(0.0, 0.9, 4)] * 2, [1.058]), -1).reshape(-1, 3)
        simulation = simulate(
            tmp_path, Grains(places, 0.06, (0.3, 0.1, 0.0)), walls=({"mesh": Mesh(POINTS, loops)},),
            gravity=(0.0, 0.0, -9.81), law={"friction": 0.4, "restitution": 0.5}, detection={"walls": method},
        )  # fmt: skip
        simulation.advance(3)
        on = simulation.nodal_forces()["wall0"]
        assert np.abs(on["facet_force"]).max() > 0.0
        results.append((simulation.gather(), on))
    for one, other in zip(*results, strict=True):
        for name in one:
            assert one[name].tobytes() == other[name].tobytes(), name


def test_particles_inside_are_seen_through_a_needle():
    mesh = Mesh(POINTS, [[0, 8, 3], [8, 1, 3], *CUBE[1:], [0, 1, 8]])
    position = np.array([[0.5, 0.5, 0.5], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    said = list(side_warnings(Population({"position": position, "radius": np.full(3, 0.1)}), mesh))
    assert len(said) == 1
    assert "the centres of 1 of 3 particles are inside its closed surface" in said[0]
    assert box([0, 0, 0], [1, 1, 1]).facet_numbers.tolist() == list(range(6))
