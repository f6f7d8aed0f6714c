"""Sizes of fragments: the passing curve of the table, without bias over many parents, and no mass from nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.features.breakage import fragment_population
from pdem.features.breakage.fragment_curve import fragment_curve, number_above, passing_at, volumes_at
from pdem.features.breakage.fragment_sizes import fragment_radii, mean_count, passing
from pdem.features.breakage.size_model import SizeModel
from pdem.features.breakage.size_tables import SIZE_TABLES
from pdem.foundation.errors import InputError

COPPER = SIZE_TABLES["copper"]
COARSE = ((2.0, 1.01, 8.09), (4.0, 1.08, 3.03))
NUMBERS = (1.2, 1.5, 2.0, 4.0, 10.0, 25.0, 50.0, 75.0)
PASSING = {
    10.0: (88.07, 74.58, 56.92, 24.19, 10.0, 5.29, 3.42, 2.85),
    20.0: (97.70, 94.86, 83.32, 45.76, 20.0, 10.94, 7.25, 6.07),
    30.0: (99.60, 99.18, 94.32, 63.22, 30.0, 16.96, 11.46, 9.63),
    50.0: (99.99, 99.99, 99.63, 86.41, 50.0, 30.45, 21.36, 18.13),
}
BITS = ["0x1.57f1b7381e148p-1", "0x1.d8eec738765e6p-2", "0x1.5d43fbb3293c6p-3", "0x1.0245024923a03p-3"]
SHARES = st.floats(1e-12, 1.0, exclude_max=True)


def model(ratio=10.0, rows=COPPER, keeps_fines=False):
    """Return a model in which a particle of a radius of 1 has the given ratio to the smallest fragments."""
    return SizeModel(rows, 1.0 / ratio, keeps_fines)


def cubes(radii):
    """Return the exact sum of cubes."""
    return sum(Fraction(one) ** 3 for one in radii.tolist())


@pytest.mark.parametrize("t10", PASSING)
def test_the_curve_passes_through_the_table(t10):
    sizes, fractions = passing(model(), t10)
    at = [100.0 * fractions[np.argmin(np.abs(sizes - 1.0 / n))] for n in NUMBERS]
    np.testing.assert_allclose(at, PASSING[t10], atol=0.0051)


@given(st.floats(0.0, 100.0))
def test_the_curve_is_monotone(t10):
    sizes, fractions = passing(model(), t10)
    assert np.all(np.diff(sizes) > 0.0)
    assert np.all(np.diff(fractions) >= 0.0)
    assert (sizes[0], sizes[-1], fractions[-1]) == (pytest.approx(1e-4), 1.0, 1.0)


def test_below_the_table_is_a_power_law():
    sizes, fractions = passing(model(), 10.0)
    small = sizes <= 1.0 / 49.9
    slopes = np.diff(np.log(fractions[small])) / np.diff(np.log(sizes[small]))
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-9)


@given(st.floats(0.1, 90.0), st.floats(0.02, 0.99))
def test_numbers_and_volumes_belong_together(t10, size):
    curve = fragment_curve(COPPER, t10)
    number = number_above(curve, size**3)
    if np.all(curve.density > 0.0):
        assert float(volumes_at(curve, np.array([number]))[0]) == pytest.approx(size**3, rel=1e-6)
    ratio = 1.0 + 1e-5
    mass = passing_at(curve, ratio * size**3) - passing_at(curve, size**3)
    more = number - number_above(curve, ratio * size**3)
    assert mass == pytest.approx(more * size**3, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize(
    ("rows", "ratio", "t10"),
    [
        (COPPER, 3.0, 0.3), (COPPER, 6.0, 1.3), (COPPER, 10.0, 4.9), (COPPER, 12.0, 10.0), (COPPER, 8.0, 30.0),
        (COPPER, 30.0, 3.3), (COPPER, 8.0, 65.0), (COARSE, 8.0, 0.7), (COARSE, 8.0, 15.0),
        (((4.0, 1.08, 3.03),), 6.0, 7.0),
    ],
)  # fmt: skip
def test_masses_by_size_have_no_bias(rows, ratio, t10):
    """The mean over `uniform` of the mass above each size is that of the curve, within 0.3 % of the parent's mass."""
    shares = (np.arange(1024) + 0.5) / 1024
    radii = np.concatenate([fragment_radii(model(ratio, rows), 1.0, t10, share) for share in shares.tolist()])
    curve = fragment_curve(rows, t10)
    for size in np.geomspace(1.001 / ratio, 1.0 / 1.2, 40).tolist():
        mass = np.sum(radii[radii > size] ** 3) / len(shares)
        assert mass == pytest.approx(1.0 - passing_at(curve, size**3), abs=3e-3)


def test_the_mean_number_of_fragments_is_that_of_the_curve():
    shares = (np.arange(512) + 0.5) / 512
    number = np.mean([len(fragment_radii(model(12.0), 1.0, 20.0, share)) for share in shares.tolist()])
    assert number == pytest.approx(mean_count(model(12.0), 1.0, 20.0), rel=0.01)
    assert mean_count(model(12.0), 0.01, 20.0) == 0.0
    assert mean_count(model(12.0, keeps_fines=True), 1.0, 20.0) > number


