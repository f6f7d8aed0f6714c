"""Distributions of radii."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.containers.size_laws import Mixture, NormalRadii, RosinRammler, by_volume
from pdem.containers.sizes import Constant, LogNormal, PowerLaw, SizeDistribution, Tabulated, Uniform
from pdem.foundation.errors import InputError

GRID = (np.arange(100_000) + 0.5) / 100_000
ALL = [
    Constant(0.2),
    Uniform(0.1, 0.3),
    PowerLaw(-3.0, 0.01, 0.5),
    PowerLaw(2.5, 0.01, 0.5),
    PowerLaw(-1.0, 0.01, 0.5),
    LogNormal(0.1, 0.5, 0.02, 0.4),
    Tabulated((0.1, 0.2, 0.4), (0.0, 0.3, 1.0)),
    Tabulated((0.1, 0.2, 0.4), (0.0, 0.3, 1.0), by="volume"),
]

ONE = (0.2, 0.2)  # limits that leave one radius, which may lie far from where the law has most of its particles
LAWS = [
    *ALL,
    NormalRadii(0.2, 0.05, 0.1, 0.3),
    RosinRammler(0.2, 3.0, 0.1, 0.3),
    Uniform(*ONE),
    PowerLaw(-3.0, *ONE),
    PowerLaw(-1.0, *ONE),
    LogNormal(0.01, 0.05, *ONE),
    NormalRadii(0.1, 0.001, *ONE),
    RosinRammler(0.01, 9.0, *ONE),
]
CUT = (Uniform, PowerLaw, LogNormal, NormalRadii, RosinRammler)
EVERY = [*LAWS, *(by_volume(one) for one in LAWS if isinstance(one, CUT))]


@given(
    st.lists(st.sampled_from(EVERY), min_size=1, max_size=3),
    st.sampled_from(["number", "volume"]),
    st.lists(st.floats(0.0, 1.0), max_size=3),
)
def test_every_distribution_takes_any_number_of_numbers(parts, by, uniform) -> None:
    """Also none, as where nothing comes in; and each part of a mixture when none of them falls to it."""
    for sizes in (*parts, Mixture(tuple(parts), tuple(1.0 + k for k in range(len(parts))), by)):
        radii = sizes.radii(uniform)
        assert radii.shape == (len(uniform),)
        assert radii.tolist() == [sizes.radii([one])[0] for one in uniform]
        np.testing.assert_allclose([sizes.radii(one) for one in uniform], radii, rtol=1e-12)
        assert ((radii >= sizes.smallest) & (radii <= sizes.largest)).all()
        assert sizes.radii(np.empty((0, 2))).shape == (0, 2)
        assert sizes.smallest**3 * (1.0 - 1e-12) <= sizes.mean_cube <= sizes.largest**3 * (1.0 + 1e-12)


@pytest.mark.parametrize("sizes", ALL, ids=lambda sizes: type(sizes).__name__)
def test_radii_rise_from_the_smallest_to_the_largest(sizes: SizeDistribution) -> None:
    radii = sizes.radii(GRID)
    assert np.all(np.diff(radii) >= 0.0)
    assert radii.min() >= sizes.smallest
    assert radii.max() <= sizes.largest
    np.testing.assert_allclose(sizes.radii([0.0, 1.0]), [sizes.smallest, sizes.largest], rtol=1e-12)


@given(st.floats(-8.0, 8.0), st.floats(1.0, 1000.0))
def test_power_law_has_the_mean_of_its_density(exponent: float, ratio: float) -> None:
    def moment(power: float) -> float:
        return np.log(ratio) if abs(power) < 1e-9 else (ratio**power - 1.0) / power

    sizes = PowerLaw(exponent, 1.0, ratio)
    expected = moment(exponent + 2.0) / moment(exponent + 1.0) if ratio > 1.0 + 1e-9 else 1.0
    # The midpoint rule on the inverse is poor only where a thin tail holds the mean.
    assert sizes.radii(GRID).mean() == pytest.approx(expected, rel=0.02)


def test_power_law_minus_three_puts_equal_volume_into_equal_intervals() -> None:
    radii = PowerLaw(-3.0, 1.0, 50.0).radii(GRID)
    volume = np.histogram(radii, bins=7, range=(1.0, 50.0), weights=radii**3)[0]
    np.testing.assert_allclose(volume, volume.mean(), rtol=0.02)


def test_the_uniform_exponent_is_the_uniform_distribution() -> None:
    np.testing.assert_allclose(PowerLaw(0.0, 0.1, 0.3).radii(GRID), Uniform(0.1, 0.3).radii(GRID), rtol=1e-12)


def test_log_normal_has_its_median_and_width() -> None:
    logs = np.log(LogNormal(0.1, 0.5, 1e-4, 100.0).radii(GRID))
    assert np.median(logs) == pytest.approx(np.log(0.1), abs=1e-3)
    assert logs.std() == pytest.approx(0.5, rel=1e-2)


def test_a_sieve_curve_is_met_by_volume() -> None:
    radii = Tabulated((0.1, 0.2, 0.4), (0.0, 0.3, 1.0), by="volume").radii(GRID)
    volume = radii**3
    assert volume[radii <= 0.2].sum() / volume.sum() == pytest.approx(0.3, abs=2e-3)
    # Within an interval the volume is spread evenly over the radius.
    assert volume[radii <= 0.3].sum() / volume.sum() == pytest.approx(0.65, abs=2e-3)


def test_an_empty_interval_of_a_table_yields_no_radii() -> None:
    radii = Tabulated((0.1, 0.2, 0.3, 0.4), (0.0, 0.5, 0.5, 1.0)).radii(GRID)
    assert not np.any((radii > 0.2) & (radii < 0.3))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(0.0),
        lambda: Constant(float("nan")),
        lambda: Uniform(0.3, 0.1),
        lambda: PowerLaw(float("inf"), 0.1, 0.3),
        lambda: LogNormal(0.1, 0.0, 0.1, 0.2),
        lambda: LogNormal(0.1, 0.1, 10.0, 20.0),
        lambda: Tabulated((0.1,), (0.0,)),
        lambda: Tabulated((0.2, 0.1), (0.0, 1.0)),
        lambda: Tabulated((0.1, 0.2), (0.1, 1.0)),
        lambda: Tabulated((0.1, 0.2, 0.3), (0.0, 1.5, 1.0)),
        lambda: Tabulated((0.1, 0.2), (0.0, 1.0), by="mass"),
    ],
)
def test_impossible_distributions_are_refused(make) -> None:
    with pytest.raises(InputError):
        make()
