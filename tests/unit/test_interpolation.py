"""Interpolation in tables agrees with numpy."""

import numpy as np
import pytest

from pdem.foundation.interpolation import interpolated

PLACES, VALUES = np.array([-1.0, 0.5, 2.0, 2.25]), np.array([3.0, -1.0, 0.1, 7.0])


@pytest.mark.parametrize("at", [-5.0, -1.0, -0.3, 0.5, 1.9999, 2.0, 2.1, 2.25, 9.0])
def test_one_place(at: float) -> None:
    """Values between, at and beyond the rows are as numpy has them."""
    assert interpolated(at, PLACES, VALUES) == pytest.approx(np.interp(at, PLACES, VALUES), rel=1e-15)


def test_many_places_and_columns() -> None:
    """Many places of one column, and many columns at one place."""
    at = np.linspace(-2.0, 3.0, 41)
    assert interpolated(at, PLACES, VALUES) == pytest.approx(np.interp(at, PLACES, VALUES), rel=1e-14)
    columns = np.stack((VALUES, 2.0 * VALUES), axis=1)
    assert interpolated(1.0, PLACES, columns) == pytest.approx(np.array([1.0, 2.0]) * interpolated(1.0, PLACES, VALUES))


def test_single_row() -> None:
    """A table with one row is constant."""
    assert interpolated(4.0, [1.0], [2.5]) == 2.5
    assert interpolated(-4.0, [1.0], [[2.5, 1.0]]).tolist() == [2.5, 1.0]
