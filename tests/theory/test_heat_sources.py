"""Heat from motion, walls, fluid, radiation and bonds; energy that is conserved; bad input."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pdem
from helpers.thermal_cases import (
    CAPACITY,
    CONDUCTIVITY,
    FLOOR,
    FROZEN,
    HEAD,
    MASS,
    MODULUS,
    POISSON,
    RADIUS,
    STEP,
    case_of,
    chain,
    conductance_for,
    exact_heat,
    group,
    on_the_floor,
    resting_height,
    run_for,
    temperatures,
)
from pdem.foundation.errors import CaseError


def moving_pair(speed, tangential=0.0, heat="", more=""):
    gap = 1e-6
    return case_of(
        group([(-RADIUS - 0.5 * gap, 0.0, 0.0)], 300.0, more=f"velocity = [{speed!r}, {tangential!r}, 0.0]"),
        group([(RADIUS + 0.5 * gap, 0.0, 0.0)], 300.0), more, heat=heat,
    )  # fmt: skip


@pytest.mark.parametrize("every", ['"auto"', repr(3 * STEP), repr(1.0)])
def test_an_impact_warms_by_what_it_loses(every):
    """(1 - e^2) m* v^2 / 2, whether contacts are read while they last or when they end."""
    simulation = run_for(moving_pair(0.5, 0.2, heat=f"every = {every}"), 2e-4)
    energies = simulation.energies()
    lost = energies["normal_damping"] + energies["sliding"]
    assert energies["normal_damping"] == pytest.approx(0.36 * 0.5 * 0.5 * MASS * 0.25, rel=0.02)
    assert energies["heat_from_motion"] == pytest.approx(lost, rel=1e-6)
    first, second = simulation.gather()["received_heat"] + MASS * CAPACITY * (temperatures(simulation) - 300.0)
    assert first == pytest.approx(second, rel=1e-3)
    assert first + second == pytest.approx(lost, rel=1e-3)


def test_heat_from_motion_can_be_left_out():
    simulation = run_for(moving_pair(0.5, heat="from_motion = false"), 2e-4)
    assert temperatures(simulation).tolist() == [300.0, 300.0]
    assert "heat_from_motion" not in simulation.energies()


def test_a_sliding_sphere_warms_until_it_rolls():
    """All of m v0^2 / 7 becomes heat of the sphere on an insulated floor."""
    case = on_the_floor(more="velocity = [0.1, 0.0, 0.0]")
    simulation = run_for(case, 0.012)
    heat = MASS * CAPACITY * (temperatures(simulation)[0] - 300.0) + simulation.gather()["received_heat"][0]
    energies = simulation.energies()
    assert energies["sliding"] == pytest.approx(MASS * 0.01 / 7.0, rel=0.01)
    assert heat == pytest.approx(energies["sliding"] + energies["normal_damping"], rel=1e-3)
    assert energies["heat_walls"] == 0.0


def test_a_warm_floor_warms_a_sphere():
    """T - T_w decays with h/C; the column of the wall is what the sphere has lost."""
    gravity = 5000.0
    load = MASS * gravity
    wall = "temperature = 350.0\n"
    case = on_the_floor(wall=wall, height=resting_height(load), gravity=gravity, stage=FROZEN)
    simulation = run_for(case, 300.0)
    effective = 1.0 / ((1.0 - POISSON**2) / MODULUS * 2.0)
    conductance = conductance_for(load, radius=RADIUS, modulus=effective)
    expected = 350.0 - 50.0 * math.exp(-conductance / (MASS * CAPACITY) * 300.0)
    assert temperatures(simulation)[0] == pytest.approx(expected, rel=1e-6)
    walls = next(one for one in simulation.system.features if one.name == "heat").heat_of_walls(simulation.system)
    assert walls["floor"] == pytest.approx(-MASS * CAPACITY * (temperatures(simulation)[0] - 300.0), rel=1e-9)


def test_a_floor_with_a_heat_rate_gives_just_that():
    gravity = 5000.0
    height = resting_height(MASS * gravity)
    case = on_the_floor(wall="heat_rate = 0.02\n", height=height, gravity=gravity, stage=FROZEN)
    simulation = run_for(case, 50.0)
    assert MASS * CAPACITY * (temperatures(simulation)[0] - 300.0) == pytest.approx(1.0, rel=1e-6)


def test_a_table_of_temperatures_of_a_wall():
    gravity = 5000.0
    wall = "temperature_table = {times = [0.0, 10.0, 20.0], values = [300.0, 300.0, 400.0]}\n"
    case = on_the_floor(wall=wall, height=resting_height(MASS * gravity), gravity=gravity, stage=FROZEN)
    simulation = run_for(case, 10.0)
    assert temperatures(simulation)[0] == 300.0
    simulation.advance(round(100.0 / STEP))
    assert 300.0 < temperatures(simulation)[0] < 400.0


def test_convection_of_a_single_sphere():
    """exp(-t/tau) with Nu = 2 in a fluid at rest."""
    fluid = "convection = {temperature = 400.0, conductivity = 0.027}"
    simulation = run_for(case_of(FROZEN, group([(0.0, 0.0, 0.0)], 300.0), heat=fluid), 200.0)
    rate = 4.0 * math.pi * RADIUS * 0.027 / (MASS * CAPACITY)
    assert temperatures(simulation)[0] == pytest.approx(400.0 - 100.0 * math.exp(-200.0 * rate), rel=1e-7)
    lost = simulation.energies()["heat_fluid"]
    assert lost == pytest.approx(-MASS * CAPACITY * (temperatures(simulation)[0] - 300.0), rel=1e-9)


def test_radiation_to_surroundings():
    """Against the equation dT/dt = -sigma eps A (T^4 - T0^4) / C."""
    outside = 'radiation = {to = "surroundings", temperature = 300.0}'
    simulation = run_for(case_of(FROZEN, group([(0.0, 0.0, 0.0)], 1500.0), heat=outside), 100.0)
    factor = 5.670374419e-8 * 0.5 * 4.0 * math.pi * RADIUS**2 / (MASS * CAPACITY)
    exact = solve_ivp(lambda _, t: -factor * (t**4 - 300.0**4), (0.0, 100.0), [1500.0], rtol=1e-11, atol=1e-9)
    assert temperatures(simulation)[0] == pytest.approx(exact.y[0, -1], rel=2e-5)


def test_radiation_between_neighbours_keeps_all_heat():
    places = np.array(chain(2, 1e-6))
    heat = 'contact = "none"\nradiation = {to = "neighbours"}'
    simulation = pdem.Simulation(
        case_of(FROZEN, group(places[:1], 1200.0), group(places[1:], 800.0), heat=heat), threads=1
    )
    before = exact_heat(simulation)
    simulation.advance(round(50.0 / STEP))
    factor = 5.670374419e-8 * 0.5 * 4.0 * math.pi * RADIUS**2 / (MASS * CAPACITY)
    exact = solve_ivp(
        lambda _, t: factor * (t[1] ** 4 - t[0] ** 4) * np.array([1.0, -1.0]), (0.0, 50.0), [1200.0, 800.0], rtol=1e-11
    )
    assert temperatures(simulation) == pytest.approx(exact.y[:, -1], rel=2e-5)
    assert exact_heat(simulation) == before


def test_a_table_of_conductivities():
    """A chain of three: the middle one is colder than half way, where the conductivity falls with temperature."""
    text = HEAD.replace(
        f"conductivity = {CONDUCTIVITY}\nheat_capacity = {CAPACITY}",
        f"conductivity = {{temperatures = [300.0, 500.0], values = [60.0, 20.0]}}\nheat_capacity = {CAPACITY}",
    )
    places = chain(3, 1.0)
    groups = group(places[:1], 300.0, "store"), group(places[1:2], 400.0), group(places[2:], 500.0, "store")
    simulation = run_for(pdem.Case.from_text("\n".join((text, "[heat]", FROZEN, *groups))), 2000.0)
    middle = temperatures(simulation)[1]
    own = float(np.interp(middle, [300.0, 500.0], [60.0, 20.0]))
    mean = 2.0 * own * CONDUCTIVITY / (own + CONDUCTIVITY)
    assert mean > 0.0
    assert middle == pytest.approx(400.0, abs=1e-6)  # both ends have the same conductivity: halfway


def bed(folder, heat="", more="", threads=1):
    """Return hot and cold grains that fall together into a box."""
    random = np.random.default_rng(3)
    place = np.stack(np.meshgrid(*(np.arange(4) * 2.1 * RADIUS,) * 3), axis=-1).reshape(-1, 3)
    place += random.uniform(0.0, 0.1 * RADIUS, place.shape) + 1.2 * RADIUS
    text = HEAD.replace('outside = "keep"', 'outside = "keep"\ngravity = [0.0, 0.0, -9.81]')
    text = text.replace("youngs_modulus = 200000000000.0", "youngs_modulus = 1e8\ncontact_modulus = 2e11")
    text = text.replace(f"step = {STEP}", "step = 1e-5")
    box = f"""
