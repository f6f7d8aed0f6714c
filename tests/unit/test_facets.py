"""Candidate facets: nothing in reach is missed, lists are short, sorted, and buffers are kept."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.contact.intersection import nearest_feature, sphere_touches_facet
from pdem.containers.mesh import Mesh
from pdem.detection.facets import FacetSearch
from pdem.detection.slice_sort import sort_slice


def soup(generator, sizes):
    """Triangles of given sizes in random places and directions."""
    corners = generator.uniform(-1, 1, (len(sizes), 1, 3))
    corners = corners + generator.normal(size=(len(sizes), 3, 3)) * sizes[:, None, None]
    return Mesh(corners.reshape(-1, 3), np.arange(3 * len(sizes)).reshape(-1, 3), weld=0.0)


def squared_distance(mesh, centre, facet):
    """Squared distance of a point from a facet by the contact kernel, which has its own tests."""
    return nearest_feature(*centre, facet, mesh.vertices, mesh.facet_normals, *mesh.topology[:4])[-1]


def rows(start, facets):
    """Return the list of each sphere."""
    return [facets[a:b].tolist() for a, b in pairwise(start)]


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
        near = [f for f in range(facets) if squared_distance(mesh, centre, f) <= reach**2]
        assert set(near) <= set(listed)
        for facet in set(listed) - set(near):  # a corner region at most, never another plane
            corner = mesh.vertices[mesh.loop(facet)]
            assert abs((centre - corner[0]) @ mesh.facet_normals[facet]) <= reach * (1 + 1e-9)
            assert (corner.min(axis=0) <= centre + reach).all()
            assert (corner.max(axis=0) >= centre - reach).all()


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
        touched = [
            f for f in range(mesh.facet_count)
            if sphere_touches_facet(*centre, reach, f, mesh.vertices, mesh.facet_normals, *mesh.topology[:4])
        ]  # fmt: skip
        assert set(touched) <= set(listed)
        assert len(listed) <= 1.2 * len(touched) + 2
    assert len(big) > 100


def test_slices_are_sorted_and_the_rest_untouched():
    generator = np.random.default_rng(5)
    for count in (0, 1, 2, 31, 33, 500):
        values = generator.integers(0, 100, count + 4)
        expected = values.copy()
        expected[2:-2].sort()
        sort_slice(values, 2, count + 2)
        np.testing.assert_array_equal(values, expected)
