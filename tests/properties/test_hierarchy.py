"""H2 on random surfaces: one contact on flat and convex ones, whatever the mesh, the place and the order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from helpers.surfaces import FLAT, moved, nearest_on_hull, random_place, rough
from pdem.contact.geometry.query import wall_contacts
from pdem.containers.meshes.mesh import Mesh, join_meshes

SEEDS = st.integers(0, 2**32 - 1)
RELATIVE_OVERLAPS = st.floats(1e-3, 0.9)
DIRECTION = 1e-9


def h2_contacts(centre, radius, mesh):
    return wall_contacts(centre, radius, mesh, method="h2")


@pytest.mark.parametrize("surface", FLAT)
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, relative=RELATIVE_OVERLAPS)
def test_one_contact_on_a_flat_surface(surface, seed, relative):
    generator = np.random.default_rng(seed)
    points, facets = surface(generator)
    facets = [loop[::-1] if generator.integers(2) else loop for loop in facets]  # two-sided: no matter
    turn, shift, vertices = moved(generator, points)
    mesh = Mesh(vertices, facets)
    for _ in range(5):
        radius = 10 ** generator.uniform(-2, 0.5)
        normal = turn[:, 2] * generator.choice([-1, 1])
        foot = turn[:, :2] @ random_place(generator, points, facets) + shift
        contacts = h2_contacts(foot + (1 - relative) * radius * normal, radius, mesh)
        assert len(contacts) == 1
        assert np.linalg.norm(contacts["normal"][0] - normal) < DIRECTION
        assert contacts["overlap"][0] == pytest.approx(relative * radius, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, relative=RELATIVE_OVERLAPS)
def test_one_contact_outside_a_convex_polyhedron(seed, relative):
    generator = np.random.default_rng(seed)
    cloud = generator.normal(size=(int(generator.integers(4, 40)), 3)) * 10 ** generator.uniform(-0.7, 0.3, 3)
    facets = ConvexHull(cloud).simplices
    mesh = Mesh(cloud, facets)
    for _ in range(4):
        away = generator.normal(size=3)
        away /= np.linalg.norm(away)
        centre = cloud.mean(axis=0) + away * ((cloud - cloud.mean(axis=0)) @ away).max()
        centre += away * 10 ** generator.uniform(-2, 0.5)
        foot = nearest_on_hull(centre, cloud, facets)
        distance = np.linalg.norm(centre - foot)
        contacts = h2_contacts(centre, distance / (1 - relative), mesh)
        assert len(contacts) == 1
        np.testing.assert_allclose(contacts["normal"][0], (centre - foot) / distance, atol=1e-7)
        assert contacts["overlap"][0] == pytest.approx(distance * relative / (1 - relative), rel=1e-9)


def assert_same_bits(one, mesh_one, other, mesh_other, number):
    """Contacts are the same bit for bit; `number` maps facets of the other mesh to those of the first."""
    assert len(one) == len(other)
    for name in ("kind", "point", "normal", "overlap"):
        assert one[name].tobytes() == other[name].tobytes(), name
    np.testing.assert_array_equal(number[other["facet"]], one["facet"])
    for a, b in zip(one, other, strict=True):
        if a["kind"] == 0:
            assert number[b["feature"]] == a["feature"]
        elif a["kind"] == 1:
            assert mesh_one.edges[a["feature"]].tolist() == mesh_other.edges[b["feature"]].tolist()
        else:
            assert a["feature"] == b["feature"]


@pytest.mark.parametrize("surface", [*FLAT, rough])
@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_order_of_facets_and_start_of_loops_do_not_matter(surface, seed):
    generator = np.random.default_rng(seed)
    points, facets = surface(generator)
    _, _, vertices = moved(generator, points)
    mesh = Mesh(vertices, facets)
    order = generator.permutation(len(facets))
    shuffled = Mesh(vertices, [np.roll(facets[k], generator.integers(4)) for k in order])
    for _ in range(6):
        radius = 10 ** generator.uniform(-2, 0.5)
        foot = random_place(generator, vertices, facets)
        centre = foot + generator.normal(size=3) * radius * generator.choice([0.0, 0.1, 0.5])
        one, other = h2_contacts(centre, radius, mesh), h2_contacts(centre, radius, shuffled)
        assert_same_bits(one, mesh, other, shuffled, order)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, relative=st.floats(1e-3, 0.6), sides=st.integers(2, 3))
def test_concave_corners_have_one_contact_per_wall(seed, relative, sides):
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 6))
    walls = []
    for axis in range(sides):
        across = [other for other in range(3) if other != axis]
        x, y = np.meshgrid(np.linspace(0, 4, n + 1), np.linspace(0, 4, n + 1))
        corners = np.zeros((x.size, 3))
        corners[:, across] = np.column_stack((x.ravel(), y.ravel()))
        walls.append(corners)
    facets = [
        [a + len(walls[0]) * w, a + 1 + len(walls[0]) * w, b + len(walls[0]) * w]
        for w in range(sides)
        for first in (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
        for a, b in ((first, first + n + 1), (first + n + 1, first + 1))
    ]
    distance = 1 - relative
    centre = np.array([distance] * sides + [2.0] * (3 - sides)) * generator.uniform(0.9, 1.0, 3)
    turn, _, vertices = moved(generator, np.vstack([*walls, [centre]]))
    contacts = h2_contacts(vertices[-1], 1.0, Mesh(vertices, facets))
    normals = contacts["normal"] @ turn
    assert len(contacts) == sides
    np.testing.assert_allclose(np.sort(normals.argmax(axis=1)), np.arange(sides))
    np.testing.assert_allclose(normals.max(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(1 - contacts["overlap"], centre[normals.argmax(axis=1)], atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, relative=RELATIVE_OVERLAPS)
def test_unwelded_walls_and_hanging_nodes_give_one_contact(seed, relative):
    """Two plates meet on a line where each has its own nodes; a third lies under the first."""
    generator = np.random.default_rng(seed)

    def strip(side):
        n = int(generator.integers(1, 9))
        y = np.linspace(0, 1, n + 1)
        corners = [[x, v, 0.0] for v in y for x in (0.0, side)]
        quads = [[2 * k, 2 * k + 1, 2 * k + 3, 2 * k + 2] for k in range(n)]
        return Mesh(corners, quads)

    walls = join_meshes([strip(1.0), strip(-1.0), strip(1.0)])
    radius = 10 ** generator.uniform(-2, 0)
    foot = np.array([radius * generator.choice([0.0, 1e-12, 3e-9, 0.1, -0.3]), generator.uniform(), 0.0])
    contacts = h2_contacts(foot + np.array([0, 0, (1 - relative) * radius]), radius, walls)
    assert len(contacts) == 1
    assert np.linalg.norm(contacts["normal"][0] - [0, 0, 1]) < DIRECTION
    assert contacts["overlap"][0] == pytest.approx(relative * radius, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_results_are_finite_wherever_the_centre_is(seed):
    generator = np.random.default_rng(seed)
    points, facets = rough(generator)
    mesh = Mesh(points, facets)
    tiny = generator.choice([0.0, 1e-300, 1e-170, 1e-16, 1e-9])
    for _ in range(5):
        centre = random_place(generator, points, facets) + tiny * generator.normal(size=3)
        contacts = h2_contacts(centre, 10 ** generator.uniform(-6, 0), mesh)
        assert len(contacts) >= 1
        for name in ("point", "normal", "overlap", "weights"):
            assert np.isfinite(contacts[name]).all()
        np.testing.assert_allclose(np.linalg.norm(contacts["normal"], axis=1), 1.0, atol=1e-12)
        assert (np.diff(contacts["overlap"]) <= 1e-12).all()


def test_facet_beats_the_rim_of_a_neighbour_that_rounding_puts_nearer():
    """Over one of two plates that share no nodes, nanometres from the other's rim, the facet speaks."""
    generator = np.random.default_rng(7)
    plate = np.array([[0.0, -1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 1.0]])
    for _ in range(200):
        turn, shift, vertices = moved(generator, np.vstack((plate, plate * [-1.0, 1.0])))
        walls = join_meshes([Mesh(vertices[4:], [[0, 1, 2, 3]]), Mesh(vertices[:4], [[0, 1, 2, 3]])])
        centre = turn @ [5e-9, generator.uniform(-0.5, 0.5), 0.7] + shift
        (contact,) = h2_contacts(centre, 1.0, walls)
        assert (contact["kind"], contact["facet"]) == (0, 1)
        assert np.linalg.norm(contact["normal"] - turn[:, 2]) < DIRECTION
