"""Geometry of H2's benchmarks (Santasusana et al. 2016, sect. 6.1.2 and 7.1): contacts without motion."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.contact.geometry.query import wall_contacts
from pdem.containers.meshes.mesh import Mesh

CUBE_CORNERS = np.array([[x, y, z] for x in (-1.0, 0.0) for y in (-1.0, 0.0) for z in (-1.0, 0.0)])
CUBE = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
SPLIT = [[loop[a] for a in part] for loop in CUBE for part in ((0, 1, 2), (0, 2, 3))]


@pytest.mark.parametrize("facets", [CUBE, SPLIT])
@pytest.mark.parametrize("method", ["signed", "h2"])
def test_constant_indentation_around_a_convex_edge_and_vertex(facets, method):
    """6.1.2: R = 0.3 m carried at 0.01 m indentation over facet, edge, vertex: one contact of 0.01 m."""
    mesh = Mesh(CUBE_CORNERS, facets)
    kinds = set()
    for angle in np.linspace(0, np.pi / 2, 91):
        edge = np.array([np.sin(angle), 0.0, np.cos(angle)])
        tilt = 0.5 * np.array([np.sin(angle), np.cos(angle), 1.0]) ** 2
        for foot, way in (([0.0, -0.4, 0.0], edge), ([0.0, 0.0, 0.0], tilt / np.linalg.norm(tilt))):
            (contact,) = wall_contacts(np.array(foot) + 0.29 * way, 0.3, mesh, method=method)
            assert contact["overlap"] == pytest.approx(0.01, abs=2e-16 * 4)
            np.testing.assert_allclose(contact["normal"], way, atol=2e-15)
            kinds.add(int(contact["kind"]))
    assert kinds == {0, 1, 2}


@pytest.mark.parametrize("overlap", [0.0333, 0.1])
@pytest.mark.parametrize("strips", [1, 7])
def test_concave_crease_of_170_degrees(overlap, strips):
    """7.1: the second contact appears where the centre begins to project into the other side, not earlier."""
    slope = np.radians(10.0)
    x = np.linspace(0.0, 4.0, strips + 1)
    left = [[-v, y, 0.0] for v in x[1:] for y in (-2.0, 2.0)]
    right = [[v * np.cos(slope), y, v * np.sin(slope)] for v in x[1:] for y in (-2.0, 2.0)]
    corners = [[0.0, -2.0, 0.0], [0.0, 2.0, 0.0], *left, *right]
    facets = []
    for first in (2, 2 + 2 * strips):
        near = 0
        for k in range(strips):
            far = first + 2 * k
            facets += [[near, near + 1, far + 1], [near, far + 1, far]]
            near = far
    mesh = Mesh(corners, facets)
    height = 1.0 - overlap
    appears = -height * np.tan(slope)  # the normal through the crease of the rising side
    for position in appears + np.array([-0.3, -0.1, -1e-4, -1e-6, 1e-3, 1e-2, 0.05]):
        contacts = wall_contacts([position, 0.3, height], 1.0, mesh, method="h2")
        assert len(contacts) == (1 if position < appears else 2)
        assert contacts["overlap"][0] == pytest.approx(overlap)
    second = contacts["overlap"][1]
    assert second == pytest.approx(1.0 - (height * np.cos(slope) - position * np.sin(slope)))
