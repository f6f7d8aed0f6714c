"""Contacts between particles as they act: kernels beside the same formulas in NumPy, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.contact.pairs.acting import PairGeometry, PairSources, gather_forces, write_pairs
from pdem.contact.pairs.layout import FORCE_ROW
from pdem.containers.box_shape import BoxShape
from pdem.foundation.packed_row import PACKED, PLACE
from pdem.numerics import box_images as rows

UPRIGHT = BoxShape.upright(np.zeros(3), np.array([1.0, 1.0, 0.0]))
LEANING = BoxShape(np.zeros(3), np.ones(3), 1, 0, np.array([0.3, 1.0, 0.0]))
MANY, COUNT = 60, 300


def images_of(shape, inverse):
    """Return a box that leans as kernels take it, None for one that does not."""
    if not shape.leans:
        return None
    images, gradient = np.zeros((rows.ROWS, 3)), np.arange(3) == shape.gradient
    images[rows.ACROSS], images[rows.ALONG] = shape.across, np.where(gradient, inverse, 0.0)
    images[rows.PERIOD] = np.where(gradient, 0.0, shape.period)
    images[rows.FREQUENCY] = np.where(gradient, 0.0, inverse)
    return images


@pytest.mark.parametrize("shape", [UPRIGHT, LEANING])
@pytest.mark.parametrize("clusters", [False, True])
def test_geometry_is_that_of_the_nearest_image(shape, clusters):
    rng = np.random.default_rng(1)
    packed, radius = rng.uniform(0.0, 1.0, (MANY, PACKED)), rng.uniform(0.01, 0.02, MANY)
    lower = rng.integers(0, MANY, COUNT).astype(np.int32)
    higher = ((lower + rng.integers(1, MANY, COUNT)) % MANY).astype(np.int32)
    candidate = rng.permutation(COUNT).astype(np.int32)
    to_centre = rng.normal(size=(MANY if clusters else 0, 3))
    inverse = np.divide(1.0, shape.period, out=np.zeros(3), where=shape.period > 0.0)
    source = PairSources(
        candidate, lower, higher, packed.reshape(-1), radius, to_centre, shape.period, inverse,
        images_of(shape, inverse),
    )  # fmt: skip
    ends, vectors = np.empty((2, COUNT), np.int64), np.empty((4, COUNT, 3))
    found = PairGeometry._make((*ends, *vectors, np.empty(COUNT)))
    write_pairs(tuple(source), tuple(found))
    first, second, place = lower[candidate], higher[candidate], packed[:, PLACE : PLACE + 3]
    way = shape.nearest(place[second] - place[first])
    distance = np.sqrt(way[:, 0] ** 2 + way[:, 1] ** 2 + way[:, 2] ** 2)
    overlap = radius[first] + radius[second] - distance
    arm = radius[first] - overlap * (radius[second] / (radius[first] + radius[second]))
    normal = way / distance[:, None]
    whole = to_centre if clusters else np.zeros((MANY, 3))
    expected = PairGeometry(
        first, second, place[first] + whole[first], way + whole[second] - whole[first],
        place[first] + arm[:, None] * normal, normal, overlap,
    )  # fmt: skip
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_forces_are_those_of_the_rows_of_contacts_and_0_of_others():
    stored, index = np.arange(4.0 * FORCE_ROW).reshape(4, FORCE_ROW), np.array([0, 3, 1], np.int32)
    forces = np.empty((3, 3))
    gather_forces(np.array([1, 0, 2], np.int32), index, stored, forces)
    np.testing.assert_array_equal(forces, [stored[3, :3], [0.0] * 3, stored[1, :3]])
