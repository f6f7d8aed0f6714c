"""Facets beside which particles come out across periodic sides are in their lists."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdem
from helpers.cases import Grains, make_case
from pdem.containers.box_shape import BoxShape
from pdem.detection.walls.facets_of_images import images_across_sides, join_lists

SIDE = 0.4
STRIPES = 24


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.tuples(*[st.booleans()] * 3), st.permutations(range(3)), st.floats(-0.5, 0.5))
def test_images_are_those_that_a_way_reaches(seed, periodic, axes, lean):
    random = np.random.default_rng(seed)
    lower, period = random.uniform(-1, 1, 3), np.where(periodic, random.uniform(1, 2, 3), 0.0)
    box = BoxShape.upright(lower, period)
    gradient, velocity, _ = axes
    if periodic[gradient] and periodic[velocity]:
        across = np.zeros(3)
        across[[gradient, velocity]] = period[gradient], lean * period[velocity]
        box = BoxShape(lower, period, gradient, velocity, across)
    # nearer to the sides than to the middle
    places = lower + np.where(periodic, period, 1.0) * random.beta(0.3, 0.3, (40, 3))
    travel = random.uniform(0.0, 0.4, 40)
    images = images_across_sides(places, travel, box)
    assert (np.diff(images.rows) >= 0).all()
    # whoever travels no farther than allowed, and is wrapped, is as near to one of the images as to the first place
    way = random.normal(size=(40, 3))
    way *= (travel * random.random(40) / np.linalg.norm(way, axis=1))[:, None]
    there = box.wrapped(places + way)[0]
    for p in range(40):
        known = np.concatenate((places[p : p + 1], images.places[images.rows == p]))
        assert np.linalg.norm(there[p] - known - way[p], axis=1).min() < 1e-12


def test_all_corners_of_a_box():
    box = BoxShape.upright(np.zeros(3), np.ones(3))
    images = images_across_sides(np.full((1, 3), 0.05), np.array([0.1]), box)
    expected = {corner for corner in product((0.05, 1.05), repeat=3) if corner != (0.05,) * 3}
    assert {tuple(np.round(place, 12)) for place in images.places} == expected


@settings(max_examples=60)
@given(st.data())
def test_joined_lists_hold_each_facet_once(data):
    facets = st.lists(st.integers(0, 9), unique=True).map(sorted)
    own = data.draw(st.lists(facets, min_size=1, max_size=6))
    others = data.draw(st.lists(st.tuples(st.integers(0, len(own) - 1), facets), max_size=6))
    others.sort(key=lambda one: one[0])
    rows = np.array([row for row, _ in others], np.int64)
    lists = [*own, *(facets for _, facets in others)]
    start = np.cumsum([0, *map(len, lists)])
    flat = np.array([facet for one in lists for facet in one], np.int64)
    joined_start, joined = np.empty(len(own) + 1, np.int64), np.empty(len(flat), np.int64)
    join_lists(rows, start, flat, joined_start, joined)
    for p in range(len(own)):
        wanted = sorted({*own[p], *(facet for row, facets in others if row == p for facet in facets)})
        assert joined[joined_start[p] : joined_start[p + 1]].tolist() == wanted


def striped_floor():
    """Return a floor that reaches beyond the box, of stripes across the way of the sphere."""
    edges = np.linspace(-1.5 * SIDE, 1.5 * SIDE, STRIPES + 1)
    vertices = np.array([(x, y, 0.0) for x in edges for y in (-SIDE, SIDE)])
    loops = [(2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1) for i in range(STRIPES)]
    return pdem.Mesh(vertices, loops)


def path_across_the_side(folder, skin, steps=400):
    folder.mkdir()
    case = make_case(
        folder, Grains(position=[[0.19, 0.0, 0.01]], radius=0.01, velocity=(1.0, 0.0, 0.0)),
        lower=(-0.5 * SIDE,) * 3, upper=(0.5 * SIDE,) * 3, periodic=(True, True, False), gravity=(0.0, 0.0, -98.1),
        walls=({"mesh": striped_floor(), "material": "steel"},), step=1e-4, detection={"skin": skin},
    )  # fmt: skip
    simulation = pdem.Simulation(case, meshes=[striped_floor()])
    places = []
    for _ in range(steps):
        simulation.advance(1)
        places.append(simulation.particles.position[0].copy())
    return np.array(places)


@pytest.mark.parametrize("skin", [0.5, 2.0])
def test_a_sphere_is_borne_behind_a_periodic_side_as_before_it(tmp_path, skin):
    exact = path_across_the_side(tmp_path / "each", 0.0)  # lists in each step
    assert exact[0, 0] > 0.0 > exact[-1, 0]
    np.testing.assert_array_equal(path_across_the_side(tmp_path / "skin", skin), exact)