[[walls]]
name = "box"
shape = "box"
material = "steel"
lower = [0.0, 0.0, 0.0]
upper = [{9.0 * RADIUS}, {9.0 * RADIUS}, {20.0 * RADIUS}]
{more}
"""
    half = place[::2], place[1::2]
    parts = group(half[0], 300.0, more="velocity = [0.0, 0.0, -0.5]"), group(half[1], 600.0)
    return pdem.Simulation(
        pdem.Case.from_text("\n".join((text, f"[heat]\n{heat}", box, *parts)), folder), threads=threads
    )


def test_an_adiabatic_box_keeps_all_energy(tmp_path):
    """Heat grows by exactly the losses of contacts: thermal and mechanical energy differ by the error of the motion."""
    simulation = bed(tmp_path)
    before = exact_heat(simulation)
    simulation.advance(8000)
    energies = simulation.energies()
    lost = math.fsum(energies[name] for name in ("normal_damping", "sliding", "rolling"))
    gained = float(exact_heat(simulation) - before)
    assert lost > 1e-3
    assert energies["heat_from_motion"] == gained
    # contacts that last have not passed on the losses of less than one step of heat
    assert gained == pytest.approx(lost, rel=1e-4)
    assert energies["heat_walls"] == 0.0


def test_heat_does_not_depend_on_threads_and_continues_from_a_checkpoint(tmp_path):
    from helpers.cases import state_of

    whole = bed(tmp_path, more="temperature = 400.0", threads=2)
    whole.advance(3000)
    first = bed(tmp_path, more="temperature = 400.0")
    first.advance(1234)
    again = pdem.Simulation(first.case, threads=1, state=state_of(first))
    again.advance(3000 - 1234)
    for name in ("temperature", "received_heat", "velocity"):
        assert whole.gather()[name].tobytes() == again.gather()[name].tobytes(), name
    ends = [{name: value for name, value in one.energies().items() if name != "residual"} for one in (whole, again)]
    assert ends[0] == ends[1]


def test_temperatures_may_be_written(tmp_path):
    simulation = bed(tmp_path)
    simulation.advance(50)
    simulation.particles.temperature[:] = 350.0
    simulation.advance(40)
    assert temperatures(simulation) == pytest.approx(350.0, abs=1e-3)


BAD = {
    "temperature = -5.0": "greater than 0",
    'every = "often"': "auto",
    'contact = "solid-gas"': "gas.*is missing",
    "gas = {conductivity = 0.03}": "no use",
    'convection = {temperature = 300.0, conductivity = 0.03, law = "gunn"}': "porosity.*is missing",
    'radiation = {to = "surroundings"}': "temperature.*is missing",
}


@pytest.mark.parametrize("heat", BAD)
def test_bad_sections_are_refused(heat):
    with pytest.raises(CaseError, match=f"(?s)heat.*{BAD[heat]}"):
        case_of(group([(0.0, 0.0, 0.0)], 300.0), heat=heat)


def test_missing_properties_are_refused():
    for key in ("conductivity", "heat_capacity"):
        lines = [line for line in HEAD.splitlines() if not line.startswith(key)]
        with pytest.raises(CaseError, match=f"materials.steel.{key}: is missing"):
            pdem.Case.from_text("\n".join((*lines, "[heat]", group([(0.0, 0.0, 0.0)], 300.0))))


def test_temperatures_without_heat_are_refused():
    with pytest.raises(CaseError, match=r"particles\[0\].temperature.*add a section \[heat\]"):
        pdem.Case.from_text(HEAD + group([(0.0, 0.0, 0.0)], 300.0))


def test_walls_that_move_cannot_be_frozen():
    floor = FLOOR + "rotation = {rate = 1.0, axis = [0, 0, 1]}\n"
    with pytest.raises(CaseError, match="goes on in stage heating, which is frozen"):
        case_of(floor, FROZEN, group([(0.0, 0.0, 0.9)], 300.0))


def bonded(force=0.0, heat="", more="", bond=""):
    """Return the case of two cold spheres beside each other, joined by a bond of half their radius."""
    section = f"""
