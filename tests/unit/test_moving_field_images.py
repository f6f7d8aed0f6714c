"""Fields in boxes that lean and grow: images beside copies that are made one by one, and what is conserved."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.containers.box_shape import BoxShape
from pdem.continuum.grid import GAUSSIAN, LUCY, grid_of
from pdem.continuum.items import Actions, Matter
from pdem.continuum.moving_box import FieldFrame, MovingImages
from pdem.continuum.sums import CONTACT, MASS, MOMENTUM, SIZE, WALL, field_sums


def some(seed, count=12):
    """Return particles and what acts in a box from 0 to 1."""
    rng = np.random.default_rng(seed)
    kind = np.zeros(count, np.int64)
    mass, size = rng.uniform(1.0, 2.0, (2, count))
    matter = Matter(rng.uniform(0.0, 1.0, (count, 3)), rng.normal(size=(count, 3)), mass, size, kind)
    at_wall, way = np.arange(count) % 4 == 0, rng.uniform(-0.1, 0.1, (count, 3))
    way[at_wall] = 0.0
    return matter, Actions(rng.uniform(0.0, 1.0, (count, 3)), way, rng.normal(size=(count, 3)), at_wall, kind)


def box_of(axes, lean, strains, shear, open_axis=-1):
    """Return a box from 0 to 1 that shears along axes and leans by so much, and the gradient of its velocity."""
    period = np.where(np.arange(3) == open_axis, 0.0, 1.0)
    flow = np.diag(np.where(period > 0.0, strains, 0.0))
    shape = BoxShape.upright(np.zeros(3), period)
    if axes is not None:
        velocity, gradient = axes
        flow[velocity, gradient] = shear
        across = np.eye(3)[gradient] + lean * np.eye(3)[velocity]
        shape = BoxShape(np.zeros(3), period, gradient, velocity, across)
    return MovingImages(shape, shape.vectors @ flow.T), flow


def copies(box, items, turns=2):
    """Return items with all images that are so many boxes away."""
    sides = [range(-turns, turns + 1) if length > 0.0 else (0,) for length in box.shape.period]
    parts = []
    for turn in product(*sides):
        way, speed = np.array(turn) @ box.shape.vectors, np.array(turn) @ box.speeds
        if isinstance(items, Matter):
            parts.append(items._replace(position=items.position + way, velocity=items.velocity + speed))
        else:
            parts.append(items._replace(begin=items.begin + way))
    return type(items)(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


boxes = st.builds(
    box_of,
    st.sampled_from([None, (0, 1), (0, 2), (1, 0), (2, 1)]),
    st.floats(-0.5, 0.5),
    st.lists(st.sampled_from([0.0, 1.5, -0.7]), min_size=3, max_size=3),
    st.floats(-5.0, 5.0),
)
cells = st.tuples(*[st.sampled_from([1, 2, 5])] * 3)


@pytest.mark.parametrize("kernel", [GAUSSIAN, LUCY])
@given(box=boxes, cells=cells, upper=st.sampled_from([1.0, 0.6]), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_images_are_where_copies_are(kernel, box, cells, upper, seed):
    """Of grids that fill the box, and of such that do not: but for single cells, which have all of everything."""
    (box, _), (matter, actions) = box, some(seed)
    grid = grid_of(([0.0] * 3, [upper] * 3), cells, 0.1, kernel, 3)
    period, there, acting = box.repeated(grid, matter, [actions])
    found = field_sums(grid, period, 1, there, acting)
    whole = (grid.cells == 1) & (upper == 1.0)
    if whole.any():
        return
    expected = field_sums(grid, np.zeros(3), 1, copies(box, matter), [copies(box, actions)])
    limit = 1e-7 * (1.0 + np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=limit)
    assert len(there.mass) < len(matter.mass) * 5.0**3


@given(box=boxes, cells=cells, seed=st.integers(0, 99), width=st.sampled_from([0.02, 0.1, 0.3]))
@settings(max_examples=30, deadline=None)
def test_nothing_is_lost(box, cells, seed, width):
    """Mass, volume, forces times branches, forces of walls; momentum relative to the flow."""
    (box, flow), (matter, actions) = box, some(seed)
    grid = grid_of(([0.0] * 3, [1.0] * 3), cells, width, GAUSSIAN, 3)
    sums = []
    for velocity in (matter.velocity, (matter.position - 0.5) @ flow.T):
        period, there, acting = box.repeated(grid, matter._replace(velocity=velocity), [actions])
        sums.append(field_sums(grid, period, 1, there, acting)[0].sum(axis=0))
    assert sums[0][MASS] == pytest.approx(matter.mass.sum(), rel=1e-12)
    assert sums[0][SIZE] == pytest.approx(matter.size.sum(), rel=1e-12)
    acted = np.einsum("ni,nj->ij", actions.force, actions.way).ravel()
    np.testing.assert_allclose(sums[0][CONTACT], acted, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(sums[0][WALL], actions.force[actions.at_wall].sum(axis=0), atol=1e-10)
    own = matter.velocity - (matter.position - 0.5) @ flow.T
    np.testing.assert_allclose((sums[0] - sums[1])[MOMENTUM], matter.mass @ own, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(("cells", "width"), [((5, 7, 4), 0.065), ((9, 8, 10), 0.15)])
def test_nothing_is_lost_of_a_crowd(cells, width):
    """Some of many grains end within an interval of the tables from a side, where they have shares on both."""
    (box, _), (matter, actions) = box_of((0, 1), 0.23, [0.0, 0.0, -0.7], 2.0), some(7, 3000)
    grid = grid_of(([0.0] * 3, [1.0] * 3), cells, width, GAUSSIAN, 3)
    period, there, acting = box.repeated(grid, matter, [actions])
    sums = field_sums(grid, period, 1, there, acting)[0].sum(axis=0)
    assert sums[MASS] == pytest.approx(matter.mass.sum(), rel=1e-14)
    acted = np.einsum("ni,nj->ij", actions.force, actions.way).ravel()
    np.testing.assert_allclose(sums[CONTACT], acted, rtol=0.0, atol=1e-13 * np.abs(acted).max())


def test_a_box_at_rest_has_no_images_of_its_own():
    box, _ = box_of(None, 0.0, [0.0] * 3, 0.0)
    matter, actions = some(1)
    period, there, acting = box.repeated(
        grid_of(([0.0] * 3, [1.0] * 3), (3, 3, 3), 0.1, GAUSSIAN, 3), matter, [actions]
    )
    assert period.tolist() == [1.0] * 3
    assert there is matter
    assert acting[0] is actions


def test_a_grid_follows_the_box():
    """A part of a box that becomes twice as long, half as wide and stays as high, about its centre."""
    begin, now = (
        FieldFrame(np.zeros(3), np.ones(3)),
        FieldFrame(np.array([-0.5, 0.25, 0.0]), np.array([1.5, 0.75, 1.0])),
    )
    grid = grid_of(([0.25, 0.5, 0.1], [0.75, 1.0, 0.4]), (2, 1, 3), 0.1, GAUSSIAN, 3)
    found = begin.follow(grid, now)
    np.testing.assert_allclose(found.lower, [0.0, 0.5, 0.1], atol=1e-15)
    np.testing.assert_allclose(found.size, [0.5, 0.25, 0.1], atol=1e-15)
    assert found.lower[2] == grid.lower[2]
    assert found.volume == pytest.approx(grid.volume)
