"""`surface_of`: one list of numbers for all meshes of a surface."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from helpers.cases import box
from pdem.contact.geometry.query import wall_contacts
from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.containers.meshes.mesh_topology import MeshOrigin
from pdem.containers.meshes.rounding import rounding_of
from pdem.containers.meshes.surface import surface_of

JUNCTION = Mesh(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0.5, 0], [2, 0, 0], [2, 0.5, 0], [2, 1, 0]],
    [[0, 1, 2, 3], [1, 5, 6, 4], [4, 2, 7, 6], [0, 3, 2, 1]],
)
"""A square beside two half ones, and the square once more, turned round."""


def test_a_hanging_node_becomes_a_corner_and_a_repeated_facet_goes():
    mesh, facets, vertices = surface_of(JUNCTION)
    assert sorted(facets.tolist()) == [0, 1, 2]
    square = mesh.loop(facets.tolist().index(0))
    assert vertices[square].tolist() == [0, 3, 2, 4, 1]
    assert np.bincount(np.diff(mesh.edge_facet_start)).tolist() == [0, 7, 3]
    np.testing.assert_array_equal(mesh.vertices, JUNCTION.vertices[vertices])
    assert (np.lexsort(mesh.vertices.T[::-1]) == np.arange(8)).all()


def test_hanging_nodes_are_found_among_repeated_facets_and_where_four_sheets_meet():
    """Though no edge there has one facet only."""
    halves = [[1, 5, 6, 4], [4, 2, 7, 6]]
    repeated = Mesh(JUNCTION.vertices, [[0, 1, 2, 3], *halves, *halves])
    assert len(surface_of(repeated).mesh.loop(2)) == 5
    raised = [[1, 0, 1], [1, 1, 1], [1, 0, -1], [1, 1, -1], [1, 0.5, 1], [1, 0.5, -1]]
    sheets = [[0, 1, 2, 3], [1, 2, 9, 8], [4, 6, 5, 1], [6, 7, 2, 4]]  # up and on the left long, on the right short
    crossing = Mesh([*JUNCTION.vertices.tolist(), *raised], [*sheets, [1, 4, 13, 10], [4, 2, 11, 13]])
    surface = surface_of(crossing).mesh
    assert sorted(np.diff(surface.facet_start).tolist()) == [4, 4, 4, 4, 5, 5]
    assert np.diff(surface.edge_facet_start).max() == 4


@pytest.mark.parametrize("rounded", [np.float32, lambda x: np.round(x, 6), lambda x: np.round(x, 5)])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 25.4])
def test_hanging_nodes_are_found_although_a_file_rounds_them(rounded, scale):
    """Of 50 turned squares, each beside one cut in needles."""
    generator = np.random.default_rng(7)
    for _ in range(50):
        turn, parts = (
            Rotation.random(random_state=generator.integers(2**31)).as_matrix(),
            np.sort(generator.uniform(0.05, 0.95, 6)),
        )
        flat = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0.5, 0], *([1, part, 0] for part in parts)]
        rim = [1, *range(5, 11), 2]
        facets = [[0, 1, 2, 3], *([4, b, a] for a, b in pairwise(rim))]
        points = np.asarray(rounded(flat @ turn.T), dtype=float)
        start = np.concatenate(([0], np.cumsum([len(loop) for loop in facets])))
        origin = MeshOrigin(resolution=scale * rounding_of(points).size)
        mesh = Mesh.from_loops(points * scale, start, np.concatenate(facets), origin=origin)
        assert np.diff(surface_of(mesh).mesh.facet_start).max() == 10


def test_needles_are_no_hanging_nodes():
    points = [[0, 0, 0], [1, 0, 0], [0.5, 4e-8, 0], [0.5, -1, 0], [1 / 3, 1, 0]]
    mesh = Mesh(points, [[0, 1, 2], [1, 0, 3], [0, 2, 4], [2, 1, 4]])
    assert np.diff(surface_of(mesh).mesh.facet_start).tolist() == [3, 3, 3, 3]


def test_features_are_named_as_in_the_mesh_and_weights_are_for_its_nodes():
    contacts = wall_contacts([1.0, 0.25, 0.9], 1.0, JUNCTION, method="signed")  # over the part of an edge
    assert contacts["count"].sum() == 1
    for contact in contacts:
        loop = JUNCTION.loop(int(contact["facet"]))
        np.testing.assert_allclose(contact["weights"][: len(loop)] @ JUNCTION.vertices[loop], [1.0, 0.25, 0.0])
    (contact,) = wall_contacts([-0.1, -0.1, 0.5], 1.0, JUNCTION, method="signed")
    assert (contact["kind"], contact["feature"]) == (2, 0)
    (contact,) = wall_contacts([0.5, -0.1, 0.5], 1.0, JUNCTION, method="signed")
    assert contact["kind"] == 1
    assert JUNCTION.edges[contact["feature"]].tolist() == [0, 1]


def test_sides_are_known_of_closed_pieces_whichever_way_their_facets_turn():
    block = box([0.0] * 3, [1.0] * 3)
    for turned in range(6):
        loops = [block.loop(k)[:: -1 if k <= turned else 1] for k in range(6)]
        mesh = surface_of(Mesh(block.vertices, loops)).mesh
        middle = np.array([mesh.vertices[mesh.loop(k)].mean(axis=0) for k in range(6)])
        outward = np.einsum("ij,ij->i", mesh.facet_normals * mesh.facet_side[:, None], middle - 0.5)
        assert (np.abs(outward) == 0.5).all()
        assert abs(outward.sum()) == 3.0  # all out or all in
    lid = Mesh(block.vertices, [block.loop(k) for k in range(5)])
    assert not surface_of(lid).mesh.facet_side.any()


def test_a_one_sided_band_has_no_sides():
    """Four squares in a ring that closes with half a turn, both rims filled by fans, would be no solid."""
    angle = np.pi * np.arange(6) / 3.0
    centre = np.column_stack((3.0 * np.cos(angle), 3.0 * np.sin(angle), 0.0 * angle))
    arm = np.column_stack((np.cos(angle) * np.cos(angle / 2), np.sin(angle) * np.cos(angle / 2), np.sin(angle / 2)))
    points = np.vstack((centre - arm, centre + arm))
    low, high = [*range(6), 6], [*range(6, 12), 0]
    facets = [t for k in range(6) for t in ([low[k], low[k + 1], high[k + 1]], [low[k], high[k + 1], high[k]])]
    band = surface_of(Mesh(points, facets)).mesh
    assert band.facet_body.max() == 0
    assert not band.facet_side.any()


def test_pieces_stay_apart():
    """Two blocks that share a corner are surfaces; joined walls share nothing, their hanging nodes included."""
    one, other = box([0.0] * 3, [1.0] * 3), box([1.0] * 3, [2.0] * 3)
    both = Mesh(
        np.vstack((one.vertices, other.vertices)),
        np.vstack((one.facet_vertices.reshape(-1, 4), 8 + other.facet_vertices.reshape(-1, 4))),
    )
    assert both.vertex_count == 15
    mesh = surface_of(both).mesh
    assert set(mesh.facet_body.tolist()) == {0, 1}
    assert not mesh.facet_side.any()
    walls = surface_of(join_meshes([one, other])).mesh
    assert walls.facet_side.all()
    assert walls.vertex_count == 16
    half = Mesh([[1, 0, 0], [2, 0, 0], [2, 0.5, 0], [1, 0.5, 0]], [[0, 1, 2, 3]])
    square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]])
    assert np.diff(surface_of(join_meshes([square, half])).mesh.facet_start).tolist() == [4, 4]
