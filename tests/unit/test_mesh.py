"""Meshes: welding, checks with their messages, edges and adjacency, joining."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.foundation.errors import MeshError

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
CUBE = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
TRIANGLE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_cube_has_its_edges_normals_and_neighbours() -> None:
    mesh = Mesh(CORNERS, CUBE)
    assert (mesh.vertex_count, mesh.edge_count, mesh.facet_count) == (8, 12, 6)
    middle = CORNERS.mean(axis=0)
    outwards = [CORNERS[mesh.loop(f)].mean(axis=0) - middle for f in range(6)]
    np.testing.assert_allclose(mesh.facet_normals, 2 * np.array(outwards), atol=1e-15)
    assert (np.diff(mesh.edge_facet_start) == 2).all()
    assert (np.diff(mesh.vertex_facet_start) == 3).all()
    assert (mesh.edges[:, 0] < mesh.edges[:, 1]).all()
    for edge in range(12):
        for facet in mesh.edge_facet_ids[mesh.edge_facet_start[edge] : mesh.edge_facet_start[edge + 1]]:
            assert set(mesh.edges[edge]) <= set(mesh.loop(facet))
            assert edge in mesh.facet_edges[mesh.facet_start[facet] : mesh.facet_start[facet + 1]]


def test_edge_of_each_loop_place_joins_it_to_the_next() -> None:
    mesh = Mesh(CORNERS, [*CUBE[:3], [2, 3, 7], [2, 7, 6]])
    for facet in range(mesh.facet_count):
        loop = mesh.loop(facet)
        for place, edge in enumerate(mesh.facet_edges[mesh.facet_start[facet] : mesh.facet_start[facet + 1]]):
            assert sorted((loop[place], loop[(place + 1) % len(loop)])) == mesh.edges[edge].tolist()


def test_soup_is_welded_within_the_tolerance_and_not_beyond() -> None:
    generator = np.random.default_rng(1)
    soup = CORNERS[np.array(CUBE)].reshape(-1, 3)
    noise = generator.uniform(-1, 1, soup.shape) * 0.2e-9
    facets = np.arange(24).reshape(-1, 4)
    assert Mesh(soup + noise, facets).vertex_count == 8
    assert Mesh(soup + 100 * noise, facets).vertex_count == 24
    assert Mesh(soup + 100 * noise, facets, weld=1e-6).vertex_count == 8


def test_welding_keeps_the_first_position_and_facet_numbers() -> None:
    vertices = [*TRIANGLE, [1.0 + 1e-12, 0.0, 0.0], [1.0, 1.0, 0.0]]
    mesh = Mesh(vertices, [[0, 1, 2], [3, 4, 2]])
    assert mesh.vertices[1, 0] == 1.0
    assert mesh.origin.welded_vertices == 1
    assert sorted(mesh.loop(1)) == [1, 2, 3]


def test_loops_do_not_depend_on_where_they_begin() -> None:
    turned = [[*loop[k % 4 :], *loop[: k % 4]] for k, loop in enumerate(CUBE)]
    one, other = Mesh(CORNERS, CUBE), Mesh(CORNERS, turned)
    np.testing.assert_array_equal(one.facet_vertices, other.facet_vertices)
    assert one.facet_normals.tobytes() == other.facet_normals.tobytes()


def test_collapsed_edge_is_left_out_and_counted() -> None:
    mesh = Mesh(TRIANGLE, [[0, 1, 2, 2]])
    assert mesh.loop(0).tolist() == [0, 1, 2]
    assert mesh.report().collapsed_edges == 1


def test_mixed_orders_and_tables_give_the_same_mesh() -> None:
    from_table = Mesh(CORNERS, np.array(CUBE))
    from_lists = Mesh(CORNERS, [np.array(loop) for loop in CUBE])
    np.testing.assert_array_equal(from_table.facet_vertices, from_lists.facet_vertices)


def test_hanging_node_makes_a_straight_corner_that_is_convex() -> None:
    vertices = [[0, 0, 0], [0.5, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert Mesh(vertices, [[0, 1, 2, 3]]).facet_areas[0] == pytest.approx(0.5)


def test_needle_normals_are_as_exact_as_the_coordinates() -> None:
    for start in range(3):
        needle = np.roll([[0.0, 0.0, 0.0], [1.0, 1e-7, 0.0], [1.0, 2e-7, 0.0]], start, axis=0)
        tilted = needle @ np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]]).T
        np.testing.assert_allclose(np.abs(Mesh(tilted, [[0, 1, 2]]).facet_normals[0]), [0, 0, 1], atol=1e-15)


PENTAGRAM = [[np.cos(a), np.sin(a), 0.0] for a in 4 * np.pi / 5 * np.arange(5)]


@pytest.mark.parametrize(
    ("vertices", "facets", "words"),
    [
        (TRIANGLE, [], "no facets"),
        ([], [[0, 1, 2]], "no vertices"),
        ([[0, 0, 0], [1, np.nan, 0], [0, 1, 0]], [[0, 1, 2]], "vertex 1"),
        ([[0, 0, 0, 0]], [[0, 0, 0]], "shape"),
        (TRIANGLE, [[0, 1, 2], [0, 1, 3]], "facet 1 .*names vertex 3.*0 to 2"),
        (TRIANGLE, [[0, 1, -1]], "facet 0 .*names vertex -1"),
        (TRIANGLE, [[0.5, 1, 2]], "whole numbers"),
        (TRIANGLE, [[0, 1], [1, 2]], "all 2 facets are degenerate"),
        (TRIANGLE, [[0, 1, 1]], "all 1 facets are degenerate.*fewer than 3 distinct"),
        ([*TRIANGLE, [2, 0, 0]], [[0, 1, 3], [0, 0, 0]], "all 2 facets are degenerate"),
        ([[0, 0, 0], [1, 0, 0], [1, 1, 0.1], [0, 1, 0]], [[0, 1, 2, 3]], "facet 0 .*not planar"),
        ([[0, 0, 0], [1, 0, 0], [0.2, 0.2, 0], [0, 1, 0]], [[0, 1, 2, 3]], "facet 0 .*not convex"),
        (PENTAGRAM, [[0, 1, 2, 3, 4]], "facet 0 .*not convex"),
    ],
)
def test_bad_meshes_are_refused_by_number(vertices: list, facets: list, words: str) -> None:
    with pytest.raises(MeshError, match=words):
        Mesh(vertices, facets)


def test_flatness_can_be_allowed() -> None:
    bent = [[0, 0, 0], [1, 0, 0], [1, 1, 1e-3], [0, 1, 0]]
    with pytest.raises(MeshError, match="flatness="):
        Mesh(bent, [[0, 1, 2, 3]])
    assert Mesh(bent, [[0, 1, 2, 3]], flatness=1e-2).facet_count == 1


def test_joined_meshes_stay_apart_and_know_their_wall() -> None:
    one, other = Mesh(CORNERS, CUBE), Mesh([*TRIANGLE, [0, 0, 1]], [[0, 1, 2], [0, 1, 3]])
    both = join_meshes([one, other])
    assert both.facet_wall.tolist() == [0] * 6 + [1] * 2
    assert both.vertex_wall.tolist() == [0] * 8 + [1] * 4
    assert (both.vertex_count, both.edge_count) == (12, one.edge_count + other.edge_count)
    again = Mesh.from_loops(both.vertices, both.facet_start, both.facet_vertices, weld=0.0)
    assert again.vertex_count == 8  # equal positions weld as soon as they are one mesh
    for name in ("edges", "facet_edges", "edge_facet_ids", "vertex_facet_ids"):
        assert getattr(both, name).dtype == np.int64
    last = both.facet_count - 1
    np.testing.assert_allclose(both.vertices[both.loop(last)], other.vertices[other.loop(1)])
    for vertex in range(both.vertex_count):
        start, end = both.vertex_facet_start[vertex : vertex + 2]
        assert all(vertex in both.loop(facet) for facet in both.vertex_facet_ids[start:end])


def test_joining_nothing_is_refused() -> None:
    with pytest.raises(MeshError, match="at least one"):
        join_meshes([])
