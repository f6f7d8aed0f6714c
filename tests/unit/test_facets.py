"""Candidate facets: nothing in reach is missed, lists are short, sorted, and buffers are kept."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.contact.geometry.sphere_facet import nearest_feature, sphere_touches_facet
from pdem.contact.geometry.surface_arrays import Sphere, SurfaceArrays
from pdem.containers.meshes.mesh import Mesh
from pdem.detection.walls.facets import FacetSearch


def soup(generator, sizes):
    """Triangles of given sizes in random places and directions."""
    corners = generator.uniform(-1, 1, (len(sizes), 1, 3))
    corners = corners + generator.normal(size=(len(sizes), 3, 3)) * sizes[:, None, None]
    return Mesh(corners.reshape(-1, 3), np.arange(3 * len(sizes)).reshape(-1, 3), weld=0.0)


def squared_distance(mesh, centre, facet):
    """Squared distance of a point from a facet by the contact kernel, which has its own tests."""
    return nearest_feature(*centre, facet, SurfaceArrays.of(mesh))[-1]


def rows(start, facets):
    """Return the list of each sphere."""
    return [facets[a:b].tolist() for a, b in pairwise(start)]


def distances(mesh, centres):
    """Distance of each centre from each facet."""
    of = [[squared_distance(mesh, centre, f) for f in range(mesh.facet_count)] for centre in centres]
    return np.sqrt(np.array(of).reshape(len(centres), mesh.facet_count))


def assert_complete(mesh, centres, reaches, found):
    """Nothing in reach is missing, all is in order and near the plane, and nothing is listed twice."""
    assert len(found) == len(reaches)
    for apart, centre, reach, listed in zip(distances(mesh, centres), centres, reaches, found, strict=True):
        assert listed == sorted(set(listed))
        assert set(np.flatnonzero(apart <= reach)) <= set(listed)
        for facet in listed:
            corners = mesh.vertices[mesh.loop(facet)]
            wide = reach * (1 + 1e-8) + 1e-13 * np.abs(corners).max()
            assert abs((centre - corners[0]) @ mesh.facet_normals[facet]) <= wide
            gap = np.maximum(np.maximum(corners.min(axis=0) - centre, centre - corners.max(axis=0)), 0.0)
            assert np.linalg.norm(gap) <= wide


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    facets=st.integers(1, 40),
    spheres=st.integers(0, 40),
    size=st.floats(-4, 3),
    spread=st.sampled_from([0.0, 0.5, 3.0]),
)
def test_every_facet_in_reach_is_listed_once_in_order(seed, facets, spheres, size, spread):
    generator = np.random.default_rng(seed)
    mesh = soup(generator, 10 ** (size + spread * generator.normal(size=facets)))
    centres = generator.uniform(-1.5, 1.5, (spheres, 3))
    reaches = 10 ** generator.uniform(-3, 1, spheres)
    found = rows(*FacetSearch(mesh).find(mesh.vertices, mesh.facet_normals, centres, reaches))
    assert len(found) == spheres
    for centre, reach, listed in zip(centres, reaches, found, strict=True):
        assert listed == sorted(set(listed))
        near = [f for f in range(mesh.facet_count) if squared_distance(mesh, centre, f) <= reach**2]
        assert set(near) <= set(listed)
        for facet in set(listed) - set(near):  # a corner region at most, never another plane
            corner = mesh.vertices[mesh.loop(facet)]
            assert abs((centre - corner[0]) @ mesh.facet_normals[facet]) <= reach * (1 + 1e-9)
            assert (corner.min(axis=0) <= centre + reach).all()
            assert (corner.max(axis=0) >= centre - reach).all()


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    facets=st.integers(1, 12),
    spheres=st.integers(1, 60),
    size=st.floats(-3, 2),
    ratio=st.sampled_from([1.0, 3.0, 100.0, 1000.0]),
    reach=st.floats(-4, 0),
    heap=st.sampled_from([0.0, 1e-3, 0.1, 1.0]),
)
def test_any_ratio_of_sizes_and_any_heap(seed, facets, spheres, size, ratio, reach, heap):
    generator = np.random.default_rng(seed)
    mesh = soup(generator, np.full(facets, 10**size))
    on = mesh.vertices[generator.integers(0, len(mesh.vertices), 3)]
    centres = on[generator.integers(0, 3, spheres)] + heap * generator.normal(size=(spheres, 3))
    reaches = 10**reach * ratio ** generator.uniform(-1, 0, spheres)
    found = rows(*FacetSearch(mesh).find(mesh.vertices, mesh.facet_normals, centres, reaches))
    assert_complete(mesh, centres, reaches, found)


def heaps(generator, count):
    """Spheres in two heaps far apart: cells over all of them would be crowded."""
    centres = np.where(np.arange(count) % 2, 1.0, -1.0)[:, None] + 0.02 * generator.normal(size=(count, 3))
    return centres, 10 ** generator.uniform(-3.5, -2.0, count)


@pytest.mark.parametrize("size", [1e-3, 0.03, 1.0, 30.0])
def test_rows_of_heaps_are_hashed_and_complete(size):
    generator = np.random.default_rng(6)
    centres, reaches = heaps(generator, 400)
    corners = centres[:60:3, None] + size * generator.normal(size=(20, 3, 3))
    mesh = Mesh(corners.reshape(-1, 3), np.arange(60).reshape(-1, 3), weld=0.0)
    search = FacetSearch(mesh)
    found = rows(*search.find(mesh.vertices, mesh.facet_normals, centres, reaches))
    assert (search._spheres.cells.mask >= 0).any()
    assert_complete(mesh, centres, reaches, found)


@pytest.mark.parametrize("tilt", [None, [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, -1], [3, -2, 1]])
def test_spheres_on_cell_borders_touch_a_huge_facet(tilt):
    reach = 0.5
    step = np.arange(12.0)
    centres = np.stack(np.meshgrid(step, step, step), axis=-1).reshape(-1, 3)  # cells are one wide
    normal = np.array([0, 0, 1.0] if tilt is None else tilt, dtype=float)
    normal /= np.linalg.norm(normal)
    along = np.linalg.svd(normal[None])[2][1:]
    middle = np.full(3, 5.0 if tilt is None else 5.5)
    square = middle + 100.0 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ along
    mesh = Mesh(square, np.array([[0, 1, 2, 3]]))
    reaches = np.full(len(centres), reach)
    start, _ = FacetSearch(mesh).find(mesh.vertices, mesh.facet_normals, centres, reaches)
    apart = np.abs((centres - middle) @ normal)
    listed = np.diff(start) == 1
    assert listed[apart <= reach * (1 - 1e-12)].all()
    assert not listed[apart > reach * (1 + 1e-8)].any()
    assert listed.any()


def test_spheres_at_the_edge_of_reach_of_a_lattice_are_listed():
    n = 9
    x, y = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0))
    first = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    mesh = Mesh(
        np.column_stack((x.ravel(), y.ravel(), np.zeros(x.size))),
        np.column_stack((first, first + 1, first + n + 2, first + n + 1)),
    )
    centres = np.column_stack((x.ravel(), y.ravel(), np.full(x.size, 0.25)))
    reaches = np.where(np.arange(len(centres)) % 2, 0.25, 1.0)
    found = rows(*FacetSearch(mesh).find(mesh.vertices, mesh.facet_normals, centres, reaches))
    assert_complete(mesh, centres, reaches, found)
    assert min(map(len, found)) >= 1


def test_spheres_outside_and_nowhere_have_no_facets():
    generator = np.random.default_rng(7)
    mesh = soup(generator, np.full(30, 0.2))
    search = FacetSearch(mesh)
    centres, reaches = generator.uniform(-1, 1, (50, 3)), np.full(50, 0.3)
    expected = rows(*search.find(mesh.vertices, mesh.facet_normals, centres, reaches))
    start, facets = search.find(mesh.vertices, mesh.facet_normals, centres + 50.0, reaches)
    assert start.tolist() == [0] * 51
    assert len(facets) == 0
    centres[3, 1], centres[7], centres[11, 0], reaches[13] = np.nan, np.inf, -np.inf, np.nan
    found = rows(*search.find(mesh.vertices, mesh.facet_normals, centres, reaches))
    lost = {3, 7, 11, 13}
    assert all(found[i] == ([] if i in lost else expected[i]) for i in range(50))
    found = rows(*search.find(mesh.vertices, mesh.facet_normals, centres, np.full(50, np.nan)))
    assert not any(found)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_facets_that_are_nowhere_do_not_hide_others(wrong):
    mesh = soup(np.random.default_rng(8), np.full(30, 0.2))
    centres, reaches = np.random.default_rng(9).uniform(-1, 1, (50, 3)), np.full(50, 0.3)
    expected = rows(*FacetSearch(mesh).find(mesh.vertices, mesh.facet_normals, centres, reaches))
    moved = mesh.vertices.copy()
    moved[mesh.loop(12)] = wrong
    found = rows(*FacetSearch(mesh).find(moved, mesh.facet_normals, centres, reaches))
    for before, now in zip(expected, found, strict=True):
        assert set(before) - {12} == set(now) - {12}


def test_infinite_and_zero_reaches():
    mesh = soup(np.random.default_rng(10), np.full(10, 0.2))
    centres = np.vstack((np.zeros(3), mesh.vertices[mesh.loop(4)[0]], np.full(3, 9.0)))
    found = rows(*FacetSearch(mesh).find(mesh.vertices, mesh.facet_normals, centres, np.array([np.inf, 0.0, 0.0])))
    assert found[0] == list(range(10))
    assert found[1:] == [[4], []]


def test_no_spheres():
    mesh = soup(np.random.default_rng(11), np.full(3, 0.2))
    nothing = np.empty((0, 3))
    start, facets = FacetSearch(mesh).find(mesh.vertices, mesh.facet_normals, nothing, np.empty(0))
    assert start.tolist() == [0]
    assert len(facets) == 0


def test_one_object_serves_inputs_that_grow_and_shrink():
    generator = np.random.default_rng(12)
    mesh = soup(generator, 10 ** generator.uniform(-2, 0, 40))
    search = FacetSearch(mesh)
    for count in (5, 300, 0, 17, 900, 1, 450):
        centres, reaches = generator.uniform(-1, 1, (count, 3)), 10 ** generator.uniform(-3, 0.5, count)
        found = rows(*search.find(mesh.vertices, mesh.facet_normals, centres, reaches))
        assert found == rows(*FacetSearch(mesh).find(mesh.vertices, mesh.facet_normals, centres, reaches))
        assert_complete(mesh, centres[:40], reaches[:40], found[:40])


_ON_THREADS = """
import sys
import numpy as np
from pdem.containers.meshes.mesh import Mesh
from pdem.detection.walls.facets import FacetSearch
from pdem.numerics.thread_pool import set_threads, threads
set_threads(int(sys.argv[1]))
assert threads() == int(sys.argv[1])
generator = np.random.default_rng(13)
size = np.geomspace(0.01, 9, 60)[:, None, None]
corners = generator.uniform(-1, 1, (60, 1, 3)) + size * generator.normal(size=(60, 3, 3))
mesh = Mesh(corners.reshape(-1, 3), np.arange(180).reshape(-1, 3), weld=0.0)
search = FacetSearch(mesh)
for spread in (1.0, 0.05):
    side = np.where(np.arange(3000) % 2, 1.0, -1.0)[:, None] * (spread < 1)
    centres = side + spread * generator.uniform(-1, 1, (3000, 3))
    reaches = 10 ** generator.uniform(-3, -0.5, 3000)
    start, facets = search.find(mesh.vertices, mesh.facet_normals, centres, reaches)
    print(start.tolist(), facets.tolist())
