"""Dense packings: no overlaps at a volume fraction that random placing does not reach."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.foundation.errors import InputError
from pdem.particles.packings import packing
from pdem.particles.packings.packing import GAP, relax_overlaps

LOWER = np.array([-1.0, 0.5, 0.0])


def crowd(fraction, ratio=8.0, count=400):
    random = np.random.default_rng(5)
    radii = (1.0 - random.random(count) * (1.0 - ratio**-2.0)) ** -0.5
    width = float((4.0 / 3.0 * np.pi * (radii**3).sum() / fraction) ** (1.0 / 3.0))
    return LOWER + width * random.random((count, 3)), radii, LOWER + width


def least_gap(positions, radii, width):
    apart = positions[:, None] - positions[None]
    apart -= width * np.rint(apart / width)
    distance = np.sqrt((apart**2).sum(axis=2)) + np.diag(np.full(len(radii), np.inf))
    return float((distance / (radii[:, None] + radii[None]) - 1.0).min())


def test_dense_spheres_do_not_overlap():
    positions, radii, upper = crowd(0.55)
    assert least_gap(positions, radii, upper - LOWER) < -0.1
    placed = relax_overlaps(positions, radii, LOWER, upper)
    assert least_gap(placed, radii, upper - LOWER) >= 0.999 * GAP
    assert np.all((placed >= LOWER) & (placed <= upper))


def test_it_comes_out_the_same_and_leaves_its_input_alone():
    positions, radii, upper = crowd(0.5)
    before = positions.copy()
    assert np.array_equal(
        relax_overlaps(positions, radii, LOWER, upper), relax_overlaps(positions, radii, LOWER, upper)
    )
    assert np.array_equal(positions, before)


def test_what_cannot_fit_is_refused(monkeypatch):
    monkeypatch.setattr(packing, "MAX_SWEEPS", 50)
    with pytest.raises(InputError, match=r"fill 0\.9 of the box; enlarge it"):
        relax_overlaps(*crowd(0.9)[:2], LOWER, crowd(0.9)[2])
