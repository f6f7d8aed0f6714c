"""Which nodes of a graph hang together, and which points or triangles are near each other, against scipy's answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from pdem.containers.meshes.mesh_topology import _closer_than
from pdem.numerics.components import components
from pdem.particles.clearance import near_triangles, triangle_distance


@given(
    st.integers(1, 40).flatmap(
        lambda count: st.tuples(st.just(count), st.lists(st.tuples(*[st.integers(0, count - 1)] * 2)))
    )
)
def test_components_are_those_of_scipy(graph):
    count, links = graph
    first, second = np.array(links, np.int64).reshape(-1, 2).T
    table = coo_array((np.ones(len(first), np.bool_), (first, second)), shape=(count, count))
    np.testing.assert_array_equal(components(first, second, count), connected_components(table, directed=False)[1])


@pytest.mark.parametrize("step", [1, -1, 7919])
def test_a_long_chain_is_one_component(step):
    nodes = np.arange(100_003) * step % 100_003
    assert not components(nodes[:-1], nodes[1:], len(nodes)).any()


def test_points_that_are_close_are_those_of_a_tree():
    rng = np.random.default_rng(3)
    points = np.concatenate((rng.random((500, 3)), rng.integers(0, 5, (300, 3)) / 5 + 1e-9 * rng.random((300, 3))))
    for distance in (1e-9, 1e-6, 0.05):
        found = {tuple(sorted(pair)) for pair in _closer_than(points, distance).tolist()}
        assert found == cKDTree(points).query_pairs(distance)
        assert found


def test_near_triangles_leave_none_out():
    rng = np.random.default_rng(4)
    points = rng.random((400, 3))
    sizes = np.repeat([0.01, 0.1, 1.0], 30)[:, None, None]
    corners = rng.random((90, 1, 3)) + sizes * rng.normal(size=(90, 3, 3))
    pairs = np.concatenate([np.column_stack(part) for part in near_triangles(points, 0.05, corners)])
    every = np.indices((len(points), len(corners))).reshape(2, -1).T
    near = triangle_distance(points[every[:, 0]], corners[every[:, 1]]) <= 0.05
    assert near.any()
    assert {tuple(pair) for pair in every[near].tolist()} <= {tuple(pair) for pair in pairs.tolist()}
    assert len(np.unique(pairs, axis=0)) == len(pairs) < len(every) / 4


def test_nothing_is_near_nothing():
    assert not list(near_triangles(np.zeros((0, 3)), 1.0, np.zeros((1, 3, 3))))
    assert not list(near_triangles(np.zeros((1, 3)), 1.0, np.zeros((0, 3, 3))))
