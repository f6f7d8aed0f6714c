"""Shares of cells beside their definition, point by point; sums that do not depend on threads, order or cuts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from pdem.continuum.grid import GAUSSIAN, LUCY, REACH, grid_of
from pdem.continuum.items import Actions, Matter
from pdem.continuum.layout import ROW, SUMS
from pdem.continuum.sums import CONTACT, MASS, MOMENTUM, MOVING, WALL, field_sums
from pdem.numerics.thread_pool import divided_for

GRIDS = {
    "cells": ((4, 5, 6), 0.1, 3, (1, 1, 1)),
    "profile": ((1, 1, 9), 0.2, 3, (1, 0, 1)),
    "flat": ((7, 3, 1), 0.05, 2, (1, 1, 0)),
    "fine": ((12, 11, 10), 0.3, 3, (0, 1, 0)),
    "coarse": ((2, 2, 2), 0.02, 3, (0, 0, 0)),
}
RIGHT = 1e-9
"""Of the shares of the Gaussian over the largest: the function has kinks where it is cut, and its table has none."""
ALONG = 1e-3
"""Of means along branches, taken at a few places."""


def columns(count, many, seed, longest=0.15):
    """Return particles and what acts, some of it at points, in two classes."""
    rng = np.random.default_rng(seed)
    matter = Matter(
        rng.uniform(0.0, 1.0, (count, 3)), rng.normal(size=(count, 3)), rng.uniform(1.0, 2.0, count),
        rng.uniform(1.0, 2.0, count), rng.integers(0, 2, count),
    )  # fmt: skip
    at_wall = np.arange(many) % 4 == 0
    way = rng.normal(size=(many, 3))
    way *= rng.uniform(0.0, longest, (many, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
    way[at_wall] = 0.0
    begin, force = rng.uniform(0.0, 1.0, (many, 3)), 1e3 * rng.normal(size=(many, 3))
    return matter, Actions(begin, way, force, at_wall, rng.integers(0, 2, many))


def shares(grid, point):
    """Return the integrals of the cut Gaussian over all cells."""
    axes, reach = [], REACH[GAUSSIAN]
    for axis in range(3):
        faces = grid.lower[axis] + np.arange(grid.cells[axis] + 1) * grid.size[axis] - point[axis]
        below = ndtr(np.clip(faces / grid.width, -reach, reach))
        axes.append(np.diff(below) / (2.0 * ndtr(reach) - 1.0) if axis < grid.dimension else np.ones(1))
    return np.einsum("i,j,k->ijk", *axes).ravel()


def expected_sums(grid, period, matter, actions):
    found = np.zeros((2, grid.total, SUMS))
    images = [period * way for way in product(range(-2, 3), repeat=3) if not np.any(np.array(way)[period == 0.0])]
    nodes, weights = np.polynomial.legendre.leggauss(30)
    for position, velocity, mass, size, kind in zip(*matter, strict=True):
        moving = np.outer(velocity, velocity)
        pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
        row = mass * np.array([1.0 / mass, 1.0, size / mass, *velocity, *(moving[pair] for pair in pairs)])
        share = sum(shares(grid, position + image) for image in images)
        found[kind, :, :ROW] += share[:, None] * row
    for begin, way, force, at_wall, kind in zip(*actions, strict=True):
        row = np.concatenate(
            (np.zeros(9) if at_wall else np.outer(force, way).ravel(), force if at_wall else np.zeros(3))
        )
        for image in images:
            places = begin + image + 0.5 * (1.0 + nodes[:, None]) * way
            share = 0.5 * weights @ [shares(grid, place) for place in places]
            found[kind, :, ROW:] += share[:, None] * row
    return found


@pytest.mark.parametrize("name", GRIDS)
def test_the_gaussian_is_shared_as_it_is_defined(name):
    cells, width, dimension, periodic = GRIDS[name]
    grid, period = (grid_of(([0.0] * 3, [1.0] * 3), cells, width, GAUSSIAN, dimension), np.array(periodic, float))
    matter, actions = columns(15, 24, 1)
    found, expected = (field_sums(grid, period, 2, matter, [actions]), expected_sums(grid, period, matter, actions))
    for column in range(SUMS):
        right = RIGHT if column < ROW or column >= WALL.start else ALONG
        most = np.abs(expected[..., column]).max()
        np.testing.assert_allclose(found[..., column], expected[..., column], rtol=0.0, atol=right * most)


@pytest.mark.parametrize("kernel", [GAUSSIAN, LUCY])
@settings(max_examples=12, deadline=None)
@example(cells=(1, 1, 3), width=0.375, seed=0, periodic=(False, False, True))
@given(
    cells=st.tuples(*[st.integers(1, 6)] * 3), width=st.floats(0.02, 0.4), seed=st.integers(0, 2**31),
    periodic=st.tuples(*[st.booleans()] * 3),
)  # fmt: skip
def test_all_cells_together_have_all_of_it(kernel, cells, width, seed, periodic):
    """Whatever the cells and the width: where nothing is spread beyond the grid, sums are those of the particles."""
    matter, actions = columns(12, 16, seed)
    period, beyond = np.array(periodic, float), np.where(periodic, 0.0, REACH[kernel] * width + 0.2)
    grid = grid_of((-beyond, 1.0 + beyond), cells, width, kernel, 3)
    total = field_sums(grid, period, 2, matter, [actions]).sum(axis=(0, 1))
    close = {"rtol": 1e-12, "atol": 1e-12 * np.abs(actions.force).sum()}
    assert total[MASS] == pytest.approx(matter.mass.sum(), rel=1e-13)
    np.testing.assert_allclose(total[MOMENTUM], matter.mass @ matter.velocity, rtol=1e-12, atol=1e-12)
    moving = np.einsum("n,ni,nj->ij", matter.mass, matter.velocity, matter.velocity)
    np.testing.assert_allclose(total[MOVING], moving[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(total[CONTACT], (actions.force.T @ actions.way).ravel(), **close)
    np.testing.assert_allclose(total[WALL], actions.force[actions.at_wall].sum(axis=0), **close)


@pytest.mark.parametrize("kernel", [GAUSSIAN, LUCY])
def test_sums_do_not_depend_on_threads_or_order(kernel):
    matter, actions = columns(200, 300, 5)
    grid = grid_of(([0.1] * 3, [0.9] * 3), (5, 4, 3), 0.08, kernel, 3)
    expected = field_sums(grid, np.ones(3), 2, matter, [actions])
    order = np.random.default_rng(2).permutation(200), np.random.default_rng(3).permutation(300)
    mixed = Matter._make(one[order[0]] for one in matter), [Actions._make(one[order[1]] for one in actions)]
    with divided_for(3):
        found = field_sums(grid, np.ones(3), 2, *mixed)
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(expected[0], expected[1])


def test_the_mean_of_cells_is_the_field_of_the_cell_they_make():
    matter, actions = columns(50, 80, 9)
    one_class = matter._replace(kind=0 * matter.kind), [actions._replace(kind=0 * actions.kind)]
    wide, narrow = (
        field_sums(grid_of(([0.0] * 3, [1.0] * 3), cells, 0.07, GAUSSIAN, 3), np.zeros(3), 1, *one_class)
        for cells in ((2, 3, 1), (8, 6, 5))
    )
    together = narrow.reshape(2, 4, 3, 2, 1, 5, SUMS).sum(axis=(1, 3, 5)).reshape(wide.shape)
    most = np.abs(wide).max(axis=(0, 1))
    np.testing.assert_allclose(together / most, wide / most, rtol=0.0, atol=3e-5)


def test_numbers_of_very_different_sizes_lose_nothing():
    """One particle a billion times as heavy as the others, whose momenta cancel."""
    matter, actions = columns(40, 1, 4)
    matter.mass[:] = 1e-3
    matter.mass[0] = 1e6
    matter.velocity[1] = -matter.velocity[0] * 1e9
    grid = grid_of(([-2.0] * 3, [3.0] * 3), (5, 5, 5), 0.5, GAUSSIAN, 3)
    total = field_sums(grid, np.zeros(3), 2, matter, [actions]).sum(axis=(0, 1))
    assert total[MASS] == pytest.approx(matter.mass.sum(), rel=1e-14)
    rest = matter.mass[2:] @ matter.velocity[2:]
    np.testing.assert_allclose(total[MOMENTUM], rest, atol=1e-13 * 1e6)
