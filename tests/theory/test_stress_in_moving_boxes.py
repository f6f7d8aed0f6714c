"""Stress of parts of a box that deforms: they add up to that of the box."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import Grains
from helpers.moving_boxes import MIXED, PERIOD, SHEAR, lattice, moving_case
from pdem.run.simulation import Simulation


@pytest.mark.parametrize("deformation", [{"shear": SHEAR}, MIXED])
def test_parts_of_a_box_have_stresses_that_add_up(tmp_path, deformation):
    """Also where branches cross a side that leans, and come back beside where they left."""
    places = lattice() + np.random.default_rng(9).uniform(-0.0015, 0.0015, (216, 3))
    run = Simulation(moving_case(tmp_path, Grains(places % PERIOD, 0.0128), deformation))
    crossing = 0
    for _ in range(4):
        run.advance(53)
        shape, whole, parts = run.system.constants.shape, run.stress(), 0.0
        edges = [
            low + length * np.array([0.0, 0.37, 1.0]) for low, length in zip(shape.lower, shape.period, strict=True)
        ]
        for place in np.ndindex(2, 2, 2):
            low, high = ([edges[axis][place[axis] + up] for axis in range(3)] for up in (0, 1))
            parts = parts + run.stress({"lower": low, "upper": high}).contact * np.prod(np.subtract(high, low))
        expected = whole.contact * np.prod(shape.period)
        np.testing.assert_allclose(parts, expected, atol=1e-12 * np.abs(expected).max())
        contacts = run.contacts()
        end = contacts["centre"] + contacts["branch"]
        crossing += np.count_nonzero(shape.wrapped(end)[1][:, shape.gradient])
    assert crossing > 10
