"""Heat against closed forms and conservation: contacts, chains, lattices, motion, walls, fluid, radiation, clusters."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import erfc

import pdem
from pdem.foundation.errors import CaseError

RADIUS, DENSITY, CAPACITY, CONDUCTIVITY, MODULUS, POISSON = 0.0032, 7747.0, 464.0, 42.0, 200e9, 0.29
"""The steel spheres of the heated packed bed of Lethe."""

MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3
EFFECTIVE = MODULUS / (2.0 * (1.0 - POISSON**2))
STEP = 1e-6

HEAD = f"""
[time]
step = {STEP}
end = 1e5
[domain]
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
outside = "keep"
[materials.steel]
density = {DENSITY}
youngs_modulus = {MODULUS}
poisson_ratio = {POISSON}
conductivity = {CONDUCTIVITY}
heat_capacity = {CAPACITY}
emissivity = 0.5
[materials.store]
density = {DENSITY}
youngs_modulus = {MODULUS}
poisson_ratio = {POISSON}
conductivity = {CONDUCTIVITY}
heat_capacity = 1e15
emissivity = 0.5
[interactions.default]
friction = 0.3
restitution = 0.8
"""

FROZEN = """
[[stages]]
name = "heating"
motion = "frozen"
"""


def case_of(*sections, heat="", folder="."):
    return pdem.Case.from_text("\n".join((HEAD, f"[heat]\n{heat}", *sections)), folder)


def group(places, temperature, material="steel", more=""):
    rows = ", ".join(f"[{x!r}, {y!r}, {z!r}]" for x, y, z in np.asarray(places, np.float64).tolist())
    return f"""
