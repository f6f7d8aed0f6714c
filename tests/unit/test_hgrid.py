"""The grid of particles that fill a small part of a periodic box: their own cells, and the pairs of the whole box."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from pdem.detection.grid_levels import CELLS_PER_PARTICLE
from pdem.detection.hgrid import HierarchicalGrid, _middle_of_gap, opened

COUNT = 3000
BOX = np.array([40.0, 30.0, 2.0])
AT = {"inside": [17.0, 11.0, 0.0], "at a side": [0.3, 12.0, 0.0], "at an edge": [39.0, 29.5, 0.0]}


def patch(place, seed=0, size=2.0):
    """Particles of a cube somewhere in a large periodic box, wrapped into it."""
    rng = np.random.default_rng(seed)
    position = (np.array(place) + rng.uniform(-0.5 * size, 0.5 * size, (COUNT, 3)) * [1, 1, 0]) % BOX
    position[:, 2] = rng.uniform(0.0, 2.0, COUNT)
    return position, rng.uniform(0.04, 0.06, COUNT)


def pairs_of(grid, position, reach):
    near = grid.search(position, reach, len(position))
    found = set()
    for begin, number in zip(near[2], near[3], strict=True):
        both = np.sort(np.column_stack((near[0], near[1]))[begin : begin + number], axis=1)
        found.update(map(tuple, both.tolist()))
    return found


def near_in(position, reach, period):
    apart = position[:, None] - position[None]
    span = np.where(period > 0.0, period, 1.0)
    apart -= np.where(period > 0.0, np.rint(apart / span) * span, 0.0)
    first, second = np.nonzero((apart**2).sum(axis=2) <= (reach[:, None] + reach[None]) ** 2)
    return set(zip(first[first < second].tolist(), second[first < second].tolist(), strict=True))


@pytest.mark.parametrize("periodic", [(True, True, True), (True, True, False), (False, True, True)])
@pytest.mark.parametrize("place", AT.values(), ids=AT)
def test_particles_of_a_small_part_have_a_grid_of_their_own(place, periodic):
    position, reach = patch(place)
    period = np.where(periodic, BOX, 0.0)
    if not periodic[0]:  # there it does not wrap
        position[:, 0] = (position[:, 0] + 20.0) % 40.0
    grid = HierarchicalGrid(np.array([0.12]), np.zeros(3), BOX, periodic)
    assert pairs_of(grid, position, reach) == near_in(position, reach, period)
    assert grid._levels.dense[0] == 1
    assert grid._levels.buckets[0] <= CELLS_PER_PARTICLE * COUNT + 64


def test_they_are_near_each_other_in_its_order():
    """In that of hashed rows of a large box, which this was, two neighbours in memory are anywhere."""
    position, reach = patch(AT["at an edge"])
    grid = HierarchicalGrid(np.array([0.12]), np.zeros(3), BOX, (True, True, True))
    near = pairs_of(grid, position, reach)
    rank = np.argsort(grid.order(position, reach, COUNT))
    difference = np.abs([rank[one] - rank[other] for one, other in near])
    assert np.median(difference) < 60
    assert np.mean(difference) < 200


def test_those_on_different_levels_are_near_each_other_in_its_order():
    """Level by level one in twelve would be far from all of its neighbours."""
    position, reach = patch(AT["inside"])
    reach[::12] *= 1.6
    grid = HierarchicalGrid(np.array([0.12, 0.2]), np.zeros(3), BOX, (True, True, True))
    near = pairs_of(grid, position, reach)
    assert (np.bincount(grid._level_of[:COUNT]) > 200).all()
    assert len(np.bincount(grid._level_of[:COUNT])) == 2
    rank = np.argsort(grid.order(position, reach, COUNT))
    mixed = np.abs([rank[one] - rank[other] for one, other in near if (one % 12 == 0) != (other % 12 == 0)])
    assert sorted(rank) == list(range(COUNT))
    assert np.percentile(mixed, 95) < 400
    assert pairs_of(grid, position, reach) == near  # an order in between changes nothing


def test_few_in_all_of_a_box_keep_its_grid():
    rng = np.random.default_rng(4)
    position, reach = rng.uniform(0.0, BOX, (COUNT, 3)), np.full(COUNT, 0.05)
    grid = HierarchicalGrid(np.array([0.12]), np.zeros(3), BOX, (True, True, True))
    assert pairs_of(grid, position, reach) == near_in(position, reach, BOX)
    assert grid._levels.dense[0] == 0
    same, period = opened(position, np.zeros(3), BOX, 0.1)
    assert same is position
    assert period is BOX


def test_a_grid_that_was_narrow_becomes_that_of_the_box_again():
    grid = HierarchicalGrid(np.array([0.12]), np.zeros(3), BOX, (True, True, True))
    for place in (AT["inside"], AT["at an edge"]):
        position, reach = patch(place)
        assert pairs_of(grid, position, reach) == near_in(position, reach, BOX)
        wide = np.random.default_rng(5).uniform(0.0, BOX, (COUNT, 3))
        assert pairs_of(grid, wide, reach) == near_in(wide, reach, BOX)


@pytest.mark.parametrize(
    ("place", "width", "gap"),
    [
        ([0.4, 0.5], 0.2, 0.945),
        ([0.01, 0.99], 0.2, 0.5),
        ([0.1, 0.9], 0.79, None),
        ([], 0.1, None),
        ([0.0], 0.9, 0.508),
    ],
)
def test_gaps_on_a_circle(place, width, gap):
    found = _middle_of_gap(np.array(place), width)
    assert found == (None if gap is None else pytest.approx(gap, abs=0.02))


@pytest.mark.parametrize("cut", [cut for cut in product((False, True), repeat=3) if 0 < sum(cut) < 3])
@pytest.mark.parametrize("periodic", [(False, False, False), (True, True, True)])
def test_those_at_the_ends_of_cut_axes_stand_together(cut, periodic):
    """Layers lie across an axis that is cut, and rows along one that is not."""
    sides = np.array([3.0, 2.0, 2.5])
    position = np.random.default_rng(5).uniform(0.0, sides, (20 * COUNT, 3))
    reach, cut = np.full(len(position), 0.05), np.array(cut)
    grid = HierarchicalGrid(np.array([0.1]), np.zeros(3), sides, periodic)
    grid.set_cut_axes(cut)
    cell = np.floor(position[grid.order(position, reach, len(position))] / 0.1)
    steps = (np.diff(cell, axis=0) != 0.0).sum(axis=0)  # a step goes from one row, layer or cell to another
    slowest, fastest = np.argmin(steps), np.argmax(steps)
    assert cut[slowest]
    assert not cut[fastest]
    assert steps[slowest] < 0.02 * steps[fastest]
