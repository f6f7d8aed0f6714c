"""What the case file says about sensors, and Lacey's index."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pdem
from helpers.inlets import BOX, DISC, GRAIN, case_of, inlet
from pdem.case.groups.inlets import face_at
from pdem.features.sensors.preflight import sensor_findings
from pdem.features.sensors.report import lacey_index
from pdem.foundation.errors import CaseError

WALLS = [
    {"name": "gate", "shape": "plane", "point": [0.0, 0.0, 0.01], "normal": [0.0, 0.0, -1.0], "size": 0.04,
     "material": "steel"},
    {"name": "turning", "shape": "plane", "point": [0.0, 0.0, -0.09], "normal": [0.0, 0.0, 1.0], "material": "steel",
     "rotation": {"rate": 1.0, "axis": [0, 0, 1]}},
]  # fmt: skip
PLANE = {"point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({}, "needs exactly one of region, plane and face, has none of them"),
        ({"region": BOX, "plane": PLANE}, "needs exactly one of region, plane and face, has region and plane"),
        ({"region": {"lower": [1.0] * 3, "upper": [2.0] * 3}}, "region: lies wholly outside the domain"),
        ({"plane": {**PLANE, "point": [0.0, 0.0, 5.0]}}, r"plane.point = .*: is outside the domain"),
        ({"plane": {**PLANE, "normal": [0.0, 0.0, 0.0]}}, "plane.normal = .*: is not a direction"),
        ({"face": {**DISC, "centre": [0.0, 0.0, 5.0]}}, "face: lies wholly outside the domain"),
        ({"face": {"corners": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1]]}}, "face: is no plane"),
        ({"face": {"wall": "gatee"}}, "face.wall = .*: is not the name of a wall; did you mean 'gate'"),
        ({"face": {"wall": "turning"}}, r"face.wall = .*: \(turning\) moves"),
        ({"plane": PLANE, "by": {"radii": [0.2, 0.1]}}, "by.radii = .*: must rise"),
        ({"plane": PLANE, "by": "size"}, 'by = "size": must be "material"'),
        ({"plane": PLANE, "residence": True}, "residence = true: is measured in a region"),
        ({"region": BOX, "mixing": {"materials": ["grain", "gold"], "cells": [1, 1, 1]}}, "is not a material"),
        ({"region": BOX, "mixing": {"materials": ["grain", "grain"], "cells": [1, 1, 1]}}, "two different ones"),
        ({"region": BOX, "mixing": {"materials": ["grain", "steel"], "cells": [1, 1]}}, "cells = .*at least 3|too few"),
        ({"region": BOX, "name": "a[b"}, "names columns of the series"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(keys, match):
    with pytest.raises(CaseError, match=match):
        case_of(walls=WALLS, sensors=[{"name": "sensor", **keys}])


def test_no_particles_come_in_through_a_wall():
    with pytest.raises(CaseError, match=r"insertions\[0\].face.wall = .*: is a wall, which particles touch"):
        case_of(inlet(face={"wall": "gate"}, count=3), walls=WALLS)


def test_what_passes_where_a_wall_was_is_counted(tmp_path):
    """One of three grains lies beside the gate, which is removed when the others rest on it."""
    places = [[0.0, 0.0, 0.015], [0.01, 0.0, 0.015], [0.05, 0.0, 0.015]]
    group = {"material": "grain", "radius": 0.004, "positions": places}
    stages = [{"name": "closed", "end": 0.002}, {"name": "open", "walls": {"gate": {"remove": True}}}]
    sensor = {"name": "outlet", "face": {"wall": "gate"}}
    case = case_of(
        particles=[group], walls=WALLS[:1], sensors=[sensor], stages=stages, time={"step": 2e-5, "end": 0.06},
        output={"folder": str(tmp_path)},
    )  # fmt: skip
    face = face_at(case, case.sensors[0].face, ["sensors", 0, "face"])
    assert face.area == pytest.approx(0.04**2)
    np.testing.assert_allclose(face.normal, [0.0, 0.0, -1.0], atol=1e-12)
    simulation = pdem.Simulation(case, threads=1)
    simulation.advance(100)
    assert simulation.sensors()["outlet"]["passed_count"] == 0
    simulation.advance(2900)
    assert simulation.sensors()["outlet"]["passed_count"] == 2


def test_names_are_taken_once():
    with pytest.raises(CaseError, match=r"sensors\[1\].name = .*is taken by sensors\[0\]"):
        case_of(sensors=[{"name": "gate", "region": BOX}] * 2)


def test_intervals_follow_from_speeds():
    places = [[0.0, 0.0, 0.0]]
    group = {"material": "grain", "radius": 0.004, "positions": places}
    case = case_of(particles=[group], sensors=[{"name": "gate", "plane": PLANE}, {"name": "bed", "region": BOX}])
    (found,) = sensor_findings(case, 2e-5)
    steps = round(0.008 / math.sqrt(2.0 * 9.81 * 0.2) / 2e-5)
    assert str(found) == f"info: sensor gate: looks at the particles every {steps} steps ({steps * 2e-5:.3g} s)"
    assert GRAIN["density"] == case.materials["grain"].density


def test_lacey_index_of_what_is_known():
    apart = np.array([[10, 0, 10, 0], [0, 10, 0, 10]])
    assert lacey_index(apart, 5) == pytest.approx((0.25 - 1.0 / 3.0) / (0.25 - 0.025))
    even = np.array([[5] * 4, [5] * 4])
    assert lacey_index(even, 5) == pytest.approx(0.25 / (0.25 - 0.025))
    assert math.isnan(lacey_index(even, 11))
    assert math.isnan(lacey_index(np.array([[5, 5], [0, 0]]), 2))


def test_lacey_index_of_random_mixing_is_one():
    random = np.random.default_rng(1)
    first = random.binomial(50, 0.3, 20000)
    assert lacey_index(np.array([first, 50 - first]), 2) == pytest.approx(1.0, abs=0.01)


def test_lacey_index_of_sizes_that_are_apart_is_nothing():
    """Of large grains there are fewer in a cell: that does not make them more than apart."""
    cells = 400
    fine = np.array([*[30] * (cells // 2), *[0] * (cells // 2)])
    coarse = np.array([*[0] * (cells // 2), *[5] * (cells // 2)])
    assert lacey_index(np.array([fine, coarse]), 3) == pytest.approx(0.0, abs=0.005)
    random = np.random.default_rng(4)
    size = random.integers(5, 40, 5000)
    first = random.binomial(size, 0.3)
    assert lacey_index(np.array([first, size - first]), 3) == pytest.approx(1.0, abs=0.01)