[bonds.rod]
between = "steel-steel"
gap = 1e-4
radius = 0.5
youngs_modulus = 1e9
poisson_ratio = 0.3
{bond}
"""
    places = [(0.0, 0.0, 0.0), (2.0 * RADIUS, 0.0, 0.0)]
    return case_of(section, more, group(places[:1], 400.0), group(places[1:], 300.0), heat=heat)


@pytest.mark.parametrize("conductivity", [None, 10.0])
def test_a_bond_conducts_like_a_rod(conductivity):
    """h = k A / l: an exponential with 2 h / C."""
    bond = "" if conductivity is None else f"conductivity = {conductivity}"
    simulation = run_for(bonded(more=FROZEN, bond=bond), 20.0)
    conductance = (conductivity or CONDUCTIVITY) * math.pi * (0.5 * RADIUS) ** 2 / (2.0 * RADIUS)
    first, second = temperatures(simulation)
    rate = 2.0 * conductance / (MASS * CAPACITY)
    assert (first - second) / 100.0 == pytest.approx(math.exp(-20.0 * rate), rel=1e-4)


@pytest.mark.compiles
def test_bonds_warm_by_damping_and_fracture():
    """What bonds lose while they swing, and as they break, is heat of their ends."""
    text = bonded(bond="damping_ratio = 0.1").to_toml()
    simulation = pdem.Simulation(pdem.Case.from_text(text), threads=1)
    simulation.particles.velocity[:, 0] = np.where(simulation.particles.id == 0, -0.01, 0.01)
    simulation.advance(4000)
    energies = simulation.energies()
    assert energies["bond_damping"] > 0.0
    assert energies["heat_from_motion"] == pytest.approx(energies["bond_damping"], rel=0.01)
    text = bonded(bond="tensile_strength = 1e4\nshear_strength = 1e4").to_toml()
    simulation = pdem.Simulation(pdem.Case.from_text(text), threads=1)
    simulation.particles.velocity[:, 0] = np.where(simulation.particles.id == 0, -0.1, 0.1)
    simulation.advance(4000)
    energies = simulation.energies()
    assert energies["bond_fracture"] > 0.0
    assert energies["heat_from_motion"] == pytest.approx(energies["bond_fracture"], rel=1e-3)


def test_a_stage_ends_at_a_temperature():
    stage = '[[stages]]\nname = "heating"\nmotion = "frozen"\nuntil = {quantity = "temperature_max", above = 310.0}\n'
    fluid = "convection = {temperature = 400.0, conductivity = 0.027}"
    after = '[[stages]]\nname = "after"\nmotion = "frozen"\n'
    simulation = pdem.Simulation(case_of(stage, after, group([(0.0, 0.0, 0.0)], 300.0), heat=fluid), threads=1)
    rate = 4.0 * math.pi * RADIUS * 0.027 / (MASS * CAPACITY)
    simulation.advance(round(100.0 / STEP))
    (first, _) = simulation.system.stages.states
    assert first.end * STEP == pytest.approx(-math.log(0.9) / rate, abs=1.1)


def test_fields_and_sensors_have_the_mean_temperature(tmp_path):
    """Of two layers at 300 and 600 K: cells, a sensor, and the whole, weighted by heat capacity."""
    more = f"""
