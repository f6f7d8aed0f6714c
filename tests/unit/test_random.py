"""Random numbers keyed by identity."""

from __future__ import annotations

import numpy as np
import pytest

from pdem.numerics.random import keyed_bits, keyed_uniform, keyed_vectors

PINNED = [16660927147592978422, 17438876436730938857, 17105171168711934036]
MANY = np.arange(200_000)


def test_a_key_has_the_same_number_in_any_company() -> None:
    alone = keyed_uniform(3, 1, [17])
    among = keyed_uniform(3, 1, MANY)
    backwards = keyed_uniform(3, 1, MANY[::-1])
    assert alone[0] == among[17]
    np.testing.assert_array_equal(among, backwards[::-1])


def test_numbers_are_pinned() -> None:
    # Initial states of published runs must not change between versions.
    assert keyed_bits(0, 0, [0, 1, -1]).tolist() == PINNED


def test_numbers_are_uniform() -> None:
    values = keyed_uniform(5, 2, MANY)
    counts = np.histogram(values, bins=100, range=(0.0, 1.0))[0]
    assert 0.0 < values.min() < values.max() < 1.0
    # Chi-squared with 99 degrees of freedom: mean 99, standard deviation 14.
    assert np.sum((counts - 2000.0) ** 2 / 2000.0) < 99 + 5 * 14


@pytest.mark.parametrize(
    "other",
    [keyed_uniform(5, 2, MANY + 1), keyed_uniform(5, 3, MANY), keyed_uniform(6, 2, MANY), keyed_uniform(2, 5, MANY)],
)
def test_neighbouring_keys_streams_and_seeds_are_unrelated(other: np.ndarray) -> None:
    correlation = np.corrcoef(keyed_uniform(5, 2, MANY), other)[0, 1]
    assert abs(correlation) < 5.0 / np.sqrt(MANY.size)


def test_no_two_keys_share_their_bits() -> None:
    assert np.unique(keyed_bits(1, 1, MANY)).size == MANY.size


def test_vectors_take_one_stream_per_component() -> None:
    vectors = keyed_vectors(4, 10, MANY[:50])
    assert vectors.shape == (50, 3)
    for component in range(3):
        np.testing.assert_array_equal(vectors[:, component], keyed_uniform(4, 10 + component, MANY[:50]))


def test_each_key_can_have_its_own_stream() -> None:
    streams = np.arange(50) % 7
    mixed = keyed_uniform(4, streams, MANY[:50])
    assert mixed[23] == keyed_uniform(4, 23 % 7, [23])[0]


def test_shapes_are_kept() -> None:
    assert keyed_uniform(0, 0, 7).shape == ()
    assert keyed_uniform(0, 0, np.zeros((2, 3), dtype=int)).shape == (2, 3)
    assert keyed_vectors(0, 0, []).shape == (0, 3)
