"""How skins are divided between a box that deforms and the particles in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.engine.box.share import FIRST_SHARE, LARGEST_SHARE, LEAST_SHARE, BoxShare, next_share
from pdem.motion.moving_box import MovingBox, Rates


def life(share, box, particles):
    """Return how long lists last whose skins the box and the fastest particle use up at these rates."""
    return min(share / box, (1.0 - share) / particles)


@given(st.floats(1e-6, 1.0), st.floats(1e-6, 1.0))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_lists_come_to_last_nearly_as_long_as_they_can(box, particles):
    share, best = FIRST_SHARE, 1.0 / (box + particles)
    for _ in range(12):
        share = next_share(share, box * life(share, box, particles))
        assert LEAST_SHARE <= share <= LARGEST_SHARE
    assert life(share, box, particles) > 0.65 * best


def test_a_box_that_rests_leaves_the_skins_to_the_particles_and_gets_them_back():
    box, share, least = MovingBox([0.0] * 3, [1.0] * 3, (True,) * 3, 1e-3, 0, 1), BoxShare(), 0.1
    for step in range(0, 60, 10):
        share.divide(box, step, least)
    assert share.narrowest == pytest.approx(1.0 - LEAST_SHARE * least)
    box.change(60, Rates(shear=1.0))
    lists = [60]
    for step in range(61, 1500):
        if box.narrowest(step) < share.narrowest:
            share.divide(box, step, least)
            lists.append(step)
    # a shear by x shortens some distances by x / 2
    assert lists[1] - 60 < 6
    assert lists[-1] - lists[-2] == pytest.approx(2.0 * LARGEST_SHARE * least / 1e-3, rel=0.1)
