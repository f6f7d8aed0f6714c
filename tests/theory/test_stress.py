"""Stress, fabric and coordination beside values by hand, and the balance with the loads of walls."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from helpers.cases import ELASTIC, GRAIN, USUAL, Grains, simulate
from pdem.foundation.errors import CaseError, InputError

R, PERIOD = 0.01, 0.06
HERTZ = 4.0 / 3.0 * 1e7 / (2.0 * 0.96) * math.sqrt(0.5 * R)
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3
BOX = {"lower": [0.0] * 3, "upper": [PERIOD] * 3, "periodic": [True] * 3, "law": USUAL}


def layer(low, high, name="layer", **more):
    return {"name": name, "region": {"lower": [0.0, 0.0, low], "upper": [PERIOD, PERIOD, high]}, **more}


def test_two_spheres_across_a_periodic_side_are_as_by_hand(tmp_path):
    """The branch leads across the side; a quarter of it lies before that, the rest behind."""
    way = 1.9 * R * np.array([0.8, 0.6, 0.0])
    first = np.array([PERIOD - 0.25 * way[0], 0.02, 0.03])
    second = first + way - [PERIOD, 0.0, 0.0]
    run = simulate(tmp_path, Grains([second, first], R), **BOX)
    force = HERTZ * (0.1 * R) ** 1.5
    expected = force * np.outer(way, way) / (1.9 * R) / PERIOD**3
    found = run.stress()
    np.testing.assert_allclose(found.contact, expected, rtol=1e-12, atol=1e-12 * expected.max())
    assert not found.kinetic.any()
    assert found.pressure == pytest.approx(np.trace(expected) / 3.0, rel=1e-12)
    normal = way / (1.9 * R)
    np.testing.assert_allclose(found.fabric, np.outer(normal, normal), atol=1e-14)
    assert (found.coordination, found.particles, found.rattlers) == (1.0, 2, 2)
    half = {"lower": [0.0] * 3, "upper": [0.5 * PERIOD, PERIOD, PERIOD]}
    other = {"lower": [0.5 * PERIOD, 0.0, 0.0], "upper": [PERIOD] * 3}
    np.testing.assert_allclose(run.stress(half).contact, 2.0 * 0.75 * expected, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(run.stress(other).contact, 2.0 * 0.25 * expected, rtol=1e-9, atol=1e-6)


def test_a_lattice_is_isotropic(tmp_path):
    """Of a cubic lattice that fills its box the stress is a pressure, and each sphere has six contacts."""
    places = np.stack(np.meshgrid(*[np.arange(4) * 0.015] * 3), axis=-1).reshape(-1, 3)
    overlap = 0.02 * R
    run = simulate(tmp_path, Grains(places + 1e-3, 0.5 * (0.015 + overlap)), **BOX)
    found = run.stress()
    force = HERTZ * math.sqrt(0.5 * (0.015 + overlap) / R) * overlap**1.5
    np.testing.assert_allclose(found.total, force / 0.015**2 * np.eye(3), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.fabric, np.eye(3) / 3.0, rtol=1e-12, atol=1e-12)
    assert found.coordination == found.mechanical_coordination == found.coordination_without_rattlers == 6.0
    assert found.rattlers == 0
    ball = {"shape": "sphere", "centre": [0.03] * 3, "radius": 0.025}
    rod = {"shape": "cylinder", "centre": [0.03] * 3, "axis": [0.0, 0.0, 1.0], "radius": 0.02, "length": PERIOD}
    for region in (ball, rod):
        inside = run.stress(region).contact
        np.testing.assert_allclose(inside, inside.T, atol=1e-9 * inside.max())
        assert np.trace(inside) / 3.0 == pytest.approx(force / 0.015**2, rel=0.25)


def test_a_gas_has_the_stress_of_its_motion_without_its_mean_velocity(tmp_path):
    rng = np.random.default_rng(1)
    places = np.stack(np.meshgrid(*[np.arange(2) * 0.03] * 3), axis=-1).reshape(-1, 3)
    velocity = rng.normal(size=(8, 3))
    own = velocity - velocity.mean(axis=0)
    expected = MASS * own.T @ own / PERIOD**3
    for drift in (np.zeros(3), np.array([30.0, -40.0, 50.0])):
        run = simulate(tmp_path, Grains(places, R, velocity + drift), **BOX)
        found = run.stress()
        np.testing.assert_allclose(found.kinetic, expected, rtol=1e-11)
        assert not found.contact.any()
        assert np.isnan(found.fabric).all()
        assert found.pressure == pytest.approx(np.trace(expected) / 3.0, rel=1e-11)


def column_at_rest(tmp_path, count=5, **more):
    """Return spheres on a floor, one above the other, each pressed by the weight of those above."""
    above = MASS * 9.81 * np.arange(count, 0, -1)
    stiffness = np.array([4.0 / 3.0 * 1e7 / 0.96 * math.sqrt(R), *[HERTZ] * (count - 1)])
    overlap = (above / stiffness) ** (2.0 / 3.0)
    heights = np.cumsum(np.array([R, *[2.0 * R] * (count - 1)]) - overlap)
    places = np.column_stack((np.full((count, 2), 0.02), heights))
    floor = {"shape": "plane", "point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}
    options = {"law": USUAL, "gravity": [0.0, 0.0, -9.81], "walls": (floor,), "step": 1e-5}
    options |= {"lower": [0.0] * 3, "upper": [PERIOD, PERIOD, 0.2], "periodic": [True, True, False]}
    return simulate(tmp_path, Grains(places, R), **options, more=more), heights


def test_the_stress_of_a_layer_is_the_mean_force_through_its_planes(tmp_path):
    """A column on a floor: by hand, by the floor's load, and in the sums of layers, with forces of the last step."""
    low, high = layer(0.0, 0.05, "low", stress=True), layer(0.05, 0.2, "high", stress=True)
    run, heights = column_at_rest(tmp_path, sensors=[low, high], output={"stress": True})
    run.advance(50)
    area, weight = PERIOD**2, MASS * 9.81
    assert -run.wall_loads()["wall0"]["force"][2] == pytest.approx(5 * weight, rel=1e-9)
    lowest = run.stress({"lower": [0.0] * 3, "upper": [PERIOD, PERIOD, 0.009]})
    assert lowest.contact[2, 2] * area == pytest.approx(-run.wall_loads()["wall0"]["force"][2], rel=1e-9)
    for begin, end in ((0.0, 0.05), (0.05, 0.2), (0.013, 0.047)):
        cuts = np.unique(np.clip([begin, end, *heights], begin, end))
        mean = sum((b - a) * weight * np.count_nonzero(heights > a + 1e-9) for a, b in pairwise(cuts))
        found = run.stress({"lower": [0.0, 0.0, begin], "upper": [PERIOD, PERIOD, end]})
        assert found.contact[2, 2] == pytest.approx(mean / (end - begin) / area, rel=1e-8)
    sensors, whole = run.sensors(), run.stress()
    assert sensors["low"]["stress_zz"] == run.stress(low["region"]).total[2, 2]
    both = 0.25 * run.stress(low["region"]).contact + 0.75 * run.stress(high["region"]).contact
    np.testing.assert_allclose(both, whole.contact, rtol=1e-12, atol=1e-12)


