"""How far walls may move until facets are listed anew: as far as they move until all lists are made anew."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.engine.walls.wall_margin import SPARE, WIDEST, WallMargin


def lists_of_facets(margin, life, speed, skin, lives):
    """Return how often facets are listed in each life of lists, for a wall of one speed, and all margins."""
    counts, lengths, moved = [], [], 0.0
    for first in range(7, 7 + lives * life, life):
        counts.append(0)
        for step in range(first, first + life):
            if step == first:
                margin.note_detection(step)
            if step == first or moved > margin.length:
                margin.choose(step, moved, skin)
                counts[-1] += 1
                lengths.append(margin.length)
                moved = 0.0
            moved += speed
    return counts, lengths


@given(life=st.integers(2, 400), way=st.floats(0.0, 40.0), skin=st.floats(1e-6, 1e-2))
def test_facets_are_listed_in_equal_parts_of_the_life_of_lists(life, way, skin):
    """Where lists live equally long, the way is divided into as few parts as the widest margin allows."""
    counts, lengths = lists_of_facets(WallMargin(), life, way * skin / life, skin, 6)
    assert max(counts[2:]) <= max(1, math.ceil(SPARE * way / WIDEST))
    assert min(lengths) >= skin
    assert max(lengths) <= max(1.0, WIDEST) * skin * (1.0 + 1e-9)


def test_a_rotor_that_passes_the_skin_in_a_life_needs_one_list_for_it():
    counts, lengths = lists_of_facets(WallMargin(), 20, 0.05, 0.6, 4)
    assert counts[0] == 2
    assert counts[2:] == [1, 1]
    assert lengths[-1] == pytest.approx(SPARE * 20 * 0.05)


@pytest.mark.parametrize("skin", [0.0, 0.3])
def test_walls_at_rest_and_particles_without_skin(skin):
    counts, lengths = lists_of_facets(WallMargin(), 20, 0.0, skin, 3)
    assert counts == [1, 1, 1]
    assert set(lengths) == {skin}
