"""Volume, centre and inertia of unions of spheres, against closed forms, symmetries and counting."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pdem.containers.meshes.solid import Solid
from pdem.containers.sphere_union import union_of_spheres

SIZES = st.floats(0.2, 2.0)
PLACES = st.floats(-1.5, 1.5)


def union(spheres):
    table = np.array(spheres, np.float64).reshape(-1, 4)
    return union_of_spheres(table[:, :3], table[:, 3])


def ball(x, y, z, r):
    volume = 4.0 / 3.0 * math.pi * r**3
    return Solid(volume, np.array([x, y, z]), 0.4 * volume * r**2 * np.eye(3))


def together(*parts):
    """Return solids that do not overlap as one."""
    volume = sum(part.volume for part in parts)
    centre = sum(part.volume * part.centre for part in parts) / volume
    inertia = np.zeros((3, 3))
    for part in parts:
        away = part.centre - centre
        inertia += part.inertia + part.volume * (away @ away * np.eye(3) - np.outer(away, away))
    return Solid(volume, centre, inertia)


def require_same(found, expected, tolerance=3e-14):
    size = expected.volume ** (1.0 / 3.0) + float(np.abs(expected.centre).max())
    assert found.volume == pytest.approx(expected.volume, rel=tolerance)
    assert np.abs(found.centre - expected.centre).max() <= tolerance * size
    assert np.abs(found.inertia - expected.inertia).max() <= tolerance * np.abs(expected.inertia).max()


@pytest.mark.parametrize(
    ("half", "volume", "about", "across"),
    [
        (0.25, 5.726861608106394, 2.428802914152266, 3.131877441933184),
        (0.5, 9 * math.pi / 4, 153 * math.pi / 160, 531 * math.pi / 320),
        (0.75, 8.017606251348951, 3.297240570867257, 8.032639263070232),
        (1.0, 8 * math.pi / 3, 16 * math.pi / 15, 56 * math.pi / 15),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_two_spheres(half, volume, about, across, turned):
    turn = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix() if turned else np.eye(3)
    centre = np.array([[-half, 0, 0], [half, 0, 0]]) @ turn.T + 3.0
    expected = Solid(volume, np.full(3, 3.0), turn @ np.diag([about, across, across]) @ turn.T)
    require_same(union_of_spheres(centre, np.ones(2)), expected)


@pytest.mark.parametrize(
    ("spheres", "expected"),
    [
        ([[1, 2, 3, 0.5]], ball(1, 2, 3, 0.5)),
        ([[1, 2, 3, 0.5]] * 3, ball(1, 2, 3, 0.5)),
        ([[0, 0, 0, 1], [0.2, 0.1, -0.3, 0.5]], ball(0, 0, 0, 1)),
        ([[0, 0, 0, 1], [0, 0, 0, 0.5]], ball(0, 0, 0, 1)),
        ([[0, 0, 0, 1], [0, 0.5, 0, 0.5]], ball(0, 0, 0, 1)),  # they touch from inside
        ([[0, 0, 0, 1], [3, 0, 0, 0.5]], together(ball(0, 0, 0, 1), ball(3, 0, 0, 0.5))),
        ([[0, 0, 0, 1], [0, 0, 2, 1]], together(ball(0, 0, 0, 1), ball(0, 0, 2, 1))),
        ([[0, 0, 0, 1], [0, 3, 0, 1e-4]], together(ball(0, 0, 0, 1), ball(0, 3, 0, 1e-4))),
    ],
)
def test_no_overlap_in_part(spheres, expected):
    require_same(union(spheres), expected)


SPHERES = st.lists(st.tuples(PLACES, PLACES, PLACES, SIZES), min_size=1, max_size=7)


@settings(deadline=None, max_examples=60)
@given(SPHERES, st.tuples(PLACES, PLACES, PLACES), st.randoms(), st.floats(1e-3, 1e3))
def test_it_turns_moves_grows_and_takes_any_order(spheres, turn, random, factor):
    table = np.array(spheres)
    first = union(table)
    matrix, shift = Rotation.from_rotvec(turn).as_matrix(), np.array([0.3, -0.7, 0.2])
    order = random.sample(range(len(table)), len(table))
    moved = union_of_spheres(factor * (table[:, :3] @ matrix.T + shift)[order], factor * table[order, 3])
    expected = Solid(
        first.volume * factor**3,
        factor * (matrix @ first.centre + shift),
        factor**5 * (matrix @ first.inertia @ matrix.T),
    )
    require_same(moved, expected, 3e-13)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(PLACES, PLACES, PLACES, SIZES), min_size=2, max_size=6), st.integers(0, 10))
def test_what_two_unions_share_counts_once(spheres, where):
    """A sphere that is inside the union already changes nothing; one far away adds itself."""
    table = np.array(spheres)
    first = union(table)
    x, y, z, r = table[where % len(table)]
    require_same(union([*table, [x, y, z, 0.7 * r]]), first, 3e-13)
    far = (9.0, x, y, 0.5)
    require_same(union([*table, far]), together(first, ball(*far)), 3e-13)


def test_many_spheres_against_counting():
    rng = np.random.default_rng(5)
    centre, radius = 0.8 * rng.normal(size=(12, 3)), rng.uniform(0.2, 0.9, 12)
    edge, step = 3.5, 0.06
    line = np.arange(-edge + step / 2, edge, step)
    grid = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = np.zeros(len(grid), np.bool_)
    for place, r in zip(centre, radius, strict=True):
        inside |= np.einsum("ij,ij->i", grid - place, grid - place) < r * r
    points = grid[inside]
    counted = together(Solid(len(points) * step**3, points.mean(axis=0), np.zeros((3, 3))))
    away = points - counted.centre
    second = step**3 * away.T @ away
    inertia = np.trace(second) * np.eye(3) - second
    found = union_of_spheres(centre, radius)
    assert found.volume == pytest.approx(counted.volume, rel=4e-3)
    assert np.abs(found.centre - counted.centre).max() < 4e-3
    assert np.abs(found.inertia - inertia).max() < 6e-3 * np.abs(inertia).max()


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 4), st.floats(0.3, 1.2))
def test_a_grid_of_spheres_is_as_symmetric_as_a_cube(count, spacing):
    line = spacing * np.arange(count)
    centre = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)
    assume(spacing != 1.0)
    found = union_of_spheres(centre, np.full(len(centre), 0.5))
    size = float(found.inertia[0, 0])
    assert np.abs(found.inertia - size * np.eye(3)).max() < 1e-13 * size
    assert np.abs(found.centre - centre.mean(axis=0)).max() < 1e-13 * count
