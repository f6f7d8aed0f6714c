"""The report of a mesh: closed or open, orientation, duplicates, sizes."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.containers.meshes.box_tree import BoxTree, pairs_between, pairs_within
from pdem.containers.meshes.mesh import Mesh
from pdem.containers.meshes.self_intersections import self_intersections

CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])
BOX = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def test_closed_box() -> None:
    report = Mesh(CORNERS + 100.0, BOX).report()
    assert report.closed
    assert report.normals_outward is True
    assert report.volume == pytest.approx(6.0)
    assert report.area == pytest.approx(22.0)
    assert report.smallest_angle == pytest.approx(90.0)
    assert (report.smallest_facet, report.largest_facet) == pytest.approx((2.0, 3.0))
    assert (report.smallest_edge, report.largest_edge) == pytest.approx((1.0, 3.0))
    assert (report.lower, report.upper) == ((100.0, 100.0, 100.0), (101.0, 102.0, 103.0))
    assert report.inconsistent_edges == report.duplicated_facets == report.unused_vertices == 0


def test_inside_out_box_has_inward_normals() -> None:
    report = Mesh(CORNERS, [loop[::-1] for loop in BOX]).report()
    assert report.normals_outward is False
    assert report.volume == pytest.approx(6.0)


def test_open_box_counts_its_rim_and_encloses_nothing() -> None:
    report = Mesh(CORNERS, BOX[:5]).report()
    assert not report.closed
    assert report.open_edges == 4
    assert report.volume is None


def test_flipped_facet_is_noticed() -> None:
    report = Mesh(CORNERS, [BOX[0][::-1], *BOX[1:]]).report()
    assert report.inconsistent_edges == 4
    assert report.volume is None


def test_duplicates_and_fins() -> None:
    turned = [*BOX[0][1:], BOX[0][0]]
    report = Mesh(CORNERS, [*BOX, turned, BOX[1][::-1]]).report()
    assert report.duplicated_facets == 2
    assert report.non_manifold_edges == 8
    assert not report.closed


def test_lines_name_what_is_odd() -> None:
    text = "\n".join(Mesh([*CORNERS, [9, 9, 9]], BOX[:5]).report().lines())
    assert "open (4 open edges)" in text
    assert "1 vertices that no facet uses" in text
    assert "duplicated" not in text


def test_smallest_angle_of_a_needle() -> None:
    report = Mesh([[0, 0, 0], [1, 0, 0], [1, 0.01, 0]], [[0, 1, 2]]).report()
    assert report.smallest_angle == pytest.approx(np.degrees(np.arctan(0.01)))


def grid(n: int, height=lambda x, y: 0.0 * x) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles over the unit square, n squares to a side."""
    x, y = (one.ravel() for one in np.meshgrid(*[np.linspace(0, 1, n + 1)] * 2))
    at = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    halves = np.stack((at, at + 1, at + n + 2)), np.stack((at, at + n + 2, at + n + 1))
    return np.column_stack((x, y, height(x, y))), np.concatenate([half.T for half in halves])


def joined(*parts: tuple[np.ndarray, np.ndarray]) -> Mesh:
    shift = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    loops = [loop + at for (_, facets), at in zip(parts, shift, strict=False) for loop in np.asarray(facets)]
    return Mesh(np.concatenate([vertices for vertices, _ in parts]), loops)


def brute_force(mesh: Mesh) -> int:
    """Count pairs of triangles without a common vertex of which one's edge pierces the other's inside."""
    count = 0
    corners = mesh.vertices[mesh.facet_vertices.reshape(-1, 3)]
    for a in range(mesh.facet_count):
        for b in range(a):
            if set(mesh.loop(a)) & set(mesh.loop(b)):
                continue
            count += any(
                pierces(corners[p][k], corners[p][k - 1], corners[q]) for p, q in ((a, b), (b, a)) for k in range(3)
            )
    return count


def pierces(start: np.ndarray, end: np.ndarray, triangle: np.ndarray) -> bool:
    matrix = np.column_stack((end - start, triangle[0] - triangle[1], triangle[0] - triangle[2]))
    if abs(np.linalg.det(matrix)) < 1e-14:
        return False
    t, u, v = np.linalg.solve(matrix, triangle[0] - start)
    return 0 < t < 1 and u > 0 and v > 0 and u + v < 1


@pytest.mark.parametrize("seed", range(8))
def test_cuts_are_those_of_brute_force(seed: int) -> None:
    generator = np.random.default_rng(seed)
    corners = generator.uniform(-1, 1, (60, 1, 3)) + generator.normal(size=(60, 3, 3)) * 10 ** generator.uniform(
        -1.5, 0, (60, 1, 1)
    )
    facets = np.arange(180).reshape(-1, 3)
    facets[:20, 0] = facets[20:40, 0]  # pairs with a common vertex
    mesh = Mesh(corners.reshape(-1, 3), facets)
    report = mesh.report()
    assert report.self_intersections == brute_force(mesh)
    assert report.self_intersections
    assert report.all_intersections
    assert mesh.report(intersections=False).self_intersections is None


