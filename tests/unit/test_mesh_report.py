"""The report of a mesh: closed or open, orientation, duplicates, sizes."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.containers.mesh import Mesh

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
