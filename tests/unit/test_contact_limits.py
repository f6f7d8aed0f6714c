"""How many contacts bodies need to be in balance."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.clusters import ONE, ROD, TETRAPOD
from pdem.containers.clusters import STATE, Clusters
from pdem.containers.sphere_union import union_of_spheres
from pdem.engine.views.contact_numbers import fewest_contacts
from pdem.particles.clusters.shapes import ClusterShape, shape_arrays

FLAT = [[0.0, 0.0, 0.0, 1e-3], [1e-3, 0.0, 0.0, 1e-3], [0.0, 1e-3, 0.0, 1e-3]]


def system(dimension, gravity, friction):
    """Return two single spheres, and a cluster of each shape."""
    spheres = [np.array(one) for one in (ONE, ROD, TETRAPOD, FLAT)]
    shapes = [ClusterShape.of(one[:, :3], one[:, 3], union_of_spheres(one[:, :3], one[:, 3])) for one in spheres]
    table, states = Clusters(shape_arrays(shapes)), np.zeros((4, STATE))
    states[:, 13] = np.arange(4)
    table.replace(np.arange(1, 5), np.zeros((4, 3), np.int32), states)
    law = SimpleNamespace(tangential="mindlin" if friction else None)
    return SimpleNamespace(
        constants=SimpleNamespace(law=law, gravity=np.array([0.0, -gravity, 0.0]), dimension=dimension),
        clusters=SimpleNamespace(table=table),
    )  # fmt: skip


@pytest.mark.parametrize(("gravity", "more"), [(9.81, 0), (0.0, 1)])
def test_smooth_bodies_need_as_many_as_they_can_move_ways(gravity, more):
    """Spheres, a cluster of one, spheres in a row, a tetrapod, and spheres in a plane, which turn about its normal."""
    needed = np.array([3, 3, 3, 5, 6, 6]) + more
    assert (
        fewest_contacts(system(3, gravity, False).constants, system(3, gravity, False).clusters, 6).tolist()
        == needed.tolist()
    )
    flat = np.array([2, 2, 2, 3, 3, 3]) + more
    assert (
        fewest_contacts(system(2, gravity, False).constants, system(2, gravity, False).clusters, 6).tolist()
        == flat.tolist()
    )


def test_with_friction_two_are_enough():
    assert fewest_contacts(system(3, 9.81, True).constants, system(3, 9.81, True).clusters, 6).tolist() == [2] * 6


def test_without_clusters_all_are_spheres():
    spheres = system(3, 0.0, False)
    spheres.clusters = None
    assert fewest_contacts(spheres.constants, spheres.clusters, 3).tolist() == [4, 4, 4]