def test_crossing_sheets_cut_each_other_and_touching_ones_do_not() -> None:
    flat = grid(6)
    upright = grid(4)[0][:, [0, 2, 1]] * [0.9, 1, 0.9] + [0.05, 0.413, -0.411]
    assert joined(flat, (upright, grid(4)[1])).report().self_intersections > 8
    fin = upright - [0, 0, upright[:, 2].min()]  # stands on the sheet
    assert joined(flat, (fin, grid(4)[1])).report().self_intersections == 0
    single = (np.asarray(flat[0] / 3, np.float32).astype(float), flat[1])  # as from a binary STL file
    beside = (np.asarray((grid(5)[0] + [1, 0, 0]) / 3, np.float32).astype(float), grid(5)[1])
    assert joined(single, beside).report().self_intersections == 0


def test_facets_that_lie_in_each_other_are_cuts() -> None:
    quad = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)

    def cuts(*shift: float) -> tuple[int | None, tuple[int, ...] | None]:
        report = joined((quad, [[0, 1, 2, 3]]), (quad + np.array(shift), [[0, 1, 2, 3]])).report()
        return report.self_intersections, report.first.get("self_intersections")

    assert cuts(0.5, 0.25, 0.0) == (1, (0, 1))
    assert cuts(1.0, 0.5, 0.0) == cuts(0.5, 0.5, 1e-3) == (0, None)


def test_hanging_nodes_are_counted() -> None:
    report = joined(grid(2), (grid(4)[0] + [1, 0, 0], grid(4)[1])).report()
    assert report.hanging_nodes == 2
    assert joined(grid(4), (grid(4)[0] + [1, 0, 0], grid(4)[1])).report().hanging_nodes == 0
    turned = Mesh([[0, 0, 0], [2, 0, 0], [0, 1, 0], [0.5, 0, 0], [1.5, 0, 0], [1, -1, 0]], [[0, 1, 2], [3, 5, 4]])
    assert turned.report().hanging_nodes == 2
    assert turned.report().first["hanging_nodes"] == (3,)


def test_pieces_slivers_and_first_facets() -> None:
    box = (CORNERS, BOX)
    sliver = (np.array([[5, 0, 0], [6, 0, 0], [6, 0.01, 0]]), [[0, 1, 2]])
    report = joined(box, sliver, (CORNERS + 10, BOX[:5])).report()
    assert (report.pieces, report.closed_pieces, report.slivers) == (3, 1, 1)
    assert report.first["slivers"] == (6,)
    assert report.first["open_edges"] == (6,)
    assert "3 pieces, 1 of them closed" in report.lines()[0]
    assert "1 slivers (a corner below 1 degrees)" in report.lines()
    flipped = Mesh(CORNERS, [BOX[0], BOX[1][::-1], *BOX[2:]]).report()
    assert 1 in flipped.first["inconsistent_edges"]
    assert Mesh(CORNERS, [*BOX, BOX[3]]).report().first["duplicated_facets"] == (3, 6)


def test_a_hopeless_count_is_given_up() -> None:
    generator = np.random.default_rng(1)
    mesh = Mesh(generator.normal(size=(900, 3)), np.arange(900).reshape(-1, 3))
    found = self_intersections(mesh.vertices, mesh.facet_start, mesh.facet_vertices, most_pairs=1000)
    assert not found.complete
    whole = self_intersections(mesh.vertices, mesh.facet_start, mesh.facet_vertices)
    assert whole.complete
    assert whole.pairs > found.pairs


@pytest.mark.parametrize("seed", range(6))
def test_boxes_that_overlap_are_found_once(seed: int) -> None:
    generator = np.random.default_rng(seed)
    dimension, count, others = 2 + seed % 2, int(generator.integers(1, 200)), int(generator.integers(1, 50))
    sizes = [10 ** generator.uniform(-4, 0, (n, dimension)) for n in (count, others)]
    lows = [generator.uniform(size=size.shape) for size in sizes]
    trees = [BoxTree(low, low + size) for low, size in zip(lows, sizes, strict=True)]

    def all_pairs(a: int, b: int) -> np.ndarray:
        high = [low + size for low, size in zip(lows, sizes, strict=True)]
        return ((lows[a][:, None] <= high[b]) & (lows[b] <= high[a][:, None])).all(axis=2)

    within = [pair for part in pairs_within(trees[0]) for pair in zip(*(np.sort(part, axis=0)), strict=True)]
    assert sorted(within) == sorted(zip(*np.nonzero(np.triu(all_pairs(0, 0), 1)), strict=True))
    for a, b in ((0, 1), (1, 0)):
        between = [pair for part in pairs_between(trees[a], trees[b]) for pair in zip(*part, strict=True)]
        assert sorted(between) == sorted(zip(*np.nonzero(all_pairs(a, b)), strict=True))