[[particles]]
material = "{material}"
radius = {RADIUS}
positions = [{rows}]
temperature = {temperature!r}
{more}
"""


def overlap_for(force):
    """Return the overlap of two equal spheres that press on each other with a force [m]."""
    return (3.0 * force / (4.0 * EFFECTIVE * math.sqrt(RADIUS / 2.0))) ** (2.0 / 3.0)


def conductance_for(force, conductivity=CONDUCTIVITY, radius=RADIUS / 2.0, modulus=EFFECTIVE):
    return 2.0 * conductivity * (3.0 * force * radius / (4.0 * modulus)) ** (1.0 / 3.0)


def chain(count, force):
    return [(k * (2.0 * RADIUS - overlap_for(force)), 0.0, 0.0) for k in range(count)]


def run_for(case, time):
    simulation = pdem.Simulation(case, threads=1)
    simulation.advance(round(time / STEP))
    return simulation


def temperatures(simulation):
    columns = simulation.gather()
    return columns["temperature"][np.argsort(columns["id"])]


def exact_heat(simulation):
    """Return the heat of all particles without rounding."""
    (feature,) = (one for one in simulation.system.features if one.name == "heat")
    values = feature.particle_energies(simulation.system, simulation.system.particles)["heat"]
    return sum(map(Fraction, values.tolist()))


@given(force=st.floats(0.01, 100.0), warm=st.floats(250.0, 2000.0), share=st.floats(0.2, 3.0))
@settings(max_examples=8, deadline=None)
def test_two_spheres_relax_exponentially_and_keep_all_heat(force, warm, share):
    places = np.array(chain(2, force))
    simulation = pdem.Simulation(case_of(FROZEN, group(places[:1], warm), group(places[1:], 300.0)), threads=1)
    before = exact_heat(simulation)
    rate = 2.0 * conductance_for(force) / (MASS * CAPACITY)
    simulation.advance(round(share / rate / STEP))
    first, second = temperatures(simulation)
    assert exact_heat(simulation) == before
    assert (first - second) / (warm - 300.0) == pytest.approx(math.exp(-rate * simulation.time), rel=0.02)
    assert first + second == pytest.approx(warm + 300.0, rel=1e-13)


def test_the_numbers_of_the_steel_spheres():
    """a = 2.22336e-5 m and h = 1.867622e-3 W/K at 1 N, from the relaxation of two spheres, tau = 132.0903 s."""
    places = np.array(chain(2, 1.0))
    simulation = run_for(case_of(FROZEN, group(places[:1], 400.0), group(places[1:], 300.0)), 132.0)
    first, second = temperatures(simulation)
    assert -132.0 / math.log((first - second) / 100.0) == pytest.approx(132.0903, rel=2e-5)


def test_a_chain_with_one_end_held_has_the_rates_of_theory():
    """Rates (4h/C) sin^2((2j-1) pi / (2 (2N+1))) of N spheres, each with its own decay."""
    number, force = 10, 1.0
    places = chain(number + 1, force)
    modes = np.arange(1, number + 1)
    angles = (2 * modes - 1) * math.pi / (2 * number + 1)
    rates = 4.0 * conductance_for(force) / (MASS * CAPACITY) * np.sin(angles / 2.0) ** 2
    assert (rates * MASS * CAPACITY / conductance_for(force))[:3] == pytest.approx(
        [0.02233834755, 0.19806226420, 0.53389625636], rel=1e-9
    )
    shapes = np.sin(np.outer(modes, angles))
    shapes /= np.sqrt((shapes**2).sum(axis=0))
    start = 50.0 + 40.0 * np.cos(modes)
    groups = [group([place], 300.0 + above) for place, above in zip(places[1:], start.tolist(), strict=True)]
    simulation = run_for(case_of(FROZEN, group(places[:1], 300.0, "store"), *groups), 500.0)
    expected = shapes @ (np.exp(-rates * 500.0) * (shapes.T @ start))
    assert temperatures(simulation)[1:] - 300.0 == pytest.approx(expected, rel=1e-4)


LATTICES = {
    "SC": ([(0.0, 0.0, 0.0)], 1.0),
    "BCC": ([(0.0, 0.0, 0.0), (0.5, 0.5, 0.5)], math.sqrt(3.0) / 2.0),
    "FCC": ([(0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5)], math.sqrt(0.5)),
}
"""Places of spheres in the unit cell, and the distance of neighbours over its side."""


@pytest.mark.parametrize("name", LATTICES)
def test_lattices_conduct_as_theory_says(name):
    """k_eff = phi Z h / (pi d): h/d, sqrt(3) h/d and sqrt(8) h/d, from the heat that a gradient drives."""
    cell, near = LATTICES[name]
    force, many = 2.0, 4
    distance = 2.0 * RADIUS - overlap_for(force)
    side = distance / near
    places = np.array([np.add(one, (i, j, k)) for k in range(many) for j in range(3) for i in range(3) for one in cell])
    places *= side
    height = places[:, 2]
    gradient = 1e4
    text = HEAD.replace("lower = [-1.0, -1.0, -1.0]", "lower = [0.0, 0.0, -1.0]")
    text = text.replace(
        "upper = [1.0, 1.0, 1.0]", f"upper = [{3 * side!r}, {3 * side!r}, 1.0]\nperiodic = [true, true, false]"
    )
    groups = [group(places[height == z], 300.0 + gradient * z) for z in np.unique(height).tolist()]
    case = pdem.Case.from_text("\n".join((text, "[heat]\nevery = 1e-3", FROZEN, *groups)))
    simulation = pdem.Simulation(case, threads=1)
    before, heat = temperatures(simulation), exact_heat(simulation)
    simulation.advance(round(1e-3 / STEP))
    order = np.argsort(simulation.gather()["id"])
    lower = simulation.gather()["position"][order, 2] < height.mean()
    gained = MASS * CAPACITY * (temperatures(simulation) - before)
    expected = {"SC": 1.0, "BCC": math.sqrt(3.0), "FCC": math.sqrt(8.0)}[name] * conductance_for(force) / distance
    area = (3 * side) ** 2
    assert gained[lower].sum() / 1e-3 / (area * gradient) == pytest.approx(expected, rel=1e-6)
    assert exact_heat(simulation) == heat


def test_a_long_bar_warms_like_a_half_space():
    """T = erfc(x / (2 sqrt(alpha t))) with alpha = h d^2 / C."""
    number, force, time = 120, 5.0, 4000.0
    places = chain(number, force)
    simulation = run_for(case_of(FROZEN, group(places[:1], 400.0, "store"), group(places[1:], 300.0)), time)
    distance = 2.0 * RADIUS - overlap_for(force)
    diffusivity = conductance_for(force) * distance**2 / (MASS * CAPACITY)
    place = np.arange(number) * distance
    expected = erfc(place / (2.0 * math.sqrt(diffusivity * time)))
    assert (temperatures(simulation) - 300.0) / 100.0 == pytest.approx(expected, abs=2e-3)


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


FLOOR = """
[[walls]]
name = "floor"
shape = "plane"
material = "steel"
point = [0.0, 0.0, 0.0]
normal = [0.0, 0.0, 1.0]
"""


def on_the_floor(heat="", wall="", more="", height=RADIUS, gravity=9.81, stage=""):
    text = HEAD.replace('outside = "keep"', f'outside = "keep"\ngravity = [0.0, 0.0, {-gravity}]')
    grain = group([(0.0, 0.0, height)], 300.0, more=more)
    return pdem.Case.from_text("\n".join((text, f"[heat]\n{heat}", FLOOR + wall, grain, stage)))


def test_a_sliding_sphere_warms_until_it_rolls():
    """All of m v0^2 / 7 becomes heat of the sphere on an insulated floor."""
    case = on_the_floor(more="velocity = [0.1, 0.0, 0.0]")
    simulation = run_for(case, 0.012)
    heat = MASS * CAPACITY * (temperatures(simulation)[0] - 300.0) + simulation.gather()["received_heat"][0]
    energies = simulation.energies()
    assert energies["sliding"] == pytest.approx(MASS * 0.01 / 7.0, rel=0.01)
    assert heat == pytest.approx(energies["sliding"] + energies["normal_damping"], rel=1e-3)
    assert energies["heat_walls"] == 0.0


def resting_height(load):
    effective = 1.0 / ((1.0 - POISSON**2) / MODULUS * 2.0)
    return RADIUS - (3.0 * load / (4.0 * effective * math.sqrt(RADIUS))) ** (2.0 / 3.0)


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