[[fields]]
name = "bed"
lower = [0.0, 0.0, 0.0]
upper = [{9.0 * RADIUS}, {9.0 * RADIUS}, {9.0 * RADIUS}]
cells = [1, 1, 1]
width = {RADIUS}
average = 1e-4
every = 1e-5
[[sensors]]
name = "all"
region = {{lower = [0.0, 0.0, 0.0], upper = [{9.0 * RADIUS}, {9.0 * RADIUS}, {20.0 * RADIUS}]}}
"""
    simulation = bed(tmp_path, more=more)
    simulation.advance(20)
    assert simulation.sensors()["all"]["temperature"] == pytest.approx(450.0, rel=1e-6)
    fields = simulation.fields["bed"]
    assert fields.temperature.shape == (1, 1, 1)
    assert fields.temperature[0, 0, 0] == pytest.approx(450.0, abs=5.0)
    assert fields["heat_density"][0, 0, 0] == pytest.approx(450.0 * fields["heat_capacity_density"][0, 0, 0], rel=0.02)
    assert simulation.wall_loads()["box"]["heat"] == 0.0


def test_all_heat_is_accounted_for_when_particles_leave(tmp_path):
    """The balance of heat is exact, with particles that are removed in the middle of contacts."""
    simulation = bed(tmp_path, more="temperature = 400.0")
    balance = []
    for removed in ([], [3, 20], [41], []):
        simulation.advance(400)
        if removed:
            simulation.remove(removed)
        energies = {name: Fraction(value) for name, value in simulation.energies().items()}
        balance.append(energies["heat"] + energies["heat_walls"] - energies["heat_from_motion"])
    assert energies["outflow"] > 0
    lost = float(balance[0] - balance[-1])
    mechanical = 3 * MASS * 10.0
    assert lost == pytest.approx(float(energies["outflow"]), abs=mechanical)


def test_heat_that_leaves_the_range_is_an_error():
    simulation = pdem.Simulation(case_of(FROZEN, group([(0.0, 0.0, 0.0)], 300.0)), threads=1)
    simulation.particles.temperature[:] = 1e7
    with pytest.raises(pdem.BlowUpError, match=r"temperature of particle 0 .* heat_rate"):
        simulation.advance(1000)


def test_scripts_insert_particles_with_a_temperature(tmp_path):
    simulation = bed(tmp_path)
    simulation.advance(10)
    (new,) = simulation.insert([[4.5 * RADIUS, 4.5 * RADIUS, 15.0 * RADIUS]], RADIUS, "steel", temperature=777.0)
    columns = simulation.gather()
    assert columns["temperature"][columns["id"] == new].tolist() == [777.0]
    with pytest.raises(pdem.InputError, match=r"temperature is -1\.0 K"):
        simulation.insert([[4.5 * RADIUS, 4.5 * RADIUS, 18.0 * RADIUS]], RADIUS, "steel", temperature=-1.0)
