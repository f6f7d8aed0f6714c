"""Impacts by plastic and viscoelastic laws: rebound against theory, energies, history, particles and walls."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from helpers.cases import GRAIN, Grains, quad, state_of
from helpers.law_models import MODELS, with_all_models

pytestmark = pytest.mark.shares_law("all models")

R = 3.5e-3
MASS = GRAIN["density"] * 4.0 / 3.0 * math.pi * R**3
ELASTIC = 1e7 / 0.96
"""Effective modulus of a grain on steel [Pa]."""

SPEEDS = (0.05, 0.2, 0.5)
PLASTIC = ("luding", "walton", "eepa", "straight")


def impacts(folder, material, *, wall, speeds=SPEEDS, step=2e-6, **options):
    """Let grains meet a wall, or each other, at some relative speeds; return the run and the axis of the motion."""
    gap, apart = 1e-6, 6.0 * R * np.arange(len(speeds))
    options = {"step": step, "lower": (-1,) * 3, "upper": (1,) * 3, **options}
    if wall:
        places = np.array([[x, 0.0, R + gap] for x in apart])
        grains = Grains(places, R, [[0.0, 0.0, -speed] for speed in speeds], material=material)
        return with_all_models(folder, grains, walls=({"mesh": quad(0.5)},), **options)
    places = np.array([[x, 0.0, z] for x in apart for z in (0.3, 0.3 + 2.0 * R + gap)])
    velocity = [[0.0, 0.0, side * 0.5 * speed] for speed in speeds for side in (1.0, -1.0)]
    return with_all_models(
        folder, Grains(places, R, velocity, material=material), walls=({"mesh": quad(0.5)},), **options
    )


def relative_speeds(run, wall):
    velocity = run.gather()["velocity"][:, 2]
    return velocity if wall else velocity[1::2] - velocity[::2]


def until_over(run, steps=20000, every=500):
    for _ in range(0, steps, every):
        run.advance(every)
        measured = run.measures()
        if measured.pair_contacts + measured.wall_contacts == 0:
            return
    raise AssertionError("some impacts are not over")


@pytest.mark.parametrize(("step", "error"), [(2e-6, 3e-3), ("auto", 0.01)])
@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
def test_the_rebound_of_walton_and_braun(tmp_path, wall, step, error):
    """e = sqrt(k1 / k2) with k2 = k1 / e0^2 + S k1 v sqrt(m / k1), for what is pressed with v sqrt(m k1)."""
    run = impacts(tmp_path, "walton", wall=wall, step=step)
    until_over(run)
    mass = MASS if wall else 0.5 * MASS
    k1, wanted = 1e3, []
    for speed in SPEEDS:
        stiffest = k1 / 0.6**2 + MODELS["walton"]["stiffening"] * speed * math.sqrt(mass * k1)
        wanted.append(speed * math.sqrt(k1 / stiffest))
    np.testing.assert_allclose(relative_speeds(run, wall), wanted, rtol=error)


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
@pytest.mark.parametrize("material", PLASTIC)
def test_energies_of_plastic_impacts_close(tmp_path, material, wall):
    """What is not kinetic at the end is lost: by deformation, and by damping where the case asks for it."""
    run = impacts(tmp_path, material, wall=wall)
    begun = run.energies()["translation"]
    deepest = run.measures().largest_overlap
    for _ in range(40):
        run.advance(250)
        energies, deepest = run.energies(), max(deepest, run.measures().largest_overlap)
        assert abs(energies["residual"]) < 2e-3 * begun
    assert deepest > 0.002
    assert energies["plastic"] > 0.2 * begun
    damped = MODELS[material].get("restitution", 1.0) < 1.0 and material != "walton"
    assert (energies["normal_damping"] > 0.01 * begun) == damped
    assert energies["translation"] + energies["plastic"] + energies["normal_damping"] + energies[
        "elastic"
    ] == pytest.approx(begun, rel=2e-3)


def test_adhesive_plastic_grains_stick_in_a_range_of_speeds(tmp_path):
    """Slow ones are hardly deformed, fast ones are elastic beyond the largest plastic overlap (Luding 2008)."""
    speeds, mass, k1, k2, kc = (0.05, 0.5, 3.0), 0.5 * MASS, 1e3, 5e3, 5e3
    run = impacts(tmp_path, "luding", wall=False, speeds=speeds, changes={"luding": {"adhesion_stiffness": kc}})
    run.advance(15000)
    found, deepest = relative_speeds(run, False), k2 / (k2 - k1) * 0.05 * R  # twice the effective radius is R
    for speed, rebound in zip(speeds, found, strict=True):
        h = min(speed * math.sqrt(mass / k1), deepest)
        stiffness = k1 + (k2 - k1) * h / deepest
        meets = (stiffness - k1) * h / (stiffness + kc)
        lost = 0.5 * k1 * h**2 * (1.0 - k1 / stiffness) + 0.5 * kc * meets**2 * (1.0 + kc / stiffness)
        left = 1.0 - lost / (0.5 * mass * speed**2)
        assert abs(rebound) < speed
        if left > 0.0:
            assert rebound / speed == pytest.approx(math.sqrt(left), rel=5e-3)
    assert run.measures().pair_contacts == 1  # 0.5 m/s


@pytest.mark.parametrize(("step", "error"), [(2e-6, 3e-3), ("auto", 0.01)])
@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
def test_the_restitution_of_viscoelastic_spheres_falls_with_speed(tmp_path, wall, step, error):
    """Against the equation of motion, and its expansion for slow impacts."""
    speeds = (0.01, 0.1, 1.0)
    run = impacts(tmp_path, "viscous", wall=wall, speeds=speeds, step=step)
    until_over(run)
    mass, radius, modulus = (MASS, R, ELASTIC) if wall else (0.5 * MASS, 0.5 * R, 0.5 * ELASTIC)
    found = relative_speeds(run, wall) / speeds
    wanted = [rebound(mass, radius, modulus, MODELS["viscous"]["dissipative_time"], speed) for speed in speeds]
    np.testing.assert_allclose(found, wanted, rtol=error)
    assert found[0] > found[1] > found[2]


def rebound(mass, radius, modulus, time, speed):
    """Return the rebound over the impact speed of viscoelastic spheres, until the force vanishes."""
    scale = 4.0 / 3.0 * modulus * math.sqrt(radius)

    def force(overlap, rate):
        root = math.sqrt(max(overlap, 0.0))
        return scale * root * (overlap + 1.5 * time * rate)

    def over(_, state):
        return force(*state)

    over.terminal, over.direction = True, -1.0
    path = solve_ivp(
        lambda _, state: (state[1], -force(*state) / mass), (0.0, 1.0), (1e-12, speed), events=over,
        method="DOP853", rtol=1e-10, atol=1e-15, max_step=1e-5,
    )  # fmt: skip
    return -path.y[1, -1] / speed


def test_the_equation_of_motion_has_the_expansion_of_the_theory():
    """1 - C1 b + 3/5 C1^2 b^2, C1 = 1.15344, b = 3/2 A (k/m)^(2/5) v^(1/5) (Schwager, Poeschel 1998)."""
    time = 2e-7
    for speed in (0.01, 0.1):
        beta = 1.5 * time * (4.0 / 3.0 * ELASTIC * math.sqrt(R) / MASS) ** 0.4 * speed**0.2
        expansion = 1.0 - 1.15344 * beta + 0.6 * 1.15344**2 * beta**2
        assert rebound(MASS, R, ELASTIC, time, speed) == pytest.approx(expansion, abs=3e-5)
        assert expansion < 0.9995


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
def test_the_history_goes_on_over_lists_and_a_restart(tmp_path, wall):
    """From a state at the largest overlap, with lists made in every step."""
    runs = {skin: impacts(tmp_path, "eepa", wall=wall, detection={"skin": skin}) for skin in (0.0, 0.5)}
    for run in runs.values():
        run.advance(200)
    states = {skin: state_of(run) for skin, run in runs.items()}
    contacts = states[0.5]["wall_contacts" if wall else "contacts"]
    assert (contacts["largest_overlap"] > 0.0).all()
    assert len(contacts["largest_overlap"]) == len(SPEEDS)
    again = impacts(tmp_path, "eepa", wall=wall, detection={"skin": 0.0}, state=states[0.5])
    for run in (*runs.values(), again):
        run.advance(200)
    velocity = [run.gather()["velocity"].tobytes() for run in (*runs.values(), again)]
    assert velocity[0] == velocity[1] == velocity[2]
    energies = [run.energies()["plastic"] for run in (*runs.values(), again)]
    assert energies[0] == energies[1] == energies[2] > 0.0


@pytest.mark.parametrize("wall", [False, True], ids=["pair", "wall"])
def test_a_grain_that_is_taken_out_takes_what_its_contact_stores(tmp_path, wall):
    run = impacts(tmp_path, "luding", wall=wall, speeds=(0.3,))
    run.advance(250)
    before = run.energies()
    assert before["elastic"] > 0.01 * before["translation"]
    assert before["plastic"] > 0.0
    run.remove([0])
    after = run.energies()
    assert after["elastic"] == 0.0
    assert after["plastic"] == pytest.approx(before["plastic"], rel=1e-12)
    gone = before["translation"] + before["elastic"] - after["translation"]
    assert after["outflow"] == pytest.approx(gone, rel=2e-2)
    assert after["residual"] == pytest.approx(before["residual"], abs=2e-2 * gone)


def test_a_piston_presses_a_plastic_grain_with_its_load(tmp_path):
    """It knows how stiff unloading is, and settles without swinging; the work it did is stored or lost."""
    lid = {"mesh": quad(0.02, 2.001 * R), "servo": {"axis": [0, 0, -1], "force": -0.05, "largest_rate": 0.05}}
    run = with_all_models(
        tmp_path, Grains([[0.0, 0.0, R]], R, material="luding"), walls=({"mesh": quad(0.02)}, lid), step=5e-6,
        lower=(-0.1,) * 3, upper=(0.1,) * 3,
    )  # fmt: skip
    run.advance(6000)
    loads = []
    for _ in range(20):
        run.advance(20)
        loads.append(run.driven_walls()["wall1"]["load"])
    np.testing.assert_allclose(loads, -0.05, rtol=0.01)
    energies = run.energies()
    assert energies["plastic"] > 0.0
    assert abs(energies["residual"]) < 0.02 * energies["wall_work"]