"""


def test_results_do_not_depend_on_the_number_of_threads():
    outputs = [
        subprocess.run([sys.executable, "-c", _ON_THREADS, number], capture_output=True, text=True, check=True).stdout
        for number in ("1", "2")
    ]  # fmt: skip
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 10000


def test_moved_vertices_are_what_counts():
    mesh = soup(np.random.default_rng(2), np.full(20, 0.1))
    search = FacetSearch(mesh)
    centre, reach = np.zeros((1, 3)), np.array([0.8])
    here = rows(*search.find(mesh.vertices, mesh.facet_normals, centre, reach))
    away = np.array([10.0, 0.0, 0.0])
    far = mesh.vertices + away
    assert rows(*search.find(far, mesh.facet_normals, centre, reach)) == [[]]
    assert rows(*search.find(far, mesh.facet_normals, centre + away, reach)) == here != [[]]


def test_repeated_calls_keep_their_buffers():
    generator = np.random.default_rng(3)
    mesh = soup(generator, np.full(200, 0.2))
    search = FacetSearch(mesh)
    centres, reaches = generator.uniform(-1, 1, (300, 3)), np.full(300, 0.1)
    start, facets = search.find(mesh.vertices, mesh.facet_normals, centres, reaches)
    expected = facets.copy()
    held = search.memory
    again_start, again = search.find(mesh.vertices, mesh.facet_normals, centres, reaches)
    assert np.shares_memory(start, again_start)
    assert np.shares_memory(facets, again)
    assert search.memory == held
    np.testing.assert_array_equal(again, expected)
    search.find(mesh.vertices, mesh.facet_normals, centres[:7], reaches[:7])
    assert search.memory == held


@pytest.mark.parametrize("sizes", [(1e-3, 1e-3), (1e3, 1e3), (1e-3, 1e3), (1e-7, 1.0)])
def test_memory_is_linear_in_the_number_of_facets(sizes):
    generator = np.random.default_rng(4)
    mesh = soup(generator, np.geomspace(*sizes, 500))
    search = FacetSearch(mesh)
    search.find(mesh.vertices, mesh.facet_normals, generator.uniform(-1, 1, (100, 3)), np.full(100, 1e-4))
    assert search.memory < 500 * 256 + 64 * 1024


def test_large_sphere_over_a_fine_mesh_lists_what_it_touches():
    n = 40
    x, y = np.meshgrid(np.linspace(-1, 1, n + 1), np.linspace(-1, 1, n + 1))
    first = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    mesh = Mesh(
        np.column_stack((x.ravel(), y.ravel(), np.zeros(x.size))),
        np.column_stack((first, first + 1, first + n + 2, first + n + 1)),
    )
    search = FacetSearch(mesh)
    centres, reaches = np.array([[0.0, 0.0, 49.5], [0.5, 0.5, 0.01]]), np.array([49.502, 0.02])
    big, small = rows(*search.find(mesh.vertices, mesh.facet_normals, centres, reaches))
    for listed, centre, reach in ((big, centres[0], reaches[0]), (small, centres[1], reaches[1])):
        sphere, surface = Sphere(*centre, reach), SurfaceArrays.of(mesh)
        touched = [f for f in range(mesh.facet_count) if sphere_touches_facet(sphere, f, surface)]
        assert set(touched) <= set(listed)
        assert len(listed) <= 1.2 * len(touched) + 2
    assert len(big) > 100