@settings(max_examples=100)
@given(st.floats(1.0, 25.0), st.floats(0.0, 100.0), SHARES, st.floats(1e-6, 1e3), st.booleans())
def test_fragments_are_not_heavier_than_the_parent(ratio, t10, uniform, radius, keeps_fines):
    sizes = SizeModel(COPPER, radius / ratio, keeps_fines)
    radii = fragment_radii(sizes, radius, t10, uniform)
    assert np.all(radii >= sizes.smallest)
    assert np.all(np.diff(radii) <= 0.0)
    assert cubes(radii) <= Fraction(radius) ** 3
    if keeps_fines and len(radii):
        assert float(cubes(radii) / Fraction(radius) ** 3) == pytest.approx(1.0, rel=4e-15)


@pytest.mark.parametrize("keeps_fines", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 1.0 + 1e-15, 1.0 + 1e-9, 1.01, 2.0, 3.0])
def test_parents_of_about_the_smallest_size(ratio, keeps_fines):
    for t10 in (0.0, 0.1, 5.0, 60.0, 100.0):
        radii = fragment_radii(model(ratio, keeps_fines=keeps_fines), 1.0, t10, 0.3)
        assert np.all(radii >= 1.0 / ratio)
        assert cubes(radii) <= 1


def test_parents_below_the_smallest_size_are_fines():
    assert len(fragment_radii(model(0.9), 1.0, 10.0, 0.5)) == 0
    assert len(fragment_radii(model(0.9, keeps_fines=True), 1.0, 10.0, 0.5)) == 0


def test_for_t10_0_the_parent_is_left():
    np.testing.assert_allclose(fragment_radii(model(), 1.0, 0.0, 0.5), [1.0], rtol=1e-14)


def test_for_t10_100_all_is_fines():
    assert len(fragment_radii(model(), 1.0, 100.0, 0.5)) == 0
    assert len(fragment_radii(model(keeps_fines=True), 1.0, 100.0, 0.5)) == 999


def test_small_t10_has_its_mass_near_the_parent():
    radii = [fragment_radii(model(), 1.0, 0.01, share) for share in (np.arange(64) + 0.5) / 64]
    assert np.mean([np.sum(one[one > 1.0 / 1.2] ** 3) for one in radii]) > 0.94


def test_sizes_scale_with_the_parent():
    one = fragment_radii(model(10.0), 1.0, 10.0, 0.4)
    two = fragment_radii(SizeModel(COPPER, 0.2), 2.0, 10.0, 0.4)
    np.testing.assert_allclose(two, 2.0 * one, rtol=1e-14)


@pytest.mark.parametrize("largest", [0.9, 0.5, 0.2])
def test_large_fragments_are_cut_into_several(largest):
    """What is cut are fragments: hardly any more mass is lost than without a limit."""
    for share in (np.arange(33) + 0.5) / 33:
        whole, radii = (fragment_radii(model(), 1.0, 2.0, share, limit) for limit in (math.inf, largest))
        assert radii.max(initial=0.0) <= largest
        assert radii.min(initial=1.0) >= 0.1
        assert np.all(np.diff(radii) <= 0.0)
        assert cubes(whole) >= cubes(radii) >= cubes(whole) - Fraction(2, 1000) * np.count_nonzero(whole > largest)
        assert np.all(np.isin(whole[whole <= largest], radii))


def test_with_hardly_any_room_all_is_fines():
    for keeps_fines in (False, True):
        assert len(fragment_radii(model(keeps_fines=keeps_fines), 1.0, 2.0, 0.3, largest=0.0999)) == 0


def test_the_same_fragments_after_the_memory_is_cleared():
    one = fragment_radii(model(), 1.0, 12.3, 0.77)
    fragment_population.population.cache_clear()
    np.testing.assert_array_equal(fragment_radii(model(), 1.0, 12.3, 0.77), one)


def test_bits_are_those_of_other_processors():
    radii = fragment_radii(model(8.0), 1.0, 12.0, 0.3)
    assert len(radii) == 40
    assert [one.hex() for one in radii[[0, 1, 20, -1]].tolist()] == BITS


def test_many_fragments():
    radii = fragment_radii(model(60.0), 1.0, 30.0, 0.5)
    assert len(radii) > 5000
    assert math.fsum((radii**3).tolist()) < 1.0


def test_too_many_fragments_are_refused():
    with pytest.raises(InputError, match="fragments: the limit is 100000; give a larger smallest radius"):
        fragment_radii(model(1000.0), 1.0, 30.0, 0.5)
    with pytest.raises(InputError, match=r"more than 1 / 0\.0001 times smaller"):
        fragment_radii(model(1e4), 1.0, 30.0, 0.5)


@pytest.mark.parametrize("t10", [-0.1, 100.1, math.nan])
def test_t10_out_of_range_is_refused(t10):
    for function in (lambda: passing(model(), t10), lambda: fragment_radii(model(), 1.0, t10, 0.5)):
        with pytest.raises(InputError, match=r"t10 of .* %: give a number from 0 to 100"):
            function()


@pytest.mark.parametrize(
    ("rows", "smallest", "message"),
    [
        (COPPER, 0.0, "give a positive radius"), (COPPER, math.inf, "give a positive radius"),
        ((), 1.0, "give rising numbers above 1"), (((1.0, 1.0, 1.0),), 1.0, "give rising numbers above 1"),
        (((4.0, 1.0, 1.0), (2.0, 1.0, 1.0)), 1.0, "give rising numbers above 1"),
        (((10.0, 1.0, 1.0),), 1.0, "leave out 10"), (((1e4, 1.0, 1.0),), 1.0, "n below 5000"),
        (((2.0, 0.0, 1.0),), 1.0, "give positive ones"),
    ],
)  # fmt: skip
def test_wrong_tables_are_refused(rows, smallest, message):
    with pytest.raises(InputError, match=message):
        SizeModel(rows, smallest)
