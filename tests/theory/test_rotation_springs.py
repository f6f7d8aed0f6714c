"""Rolling and twisting with a memory: frames, partners, frictions, numbers of the theory; grains on a plane."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.cases import GRAIN, Grains, quad, state_of
from helpers.law_models import with_all_models
from pdem.contact.law.kinds import marshall, rolling_spring, spring_dashpot_slider
from pdem.contact.law.models import PARTS
from pdem.contact.law.parts import Contact, Load, MaterialProperties, Pair
from pdem.motion.time_step import TimeStep

pytestmark = pytest.mark.shares_law("all models")

G, R = 9.81, 3.5e-3
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3
ELASTIC = 1e7 / 0.96
"""Effective modulus of a grain on steel [Pa]."""

DT = 1e-4
STEP = TimeStep(DT, 1.0 / DT)
LOAD = Load(1.0, 1e4, 1.0, DT)
C = SimpleNamespace(
    friction=0.3, dynamic=0.2, ratio=0.2, damping=0.0, mobilised_damping=0.0, stiffness=2e3, torque_stiffness=0.0,
    torque_damping=0.0,
)  # fmt: skip
TWIST = SimpleNamespace(friction=0.3, dynamic=0.2, stiffness=2e-3, damping=1e-9)
AREA = SimpleNamespace(friction=0.3, ratio=0.8, damping=0.1, area=1e-8)

MODELS = {
    "spring": (rolling_spring.torque, C, 3, -1), "spring, two": (rolling_spring.torque_of_two, C, 4, -1),
    "sds": (spring_dashpot_slider.rolling_torque, C, 3, -1),
    "sds, two": (spring_dashpot_slider.rolling_torque_of_two, C, 4, -1),
    "twisting sds": (spring_dashpot_slider.twisting_torque, TWIST, 1, 1),
    "twisting sds, two": (spring_dashpot_slider.twisting_torque_of_two, TWIST, 2, 1),
    "marshall": (marshall.torque, AREA, 1, 1),
}  # fmt: skip
"""Function, coefficients, columns of the history, and its sign after an exchange of the partners."""


def contact_with(normal=(0.0, 0.0, 1.0), rolling=(0.0, 0.0, 0.0), spin=0.0, overlap=1e-5):
    still = (0.0, 0.0, 0.0)
    return Contact(overlap, overlap, normal, still, still, rolling, spin, 1e-3, 1e-5, 1e5, 4e-12)


def turned(vector, axis, angle):
    axis, vector = np.array(axis), np.array(vector)
    return (
        vector * math.cos(angle) + np.cross(axis, vector) * math.sin(angle)
        + axis * np.dot(axis, vector) * (1.0 - math.cos(angle))
    )  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8)])
def test_a_rigid_rotation_turns_the_torque_and_does_no_work(model, axis):
    """Of both bodies together, also about the normal."""
    compute, c, columns, _ = MODELS[model]
    start = (0.0, 1e-5, 0.0) if columns > 2 else (1e-5,)
    held = (*start, *(0.0,) * (columns - len(start)))
    normal, omega, steps = np.array([0.0, 0.0, 1.0]), 20.0, 500
    value, _, before = compute(STEP._replace(dt=0.0), contact_with(), c, LOAD._replace(time=0.0), held)
    for k in range(1, steps + 1):
        now = turned(normal, axis, omega * DT * k)
        contact = contact_with(tuple(now.tolist()), spin=omega * float(np.dot(axis, now)))
        found, held, stored = compute(STEP, contact, c, LOAD, held)
    np.testing.assert_allclose(found, turned(value, axis, omega * DT * steps), atol=3e-3 * 1e-5)
    assert stored == pytest.approx(before, rel=6e-3)


@pytest.mark.parametrize("model", MODELS)
def test_exchanged_partners_feel_the_opposite_torque(model):
    compute, c, columns, sign = MODELS[model]
    contact = contact_with((0.0, 0.6, 0.8), (1.0, 2.0, 3.0), 0.3)
    exchanged = contact._replace(normal=(0.0, -0.6, -0.8), rolling=(-1.0, -2.0, -3.0), spin=-0.3)
    old = (1e-6, 2e-6, -1.5e-6, 1.0)[:columns] if columns > 2 else (2e-6, 1.0)[:columns]
    other = (*(sign * x for x in old[:3]), *old[3:]) if columns > 2 else old
    one, two = compute(STEP, contact, c, LOAD, old), compute(STEP, exchanged, c, LOAD, other)
    np.testing.assert_array_equal(one[0], -np.array(two[0]))
    signs = np.array((sign, sign, sign, 1)[:columns]) if columns > 2 else 1
    np.testing.assert_array_equal(signs * np.array(one[1]), two[1])
    assert one[2] == two[2]


@pytest.mark.parametrize("model", ["spring, two", "sds, two", "twisting sds, two"])
def test_it_holds_by_the_static_friction_and_goes_on_by_the_dynamic_one(model):
    """Until the spring asks for less; then the static one counts again."""
    compute, c, columns, _ = MODELS[model]
    twists = columns == 2
    normal_to = (0.0, 0.0, 1.0) if twists else (1.0, 0.0, 0.0)
    held, sizes, slips = (0.0,) * columns, [], []
    for k in range(400):
        rate = 20.0 if k < 250 else -20.0
        contact = contact_with(rolling=tuple(rate * x for x in normal_to))
        value, held, _ = compute(STEP, contact, c, LOAD, held)
        sizes.append(float(np.linalg.norm(value)))
        slips.append(held[-1])
    sizes, slips = np.array(sizes[:250]), np.array(slips)
    reach = 1e-3 * LOAD.force
    first = int(np.argmax(slips))
    assert sizes[:first].max() <= 0.3 * reach * (1.0 + 1e-12)
    assert sizes[:first].max() > 0.29 * reach
    np.testing.assert_allclose(sizes[first:], 0.2 * reach, rtol=1e-9)
    assert slips[first:250].all()
    assert not slips[250]


def test_a_spring_of_constant_stiffness_gives_way_with_its_dashpot():
    """Both together are at the limit then, and what is lost is the work that is not stored."""
    c = SimpleNamespace(**{**vars(C), "damping": 1e-3})
    held, stored, work, lost = (0.0, 0.0, 0.0), 0.0, 0.0, 0.0
    for _ in range(400):
        contact = contact_with(rolling=(10.0, 0.0, 0.0))._replace(inertia=1e-6)
        value, held, now = spring_dashpot_slider.rolling_torque(STEP, contact, c, LOAD, held)
        work -= value[0] * 10.0 * DT
        lost += stored - now - value[0] * 10.0 * DT
        assert lost >= 0.0
        stored = now
    assert value[0] == pytest.approx(-0.3e-3)
    assert held[0] == pytest.approx(-0.3e-3 + 1e-3 * 1e-6 * 10.0)
    assert stored == pytest.approx(0.5 * held[0] ** 2 / (2e3 * 1e-6))
    assert work == pytest.approx(lost + stored)


def test_the_twisting_stiffness_is_that_of_the_tangential_spring_over_the_area():
    """k_t a^2 / 2, with 8 G a for elastic spheres: 4 G a^3; unloading takes the torque back by the same power."""
    soft = MaterialProperties(1000.0, 1e7, 0.25)
    part = PARTS["twisting"]["marshall"]
    values = part.values(Pair(soft, soft, {"friction": 0.3, "damping": 0.0}))
    c = SimpleNamespace(**dict(zip(part.coefficients, values, strict=True)))
    modulus = 1e7 / (2.0 * (1.0 - 0.25**2))
    area = math.sqrt(1e-3 * 1e-5)
    load = Load(1.0, 2.0 * modulus * area, 1.0, DT)
    shear = 1e7 / (2.0 * 1.25) / (2.0 * (2.0 - 0.25))
    _, (held,), _ = marshall.torque(STEP, contact_with(rolling=(0.0, 0.0, 1e-3)), c, load, (0.0,))
    assert held == pytest.approx(-4.0 * shear * area**3 * 1e-3 * DT)
    assert part.stiffness(1e-5, 1e-3, load.stiffness, c) == pytest.approx(4.0 * shear * area**3)
    _, (less,), _ = marshall.torque(STEP, contact_with(), c, load._replace(shrink=0.9), (held,))
    assert less == pytest.approx(0.9**3 * held)
    values = part.values(Pair(soft, soft, {"friction": 0.3, "damping": 0.0, "tangential_ratio": 0.5}, False))
    straight = SimpleNamespace(**dict(zip(part.coefficients, values, strict=True)))
    _, (held,), _ = marshall.torque(STEP, contact_with(rolling=(0.0, 0.0, 1e-3)), straight, LOAD, (0.0,))
    assert held == pytest.approx(-0.5 * 0.5 * 1e4 * area**2 * 1e-3 * DT)
    twists = contact_with(rolling=(0.0, 0.0, 1e5))
    assert marshall.torque(STEP, twists, straight, LOAD, (0.0,))[0][2] == pytest.approx(-2.0 / 3.0 * area * 0.3)


def on_plane(folder, tilt, material="hertz", *, velocity=0.0, spin=None, step=2e-5, **options):
    """Return a run of one grain on a plane tilted by `tilt` about y (gravity turns instead)."""
    sinks = (MASS * G * math.cos(tilt) / (4.0 / 3.0 * ELASTIC * math.sqrt(R))) ** (2.0 / 3.0)
    rotation = (0.0, velocity / R, 0.0) if spin is None else (0.0, 0.0, spin)
    grain = Grains([[0.0, 0.0, R - sinks]], R, (velocity, 0.0, 0.0), rotation, material=material)
    return with_all_models(
        folder, grain, walls=({"mesh": quad(5.0)},), step=step, lower=(-5, -5, 0), upper=(5, 5, 1e-2),
        gravity=(G * math.sin(tilt), 0.0, -G * math.cos(tilt)), **options,
    )  # fmt: skip


@pytest.mark.parametrize(("share", "moves"), [(0.97, False), (1.03, True)])
def test_sds_holds_up_to_the_slope_of_its_friction(tmp_path, share, moves):
    run = on_plane(tmp_path, math.atan(share * 0.1), changes={"hertz": {"rolling": {
        "model": "sds", "friction": 0.1, "stiffness": 200.0, "damping": 0.4}}})  # fmt: skip
    run.advance(8000)
    speed = run.gather()["velocity"][0, 0]
    assert speed > 1e-3 if moves else abs(speed) < 1e-8


def test_sds_stops_a_rolling_sphere_where_the_theory_says(tmp_path):
    """After 7 v^2 / (10 mu_r g), as for any resistance with this limit; the ledger is closed."""
    run = on_plane(tmp_path, 0.0, velocity=0.05)
    run.advance(500)
    place = run.gather()
    begin, slower = place["position"][0, 0], place["velocity"][0, 0]
    run.advance(25000)
    place, energies = run.gather(), run.energies()
    assert place["position"][0, 0] - begin == pytest.approx(7.0 * slower**2 / (10.0 * 0.1 * G), rel=0.01)
    begun = 0.7 * MASS * 0.05**2
    assert energies["rolling"] == pytest.approx(begun, rel=0.02)
    assert abs(energies["residual"]) < 0.01 * begun


def oscillation(run, quantity, every, step):
    """Return period and logarithmic decrement of a quantity that swings about 0."""
    values = []
    for _ in range(240):
        run.advance(every)
        values.append(quantity(run.gather()))
    values = np.array(values)
    zeros = np.flatnonzero(np.diff(np.sign(values)))
    exact = zeros + values[zeros] / (values[zeros] - values[zeros + 1])
    tops = [np.abs(values[a:b]).max() for a, b in zip(zeros[:-1] + 1, zeros[1:] + 1, strict=True)]
    return 2.0 * np.diff(exact).mean() * every * step, -2.0 * np.diff(np.log(tops)).mean()


def test_sds_swings_with_its_stiffness_and_damping(tmp_path):
    """A sphere that rolls to and fro: sqrt(k / (1.4 m)), damping ratio gamma / (2 sqrt(1.4 k m))."""
    k, eta, step = 1.0, 0.1, 1e-5
    gamma = 2.0 * eta * math.sqrt(1.4 * MASS * k)
    run = on_plane(tmp_path, 0.0, velocity=1e-5, step=step, changes={"hertz": {"rolling": {
        "model": "sds", "friction": 0.5, "stiffness": k, "damping": gamma}}})  # fmt: skip
    period = 2.0 * math.pi / (math.sqrt(k / (1.4 * MASS)) * math.sqrt(1.0 - eta**2))
    found, decrement = oscillation(run, lambda now: now["velocity"][0, 0], round(period / step / 60), step)
    assert found == pytest.approx(period, rel=0.01)
    assert decrement == pytest.approx(2.0 * math.pi * eta / math.sqrt(1.0 - eta**2), rel=0.05)


def twisting_of_weight():
    """Return the radius of the contact area of a grain that lies there [m], and its twisting stiffness [N m/rad]."""
    sinks = (MASS * G / (4.0 / 3.0 * ELASTIC * math.sqrt(R))) ** (2.0 / 3.0)
    area = math.sqrt(R * sinks)
    shear = 1e7 / (2.0 * 1.2) / (2.0 - 0.2)
    return area, 4.0 * shear * area**3


def test_twisting_stops_in_the_time_of_the_theory(tmp_path):
    """I w / (2/3 a mu N); all of its energy is called twisting."""
    spin = 20.0
    run = on_plane(tmp_path, 0.0, spin=spin)
    area, stiffness = twisting_of_weight()
    limit = 2.0 / 3.0 * area * 0.8 * MASS * G
    inertia = 0.4 * MASS * R**2
    time = inertia * spin / limit
    run.advance(round(0.5 * time / 2e-5))
    rate = run.gather()["angular_velocity"][0, 2]
    assert limit / stiffness / spin < 0.005 * time  # until the spring gives way
    assert rate == pytest.approx(0.5 * spin, rel=0.01)
    run.advance(round(0.7 * time / 2e-5))
    assert abs(run.gather()["angular_velocity"][0, 2]) < 0.01 * spin
    energies = run.energies()
    begun = 0.5 * inertia * spin**2
    assert energies["twisting"] + energies["twisting_spring"] == pytest.approx(begun, rel=0.01)
    assert abs(energies["residual"]) < 0.01 * begun


def test_twisting_swings_with_its_stiffness_and_damping(tmp_path):
    step, eta = 1e-5, 0.1
    run = on_plane(tmp_path, 0.0, spin=1e-4, step=step)
    _, stiffness = twisting_of_weight()
    period = 2.0 * math.pi / math.sqrt(stiffness / (0.4 * MASS * R**2)) / math.sqrt(1.0 - eta**2)
    found, decrement = oscillation(run, lambda now: now["angular_velocity"][0, 2], round(period / step / 60), step)
    assert found == pytest.approx(period, rel=0.02)
    assert decrement == pytest.approx(2.0 * math.pi * eta / math.sqrt(1.0 - eta**2), rel=0.05)


@pytest.mark.parametrize(("slope", "velocity", "slides"), [(0.35, 0.0, False), (0.35, 0.05, True), (0.55, 0.0, True)])
def test_it_sticks_up_to_the_static_friction_and_slides_with_the_dynamic_one(tmp_path, slope, velocity, slides):
    """A sphere that cannot roll: between both frictions it stays if it rests, and slides on if it slides."""
    tilt = math.atan(slope)
    run = on_plane(tmp_path, tilt, "slipping", velocity=velocity, spin=0.0)
    run.advance(3000)
    begun, speed = run.time, run.gather()["velocity"][0, 0]
    run.advance(1500)
    after = run.gather()["velocity"][0, 0]
    if slides:
        wanted = G * (math.sin(tilt) - 0.3 * math.cos(tilt))
        assert (after - speed) / (run.time - begun) == pytest.approx(wanted, rel=0.01)
    else:
        assert abs(after) < 1e-6


def test_a_restart_remembers(tmp_path):
    run = on_plane(tmp_path, 0.05, spin=1.0)
    run.advance(300)
    state = state_of(run)
    assert state["wall_contacts"]["rolling_torque"].any()
    assert state["wall_contacts"]["twisting_torque"].any()
    again = on_plane(tmp_path, 0.05, spin=1.0, state=state)
    for one in (run, again):
        one.advance(300)
    for name in ("position", "angular_velocity"):
        assert run.gather()[name].tobytes() == again.gather()[name].tobytes()


def test_a_heap_at_rest_stays_at_rest(tmp_path):
    """A pyramid of fourteen grains does not creep; its springs hold what they took up."""
    grid = [(i, j, n) for n in (3, 2, 1) for i in range(n) for j in range(n)]
    apart, layer = 2.001 * R, math.sqrt(2.0) * R
    places = [(apart * (i - 0.5 * n), apart * (j - 0.5 * n), R + layer * (3 - n)) for i, j, n in grid]
    rolling = {"model": "sds", "friction": 0.3, "stiffness": 200.0, "damping": 0.2}
    run = with_all_models(
        tmp_path, Grains(places, R, material="hertz"), walls=({"mesh": quad(0.2)},), gravity=(0.0, 0.0, -G), step=4e-5,
        lower=(-0.2,) * 3, upper=(0.2,) * 3, changes={"hertz": {"rolling": rolling}},
    )  # fmt: skip
    run.advance(15000)
    before, height = run.gather()["position"], 3.0 * R + 2.0 * layer - 2.0 * R
    run.advance(5000)
    assert np.abs(run.gather()["position"] - before).max() < 1e-12
    assert before[-1, 2] > 0.9 * height
    assert run.energies()["rolling_spring"] > 0.0