def test_forces_of_contacts_add_up_to_those_of_particles_while_they_collide(tmp_path):
    """Bit for bit up to the order of the sum, in a step whose contacts are looked at; else nearly so."""
    rng = np.random.default_rng(3)
    places = np.stack(np.meshgrid(*[np.arange(3) * 0.0205] * 3), axis=-1).reshape(-1, 3) + 0.01
    floor = {"shape": "plane", "point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}
    options = BOX | {"periodic": [True, True, False], "walls": (floor,), "step": 1e-5, "upper": [PERIOD, PERIOD, 0.2]}
    group = Grains(places, R, rng.normal(size=(27, 3)) - [0.0, 0.0, 1.0], 10.0 * rng.normal(size=(27, 3)))
    kept = simulate(tmp_path, group, **options, more={"output": {"stress": True}})
    anew = simulate(tmp_path, group, **options)
    number = 0
    for _ in range(12):
        kept.advance(37), anew.advance(37)
        assert kept.particles.velocity.tobytes() == anew.particles.velocity.tobytes()
        for run, tolerance in ((kept, 1e-13), (anew, 0.2)):
            found, own = run.contacts(), run.gather()
            total = np.zeros((27, 3))
            pair = found["second"] >= 0
            np.add.at(total, found["first"], -found["force"])
            np.add.at(total, found["second"][pair], found["force"][pair])
            size = np.abs(own["force"]).max()
            assert np.abs(total - own["force"]).max() <= tolerance * size
        number += len(found["first"])
        assert (kept.contacts()["second"] < 0).sum() == kept.measures().wall_contacts
        assert len(kept.contacts()["first"]) == kept.measures().pair_contacts + kept.measures().wall_contacts
        energies = kept.energies()
        assert kept.contacts()["elastic_energy"].sum() == pytest.approx(energies["elastic"], rel=1e-12)
        assert kept.contacts()["stored_energy"].sum() == pytest.approx(energies["tangential"], rel=1e-12, abs=1e-300)
    assert number > 50


@pytest.mark.parametrize(
    "turn", [np.diag([-1.0, 1.0, 1.0]), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])]
)
def test_mirrored_and_turned_beds_have_mirrored_and_turned_stresses(tmp_path, turn):
    rng = np.random.default_rng(5)
    places = np.stack(np.meshgrid(*[np.arange(3) * 0.019] * 3), axis=-1).reshape(-1, 3) - 0.019
    places, velocity = places + rng.uniform(-5e-4, 5e-4, places.shape), rng.normal(size=places.shape)
    tensors = []
    for by in (np.eye(3), turn):
        run = simulate(
            tmp_path, Grains(places @ by.T, R, velocity @ by.T), law=USUAL, lower=[-0.05] * 3, upper=[0.05] * 3
        )
        run.advance(20)
        tensors.append(run.stress())
    first, second = tensors
    for name in ("contact", "kinetic", "fabric"):
        expected = turn @ getattr(first, name) @ turn.T
        np.testing.assert_allclose(getattr(second, name), expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
    assert second.coordination == first.coordination > 1.0


def test_rattlers_are_taken_out_again_and_again(tmp_path):
    """Without friction and gravity four contacts hold: an octahedron with its centre has more, a chain less."""
    corners = np.vstack((np.eye(3), -np.eye(3), np.zeros((1, 3)))) * 1.41 * R
    chain = np.array([[3.4 * R, 0.0, 0.0], [5.3 * R, 0.0, 0.0], [0.0, 0.0, 8.0 * R]])
    run = simulate(
        tmp_path,
        Grains(np.vstack((corners, chain)), R),
        law=ELASTIC,
        lower=[-0.2] * 3,
        upper=[0.2] * 3,
        largest_overlap=1.0,
    )
    found = run.stress()
    assert found.rattlers == 3
    ends = 2 * (12 + 6)
    assert found.coordination_without_rattlers == ends / 7
    assert found.coordination == (ends + 2 * 2) / 10
    assert found.mechanical_coordination == (ends + 1 + 2) / 8


def test_a_region_that_is_none_is_refused(tmp_path):
    run = simulate(tmp_path, Grains([[0.03] * 3], R), **BOX)
    wrong = {
        "upper is missing": {"lower": [0, 0, 0]},
        r"upper\.2 must be greater than lower": {"lower": [0, 0, 1], "upper": [1, 1, 0]},
        "must be a table": "bed",
        'shape must be one of "box", "cylinder", "sphere"; did you mean "sphere"\\? give one': {
            "shape": "ball",
            "radius": 1.0,
        },
        "radus is not a key; did you mean 'radius'": {"shape": "sphere", "centre": [0, 0, 0], "radius": 1, "radus": 1},
    }
    for said, region in wrong.items():
        with pytest.raises(InputError, match=f"is no region: .*{said}"):
            run.stress(region)


@pytest.mark.parametrize(
    ("sensor", "match"),
    [
        ({"name": "gate", "plane": {"point": [0.03] * 3, "normal": [0, 0, 1]}}, "stress = true: is measured in"),
        ({**layer(0.0, 0.05), "name": "kinetic"}, "'kinetic'.* is taken by columns of output.stress"),
    ],
)  # fmt: skip
def test_sensors_that_cannot_be_are_refused(tmp_path, sensor, match):
    with pytest.raises(CaseError, match=match):
        simulate(
            tmp_path,
            Grains([[0.03] * 3], R),
            **BOX,
            more={"sensors": [sensor | {"stress": True}], "output": {"stress": True}},
        )


def test_a_bed_under_a_servo_has_the_stress_of_its_load(tmp_path):
    """Without gravity each layer carries what the wall above gives to the bed and the floor takes."""
    places = np.stack(np.meshgrid(*[np.arange(3)] * 3), axis=-1).reshape(-1, 3) * [0.02, 0.02, 0.0201] + R
    floor = {"shape": "plane", "point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}
    servo = {"axis": [0.0, 0.0, -1.0], "force": -20.0, "largest_rate": 0.05}
    lid = {"shape": "plane", "point": [0.0, 0.0, 0.061], "normal": [0.0, 0.0, -1.0], "servo": servo}
    options = {"law": USUAL | {"restitution": 0.1}, "walls": (floor, lid), "upper": [PERIOD, PERIOD, 0.1], "step": 5e-5}
    options |= {"lower": [0.0] * 3, "periodic": [True, True, False], "more": {"output": {"stress": True}}}
    run = simulate(tmp_path, Grains(places, R), **options)
    run.advance(6000)
    load = run.wall_loads()["wall1"]["force"][2]
    assert load == pytest.approx(20.0, rel=1e-2)
    for begin, end in ((0.005, 0.02), (0.02, 0.045), (0.01, 0.05)):
        found = run.stress({"lower": [0.0, 0.0, begin], "upper": [PERIOD, PERIOD, end]})
        assert found.contact[2, 2] * PERIOD**2 == pytest.approx(load, rel=1e-5)


@pytest.mark.parametrize(("share", "stage"), [(0.9, "after"), (1.1, "before")])
def test_a_stage_waits_for_a_stress(tmp_path, share, stage):
    """A column rests with a known stress: a stage that waits for less ends soon, one that waits for more does not."""
    low = layer(0.0, 0.05, "low", stress=True)
    stress = column_at_rest(tmp_path)[0].stress(low["region"]).total[2, 2]
    until = {"quantity": "low_stress_zz", "above": share * stress, "for": 1e-4, "every": 5e-5, "latest": 1.0}
    stages = [{"name": "before", "until": until}, {"name": "after", "end": 2.0}]
    run, _ = column_at_rest(tmp_path, sensors=[low], stages=stages)
    run.advance(200)
    assert run.stage == stage
