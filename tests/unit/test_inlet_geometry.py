"""Faces, rates, and further distributions of radii."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.containers.meshes.mesh import Mesh
from pdem.containers.size_laws import Mixture, NormalRadii, RosinRammler, by_volume
from pdem.containers.sizes import Constant, LogNormal, PowerLaw, Tabulated, Uniform
from pdem.foundation.errors import InputError
from pdem.particles.faces import disc, face_of_mesh, polygon
from pdem.particles.rates import Rate

GRID = (np.arange(200_000) + 0.5) / 200_000
LAWS = [
    Uniform(0.1, 0.3), PowerLaw(-2.0, 0.1, 0.4), LogNormal(0.1, 0.4, 0.03, 0.3), NormalRadii(0.1, 0.02, 0.05, 0.2),
    RosinRammler(0.1, 2.5, 0.02, 0.25),
]  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_laws_by_volume_hold_for_the_volume(law):
    """The volume finer than some radius is that share of all volume which the law gives."""
    radii, share = by_volume(law).radii(GRID), np.array([0.1, 0.3, 0.5, 0.8])
    order = np.sort(radii)
    volume = np.cumsum(order**3) / np.sum(order**3)
    np.testing.assert_allclose(order[np.searchsorted(volume, share)], law.radii(share), rtol=2e-3)


@pytest.mark.parametrize(
    "sizes",
    [*LAWS, *(by_volume(law) for law in LAWS), Constant(0.2), Tabulated((0.1, 0.2, 0.4), (0.0, 0.3, 1.0)),
     Tabulated((0.1, 0.2, 0.4), (0.0, 0.3, 1.0), "volume"), Mixture((Constant(0.1), Uniform(0.2, 0.3)), (1.0, 3.0)),
     PowerLaw(-1.0, 0.1, 0.4), PowerLaw(-4.0, 0.1, 0.4), NormalRadii(0.1, 1e-6, 0.05, 0.2), Uniform(0.1, 0.1)],
)  # fmt: skip
def test_mean_cubes_are_those_of_the_radii(sizes):
    radii = sizes.radii(GRID)
    assert sizes.mean_cube == pytest.approx(np.mean(radii**3), rel=2e-4)
    assert sizes.smallest <= radii.min() <= radii.max() <= sizes.largest


def test_mixtures_have_shares_of_the_volume():
    small, large = Uniform(0.01, 0.02), Constant(0.1)
    radii = Mixture((small, large), (0.3, 0.1)).radii(GRID)
    volume = radii**3
    assert volume[radii < 0.05].sum() / volume.sum() == pytest.approx(0.75, rel=2e-2)
    assert Mixture((small, large), (3.0, 1.0), "number").radii(GRID).mean() == pytest.approx(
        0.75 * 0.015 + 0.025, rel=1e-4
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: NormalRadii(-1.0, 0.1, 0.1, 0.2),
        lambda: NormalRadii(1.0, 0.1, 0.01, 0.02),
        lambda: RosinRammler(0.1, 0.0, 0.1, 0.2),
        lambda: RosinRammler(1e3, 9.0, 0.1, 0.2),
        lambda: Mixture((), ()),
        lambda: Mixture((Constant(1.0),), (0.0,)),
    ],
)
def test_impossible_distributions_are_refused(make):
    with pytest.raises(InputError):
        make()


RING = [[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 2.0], [3.0, 2.0], [3.0, 3.0], [0.0, 3.0]]


def places(face, flat):
    """Return points in space as points of a face."""
    return (np.asarray(flat) - face.origin) @ face.axes.T


def test_spheres_lie_wholly_inside_a_polygon_that_is_not_convex():
    turn = np.linalg.qr(np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0], [2.0, 0.3, 1.0]]))[0]
    face = polygon(np.column_stack((RING, np.zeros(8))) @ turn)
    assert face.area == pytest.approx(7.0)
    points = np.array([[0.5, 1.5, 0], [2.0, 1.5, 0], [2.0, 0.5, 0], [2.0, 2.5, 0], [-1.0, 0.5, 0]]) @ turn
    flat = places(face, points)
    assert face.holds(flat, np.full(5, 0.49)).tolist() == [True, False, True, True, False]
    assert not face.holds(flat, np.full(5, 0.51)).any()


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.01, 0.3))
def test_a_square_of_triangles_is_the_square(x, y, radius):
    corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.4, 0.6, 0.0]]
    face = face_of_mesh(Mesh(corners, [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]))
    inside = min(x, y, 1.0 - x, 1.0 - y)
    if abs(inside - radius) > 1e-9:
        assert face.holds(places(face, [[x, y, 0.0]]), np.array([radius]))[0] == (inside > radius)


def test_a_mesh_with_a_hole_has_a_hole():
    ring = [[-2, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0], [-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]
    face = face_of_mesh(Mesh(ring, [[a, (a + 1) % 4, 4 + (a + 1) % 4, 4 + a] for a in range(4)]))
    assert face.area == pytest.approx(12.0)
    assert face.holds(places(face, [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0]]), np.full(2, 0.4)).tolist() == [False, True]


def test_discs():
    face = disc([1.0, 2.0, 3.0], [0.0, 0.0, -5.0], 2.0)
    assert face.normal.tolist() == [0.0, 0.0, -1.0]
    flat = places(face, [[1.0, 3.0, 3.0], [1.0, 3.95, 3.0]])
    assert face.holds(flat, np.full(2, 0.1)).tolist() == [True, False]


def test_closed_meshes_are_no_faces():
    with pytest.raises(InputError, match="closed surface"):
        face_of_mesh(Mesh(np.vstack((np.zeros(3), np.eye(3))), [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]))


times = st.lists(st.floats(-10.0, 10.0), min_size=1, max_size=6, unique=True).map(sorted)


def test_rates_between_times_that_almost_coincide_are_finite():
    for values in ([0.0, 100.0], [100.0, 0.0]):
        rate = Rate([0.0, 2.3e-308], values)
        assert rate.integral(-1.0, 1e-308) == pytest.approx(values[0])
        assert rate.integral(1e-308, 1.0) == pytest.approx(values[1])


@given(times, st.data())
def test_rates_add_up(table, data):
    values = data.draw(st.lists(st.floats(0.0, 100.0), min_size=len(table), max_size=len(table)))
    rate = Rate(table, values)
    first, middle, last = sorted(data.draw(st.lists(st.floats(-20.0, 20.0), min_size=3, max_size=3)))
    whole = rate.integral(first, last)
    assert rate.integral(first, middle) + rate.integral(middle, last) == pytest.approx(whole, abs=1e-9)
    grid = np.linspace(first, last, 4001)
    mean = np.trapezoid(np.clip(np.interp(grid, table, values), min(values), max(values)), grid)
    assert whole == pytest.approx(mean, abs=1e-9 + 1e-2 * (last - first) * max(values))
    assert whole >= 0.0


def test_rounding_takes_nothing_back():
    rate = Rate([-7.0, 3.3054853354682417e-236, 1.0], [1.90625, 0.0, 0.0])
    assert rate.integral(0.0, 1.0) == 0.0
