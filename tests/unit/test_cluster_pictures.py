"""Pictures show a cluster as one body, in one colour."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.clusters import ROD, cluster, simulate
from pdem.output.pictures.scene import SceneFrame


def frame_of(columns):
    return SceneFrame(0.0, "", columns, None)


def test_a_rod_that_spins_and_flies_has_the_speed_of_its_centre():
    motion = {"velocity": [0.3, 0.4, 0.0], "angular_velocity": [0.0, 0.0, 500.0]}
    groups = [cluster("rod", (0.0, 0.0, 0.0), **motion), cluster("rod", (0.0, 0.05, 0.0))]
    sphere = {"material": "grain", "radius": 1e-3, "positions": [[0.0, 0.1, 0.0]], "velocity": [1.0, 0.0, 0.0]}
    own = simulate([*groups, sphere], {"rod": ROD}).gather()
    assert np.linalg.norm(own["velocity"], axis=1).max() > 2.0
    frame = frame_of(own)
    expected = np.concatenate((np.full(9, 0.5), np.zeros(9), [1.0]))
    np.testing.assert_allclose(frame.values("speed"), expected, atol=1e-12)
    np.testing.assert_allclose(frame.values("angular_velocity"), [500.0] * 9 + [0.0] * 10, atol=1e-9)
    assert frame.values("id").tolist() == [0.0] * 9 + [9.0] * 9 + [18.0]
    assert frame.values("cluster").tolist() == [1.0] * 9 + [10.0] * 9 + [0.0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9), st.floats(-1, 1)), max_size=30))
def test_each_cluster_has_one_value_and_single_spheres_keep_theirs(rows):
    cluster, number, value = (np.array([row[part] for row in rows]) for part in range(3))
    cluster, number = cluster.astype(np.int64), number.astype(np.int64)
    frame = frame_of({"cluster": cluster, "material": number, "radius": value.astype(np.float64)})
    whole, real = frame.values("material"), frame.values("radius")
    single = cluster == 0
    np.testing.assert_array_equal(whole[single], number[single])
    np.testing.assert_array_equal(real[single], value[single])
    for one in set(cluster[~single].tolist()):
        mine = cluster == one
        assert set(whole[mine]) == {number[mine].min()}
        assert len(set(real[mine])) == 1
        assert real[mine][0] == pytest.approx(value[mine].mean(), abs=1e-12)
