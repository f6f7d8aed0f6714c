"""Clusters that a script puts in between two steps."""

from __future__ import annotations

import numpy as np
import pytest
from clusters import RADIUS, ROD, cluster, floor, simulate
from scipy.spatial.transform import Rotation

from pdem.foundation.errors import InputError

REACH = 5.0 * RADIUS


def rods(**options):
    return simulate([cluster("rod", (0.0, 0.0, 0.05))], {"rod": ROD}, walls=(floor(),), **options)


def size(run):
    return float(run.clusters.radius[0])


def test_a_cluster_that_comes_in_moves_as_one_of_the_case():
    turn = {"axis": [1.0, 2.0, 0.5], "angle": 70.0}
    motion = {"velocity": [0.3, 0.1, -0.2], "angular_velocity": [40.0, -20.0, 10.0]}
    first = cluster("rod", (0.1, 0.0, 0.2), **motion)
    first["orientation"] = turn
    run = simulate([first], {"rod": ROD})
    axis = np.array(turn["axis"]) / np.linalg.norm(turn["axis"])
    quaternion = Rotation.from_rotvec(np.radians(70.0) * axis).as_quat(scalar_first=True)
    ids = run.insert(
        [[0.1, 0.1, 0.2]], size(run), "grain", shape="rod", orientation=2.0 * quaternion, **motion
    )
    assert ids.tolist() == [len(ROD)]
    assert len(run.particles.id) == 2 * len(ROD)
    run.advance(200)
    states = run.clusters
    assert len(states) == 2
    np.testing.assert_allclose(states.position[1] - states.position[0], [0.0, 0.1, 0.0], atol=1e-12)
    np.testing.assert_allclose(states.angular_momentum[1], states.angular_momentum[0], rtol=1e-12)
    np.testing.assert_allclose(states.orientation[1], states.orientation[0], atol=1e-12)
    assert states.scale[1] == pytest.approx(1.0)


def test_members_have_to_be_clear_and_not_balls_about_clusters():
    run = rods()
    run.insert([[0.0, 2.1 * RADIUS, 0.05]], size(run), "grain", shape="rod")
    assert 2.1 * RADIUS < 2.0 * REACH
    with pytest.raises(InputError, match=r"position\[1\] = \[0\.0, -0\.0019, 0\.05\] m touches another"):
        run.insert([[0.0, 0.02, 0.05], [0.0, -1.9 * RADIUS, 0.05]], size(run), "grain", shape="rod")
    with pytest.raises(InputError, match=r"position\[1\].* touches another"):  # each other
        run.insert([[0.0, 0.0, 0.1], [0.0, 1.9 * RADIUS, 0.1]], size(run), "grain", shape="rod")
    upright = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]
    with pytest.raises(InputError, match=r"position\[0\].*overlaps wall floor"):
        run.insert([[0.1, 0.0, 4.0 * RADIUS]], size(run), "grain", shape="rod", orientation=upright)
    run.insert([[0.1, 0.0, 4.0 * RADIUS]], size(run), "grain", shape="rod")
    assert len(run.clusters) == 3
    run.insert([[0.2, 0.0, 0.1]], RADIUS, "grain")  # spheres beside them
    assert len(run.particles.id) == 3 * len(ROD) + 1
    run.advance(20)


def test_bad_shapes_are_named():
    run = rods()
    with pytest.raises(InputError, match="shape 'rot' is none of the case: rod; did you mean 'rod'"):
        run.insert([[0.0, 0.1, 0.1]], size(run), "grain", shape="rot")
    with pytest.raises(InputError, match="orientation is given without a shape"):
        run.insert([[0.0, 0.1, 0.1]], RADIUS, "grain", orientation=[1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match=r"orientation\[0\] is 0"):
        run.insert([[0.0, 0.1, 0.1]], RADIUS, "grain", shape="rod", orientation=[0.0] * 4)
    with pytest.raises(InputError, match=r"orientation must be numbers of shape \(n, 4\) with n = 1"):
        run.insert([[0.0, 0.1, 0.1]], RADIUS, "grain", shape="rod", orientation=[1.0, 0.0, 0.0])
    spheres = simulate([{"material": "grain", "radius": RADIUS, "positions": [[0.0, 0.0, 0.05]]}], {})
    with pytest.raises(InputError, match="no particles of the case have a shape"):
        spheres.insert([[0.0, 0.1, 0.1]], RADIUS, "grain", shape="rod")
