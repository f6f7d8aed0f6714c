"""Places of fragments: inside the room, with the centre of mass at the centre, little overlap, the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.features.breakage.fragment_places import LARGEST_IN_ROOM, fragment_places, spread_fragments
from pdem.features.breakage.fragment_sizes import fragment_radii
from pdem.features.breakage.size_model import SizeModel
from pdem.features.breakage.size_tables import SIZE_TABLES
from pdem.foundation.errors import InputError

SHARES = st.floats(1e-12, 1.0, exclude_max=True)
BITS = [
    "-0x1.30b3e041d6a39p-4",
    "-0x1.a28666fdee18dp-2",
    "0x1.272f9d12e48f3p-5",
    "0x1.5cd057364d2bap-2",
    "-0x1.0fe549c2aaacdp-1",
    "-0x1.1338f900b4ee3p-1",
]
RADII = st.lists(st.floats(0.01, 0.999), min_size=1, max_size=40)


def copper(ratio, t10, uniform=0.5):
    """Return the radii of fragments of a particle with a radius of 1."""
    return fragment_radii(SizeModel(SIZE_TABLES["copper"], 1.0 / ratio), 1.0, t10, uniform, LARGEST_IN_ROOM)


def distances(offsets):
    """Return the distances between all pairs."""
    i, j = np.triu_indices(len(offsets), 1)
    return np.linalg.norm(offsets[i] - offsets[j], axis=1)


def overlaps(radii, offsets):
    """Return the overlaps of all pairs over the smaller radius."""
    i, j = np.triu_indices(len(offsets), 1)
    return np.maximum(radii[i] + radii[j] - distances(offsets), 0.0) / np.minimum(radii[i], radii[j])


def inertia(radii, offsets):
    """Return the mean moment of inertia over that of a sphere of the room's radius 1 with the same mass."""
    mass = radii**3
    return np.sum(mass * (np.sum(offsets**2, axis=1) / 1.5 + 0.4 * radii**2)) / (0.4 * np.sum(mass))


def check(radii, offsets, room):
    """Check that fragments are inside, centred and not concentric."""
    assert offsets.shape == (len(radii), 3)
    assert np.all(np.linalg.norm(offsets, axis=1) + radii <= room * (1.0 + 1e-15))
    mass = radii**3
    assert np.all(np.abs(mass @ offsets) <= 4e-16 * np.sum(mass) * room)
    assert len(radii) < 2 or distances(offsets).min() > 0.0


@settings(max_examples=200)
@given(RADII, SHARES, st.floats(1e-6, 1e3), st.sampled_from([2, 3]))
def test_fragments_are_inside_and_centred(sizes, uniform, room, axes):
    radii = room * np.array(sizes)
    offsets = fragment_places(radii, room, uniform, axes)
    check(radii, offsets, room)
    assert axes == 3 or not offsets[:, 2].any()
    np.testing.assert_array_equal(fragment_places(radii, room, uniform, axes), offsets)


@settings(max_examples=100)
@given(RADII, SHARES, st.floats(1.0, 100.0))
def test_spread_fragments_are_inside_and_centred(sizes, uniform, factor):
    radii = np.array(sizes)
    check(radii, spread_fragments(radii, fragment_places(radii, 1.0, uniform), 1.0, factor), 1.0)


@pytest.mark.parametrize(("ratio", "t10"), [(4, 1.0), (8, 5.0), (8, 20.0), (12, 12.0), (15, 50.0), (20, 30.0)])
@pytest.mark.parametrize("axes", [2, 3])
def test_fragments_of_tables(ratio, t10, axes):
    for uniform in (0.05, 0.4, 0.8):
        radii = copper(ratio, t10, uniform)
        check(radii, fragment_places(radii, 1.0, uniform, axes), 1.0)


