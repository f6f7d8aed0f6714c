"""How far lists reach beyond contact: by the size of particles, and by their speed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.containers.exchange import Alone
from pdem.detection.skins import AT_REST, FAST, WIDEST, Skins

RADII = np.array([0.01, 0.05])


def crowd(seed, count=400, speed=1.0):
    rng = np.random.default_rng(seed)
    velocity = rng.normal(0.0, speed, (count, 3)) * rng.exponential(1.0, (count, 1))
    return rng.uniform(0.002, 0.05, count), velocity


def written(skins, radius, velocity):
    skin, reach = np.zeros(len(radius)), np.zeros(len(radius))
    skins.write(radius, velocity, skin, reach)
    np.testing.assert_array_equal(reach, skins.reach(radius, velocity))
    return skin, reach


def measured(fraction, radius, velocity):
    skins = Skins(RADII, fraction, by_speed=True)
    skins.measure_speeds(radius, velocity, Alone())
    return skins


@given(seed=st.integers(0, 1000), fraction=st.floats(0.02, 0.15))
def test_the_mean_skin_of_a_level_is_its_fraction(seed, fraction):
    radius, velocity = crowd(seed)
    skin, reach = written(measured(fraction, radius, velocity), radius, velocity)
    for level, largest in enumerate(RADII):
        mine = np.searchsorted(RADII, radius) == level
        assert skin[mine].max() <= WIDEST * largest
        if skin[mine].max() < WIDEST * largest:
            assert skin[mine].mean() == pytest.approx(fraction * largest, rel=1e-4)
    np.testing.assert_allclose(reach, radius + skin, rtol=1e-15)


@given(seed=st.integers(0, 1000))
def test_no_skin_is_used_up_before_the_life_of_the_lists(seed):
    """But for those that are as wide as skins may be; and skins of slow particles are not narrower than a share."""
    radius, velocity = crowd(seed)
    skins = measured(0.05, radius, velocity)
    skin, _ = written(skins, radius, velocity)
    widest = skin >= 0.999 * WIDEST * RADII[np.searchsorted(RADII, radius)]
    times = skin / np.linalg.norm(velocity, axis=1)
    assert times[~widest].min() >= 0.999 * 0.05 * skins.life
    assert skin.min() >= 0.999 * 0.05 * RADII[0] * AT_REST / (1.0 + AT_REST)


def test_without_speeds_all_of_a_level_have_one_skin():
    radius, velocity = crowd(1)
    still = measured(0.1, radius, 0.0 * velocity)
    for skins in (Skins(RADII, 0.1), Skins(RADII, 0.1, by_speed=True), still):
        skin, _ = written(skins, radius, velocity)
        np.testing.assert_allclose(skin, 0.1 * RADII[np.searchsorted(RADII, radius)], rtol=1e-15)
    assert still.life == np.inf


def test_a_level_at_rest_does_not_stop_another():
    radius, velocity = crowd(2)
    velocity[radius > RADII[0]] = 0.0
    skins = measured(0.1, radius, velocity)
    skin, _ = written(skins, radius, velocity)
    np.testing.assert_allclose(skin[radius > RADII[0]], 0.1 * RADII[1], rtol=1e-15)
    assert np.ptp(skin[radius <= RADII[0]]) > 0.0
    assert 0.0 < skins.life < np.inf


def test_fast_particles_have_cells_of_their_own():
    skins = Skins(RADII, 0.1, by_speed=True)
    assert skins.cell_sizes == pytest.approx(
        [*(2.0 * RADII * (1.0 + 0.1 * FAST)), 2.0 * 0.05 * (1.0 + 0.1 * FAST + WIDEST)]
    )
    assert Skins(RADII, 0.1).cell_sizes == pytest.approx(2.0 * RADII * 1.1)


@pytest.mark.ranks(2, 3)
def test_all_ranks_know_the_same_speeds(ranks):
    from mpi4py import MPI

    from decomposition.group import RankGroup
    from decomposition.mpi import describe

    radius, velocity = crowd(3)
    mine = np.arange(len(radius)) % ranks == MPI.COMM_WORLD.rank
    skins = Skins(RADII, 0.1, by_speed=True)
    skins.measure_speeds(radius[mine], velocity[mine], RankGroup(describe(MPI.COMM_WORLD, 1)))
    np.testing.assert_array_equal(skins.speeds, measured(0.1, radius, velocity).speeds)
