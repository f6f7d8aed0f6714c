"""Boxes driven by stress: the limit of stability, lattices in closed form, and beds from loose to jammed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.cases import Grains, state_of
from helpers.moving_boxes import PERIOD, ROUGH, SMOOTH, STEP, gas, moving_case
from pdem.engine.box.stress import measured_stress
from pdem.foundation.errors import CaseError
from pdem.motion.box_servo import EAGERNESS, MEAN, SHARE, SLOWNESS, MeasuredStress, Memory, Targets, chosen_rates
from pdem.motion.moving_box import EVERY, REST, Rates
from pdem.run.simulation import Simulation

HERTZ = 4.0 / 3.0 * 1e7 / (2.0 * 0.96)
CELLS = 2
SIDE = PERIOD / CELLS


def growth(gain, modulus, viscosity, interval, part=0.0):
    """Return the largest factor by which a wrong stress grows from look to look."""
    # z (z - 1)^2 + gain (T M z + C (z - 1)) (z - 1 + part)
    answer = gain * np.polymul([interval * modulus + viscosity, -viscosity], [1.0, part - 1.0])
    return np.abs(np.roots(np.polyadd([1.0, -2.0, 1.0, 0.0], answer)))


@pytest.mark.parametrize("seed", range(20))
def test_the_limit_of_stability_is_the_one_stated(seed):
    rng = np.random.default_rng(seed)
    modulus, viscosity, interval = 10.0 ** rng.uniform([2, -3, -5], [8, 4, -2])
    part = rng.uniform(1e-4, 1e-2)
    limit = 2.0 / (interval * modulus + 2.0 * viscosity) / (1.0 - 0.5 * part)
    assert growth(0.99 * limit, modulus, viscosity, interval, part).max() < 1.0
    assert growth(1.01 * limit, modulus, viscosity, interval, part).max() > 1.0001


def answers(targets, stress, memory=None, dt=1e-5, modulus=10.0, viscosity=0.0):
    """Return the rates for a stress, and what is kept."""
    measured = MeasuredStress(np.array(stress), modulus, viscosity)
    return chosen_rates(targets, measured, 3, dt, Memory() if memory is None else memory)


def test_the_gain_is_reduced_where_contacts_are_stiff():
    targets = Targets(REST, axes=((0, 100.0), (2, -50.0)), largest_rate=3.0)
    soft = answers(targets, [99.0, 7.0, -49.0, 0.0])[0]
    assert soft.strain == pytest.approx((EAGERNESS * 3.0 / 100.0 * -1.0, 0.0, EAGERNESS * 3.0 / 50.0 * 1.0))
    for modulus, viscosity in ((1e9, 0.0), (0.0, 1e5)):
        hard = answers(targets, [99.0, 7.0, -49.0, 0.0], modulus=modulus, viscosity=viscosity)[0]
        assert hard.strain[0] == pytest.approx(-SHARE / (EVERY * 1e-5 * modulus + 2.0 * viscosity))
    far = answers(targets, [0.0] * 4)[0]
    assert far.strain == (-3.0, 0.0, 3.0)


MODULUS, WANTED, PACE, INTERVAL = 1e5, 100.0, 1.0, 1e-4
TIME = SLOWNESS / PACE
PRESSED = Targets(REST, axes=((0, WANTED),), largest_rate=PACE, pace=PACE)


def held(looks, give, targets=PRESSED, stiff=lambda look: MODULUS, first=WANTED):
    """Return the stress from look to look of a spring that shortens by itself at a rate, and what is kept at last."""
    stress, memory, seen = first, Memory(), []
    for look in range(looks):
        wanted = targets.shear or targets.axes[0][1]
        state = [0.0, 0.0, 0.0, stress] if targets.shear else [stress, 0.0, 0.0, 0.0]
        rates, memory = answers(targets, state, memory, INTERVAL / EVERY, stiff(look))
        loading = math.copysign(1.0, wanted) * rates.shear if targets.shear else -rates.strain[0]
        change = INTERVAL * stiff(look) * (loading + give(look))
        stress += math.copysign(1.0, wanted) * change
        stress = stress if targets.shear else max(stress, 0.0)
        seen.append(stress)
    return np.array(seen), memory


@pytest.mark.parametrize("rate", [0.3, -0.3, 0.8])
@pytest.mark.parametrize("wanted", [None, 40.0, -40.0])
def test_a_bed_that_gives_way_all_the_time_has_its_stress_in_the_end(rate, wanted):
    targets = PRESSED if wanted is None else Targets(REST, shear=wanted, largest_rate=PACE, pace=PACE)
    wanted = wanted or WANTED
    looks = round(10 * TIME / INTERVAL)
    seen, memory = held(looks, lambda _: rate, targets, first=wanted)
    resistance = INTERVAL * MODULUS
    droop = abs(rate) * max(resistance / SHARE, abs(wanted) / EAGERNESS / PACE)
    assert np.abs(seen - wanted)[:100].max() == pytest.approx(droop, rel=0.2)  # that of a dashpot
    assert seen[-1] == pytest.approx(wanted, rel=1e-3)
    gain = min(EAGERNESS * PACE / abs(wanted), SHARE / resistance)
    assert gain * memory.lacking[3 if targets.shear else 0] == pytest.approx(-rate, rel=1e-3)
    assert (np.sign(seen - wanted)[10:] == np.sign(seen - wanted)[10]).mean() > 0.95  # it does not ring


def test_the_mean_is_held_while_stiffness_goes_with_stress():
    """Of fluctuations that come and go by themselves, with bursts: the gain is small whenever the stress is large."""
    rng, cycle = np.random.default_rng(5), 20
    burst = rng.exponential(1.0, 40000 // cycle).repeat(cycle) - 1.0
    memory, level, seen = Memory(), WANTED, []
    for push in burst:
        stress = level * (1.0 + push)
        modulus = 10.0 * MODULUS * (1.0 + push) / (2.0 + push)
        rates, memory = answers(PRESSED, [stress, 0.0, 0.0, 0.0], memory, INTERVAL / EVERY, modulus)
        level = max(level - INTERVAL * 0.2 * MODULUS * rates.strain[0], 1.0)
        seen.append(stress)
    assert np.mean(seen[8000:]) == pytest.approx(WANTED, rel=0.05)


def test_a_loose_bed_that_jams_after_a_long_compression_does_not_shoot_over():
    """Nothing is carried for twenty times the time of the integral; then it is stiff at once."""
    begin = round(20 * TIME / INTERVAL)

    def stiff(look):
        return 1e-6 if look < begin else MODULUS

    seen, memory = held(begin + 3000, lambda _: 0.0, stiff=stiff, first=0.0)
    assert seen[begin - 1] < 1e-3
    assert seen.max() < 1.01 * WANTED
    assert abs(memory.lacking[0]) < 1e-3 * WANTED
    assert seen[-1] == pytest.approx(WANTED, rel=1e-3)


def compacted(resistance, loose, pace=PACE):
    """Return the stress of a loose bed that is pressed for ten times the time of the integral and jams at once.

    Of the jammed bed there is the stress, over the wanted one, that it gets in a look at the largest rate; of the loose
    one the part of the resistance it has while its blows carry a twentieth of what is wanted.
    """
    targets = PRESSED._replace(pace=pace)
    modulus, strain, memory, seen = resistance * WANTED / PACE / INTERVAL, -1.0, Memory(), []
    for _ in range(round(12 * TIME / INTERVAL)):
        stress = modulus * strain if strain > 0.0 else 0.05 * WANTED
        stiff = modulus if strain > 0.0 else loose * modulus
        rates, memory = answers(targets, [stress, 0.0, 0.0, 0.0], memory, INTERVAL / EVERY, stiff)
        strain -= INTERVAL * rates.strain[0]
        seen.append(stress)
    return np.array(seen) / WANTED


@pytest.mark.parametrize("resistance", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("loose", [1e-3, 0.01])
def test_what_jams_does_not_shoot_over_more_than_without_an_integral(resistance, loose):
    with_integral, without = compacted(resistance, loose), compacted(resistance, loose, pace=0.0)
    assert without.max() > 0.99
    assert with_integral.max() < 1.01 * without.max()
    assert with_integral[-1] == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize(("resistance", "sign"), [(10.0, 1.0), (100.0, -1.0), (300.0, 1.0)])
def test_a_stiff_bed_that_flows_has_its_shear_stress(resistance, sign):
    """Elastic, and viscous from a rate on: a dashpot alone has a thirteenth of the stress where it is stiffest."""
    wanted, rest = 10.0 * sign, Rates((-0.5, 0.0, 0.0))
    targets = Targets(rest, axes=((1, WANTED),), shear=wanted, largest_rate=3.0, pace=0.2)
    interval = 10 * INTERVAL
    modulus = resistance / interval
    held = []
    for one in (targets._replace(pace=0.0), targets):
        stress, memory, seen = 0.0, Memory(), []
        for _ in range(round(40 * SLOWNESS / 0.2 / interval)):
            rates, memory = answers(one, [250.0, WANTED, WANTED, stress], memory, interval / EVERY, modulus)
            # the rate of flow is 0.2 / s at the wanted stress
            stress += resistance * (rates.shear - 0.02 * stress) / (1.0 + 0.02 * resistance)
            seen.append(stress)
        held.append(seen[-1] / wanted)
    part = 1.0 / (1.0 + 0.02 * resistance / SHARE)
    assert held[0] == pytest.approx(part, rel=0.01)
    assert held[1] == pytest.approx(1.0 - (1.0 - part) * math.exp(-40.0 * part), abs=0.01)  # 1 / part times as long


def test_a_bed_that_was_giving_way_and_falls_apart_is_closed():
    looks = round(5 * TIME / INTERVAL)
    _, memory = held(looks, lambda _: 0.8)
    assert memory.lacking[0] < -0.7 * INTERVAL * MODULUS / SHARE
    rates, _ = answers(PRESSED, [0.0] * 4, memory, INTERVAL / EVERY, 0.0)
    assert rates.strain[0] == -PACE


def test_of_what_is_not_driven_any_more_nothing_is_kept():
    memory = Memory((WANTED,) * 5, (1.0, 2.0, 3.0, 1.5, 5.0), 1.0)
    mean = Targets(REST, mean=WANTED, free=(0, 1), shear=20.0, largest_rate=PACE, pace=PACE)
    rates, memory = answers(mean, [WANTED, WANTED, WANTED, 20.0], memory)
    assert memory.lacking == pytest.approx((0.0, 0.0, 0.0, 1.5, 5.0))
    assert rates.strain == pytest.approx((-0.5, -0.5, 0.0))  # 10 pace / wanted times what is lacking
    assert rates.shear == pytest.approx(0.75)
    _, memory = answers(PRESSED, [WANTED] * 4, memory)
    assert memory.lacking[MEAN] == memory.lacking[3] == 0.0


def lattice(overlap):
    """Return a face-centred lattice in two cells by two by two; overlaps are over the radius."""
    cell = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]) * 0.5
    cells = np.stack(np.meshgrid(*[np.arange(CELLS)] * 3), axis=-1).reshape(-1, 1, 3)
    radius = SIDE / math.sqrt(2.0) / (2.0 - overlap)
    return Grains(SIDE * (cells + cell + 0.1).reshape(-1, 3), radius), radius


def stress_of_lattice(box, radius):
    """Return the stress of the lattice in a box that has become this, from the twelve neighbours of a sphere [Pa]."""
    vectors = box.shape(box.state.step + EVERY).vectors.T / PERIOD
    ways = np.array([w for w in np.stack(np.meshgrid(*[(-1, 0, 1)] * 3), -1).reshape(-1, 3) if abs(w).sum() == 2])
    branch = 0.5 * SIDE * ways @ vectors.T
    length = np.linalg.norm(branch, axis=1)
    force = HERTZ * math.sqrt(0.5 * radius) * np.maximum(2.0 * radius - length, 0.0) ** 1.5
    return 2.0 * np.einsum("k,ki,kj->ij", force / length, branch, branch) / (SIDE**3 * np.linalg.det(vectors))


@pytest.mark.parametrize(
    ("wanted", "begin"),
    [
        ({"x": {"stress": 4e4}, "y": {"stress": 6e4}, "z": {"stress": 5e4}}, 0.02),
        ({"mean_stress": 5e4}, -0.01),
        ({"x": {"strain_rate": 0.0}, "mean_stress": 5e4}, 0.06),
        ({"mean_stress": 5e4, "shear": {"velocity_along": "z", "gradient_along": "x", "stress": 8e3}}, 0.03),
    ],
)
def test_a_lattice_is_brought_to_its_stress(tmp_path, wanted, begin):
    """From apart, from too loose and from too tight; without anything in it that loses energy."""
    group, radius = lattice(begin)
    run = Simulation(moving_case(tmp_path, group, {**wanted, "largest_rate": 5.0}, law=SMOOTH))
    seen = []
    for _ in range(30):
        run.advance(100)
        seen.append(run.stress().pressure)
    found, box = run.stress().total, run.system.box.moving
    np.testing.assert_allclose(found, stress_of_lattice(box, radius), rtol=2e-4, atol=1.0)
    for axis, name in enumerate("xyz"):
        if "stress" in wanted.get(name, {}):
            # x is first above its stress, because y is being compressed: the integral of that fades slowly
            assert found[axis, axis] == pytest.approx(wanted[name]["stress"], rel=0.01)
    if "mean_stress" in wanted:
        assert np.trace(found) / 3.0 == pytest.approx(wanted["mean_stress"], rel=1e-3)
    if "shear" in wanted:
        assert -found[2, 0] == pytest.approx(wanted["shear"]["stress"], rel=1e-3)
        assert box.at(run.step).shear > 0.001
    if wanted.get("x") == {"strain_rate": 0.0}:
        assert box.strain(run.step)[0] == 0.0
    assert max(seen) < 1.02 * max(seen[-1], seen[0])  # it does not shoot over
    # forces act for half a step at the rates before and half a step at those after; by either alone it is 3e-3
    assert abs(run.energies()["residual"]) < 1e-4 * abs(run.energies()["box_work"])


def test_a_stress_is_approached_with_the_time_constant_stated(tmp_path):
    """On a lattice of springs by 1 - (t between two looks) 10 largest_rate M / wanted, with its bulk modulus M."""
    stiffness, rate, wanted = 2e3, 1.0, 2e3
    group, radius = lattice(0.02)
    law = {"law": "linear", "normal_stiffness": stiffness, "friction": 0.0, "restitution": 1.0}
    run = Simulation(moving_case(tmp_path, group, {"mean_stress": wanted, "largest_rate": rate}, law=law))
    wrong = []
    for _ in range(100):
        run.advance(EVERY)
        wrong.append(1.0 - run.stress().pressure / wanted)
    late = np.array([one for one in wrong if 1e-4 < one < 0.05])
    factor = (late[1:] / late[:-1]).mean()
    # six contacts for each sphere; pressure = 6 N k (2 R - l) l / (3 V), V grows with the cube of l
    number, length = 4 * CELLS**3, 2.0 * radius
    volume = 4.0 * CELLS**3 * length**3 / math.sqrt(2.0)
    overlap = wanted * 3.0 * volume / (6.0 * number * stiffness * length)
    length -= overlap
    volume = 4.0 * CELLS**3 * length**3 / math.sqrt(2.0)
    pressure = 6 * number * stiffness * overlap * length / (3.0 * volume)
    modulus = 6 * number * stiffness * length**2 / (3.0 * volume) + 2.0 * pressure
    assert pressure == pytest.approx(wanted, rel=0.1)
    assert len(late) > 20
    assert factor == pytest.approx(1.0 - EVERY * STEP * EAGERNESS * rate * modulus / wanted, abs=0.003)


@pytest.mark.parametrize("modulus", [1e6, 1e8])
def test_a_loose_crowd_is_pressed_until_it_is_jammed(tmp_path, modulus):
    """The same servo for a gas and for a packing, soft and hard: no parameter is given but the pressure."""
    materials = {"grain": {"density": 1000.0, "youngs_modulus": modulus, "poisson_ratio": 0.2}, "steel": {}}
    wanted = 2e-4 * modulus
    run = Simulation(
        moving_case(
            tmp_path, gas(1, speed=0.1), {"mean_stress": wanted}, law={"friction": 0.0, "restitution": 0.5},
            materials=materials, step="auto",
        )
    )  # fmt: skip
    loads = []
    for _ in range(140):
        run.advance(100)
        loads.append(run.stress().pressure)
    assert loads[0] < 0.05 * wanted
    assert np.mean(loads[-10:]) == pytest.approx(wanted, rel=0.02)
    assert max(loads) < 1.1 * wanted
    volume = run.system.box.moving.volume(run.step, 3)
    assert 0.6 < 216 * 4.0 / 3.0 * math.pi * 0.01**3 / volume < 0.67
    assert run.stress().coordination > 5.0


def test_what_the_servo_looks_at_is_the_stress(tmp_path):
    """Sums of the kernel beside those of all contacts, while grains collide, with walls and with a shear."""
    walls = tuple(
        {"shape": "plane", "point": [0.0, 0.0, z], "normal": [0.0, 0.0, n]} for z, n in ((0.0, 1.0), (PERIOD, -1.0))
    )
    shear = {"velocity_along": "y", "gradient_along": "x", "stress": 3.0}
    deformation = {"x": {"stress": 100.0}, "y": {"stress": 100.0}, "shear": shear, "largest_rate": 5.0}
    run = Simulation(moving_case(tmp_path, gas(2, speed=0.5), deformation, walls=walls, periodic=[True, True, False]))
    for steps in (300, 100):
        run.advance(steps)
        found, whole = measured_stress(run.system), run.stress().total
        assert run.measures().wall_contacts > 1
        expected = [*np.diag(whole), -whole[1, 0]]
        np.testing.assert_allclose(found.stress, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        assert found.modulus > 0.0
        assert found.viscosity > 0.0


def test_a_bed_is_sheared_under_a_constant_pressure(tmp_path):
    """Stages: to a pressure, then a shear at that pressure, while the box grows as the bed needs it."""
    pressed = {"mean_stress": 500.0, "largest_rate": 3.0}
    sheared = {"velocity_along": "x", "gradient_along": "y", "rate": 2.0}
    stages = [
        {"name": "press", "until": {"quantity": "pressure", "above": 400.0}, "deformation": pressed},
        {"name": "shear", "deformation": pressed | {"shear": sheared}},
    ]
    run = Simulation(moving_case(tmp_path, gas(3, speed=0.1), None, law=ROUGH, more={"stages": stages}))
    run.advance(16000)
    assert [one.outcome for one in run.system.stages.states] == [2, 0]
    tensors = []
    for _ in range(20):
        run.advance(200)
        tensors.append(run.stress().total)
    mean = np.mean(tensors, axis=0)
    assert np.trace(mean) / 3.0 == pytest.approx(500.0, rel=0.15)
    assert 0.2 < -mean[0, 1] / (np.trace(mean) / 3.0) < 0.7
    assert run.energies()["box_work"] > 0.0
    state = state_of(run)
    again = Simulation(run.case, state=state)
    for one in (run, again):
        one.advance(33)
    np.testing.assert_array_equal(run.gather()["position"], again.gather()["position"])
    assert run.system.box.moving.state == again.system.box.moving.state


@pytest.mark.slow
def test_a_stiff_bed_that_strains_as_told_has_its_shear_stress(tmp_path):
    """Hard grains at a rate that they have to yield to: it varies by a half, and is right on average."""
    materials = {"grain": {"density": 1000.0, "youngs_modulus": 1e8, "poisson_ratio": 0.2}, "steel": {}}
    pressed = {"mean_stress": 2000.0, "largest_rate": 10.0}
    sheared = {"velocity_along": "x", "gradient_along": "y", "stress": -300.0}
    flowing = {
        "x": {"strain_rate": -1.0}, "y": {"stress": 2000.0}, "z": {"stress": 2000.0}, "shear": sheared,
        "largest_rate": 3.0,
    }  # fmt: skip
    stages = [
        {"name": "press", "until": {"quantity": "pressure", "above": 1800.0}, "deformation": pressed},
        {"name": "flow", "deformation": flowing},
    ]
    options = {"law": ROUGH, "materials": materials, "step": "auto", "more": {"stages": stages}}
    run = Simulation(moving_case(tmp_path, gas(3, speed=0.1), None, **options))
    run.advance(42000)
    tensors = []
    for _ in range(400):
        run.advance(50)
        tensors.append(run.stress().total)
    mean = np.mean(tensors, axis=0)
    assert run.system.stages.states[0].outcome == 2
    assert -mean[0, 1] == pytest.approx(-300.0, rel=0.2)
    np.testing.assert_allclose(np.diag(mean)[1:], 2000.0, rtol=0.15)


@pytest.mark.parametrize(
    ("deformation", "match"),
    [
        ({"x": {"strain_rate": 1.0, "stress": 2.0}}, "needs exactly one of strain_rate and stress, has both"),
        ({"x": {}}, "needs exactly one of strain_rate and stress, has none of them"),
        ({"x": {"stress": -5.0}}, "is a tension, which grains without adhesion cannot bear"),
        ({"mean_stress": -5.0}, "is a tension"),
        ({"mean_stress": 5.0, "y": {"stress": 15.01}}, r"less than the 5.00333 that the stress along y alone"),
        (
            {"mean_stress": 5.0, **{axis: {"strain_rate": 0.1} for axis in "xyz"}},
            "has no axis left that may strain for it",
        ),
        ({"x": {"stress": 0.0}}, "largest_rate: is missing"),
        ({"x": {"strain_rate": 1.0}, "largest_rate": 1.0}, "limits what is driven by stress, and there is none"),
        ({"shear": {"velocity_along": "x", "gradient_along": "y"}}, "needs exactly one of rate and stress"),
    ],
)
def test_what_cannot_be_driven_is_refused(tmp_path, deformation, match):
    with pytest.raises(CaseError, match=match):
        moving_case(tmp_path, gas(1), deformation)
