"""`wall_contacts`: fields, weights, refusals; and the kernels below it."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.surfaces import flat_polygon
from pdem.contact.geometry.double_hierarchy import OUTPUT_FULL, resolve_h2
from pdem.contact.geometry.query import wall_contacts
from pdem.contact.geometry.scratch_columns import INTEGER_COLUMNS
from pdem.contact.geometry.sphere_facet import nearest_feature, sphere_touches_facet
from pdem.contact.geometry.surface_arrays import FacetRange, Found, Scratch, Sphere, SurfaceArrays
from pdem.containers.meshes.mesh import Mesh
from pdem.foundation.errors import InputError

SQUARE = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2, 3]])
BOX_CORNER = Mesh([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]], [[0, 1, 2], [0, 2, 3], [0, 3, 1]])


def test_facet_edge_and_vertex_of_a_square():
    for centre, kind, point, distance in (
        ([0.5, 0.25, 0.9], 0, [0.5, 0.25, 0], 0.9),
        ([0.5, 0.25, -0.9], 0, [0.5, 0.25, 0], 0.9),
        ([1.3, 0.25, 0.4], 1, [1, 0.25, 0], 0.5),
        ([1.3, 1.0, 0.4], 1, [1, 1, 0], 0.5),
        ([-0.2, -0.3, 0.6], 2, [0, 0, 0], 0.7),
    ):
        (contact,) = wall_contacts(centre, 1.0, SQUARE)
        assert contact["kind"] in ((1, 2) if centre[1] == 1.0 else (kind,))
        np.testing.assert_allclose(contact["point"], point, atol=1e-15)
        np.testing.assert_allclose(contact["normal"], (np.array(centre) - point) / distance, atol=1e-15)
        assert contact["overlap"] == pytest.approx(1 - distance)
        assert contact["count"] == 1


def test_nothing_in_reach_gives_an_empty_array_with_the_same_fields():
    none = wall_contacts([0.5, 0.5, 2.0], 1.0, SQUARE)
    assert none.shape == (0,)
    assert none.dtype == wall_contacts([0.5, 0.5, 0.5], 1.0, SQUARE).dtype
    assert none.dtype["weights"].shape == (4,)
    assert len(wall_contacts([0.5, 0.5, 1.0], 1.0, SQUARE)) == 0  # touching without overlap


def test_centre_on_the_surface_takes_the_facet_normal():
    for point in ([0.5, 0.5, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]):
        (contact,) = wall_contacts(point, 0.1, SQUARE, method="h2")
        np.testing.assert_array_equal(contact["normal"], [0, 0, 1])
        assert contact["overlap"] == 0.1


def test_two_walls_close_together_both_count():
    plates = Mesh(
        [[0, 0, z] for z in (0.0, 0.9)] + [[9, 0, z] for z in (0.0, 0.9)] + [[0, 9, z] for z in (0.0, 0.9)],
        [[0, 2, 4], [1, 3, 5]],
    )
    contacts = wall_contacts([2.0, 2.0, 0.4], 1.0, plates, method="h2")
    np.testing.assert_allclose(contacts["normal"], [[0, 0, 1], [0, 0, -1]])
    np.testing.assert_allclose(contacts["overlap"], [0.6, 0.5])
    (hidden,) = wall_contacts([2.0, 2.0, 1.1], 1.5, plates, method="h2")
    assert hidden["facet"] == 1


def test_deep_poke_through_a_narrow_facet_is_one_contact():
    strip = Mesh([[0, 0, 0], [9, 0, 0], [9, 0.1, 0], [0, 0.1, 0]], [[0, 1, 2, 3]])
    for y in (0.05, 0.0, -0.05, 0.2):
        assert len(wall_contacts([4.0, y, 0.3], 1.0, strip)) == 1


def test_step_is_felt_however_the_floor_is_meshed():
    """An edge contact beyond the floor must not be lost to edges inside the floor."""
    counts = set()
    for n in (1, 2, 7, 20):
        x = np.linspace(-2.0, 0.85, n + 1)
        corners = [[v, y, 0.0] for v in x for y in (-2.0, 2.0)]
        floor = [[2 * k, 2 * k + 2, 2 * k + 3, 2 * k + 1] for k in range(n)]
        last = 2 * n
        corners += [[0.85, -2.0, 0.3], [0.85, 2.0, 0.3], [3.0, -2.0, 0.3], [3.0, 2.0, 0.3]]
        step = [[last, last + 1, last + 3, last + 2], [last + 2, last + 3, last + 5, last + 4]]
        contacts = wall_contacts([0.0, 0.1, 0.5], 1.0, Mesh(corners, floor + step), method="h2")
        counts.add(len(contacts))
        np.testing.assert_allclose(contacts["point"], [[0, 0.1, 0], [0.85, 0.1, 0.3]], atol=1e-15)
    assert counts == {2}


def random_polygon(generator, sides):
    """Return a convex polygon: points on an ellipse, in a random plane."""
    angles = 2 * np.pi * (np.arange(sides) + generator.uniform(0, 0.8, sides)) / sides
    flat = np.column_stack((np.cos(angles), 0.6 * np.sin(angles), np.zeros(sides)))
    turn, _ = np.linalg.qr(generator.normal(size=(3, 3)))
    return Mesh(flat @ turn.T + generator.normal(size=3), [range(sides)])


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sides=st.integers(3, 12))
def test_weights_add_up_and_reproduce_the_contact_point(seed, sides):
    generator = np.random.default_rng(seed)
    mesh = random_polygon(generator, sides)
    nodes = mesh.vertices[mesh.loop(0)]
    inside = generator.dirichlet(np.full(sides, generator.choice([0.03, 1.0]))) @ nodes
    outside = nodes.mean(axis=0) + 1.5 * (nodes[0] + nodes[1] - 2 * nodes.mean(axis=0)) * generator.uniform()
    for place in (inside, nodes[0], 0.5 * (nodes[0] + nodes[1]), outside):
        (contact,) = wall_contacts(place + 0.1 * mesh.facet_normals[0], 3.0, mesh)
        weights = contact["weights"]
        assert (weights >= 0).all()
        assert weights.sum() == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(weights @ nodes, contact["point"], atol=1e-11)
        assert (weights > 0).sum() <= {0: sides, 1: 2, 2: 1}[int(contact["kind"])]


def test_weights_of_triangle_and_parallelogram_are_the_papers():
    (contact,) = wall_contacts([1.0, 2.0, 0.5], 1.0, BOX_CORNER)
    third = contact["weights"]
    assert contact["facet"] == 0
    np.testing.assert_allclose(third, [1 - 1 / 9 - 2 / 9, 1 / 9, 2 / 9], atol=1e-15)
    skew = Mesh([[0, 0, 0], [2, 0, 0], [2.5, 1, 0], [0.5, 1, 0]], [[0, 1, 2, 3]])
    (contact,) = wall_contacts([1.0, 0.3, 0.1], 1.0, skew)
    v, p = skew.vertices, contact["point"]
    area = [np.cross(v[(a + 1) % 4] - v[a], p - v[a])[2] / 2 for a in range(4)]
    total = (area[0] + area[2]) * (area[1] + area[3])
    expected = [area[1] * area[2], area[2] * area[3], area[3] * area[0], area[0] * area[1]]
    np.testing.assert_allclose(contact["weights"], np.array(expected) / total, atol=1e-15)


def test_weights_at_a_hanging_node():
    mesh = Mesh([[0, 0, 0], [0.5, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2, 3]])
    for x in (0.25, 0.5, 0.75):
        (contact,) = wall_contacts([x, 0.0, 0.1], 1.0, mesh)
        np.testing.assert_allclose(contact["weights"] @ mesh.vertices[mesh.loop(0)], [x, 0, 0], atol=1e-15)


@pytest.mark.parametrize(
    ("centre", "radius", "mesh", "method", "words"),
    [
        ([0, 0], 1.0, SQUARE, "h2", "three finite numbers"),
        ([0, 0, np.nan], 1.0, SQUARE, "h2", "three finite numbers"),
        (["a", 0, 0], 1.0, SQUARE, "h2", "must be numbers"),
        ([0, 0, 0], 0.0, SQUARE, "h2", "positive"),
        ([0, 0, 0], -1.0, SQUARE, "h2", "positive"),
        ([0, 0, 0], np.inf, SQUARE, "h2", "positive finite"),
        ([0, 0, 0], 1.0, [[0, 0, 0]], "h2", r"list; a pdem\.Mesh is needed"),
        ([0, 0, 0], 1.0, SQUARE, "h3", "'h3'.*resolved by signed, h2"),
    ],
)
def test_bad_arguments_are_refused(centre, radius, mesh, method, words):
    with pytest.raises(InputError, match=words):
        wall_contacts(centre, radius, mesh, method=method)


def resolve(mesh, centre, radius, candidates, output):
    """Call the kernel with so many rows of output, the first of which is that of the second candidate."""
    rows = max(output, len(candidates))
    found, scratch = Found.rows(rows + 1), Scratch.rows(len(candidates), INTEGER_COLUMNS)
    found.kind[:] = -7
    status = resolve_h2(
        Sphere(*centre, radius), FacetRange(candidates, 1, len(candidates)), 1, SurfaceArrays.of(mesh), scratch, found,
        output,
    )  # fmt: skip
    return status, found


def test_candidates_in_any_order_and_repeated_give_the_same():
    expected = None
    for candidates in ([-1, 0, 1, 2], [-1, 2, 1, 0, 2, 0], [-1, 1, 1, 0, 2, 2]):
        status, found = resolve(BOX_CORNER, (0.5, 0.6, 0.7), 1.0, np.array(candidates), 9)
        assert status == 3
        result = tuple(column[1:4].tobytes() for column in (found.kind, found.facet, found.overlap))
        expected = expected or result
        assert result == expected
        assert found.kind[0] == -7
        assert (found.kind[4:] == -7).all()


def test_duplicated_facets_count_once_and_speak_through_the_first():
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    mesh = Mesh(corners, [[1, 3, 2], [2, 0, 1], [0, 1, 2], [1, 2, 0]])
    for candidates in ([-1, 0, 1, 2, 3], [-1, 3, 2, 1, 0]):
        status, found = resolve(mesh, (0.2, 0.2, 0.1), 0.3, np.array(candidates), 9)
        assert (status, found.facet[1]) == (1, 1)
        status, found = resolve(mesh, (-0.1, 0.5, 0.1), 0.3, np.array(candidates), 9)
        assert (status, found.kind[1], found.facet[1]) == (1, 1, 1)


def test_full_output_is_told():
    candidates = np.arange(-1, 3)
    assert resolve(BOX_CORNER, (0.5, 0.6, 0.7), 1.0, candidates, 3)[0] == 3
    assert resolve(BOX_CORNER, (0.5, 0.6, 0.7), 1.0, candidates, 2)[0] == OUTPUT_FULL
    assert resolve(BOX_CORNER, (8.5, 8.6, 8.7), 1.0, candidates, 0)[0] == 0


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sides=st.integers(3, 9), squeeze=st.sampled_from([1.0, 1e-3, 1e-6]))
def test_nearest_feature_is_the_nearest_of_many_points(seed, sides, squeeze):
    generator = np.random.default_rng(seed)
    mesh = flat_polygon(generator, sides, squeeze)
    nodes = mesh.vertices[mesh.loop(0)]
    surface = SurfaceArrays.of(mesh)
    samples = generator.dirichlet(np.full(sides, 0.3), 200) @ nodes
    for centre in generator.normal(size=(10, 3)) * [1.5, 1.5 * squeeze, 0.5]:
        kind, _, rx, ry, rz, squared = nearest_feature(*centre, 0, surface)
        point = centre - [rx, ry, rz]
        assert squared == pytest.approx(rx**2 + ry**2 + rz**2)
        assert squared <= ((samples - centre) ** 2).sum(axis=1).min() * (1 + 1e-12)
        # the nearest point of a convex facet is the one from which no node lies towards the centre
        assert ((nodes - point) @ (centre - point)).max() <= 1e-12
        assert sphere_touches_facet(Sphere(*centre, np.sqrt(squared) * (1 + 1e-9)), 0, surface)
        assert not sphere_touches_facet(Sphere(*centre, np.sqrt(squared) * (1 - 1e-9)), 0, surface)
        assert kind in (0, 1, 2)


@pytest.mark.parametrize("numbering", list(permutations(range(3))))
def test_nearest_of_two_edges_close_to_their_common_vertex(numbering):
    """A nanometre from a vertex the squared distances of its edges agree in all digits."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, -0.9, 0.0]])
    vertices = np.empty((3, 3))
    vertices[list(numbering)] = corners
    mesh = Mesh(vertices, [numbering])
    kind, edge, *_ = nearest_feature(1e-9, 1e-12, 1.0, 0, SurfaceArrays.of(mesh))
    assert kind == 1
    assert set(mesh.edges[edge]) == {numbering[0], numbering[1]}