@pytest.mark.parametrize(
    ("ratio", "t10", "most", "least"), [(8, 5.0, 1.4, 0.65), (8, 20.0, 0.7, 0.75), (15, 50.0, 0.7, 1.0)]
)
def test_overlaps_are_small_and_moments_of_inertia_large(ratio, t10, most, least):
    """The mean over fragments of their largest overlap, over the smaller radius."""
    radii = copper(ratio, t10)
    offsets = fragment_places(radii, 1.0, 0.3)
    largest = np.zeros(len(radii))
    for one, two, overlap in zip(*np.triu_indices(len(radii), 1), overlaps(radii, offsets), strict=True):
        largest[one], largest[two] = max(largest[one], overlap), max(largest[two], overlap)
    assert np.mean(largest) < most
    assert inertia(radii, offsets) > least


def test_a_few_small_fragments_do_not_overlap():
    radii = np.array([0.3, 0.25, 0.2, 0.2, 0.15])
    assert overlaps(radii, fragment_places(radii, 1.0, 0.7)).max() == pytest.approx(0.0, abs=1e-9)


def test_one_fragment_is_at_the_centre():
    np.testing.assert_array_equal(fragment_places(np.array([1.0]), 1.0, 0.5), [[0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(spread_fragments(np.array([0.5]), np.zeros((1, 3)), 1.0, 2.0), [[0.0, 0.0, 0.0]])


def test_no_fragment_needs_no_place():
    assert fragment_places(np.zeros(0), 1.0, 0.5).shape == (0, 3)


def test_two_fragments_are_opposite():
    one, two = fragment_places(np.array([0.7, 0.6]), 1.0, 0.5)
    np.testing.assert_allclose(np.cross(one, two), 0.0, atol=1e-15)
    assert np.linalg.norm(one) + 0.7 == pytest.approx(0.3 * (0.6 / 0.7) ** 3 + 0.7, abs=0.12)
    assert one @ two < 0.0


def test_arrangements_have_no_direction():
    radii = np.array([0.7, 0.6, 0.3])
    largest = np.array([fragment_places(radii, 1.0, share)[0] for share in (np.arange(400) + 0.5) / 400])
    units = largest / np.linalg.norm(largest, axis=1)[:, None]
    np.testing.assert_allclose(np.mean(units, axis=0), 0.0, atol=0.15)
    np.testing.assert_allclose(units.T @ units / 400, np.eye(3) / 3.0, atol=0.08)


def test_the_order_of_fragments_is_theirs():
    radii = np.array([0.2, 0.7, 0.4])
    offsets = fragment_places(radii, 1.0, 0.5)
    np.testing.assert_array_equal(offsets[[1, 2, 0]], fragment_places(radii[[1, 2, 0]], 1.0, 0.5))


def test_spread_fragments_have_more_inertia():
    radii = copper(15, 20.0)
    offsets = fragment_places(radii, 1.0, 0.3)
    moments = [inertia(radii, spread_fragments(radii, offsets, 1.0, factor)) for factor in (1.0, 1.05, 1.2, 2.0)]
    assert np.all(np.diff(moments) > 0.0)
    assert moments[-1] > 1.01 * moments[0]
    kept = spread_fragments(radii, offsets, 1.0, 1.0)
    np.testing.assert_allclose(kept, offsets, atol=1e-14)


def test_bits_are_those_of_other_processors():
    offsets = fragment_places(copper(6, 15.0), 1.0, 0.3)
    assert [one.hex() for one in (*offsets[0].tolist(), *offsets[-1].tolist())] == BITS


@pytest.mark.parametrize(
    ("radii", "message"), [([1.01], "a fragment of 1.01 m in a room of 1 m"), ([0.1, 1.0], "beside 1 more in a room")]
)
def test_fragments_without_space_are_refused(radii, message):
    for function in (
        lambda one: fragment_places(one, 1.0, 0.5),
        lambda one: spread_fragments(one, np.zeros((len(one), 3)), 1.0, 1.5),
    ):
        with pytest.raises(InputError, match=message):
            function(np.array(radii))
