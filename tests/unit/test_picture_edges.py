"""Edges that pictures of walls show: creases and borders, and no sides of flat facets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.output.pictures.edges import sharp_edges

pyvista = pytest.importorskip("pyvista")


def lengths(loops: Sequence[Sequence[tuple[float, ...]]]) -> list[float]:
    """Return the lengths of the visible edges of facets without common nodes, in ascending order."""
    points = np.array([point for loop in loops for point in loop], dtype=float)
    faces, begin = list[int](), 0
    for loop in loops:
        faces += [len(loop), *range(begin, begin + len(loop))]
        begin += len(loop)
    edges = sharp_edges(pyvista.PolyData(points, faces=faces))
    if not edges.n_points:
        return []
    ends = edges.points[edges.lines.reshape(-1, 3)[:, 1:]]
    return sorted(np.linalg.norm(np.diff(ends, axis=1)[:, 0], axis=1).round(6).tolist())


@given(seed=st.integers(0, 1000), sides=st.integers(16, 40))
def test_a_lifter_on_a_cap_shows_no_triangles_of_the_cap(seed: int, sides: int) -> None:
    """A drum with a cap of triangles of any orientation: its end is a circle, with a line where the lifter meets it."""
    random = np.random.default_rng(seed)
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = [(float(np.cos(one)), float(np.sin(one))) for one in angle]
    loops: list[list[tuple[float, ...]]] = []
    for p, q in zip(ring, ring[1:] + ring[:1], strict=True):
        loops += [[(*p, 0.0), (*q, 0.0), (*q, 1.0), (*p, 1.0)], [(*p, 0.0), (*q, 0.0), (0.0, 0.0, 0.0)]]
    foot = random.choice(
        [0.7, 0.0]
    )  # three facets meet at a side of a triangle, or the lifter ends in the middle of it
    x, y = ring[random.integers(sides)]
    loops.append([(x, y, 0.0), (x, y, 1.0), (foot * x, foot * y, 1.0), (foot * x, foot * y, 0.0)])
    loops = [loop[::-1] if random.random() < 0.5 else loop for loop in loops]
    side = 2.0 * np.sin(np.pi / sides)
    lifter = [1.0, 1.0, 1.0 - foot, 1.0 - foot]
    assert lengths(loops) == pytest.approx(sorted([side] * (2 * sides) + lifter), abs=1e-5)


@given(cuts=st.lists(st.floats(0.05, 0.95), min_size=1, max_size=4, unique=True), bend=st.sampled_from([0.0, 1.0]))
def test_facets_of_different_division_continue_each_other(cuts: list[float], bend: float) -> None:
    """A large square beside narrow strips has nodes of these on its side: a line only where the surface is bent."""
    ends = [0.0, *sorted(cuts), 1.0]
    loops: list[list[tuple[float, ...]]] = [[(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)]]
    for low, high in itertools.pairwise(ends):
        loops.append([(1.0, low, 0.0), (2.0, low, bend), (2.0, high, bend), (1.0, high, 0.0)])
    seam = 1.0 if bend else 0.0
    assert sum(lengths(loops)) == pytest.approx(4.0 + 2.0 * np.hypot(1.0, bend) + seam, abs=1e-5)


def test_a_knife_edge_is_seen() -> None:
    """The angle between both sides of a thin wedge is small, and so is that between their planes."""
    wedge = [[(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)], [(0, 0, 0), (0, 1, 0), (1, 1, 0.1), (1, 0, 0.1)]]
    assert len(lengths(wedge)) == 7


def test_facets_without_area_have_no_edges() -> None:
    flat = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.5, 0.0, 0.0)]
    assert lengths([flat, [(0, 0, 1), (1, 0, 1), (0, 1, 1)]]) == pytest.approx([1.0, 1.0, np.sqrt(2.0)])
