"""Which share of a straight way lies in a region: beside many points on it, and in sums over parts of space."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.case.rules.region_rules import region_of
from pdem.particles import regions

REGIONS = [
    {"lower": [-0.5, -1.0, -0.2], "upper": [0.7, 0.3, 0.9]},
    {"shape": "sphere", "centre": [0.1, -0.2, 0.3], "radius": 0.8},
    {"shape": "cylinder", "centre": [0.1, 0.2, -0.1], "axis": [1.0, 2.0, -0.5], "radius": 0.5, "length": 1.1},
    {"shape": "cylinder", "centre": [0.0, 0.0, 0.0], "axis": [0.0, 0.0, 1.0], "radius": 0.6, "length": 1.5},
]
POINTS = 20_000


@pytest.mark.parametrize("region", REGIONS)
def test_shares_are_those_of_many_points(region):
    region, rng = region_of(region), np.random.default_rng(2)
    begin, way = rng.uniform(-1.2, 1.2, (60, 3)), rng.normal(size=(60, 3))
    way[:6], way[6:12, 2], way[12:18, :2] = 0.0, 0.0, 0.0  # no way at all, level ones, upright ones
    found = regions.share_inside(region, begin, way)
    parts = (np.arange(POINTS) + 0.5) / POINTS
    for row in range(60):
        expected = np.mean(regions.distance(region, begin[row] + parts[:, None] * way[row]) == 0.0)
        assert found[row] == pytest.approx(expected, abs=3.0 / POINTS)
    assert np.count_nonzero((found > 0.0) & (found < 1.0)) > 5


@given(
    st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6),
    st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=4, unique=True),
)
@settings(max_examples=200, deadline=None)
def test_slices_of_space_share_every_way(numbers, cuts):
    begin, way = np.array([numbers[:3]]), np.array([numbers[3:]])
    edges = [-10.0, *sorted(cuts), 10.0]
    boxes = [
        region_of({"lower": [low, -10.0, -10.0], "upper": [high, 10.0, 10.0]})
        for low, high in pairwise(edges)
        if high - low > 1e-9
    ]
    total = sum(regions.share_inside(box, begin, way)[0] for box in boxes)
    if abs(way[0, 0]) > 1e-6:  # a way that lies in a face is in both
        assert total == pytest.approx(1.0, abs=1e-6)


def test_shares_have_the_same_bits_in_any_company():
    rng = np.random.default_rng(4)
    begin, way = rng.uniform(-1.2, 1.2, (37, 3)), rng.normal(size=(37, 3))
    for region in map(region_of, REGIONS):
        together = regions.share_inside(region, begin, way)
        alone = [regions.share_inside(region, begin[row : row + 1], way[row : row + 1])[0] for row in range(37)]
        assert together.tobytes() == np.array(alone).tobytes()
