"""Large meshes: what a step and a search cost follows the facets near particles, not all there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.cases import Grains, simulate, state_of
from pdem.containers.index_set import PAGE, IndexSet
from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.containers.meshes.surface import surface_of
from pdem.detection.walls import facets as facet_search
from pdem.detection.walls.facet_tree import FacetTree
from pdem.detection.walls.facets import FacetSearch
from pdem.motion.courses import Steady
from pdem.motion.motions import MotionTurn, RigidMotion
from pdem.motion.walls import MovingWalls


def terrain(count, size, corner=(0.0, 0.0)):
    """Return a wavy sheet of 2 count^2 triangles."""
    x, y = (one.ravel() for one in np.meshgrid(*[np.linspace(0, size, count + 1)] * 2, indexing="ij"))
    x, y = x + corner[0], y + corner[1]
    at = (np.arange(count)[:, None] * (count + 1) + np.arange(count)).ravel()
    halves = [np.stack((at, at + count + 1, at + count + 2), 1), np.stack((at, at + count + 2, at + 1), 1)]
    return Mesh(np.column_stack((x, y, 0.02 * np.sin(9 * x) * np.cos(7 * y))), np.concatenate(halves))


def spheres(generator, count, lower, upper, ratio=1.0):
    centres = generator.uniform(lower, upper, (count, 3))
    return centres, 0.01 * ratio ** -generator.uniform(size=count)


def by_tree(search, mesh, centres, reaches):
    near = search.facet_tree.near(mesh.vertices.__getitem__, centres, reaches)
    start, found = search.find(mesh.vertices, mesh.facet_normals, centres, reaches, near)
    return start.copy(), found.copy(), near


@pytest.mark.parametrize("ratio", [1.0, 30.0])
def test_a_search_looks_only_at_facets_near_spheres(ratio):
    """Twice as wide with the same facets, 50,000 or 200,000 of them: the search looks at about as many."""
    generator = np.random.default_rng(3)
    centres, reaches = spheres(generator, 2000, [0.1, 0.1, -0.03], [0.4, 0.4, 0.04], ratio)
    looked, found = [], []
    for count, size in ((158, 1.0), (316, 2.0)):
        mesh = terrain(count, size)
        search = FacetSearch(mesh)
        start, facets, _ = by_tree(search, mesh, centres, reaches)
        looked.append(search.looked_at)
        found.append(len(facets))
        assert start[-1] == len(facets)
    assert found[0] == found[1]
    near = (0.3 + 4 * 0.01) ** 2 * 2 * 158**2  # facets under the spheres' box
    assert max(looked) < 2.0 * near
    assert abs(looked[1] - looked[0]) < 0.2 * looked[0]


@pytest.mark.parametrize("seed", range(12))
def test_a_tree_holds_every_facet_in_reach(monkeypatch, seed):
    """The search by a tree finds what the search of all facets finds, for walls in any pose."""
    monkeypatch.setattr(facet_search, "LARGE", 10)
    generator = np.random.default_rng(seed)
    count = int(generator.integers(20, 800))
    corners = generator.uniform(-1, 1, (count, 1, 3)) + generator.normal(size=(count, 3, 3)) * 10 ** generator.uniform(
        -3, 0, (count, 1, 1)
    )
    mesh = join_meshes([
        Mesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3), weld=0.0), terrain(9, 1.0),
    ])  # fmt: skip
    search = FacetSearch(mesh)
    turn = np.linalg.qr(generator.normal(size=(3, 3)))[0] * [[1.0], [1.0], [1.0]]
    moved = np.where(mesh.vertex_wall[:, None] == 0, mesh.vertices @ turn.T + [1.0, 0.0, 0.5], mesh.vertices)
    normals = mesh.normals(moved)
    number = int(generator.integers(0, 200))
    centres, reaches = spheres(generator, number, [-2.0] * 3, [2.0] * 3, 10 ** generator.uniform(0, 3))
    reaches = reaches * 10 ** generator.uniform(-1, 1)
    near = search.facet_tree.near(moved.__getitem__, centres, reaches)
    assert (np.diff(near) > 0).all()
    whole = [one.copy() for one in search.find(moved, normals, centres, reaches)]
    parts = search.find(moved, normals, centres, reaches, near)
    for sphere in range(number):
        of_all, of_part = (set(f[s[sphere] : s[sphere + 1]].tolist()) for s, f in (whole, parts))
        for facet in of_all ^ of_part:  # may differ by what is a little out of reach
            loop = moved[mesh.loop(facet)]
            gap = np.maximum(np.maximum(loop.min(axis=0) - centres[sphere], centres[sphere] - loop.max(axis=0)), 0.0)
            assert np.linalg.norm(gap) > reaches[sphere] * (1 - 1e-9)


def test_a_search_walks_down_from_the_walls():
    """Under one sphere lie a few leaves; 64 times as many of them cost some levels more."""
    tested = []
    for count in (50, 400):
        tree = FacetTree(mesh := terrain(count, 1.0))
        near = tree.near(mesh.vertices.__getitem__, np.array([[0.5, 0.5, 0.0]]), np.array([1e-3]))
        assert 0 < len(near) <= 64 * 24
        tested.append(tree.tested)
    assert tested[1] - tested[0] < 2 * 24 * 8 < 5000 / 8  # leaves


@given(st.lists(st.integers(0, 3 * PAGE - 1)), st.lists(st.integers(0, 9)))
def test_distinct_numbers_rise(wide, narrow):
    numbers = IndexSet(3 * PAGE)
    for given_numbers in (wide, narrow, wide):
        found = numbers.distinct(np.array(given_numbers, np.int64))
        assert found.tolist() == sorted(set(given_numbers))


def test_lost_and_no_spheres_are_near_nothing():
    mesh = terrain(60, 1.0)
    tree, places = FacetTree(mesh), mesh.vertices.__getitem__
    nowhere = np.array([[np.nan, 0.0, 0.0], [np.inf, 0.0, 0.0]])
    assert len(tree.near(places, nowhere, np.ones(2))) == 0
    assert len(tree.near(places, np.zeros((0, 3)), np.zeros(0))) == 0
    assert len(tree.near(places, np.array([[0.5, 0.5, 0.0]]), np.array([1e-3]))) < mesh.facet_count / 5
    assert len(tree.near(places, np.array([[0.5, 0.5, 0.0]]), np.array([1e3]))) == mesh.facet_count


def two_sheets(**options):
    mesh = join_meshes([terrain(30, 1.0), terrain(12, 1.0, (3.0, 0.0))])
    turn = MotionTurn((1.0, 2.0, 0.5), (0.3, 0.1, 0.2), Steady(3.0))
    return mesh, MovingWalls(mesh, mesh.facet_wall, mesh.vertex_wall, [RigidMotion(), RigidMotion([turn])], **options)


def test_walls_that_are_not_placed_have_what_is_watched():
    """Of both walls, the one that moves and the one that does not; nothing else has even been written."""
    mesh, some = two_sheets(placed=False)
    _, every = two_sheets()
    assert not some.vertices.any()
    assert not some.normals.any()
    generator = np.random.default_rng(1)
    for step in range(1, 5):
        some.watch(generator.integers(0, mesh.facet_count, 30))
        some.place(0.1 * step, 0.0)
        every.place(0.1 * step, 0.0)
        vertices, facets = some.placed.watched
        assert set(mesh.facet_wall[facets]) == {0, 1}
        assert some.vertices[vertices].tobytes() == every.vertices[vertices].tobytes()
        assert some.normals[facets].tobytes() == every.normals[facets].tobytes()
        anchors = generator.integers(0, mesh.vertex_count, 30)
        assert some.places_of(anchors).tobytes() == every.vertices[anchors].tobytes()
        assert np.count_nonzero(some.normals.any(axis=1)) < mesh.facet_count
    some.place_all()
    assert some.vertices.tobytes() == every.vertices.tobytes()
    assert some.normals.tobytes() == every.normals.tobytes()
    still = MovingWalls(mesh, mesh.facet_wall, mesh.vertex_wall, [RigidMotion(), RigidMotion()], placed=False)
    assert still.vertices is mesh.vertices


def test_facets_that_are_watched_have_the_bits_they_have_among_all():
    mesh, some = two_sheets()
    _, every = two_sheets()
    generator = np.random.default_rng(0)
    for step in range(1, 6):
        some.watch(generator.integers(0, mesh.facet_count, 40))
        watched = some.placed.watched
        for time in (0.1 * step, 0.1 * step + 0.03):
            some.place(time, 0.0)
            every.place(time, 0.0)
            vertices, facets = watched
            assert len(facets) < mesh.facet_count / 2
            assert some.vertices[vertices].tobytes() == every.vertices[vertices].tobytes()
            assert some.normals[facets].tobytes() == every.normals[facets].tobytes()
        assert (some.vertices != every.vertices).any()  # others stay behind
        anchors = generator.integers(0, mesh.vertex_count, 30)
        assert some.places_of(anchors).tobytes() == every.vertices[anchors].tobytes()
        some.place_all()
        assert some.vertices.tobytes() == every.vertices.tobytes()
        assert some.normals.tobytes() == every.normals.tobytes()


def rolling(tmp_path, mesh, method="h2", steps=60):
    """Spheres on a sheet that shakes."""
    generator = np.random.default_rng(5)
    places = np.stack(np.meshgrid(*[np.linspace(0.4, 0.6, 6)] * 2), -1).reshape(-1, 2)
    height = 0.02 * np.sin(9 * places[:, 0]) * np.cos(7 * places[:, 1])
    centres = np.column_stack((places, height + 0.0151)) + generator.uniform(-1e-4, 1e-4, (len(places), 3))
    shaken = {"mesh": mesh, "oscillation": {"amplitude": [0.0, 0.0, 0.003], "frequency": 5.0}}
    simulation = simulate(
        tmp_path, Grains(centres, 0.015), walls=(shaken,), gravity=(1.0, 0.0, -9.81), detection={"walls": method},
        law={"friction": 0.5, "restitution": 0.5}, lower=(-1, -1, -1), upper=(3, 3, 3),
    )  # fmt: skip
    simulation.advance(steps)
    return simulation


@pytest.mark.parametrize("method", ["h2", "signed"])
def test_a_run_has_the_same_bits_with_and_without_a_tree(tmp_path, monkeypatch, method):
    results = []
    for large in (10, 10**9):
        monkeypatch.setattr(facet_search, "LARGE", large)
        simulation = rolling(tmp_path, terrain(60, 1.0), method, 400)
        assert (simulation.system.contacts.walls._search.facet_tree is None) == (large > 10)
        results.append((state_of(simulation), simulation.wall_loads(), simulation.nodal_forces()))
    (one, loads, nodes), (other, other_loads, other_nodes) = results
    assert simulation.measures().wall_contacts > 0
    for group, columns in one.items():
        for name, column in columns.items():
            assert column.tobytes() == other[group][name].tobytes(), f"{group}/{name}"
    for name in ("force", "torque"):
        assert loads["wall0"][name].tobytes() == other_loads["wall0"][name].tobytes()
    for name, column in nodes["wall0"].items():
        assert column.tobytes() == other_nodes["wall0"][name].tobytes(), name


def test_a_step_moves_only_the_facets_near_particles(tmp_path):
    """Of 200,000 facets a shaken sheet moves those of the bed; a sheet of 8,000 has as many there."""
    placed = []
    for count, size in ((63, 0.4), (316, 2.0)):
        simulation = rolling(tmp_path, terrain(count, size, (0.5 - size / 2,) * 2), steps=5)
        walls = simulation.system.contacts.walls.walls
        placed.append(len(walls.placed.watched[1]))
        assert simulation.system.contacts.walls.count > 0
    assert placed[1] < 1.3 * placed[0] < 0.1 * 2 * 316**2


def test_a_surface_and_report_of_many_facets_are_whole():
    """No count in them grows with pairs of facets: the report of a sheet says what it is."""
    mesh = terrain(100, 1.0)
    report = mesh.report()
    assert (report.self_intersections, report.hanging_nodes, report.pieces) == (0, 0, 1)
    assert report.open_edges == 400
    surface = surface_of(mesh)
    assert sorted(surface.facet_origin.tolist()) == list(range(mesh.facet_count))
