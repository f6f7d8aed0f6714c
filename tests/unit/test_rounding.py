"""Meshes far from the origin: what files round is found, facets keep their shape, and what has lost it is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.containers.meshes.rounding import rounding_of
from pdem.containers.meshes.surface import surface_of
from pdem.foundation.errors import MeshError
from pdem.preflight.wall_checks import mesh_warnings

MAP = np.array([5e5, 5e6, 300.0])
FORMATS = ["{:.2f}", "{:.3f}", "{:.4f}", "{:.9g}", "{:.12g}", "{!r}"]


def terrain(size=1.0, count=20, slope=0.364, rough=0.0, seed=0):
    """Return points and triangles of a sheet that rises along x, with points moved at random."""
    x, y = (one.ravel() for one in np.mgrid[: count + 1, : count + 1].astype(float) * size)
    points = np.column_stack((x, y, slope * x))
    points += rough * size * np.random.default_rng(seed).uniform(-0.3, 0.3, points.shape)
    at = (np.arange(count)[:, None] * (count + 1) + np.arange(count)).ravel()
    halves = [np.stack((at, at + count + 1, at + count + 2), 1), np.stack((at, at + count + 2, at + 1), 1)]
    return points, np.concatenate(halves)


def formatted(points, form):
    """Return coordinates as a text file keeps them, or one in single precision."""
    if form == "single":
        return points.astype(np.float32).astype(np.float64)
    return np.array([[float(form.format(value)) for value in point] for point in points.tolist()])


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([0.3, 1.0, 5.0, 30.0]),
    st.tuples(st.floats(-2e6, 2e6), st.floats(-6e6, 6e6), st.floats(-100, 3000)),
    st.sampled_from(FORMATS),
    st.sampled_from([0.0, 1.0]),
    st.booleans(),
    st.integers(0, 99),
)
def test_terrain_in_map_coordinates_stays_as_it_is(size, offset, form, rough, is_round, seed):
    """Every triangle keeps its three corners, wherever the sheet is."""
    points, facets = terrain(size, 8, 0.3, rough, seed)
    place = np.round(offset) if is_round else np.array(offset)
    mesh = Mesh(formatted(points + place, form), facets)
    assert (mesh.facet_count, mesh.vertex_count) == (len(facets), len(points))
    assert set(np.diff(surface_of(mesh).mesh.facet_start)) == {3}
    assert mesh.report().hanging_nodes == 0


@pytest.mark.parametrize("shift", [1e5, 5e5, 1e6, 5e6])
@pytest.mark.parametrize("decimals", [0, 1, 2, 3, 6])
def test_round_grids_are_taken_as_they_are(shift, decimals):
    """Whole metres with some decimals of height need few digits, which says nothing about their rounding."""
    points, facets = terrain(1.0, 20, 0.364)
    points = np.round(points + np.array([shift, 2 * shift, 300.0]), decimals)
    mesh = Mesh(points, facets)
    assert set(np.diff(surface_of(mesh).mesh.facet_start)) == {3}
    if decimals < 3:  # with more, a file of 6 digits looks alike
        assert list(mesh_warnings(mesh.report())) == []


@pytest.mark.parametrize(("form", "size"), [("{:.3f}", 1.0), ("{:.4f}", 0.2), ("single", 100.0), ("{!r}", 0.01)])
def test_hanging_nodes_are_found_far_from_the_origin(form, size):
    """Of squares in any plane, each beside one that is cut in needles."""
    generator = np.random.default_rng(7)
    for seed in range(20):
        turn = Rotation.random(random_state=seed).as_matrix()
        parts = np.arange(1, 7) / 7 + generator.uniform(-0.03, 0.03, 6)
        flat = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0.5, 0], *([1, part, 0] for part in parts)]
        rim = [1, *range(5, 11), 2]
        facets = [[0, 1, 2], [0, 2, 3], *([4, b, a] for a, b in pairwise(rim))]
        points = formatted(size * np.array(flat) @ turn.T + MAP, form)
        assert np.diff(surface_of(Mesh(points, facets)).mesh.facet_start).max() == 9


@given(st.floats(0.0, 2.0), st.floats(0.4, 0.6))
def test_no_node_is_taken_from_farther_than_a_part_of_the_facets(gap, part):
    """Of files with whole numbers, whose rounding could be half a metre, and two sheets so far from each other."""
    points = np.array([[0, 0, 0], [10, 0, 0], [0, 10, 0], [0, -gap, 0], [10, -gap, 0], [10 * part, -gap - 5, 0]])
    mesh = Mesh.from_loops(
        points, np.array([0, 3, 6]), np.array([0, 1, 2, 3, 5, 4]),
        origin=Mesh(points, [[0, 1, 2]]).origin.__class__(resolution=1.0),
    )  # fmt: skip
    hanging = np.array([[10 * part, -gap, 0]])
    cut = Mesh.from_loops(
        np.concatenate((points, hanging)), np.array([0, 3, 6, 9]), np.array([0, 1, 2, 3, 5, 6, 6, 5, 4]),
        origin=mesh.origin,
    )  # fmt: skip
    largest = np.diff(surface_of(cut).mesh.facet_start).max()
    harmless = 0.1 * 10 / np.sqrt(2)  # of the height of the first triangle
    assert largest == (4 if gap <= harmless else 3)


def test_walls_do_not_share_their_rounding():
    """A terrain with whole metres beside a grid of slits that are narrower than its rounding."""
    slits = [[x, y, 0.0] for x in (0.0, 0.01) for y in (0.0, 1.0, 1.001, 2.001)]
    fine = Mesh(np.add(slits, [1 / 3, 0, 0]), [[0, 4, 5, 1], [2, 6, 7, 3]])
    coarse = Mesh(*terrain(100.0, 4, rough=1.0), weld=0.0)
    far = Mesh(formatted(coarse.vertices + MAP, "single"), coarse.facet_vertices.reshape(-1, 3))
    assert far.origin.resolution > 0.2 > 1e-3 > fine.origin.resolution
    assert surface_of(join_meshes([far, fine])).mesh.report().hanging_nodes == 0


@pytest.mark.parametrize(
    ("size", "form", "words"),
    [
        (0.5, "single", "single precision, which rounds them by up to 0.25 m, and facets have edges of 0."),
        (0.1, "single", "their shape is lost"),
        (1.3, "single", "their shape is lost; export the mesh near the origin"),
        (1.0, "{:.6g}", "have 6 digits, which rounds them by up to 5 m"),
        (0.3, "{:.7g}", "have 7 digits, which rounds them by up to 0.5 m"),
    ],
)
def test_what_a_format_destroys_is_refused_with_the_remedy(size, form, words):
    points, facets = terrain(size, 10, rough=1.0)
    with pytest.raises(MeshError, match="with offset") as caught:
        Mesh(formatted(points + MAP, form), facets)
    assert words in str(caught.value)
    assert Mesh(formatted(points, form if "s" in form else "{:.9g}"), facets).facet_count == len(facets)


def test_what_a_format_dulls_is_told():
    points, facets = terrain(10.0, 10, rough=1.0)
    (text,) = mesh_warnings(Mesh(formatted(points + MAP, "single"), facets).report(intersections=False))
    assert text.startswith(
        "coordinates have single precision, which may round them by up to 0.25 m, and facets have edges of"
    )
    assert "put it in its place with offset" in text
    assert list(mesh_warnings(Mesh(formatted(points, "single"), facets).report())) == []


@pytest.mark.parametrize(
    ("points", "size", "cause"),
    [
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0.5]], 2.0**-24, "single precision"),
        ([[0.1, 0, 0], [1, 0, 0], [0, 1, 0.25]], 5e-6, "2 decimals"),
        ([[123.456, 0, 0], [1.234, 0, 0], [0, 1, 0.257]], 5e-4, "3 decimals"),
        ([[500001.25, 5000003.5, 312.42]], 5e-3, "2 decimals"),
        ([[5.00001e6, 123456, 0.123457]], 5.0, "6 digits"),
        ([[np.pi, 0, 0]], np.pi * 2.0**-53, "double precision"),
        ([[0, 0, 0]], 0.0, "single precision"),
    ],
)
def test_rounding_is_found_from_the_numbers(points, size, cause):
    found = rounding_of(np.array(points, float))
    assert (found.size, found.cause) == (pytest.approx(size), cause)


def test_small_facets_may_be_far_away():
    """What is flat and convex near the origin is so at 5,000 km, where double precision has steps of a nanometre."""
    points = (
        np.array([[0, 0, 0], [1, 0, 0.3], [2, 0, 0.6], [2, 1, 0.6], [0, 1, 0]])
        @ Rotation.random(random_state=3).as_matrix()
    )
    for size in (1e-4, 1e-5):
        near, far = (Mesh(size * points + place, [[0, 1, 2, 3, 4]]) for place in (0.0, MAP + 1 / 3))
        assert near.facet_count == far.facet_count == 1
    needle = 1e-3 * points[[0, 1, 2]]  # on one line
    both = [[0, 1, 2], [0, 2, 3]]
    for place in (0.0, MAP + 1 / 3):
        mesh = Mesh(np.concatenate((needle, 1e-3 * points[[4]])) + place, both)
        assert mesh.origin.dropped_facets == (0,)
