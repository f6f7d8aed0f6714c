"""The geometry of a box that deforms: lengths, images, wrapping, and when lists are stale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from decomposition.bisection import cut
from decomposition.layers import extents_of_levels, may_meet, with_levels_below
from decomposition.repeats import Repeats
from pdem.containers.box_shape import BoxShape
from pdem.detection.hgrid import HierarchicalGrid
from pdem.motion.displacement import FREQUENCY, LOWER, PERIOD
from pdem.motion.moving_box import EVERY, MovingBox, Rates
from pdem.numerics import box_images
from pdem.numerics.kernels import kernel
from pdem.numerics.vectors import exact_dot3, row3

RATES = Rates((-0.4, 0.3, 0.1), 1.5)
AXES = [(v, g) for v in range(3) for g in range(3) if v != g]


def moved(velocity, gradient, steps, rates=RATES, dt=1e-3):
    """Return a box that has deformed for some steps, and the gradient of the velocity."""
    box = MovingBox([0.0, -1.0, 2.0], [1.0, 1.0, 5.0], (True,) * 3, dt, velocity, gradient)
    for step in range(0, steps, EVERY):
        box.change(step, rates)
    flow = np.diag(rates.strain)
    flow[velocity, gradient] = rates.shear
    return box, flow


@pytest.mark.parametrize(("velocity", "gradient"), AXES)
def test_period_vectors_follow_the_gradient_of_the_velocity(velocity, gradient):
    """They are those of the matrix exponential; whole lengths that the box leans by make no difference."""
    box, flow = moved(velocity, gradient, 2000)
    expected = expm(2.0 * flow) @ np.diag(box.begin)
    shape = box.shape(2000)
    found = shape.vectors.T
    turns = np.round((expected - found)[velocity, gradient] / found[velocity, velocity])
    found[velocity, gradient] += turns * found[velocity, velocity]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert abs(shape.across[velocity]) <= 0.5001 * shape.period[velocity]
    np.testing.assert_allclose(box.strain(2000), 2.0 * np.diag(flow), rtol=1e-9)
    np.testing.assert_allclose(box.gradient_at(2000), flow, rtol=5e-3, atol=1e-12)
    assert box.at(2000).shear == pytest.approx(3.0)
    assert shape.lower + 0.5 * np.array(box.at(2000).lengths) == pytest.approx(box.centre)


def test_images_move_as_their_places_do():
    """The velocity of the image of a place is by how much it has moved in the step, over the step."""
    box, _ = moved(0, 1, 500)
    now, then = box.shape(495).vectors, box.shape(494).vectors
    np.testing.assert_allclose(box.image_velocities(495), (now - then) / 1e-3, rtol=1e-9, atol=1e-9)
    images = box.images(495).copy()
    centre = images[box_images.CENTRE]
    flow = images[box_images.RATE : box_images.RATE + 3]
    for place in np.random.default_rng(1).normal(size=(5, 3)):
        for vector, speed in zip(now, box.image_velocities(495), strict=True):
            np.testing.assert_allclose(flow @ (place + vector - centre) - flow @ (place - centre), speed, atol=1e-12)


def test_kernels_and_python_know_the_same_box():
    box, _ = moved(2, 0, 700)
    shape, sides, images = box.shape(700), box.sides(700), box.images(700)
    np.testing.assert_array_equal(sides[LOWER], shape.lower)
    np.testing.assert_array_equal(sides[PERIOD], shape.period)
    np.testing.assert_allclose(sides[FREQUENCY], 1.0 / shape.period, rtol=1e-15)
    np.testing.assert_array_equal(images[box_images.ACROSS], shape.across)


@kernel
def all_nearest(ways, velocities, images):
    """Write the nearest image of each way, and the velocity there."""
    box = box_images.images_in(images)
    for k in range(len(ways)):
        d, v = box_images.nearest_motion(row3(ways, k), row3(velocities, k), box)
        for axis in range(3):
            ways[k, axis], velocities[k, axis] = d[axis], v[axis]


@kernel
def all_in_frame(ways, velocities, squared, powers, images):
    """Write the squares of the lengths of the nearest images, and the powers of velocities along ways."""
    frame = box_images.images_in(images).frame
    for k in range(len(ways)):
        d, v = box_images.in_frame(row3(ways, k), frame), box_images.in_frame(row3(velocities, k), frame)
        near = box_images.nearest_in_frame(d, frame)
        squared[k] = exact_dot3(near, near)
        powers[k] = box_images.power(v, d, frame)


@kernel
def all_wrapped(places, velocities, counts, lower, images):
    """Write the image of each place in the box, its velocity, and how many lengths were taken off."""
    for k in range(len(places)):
        corner = lower[0], lower[1], lower[2]
        box = box_images.images_in(images)
        x, v, turns = box_images.wrapped(row3(places, k), row3(velocities, k), corner, box)
        for axis in range(3):
            places[k, axis], velocities[k, axis], counts[k, axis] = x[axis], v[axis], turns[axis]


@pytest.mark.parametrize(("velocity", "gradient"), AXES)
def test_the_nearest_image_and_the_one_in_the_box(velocity, gradient):
    """By the images around: what is near enough is found, and velocities are those of the image."""
    box, _ = moved(velocity, gradient, 830)
    shape, rng = box.shape(830), np.random.default_rng(3)
    ways, velocities = rng.uniform(-1.0, 1.0, (2000, 3)) * shape.period, rng.normal(size=(2000, 3))
    found, speeds = ways.copy(), velocities.copy()
    all_nearest(found, speeds, box.images(830))
    np.testing.assert_allclose(shape.nearest(ways), found, atol=1e-12)
    every = ways[:, None] + shape.images()
    near = np.linalg.norm(every, axis=2).min(axis=1) < 0.5 * shape.period.min()
    assert near.sum() > 20
    shortest = np.linalg.norm(found, axis=1)
    np.testing.assert_allclose(shortest[near], np.linalg.norm(every, axis=2).min(axis=1)[near])
    turns = np.round((ways - found) @ np.linalg.inv(shape.vectors))
    np.testing.assert_allclose(speeds, velocities - turns @ box.image_velocities(830), atol=1e-12)
    squared, powers = np.zeros(2000), np.zeros(2000)
    all_in_frame(ways, velocities, squared, powers, box.images(830))
    np.testing.assert_allclose(np.sqrt(squared), shortest, rtol=1e-12)
    expected = -np.einsum("ki,ij,kj->k", velocities, box.gradient_at(830), ways)
    np.testing.assert_allclose(powers, expected, rtol=1e-9, atol=1e-12)

    places, counts = 3.0 * ways + box.centre, np.zeros((2000, 3))
    inside, speeds = places.copy(), velocities.copy()
    all_wrapped(inside, speeds, counts, shape.lower, box.images(830))
    assert (inside >= shape.lower - 1e-12).all()
    assert (inside <= shape.lower + shape.period + 1e-12).all()
    again, turns = shape.wrapped(places)
    np.testing.assert_allclose(inside, again, atol=1e-12)
    np.testing.assert_allclose(speeds, velocities - turns @ box.image_velocities(830), atol=1e-12)
    # lengths travelled are those of the vectors that lean by all turns
    state, whole = box.at(830), np.diag(box.at(830).lengths)
    whole[gradient, velocity] = state.offset
    np.testing.assert_allclose(inside + counts @ whole, places, atol=1e-9)


def test_lists_are_stale_when_distances_may_have_become_too_short():
    """No way is shortened by more than is said, and nothing is carried farther."""
    box, _ = moved(0, 1, 300)
    box.note_lists(295)
    before = box.shape(295)
    for step in (295, 296, 305, 360):
        change = box.images(step)[box_images.STRETCH : box_images.STRETCH + 3]
        least = np.linalg.svd(change)[1].min()
        assert box.narrowest(step) == pytest.approx(min(least, 1.0), rel=1e-12)
        places = before.lower + np.random.default_rng(2).random((500, 3)) * before.period - box.centre
        assert np.linalg.norm(places @ change.T - places, axis=1).max() <= box.farthest(step) + 1e-15
    assert box.narrowest(295) == 1.0
    assert box.farthest(295) == 0.0


def test_a_change_of_rates_gives_places_the_velocity_that_the_box_gains():
    box, _ = moved(0, 2, 100)
    before = box.gradient_at(120)
    gained = box.change(120, Rates((0.1, -0.2, 0.0), -2.0))
    np.testing.assert_allclose(before + gained, box.gradient_at(120), atol=1e-15)
    np.testing.assert_allclose(box.gradient_at(120)[[0, 1, 0], [0, 1, 2]], [0.1, -0.2, -2.0], rtol=2e-3)


def brute(position, reach, shape):
    """Return all pairs nearer than the sum of their reaches by any image."""
    first, second = np.triu_indices(len(position), 1)
    ways = (position[second] - position[first])[:, None] + shape.images()
    near = np.linalg.norm(ways, axis=2).min(axis=1) <= reach[first] + reach[second]
    return set(zip(first[near].tolist(), second[near].tolist(), strict=True))


@given(st.integers(0, 2**32), st.sampled_from(AXES), st.floats(-0.5, 0.5), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_pairs_across_sides_that_lean_are_found(seed, axes, lean, narrow):
    """Each once, as by a look at all images; also where a box is hardly wider than two particles are long."""
    rng = np.random.default_rng(seed)
    period = np.array([0.45, 0.5, 0.6]) if narrow else rng.uniform(1.0, 2.0, 3)
    velocity, gradient = axes
    across = np.zeros(3)
    across[gradient], across[velocity] = period[gradient], lean * period[velocity]
    shape = BoxShape(rng.normal(size=3), period, gradient, velocity, across)
    count = 40 if narrow else 300
    position = shape.lower + rng.random((count, 3)) * period
    reach = 10.0 ** rng.uniform(-2.0, -1.0, count)
    grid = HierarchicalGrid(np.array([0.05, 0.2]), shape.lower, shape.lower + period, (True,) * 3)
    grid.set_shape(shape)
    near = grid.search(position, reach, count)
    found = []
    for begin, number in zip(near.begin, near.found, strict=True):
        part = slice(begin, begin + number)
        found += [
            tuple(sorted(pair)) for pair in zip(near.first[part].tolist(), near.second[part].tolist(), strict=True)
        ]
    assert len(found) == len(set(found))
    assert set(found) == brute(position, reach, shape)


@given(st.integers(0, 2**32), st.sampled_from(AXES), st.floats(-0.5, 0.5))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_ranks_that_meet_across_sides_that_lean(seed, axes, lean):
    """Of every pair of particles of two ranks both ranks find each other, by extents and by the parts of space."""
    rng = np.random.default_rng(seed)
    period, (velocity, gradient) = rng.uniform(1.0, 2.0, 3), axes
    across = np.zeros(3)
    across[gradient], across[velocity] = period[gradient], lean * period[velocity]
    shape = BoxShape(np.zeros(3), period, gradient, velocity, across)
    repeats, ranks = Repeats.of(shape), 7
    position, reach = rng.random((60, 3)) * period, rng.uniform(0.01, 0.1, 60)
    parts = cut(position, ranks)
    owner = parts.owners(position)
    none = np.zeros(60, np.int64)
    extents = np.array(
        [
            with_levels_below(extents_of_levels(position[owner == one], reach[owner == one], none[owner == one], 1))[0]
            for one in range(ranks)
        ]
    )
    whole = np.concatenate((np.zeros(3), period))
    for i, j in brute(position, reach, shape):
        one, other = owner[i], owner[j]
        assert may_meet(extents[one], extents, repeats)[other]
        assert may_meet(extents[other], extents, repeats)[one]
        box = np.concatenate((position[i], position[i], [reach[i] + reach[j]]))[None]
        assert other in parts.near(box, whole, repeats)
