"""Free surfaces of beds in drums: made-up beds with known slopes, and beds that have none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdem.particles.drum_surfaces import DrumMap

GRAIN, RADIUS = 0.006, 0.1


def surface(slope=30.0, level=-0.01, count=900, snapshots=20, share=0.5, bent=0.0, flying=0, seed=0):
    """Return the surface of random grains in a drum below a line, or an S with a height `bent` at the wall."""
    random, drum = np.random.default_rng(seed), DrumMap(GRAIN, RADIUS)
    turn = math.radians(slope)
    for _ in range(snapshots):
        places = random.uniform(-RADIUS, RADIUS, (4 * count, 2))
        places = places[np.hypot(*places.T) < RADIUS - 0.5 * GRAIN]
        along = places @ [math.cos(turn), -math.sin(turn)]
        above = places @ [math.sin(turn), math.cos(turn)] - level - bent * (along / RADIUS) ** 3
        chosen = places[above < 0.0]
        drum.add(
            np.concatenate((chosen, places[above > 0.02][:flying])),
            np.ones(len(chosen) + min(flying, (above > 0.02).sum())),
        )
    return drum.surface(share)


@settings(max_examples=25, deadline=None)
@given(slope=st.floats(-60.0, 60.0), level=st.floats(-0.05, 0.04), seed=st.integers(0, 1000))
def test_the_slope_is_found_however_full_the_drum_is(slope, level, seed):
    found = surface(slope, level, seed=seed)
    assert found.angle == pytest.approx(abs(slope), abs=1.5)  # a degree, but for one draw in some hundred
    assert found.chord == pytest.approx(2.0 * math.sqrt(RADIUS**2 - level**2), rel=0.03)
    assert found.residual < 0.3 * GRAIN
    assert found.flying < 0.01


def test_grains_that_fly_do_not_move_the_surface_and_are_counted():
    found = surface(flying=150)
    assert found.angle == pytest.approx(30.0, abs=1.0)
    assert 0.03 < found.flying < 0.15


def test_the_middle_of_an_s_is_what_counts():
    """A wider share of it is steeper, and less straight."""
    found = [surface(bent=0.03, share=share).angle for share in (0.3, 0.9)]
    assert abs(found[0] - 30.0) < 2.0 < abs(found[1] - 30.0)
    assert surface(bent=0.03, share=0.9).residual > 2.0 * surface(bent=0.0, share=0.9).residual


def test_few_grains_of_few_snapshots_are_not_far_off():
    assert surface(count=250, snapshots=3).angle == pytest.approx(30.0, abs=4.0)


@pytest.mark.parametrize("inner", [0.0, 0.08])
def test_a_full_drum_and_grains_all_around_have_no_surface(inner):
    random, drum = np.random.default_rng(1), DrumMap(GRAIN, RADIUS)
    places = random.uniform(-RADIUS, RADIUS, (20_000, 2))
    away = np.hypot(*places.T)
    places = places[(away > inner) & (away < RADIUS)]
    drum.add(places, np.ones(len(places)))
    found = drum.surface(0.5)
    assert math.isnan(found.angle)
    assert "no free surface" in found.fault


def test_an_empty_drum_has_none_either():
    assert DrumMap(GRAIN, RADIUS).surface(0.5).fault
