"""Clusters that a script puts in between two steps."""

from __future__ import annotations

import numpy as np
import pytest
import tomli_w
from scipy.spatial.transform import Rotation

import pdem
from helpers import cases
from helpers.clusters import RADIUS, ROD, cluster, document, floor, simulate
from pdem.foundation.errors import CaseError, InputError

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
    ids = run.insert([[0.1, 0.1, 0.2]], size(run), "grain", shape="rod", orientation=2.0 * quaternion, **motion)
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


def test_bad_shapes_are_named(tmp_path):
    run = rods()
    with pytest.raises(InputError, match="shape 'rot' is none of the case: rod; did you mean 'rod'"):
        run.insert([[0.0, 0.1, 0.1]], size(run), "grain", shape="rot")
    with pytest.raises(InputError, match="orientation is given without a shape"):
        run.insert([[0.0, 0.1, 0.1]], RADIUS, "grain", orientation=[1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match=r"orientation\[0\] is 0"):
        run.insert([[0.0, 0.1, 0.1]], RADIUS, "grain", shape="rod", orientation=[0.0] * 4)
    with pytest.raises(InputError, match=r"orientation must be numbers of shape \(n, 4\) with n = 1"):
        run.insert([[0.0, 0.1, 0.1]], RADIUS, "grain", shape="rod", orientation=[1.0, 0.0, 0.0])
    spheres = cases.simulate(tmp_path, cases.Grains([0.0, 0.0, 0.05], RADIUS))
    with pytest.raises(InputError, match="no particles of the case have a shape"):
        spheres.insert([[0.0, 0.1, 0.1]], RADIUS, "grain", shape="rod")


def inserting(walls=(), **keys):
    rods = {"name": "rods", "material": "grain", "shape": "rod", "velocity": [0.0, 0.0, 0.0], "every": 1e-5, **keys}
    return pdem.Case.from_text(tomli_w.dumps(document([], {"rod": ROD}, walls=walls, insertions=[rods])))


def gaps(run):
    """Return the gaps between spheres of different clusters (m,) [m]."""
    own = run.particles
    between = np.linalg.norm(own.position[:, None] - own.position, axis=2) - own.radius[:, None] - own.radius
    return between[own.cluster[:, None] < own.cluster]


@pytest.mark.parametrize("orientation", ["aligned", "random"])
def test_rods_come_where_their_spheres_have_room_and_balls_do_not(orientation):
    """A slab of less than half their length; more of them than balls fit into a close packing."""
    high = 5.0 * RADIUS if orientation == "aligned" else 11.0 * RADIUS
    slab = {"lower": [0.0, 0.0, 0.0], "upper": [0.03, 0.03, high]}
    case = inserting((floor(),), region=slab, count=40, attempts=2000, orientation=orientation)
    run = pdem.Simulation(case, threads=1)
    run.advance(1)
    assert run.insertions["rods"].count == len(run.clusters) == 40
    assert 40 * 4.0 / 3.0 * np.pi * REACH**3 > 0.74 * 0.03 * 0.03 * high
    own = run.particles
    assert (own.position >= np.array(slab["lower"]) + RADIUS - 1e-12).all()
    assert (own.position <= np.array(slab["upper"]) - RADIUS + 1e-12).all()
    assert gaps(run).min() >= -1e-15
    turns = np.unique(np.round(run.clusters.orientation, 12), axis=0)
    assert len(turns) == (1 if orientation == "aligned" else 40)


def test_rods_come_through_a_face_narrower_than_they_are_long():
    disc = {"shape": "disc", "centre": [0.0, 0.0, 0.1], "normal": [0.0, 0.0, -1.0], "radius": 3.0 * RADIUS}
    upright = {"axis": [0.0, 1.0, 0.0], "angle": 90.0}
    case = inserting(face=disc, velocity=2.0, every=1e-2, count_rate=150.0, orientation=upright)
    run = pdem.Simulation(case, threads=1)
    run.advance(10002)
    own = run.particles
    assert run.insertions["rods"].count >= 2
    assert (np.hypot(own.position[:, 0], own.position[:, 1]) <= 2.0 * RADIUS + 1e-12).all()
    assert (own.position[:, 2] <= 0.1 - RADIUS + 1e-12).all()
    assert own.position[:, 2].max() > 0.1 - 2.0 * (2.0 * REACH)
    assert gaps(run).min() >= -1e-15


def test_a_place_too_narrow_for_any_sphere_of_a_cluster_is_refused():
    with pytest.raises(CaseError, match=r"region: is 0.0015 m wide, less than the largest diameter 0.002 m"):
        inserting(region={"lower": [0.0] * 3, "upper": [0.03, 0.03, 0.0015]}, count=1)
