"""Angles of heaps and of beds in drums as measures: which grains, which way is up, what is told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.made_results import TIME, Grains, Made, remarks, section, value
from pdem.foundation.errors import InputError
from pdem.sweeps.measures import measured

HEAP = {"kind": "angle-of-repose"}
DRUM = {"kind": "dynamic-angle-of-repose", "wall": "blade"}
OPEN = "domain.periodic=[false, false, false]"
GRAIN = 0.005


def cone(slope=32.0, foot=0.07, top=0.0, seed=1):
    """Return centres of grains at random below a cone, or one without its tip, half as dense as a packing."""
    random, rise = np.random.default_rng(seed), math.tan(math.radians(slope))
    count = int(0.5 * 4.0 * foot**2 * (foot - top) * rise / (math.pi * GRAIN**3 / 6.0))
    places = random.uniform([-foot, -foot, 0.0], [foot, foot, (foot - top) * rise], (count, 3))
    return places[places[:, 2] < (foot - np.hypot(places[:, 0], places[:, 1])) * rise]


def heap(places, *settings, velocity=None):
    return Made(OPEN, *settings, snapshots=[Grains(places, GRAIN, velocity=velocity)])


def test_a_cone_has_its_slope_and_what_describes_it():
    found = measured("m", section(**HEAP), heap(cone() + np.array([0.3, -0.2, 0.0])))
    assert found["m"].value == pytest.approx(32.0, abs=1.0)
    assert found["m"].unit == "deg"
    assert not found["m"].remarks
    assert list(found) == ["m", "m_error", "m_residual", "m_flat_top"]
    assert all(one.is_detail for name, one in found.items() if name != "m")
    assert 0.0 < found["m_residual"].value < GRAIN
    assert found["m_flat_top"].value < 0.2


def test_what_is_no_heap_or_half_of_one_is_told():
    found = value(heap(cone(top=0.035)), **HEAP)
    assert found.value == pytest.approx(32.0, abs=2.0)
    assert found.remarks[0].startswith("flat top: out to 3")
    column = cone(60.0, 0.2)
    column = column[(np.hypot(column[:, 0], column[:, 1]) < 0.03) & (column[:, 2] < 0.05)]
    for places in (column, cone(60.0, 0.03)[:5], np.zeros((0, 3))):
        found = value(heap(places), **HEAP)
        assert math.isnan(found.value)
        assert found.remarks[0].startswith("no heap: ")
    assert "few grains" in remarks(heap(cone(40.0, 0.02)), **HEAP)


@pytest.mark.parametrize(("axis", "sign"), [(0, 1.0), (1, 1.0), (1, -1.0), (2, -1.0)])
def test_up_is_against_gravity(axis, sign):
    """A heap on whatever wall, with a given axis in the two other coordinates."""
    gravity = [0.0, 0.0, 0.0]
    gravity[axis] = sign * 9.81
    across = [one for one in range(3) if one != axis]
    places = np.zeros_like(cone())
    places[:, across], places[:, axis] = cone()[:, :2] + [0.1, 0.2], -sign * cone()[:, 2]
    results = heap(places, f"domain.gravity={gravity}")
    assert value(results, **HEAP).value == pytest.approx(32.0, abs=1.0)
    assert value(results, **HEAP, centre=[0.1, 0.2], radius=0.06).value == pytest.approx(32.0, abs=1.0)


def test_gravity_is_that_of_the_stage():
    stages = "stages=[{name='filling', end=0.5}, {name='turning', gravity=[9.81, 0.0, 0.0]}]"
    places = cone()[:, [2, 0, 1]] * [-1.0, 1.0, 1.0]
    assert value(heap(places, stages), **HEAP).value == pytest.approx(32.0, abs=1.0)
    early = Made(OPEN, stages, snapshots=[Grains(cone(), GRAIN, time=0.2)])
    assert value(early, **HEAP).value == pytest.approx(32.0, abs=1.0)
    tilts = "gravity_table={times=[0.0, 1.0], values=[[0, 0, -9.81], [9.81, 0, 0]]}"
    table = f"stages=[{{name='filling', end=0.5}}, {{name='turning', {tilts}}}]"
    assert value(heap(places, table), **HEAP).value == pytest.approx(32.0, abs=1.0)


def test_without_an_upright_gravity_there_is_no_angle():
    for gravity in ([0.0, 0.0, 0.0], [3.0, 0.0, -9.0]):
        assert remarks(heap(cone(), f"domain.gravity={gravity}"), **HEAP) == ["no angle"]


def test_along_a_periodic_side_a_heap_is_a_ridge():
    random, rise = np.random.default_rng(3), math.tan(math.radians(28.0))
    places = random.uniform([-0.07, -0.02, 0.0], [0.07, 0.02, 0.04], (4000, 3))
    places = places[places[:, 2] < (0.07 - np.abs(places[:, 0])) * rise]
    results = Made("domain.periodic=[false, true, false]", snapshots=[Grains(places, GRAIN)])
    assert value(results, **HEAP).value == pytest.approx(28.0, abs=1.0)
    both = Made("domain.periodic=[true, true, false]", snapshots=[Grains(places, GRAIN)])
    assert remarks(both, **HEAP) == ["no heap"]


def test_grains_that_fall_do_not_count_and_those_that_creep_are_told():
    places = np.concatenate((cone(), [[0.0, 0.0, 0.2], [0.01, 0.0, 0.25]]))
    fast = np.zeros_like(places)
    fast[-2:, 2] = -1.5
    assert value(heap(places, velocity=fast), **HEAP).value == pytest.approx(value(heap(cone()), **HEAP).value)
    slow = np.full_like(places, 0.1)
    assert remarks(heap(places, velocity=slow), **HEAP) == ["not at rest"]


def test_a_region_leaves_out_the_hopper_above():
    hopper = cone(60.0, 0.08, seed=2) * [1.0, 1.0, -1.0] + [0.0, 0.0, 0.4]
    results = heap(np.concatenate((cone(), hopper)))
    region = {"lower": [-1.0, -1.0, -1.0], "upper": [1.0, 1.0, 0.1]}
    assert value(results, **HEAP, region=region).value == pytest.approx(32.0, abs=1.0)


def bed(slope=30.0, count=600, seed=0):
    """Return grains in a drum of radius 0.1 m about the axis y through (-0.004, 0, 0)."""
    random, turn = np.random.default_rng(seed), math.radians(slope)
    places = random.uniform(-0.1, 0.1, (6 * count, 3))
    places = places[np.hypot(places[:, 0], places[:, 2]) < 0.097]
    return places[places @ [math.sin(turn), 0.0, math.cos(turn)] < -0.01] + [-0.004, 0.0, 0.0]


def drum(slopes, axis="[0.0, 2.0, 0.0]"):
    rotation = f"walls.2.rotation={{rate=1.0, axis={axis}, centre=[-0.004, 0.0, 0.0]}}"
    times = np.linspace(0.0, 2.0, len(slopes))
    both = enumerate(zip(slopes, times, strict=True))
    return Made(OPEN, rotation, snapshots=[Grains(bed(slope, seed=k), GRAIN, time) for k, (slope, time) in both])


def test_the_bed_of_a_drum_has_its_slope_in_the_last_half_of_the_run():
    slopes = [0.0] * 10 + [33.0] * 11
    found = measured("m", section(**DRUM), drum(slopes))
    assert found["m"].value == pytest.approx(33.0, abs=1.0)
    assert not found["m"].remarks
    assert found["m_residual"].is_detail
    assert remarks(drum(slopes), **DRUM, start=0.5, end=1.5) == ["not steady"]
    assert "few snapshots" in remarks(drum([33.0] * 5), **DRUM)
    assert value(drum([-33.0] * 12), **DRUM, stage="turning").value == pytest.approx(33.0, abs=1.0)


def test_what_is_no_drum_is_refused_or_told():
    assert remarks(drum([30.0] * 12, axis="[0.0, 0.0, 1.0]"), **DRUM) == ["no angle"]
    with pytest.raises(InputError, match="wall gate does not rotate"):
        value(drum([30.0] * 12), kind="dynamic-angle-of-repose", wall="gate")
    with pytest.raises(InputError, match=r"no snapshot from 0\.1 to 0\.12 s"):
        value(drum([30.0] * 12), **DRUM, start=0.1, end=0.12)
    full = Made(OPEN, snapshots=[Grains(np.concatenate((bed(), -bed())), GRAIN, time) for time in TIME[::20]])
    full.case = drum([30.0]).case
    assert remarks(full, **DRUM) == ["no free surface"]
