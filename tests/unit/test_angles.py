"""Angles, sines and cosines in kernels are those of exact arithmetic to some units of the last place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdem.foundation import exact_math
from pdem.numerics.kernels import kernel
from pdem.numerics.portable.angles import angle_of, sine_and_cosine

NUMBERS = st.floats(-1e6, 1e6)


@kernel
def _angle(y, x):
    return angle_of(y, x)


@kernel
def _sine_and_cosine(angle):
    return sine_and_cosine(angle)


@given(NUMBERS, NUMBERS)
def test_the_angle_of_a_point(y, x):
    if (x, y) != (0.0, 0.0) and abs(x) + abs(y) > 1e-290:
        assert _angle(y, x) == pytest.approx(exact_math.atan2(y + 0.0, x + 0.0), rel=1e-15, abs=1e-300)


@pytest.mark.parametrize(("y", "x"), [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0), (1.0, -1.0)])
def test_angles_of_axes_are_exact(y, x):
    assert _angle(y, x) == math.atan2(y, x)


@given(st.floats(-20.0, 20.0))
def test_sine_and_cosine(angle):
    sine, cosine = _sine_and_cosine(angle)
    assert sine == pytest.approx(exact_math.sin(angle), rel=4e-16, abs=1e-15)
    assert cosine == pytest.approx(exact_math.cos(angle), rel=4e-16, abs=1e-15)
    assert sine * sine + cosine * cosine == pytest.approx(1.0, rel=1e-15)
